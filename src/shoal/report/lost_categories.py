"""The categories that the released table does not have any more, for the report of the data holder.

A category of at least as many records as a bar of the report represents is named; rarer ones are the values of few
persons and are only counted, as the report holds no value of a single record. The manifest, the public report and the
terminal state the number for each column and no names.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.flow.released import Released
from shoal.report.column_distributions import category_counts
from shoal.report.histograms import min_bar_records
from shoal.report.measured_tables import MeasuredTables

_MOST_NAMED = 20


@dataclass(frozen=True)
class LostCategories:
    """The categories of one column that do not occur in the released table.

    Parameters
    ----------
    named
        The frequent ones with their number of records in the original, the most frequent first.
    further
        The number of those that are not named.
    """

    named: tuple[tuple[str, int], ...]
    further: int

    def __str__(self) -> str:
        texts = [f'"{text}" ({count:,} records)' for text, count in self.named]
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
    enough, found = min_bar_records(released.grouping.k), {}
    for name in [remark.column for remark in released.remarks if remark.code == "lost-category"]:
        if name is None:
            continue
        before, after = (category_counts(table, name) for table in (tables.original, tables.released))
        lost = sorted(((text, n) for text, n in before.items() if text and text not in after), key=lambda e: (-e[1], e))
        named = [entry for entry in lost if entry[1] >= enough][:_MOST_NAMED]
        found[name] = LostCategories(tuple(named), len(lost) - len(named))
    return found


def _categories(number: int) -> str:
    return "category" if number == 1 else "categories"
