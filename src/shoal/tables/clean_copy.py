"""The copy of a table that is released: new buffers with the visible values, and nothing beside them.

A column of Arrow, polars or pandas may hold more than it shows: values under a missing cell, rows outside a slice,
categories without a record, texts that a view no longer points to, metadata. All of that would be found in memory, in a
pickle or in an Arrow file. :func:`clean_copy` writes the visible values into new buffers, one column at a time, sets
the memory under missing cells to zero, and keeps only categories that occur. It costs one pass over the table, without
the columns of numbers that recoding already wrote into memory of their own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.tables.text_columns import as_numpy

if TYPE_CHECKING:
    import polars as pl

    from shoal.tables.table import Table


def clean_copy(table: Table, original: Table | None = None) -> Table:
    """Return a table with the same columns and values that shares no memory with the given one.

    A pandas index, attributes of the frame, and metadata of schema and fields are left out; labels are reduced to the
    values that occur.

    Parameters
    ----------
    table
        The table.
    original
        The table that it was made from, if only memory of that one must not be shared: a column of numbers without a
        missing value whose buffer lies outside the memory of the original, and has no byte more than it shows, is then
        not copied once more.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.tables import Table
    >>> ages = pa.array([34, 51, 47])
    >>> clean = clean_copy(Table.from_native(pa.table({"age": ages[1:2]})))
    >>> clean.native["age"].chunk(0).buffers()[1].size
    8
    """
    import narwhals as nw

    frame = table.frame
    native: Any = table.native
    used = None if original is None else _memory(original)
    if frame.implementation.is_pandas():
        from shoal.tables.clean_pandas import clean_pandas

        native = clean_pandas(native)
    elif frame.implementation.is_pyarrow():
        native = _clean_pyarrow(native, used)
    elif frame.implementation.is_polars():
        native = _clean_polars(native, used)
    else:
        columns = {name: frame.get_column(name).to_list() for name in frame.columns}
        native = nw.from_dict(columns, frame.schema, backend=frame.implementation).to_native()
    clean = replace(table, frame=nw.from_native(native, eager_only=True))
    return replace(clean, labels=table.labels.reduced(clean.frame)) if table.labels else clean


def left_out(table: Table) -> list[str]:
    """Return sentences about what a table carries beside its columns and what :func:`clean_copy` leaves out.

    Examples
    --------
    >>> import pandas as pd
    >>> from shoal.tables import Table
    >>> left_out(Table.from_native(pd.DataFrame({"age": [34]}, index=pd.Index(["Ann"], name="person"))))
    ['the index "person" of the DataFrame is not released; to keep it, name it among the columns']
    """
    native: Any = table.native
    sentences = []
    if table.labels and table.labels.left_out:
        titles = " and ".join(table.labels.left_out)
        sentences.append(f"not released of the file: {titles}")
    if table.frame.implementation.is_pandas():
        index = native.index
        names = [f'"{name}"' for name in index.names if name is not None]
        default = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
        if names:
            sentences.append(
                f"the index {', '.join(names)} of the DataFrame is not released; to keep it, name it among the columns"
            )
        elif not default:
            sentences.append("the index of the DataFrame is not released; to keep it, give it a name")
        if native.attrs:
            sentences.append("the attrs of the DataFrame are not released")
    elif table.frame.implementation.is_pyarrow():
        schema = native.schema
        pandas = _pandas_metadata(schema)
        described = set(schema.metadata or {}) - {b"pandas", b"ARROW:schema"}
        if (
            described
            or pandas.get("attributes")
            or any(set(field.metadata or {}) - {b"PARQUET:field_id"} for field in schema)
        ):
            sentences.append("the metadata of the schema and its fields is not released")
        if _has_pandas_index(pandas):
            sentences.append("the index of the pandas DataFrame, which the metadata describes, is not released")
    return sentences


def _pandas_metadata(schema: Any) -> dict[str, Any]:
    """Return what pandas wrote about a DataFrame into the metadata of a schema."""
    import json

    try:
        return dict(json.loads((schema.metadata or {}).get(b"pandas", b"{}")))
    except (ValueError, TypeError):
        return {"attributes": True}  # something that cannot be read


def _has_pandas_index(pandas: dict[str, Any]) -> bool:
    """Return whether pandas would restore an index other than the default one from the metadata alone."""
    return any(
        isinstance(index, dict) and (index.get("name"), index.get("start"), index.get("step")) != (None, 0, 1)
        for index in pandas.get("index_columns") or ()
    )


def _memory(table: Table) -> list[tuple[int, int]] | None:
    """Return where the columns of numbers of a table begin and end in memory, in order and without overlaps.

    None if that cannot be known.
    """
    frame = table.frame
    if frame.implementation.is_pyarrow():
        chunks = [chunk for column in table.native.itercolumns() for chunk in column.chunks if _is_number(chunk.type)]
    elif frame.implementation.is_polars():
        numbers = [column for column in table.native.iter_columns() if _is_number_series(column)]
        chunks = [chunk.to_arrow() for column in numbers for chunk in column.get_chunks()]
    else:
        return None
    buffers = [chunk.buffers()[1] for chunk in chunks]
    merged: list[tuple[int, int]] = []
    for start, end in sorted((data.address, data.address + data.size) for data in buffers if data is not None):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _stands_alone(array: Any, used: list[tuple[int, int]] | None) -> bool:
    """Return whether an array holds nothing but its visible numbers, outside of memory that is used."""
    if used is None or not _is_number(array.type) or array.null_count or array.offset or not len(array):
        return False
    bitmap, data = array.buffers()
    if bitmap is not None or data.size != len(array) * array.type.bit_width // 8:
        return False
    before = bisect_left(used, (data.address + data.size,))  # parts of memory that begin before the end of the array
    return before == 0 or used[before - 1][1] <= data.address


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_number_series(series: pl.Series) -> bool:
    return series.dtype.is_float() or (series.dtype.is_integer() and "128" not in str(series.dtype))


def _clean_polars(frame: pl.DataFrame, used: list[tuple[int, int]] | None) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        [
            column
            if _is_number_series(column) and column.n_chunks() == 1 and _stands_alone(column.to_arrow(), used)
            else _clean_series(column)
            for column in frame.iter_columns()
        ]
    )


def _clean_series(series: pl.Series) -> pl.Series:
    import polars as pl

    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        texts = _clean_series(series.cast(pl.String))
        used = set(texts.unique().to_list())
        return texts.cast(pl.Enum([category for category in dtype.categories if category in used]))
    if isinstance(dtype, pl.Categorical):
        return _clean_series(series.cast(pl.String)).cast(dtype)
    if isinstance(dtype, pl.Object):  # Arrow would store addresses
        return pl.Series(series.name, series.to_list(), dtype=dtype)
    import pyarrow as pa

    try:
        clean = pl.Series(series.name, pl.from_arrow(clean_array(series.to_arrow())))
    except pa.ArrowInvalid:  # integers of 128 bits
        return pl.Series(series.name, series.to_list(), dtype=dtype)
    # nested categories come back with another type: they become text
    return clean if clean.dtype == dtype else pl.Series(series.name, series.to_list())


def _clean_pyarrow(table: Any, used: list[tuple[int, int]] | None) -> Any:
    import pyarrow as pa

    columns = [
        column
        if column.num_chunks and all(_stands_alone(chunk, used) for chunk in column.chunks)
        else clean_chunks(column)
        for column in table.itercolumns()
    ]
    fields = [
        pa.field(field.name, column.type, nullable=field.nullable or column.null_count > 0)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def clean_chunks(column: Any) -> Any:
    """Return a pyarrow ChunkedArray with new buffers; all chunks of a dictionary column share one dictionary."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind):
        parts = [clean_array(chunk) for chunk in column.chunks if len(chunk)]
        return pa.chunked_array(parts or [clean_array(pa.array([], kind))])
    try:
        unified = column.unify_dictionaries()
    except pa.ArrowInvalid:  # a dictionary with missing values
        unified = pa.chunked_array([clean_array(chunk) for chunk in column.chunks], kind).unify_dictionaries()
    chunks = [chunk for chunk in unified.chunks if len(chunk)]
    return pa.chunked_array(_clean_dictionaries(chunks) if chunks else [], kind)


