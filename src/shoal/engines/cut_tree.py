"""A tree of cuts, made on a sample of the rows and applied to all of them.

A cut compares one coordinate with a value of a sample row (``x <= t``), or asks whether a nominal column has a certain
category. At least k rows of the sample (k persons, where k counts these) are on each side of every cut. The sample is
part of the table, and where a row goes depends on the row alone, so every leaf has at least k rows of the table, for
certain. Thresholds from sketches of quantiles, or from a sample of other rows, have no such guarantee.

Cuts follow Thaeter 2021, section 7.1: the direction in which a cut at the wanted place removes most of the squared
error. A second tree that is to cross the cuts of the first uses sums and differences of two coordinates
(``rotated``). Cost O(s m log s) for each level, s rows of the sample and m columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
AXIS, CATEGORY, SUM, DIFFERENCE = 0, 1, 2, 3
PAIRED_COLUMNS = 6
"""The numeric columns with the largest spread whose sums and differences a rotated tree cuts along."""


@dataclass(frozen=True, eq=False)
class CutTree:
    """A tree of cuts; a child below zero is a leaf, ``~leaf``.

    Parameters
    ----------
    kind, first, second
        What each cut compares: a coordinate, a category, the sum or the difference of two coordinates.
    threshold
        Rows up to this value go to the left; rows of this category go to the right.
    left, right
        The cut, or the leaf, on each side.
    leaves
        The number of leaves.
    """

    kind: Integers
    first: Integers
    second: Integers
    threshold: Floats
    left: Integers
    right: Integers
    leaves: int

    def route(self, values: Floats, roots: Integers) -> Integers:
        """Return the leaf of each row.

        Parameters
        ----------
        values
            One row for each record: standardised numbers, and codes of nominal columns.
        roots
            The cut at which each row begins, or the leaf that it belongs to (``~leaf``).
        """
        return route_rows(
            np.ascontiguousarray(values), roots, self.kind, self.first, self.second, self.threshold, self.left,
            self.right,
        )  # fmt: skip


class Cut(NamedTuple):
    """A cut of some rows: what is compared, the threshold, and what the cut removes of the squared error."""

    kind: int
    first: int
    second: int
    threshold: float
    gain: float


class TreeBuilder:
    """Makes the cuts of several trees in one set of arrays.

    Parameters
    ----------
    values
        The rows of the sample.
    nominal
        Which columns hold codes of categories.
    least
        The fewest rows, or persons, of the sample on each side of a cut.
    owners
        The person or household of each row of the sample, where k counts these.
    rotated
        Whether cuts are along sums and differences of two coordinates where that is possible.
    fraction
        The part of the leaves that is on the left of a cut.
    """

    def __init__(
        self, values: Floats, nominal: NDArray[np.bool_], least: int, owners: Integers | None = None,
        rotated: bool = False, fraction: float = 0.5,
    ) -> None:  # fmt: skip
        self.values, self.nominal, self.least, self.owners = values, nominal, least, owners
        self.rotated, self.fraction = rotated, fraction
        self.cuts: list[Cut] = []
        self.children: list[list[int]] = []
        self.leaves = 0

    def leaf(self) -> int:
        """Return a new leaf as the child of a cut."""
        self.leaves += 1
        return ~(self.leaves - 1)

    def root(self, rows: Integers, parts: int) -> int:
        """Return the first cut of a tree with about so many leaves of these rows, or a leaf."""
        place: list[tuple[Integers, int, int, int]] = [(rows, parts, -1, 0)]
        first = 0
        while place:  # without recursion; the left side is done first
            rows, parts, parent, side = place.pop()
            cut = self._cut(rows, parts) if parts > 1 else None
            number = self.leaf() if cut is None else len(self.cuts)
            if parent < 0:
                first = number
            else:
                self.children[parent][side] = number
            if cut is None:
                continue
            self.cuts.append(cut)
            self.children.append([0, 0])
            right = self._goes_right(rows, cut)
            place.append((rows[right], parts - self._left(parts), number, 1))
            place.append((rows[~right], self._left(parts), number, 0))
        return first

    def tree(self) -> CutTree:
        """Return all cuts made so far."""
        columns = list(zip(*self.cuts, strict=True)) if self.cuts else [()] * 5
        children = np.array(self.children, np.int64).reshape(-1, 2)
        kind, first, second = (np.array(column, np.int64) for column in columns[:3])
        return CutTree(
            kind, first, second, np.array(columns[3], np.float64), children[:, 0].copy(), children[:, 1].copy(),
            self.leaves,
        )  # fmt: skip

    def _cut(self, rows: Integers, parts: int) -> Cut | None:
        """Return the cut that removes most of the squared error and leaves enough on both sides; None for none."""
        found = sorted(self._candidates(rows, self._left(parts) / parts), key=lambda cut: -cut.gain)
        return next((cut for cut in found if self._enough(rows, cut)), None)

    def _left(self, parts: int) -> int:
        """Return how many of the leaves are on the left of a cut."""
        return min(max(int(parts * self.fraction), 1), parts - 1)

    def _candidates(self, rows: Integers, share: float) -> list[Cut]:
        inside = self.values[rows]
        numeric = np.flatnonzero(~self.nominal)
        cuts = []
        for column in range(inside.shape[1]):
            if self.nominal[column]:
                threshold, gain = category_cut(inside[:, column].astype(np.int64), self.least)
                cuts.append(Cut(CATEGORY, column, column, threshold, gain))
            else:
                threshold, gain = axis_cut(inside[:, column].copy(), share, self.least)
                cuts.append(Cut(AXIS, column, column, threshold, gain))
        if self.rotated and numeric.size > 1:
            wide = sorted((cut for cut in cuts if cut.kind == AXIS), key=lambda cut: -cut.gain)[:PAIRED_COLUMNS]
            columns = sorted(cut.first for cut in wide)
            pairs = []
            for number, one in enumerate(columns):
                for other in columns[number + 1 :]:
                    for kind in (SUM, DIFFERENCE):
                        along = combined(inside[:, one], inside[:, other], kind)
                        threshold, gain = axis_cut(along, share, self.least)
                        pairs.append(Cut(kind, one, other, threshold, gain))
            cuts = pairs if any(cut.gain > 0 for cut in pairs) else cuts
        return [cut for cut in cuts if cut.gain > 0]

    def _goes_right(self, rows: Integers, cut: Cut) -> NDArray[np.bool_]:
        one, other = self.values[rows, cut.first], self.values[rows, cut.second]
        if cut.kind == CATEGORY:
            return one == cut.threshold
        return (one if cut.kind == AXIS else combined(one, other, cut.kind)) > cut.threshold

    def _enough(self, rows: Integers, cut: Cut) -> bool:
        right = self._goes_right(rows, cut)
        sides = (rows[~right], rows[right])
        if self.owners is None:
            return min(side.size for side in sides) >= self.least
        return min(np.unique(self.owners[side]).size for side in sides) >= self.least


def combined(one: Floats, other: Floats, kind: int) -> Floats:
    """Return the sum or the difference of two coordinates, as :func:`route_rows` computes it."""
    return one + other if kind == SUM else one - other


@compiled
def axis_cut(values: Floats, share: float, least: int) -> tuple[float, float]:
    """Return the threshold nearest to the wanted share of the rows, and the squared error that the cut removes.

    The gain is 0 where no value leaves ``least`` rows on each side.
    """
    n = values.size
    if n < 2 * least or n < 2:
        return 0.0, 0.0
    values.sort()
    wanted = share * n
    best, distance = -1, np.inf
    for i in range(max(least, 1) - 1, n - max(least, 1)):
        if values[i] < values[i + 1] and abs(i + 1 - wanted) < distance:
            best, distance = i, abs(i + 1 - wanted)
    if best < 0:
        return 0.0, 0.0
    low = high = 0.0
    for i in range(best + 1):
        low += values[i] - values[best]
    for i in range(best + 1, n):
        high += values[i] - values[best]
    left, right = best + 1, n - best - 1
    difference = high / right - low / left
    return values[best], left * right / n * difference * difference


@compiled
def category_cut(codes: Integers, least: int) -> tuple[float, float]:
    """Return the category whose separation from the others removes most of the squared error, and that amount.

    Categories are indicators scaled by 1/sqrt(2); missing cells have the code -1. The gain is 0 where no category
    leaves ``least`` rows on each side.
    """
    n = codes.size
    counts = np.zeros(codes.max() + 2, np.int64)
    for i in range(n):
        counts[codes[i] + 1] += 1
    squares = 0.0
    for code in range(counts.size):
        squares += float(counts[code]) * counts[code]
    best, gain = 0.0, 0.0
    for code in range(1, counts.size):
        inside = counts[code]
        outside = n - inside
        if inside < least or outside < least or outside == 0:
            continue
        spread = (squares - float(inside) * inside) / (float(outside) * outside)
        found = 0.5 * (1.0 + spread) * inside * outside / n
        if found > gain:
            best, gain = code - 1.0, found
    return best, gain


@compiled
def route_rows(  # noqa: PLR0917 - the arrays of a tree
    values: Floats, roots: Integers, kind: Integers, first: Integers, second: Integers, threshold: Floats,
    left: Integers, right: Integers,
) -> Integers:  # fmt: skip
    """Return the leaf of each row; see :meth:`CutTree.route`."""
    leaves = np.empty(roots.size, np.int64)
    for i in range(roots.size):
        node = roots[i]
        while node >= 0:
            value = values[i, first[node]]
            if kind[node] == 1:
                goes_right = value == threshold[node]
            else:
                if kind[node] == 2:
                    value = value + values[i, second[node]]
                elif kind[node] == 3:
                    value = value - values[i, second[node]]
                goes_right = value > threshold[node]
            node = right[node] if goes_right else left[node]
        leaves[i] = ~node
    return leaves
