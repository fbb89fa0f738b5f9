from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.frequency_tables import control_tables, full_rows
from shoal.core.row_classes import Collapsed, hamming
from shoal.datasets import matching_instance, nominal_problems
from shoal.errors import ParameterError
from shoal.methods.kernels.safe_windows import safe_pass
from shoal.methods.nominal.chi_square_program import chi_square_vector
from shoal.methods.nominal.frequency_vectors import (
    Vector,
    adjusted_vector,
    frequency_vector,
    groups_of_vector,
    search_vector,
)
from shoal.methods.nominal.largest_error_program import largest_error_vector
from shoal.methods.nominal.msafe_ex import msafe_ex
from shoal.methods.nominal.safe import extra_error, safe, safe_vector
from shoal.methods.nominal.vector_outcome import searched_vector
from shoal.methods.running import run

from naive import nominal_tables as naive


@st.composite
def small_tables(draw):
    k = draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = full_rows([2, 3])[rng.choice(6, draw(st.integers(1, 4)), replace=False)]
    counts = rng.integers(1, 5, size=len(rows))
    counts[0] += max(k - counts.sum(), 0)
    return np.repeat(rows, counts, axis=0), k


def anonymous(y, k):
    return not ((y > 0) & (y < k)).any()


def full_table_vector(rows, counts, tables):
    cells = control_tables(rows, tables)
    return Vector(Collapsed(rows, counts, np.repeat(np.arange(len(rows)), counts)), cells, cells.totals(counts))


@given(case=small_tables())
@settings(max_examples=25)
def test_exact_programs_equal_brute_force(case):
    codes, k = case
    vector = frequency_vector(codes, 2)
    n = len(codes)
    tolerance = extra_error(vector.target)
    candidates = [np.array(y) for y in naive.vectors(vector.counts, k, n)]
    released = [naive.expand(vector.distinct.rows, y) for y in candidates]
    tables = vector.tables.tables
    largest = [
        naive.largest_error(codes, rows, tables, lambda c: float(extra_error(np.array([c]))[0])) for rows in released
    ]
    start = adjusted_vector(vector, vector.counts, k, n)
    p1 = largest_error_vector(vector, k, tolerance=tolerance)
    assert p1.optimal
    assert p1.value == pytest.approx(min(largest))
    p3 = largest_error_vector(vector, k, tolerance=tolerance, weight=1 / n, start=start)
    objective = [e + vector.distance(y) / n for e, y in zip(largest, candidates, strict=True)]
    assert p3.value == pytest.approx(min(objective))
    assert vector.largest(p3.y, tolerance) >= p1.value - 1e-9
    p9 = chi_square_vector(vector, k, weight=1 / n, start=start)
    chi = [float(naive.chi_square(codes, rows, tables)) for rows in released]
    assert p9.optimal
    assert p9.value == pytest.approx(min(c + vector.distance(y) / n for c, y in zip(chi, candidates, strict=True)))
    for found in (p1, p3, p9):
        assert anonymous(found.y, k)
        assert found.y.sum() == n


def test_the_largest_error_alone_does_not_distinguish_two_solutions():
    rows = full_rows([2, 2])  # Example 3.2.1: sex x citizenship, k = 2, one-dimensional tables
    vector = full_table_vector(rows, np.array([2, 0, 0, 2]), 1)
    other = np.array([0, 2, 2, 0])
    tolerance = np.zeros(4)
    assert vector.largest(other, tolerance) == vector.largest(vector.counts, tolerance) == 0
    assert vector.distance(other) / 4 == 2
    found = largest_error_vector(vector, 2, tolerance=tolerance, weight=1 / 4)
    assert found.value == 0
    assert found.y.tolist() == [2, 0, 0, 2]


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 4))
@settings(max_examples=15)
def test_a_k_anonymous_table_is_not_changed(seed, k):
    rng = np.random.default_rng(seed)
    codes = np.repeat(full_rows([2, 2])[:3], rng.integers(k, k + 3, size=3), axis=0)
    vector = frequency_vector(codes, 2)
    tolerance = extra_error(vector.target)
    assert largest_error_vector(vector, k, tolerance=tolerance).value == -tolerance.min()
    for found in (
        largest_error_vector(vector, k, tolerance=tolerance, weight=1 / len(codes)),
        chi_square_vector(vector, k, weight=1 / len(codes), start=vector.counts),
    ):
        np.testing.assert_array_equal(found.y, vector.counts)
    np.testing.assert_array_equal(safe_vector(vector, k).y, vector.counts)


