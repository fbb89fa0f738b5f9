"""From a table and its encoding to what can be grouped: values, missing cells, strata, weights.

Nothing is ever dropped: missing values of quasi-identifiers raise an error, are imputed, count as a category, or are
grouped by their missingness pattern, as the schema states. ``Prepared`` does not depend on k, so ten values of k share
one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.grouping import check_k
from shoal.errors import DataError, MissingValues, ParameterError
from shoal.flow.encoding import MAX_CATEGORIES, CategoryEncoding, Encoding, Floats, sampling_weights
from shoal.methods.contract import MIXED_DISTANCE, Array, DataKind
from shoal.schema.columns import Kind, Missing, Schema
from shoal.schema.requirements import Requirements
from shoal.tables import Table
from shoal.tables.value_codes import missing_mask

if TYPE_CHECKING:
    from shoal.flow.not_applicable import NotApplicable
    from shoal.flow.stepped import Stepped
    from shoal.flow.units import UnitIndex
    from shoal.privacy.value_encoding import ValueEncoding

CHECKED_BYTES = 10_000_000
"""The size of a matrix above which free memory is compared with what grouping needs."""
DENSE_CELLS = 2**27
"""The most coordinates of a table, a gigabyte of float64, beyond which categories are not coordinates of their own."""
Integers = NDArray[np.int64]
Masks = Mapping[str, NDArray[np.bool_]]
KNOWN_CELLS = frozenset({Missing.FILL, Missing.SUPPRESS})
"""The policies by which records are grouped by their known cells."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table, or a part of one, ready to be grouped.

    Parameters
    ----------
    table
        The table; confidential.
    encoding
        The encoding of the whole table.
    strata
        The stratum of each record; None if there are no strata.
    by_pattern
        The missing cells of the columns whose missingness pattern no group may mix.
    imputed
        How many missing cells of which column were imputed.
    by_known
        The missing cells of the columns by whose known cells records are grouped (``fill`` and ``suppress``).
    aside
        The cells that cannot have a value, by column; they are missing in the table.
    weights
        Sampling weights, if there are any.
    units
        The person and the household of each row, if the schema has a unit or a household.
    whole
        The table that this is a part of, where rows were suppressed.
    rows
        For each row its row in the whole table; None for a whole table.
    steps
        The steps before grouping that led to the table, with the original; None without any.
    """

    table: Table
    encoding: Encoding
    strata: Integers | None
    by_pattern: Masks = field(default_factory=dict)
    imputed: Mapping[str, int] = field(default_factory=dict)
    weights: Floats | None = None
    units: UnitIndex | None = None
    whole: Prepared | None = None
    rows: Integers | None = None
    by_known: Masks = field(default_factory=dict)
    aside: Mapping[str, NotApplicable] = field(default_factory=dict)
    steps: Stepped | None = None

    def __repr__(self) -> str:
        return f"<Prepared: {self.n:,} records, {len(self.encoding.quasi)} quasi-identifiers>"

    @property
    def n(self) -> int:
        """The number of records."""
        return self.table.n_rows

    @property
    def schema(self) -> Schema:
        """The schema."""
        return self.encoding.schema

    @property
    def input(self) -> Table:
        """The table before all steps."""
        return self.complete.table if self.steps is None else self.steps.original

    @property
    def input_rows(self) -> Integers | None:
        """For each row its row in the table before all steps; None where these are the same."""
        return self.rows if self.steps is None or self.steps.kept is None else self.steps.rows(self.rows)

    @property
    def complete(self) -> Prepared:
        """The whole table that this is a part of, or this one."""
        return self if self.whole is None else self.whole

    def part(self, rows: Integers) -> Prepared:
        """Return the part with some rows, in ascending order; the table itself where these are all rows."""
        if (np.diff(rows) <= 0).any():
            raise ParameterError("a part of a table has each row at most once, in the order of the table")
        if rows.size == self.n:
            return self
        taken = {name: mask[rows] for name, mask in self.by_pattern.items()}
        known = {name: mask[rows] for name, mask in self.by_known.items()}
        aside = {name: cells.part(rows) for name, cells in self.aside.items()}
        return replace(
            self, table=self.table.in_order(rows), strata=None if self.strata is None else self.strata[rows],
            by_pattern=taken, weights=None if self.weights is None else self.weights[rows],
            units=None if self.units is None else self.units.in_order(rows), whole=self, rows=rows,
            by_known=known, aside=aside,
        )  # fmt: skip

    @property
    def whole_table(self) -> tuple[ValueEncoding, ...]:
        """The distributions of confidential attributes in the whole table, where these records are a part of it."""
        complete = self.whole is not None or self.n == self.encoding.records
        return () if complete else self.encoding.confidential

    def policy(self, name: str) -> Missing:
        """Return what happens to the missing cells of a column."""
        return self.schema[name].missing or self.schema.missing

    def counted(self, requirements: Requirements) -> Integers | None:
        """Return the person or household of each row, where k counts these; None where it counts rows."""
        return None if self.units is None else self.units.counted(requirements.counting(self.schema))

    @property
    def many_categories(self) -> bool:
        """Whether there are too many categories for one coordinate each; the same on every machine."""
        nominal = [entry.width for entry in self.encoding.quasi if entry.column.kind == Kind.NOMINAL]
        return max(nominal, default=0) > MAX_CATEGORIES or self.n * self.encoding.width > DENSE_CELLS

    @property
    def large(self) -> bool:
        """Whether the table is so large that free memory is compared with what its protection needs."""
        return 8 * self.n * (len(self.table.names) + self.encoding.width) > CHECKED_BYTES

    def original(self, name: str) -> Floats:
        """Return the values of a column as the encoding sees them; NaN where a value is missing."""
        values = self.encoding[name].values(self.table.column(name))
        return np.where(self.aside[name].cells, np.nan, values) if name in self.aside else values

    def values(self, name: str, suppressed: Masks | None = None) -> Floats:
        """Return the values of a column, missing ones imputed if the schema states that, suppressed ones NaN."""
        values = self.original(name)
        if name in self.imputed:
            missing = np.isnan(values) & ~self.aside[name].cells if name in self.aside else np.isnan(values)
            values = np.where(missing, self.encoding.fill[name], values)
        if suppressed and name in suppressed:
            values = np.where(suppressed[name], np.nan, values)
        return values


class MethodData:
    """The arrays that methods read, each encoded when it is first needed and then kept.

    Parameters
    ----------
    prepared
        The table.
    suppressed
        Cells that are suppressed because their missingness pattern is too rare.

    Examples
    --------
    >>> from shoal.flow.encoding import fit_encoding
    >>> from shoal.schema.columns import Column, Role
    >>> people = Table.from_native(pl.DataFrame({"age": [30, 40]}))
    >>> encoding = fit_encoding(people, Schema((Column("age", Role.QUASI, Kind.NUMERIC),)))
    >>> MethodData(prepare(people, encoding)).points().tolist()
    [[-1.0], [1.0]]
    """

    def __init__(self, prepared: Prepared, suppressed: Masks | None = None) -> None:
        self.prepared, self.suppressed = prepared, suppressed or {}
        self._arrays: dict[str, Array] = {}

    def points(self, storage: str = "float64", *, k: int = 2, exact: bool = False) -> Array:
        """Return the matrix of coordinates, n x (sum of widths), filled column by column.

        Where the table has so many categories that one coordinate for each would not fit, categories of large columns
        share coordinates, and distances are approximate, unless they are to be exact.
        """
        name = "shared coordinates" if self.prepared.many_categories and not exact else storage
        if name not in self._arrays:
            self._arrays[name] = self._encoded(storage, k, shared=name != storage)
        return self._arrays[name]

    def coordinates(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which coordinates of :meth:`points` belong to some of the quasi-identifiers."""
        entries, widths = self.prepared.encoding.quasi, self._widths(shared=self.prepared.many_categories)
        inside = [entry.column.name in names for entry in entries]
        return np.repeat(inside, widths) if sum(widths) else np.zeros(1, bool)

    def _widths(self, *, shared: bool) -> list[int]:
        """Return the number of coordinates of each quasi-identifier."""
        return [
            (entry.shared_width if shared and isinstance(entry, CategoryEncoding) else entry.width)
            + (entry.column.name in self._marks)
            for entry in self.prepared.encoding.quasi
        ]

    @cached_property
    def _marks(self) -> Masks:
        """The cells that a further coordinate of their column keeps apart, because groups that mix them are emptied."""
        prepared = self.prepared
        marks = {name: mask for name, mask in prepared.by_known.items() if prepared.policy(name) == Missing.SUPPRESS}
        for name, cells in prepared.aside.items():
            marks[name] = cells.cells | marks[name] if name in marks else cells.cells
        return marks

    @cached_property
    def _unknown(self) -> Masks:
        """The cells that hold no value: missing ones that are not treated otherwise, and those that cannot have one."""
        masks = dict(self.prepared.by_known)
        for name, cells in self.prepared.aside.items():
            masks[name] = cells.cells | masks[name] if name in masks else cells.cells
        return masks

    def mixed(self) -> Floats:
        """Return one column per quasi-identifier: a standardised number, or the code of a category."""
        if "mixed" not in self._arrays:
            columns = []
            for entry in self.prepared.encoding.quasi:
                values = self.prepared.values(entry.column.name, self.suppressed)
                nominal = entry.column.kind == Kind.NOMINAL
                columns.append(np.nan_to_num(values, nan=-1.0) if nominal else entry.coordinates(values)[:, 0])
            self._arrays["mixed"] = np.column_stack(columns)
        return self._arrays["mixed"].astype(np.float64, copy=False)

    def codes(self) -> NDArray[np.int32]:
        """Return the categories of all quasi-identifiers as codes; a missing value that stays one is a category."""
        if "codes" not in self._arrays:
            columns = []
            for entry in self.prepared.encoding.quasi:
                values = self.prepared.values(entry.column.name, self.suppressed)
                known = np.where(np.isnan(values), np.nanmax(values, initial=-1.0) + 1.0, values)
                columns.append(known.astype(np.int32))
            self._arrays["codes"] = np.column_stack(columns)
        return self._arrays["codes"].astype(np.int32, copy=False)

    def offsets(self) -> Floats:
        """Return the values of the only quasi-identifier in its own units, as offsets from an integer origin."""
        return self.prepared.values(self.prepared.encoding.quasi[0].column.name, self.suppressed)

    def observed(self, data: DataKind) -> NDArray[np.bool_] | None:
        """Return which cells are known, in the columns of an array; None where all are, or a method is not to ask.

        In coordinates a column that is emptied in mixed groups counts as known: a further coordinate keeps known and
        missing cells apart.
        """
        masks = self._unknown
        if not masks:
            return None
        quasi = self.prepared.encoding.quasi
        if data in {"mixed", "codes"}:
            everything = np.ones(self.prepared.n, bool)
            return np.column_stack([~masks.get(entry.column.name, ~everything) for entry in quasi])
        widths = self._widths(shared=False)
        known = np.ones((self.prepared.n, max(sum(widths), 1)), bool)
        for entry, width, end in zip(quasi, widths, np.cumsum(widths).tolist(), strict=True):
            name = entry.column.name
            filled = name in self.prepared.by_known and self.prepared.policy(name) == Missing.FILL
            if filled or name in self.prepared.aside:
                known[:, end - width : end - (name in self._marks)] = ~masks[name][:, None]
        return None if known.all() else known

    def forget(self) -> None:
        """Give the memory of the arrays back; they are encoded again when needed."""
        self._arrays.clear()

    def _encoded(self, storage: str, k: int, *, shared: bool) -> Array:
        entries = self.prepared.encoding.quasi
        for entry in () if shared else entries:
            if entry.column.kind == Kind.NOMINAL and entry.width > MAX_CATEGORIES:
                raise DataError(
                    f'column "{entry.column.name}" has {entry.width} categories, more than the {MAX_CATEGORIES} that a '
                    "nominal quasi-identifier may have where a method reads one coordinate per category; choose method "
                    '"auto", which needs no such coordinates, or coarsen the column'
                )
        widths = self._widths(shared=shared)
        size = 4 if storage == "float32" else 8
        if self.prepared.n * sum(widths) * size > CHECKED_BYTES:
            from shoal.core.memory import check_memory

            check_memory(self.prepared.n, sum(widths), k, bytes_per_number=size)
        shape = self.prepared.n, max(sum(widths), 1)  # at least one column, of zeros where no column has a value
        points: Array = np.zeros(shape, np.float32) if storage == "float32" else np.zeros(shape)
        start = 0
        for entry, width in zip(entries, widths, strict=True):
            values = self.prepared.values(entry.column.name, self.suppressed)
            inside = points[:, start : start + width]
            if entry.column.name in self._marks:
                mark = np.sqrt(MIXED_DISTANCE * entry.column.weight)
                inside[:, -1] = self._marks[entry.column.name] * mark
                inside = inside[:, :-1]
            if isinstance(entry, CategoryEncoding):
                entry.fill_coordinates(values, inside, shared=shared)
            else:
                inside[:] = entry.coordinates(values)
            start += width
        if self._unknown and not shared:
            from shoal.methods.kernels.completed_points import completed_points

            return completed_points(points, self.observed("points"))
        return points


