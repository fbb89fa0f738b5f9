"""Single functions of the privacy models at values where a small change of the code shows."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core.grouping import Groups
from shoal.core.hierarchy import Hierarchy
from shoal.errors import DataError, SchemaError
from shoal.privacy.confidential import Values, joint_values, sorted_values
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.p_sensitivity import most_classes
from shoal.privacy.requirement_table import smallest_size
from shoal.privacy.value_encoding import fit_values
from shoal.recoding.generalisation import generalise_by_hierarchy
from shoal.recoding.loss import squared_loss
from shoal.schema.columns import Column, Kind
from shoal.tables import Table


def test_a_tiny_number_is_not_zero_and_zeros_of_both_signs_are_one_class():
    table = Table.from_native(pl.DataFrame({"a": [0.0, -0.0, 1e-17, 1e-17]}))
    labels = class_labels(table, ["a"])
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_a_class_of_two_values_needs_two_records_of_each_pair():
    assert most_classes(np.array([5, 5]), 2) == 5
    assert most_classes(np.array([5, 4, 1]), 3) == 1


def test_the_entropy_of_a_group_needs_the_next_integer_of_records():
    column = Values("x", np.arange(100), 100, ORDERED)
    assert smallest_size(shoal.Requirements(k=2, l=2.5, l_kind="entropy"), [column], 100) == 3


def test_joint_values_are_numbered_without_gaps():
    left = Values("a", np.array([0, 0, 1]), 2, equal_distance(2))
    assert joint_values([left, left]).n_values == 2


def test_texts_are_refused_as_numbers():
    series = Table.from_native(pl.DataFrame({"a": ["x", "y"]})).column("a")
    with pytest.raises(SchemaError, match="holds texts"):
        sorted_values(series, Column("a", "confidential", Kind.NUMERIC))


def test_sampling_weights_count_in_the_loss():
    original, released = np.array([0.0, 2.0, 4.0]), np.array([1.0, 1.0, 4.0])
    weighted = squared_loss(original.copy(), released.copy(), np.array([3.0, 1.0, 1.0]))
    repeated = squared_loss(np.array([0.0, 0.0, 0.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0, 1.0, 4.0]))
    assert weighted.information_loss == pytest.approx(repeated.information_loss)


def test_a_part_with_values_that_the_whole_table_lacks_is_refused():
    column = Column("a", "confidential", Kind.NUMERIC)
    fitted = fit_values(Table.from_native(pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})), column)
    assert fitted.read(Table.from_native(pl.DataFrame({"a": [-0.0, 3.0]}))).codes.tolist() == [0, 3]
    with pytest.raises(DataError, match="1 of 2 values do not occur"):
        fitted.read(Table.from_native(pl.DataFrame({"a": [1.0, 9.0]})))
    with pytest.raises(DataError, match="2 of 3 values do not occur"):
        fitted.read(Table.from_native(pl.DataFrame({"a": [1.0, None, 9.0]})))
    with pytest.raises(DataError, match="1 of 2 values do not occur"):
        fitted.quantised(2).read(Table.from_native(pl.DataFrame({"a": [1.0, 9.0]})))


def test_a_group_without_values_has_no_penalty_and_one_with_a_missing_value_the_highest():
    tree = Hierarchy([("oak", "tree"), ("elm", "tree"), ("rye", "grass")])
    codes = np.array([3, 3, 0, 3, 0, 1])
    found = generalise_by_hierarchy(
        np.arange(4.0), codes, ["oak", "elm", "rye", None], Groups([0, 0, 1, 1, 2, 2]), tree, "plant"
    )
    assert found.texts == [None, "*", "tree"]
    assert found.ncp.tolist() == [0.0, 1.0, 2 / 3]
    assert found.height.tolist() == [0.0, 1.0, 0.5]
