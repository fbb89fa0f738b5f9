"""A table as the rest of Shoal sees it: columns by name, whatever library or file it came from.

``Table`` never changes; replacing columns gives a new one that shares the others. Rows keep their order, and a pandas
index stays as it was: records are counted by position, never looked up by index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, SchemaError, UnknownColumn
from shoal.tables.column_labels import Labels
from shoal.tables.dialect import Dialect

if TYPE_CHECKING:
    import narwhals as nw

_ACCEPTED = "pass a pandas or polars DataFrame or a pyarrow Table"


@dataclass(frozen=True, eq=False)
class Table:
    """An immutable table around an eager narwhals DataFrame.

    Parameters
    ----------
    frame
        The columns.
    dialect
        How the text file was written that this came from, if it did.
    source
        The file this came from, if it did.
    labels
        Labels and formats of a SPSS, Stata or SAS file.

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

    def __repr__(self) -> str:  # without values of records, because it ends up in logs
        return f"Table({self.n_rows} records, {len(self.names)} columns: {', '.join(self.names)})"

    @classmethod
    def from_native(cls, data: Any) -> Table:
        """Wrap a pandas or polars DataFrame or a pyarrow Table.

        Examples
        --------
        >>> Table.from_native([1, 2])
        Traceback (most recent call last):
            ...
        shoal.errors.DataError: a list is not a table; pass a pandas or polars DataFrame or a pyarrow Table
        """
        import narwhals as nw

        if isinstance(data, cls):
            return data
        if nw.dependencies.is_pandas_dataframe(data):
            _check_pandas_names(list(data.columns))
        elif nw.dependencies.is_pyarrow_table(data):
            _check_unique(data.column_names)
        try:
            frame = nw.from_native(data)
        except TypeError as error:
            raise DataError(f"a {type(data).__name__} is not a table; {_ACCEPTED}") from error
        if isinstance(frame, nw.LazyFrame):
            raise DataError(f"a {type(data).__name__} holds no records yet; call .collect() on it first")
        if not isinstance(frame, nw.DataFrame):
            raise DataError(f"a {type(data).__name__} is not a table; {_ACCEPTED}")
        if not frame.columns:
            raise DataError("the table has no columns")
        return cls(frame)

    @property
    def native(self) -> Any:
        """The table in the library it came in."""
        return self.frame.to_native()

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return self.frame.columns

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

    def with_columns(self, columns: Mapping[str, nw.Series[Any]]) -> Table:
        """Return the table with some columns replaced where they stand.

        A new column that says the same in another storage (int64 for pandas' Int64, text for the categories of an
        ordered column) gets the storage of the old one.

        Parameters
        ----------
        columns
            New contents by name of the column, one value per record in the order of the table.

        Examples
        --------
        >>> import narwhals as nw, pandas as pd
        >>> table = Table.from_native(pd.DataFrame({"age": [34, 51], "sex": ["f", "m"]}, index=["x", "x"]))
        >>> ages = nw.new_series("age", [42, 42], backend="pandas")
        >>> table.with_columns({"age": ages}).native
           age sex
        x   42   f
        x   42   m
        """
        from shoal.tables.replacing import replaced

        self._check_names(columns)
        for name, column in columns.items():
            if len(column) != self.n_rows:
                raise DataError(f'column "{name}" has {len(column)} new values for {self.n_rows} records')
        labels = self.labels.forget_codes(columns) if self.labels else None
        return replace(self, frame=replaced(self.frame, columns), labels=labels)

    def without(self, names: Iterable[str]) -> Table:
        """Return the table without some columns."""
        names = list(names)
        self._check_names(names)
        kept = [name for name in self.names if name not in set(names)]
        if not kept:
            raise SchemaError("no column is left in the table; keep at least one")
        labels = self.labels.without(names) if self.labels else None
        return replace(self, frame=self.frame.select(kept), labels=labels)

    def fingerprint(self) -> str:
        """Return a SHA-256 of names, types, values and holes; the same for the same content, however it is stored."""
        from shoal.tables.fingerprint import fingerprint

        return fingerprint(self.frame)

    def variable_label(self, name: str) -> str | None:
        """Return what a SPSS, Stata or SAS file calls a column in words."""
        self._check_names([name])
        return self.labels.variable.get(name) if self.labels else None

    def value_labels(self, name: str) -> dict[Any, str] | None:
        """Return what the codes of a column mean, if its file says so."""
        self._check_names([name])
        found = self.labels.values.get(name) if self.labels else None
        return dict(found) if found else None

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.names:
                raise UnknownColumn(name, self.names)


def _check_pandas_names(names: list[Any]) -> None:
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise SchemaError(
                f"column {position} of the DataFrame is named {name!r}, which is no text; "
                f"rename the columns with df.columns = df.columns.map(str)"
            )
    _check_unique(names)


def _check_unique(names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise SchemaError(f'{count} columns are named "{name}"; give each its own name')
