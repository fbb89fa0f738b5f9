"""The records that no group has taken yet, and the two searches that grow groups from them.

Records lie column by column (d x n), so that distances to a reference are computed for a block of records at a time and
the compiler can use wide registers without changing the order of any sum: the answer is the same on every machine. A
record that leaves is overwritten by the last one; ``index`` remembers who is who, and ties go to the lowest number.
The sum over the free records is kept exactly (see ``sums``), so its mean does not drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.compiled import compiled
from shoal.methods.kernels.sums import add_exactly

BLOCK = 256


class FreeRecords:
    """The state that the kernels below share, for Python code."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        n, d = points.shape
        self._rows = np.array(points.T, order="C")  # always a copy: taking records changes it
        self._index = np.arange(n)
        self._total = np.zeros(d)
        self._error = np.zeros(d)
        self._count = np.array([n])
        sum_up(self._rows, self._total, self._error)

    @property
    def state(self) -> Any:
        """Rows (d x n), record numbers, sum, its rounding error, count (one element, changed in place)."""
        return self._rows, self._index, self._total, self._error, self._count

    @property
    def count(self) -> int:
        """How many records are free."""
        return int(self._count[0])

    def records(self) -> NDArray[np.int64]:
        """Return the numbers of the free records."""
        return self._index[: self.count]


@compiled
def sum_up(rows: Any, total: Any, error: Any) -> None:
    """Fill the exact sum of each attribute."""
    for j in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            add_exactly(total, error, j, rows[j, i])


@compiled
def block_distances(rows: Any, start: int, stop: int, reference: Any, out: Any) -> None:
    """Write squared distances of the records start..stop-1 to the reference into ``out``."""
    for i in range(stop - start):
        out[i] = 0.0
    for j in range(rows.shape[0]):
        centre = reference[j]
        row = rows[j, start:stop]
        for i in range(stop - start):
            difference = row[i] - centre
            out[i] += difference * difference


@compiled
def farthest(rows: Any, index: Any, m: int, reference: Any) -> int:
    """Return the place of the free record farthest from the reference."""
    out = np.empty(BLOCK)
    best = -1
    longest = -1.0
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        block_distances(rows, start, stop, reference, out)
        for i in range(stop - start):
            if out[i] > longest or (out[i] == longest and index[start + i] < index[best]):
                longest = out[i]
                best = start + i
    return best


@compiled
def nearest_and_farthest(rows: Any, index: Any, m: int, reference: Any, k: int) -> Any:
    """Return the places of the k free records nearest to the reference, and of the farthest one.

    The nearest are kept in a heap whose root is the worst of them; most records fail against the root at once.
    """
    out = np.empty(BLOCK)
    distance = np.full(k, np.inf)
    number = np.full(k, np.iinfo(np.int64).max)
    place = np.full(k, -1)
    last = -1
    longest = -1.0
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        block_distances(rows, start, stop, reference, out)
        for i in range(stop - start):
            d = out[i]
            who = index[start + i]
            if d < distance[0] or (d == distance[0] and who < number[0]):
                _replace_root(distance, number, place, d, who, start + i)
            if d > longest or (d == longest and who < index[last]):
                longest = d
                last = start + i
    return place, last


@compiled
def _replace_root(distance: Any, number: Any, place: Any, d: float, who: int, where: int) -> None:
    """Put a better record in the place of the worst and restore the heap."""
    size = distance.size
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            distance[other] > distance[child] or (distance[other] == distance[child] and number[other] > number[child])
        ):
            child = other
        if distance[child] < d or (distance[child] == d and number[child] < who):
            break
        distance[hole] = distance[child]
        number[hole] = number[child]
        place[hole] = place[child]
        hole = child
    distance[hole] = d
    number[hole] = who
    place[hole] = where


@compiled
def take(rows: Any, index: Any, total: Any, error: Any, count: Any, group: Any, labels: Any, label: int) -> None:
    """Give the label to the records at these places and remove them from the free ones."""
    for i in range(group.size):
        labels[index[group[i]]] = label
    places = np.sort(group)
    m = count[0]
    for i in range(places.size - 1, -1, -1):  # from the back, so that what moves in is always free
        hole = places[i]
        m -= 1
        for j in range(rows.shape[0]):
            add_exactly(total, error, j, -rows[j, hole])
            rows[j, hole] = rows[j, m]
        index[hole] = index[m]
    count[0] = m
