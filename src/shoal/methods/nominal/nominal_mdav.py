"""What others do with nominal records: MDAV, V-MDAV and k-member clustering.

Described in Cost 2023, section 1.2.2; none of them looks at tables or bounds. They are here to compare with.
Distances are Hamming distances, centres are plurality modes; ties go to the lowest value and the lowest record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, compact
from shoal.errors import ParameterError
from shoal.methods.registry import method


@method(
    "nominal-mdav",
    title="Categories: fixed-size groups around the records farthest from the mode",
    cost="n² m / k",
    guarantee="all groups have k records, but for one or some with up to 2k-1",
    reference="Domingo-Ferrer & Mateo-Sanz 2002; Torra 2004; Cost 2023, sec. 1.2.2",
    when="to compare with",
    data="codes",
    max_size=lambda k: 2 * k - 1,
)
def nominal_mdav(codes: NDArray[np.int32], k: int, *, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group nominal records by MDAV with Hamming distances and plurality modes.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The size of the groups; k to 2k-1 records are left for the last.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> nominal_mdav(np.array([[0, 0], [5, 7], [0, 1], [5, 6]], np.int32), 2)
    array([0, 1, 0, 1])
    """
    check_codes(codes)
    progress.stage("grouping (nominal-mdav)", len(codes))
    state = _Free(codes)
    groups = 0
    while state.count >= 2 * k:
        r = state.farthest(state.mode())
        seeds = [r, state.farthest(codes[r])] if state.count >= 3 * k else [r]
        for seed in seeds:
            if state.labels[seed] >= 0:  # ties have put it into the group of r
                seed = state.farthest(codes[r])
            state.take(state.nearest(codes[seed], k, seed), groups)
            groups += 1
            progress.advance(k)
    state.take(state.rows.copy(), groups)
    return canonical_labels(state.labels)


