"""The distribution of a column before and after, in bins that disclose no single record of the original.

No bar of the original represents one to m - 1 records, where m is k and at least 5: such bins are merged with their
neighbours, and rare categories with each other, without their names. Edges are round numbers, and the outermost bins
are open, so that neither the lowest nor the highest value is shown. Released values are public and need no such
protection, but share the bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.report.axes import Axis, date_axis, number_axis

MIN_BAR_RECORDS = 5
_TAIL_SHARE = 0.01
_MAX_BINS, _MIN_BINS = 24, 5
_MAX_CATEGORIES = 12
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """A bin and the share of the records in it.

    Parameters
    ----------
    name
        What it holds.
    before, after
        Shares; None where there is no original.
    low, high
        Where it is drawn, for numbers.
    """

    name: str
    before: float | None
    after: float
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class Distribution:
    """The distribution of one column.

    Parameters
    ----------
    bins
        Its bins; none where there are too few records to draw.
    numeric
        Whether bins lie along an axis.
    ticks
        Positions and texts of the edges of the axis.
    missing
        Shares of missing values before and after as texts; empty where there are none.
    step, step_text
        The width that the vertical axis refers to, as a number and in words.
    """

    bins: tuple[Bin, ...]
    numeric: bool
    ticks: tuple[tuple[float, str], ...] = ()
    missing: tuple[str, str] | None = None
    step: float = 0.0
    step_text: str = ""


NOTHING = Distribution((), numeric=True)


def min_bar_records(k: int, units: NDArray[np.int64] | None = None) -> int:
    """Return the smallest number of records of the original that a bar represents.

    Parameters
    ----------
    k
        The minimum group size.
    units
        The person of each record, where persons have several: so many records are then never of fewer persons.

    Examples
    --------
    >>> min_bar_records(3), min_bar_records(20)
    (5, 20)
    >>> min_bar_records(3, np.repeat([0, 1, 2, 3, 4, 5], [9, 1, 2, 2, 2, 2]))
    16
    """
    least = max(k, MIN_BAR_RECORDS)
    if units is None:
        return least
    return int(np.sort(np.bincount(units))[::-1][: least - 1].sum()) + 1


def number_distribution(
    before: Floats | None, after: Floats, min_records: int, *, integers: bool = False, dates: bool = False
) -> Distribution:
    """Return the distribution of numbers, or of days since 1970.

    Parameters
    ----------
    before, after
        The values, NaN where missing; before is None where the original is not shown.
    min_records
        The smallest number of records of the original in a bin that is not empty.
    integers, dates
        Whether only integers occur, and whether they are days.

    Examples
    --------
    >>> ages = np.repeat([21.0, 34.0, 47.0, 58.0], 10)
    >>> [(bar.name, bar.before) for bar in number_distribution(ages, ages, 5, integers=True).bins]
    [('below 30', 0.25), ('30 to 39', 0.25), ('40 to 49', 0.25), ('50 and above', 0.25)]
    """
    guide = after if before is None else before
    known = guide[~np.isnan(guide)]
    shown = after[~np.isnan(after)]
    if known.size < 2 * min_records:
        return NOTHING
    axis = _axis(known, min_records, integers=integers, dates=dates)
    if axis is None:
        return NOTHING
    counts = _counted(known, axis)
    released = _counted(shown, axis)
    segments = merged_bins(counts.tolist(), min_records)
    bins = tuple(
        Bin(
            axis.name(first, last),
            None if before is None else float(counts[first:last].sum()) / known.size,
            float(released[first:last].sum()) / max(shown.size, 1),
            axis.edges[first],
            axis.edges[last],
        )
        for first, last in segments
    )
    missing = _missing(
        None if before is None else before.size - known.size, after.size - shown.size, after.size, min_records
    )
    if len(bins) < 2:
        return NOTHING
    return Distribution(
        bins,
        numeric=True,
        ticks=tuple(zip(axis.edges, axis.texts, strict=True)),
        missing=missing,
        step=axis.edges[1] - axis.edges[0],
        step_text=axis.step,
    )


def _axis(known: Floats, min_records: int, *, integers: bool, dates: bool) -> Axis | None:
    """Return an axis for all but the tails, each of which has enough records for a bin of its own."""
    most = int(np.clip(2 * known.size ** (1 / 3), _MIN_BINS, _MAX_BINS))
    for tail in (max(min_records, int(_TAIL_SHARE * known.size)), min_records):
        ranks = [tail - 1, known.size - tail]
        low, high = np.partition(known, ranks)[ranks]
        if high > low:
            if dates:
                return date_axis(float(low), float(high), most)
            return number_axis(float(low), float(high), most, integers=integers)
    return None


def _counted(values: Floats, axis: Axis) -> NDArray[np.int64]:
    inner = np.asarray(axis.edges[1:-1])
    return np.bincount(np.searchsorted(inner, values, "right"), minlength=inner.size + 1)


def merged_bins(counts: Sequence[int], min_records: int) -> list[tuple[int, int]]:
    """Return bins, as the first cell and the one after the last, none of which holds 1 to ``min_records`` - 1 records.

    Examples
    --------
    >>> merged_bins([9, 1, 2, 8, 0, 7], 5)
    [(0, 1), (1, 4), (4, 5), (5, 6)]
    """
    bins = [(index, index + 1, int(count)) for index, count in enumerate(counts)]
    while len(bins) > 1:
        small = [index for index, (_, _, count) in enumerate(bins) if 0 < count < min_records]
        if not small:
            break
        smallest = min(small, key=lambda index: bins[index][2])
        neighbours = [index for index in (smallest - 1, smallest + 1) if 0 <= index < len(bins)]
        left, right = sorted((smallest, min(neighbours, key=lambda index: bins[index][2])))
        bins[left : right + 1] = [(bins[left][0], bins[right][1], bins[left][2] + bins[right][2])]
    return [(first, last) for first, last, _ in bins]


def category_distribution(
    before: Mapping[str, int] | None,
    after: Mapping[str, int],
    min_records: int,
    *,
    order: Sequence[str] | None = None,
    missing: tuple[int, int] = (0, 0),
) -> Distribution:
    """Return the distribution of categories, in their order or the most frequent first.

    Parameters
    ----------
    before, after
        How many records have each category; before is None where the original is not shown.
    min_records
        The smallest number of records of the original in a bar that is not empty.
    order
        The categories from lowest to highest, if they have an order.
    missing
        How many values are missing before and after.

    Examples
    --------
    >>> found = category_distribution({"a": 20, "b": 10, "c": 1, "d": 2}, {"a": 21, "b": 12}, 5)
    >>> [(bar.name, round(bar.before, 3)) for bar in found.bins]
    [('a', 0.606), ('3 others', 0.394)]
    """
    known, shown = sum((after if before is None else before).values()), sum(after.values())
    if known < 2 * min_records:
        return Distribution((), numeric=False)
    groups = _in_order(before, after, min_records, order) if order else _by_frequency(before, after, min_records)
    bins = tuple(
        Bin(
            name,
            None if before is None else sum(before.get(category, 0) for category in members) / known,
            sum(after.get(category, 0) for category in members) / max(shown, 1),
        )
        for name, members in groups
    )
    shares = _missing(None if before is None else missing[0], missing[1], shown + missing[1], min_records)
    return Distribution(bins if len(bins) > 1 else (), numeric=False, missing=shares)


def _in_order(
    before: Mapping[str, int] | None, after: Mapping[str, int], min_records: int, order: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return neighbours together; texts that only the release has, such as ranges, follow."""
    counts = [(after if before is None else before).get(category, 0) for category in order]
    bins = merged_bins(counts, min_records)
    while len(bins) > _MAX_CATEGORIES:
        bins = [(bins[index][0], bins[min(index + 1, len(bins) - 1)][1]) for index in range(0, len(bins), 2)]
    named = [
        (order[first] if last - first == 1 else f"{order[first]} to {order[last - 1]}", list(order[first:last]))
        for first, last in bins
    ]
    beyond = {category: count for category, count in after.items() if category not in set(order)}
    return named + (_by_frequency(None, beyond, min_records) if beyond else [])


