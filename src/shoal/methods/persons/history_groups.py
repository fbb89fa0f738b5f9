"""Histories: at least k persons with equal released sequences of rows, the number of rows included.

Persons whose rows stay linked are grouped as wholes: a history is one record of slots, and slots are the ranks of the
rows, counted from the last or the first row, or the values of a time column. A slot that not all members of a group
have is suppressed in all of them; no row is invented. Two starts compete: histories of equal length first, where only
rare lengths are cut, and all histories at once, a slot without a row lying at the mean of the table, which is what a
suppressed row costs. Both are improved by passing persons on and exchanging them on the exact cost, and the cheaper is
kept. Last, dynamic programming chooses for each person which of its rows, in order, take the slots of its group.
Cost O(p t s d) per round for p persons, t near groups and s slots.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels, check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.persons.history_moves import HistoryGroups, align_rows, improve_histories, open_histories

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Slots = Literal["last", "first", "time"]

NEAR = 32
"""How many near groups a person may join."""
BLOCK = 1_000
"""Near groups are searched for among about so many."""
ROUNDS = 40
ALIGNMENTS = 8
LEAST = 1e-10


class Histories(NamedTuple):
    """Groups of persons with equal released sequences.

    Parameters
    ----------
    person_groups
        The group of each person, at least k in each.
    slots
        The slot of each row, such that rows of one group and slot are a class; -1 for a row that is suppressed.
    cost
        Squared error of the rows kept and price of the rows suppressed.
    kept
        How many rows are kept.
    scheme
        ``length first`` or ``free lengths``: which of the two was cheaper.
    """

    person_groups: Integers
    slots: Integers
    cost: float
    kept: int
    scheme: str


class _Persons(NamedTuple):
    """Histories as arrays: rows sorted by person and time, and the record of slots of each person."""

    order: Integers
    starts: Integers
    slot_of: Integers
    rows: Floats
    present: Integers


def history_groups(
    points: Floats,
    units: Integers,
    k: int,
    *,
    time: NDArray[np.generic] | None = None,
    slots: Slots = "last",
    suppressed_weight: float = 1.0,
    align: bool = True,
    progress: Progress = SILENT,
) -> Histories:
    """Return groups of at least k persons whose released sequences are equal.

    Parameters
    ----------
    points
        Standardised coordinates of the rows, n x d.
    units
        The person of each row.
    k
        Minimum number of persons with equal sequences.
    time
        What the rows of a person are sorted by; the order of the rows by default, which also decides ties.
    slots
        Slots by rank from the ``last`` or the ``first`` row, or by the value of ``time``.
    suppressed_weight
        What a suppressed row costs, in units of its squared distance to the mean of the table.
    align
        Whether rows are aligned inside each group; not with slots by time.
    progress
        Progress callback.

    Returns
    -------
    histories
        Group of each person, numbered by the first row, and slot of each row.

    Examples
    --------
    >>> points = np.array([[0.0], [1], [0], [1], [8], [0.5], [1.5]])
    >>> found = history_groups(points, np.array([0, 0, 1, 1, 2, 2, 2]), 3, slots="last")
    >>> found.person_groups, found.slots, found.kept
    (array([0, 0, 0]), array([ 0,  1,  0,  1, -1,  0,  1]), 6)
    """
    if slots not in ("last", "first", "time"):
        raise ParameterError(f"slots={slots!r} is not possible; choose last, first or time")
    if not suppressed_weight >= 0.0 or not np.isfinite(suppressed_weight):
        raise ParameterError("suppressed_weight must be a number of at least 0")
    units = canonical_labels(np.asarray(units))
    points = np.ascontiguousarray(points, np.float64)
    if points.ndim != 2 or len(points) != units.size:
        raise DataError(f"{units.size} units for {len(points)} rows; there must be one unit per row")
    check_k(k, int(units.max()) + 1 if units.size else 0)
    points = points - points.mean(axis=0)
    persons = _read(points, units, time, slots)
    least = LEAST * max(float((points**2).mean()), 1e-300)
    found: list[Histories] = []
    for scheme, start in (("length first", _length_first(persons, k)), ("free lengths", _free_lengths(persons, k))):
        progress.stage(f"grouping histories, {scheme}")
        labels = _improved(persons, start, k, suppressed_weight, least)
        chosen = _kept_slots(persons, labels)
        if align and slots != "time":
            chosen = _aligned(persons, labels, chosen, points, suppressed_weight)
        cost = history_cost(points, labels[units], chosen, suppressed_weight)
        found.append(Histories(canonical_labels(labels), chosen, cost, int((chosen >= 0).sum()), scheme))
    return min(found, key=lambda histories: histories.cost)


def slots_of_groups(
    points: Floats,
    units: Integers,
    groups: Integers,
    *,
    time: NDArray[np.generic] | None = None,
    slots: Slots = "last",
    suppressed_weight: float = 1.0,
) -> Integers:
    """Return the slot of each row where the groups of persons are given; -1 for a row that is suppressed.

    Parameters
    ----------
    points, units, time, slots, suppressed_weight
        As in :func:`history_groups`; units are 0, 1, ... by first appearance.
    groups
        The group of each person.

    Examples
    --------
    >>> slots_of_groups(np.array([[0.0], [5], [0], [5], [5]]), np.array([0, 0, 1, 1, 1]), np.array([0, 0]))
    array([ 0,  1,  0,  1, -1])
    """
    points = np.ascontiguousarray(points, np.float64)
    points = points - points.mean(axis=0)
    persons = _read(points, units, time, slots)
    chosen = _kept_slots(persons, groups)
    return chosen if slots == "time" else _aligned(persons, groups, chosen, points, suppressed_weight)


def history_cost(points: Floats, groups: Integers, slots: Integers, suppressed_weight: float = 1.0) -> float:
    """Return the squared error of rows kept around their class, and the price of the rows suppressed.

    Examples
    --------
    >>> history_cost(np.array([[0.0], [2.0], [3.0]]), np.array([0, 0, 0]), np.array([0, 0, -1]))
    11.0
    """
    kept = slots >= 0
    cost = suppressed_weight * float((points[~kept] ** 2).sum())
    if kept.any():
        classes = np.unique(groups[kept] * (int(slots.max()) + 1) + slots[kept], return_inverse=True)[1].reshape(-1)
        first = np.zeros(int(classes.max()) + 1, np.int64)
        first[classes[::-1]] = np.arange(classes.size - 1, -1, -1)
        for j in range(points.shape[1]):
            column = points[kept, j] - points[kept, j][first[classes]]
            means = np.bincount(classes, column) / np.bincount(classes)
            cost += float(((column - means[classes]) ** 2).sum())
    return cost


def _read(points: Floats, units: Integers, time: NDArray[np.generic] | None, slots: str) -> _Persons:
    """Return the rows sorted by person and time, with the slot of each row of the table."""
    n = units.size
    when = np.arange(n) if time is None else np.unique(np.asarray(time), return_inverse=True)[1].reshape(-1)
    order = np.lexsort((np.arange(n), when, units))
    sizes = np.bincount(units)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    rank = np.arange(n) - np.repeat(starts[:-1], sizes)
    if slots == "time":
        if time is None:
            raise ParameterError("slots by time need a time column; name one, or choose slots by rank (last, first)")
        tied = (np.diff(units[order]) == 0) & (np.diff(when[order]) == 0)
        if tied.any():
            raise DataError(
                f"{int(tied.sum())} rows have the same time as another row of their unit, so time does not name slots; "
                "choose slots by rank (last, first) or a finer time column"
            )
        rank = when[order]
    elif slots == "last":
        rank = np.repeat(sizes, sizes) - 1 - rank
    slot_of = np.empty(n, np.int64)
    slot_of[order] = rank
    rows = np.zeros((sizes.size, int(rank.max()) + 1, points.shape[1]))
    rows[units, slot_of] = points
    present = np.zeros(rows.shape[:2], np.int64)
    present[units, slot_of] = 1
    return _Persons(order, starts, slot_of, rows, present)


def _length_first(persons: _Persons, k: int) -> Integers:
    """Return groups of histories with the same slots; those of rare forms join shorter ones that they contain most of.

    Forms are visited from the longest; fewer than k histories are passed on to the next form.
    """
    lengths = persons.present.sum(axis=1)
    forms, form = np.unique(np.column_stack([-lengths, 1 - persons.present]), axis=0, return_inverse=True)
    form = form.reshape(-1)
    by_form = np.split(np.argsort(form, kind="stable"), np.cumsum(np.bincount(form))[:-1])
    pools: list[list[int]] = [[]]
    kept: list[NDArray[np.bool_]] = [np.ones(persons.present.shape[1], bool)]
    for number, members in enumerate(by_form):
        if len(pools[-1]) >= k:
            pools.append([])
            kept.append(np.ones(persons.present.shape[1], bool))
        pools[-1] += members.tolist()
        kept[-1] &= forms[number, 1:] == 0
    if len(pools[-1]) < k and len(pools) > 1:
        rest, common = pools.pop(), kept.pop()
        pools[-1] += rest
        kept[-1] &= common
    labels = np.empty(len(lengths), np.int64)
    count = 0
    for pool, common in zip(pools, kept, strict=True):
        members = np.array(sorted(pool))
        found = _grouped(persons.rows[members][:, common], k)
        labels[members] = count + found
        count += int(found.max()) + 1
    return labels


def _free_lengths(persons: _Persons, k: int) -> Integers:
    """Return groups of all histories, a slot without a row lying at the mean of the table."""
    return _grouped(persons.rows, k)


def _grouped(rows: Floats, k: int) -> Integers:
    """Return groups of k by all coordinates of all slots."""
    from shoal.methods.running import run

    flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
    flat = flat[:, np.flatnonzero(flat.max(axis=0) > flat.min(axis=0))]
    if len(flat) < 2 * k or not flat.shape[1]:
        return np.zeros(len(flat), np.int64)
    return run("ona-star" if len(flat) <= 20_000 else "mona-plus", np.ascontiguousarray(flat), k).labels


def _improved(persons: _Persons, labels: Integers, k: int, price: float, least: float) -> Integers:
    """Return the groups after rounds of changes that lower the cost; near groups are found anew in every round."""
    state = open_histories(persons.rows, persons.present, labels, k)
    costs = np.zeros(state.sizes.size)
    used = int(labels.max()) + 1
    moved = np.empty(labels.size, np.int64)
    for number in range(ROUNDS):
        near = _near_groups(state, used, number)
        changes, used = improve_histories(state, near, costs, used, k, price, least, moved)
        if not changes:
            break
    return np.unique(state.labels, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _near_groups(state: HistoryGroups, used: int, number: int) -> Integers:
    """Return the nearest groups of each group by the means of all slots, searched for in blocks of groups."""
    from scipy.spatial.distance import cdist

    alive = np.flatnonzero(state.sizes[:used])
    near = np.full((used, min(NEAR, max(alive.size - 1, 1))), -1, np.int64)
    if alive.size < 2:
        return near
    means = (state.sums[alive] / state.sizes[alive][:, None, None]).reshape(alive.size, -1)
    blocks = [np.arange(alive.size)]
    if alive.size > 2 * BLOCK:
        cutting = Cutting("pairs" if number % 2 == 0 else "variance", number % means.shape[1])
        blocks = list(cut_into_blocks(means, BLOCK, cutting))
    for block in blocks:
        gaps = cdist(means[block], means[block], "sqeuclidean")
        np.fill_diagonal(gaps, np.inf)
        count = min(near.shape[1], block.size - 1)
        nearest = np.argsort(gaps, axis=1, kind="stable")[:, :count]
        near[alive[block], :count] = alive[block[nearest]]
    return near


def _kept_slots(persons: _Persons, labels: Integers) -> Integers:
    """Return the slot of each row that all members of its group have, and -1 for the others."""
    sizes = np.bincount(labels)
    counts = np.zeros((sizes.size, persons.present.shape[1]), np.int64)
    np.add.at(counts, labels, persons.present)
    groups = np.empty(persons.order.size, np.int64)
    groups[persons.order] = np.repeat(labels, np.diff(persons.starts))
    return np.where(counts[groups, persons.slot_of] == sizes[groups], persons.slot_of, -1)


def _aligned(persons: _Persons, labels: Integers, slots: Integers, points: Floats, price: float) -> Integers:
    """Return the slots after each person's rows have been aligned to the profile of its group, where that costs less.

    Slots are ranks 0, 1, ... in order of time then. The profile is the mean of the rows that take a slot; choosing rows
    and averaging them alternate, so that the cost never rises.
    """
    slots = slots.copy()
    longest = persons.present.shape[1]
    table = np.empty((longest + 1, longest + 1))
    lengths = np.diff(persons.starts)
    for members in np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1]):
        inside = [persons.order[persons.starts[person] : persons.starts[person + 1]] for person in members]
        kept = int((slots[inside[0]] >= 0).sum())
        values = [np.ascontiguousarray(points[rows]) for rows in inside]
        chosen = [np.full(rows.size, -1, np.int64) for rows in inside]
        for rows, numbers in zip(inside, chosen, strict=True):
            numbers[slots[rows] >= 0] = np.arange(kept)
        if kept and (lengths[members] > kept).any():
            for _ in range(ALIGNMENTS):
                profile = np.zeros((kept, points.shape[1]))
                for part, numbers in zip(values, chosen, strict=True):
                    profile += part[numbers >= 0]
                profile /= members.size
                before = [numbers.copy() for numbers in chosen]
                for part, numbers in zip(values, chosen, strict=True):
                    align_rows(part, len(part), profile, kept, price, table, numbers)
                if all(np.array_equal(a, b) for a, b in zip(before, chosen, strict=True)):
                    break
        for rows, numbers in zip(inside, chosen, strict=True):
            slots[rows] = numbers
    return slots
