"""Everything that a file or an object holds, as bytes: raw, decompressed, every buffer in full, every value reachable.

``file_contents`` reads files without the libraries that wrote them where it can: it decompresses every compressed part
that it finds, whatever page or buffer it belongs to. ``object_contents`` walks from an object to everything that it
refers to, with NumPy arrays and Arrow buffers up to the memory that they are a part of.
"""

import datetime as dt
import gc
import gzip
import struct
import types
import zipfile
import zlib

import numpy as np
import polars as pl
import pyarrow as pa

ZSTD, LZ4 = b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"
ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_SKIPPED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.FrameType)


def file_contents(path):
    """Return the bytes of a file, and those of all its compressed parts."""
    raw = path.read_bytes()
    found = [raw]
    if path.suffix == ".gz":
        found.append(gzip.decompress(raw))
    if path.suffix in {".parquet", ".feather", ".arrow", ".ipc", ".zst"}:
        found += [part for magic, codec in ((ZSTD, "zstd"), (LZ4, "lz4")) for part in _frames(raw, magic, codec)]
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            found += [book.read(name) for name in book.namelist()]
    if path.suffix == ".sav":
        found.append(_without_row_compression(raw[raw.index(struct.pack("<ii", 999, 0)) + 8 :]))
    if path.suffix == ".zsav":
        parts = [part for start in _places(raw, ZLIB) if (part := _inflated(raw[start:]))]
        assert parts
        found += [*parts, _without_row_compression(b"".join(parts))]
    return found


def _frames(raw, magic, codec):
    """Return the content of every compressed frame that starts with this mark."""
    length = {"zstd": _zstd_length, "lz4": _lz4_length}[codec]
    for start in _places(raw, (magic,)):
        frame = raw[start : start + length(raw, start)]
        yield pa.CompressedInputStream(pa.BufferReader(frame), codec).read()


def _zstd_length(raw, start):
    """Return the length of a frame (RFC 8878): header, blocks, checksum."""
    descriptor = raw[start + 4]
    single, size_flag = descriptor >> 5 & 1, descriptor >> 6
    place = start + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[size_flag]
    last = False
    while not last:
        header = int.from_bytes(raw[place : place + 3], "little")
        last, repeated = bool(header & 1), header >> 1 & 3 == 1
        place += 3 + (1 if repeated else header >> 3)
    return place + 4 * (descriptor >> 2 & 1) - start


def _lz4_length(raw, start):
    """Return the length of a frame of the LZ4 frame format: header, blocks, end mark, checksum."""
    flags = raw[start + 4]
    place = start + 7 + 8 * (flags >> 3 & 1) + 4 * (flags & 1)
    while size := int.from_bytes(raw[place : place + 4], "little") & 0x7FFFFFFF:
        place += 4 + size + 4 * (flags >> 4 & 1)
    return place + 4 + 4 * (flags >> 2 & 1) - start


def _places(raw, marks):
    return [place for place in range(len(raw)) if raw.startswith(marks, place)]


def _inflated(data):
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return b""


def _without_row_compression(data):
    """Return the cells of an SPSS file whose values are stored as command bytes and 8-byte cells."""
    cells, place = [], 0
    while place < len(data):
        commands, place = data[place : place + 8], place + 8
        for command in commands:
            if command == 253:
                cells.append(data[place : place + 8])
                place += 8
            elif command == 254:
                cells.append(b" " * 8)
            elif 0 < command < 252:
                cells.append(struct.pack("<d", command - 100))
    return b"".join(cells)


def object_contents(root):
    """Return all that can be reached from an object: bytes of texts, numbers, times, arrays and buffers."""
    found, seen, waiting = [], {}, [root]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, _SKIPPED):
            continue
        seen[id(item)] = item
        content = _content(item)
        if content is not None:
            found.append(content)
        waiting += [*gc.get_referents(item), *_hidden_parts(item)]
    return found


def _content(item):
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    if isinstance(item, bytes | bytearray):
        return bytes(item)
    if isinstance(item, bool):
        return None
    if isinstance(item, int) and abs(item) < 2**63:
        return struct.pack("<q", item)
    if isinstance(item, float):
        return struct.pack("<d", item)
    if isinstance(item, dt.datetime | dt.date):
        return str(item).encode()
    if isinstance(item, np.ndarray) and item.dtype != object:
        return item.tobytes()
    if isinstance(item, pa.Buffer):
        return item.to_pybytes()
    return None


def _hidden_parts(item):
    """Return what the garbage collector does not list: memory around an array, columns, buffers, attributes."""
    if isinstance(item, np.ndarray):
        return [item.base, *(item.ravel().tolist() if item.dtype == object else [])]
    if isinstance(item, pa.Buffer):
        return [item.parent]
    if isinstance(item, pa.Table):
        return [*item.itercolumns(), item.schema]
    if isinstance(item, pa.ChunkedArray):
        return item.chunks
    if isinstance(item, pa.Array):
        parts = [buffer for buffer in item.buffers() if buffer is not None]
        return [*parts, *([item.dictionary] if pa.types.is_dictionary(item.type) else [])]
    if isinstance(item, pa.Schema):
        return [dict(item.metadata or {}), *item]
    if isinstance(item, pa.Field):
        return [item.name, dict(item.metadata or {})]
    if isinstance(item, pl.DataFrame):
        return item.get_columns()
    if isinstance(item, pl.Series):
        newest = item.to_arrow(compat_level=pl.CompatLevel.newest())
        return [newest, *(item.dtype.categories.to_list() if isinstance(item.dtype, pl.Enum) else [])]
    slots = [name for part in type(item).__mro__ for name in getattr(part, "__slots__", ())]
    return [getattr(item, name, None) for name in slots if isinstance(name, str)]
