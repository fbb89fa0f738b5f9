"""Requirements on confidential attributes in groups of persons with equal sequences of rows.

Every person has one row in each class of such a group (its slots), so that rows and persons are counted alike there. A
person is then a record of all of its slots: the coordinates of all rows beside each other, and one confidential value
per slot and attribute, each with the same requirement. Persons whose groups keep the same slots form a pool, in which
the price of :mod:`shoal.methods.persons.rising_price` and its enforcement satisfy all requirements. A pool that
violates one even as a single group gives up slots and joins another pool; all is measured again after that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.flow.encoding import Floats
from shoal.flow.person_requirements import unmet
from shoal.flow.prepare import Integers
from shoal.flow.satisfy import satisfied_by_price
from shoal.privacy.confidential import Values
from shoal.privacy.person_joins import PersonRequirements
from shoal.privacy.person_values import person_totals
from shoal.schema.requirements import TOLERANCE, Requirements

ReadValues = Callable[[Integers], tuple[Values, ...]]
"""Returns the confidential attributes of some rows of the table."""


@dataclass(frozen=True, eq=False)
class HistoryRows:
    """The rows of persons who are grouped by their sequences.

    Parameters
    ----------
    units
        The person of each row, 0, 1, ...
    blocks
        The block of each row, which no group crosses; all rows of a person are in one.
    groups
        The group of each row's person.
    slots
        The slot of each row in its group, -1 where it is suppressed.
    last
        Whether slots are given up from the first one on, since ranks are counted from the last row.
    by_time
        Whether slots are times, so that equal numbers are the same slot in every group.
    """

    units: Integers
    blocks: Integers
    groups: Integers
    slots: Integers
    last: bool = True
    by_time: bool = False

    def classes(self) -> tuple[Integers, Integers]:
        """Return the rows that are kept, and the class of each: its group and slot."""
        kept = np.flatnonzero(self.slots >= 0)
        width = int(self.slots.max(initial=0)) + 1
        return kept, canonical_labels(self.groups[kept] * width + self.slots[kept])


def histories_satisfied(
    points: Floats,
    rows: HistoryRows,
    requirements: Requirements,
    read: ReadValues,
    k: int,
    *,
    progress: Progress = SILENT,
) -> HistoryRows:
    """Return groups of persons whose classes satisfy every requirement, near the given ones.

    Parameters
    ----------
    points
        The coordinates of all rows.
    rows
        Groups of at least k persons.
    requirements
        What is requested.
    read
        Reads the confidential attributes of rows; distributions are compared with those of the rows that are kept.
    k
        The smallest number of persons in a group.
    progress
        Progress callback.

    Raises
    ------
    RequirementNotMet
        Where all persons of a block in one group violate a requirement.
    """
    while True:
        kept, classes = rows.classes()
        if not kept.size:
            return rows
        rule = _rule(rows, kept, requirements, read)
        violating = rule.violation(classes) > 0
        if not violating.any():
            return rows
        progress.stage("satisfying requirements of histories", int(violating.sum()))
        pools = _pools(rows, kept)
        groups, impossible = rows.groups.copy(), []
        for pool in np.unique(pools[violating[classes]]):
            inside = np.flatnonzero(pools == pool)
            found = _satisfied_pool(points, rows, kept, inside, rule, k, progress)
            if found is None:
                impossible.append(int(pool))
            else:
                of_unit = np.full(int(rows.units.max()) + 1, -1, np.int64)
                of_unit[rows.units[kept[inside]]] = found + int(groups.max()) + 1
                groups = np.where(of_unit[rows.units] >= 0, of_unit[rows.units], groups)
        rows = replace(rows, groups=canonical_labels(groups))
        if impossible:
            rows = _with_fewer_slots(rows, kept, pools, impossible[0], rule)
            continue
        problem = rule.violated(rows.classes()[1])
        if problem is not None:
            raise unmet(*problem)
        return rows


def _rule(rows: HistoryRows, kept: Integers, requirements: Requirements, read: ReadValues) -> PersonRequirements:
    """Return the requirements on the rows that are kept."""
    return PersonRequirements(requirements, canonical_labels(rows.units[kept]), read(kept))


def _pools(rows: HistoryRows, kept: Integers) -> Integers:
    """Return the pool of each row that is kept: its block and the slots that its person keeps."""
    order = np.lexsort((rows.slots[kept], rows.units[kept]))
    units, counts = np.unique(rows.units[kept], return_counts=True)
    parts = np.split(rows.slots[kept][order], np.cumsum(counts)[:-1])
    block_of = np.empty(int(rows.units.max()) + 1, np.int64)
    block_of[rows.units] = rows.blocks
    numbers: dict[tuple[int, bytes], int] = {}
    found = [
        numbers.setdefault((int(block_of[unit]), part.tobytes()), len(numbers))
        for unit, part in zip(units.tolist(), parts, strict=True)
    ]
    pool_of = np.empty(int(rows.units.max()) + 1, np.int64)
    pool_of[units] = found
    pools: Integers = pool_of[rows.units[kept]]
    return pools


def _satisfied_pool(  # noqa: PLR0917 - what the groups depend on
    points: Floats, rows: HistoryRows, kept: Integers, inside: Integers, rule: PersonRequirements, k: int,
    progress: Progress,
) -> Integers | None:  # fmt: skip
    """Return a group for each of the rows ``kept[inside]`` such that all classes satisfy the requirements.

    None where even one group of all persons of the pool violates one.
    """
    from shoal.core.requirement_violation import no_requirements
    from shoal.methods.persons.rising_price import Constraints
    from shoal.privacy.enforcement import count_violating
    from shoal.privacy.requirement_table import build_requirement_table

    order = np.lexsort((rows.slots[kept[inside]], rows.units[kept[inside]]))
    chosen = kept[inside[order]]
    persons = np.unique(rows.units[chosen])
    slots = chosen.size // persons.size
    totals = [person_totals(rule.units, column.codes, column.n_values) for column in rule.columns]
    values = [
        replace(column, codes=column.codes[inside[order]].reshape(-1, slots)[:, slot].copy(), totals=total)
        for slot in range(slots)
        for column, total in zip(rule.columns, totals, strict=True)
    ]
    table = build_requirement_table(rule.requirements, values) if values else no_requirements()
    every = [value.codes for value in values]
    codes = np.ascontiguousarray(np.column_stack(every)) if every else np.zeros((persons.size, 0), np.int64)
    size = k if rule.requirements.max_share is None else max(k, math.ceil(1 / rule.requirements.max_share - TOLERANCE))
    if persons.size < size or (values and count_violating(np.zeros(persons.size, np.int64), codes, table)):
        return None
    flat = np.ascontiguousarray(points[chosen].reshape(persons.size, -1))
    start = canonical_labels(rows.groups[chosen].reshape(-1, slots)[:, 0])
    found = satisfied_by_price(flat, start, Constraints(size, None, codes, table), codes, table, progress)
    labels = np.empty(int(rows.units.max()) + 1, np.int64)
    labels[persons] = canonical_labels(found.labels)
    return np.asarray(labels[rows.units[kept[inside]]])


def _with_fewer_slots(
    rows: HistoryRows, kept: Integers, pools: Integers, pool: int, rule: PersonRequirements
) -> HistoryRows:
    """Return groups in which a pool has given up slots, so that it shares those of another pool of its block.

    The other pool is the one with which the fewest rows are lost; it may have to give up slots as well.
    """
    slots_of = {number: np.unique(rows.slots[kept[pools == number]]) for number in np.unique(pools).tolist()}
    block_of = {number: int(rows.blocks[kept[np.argmax(pools == number)]]) for number in slots_of}
    persons = {number: int((pools == number).sum()) // slots_of[number].size for number in slots_of}
    others = [number for number in slots_of if number != pool and block_of[number] == block_of[pool]]

    def lost(number: int) -> int:
        common = _common(slots_of[pool], slots_of[number], by_time=rows.by_time).size
        return sum(persons[each] * (slots_of[each].size - common) for each in (pool, number))

    if not others:
        raise unmet(*_violated_together(rows, kept, pools == pool, rule))
    other = min(others, key=lambda number: (lost(number), number))
    common = _common(slots_of[pool], slots_of[other], by_time=rows.by_time)
    slots = rows.slots.copy()
    for number in (pool, other):
        given_up = slots_of[number].size - common.size
        mine = kept[pools == number]
        if rows.by_time:
            slots[mine[~np.isin(slots[mine], common)]] = -1
        elif rows.last:
            slots[mine] = np.where(slots[mine] < given_up, -1, slots[mine] - given_up)
        else:
            slots[mine] = np.where(slots[mine] >= common.size, -1, slots[mine])
    return replace(rows, slots=slots)


def _common(one: Integers, two: Integers, *, by_time: bool) -> Integers:
    """Return the slots that two pools can share: equal times, or as many ranks as the shorter one has."""
    return np.intersect1d(one, two) if by_time else np.arange(min(one.size, two.size))


def _violated_together(
    rows: HistoryRows, kept: Integers, inside: NDArray[np.bool_], rule: PersonRequirements
) -> tuple[str, str, float, float]:
    """Return which requirement all persons of a pool violate in one group."""
    labels = canonical_labels(np.where(inside, rows.slots[kept], int(rows.slots.max()) + 1))
    violated = rule.violated(labels) or rule.violated(rows.classes()[1])
    assert violated is not None
    return violated
