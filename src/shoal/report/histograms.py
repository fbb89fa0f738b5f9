"""How the values of a column were spread before and after, in bins that single nobody out.

No bar of the original stands for one to m - 1 records, where m is k and at least 5: such bins are joined with their
neighbours, and rare categories with each other, without their names. Edges are round numbers, and the outermost bins
are open, so that neither the lowest nor the highest value is shown. Released values are public and need no such care,
but share the bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.report.axes import Axis, date_axis, number_axis

FEWEST = 5
_TAIL = 0.01
_MOST_BINS, _FEWEST_BINS = 24, 5
_MOST_CATEGORIES = 12
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
        Places and texts of the edges of the axis.
    missing
        Shares of missing values before and after as texts; empty where there are none.
    """

    bins: tuple[Bin, ...]
    numeric: bool
    ticks: tuple[tuple[float, str], ...] = ()
    missing: tuple[str, str] | None = None


NOTHING = Distribution((), numeric=True)


def fewest_records(k: int) -> int:
    """Return m: how many records of the original a bar stands for at least.

    Examples
    --------
    >>> fewest_records(3), fewest_records(20)
    (5, 20)
    """
    return max(k, FEWEST)


def number_distribution(
    before: Floats | None, after: Floats, fewest: int, *, whole: bool = False, dates: bool = False
) -> Distribution:
    """Return the distribution of numbers, or of days since 1970.

    Parameters
    ----------
    before, after
        The values, NaN where missing; before is None where the original is not shown.
    fewest
        How many records of the original a bin holds at least, if any.
    whole, dates
        Whether only whole numbers occur, and whether they are days.

    Examples
    --------
    >>> ages = np.repeat([21.0, 34.0, 47.0, 58.0], 10)
    >>> [(one.name, one.before) for one in number_distribution(ages, ages, 5, whole=True).bins]
    [('below 30', 0.25), ('30 to 39', 0.25), ('40 to 49', 0.25), ('50 and above', 0.25)]
    """
    guide = after if before is None else before
    known = guide[~np.isnan(guide)]
    shown = after[~np.isnan(after)]
    if known.size < 2 * fewest:
        return NOTHING
    axis = _axis(known, fewest, whole=whole, dates=dates)
    if axis is None:
        return NOTHING
    counts = _counted(known, axis)
    released = _counted(shown, axis)
    segments = joined(counts.tolist(), fewest)
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
        None if before is None else before.size - known.size, after.size - shown.size, after.size, fewest
    )
    if len(bins) < 2:
        return NOTHING
    return Distribution(bins, numeric=True, ticks=tuple(zip(axis.edges, axis.texts, strict=True)), missing=missing)


def _axis(known: Floats, fewest: int, *, whole: bool, dates: bool) -> Axis | None:
    """Return an axis for all but the tails, each of which has records enough for a bin of its own."""
    most = int(np.clip(2 * known.size ** (1 / 3), _FEWEST_BINS, _MOST_BINS))
    for tail in (max(fewest, int(_TAIL * known.size)), fewest):
        places = [tail - 1, known.size - tail]
        low, high = np.partition(known, places)[places]
        if high > low:
            if dates:
                return date_axis(float(low), float(high), most)
            return number_axis(float(low), float(high), most, whole=whole)
    return None


def _counted(values: Floats, axis: Axis) -> NDArray[np.int64]:
    inner = np.asarray(axis.edges[1:-1])
    return np.bincount(np.searchsorted(inner, values, "right"), minlength=inner.size + 1)


def joined(counts: Sequence[int], fewest: int) -> list[tuple[int, int]]:
    """Return bins, as first and behind the last, of which none holds between 1 and ``fewest`` - 1 records.

    Examples
    --------
    >>> joined([9, 1, 2, 8, 0, 7], 5)
    [(0, 1), (1, 4), (4, 5), (5, 6)]
    """
    bins = [(place, place + 1, int(count)) for place, count in enumerate(counts)]
    while len(bins) > 1:
        small = [place for place, (_, _, count) in enumerate(bins) if 0 < count < fewest]
        if not small:
            break
        place = min(small, key=lambda one: bins[one][2])
        neighbours = [other for other in (place - 1, place + 1) if 0 <= other < len(bins)]
        other = min(neighbours, key=lambda one: bins[one][2])
        left, right = sorted((place, other))
        bins[left : right + 1] = [(bins[left][0], bins[right][1], bins[left][2] + bins[right][2])]
    return [(first, last) for first, last, _ in bins]


