"""A table as polars or as pyarrow, for the file formats that need one or the other.

A pandas index is left behind: files hold the columns of the schema and nothing that could name a person besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from shoal.tables.table import Table


def to_polars(table: Table) -> pl.DataFrame:
    """Return the table as a polars DataFrame, without copying where that is possible.

    Examples
    --------
    >>> import pandas as pd
    >>> from shoal.tables import Table
    >>> to_polars(Table.from_native(pd.DataFrame({"a": [1, 2]}, index=["Ann", "Bob"]))).columns
    ['a']
    """
    import polars as pl

    if table.frame.implementation.is_polars():
        native: pl.DataFrame = table.native
        return native
    return pl.DataFrame(pl.from_arrow(to_arrow(table)))


def is_text(dtype: Any) -> bool:
    """Return whether a polars type is text, stored in whatever way.

    Examples
    --------
    >>> import polars as pl
    >>> is_text(pl.Series(["a"], dtype=pl.Categorical).dtype)
    True
    """
    import polars as pl

    return isinstance(dtype, pl.String | pl.Categorical | pl.Enum)


def to_arrow(table: Table) -> Any:
    """Return the table as a pyarrow Table with its schema's notes, if it has any."""
    import pyarrow as pa

    native = table.native
    if table.frame.implementation.is_pyarrow():
        return native
    if not table.frame.implementation.is_pandas():
        return table.frame.to_arrow()
    columns = {}
    for name in table.names:
        try:
            columns[name] = pa.Array.from_pandas(native[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f'column "{name}" mixes values of several types, which no file format can hold; convert it with '
                f'df["{name}"].astype(str)'
            ) from error
    return pa.table(columns)
