"""The encoding of a table: the few numbers that turn quasi-identifiers into coordinates and back.

An :class:`Encoding` is fitted to the whole table once. It is small, can be saved, sent and applied to any part of the
table, and does not depend on k. It holds one entry per quasi-identifier:

- numeric (integers, floats, decimals, dates, durations): offsets from the middle of the range, taken before anything is
  rounded to a float, so that a mean of 1e6 with a spread of 1, or nanoseconds since 1970, lose nothing; then
  standardised to mean 0 and population variance 1;
- ordinal: the position in the order, standardised;
- nominal: one column per category, scaled by 1/sqrt(2), so that two different categories are one squared unit apart.

A constant column becomes zeros. An encoding lists the categories of the table, and the values of confidential
attributes with their frequencies: a saved one is a confidential file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.group_statistics import group_medians, group_modes
from shoal.core.grouping import Groups
from shoal.errors import DataError, SchemaError
from shoal.schema.columns import Column, Kind, Missing, Recode, Role, Schema
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values, missing_mask, ordered_categories, polars_series, value_codes

if TYPE_CHECKING:
    from shoal.core.hierarchy import Hierarchy
    from shoal.methods.contract import Array
    from shoal.privacy.value_encoding import ValueEncoding
    from shoal.tables.table import Series

Floats = NDArray[np.float64]
MAX_CATEGORIES = 1_000
"""The most categories of one nominal column that are turned into coordinates, one each."""
SHARED_COORDINATES = 32
"""The number of coordinates that the categories of a large nominal column share."""
ENCODING_VERSION = 2


@dataclass(frozen=True)
class NumericEncoding:
    """Numbers, dates and durations as offsets from an origin, and as one standardised coordinate.

    Parameters
    ----------
    column
        The column.
    origin
        The middle of the range, in units of the column.
    scale
        The largest absolute offset.
    mean, deviation
        Mean and standard deviation of the offsets divided by the scale.
    integer
        Whether the values are integers (also dates and times).
    step
        The coarsest unit that all dates or times share.
    tree
        The hierarchy by which the column is generalised, if there is one.

    Examples
    --------
    >>> from shoal.schema.columns import Role
    >>> ages = nw.from_native(pl.Series("age", [30, 40, 50]), series_only=True)
    >>> encoding = fit_column(ages, Column("age", Role.QUASI, Kind.NUMERIC))
    >>> encoding.values(ages)
    array([-10.,   0.,  10.])
    >>> encoding.coordinates(encoding.values(ages)).round(3).ravel().tolist()
    [-1.225, 0.0, 1.225]
    >>> encoding.restore(np.array([-5.0, 0.0, 5.0]), ages).to_list()
    [35, 40, 45]
    """

    column: Column
    origin: int | float
    scale: float
    mean: float
    deviation: float
    integer: bool
    step: int = 1
    tree: Hierarchy | None = None

    width = 1

    def values(self, series: Series) -> Floats:
        """Return the offsets of the values from the origin; NaN where a value is missing."""
        return offsets_from(physical_numbers(series), self.origin, integer=self.integer, step=self.step)

    def coordinates(self, values: Floats) -> Floats:
        """Return offsets as standardised coordinates (n x 1); missing values lie at the mean."""
        standard = self.standardised(values)
        if not np.isfinite(standard).all():
            standard = np.nan_to_num(standard, nan=0.0)
        if self.column.weight != 1:
            standard *= np.sqrt(self.column.weight)
        return standard[:, None]

    def standardised(self, values: Floats) -> Floats:
        """Return offsets with mean 0 and variance 1; NaN stays NaN."""
        if self.deviation == 0:
            return np.where(np.isnan(values), np.nan, 0.0)
        standard = values / self.scale
        standard -= self.mean
        standard /= self.deviation
        return standard

    def rounded(self, values: Floats) -> Floats:
        """Return offsets rounded to integers of the column, halves to even numbers of the column."""
        if not isinstance(self.origin, int) or self.step != 1:
            return np.rint(values)
        return np.rint(values) if self.origin % 2 == 0 else np.rint(values + 1.0) - 1.0

    def restore(self, values: Floats, like: Series, *, integers: bool = True) -> Series:
        """Return offsets as a series of the type it came from; NaN becomes missing.

        Integers are rounded, unless ``integers`` is False and the column holds plain numbers: then it becomes a column
        of floats.
        """
        dtype = _polars_dtype(like)
        missing = np.isnan(values)
        known = np.where(missing, 0.0, values) if missing.any() else values
        if self.integer and (integers or dtype.is_temporal()):
            whole = np.rint(known).astype(np.int64) * self.step
            physical = pl.Series(like.name, _shifted(whole, int(self.origin), unsigned=dtype == pl.UInt64))
            column = physical.cast(dtype)
        else:
            column = pl.Series(like.name, known + float(self.origin))  # the step of plain numbers is 1
            column = column if self.integer else column.cast(dtype)
        if missing.any():
            column = column.to_frame().select(pl.when(pl.Series(~missing)).then(pl.first())).to_series()
        same = not (self.integer and not integers and not dtype.is_temporal())
        return from_polars(column, like, same_dtype=same)


@dataclass(frozen=True, eq=False)
class CategoryEncoding:
    """Categories as codes 0..m-1 (in their order, if they have one), and as coordinates.

    Parameters
    ----------
    column
        The column.
    categories
        The different values, a missing one last if it counts as a category.
    mean, deviation
        Mean and standard deviation of the codes, for ordinal columns.
    tree
        The hierarchy by which the column is generalised, if there is one.

    Examples
    --------
    >>> from shoal.schema.columns import Role
    >>> sexes = nw.from_native(pl.Series("sex", ["m", "f", "m"]), series_only=True)
    >>> encoding = fit_column(sexes, Column("sex", Role.QUASI, Kind.NOMINAL))
    >>> encoding.values(sexes)
    array([1., 0., 1.])
    >>> encoding.coordinates(encoding.values(sexes)).round(3).tolist()
    [[0.0, 0.707], [0.707, 0.0], [0.0, 0.707]]
    >>> encoding.restore(np.array([0.0, 0.0, 1.0]), sexes).to_list()
    ['f', 'f', 'm']
    """

    column: Column
    categories: pl.Series
    mean: float
    deviation: float
    tree: Hierarchy | None = None

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1 if self.column.kind == Kind.ORDINAL else len(self.categories)

    def values(self, series: Series) -> Floats:
        """Return the codes of the values; NaN where a value is missing and missing is no category."""
        return value_codes(comparable_values(series), self.categories)

    def coordinates(self, values: Floats) -> Floats:
        """Return codes as coordinates: one standardised position, or one column per category."""
        weight = np.sqrt(self.column.weight)
        if self.column.kind == Kind.ORDINAL:
            return np.nan_to_num(self.standardised(values), nan=0.0)[:, None] * weight
        block = np.zeros((values.size, self.width))
        self.fill_coordinates(values, block)
        return block

    @property
    def shared_width(self) -> int:
        """The number of coordinates where the categories of a large nominal column share them."""
        return self.width if self.width <= 2 * SHARED_COORDINATES else SHARED_COORDINATES

    def fill_coordinates(self, values: Floats, block: Array, *, shared: bool = False) -> None:
        """Write the coordinates of codes into a matrix of zeros.

        Parameters
        ----------
        values
            Codes; NaN where a value is missing.
        block
            The matrix, n x ``width``, or n x ``shared_width``.
        shared
            Whether the categories of a large column share coordinates: each has a pattern of signs, such that two
            different categories are one squared unit apart on average, with a standard deviation of about 0.18.
        """
        weight = np.sqrt(self.column.weight)
        if self.column.kind == Kind.ORDINAL:
            block[:] = self.coordinates(values)
            return
        known = np.flatnonzero(~np.isnan(values))
        codes = values[known].astype(np.int64)
        if not shared or self.shared_width == self.width:
            block[known, codes] = weight / np.sqrt(2)
            return
        signs = np.random.default_rng(0).integers(0, 2, (self.width, SHARED_COORDINATES)) * 2.0 - 1.0
        signs *= weight / np.sqrt(2 * SHARED_COORDINATES)
        for j in range(SHARED_COORDINATES):
            block[known, j] = signs[codes, j]

    def standardised(self, values: Floats) -> Floats:
        """Return positions in the order with mean 0 and variance 1; NaN stays NaN."""
        if self.deviation == 0:
            return np.where(np.isnan(values), np.nan, 0.0)
        return (values - self.mean) / self.deviation

    def rounded(self, values: Floats) -> Floats:
        """Return codes as they are: a category has no fractions."""
        return values

    def restore(self, values: Floats, like: Series, *, integers: bool = True) -> Series:  # noqa: ARG002
        """Return codes as a series of the type it came from.

        A category is taken from a record of ``like`` that has it, so that the type of the column cannot change; one
        that occurs in no such record comes from the encoding.
        """
        missing = np.isnan(values)
        known = values[~missing].astype(np.int64)
        rows = np.full(len(self.categories), -1, np.int64)
        present = self.values(like)
        found = np.flatnonzero(~np.isnan(present))[::-1]
        rows[present[found].astype(np.int64)] = found  # the first record of a category stays
        mask = missing_mask(like) if missing.any() else np.zeros(0, bool)
        unknown = (rows[np.unique(known)] < 0).any() or (missing.any() and not mask.any())
        if unknown or is_view(like):
            codes = np.where(missing, 0, np.nan_to_num(values)).astype(np.int64)
            nothing = pl.Series([None], dtype=self.categories.dtype)
            texts = self.categories.gather(codes).zip_with(pl.Series(~missing), nothing)
            return from_polars(texts.cast(_polars_dtype(like)).rename(like.name), like, same_dtype=True)
        chosen = np.where(missing, int(np.argmax(mask)) if mask.size else 0, 0)
        chosen[~missing] = rows[known]
        return like[chosen]

    @cached_property
    def labels(self) -> list[str]:
        """The categories as text."""
        return [str(value) for value in self.categories]


ColumnEncoding = NumericEncoding | CategoryEncoding


@dataclass(frozen=True, eq=False)
class Encoding:
    """All that depends on the whole table and that grouping and recoding need; independent of k.

    Parameters
    ----------
    schema
        Roles, kinds and treatment of the columns.
    quasi
        The encoding of each quasi-identifier, in the order of the table.
    fill
        The value, as the encoding sees it, that replaces missing values of a column where the policy is ``impute``.
    records
        The number of records that the encoding was fitted to.
    confidential
        The distribution of each confidential attribute in the whole table, with which t-closeness and beta-likeness
        compare the classes of a part.

    Examples
    --------
    >>> from shoal.schema.columns import Column, Kind, Role
    >>> people = Table.from_native(pl.DataFrame({"age": [30, 40, 50]}))
    >>> encoding = fit_encoding(people, Schema((Column("age", Role.QUASI, Kind.NUMERIC),)))
    >>> encoding.records, encoding["age"].origin
    (3, 40)
    """

    schema: Schema
    quasi: tuple[ColumnEncoding, ...]
    fill: dict[str, float]
    records: int
    confidential: tuple[ValueEncoding, ...] = ()
    version: int = ENCODING_VERSION

    def __getitem__(self, name: str) -> ColumnEncoding:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, ColumnEncoding]:
        return {entry.column.name: entry for entry in self.quasi}

    def __repr__(self) -> str:
        return f"<Encoding: {len(self.quasi)} quasi-identifiers, {self.records:,} records>"

    @property
    def width(self) -> int:
        """The number of coordinates of a record."""
        return sum(entry.width for entry in self.quasi)

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the encoding to a file that only its owner can read: it lists categories of the original table.

        An existing file raises :class:`shoal.errors.FileProblem`, unless ``overwrite`` is True.
        """
        from shoal.flow.saved_encoding import save_encoding

        return save_encoding(self, Path(path), overwrite=overwrite)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Encoding:
        """Read an encoding that :meth:`save` wrote."""
        from shoal.flow.saved_encoding import load_encoding

        return load_encoding(Path(path))


