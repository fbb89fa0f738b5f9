"""The fingerprint of a table: a SHA-256 of its content, independent of its storage.

Columns are hashed one after the other in blocks of a fixed number of rows. For each block, the mask of missing values,
the lengths of texts, and the values (missing ones set to zero) are hashed. Chunks, offsets, dictionaries and the memory
under missing values therefore have no effect; names, types, values, missing values and the order of rows and columns
do. The fingerprint of a table stays the same in later versions of Shoal. Time O(n), memory for one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.tables.text_columns import as_numpy

if TYPE_CHECKING:
    import narwhals as nw

FINGERPRINT_ROWS = 65_536
"""The rows of a block that is hashed at a time."""


def fingerprint(frame: nw.DataFrame[Any]) -> str:
    """Return the SHA-256 of the content of a frame as hexadecimal text.

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
    import polars as pl
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
        texts = pl.Series(pl.from_arrow(values)).fill_null("").to_arrow()
        texts = texts.cast(pa.large_string())
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