def test_the_reduction_from_matching_is_feasible_exactly_if_there_is_a_matching():
    cube = [tuple(row) for row in full_rows([2, 2, 2]).tolist()]
    checked = matched = 0
    for size in range(9):
        for triples in combinations(cube, size):
            if any(sum(triple[j] == e for triple in triples) > 3 for j in range(3) for e in range(2)):
                continue
            instance = matching_instance(2, triples)
            vector = full_table_vector(instance.rows, instance.counts, instance.tables)
            found = largest_error_vector(vector, 3, tolerance=instance.tolerance, total=instance.total)
            feasible = found.y is not None and found.value <= 1e-6
            assert feasible == naive.perfect_matching(2, triples)
            checked += 1
            matched += feasible
    assert (checked, matched) == (193, 118)


def test_an_element_in_four_triples_raises():
    with pytest.raises(ParameterError, match="more than three triples"):
        matching_instance(2, [(0, a, b) for a in range(2) for b in range(2)])


@given(seed=st.integers(0, 2**32 - 1), improving=st.booleans())
@settings(max_examples=25)
def test_windows_change_as_in_the_reference_implementation(seed, improving):
    rng = np.random.default_rng(seed)
    rows = full_rows([2, 2, 2])[np.sort(rng.choice(8, 4, replace=False))]
    cells = control_tables(rows, 2)
    y0 = rng.integers(1, 6, size=4)
    y = np.where(y0 < 3, 3, y0) if improving else y0.copy()
    limit = rng.integers(1, 6, size=cells.size)
    error = (cells.totals(y) - cells.totals(y0)).astype(np.int64)
    expected = y.tolist()
    for window in ((0, 1, 2), (1, 2, 3)):
        expected = naive.best_change(
            cells.cells.tolist(), y0.tolist(), expected, limit.tolist(), window, 3, 3, improving=improving
        )
    found = y.astype(np.int64)
    safe_pass(cells.cells, y0, found, error, limit, 3, 4, 3, 3, improving)
    assert found.tolist() == expected
    np.testing.assert_array_equal(error, cells.totals(found) - cells.totals(y0))


def pass_of_windows(seed, kind, size=5):
    """A random vector after one pass of the compiled loops and of the reference implementation; ties are common."""
    rng = np.random.default_rng(seed)
    rows = full_rows([2, 2, 3])[np.sort(rng.choice(12, size, replace=False))]
    cells = control_tables(rows, 1 + seed % 2)
    y0 = rng.integers(1, 5, size=size)
    y = np.where(rng.uniform(size=size) < 0.3, 0, y0)  # some entries were emptied before
    limit = rng.integers(2, 6, size=cells.size) + np.abs(cells.totals(y) - cells.totals(y0)).astype(np.int64)
    expected = naive.safe_pass(cells.cells.tolist(), y0.tolist(), y.tolist(), limit.tolist(), kind, size, 3, 3)
    found, error = y.astype(np.int64), (cells.totals(y) - cells.totals(y0)).astype(np.int64)
    safe_pass(cells.cells, y0, found, error, limit, kind, size, 3, 3, False)
    np.testing.assert_array_equal(error, cells.totals(found) - cells.totals(y0))
    return found.tolist(), expected


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_all_kinds_of_windows_are_visited_as_in_the_reference_implementation(kind):
    for seed in range(72):
        found, expected = pass_of_windows(seed, kind)
        assert found == expected, seed


def test_windows_in_another_order_give_other_vectors(monkeypatch):
    """The problem first and then its neighbours, instead of ascending entries."""
    ordered = naive.safe_windows

    def problem_first(y, kind, end, k):
        for window in ordered(y, kind, end, k):
            yield sorted(window, key=lambda i: not (0 <= i < len(y) and 0 < y[i] < k))

    monkeypatch.setattr(naive, "safe_windows", problem_first)
    for kind in (1, 2):
        pairs = [pass_of_windows(seed, kind) for seed in range(72)]
        assert any(found != expected for found, expected in pairs)