@checked
def fit_encoding(table: Table, schema: Schema, *, distributions: bool = True) -> Encoding:
    """Fit the encoding of a table.

    Parameters
    ----------
    table
        The whole table.
    schema
        Its schema.
    distributions
        Whether the distributions of confidential attributes are fitted as well; only parts of a table need them.

    Returns
    -------
    encoding
        Cost O(n log n) for each column of categories, O(n) for each numeric one.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> shoal.fit_encoding(table, schema)
    <Encoding: 1 quasi-identifiers, 6 records>
    """
    if not isinstance(schema, Schema):
        raise SchemaError("schema must be a shoal.Schema, as shoal.load_table returns it")
    if not schema.quasi:
        raise SchemaError("no quasi-identifiers given; use quasi=[...] (command line: --quasi age,region)")
    if any(column.not_applicable for column in schema.quasi):
        from shoal.flow.not_applicable import set_aside

        table = set_aside(table, schema)[0]
    entries = []
    for column in schema.quasi:
        category = (column.missing or schema.missing) == Missing.CATEGORY
        entry = fit_column(table.column(column.name), column, missing_is_value=category)
        if column.default_recode == Recode.HIERARCHY:
            entry = replace(entry, tree=_tree(entry, column, table))
        entries.append(entry)
    fill = {
        entry.column.name: found
        for entry in entries
        if (entry.column.missing or schema.missing) == Missing.IMPUTE
        and (found := fill_value(entry, table, schema)) is not None
    }
    values = _fit_confidential(table, schema) if distributions else ()
    return Encoding(schema, tuple(entries), fill, table.n_rows, values)