@method(
    "nominal-v-mdav",
    title="Categories: groups that grow from k to 2k-1 while the next record is close",
    cost="n² m",
    guarantee="groups have at least k records; fewer than k records may enlarge groups of 2k-1",
    reference="Solanas & Martínez-Ballesté 2006; Cost 2023, sec. 1.2.2",
    when="to compare with",
    data="codes",
)
def nominal_v_mdav(
    codes: NDArray[np.int32], k: int, *, gamma: float = 1.0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group nominal records by V-MDAV with Hamming distances and the plurality mode of the table.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The smallest group.
    gamma
        A record joins a group that has k if it is closer to it than ``gamma`` times the distance to its nearest free
        record.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> nominal_v_mdav(np.array([[0, 0], [5, 7], [0, 0], [0, 0], [5, 6]], np.int32), 2)
    array([0, 1, 0, 0, 1])
    """
    check_codes(codes)
    if not gamma >= 0:
        raise ParameterError(f"gamma={gamma} is not possible; choose 0 or more")
    progress.stage("grouping (nominal-v-mdav)", len(codes))
    state = _Free(codes)
    centre = state.mode()
    groups = 0
    while state.count >= k:
        seed = state.farthest(centre)
        members = state.nearest(codes[seed], k, seed)
        state.take(members, groups)
        closest = np.min([state.distances(codes[member]) for member in members], axis=0) if state.count else None
        size = k
        while closest is not None and size < 2 * k - 1 and state.count > 1:
            place = int(closest.argmin())
            row = int(state.rows[place])
            to_others = np.delete(state.distances(codes[row]), place)
            if not closest[place] < gamma * to_others.min():
                break
            state.take(np.array([row]), groups)
            closest = np.minimum(np.delete(closest, place), state.distances(codes[row]))
            size += 1
        groups += 1
        progress.advance(size)
    state.join_nearest_groups()
    return canonical_labels(state.labels)


@method(
    "k-member",
    title="Categories: groups that grow by the record that widens them least",
    cost="n² m",
    guarantee="groups have at least k records; fewer than k records may enlarge them",
    reference="Byun et al. 2007; Cost 2023, sec. 1.2.2",
    when="to compare with",
    data="codes",
)
def k_member(codes: NDArray[np.int32], k: int, *, seed: int = 0, progress: Progress = SILENT) -> NDArray[np.int64]:
    """Group nominal records by k-member clustering, which keeps size times diameter small.

    Parameters
    ----------
    codes
        n x m categories.
    k
        The smallest group.
    seed
        Draws the first record.
    progress
        Hears how many records are grouped.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> k_member(np.array([[0, 0], [5, 7], [0, 1], [5, 6]], np.int32), 2)
    array([0, 1, 0, 1])
    """
    check_codes(codes)
    progress.stage("grouping (k-member)", len(codes))
    state = _Free(codes)
    last = int(np.random.default_rng(seed).integers(len(codes)))
    groups = 0
    while state.count >= k:
        last = state.farthest(codes[last])
        diameter, total = np.zeros(state.count), np.zeros(state.count)
        member = last
        for _ in range(k):
            place = int(np.searchsorted(state.rows, member))
            state.take(np.array([member]), groups)
            diameter, total = np.delete(diameter, place), np.delete(total, place)
            if not state.count:
                break
            distances = state.distances(codes[member])
            diameter, total = np.maximum(diameter, distances), total + distances
            member = int(state.rows[np.lexsort((total, diameter))[0]])
        groups += 1
        progress.advance(k)
    state.join_nearest_groups()
    return canonical_labels(state.labels)


class _Free:
    """The records that no group has yet, in ascending order, and the labels of the others."""

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes = codes
        self.rows = np.arange(len(codes))
        self.labels = np.full(len(codes), -1, np.int64)
        self._small, self._domains = compact(codes)
        self._held = [np.bincount(column) for column in self._small.T]

    @property
    def count(self) -> int:
        return self.rows.size

    def mode(self) -> NDArray[np.int32]:
        """Return the plurality mode of the free records."""
        values = [domain[held.argmax()] for domain, held in zip(self._domains, self._held, strict=True)]
        return np.array(values, np.int32)

    def distances(self, row: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the distances of the free records to a row."""
        found: NDArray[np.int64] = _distances(self.codes, self.rows, row)
        return found

    def farthest(self, row: NDArray[np.int32]) -> int:
        return int(self.rows[self.distances(row).argmax()])

    def nearest(self, row: NDArray[np.int32], count: int, first: int) -> NDArray[np.int64]:
        """Return the records nearest to a row, ``first`` among them."""
        distances = self.distances(row)
        distances[np.searchsorted(self.rows, first)] = -1
        limit = np.partition(distances, count - 1)[count - 1]
        nearer = np.flatnonzero(distances < limit)
        return self.rows[np.append(nearer, np.flatnonzero(distances == limit)[: count - nearer.size])]

    def take(self, rows: NDArray[np.int64], group: int) -> None:
        """Put free records into a group."""
        self.labels[rows] = group
        for column, held in zip(self._small[rows].T, self._held, strict=True):
            np.subtract.at(held, column, 1)
        self.rows = self.rows[self.labels[self.rows] < 0]

    def join_nearest_groups(self) -> None:
        """Put each free record into the group of its nearest record."""
        taken = np.flatnonzero(self.labels >= 0)
        joined = [taken[_distances(self.codes, taken, self.codes[row]).argmin()] for row in self.rows]
        self.labels[self.rows] = self.labels[np.array(joined, np.int64)]
        self.rows = self.rows[:0]


@compiled
def _distances(codes: Any, rows: Any, row: Any) -> Any:
    """Return the Hamming distances of some records to a row."""
    distances = np.zeros(rows.size, np.int64)
    for i in range(rows.size):
        different = 0
        for j in range(row.size):
            if codes[rows[i], j] != row[j]:
                different += 1
        distances[i] = different
    return distances
