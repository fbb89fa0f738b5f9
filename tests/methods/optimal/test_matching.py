"""The best pairs: equal to listing all pairs, equal to the library on all pairs, proven on larger tables."""

import builtins
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import MissingExtra, ParameterError
from shoal.methods.optimal import matching as module
from shoal.methods.optimal.brute_force import brute_force
from shoal.methods.optimal.matching import matching
from shoal.methods.optimal.matching_program import MatchingProgram, costs
from shoal.methods.running import run

from naive import optimal as naive

pytest.importorskip("rustworkx", reason="the extra matching is not installed")
pytest.importorskip("highspy", reason="the extra matching is not installed")


def instance(seed, sizes=(4, 9)):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(*sizes)), int(rng.integers(1, 4))
    points = rng.normal(size=(n, d))
    if seed % 4 == 1:
        points = rng.integers(0, 3, size=(n, d)).astype(float)
    elif seed % 4 == 2:
        points = points[rng.integers(0, max(1, n // 2), n)]
    elif seed % 4 == 3:
        points = 1e4 + points + 30 * rng.integers(0, 3, size=(n, 1))
    return points


def is_strict(labels):
    sizes = np.sort(np.bincount(labels))
    return (sizes[:-1] == 2).all() and sizes[-1] == 2 + len(labels) % 2


@pytest.mark.parametrize("block", range(5))
def test_pairs_equal_the_best_of_all_pairings(block):
    for seed in range(60 * block, 60 * (block + 1)):
        points = instance(seed)
        outcome = matching(points, 2)
        labels = outcome.labels
        assert is_strict(labels), f"seed {seed}"
        best = naive.optimum(points, 2, 3, naive.two_and_one_three)
        total = naive.grouping_cost(points, np.zeros(len(points)))
        assert naive.grouping_cost(points, labels) <= best + total / 10**9, f"seed {seed}"
        assert Fraction(outcome.objective.bound) <= best + total / 10**9, f"seed {seed}"
        assert abs(Fraction(outcome.objective.value) - best) <= total / 10**9, f"seed {seed}"
        assert outcome.objective.scope == "groups of two and one of three"


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_even_tables_equal_the_library_on_all_pairs(seed):
    points = instance(seed, (20, 60))
    points = points[: len(points) // 2 * 2]
    first, second = np.triu_indices(len(points), 1)
    pairs = np.column_stack([first, second, np.full(first.size, -1)])
    total = float(((points - points.mean(0)) ** 2).sum())
    known = costs(points, module._shortest(pairs, costs(points, pairs))).sum()
    labels = matching(points, 2).labels
    assert is_strict(labels)
    assert float(naive.grouping_cost(points, labels)) == pytest.approx(known, rel=1e-9, abs=1e-9 * total)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_what_the_program_leaves_fractional_is_finished_by_the_library(seed):
    """Without any odd set the program is fractional; the reduced costs must still lead to the optimum."""
    points = instance(seed, (6, 13))
    points = (points - points.mean(0)) / max(1e-9, points.std())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MatchingProgram, "add_sets", lambda *_: 0)
        patch.setattr(module, "GROUPS_PER_RECORD", 100)
        groups, bound, proven = module.best_groups(points)
    best = float(naive.optimum(points, 2, 3, naive.two_and_one_three))
    assert sorted(groups[groups >= 0]) == list(range(len(points)))
    assert costs(points, groups).sum() == pytest.approx(best, rel=1e-7, abs=1e-9)
    assert bound <= best + 1e-7
    assert proven


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20)
def test_dual_values_are_feasible_for_every_group(seed):
    """No pair or triple has a negative reduced cost, and the dual value is the cost of the solution."""
    points = instance(seed, (7, 12))
    points = (points - points.mean(0)) / max(1e-9, points.std())
    program = MatchingProgram(points)
    program.add_groups(np.vstack([module._greedy(points, module._near(points)), module._near(points)]))
    while True:
        shares, duals = program.solve()
        if program.add_sets(shares) or program.add_groups(program.cheapest_groups(duals)[0]):
            continue
        break
    n = len(points)
    first, second = np.triu_indices(n, 1)
    groups = [np.column_stack([first, second, np.full(first.size, -1)])]
    if n % 2:
        groups.append(np.array([(a, b, c) for a in range(n) for b in range(a) for c in range(b)]))
    every = np.vstack(groups)
    reduced = program.reduced(every, duals)
    assert (duals.sets >= 0).all()
    assert reduced.min() >= -1e-8
    assert duals.total == pytest.approx(costs(points, program.groups) @ shares, abs=1e-7)
    pairs, triples = program.near_groups(duals, 0.4, 10_000)
    near = {tuple(sorted(group)) for group in [*pairs.tolist(), *triples.tolist()]}
    assert {tuple(sorted(group)) for group in every[reduced <= 0.4 - 1e-9].tolist()} <= near
    assert near <= {tuple(sorted(group)) for group in every[reduced <= 0.4 + 1e-9].tolist()}


@pytest.mark.parametrize("seed", range(12))
def test_a_matching_without_a_proof_is_still_good_with_a_valid_bound(seed):
    points = instance(seed, (6, 10))
    points = (points - points.mean(0)) / max(1e-9, points.std())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MatchingProgram, "add_sets", lambda *_: 0)
        patch.setattr(MatchingProgram, "near_groups", lambda *_: None)
        groups, bound, _ = module.best_groups(points)
    assert sorted(groups[groups >= 0]) == list(range(len(points)))
    best = float(naive.optimum(points, 2, 3, naive.two_and_one_three))
    assert bound - 1e-7 <= best <= costs(points, groups).sum() + 1e-7


def test_pairs_only_can_be_worse_than_groups_of_three():
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    assert naive.grouping_cost(points, matching(points, 2).labels) > naive.grouping_cost(
        points, brute_force(points, 2).labels
    )


@pytest.mark.parametrize("n", [300, 301])
@pytest.mark.parametrize("kind", ["normal", "clumps", "duplicates", "offset"])
def test_larger_tables_are_proven(n, kind, rng):
    points = rng.normal(size=(n, 3))
    if kind == "clumps":
        points += 100 * rng.integers(0, 5, size=(n, 1))
    elif kind == "duplicates":
        points = points[rng.integers(0, n // 2, size=n)]
    elif kind == "offset":
        points += 1e6
    outcome = matching(points, 2)
    assert is_strict(outcome.labels)
    assert outcome.objective.optimal
    assert float(naive.grouping_cost(points, outcome.labels)) == pytest.approx(outcome.objective.bound, rel=1e-3)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 40, 41])
def test_equal_records_and_edges(n, rng):
    assert is_strict(matching(np.full((n, 2), 0.1), 2).labels)
    assert is_strict(matching(np.full((n, 1), 1e300), 2).labels)
    Grouping(matching(rng.normal(size=(n, 2)), 2).labels, 2, max_size=3)


def test_a_power_of_two_as_scale_changes_nothing_and_runs_agree(rng):
    points = rng.normal(size=(71, 3))
    once = canonical_labels(matching(points, 2).labels)
    np.testing.assert_array_equal(canonical_labels(matching(points, 2).labels), once)
    np.testing.assert_array_equal(canonical_labels(matching(points * 2.0**-300, 2).labels), once)
    np.testing.assert_array_equal(canonical_labels(matching(points * 2.0**300, 2).labels), once)


def test_another_k_raises_and_names_other_methods():
    with pytest.raises(ParameterError, match="needs k=2, not k=3; use set-partition or ona-star"):
        run("matching", np.zeros((9, 2)), 3)


def test_a_missing_library_is_named_with_the_command(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "rustworkx":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"python3 -m pip install 'shoal\[matching\]'"):
        matching(np.zeros((4, 1)), 2)
