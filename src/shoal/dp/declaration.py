"""What the user declares about columns: bounds, categories, decimals and defaults.

The type of a released column follows from the declaration: bounds written as whole numbers (0 and 120) give integers,
bounds with a decimal point (0.0 and 1.0) or a number of decimals give numbers with decimals, dates give dates. Nothing
is read from the data, whose types follow from single records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.dp.declared_values import NumberKind, category_key
from shoal.dp.domain import CategoryColumn, Domain, DomainColumn, NumericColumn
from shoal.errors import ParameterError, SchemaError, UnknownColumn
from shoal.tables import Table

_LARGEST_INTEGER = 2**53
_MOST_DECIMALS = 15
_WHOLE = re.compile(r"[+-]?\d+")
_DAY = 86_400


@dataclass(frozen=True)
class Declaration:
    """What the user declares about columns, without looking at the data.

    Parameters
    ----------
    columns
        The columns to release; None for those with bounds or categories.
    bounds, categories
        The lowest and highest value, or the list of all values, of each column.
    decimals
        Decimals of released numbers, by column.
    default
        The value that takes the place of values that are missing or not in the domain, by column.
    """

    columns: Sequence[str] | None
    bounds: Mapping[str, Sequence[Any]]
    categories: Mapping[str, Sequence[Any]]
    decimals: Mapping[str, int]
    default: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        return list(dict.fromkeys([*(self.columns or ()), *self.bounds, *self.categories]))

    def domain(self, table: Table) -> Domain:
        """Return the domain of a table; only the names of its columns are used."""
        for name in self.names:
            if name not in table.names:
                raise UnknownColumn(name, table.names)
        return Domain(table, tuple(self.column(name) for name in self.released(table.names)))

    def released(self, names: Sequence[str]) -> list[str]:
        """Return the columns to release, in the order of the table."""
        wanted = self.columns if self.columns is not None else [*self.bounds, *self.categories]
        return [name for name in names if name in set(wanted or names)]

    def column(self, name: str) -> DomainColumn:
        """Return the domain of a column from its declaration."""
        if name in self.bounds and name in self.categories:
            raise SchemaError(f'column "{name}" has bounds and categories; give only one of them')
        if name in self.categories:
            return _categories(name, self.categories[name], self.default.get(name))
        if name in self.bounds:
            return _numeric(name, self.bounds[name], self.decimals.get(name), self.default.get(name))
        raise SchemaError(
            f'column "{name}" needs a domain for differential privacy that does not depend on the data: bounds of '
            f'numbers or dates, bounds={{"{name}": (low, high)}} (command line: --bounds {name}=low..high), or the '
            f'list of all categories, categories={{"{name}": ["a", "b"]}} (command line: --categories "{name}=a|b")'
        )

    def check(self) -> None:
        """Raise if the declaration is wrong, before any record is read."""
        for name in dict.fromkeys([*self.bounds, *self.categories]):
            self.column(name)
        for option, given in (("decimals", self.decimals), ("default", self.default)):
            for name in given:
                if name not in self.bounds and (option == "decimals" or name not in self.categories):
                    needed = "bounds" if option == "decimals" else "bounds or categories"
                    raise SchemaError(f'{option} is given for column "{name}", which has no {needed}')


def _categories(name: str, given: Sequence[Any], default: Any) -> CategoryColumn:
    values = tuple(given)
    for kind in (bool, int):
        if all(type(value) is kind for value in values):
            break
    else:
        values = tuple(str(value) for value in values)
    keys = [category_key(value) for value in values]
    if not values or len(set(keys)) < len(keys):
        raise SchemaError(
            f'column "{name}" needs a list of different categories, at least one; numbers that are equal ("1" and '
            '"01") are one category'
        )
    if default is None:
        return CategoryColumn(name, values, len(values) - 1)
    if category_key(default) not in keys:
        raise ParameterError(f'column "{name}": the default must be one of the categories')
    return CategoryColumn(name, values, keys.index(category_key(default)))


def _numeric(name: str, given: Sequence[Any], decimals: int | None, default: Any) -> NumericColumn:
    wanted = (
        f'column "{name}" needs two finite bounds, a lower and an upper one: two numbers (0 and 120, or 0.0 and 1.0 '
        "for fractions) or two dates (2024-01-31)"
    )
    if isinstance(given, str) or len(given) != 2:
        raise ParameterError(wanted)
    bounds = [_declared(value) for value in given]
    kinds = {kind for kind, _ in bounds}
    if kinds <= {"integer", "number"}:
        kind: NumberKind = _number_kind(name, kinds, decimals)
    elif kinds <= {"date", "datetime"}:
        kind = "datetime" if "datetime" in kinds else "date"
        if decimals is not None:
            raise ParameterError(f'column "{name}" has dates; decimals are for numbers')
    else:
        raise ParameterError(wanted)
    low, high = (_unit(value, kind) for _, value in bounds)
    if kind == "integer":
        low, high = math.ceil(low), math.floor(high)
    if not math.isfinite(high - low) or (kind == "integer" and max(abs(low), abs(high)) >= _LARGEST_INTEGER):
        raise ParameterError(f"{wanted}; integers below 2**53")
    if not low < high:
        raise ParameterError(f'column "{name}": the lower bound must be below the upper bound; correct them')
    shown = decimals if decimals is not None else _resolved_decimals(high - low)
    middle = low / 2 + high / 2
    return NumericColumn(
        name, kind, low, high, _default(name, default, kind, low, high, middle), shown if kind == "number" else None
    )


def _number_kind(name: str, kinds: set[str], decimals: int | None) -> NumberKind:
    if decimals is None:
        return "integer" if kinds == {"integer"} else "number"
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= _MOST_DECIMALS:
        raise ParameterError(f'column "{name}": decimals={decimals!r} must be an integer from 0 to {_MOST_DECIMALS}')
    return "number" if decimals else "integer"


def _resolved_decimals(extent: float) -> int | None:
    """Return the decimals that a grid of 2**16 cells resolves, None for an extent that needs more than a float has."""
    decimals = max(0, 5 - math.ceil(math.log10(extent))) if extent > 0 else 0
    return decimals if decimals <= _MOST_DECIMALS else None


def _default(name: str, given: Any, kind: NumberKind, low: float, high: float, middle: float) -> float:
    if given is None:
        return float(math.floor(middle)) if kind != "number" else middle
    of, value = _declared(given)
    same = {"integer", "number"} if kind in {"integer", "number"} else {"date", "datetime"}
    number = _unit(value, kind) if of in same else math.nan
    if not low <= number <= high:
        raise ParameterError(f'column "{name}": the default must be a value within the bounds')
    return float(math.floor(number + 0.5)) if kind != "number" else number


def _declared(value: Any) -> tuple[str, float]:
    """Return how a bound is written (integer, number, date, datetime, or none of them), and its number or seconds."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _declared_text(value.strip())
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return "datetime", float(math.floor(moment.timestamp()))
    if isinstance(value, date):
        return "date", float((value - date(1970, 1, 1)).days * _DAY)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return "none", math.nan
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return (("integer" if isinstance(value, int) else "number") if math.isfinite(number) else "none"), number


def _declared_text(text: str) -> tuple[str, float]:
    try:
        if _WHOLE.fullmatch(text):
            return "integer", float(text)
        number = float(text)
        return ("number", number) if math.isfinite(number) else ("none", math.nan)
    except ValueError:
        pass
    try:
        return _declared(date.fromisoformat(text) if len(text) <= 10 else datetime.fromisoformat(text))
    except ValueError:
        return "none", math.nan


def _unit(value: float, kind: NumberKind) -> float:
    return value // _DAY if kind == "date" else value
