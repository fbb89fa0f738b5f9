"""Means rounded to bases: inside the group, unbiased, and a function of the group alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.group_statistics import GroupSummary
from shoal.recoding.rounded_means import content_keys, group_draws, round_floats, round_whole, whole_bases


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 7, -(10**6), 10**18, -(10**18)]),
    st.sampled_from([1, 50, 10**9, 2**60]),
)
def test_whole_means_stay_inside_and_are_multiples_of_their_base(seed, zero, extent):
    rng = np.random.default_rng(seed)
    lowest = rng.integers(-extent, extent, 40)
    highest = lowest + rng.integers(0, extent, 40)
    whole = lowest + (rng.random(40) * (highest - lowest)).astype(np.int64)
    fraction = np.where(whole < highest, rng.random(40), 0.0)
    bases = whole_bases(highest - lowest, np.full(40, 3))
    found = round_whole((whole, fraction), (lowest, highest), bases, rng.random(40), zero)
    assert ((lowest <= found) & (found <= highest)).all()
    assert all((int(value) + zero) % int(base) == 0 for value, base in zip(found, bases, strict=True))
    constant = lowest == highest
    assert (found[constant] == lowest[constant]).all()


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e6, 1e17, 1e-300, -1e300]),
    st.sampled_from([1.0, 1e-3, 1e-290, 1e300]),
)
def test_float_means_stay_inside(seed, offset, scale):
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        ends = np.sort(np.clip(offset + scale * rng.normal(size=(40, 2)), -1.7e308, 1.7e308), axis=1)
    ends[:5, 1] = ends[:5, 0]
    means = np.clip(ends[:, 0] / 2 + ends[:, 1] / 2, ends[:, 0], ends[:, 1])
    summary = GroupSummary(means, ends[:, 0], ends[:, 1])
    found = round_floats(summary, np.full(40, 3), rng.random(40))
    assert ((ends[:, 0] <= found) & (found <= ends[:, 1])).all()
    assert found[:5].tobytes() == ends[:5, 0].tobytes()
    assert not (np.signbit(found) & (found == 0) & ~np.signbit(means)).any()


def test_rounded_floats_are_short_decimal_numbers():
    summary = GroupSummary(np.array([0.2987, 1234.5]), np.array([0.0, 1000.0]), np.array([0.9, 1900.0]))
    assert round_floats(summary, np.array([5, 5]), np.array([0.99, 0.0])).tolist() == [0.3, 1200.0]


@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_a_base_is_coarser_than_the_means_of_integers(size):
    """Means of 0 and 1 are multiples of 1 / size; a base of 1 / size would keep their totals."""
    means = np.arange(1, size) / size
    count = means.size
    summary = GroupSummary(means, np.zeros(count), np.ones(count))
    fine = round_floats(summary, np.full(count, size), np.full(count, 0.5))
    coarse = round_floats(summary, np.full(count, size), np.full(count, 0.5), grain=1.0)
    assert (coarse != means).any()
    if size in {2, 5, 10}:
        np.testing.assert_array_equal(fine, means)  # the wrong version


def test_stated_decimals_are_the_smallest_base():
    summary = GroupSummary(np.array([0.1234, 5.5]), np.array([0.123, 0.0]), np.array([0.124, 10.0]))
    assert round_floats(summary, np.array([3, 3]), np.array([0.0, 0.999]), unit=0.01).tolist() == [0.12, 6.0]


def test_rounding_is_unbiased_also_for_groups_that_agree():
    """One record in five has the property; the nearest integer of each group would be 0, and the total 0."""
    groups = 4_000
    keys = content_keys(np.full(groups, 5), [np.full(groups, 0.2)])
    draws = group_draws(keys, "flag")
    found = round_whole(
        (np.zeros(groups, np.int64), np.full(groups, 0.2)), (np.zeros(groups, np.int64), np.ones(groups, np.int64)),
        np.ones(groups, np.int64), draws,
    )  # fmt: skip
    assert 0.17 < found.mean() < 0.23


def test_draws_are_uniform_and_differ_between_columns(rng):
    keys = content_keys(np.full(10_000, 3), [rng.normal(size=10_000)])
    age, income = group_draws(keys, "age"), group_draws(keys, "income")
    for draws in (age, income):
        assert ((draws >= 0) & (draws < 1)).all()
        assert abs(draws.mean() - 0.5) < 0.02
        assert abs(np.histogram(draws, 10, (0, 1))[0] - 1_000).max() < 150
    assert abs(np.corrcoef(age, income)[0, 1]) < 0.05


def test_a_draw_depends_on_the_group_alone(rng):
    sizes, means = rng.integers(3, 6, 50), rng.normal(size=(2, 50))
    keys = content_keys(sizes, list(means))
    order = rng.permutation(50)[:30]
    np.testing.assert_array_equal(content_keys(sizes[order], list(means[:, order])), keys[order])


@pytest.mark.parametrize(("unit", "grain"), [(0.0, 0.0), (0.01, 0.0), (0.0, 0.1)])
def test_compiled_and_plain_loops_agree(rng, monkeypatch, unit, grain):
    lowest = rng.normal(0, 10, 300)
    extent = np.where(rng.random(300) < 0.2, 0.0, rng.lognormal(0, 5, 300))
    summary = GroupSummary(lowest + rng.random(300) * extent, lowest, lowest + extent)
    sizes, draws = rng.integers(2, 12, 300), rng.random(300)
    plain = round_floats(summary, sizes, draws, unit=unit, grain=grain)
    monkeypatch.setattr("shoal.recoding.rounded_means.INTERPRETED_GROUPS", 0)
    np.testing.assert_array_equal(round_floats(summary, sizes, draws, unit=unit, grain=grain), plain)


def one_mean(low, mean, high, size, draw=0.5, **options):
    summary = GroupSummary(np.array([mean]), np.array([low]), np.array([high]))
    return float(round_floats(summary, np.array([size]), np.array([draw]), **options)[0])


def test_means_that_no_base_fits_stay_as_they_are():
    assert one_mean(0.0, 5e-324, 1e-323, 3) == 5e-324  # below the smallest base
    assert one_mean(1e15, 1e15 + 0.375, 1e15 + 1, 3) == 1e15 + 0.375  # more than 2^52 times the base
    assert one_mean(5e14, 5e14 + 0.0625, 5e14 + 0.375, 3) == 5e14 + 0.0625  # its multiple would be 5e14 + 0.1
    assert one_mean(0.8631789223498866, 0.8631789223498867, 0.8631789223498867, 5) == 0.8631789223498867
    assert one_mean(4e14, 4e14 + 0.3125, 4e14 + 1, 3, draw=0.0) == 4e14 + 0.2  # less


def test_a_multiple_outside_the_group_becomes_its_nearest_end_unless_a_unit_is_stated():
    assert one_mean(0.31, 0.35, 0.39, 2, grain=1.0) == 0.31
    assert one_mean(0.31, 0.35, 0.39, 2, unit=1.0) == 0.0


def test_both_zeros_give_the_same_key():
    assert content_keys(np.array([3]), [np.array([-0.0])]) == content_keys(np.array([3]), [np.array([0.0])])


def test_bases_of_integers_are_1_2_and_5_times_powers_of_ten():
    extents = np.array([0, 2, 4, 5, 19, 20, 9_000, 2**62])
    assert whole_bases(extents, np.ones(8, np.int64)).tolist() == [1, 2, 2, 5, 10, 20, 5_000, 2 * 10**18]
