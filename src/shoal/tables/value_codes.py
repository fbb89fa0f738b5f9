"""The values of a column as codes 0, 1, ..., which of its cells are missing, and the fingerprint of all values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.tables.text_columns import as_numpy

if TYPE_CHECKING:
    import narwhals as nw

FINGERPRINT_ROWS = 65_536
"""The rows of a block that is hashed at a time."""


def polars_series(series: nw.Series[Any]) -> pl.Series:
    """Return a column of any library as a polars series; a column that has no counterpart raises DataError."""
    import narwhals as nw

    if series.dtype == nw.Object:
        kinds = {type(value).__name__ for value in series.to_list() if value is not None}
        if kinds - {"bool", "str"} or len(kinds) > 1:
            raise DataError(
                f'column "{series.name}" holds Python objects ({", ".join(sorted(kinds)[:3])}); '
                "convert it to numbers, dates or text"
            )
    try:
        return series.to_polars()
    except Exception as problem:
        raise DataError(
            f'column "{series.name}" of type {series.dtype} cannot be read; convert it to numbers, dates or text'
        ) from problem


def missing_mask(series: nw.Series[Any]) -> NDArray[np.bool_]:
    """Return where values are missing: nulls, and NaN in columns of floats.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> missing_mask(nw.from_native(pl.Series([1.0, float("nan"), None]), series_only=True)).tolist()
    [False, True, True]
    """
    column = polars_series(series)
    if not (column.null_count() or column.dtype.is_float()):
        return np.zeros(len(column), dtype=np.bool_)
    mask = column.is_null()
    if column.dtype.is_float():
        mask = mask | column.is_nan().fill_null(value=False)
    return mask.to_numpy()


def comparable_values(series: nw.Series[Any]) -> pl.Series:
    """Return values to compare for equality: categories as text, NaN as missing."""
    column = polars_series(series)
    if column.dtype in {pl.Categorical, pl.Enum}:
        return column.cast(pl.String)
    if column.dtype.is_float():
        return column.fill_nan(None)
    return column


def ordered_categories(values: pl.Series, order: Sequence[str] | None, name: str) -> pl.Series:
    """Return the different values of an ordinal column from lowest to highest, only those that occur.

    Parameters
    ----------
    values
        The column, as :func:`comparable_values` returns it.
    order
        All categories from lowest to highest; None where the values have an order of their own.
    name
        The column, for error texts.

    Examples
    --------
    >>> ordered_categories(pl.Series(["high", "low", "high"]), ["low", "medium", "high"], "dose").to_list()
    ['low', 'high']
    """
    present = values.drop_nulls().unique().sort()
    if order is None:
        if values.dtype == pl.String:
            raise SchemaError(
                f'column "{name}" is ordinal but its order is not given; name its categories from lowest to '
                f'highest, for example --ordinal "{name}=low<medium<high"'
            )
        return present
    position = {category: number for number, category in enumerate(order)}
    texts = present.cast(pl.String).to_list()
    unknown = [text for text in texts if text not in position]
    if unknown:
        raise SchemaError(
            f'column "{name}" has {len(unknown)} categories that its order does not name; the order names {len(order)}'
        )
    return present.gather(sorted(range(len(texts)), key=lambda number: position[texts[number]]))


def value_codes(values: pl.Series, categories: pl.Series | Sequence[Any]) -> NDArray[np.float64]:
    """Return the position of each value among the categories; NaN for a value that is none of them.

    Examples
    --------
    >>> value_codes(pl.Series(["b", None, "a", "z"]), ["a", "b"]).tolist()
    [1.0, nan, 0.0, nan]
    """
    known = categories if isinstance(categories, pl.Series) else pl.Series(categories, dtype=values.dtype)
    lookup = pl.DataFrame({"value": known, "code": np.arange(len(known), dtype=np.float64)})
    frame = values.rename("value").to_frame()
    joined = frame.join(lookup, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].fill_null(np.nan).to_numpy()


def fingerprint(frame: nw.DataFrame[Any]) -> str:
    """Return the SHA-256 of the content of a frame as hexadecimal text.

    Columns are hashed one after the other in blocks of a fixed number of rows. For each block, the mask of missing
    values, the lengths of texts, and the values (missing ones set to zero) are hashed. Chunks, offsets, dictionaries
    and the memory under missing values therefore have no effect; names, types, values, missing values and the order of
    rows and columns do. The fingerprint stays the same in later versions of Shoal. Time O(n), memory for one block.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> table = nw.from_native(pl.DataFrame({"a": [1, 2]}), eager_only=True)
    >>> chunked = nw.from_native(pl.concat([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})], rechunk=False))
    >>> fingerprint(table) == fingerprint(chunked)
    True
    """
    starts = range(0, len(frame), FINGERPRINT_ROWS)

    def blocks(name: str) -> Iterable[nw.Series[Any]]:
        column = frame.get_column(name)
        return (column[start : start + FINGERPRINT_ROWS] for start in starts)

    return fingerprint_of_blocks(len(frame), frame.schema, blocks)


def fingerprint_of_blocks(
    records: int, schema: Mapping[str, Any], blocks: Callable[[str], Iterable[nw.Series[Any]]]
) -> str:
    """Return the fingerprint of a table whose columns are read one after the other.

    Parameters
    ----------
    records
        The number of rows.
    schema
        Names and types of the columns, as narwhals states them.
    blocks
        Returns the values of a column in blocks of 65,536 rows, the last one shorter.
    """
    digest = sha256()
    digest.update(f"{records} x {len(schema)}".encode())
    for name, dtype in schema.items():
        digest.update(f"\0{name}\0{dtype}\0".encode("utf-8", "surrogatepass"))
        for block in blocks(name):
            for part in _parts(block):
                digest.update(part)
    return digest.hexdigest()


def _parts(block: nw.Series[Any]) -> list[Any]:
    """Return buffers that are equal for blocks of equal content."""
    import pyarrow as pa

    try:
        values = block.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        return _as_text(block)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # a column without rows, or of a type that cannot be combined
        return _as_text(block)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    missing = as_numpy(values.is_null())
    if _is_text(values.type):
        column = pl.Series(pl.from_arrow(values))
        texts = (column.fill_null("") if column.null_count() else column).to_arrow().cast(pa.large_string())
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = texts.buffers()[2]
        content = memoryview(data)[offsets[0] : offsets[-1]] if data is not None else b""
        return [np.packbits(missing), np.diff(offsets), content]
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not pa.types.is_primitive(values.type):
        return _as_text(block)
    width = values.type.bit_width // 8
    plain: NDArray[np.uint8] = np.frombuffer(values.buffers()[1], np.uint8) if len(values) else np.empty(0, np.uint8)
    plain = plain[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)
    if values.null_count:
        plain = np.where(missing[:, None], np.uint8(0), plain)
    return [np.packbits(missing), np.ascontiguousarray(plain)]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_text(block: nw.Series[Any]) -> list[bytes]:
    """Return rare types (decimals, nested values, Python objects) value by value."""
    return [f"{value!r}\0".encode("utf-8", "surrogatepass") for value in block.to_list()]
