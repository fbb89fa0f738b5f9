"""Sorting one column and remembering who is who, faster than ``argsort``.

The numbers are mapped to integers of the same order (for floats: their bits, in a form that grows with the value), the
record number is put into the low bits, and numpy sorts those integers with its vectorised sort, which is several times
faster than its argsort. The integers have at most 62 bits, so they may pass for positive floats, which numpy sorts
still faster. Equal values keep the order of the records. Where the integer has no room for all bits of a value, values
that agree in the leading bits are put in order afterwards by insertion; if that would take long, ``argsort`` does the
job. Whole numbers of small range are counted instead.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.threads import get_threads

LARGE = 200_000  # from here on two threads pay


def sort_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values in ascending order and the record behind each of them; O(n log n).

    Parameters
    ----------
    values
        Finite float64 or int64, at least one.

    Returns
    -------
    ordered
        The values, sorted; the input itself if it is sorted already.
    order
        The records in that order, ties by number.

    Examples
    --------
    >>> ordered, order = sort_values(np.array([2.5, -1.0, 2.5, 0.0]))
    >>> ordered, order.astype(int)
    (array([-1. ,  0. ,  2.5,  2.5]), array([1, 3, 0, 2]))
    """
    n = values.size
    if is_sorted(values):
        return values, np.arange(n)
    least, span = values.min(), int(values.max()) - int(values.min())
    if span < n // 4 and values[0] == np.floor(values[0]):
        counted = np.empty_like(values), np.empty(n, np.int64)
        if count_sort(values, least, np.zeros(span + 2, np.int64), *counted):
            return counted
    index_bits = max(int(n - 1).bit_length(), 1)
    bits = values.view(np.int64)
    floats = values.dtype == np.float64
    low, high = (ordered_key.function(int(np.array(v).view(np.int64)), floats) for v in (values.min(), values.max()))
    shift = max((high - low).bit_length() + index_bits - 62, 0)
    packed = np.empty(n, np.int64)
    in_two(pack, n, bits, floats, low, shift, index_bits, packed)
    packed.view(np.float64).sort()
    ordered = np.empty_like(values)
    in_two(unpack, n, values, (1 << index_bits) - 1, packed, ordered)
    if shift and put_in_order(ordered, packed, 16 * n) < 0:
        order = np.argsort(values, kind="stable")
        return values[order], order
    return ordered, packed


def in_two(kernel: Any, n: int, *arguments: Any) -> None:
    """Run ``kernel(start, stop, ...)`` over 0..n, in two threads if n is large; no part may need another."""
    if n < LARGE or get_threads() == 1:
        kernel(0, n, *arguments)
        return
    kernel.dispatcher  # noqa: B018 - loaded before the threads start
    with ThreadPoolExecutor(1) as pool:
        half = pool.submit(kernel, n // 2, n, *arguments)
        kernel(0, n // 2, *arguments)
        half.result()


def is_sorted(values: NDArray[Any]) -> bool:
    """Return whether no value is smaller than the one before; a look at the first thousand mostly tells."""
    return all(bool((part[1:] >= part[:-1]).all()) for part in (values[:1000], values))


@compiled
def count_sort(values: Any, least: Any, starts: Any, ordered: Any, order: Any) -> bool:
    """Sort whole numbers of small range by counting them; return False if one of the values is not whole."""
    for value in values:
        step = int(value - least)
        if step != value - least:
            return False
        starts[step + 1] += 1
    for step in range(1, starts.size):
        starts[step] += starts[step - 1]
    for t in range(values.size):
        step = int(values[t] - least)
        ordered[starts[step]] = values[t]
        order[starts[step]] = t
        starts[step] += 1
    return True


@compiled(inline="always")
def ordered_key(bits: int, floats: bool) -> int:
    """Return an integer that grows with the value: the bits of a negative float are turned round, -0 is 0."""
    if floats and bits < 0:
        return -(bits & 0x7FFFFFFFFFFFFFFF)
    return bits


@compiled
def pack(start: int, stop: int, bits: Any, floats: bool, low: int, shift: int, index_bits: int, packed: Any) -> None:
    """Write the key above the record number, less what all keys have in common and what has no room."""
    for t in range(start, stop):
        key = np.uint64(ordered_key(bits[t], floats)) - np.uint64(low)
        packed[t] = np.int64(((key >> np.uint64(shift)) << np.uint64(index_bits)) | np.uint64(t))


@compiled
def unpack(start: int, stop: int, values: Any, mask: int, packed: Any, ordered: Any) -> None:
    """Leave the record number alone, and fetch its value."""
    for t in range(start, stop):
        record = packed[t] & mask
        packed[t] = record
        ordered[t] = values[record]


@compiled
def put_in_order(ordered: Any, order: Any, patience: int) -> int:
    """Sort by insertion what is nearly sorted; return the number of moves, or -1 if there would be too many."""
    moves = 0
    for t in range(1, ordered.size):
        value = ordered[t]
        if ordered[t - 1] <= value:
            continue
        record = order[t]
        p = t
        while p > 0 and ordered[p - 1] > value:
            ordered[p] = ordered[p - 1]
            order[p] = order[p - 1]
            p -= 1
        ordered[p] = value
        order[p] = record
        moves += t - p
        if moves > patience:
            return -1
    return moves


@compiled
def spread(start: int, stop: int, cuts: Any, order: Any, labels: Any) -> None:
    """Give the records of the groups start..stop-1 their labels; group g covers cuts[g]..cuts[g+1]-1."""
    for g in range(start, stop):
        for t in range(cuts[g], cuts[g + 1]):
            labels[order[t]] = g


def labels_of(cuts: NDArray[np.int64], order: NDArray[Any]) -> NDArray[np.int64]:
    """Return the group of each record from the cuts of the sorted values."""
    labels = np.empty(order.size, np.int64)
    spread(0, cuts.size - 1, cuts, order, labels)
    return labels
