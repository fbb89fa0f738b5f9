"""Steps before and after grouping: what is done to one column besides grouping, each a frozen value with a text.

Also available as ``shoal.steps``.

A step is written as text in a schema file, a run file and on the command line (``top 90``), or as a value in Python
(``Top(90)``); both mean the same, and ``str`` of the value is the text. A :class:`shoal.Column` holds texts, so that a
plan, its digest and a run file hold them without further rules. How steps change values is in
:mod:`shoal.flow.step_values`.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import SchemaError

__all__ = ["Band", "Bottom", "Code", "MapValues", "Outliers", "Rare", "Round", "Shift", "Top"]

PERIODS = ("day", "week", "month", "quarter", "year")
"""The calendar units that dates are rounded to."""
CALENDAR = ("month", "quarter", "year")
"""The calendar units that are bands."""
AGE_BANDS = tuple(float(edge) for edge in range(0, 90, 5))
"""Five-year bands of ages; all of 85 years and more are one band."""
EXAMPLES: Mapping[str, str] = {
    "top": "top 90, top 2020-12-31 or top 99%", "bottom": "bottom 16, bottom 1920-01-01 or bottom 1%",
    "round": "round 100, round 0.5 or round month", "band": "band 10, band 0,18,65, band age or band quarter",
    "map": 'map jobs.csv or map {"baker": "craft"}', "shift": "shift 30", "rare": "rare 5 or rare 5 as other",
    "outliers": "outliers 5 within 1%", "code": "code",
}  # fmt: skip
"""How each step is written."""
AFTER = ("top", "bottom", "round", "band", "map")
"""The steps that can follow grouping, because they need nothing but the value itself."""


@dataclass(frozen=True)
class Top:
    """Top coding: larger values become the bound (``top 90``), or ``top 99%``.

    Parameters
    ----------
    bound
        A number, or a date as text. With ``%`` a share: the bound is the value that so many records do not exceed,
        lowered until at least k records (persons, where k counts these) are at or above it. No released bound is
        therefore an extreme that fewer than k hold.

    Examples
    --------
    >>> str(Top(90)), str(Top("99%"))
    ('top 90', 'top 99%')
    """

    bound: float | str
    word = "top"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", bound_of(self.word, self.bound))

    def __str__(self) -> str:
        return f"{self.word} {_number_text(self.bound)}"

    @property
    def share(self) -> float | None:
        """The share of the records, if the bound is one."""
        return float(self.bound[:-1]) / 100 if isinstance(self.bound, str) and self.bound.endswith("%") else None


@dataclass(frozen=True)
class Bottom(Top):
    """Bottom coding: smaller values become the bound (``bottom 16``), or ``bottom 1%``; see :class:`Top`.

    Examples
    --------
    >>> Bottom("1%").share
    0.01
    """

    word = "bottom"


@dataclass(frozen=True)
class Round:
    """Rounding to the nearest multiple of a number (``round 100``), or of dates to the start of a calendar unit.

    Parameters
    ----------
    base
        A positive number, or ``day``, ``week``, ``month``, ``quarter`` or ``year``.

    Examples
    --------
    >>> str(Round(0.5)), str(Round("month"))
    ('round 0.5', 'round month')
    """

    base: float | str
    word = "round"

    def __post_init__(self) -> None:
        if self.base not in PERIODS:
            object.__setattr__(self, "base", positive_of(self.word, self.base))

    def __str__(self) -> str:
        return f"round {_number_text(self.base)}"


@dataclass(frozen=True)
class Band:
    """Bands with a text for each, such as ``30-39``: an ordered column of categories.

    Parameters
    ----------
    bands
        A width (``band 10``: from 0 on), ascending edges (``band 0,18,65``: below 0, 0-17, 18-64, 65+), ``age``
        (0-4, 5-9, ..., 85+), or for dates ``month``, ``quarter`` or ``year``.

    Examples
    --------
    >>> str(Band(10)), str(Band((0, 18, 65))), str(Band("quarter")), Band("age").edges[-1]
    ('band 10', 'band 0,18,65', 'band quarter', 85.0)
    """

    bands: float | str | tuple[float, ...]
    word = "band"

    def __post_init__(self) -> None:
        given: Any = self.bands
        if isinstance(given, str) and "," in given:
            given = tuple(given.split(","))
        if isinstance(given, list | tuple):
            edges = tuple(number_of(self.word, edge) for edge in given)
            if not edges or any(low >= high for low, high in itertools.pairwise(edges)):
                raise SchemaError("the edges of bands must be ascending numbers, such as band 0,18,65")
            object.__setattr__(self, "bands", edges)
        elif given != "age" and given not in CALENDAR:
            object.__setattr__(self, "bands", positive_of(self.word, given))

    def __str__(self) -> str:
        if isinstance(self.bands, tuple):
            return f"band {','.join(map(_number_text, self.bands))}{',' if len(self.bands) == 1 else ''}"
        return f"band {_number_text(self.bands)}"

    @property
    def edges(self) -> tuple[float, ...]:
        """The stated edges; empty for a width and for the calendar."""
        return AGE_BANDS if self.bands == "age" else self.bands if isinstance(self.bands, tuple) else ()


@dataclass(frozen=True)
class MapValues:
    """Recoding by a mapping: each value that is named becomes another one; all others stay.

    Parameters
    ----------
    pairs
        Values as text with their new text; None makes the cell missing. The value ``*`` means all that are not named.
        A mapping, or the path of a text file with two fields in each row, is accepted as well.

    Examples
    --------
    >>> str(MapValues({"baker": "craft", "?": None}))
    'map {"?": null, "baker": "craft"}'
    """

    pairs: tuple[tuple[str, str | None], ...] | Mapping[str, str | None]
    word = "map"

    def __post_init__(self) -> None:
        given: Any = self.pairs
        if isinstance(given, str | Path):
            given = read_mapping(Path(given))
        rows = list(given.items()) if isinstance(given, Mapping) else list(given)
        if not rows or not all(isinstance(old, str) and isinstance(new, str | None) for old, new in rows):
            raise SchemaError('a mapping needs texts, such as map {"baker": "craft"}; null makes a cell missing')
        if len({old for old, _ in rows}) < len(rows):
            raise SchemaError("a mapping names a value twice; keep one of the two")
        object.__setattr__(self, "pairs", tuple(sorted((str(old), new) for old, new in rows)))

    def __str__(self) -> str:
        return f"map {json.dumps(dict(self.pairs), ensure_ascii=False)}"

    @property
    def mapping(self) -> dict[str, str | None]:
        """The new value of each value."""
        return dict(self.pairs)


@dataclass(frozen=True)
class Shift:
    """Shifting of dates: all dates of a person by the same random number of days (``shift 30``: from -30 to 30).

    Without a unit, persons are distinguished by their direct identifiers, or by all their values where there are none.
    The random numbers come from the system; only the holder's record keeps their key.

    Examples
    --------
    >>> str(Shift(30))
    'shift 30'
    """

    days: int
    word = "shift"

    def __post_init__(self) -> None:
        object.__setattr__(self, "days", count_of(self.word, self.days))

    def __str__(self) -> str:
        return f"shift {self.days}"


@dataclass(frozen=True)
class Rare:
    """Suppression of rare cells: values that fewer than a number of records (persons) hold become missing.

    Parameters
    ----------
    fewest
        The number.
    replacement
        A text that takes their place instead (``rare 5 as other``). If fewer than so many cells are concerned, the next
        rare value is added, so that the replacement does not single them out.

    Examples
    --------
    >>> str(Rare(5)), str(Rare(5, "other"))
    ('rare 5', 'rare 5 as other')
    """

    fewest: int
    replacement: str | None = None
    word = "rare"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fewest", count_of(self.word, self.fewest))
        if self.replacement is not None and not self.replacement:
            raise SchemaError("the replacement of rare values is empty; write, for example, rare 5 as other")

    def __str__(self) -> str:
        return f"rare {self.fewest}{'' if self.replacement is None else f' as {self.replacement}'}"


@dataclass(frozen=True)
class Outliers:
    """Dropping of outlier records: those further from the median than a number of standard deviations.

    The standard deviation is the robust one, 1.4826 times the median distance to the median. With a unit, all rows of a
    person with such a value are dropped.

    Parameters
    ----------
    deviations
        The number of standard deviations.
    limit
        The largest share of the records that may be dropped; more of them stop the run.

    Examples
    --------
    >>> str(Outliers(5, 0.01))
    'outliers 5 within 1%'
    """

    deviations: float
    limit: float
    word = "outliers"

    def __post_init__(self) -> None:
        object.__setattr__(self, "deviations", positive_of(self.word, self.deviations))
        object.__setattr__(self, "limit", positive_of(self.word, self.limit))
        if self.limit > 1:
            raise SchemaError("the limit of outliers is a share of the records, such as outliers 5 within 1%")

    def __str__(self) -> str:
        return f"outliers {_number_text(self.deviations)} within {_number_text(round(100 * self.limit, 10))}%"


@dataclass(frozen=True)
class Code:
    """New random codes: each different value becomes a random code; a direct identifier is then not dropped.

    Codes are drawn anew for each release; only the holder's record keeps their key.

    Examples
    --------
    >>> str(Code())
    'code'
    """

    word = "code"

    def __str__(self) -> str:
        return "code"


Step = Top | Bottom | Round | Band | MapValues | Shift | Rare | Outliers | Code


def read_mapping(path: Path) -> dict[str, str | None]:
    """Return the pairs of a text file with two fields in each row; an empty second field makes a cell missing."""
    from shoal.tables.hierarchy_files import read_hierarchy_rows

    rows = read_hierarchy_rows(path)
    if any(len(row) != 2 for row in rows):
        raise SchemaError(f'mapping file "{path}" must have two fields in each row: the value, and what it becomes')
    if len({row[0] for row in rows}) < len(rows):
        raise SchemaError(f'mapping file "{path}" names a value twice; keep one of the two')
    return {old: new or None for old, new in rows}


def number_of(word: str, value: Any) -> float:
    """Return a finite number, or raise an error with an example of the step."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, bool) or not math.isfinite(found):
        raise SchemaError(f'the step "{word}" needs a number; write, for example, {EXAMPLES[word]}')
    return found


def positive_of(word: str, value: Any) -> float:
    """Return a number above 0."""
    found = number_of(word, value)
    if found <= 0:
        raise SchemaError(f'the step "{word}" needs a number above 0; write, for example, {EXAMPLES[word]}')
    return found


def count_of(word: str, value: Any) -> int:
    """Return a whole number above 0."""
    found = positive_of(word, value)
    if found != int(found) or found > 2**31:
        raise SchemaError(f'the step "{word}" needs a whole number; write, for example, {EXAMPLES[word]}')
    return int(found)


def bound_of(word: str, value: Any) -> float | str:
    """Return a bound: a number, a share as text with %, or a date as text."""
    if not isinstance(value, str):
        return number_of(word, value) if not hasattr(value, "isoformat") else str(value.isoformat())
    text = value.strip()
    if text.endswith("%"):
        share = number_of(word, text[:-1])
        if not 0 <= share <= 100:
            raise SchemaError(f'the step "{word}" needs a share from 0% to 100%; write, for example, {EXAMPLES[word]}')
        return f"{_number_text(share)}%"
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?", text):
        return text
    return number_of(word, text)


def _number_text(value: float | str) -> str:
    """Return a number as short as possible: 90, not 90.0."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
