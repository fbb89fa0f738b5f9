"""Hard instances of microaggregation: points in the plane whose optimal grouping decides a planar 3-SAT formula.

Thaeter 2021, section 4.2. Every variable is a closed circuit of points at distance 1, whose two perfect matchings
represent true and false; every clause is one record near an edge of the circuit of each of its literals. The formula is
satisfiable if and only if a grouping into groups of at least k has an SSE of at most ``threshold``. The layout is a
comb: the variables are in a row, with arms up and down, and the clauses are nested above and below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError

ALPHA = 6.25
"""The squared distance of a clause to the circuits of its literals."""
SLOT = 10  # distance between arms
LEVEL = 8  # distance between clauses
FIRST = 12.5  # height of the lowest clause

Point = tuple[float, float]
Clause = tuple[int, ...]


@dataclass(frozen=True)
class PlanarInstance:
    """A table whose optimal grouping decides a formula.

    Parameters
    ----------
    points
        The records: those of the circuits, circuit by circuit, then one for each clause.
    k
        Minimum group size.
    threshold
        The smallest SSE if the formula is satisfiable; otherwise every grouping exceeds it.
    clauses
        The formula: integers, negative for negated variables.
    circuits
        For each variable its points in their cyclic order; the edges from even to odd numbers are the true matching.
    clause_points
        The coordinates of each clause.
    """

    points: NDArray[np.float64]
    k: int
    threshold: float
    clauses: tuple[Clause, ...]
    circuits: tuple[NDArray[np.float64], ...]
    clause_points: NDArray[np.float64]

    def labels(self, assignment: Sequence[bool]) -> NDArray[np.int64]:
        """Return the grouping of an assignment: its matchings, and each clause in the group that it is nearest to.

        Its SSE is the threshold if the assignment satisfies the formula.
        """
        labels: list[NDArray[np.int64]] = []
        centres: list[NDArray[np.float64]] = []
        for circuit, value in zip(self.circuits, assignment, strict=True):
            first = len(centres)
            order = np.roll(np.arange(len(circuit)), 0 if value else 1)
            number = np.empty(len(circuit), np.int64)
            number[order] = first + np.arange(len(circuit)) // 2
            copies = _copies(len(circuit), self.k)
            for group in range(first, first + len(circuit) // 2):
                inside = number == group
                centres.append(np.average(circuit[inside], axis=0, weights=copies[inside]))
            labels.append(np.repeat(number, copies))
        means = np.array(centres)
        joined = [int(np.argmin(((means - clause) ** 2).sum(axis=1))) for clause in self.clause_points]
        return np.concatenate([*labels, np.array(joined, np.int64)])


def planar_instance(clauses: Sequence[Sequence[int]], k: int = 4) -> PlanarInstance:
    """Return the table of a planar formula (Thaeter 2021, Theorem 4.6).

    Parameters
    ----------
    clauses
        One to three literals each: 2 is the second variable, -2 its negation. It must be possible to draw the clauses
        above and below a row of the variables without crossings.
    k
        Minimum group size, at least 4.

    Returns
    -------
    instance
        The points, and the groups that a solution of the formula makes.

    Examples
    --------
    >>> instance = planar_instance([(-1, 2, 3), (2, -3, 4), (1, -2)])  # the example of Thaeter 2021
    >>> labels = instance.labels([True, True, False, False])  # satisfies it, so its SSE is the threshold
    >>> int(np.bincount(labels).min()), len(instance.clause_points)
    (4, 3)
    """
    if k < 4:
        raise ParameterError(f"k={k}: the construction needs k of at least 4")
    formula = tuple(tuple(int(literal) for literal in clause) for clause in clauses)
    for clause in formula:
        if not 1 <= len(clause) <= 3 or 0 in clause or len({abs(literal) for literal in clause}) < len(clause):
            raise ParameterError(f"clause {clause} must have one to three literals of different variables")
    count = max((abs(literal) for clause in formula for literal in clause), default=0)
    if not formula:
        raise ParameterError("a formula needs at least one clause")
    layout = _Layout(formula, count)
    circuits = tuple(layout.circuit(variable) for variable in range(1, count + 1))
    positions = np.array([layout.position(number) for number in range(len(formula))])
    half, m = sum(len(circuit) for circuit in circuits) // 2, len(formula)
    records = [np.repeat(circuit, _copies(len(circuit), k), axis=0) for circuit in circuits]
    return PlanarInstance(np.vstack([*records, positions]), k, _threshold(half, m, k), formula, circuits, positions)


def _threshold(half: int, m: int, k: int) -> float:
    """Return γ for ℓ pairs of circuit points and m clauses (Thaeter 2021, section 4.2)."""
    if k % 2 == 0:
        return half * k / 4 + k * ALPHA * m / (k + 1)
    return (k**3 * half + k**2 * half + 4 * ALPHA * k**2 * m - k * half - half + m) / (4 * k * (k + 1))


def _copies(length: int, k: int) -> NDArray[np.int64]:
    """Return how many records each point of a circuit has: k/2, or (k+1)/2 and (k-1)/2 in turn."""
    return np.where(np.arange(length) % 2 == 0, (k + 1) // 2, k // 2)


class _Layout:
    """The layout: sides and levels of the clauses, slots of the arms."""

    def __init__(self, clauses: tuple[Clause, ...], count: int) -> None:
        self.legs = [tuple(sorted(clause, key=abs)) for clause in clauses]
        self.inner_first = sorted(range(len(clauses)), key=lambda c: (self._span(c), -len(clauses[c]), c))
        self.above = self._sides()
        self.level = self._levels()
        self.slot: dict[tuple[int, int], int] = {}
        self.bars: list[tuple[int, int]] = []
        start = 0
        for variable in range(1, count + 1):
            width = 0
            for side in (True, False):
                arms = self._arms(variable, side)
                width = max(width, len(arms))
                for number, clause in enumerate(arms):
                    self.slot[variable, clause] = start + SLOT * number + 3
            self.bars.append((start, start + SLOT * max(width - 1, 0) + 8))
            start = self.bars[-1][1] + SLOT

    def _ends(self, clause: int) -> tuple[int, int]:
        return abs(self.legs[clause][0]), abs(self.legs[clause][-1])

    def _span(self, clause: int) -> int:
        first, last = self._ends(clause)
        return last - first

    def _sides(self) -> list[bool]:
        """Return for each clause whether it is above, such that no leg of an outer clause crosses an inner one."""
        above: list[bool] = []

        def crosses(inner: int, outer: int) -> bool:
            first, last = self._ends(inner)
            return any(first < abs(literal) < last for literal in self.legs[outer])

        def extend() -> bool:
            if len(above) == len(self.inner_first):
                return True
            clause = self.inner_first[len(above)]
            for side in (True, False):
                same = [c for c, s in zip(self.inner_first, above, strict=False) if s == side]
                if not any(crosses(inner, clause) for inner in same):
                    above.append(side)
                    if extend():
                        return True
                    above.pop()
            return False

        if not extend():
            raise ParameterError(
                "these clauses cannot be drawn above and below a row of the variables without crossing; "
                "renumber the variables or remove clauses"
            )
        return [side for _, side in sorted(zip(self.inner_first, above, strict=True))]

    def _levels(self) -> list[int]:
        level = [0] * len(self.legs)
        for side in (True, False):
            for height, clause in enumerate(c for c in self.inner_first if self.above[c] == side):
                level[clause] = height
        return level

    def _arms(self, variable: int, side: bool) -> list[int]:
        """Return the clauses of a variable on a side from left to right: ending there, passing, beginning."""
        own = [c for c in self.inner_first if self.above[c] == side and variable in map(abs, self.legs[c])]
        ending = [c for c in own if self._ends(c)[1] == variable and self._ends(c)[0] < variable]
        beginning = [c for c in own if self._ends(c)[0] == variable and self._ends(c)[1] > variable]
        passing = [c for c in own if c not in ending and c not in beginning]
        return ending + passing + beginning[::-1]

    def position(self, clause: int) -> Point:
        """Return the coordinates of a clause; those below are mirrored at the middle of the bars."""
        x, y = self._position_above(clause)
        return x, (y if self.above[clause] else 2 - y)

    def _position_above(self, clause: int) -> Point:
        legs = self.legs[clause]
        middle = {1: 0, 3: 1}.get(len(legs))
        first, beyond = (legs[0], 6.5) if middle is None else (legs[middle], 0.5)
        return self.slot[abs(first), clause] + beyond, FIRST + LEVEL * self.level[clause]

    def circuit(self, variable: int) -> NDArray[np.float64]:
        """Return the points of a circuit, counter-clockwise from the lower left corner of its bar."""
        start, stop = self.bars[variable - 1]
        cells = {(x, y) for x in range(start, stop) for y in (0, 1)}
        own = [c for c in range(len(self.legs)) if variable in map(abs, self.legs[c])]
        for clause in own:
            cells |= {(x, y if self.above[clause] else 1 - y) for x, y in self._arm(variable, clause)}
        points: list[Point] = list(_boundary(cells, (start, 0)))
        for clause in own:
            literal = next(literal for literal in self.legs[clause] if abs(literal) == variable)
            if self._near_edge_is_true(points, clause) != (literal > 0):
                points = self._shifted(points, variable, clause)
        return np.array(points)

    def _arm(self, variable: int, clause: int) -> set[tuple[int, int]]:
        """Return the cells of an arm, two wide, that ends at distance 5/2 from the clause, for a clause above."""
        x, y = self._position_above(clause)
        column = self.slot[variable, clause]
        legs = [abs(literal) for literal in self.legs[clause]]
        side = legs.index(variable) if len(legs) > 1 else 1
        if len(legs) != 2 and side == 1:
            return {(column + i, h) for i in (0, 1) for h in range(2, int(y - 2.5))}
        low = int(y - 0.5)
        arm = {(column + i, h) for i in (0, 1) for h in range(2, low + 2)}
        reach = range(column, int(x - 2.5)) if side == 0 else range(int(x + 2.5), column + 2)
        return arm | {(a, h) for a in reach for h in (low, low + 1)}

    def _near_edge_is_true(self, points: list[Point], clause: int) -> bool:
        distances = ((np.array(points) - self.position(clause)) ** 2).sum(axis=1)
        near = np.sort(np.argsort(distances, kind="stable")[:2])
        return bool(near[0] % 2 == 0 and near[1] == near[0] + 1)

    def _shifted(self, points: list[Point], variable: int, clause: int) -> list[Point]:
        """Return the circuit with five steps in place of four on both sides of an arm: its end changes matching."""
        column = self.slot[variable, clause]
        for x, outward in ((column, -1.0), (column + 2, 1.0)):
            inner = [(x, h if self.above[clause] else 2 - h) for h in (5, 6, 7)]
            first = min(points.index(point) for point in inner)
            begin, end = points[first - 1], points[first + 3]
            step = (end[1] - begin[1]) / 4
            rise = outward * sqrt(7) / 4
            bump = [(x + rise, begin[1] + 0.75 * step), (x + 2 * rise, begin[1] + 1.5 * step)]
            bump += [(x + 2 * rise, begin[1] + 2.5 * step), (x + rise, begin[1] + 3.25 * step)]
            points = [*points[:first], *bump, *points[first + 3 :]]
        return points


def _boundary(cells: set[tuple[int, int]], start: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the corners around a set of cells without holes, counter-clockwise from one of them."""
    follows = {
        begin: end
        for x, y in cells
        for beyond, begin, end in (
            ((x, y - 1), (x, y), (x + 1, y)),
            ((x + 1, y), (x + 1, y), (x + 1, y + 1)),
            ((x, y + 1), (x + 1, y + 1), (x, y + 1)),
            ((x - 1, y), (x, y + 1), (x, y)),
        )
        if beyond not in cells
    }
    around = [start]
    while follows[around[-1]] != start:
        around.append(follows[around[-1]])
    return around
