"""Rules between columns that a release keeps: orders (``start <= end``) and sums (``wage + rent = income``).

A rule is written as text; ``str`` of the parsed rule is its canonical text. Names with spaces or signs are quoted. How
a release keeps rules is in :mod:`shoal.flow.kept_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from shoal.errors import SchemaError, UnknownColumn

_SIGNS = re.compile(r"<=|>=|==|<|>|=|\+|-")
_PLAIN = re.compile(r"[^\W\d][\w.]*")
Term = tuple[int, str]
"""A sign, 1 or -1, and the name of a column."""


@dataclass(frozen=True)
class OrderRule:
    """The values of one column are at most (with ``strict`` less than) those of another in every record.

    Examples
    --------
    >>> str(OrderRule("start", "end date"))
    'start <= "end date"'
    """

    low: str
    high: str
    strict: bool = False

    def __str__(self) -> str:
        return f"{_shown(self.low)} {'<' if self.strict else '<='} {_shown(self.high)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.low, self.high


@dataclass(frozen=True)
class SumRule:
    """Sums of columns that are equal in every record; dates plus or minus numbers of days are allowed.

    Examples
    --------
    >>> str(SumRule(((1, "wage"), (1, "rent")), ((1, "income"),)))
    'wage + rent = income'
    """

    left: tuple[Term, ...]
    right: tuple[Term, ...]

    def __str__(self) -> str:
        return f"{_side(self.left)} = {_side(self.right)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(name for _, name in (*self.left, *self.right))

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms on one side: their sum is 0."""
        return (*self.left, *((-sign, name) for sign, name in self.right))


Rule = OrderRule | SumRule


def parse_rule(text: str, names: Collection[str]) -> Rule:
    """Return the rule that a text states about some columns.

    Examples
    --------
    >>> parse_rule("end >= start", ["start", "end"])
    OrderRule(low='start', high='end', strict=False)
    >>> print(parse_rule("fu.date-futime = accept.dt", ["fu.date", "futime", "accept.dt"]))
    fu.date - futime = accept.dt
    """
    if not isinstance(text, str) or not text.strip():
        raise SchemaError('a rule is a text such as "start <= end" or "wage + rent = income"')
    terms, relation = _parts(text, names)
    left, right = terms
    if relation is None or not left or not right:
        raise SchemaError(f'the rule "{text}" needs a relation between columns: <=, <, >=, > or =')
    used = [name for _, name in (*left, *right)]
    if len(set(used)) < len(used):
        raise SchemaError(f'the rule "{text}" names a column twice')
    if relation in {"=", "=="}:
        return SumRule(tuple(left), tuple(right))
    if len(used) > 2 or left[0][0] < 0 or right[0][0] < 0:
        raise SchemaError(f'the rule "{text}" orders sums; an order has one column on each side')
    low, high = (left[0][1], right[0][1]) if relation[0] == "<" else (right[0][1], left[0][1])
    return OrderRule(low, high, strict=len(relation) == 1)


def checked_rules(rules: Any, names: Collection[str]) -> tuple[str, ...]:
    """Return rules as their canonical texts, each once."""
    if not isinstance(rules, str | Iterable):
        raise SchemaError('keep must be a list of rules such as "start <= end"')
    several = [rules] if isinstance(rules, str) else list(rules)
    return tuple(dict.fromkeys(str(parse_rule(rule, names)) for rule in several))


def _parts(text: str, names: Collection[str]) -> tuple[tuple[list[Term], list[Term]], str | None]:
    """Return the terms on both sides, and the relation between them."""
    sides: tuple[list[Term], list[Term]] = ([], [])
    relation: str | None = None
    sign, position, expected = 1, 0, True
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        found = _SIGNS.match(text, position)
        name = _name_at(text, position, names) if expected else None
        if name is not None:
            sides[relation is not None].append((sign, name[0]))
            position, sign, expected = name[1], 1, False
        elif found is None or (expected and found[0] not in {"+", "-"}):
            word = re.split(r"[<>=+\s]", text[position:].strip('"'))[0]
            if not expected:
                raise SchemaError(f'the rule "{text}" cannot be read; put names with spaces or signs in quotes')
            raise UnknownColumn(word, names)
        elif found[0] in {"+", "-"}:
            sign *= -1 if found[0] == "-" else 1
            position, expected = found.end(), True
        else:
            if relation is not None:
                raise SchemaError(f'the rule "{text}" has two relations; write one rule for each')
            relation = found[0]
            position, expected, sign = found.end(), True, 1
    if expected:
        raise SchemaError(f'the rule "{text}" ends without a column')
    return sides, relation


def _name_at(text: str, position: int, names: Collection[str]) -> tuple[str, int] | None:
    """Return the column that is named at a position, the longest that fits, and where the text goes on."""
    if text[position] == '"':
        end = text.find('"', position + 1)
        quoted = text[position + 1 : end]
        if end < 0 or quoted not in names:
            raise UnknownColumn(quoted if end > 0 else text[position + 1 :], names)
        return quoted, end + 1
    fitting = [name for name in names if name and text.startswith(name, position) and _ends(text, position + len(name))]
    return (max(fitting, key=len), position + len(max(fitting, key=len))) if fitting else None


def _ends(text: str, position: int) -> bool:
    return position >= len(text) or text[position].isspace() or _SIGNS.match(text, position) is not None


def _shown(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f'"{name}"'


def _side(terms: tuple[Term, ...]) -> str:
    first, *others = terms
    start = f"{'-' if first[0] < 0 else ''}{_shown(first[1])}"
    return start + "".join(f" {'-' if sign < 0 else '+'} {_shown(name)}" for sign, name in others)
