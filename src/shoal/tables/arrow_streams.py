"""Tables that are no DataFrames yet: Arrow streams, record batches, data sets and lazy frames.

Every object with ``__arrow_c_stream__`` (the Arrow PyCapsule interface) is read once, into a pyarrow Table: readers of
record batches, DuckDB relations, results of ADBC. A polars LazyFrame is collected into a polars DataFrame.
"""

from __future__ import annotations

import sys
from typing import Any

from shoal.errors import DataError


def with_records(data: Any) -> Any:
    """Return an object that holds its records: a DataFrame as it is, a stream or lazy frame as a table.

    Examples
    --------
    >>> import polars as pl, pyarrow as pa
    >>> with_records(pl.LazyFrame({"age": [34]})).height
    1
    >>> with_records(pa.record_batch({"age": [34]})).num_rows
    1
    """
    library = type(data).__module__.partition(".")[0]
    if library == "polars" and type(data).__name__ == "LazyFrame":
        return data.collect()
    if library in {"polars", "pandas"} or not _is_arrow(data):
        return data
    pa = sys.modules.get("pyarrow")
    if pa is not None and isinstance(data, pa.Table):
        return data
    return _read(data)


def _is_arrow(data: Any) -> bool:
    interface = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return not isinstance(data, type) and (interface or type(data).__module__ == "pyarrow._dataset")


def _read(data: Any) -> Any:
    import pyarrow as pa

    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
        if hasattr(data, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(data)])
        return data.to_table()
    except MemoryError:
        raise
    except Exception as error:  # of any library; its text may quote values of records
        raise DataError(
            f"a {type(data).__name__} cannot be read as an Arrow table: it is no stream of records, or it has been "
            f"read before"
        ) from error
