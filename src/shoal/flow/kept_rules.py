"""Rules between columns in a release: representatives are repaired per whole group, so that orders and sums hold.

Means keep orders and sums, medians keep orders; rounding, other representatives and unchanged columns break them. What
is changed is the representative of a whole group, never a single record: the records of a group stay equal, classes
stay or join, and k holds. The new values follow from released ones, so they disclose nothing further.

Orders: a representative must lie between the largest value below it and the smallest above it, over the records of its
group. Bounds of unchanged columns are carried along chains of orders first; then each column, from the lowest of a
chain to the highest, is moved to the nearest value within its bounds. Sums: one column, that with the finest unit, is
computed from the others. O(n) per rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.errors import RequirementNotMet, SchemaError
from shoal.flow.encoding import from_polars
from shoal.flow.exact_numbers import EXACT, decimals_of
from shoal.flow.prepare import Prepared
from shoal.schema.column_rules import OrderRule, Rule, SumRule, parse_rule
from shoal.schema.columns import Recode, Schema
from shoal.tables import Table
from shoal.tables.value_codes import polars_series

if TYPE_CHECKING:
    from shoal.tables.table import Series

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64] | NDArray[np.float64]
_DAY = 86_400_000_000
_ROUNDS = 4
_TEXTS = {Recode.RANGE, Recode.SET, Recode.HIERARCHY}


@dataclass(frozen=True, eq=False)
class RuleColumn:
    """A column as numbers that rules compare: whole numbers of a unit where it has one, otherwise floats.

    Parameters
    ----------
    series
        The column.
    temporal
        Whether it holds dates or times, then microseconds.
    unit
        The smallest difference between its values, in the units of ``values``; 0 where it has none.
    """

    series: pl.Series
    temporal: bool
    unit: float

    @classmethod
    def of(cls, series: pl.Series, places: int | None, step: int = 1) -> RuleColumn:
        """Return a column; ``places`` are the decimals of its numbers, ``step`` the unit of its times."""
        dtype = series.dtype
        if dtype == pl.Date:
            return cls(series, temporal=True, unit=_DAY)
        if isinstance(dtype, pl.Datetime | pl.Duration):
            return cls(series, temporal=True, unit=max(1.0, step / (1_000 if dtype.time_unit == "ns" else 1)))
        if dtype.is_integer():
            if max(abs(int(end)) for end in (series.min() or 0, series.max() or 0) if isinstance(end, int)) >= EXACT:
                raise SchemaError(f'column "{series.name}" has numbers of more than 15 digits, too many for a rule')
            return cls(series, temporal=False, unit=1.0)
        if dtype.is_float() or dtype.is_decimal():
            return cls(series, temporal=False, unit=0.0 if places is None else 10.0**-places)
        raise SchemaError(
            f'column "{series.name}" of type {dtype} cannot be part of a rule; rules need numbers or dates'
        )

    def values(self) -> Floats:
        """Return numbers, and dates and times as microseconds; NaN where missing."""
        column = self.series
        if self.temporal:
            if isinstance(column.dtype, pl.Duration):
                column = column.dt.total_microseconds()
            else:
                column = column.cast(pl.Datetime("us")).dt.epoch("us")
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)

    def floored(self, values: Floats) -> Floats:
        """Return the largest values of the column that do not exceed some numbers."""
        return values if self.unit == 0 else _multiple(np.floor(_units(values, self.unit)), self.unit)

    def ceiled(self, values: Floats) -> Floats:
        """Return the smallest values of the column that some numbers do not exceed."""
        return values if self.unit == 0 else _multiple(np.ceil(_units(values, self.unit)), self.unit)

    def below(self, values: Floats) -> Floats:
        """Return the largest values of the column that are less than some numbers."""
        found = np.nextafter(values, -np.inf) if self.unit == 0 else self.floored(values)
        return np.where(
            found < values, found, _multiple(np.rint(_units(found, self.unit or 1.0)) - 1, self.unit or 1.0)
        )

    def above(self, values: Floats) -> Floats:
        """Return the smallest values of the column that are greater than some numbers."""
        return -self.below(-values)

    def with_values(self, values: Floats, changed: NDArray[np.bool_]) -> pl.Series:
        """Return the column with new values in some rows, in its type."""
        column, name, dtype = self.series, self.series.name, self.series.dtype
        known = np.where(changed, values, 0.0)
        if dtype == pl.Date:
            new = pl.Series(name, np.rint(known / _DAY).astype(np.int32)).cast(pl.Date)
        elif self.temporal:
            new = pl.Series(name, np.rint(known).astype(np.int64)).cast(pl.Datetime("us")).cast(dtype)
            if isinstance(dtype, pl.Duration):
                new = pl.Series(name, np.rint(known).astype(np.int64)).cast(pl.Duration("us")).cast(dtype)
        elif dtype.is_integer():
            new = pl.Series(name, np.rint(known).astype(np.int64)).cast(dtype)
        else:
            new = pl.Series(name, known).cast(dtype)
        return pl.select(pl.when(pl.Series(changed)).then(new).otherwise(column).alias(name)).to_series()


def _units(values: Floats, unit: float) -> Floats:
    """Return numbers as multiples of a unit, whole ones exactly."""
    found = values / unit if unit >= 1 else values * round(1 / unit)
    near = np.rint(found)
    with np.errstate(invalid="ignore"):  # infinite bounds
        return np.where(np.abs(found - near) < 1e-6, near, found)


def _multiple(whole: Floats, unit: float) -> Floats:
    return whole * unit if unit >= 1 else whole / round(1 / unit)


def rules_of(schema: Schema) -> list[Rule]:
    """Return the rules that a schema states."""
    names = [column.name for column in schema.columns]
    return [parse_rule(text, names) for text in schema.keep]


def check_rules(table: Table, schema: Schema) -> None:
    """Raise where the original itself violates a rule, or a rule cannot be kept because of the roles of its columns."""
    refuse_broken(broken_records(table, schema), table.n_rows)


def broken_records(table: Table, schema: Schema) -> dict[str, int]:
    """Return how many records of the original, or of a part of it, violate each rule.

    Raises where a rule cannot be kept because of the roles of its columns.
    """
    counts: dict[str, int] = {}
    quasi = {column.name for column in schema.quasi}
    released = [column.name for column in schema.columns if column.name not in schema.dropped]
    for rule in rules_of(schema):
        for name in rule.names:
            if name not in released:
                raise SchemaError(f'the rule "{rule}" names column "{name}", which is not released; leave the rule out')
        if isinstance(rule, SumRule) and not quasi.issuperset(rule.names):
            fixed = next(name for name in rule.names if name not in quasi)
            raise SchemaError(
                f'the rule "{rule}" cannot be kept: "{fixed}" is released unchanged, so the other columns would have '
                "to be as well; declare it as a quasi-identifier, or drop it"
            )
        columns = {name: _original_column(table, name) for name in rule.names}
        counts[str(rule)] = int(violated(rule, columns).sum())
    _ordered_names([rule for rule in rules_of(schema) if isinstance(rule, OrderRule)])
    return counts


def refuse_broken(counts: Mapping[str, int], records: int) -> None:
    """Raise where records of the original violate a rule."""
    for rule, broken in counts.items():
        if broken:
            raise SchemaError(
                f'the rule "{rule}" does not hold in {broken:,} of {records:,} records of the original; correct '
                "these records, or leave the rule out"
            )


def _original_column(table: Table, name: str) -> RuleColumn:
    series = polars_series(table.typed(name))
    places = decimals_of(series.cast(pl.Float64).to_numpy()) if series.dtype.is_float() else None
    if isinstance(series.dtype, pl.Decimal):
        places = series.dtype.scale
    return RuleColumn.of(series, places)


def violated(rule: Rule, columns: Mapping[str, RuleColumn]) -> NDArray[np.bool_]:
    """Return the records that violate a rule; one with a missing value does not."""
    if isinstance(rule, OrderRule):
        low, high = columns[rule.low], columns[rule.high]
        if low.temporal != high.temporal:
            raise SchemaError(f'the rule "{rule}" compares numbers with dates; name two columns of one kind')
        with np.errstate(invalid="ignore"):
            one, two = low.values(), high.values()
            return (one >= two) if rule.strict else (one > two)
    total = _sum(rule.terms, columns, str(rule))
    scale = np.maximum.reduce([np.abs(_scaled(columns[name], rule, columns)) for name in rule.names])
    with np.errstate(invalid="ignore"):
        return np.abs(total) > 1e-9 * np.maximum(1.0, scale)


def _scaled(column: RuleColumn, rule: SumRule, columns: Mapping[str, RuleColumn]) -> Floats:
    """Return the values of a column in a sum: numbers beside dates are days."""
    dated = any(columns[name].temporal for name in rule.names)
    return column.values() * (_DAY if dated and not column.temporal else 1)


def _sum(terms: Sequence[tuple[int, str]], columns: Mapping[str, RuleColumn], text: str) -> Floats:
    """Return the sum of some terms, in days where dates are among them; whole units are added exactly."""
    dates = sum(sign for sign, name in terms if isinstance(columns[name].series.dtype, pl.Date | pl.Datetime))
    dated = any(columns[name].temporal for _, name in terms)
    if dates not in {0, 1, -1}:
        raise SchemaError(f'the rule "{text}" adds dates; subtract one date from another, or add days to a date')
    units = [columns[name].unit for _, name in terms]
    places = [round(-np.log10(unit)) for unit in units if 0 < unit < 1]
    factor = 1.0 if dated or 0.0 in units else 10.0 ** max(places, default=0)
    total = np.zeros(columns[terms[0][1]].series.len())
    for sign, name in terms:
        column = columns[name]
        values = column.values() * (_DAY if dated and not column.temporal else 1)
        total += sign * (np.rint(values * factor) if factor > 1 else values)
    return total / factor


def _ordered_names(rules: Sequence[OrderRule]) -> list[str]:
    """Return the columns of orders from the lowest to the highest; raises where they form a circle."""
    names = list(dict.fromkeys(name for rule in rules for name in rule.names))
    found: list[str] = []
    while names:
        free = [name for name in names if not any(rule.high == name and rule.low in names for rule in rules)]
        if not free:
            raise SchemaError(f'the rules about "{names[0]}" form a circle; leave one of them out')
        found += free
        names = [name for name in names if name not in free]
    return found


def keep_rules(
    prepared: Prepared,
    columns: Mapping[str, Series],
    recodes: Mapping[str, Recode],
    grouping_of: Callable[[str], Grouping],
) -> tuple[dict[str, Series], dict[str, int]]:
    """Return released quasi-identifiers in which all rules hold, and how many cells of which column were changed.

    Parameters
    ----------
    prepared
        The table that was grouped.
    columns
        Its recoded quasi-identifiers.
    recodes
        What replaced their values.
    grouping_of
        The groups of a quasi-identifier.

    Returns
    -------
    columns, changed
        Raises where a rule cannot be kept by one value for each group.
    """
    rules = rules_of(prepared.schema)
    for rule in rules:
        for name in rule.names:
            if recodes.get(name) in _TEXTS:
                raise SchemaError(
                    f'the rule "{rule}" needs numbers, but column "{name}" is replaced by {recodes[name]}; choose '
                    "another recode, or leave the rule out"
                )
    present = _released_columns(prepared, columns, rules)
    before = {name: column.values() for name, column in present.items()}
    groups = {name: grouping_of(name) for name in present if name in columns}
    orders = [rule for rule in rules if isinstance(rule, OrderRule)]
    sums = [rule for rule in rules if isinstance(rule, SumRule)]
    for _ in range(_ROUNDS):
        for rule in sums:
            _apply_sum(rule, present, groups)
        _apply_orders(orders, present, groups)
        if not any(violated(rule, present).any() for rule in rules):
            break
    for rule in rules:
        broken = int(violated(rule, present).sum())
        if broken:
            raise RequirementNotMet(
                f'the rule "{rule}" cannot be kept in {broken:,} records together with the other rules and steps; '
                "leave one of them out"
            )
    changed = {
        name: int((present[name].values() != values)[~np.isnan(values)].sum())
        for name, values in before.items()
        if name in columns
    }
    found = dict(columns)
    for name, cells in changed.items():
        if cells:
            found[name] = from_polars(present[name].series, columns[name], same_dtype=False)
    return found, {name: cells for name, cells in changed.items() if cells}


def _released_columns(
    prepared: Prepared, columns: Mapping[str, Series], rules: Sequence[Rule]
) -> dict[str, RuleColumn]:
    """Return the columns of all rules as they would be released."""
    found = {}
    for name in dict.fromkeys(name for rule in rules for name in rule.names):
        original = _original_column(prepared.table, name)
        if name not in columns:
            found[name] = original
            continue
        released = polars_series(columns[name])
        places = decimals_of(released.cast(pl.Float64).to_numpy()) if released.dtype.is_float() else None
        if isinstance(released.dtype, pl.Decimal):
            places = released.dtype.scale
        step = getattr(prepared.encoding[name], "step", 1)
        found[name] = RuleColumn.of(released, places, step)
    return found


def _apply_sum(rule: SumRule, columns: dict[str, RuleColumn], groups: Mapping[str, Grouping]) -> None:
    """Compute one column of a sum from the others: that with the finest unit, first the one that stands alone."""
    broken = violated(rule, columns)
    if not broken.any():
        return
    alone = [side[0][1] for side in (rule.right, rule.left) if len(side) == 1]
    names = [*alone, *(name for name in reversed(rule.names) if name not in alone)]
    dated = any(columns[name].temporal for name in rule.names)
    unit = {name: columns[name].unit * (_DAY if dated and not columns[name].temporal else 1) for name in names}
    target = min(names, key=lambda name: unit[name])
    sign = next(sign for sign, name in rule.terms if name == target)
    rest = [(-sign * other, name) for other, name in rule.terms if name != target]
    values = _sum(rest, columns, str(rule))
    column = columns[target]
    values = values / _DAY if dated and not column.temporal else values
    low, high = _group_ends(values, groups[target], broken)
    if (low[broken] != high[broken]).any():
        raise SchemaError(
            f'the rule "{rule}" needs columns that are replaced by the same groups; "{target}" is kept constant within '
            "persons, or the others are"
        )
    columns[target] = RuleColumn(column.with_values(values, broken), column.temporal, column.unit)


def _apply_orders(rules: Sequence[OrderRule], columns: dict[str, RuleColumn], groups: Mapping[str, Grouping]) -> None:
    """Move representatives within the bounds that orders set, from the lowest column of a chain to the highest."""
    names = [name for name in _ordered_names(rules) if name in groups]
    n = next(iter(columns.values())).series.len()
    upper = {name: np.full(n, np.inf) for name in names}
    for name in reversed(names):
        for rule in rules:
            if rule.low != name:
                continue
            bound = upper[rule.high] if rule.high in groups else _or_infinite(columns[rule.high].values(), np.inf)
            allowed = columns[name].below(bound) if rule.strict else columns[name].floored(bound)
            upper[name] = np.minimum(upper[name], np.where(np.isinf(bound), bound, allowed))
        upper[name] = _group_ends(upper[name], groups[name], np.ones(n, bool))[0]
    for name in names:
        column = columns[name]
        values, lower = column.values(), np.full(n, -np.inf)
        for rule in rules:
            if rule.high != name:
                continue
            bound = _or_infinite(columns[rule.low].values(), -np.inf)
            allowed = column.above(bound) if rule.strict else column.ceiled(bound)
            lower = np.maximum(lower, np.where(np.isinf(bound), bound, allowed))
        lower = _group_ends(lower, groups[name], np.ones(n, bool))[1]
        known = ~np.isnan(values)
        impossible = known & (lower > upper[name])
        if impossible.any():
            concerned = np.unique(groups[name].labels[impossible]).size
            stated = " and ".join(f'"{rule}"' for rule in rules if name in rule.names)
            raise RequirementNotMet(
                f'{stated} cannot be kept by one value of "{name}" in {concerned:,} groups, because '
                "unchanged columns of their records need different ones; declare these as quasi-identifiers, or leave "
                "the rule out"
            )
        moved = np.where(known, np.maximum(np.minimum(values, upper[name]), lower), values)
        changed = known & (moved != values)
        if changed.any():
            columns[name] = RuleColumn(column.with_values(moved, changed), column.temporal, column.unit)


def _or_infinite(values: Floats, infinite: float) -> Floats:
    return np.where(np.isnan(values), infinite, values)


def _group_ends(values: Floats, grouping: Grouping, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of the group of each record, over some rows."""
    low, high = np.full(len(grouping), np.inf), np.full(len(grouping), -np.inf)
    labels = grouping.labels
    np.minimum.at(low, labels[rows], values[rows])
    np.maximum.at(high, labels[rows], values[rows])
    return low[labels], high[labels]
