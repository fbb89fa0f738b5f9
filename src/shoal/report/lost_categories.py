"""The categories that the released table does not have any more, for the report of the data holder.

A category of at least as many records as a bar of the report represents is named, with a unit one of as many persons;
rarer ones are the values of few persons and are only counted, as the report holds no value of a single person. The
manifest, the public report and the terminal state the number for each column and no names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.flow.released import Released
from shoal.flow.units import UnitIndex, read_units
from shoal.report.column_distributions import category_counts
from shoal.report.histograms import min_bar_records
from shoal.report.measured_tables import MeasuredTables
from shoal.tables import Table

_MOST_NAMED = 20


@dataclass(frozen=True)
class LostCategories:
    """The categories of one column that do not occur in the released table.

    Parameters
    ----------
    named
        The frequent ones with their number of records in the original, or of persons, the most frequent first.
    further
        The number of those that are not named.
    noun
        What is counted: ``records`` or ``persons``.
    """

    named: tuple[tuple[str, int], ...]
    further: int
    noun: str = "records"

    def __str__(self) -> str:
        texts = [f'"{text}" ({count:,} {self.noun})' for text, count in self.named]
        if self.further:
            texts.append(f"{self.further:,} {'rarer ' if self.named else 'rare '}{_categories(self.further)}")
        return ", ".join(texts)


def lost_categories(released: Released, tables: MeasuredTables) -> dict[str, LostCategories]:
    """Return the lost categories of each column that a remark names; nothing without the original.

    Parameters
    ----------
    released
        The release.
    tables
        Its tables.
    """
    if tables.original is None:
        return {}
    enough, found = min_bar_records(released.plan.requirements.k), {}
    units = read_units(tables.original, released.schema, ordered=False) if released.schema.unit is not None else None
    for name in [remark.column for remark in released.remarks if remark.code == "lost-category"]:
        if name is None:
            continue
        before, after = (
            category_counts(table, name) for table in (_once_each(tables.original, name, units), tables.released)
        )
        lost = sorted(((text, n) for text, n in before.items() if text and text not in after), key=lambda e: (-e[1], e))
        named = [entry for entry in lost if entry[1] >= enough][:_MOST_NAMED]
        found[name] = LostCategories(tuple(named), len(lost) - len(named), "records" if units is None else "persons")
    return found


def _once_each(table: Table, name: str, units: UnitIndex | None) -> Table:
    """Return a table in which each person has each category of a column once; the table itself without units."""
    if units is None:
        return table
    codes = table.column(name).to_polars().rank("dense").fill_null(0).to_numpy()
    first = np.unique(np.column_stack([units.unit, codes]), axis=0, return_index=True)[1]
    return table.in_order(np.sort(first))


def _categories(number: int) -> str:
    return "category" if number == 1 else "categories"
