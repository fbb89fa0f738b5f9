"""A table of numbers and categories with the cost of each column, as the exact search reads it.

The cost of a grouping is the loss that is reported for it, times the weights of the columns: the squared error of
numbers to what replaces them, and one for each category that is replaced by another one. Missing cells cost nothing of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.components import joint_components
from shoal.methods.contract import MIXED_DISTANCE, ColumnCost
from shoal.methods.kernels.mixed_costs import MEANS, recount
from shoal.methods.kernels.mixed_lists import most_frequent
from shoal.methods.kernels.special_costs import (
    HIERARCHY,
    LOWER_MEDIAN,
    MAXIMUM,
    MEAN,
    MEDIAN,
    MIDRANGE,
    MINIMUM,
    MODE,
    SET,
    SUPPRESSED,
    SUPPRESSED_NUMBER,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GROUPS_AT_ONCE = 20_000
_OF_NUMBERS = {
    "median": MEDIAN, "range": MIDRANGE, "midrange": MIDRANGE, "min": MINIMUM, "max": MAXIMUM,
    "suppress": SUPPRESSED_NUMBER,
}  # fmt: skip
_OF_CODES = {"suppress": SUPPRESSED, "set": SET, "hierarchy": HIERARCHY}


class MixedTable(NamedTuple):
    """Records with the costs of their columns; the arrays are described in ``mixed_costs`` and ``special_costs``."""

    rows: Floats
    prices: Floats
    shape: tuple[int, int, int, int]
    number_costs: Integers
    code_costs: Integers
    ancestors: Integers
    options: Floats
    observed: NDArray[np.bool_] | None = None
    emptied: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self.rows)

    @property
    def numbers(self) -> Floats:
        """The numbers, n x d."""
        return self.rows[:, 1 : 1 + self.shape[0]]

    @property
    def codes(self) -> Integers:
        """The categories, n x m, in each column 0, 1, ... without gaps."""
        return self.rows[:, 1 + self.shape[0] :].astype(np.int64)

    @property
    def width(self) -> int:
        """The number of coordinates of a record if each category has one of its own."""
        return self.shape[0] + int((self.rows[:, 1 + self.shape[0] :].max(axis=0, initial=0.0) + 1).sum())

    def part(self, records: Integers) -> MixedTable:
        """Return some of the records."""
        observed = None if self.observed is None else np.ascontiguousarray(self.observed[records])
        return self._replace(rows=np.ascontiguousarray(self.rows[records]), observed=observed)

    def points(self) -> Floats:
        """Return coordinates in which different categories are as far apart as they cost.

        A missing category of a column that is filled lies between all categories; one of a column that is emptied in
        mixed groups is a category of its own, and such numbers have a further coordinate.
        """
        parts = [self.numbers]
        for j, (codes, price) in enumerate(zip(self.codes.T, self.prices.tolist(), strict=True), self.shape[0]):
            block = np.zeros((self.n, int(codes.max(initial=0)) + 1))
            known = np.arange(self.n)
            if self.observed is not None and self.emptied is not None and not self.emptied[j]:
                known = np.flatnonzero(self.observed[:, j])
            block[known, codes[known]] = np.sqrt(price / 2)
            parts.append(block)
        if self.observed is not None and self.emptied is not None:
            apart = np.flatnonzero(self.emptied[: self.shape[0]])
            parts.append(MIXED_DISTANCE**0.5 * ~self.observed[:, apart])
        return np.hstack(parts)

    def known_coordinates(self) -> NDArray[np.bool_] | None:
        """Return which coordinates of :meth:`points` are known; those of columns that are emptied count as known."""
        if self.observed is None or self.emptied is None:
            return None
        known = self.observed | self.emptied
        widths = [1] * self.shape[0] + [int(codes.max(initial=0)) + 1 for codes in self.codes.T]
        apart = np.ones((self.n, int(self.emptied[: self.shape[0]].sum())), bool)
        return np.hstack([np.repeat(known, widths, axis=1), apart])

    def special(self, members: Integers, sizes: Integers) -> tuple[Any, ...] | None:
        """Return what the costs of special columns need; None if there are none."""
        d, m, means, modes = self.shape
        if (means, modes) == (d, m):
            return None
        longest = members.shape[1] + 1
        partial = None if self.observed is None else (self.observed, self.emptied, np.zeros(longest, np.int64))
        return (
            members, sizes, self.number_costs, self.code_costs, self.ancestors, self.options, np.zeros((longest, 2)),
            np.zeros(longest, np.int64), partial,
        )  # fmt: skip

    def state(self, rows: int, largest: int) -> tuple[Floats, Floats]:
        """Return empty arrays for the summary and the lists of groups."""
        d, m = self.shape[:2]
        return np.zeros((rows, MEANS + d + m)), np.zeros((rows, m, 2 * largest + 3))


def mixed_table(
    mixed: Floats,
    nominal: NDArray[np.bool_] | None = None,
    *,
    column_weights: Floats | None = None,
    record_weights: Floats | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    observed: NDArray[np.bool_] | None = None,
) -> MixedTable:
    """Return a table with the cost of each column.

    Parameters
    ----------
    mixed
        One column per attribute: standardised numbers, or codes of categories.
    nominal
        Which columns hold codes; None for none.
    column_weights
        Weight of each column. Numbers are expected to be scaled by it already.
    record_weights
        Sampling weight of each record.
    column_costs
        What replaces the values of each column; None for means and modes. A medoid counts as a mean or a mode.
    observed
        Which cells are known; None for all. The others hold any value, by which groups near a group are found.

    Examples
    --------
    >>> table = mixed_table(np.array([[0.5, 7], [1.5, 9]]), np.array([False, True]))
    >>> table.rows.tolist(), table.shape
    ([[1.0, 0.5, 0.0], [1.0, 1.5, 1.0]], (1, 1, 1, 1))
    """
    n, q = mixed.shape
    coded = np.zeros(q, bool) if nominal is None else np.asarray(nominal, bool)
    costs = [ColumnCost("mode" if code else "mean") for code in coded] if column_costs is None else column_costs
    weights = np.ones(q) if column_weights is None else np.asarray(column_weights, np.float64)
    kinds = np.array([_kind(cost, code=bool(code)) for cost, code in zip(costs, coded, strict=True)], np.int64)
    partial: NDArray[np.bool_] = np.zeros(q, bool) if observed is None else np.logical_not(observed.all(axis=0))
    special: NDArray[np.bool_] = np.logical_or(kinds > 0, partial)
    order = np.lexsort((special, coded))  # numbers before codes, means and modes of complete columns first
    numbers, codes = order[~coded[order]], order[coded[order]]
    rows = np.ones((n, 1 + q))
    if record_weights is not None:
        rows[:, 0] = record_weights / np.mean(record_weights)
    levels = max((len(costs[j].ancestors) for j in codes if kinds[j] == HIERARCHY), default=1)
    present = [np.unique(mixed[:, j], return_inverse=True) for j in codes]
    most = max((values.size for values, _ in present), default=1)
    ancestors, options = np.full((max(len(codes), 1), levels, most), -1), np.ones((max(len(codes), 1), levels, most))
    for p, j in enumerate(numbers, 1):
        rows[:, p] = mixed[:, j]
    for p, (j, (values, inverse)) in enumerate(zip(codes, present, strict=True)):
        rows[:, 1 + numbers.size + p] = inverse.reshape(-1)
        if kinds[j] == HIERARCHY:
            _fill_levels(costs[j], values.astype(np.int64), ancestors[p], options[p])
    shape = int(numbers.size), int(codes.size), int((~special[numbers]).sum()), int((~special[codes]).sum())
    table = MixedTable(rows, weights[codes].copy(), shape, kinds[numbers], kinds[codes], ancestors, options)
    if observed is None or not partial.any():
        return table
    emptied = np.array([cost.emptied for cost in costs])[order] & partial[order]
    return table._replace(observed=np.ascontiguousarray(observed[:, order]), emptied=emptied)


def _kind(cost: ColumnCost, *, code: bool) -> int:
    if code:
        kind = _OF_CODES.get(cost.recode, MODE)
        without_tree = cost.ancestors is None or not cost.ancestors.shape[1]  # or a tree for a column without values
        return MODE if kind == HIERARCHY and without_tree else kind
    kind = _OF_NUMBERS.get(cost.recode, MEAN)
    return LOWER_MEDIAN if kind == MEDIAN and cost.ordinal else kind


def _fill_levels(cost: ColumnCost, values: Integers, ancestors: Integers, options: Floats) -> None:
    """Write the nodes above the categories that occur.

    A missing category, which is negative or follows the last one of the tree, is under the root only.
    """
    assert cost.ancestors is not None
    assert cost.options is not None
    last = len(cost.ancestors) - 1
    known = (values >= 0) & (values < cost.ancestors.shape[1])
    for level in range(len(ancestors)):
        from_level = min(level, last)
        ancestors[level, : values.size][known] = cost.ancestors[from_level, values[known]]
        options[level, : values.size][known] = cost.options[from_level, values[known]]
    if not known.all():
        ancestors[-1, : values.size][~known] = cost.ancestors[last, 0]
        options[-1, : values.size][~known] = cost.options[last, 0]


class GroupFigures(NamedTuple):
    """The cost, the means of the numbers and the most frequent categories (columns x groups) of each group."""

    costs: Floats
    means: Floats
    modes: NDArray[np.int32]


def group_figures(table: MixedTable, labels: Integers) -> GroupFigures:
    """Return the figures of each group, computed from its records.

    Examples
    --------
    >>> table = mixed_table(np.array([[0.0, 3], [2.0, 3], [4.0, 5]]), np.array([False, True]))
    >>> group_figures(table, np.array([0, 0, 0])).costs
    array([9.])
    """
    parts = list(_figures(table, labels))
    return GroupFigures(
        np.concatenate([part.costs for part in parts]),
        np.concatenate([part.means for part in parts]),
        np.concatenate([part.modes for part in parts], axis=1),
    )


def _figures(table: MixedTable, labels: Integers) -> Iterator[GroupFigures]:
    """Return the figures of some groups at a time, which bounds memory."""
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    d = table.shape[0]
    for first in range(0, sizes.size, GROUPS_AT_ONCE):
        some = sizes[first : first + GROUPS_AT_ONCE]
        records = order[starts[first] : starts[first + some.size]]
        longest = int(some.max())
        members = np.zeros((some.size, longest + 1), np.int64)
        members[np.arange(longest + 1) < some[:, None]] = records
        state, costs = table.state(some.size, longest), np.zeros(some.size)
        recount(table.rows, table.prices, table.shape, table.special(members, some), *state, members, some, costs)
        modes = np.zeros((table.shape[1], some.size), np.int32)
        most_frequent(state[1], np.arange(some.size), modes)
        yield GroupFigures(costs, state[0][:, MEANS : MEANS + d], modes)


def exact_crossover(table: MixedTable, first: Integers, second: Integers) -> Integers:
    """Return the cheaper groups of two groupings, where they divide the same records; on a tie the first.

    The result costs at most as much as each of the two (see ``crossover``).

    Examples
    --------
    >>> table = mixed_table(np.array([[0.0], [9.0], [1.0], [8.0]]))
    >>> exact_crossover(table, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    array([0, 1, 0, 1])
    """
    components = joint_components(first, second)
    count = int(components[0].max()) + 1
    costs = [
        np.bincount(component, group_figures(table, labels).costs, count)
        for component, labels in zip(components, (first, second), strict=True)
    ]
    take = (costs[1] < costs[0])[components[0][first]]
    return np.unique(np.where(take, int(first.max()) + 1 + second, first), return_inverse=True)[1].reshape(-1)
