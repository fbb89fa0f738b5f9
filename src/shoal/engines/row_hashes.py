"""Hashes of row numbers: the same on every machine, whatever part of the table a row is read with.

The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014, Fig. 17), a bijection of 64-bit integers, so that
different rows of one table never share a hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_hashes(rows: NDArray[np.int64], stream: int = 0) -> NDArray[np.uint64]:
    """Return the hash of each row number; another stream gives unrelated hashes.

    Examples
    --------
    >>> hex(row_hashes(np.array([0]))[0])  # the first number of SplitMix64 with seed 0
    '0xe220a8397b1dcdaf'
    """
    with np.errstate(over="ignore"):
        mixed = (rows.astype(np.uint64) + np.uint64(1)) * _GAMMA + np.uint64(stream) * _SECOND
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        return mixed ^ (mixed >> np.uint64(31))


def in_sample(rows: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Return which rows belong to a sample of about this share of the table; all of them for a share of 1.

    Examples
    --------
    >>> rows = np.arange(100_000)
    >>> int(in_sample(rows, 1.0).sum()), abs(int(in_sample(rows, 0.1).sum()) - 10_000) < 500
    (100000, True)
    """
    if share >= 1:
        return np.ones(rows.size, bool)
    return row_hashes(rows) < np.uint64(int(share * 2.0**64))
