"""Confidential values in each leaf: leaves are joined with their neighbours until every one can satisfy l and t.

The values of a leaf are the mixture of those of its groups, and every distance that t, alpha and beta use is convex, so
a leaf whose own distribution violates a requirement has a group that violates it. Such a leaf is protected together
with the leaf beside it, which the same cut separated or a cut near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.engines.cut_tree import CutTree, Integers
from shoal.engines.partition import ROOT, Partition
from shoal.flow.satisfy import confidential_values
from shoal.privacy.assessment import NAMES, assess_column
from shoal.privacy.confidential import Values
from shoal.privacy.counts import Counts
from shoal.schema.columns import Role
from shoal.tables import Table


@dataclass(eq=False)
class LeafValues:
    """How often each confidential value occurs in each leaf.

    Parameters
    ----------
    partition
        The leaves.
    counts
        For each confidential attribute one row for each leaf.
    columns
        The attributes, as the last part had them.
    """

    partition: Partition
    counts: list[Integers]
    columns: tuple[Values, ...] = ()

    @classmethod
    def of(cls, partition: Partition) -> LeafValues | None:
        """Return empty counts; None where no requirement is about confidential values, or there is one leaf."""
        if not partition.plan.requirements.beyond_k or partition.tree.leaves == 1:
            return None
        return cls(partition, [])

    def add(self, part: Table, leaves: Integers) -> None:
        """Count the values of a part."""
        schema, requirements = self.partition.plan.schema, self.partition.plan.requirements
        named = [schema[name] for name in schema.named(Role.CONFIDENTIAL)]
        _, self.columns = confidential_values(part, named, requirements, self.partition.encoding.confidential)
        if not self.counts:
            shape = self.partition.tree.leaves
            self.counts = [np.zeros((shape, column.n_values), np.int64) for column in self.columns]
        for counts, column in zip(self.counts, self.columns, strict=True):
            known = column.codes >= 0
            np.add.at(counts, (leaves[known], column.codes[known]), 1)

    def join(self, counts: Sequence[Integers], part: Table) -> None:
        """Add counts of other rows; ``part`` holds rows of the same table, for the types of its columns."""
        schema, requirements = self.partition.plan.schema, self.partition.plan.requirements
        named = [schema[name] for name in schema.named(Role.CONFIDENTIAL)]
        _, self.columns = confidential_values(part, named, requirements, self.partition.encoding.confidential)
        before = self.counts or [np.zeros_like(found) for found in counts]
        self.counts = [one + other for one, other in zip(before, counts, strict=True)]

    def joined(self, records: Integers) -> list[tuple[int, ...]]:
        """Return the sets of leaves that are protected together, where that is more than one."""
        found: list[tuple[int, ...]] = []
        for leaves in trees_of(self.partition):
            sets: list[list[int]] = []
            open_set: list[int] = []
            for leaf in leaves:
                if records[leaf]:
                    open_set.append(leaf)
                    if self._enough(open_set):
                        sets.append(open_set)
                        open_set = []
            if open_set:
                sets = [*sets[:-1], [*sets[-1], *open_set]] if sets else [open_set]
            found += [tuple(part) for part in sets if len(part) > 1]
        return found

    def _enough(self, leaves: Sequence[int]) -> bool:
        """Return whether one group of all rows of some leaves would satisfy the requirements."""
        requirements = self.partition.plan.requirements
        for counts, column in zip(self.counts, self.columns, strict=True):
            inside = counts[list(leaves)].sum(axis=0)
            value = np.flatnonzero(inside)
            zeros = np.zeros(value.size, np.int64)
            sizes = np.array([inside.sum()])
            found = Counts(zeros, value, inside[value], sizes, counts.sum(axis=0), np.zeros(1, np.int64))
            measured = assess_column(column.compared(found), column.distance, l=requirements.recursive_l)
            figures = {name: getattr(measured, name) for name in NAMES}
            if not all(holds for _, _, holds in requirements.achieved_by(figures).values()):
                return False
        return True


def trees_of(partition: Partition) -> list[list[int]]:
    """Return the leaves of each tree from left to right; leaves of different strata are never joined."""
    roots = partition.prefixes[ROOT].unique().sort().to_list()
    return [leaves_below(partition.tree, int(root)) for root in roots]


def leaves_below(tree: CutTree, root: int) -> list[int]:
    """Return the leaves below a cut, from left to right."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node < 0:
            found.append(~node)
        else:
            waiting += [int(tree.right[node]), int(tree.left[node])]
    return found
