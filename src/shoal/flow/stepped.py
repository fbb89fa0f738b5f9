"""Steps before grouping, applied to a table: what is grouped and released instead of the original values.

Steps are stated per column (:mod:`shoal.schema.steps`). ``fit_steps`` reads the whole table and returns small
parameters; ``FittedSteps.apply`` is a pure function of a table and these, so that it can be applied to a part of the
table later. The original stays beside the result: loss is measured against it, and the holder's record is made of it.
Keys of random shifts and codes come from the system and are confidential; only the holder's record keeps them.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.errors import DataError, ParameterError, RequirementNotMet
from shoal.flow.holder_record import record_hashes
from shoal.flow.step_values import FittedStep, fit_step
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.step_texts import parse_step
from shoal.schema.steps import Band, Code, MapValues, Outliers, Rare, Shift, Step
from shoal.tables import Table
from shoal.tables.value_codes import missing_mask, polars_series

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.flow.holder_record import HolderRecord
    from shoal.tables.table import Series

Integers = NDArray[np.int64]
_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class Stepped:
    """A table after the steps before grouping.

    Parameters
    ----------
    fitted
        The steps with their parameters.
    original
        The table before them.
    table
        The table after them.
    kept
        The row of the original of each row; None where no record was dropped.
    changed
        The number of cells of each column that the steps changed.
    dropped
        The number of records that each column's outliers dropped.
    codes
        The random codes that are released instead of direct identifiers, by column.
    """

    fitted: FittedSteps
    original: Table
    table: Table
    kept: Integers | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    codes: Mapping[str, Series] = field(default_factory=dict)

    def __repr__(self) -> str:  # never keys or values
        return f"<Stepped: {self.table.n_rows:,} records, {len(self.changed)} columns with steps>"

    @property
    def schema(self) -> Schema:
        """The schema of the table after the steps: kinds and orders follow from them."""
        return self.fitted.schema

    def rows(self, part: Integers | None) -> Integers:
        """Return the rows of the original for some rows of the table after the steps, or for all of them."""
        kept = np.arange(self.original.n_rows) if self.kept is None else self.kept
        return kept if part is None else kept[part]


@dataclass(frozen=True, eq=False)
class FittedSteps:
    """Steps with the parameters that were read from the whole table.

    Parameters
    ----------
    stated
        The schema that states them.
    schema
        The schema of a table after them.
    columns
        The steps of each column.
    shift_key, code_key
        256 random bits each; confidential.
    """

    stated: Schema
    schema: Schema
    columns: Mapping[str, tuple[FittedStep, ...]]
    shift_key: bytes = field(repr=False)
    code_key: bytes = field(repr=False)

    def __repr__(self) -> str:  # never the keys
        return f"<FittedSteps: {len(self.columns)} columns>"

    def keys(self) -> dict[str, str]:
        """Return the keys for the holder's record, the only place that keeps them."""
        return {"shift_key": self.shift_key.hex(), "code_key": self.code_key.hex()}

    def apply(self, table: Table) -> Stepped:
        """Apply the steps to the whole table or to a part of it.

        Parameters
        ----------
        table
            The records; persons must be complete where outliers are dropped.
        """
        columns: dict[str, Series] = {}
        codes: dict[str, Series] = {}
        changed: dict[str, int] = {}
        dropped: dict[str, int] = {}
        outliers = np.zeros(table.n_rows, bool)
        for name, steps in self.columns.items():
            before = table.typed(name)
            values = before
            for fitted in steps:
                if isinstance(fitted.step, Outliers):
                    found = fitted.dropped(polars_series(values))
                    dropped[name] = dropped.get(name, 0) + int(found.sum())
                    outliers |= found
                values = _after_step(fitted, values, table, self)
            if self.stated[name].role == Role.IDENTIFIER:
                codes[name] = values
            elif any(not isinstance(fitted.step, Outliers) for fitted in steps):
                columns[name] = values
                changed[name] = changed_cells(before, values)
        stepped = table.with_columns(columns) if columns else table
        kept = None
        if outliers.any():
            kept = np.flatnonzero(~_of_whole_persons(outliers, table, self.stated)).astype(np.int64)
            stepped = stepped.in_order(kept)
            codes = {name: _like(polars_series(values).gather(kept), values) for name, values in codes.items()}
        return Stepped(self, table, stepped, kept, changed, dropped, codes)


def earlier_shift_key(previous: HolderRecord | str | Path | None) -> bytes | None:
    """Return the key of the shifts of an earlier release, so that a person is shifted alike in both; None if none."""
    if previous is None:
        return None
    from shoal.flow.holder_record import HolderRecord

    record = previous if isinstance(previous, HolderRecord) else HolderRecord.read(previous)
    keys = record.header.get("steps")
    return bytes.fromhex(str(keys["shift_key"])) if keys else None


