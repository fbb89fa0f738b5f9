import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import ParameterError
from shoal.methods.partition.mondrian_nominal import mondrian_nominal
from shoal.methods.running import run

from naive import partition as naive


@st.composite
def codes_and_k(draw):
    k = draw(st.integers(2, 5))
    n = draw(st.one_of(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k]), st.integers(k, 60)))
    m = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.geometric(draw(st.sampled_from([0.2, 0.5, 0.9])), size=(n, m)).astype(np.int32)
    if draw(st.booleans()):
        codes[:, rng.integers(m)] = 7  # a constant column
    return codes, k


@given(codes_and_k(), st.booleans())
def test_groups_equal_those_of_lists_and_dictionaries(case, strict):
    codes, k = case
    expected = naive.labels_of(naive.category_parts(codes, k, strict), len(codes))
    found = mondrian_nominal(codes, k, cuts="strict" if strict else "relaxed")
    np.testing.assert_array_equal(canonical_labels(found), canonical_labels(expected))


@given(codes_and_k())
def test_relaxed_groups_have_k_to_2k_less_1_records(case):
    codes, k = case
    Grouping(mondrian_nominal(codes, k), k, max_size=2 * k - 1)


@given(codes_and_k())
def test_strict_groups_are_boxes_that_do_not_overlap(case):
    codes, k = case
    labels = mondrian_nominal(codes, k, cuts="strict")
    Grouping(labels, k)
    sets = [[set(column) for column in codes[labels == g].T] for g in range(labels.max() + 1)]
    for number, own in enumerate(sets):
        for other in sets[:number]:
            assert any(not (a & b) for a, b in zip(own, other, strict=True))


@given(codes_and_k())
def test_the_numbers_of_categories_do_not_matter(case):
    codes, k = case
    np.testing.assert_array_equal(mondrian_nominal(codes, k), mondrian_nominal(codes * 1_000_003 - 5, k))


def test_a_table_of_nominal_columns_is_protected(rng):
    colours, towns = np.array(["red", "green", "blue"]), np.array([f"town {i}" for i in range(9)])
    people = pl.DataFrame({"colour": colours[rng.integers(0, 3, 200)], "town": towns[rng.integers(0, 9, 200)]})
    release = shoal.protect(people, 4, quasi=["colour", "town"], method="mondrian-nominal")
    assert release.k >= 4
    everything = shoal.protect(people, 4, quasi=["colour", "town"], method="mondrian")
    assert release.loss.information_loss <= everything.loss.information_loss + 0.05


def test_equal_records_stay_together_where_they_can():
    codes = np.repeat(np.array([[0, 0], [1, 1], [2, 0]], np.int32), 3, axis=0)
    labels = mondrian_nominal(codes, 3)
    assert labels.max() == 2
    assert all(len(set(labels[i : i + 3])) == 1 for i in (0, 3, 6))


def test_impossible_cuts_raise_an_error_that_names_them():
    with pytest.raises(ParameterError, match='cuts="loose" is not possible'):
        run("mondrian-nominal", np.zeros((4, 1), np.int32), 2, cuts="loose")
