"""Rule books: thresholds and column checks that an office or a law asks for, as data.

A book is TOML text. The books that come with Shoal are examples of how such rules can be written down; whether they are
the rules that apply, a lawyer has to confirm. A line of a book is satisfied or violated, or the table alone does not
show it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from shoal.errors import FileProblem, ParameterError, suggestion

CONFIRM = (
    "This book is an example and has to be confirmed by your lawyer; satisfied lines are figures about a table and no "
    "legal statement."
)
"""What is printed beside every book that comes with Shoal."""


@dataclass(frozen=True)
class Thresholds:
    """What equivalence classes must satisfy.

    Parameters
    ----------
    k
        Minimum size of a class.
    largest_risk
        The largest prosecutor risk 1/k of a record.
    round_risk
        The decimals that the risk is rounded to before it is compared; None to compare it as it is.
    l
        Minimum number of different values of each confidential attribute in a class.
    of
        What is counted: ``rows`` or ``units``; None for what the table says.
    """

    k: int | None = None
    largest_risk: float | None = None
    round_risk: int | None = None
    l: float | None = None
    of: str | None = None


@dataclass(frozen=True)
class ColumnRules:
    """What single columns must satisfy.

    Parameters
    ----------
    identifiers
        Whether columns that look like a direct identifier are allowed.
    small_areas
        Whether columns that look like an area below a state, other than a postcode, are allowed.
    dates
        ``any``, or ``year``: dates about a person only as years.
    largest_age
        The largest age that is released; above it a top code is needed.
    postcode_digits
        The most digits of a postcode.
    small_postcodes
        Postcodes of areas with at most so many people must be 000.
    """

    identifiers: bool = True
    small_areas: bool = True
    dates: str = "any"
    largest_age: int | None = None
    postcode_digits: int | None = None
    small_postcodes: int | None = None


@dataclass(frozen=True)
class RuleBook:
    """A rule book.

    Parameters
    ----------
    name
        The name by which it was asked for.
    title, source
        What it is about, and where it is published.
    thresholds, columns
        Its rules.
    remarks
        Sentences that belong to it.
    shipped
        Whether it came with Shoal, and is an example to be confirmed.
    """

    name: str
    title: str
    source: str
    thresholds: Thresholds = field(default_factory=Thresholds)
    columns: ColumnRules = field(default_factory=ColumnRules)
    remarks: tuple[str, ...] = ()
    shipped: bool = False


SHIPPED = {
    "hipaa-safe-harbor": """
title = "HIPAA Safe Harbor"
source = "45 CFR 164.514(b)(2)"
remarks = [
  "Means of dates are dates: a microaggregated table with dates needs expert determination, (b)(1), not these rules.",
  "The holder must also have no actual knowledge that the information could identify a person; no table shows that.",
]
[columns]
identifiers = false
small_areas = false
dates = "year"
largest_age = 89
postcode_digits = 3
small_postcodes = 20000
""",
    "ema-0.09": """
title = "Largest risk of 0.09"
source = "EMA policy 0070, external guidance; Health Canada, public release of clinical information"
remarks = [
  "Classes from 12 on have a risk of at most 0.09; 11 has 0.0909, 0.09 only if rounded. This book does not round.",
]
[thresholds]
largest_risk = 0.09
""",
    "cms-11": """
title = "Cell size of 11"
source = "CMS cell size suppression policy"
[thresholds]
k = 11
""",
}
"""The books that come with Shoal, as TOML."""


def read_rule_book(name: str | Path) -> RuleBook:
    """Return a book that comes with Shoal, or the book of a TOML file.

    Parameters
    ----------
    name
        ``hipaa-safe-harbor``, ``ema-0.09``, ``cms-11``, or the path of a file.

    Examples
    --------
    >>> read_rule_book("cms-11").thresholds.k
    11
    """
    if str(name) in SHIPPED:
        return parse_rule_book(SHIPPED[str(name)], str(name), shipped=True)
    path = Path(name)
    if path.suffix.lower() != ".toml":
        near = suggestion(str(name), [*SHIPPED])
        raise ParameterError(f'there is no rule book "{name}"; {near}, or name a .toml file')
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileProblem(f'rule book "{path}" was not found') from None
    except (OSError, UnicodeDecodeError):
        raise FileProblem(f'rule book "{path}" cannot be read; it must be UTF-8 text') from None
    try:
        return parse_rule_book(text, path.stem)
    except ParameterError as problem:
        raise ParameterError(f'rule book "{path}": {problem}') from None


def parse_rule_book(text: str, name: str, *, shipped: bool = False) -> RuleBook:
    """Return the book of a TOML text.

    Examples
    --------
    >>> parse_rule_book("thresholds = {k = 7}", "ours").thresholds.k
    7
    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        raise ParameterError("it is not valid TOML") from None
    known = ["title", "source", "remarks", "thresholds", "columns"]
    for key in content:
        if key not in known:
            raise ParameterError(f'it has an unknown entry "{key}"; {suggestion(key, known)}')
    remarks = content.get("remarks", [])
    if not isinstance(remarks, list) or not all(isinstance(remark, str) for remark in remarks):
        raise ParameterError("remarks must be a list of texts")
    book = RuleBook(
        name, str(content.get("title", name)), str(content.get("source", "")),
        _section(Thresholds, content.get("thresholds", {}), "thresholds"),
        _section(ColumnRules, content.get("columns", {}), "columns"), tuple(remarks), shipped,
    )  # fmt: skip
    if book.thresholds == Thresholds() and book.columns == ColumnRules():
        raise ParameterError("it has no rule; write [thresholds] with k = 11, or [columns] with largest_age = 89")
    return book


_TYPES: Mapping[str, tuple[type, ...]] = {
    "k": (int,), "largest_risk": (float, int), "round_risk": (int,), "l": (float, int), "of": (str,),
    "identifiers": (bool,), "small_areas": (bool,), "dates": (str,), "largest_age": (int,), "postcode_digits": (int,),
    "small_postcodes": (int,),
}  # fmt: skip
_WORDS = {"of": ("rows", "units"), "dates": ("any", "year")}


def _section(kind: Any, given: Any, name: str) -> Any:
    if not isinstance(given, Mapping):
        raise ParameterError(f"{name} must be a section [{name}]")
    allowed = [entry.name for entry in fields(kind)]
    for key, value in given.items():
        if key not in allowed:
            raise ParameterError(f'{name} has an unknown entry "{key}"; {suggestion(key, allowed)}')
        types = _TYPES[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ParameterError(f"{name}.{key} must be {' or '.join(each.__name__ for each in types)}")
        if key in _WORDS and value not in _WORDS[key]:
            raise ParameterError(f'{name}.{key} must be {" or ".join(_WORDS[key])}, not "{value}"')
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and value < (0 if key == "round_risk" else 1e-9)
        ):
            raise ParameterError(f"{name}.{key} must be above 0")
    return kind(**given)