def clean_array(array: Any) -> Any:
    """Return a pyarrow array of the same values with new buffers, and zeros under missing values.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> hidden = pc.if_else(pa.array([True, False]), pa.scalar(None, pa.int64()), pa.array([51, 34]))
    >>> np.frombuffer(clean_array(hidden).buffers()[1], np.int64).tolist()
    [0, 34]
    """
    import pyarrow as pa

    kind, types = array.type, pa.types
    if types.is_null(kind):
        return pa.nulls(len(array))
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, clean_array(array.storage))
    if types.is_dictionary(kind):
        return _clean_dictionaries([array])[0]
    if types.is_nested(kind):
        return _clean_nested(array)
    return _clean_plain(array) if len(array) else pa.array([], kind)


def _clean_plain(array: Any) -> Any:
    import pyarrow as pa

    kind, types = array.type, pa.types
    if types.is_boolean(kind):
        known = as_numpy(array) & ~_missing(array)
        return pa.Array.from_buffers(kind, len(array), [_bitmap(array), _bits(known)])
    if types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind):
        return _clean_numbers(array)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return _clean_texts(array)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        plain = pa.large_string() if types.is_string_view(kind) else pa.large_binary()
        return _clean_texts(array.cast(plain)).cast(kind)
    return pa.array(array.to_pylist(), kind)


def _clean_nested(array: Any) -> Any:
    import pyarrow as pa

    if not len(array):
        return pa.array([], _without_metadata(array.type))
    if pa.types.is_struct(array.type):
        return _clean_struct(array)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _clean_list(array)
    return pa.array(array.to_pylist(), _without_metadata(array.type))


