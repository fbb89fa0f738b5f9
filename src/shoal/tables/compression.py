"""Compressed text files: gzip (``.gz``) and Zstandard (``.zst``), by extension when writing, by content else."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from shoal.errors import FileProblem

_MARKS = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
_TITLES = {".gz": "gzip", ".zst": "Zstandard"}
COMPRESSED = tuple(_MARKS)
"""Extensions that a text format may have besides its own."""


def compression_of(path: Path) -> str | None:
    """Return the extension of the compression that the name of a file states, if any.

    Examples
    --------
    >>> compression_of(Path("people.csv.ZST")), compression_of(Path("people.csv"))
    ('.zst', None)
    """
    suffix = path.suffix.casefold()
    return suffix if suffix in _MARKS else None


def without_compression(path: Path) -> Path:
    """Return the path without the extension of a compression.

    Examples
    --------
    >>> without_compression(Path("people.csv.gz")).name
    'people.csv'
    """
    return path.with_suffix("") if compression_of(path) else path


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as bytes and decompress it if its content is compressed; raises if the stream is corrupt."""
    stated = compression_of(path)
    with path.open("rb") as raw:
        start = raw.read(4)
        found = next((name for name, mark in _MARKS.items() if start.startswith(mark)), None)
        raw.seek(0)
        if stated is not None and found != stated and start:
            raise FileProblem(
                f"{path} is not a {_TITLES[stated]} file although its extension is {stated}; rename or compress it"
            )
        try:
            yield _unpacked(raw, found)
        except FileProblem:
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileProblem(f"{path}: the gzip file is corrupt or truncated; copy or compress it again") from error
        except OSError as error:
            if found != ".zst" or error.errno is not None:
                raise
            raise FileProblem(
                f"{path}: the Zstandard file is corrupt or truncated; copy or compress it again"
            ) from error


def _unpacked(raw: Any, compression: str | None) -> Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if compression == ".zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(raw, "zstd"))
    return raw


@contextmanager
def opened_for_writing(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """Open for writing; compressed files contain neither name nor time, so that equal tables give equal bytes."""
    with path.open("wb") as file:
        if compression == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
                yield packed  # type: ignore[misc]
        elif compression == ".zst":
            import pyarrow as pa

            packed_buffer = pa.BufferOutputStream()
            writer = pa.CompressedOutputStream(packed_buffer, "zstd")
            yield writer
            writer.close()
            file.write(packed_buffer.getvalue())
        else:
            yield file
