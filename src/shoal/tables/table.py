"""The table type of Shoal: columns by name, from a DataFrame of any supported library or from a file.

``Table`` is immutable; replacing columns returns a new table that shares the other columns. Rows keep their order:
records are addressed by position, never by a pandas index. A level of an index that the user names among the columns
becomes a column; everything else of an index may identify individuals and is not released
(:mod:`shoal.tables.clean_copy`). ``to_polars`` and ``to_arrow`` convert a table for the file formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import DataError, SchemaError, UnknownColumn
from shoal.tables.dialect import Dialect

if TYPE_CHECKING:
    import narwhals as nw

    from shoal.tables.column_labels import Labels

    Series = nw.Series[Any]
    """A column of any library."""
    import polars as pl

_TRUTH = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
_ACCEPTED = "pass a pandas or polars DataFrame, a pyarrow Table, or an object with Arrow's __arrow_c_stream__"


class FileNumber(NamedTuple):
    """A file by its device and its number there, without its name."""

    device: int
    number: int


def _file_number(path: Path) -> FileNumber | None:
    try:
        found = path.stat()
    except OSError:  # the file is gone, so nothing can replace it
        return None
    return FileNumber(found.st_dev, found.st_ino)


@dataclass(frozen=True, eq=False)
class Table:
    """An immutable table around an eager narwhals DataFrame.

    Parameters
    ----------
    frame
        The columns.
    dialect
        Delimiter, encoding and formats of the text file that the table was read from, if it was.
    source
        The file that the table was read from, if it was.
    labels
        Labels and formats of an SPSS, Stata or SAS file.
    origin
        A digest of the table of a database that the table was read from, which no output may replace.
    unread
        Columns whose values were not read; they are empty here.
    sheet
        The sheet of a workbook that the user named; a workbook is written with a sheet of that name.
    inputs
        All files that the table was made from, with schema and hierarchies: no output may replace one of them. Paths
        can be confidential: a pickle drops them like ``source``, and copies of a release know the files by number only.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table.from_native(pl.DataFrame({"age": [34, 51], "name": ["Ann", "Bob"]}))
    >>> table.names, table.n_rows
    (['age', 'name'], 2)
    >>> table.column("agee")
    Traceback (most recent call last):
        ...
    shoal.errors.UnknownColumn: column "agee" is not in the table; did you mean "age"?
    """

    frame: nw.DataFrame[Any]
    dialect: Dialect | None = None
    source: Path | None = None
    labels: Labels | None = None
    inputs: tuple[Path | FileNumber, ...] = ()
    sheet: str | None = None
    unread: tuple[str, ...] = ()
    origin: str | None = None

    def __post_init__(self) -> None:
        given = self.inputs if self.source is None else (*self.inputs, self.source)
        absolute = [file.absolute() if isinstance(file, Path) else file for file in given]
        object.__setattr__(self, "inputs", tuple(dict.fromkeys(absolute)))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"source": None, "inputs": (), "origin": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        from copy import deepcopy

        return replace(self, frame=deepcopy(self.frame, memo), labels=deepcopy(self.labels, memo))

    def without_paths(self) -> Table:
        """Return the table without the names of the files that it was made from; no output may replace them still."""
        found = [_file_number(file) if isinstance(file, Path) else file for file in self.inputs]
        return replace(self, source=None, inputs=tuple(file for file in found if file is not None))

    def __repr__(self) -> str:  # without values of records, because it appears in logs
        return f"Table({self.n_rows} records, {len(self.names)} columns: {', '.join(self.names)})"

    @classmethod
    def from_native(cls, data: Any, named: Iterable[str] = ()) -> Table:
        """Wrap a pandas or polars DataFrame or a pyarrow Table, or read an Arrow stream.

        Parameters
        ----------
        data
            The DataFrame. A polars LazyFrame is collected; a record batch, a reader, a data set, a DuckDB relation and
            every other object with ``__arrow_c_stream__`` become a pyarrow Table.
        named
            Names that the user gives to columns. A level of a pandas index with one of these names becomes a column.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [34]}, index=pd.Index(["Ann"], name="person"))
        >>> Table.from_native(people).names, Table.from_native(people, ["person"]).names
        (['age'], ['person', 'age'])
        >>> Table.from_native([1, 2])
        Traceback (most recent call last):
            ...
        shoal.errors.DataError: a list is not a table; pass a pandas or polars DataFrame, a pyarrow Table, or an object with Arrow's __arrow_c_stream__
        """  # noqa: E501 - the doctest shows the text as one line
        import narwhals as nw

        if isinstance(data, cls):
            return data
        from shoal.tables.arrow_streams import with_records

        data = with_records(data)
        if nw.dependencies.is_pandas_dataframe(data):
            _check_pandas_names(list(data.columns))
            columns = set(data.columns)
            levels = [name for name in data.index.names if name in set(named) and name not in columns]
            data = data.reset_index(level=levels) if levels else data
            data = _with_usual_pandas_types(data)
        elif nw.dependencies.is_pyarrow_table(data):
            _check_unique(data.column_names)
            from shoal.tables.arrow_types import with_usual_types

            data = with_usual_types(data)
        try:
            frame = nw.from_native(data)
        except TypeError as error:
            raise DataError(f"a {type(data).__name__} is not a table; {_ACCEPTED}") from error
        if isinstance(frame, nw.LazyFrame):
            raise DataError(
                f"a {type(data).__name__} holds no records yet; collect it into a DataFrame or an Arrow table first"
            )
        if not isinstance(frame, nw.DataFrame):
            raise DataError(f"a {type(data).__name__} is not a table; {_ACCEPTED}")
        if not frame.columns:
            raise DataError("the table has no columns")
        return cls(frame)

    @property
    def native(self) -> Any:
        """The table in the DataFrame library of the input."""
        return self.frame.to_native()

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return self.frame.columns

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.names)

    @property
    def n_rows(self) -> int:
        """The number of records."""
        return len(self.frame)

    def __len__(self) -> int:
        return self.n_rows

    def column(self, name: str) -> nw.Series[Any]:
        """Return a column by name."""
        self._check_names([name])
        return self.frame.get_column(name)

    def typed(self, name: str) -> nw.Series[Any]:
        """Return a column with the type that its values suggest.

        Columns of a text file that stay unchanged are kept as they are written, as text. This parses such a column, so
        that a file and a DataFrame with the same values are analysed alike; any other column is returned as it is.
        """
        import narwhals as nw

        column = self.column(name)
        if self.dialect is None or column.dtype != nw.String:
            return column
        from shoal.tables.text_columns import typed_series

        parsed = typed_series(
            column.to_native(), decimal=self.dialect.decimal, na_values=self.dialect.declared_na_values
        )
        return nw.from_native(parsed, series_only=True)

    def with_types(self, names: Iterable[str]) -> Table:
        """Return a table of some columns, each with the type that its values suggest; see :meth:`typed`."""
        import narwhals as nw

        names = list(names)
        if self.dialect is None:
            return self
        frame = nw.from_native(self.native.with_columns([self.typed(name).to_native() for name in names]))
        return replace(self, frame=frame)

    def with_truth_values(self, names: Iterable[str]) -> Table:
        """Return the table with columns of a text file as truth values where one spelling of true and false is all.

        Examples
        --------
        >>> import polars as pl
        >>> from shoal.tables.dialect import Dialect
        >>> table = Table.from_native(pl.DataFrame({"a": ["true", None, "false"], "b": ["true", "False", None]}))
        >>> read = replace(table, dialect=Dialect())
        >>> [str(kind) for kind in read.with_truth_values(["a", "b"]).native.dtypes]
        ['Boolean', 'String']
        """
        import narwhals as nw

        if self.dialect is None:
            return self
        found = []
        for name in names:
            series = self.column(name)
            values = set(series.drop_nulls().unique().to_list()) if series.dtype == nw.String else set()
            if len(values) == 2 and any(values == {true, false} for true, false in _TRUTH):
                true = next(true for true, false in _TRUTH if true in values)
                found.append((series == true).to_native())
        return replace(self, frame=nw.from_native(self.native.with_columns(found))) if found else self

    def with_columns(self, columns: Mapping[str, nw.Series[Any]]) -> Table:
        """Return the table with some columns replaced; the order of the columns does not change.

        A new column whose values fit the type of the old one (int64 for pandas' Int64, text for the categories of an
        ordered column) is stored in the type of the old one.

        Parameters
        ----------
        columns
            New columns by name, one value per record in the order of the table.

        Examples
        --------
        >>> import narwhals as nw, pandas as pd
        >>> table = Table.from_native(pd.DataFrame({"age": [34, 51], "sex": ["f", "m"]}))
        >>> ages = nw.new_series("age", [42, 42], backend="pandas")
        >>> table.with_columns({"age": ages}).native
           age sex
        0   42   f
        1   42   m
        """
        self._check_names(columns)
        for name, column in columns.items():
            if len(column) != self.n_rows:
                raise DataError(f'column "{name}" has {len(column)} new values for {self.n_rows} records')
        labels = self.labels.after_replacing(columns) if self.labels else None
        schema = self.frame.schema
        same_types = all(schema[name] == column.dtype for name, column in columns.items())
        if self.frame.implementation.is_polars() and same_types:
            frame = self.frame.with_columns(*(column.alias(name) for name, column in columns.items()))
        else:
            from shoal.tables.replacing import replaced

            frame = replaced(self.frame, columns)
        return replace(self, frame=frame, labels=labels)

    def without(self, names: Iterable[str]) -> Table:
        """Return the table without some columns."""
        names = list(names)
        self._check_names(names)
        dropped = set(names)
        kept = [name for name in self.names if name not in dropped]
        if not kept:
            raise SchemaError("no column is left in the table; keep at least one")
        labels = self.labels.without(dropped) if self.labels else None
        return replace(self, frame=self.frame.select(kept), labels=labels)

    def in_order(self, rows: Any) -> Table:
        """Return the table with its rows in another order, given as an array of row numbers.

        Examples
        --------
        >>> import numpy as np, polars as pl
        >>> Table.from_native(pl.DataFrame({"age": [30, 40]})).in_order(np.array([1, 0])).column("age").to_list()
        [40, 30]
        """
        labels = None if self.labels is None else self.labels.in_order(rows)
        if self.frame.implementation.is_pyarrow():
            import narwhals as nw

            from shoal.tables.arrow_types import selected_rows

            selected = nw.from_native(selected_rows(self.native, rows), eager_only=True)
            return replace(self, frame=selected, labels=labels)
        return replace(self, frame=self.frame[rows], labels=labels)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the content as 64 hexadecimal digits.

        The content is the names and types of the columns, the values, the missing values, and the order of rows and
        columns. Chunks, dictionary codes, the source file and its dialect do not change the fingerprint; a pandas
        index is not part of it. The type counts: 1 and 1.0 differ. Use it to check that two tables are identical,
        for example a released file and the table that a manifest names. See :mod:`shoal.tables.value_codes`.

        Examples
        --------
        >>> import polars as pl
        >>> one, same, other = (Table.from_native(pl.DataFrame({"age": ages})) for ages in ([1, 2], [1, 2], [2, 1]))
        >>> one.fingerprint() == same.fingerprint(), one.fingerprint() == other.fingerprint()
        (True, False)
        """
        from shoal.tables.value_codes import fingerprint

        return fingerprint(self.frame)

    def variable_label(self, name: str) -> str | None:
        """Return the variable label of a column of an SPSS, Stata or SAS file, if it has one."""
        self._check_names([name])
        return self.labels.variable.get(name) if self.labels else None

    def value_labels(self, name: str) -> dict[Any, str] | None:
        """Return the value labels of a column (code -> text), if its file declares them."""
        self._check_names([name])
        found = self.labels.values.get(name) if self.labels else None
        return dict(found) if found else None

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._known:
                raise UnknownColumn(name, self.names)


