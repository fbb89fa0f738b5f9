"""The search for one level of generalisation per column: exact for lattices of up to 100,000 nodes.

A node of the lattice is a level for each column; its classes are the records with equal generalised rows, and records
in classes below k are suppressed, up to a limit. A node needs no more suppression than any node below it, so what lies
above an admissible node is admissible, and what lies below one that is not is not (Kohlmayer et al. 2012). The loss of
a node is at least its loss without suppression, which is known without counting. Nodes are visited by this bound: from
a node of unknown state a chain is followed upwards, by bisection, to the first admissible node; nodes whose bound
reaches the best loss are never counted. What is found then is the best node (El Emam et al. 2009). Larger lattices are
searched from the top by a beam of the 1,000 best nodes of each height, and the result is not proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.kernels.level_classes import small_classes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Node = tuple[int, ...]
MOST_NODES = 100_000
"""The largest lattice that is searched exactly."""
BEAM = 1_000
"""The number of nodes of each height that are kept in larger lattices."""
_OPEN, _ADMISSIBLE, _NOT = 0, 1, 2
_EPSILON = 1e-12


@dataclass(frozen=True, eq=False)
class ColumnLevels:
    """The nodes above each leaf of a column, level by level.

    Parameters
    ----------
    nodes
        levels x leaves: the leaf itself, then the node above it on each level, last the root.
    penalties
        levels x leaves: the share of the values that the node represents; 0 for a value itself.
    """

    nodes: Integers
    penalties: Floats


@dataclass(frozen=True)
class LevelChoice:
    """The levels that were found.

    Parameters
    ----------
    levels
        The level of each column; None if no node is admissible.
    loss
        Mean penalty over all cells, 1 for a suppressed one.
    suppressed
        The number of suppressed records.
    nodes, checked
        The number of nodes of the lattice, and of those that were counted.
    proven
        Whether no other admissible node has less loss.
    least_suppressed
        The smallest number of suppressed records at the top, where no node is admissible.
    """

    levels: Node | None
    loss: float
    suppressed: int
    nodes: int
    checked: int
    proven: bool
    least_suppressed: int = 0


def search_levels(
    leaves: NDArray[np.int32],
    counts: Integers,
    columns: Sequence[ColumnLevels],
    k: int,
    *,
    limit: int = 0,
    whole: bool = True,
    progress: Progress = SILENT,
) -> LevelChoice:
    """Return the level of each column with the least loss.

    Parameters
    ----------
    leaves, counts
        The different records as leaves of the trees (rows x columns), and how often each occurs.
    columns
        The trees.
    k
        Minimum size of a class.
    limit
        The most records that may be suppressed.
    whole
        Whether suppressed records must be none or at least k, so that they are a class of at least k themselves.
    progress
        Progress callback.

    Examples
    --------
    >>> sex = ColumnLevels(np.array([[0, 1], [2, 2]]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search_levels(np.array([[0], [1]], np.int32), np.array([5, 1]), [sex], 2).levels
    (1,)
    """
    lattice = _Lattice(leaves, counts, columns, k, limit, whole)
    progress.stage("searching levels", None)
    return lattice.exact() if lattice.nodes <= MOST_NODES else lattice.beam()


class _Lattice:
    """The lattice of levels, with what was counted so far."""

    def __init__(
        self, leaves: NDArray[np.int32], counts: Integers, columns: Sequence[ColumnLevels], k: int, limit: int,
        whole: bool,
    ) -> None:  # fmt: skip
        self.leaves, self.counts = np.ascontiguousarray(leaves), np.ascontiguousarray(counts, np.int64)
        self.k, self.limit, self.whole = k, limit, whole
        self.records = int(counts.sum())
        self.shape = tuple(len(column.nodes) for column in columns)
        self.nodes = int(np.prod([float(size) for size in self.shape]))
        self.words = np.concatenate([_words(column.nodes, number) for number, column in enumerate(columns)])
        self.penalties = np.concatenate([column.penalties.ravel() for column in columns])
        first = np.concatenate([[0], np.cumsum([column.nodes.size for column in columns])[:-1]])
        self.starts = [
            first[number] + np.arange(len(column.nodes)) * column.nodes.shape[1]
            for number, column in enumerate(columns)
        ]
        # the sum of the penalties of a column on each level, over all records
        self.column_sums = [
            np.array([float((column.penalties[level][leaves[:, number]] * counts).sum()) for level in range(size)])
            for number, (column, size) in enumerate(zip(columns, self.shape, strict=True))
        ]
        slots = 1 << max(4, int(2 * len(leaves) - 1).bit_length())
        self.table, self.totals = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
        self.found: dict[Node, tuple[int, float]] = {}
        self.best: tuple[float, int, Node] | None = None

    def bound(self, node: Node) -> float:
        """Return the loss of a node without suppression."""
        total = sum(float(sums[level]) for sums, level in zip(self.column_sums, node, strict=True))
        return total / (self.records * len(node))

    def counted(self, node: Node) -> tuple[int, float]:
        """Return the number of suppressed records of a node, and its loss; a better node is kept."""
        if node not in self.found:
            starts = np.array([starts[level] for starts, level in zip(self.starts, node, strict=True)], np.int64)
            small, penalty = small_classes(
                self.leaves, self.counts, starts, self.words, self.penalties, self.k, self.table, self.totals
            )
            total = self.records * len(node)
            loss = self.bound(node) + (int(small) * len(node) - float(penalty)) / total
            self.found[node] = int(small), loss
            usable = small <= self.limit and not (self.whole and 0 < small < self.k)
            if usable and (self.best is None or self._better(loss, node)):
                self.best = loss, sum(node), node
        return self.found[node]

    def _better(self, loss: float, node: Node) -> bool:
        assert self.best is not None
        if abs(loss - self.best[0]) > _EPSILON:
            return loss < self.best[0]
        return (sum(node), node) < self.best[1:]

    def exact(self) -> LevelChoice:
        """Search all nodes by their bounds."""
        totals = np.zeros(self.shape)
        for axis, sums in enumerate(self.column_sums):
            totals += sums.reshape([-1 if place == axis else 1 for place in range(len(self.shape))])
        bounds = (totals / (self.records * len(self.shape))).ravel()
        state = np.full(self.shape, _OPEN, np.int8)
        for flat in np.argsort(bounds, kind="stable"):
            if self.best is not None and bounds[flat] > self.best[0] + _EPSILON:
                break
            node = tuple(int(level) for level in np.unravel_index(flat, self.shape))
            if state[node] == _OPEN:
                self._classify(node, state)
            if state[node] == _ADMISSIBLE:
                self.counted(node)
        return self._choice(proven=True)

    def _classify(self, node: Node, state: NDArray[np.int8]) -> None:
        """Find the first admissible node of a chain upwards, and mark what follows from it."""
        chain = self._chain(node)
        low, high = 0, len(chain)  # chain[high:] is admissible, chain[:low] is not
        while low < high:
            middle = (low + high) // 2
            known = state[chain[middle]]
            admissible = self.counted(chain[middle])[0] <= self.limit if known == _OPEN else known == _ADMISSIBLE
            if admissible:
                high = middle
            else:
                low = middle + 1
        if high < len(chain):
            state[tuple(slice(level, None) for level in chain[high])] = _ADMISSIBLE
        if low > 0:
            state[tuple(slice(0, level + 1) for level in chain[low - 1])] = _NOT

    def _chain(self, node: Node) -> list[Node]:
        """Return nodes from one to the top; each step raises the level that adds least to the bound."""
        chain = [node]
        levels = list(node)
        while True:
            steps = [
                (float(sums[level + 1] - sums[level]), column)
                for column, (sums, level) in enumerate(zip(self.column_sums, levels, strict=True))
                if level + 1 < len(sums)
            ]
            if not steps:
                return chain
            levels[min(steps)[1]] += 1
            chain.append(tuple(levels))

    def beam(self) -> LevelChoice:
        """Search from the top downwards, with the best nodes of each height only."""
        top = tuple(size - 1 for size in self.shape)
        self.counted(top)
        nodes: Iterable[Node] = [top]
        while nodes:
            below = {
                (*node[:column], level - 1, *node[column + 1 :])
                for node in nodes
                for column, level in enumerate(node)
                if level
            }
            losses = [(self.counted(node)[1], sum(node), node) for node in sorted(below)]
            allowed = [entry for entry in losses if self.found[entry[2]][0] <= self.limit]
            nodes = [entry[2] for entry in sorted(allowed)[:BEAM]]
        return self._choice(proven=False)

    def _choice(self, *, proven: bool) -> LevelChoice:
        top = tuple(size - 1 for size in self.shape)
        least = self.counted(top)[0]
        if self.best is None:
            return LevelChoice(None, 1.0, least, self.nodes, len(self.found), proven, least)
        loss, _, node = self.best
        return LevelChoice(node, loss, self.found[node][0], self.nodes, len(self.found), proven)


def _words(nodes: Integers, column: int) -> NDArray[np.uint64]:
    """Return a random word for each node of a column, laid out like its nodes."""
    salt = np.uint64((column + 1) * 0x632BE59BD9B4E019 % 2**64)
    with np.errstate(over="ignore"):
        words = nodes.astype(np.uint64).ravel() + salt
        for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
        return words ^ (words >> np.uint64(31))
