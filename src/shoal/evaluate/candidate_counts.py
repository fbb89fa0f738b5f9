"""Counting the released rows that are compatible with what is known about a person: the loops of the candidates attack.

Where every cell is a value or suppressed, the rows of each set of suppressed columns are looked up by the values of the
other columns in a hash table: O(n) for each such set. Ranges, sets and nodes are compared row by row, with different
rows compared once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def count_by_patterns(persons: Integers, rows: Integers, suppressed: NDArray[np.bool_], sizes: Integers) -> Integers:
    """Return for each person how many released rows agree in every column that is not suppressed.

    Parameters
    ----------
    persons
        Persons by columns, codes of the known values.
    rows, suppressed
        Different released rows by columns: codes, and which of them are suppressed.
    sizes
        The number of records of each of these rows.

    Examples
    --------
    >>> known = np.array([[9, 1], [1, 1]])
    >>> rows, hidden = np.array([[0, 1], [1, 1]]), np.array([[True, False], [False, False]])
    >>> count_by_patterns(known, rows, hidden, np.array([1, 3])).tolist()
    [1, 4]
    """
    patterns, which = np.unique(suppressed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(patterns) + 1))
    counts = np.zeros(len(persons), np.int64)
    _count_patterns(
        np.ascontiguousarray(persons), np.ascontiguousarray(rows[order]), ~patterns, starts, sizes[order], counts
    )
    return counts


@inner
def _hash(row: Any, kept: Any) -> Any:
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for column in range(row.size):
        if kept[column]:
            mixed = (mixed ^ np.uint64(row[column])) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
    return mixed


@inner
def _equal(one: Any, other: Any, kept: Any) -> Any:
    equal = True
    for column in range(one.size):
        equal = equal and (not kept[column] or one[column] == other[column])
    return equal


@compiled
def _count_patterns(persons: Any, rows: Any, kept: Any, starts: Any, sizes: Any, counts: Any) -> None:
    for pattern in range(kept.shape[0]):
        begin, end = starts[pattern], starts[pattern + 1]
        places = 4
        while places < 2 * (end - begin):
            places *= 2
        mask = np.uint64(places - 1)
        table = np.full(places, -1, np.int64)
        total = np.zeros(places, np.int64)
        keep = kept[pattern]
        for row in range(begin, end):
            place = np.int64(_hash(rows[row], keep) & mask)
            while table[place] >= 0 and not _equal(rows[table[place]], rows[row], keep):
                place = (place + 1) & (places - 1)
            table[place] = row
            total[place] += sizes[row]
        for person in range(persons.shape[0]):
            place = np.int64(_hash(persons[person], keep) & mask)
            while table[place] >= 0:
                if _equal(rows[table[place]], persons[person], keep):
                    counts[person] += total[place]
                    break
                place = (place + 1) & (places - 1)


class Cover(NamedTuple):
    """What the cells of several columns cover, one column after the other.

    Parameters
    ----------
    low, high
        The lowest and the highest code that each cell covers.
    starts
        Where the cells of each column begin.
    masks
        A byte for each cell and value of the columns that have a mask.
    mask_starts, widths
        Where the mask of each column begins, -1 for none, and how many values it has.
    """

    low: Integers
    high: Integers
    starts: Integers
    masks: NDArray[np.uint8]
    mask_starts: Integers
    widths: Integers


class Known(NamedTuple):
    """What is known of persons, or shown in rows, in columns that are not truthful.

    Parameters
    ----------
    numbers
        Standardised numbers.
    codes
        Codes of categories.
    """

    numbers: Floats
    codes: Integers


def count_by_cover(
    values: Integers, known: Known, rows: Integers, shown: Known, sizes: Integers, cover: Cover
) -> tuple[Integers, Floats]:
    """Return how many records are nearest to each person among the rows that cover all known values.

    Parameters
    ----------
    values, known
        Persons by truthful columns (codes of the known values), and by all others.
    rows, shown
        Different released rows by truthful columns (numbers of cells), and by all others.
    sizes
        The number of records of each row.
    cover
        What the cells cover.

    Returns
    -------
    counts, nearest
        Numbers of records, and their squared distances in the other columns; -1 where no row covers a person.
    """
    counts, nearest = np.zeros(len(values), np.int64), np.full(len(values), -1.0)
    _count_cover(
        np.ascontiguousarray(values), known.numbers, known.codes, np.ascontiguousarray(rows), shown.numbers,
        shown.codes, sizes, *cover, counts, nearest,
    )  # fmt: skip
    return counts, nearest


def count_persons_by_cover(
    values: Integers, known: Known, rows: Integers, shown: Known, members: tuple[Integers, Integers], cover: Cover
) -> tuple[Integers, Floats]:
    """Return how many different persons have a row among those that :func:`count_by_cover` counts.

    Parameters
    ----------
    values, known, rows, shown, cover
        As in :func:`count_by_cover`.
    members
        Where the persons of each row begin, and these persons, each once for a row.

    Returns
    -------
    counts, nearest
        Numbers of persons, and squared distances as in :func:`count_by_cover`.
    """
    counts, nearest = np.zeros(len(values), np.int64), np.full(len(values), -1.0)
    starts, persons = members
    seen = np.full(int(persons.max(initial=-1)) + 1, -1, np.int64)
    _count_persons(
        np.ascontiguousarray(values), known.numbers, known.codes, np.ascontiguousarray(rows), shown.numbers,
        shown.codes, starts, persons, seen, *cover, counts, nearest,
    )  # fmt: skip
    return counts, nearest


def assign_by_cover(
    values: Integers, known: Known, rows: Integers, shown: Known, weights: Floats, cover: Cover
) -> tuple[Floats, NDArray[np.bool_]]:
    """Divide each person among the nearest rows that cover all known values.

    Parameters
    ----------
    values, known, rows, shown, cover
        As in :func:`count_by_cover`.
    weights
        How often each person occurs.

    Returns
    -------
    people, found
        The number of persons of each row, and whether any row covers a person.
    """
    people, found = np.zeros(len(rows)), np.zeros(len(values), np.bool_)
    _assign_cover(
        np.ascontiguousarray(values), known.numbers, known.codes, np.ascontiguousarray(rows), shown.numbers,
        shown.codes, weights, *cover, people, found,
    )  # fmt: skip
    return people, found


@inner
def _distance(numbers: Any, codes: Any, shown: Any, shown_codes: Any) -> Any:
    total = 0.0
    for column in range(numbers.size):
        difference = numbers[column] - shown[column]
        total += difference * difference
    for column in range(codes.size):
        if codes[column] != shown_codes[column]:
            total += 1.0
    return total


@inner
def _covers(
    values: Any, cells: Any, low: Any, high: Any, starts: Any, masks: Any, mask_starts: Any, widths: Any
) -> Any:
    for column in range(values.size):
        cell, value = cells[column], values[column]
        if mask_starts[column] >= 0:
            if masks[mask_starts[column] + cell * widths[column] + value] == 0:
                return False
        elif value < low[starts[column] + cell] or value > high[starts[column] + cell]:
            return False
    return True


@compiled
def _count_cover(
    values: Any, numbers: Any, codes: Any, rows: Any, shown: Any, shown_codes: Any, sizes: Any, low: Any, high: Any,
    starts: Any, masks: Any, mask_starts: Any, widths: Any, counts: Any, nearest: Any,
) -> None:  # fmt: skip
    plain = numbers.shape[1] + codes.shape[1] > 0
    inside = np.empty(rows.shape[0], np.int64)
    for person in range(values.shape[0]):
        found = 0
        for row in range(rows.shape[0]):
            if _covers(values[person], rows[row], low, high, starts, masks, mask_starts, widths):
                inside[found] = row
                found += 1
        if found == 0:
            continue
        best = 0.0
        if plain:
            best = np.inf
            for position in range(found):
                row = inside[position]
                best = min(best, _distance(numbers[person], codes[person], shown[row], shown_codes[row]))
        nearest[person] = best
        limit = best * (1 + 2e-9) + 1e-300
        for position in range(found):
            row = inside[position]
            if not plain or _distance(numbers[person], codes[person], shown[row], shown_codes[row]) <= limit:
                counts[person] += sizes[row]


@compiled
def _count_persons(
    values: Any, numbers: Any, codes: Any, rows: Any, shown: Any, shown_codes: Any, begins: Any, persons: Any,
    seen: Any, low: Any, high: Any, starts: Any, masks: Any, mask_starts: Any, widths: Any, counts: Any, nearest: Any,
) -> None:  # fmt: skip
    inside = np.empty(rows.shape[0], np.int64)
    distances = np.empty(rows.shape[0])
    for known in range(values.shape[0]):
        found = 0
        best = np.inf
        for row in range(rows.shape[0]):
            if _covers(values[known], rows[row], low, high, starts, masks, mask_starts, widths):
                distances[found] = _distance(numbers[known], codes[known], shown[row], shown_codes[row])
                best = min(best, distances[found])
                inside[found] = row
                found += 1
        if found == 0:
            continue
        nearest[known] = best
        limit = best * (1 + 2e-9) + 1e-300
        for position in range(found):
            if distances[position] <= limit:
                for place in range(begins[inside[position]], begins[inside[position] + 1]):
                    if seen[persons[place]] != known:
                        seen[persons[place]] = known
                        counts[known] += 1


@compiled
def _assign_cover(
    values: Any, numbers: Any, codes: Any, rows: Any, shown: Any, shown_codes: Any, weights: Any, low: Any, high: Any,
    starts: Any, masks: Any, mask_starts: Any, widths: Any, people: Any, covered: Any,
) -> None:  # fmt: skip
    inside = np.empty(rows.shape[0], np.int64)
    distances = np.empty(rows.shape[0])
    for person in range(values.shape[0]):
        found = 0
        best = np.inf
        for row in range(rows.shape[0]):
            if _covers(values[person], rows[row], low, high, starts, masks, mask_starts, widths):
                distances[found] = _distance(numbers[person], codes[person], shown[row], shown_codes[row])
                best = min(best, distances[found])
                inside[found] = row
                found += 1
        if found == 0:
            continue
        covered[person] = True
        limit = best * (1 + 2e-9) + 1e-300
        equally_near = 0
        for position in range(found):
            equally_near += distances[position] <= limit
        for position in range(found):
            if distances[position] <= limit:
                people[inside[position]] += weights[person] / equally_near
