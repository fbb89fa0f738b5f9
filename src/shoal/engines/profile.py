"""The profile of a table, read in parts: counts, ranges, categories and exact moments, whatever the order of the parts.

All that a fitted encoding depends on is counted over the whole table: nothing is estimated from a sample but the value
that replaces missing cells under the policy ``impute``. Profiles of parts are added up; integers and exact sums
(:mod:`shoal.engines.exact_moments`) make the total independent of how the table is divided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.exact_moments import ExactMoments, square_root
from shoal.errors import DataError
from shoal.flow.encoding import (
    CategoryEncoding,
    ColumnEncoding,
    Encoding,
    NumericEncoding,
    fill_value,
    fit_encoding,
    offsets_from,
    physical_numbers,
    sampling_weights,
)
from shoal.privacy.confidential import sorted_values
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.columns import Column, Kind, Missing, Role, Schema
from shoal.schema.plan import Plan
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values, missing_mask

VALUE, COUNT, OWNER = "value", "count", "owner"


@dataclass(frozen=True)
class Numbers:
    """A numeric column: moments of its offsets from a base, lowest and highest value, and what divides all offsets."""

    moments: ExactMoments
    low: Any
    high: Any
    divisor: int
    missing: int
    infinite: int

    def __add__(self, other: Numbers) -> Numbers:
        known = [part for part in (self, other) if part.low is not None]
        return Numbers(
            self.moments + other.moments,
            min((part.low for part in known), default=None),
            max((part.high for part in known), default=None),
            math.gcd(self.divisor, other.divisor),
            self.missing + other.missing,
            self.infinite + other.infinite,
        )


@dataclass(frozen=True, eq=False)
class Values:
    """A column of categories: how often each value occurs, and how many cells are missing."""

    counts: pl.DataFrame
    missing: int

    def __add__(self, other: Values) -> Values:
        return Values(_added(self.counts, other.counts, [VALUE]), self.missing + other.missing)


@dataclass(frozen=True, eq=False)
class Profile:
    """What was counted over a table or a part of it; confidential.

    Parameters
    ----------
    records
        The number of rows.
    columns
        The quasi-identifiers.
    confidential
        The confidential attributes, where requirements compare with them.
    prefixes
        How many rows each combination of strata and missingness pattern has.
    owners
        Some of the persons or households of each combination, at most k, where k counts these.
    least
        k.
    broken
        How many rows violate each rule between columns.
    """

    records: int
    columns: Mapping[str, Numbers | Values]
    confidential: Mapping[str, Values]
    prefixes: pl.DataFrame
    owners: pl.DataFrame | None
    least: int
    broken: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Profile) -> Profile:
        keys = [name for name in self.prefixes.columns if name != COUNT]
        owners = None
        if self.owners is not None and other.owners is not None:
            owners = _few_owners(pl.concat([self.owners, other.owners]), keys, self.least)
        return Profile(
            self.records + other.records,
            {name: self.columns[name] + other.columns[name] for name in self.columns},  # type: ignore[operator]
            {name: self.confidential[name] + other.confidential[name] for name in self.confidential},
            _added(self.prefixes, other.prefixes, keys),
            owners,
            self.least,
            {rule: count + other.broken[rule] for rule, count in self.broken.items()},
        )

    @property
    def missing(self) -> dict[str, int]:
        """How many cells of each quasi-identifier are missing, where any are."""
        return {name: column.missing for name, column in self.columns.items() if column.missing}


@dataclass(frozen=True, eq=False)
class ProfileTask:
    """What is counted: the plan, and for each column of whole numbers the value that offsets are taken from.

    Parameters
    ----------
    plan
        What is requested.
    bases
        A value of each integer, date or time column: that of the first row that has one.
    """

    plan: Plan
    bases: Mapping[str, int]

    @classmethod
    def of(cls, plan: Plan, head: Table) -> ProfileTask:
        """Return the task for a plan; ``head`` holds the first rows of the table."""
        bases = {}
        for column in plan.schema.quasi:
            if column.kind == Kind.NUMERIC:
                known = physical_numbers(head.column(column.name)).drop_nulls()
                whole = len(known) and not known.dtype.is_float()
                bases[column.name] = int(known[0]) if whole else 0
        return cls(plan, bases)

    def profile(self, part: Table) -> Profile:
        """Return the profile of a part of the table."""
        schema, requirements = self.plan.schema, self.plan.requirements
        columns = {column.name: self._column(part, column) for column in schema.quasi}
        names = schema.named(Role.CONFIDENTIAL) if requirements.beyond_k else []
        confidential = {name: column_values(part, name) for name in names}
        sampling_weights(part, schema)  # raises for weights that are missing or not positive
        prefixes = prefix_frame(part, schema)
        keys = prefixes.columns
        counted = owner_column(self.plan)
        owners = None
        if counted is not None:
            values = comparable_values(part.column(counted))
            lacking = values.null_count()
            if lacking:
                raise DataError(
                    f'{lacking:,} rows have no value in "{counted}", so that it is unknown whose they are; '
                    "fill them in, or remove these rows"
                )
            owners = _few_owners(prefixes.with_columns(values.rename(OWNER)), keys, requirements.k)
        broken: Mapping[str, int] = {}
        if schema.keep:
            from shoal.flow.kept_rules import broken_records

            broken = broken_records(part, schema)
        return Profile(
            part.n_rows, columns, confidential, prefixes.group_by(keys).agg(pl.len().cast(pl.Int64).alias(COUNT)),
            owners, requirements.k, broken,
        )  # fmt: skip

    def _column(self, part: Table, column: Column) -> Numbers | Values:
        if column.kind != Kind.NUMERIC:
            return column_values(part, column.name)
        series = part.column(column.name)
        physical = physical_numbers(series)
        if not physical.dtype.is_numeric():
            fit_encoding(part, Schema((column,)))  # raises the error that names what is wrong with the column
        return _numbers(physical, missing_mask(series), self.bases[column.name])


def _numbers(physical: pl.Series, missing: Any, base: int) -> Numbers:
    floats = physical.dtype.is_float()
    infinite = int(physical.is_infinite().sum()) if floats else 0
    offsets = offsets_from(physical, 0.0 if floats else base, integer=not floats)
    known = offsets[~missing & np.isfinite(offsets)]
    values = physical.fill_nan(None) if floats else physical
    divisor = 0
    if not floats and known.size:
        divisor = int(np.gcd.reduce(np.unique(known).astype(np.int64)))
    return Numbers(
        ExactMoments.of(known), values.min(), values.max(), divisor, int(missing.sum()), infinite
    )  # fmt: skip


def column_values(part: Table, name: str) -> Values:
    """Return how often each value of a column occurs in a part of the table."""
    values = comparable_values(part.column(name))
    if values.dtype.is_nested():
        raise DataError(f'column "{name}" is nested ({values.dtype}); flatten it or call it other')
    if values.dtype.is_float():
        values = values + 0.0  # one zero instead of two
    frame = values.rename(VALUE).to_frame().drop_nulls().group_by(VALUE).agg(pl.len().cast(pl.Int64).alias(COUNT))
    return Values(frame, int(values.null_count()))


def _added(first: pl.DataFrame, second: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    both = pl.concat([first, second], how="vertical_relaxed")
    return both.group_by(list(keys)).agg(pl.col(COUNT).sum())


def _few_owners(frame: pl.DataFrame, keys: Sequence[str], least: int) -> pl.DataFrame:
    """Return at most ``least`` different owners of each combination."""
    return frame.unique([*keys, OWNER]).group_by(list(keys)).head(least)


def owner_column(plan: Plan) -> str | None:
    """Return the column whose different values k counts; None where k counts rows."""
    schema = plan.schema
    return {"units": schema.unit, "households": schema.household}.get(str(plan.of))


def followed_column(plan: Plan) -> str | None:
    """Return the column of persons or households that released rows are counted and checked by, if there is one."""
    return owner_column(plan) or plan.schema.unit or plan.schema.household


def pattern_columns(schema: Schema) -> list[str]:
    """Return the quasi-identifiers whose missingness pattern no group may mix."""
    return [column.name for column in schema.quasi if (column.missing or schema.missing) == Missing.BY_PATTERN]


def prefix_frame(part: Table, schema: Schema) -> pl.DataFrame:
    """Return the strata and the missingness pattern of each row; one column of zeros where there are neither."""
    columns: dict[str, pl.Series] = {}
    for number, name in enumerate(schema.strata):
        values = comparable_values(part.column(name))
        columns[f"s{number}"] = values + 0.0 if values.dtype.is_float() else values
    pattern = np.zeros(part.n_rows, np.int64)
    for number, name in enumerate(pattern_columns(schema)):
        pattern += missing_mask(part.column(name)).astype(np.int64) << (number % 62)
    return pl.DataFrame(columns | {"pattern": pl.Series(pattern)})


def fitted_encoding(plan: Plan, task: ProfileTask, profile: Profile, sample: Table) -> Encoding:
    """Return the encoding of a table from its profile.

    Parameters
    ----------
    plan
        What is requested.
    task
        How the profile was counted.
    profile
        The profile of the whole table.
    sample
        Rows of the table, for imputed values and for types.
    """
    schema = plan.schema
    entries, fill = [], {}
    for column in schema.quasi:
        found = profile.columns[column.name]
        entry = (
            _number_encoding(schema, column, found, sample, task.bases[column.name])
            if isinstance(found, Numbers)
            else _category_encoding(schema, column, found, sample)
        )
        entries.append(entry)
        if (column.missing or schema.missing) == Missing.IMPUTE and found.missing:
            value = fill_value(entry, sample, schema, always=True)
            assert value is not None
            fill[column.name] = value
    confidential = tuple(value_distribution(schema[name], values) for name, values in profile.confidential.items())
    return Encoding(schema, tuple(entries), fill, profile.records, confidential)


def _alone(schema: Schema, column: Column, values: pl.Series, sample: Table) -> ColumnEncoding:
    """Return the encoding of a column that holds only these values."""
    table = Table.from_native(values.rename(column.name).to_frame())
    return fit_encoding(table, Schema((column,), missing=schema.missing), distributions=False).quasi[0]


def _number_encoding(schema: Schema, column: Column, found: Numbers, sample: Table, base: int) -> NumericEncoding:
    """Return the encoding whose range, steps, mean and deviation are those of the whole table."""
    if found.infinite:
        raise DataError(
            f'column "{column.name}" has {found.infinite} infinite values; replace or remove them, a mean over them '
            "means nothing"
        )
    series = sample.column(column.name).to_polars()
    decimal = series.dtype.is_decimal()
    physical = pl.Float64 if decimal else series.to_physical().dtype
    witnesses = [] if found.low is None else [found.low, found.high]
    if witnesses and found.divisor:
        witnesses.append(found.low + found.divisor)
    values = pl.Series(witnesses, dtype=physical)
    entry = _alone(schema, column, values if decimal else values.cast(series.dtype), sample)
    assert isinstance(entry, NumericEncoding)
    if entry.scale == 0:
        return entry
    shift = Fraction(base) - Fraction(entry.origin) if entry.integer else -Fraction(entry.origin)
    unit = Fraction(entry.scale) * entry.step
    mean = (found.moments.mean() + shift) / unit
    return replace(entry, mean=float(mean), deviation=square_root(found.moments.variance() / unit**2))


def _category_encoding(schema: Schema, column: Column, found: Values, sample: Table) -> CategoryEncoding:
    values = found.counts[VALUE]
    with_missing = pl.concat([values, pl.Series(VALUE, [None], dtype=values.dtype)]) if found.missing else values
    entry = _alone(schema, column, with_missing.sort(), sample)
    assert isinstance(entry, CategoryEncoding)
    if column.kind != Kind.ORDINAL:
        return replace(entry, mean=0.0, deviation=0.0)
    known = pl.DataFrame({VALUE: entry.categories}).drop_nulls()
    totals = known.join(found.counts, on=VALUE, how="left", maintain_order="left")[COUNT].to_list()
    count = sum(totals)
    mean = Fraction(sum(code * total for code, total in enumerate(totals)), max(count, 1))
    squares = Fraction(sum(code * code * total for code, total in enumerate(totals)), max(count, 1))
    return replace(entry, mean=float(mean), deviation=square_root(squares - mean**2))


def value_distribution(column: Column, found: Values) -> ValueEncoding:
    """Return the distribution of a confidential attribute in the whole table."""
    table = Table.from_native(found.counts.select(pl.col(VALUE).alias(column.name)))
    if column.hierarchy is not None:
        from shoal.schema.hierarchy_sources import hierarchy_of

        column = replace(column, hierarchy=hierarchy_of(column, table))
    codes, values = sorted_values(table.column(column.name), column)
    totals = np.zeros(len(values), np.int64)
    np.add.at(totals, codes, found.counts[COUNT].to_numpy())
    return ValueEncoding(column, values, totals, found.missing)


def total(profiles: Sequence[Profile]) -> Profile:
    """Return the profile of all parts together."""
    return reduce(lambda one, other: one + other, profiles)
