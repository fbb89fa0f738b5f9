"""Columns that are released unchanged and give protected values back.

Protecting a date is useless beside an unchanged follow-up date and an unchanged duration whose difference it is. Three
kinds of rules are searched for on a sample of the records: a released column is a copy of a protected one, but for a
constant or a factor; a protected column is the sum or the difference of two released ones; and a released column
determines a protected one, as a city determines its region. Records in which the protected column has its most
frequent value count for nothing, so that columns of zeros prove nothing.

Cost O(q m^2 s) for q protected and m released columns and a sample of s = 2,000 records: well below a second for 40
columns of each, whatever the length of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.flow.prepare import Prepared
from shoal.schema.columns import Role, Schema
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

SAMPLE = 2_000
ENOUGH = 0.9
"""The share of the sampled records in which a rule must hold."""
DETERMINED = 0.99
"""The share of the sampled records whose value a released column must determine."""
FEWEST = 20
"""Records with another than the most frequent value that a rule must hold for."""
REPEATED = 0.5
"""The share of the sampled records that must have a value that others have too, to speak of a dependency."""
MODAL_SHARE = 0.8
"""A column in which one value is more frequent is not said to be determined by another."""
_TOLERANCE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Derived:
    """A protected column that released columns give back.

    Parameters
    ----------
    column
        The protected column.
    sources
        The released columns.
    rule
        How the protected value follows from them, in words.
    share
        The share of the sampled records for which it does.
    exactly
        Whether the value itself follows by arithmetic: a copy, a sum or a difference.

    Examples
    --------
    >>> print(Derived("entry", ("end", "days"), '"end" minus "days"', 1.0).sentence)
    "entry" is protected, but the released columns give it back in 100 % of the records: it is "end" minus "days"
    """

    column: str
    sources: tuple[str, ...]
    rule: str
    share: float
    exactly: bool = True

    @property
    def code(self) -> str:
        """The code of the remark."""
        return "derived-exactly" if self.exactly else "derived-column"

    @property
    def sentence(self) -> str:
        """The finding, without values."""
        return (
            f'"{self.column}" is protected, but the released columns give it back in {100 * self.share:.0f} % of the '
            f"records: it is {self.rule}"
        )


def derived_columns(prepared: Prepared) -> list[Derived]:
    """Return the protected columns that the unchanged columns of a release give back.

    Parameters
    ----------
    prepared
        The table.

    Returns
    -------
    found
        At most one rule per protected column: a copy, otherwise a sum or difference, otherwise a dependency.
    """
    return find_derived(prepared.table, prepared.schema)


def find_derived(table: Table, schema: Schema) -> list[Derived]:
    """Return the rules by which released columns of a table give protected ones back; see :func:`derived_columns`.

    Examples
    --------
    >>> from shoal.schema.columns import Column, Kind
    >>> start = np.arange(50) ** 2 % 101
    >>> stays = pl.DataFrame({"start": start, "days": np.arange(50) % 7, "end": start + np.arange(50) % 7})
    >>> roles = [Column("start", Role.QUASI, Kind.NUMERIC), Column("days", Role.OTHER, Kind.NUMERIC)]
    >>> schema = Schema((*roles, Column("end", Role.OTHER, Kind.NUMERIC)))
    >>> [found.rule for found in find_derived(Table.from_native(stays), schema)]
    ['"end" minus "days"']
    """
    protected = [column.name for column in schema.quasi]
    kept = {schema.sampling_weight, *schema.strata}
    released = [
        column.name for column in schema.columns
        if column.role in {Role.OTHER, Role.CONFIDENTIAL} and column.name not in kept
    ]  # fmt: skip
    if not released or table.n_rows < FEWEST:
        return []
    sample = table.in_order(np.linspace(0, table.n_rows - 1, min(SAMPLE, table.n_rows)).astype(np.int64))
    numbers = {name: values for name in (*protected, *released) if (values := _numbers(sample, name)) is not None}
    codes: dict[str, NDArray[np.int64]] = {}
    found = []
    for name in protected:
        sources = {other: numbers[other] for other in released if other in numbers}
        rule = None
        if name in numbers and sources:
            rule = _copy(name, numbers[name], sources) or _sum(name, numbers[name], sources)
        rule = rule or _dependency(sample, name, released, codes)
        if rule is not None:
            found.append(rule)
    return found


def _numbers(table: Table, name: str) -> Floats | None:
    """Return the values of a column as numbers, dates and times as days; None for texts, flags and nested values."""
    if not _comparable(table, name):
        return None
    values = comparable_values(table.typed(name))
    if values.dtype in {pl.Date, pl.Datetime}:
        micros = values.cast(pl.Datetime("us")).dt.epoch("us")
        return (micros.cast(pl.Float64) / 86_400_000_000).fill_null(np.nan).to_numpy().astype(np.float64)
    if values.dtype == pl.Duration:
        return (values.dt.total_seconds().cast(pl.Float64) / 86_400).fill_null(np.nan).to_numpy().astype(np.float64)
    if not values.dtype.is_numeric():
        return None
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def _comparable(table: Table, name: str) -> bool:
    """Return whether the values of a column can be compared: not nested, and no Python objects."""
    dtype = table.column(name).dtype
    return not dtype.is_nested() and str(dtype) not in {"Object", "Unknown"}


def _informative(values: Floats) -> NDArray[np.bool_] | None:
    """Return the records with another than the most frequent value; None where they are too few."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    distinct, counts = np.unique(values[known], return_counts=True)
    rows = known & (values != distinct[counts.argmax()])
    return rows if distinct.size > 2 and int(rows.sum()) >= FEWEST else None


