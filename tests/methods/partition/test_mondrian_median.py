"""Mondrian with cuts at median values."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import shoal
from shoal.core.grouping import Grouping
from shoal.methods.partition.mondrian import mondrian
from shoal.methods.partition.mondrian_median import mondrian_median

from naive import partition as naive
from strategies import points_and_k


@given(points_and_k(max_n=60))
def test_labels_equal_those_of_sorting_and_recursion(case):
    points, k = case
    expected = naive.labels_of(naive.median_parts(points, k), len(points))
    np.testing.assert_array_equal(mondrian_median(points, k), expected)


@given(points_and_k(max_n=80))
def test_groups_have_k_records_and_equal_records_stay_together(case):
    points, k = case
    points = points.round(0)
    labels = mondrian_median(points, k)
    assert Grouping(labels, k).sizes.min() >= k
    rows = np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)
    assert all(np.unique(labels[rows == row]).size == 1 for row in range(rows.max() + 1))


def test_cuts_by_rank_separate_equal_records_and_these_do_not():
    points = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    by_rank = mondrian(points, 2, whole="2k-1")
    assert np.unique(by_rank[3:]).size > 1
    assert mondrian_median(points, 2).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


def test_a_part_that_no_attribute_cuts_is_one_group():
    points = np.array([[0.0, 5.0]] * 2 + [[1.0, 5.0]] * 40)
    assert mondrian_median(points, 3).tolist() == [0] * 42


def test_the_next_attribute_is_cut_where_the_widest_cannot_be():
    points = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 1.0], [9.0, 1.0]])
    assert mondrian_median(points, 2).tolist() == [0, 0, 1, 1]


def test_a_release_is_a_global_recoding():
    people = pl.DataFrame({"age": [20, 20, 20, 40, 40, 60, 60, 60], "code": [1, 1, 1, 2, 2, 3, 3, 3]})
    release = shoal.protect(
        people, 2, quasi=["age"], other=["code"], method="mondrian-median", accept_derived=True, accept_loss=True
    )
    assert release.data.group_by("code").n_unique()["age"].to_list() == [1, 1, 1]


@pytest.mark.parametrize("offset", [0.0, 1e12])
def test_a_large_offset_changes_nothing(offset, rng):
    points = rng.integers(0, 9, size=(50, 3)).astype(float)
    np.testing.assert_array_equal(mondrian_median(points + offset, 4), mondrian_median(points, 4))


def test_giving_up_at_the_first_impossible_cut_leaves_the_table_whole(rng):
    """The wrong version that tries no other attribute makes one group, which loses far more."""
    points = np.column_stack([(rng.random(400) < 0.05) * 90.0, rng.integers(0, 30, size=400)]).astype(float)
    widest = int(np.ptp(points, axis=0).argmax())
    cut = np.median(points[:, widest])
    assert min((points[:, widest] <= cut).sum(), (points[:, widest] > cut).sum()) < 25
    assert min((points[:, widest] < cut).sum(), (points[:, widest] >= cut).sum()) < 25
    labels = mondrian_median(points, 25)
    own = sum(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2)[:, 1].sum() for g in np.unique(labels))
    whole = ((points - points.mean(axis=0)) ** 2)[:, 1].sum()
    assert own < 0.05 * whole
