"""Single functions of the privacy models at values where a small change of the code shows."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core.grouping import Groups
from shoal.core.hierarchy import Hierarchy
from shoal.core.row_classes import distance_step
from shoal.errors import DataError, SchemaError
from shoal.privacy import equivalence_classes
from shoal.privacy.confidential import Values, joint_values, read_values, sorted_values
from shoal.privacy.equivalence_classes import MissingSemantics
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.m_t_closeness import _sizes
from shoal.privacy.p_sensitivity import most_classes
from shoal.privacy.person_risk import person_figures
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


def test_the_smallest_groups_that_shares_allow():
    """Shares of 0.6, 0.3 and 0.1: three records as 2, 1 and 0 are the first within 0.1 of them."""
    values = np.repeat([0, 1, 2], [6, 3, 1])
    ordered, nominal = Values("x", values, 3, ORDERED), Values("x", values, 3, equal_distance(3))
    for wanted, column, size in (
        ({"alpha": 0.3}, ordered, 4), ({"alpha": 0.25}, ordered, 4), ({"beta": 0.5}, ordered, 2),
        ({"t": 0.1}, nominal, 3), ({"t": 0.1, "alpha": 0.2}, nominal, 5),
    ):  # fmt: skip
        assert smallest_size(shoal.Requirements(k=2, **wanted), [column], 10) == size


def test_a_class_needs_a_column_and_a_record():
    table = Table.from_native(pl.DataFrame({"a": [1, 1]}))
    assert class_labels(table, ["a"]).tolist() == [0, 0]
    with pytest.raises(SchemaError, match="no quasi-identifier is named"):
        class_labels(table, [])
    with pytest.raises(DataError, match="no records"):
        class_labels(Table.from_native(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})), ["a"])


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
    missing, kept = np.array([0.0, np.nan, 2.0, 4.0]), np.array([1.0, np.nan, 1.0, 4.0])
    assert squared_loss(missing.copy(), kept.copy(), np.array([3.0, 9.0, 1.0, 1.0])) == weighted
    assert squared_loss(missing, kept).sst == 8.0


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


def test_joint_values_of_no_record_are_none():
    none = Values("a", np.zeros(0, np.int64), 0, equal_distance(0))
    assert joint_values([none, none]).n_values == 0


def test_lists_are_refused_as_confidential_values():
    series = Table.from_native(pl.DataFrame({"a": [[1], [2]]})).column("a")
    with pytest.raises(SchemaError, match="cannot be counted"):
        sorted_values(series, Column("a", "confidential", Kind.NOMINAL))


def test_values_below_a_node_of_a_tree_stay_together():
    tree = Hierarchy([("p", "x"), ("q", "y"), ("r", "x"), ("s", "y")])
    column = Column("a", "confidential", Kind.NOMINAL, hierarchy=tree)
    table = Table.from_native(pl.DataFrame({"a": list("pqrs")}))
    codes = read_values(table, column, MissingSemantics.DISTINCT).codes
    assert "".join("xyxy"[i] for i in np.argsort(codes)) in {"xxyy", "yyxx"}


def test_as_many_patterns_of_missing_values_as_allowed_are_compared(monkeypatch):
    table = Table.from_native(pl.DataFrame({"a": [1, None, 1], "b": [1, 1, None]}))
    monkeypatch.setattr(equivalence_classes, "MAX_PATTERNS", 3)
    classes = equivalence_classes.equivalence_classes(table, ["a", "b"], MissingSemantics.WILDCARD)
    assert classes.sizes().tolist() == [3, 3, 3]
    monkeypatch.setattr(equivalence_classes, "MAX_PATTERNS", 2)
    with pytest.raises(DataError, match="there are 3 patterns of missing values"):
        equivalence_classes.equivalence_classes(table, ["a", "b"], MissingSemantics.WILDCARD)


def test_a_larger_set_has_at_most_the_next_multiple_of_records():
    assert _sizes(3, 5, 100) == range(5, 7)
    assert _sizes(3, 6, 100) == range(6, 7)
    assert _sizes(4, 5, 7) == range(5, 8)


def test_linked_risk_is_shown_only_where_it_was_measured_and_says_something():
    labels, units = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2])
    shown = [name for name, *_ in person_figures(labels, units, threshold=0.5).figures()]
    assert [name for name in shown if name.startswith("linked")] == [
        "linked person risk, highest", "linked person risk, average",
    ]  # fmt: skip
    shown = [name for name, *_ in person_figures(labels[:3], np.arange(3), threshold=0.5).figures()]
    assert not any(name.startswith(("linked", "share of a class")) for name in shown)


def test_the_step_of_distances_reads_fractions_with_denominators_up_to_10000():
    assert distance_step(np.array([1.0, 1 / 10_000])) == 1 / 10_000
    assert distance_step(np.array([1.0, 1 / 10_001])) == 0.0


def test_missing_values_are_the_lowest_of_an_order_and_the_last_category():
    numbers, texts = pl.DataFrame({"a": [None, 1.0, 1.0, 2.0]}), pl.DataFrame({"a": ["x", None, "y", "y"]})
    for frame, kind, codes, totals in ((numbers, Kind.NUMERIC, [0, 1, 1, 2], [1, 2, 1]),
                                       (texts, Kind.NOMINAL, [0, 2, 1, 1], [1, 2, 1])):  # fmt: skip
        table = Table.from_native(frame)
        found = fit_values(table, Column("a", "confidential", kind)).read(table)
        assert (found.codes.tolist(), found.totals.tolist(), found.n_values) == (codes, totals, 3)


def test_an_unknown_figure_is_named():
    found = shoal.assess(pl.DataFrame({"a": [1, 1], "b": ["x", "y"]}), quasi=["a"], confidential=["b"])
    with pytest.raises(AttributeError, match="an assessment has no figure 'entropy'"):
        found.entropy  # noqa: B018 - the access is what is tested
