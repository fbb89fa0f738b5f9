"""Differencing of totals: what two releases of nearly the same people disclose about the people in one of them.

Means keep totals. If a table is released with n records and again without one of them, and both releases keep the
totals of a column, the difference of the totals is the value of the missing record, whatever k is. The intruder needs
both releases and no record of the original. The same holds for the totals of a stratum that no group crosses, for
totals weighted by a released sampling weight, and for the counts of categories.

The baseline is the value that the larger release states for the missing record: an estimate that any release of
representatives gives away. Cost O(n) for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.evaluate.attacks import Attack
from shoal.evaluate.estimates import share
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.schema.columns import Schema
from shoal.tables import Table
from shoal.tables.value_codes import polars_series

WIDTH = 0.05
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class TotalsDifference:
    """The estimate of one column from one pair of totals.

    Parameters
    ----------
    column
        The column.
    stratum
        The stratum whose totals were compared, for example ``region=north``; empty for the whole tables.
    missing
        The number of records of the larger release that are not in the smaller one. The estimate is their mean.
    estimate
        The difference of the totals divided by the number of missing records, or by the difference of their sampling
        weights; for categories the code whose count decreased most, NaN if several did. Numbers are offsets from the
        first known value of the original column, the same for all fields.
    truth
        The mean of the missing records, or the code that most of them have.
    released
        The value that the larger release states for them: the baseline.
    deviation
        The standard deviation of the original column; 0 for categories.
    width
        How many standard deviations an estimate may be off to count as a disclosure.
    """

    column: str
    stratum: str
    missing: int
    estimate: float
    truth: float
    released: float
    deviation: float
    width: float = WIDTH

    @property
    def error(self) -> float:
        """The error of the estimate, in the units of the column."""
        return abs(self.estimate - self.truth)

    @property
    def success(self) -> bool:
        """Whether the estimate is within ``width`` standard deviations of the truth; for categories equal to it."""
        return self._near(self.estimate)

    @property
    def baseline_success(self) -> bool:
        """Whether the value that the larger release states is as near."""
        return self._near(self.released)

    def _near(self, value: float) -> bool:
        return abs(value - self.truth) <= self.width * self.deviation + 1e-9 * max(abs(self.truth), self.deviation)


def differencing_of_totals(
    original: Table,
    larger: Table,
    smaller: Table,
    names: Sequence[str],
    *,
    missing: Sequence[int] | Integers | None = None,
    strata: Sequence[str] = (),
    sampling_weight: str | None = None,
    schema: Schema | None = None,
    width: float = WIDTH,
) -> list[TotalsDifference]:
    """Estimate the records that one of two releases lacks from the difference of their totals.

    Parameters
    ----------
    original
        The true records of the larger release, in its order. Only the truth of the result is taken from it.
    larger, smaller
        Two releases; all records of the smaller one are in the larger one, in the same order.
    names
        The columns whose totals are compared.
    missing
        The rows of the larger release that are not in the smaller one; None finds them by :func:`missing_rows` in the
        columns that are not in ``names``.
    strata
        Columns that both releases contain unchanged. Totals are compared for the whole tables and for each stratum
        that lacks a record.
    sampling_weight
        A column of weights in both releases; totals are weighted by it.
    schema
        Kinds and orders of columns, where they differ from what the types suggest.
    width
        How many standard deviations an estimate may be off to count as a disclosure.

    Returns
    -------
    differences
        One per column and stratum.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": [30, 34, 61, 65, 71]}))
    >>> first = Table.from_native(pl.DataFrame({"age": [32.0, 32.0, 65 + 2 / 3, 65 + 2 / 3, 65 + 2 / 3]}))
    >>> second = Table.from_native(pl.DataFrame({"age": [32.0, 32.0, 63.0, 63.0]}))  # without the last person
    >>> (found,) = differencing_of_totals(people, first, second, ["age"], missing=[4])
    >>> round(found.estimate, 6) + 30, found.success, found.baseline_success
    (71.0, True, False)
    """
    if original.n_rows != larger.n_rows or smaller.n_rows >= larger.n_rows:
        raise DataError(
            f"the original has {original.n_rows} records and the releases {larger.n_rows} and {smaller.n_rows}; the "
            "larger release must hold the records of the original, and the smaller one fewer"
        )
    gone = missing_rows(larger, smaller, names) if missing is None else np.unique(np.asarray(missing, np.int64))
    if gone.size != larger.n_rows - smaller.n_rows:
        raise DataError(
            f"{gone.size} missing rows are named, but the releases differ by {larger.n_rows - smaller.n_rows} records"
        )
    before = pair_columns(original, larger, names, schema)
    after = pair_columns(original, smaller, names, schema, aligned=False)
    weights = [_weights(table, sampling_weight) for table in (larger, smaller)]
    found = []
    for stratum, inside_larger, inside_smaller, rows in _parts(larger, smaller, strata, gone):
        parts = weights[0][inside_larger], weights[1][inside_smaller], weights[0][rows]
        for first, second in zip(before, after, strict=True):
            values = first.released[inside_larger], _same_codes(first, second)[inside_smaller]
            found.append(_compared(first, stratum, values, parts, rows, width))
    return found


def differencing_attacks(
    differences: Sequence[TotalsDifference], records: int, *, persons: int | None = None
) -> list[Attack]:
    """Return the share of differences that disclose a value, one attack per column.

    Parameters
    ----------
    differences
        The differences.
    records
        The number of records of the larger release.
    persons
        The number of persons of whom the smaller release lacks records, where persons have several. The difference of
        the totals is then the sum of the values of all their missing records, and their mean is the estimate.

    Examples
    --------
    >>> difference = TotalsDifference("age", "", 1, 41.0, 41.0, 33.0, 17.0)
    >>> differencing_attacks([difference], 1_000)[0].success.value
    1.0
    """
    return [
        Attack(
            "differencing-of-totals",
            name,
            share(np.array([float(entry.success) for entry in differences if entry.column == name])),
            share(np.array([float(entry.baseline_success) for entry in differences if entry.column == name])),
            records,
            _what(differences, persons),
            "records" if persons is None else "persons",
        )
        for name in dict.fromkeys(entry.column for entry in differences)
    ]


def _what(differences: Sequence[TotalsDifference], persons: int | None) -> str:
    """Return what the difference of totals discloses."""
    if persons is None:
        return (
            "the difference between the totals of two releases is the value of the record that one of them lacks; the "
            "baseline is the value that the larger release states for this record"
        )
    missing = max(entry.missing for entry in differences)
    rows = f"{missing:,} record{'s' if missing != 1 else ''} of {persons:,} person{'s' if persons != 1 else ''}"
    return (
        f"the difference between the totals of two releases is the sum of the {rows} that one of them lacks; the "
        "baseline is what the larger release states for them"
    )


def missing_rows(larger: Table, smaller: Table, protected: Sequence[str]) -> Integers:
    """Return the rows of the larger release that are not in the smaller one, by the columns that are not protected.

    The records of the smaller release must be in the order of the larger one. In a run of records with identical
    values any of them may be the missing one; the last is returned.

    Examples
    --------
    >>> first = Table.from_native(pl.DataFrame({"age": [31, 31, 55, 55], "job": ["a", "b", "a", "c"]}))
    >>> second = Table.from_native(pl.DataFrame({"age": [40, 40, 40], "job": ["a", "a", "c"]}))
    >>> missing_rows(first, second, ["age"]).tolist()
    [1]
    """
    names = [name for name in larger.names if name in smaller.names and name not in set(protected)]
    if not names:
        raise DataError("the releases share no unchanged column by which missing records are found; name the rows")
    rows = [list(zip(*(_texts(table, name) for name in names), strict=True)) for table in (larger, smaller)]
    gone = []
    place = 0
    for number, row in enumerate(rows[0]):
        if place < len(rows[1]) and rows[1][place] == row:
            place += 1
        else:
            gone.append(number)
    if place < len(rows[1]):
        raise DataError("the smaller release has records that are not in the larger one, or in another order")
    return np.array(gone, np.int64)


def _texts(table: Table, name: str) -> list[str | None]:
    return polars_series(table.column(name)).cast(pl.String, strict=False).to_list()


def _weights(table: Table, name: str | None) -> NDArray[np.float64]:
    if name is None:
        return np.ones(table.n_rows)
    return polars_series(table.column(name)).cast(pl.Float64).to_numpy()


def _parts(
    larger: Table, smaller: Table, strata: Sequence[str], gone: Integers
) -> list[tuple[str, NDArray[np.bool_], NDArray[np.bool_], Integers]]:
    """Return the whole tables and the strata that lack a record, each with its records in both releases."""
    parts = [("", np.ones(larger.n_rows, bool), np.ones(smaller.n_rows, bool), gone)]
    for name in strata:
        before, after = (np.array(_texts(table, name), object) for table in (larger, smaller))
        for value in dict.fromkeys(before[gone].tolist()):
            inside = before == value
            parts.append((f"{name}={value}", inside, after == value, gone[inside[gone]]))
    return parts


def _same_codes(first: PairedColumn, second: PairedColumn) -> NDArray[np.float64]:
    """Return the smaller release with the codes of the larger one; a category that the larger one lacks is new."""
    if first.numeric:
        return second.released
    codes = {text: float(code) for code, text in enumerate(first.categories)}
    known = np.array([codes.setdefault(text, float(len(codes))) for text in second.categories])
    missing = np.isnan(second.released)
    return np.where(missing, np.nan, known[np.where(missing, 0, second.released).astype(np.int64)])


def _compared(
    column: PairedColumn,
    stratum: str,
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    weights: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    rows: Integers,
    width: float,
) -> TotalsDifference:
    of_gone = weights[2]
    if column.numeric:
        totals = [fsum(np.nan_to_num(part) * weight) for part, weight in zip(values, weights[:2], strict=True)]
        estimate = (totals[0] - totals[1]) / fsum(of_gone)
        truth, released = (
            float(np.average(part[rows], weights=of_gone)) for part in (column.original, column.released)
        )
        return TotalsDifference(column.name, stratum, rows.size, estimate, truth, released, column.deviation, width)
    size = int(max(np.nanmax(part, initial=0.0) for part in (*values, column.original))) + 1
    fewer = _counts(values[0], weights[0], size) - _counts(values[1], weights[1], size)
    most = np.flatnonzero(fewer >= fewer.max() - 1e-9)
    estimate = float(most[0]) if most.size == 1 else np.nan
    truth, released = (
        float(_counts(part[rows], of_gone, size).argmax()) for part in (column.original, column.released)
    )
    return TotalsDifference(column.name, stratum, rows.size, estimate, truth, released, 0.0, width)


def _counts(codes: NDArray[np.float64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    known = ~np.isnan(codes)
    return np.bincount(codes[known].astype(np.int64), weights[known], minlength=size).astype(np.float64)
