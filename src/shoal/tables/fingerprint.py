"""The fingerprint of a table: a SHA-256 of what it says, not of how it is stored.

Columns are hashed one after the other in blocks of a fixed number of rows, each as its holes, the lengths of its texts
and its values with holes set to zero. Chunks, offsets, dictionaries and what lies in memory under a hole therefore do
not matter; names, types, values, holes and the order of rows and columns do. O(n) time, one block of memory.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.tables.arrays import as_numpy

if TYPE_CHECKING:
    import narwhals as nw

_ROWS = 65_536


def fingerprint(frame: nw.DataFrame[Any]) -> str:
    """Return the SHA-256 of the content of a frame as hexadecimal text.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> one = nw.from_native(pl.DataFrame({"a": [1, 2]}), eager_only=True)
    >>> two = nw.from_native(pl.concat([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})], rechunk=False))
    >>> fingerprint(one) == fingerprint(two)
    True
    """
    digest = sha256()
    digest.update(f"{len(frame)} x {len(frame.columns)}".encode())
    for name, dtype in frame.schema.items():
        digest.update(f"\0{name}\0{dtype}\0".encode("utf-8", "surrogatepass"))
        column = frame.get_column(name)
        for start in range(0, len(frame), _ROWS):
            for part in _parts(column[start : start + _ROWS]):
                digest.update(part)
    return digest.hexdigest()


def _parts(block: nw.Series[Any]) -> list[Any]:
    """Return buffers that say the same whenever the block does."""
    import polars as pl
    import pyarrow as pa

    try:
        values = block.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        return _written_out(block)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # a column without rows, or of a type that cannot be combined
        return _written_out(block)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    holes = as_numpy(values.is_null())
    if _is_text(values.type):
        texts = pl.Series(pl.from_arrow(values)).fill_null("").to_arrow()
        texts = texts.cast(pa.large_string())
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = texts.buffers()[2]
        content = memoryview(data)[offsets[0] : offsets[-1]] if data is not None else b""
        return [np.packbits(holes), np.diff(offsets), content]
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not pa.types.is_primitive(values.type):
        return _written_out(block)
    width = values.type.bit_width // 8
    plain = np.frombuffer(values.buffers()[1], np.uint8) if len(values) else np.empty(0, np.uint8)
    plain = plain[values.offset * width : (values.offset + len(values)) * width].reshape(-1, width)
    if values.null_count:
        plain = np.where(holes[:, None], np.uint8(0), plain)
    return [np.packbits(holes), np.ascontiguousarray(plain)]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _written_out(block: nw.Series[Any]) -> list[bytes]:
    """Return rare types (decimals, nested values, Python objects) value by value."""
    return [f"{value!r}\0".encode("utf-8", "surrogatepass") for value in block.to_list()]
