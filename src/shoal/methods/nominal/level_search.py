"""The search for one level of generalisation per column: exact for lattices of up to 100,000 nodes.

A node of the lattice is a level for each column; its classes are the records of a block with equal generalised rows,
and records in classes below k, or in classes that violate a further requirement, are suppressed, up to a limit. With k
alone a node needs no more suppression than any node below it, so what lies above an admissible node is admissible, and
what lies below one that is not is not (Kohlmayer et al. 2012). The loss of a node is at least its loss without
suppression, which is known without counting. Nodes are visited by this bound: from a node of unknown state a chain is
followed upwards, by bisection, to the first admissible node; nodes whose bound reaches the best loss are never counted.
What is found then is the best node (El Emam et al. 2009). Larger lattices are searched from the top by a beam of the
1,000 best nodes of each height, and the result is not proven.

Further requirements prune as k does where a class satisfies them as soon as a part of it does: different persons,
different values. Those on frequencies hold for a class if they hold for all of its parts; without suppression they
prune, too. With it a class that satisfies t can be spoilt by a part that does not, and more records are suppressed
above than below: then k alone decides which nodes are left out, and each other node is checked whose loss, with records
in classes below k suppressed, is less than the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

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
MOST_CHECKED_ROWS = 1_000_000_000
"""The largest product of nodes and records that is searched exactly where requirements do not prune."""
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
    suppressed
        What a suppressed cell costs, by leaf; 1 if not given.
    """

    nodes: Integers
    penalties: Floats
    suppressed: Floats | None = None