def _fit_confidential(table: Table, schema: Schema) -> tuple[ValueEncoding, ...]:
    """Return the distributions of the confidential attributes; text that a file holds is parsed as its kind says."""
    from shoal.privacy.value_encoding import fit_values

    columns = [schema[name] for name in schema.named(Role.CONFIDENTIAL)]
    typed = table.with_types(column.name for column in columns if column.kind != Kind.NOMINAL)
    return tuple(fit_values(typed, column) for column in columns)


def _tree(entry: ColumnEncoding, column: Column, table: Table) -> Hierarchy:
    """Return the hierarchy of a column, which must have a leaf for every category."""
    from shoal.core.text import text_of
    from shoal.schema.hierarchy_sources import hierarchy_of

    tree = hierarchy_of(column, table)
    if isinstance(entry, CategoryEncoding):
        tree.codes([text_of(value) for value in entry.categories if value is not None], column.name)
    return tree


def fill_value(entry: ColumnEncoding, table: Table, schema: Schema, *, always: bool = False) -> float | None:
    """Return the median, or the most frequent category, of a column with missing values.

    None if nothing is missing, unless a value is needed in any case (``always``), for a sample of a larger table.
    """
    name = entry.column.name
    values = entry.values(table.column(name))
    missing = np.isnan(values)
    if not missing.any() and not always:
        return None
    known = values[~missing]
    if not known.size:
        raise DataError(f'column "{name}" has no value at all, so nothing can be imputed; drop it or call it other')
    everything = Groups(np.zeros(known.size, np.int64))
    weights = sampling_weights(table, schema)
    weights = None if weights is None else weights[~missing]
    if entry.column.kind == Kind.NOMINAL:
        return float(group_modes(known.astype(np.int64), everything, weights)[0])
    return float(group_medians(known, everything, weights, lower=entry.column.kind == Kind.ORDINAL)[0])


