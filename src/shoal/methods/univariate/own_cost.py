"""Costs that users write themselves: their properties are checked, and determine how the optimum is searched.

Stamm & Schaub 2024, sections 2 and 3. A cost of a group is any function of its sorted values. Which searches find its
optimum depends on three properties: whether some optimum consists of neighbouring values (*ordered*), whether
splitting a group never costs more (*splitting*), and whether the cost satisfies the quadrangle inequality (*concave*).
:func:`check_cost` searches for counterexamples: a property that it refutes does not hold; one that it does not refute
is likely, not proved. The function is called in Python, so a search takes far longer than with the built-in costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.univariate.exact_values import numbers
from shoal.methods.univariate.sorting import labels_from_cuts, sort_values

FEW_VALUES = 8  # of which all groupings are tried
RELATIVE_TOLERANCE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OwnCost:
    """The cost of a group, as a function of its sorted values.

    Parameters
    ----------
    function
        Called with the sorted values of a group; returns a finite number.
    name
        What error texts call it.
    concave, splitting
        Whether the cost satisfies ``C(a,c) + C(b,d) <= C(a,d) + C(b,c)`` for a < b < c < d, and whether
        ``C(a,b) + C(b,c) <= C(a,c)``; a column that refutes what is stated raises ParameterError. None: taken as true
        if the column does not refute it.

    Examples
    --------
    >>> span = OwnCost(lambda group: group[-1] - group[0], name="range")
    >>> float(span.function(np.array([1.0, 4.0])))
    3.0
    """

    function: Callable[[Floats], float]
    name: str = "own cost"
    concave: bool | None = None
    splitting: bool | None = None


@dataclass(frozen=True)
class CostProperties:
    """What no counterexample was found for.

    Parameters
    ----------
    concave, splitting
        See :class:`OwnCost`.
    wide_is_worse
        Whether a part of neighbouring values never costs more than the whole.
    ordered
        Whether among all groupings of small parts of the column the best is made of neighbouring values.
    """

    concave: bool
    splitting: bool
    wide_is_worse: bool
    ordered: bool

    @property
    def search(self) -> str:
        """The fastest search that is valid for a cost with these properties (Stamm & Schaub 2024, Figure 2).

        Examples
        --------
        >>> CostProperties(True, True, True, True).search, CostProperties(True, False, True, True).search
        ('simple+', 'quadratic+')
        """
        return ("simple" if self.splitting else "quadratic") + ("+" if self.concave else "")


def check_cost(cost: OwnCost, values: ArrayLike, *, samples: int = 2_000, seed: int = 0) -> CostProperties:
    """Search a column for counterexamples to the properties of a cost.

    Parameters
    ----------
    cost
        The cost.
    values
        One column. Neighbouring values and random positions are tried; all of them if there are few.
    samples
        How many quadruples of positions, and a fiftieth as many small parts of the column, are tried.
    seed
        Seed of the random positions.

    Returns
    -------
    properties
        False where a counterexample was found; True is no proof.

    Examples
    --------
    >>> check_cost(OwnCost(lambda group: group[-1] - group[0]), [0, 1, 5, 9, 9, 14, 20])
    CostProperties(concave=True, splitting=True, wide_is_worse=True, ordered=True)
    >>> smallest = check_cost(OwnCost(lambda group: group[0]), [-4, -3, -2, -1])  # section 3 of the paper
    >>> smallest.ordered, smallest.concave
    (False, True)
    """
    ordered = np.sort(numbers(values).astype(np.float64))
    price = _Priced(cost, ordered)
    concave = splitting = wide = True
    for a, b, c, d in _quadruples(ordered.size, samples, np.random.default_rng(seed)):
        for i, cut, j in ((a, b, c), (b, c, d), (a, c, d)):
            left, right, whole = price(i, cut), price(cut, j), price(i, j)
            splitting &= not _above(left + right, whole)
            wide &= not _above(max(left, right), whole)
        concave &= not _above(price(a, c) + price(b, d), price(a, d) + price(b, c))
    return CostProperties(concave, splitting, wide, _is_ordered(cost, ordered, samples // 50, seed))


def optimal_for_own_cost(
    values: ArrayLike, k: int, cost: OwnCost, *, max_size: int | None = None, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Group one column by the groups of neighbouring values with the smallest total cost.

    If the cost is not *ordered*, groups that are not made of neighbouring values may cost less. The number of calls of
    the function is O(k n) if splitting never costs more, else O(n²).

    Parameters
    ----------
    values
        One column of numbers.
    k
        Minimum group size.
    cost
        The cost; properties that it leaves open are taken from :func:`check_cost` on this column.
    max_size
        Maximum group size; None for no limit.
    progress
        Progress callback.

    Returns
    -------
    labels
        The group number of each record, in the order of the values.

    Examples
    --------
    >>> optimal_for_own_cost([1, 50, 2, 51, 3, 52], 3, OwnCost(lambda group: group[-1] - group[0]))
    array([0, 1, 0, 1, 0, 1])
    """
    column = numbers(values)
    check_k(k, column.size)
    if max_size is not None and max_size < k:
        raise ParameterError(f"max_size={max_size} is below k={k}; choose a max_size of at least k")
    ordered, order = sort_values(column)
    floats = ordered.astype(np.float64)
    properties = _agreed(cost, check_cost(cost, floats))
    cuts = _cuts(_Priced(cost, floats), int(k), floats.size, properties, max_size, progress)
    return labels_from_cuts(cuts, order)