def to_polars(table: Table) -> pl.DataFrame:
    """Return the table as a polars DataFrame, without copying where possible; a pandas index is dropped.

    Examples
    --------
    >>> import pandas as pd
    >>> to_polars(Table.from_native(pd.DataFrame({"a": [1, 2]}, index=["Ann", "Bob"]))).columns
    ['a']
    """
    import polars as pl

    if table.frame.implementation.is_polars():
        native: pl.DataFrame = table.native
        return native
    return pl.DataFrame(pl.from_arrow(to_arrow(table)))


def is_text(dtype: Any) -> bool:
    """Return whether a polars type is text, also if it is stored as categories.

    Examples
    --------
    >>> import polars as pl
    >>> is_text(pl.Series(["a"], dtype=pl.Categorical).dtype)
    True
    """
    import polars as pl

    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def to_arrow(table: Table) -> Any:
    """Return the table as a pyarrow Table; a pandas index is dropped."""
    import pyarrow as pa

    from shoal.tables.clean_copy import clean_array

    native = table.native
    if table.frame.implementation.is_pyarrow():
        return native
    if not table.frame.implementation.is_pandas():
        return table.frame.to_arrow()
    columns = {}
    for name in table.names:
        try:
            column = pa.Array.from_pandas(native[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f'column "{name}" mixes values of several types, which no file format can store; convert it with '
                f'df["{name}"].astype(str)'
            ) from error
        if isinstance(column, pa.DictionaryArray):  # a missing value has the code -1, which polars refuses to read
            column = clean_array(column)
        columns[name] = column
    return pa.table(columns)


def _with_usual_pandas_types(data: Any) -> Any:
    """Return a pandas DataFrame without columns of Arrow's types that polars cannot read."""
    stored = {name: dtype.pyarrow_dtype for name, dtype in data.dtypes.items() if hasattr(dtype, "pyarrow_dtype")}
    if not stored:
        return data
    from shoal.tables.arrow_types import is_unusual, usual_column

    for name, kind in stored.items():
        if is_unusual(kind):
            import pandas as pd

            data = data.copy(deep=False)
            data[name] = pd.arrays.ArrowExtensionArray(usual_column(data[name].array.__arrow_array__(), name))
    return data


def _check_pandas_names(names: list[Any]) -> None:
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise SchemaError(
                f"column {position} of the DataFrame is named {name!r}, which is not text; "
                f"rename the columns with df.columns = df.columns.map(str)"
            )
    _check_unique(names)


def _check_unique(names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise SchemaError(f'{count} columns are named "{name}"; give each its own name')
