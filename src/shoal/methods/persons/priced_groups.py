"""The groups of a block while violations of requirements have a price: who is where, and what each group lacks.

What a group lacks is a number of records: the units that are missing to k, and for requirements on confidential
attributes about as many records as must change (``shoal.core.requirement_violation.violation_amount``). Units are
counted by a counter for each group; how many rows of a unit are in a group is found by scanning the shorter of both
lists (``unit_row_moves``). Without units every row is a unit of its own. Values are counted for each group where they
are few (``group_tallies``); otherwise the sorted values of a group are read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner
from shoal.core.requirement_violation import RequirementTable, replaced_values, sort_values, violation_amount
from shoal.methods.persons.group_tallies import GroupTallies, count_group, counted_amount_after, open_tallies
from shoal.methods.persons.unit_row_moves import enter, renew

NEAR = 16
"""How many near groups a row may join."""
OWN_PLACE, TRIAL_PLACE = NEAR, NEAR + 1
"""Where the sorted values of a row's own group and of any group for a moment are kept, behind those of near groups."""
PARTNERS = 8
"""Of a near group, so many rows are considered for an exchange: those that lower the squared error most."""


class PricedGroups(NamedTuple):
    """The groups of a block, with the names of ``unit_row_moves.RowGroups`` where the content is the same.

    Parameters
    ----------
    points, weights, units
        Coordinates, weight (1) and unit of each row; units are numbered within the block.
    unit_starts, unit_rows
        The rows of each unit.
    labels
        The group of each row.
    head, following, previous
        The members of each group as a chain.
    counts
        Rows and units of each group.
    totals, centroids
        Weight and centroid of each group.
    stamps
        For each unit a scratch counter.
    codes, table
        The values that requirements are about, n x columns, and the requirements; both may be empty.
    amounts
        What each group lacks for these requirements.
    tallies
        How many rows of each group have which values; without sets where there are too many values.
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    units: NDArray[np.int64]
    unit_starts: NDArray[np.int64]
    unit_rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    head: NDArray[np.int64]
    following: NDArray[np.int64]
    previous: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.float64]
    centroids: NDArray[np.float64]
    stamps: NDArray[np.int64]
    codes: NDArray[np.int64]
    table: RequirementTable
    amounts: NDArray[np.float64]
    tallies: GroupTallies


class PriceScratch(NamedTuple):
    """Work arrays: rows along a line, gains of cuts, sorted values of two groups and of a trial, partners of a row."""

    keys: NDArray[np.float64]
    order: NDArray[np.int64]
    units_before: NDArray[np.int64]
    sums: NDArray[np.float64]
    gains: NDArray[np.float64]
    values: NDArray[np.int64]
    trial: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    loaded: NDArray[np.int64]
    between: NDArray[np.float64]
    partner_gains: NDArray[np.float64]
    partners: NDArray[np.int64]
    partner_changes: NDArray[np.float64]
    partner_known: NDArray[np.bool_]


class Limits(NamedTuple):
    """What the moves of a round observe.

    Parameters
    ----------
    k
        The units that each group needs.
    smallest, largest
        The rows that a group keeps when one is passed on, and those that it may have.
    price
        The price of each record that a group lacks.
    least
        The gain up to which a change may be a rounding error.
    step
        By how much one row can lower what a group lacks for requirements on confidential attributes.
    every
        Whether rows of groups that lack nothing are exchanged too; such a group is otherwise found by those that do.
    """

    k: int
    smallest: int
    largest: int
    price: float
    least: float
    step: float
    every: bool


def open_groups(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    units: NDArray[np.int64],
    codes: NDArray[np.int64],
    table: RequirementTable,
    capacity: int,
) -> tuple[PricedGroups, PriceScratch]:
    """Return the state of given groups, with the capacity for that many, and its work arrays."""
    n, d = points.shape
    count = int(units.max()) + 1
    state = PricedGroups(
        points, np.ones(n), units, np.concatenate([[0], np.cumsum(np.bincount(units, minlength=count))]),
        np.argsort(units, kind="stable"), np.full(n, -1, np.int64), np.full(capacity, -1, np.int64),
        np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros((capacity, 2), np.int64), np.zeros(capacity),
        np.zeros((capacity, d)), np.zeros(count, np.int64), codes, table, np.zeros(capacity),
        open_tallies(table, capacity),
    )  # fmt: skip
    width = n + 1 if codes.shape[1] else 1
    scratch = PriceScratch(
        np.empty(n), np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty((3, d)), np.empty(n),
        np.empty((NEAR + 2, codes.shape[1], width), np.int64), np.empty((codes.shape[1], width), np.int64),
        np.empty(width, np.int64), np.full(NEAR + 2, -1, np.int64), np.empty(d), np.empty(PARTNERS),
        np.empty(PARTNERS, np.int64), np.empty(PARTNERS), np.zeros(PARTNERS, np.bool_),
    )  # fmt: skip
    fill_groups(state, scratch, labels)
    return state, scratch


@compiled(allocates=False)
def fill_groups(state: Any, scratch: Any, labels: Any) -> None:
    """Enter every row into its group, and count what the groups lack."""
    for r in range(labels.size - 1, -1, -1):  # chains begin with the row that entered last
        enter(state, r, labels[r])
    for g in range(state.counts.shape[0]):
        if state.counts[g, 0] > 0:
            renew(state, g)
            renew_amount(state, scratch, g)


@inner
def load_values(state: Any, scratch: Any, g: int, place: int) -> None:
    """Write the sorted values of a group into a place of the scratch array, unless they are there."""
    if scratch.loaded[place] == g:
        return
    target = scratch.values[place]
    for column in range(state.codes.shape[1]):
        size = 0
        r = state.head[g]
        while r >= 0:
            target[column, size] = state.codes[r, column]
            size += 1
            r = state.following[r]
        sort_values(target[column], size)
    scratch.loaded[place] = g


@inner
def renew_amount(state: Any, scratch: Any, g: int) -> None:
    """Compute what a group lacks for the requirements, and drop its values from the scratch array."""
    if len(state.table.rows) == 0:
        return
    if state.tallies.counts.shape[1] > 0:
        state.amounts[g] = count_group(state, g)
        return
    for place in range(scratch.loaded.size):
        if scratch.loaded[place] == g:
            scratch.loaded[place] = -1
    if state.counts[g, 0] == 0:
        state.amounts[g] = 0.0
        return
    load_values(state, scratch, g, TRIAL_PLACE)
    state.amounts[g] = violation_amount(
        scratch.values[TRIAL_PLACE], state.counts[g, 0], state.table, scratch.frequencies
    )
    scratch.loaded[TRIAL_PLACE] = -1


@inner
def amount_after(state: Any, scratch: Any, g: int, place: int, old: int, new: int) -> float:
    """Return what a group would lack for the requirements if a row left (-1: none) and another came (-1: none)."""
    if state.tallies.counts.shape[1] > 0:
        return counted_amount_after(state, g, old, new)
    load_values(state, scratch, g, place)
    size = replaced_values(scratch.values[place], state.counts[g, 0], state.codes, old, new, scratch.trial)
    return violation_amount(scratch.trial, size, state.table, scratch.frequencies)


@inner
def missing_units(state: Any, g: int, k: int) -> int:
    """Return how many units a group lacks."""
    return max(0, k - state.counts[g, 1])


@compiled(allocates=False)
def count_lacking(state: Any, k: int, lacking: Any) -> int:
    """Write for each group whether it lacks anything; return the number of those that do."""
    found = 0
    for g in range(state.counts.shape[0]):
        lacks = state.counts[g, 0] > 0 and (state.counts[g, 1] < k or state.amounts[g] > 0.0)
        lacking[g] = lacks
        if lacks:
            found += 1
    return found