def sampling_weights(table: Table, schema: Schema) -> Floats | None:
    """Return the sampling weights, checked; None if the schema names no column of weights."""
    name = schema.sampling_weight
    if name is None:
        return None
    series = table.typed(name)
    if not series.dtype.is_numeric():
        raise DataError(f'column "{name}" holds sampling weights and must be numeric, not {series.dtype}')
    weights = series.cast(nw.Float64).to_numpy()
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f'column "{name}" holds sampling weights, but {bad} of its {weights.size} values are missing, infinite or '
            "not positive"
        )
    return np.asarray(weights, np.float64)


def fit_column(series: Series, column: Column, *, missing_is_value: bool = False) -> ColumnEncoding:
    """Return the encoding of a column, or raise an error that names what is wrong with its values."""
    if column.kind == Kind.NUMERIC:
        return _fit_numeric(series, column)
    return _fit_categories(series, column, missing_is_value=missing_is_value)


def _fit_numeric(series: Series, column: Column) -> NumericEncoding:
    name = column.name
    dtype = _polars_dtype(series)
    if dtype == pl.Time or not (dtype.is_numeric() or dtype.is_temporal()):
        raise DataError(_not_numeric(series, name))
    physical = physical_numbers(series)
    if dtype.is_float() and physical.is_infinite().any():
        raise DataError(
            f'column "{name}" has {physical.is_infinite().sum()} infinite values; replace or remove them, '
            "a mean over them means nothing"
        )
    integer = not (dtype.is_float() or dtype.is_decimal())
    known = physical.fill_nan(None) if dtype.is_float() else physical
    low, high = (bound if isinstance(bound, int | float) else 0 for bound in (known.min(), known.max()))
    if integer and int(high) - int(low) > 2**62:
        raise DataError(f'column "{name}" spans more than 2**62, too much to average; convert it to floats or drop it')
    origin: int | float = (int(low) + int(high)) // 2 if integer else float(low) / 2 + float(high) / 2
    step = _clock_step(physical, dtype)
    if step > 1:
        origin = int(origin) - (int(origin) - int(low)) % step
    offsets = offsets_from(physical, origin, integer=integer, step=step)
    scale = float(np.nanmax(np.abs(offsets), initial=0.0))
    if scale == 0:
        return NumericEncoding(column, origin, 0.0, 0.0, 0.0, integer, step)
    offsets /= scale
    mean = float(np.nanmean(offsets))
    offsets -= mean
    deviation = float(np.sqrt(np.nanmean(offsets * offsets)))
    return NumericEncoding(column, origin, scale, mean, deviation, integer, step)


