"""Why a column lost much of its information, so that the report advises what helps.

The same loss has different causes: cells that the treatment of missing values emptied, strata or missingness patterns
with few records, groups that a requirement beyond k made large, a column in which nearly all records have the same
category (the loss then counts the few others), more categories than groups, or simply more quasi-identifiers than k
allows. The first of these that holds is stated, with its remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from shoal.flow.released import Released
from shoal.flow.remarks import HEAVY_LOSS
from shoal.report.measured_tables import MeasuredTables
from shoal.schema.columns import Column, Kind

_MUCH_EMPTIED = 0.25
"""The share of the known cells of a column above which emptied cells explain its loss."""
_NEARLY_ALL = 0.8
"""The share of the most frequent category above which a column is nearly constant."""
_LARGE_GROUPS = 2.0
"""The average group size, in units of k, above which groups are larger than k explains."""
_SMALL_BLOCKS = 4
"""The average number of groups in a block below which blocks leave little choice."""


@dataclass(frozen=True)
class LossCause:
    """The cause of the loss of a column in one clause, and what can be done about it."""

    cause: str
    remedy: str


def loss_causes(released: Released, tables: MeasuredTables) -> dict[str, LossCause]:
    """Return the cause for every quasi-identifier that lost much of its information.

    Parameters
    ----------
    released
        The release.
    tables
        Its tables; without the original, causes that need it are not considered.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.report.measured_tables import read_tables
    >>> from shoal.tables import Table
    >>> people = pl.DataFrame({"age": range(40), "abroad": ["no"] * 36 + ["yes", "no", "no", "yes"]})
    >>> release = shoal.protect(people, 5, quasi=["age", "abroad"], method="mdav", accept_loss=True).released
    >>> found = loss_causes(release, read_tables(release, Table.from_native(people), ["age", "abroad"]))
    >>> print(found["abroad"].cause)
    95 % of the records have the same category, so the loss counts the other 5 % only
    """
    heavy = [
        column
        for column in released.schema.quasi
        if column.name in released.loss.columns and released.loss.columns[column.name].information_loss > HEAVY_LOSS
    ]
    return {column.name: _cause(released, tables, column) for column in heavy}


def _cause(released: Released, tables: MeasuredTables, column: Column) -> LossCause:
    candidates = (
        _emptied(released, column),
        _blocks(released),
        _large_groups(released),
        _frequent_category(tables, column),
        _many_categories(released, tables, column),
    )
    quasi = len(released.schema.quasi)
    general = LossCause(
        f"groups of {released.grouping.k} or more records cannot be similar in all {quasi} quasi-identifiers"
        if quasi > 1
        else f"neighbouring records of a group of {released.grouping.k} or more differ",
        "Give the column a weight above 1, choose a smaller k, or remove quasi-identifiers that no plausible intruder "
        "knows.",
    )
    return next((cause for cause in candidates if cause is not None), general)


def _emptied(released: Released, column: Column) -> LossCause | None:
    missing: Mapping[str, Mapping[str, int]] = released.manifest["missing_values"]
    emptied, rare = (missing.get(name, {}).get(column.name, 0) for name in ("emptied", "suppressed"))
    if emptied + rare <= _MUCH_EMPTIED * released.grouping.n:
        return None
    share = f"{100 * (emptied + rare) / released.grouping.n:.0f} % of its values were emptied"
    if rare > emptied:
        return LossCause(
            f"{share} because their missingness pattern was too rare",
            "Choose missing=fill or suppress, which change the groups concerned only.",
        )
    return LossCause(
        f"{share} in groups that mix known and missing cells",
        "Choose missing=fill, or remove the column from the quasi-identifiers if it is rarely known.",
    )


def _blocks(released: Released) -> LossCause | None:
    blocks = released.manifest["method"]["blocks"]
    if blocks < 2 or len(released.grouping) >= _SMALL_BLOCKS * blocks:
        return None
    strata = released.schema.strata
    what = f"strata ({', '.join(strata)})" if strata else "missingness patterns"
    return LossCause(
        f"the {blocks:,} {what} leave {len(released.grouping) / blocks:.1f} groups each on average, so that records "
        "have few neighbours to be grouped with",
        "Use fewer or coarser strata." if strata else "Choose missing=fill or suppress instead of by-pattern.",
    )


def _large_groups(released: Released) -> LossCause | None:
    average = released.grouping.n / len(released.grouping) / released.grouping.k
    if average <= _LARGE_GROUPS:
        return None
    size = f"groups have {released.grouping.n / len(released.grouping):.1f} records on average"
    names = list(released.manifest.get("achieved", {}))
    if names:
        requested = ", ".join(f"{name} = {released.manifest['achieved'][name]['requested']:g}" for name in names)
        return LossCause(
            f"{size}, {average:.1f} times k, because of the requirement {requested}",
            "Choose a weaker requirement, or decide that the confidential attribute may be disclosed.",
        )
    if released.schema.unit is not None:
        return LossCause(
            f"{size}, {average:.1f} times k, because k counts persons, who have several rows",
            "Choose a smaller k, or release fewer rows of each person.",
        )
    return None


def _categories(tables: MeasuredTables, column: Column) -> pl.Series | None:
    if tables.original is None or column.kind == Kind.NUMERIC:
        return None
    return tables.original.column(column.name).to_polars().drop_nulls()


def _frequent_category(tables: MeasuredTables, column: Column) -> LossCause | None:
    values = _categories(tables, column)
    if values is None or not len(values):
        return None
    share = int(values.value_counts()["count"].max()) / len(values)  # type: ignore[arg-type]
    if share <= _NEARLY_ALL:
        return None
    return LossCause(
        f"{100 * share:.0f} % of the records have the same category, so the loss counts the other "
        f"{100 * (1 - share):.0f} % only",
        "Give the column a weight above 1 if these records matter, or use recode=frequencies, which keeps counts "
        "better.",
    )


def _many_categories(released: Released, tables: MeasuredTables, column: Column) -> LossCause | None:
    values = _categories(tables, column)
    if values is None or values.n_unique() * released.grouping.k <= released.grouping.n:
        return None
    return LossCause(
        f"it has {values.n_unique():,} categories, most of them of fewer than {released.grouping.k} records",
        "Merge categories before protection (a hierarchy with --hierarchy, or a mapping with --before).",
    )