def _clean_numbers(array: Any) -> Any:
    import pyarrow as pa

    width = array.type.bit_width // 8
    shape = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(width, f"V{width}")
    values = np.frombuffer(array.buffers()[1], shape, len(array), array.offset * width).copy()
    if array.null_count:
        values[_missing(array)] = np.zeros((), shape)
    return pa.Array.from_buffers(array.type, len(array), [_bitmap(array), pa.py_buffer(values)])


def _clean_texts(array: Any) -> Any:
    import pyarrow as pa

    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    shape: type[np.integer[Any]] = np.int64 if large else np.int32
    lengths = np.diff(_offsets(array, shape))
    shown = array
    if array.null_count:
        missing = _missing(array)
        if lengths[missing].any():  # texts under missing cells
            lengths[missing] = 0
            shown = array.drop_null()
    ends = _offsets(shown, shape)
    data = shown.buffers()[2]
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].copy() if data is not None else np.empty(0, np.uint8)
    offsets = _running(lengths, shape)
    return pa.Array.from_buffers(
        array.type, len(array), [_bitmap(array), pa.py_buffer(offsets), pa.py_buffer(content)]
    )  # fmt: skip


def _clean_dictionaries(chunks: Sequence[Any]) -> list[Any]:
    """Return dictionary arrays that share a dictionary, with a new dictionary of the values that occur."""
    import pyarrow as pa

    kind = chunks[0].type
    encoded = chunks[0].dictionary.dictionary_encode()  # equal values once; a missing value has no position
    position = np.append(as_numpy(encoded.indices), 0).astype(np.int64)  # one more, for an empty dictionary
    nothing = np.append(_missing(encoded.indices), True)
    codes = [as_numpy(chunk.indices).astype(np.int64) for chunk in chunks]
    missing = [_missing(chunk.indices) | nothing[found] for chunk, found in zip(chunks, codes, strict=True)]
    occurs = np.zeros(len(encoded.dictionary) + 1, np.bool_)
    for found, mask in zip(codes, missing, strict=True):
        occurs[position[found[~mask]]] = True
    used = np.flatnonzero(occurs)
    number = np.cumsum(occurs) - 1
    dictionary = clean_array(encoded.dictionary.take(arrow_array(pa.int64(), used)))
    arrays = []
    for found, mask in zip(codes, missing, strict=True):
        indices = arrow_array(pa.int64(), np.where(mask, 0, number[position[found]]), mask).cast(kind.index_type)
        arrays.append(pa.DictionaryArray.from_arrays(indices, dictionary, ordered=kind.ordered))
    return arrays


def _clean_struct(array: Any) -> Any:
    import pyarrow as pa

    children = [clean_array(child) for child in array.flatten()]  # a missing struct makes its fields missing
    fields = [
        pa.field(array.type.field(i).name, child.type, nullable=array.type.field(i).nullable or child.null_count > 0)
        for i, child in enumerate(children)
    ]
    mask = arrow_array(pa.bool_(), _missing(array)) if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


def _clean_list(array: Any) -> Any:
    import pyarrow as pa

    large = pa.types.is_large_list(array.type)
    values = clean_array(array.flatten())  # without the values of missing lists
    lengths = as_numpy(array.value_lengths())
    missing = _missing(array)
    offsets = _running(np.where(missing, 0, lengths), np.int64 if large else np.int32)
    field = pa.field(array.type.value_field.name, values.type, nullable=array.type.value_field.nullable)
    kind = pa.large_list(field) if large else pa.list_(field)
    return pa.Array.from_buffers(
        kind, len(array), [_bitmap(array), pa.py_buffer(offsets)], children=[values]
    )  # fmt: skip


def _without_metadata(kind: Any) -> Any:
    """Return a type whose fields carry no metadata."""
    import pyarrow as pa

    def plain(field: Any) -> Any:
        return pa.field(field.name, _without_metadata(field.type), nullable=field.nullable)

    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_field), plain(kind.item_field), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (pa.list_ if pa.types.is_list(kind) else pa.large_list)(plain(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def arrow_array(kind: Any, values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:
    """Return a pyarrow array around a NumPy array; pyarrow's own constructor would import pandas.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_array(pa.int64(), np.array([3, 4]), np.array([False, True])).to_pylist()
    [3, None]
    """
    import pyarrow as pa

    bitmap = None if missing is None or not missing.any() else _bits(~missing)
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, values.size, [bitmap, data])


def _running(lengths: NDArray[Any], shape: type[np.integer[Any]]) -> NDArray[Any]:
    offsets = np.zeros(lengths.size + 1, shape)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _offsets(array: Any, shape: type[np.integer[Any]]) -> NDArray[Any]:
    if not len(array):
        return np.zeros(1, shape)
    return np.frombuffer(array.buffers()[1], shape)[array.offset : array.offset + len(array) + 1]


def _missing(array: Any) -> NDArray[np.bool_]:
    return as_numpy(array.is_null()) if array.null_count else np.zeros(len(array), np.bool_)


def _bitmap(array: Any) -> Any:
    return _bits(~_missing(array)) if array.null_count else None


def _bits(known: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(known, bitorder="little"))