def _not_numeric(series: Series, name: str) -> str:
    column = polars_series(series)
    if column.dtype == pl.String:
        stripped = column.str.strip_chars()
        bad = (stripped.cast(pl.Float64, strict=False).is_null() & column.is_not_null()).arg_true()
        if len(bad):
            marks = sorted(
                set(stripped.gather(bad).unique().to_list()) & {"NA", "N/A", "n/a", "?", "-", ".", "NULL", "null"}
            )
            hint = (
                f"; if {' and '.join(marks)} marks a missing value, say so with --na-values {','.join(marks)} (Python: "
                "na_values of read_options=)"
                if marks
                else ""
            )
            return (
                f'column "{name}" is to be numeric but {len(bad)} of its {len(column)} values are text '
                f"(the first in row {bad[0] + 1}); correct them or call the column nominal{hint}"
            )
        return f'column "{name}" is to be numeric but holds text; convert it to numbers or call it nominal'
    return f'column "{name}" of type {column.dtype} cannot be numeric; convert it to numbers or call it nominal'


def _fit_categories(series: Series, column: Column, *, missing_is_value: bool) -> CategoryEncoding:
    plain = comparable_values(series)
    if plain.dtype.is_nested():
        raise DataError(f'column "{column.name}" is nested ({series.dtype}); flatten it or call it other')
    present = plain.drop_nulls().unique().sort()
    categories = ordered_categories(plain, column.order, column.name) if column.kind == Kind.ORDINAL else present
    if missing_is_value and plain.null_count():
        categories = pl.concat([categories, pl.Series(categories.name, [None], dtype=categories.dtype)])
    codes = value_codes(plain, categories)
    known = ~np.isnan(codes)
    mean = float(codes[known].mean()) if known.any() else 0.0
    deviation = float(codes[known].std()) if known.any() else 0.0
    return CategoryEncoding(column, categories, mean, deviation)


