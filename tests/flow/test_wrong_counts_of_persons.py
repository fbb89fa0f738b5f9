"""Eight things that must hold where persons have several rows, each with the wrong versions that its test catches.

====  ==========================================  ============================================================
 no.  what holds                                  wrong versions, and where they are run
====  ==========================================  ============================================================
 1    every written class has k persons           counting rows (``test_units_of_every_kind.py``); counting
                                                  groups before recoding, and groups of at most 2k-1 rows (here)
 2    one row a person: labels as without units   a final round that always runs, and numbers of units in the
                                                  order of visits (``test_rising_price.py``)
 3    counters equal a fresh count                a last row that leaves, a first row that enters without being
                                                  counted (``test_rising_price.py``)
 4    copies and exchanges change no count        double decrements (``test_rising_price.py``); counting rows (here)
 5    one value a person in constant columns      constants averaged per group of rows
                                                  (``test_person_groups.py``, ``test_kept_constants.py``)
 6    equal sequences by code, k times            padding, order by row number, equal sets (``test_histories.py``)
 7    k persons of two rows each are split        splitting from 2k persons on only (here)
 8    the example of two mirrored classes         joins that are not measured again (``test_person_requirements.py``)
====  ==========================================  ============================================================
"""

from dataclasses import replace
from importlib import import_module

import numpy as np
import polars as pl
import pytest
from tests.flow.test_units import persons_per_class, protect, stays

import shoal
import shoal.flow.satisfy
from shoal.errors import GroupTooSmall
from shoal.flow.group import StepRecord
from shoal.methods.persons import unit_row_moves
from shoal.methods.persons.rising_price import Constraints, refine_within
from shoal.privacy.k_anonymity import Classes
from shoal.tables import Table

from naive import persons as naive

RECODE = import_module("shoal.flow.recode")


def with_a_changed_cell(monkeypatch):
    """Let recoding give one row of a group another value than the others."""
    right = RECODE.recode_table

    def wrong(*given, **further):
        recoded = right(*given, **further)
        ages = recoded.table.column("age").to_polars().to_list()
        column = recoded.table.frame.with_columns(
            Table.from_native(pl.DataFrame({"age": [ages[0] + 1, *ages[1:]]})).frame["age"]
        )
        return replace(recoded, table=replace(recoded.table, frame=column))

    monkeypatch.setattr(RECODE, "recode_table", wrong)


def test_1_groups_counted_before_recoding_are_caught(monkeypatch):
    with_a_changed_cell(monkeypatch)
    with pytest.raises(GroupTooSmall, match="fewer than k=5 persons"):
        protect(stays())


def test_1_a_count_of_groups_instead_of_values_is_wrong(monkeypatch):
    """What the count above would miss: k as the groups have it, while a class of the table has one person."""
    table = stays()
    groups = protect(table).grouping.sizes
    with_a_changed_cell(monkeypatch)
    monkeypatch.setattr("shoal.flow.released.verify_k", lambda *_: Classes(groups))
    monkeypatch.setattr("shoal.flow.released.require_k", lambda *_: None)
    release = protect(table)
    assert release.k >= 5
    assert persons_per_class(release, table).min() == 1


def test_1_groups_of_at_most_2k_minus_1_rows_are_caught(monkeypatch):
    """Persons of six rows, six and one: only all of them together are three persons."""
    whose = ["a"] * 6 + ["b"] * 6 + ["c"]
    table = pl.DataFrame({"patient": whose, "age": range(13), "income": [1.0] * 13, "diagnosis": "x", "row": range(13)})
    release = protect(table, k=3, accept_loss=True, accept_relinking=True)
    assert release.classes.sizes.tolist() == [13]
    right = shoal.flow.satisfy._units_satisfied

    def capped(grouped, *further):
        labels = right(grouped, *further).grouping.labels
        return grouped.regrouped(
            np.minimum(np.arange(labels.size) // 3, labels.size // 3 - 1), StepRecord("capped", {})
        )

    monkeypatch.setattr("shoal.flow.satisfy._units_satisfied", capped)
    with pytest.raises(GroupTooSmall, match="fewer than k=3 persons"):
        protect(table, k=3, accept_loss=True, accept_relinking=True)


def test_4_a_count_of_rows_takes_copies_for_persons():
    labels, units = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])
    copied = np.append(np.arange(4), np.repeat(0, 10))
    assert naive.units_per_group(labels[copied], units[copied]) == naive.units_per_group(labels, units)
    rows = [np.bincount(labels).tolist(), np.bincount(labels[copied]).tolist()]
    assert rows == [[2, 2], [12, 2]]  # the wrong version


def two_rows_each(k=4):
    points = np.repeat([[0.0], [9.0]], k, axis=0) + np.arange(2 * k)[:, None] / 100
    return points, np.tile(np.arange(k), 2)


def test_7_k_persons_of_two_rows_each_are_split():
    points, units = two_rows_each()
    found = refine_within(points, np.zeros(8, np.int64), np.arange(8) // 4, Constraints(4, units))
    assert np.unique(found).size == 2


def is_split(monkeypatch, **replaced):
    """Whether k units of two rows each are cut in two by the moves as plain Python, with parts replaced."""
    points, units = two_rows_each(3)
    state, scratch = unit_row_moves.open_row_groups(points, np.ones(6), units, 4)
    unit_row_moves.group_nodes  # noqa: B018 - compiled before its parts are replaced
    for name, value in list(vars(unit_row_moves).items()):
        if hasattr(value, "dispatcher") and hasattr(value, "function"):
            monkeypatch.setattr(unit_row_moves, name, replaced.get(name, value.function))
    for row in range(6):
        unit_row_moves.enter(state, row, 0)
    return unit_row_moves.try_split(state, scratch, 0, 1, 3, 1e-12)


def test_7_a_split_from_2k_persons_on_only_is_caught(monkeypatch):
    assert is_split(monkeypatch)
    monkeypatch.undo()

    def refused(*_):  # three persons are fewer than 2k = 6
        return -1

    assert not is_split(monkeypatch, best_cut=refused, force_cut=refused)