@checked
def prepare(table: Table, encoding: Encoding, *, k: int | None = None, steps: Stepped | None = None) -> Prepared:
    """Prepare a table, or a part of one, with the encoding of the whole table.

    Parameters
    ----------
    table
        The records to be grouped.
    encoding
        The encoding, fitted to the whole table.
    k
        The minimum group size, if known: an error about missing values then states how many cells a policy changes.
    steps
        The steps before grouping that the table comes from (:func:`shoal.apply_steps`).

    Returns
    -------
    prepared
        Raises before any expensive work where values are missing and the schema states no policy, and where the role
        of a column is not stated.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> shoal.prepare(table, shoal.fit_encoding(table, schema))
    <Prepared: 6 records, 1 quasi-identifiers>
    """
    schema = encoding.schema
    if k is not None:
        check_k(k, max(table.n_rows, 2))
    if steps is not None and not hasattr(steps, "fitted"):
        raise ParameterError(f"steps must come from shoal.apply_steps, not {type(steps).__name__}")
    if schema.undecided or not {*table.names} <= {column.name for column in schema.columns}:
        from shoal.schema.inference import check_roles

        check_roles(table, schema)
    if any(column.kind == Kind.NOMINAL and not column.kind_stated for column in schema.quasi):
        from shoal.schema.number_marks import check_marks

        check_marks(table, schema)
    aside: Mapping[str, NotApplicable] = {}
    if any(column.not_applicable for column in schema.quasi):
        from shoal.flow.not_applicable import check_applicable, set_aside

        for column in schema.quasi:
            check_applicable(column)
        table, aside = set_aside(table, schema)
    masks = {column.name: missing_mask(table.column(column.name)) for column in schema.quasi}
    masks |= {name: masks[name] & ~cells.cells for name, cells in aside.items()}
    masks = {name: mask for name, mask in masks.items() if mask.any()}
    policies = {name: schema[name].missing or schema.missing for name in masks}
    check_missing({name: int(mask.sum()) for name, mask in masks.items()}, policies, schema, table.n_rows, k)
    return Prepared(
        table,
        encoding,
        _strata(table, schema.strata),
        {name: mask for name, mask in masks.items() if policies[name] == Missing.BY_PATTERN},
        {name: int(mask.sum()) for name, mask in masks.items() if policies[name] == Missing.IMPUTE},
        sampling_weights(table, schema),
        _units(table, schema),
        by_known={name: mask for name, mask in masks.items() if policies[name] in KNOWN_CELLS},
        aside=aside,
        steps=steps,
    )