def _clock_step(physical: pl.Series, dtype: pl.DataType) -> int:
    """Return the coarsest unit of the clock that all times share: times that are all midnight stay midnight."""
    if not isinstance(dtype, pl.Datetime | pl.Duration):
        return 1
    known = physical.drop_nulls()
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.time_unit]
    for step in (86_400 * second, 3_600 * second, 60 * second, second, second // 10**3, second // 10**6):
        if step > 1 and len(known) and ((known - known[0]) % step == 0).all():
            return step
    return 1


def offsets_from(physical: pl.Series, origin: float, *, integer: bool, step: int = 1) -> NDArray[np.float64]:
    """Subtract the origin exactly, then convert to float; NaN where missing."""
    if not integer:
        floats = physical.cast(pl.Float64)
        offsets: NDArray[np.float64] = (floats.fill_null(np.nan) if floats.null_count() else floats).to_numpy() - origin
        return offsets
    values = (physical.fill_null(int(origin)) if physical.null_count() else physical).to_numpy()
    if physical.dtype == pl.UInt64:
        shift = np.uint64(origin)
        offsets = np.where(values >= shift, (values - shift).astype(np.float64), -(shift - values).astype(np.float64))
    else:
        offsets = ((values.astype(np.int64) - int(origin)) // step).astype(np.float64)
    if physical.null_count():
        offsets[physical.is_null().to_numpy()] = np.nan
    return offsets


def _shifted(offsets: NDArray[np.int64], origin: int, *, unsigned: bool) -> NDArray[np.int64] | NDArray[np.uint64]:
    if unsigned:
        return offsets.astype(np.uint64) + np.uint64(origin)  # wraps around to the right value
    return offsets + origin


def physical_numbers(series: Series) -> pl.Series:
    """Return numbers as they are stored: days, microseconds, integers, floats."""
    column = polars_series(series)
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    return column if column.dtype.is_numeric() else column.to_physical()


def _polars_dtype(series: Series) -> pl.DataType:
    return polars_series(series.head(1)).dtype


def is_view(series: Series) -> bool:
    """Return whether a column is of pyarrow's string views, from which pyarrow cannot take single records."""
    return bool(series.implementation.is_pyarrow() and str(series.to_native().type).endswith("_view"))


def from_polars(column: pl.Series, like: Series, *, same_dtype: bool) -> Series:
    """Return a polars series in the library of another one, and in its type if that is wanted."""
    native = like.to_native()
    if like.implementation.is_polars():
        return nw.from_native(column, series_only=True)
    if like.implementation.is_pyarrow():
        import pyarrow as pa

        array = column.to_arrow()
        chunked = pa.chunked_array([array.cast(native.type) if same_dtype else array])
        return nw.from_native(chunked, series_only=True).alias(like.name)
    pandas = column.to_pandas(use_pyarrow_extension_array=bool(column.null_count()))
    pandas = pandas.astype(native.dtype) if same_dtype else pandas
    if len(pandas) == len(native):
        pandas.index = native.index
    return nw.from_native(pandas, series_only=True)