def _by_frequency(
    before: Mapping[str, int] | None, after: Mapping[str, int], min_records: int
) -> list[tuple[str, list[str]]]:
    """Return the most frequent categories, and all others as one; rare ones of the original are never named."""
    first = after if before is None else before
    everything = sorted(
        {*first, *after}, key=lambda category: (-first.get(category, 0), -after.get(category, 0), category)
    )
    shown = [category for category in everything if not 0 < first.get(category, 0) < min_records]
    if len(everything) > _MAX_CATEGORIES or len(shown) < len(everything):
        shown = shown[: _MAX_CATEGORIES - 1]
    while 0 < sum(first.get(category, 0) for category in everything if category not in set(shown)) < min_records:
        counted = [index for index, category in enumerate(shown) if first.get(category, 0)]
        if not counted:
            break
        del shown[counted[-1]]
    rest = [category for category in everything if category not in set(shown)]
    named = [(category, [category]) for category in shown]
    return [*named, (f"{len(rest)} others" if len(rest) > 1 else "1 other", rest)] if rest else named


def _missing(before: int | None, after: int, records: int, min_records: int) -> tuple[str, str] | None:
    """Return the shares of missing values as texts; a small number of records of the original is not stated."""
    if not (before or after):
        return None
    if before is None:
        return "", _share(after, records)
    rare = 0 < before < min_records
    return f"fewer than {min_records} records" if rare else _share(before, records), _share(after, records)


def _share(count: int, records: int) -> str:
    return f"{100 * count / max(records, 1):.1f} %"
