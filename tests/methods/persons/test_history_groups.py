"""At least k persons have equal released sequences, lengths included."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, ParameterError
from shoal.methods.persons.history_groups import history_groups
from shoal.methods.persons.history_moves import align_rows

from naive import persons as naive


def panel(seed, sizes, d=2):
    """Rows of persons with distinct times, shuffled."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(len(sizes)), sizes)
    time = np.concatenate([np.sort(rng.permutation(25)[:size]) for size in sizes])
    points = rng.normal(size=(units.size, d)) + rng.normal(size=(len(sizes), d))[units]
    points -= points.mean(axis=0)
    order = rng.permutation(units.size)
    return points[order], _numbered(units[order]), time[order]


def _numbered(units):
    first = {}
    return np.array([first.setdefault(unit, len(first)) for unit in units.tolist()])


def rarest(units, time, groups, slots):
    """How many persons share the rarest sequence."""
    order = np.lexsort((np.arange(units.size), time, units))
    return min(Counter(naive.sequences(units, order, groups, slots).values()).values())


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 20), min_size=2, max_size=20),
    st.integers(2, 5),
    st.sampled_from(["last", "first", "time"]),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_sequences_occur_at_least_k_times(seed, sizes, k, slots, price):
    points, units, time = panel(seed, sizes)
    if len(sizes) < k:
        with pytest.raises(ParameterError, match="k="):
            history_groups(points, units, k, time=time, slots=slots)
        return
    found = history_groups(points, units, k, time=time, slots=slots, suppressed_weight=price)
    assert rarest(units, time, found.person_groups, found.slots) >= k
    assert found.kept == int((found.slots >= 0).sum())
    expected = naive.history_cost(points, units, found.person_groups, found.slots, price)
    assert found.cost == pytest.approx(expected, abs=1e-8)


def test_kept_rows_are_in_order_of_time_and_each_slot_is_taken_once():
    points, units, time = panel(4, [1, 3, 5, 7, 4, 6, 2, 8, 9, 3])
    found = history_groups(points, units, 3, time=time)
    order = np.lexsort((time, units))
    for unit in range(10):
        slots = [int(found.slots[row]) for row in order if units[row] == unit and found.slots[row] >= 0]
        assert slots == list(range(len(slots)))


def test_wrong_versions_are_caught():
    points, units, time = panel(7, [2, 3, 4, 5, 6, 3, 2, 5])
    found = history_groups(points, units, 4, time=time)
    assert rarest(units, time, found.person_groups, found.slots) >= 4
    # suppressed rows that are released after all: lengths differ
    padded = np.where(found.slots < 0, 99, found.slots)
    assert rarest(units, time, found.person_groups, padded) < 4
    # order by row number instead of time, and equal sets instead of equal sequences
    by_row = history_groups(points, units, 4)
    assert rarest(units, time, by_row.person_groups, by_row.slots) < 4
    sets = Counter(
        frozenset(sequence) for sequence in naive.sequences(
            units, np.lexsort((time, units)), by_row.person_groups, by_row.slots
        ).values()
    )  # fmt: skip
    assert min(sets.values()) >= 4


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 5), st.sampled_from([0.0, 1.0, 2.5]))
def test_the_alignment_is_the_best_of_all_choices(seed, count, dropped, price):
    rng = np.random.default_rng(seed)
    length = max(count - dropped, 1)
    rows, profile = rng.normal(size=(count, 2)), rng.normal(size=(length, 2))
    slots = np.empty(count, np.int64)
    cost = align_rows(rows, count, profile, length, price, np.empty((count + 1, length + 1)), slots)
    assert cost == pytest.approx(naive.best_alignment(rows, profile, price))
    assert [slot for slot in slots.tolist() if slot >= 0] == list(range(length))
    taken = sum(float(((rows[i] - profile[s]) ** 2).sum()) for i, s in enumerate(slots.tolist()) if s >= 0)
    assert cost == pytest.approx(taken + price * float((rows[slots < 0] ** 2).sum()))


def test_alignment_never_costs_more():
    for seed in range(8):
        points, units, time = panel(seed, [3, 4, 5, 6, 7, 8] * 3)
        plain, aligned = (history_groups(points, units, 3, time=time, align=align) for align in (False, True))
        assert aligned.cost <= plain.cost + 1e-9


def test_equal_lengths_lose_no_row_and_constants_come_out_equal():
    points, units, time = panel(2, [4] * 12)
    points[:, 0] = np.arange(12.0)[units]
    found = history_groups(points, units, 3, time=time)
    assert found.kept == 48
    for group in set(found.person_groups.tolist()):
        inside = found.person_groups[units] == group
        means = {points[inside & (found.slots == slot), 0].mean() for slot in range(4)}
        assert max(means) - min(means) < 1e-9


def test_all_lengths_different_and_as_many_persons_as_k():
    points, units, time = panel(3, [1, 2, 3, 4, 5])
    found = history_groups(points, units, 5, time=time)
    assert (found.kept, set(found.person_groups.tolist())) == (5, {0})


def test_ties_and_wrong_options_have_one_sentence():
    points, units = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    assert history_groups(points, units, 2, time=np.zeros(4)).kept == 4
    with pytest.raises(DataError, match="same time as another row"):
        history_groups(points, units, 2, time=np.zeros(4), slots="time")
    with pytest.raises(ParameterError, match="need a time column"):
        history_groups(points, units, 2, slots="time")
    with pytest.raises(ParameterError, match="slots="):
        history_groups(points, units, 2, slots="middle")
    with pytest.raises(ParameterError, match="suppressed_weight"):
        history_groups(points, units, 2, suppressed_weight=float("nan"))
    with pytest.raises(ParameterError, match="k=2 needs at least 2"):
        history_groups(points, np.zeros(4, int), 2)
