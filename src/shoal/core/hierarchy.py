"""Hierarchies: trees in which every value of a column is a leaf and every node above represents all values below it.

Thaeter 2021, Def. 3.5: leaves are single values, the root represents all of them. A group of records is generalised to
the *closest common ancestor* of its values (Def. 3.6). ``size`` of a node is the number of leaves below it, 0 for a
leaf; ``height`` is the longest way down to a leaf. Values are compared as text, so that a tree from a file fits columns
of any type. Trees from files and from the values of a column are in ``shoal.schema``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.text import text_of
from shoal.errors import SchemaError

ROOT = "*"
MOST_LEVELS = 1_000
"""Levels of a hierarchy from a value to the root; the cost of generalising grows with them."""


class Hierarchy:
    """A tree over the values of a column.

    Nodes are numbered; the first :attr:`n_leaves` are the leaves, the last is the root.

    Parameters
    ----------
    paths
        For each value the value itself and its ancestors, nearest first, as in a row of a hierarchy file. Equal labels
        above values are one node; a label that repeats the one before it counts once; paths that end in different
        labels get a common root ``*``.

    Examples
    --------
    >>> jobs = Hierarchy([("baker", "craft"), ("painter", "craft"), ("dentist", "medicine"), ("surgeon", "medicine")])
    >>> jobs.cca(["baker", "painter"]), jobs.cca(["baker", "surgeon"]), jobs.cca(["baker"])
    ('craft', '*', 'baker')
    >>> jobs.size("craft"), jobs.size("baker"), jobs.size("*"), jobs.height("*")
    (2, 0, 4, 2)
    """

    labels: tuple[str, ...]
    """The label of each node."""
    parents: NDArray[np.int64]
    """The parent of each node; the root is its own parent."""
    n_leaves: int
    """The number of leaves."""

    def __init__(self, paths: Iterable[Sequence[str]]) -> None:
        self.labels, self.parents, self.n_leaves = _build(_texts(paths))
        self.parents.flags.writeable = False

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any] | Sequence[Any]) -> Hierarchy:
        """Return the tree of nested mappings and lists, as in a schema file.

        Examples
        --------
        >>> places = Hierarchy.from_nested({"Europe": {"north": ["Oslo", "Turku"], "south": ["Rome"]}, "Asia": ["Hue"]})
        >>> places.cca(["Oslo", "Turku"]), places.cca(["Oslo", "Rome"]), places.cca(["Oslo", "Hue"])
        ('north', 'Europe', '*')
        """
        if isinstance(tree, str | bytes) or not isinstance(tree, Mapping | Sequence):
            raise SchemaError(f"a nested hierarchy is made of mappings and lists, not of {type(tree).__name__}")
        return cls(_nested_paths(tree))

    def paths(self) -> list[list[str]]:
        """Return for each value the value itself and its ancestors, nearest first; builds the same tree again.

        Examples
        --------
        >>> Hierarchy([("baker", "craft"), ("monk", "church")]).paths()
        [['baker', 'craft', '*'], ['monk', 'church', '*']]
        """
        paths = []
        for leaf in range(self.n_leaves):
            node, path = leaf, [self.labels[leaf]]
            while node != self.root:
                node = int(self.parents[node])
                path.append(self.labels[node])
            paths.append(path)
        return paths

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in the order of their nodes."""
        return self.labels[: self.n_leaves]

    @property
    def root(self) -> int:
        """The node above all."""
        return len(self.labels) - 1

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_leaves} values, {len(self)} nodes, height {int(self.heights[self.root])})"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of leaves below each node; 0 for a leaf."""
        counts = np.zeros(len(self), np.int64)
        for level, below in zip(self.ancestors[:-1], self.ancestors[1:], strict=True):
            inner = level[level != below]  # a leaf that ends early stands at several depths and counts once
            counts += np.bincount(inner, minlength=len(self))
        return counts

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """The longest way from each node down to a leaf."""
        heights = np.zeros(len(self), np.int64)
        for node in range(len(self) - 1):  # children come before their parents
            parent = self.parents[node]
            heights[parent] = max(heights[parent], heights[node] + 1)
        return heights

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """The way from each node up to the root."""
        depths = np.zeros(len(self), np.int64)
        for node in range(len(self) - 2, -1, -1):
            depths[node] = depths[self.parents[node]] + 1
        return depths

    @cached_property
    def ancestors(self) -> NDArray[np.int64]:
        """The ancestor of each leaf at each depth (depth x leaf); the leaf itself from its own depth on."""
        depth = int(self.depths[: self.n_leaves].max(initial=0))
        table = np.empty((depth + 1, self.n_leaves), np.int64)
        table[depth] = np.arange(self.n_leaves)
        for level in range(depth - 1, -1, -1):
            above = table[level + 1]
            table[level] = np.where(self.depths[above] > level, self.parents[above], above)
        return table

    def size(self, label: str) -> int:
        """Return the number of values below a node; 0 for a value."""
        return int(self.sizes[self._node(label)])

    def height(self, label: str) -> int:
        """Return the longest way from a node down to a value."""
        return int(self.heights[self._node(label)])

    def cca(self, values: Iterable[object]) -> str:
        """Return the label of the closest common ancestor of values; that of one value is the value itself."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise SchemaError("the closest common ancestor needs a list of values")
        leaves = self.codes([text_of(value) for value in values])
        if not leaves.size:
            raise SchemaError("the closest common ancestor needs at least one value")
        return self.labels[int(self.common_ancestors(leaves, np.zeros(leaves.size, np.int64))[0])]

    def codes(self, values: Sequence[str], name: str = "") -> NDArray[np.int64]:
        """Return the leaf of each value; an error counts the values that the tree does not have."""
        known = self._leaf_of
        found = np.array([known.get(value, -1) for value in values], np.int64)
        unknown = len({value for value in values if value not in known})
        if unknown:
            column = f'column "{name}" has' if name else "there are"
            raise SchemaError(
                f"{column} {unknown} different value{'s' if unknown > 1 else ''} that the hierarchy does not name "
                f"(it names {self.n_leaves}); add a row for each"
            )
        return found

    def common_ancestors(self, leaves: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the closest common ancestor of the leaves of each group (0, 1, ...). Cost O(n x depth).

        Examples
        --------
        >>> tree = Hierarchy([("a", "ab"), ("b", "ab"), ("c", "c")])
        >>> [tree.labels[node] for node in tree.common_ancestors(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1]))]
        ['ab', 'c']
        """
        count = int(groups.max()) + 1
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(count))
        ordered = leaves[order]
        found = np.full(count, -1, np.int64)
        for level in self.ancestors[::-1]:
            at_level = level[ordered]
            low, high = np.minimum.reduceat(at_level, starts), np.maximum.reduceat(at_level, starts)
            agree = (found < 0) & (low == high)
            found[agree] = low[agree]
        return found

    def distances(self) -> NDArray[np.float64]:
        """Return the height of the closest common ancestor of each two leaves as a share of the height of the tree.

        The ground distance of hierarchical t-closeness (Li et al. 2007, section 5.2). Cost O(leaves^2 x depth).
        """
        common = np.full((self.n_leaves, self.n_leaves), self.root, np.int64)
        for level in self.ancestors:  # from the root down: the last agreement is the closest
            same = level[:, None] == level[None, :]
            common[same] = np.broadcast_to(level[:, None], common.shape)[same]
        return self.heights[common] / max(int(self.heights[self.root]), 1)

    @cached_property
    def _leaf_of(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.leaves)}

    def _node(self, label: str) -> int:
        for node in range(self.root, -1, -1):  # an inner node before a value of the same name
            if self.labels[node] == label:
                return node
        raise SchemaError(f'the hierarchy has no node "{label}"')


