"""Columns that are constant within an owner (a person, a household) stay constant: nested groups.

Groups of whole owners give one value to the constant columns; inside each, groups of rows with at least k units give
one value to the varying columns. A group of owners whose units have n_u rows admits G row groups if and only if the sum
of min(n_u, G) is at least k G, so small groups of owners lose the varying columns and large ones the constant columns.
Which size is right differs within one table. Therefore a tree over the owners is cut down to k units, the rows are
grouped inside all nodes of a level at once, and the tree is pruned from the leaves: a node is kept whole where it costs
no more than its best parts. The result is compared with groups of k owners by constant columns and means of varying
ones, and the cheaper is kept. Cost O(n d) per level beside the search of near groups, which nodes of at most 256 k
owners bound; larger nodes are never groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels, check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.methods.kernels.centroids import gain_tolerance
from shoal.methods.persons.owner_tree import OwnerTree, cut_owners
from shoal.methods.persons.unit_row_moves import group_nodes, open_row_groups

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

Violates = Callable[[Integers, Integers], NDArray[np.bool_]]
"""Rows of the table and their groups 0, 1, ... without gaps; returns which groups violate a requirement."""

LARGEST = 256
"""A node of the tree has at most so many times k owners."""
MANY_OWNERS = 50_000
"""With more owners, groups of k owners are formed by a method for large tables."""
ROUNDS, FINAL_ROUNDS = 6, 20


class NestedGroups(NamedTuple):
    """Groups of owners, and groups of rows nested in them.

    Parameters
    ----------
    owner_groups
        The group of each owner: its constant columns are released as one value.
    row_groups
        The group of each row, nested in the groups of owners, with at least k units: the classes of the release.
    constant_cost, varying_cost
        Squared error of the constant and of the varying coordinates.
    weighting
        ``rows`` (every row counts the same) or ``persons`` (every owner does, its rows share its weight).
    scheme
        ``tree`` or ``fixed size``: which of the two was cheaper.
    """

    owner_groups: Integers
    row_groups: Integers
    constant_cost: float
    varying_cost: float
    weighting: str
    scheme: str

    @property
    def cost(self) -> float:
        """Squared error of all coordinates."""
        return self.constant_cost + self.varying_cost


class _Rows(NamedTuple):
    """The table as arrays: one row of ``constant`` per owner, everything else per row or per owner as said."""

    constant: Floats
    varying: Floats
    owners: Integers
    units: Integers
    weights: Floats
    owner_weights: Floats
    starts: Integers
    by_owner: Integers
    k: int


def most_row_groups(rows: Integers, k: int) -> int:
    """Return into how many groups of k units the rows of units with so many rows can be divided.

    Parameters
    ----------
    rows
        The number of rows of each unit.
    k
        Minimum number of units in a group.

    Returns
    -------
    count
        The largest G for which the sum of min(rows, G) is at least k G.

    Examples
    --------
    >>> most_row_groups(np.array([5, 4, 1]), 3), most_row_groups(np.array([2, 2]), 2)
    (1, 2)
    """
    low, high = 0, int(rows.sum()) // k
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(rows, middle).sum()) >= k * middle:
            low = middle
        else:
            high = middle - 1
    return low


def person_groups(
    constant: Floats,
    varying: Floats,
    units: Integers,
    k: int,
    *,
    owners: Integers | None = None,
    weighting: Literal["rows", "persons"] = "rows",
    violates: Violates | None = None,
    progress: Progress = SILENT,
) -> NestedGroups:
    """Return groups of owners and of rows such that constant columns stay constant in all rows of an owner.

    Parameters
    ----------
    constant
        Standardised coordinates of the columns that are constant within owners, n x c.
    varying
        Standardised coordinates of the other columns, n x v; v may be 0.
    units
        The unit of each row that k counts.
    k
        Minimum number of different units in every class.
    owners
        Within what the columns are constant, such as households; the units themselves by default.
    weighting
        Whether the squared error is summed over rows, or over owners (each row counts one part of its owner's rows).
    violates
        Returns which groups of given rows violate a requirement on confidential attributes. A group of owners whose
        rows violate one all together is avoided, since no class inside it could be a last resort.
    progress
        Progress callback.

    Returns
    -------
    groups
        Groups of owners and of rows; a row group lies inside one group of owners and has at least k units.

    Examples
    --------
    >>> units = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> constant = np.array([[0.0], [0], [0], [0], [9], [9], [9], [9]])
    >>> varying = np.array([[1.0], [5], [1], [5], [1], [5], [1], [5]])
    >>> found = person_groups(constant, varying, units, 2)
    >>> found.owner_groups, found.row_groups, found.cost
    (array([0, 0, 1, 1]), array([0, 1, 0, 1, 2, 3, 2, 3]), 0.0)
    """
    if weighting not in ("rows", "persons"):
        raise ParameterError(f"weighting={weighting!r} is not possible; choose rows or persons")
    table = _read(constant, varying, units, units if owners is None else owners, k, weighting)
    if not table.owners.size:
        raise DataError("there are no rows to group")
    progress.stage("grouping persons, tree")
    given = np.arange(len(table.constant))
    by_tree, along_tree = _by_tree(table, violates)
    chosen = [("tree", by_tree, [given, along_tree, given[::-1]]), ("fixed size", _by_fixed_size(table), [given])]
    results = []
    for scheme, groups, orders in chosen:
        progress.stage(f"grouping rows inside groups of persons, {scheme}")
        rows, varying_cost = _rows_inside(table, groups, orders)
        cost = _constant_cost(table, groups)
        found = NestedGroups(canonical_labels(groups), rows, cost, varying_cost, weighting, scheme)
        results.append((_count_violating(table, found.owner_groups, violates), found))
    return min(results, key=lambda result: (result[0], result[1].cost))[1]


def _count_violating(table: _Rows, groups: Integers, violates: Violates | None) -> int:
    """Return how many groups of owners violate a requirement if all of their rows are one class."""
    if violates is None:
        return 0
    return int(violates(np.arange(table.owners.size), groups[table.owners]).sum())


def _read(constant: Floats, varying: Floats, units: Integers, owners: Integers, k: int, weighting: str) -> _Rows:
    """Return the table with owners and units numbered by first appearance; raise for what cannot be grouped."""
    units, owners = canonical_labels(np.asarray(units)), canonical_labels(np.asarray(owners))
    n = units.size
    if len(constant) != n or len(varying) != n or owners.size != n:
        raise DataError(f"{n} units for {len(constant)} and {len(varying)} rows; there must be one unit per row")
    check_k(k, max(int(units.max()) + 1, 1) if n else 0)
    by_owner = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    values = np.ascontiguousarray(constant[by_owner[starts[:-1]]], np.float64)
    if not np.array_equal(constant, values[owners]):
        raise DataError("a column to be kept constant has several values in one unit; do not name it as constant")
    shares = np.ones(n) if weighting == "rows" else 1.0 / sizes[owners]
    weights = sizes.astype(np.float64) if weighting == "rows" else np.ones(sizes.size)
    points = np.ascontiguousarray(varying, np.float64)
    if points.shape[1]:
        points = points - points.mean(axis=0)
    return _Rows(values, points, owners, units, shares, weights, starts, by_owner, k)


def _by_tree(table: _Rows, violates: Violates | None = None) -> tuple[Integers, Integers]:
    """Return the group of each owner, and the owners in the order of the tree.

    Groups are the nodes that remain when the tree is pruned from the leaves.
    """
    owners = len(table.constant)
    counts = np.diff(table.starts)
    means = np.add.reduceat(table.varying[table.by_owner], table.starts[:-1]) / counts[:, None]
    tree = cut_owners(
        table.constant, means, table.owner_weights, (table.starts, table.units[table.by_owner]), table.k,
        LARGEST * table.k,
    )  # fmt: skip
    own = _costs_of_nodes(table, tree, violates)
    best = own.copy()
    for node in range(len(own) - 1, -1, -1):
        child = tree.children[node]
        if child >= 0:
            best[node] = min(own[node], best[child] + best[child + 1])
    labels = np.empty(owners, np.int64)
    waiting, number = [0], 0
    while waiting:
        node = waiting.pop()
        child = int(tree.children[node])
        if child >= 0 and best[node] < own[node]:
            waiting += [child + 1, child]
        else:
            labels[tree.order[tree.starts[node] : tree.stops[node]]] = number
            number += 1
    return labels, tree.order


def _costs_of_nodes(table: _Rows, tree: OwnerTree, violates: Violates | None) -> Floats:
    """Return the cost of every node as one group of owners; infinite for nodes that are too large.

    A node whose rows violate a requirement all together costs more than any grouping, so that few of them are taken.
    """
    own = np.full(tree.starts.size, np.inf)
    above_all = 1.0 + 4.0 * float((table.constant**2).sum() * table.owner_weights.max() + (table.varying**2).sum())
    sizes = tree.stops - tree.starts
    possible = (sizes <= LARGEST * table.k) | (tree.children < 0)
    for depth in range(int(tree.depths.max()) + 1):
        nodes = np.flatnonzero((tree.depths == depth) & possible)
        if not nodes.size:
            continue
        inside = [tree.order[tree.starts[node] : tree.stops[node]] for node in nodes]
        members = np.concatenate(inside)
        which = np.repeat(np.arange(nodes.size), sizes[nodes])
        labels, costs = _group_rows(table, members, which, ROUNDS)
        own[nodes] = costs + _weighted_errors(table.constant[members], table.owner_weights[members], which)
        if violates is not None:
            node_of = np.empty(len(table.constant), np.int64)
            node_of[members] = which
            rows = np.flatnonzero(labels >= 0)
            own[nodes] += above_all * violates(rows, node_of[table.owners[rows]])
    return own


def _by_fixed_size(table: _Rows) -> Integers:
    """Return groups of k owners by constant columns and means of varying ones, each with k units."""
    from shoal.methods.running import run

    counts = np.diff(table.starts)
    means = np.add.reduceat(table.varying[table.by_owner], table.starts[:-1]) / counts[:, None]
    points = np.ascontiguousarray(np.column_stack([table.constant, means]))
    owners = len(points)
    if owners < 2 * table.k:
        return np.zeros(owners, np.int64)
    labels = run("ona-star" if owners <= MANY_OWNERS else "mona-plus", points, table.k).labels
    return _with_enough_units(table, labels)


def _with_enough_units(table: _Rows, labels: Integers) -> Integers:
    """Return the groups of owners, or one group of all where one has fewer than k units.

    Owners that are units always have enough; k persons may belong to fewer than k households.
    """
    groups = labels[table.owners]
    pairs = np.unique(np.column_stack([groups, table.units]), axis=0)
    counts = np.bincount(pairs[:, 0])
    if int(counts.min()) >= table.k:
        return labels
    return np.zeros_like(labels)


def _rows_inside(table: _Rows, groups: Integers, orders: list[Integers]) -> tuple[Integers, float]:
    """Return row groups inside groups of owners, numbered by first appearance, and their cost.

    The search visits rows in order, and ends differently for different orders: each group of owners keeps the cheapest.
    """
    of_rows = groups[table.owners]
    best = np.full(int(groups.max()) + 1, np.inf)
    labels = np.zeros(table.owners.size, np.int64)
    for owners in orders:
        order = owners[np.argsort(groups[owners], kind="stable")]
        found, costs = _group_rows(table, order, groups[order], FINAL_ROUNDS)
        better = costs < best
        rows = better[of_rows]
        labels[rows] = found[rows] + (int(labels.max()) + 1)  # no label of another search has these numbers
        best = np.where(better, costs, best)
    return canonical_labels(labels), float(best.sum())


def _group_rows(table: _Rows, members: Integers, which: Integers, rounds: int) -> tuple[Integers, Floats]:
    """Return groups of the rows of some owners inside given nodes, and the cost of each node.

    ``members`` are owners node after node, ``which`` their nodes. The label of a row whose owner is not among them is
    -1.
    """
    counts = np.diff(table.starts)[members]
    total = int(counts.sum())
    offsets = np.repeat(table.starts[:-1][members] - (np.cumsum(counts) - counts), counts)
    rows = table.by_owner[offsets + np.arange(total)]
    node = np.repeat(which, counts)
    nodes = int(which[-1]) + 1
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(node, minlength=nodes))])
    keys = node * (int(table.units.max()) + 1) + table.units[rows]
    units = np.unique(keys, return_inverse=True)[1].astype(np.int64).reshape(-1)
    points = np.ascontiguousarray(table.varying[rows])
    state, scratch = open_row_groups(points, table.weights[rows], units, total // table.k + nodes + 1)
    costs = np.zeros(nodes)
    least = gain_tolerance(points) if points.shape[1] else 0.0
    group_nodes(state, scratch, bounds, costs, table.k, least, rounds)
    labels = np.full(table.owners.size, -1, np.int64)
    labels[rows] = state.labels
    return labels, costs


def _constant_cost(table: _Rows, groups: Integers) -> float:
    order = np.argsort(groups, kind="stable")
    return float(_weighted_errors(table.constant[order], table.owner_weights[order], groups[order]).sum())


def _weighted_errors(points: Floats, weights: Floats, which: Integers) -> Floats:
    """Return the weighted squared error of each group; ``which`` is ascending from 0 without gaps."""
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    sizes = np.diff(starts, append=which.size)
    relative = points - np.repeat(points[starts], sizes, axis=0)
    total = np.add.reduceat(weights, starts)
    means = np.add.reduceat(relative * weights[:, None], starts) / total[:, None]
    squares = ((relative - np.repeat(means, sizes, axis=0)) ** 2).sum(axis=1)
    return np.asarray(np.add.reduceat(squares * weights, starts))