def category_distribution(
    before: Mapping[str, int] | None,
    after: Mapping[str, int],
    fewest: int,
    *,
    order: Sequence[str] | None = None,
    missing: tuple[int, int] = (0, 0),
) -> Distribution:
    """Return the distribution of categories, in their order or the most frequent first.

    Parameters
    ----------
    before, after
        How many records have each category; before is None where the original is not shown.
    fewest
        How many records of the original a bar stands for, if any.
    order
        The categories from lowest to highest, if they have an order.
    missing
        How many values are missing before and after.

    Examples
    --------
    >>> found = category_distribution({"a": 20, "b": 10, "c": 1, "d": 2}, {"a": 21, "b": 12}, 5)
    >>> [(one.name, round(one.before, 3)) for one in found.bins]
    [('a', 0.606), ('3 others', 0.394)]
    """
    known, shown = sum((after if before is None else before).values()), sum(after.values())
    if known < 2 * fewest:
        return Distribution((), numeric=False)
    groups = _in_order(before, after, fewest, order) if order else _by_frequency(before, after, fewest)
    bins = tuple(
        Bin(
            name,
            None if before is None else sum(before.get(one, 0) for one in members) / known,
            sum(after.get(one, 0) for one in members) / max(shown, 1),
        )
        for name, members in groups
    )
    holes = _missing(None if before is None else missing[0], missing[1], shown + missing[1], fewest)
    return Distribution(bins if len(bins) > 1 else (), numeric=False, missing=holes)


def _in_order(
    before: Mapping[str, int] | None, after: Mapping[str, int], fewest: int, order: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return neighbours together; what only the release has, such as ranges, follows."""
    counts = [(after if before is None else before).get(one, 0) for one in order]
    bins = joined(counts, fewest)
    while len(bins) > _MOST_CATEGORIES:
        bins = [(bins[place][0], bins[min(place + 1, len(bins) - 1)][1]) for place in range(0, len(bins), 2)]
    named = [
        (order[first] if last - first == 1 else f"{order[first]} to {order[last - 1]}", list(order[first:last]))
        for first, last in bins
    ]
    beyond = {one: count for one, count in after.items() if one not in set(order)}
    return named + (_by_frequency(None, beyond, fewest) if beyond else [])


def _by_frequency(
    before: Mapping[str, int] | None, after: Mapping[str, int], fewest: int
) -> list[tuple[str, list[str]]]:
    """Return the most frequent categories, and all others as one; rare ones of the original are never named."""
    first = after if before is None else before
    everything = sorted({*first, *after}, key=lambda one: (-first.get(one, 0), -after.get(one, 0), one))
    shown = [one for one in everything if not 0 < first.get(one, 0) < fewest]
    if len(everything) > _MOST_CATEGORIES or len(shown) < len(everything):
        shown = shown[: _MOST_CATEGORIES - 1]
    while 0 < sum(first.get(one, 0) for one in everything if one not in set(shown)) < fewest:
        counted = [place for place, one in enumerate(shown) if first.get(one, 0)]
        if not counted:
            break
        del shown[counted[-1]]
    rest = [one for one in everything if one not in set(shown)]
    named = [(one, [one]) for one in shown]
    return [*named, (f"{len(rest)} others" if len(rest) > 1 else "1 other", rest)] if rest else named


def _missing(before: int | None, after: int, records: int, fewest: int) -> tuple[str, str] | None:
    """Return the shares of missing values as texts; a number below ``fewest`` is not told for the original."""
    if not (before or after):
        return None
    told = "" if before is None else f"fewer than {fewest} records" if 0 < before < fewest else _share(before, records)
    return told, _share(after, records)


def _share(count: int, records: int) -> str:
    return f"{100 * count / max(records, 1):.1f} %"