def _texts(paths: Any) -> list[tuple[str, ...]]:
    """Return the rows of a hierarchy as texts."""
    rows = [] if isinstance(paths, str | bytes | Mapping) or not isinstance(paths, Iterable) else list(paths)
    if not rows or any(isinstance(row, str | bytes) or not isinstance(row, Iterable) for row in rows):
        raise SchemaError(
            "a hierarchy is made of rows, each a value and its ancestors, such as [('baker', 'craft'), ...]; "
            "nested mappings are read by Hierarchy.from_nested"
        )
    return [tuple(map(str, row)) for row in rows]


def _build(paths: list[tuple[str, ...]]) -> tuple[tuple[str, ...], NDArray[np.int64], int]:
    """Return labels, parents and the number of leaves; children are numbered before their parents.

    Errors name rows and fields, not labels, since a label may be the value of a record.
    """
    if not paths or any(not path for path in paths):
        raise SchemaError("a hierarchy needs at least one value, and a value in every row")
    leaves = [path[0] for path in paths]
    _check_leaves(leaves)
    chains = [_chain(path, row) for row, path in enumerate(paths, 1)]
    tops = {chain[-1] if chain else None for chain in chains}
    root = tops.pop() if len(tops) == 1 else ROOT
    root = ROOT if root is None else root
    parent: dict[str, str] = {}
    first_row: dict[str, int] = {}
    for row, chain in enumerate(chains, 1):
        if not chain or chain[-1] != root:
            chain.append(root)
        for node, above in pairwise(chain):
            if node == root:
                raise SchemaError(
                    f"row {row} is a cycle: the node at the top stands below another node; remove it there"
                )
            first_row.setdefault(node, row)
            if parent.setdefault(node, above) != above:
                raise SchemaError(
                    f"rows {first_row[node]} and {row} have the same node with different parents; give the nodes "
                    "different names"
                )
    depths = _depths(parent)
    inner = [*sorted(parent, key=lambda node: -depths[node]), root]
    number = {node: len(leaves) + place for place, node in enumerate(inner)}
    above_leaves = [number[chain[0]] for chain in chains]
    above_inner = [number[parent.get(node, root)] for node in inner]
    return (*leaves, *inner), np.array(above_leaves + above_inner, np.int64), len(leaves)


