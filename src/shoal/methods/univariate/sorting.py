"""Sorting of one column together with its record numbers, faster than ``argsort``.

The numbers are mapped to integers of the same order (for floats: their bits, in a form that grows with the value), the
record number is put into the low bits, and numpy sorts those integers with its vectorised sort, which is several times
faster than its argsort. The integers have at most 62 bits, so they can be read as positive floats, which numpy sorts
still faster. Equal values stay in the order of the records. Where the integer is too short for all bits of a value,
values that agree in the leading bits are sorted by insertion afterwards; if that would take long, ``argsort`` is used.
Integers of small range are sorted by counting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.threads import run_two

PARALLEL_VALUES = 200_000  # from this number of values on, two threads are faster


def sort_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values in ascending order and the record number of each; O(n log n).

    Parameters
    ----------
    values
        Finite float64 or int64, at least one.

    Returns
    -------
    ordered
        The sorted values; the input itself if it is sorted already.
    order
        The record numbers in that order, equal values by record number.

    Examples
    --------
    >>> ordered, order = sort_values(np.array([2.5, -1.0, 2.5, 0.0]))
    >>> ordered, order.astype(int)
    (array([-1. ,  0. ,  2.5,  2.5]), array([1, 3, 0, 2]))
    """
    n = values.size
    if is_sorted(values):
        return values, np.arange(n)
    least, greatest = values.min(), values.max()
    span = int(greatest) - int(least)
    if span < n // 4 and values[0] == np.floor(values[0]):
        counted = _sort_by_counting(values, least, span)
        if counted is not None:
            return counted
    index_bits = max(int(n - 1).bit_length(), 1)
    low, high = (_key(values, value) for value in (least, greatest))
    shift = max((high - low).bit_length() + index_bits - 62, 0)
    middle = _key(values, np.partition(values[:: n // 999], 499)[499]) - low if n >= PARALLEL_VALUES else high - low
    pivot = (middle >> shift) + (n < PARALLEL_VALUES)
    packed = np.empty(n + 1, np.int64)
    ordered = np.empty_like(values)
    floats = values.dtype == np.float64
    setting = (values.view(np.int64), floats, low, shift, index_bits, pivot)
    below, _ = run_two(
        lambda: pack(*setting, False, packed), lambda: pack(*setting, True, packed), n >= PARALLEL_VALUES
    )

    def finish(start: int, stop: int, gap: int) -> None:
        packed[start + gap : stop + gap].view(np.float64).sort()
        unpack(start, stop, gap, values, (1 << index_bits) - 1, packed, ordered)

    run_two(lambda: finish(0, below, 0), lambda: finish(below, n, 1), n >= PARALLEL_VALUES)
    if shift and insertion_sort(ordered, packed, 16 * n) < 0:
        order = np.argsort(values, kind="stable")
        return values[order], order
    return ordered, packed[:n]


def _key(values: NDArray[Any], value: Any) -> int:
    """Return the integer key of one of the values."""
    return int(ordered_key.function(int(np.array(value).view(np.int64)), values.dtype == np.float64))


def _sort_by_counting(values: NDArray[Any], least: Any, span: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Sort integers from ``least`` to ``least + span``; None if one of the values is not an integer."""
    n = values.size
    half = n // 2
    counts = np.zeros((2, span + 1), np.int64)
    integers = run_two(
        lambda: count(values[:half], least, counts[0]),
        lambda: count(values[half:], least, counts[1]),
        n >= PARALLEL_VALUES,
    )
    if not all(integers):
        return None
    starts = np.zeros((2, span + 1), np.int64)  # the position of the next record of each half with that value
    starts[0, 1:] = np.cumsum(counts.sum(axis=0))[:-1]
    starts[1] = starts[0] + counts[0]
    order = np.empty(n, np.int64)
    run_two(
        lambda: distribute(0, half, values, least, starts[0], order),
        lambda: distribute(half, n, values, least, starts[1], order),
        n >= PARALLEL_VALUES,
    )
    return np.repeat(least + np.arange(span + 1, dtype=values.dtype), counts.sum(axis=0)), order


def is_sorted(values: NDArray[Any]) -> bool:
    """Return whether no value is smaller than the previous one; the first thousand values are checked first."""
    return all(bool((part[1:] >= part[:-1]).all()) for part in (values[:1000], values))


@compiled
def count(values: Any, least: Any, counts: Any) -> bool:
    """Count how often each integer occurs; return False if one of the values is not an integer."""
    for value in values:
        step = int(value - least)
        if step != value - least:
            return False
        counts[step] += 1
    return True


@compiled
def distribute(start: int, stop: int, values: Any, least: Any, starts: Any, order: Any) -> None:
    """Write the records start..stop-1 to the positions of their values."""
    for t in range(start, stop):
        step = int(values[t] - least)
        order[starts[step]] = t
        starts[step] += 1


@compiled(inline="always")
def ordered_key(bits: int, floats: bool) -> int:
    """Return an integer that grows with the value: the bits of a negative float are reversed in order, -0 is 0."""
    if floats and bits < 0:
        return -(bits & 0x7FFFFFFFFFFFFFFF)
    return bits


@compiled
def pack(bits: Any, floats: bool, low: int, shift: int, index_bits: int, pivot: int, above: bool, packed: Any) -> int:
    """Write the keys on one side of the pivot with their record numbers; return how many there are.

    The common offset of all keys is subtracted and the low bits that do not fit are dropped. Keys below the pivot are
    written from the front, the others from the back. There is one position more than there are keys, between both,
    where a key of the other side is written and overwritten: that is cheaper than a branch.
    """
    position = packed.size - 1 if above else 0
    step = -1 if above else 1
    end = np.uint64(pivot)
    for t in range(bits.size):
        key = (np.uint64(ordered_key(bits[t], floats)) - np.uint64(low)) >> np.uint64(shift)
        packed[position] = np.int64((key << np.uint64(index_bits)) | np.uint64(t))
        position += step if (key >= end) == above else 0
    return packed.size - 1 - position if above else position


@compiled
def unpack(start: int, stop: int, gap: int, values: Any, mask: int, packed: Any, ordered: Any) -> None:
    """Reduce each key to its record number, read the value of the record, and close the gap."""
    for t in range(start, stop):
        record = packed[t + gap] & mask
        packed[t] = record
        ordered[t] = values[record]


@compiled
def insertion_sort(ordered: Any, order: Any, most_moves: int) -> int:
    """Sort values that are nearly sorted; return the number of moves, or -1 if there would be too many."""
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
        if moves > most_moves:
            return -1
    return moves


@compiled
def assign_labels(start: int, stop: int, cuts: Any, order: Any, labels: Any) -> None:
    """Write the labels of the records of the groups start..stop-1; group g covers cuts[g]..cuts[g+1]-1."""
    for g in range(start, stop):
        for t in range(cuts[g], cuts[g + 1]):
            labels[order[t]] = g


def labels_from_cuts(cuts: NDArray[np.int64], order: NDArray[Any]) -> NDArray[np.int64]:
    """Return the group number of each record from the cuts of the sorted values."""
    labels = np.empty(order.size, np.int64)
    groups = cuts.size - 1
    half = groups // 2
    run_two(
        lambda: assign_labels(0, half, cuts, order, labels),
        lambda: assign_labels(half, groups, cuts, order, labels),
        order.size >= PARALLEL_VALUES,
    )
    return labels