@checked
def fit_steps(
    table: Table,
    schema: Schema,
    *,
    least: int = 2,
    shift_key: bytes | None = None,
    code_key: bytes | None = None,
) -> FittedSteps:
    """Return the steps of a schema with their parameters, read from the whole table.

    Parameters
    ----------
    table
        The whole table.
    schema
        Its schema; ``before`` of a column states steps.
    least
        How many records (with a unit, persons) must be at or beyond the bound of a share such as ``top 99%``: k.
    shift_key, code_key
        256 bits each; drawn from the system if not given. An earlier release gives its key of shifts, so that a person
        is shifted alike in both.

    Returns
    -------
    fitted
        Raises where a step does not suit its column, or drops more records than its limit. O(n log n) per column.

    Examples
    --------
    >>> from shoal.schema.columns import Column
    >>> people = Table.from_native(pl.DataFrame({"age": [30, 40, 50, 95]}))
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC, before=("top 100%",)),))
    >>> fit_steps(people, schema, least=2).apply(people).table.column("age").to_list()
    [30, 40, 50, 50]
    """
    if not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a shoal.Schema, not {type(schema).__name__}; load_table returns one")
    if isinstance(least, bool) or not isinstance(least, int | np.integer) or least < 1:
        raise ParameterError(f"least={least!r} is not possible; choose an integer of at least 1, such as k")
    keys = (shift_key or secrets.token_bytes(32)), (code_key or secrets.token_bytes(32))
    draft = FittedSteps(schema, schema, {}, *keys)
    owners = _owners(table, schema)
    fitted: dict[str, tuple[FittedStep, ...]] = {}
    columns: list[Column] = []
    for column in schema.columns:
        found: list[FittedStep] = []
        values = table.typed(column.name) if column.before else None
        result = column
        for text in column.before:
            assert values is not None
            step = parse_step(text)
            if isinstance(step, Code):
                _check_code(column, values)
            one = fit_step(step, polars_series(values), least=least, owners=owners)
            if isinstance(step, Outliers):
                _check_limit(step, column.name, one, values, table, schema)
            values = _after_step(one, values, table, draft)
            result = _column_after(result, one, values)
            found.append(one)
        if found:
            fitted[column.name] = tuple(found)
        columns.append(result)
    return replace(draft, schema=replace(schema, columns=tuple(columns)), columns=fitted)


@checked
def apply_steps(
    table: Table, schema: Schema, *, least: int = 2, shift_key: bytes | None = None, code_key: bytes | None = None
) -> Stepped:
    """Fit the steps before grouping on a table and apply them; the stage before :func:`shoal.fit_encoding`.

    Parameters
    ----------
    table, schema, least, shift_key, code_key
        As in :func:`fit_steps`.

    Returns
    -------
    stepped
        ``.table`` and ``.schema`` go to :func:`shoal.fit_encoding`, the whole to :func:`shoal.prepare` as ``steps``.

    Examples
    --------
    >>> from shoal.schema.columns import Column
    >>> people = Table.from_native(pl.DataFrame({"age": [31, 45, 52, 38]}))
    >>> stepped = apply_steps(people, Schema((Column("age", Role.QUASI, Kind.NUMERIC, before=("band 10",)),)))
    >>> stepped.table.column("age").to_list(), stepped.schema["age"].order
    (['30-39', '40-49', '50-59', '30-39'], ('30-39', '40-49', '50-59'))
    """
    return fit_steps(table, schema, least=least, shift_key=shift_key, code_key=code_key).apply(table)


def comparable_original(table: Table, schema: Schema) -> tuple[Table, Schema]:
    """Return an original with bands and mappings applied, with which a release is compared, and its schema.

    Both are public, so an intruder applies them too: a release with bands is compared with bands, not with numbers.
    """
    values: dict[str, Series] = {}
    columns: list[Column] = []
    for column in schema.columns:
        result = column
        for step in [parse_step(text) for text in (*column.before, *column.after)]:
            if not isinstance(step, Band | MapValues) or column.name not in table.names:
                continue
            present = values.get(column.name, table.typed(column.name))
            fitted = fit_step(step, polars_series(present), least=1, owners=None)
            values[column.name] = _like(fitted.apply(polars_series(present)), present)
            result = _column_after(result, fitted, values[column.name])
        columns.append(result)
    if not values:
        return table, schema
    return table.with_columns(values), replace(schema, columns=tuple(columns))


def changed_cells(before: Series, after: Series) -> int:
    """Return the number of cells that differ; where the type changed, all that are not missing."""
    one, two = polars_series(before), polars_series(after)
    if one.dtype.is_numeric() and two.dtype.is_numeric() and one.dtype != two.dtype:
        one, two = one.cast(pl.Float64), two.cast(pl.Float64)
    if one.dtype != two.dtype:
        return int((~missing_mask(before)).sum())
    return int(one.ne_missing(two).sum())


def _after_step(fitted: FittedStep, values: Series, table: Table, steps: FittedSteps) -> Series:
    """Return a column after one step; shifts and codes depend on keys, all others on the value alone."""
    column, step = polars_series(values), fitted.step
    if isinstance(step, Shift):
        return _like(_shifted(column, step, table, steps), values)
    if isinstance(step, Code):
        return _like(_coded(column, steps.code_key), values)
    if isinstance(step, Outliers):
        return values
    return _like(fitted.apply(column), values)