@dataclass(frozen=True, eq=False)
class RowRule:
    """What classes must satisfy besides k records, for different records.

    Parameters
    ----------
    blocks
        The block of each different record, 0, 1, ...; no class has records of two blocks.
    violating
        Returns for each class, from the class of each different record, whether it violates a requirement; None where
        there is none beside k records.
    joined
        As in :class:`shoal.methods.contract.ClassRule`.
    """

    blocks: Integers
    violating: Callable[[Integers], NDArray[np.bool_]] | None = None
    joined: Literal["either", "both", "never"] = "either"


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
    rule: RowRule | None = None,
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
        Whether the suppressed records of each block must be none, or a class that satisfies all requirements itself.
    rule
        Blocks, and requirements besides k records.
    progress
        Progress callback.

    Examples
    --------
    >>> sex = ColumnLevels(np.array([[0, 1], [2, 2]]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search_levels(np.array([[0], [1]], np.int32), np.array([5, 1]), [sex], 2).levels
    (1,)
    """
    rule = rule or RowRule(np.zeros(len(leaves), np.int64))
    lattice = _Lattice(leaves, counts, columns, k, limit, whole, rule)
    progress.stage("searching levels", None)
    return lattice.exact() if lattice.small_enough else lattice.beam()


class _Lattice:
    """The lattice of levels, with what was counted so far."""

    def __init__(
        self, leaves: NDArray[np.int32], counts: Integers, columns: Sequence[ColumnLevels], k: int, limit: int,
        whole: bool, rule: RowRule,
    ) -> None:  # fmt: skip
        self.counts = np.ascontiguousarray(counts, np.int64)
        self.k, self.limit, self.whole, self.rule = k, limit, whole, rule
        self.records = int(counts.sum())
        self.shape = tuple(len(column.nodes) for column in columns)
        self.nodes = int(np.prod([float(size) for size in self.shape]))
        # the block is a last column with one level that costs nothing
        self.block_count = blocks = int(rule.blocks.max(initial=0)) + 1
        self.leaves = np.ascontiguousarray(np.column_stack([leaves, rule.blocks]).astype(np.int32))
        words = [_words(column.nodes, number) for number, column in enumerate(columns)]
        self.words = np.concatenate([*words, _words(np.arange(blocks), len(columns))])
        added = [
            ((1.0 if column.suppressed is None else column.suppressed) - column.penalties).ravel() for column in columns
        ]
        self.added = np.concatenate([*added, np.zeros(blocks)])
        first = np.concatenate([[0], np.cumsum([column.nodes.size for column in columns])])
        self.starts = [
            first[number] + np.arange(len(column.nodes)) * column.nodes.shape[1]
            for number, column in enumerate(columns)
        ]
        self.block_start = int(first[-1])
        # the sum of the penalties of a column on each level, over all records
        self.column_sums = [
            np.array([float((column.penalties[level][leaves[:, number]] * counts).sum()) for level in range(size)])
            for number, (column, size) in enumerate(zip(columns, self.shape, strict=True))
        ]
        slots = 1 << max(4, int(2 * len(leaves) - 1).bit_length())
        self.table, self.totals = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
        self.found: dict[Node, tuple[int, float]] = {}
        self.checked: dict[Node, tuple[int, float]] = {}
        self.best: tuple[float, int, Node] | None = None

    @property
    def small_enough(self) -> bool:
        """Whether all nodes can be searched."""
        return self.nodes <= MOST_NODES and (self.prunes or self.nodes * self.records <= MOST_CHECKED_ROWS)

    @property
    def prunes(self) -> bool:
        """Whether all requirements together leave out what lies below a node that is not admissible."""
        if self.rule.violating is None or self.rule.joined == "either":
            return True
        return self.limit == 0 and self.rule.joined == "both"

    def bound(self, node: Node) -> float:
        """Return the loss of a node without suppression."""
        total = sum(float(sums[level]) for sums, level in zip(self.column_sums, node, strict=True))
        return total / (self.records * len(node))

    def counted(self, node: Node) -> tuple[int, float]:
        """Return how many records of a node are in classes below k, and its loss if these are suppressed."""
        if node not in self.found:
            small, cost = small_classes(
                self.leaves, self.counts, self._starts(node), self.words, self.added, self.k, self.table, self.totals
            )
            self.found[node] = int(small), self.bound(node) + float(cost) / (self.records * len(node))
        return self.found[node]

    def measured(self, node: Node) -> tuple[int, float]:
        """Return how many records of a node are suppressed, and its loss; a better node is kept."""
        if node not in self.checked:
            small, loss = self.counted(node)
            usable = small <= self.limit
            if self.rule.violating is not None or (usable and small and self.block_count > 1):
                small, loss, alike = self._classes(node)
                usable = small <= self.limit and alike
            elif self.whole and 0 < small < self.k:
                usable = False
            self.checked[node] = small, loss
            if usable and (self.best is None or self._better(loss, node)):
                self.best = loss, sum(node), node
        return self.checked[node]

    def _classes(self, node: Node) -> tuple[int, float, bool]:
        """Return the suppressed records, the loss, and whether the suppressed records are classes that satisfy all."""
        places = self._starts(node)[None, :] + self.leaves
        with np.errstate(over="ignore"):
            keys = self.words[places].sum(axis=1, dtype=np.uint64)
        classes = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
        gone = self._unsatisfied(classes)[classes]
        cost = float((self.counts[gone] * self.added[places[gone]].sum(axis=1)).sum())
        alike = True
        if self.whole and gone.any():
            together = np.where(gone, classes.max() + 1 + self.rule.blocks, classes)
            together = np.unique(together, return_inverse=True)[1].reshape(-1).astype(np.int64)
            alike = not self._unsatisfied(together)[together[gone]].any()
        loss = self.bound(node) + cost / (self.records * len(node))
        return int(self.counts[gone].sum()), loss, alike

    def _unsatisfied(self, classes: Integers) -> NDArray[np.bool_]:
        """Return for each class whether it has fewer than k records or violates a requirement."""
        small = np.bincount(classes, self.counts) < self.k
        return small if self.rule.violating is None else small | self.rule.violating(classes)

    def _starts(self, node: Node) -> Integers:
        starts = [starts[level] for starts, level in zip(self.starts, node, strict=True)]
        return np.array([*starts, self.block_start], np.int64)

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
            if state[node] == _ADMISSIBLE and self._promising(node):
                self.measured(node)
        return self._choice(proven=True)

    def _promising(self, node: Node) -> bool:
        """Return whether the loss of a node, with no more records suppressed than k asks for, can be the best one."""
        return self.best is None or self.counted(node)[1] <= self.best[0] + _EPSILON

    def _classify(self, node: Node, state: NDArray[np.int8]) -> None:
        """Find the first admissible node of a chain upwards, and mark what follows from it."""
        suppressed = self.measured if self.prunes else self.counted
        chain = self._chain(node)
        low, high = 0, len(chain)  # chain[high:] is admissible, chain[:low] is not
        while low < high:
            middle = (low + high) // 2
            known = state[chain[middle]]
            admissible = suppressed(chain[middle])[0] <= self.limit if known == _OPEN else known == _ADMISSIBLE
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
        self.measured(top)
        nodes: Iterable[Node] = [top]
        while nodes:
            below = {
                (*node[:column], level - 1, *node[column + 1 :])
                for node in nodes
                for column, level in enumerate(node)
                if level
            }
            losses = [(self.measured(node)[1], sum(node), node) for node in sorted(below)]
            allowed = [entry for entry in losses if self.checked[entry[2]][0] <= self.limit]
            nodes = [entry[2] for entry in sorted(allowed)[:BEAM]]
        return self._choice(proven=False)

    def _choice(self, *, proven: bool) -> LevelChoice:
        top = tuple(size - 1 for size in self.shape)
        least = self.measured(top)[0]
        if self.best is None:
            return LevelChoice(None, 1.0, least, self.nodes, len(self.found), proven, least)
        loss, _, node = self.best
        return LevelChoice(node, loss, self.checked[node][0], self.nodes, len(self.found), proven)


def _words(nodes: Integers, column: int) -> NDArray[np.uint64]:
    """Return a random word for each node of a column, laid out like its nodes."""
    salt = np.uint64((column + 1) * 0x632BE59BD9B4E019 % 2**64)
    with np.errstate(over="ignore"):
        words = nodes.astype(np.uint64).ravel() + salt
        for factor, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
        return words ^ (words >> np.uint64(31))