def check_missing(
    counts: Mapping[str, int], policies: Mapping[str, Missing], schema: Schema, records: int, k: int | None = None
) -> None:
    """Raise where values are missing and no policy was chosen, or the policy does not suit the column."""
    refused = [name for name, policy in policies.items() if policy == Missing.ERROR]
    if refused:
        from shoal.flow.missing_advice import missing_advice

        raise MissingValues(*missing_advice({name: counts[name] for name in refused}, records, k))
    unsuited = [
        name for name, policy in policies.items() if policy == Missing.CATEGORY and schema[name].kind != Kind.NOMINAL
    ]
    if unsuited:
        listed = ", ".join(f'"{name}" ({counts[name]}, {schema[name].kind})' for name in unsuited)
        raise MissingValues(
            f"missing=category works for nominal columns only, but there are missing values in {listed}; choose "
            "missing=fill, suppress, by-pattern or impute for these",
            f"--missing category works for nominal columns only, but there are missing values in {listed}; choose "
            "fill, suppress, by-pattern or impute for these",
        )


def _units(table: Table, schema: Schema) -> UnitIndex | None:
    """Return the person and the household of each row, where the schema has them."""
    if schema.unit is None and schema.household is None and schema.time is None:
        return None
    from shoal.flow.units import check_dominant, read_units

    units = read_units(table, schema)
    check_dominant(units, schema)
    return units


def _strata(table: Table, names: tuple[str, ...]) -> Integers | None:
    """Return the stratum of each record, numbered by first appearance; None if there are no strata."""
    if not names:
        return None
    frame = pl.DataFrame({str(i): table.column(name).to_polars() for i, name in enumerate(names)})
    rows = frame.with_row_index("row").group_by(frame.columns, maintain_order=True).agg("row")["row"]
    strata = np.empty(table.n_rows, np.int64)
    for number, records in enumerate(rows):
        strata[np.asarray(records.to_numpy(), np.int64)] = number
    return strata