def test_the_program_without_a_start_does_not_return_the_vector_of_safe():
    """P1 has many optima: with the vector of SAFE as its start the program returns that one where it is optimal."""
    codes = nominal_problems(200, 0.02, 3, seed=1)
    with_start, without = (run("safe-ex", codes, 3, start=start) for start in ("safe", "none"))
    assert with_start.objective.value == without.objective.value
    assert with_start.objective.optimal
    assert without.objective.optimal
    assert without.diagnostics["chi_square"] > 1.2 * with_start.diagnostics["chi_square"]


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
def test_safe_satisfies_its_bounds(share):
    codes = nominal_problems(200, share, seed=3)
    vector = frequency_vector(codes)
    found = safe_vector(vector, 3, improve=False)
    assert found.within_bounds
    assert anonymous(found.y, 3)
    assert np.abs(found.y - vector.counts).max() <= 3
    bound = np.where(vector.tables.dimensions() == 1, *found.bounds) + extra_error(vector.target)
    assert (np.abs(vector.error(found.y)) <= bound).all()
    improved, last = safe_vector(vector, 3), safe_vector(vector, 3, keep="last")
    assert anonymous(improved.y, 3)
    assert anonymous(last.y, 3)
    assert vector.chi_square(improved.y) <= min(vector.chi_square(found.y), vector.chi_square(last.y))


def test_the_modified_program_is_at_least_as_good_as_safe_by_its_own_objective():
    codes = nominal_problems(200, 0.2, seed=1)
    vector = frequency_vector(codes)
    tolerance = extra_error(vector.target)
    objective = msafe_ex(codes, 3).objective
    assert objective.optimal
    for keep in ("best", "last"):
        y = adjusted_vector(vector, safe_vector(vector, 3, keep=keep).y, 3, 200)
        assert objective.value <= vector.largest(y, tolerance) + vector.distance(y) / 200 + 1e-9


def test_safe_reports_the_records_of_its_vector():
    for seed in range(6):
        outcome = safe(nominal_problems(60, 0.3, seed=seed), 3)
        assert outcome.diagnostics["records"] == outcome.labels.size == 60
        assert abs(outcome.diagnostics["vector_records"] - 60) <= 6
        assert outcome.objective is None


@given(case=small_tables(), seed=st.integers(0, 5))
@settings(max_examples=25)
def test_search_never_loses_records_or_quality(case, seed):
    codes, k = case
    vector = frequency_vector(codes)
    start = adjusted_vector(vector, vector.counts, k, len(codes))
    found = search_vector(vector, start, k, weight=1 / len(codes), moves=2_000, seed=seed)
    assert anonymous(found, k)
    assert found.sum() == start.sum() == len(codes)

    def objective(y):
        return vector.chi_square(y) + vector.distance(y) / len(codes)

    assert objective(found) <= objective(start) + 1e-9


def test_records_move_as_little_as_possible():
    codes = nominal_problems(60, 0.5, seed=2, domains=(3, 3, 4))
    vector = frequency_vector(codes)
    y = searched_vector(vector, 3, weight=1 / 60)
    labels, representatives = groups_of_vector(vector, y)
    released = codes[representatives[labels]]
    counted = frequency_vector(released)
    wanted = {tuple(row): int(c) for row, c in zip(vector.distinct.rows.tolist(), y, strict=True) if c}
    assert {tuple(row): int(c) for row, c in zip(counted.distinct.rows.tolist(), counted.counts, strict=True)} == wanted
    from scipy.optimize import linear_sum_assignment

    cost = hamming(codes, np.repeat(vector.distinct.rows, y, axis=0))
    best = cost[linear_sum_assignment(cost)].sum()
    assert (codes != released).sum() == best  # keeping a combination never costs more (triangle inequality)


@pytest.mark.parametrize("k", [2, 5, 12])
def test_safe_works_for_other_k(k):
    vector = frequency_vector(nominal_problems(120, 0.4, k, seed=1))
    found = safe_vector(vector, k)
    assert anonymous(found.y, k)
    assert adjusted_vector(vector, found.y, k, 120).sum() == 120


def test_extra_errors_follow_the_appendix():
    entries = np.array([9, 10, 19, 20, 49, 50, 99, 100, 199, 200, 999, 1_000, 9_999, 10_000, 100_000, 1_000_000.0])
    assert extra_error(entries).tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9]
