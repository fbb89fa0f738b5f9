"""Equivalence classes of every subset of the quasi-identifiers up to a size, in one pass over all subsets.

Subsets are numbers with a bit for each column. In ascending order every subset comes after all its own subsets, and
after the one without its lowest bit, whose classes it refines. So one stack of classes as deep as the largest size is
enough. Records that are alone in a subset stay alone in every larger one and leave the classes; what remains shrinks
quickly. A class is divided by counting the values of one more column, so the cost is O(n) for each subset without any
sorting.

Where records belong to persons, a record is unique if all records of its class are those of one person, and classes
have a number of persons. Records are ordered by person, and dividing keeps the order, so that persons are counted by
comparing neighbours.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_BITS = 62
"""The most columns whose subsets are numbered."""


class SubsetCounts(NamedTuple):
    """What was counted for each subset of the columns.

    Parameters
    ----------
    subsets
        The subsets as numbers: bit c is set if column c belongs to the subset.
    smallest, classes, small_classes, small_records
        The size of the smallest class, the number of classes, and how many classes have fewer than k records (or
        persons), with how many records.
    same_pairs
        The number of ordered pairs of different records in the same class.
    minimal
        The number of records that are unique in the subset and in no proper subset of it.
    scores
        For each record the sum of the weights of the subsets in which it is minimally unique.
    value_scores
        The same for each value of each column, over the subsets that contain the column.
    """

    subsets: Integers
    smallest: Integers
    classes: Integers
    small_classes: Integers
    small_records: Integers
    same_pairs: Integers
    minimal: Integers
    scores: Floats
    value_scores: list[Floats]


def subsets_up_to(columns: int, size: int) -> Integers:
    """Return all subsets of at most this many columns as numbers, in ascending order.

    Examples
    --------
    >>> [format(int(subset), "03b") for subset in subsets_up_to(3, 2)]
    ['001', '010', '011', '100', '101', '110']
    """
    found = [
        sum(1 << column for column in chosen)
        for length in range(1, size + 1)
        for chosen in combinations(range(columns), length)
    ]
    return np.array(sorted(found), np.int64)


def count_subsets(codes: Integers, size: int, k: int, weights: Floats, persons: Integers | None = None) -> SubsetCounts:
    """Count the classes of every subset of at most ``size`` columns.

    Parameters
    ----------
    codes
        Records by columns, the values of each column as codes 0, 1, ...
    size
        The largest number of columns in a subset.
    k
        Classes of fewer records are counted as small.
    weights
        The weight of a minimal unique of s columns at position s.
    persons
        The person of each record; without them each record is a person of its own.

    Returns
    -------
    counts
        Cost O(n) for each subset, of which there are sum over s of (d choose s); memory O(size n) and one bit for each
        record and subset.

    Examples
    --------
    >>> found = count_subsets(np.array([[0, 0], [0, 1], [1, 1]]), 2, 2, np.array([0.0, 1.0, 1.0]))
    >>> found.minimal.tolist(), found.smallest.tolist(), found.scores.tolist()
    ([1, 1, 1], [1, 1, 1], [1.0, 1.0, 1.0])
    >>> one_person = np.array([0, 0, 1])  # the first two records
    >>> found = count_subsets(np.array([[0, 0], [0, 0], [1, 0]]), 2, 2, np.array([0.0, 1.0, 1.0]), one_person)
    >>> found.minimal.tolist(), found.smallest.tolist(), found.scores.tolist()
    ([3, 0, 0], [1, 2, 1], [1.0, 1.0, 1.0])
    """
    n, columns = codes.shape
    subsets = subsets_up_to(columns, size)
    cards = codes.max(axis=0) + 1
    starts = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    within = _positions_of_smaller(subsets, columns)
    counted = np.zeros((6, subsets.size), np.int64)
    scores, values = np.zeros(n), np.zeros(int(starts[-1]))
    owners = np.empty(0, np.int64) if persons is None else np.asarray(persons, np.int64)
    ordered = np.arange(n) if persons is None else np.argsort(owners, kind="stable")
    columns_of_records = np.ascontiguousarray(codes.T)
    _count(columns_of_records, owners, ordered, subsets, within, size, k, weights, starts, counted, scores, values)
    smallest, classes, small_classes, small_records, same_pairs, minimal = counted
    by_column = [values[starts[column] : starts[column + 1]] for column in range(columns)]
    return SubsetCounts(
        subsets, smallest, classes, small_classes, small_records, same_pairs, minimal, scores, by_column
    )  # fmt: skip


def _positions_of_smaller(subsets: Integers, columns: int) -> Integers:
    """Return for each subset the positions of the subsets with one column less, -1 where the column is absent."""
    bits = np.int64(1) << np.arange(columns, dtype=np.int64)
    inside = (subsets[:, None] & bits) != 0
    smaller = np.where(inside, subsets[:, None] & ~bits, -1)
    found = np.searchsorted(subsets, smaller)
    return np.where(smaller > 0, found, -1)


@inner
def _divide(column: Any, owners: Any, parent: Any, state: Any, values: Any, alone: Any, out: Any) -> Any:
    """Divide classes of at least two records by one more column; records of one person alone are marked.

    A class of one record is left out. ``owners`` is empty where each record is a person. ``state`` holds the number of
    classes of the parent; returns the number of classes that remain.
    """
    order, ends = parent
    new_order, new_ends, new_persons = out
    counts, persons, last, touched = values
    by_persons = owners.size > 0
    placed, classes, begin = 0, 0, 0
    for number in range(state):
        end = ends[number]
        different = 0
        for position in range(begin, end):
            record = order[position]
            value = column[record]
            if counts[value] == 0:
                touched[different] = value
                different += 1
                if by_persons:
                    persons[value] = 1
                    last[value] = owners[record]
            elif by_persons and last[value] != owners[record]:
                persons[value] += 1
                last[value] = owners[record]
            counts[value] += 1
        for seen in range(different):  # from counts to places
            value = touched[seen]
            size = counts[value]
            if size == 1:
                counts[value] = -1
            else:
                counts[value] = placed
                placed += size
                new_ends[classes] = placed
                new_persons[classes] = persons[value] if by_persons else size
                classes += 1
        for position in range(begin, end):
            record = order[position]
            value = column[record]
            place = counts[value]
            if place < 0 or (by_persons and persons[value] == 1):
                alone[record >> 6] |= np.uint64(1) << np.uint64(record & 63)
            if place >= 0:
                new_order[place] = record
                counts[value] = place + 1
        for seen in range(different):
            counts[touched[seen]] = 0
        begin = end
    return classes


@inner
def _summarise(ends: Any, persons: Any, classes: Any, n: Any, k: Any, counted: Any, number: Any) -> Any:
    """Write smallest class, classes, small classes and their records, and equal pairs of one subset."""
    remaining = ends[classes - 1] if classes else 0
    singles = n - remaining
    smallest = 1 if singles else n
    small, small_records, pairs, begin = 0, 0, 0, 0
    if k > 1:
        small, small_records = singles, singles
    for one in range(classes):
        size = ends[one] - begin
        begin = ends[one]
        smallest = min(smallest, persons[one])
        pairs += size * (size - 1)
        if persons[one] < k:
            small += 1
            small_records += size
    counted[0, number] = smallest
    counted[1, number] = singles + classes
    counted[2, number] = small
    counted[3, number] = small_records
    counted[4, number] = pairs


@inner
def _add_minimal(columns: Any, subset: Any, smaller: Any, number: Any, bits: Any, weight: Any, into: Any) -> Any:
    """Add the weight of a subset to the records that are unique in it and in no proper subset of it."""
    starts, scores, values = into
    found = 0
    for word in range(bits.shape[1]):
        unique = bits[number, word]
        if unique == 0:
            continue
        for column in range(smaller.shape[1]):
            if smaller[number, column] >= 0:
                unique &= ~bits[smaller[number, column], word]
        if unique == 0:
            continue
        for bit in range(64):
            if unique & (np.uint64(1) << np.uint64(bit)):
                record = (word << 6) + bit
                found += 1
                scores[record] += weight
                for column in range(columns.shape[0]):
                    if (subset >> column) & 1:
                        values[starts[column] + columns[column, record]] += weight
    return found


@compiled
def _count(
    columns: Any, owners: Any, ordered: Any, subsets: Any, smaller: Any, size: Any, k: Any, weights: Any, starts: Any,
    counted: Any, scores: Any, values: Any,
) -> None:  # fmt: skip
    width, n = columns.shape
    largest = 1
    for column in range(width):
        largest = max(largest, starts[column + 1] - starts[column])
    orders = np.empty((size + 1, n), np.int64)  # level 0: all records in one class
    ends = np.empty((size + 1, n), np.int64)
    persons = np.empty((size + 1, n), np.int64)
    classes = np.zeros(size + 1, np.int64)
    counts = np.zeros(largest, np.int64)
    workspace = (counts, np.zeros(largest, np.int64), np.zeros(largest, np.int64), np.empty(min(largest, n), np.int64))
    bits = np.zeros((subsets.size, (n + 63) >> 6), np.uint64)
    parents = np.zeros(size + 1, np.int64)  # the position of the subset at each level
    for record in range(n):
        orders[0, record] = ordered[record]
    ends[0, 0] = n
    classes[0] = 1
    for number in range(subsets.size):
        subset = subsets[number]
        level = 0
        rest = subset
        while rest:
            rest &= rest - 1
            level += 1
        column = 0
        while not (subset >> column) & 1:
            column += 1
        if level > 1:
            for word in range(bits.shape[1]):
                bits[number, word] = bits[parents[level - 1], word]
        classes[level] = _divide(
            columns[column], owners, (orders[level - 1], ends[level - 1]), classes[level - 1], workspace, bits[number],
            (orders[level], ends[level], persons[level]),
        )  # fmt: skip
        parents[level] = number
        _summarise(ends[level], persons[level], classes[level], n, k, counted, number)
        counted[5, number] = _add_minimal(
            columns, subset, smaller, number, bits, weights[level], (starts, scores, values)
        )