def _holds(expected: Floats, values: Floats, tolerance: float) -> float:
    """Return the share of records in which two numbers agree."""
    with np.errstate(invalid="ignore"):
        return float((np.abs(expected - values) <= tolerance).mean())


def _tolerance(values: Floats, *others: Floats) -> float:
    """Return what two numbers may differ by: a small share of the extent of the column, or the rounding of floats.

    -1 where the others are so large that rounding hides the extent of the column: then nothing can be said.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return -1.0
    largest = max(float(np.nanmax(np.abs(part), initial=0.0)) for part in (values, *others))
    extent, rounding = float(np.ptp(known)), 8 * float(np.finfo(np.float64).eps) * largest
    return max(_TOLERANCE * extent, rounding) if rounding <= 1e-5 * extent else -1.0


def _copy(name: str, values: Floats, sources: dict[str, Floats]) -> Derived | None:
    """Return a released column that is the protected one, but for a constant or a factor."""
    rows = _informative(values)
    if rows is None:
        return None
    x = values[rows]
    for other, numbers in sources.items():
        y = numbers[rows]
        if np.isnan(y).mean() > 1 - ENOUGH or np.unique(y[~np.isnan(y)]).size < 3:
            continue
        for words, shifted in (("", y), (" but for a constant", _shifted(x, y)), (" but for a factor", _scaled(x, y))):
            share = _holds(shifted, x, _tolerance(x, shifted if "factor" in words else y))
            if share >= ENOUGH:
                return Derived(name, (other,), f'"{other}"{words}', share)
    return None


def _shifted(x: Floats, y: Floats) -> Floats:
    return y + np.nanmedian(x - y)


def _scaled(x: Floats, y: Floats) -> Floats:
    usable = (y != 0) & ~np.isnan(y)
    return y * np.median(x[usable] / y[usable]) if usable.any() else y


def _sum(name: str, values: Floats, sources: dict[str, Floats]) -> Derived | None:
    """Return two released columns whose sum or difference is the protected one."""
    rows = _informative(values)
    if rows is None or len(sources) < 2:
        return None
    names = list(sources)
    x = values[rows]
    matrix = np.stack([sources[other][rows] for other in names])
    few = slice(0, 64)
    for i, first in enumerate(names):
        y = matrix[i]
        if not y.any():
            continue
        for words, expected in (("minus", x + y), ("plus", x - y)):
            with np.errstate(invalid="ignore"):
                near = np.abs(matrix[:, few] - expected[few]) <= _tolerance(x, y, expected)
            for j in np.flatnonzero(near.mean(axis=1) >= ENOUGH - 0.1):
                share = _holds(expected, matrix[j], _tolerance(x, y, expected))
                if j != i and share >= ENOUGH:
                    return Derived(name, (names[j], first), f'"{names[j]}" {words} "{first}"', share)
    return None


def _dependency(table: Table, name: str, released: list[str], codes: dict[str, NDArray[np.int64]]) -> Derived | None:
    """Return a released column whose value determines the protected one in nearly all records."""
    x = _codes(table, name, codes)
    if x is None:
        return None
    if int(x.max()) < 1:
        return None
    for other in released:
        y = _codes(table, other, codes)
        if y is None:
            continue
        repeated = np.bincount(y)[y] > 1  # a value that occurs once says nothing
        a, b = x[repeated], y[repeated]
        if b.size - np.unique(b).size < FEWEST or np.bincount(a).max() > MODAL_SHARE * a.size:
            continue
        pairs, sizes = np.unique(b * (int(x.max()) + 1) + a, return_counts=True)
        most = np.zeros(int(y.max()) + 1, np.int64)
        np.maximum.at(most, pairs // (int(x.max()) + 1), sizes)
        share, part = float(most.sum() / a.size), float(repeated.mean())
        if share >= DETERMINED and part >= REPEATED:
            return Derived(name, (other,), f'determined by "{other}"', share * part, exactly=False)
    return None


def _codes(table: Table, name: str, known: dict[str, NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Return the values of a column as codes from 0, computed once; None for nested values."""
    if name not in known:
        if not _comparable(table, name):
            return None
        values = comparable_values(table.typed(name))
        ranks = values.cast(pl.Int8) if values.dtype == pl.Boolean else values.rank("dense")
        known[name] = ranks.cast(pl.Int64).fill_null(-1).to_numpy()
        known[name] = np.unique(known[name], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return known[name]