def _check_leaves(leaves: list[str]) -> None:
    """Raise an error if a value has two rows."""
    first: dict[str, int] = {}
    for row, value in enumerate(leaves, 1):
        if first.setdefault(value, row) != row:
            raise SchemaError(f"rows {first[value]} and {row} are about the same value; keep one")


def _chain(path: tuple[str, ...], row: int) -> list[str]:
    """Return the labels above a value; labels that repeat the one before count once."""
    while len(path) > 1 and path[-1] == "":
        path = path[:-1]
    if "" in path[1:]:
        raise SchemaError(f"row {row} has an empty field between two ancestors; fill it")
    if len(path) > MOST_LEVELS:
        raise SchemaError(f"row {row} has {len(path):,} levels; a hierarchy has at most {MOST_LEVELS:,}")
    return [label for below, label in pairwise(path) if label != below]


def _depths(parent: dict[str, str]) -> dict[str, int]:
    """Return the way from each node up to the root; each node is visited once."""
    depths: dict[str, int] = {}
    for start in parent:
        way = []
        node = start
        while node in parent and node not in depths:
            way.append(node)
            node = parent[node]
        depth = depths.get(node, 0)
        for below in reversed(way):
            depth += 1
            depths[below] = depth
    return depths


def _nested_paths(tree: Any) -> Iterable[tuple[str, ...]]:
    """Yield the paths of nested mappings and lists from first to last, without recursion."""
    open_parts: list[tuple[Any, tuple[str, ...], int]] = [(tree, (), 0)]
    while open_parts:
        part, above, depth = open_parts.pop()
        if depth >= MOST_LEVELS:
            raise SchemaError(f"the tree is nested more than {MOST_LEVELS:,} times, or contains itself")
        if isinstance(part, Mapping):
            below = [(value, (text_of(label), *above), depth + 1) for label, value in part.items()]
        elif isinstance(part, Sequence) and not isinstance(part, str | bytes):
            below = [(value, above, depth + 1) for value in part]
        else:
            yield (text_of(part), *above)
            continue
        open_parts.extend(reversed(below))
