"""Keyed hashes of records, by which the records of an earlier release are found in a later table.

A record is hashed by multilinear hashing (Lemire and Kaser 2014, section 3): each cell is a 64-bit word of two halves,
and the hash is the upper half of ``sum of coefficient * half``, twice with other coefficients, 64 bits in all.
Coefficients come from the key by SHAKE-256, one set for each column name, so the order of columns does not matter. The
probability that two different records share a hash is 2**-64, whatever their values. The hash hides nothing from a
reader who has the key, which is part of the same confidential file.

A value has the same word in every library and format: 34, 34.0 and the text "34" of an unchanged column of a CSV file
are equal, "034" is another value. A missing value and NaN are equal. O(n) for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b, shake_256

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.key_hashes import add_multilinear
from shoal.tables import Table

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_HALF = np.uint64(32)
_EXACT = 2**53  # integers below are exact floats


def record_hashes(table: Table, names: Sequence[str], key: bytes) -> Words:
    """Return a keyed 64-bit hash of some columns for each record.

    Parameters
    ----------
    table
        The table.
    names
        The columns; their order does not matter.
    key
        256 random bits.

    Examples
    --------
    >>> one = Table.from_native(pl.DataFrame({"age": [34, 51], "name": ["Ann", "Bob"]}))
    >>> two = Table.from_native(pl.DataFrame({"name": ["Bob", "Ann"], "age": [51.0, 34.0]}))
    >>> first, second = (record_hashes(table, ["age", "name"], bytes(32)).tolist() for table in (one, two))
    >>> first == second[::-1]
    True
    """
    start = np.frombuffer(shake_256(key + b"start").digest(16), "<u8").astype(np.uint64)
    first, second = (np.full(table.n_rows, value) for value in start)
    for name in names:
        label = name.encode("utf-8", "surrogatepass")
        coefficients = np.frombuffer(shake_256(key + b"column" + label).digest(48), "<u8").astype(np.uint64)
        words, missing = _words(table.column(name).to_polars(), key)
        add_multilinear(first, second, words, coefficients)
        if missing is not None:
            first[missing] += coefficients[2]
            second[missing] += coefficients[5]
    first >>= _HALF  # in place: a million records have 8 MB of each
    first <<= _HALF
    second >>= _HALF
    first |= second
    return first


def _words(column: pl.Series, key: bytes) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return a word for each value, 0 where it is missing, and where that is."""
    dtype = column.dtype
    if dtype.is_float() or dtype.is_decimal():
        column = column.cast(pl.Float64).fill_nan(None)
    elif isinstance(dtype, pl.Date | pl.Datetime):
        column = column.cast(pl.Datetime("us")).to_physical()
    elif dtype.is_temporal():
        column = column.to_physical()
    elif dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    elif not dtype.is_integer():
        return _text_words(column, key)
    missing = column.is_null().to_numpy() if column.null_count() else None
    values = column.fill_null(0).to_numpy() if missing is not None else column.to_numpy()
    return _number_words(values), missing


def _number_words(values: Floats | Integers | Words) -> Words:
    """Return numbers as the bits of floats, and integers that are no exact floats as they are."""
    if values.dtype.kind == "f":
        return (values.astype(np.float64, copy=False) + 0.0).view(np.uint64)  # one zero instead of two
    words = values.astype(np.float64).view(np.uint64)
    if values.dtype.itemsize == 8 and values.size and (int(values.max()) >= _EXACT or int(values.min()) <= -_EXACT):
        large = np.abs(words.view(np.float64)) >= _EXACT
        words[large] = values[large].astype(np.uint64)
    return words


def _text_words(column: pl.Series, key: bytes) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return words of texts: an integer as a number, any other text by its keyed digest."""
    if not isinstance(column.dtype, pl.String):
        plain = isinstance(column.dtype, pl.Categorical | pl.Enum)
        column = column.cast(pl.String) if plain else pl.Series(map(_text, column), dtype=pl.String)
    missing = column.is_null().to_numpy() if column.null_count() else None
    distinct = column.unique()
    numbers = distinct.cast(pl.Int64, strict=False)
    whole = ((numbers.cast(pl.String) == distinct) & (numbers.abs() < _EXACT)).fill_null(value=False).to_numpy()
    words = _number_words(numbers.fill_null(0).to_numpy())
    digests = b"".join(
        blake2b((text or "").encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        for text in distinct.filter(pl.Series(~whole))
    )
    words[~whole] = np.frombuffer(digests, "<u8")
    table = pl.DataFrame({"text": distinct, "word": words})
    found = column.rename("text").to_frame().join(table, on="text", how="left", nulls_equal=True, maintain_order="left")
    of_rows = found["word"].to_numpy().copy()
    if missing is not None:
        of_rows[missing] = 0
    return of_rows, missing


def _text(value: object) -> str | None:
    return None if value is None else repr(value)
