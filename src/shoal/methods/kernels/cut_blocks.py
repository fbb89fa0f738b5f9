"""Blocks: the records of a table, cut recursively until no part exceeds the given size.

Thaeter 2021, section 7.1. Cost O(n d log n) time (O(n d² log n) with pairs), O(n) memory beside the table: large
parts are cut in place, smaller ones in a copy that fits into the cache. Branches share the cores; the blocks do not
depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.kernels.cut_kernels import PAIRS, RANGE, STACK_SIZE, VARIANCE, cut_down, work_arrays

Direction = Literal["range", "variance", "pairs"]
COPIED_RECORDS = 1 << 15  # parts up to this size are copied before they are cut further


@dataclass(frozen=True)
class Cutting:
    """How a table is cut.

    Parameters
    ----------
    direction
        The attribute with the widest ``range``, the one with the largest ``variance``, or the attribute or ``pairs``
        of attributes (their sum or difference) with the largest variance.
    first
        The attribute of the first cut, counted from 0; None to select it like the others.
    pair_scale
        The factor of a sum or difference of two attributes; 1/√2 makes it a unit vector.
    inherit
        Whether the records of a block are ordered by the direction of the last cut, then by that of the cut before,
        and so on, as stable sorts would leave them; else they are in the order of the table.
    """

    direction: Direction = "variance"
    first: int | None = None
    pair_scale: float = 0.5**0.5
    inherit: bool = False

    def check(self, d: int) -> None:
        """Raise ParameterError if the first attribute is not one of d attributes."""
        if self.first is not None and not 0 <= self.first < d:
            raise ParameterError(f"first={self.first} is not an attribute; there are {d}, counted from 0")

    @property
    def rule(self) -> int:
        """The number of the direction rule."""
        return {"range": RANGE, "variance": VARIANCE, "pairs": PAIRS}[self.direction]


@dataclass(frozen=True)
class Blocks:
    """Records in blocks.

    Parameters
    ----------
    order
        All records, block after block; within a block in the order of the table unless ``inherit`` is set.
    bounds
        Where each block begins, and the number of records at the end.
    """

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        return self.bounds.size - 1

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self.order[start:stop] for start, stop in pairwise(self.bounds.tolist()))

    @property
    def labels(self) -> NDArray[np.int64]:
        """The block of each record."""
        labels = np.empty(self.order.size, np.int64)
        labels[self.order] = np.repeat(np.arange(len(self)), np.diff(self.bounds))
        return labels


def cut_into_blocks(
    points: NDArray[np.floating[Any]], size: int, cutting: Cutting | None = None, *, progress: Progress = SILENT
) -> Blocks:
    """Cut records in halves until no part has more than ``size`` records.

    Parameters
    ----------
    points
        n x d, float64 or float32.
    size
        Maximum block size.
    cutting
        How to cut; by default across the attribute with the largest variance.
    progress
        Progress callback.

    Returns
    -------
    blocks
        Blocks that differ by at most one record at the same depth.

    Examples
    --------
    >>> [block.tolist() for block in cut_into_blocks(np.array([[0.0], [9.0], [1.0], [8.0], [5.0]]), 2)]
    [[0, 2], [4], [1, 3]]
    """
    cutting = cutting or Cutting()
    cutting.check(points.shape[1])
    if size < 1:
        raise ParameterError(f"blocks of {size} records are not possible; choose at least 1")
    order = np.arange(len(points))
    progress.stage("cutting", len(points))
    if 0 < len(points) <= size:
        progress.advance(len(points))
        return Blocks(order, np.array([0, len(points)]))
    path = np.full((STACK_SIZE, 3), -1, np.int64)
    if cutting.first is not None:
        path[0] = cutting.first, 0, 0
    nodes = [_Node(0, len(points), 0, path)]
    in_place = max(size, COPIED_RECORDS)
    while any(node.stop - node.start > in_place for node in nodes):
        halves = run_in_threads(lambda node: _halve(points, order, node, cutting, in_place), _warmed(nodes))
        nodes = [half for pair in halves for half in pair]
    ends = run_in_threads(lambda node: _finish(points, order, node, cutting, size, progress), _warmed(nodes))
    return Blocks(order, np.concatenate([np.zeros(1, np.int64), *ends]))


@dataclass(frozen=True)
class _Node:
    """Records ``order[start:stop]`` after ``depth`` cuts along ``path``."""

    start: int
    stop: int
    depth: int
    path: NDArray[np.int64]


def _warmed(nodes: list[_Node]) -> Iterable[_Node]:
    """Return the nodes after an empty one: the first job runs alone, so that the loop is compiled once."""
    first = nodes[0]
    return [_Node(first.start, first.start, first.depth, first.path), *nodes] if len(nodes) > 1 else nodes


def _halve(points: NDArray[Any], order: NDArray[np.int64], node: _Node, cutting: Cutting, large: int) -> list[_Node]:
    """Cut a large node in place; a smaller one is returned unchanged."""
    m = node.stop - node.start
    if m <= large:
        return [node] if m else []
    path = node.path.copy()
    members = order[node.start : node.stop]
    middle = node.start + int(_cut(points, members, path, node.depth, cutting, (m + 1) // 2, inherit=False)[0])
    return [
        _Node(node.start, middle, node.depth + 1, path),
        _Node(middle, node.stop, node.depth + 1, path),
    ]


def _finish(
    points: NDArray[Any], order: NDArray[np.int64], node: _Node, cutting: Cutting, size: int, progress: Progress
) -> NDArray[np.int64]:
    """Cut a node down to the size of a block; return where its blocks end."""
    m = node.stop - node.start
    if m == 0:
        return np.empty(0, np.int64)
    members = order[node.start : node.stop].copy()
    copied = points[members]
    inside = np.arange(m)
    ends = _cut(copied, inside, node.path.copy(), node.depth, cutting, size, inherit=cutting.inherit)
    order[node.start : node.stop] = members[inside]
    progress.advance(m)
    return node.start + ends


def _cut(
    points: NDArray[Any],
    order: NDArray[np.int64],
    path: NDArray[np.int64],
    depth: int,
    cutting: Cutting,
    size: int,
    *,
    inherit: bool,
) -> NDArray[np.int64]:
    """Cut records down to parts of ``size``; return where each ends."""
    ends = np.empty(2 * (order.size // (size + 1)) + 2, np.int64)  # an uncut part has at least size / 2
    waiting = np.empty((STACK_SIZE, 3), np.int64)
    work = work_arrays(order.size, points.shape[1])
    weight = cutting.pair_scale**2
    count = cut_down(points, order, path, depth, cutting.rule, weight, size, inherit, *work, waiting, ends)
    return ends[:count]