class _Priced:
    """The cost of the values from one position to another, each computed once."""

    def __init__(self, cost: OwnCost, ordered: Floats) -> None:
        self.cost, self.ordered = cost, ordered
        self.known: dict[tuple[int, int], float] = {}

    def __call__(self, i: int, j: int) -> float:
        found = self.known.get((i, j))
        if found is None:
            found = float(self.cost.function(self.ordered[i:j]))
            if not np.isfinite(found):
                raise ParameterError(f'the cost "{self.cost.name}" of a group of {j - i} values is not a finite number')
            if len(self.known) < 1_000_000:
                self.known[i, j] = found
        return found


def _above(left: float, right: float) -> bool:
    return left > right + RELATIVE_TOLERANCE * (abs(left) + abs(right))


def _quadruples(n: int, samples: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Positions a < b < c < d of a column of n values; half of them near each other, as in groups."""
    if n < 3:
        return
    if (n + 1) * n * (n - 1) * (n - 2) // 24 <= samples:
        yield from combinations(range(n + 1), 4)
        return
    for number in range(samples):
        width = min(n, 24) if number % 2 else n
        first = int(rng.integers(n - width + 1))
        yield tuple(int(x) for x in first + np.sort(rng.choice(width + 1, 4, replace=False)))


def _is_ordered(cost: OwnCost, ordered: Floats, samples: int, seed: int) -> bool:
    """Whether no small part of the column has a better grouping that is not made of neighbouring values, for k = 2."""
    rng = np.random.default_rng(seed)
    size = min(ordered.size, FEW_VALUES)
    parts = [ordered] if ordered.size == size else [np.sort(rng.choice(ordered, size)) for _ in range(samples)]
    for part in parts:
        known: dict[tuple[int, ...], float] = {}

        def price(group: tuple[int, ...], part: Floats = part, known: dict[Any, float] = known) -> float:
            if group not in known:
                known[group] = float(cost.function(part[list(group)]))
            return known[group]

        neighbours = overall = np.inf
        for groups in _groupings(tuple(range(part.size)), 2):
            total = sum(map(price, groups))
            overall = min(overall, total)
            if all(group[-1] - group[0] == len(group) - 1 for group in groups):
                neighbours = min(neighbours, total)
        if _above(neighbours, overall):
            return False
    return True


def _groupings(positions: tuple[int, ...], smallest: int) -> Iterator[list[tuple[int, ...]]]:
    if not positions:
        yield []
    for size in range(smallest - 1, len(positions)):
        for others in combinations(positions[1:], size):
            rest = tuple(position for position in positions[1:] if position not in others)
            for more in _groupings(rest, smallest):
                yield [(positions[0], *others), *more]


def _agreed(cost: OwnCost, found: CostProperties) -> CostProperties:
    """Return what was stated about a cost, where the column does not refute it; else what was found."""
    stated = {"concave": cost.concave, "splitting": cost.splitting}
    for name, value in stated.items():
        if value and not getattr(found, name):
            raise ParameterError(
                f'the cost "{cost.name}" is stated to have {name}=True, and this column refutes it; state False or None'
            )
    agreed = {name: getattr(found, name) if value is None else value for name, value in stated.items()}
    return CostProperties(agreed["concave"], agreed["splitting"], found.wide_is_worse, found.ordered)


def _cuts(
    price: _Priced, k: int, n: int, properties: CostProperties, max_size: int | None, progress: Progress
) -> NDArray[np.int64]:
    """Return the cuts of the cheapest groups of neighbouring values; ties go to the longest last group."""
    largest = 2 * k - 1 if properties.splitting and (max_size is None or max_size >= 2 * k - 1) else max_size or n
    monotone = properties.concave and largest in {2 * k - 1, n}  # positions of the last cut never fall
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    begin = np.zeros(n + 1, np.int64)
    progress.stage("cutting the sorted values", n)
    lowest = 0
    for j in range(k, n + 1):
        first = max(0, j - largest, lowest if monotone else 0)
        ends = [i for i in range(first, j - k + 1) if total[i] < np.inf]
        sums = [total[i] + price(i, j) for i in ends]
        if sums:
            best = int(np.argmin(sums))
            total[j], begin[j] = sums[best], ends[best]
            lowest = ends[best]
        progress.advance()
    if not np.isfinite(total[n]):
        raise ParameterError(f"{n} records cannot be cut into groups of {k} to {largest}; allow a larger max_size")
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(int(begin[cuts[-1]]))
    return np.array(cuts[::-1])
