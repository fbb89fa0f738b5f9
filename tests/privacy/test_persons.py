"""Definitions that count persons instead of rows, against loops over classes and persons; wrong versions fail."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.privacy.alpha_k import alpha_of
from shoal.privacy.beta_likeness import basic_beta
from shoal.privacy.counts import count_values
from shoal.privacy.delta_disclosure import delta_of
from shoal.privacy.equivalence_classes import EquivalenceClasses
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.l_diversity import distinct_l, entropy_l, recursive_c
from shoal.privacy.person_risk import household_risk, linked_risk, person_risk, share_of_persons
from shoal.privacy.person_values import count_person_values
from shoal.privacy.t_closeness import closeness

from naive import persons as naive
from naive import privacy as naive_models


@st.composite
def tables(draw, max_n=16, max_classes=4, max_units=5, max_values=4):
    n = draw(st.integers(1, max_n))

    def column(most):
        values = draw(st.lists(st.integers(0, most - 1), min_size=n, max_size=n))
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)

    return column(max_classes), column(max_units), column(max_values)


def counted(labels, units, codes):
    return count_person_values(EquivalenceClasses(labels), units, codes, int(codes.max()) + 1)


@given(tables())
def test_person_risk_and_share_are_the_largest_over_the_classes_of_a_person(case):
    labels, units, _ = case
    found = person_risk(EquivalenceClasses(labels), units)
    risk, share = naive.person_risk(labels.tolist(), units.tolist())
    assert found.risk.tolist() == [risk[u] for u in range(units.max() + 1)]
    assert found.share.tolist() == [share[u] for u in range(units.max() + 1)]
    by_class = share_of_persons(labels, units)
    assert by_class.max() == found.share.max()


@given(tables(max_n=30, max_units=8))
def test_linked_rows_are_compared_with_all_persons(case):
    labels, units, _ = case
    expected = naive.alike(labels.tolist(), units.tolist())
    assert linked_risk(labels, units).tolist() == [1 / expected[u] for u in range(units.max() + 1)]


@given(tables(), st.integers(1, 3))
def test_household_risk_of_members(case, n_households):
    labels, units, _ = case
    households = (units % n_households).astype(np.int64)
    risk = person_risk(EquivalenceClasses(labels), units).risk
    pairs = {(int(u), int(h)) for u, h in zip(units, households, strict=True)}
    largest, anyone = naive.household_risk(dict(enumerate(risk)), sorted(pairs))
    found = household_risk(risk, units, households)
    assert found[0].tolist() == [largest[h] for h in sorted(largest)]
    assert found[1] == pytest.approx([anyone[h] for h in sorted(anyone)])


@given(tables(), st.integers(1, 4), st.booleans())
def test_copies_of_rows_change_no_number_of_persons(case, times, whole):
    labels, units, codes = case
    before = counted(labels, units, codes)
    rows = np.arange(labels.size) if whole else np.append(np.arange(labels.size), np.zeros(times, np.int64))
    rows = np.tile(rows, times) if whole else rows
    after = counted(labels[rows], units[rows], codes[rows])
    assert (after.averaged.sizes == before.averaged.sizes).all()
    assert (after.matching == before.matching).all()
    assert (after.any_row == before.any_row).all()
    if whole:
        assert after.averaged.count == pytest.approx(before.averaged.count)
    elif times > 1:
        assert (count_values(labels[rows], codes[rows]).sizes != count_values(labels, codes).sizes).any(), (
            "counts of rows, the wrong version, change"
        )


@given(tables())
def test_values_counted_by_persons_equal_the_reference_implementation(case):
    labels, units, codes = case
    found = counted(labels, units, codes)
    m = int(codes.max()) + 1
    p = [naive_table(units, codes)[v] for v in range(m)]
    alpha, entropy, beta, delta = (f(found.averaged) for f in (alpha_of, entropy_l, basic_beta, delta_of))
    t = closeness(found.averaged, ORDERED)
    t_equal = closeness(found.averaged, equal_distance(m))
    for label, rows in naive.members(labels.tolist()).items():
        q = naive.frequencies(rows, units, codes)
        shares = [q[v] for v in range(m)]
        assert alpha[label] == pytest.approx(max(shares))
        assert entropy[label] == pytest.approx(math.exp(-sum(x * math.log(x) for x in shares if x)))
        assert beta[label] == pytest.approx(max(0.0, *(shares[v] / p[v] - 1 for v in q)), abs=1e-9)
        assert delta[label] == pytest.approx(max(abs(math.log(shares[v] / p[v])) for v in q), abs=1e-9)
        assert t[label] == pytest.approx(naive_models.earth_mover(shares, p, naive_models.ordered_ground(m)), abs=1e-7)
        assert t_equal[label] == pytest.approx(sum(abs(a - b) for a, b in zip(shares, p, strict=True)) / 2, abs=1e-9)
        assert found.any_row[label] == max(naive.any_row(rows, units, codes).values())
        assert found.matching[label] == naive.matching([(units[row], codes[row]) for row in rows])
        largest = sorted(shares, reverse=True)
        for l in (1, 2, 3):
            tail = sum(sorted((x for x in shares if x), reverse=True)[l - 1 :])
            c = recursive_c(found.averaged, l)[label]
            assert c == (pytest.approx(largest[0] / tail) if tail else math.inf)


def naive_table(units, codes):
    return naive.frequencies(range(units.size), units, codes)


@given(tables(max_units=1))
def test_one_row_per_person_gives_the_figures_of_rows(case):
    labels, _, codes = case
    units = np.arange(labels.size)
    found, rows = counted(labels, units, codes), count_values(labels, codes)
    for name in ("group", "value", "count", "sizes", "totals", "missing"):
        assert (getattr(found.averaged, name) == getattr(rows, name)).all(), name
    assert (found.matching == distinct_l(rows)).all()
    assert found.any_row.tolist() == alpha_of(rows).tolist()
    assert person_risk(EquivalenceClasses(labels), units).risk.tolist() == (1 / rows.sizes[labels]).tolist()


def test_many_diagnoses_of_one_person_are_not_diversity():
    units = np.array([0] * 5 + [1, 2, 3, 4])
    codes = np.array([0, 1, 2, 3, 4, 0, 0, 0, 0])
    labels = np.zeros(9, np.int64)
    assert counted(labels, units, codes).matching.tolist() == [2]
    assert distinct_l(count_values(labels, codes)).tolist() == [5], "counted by rows, the wrong version"


HIV = 1
HIV_LABELS = np.repeat([0, 0, 1, 1], [9, 1, 1, 9])
HIV_UNITS = np.repeat([0, 1, 0, 1], [9, 1, 1, 9])
HIV_CODES = np.repeat([HIV, 0, 0, HIV], [9, 1, 1, 9])


def test_joining_two_classes_may_break_a_limit_that_both_satisfy():
    apart = counted(HIV_LABELS, HIV_UNITS, HIV_CODES)
    joined = counted(np.zeros(20, np.int64), HIV_UNITS, HIV_CODES)
    assert alpha_of(apart.averaged).tolist() == [0.5, 0.5]
    assert alpha_of(joined.averaged) == pytest.approx([0.9])
    assert (apart.any_row.tolist(), joined.any_row.tolist()) == ([0.5, 0.5], [1.0])


@given(tables())
def test_matching_and_share_survive_joining(case):
    labels, units, codes = case
    apart, joined = counted(labels, units, codes), counted(np.zeros_like(labels), units, codes)
    assert joined.matching.min() >= apart.matching.max()
    assert share_of_persons(np.zeros_like(labels), units).max() <= share_of_persons(labels, units).max() + 1e-12


@given(tables(), st.integers(0, 10**6))
def test_unknown_values_may_be_the_worst(case, seed):
    labels, units, codes = case
    unknown = np.random.default_rng(seed).uniform(size=codes.size) < 0.3
    found = count_person_values(EquivalenceClasses(labels), units, np.where(unknown, -1, codes), int(codes.max()) + 1)
    for label, rows in naive.members(labels.tolist()).items():
        worst_any, worst_alpha = 0.0, 0.0
        for filler in range(int(codes.max()) + 1):
            filled = np.where(unknown, filler, codes)
            worst_any = max(worst_any, *naive.any_row(rows, units, filled).values())
            worst_alpha = max(worst_alpha, *naive.frequencies(rows, units, filled).values())
        assert found.any_row[label] == worst_any
        assert alpha_of(found.averaged)[label] == pytest.approx(worst_alpha)
        known = [(units[row], codes[row]) for row in rows if not unknown[row]]
        assert found.matching[label] == max(1, naive.matching(known))


def test_a_table_of_random_size_is_counted_like_the_reference():
    rng = np.random.default_rng(5)
    labels, units = rng.integers(0, 40, 600), rng.integers(0, 120, 600)
    units = np.unique(units, return_inverse=True)[1]
    expected = naive.alike(labels.tolist(), units.tolist())
    assert linked_risk(labels, units).tolist() == [1 / expected[u] for u in range(units.max() + 1)]
