"""Round positions along an axis: where bins begin and end, and how these positions are written.

Edges are multiples of 1, 2 or 5 times a power of ten, or days, months and years: never a value of the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import ceil, floor, inf, isfinite, log10

_DAY_OF_EPOCH = date(1970, 1, 1).toordinal()
_CALENDAR_STEPS = {"day": (1, 2, 7, 14), "month": (1, 2, 3, 6), "year": (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)}
_DAYS = {"day": 1.0, "month": 30.44, "year": 365.25}


@dataclass(frozen=True)
class Axis:
    """Ascending edges of bins and their texts.

    Parameters
    ----------
    edges
        Where bins begin and end.
    texts
        The same for a reader.
    step
        The distance of two edges in words.
    integers
        Whether only integers occur, so that a bin can be named by its first and last number.
    """

    edges: tuple[float, ...]
    texts: tuple[str, ...]
    step: str
    integers: bool = False

    def name(self, first: int, last: int) -> str:
        """Return the name of the bin from one edge to another; the outermost bins have no end.

        Examples
        --------
        >>> axis = number_axis(18, 79, 7, integers=True)
        >>> [axis.name(edge, edge + 1) for edge in (0, 1, len(axis.edges) - 2)]
        ['below 20', '20 to 29', '70 and above']
        """
        final = len(self.edges) - 1
        if first == 0 and last == final:
            return "all values"
        if first == 0:
            return f"below {self.texts[last]}"
        if last == final:
            return f"{self.texts[first]} and above"
        if self.integers:
            end = int(self.edges[last]) - 1
            return self.texts[first] if end == int(self.edges[first]) else f"{self.texts[first]} to {end:,}"
        return f"{self.texts[first]} to {self.texts[last]}"


def round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below a number.

    Examples
    --------
    >>> round_step(0.3), round_step(2.0), round_step(70)
    (0.5, 2.0, 100.0)
    """
    power = floor(log10(least))
    for factor in (1.0, 2.0, 5.0, 10.0):
        step = factor * 10.0**power if power >= 0 else factor / 10.0**-power
        if step >= least * (1 - 1e-12):
            return step
    raise AssertionError(least)


def number_axis(low: float, high: float, most: int, *, integers: bool = False) -> Axis | None:
    """Return edges around ``low`` to ``high`` for at most ``most`` bins; None where no two of them differ.

    Examples
    --------
    >>> number_axis(0.13, 0.82, 4).texts
    ('0.0', '0.2', '0.4', '0.6', '0.8', '1.0')
    """
    if not (isfinite(low) and isfinite(high) and high > low):
        return None
    span = high - low
    if not isfinite(span) or span / max(abs(low), abs(high)) < 1e-12:
        return None
    step = round_step(span / most)
    step = max(step, 1.0) if integers else step
    first, last = floor(low / step), ceil(high / step)
    last += int(last * step <= high)
    edges = tuple(multiple * step for multiple in range(first, last + 1))
    texts = tuple(number_text(edge, step) for edge in edges)
    return Axis(edges, texts, number_text(step, step), integers) if len(edges) > 2 else None


def number_text(value: float, step: float) -> str:
    """Return a multiple of a step as text, with the digits that the step needs.

    Examples
    --------
    >>> number_text(1250.0, 50), number_text(0.30000000000000004, 0.1), number_text(3e15, 1e14)
    ('1,250', '0.3', '3e+15')
    """
    if value == 0:
        value = 0.0
    if max(abs(value), step) >= 1e12 or step < 1e-6:
        return f"{value:.6g}"
    return f"{value:,.{max(0, -floor(log10(step) + 1e-9))}f}"


def date_axis(low: float, high: float, most: int) -> Axis | None:
    """Return edges for days since 1970 at the beginning of days, months or years; None outside the calendar.

    Examples
    --------
    >>> date_axis(18_000, 18_400, 5).texts
    ('2019-04', '2019-07', '2019-10', '2020-01', '2020-04', '2020-07')
    """
    if not -700_000 < low < high < 2_900_000:
        return None
    wanted = (high - low) / most
    unit, step = next(
        (
            (unit, step)
            for unit, steps in _CALENDAR_STEPS.items()
            for step in steps
            if step * _DAYS[unit] >= wanted * 0.999
        ),
        ("", 0),
    )
    if not unit:
        return None
    first = _day(low)
    if unit == "day":
        start = floor(low / step) * step
        count = floor((high - start) / step) + 1
        days = [float(start + number * step) for number in range(count + 1)]
    else:
        months = step if unit == "month" else 12 * step
        begin = (first.year * 12 + first.month - 1) // months * months
        days = [_month(begin)]
        while days[-1] <= high:
            begin += months
            days.append(_month(begin))
    if len(days) <= 2 or not all(isfinite(day) for day in days):
        return None
    length = {"day": 10, "month": 7, "year": 4}[unit]
    step_text = unit if step == 1 else f"{step} {unit}s"
    return Axis(tuple(days), tuple(_day(day).isoformat()[:length] for day in days), step_text)


def _day(days: float) -> date:
    return date.fromordinal(_DAY_OF_EPOCH + floor(days))


def _month(months: int) -> float:
    year, month = divmod(months, 12)
    return float(date(year, month + 1, 1).toordinal() - _DAY_OF_EPOCH) if 1 <= year <= 9999 else inf