def _like(column: pl.Series, like: Series) -> Series:
    """Return a polars series in the library of the table."""
    from shoal.flow.encoding import from_polars

    return from_polars(column, like, same_dtype=False)


def _shifted(dates: pl.Series, step: Shift, table: Table, steps: FittedSteps) -> pl.Series:
    """Return dates shifted by the same number of days in all rows of a person."""
    schema = steps.stated
    names = [schema.unit] if schema.unit is not None else schema.named(Role.IDENTIFIER)
    names = [name for name in names if name not in table.unread] or table.names
    words = record_hashes(table, names, steps.shift_key)
    days = (words % np.uint64(2 * step.days + 1)).astype(np.int64) - step.days
    if dates.dtype == pl.Date:
        return (dates.to_physical().cast(pl.Int64) + pl.Series(days)).cast(pl.Int32).cast(pl.Date).alias(dates.name)
    assert isinstance(dates.dtype, pl.Datetime)
    unit = {"ms": 1_000, "us": 1, "ns": 1}[dates.dtype.time_unit]
    per_day = _DAY // unit if dates.dtype.time_unit != "ns" else _DAY * 1_000
    return (dates.to_physical() + pl.Series(days * per_day)).cast(dates.dtype).alias(dates.name)


def _coded(values: pl.Series, key: bytes) -> pl.Series:
    """Return a random code of 20 hexadecimal digits for each different value; missing ones stay missing."""
    texts = values.cast(pl.String).rename("old")
    label = values.name.encode("utf-8", "surrogatepass")
    distinct = texts.drop_nulls().unique()
    codes = [
        blake2b(label + b"\0" + text.encode("utf-8", "surrogatepass"), key=key, digest_size=10).hexdigest()
        for text in distinct
    ]
    table = pl.DataFrame({"old": distinct, "new": pl.Series(codes, dtype=pl.String)})
    return texts.to_frame().join(table, on="old", how="left", maintain_order="left")["new"].alias(values.name)


def _owners(table: Table, schema: Schema) -> Integers | None:
    """Return the person of each record, where the schema has a unit."""
    if schema.unit is None:
        return None
    return polars_series(table.column(schema.unit)).rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _of_whole_persons(outliers: NDArray[np.bool_], table: Table, schema: Schema) -> NDArray[np.bool_]:
    """Return the records to drop: with a unit, all records of a person who has one of them."""
    owners = _owners(table, schema)
    if owners is None:
        return outliers
    concerned = np.zeros(int(owners.max()) + 1, bool)
    concerned[owners[outliers]] = True
    return concerned[owners]


def _check_limit(step: Outliers, name: str, fitted: FittedStep, values: Series, table: Table, schema: Schema) -> None:
    found = int(_of_whole_persons(fitted.dropped(polars_series(values)), table, schema).sum())
    if found > step.limit * table.n_rows:
        raise RequirementNotMet(
            f'the step "{step}" of column "{name}" would drop {found:,} of {table.n_rows:,} records '
            f"({100 * found / table.n_rows:.1f} %), more than its limit; raise the limit or the number of deviations, "
            "or use top and bottom coding"
        )


def _check_code(column: Column, values: Series) -> None:
    known = polars_series(values).drop_nulls()
    if column.role == Role.IDENTIFIER and known.n_unique() < known.len():
        raise DataError(
            f'column "{column.name}" has the same value in several rows, which a code would link; declare it as the '
            "unit and keep links with --keep-links (Python: keep_links=True), or drop it"
        )


def _column_after(column: Column, fitted: FittedStep, values: Series) -> Column:
    """Return the entry of a column after a step: its kind and order follow from the new values."""
    step: Step = fitted.step
    if isinstance(step, Band):
        if column.kind == Kind.NOMINAL:
            return column
        return replace(column, kind=Kind.ORDINAL, order=fitted.categories)
    text = values.dtype == nw.String
    if isinstance(step, MapValues) and column.order is not None:
        mapping = step.mapping
        stated = {new for new in mapping.values() if new is not None} <= set(column.order)
        order = column.order if stated else _mapped_order(column.order, mapping)
        return replace(column, order=order) if order else _nominal(column)
    if isinstance(step, MapValues | Code) or (isinstance(step, Rare) and step.replacement is not None):
        return _nominal(column) if text and (column.kind == Kind.NUMERIC or column.order is not None) else column
    return column


def _nominal(column: Column) -> Column:
    return replace(column, kind=Kind.NOMINAL, order=None)


def _mapped_order(order: tuple[str, ...], mapping: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """Return the order of mapped categories; None where the mapping breaks it."""
    new = [mapping.get(text, mapping.get("*", text)) for text in order]
    known = [text for text in new if text is not None]
    runs = [text for position, text in enumerate(known) if position == 0 or known[position - 1] != text]
    return tuple(runs) if len(set(runs)) == len(runs) else None
