import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import GroupTooLarge, GroupTooSmall, ParameterError


@given(st.lists(st.integers(-5, 10**12), min_size=1, max_size=50))
def test_canonical_labels_number_groups_by_first_appearance(labels):
    numbers = {}
    expected = [numbers.setdefault(label, len(numbers)) for label in labels]
    assert canonical_labels(np.array(labels)).tolist() == expected


def test_a_group_below_k_cannot_exist():
    with pytest.raises(GroupTooSmall, match=r"2 of 3 groups have fewer than k=3 records \(the smallest has 1\)"):
        Grouping([0, 0, 0, 1, 2, 2], k=3)


def test_no_records_cannot_be_a_grouping():
    with pytest.raises(GroupTooSmall, match="no records"):
        Grouping(np.empty(0, int), k=2)


def test_a_group_above_the_promised_size_is_refused():
    with pytest.raises(GroupTooLarge, match="1 of 1 groups has more than 3 records"):
        Grouping([0, 0, 0, 0], k=2, max_size=3)
    with pytest.raises(GroupTooLarge, match=r"1 of 2 groups has more than 3 records \(the largest has 4\)"):
        Grouping([0, 0, 0, 0, 1, 1], k=2, max_size=3)


@pytest.mark.parametrize("labels", [[0.0, 1.0], [[0, 0]]])
def test_labels_must_be_one_integer_per_record(labels):
    with pytest.raises(ParameterError, match="one integer per record"):
        Grouping(labels, k=2)


def test_labels_cannot_be_changed_afterwards():
    grouping = Grouping([0, 0], k=2)
    with pytest.raises(ValueError, match="read-only"):
        grouping.labels[0] = 1
