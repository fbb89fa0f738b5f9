"""The riskiest patterns of a release: kinds of rows that an intruder links to their person more often than others.

A pattern is a category or a range of one quasi-identifier, or of two together. It is named only if at least ten rows
have it, and listed only if its success of record linkage is above that of all rows by more than chance: the lower end
of its 95 % interval. Single rows are returned only by :func:`riskiest_rows`, for the holder of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.api.release import Release
from shoal.core.text import text_of
from shoal.evaluate.attacks import sampled_rows
from shoal.evaluate.estimates import share
from shoal.evaluate.linkage_search import Matcher
from shoal.report.measured_tables import MeasuredTables, read_tables

LEAST_ROWS = 10
LINKED_ROWS = 2_000
_RANGES = 5
_MOST_CATEGORIES = 30
_MOST_COLUMNS = 30


@dataclass(frozen=True)
class RiskPattern:
    """A kind of rows.

    Parameters
    ----------
    parts
        Each column with the category or the range that the rows have.
    rows
        How many rows of the table have it.
    linked, low, high
        The share of them that is linked, and its 95 % interval.
    """

    parts: tuple[tuple[str, str], ...]
    rows: int
    linked: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _Linked:
    """Rows of the original that were searched in the release, and the chance that each is linked to its own row."""

    tables: MeasuredTables
    rows: NDArray[np.int64]
    chances: NDArray[np.float64]


def risk_patterns(release: Release, *, most: int = 8) -> tuple[float, tuple[RiskPattern, ...]]:
    """Return the share of all rows that is linked, and the patterns with clearly larger shares, riskiest first.

    Parameters
    ----------
    release
        The release, with its original at hand.
    most
        The most patterns to return.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> ages = [20 + i % 40 for i in range(200)] + [80 + i for i in range(10)]
    >>> people = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 105})
    >>> release = shoal.protect(people, 5, quasi=["age", "sex"], method="mdav")
    >>> everyone, found = risk_patterns(release)
    >>> 0 < everyone <= 0.2, all(pattern.rows >= 10 and pattern.low > everyone for pattern in found)
    (True, True)
    """
    linked = _linked(release)
    everyone = float(linked.chances.mean())
    names = release.schema.protected[:_MOST_COLUMNS]
    described = {name: _described(linked.tables, name) for name in names}
    parts = {name: part for name, part in described.items() if part is not None}
    found: list[RiskPattern] = []
    for columns in [*((name,) for name in parts), *combinations(parts, 2)]:
        found += _patterns(columns, parts, linked, everyone)
    found.sort(key=lambda one: (-one.low, len(one.parts), one.parts))
    kept: list[RiskPattern] = []
    for pattern in found:
        if not any(set(one.parts) < set(pattern.parts) and one.linked >= pattern.linked for one in kept):
            kept.append(pattern)
    return everyone, tuple(kept[:most])


def riskiest_rows(release: Release, *, most: int = 10) -> dict[str, Any]:
    """Return the rows of the original that are linked most often, beside their released values; confidential.

    Parameters
    ----------
    release
        The release, with its original at hand.
    most
        The most rows to return.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> release = shoal.protect(pl.DataFrame({"age": [30, 31, 60, 61]}), 2, quasi=["age"], method="mdav")
    >>> found = riskiest_rows(release, most=1)
    >>> found["columns"], found["rows"][0]["original"], found["rows"][0]["linked"]
    (['age'], ['30'], 0.5)
    """
    linked = _linked(release)
    names = list(release.schema.protected)
    original, released = linked.tables.original, linked.tables.released
    assert original is not None
    order = np.argsort(-linked.chances, kind="stable")[:most]
    rows = np.sort(linked.rows[order])
    chances = dict(zip(linked.rows[order].tolist(), linked.chances[order].tolist(), strict=True))

    def texts(table: Any, row: int) -> list[str]:
        values = (table.column(name).to_polars()[row] for name in names)
        return ["" if value is None else text_of(value) for value in values]

    return {
        "columns": names,
        "rows": [
            {"original": texts(original, row), "released": texts(released, row), "linked": chances[row]}
            for row in sorted(rows.tolist(), key=lambda row: (-chances[row], row))
        ],
    }


def _linked(release: Release) -> _Linked:
    names = list(release.schema.protected)
    tables = read_tables(release.released, release._paired_original(), names)  # noqa: SLF001 - one holder
    columns = tables.paired(names)
    matcher = Matcher(columns)
    rows = sampled_rows(matcher.labels.size, LINKED_ROWS, 0)
    matches = matcher.nearest([column.original[rows] for column in columns])
    return _Linked(tables, rows, matcher.success(rows, matches))


def _described(tables: MeasuredTables, name: str) -> tuple[NDArray[np.int64], list[str]] | None:
    """Return the part of each row, its category or the range of its number, and the text of each part."""
    series = tables.series(name)
    known = series.drop_nulls()
    if series.dtype.is_nested() or not len(known):
        return None
    if known.n_unique() <= _MOST_CATEGORIES:
        values = known.unique().sort()
        codes = series.to_frame("v").join(
            pl.DataFrame({"v": values, "code": np.arange(len(values))}), on="v", how="left", maintain_order="left"
        )["code"]  # fmt: skip
        return codes.fill_null(len(values)).to_numpy().astype(np.int64), [*map(text_of, values), "missing"]
    if not (series.dtype.is_numeric() or series.dtype.is_temporal()):
        return None
    physical = series.to_physical().cast(pl.Float64)
    edges = np.unique(
        np.quantile(known.to_physical().cast(pl.Float64).to_numpy(), np.linspace(0, 1, _RANGES + 1)[1:-1])
    )
    numbers = physical.fill_null(np.nan).to_numpy()
    ranges = np.searchsorted(edges, numbers, side="left").astype(np.int64)
    ranges[np.isnan(numbers)] = edges.size + 1
    inside = [known.filter(physical.drop_nulls().is_between(low, high, closed="right"))
              for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True)]  # fmt: skip
    texts = ["" if not len(part) else f"{text_of(part.min())} to {text_of(part.max())}" for part in inside]
    return ranges, [*texts, "missing"]


def _patterns(
    columns: Sequence[str], parts: dict[str, tuple[NDArray[np.int64], list[str]]], linked: _Linked, everyone: float
) -> list[RiskPattern]:
    widths = [len(parts[name][1]) for name in columns]
    codes = np.zeros(parts[columns[0]][0].size, np.int64)
    for name, width in zip(columns, widths, strict=True):
        codes = codes * width + parts[name][0]
    counts = np.bincount(codes)
    searched = codes[linked.rows]
    found = []
    for code in np.unique(searched):
        chances = linked.chances[searched == code]
        if counts[code] < LEAST_ROWS or chances.size < LEAST_ROWS:
            continue
        estimate = share(chances)
        if estimate.low <= everyone:
            continue
        places, left = [], int(code)
        for width in reversed(widths):
            left, place = divmod(left, width)
            places.append(place)
        texts = tuple((name, parts[name][1][place]) for name, place in zip(columns, reversed(places), strict=True))
        found.append(RiskPattern(texts, int(counts[code]), estimate.value, estimate.low, estimate.high))
    return found
