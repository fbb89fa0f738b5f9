"""optimal-1d: the optimal groups of one column, in the time of a sort.

F. I. Stamm & M. T. Schaub, "Faster Optimal Univariate Microaggregation", TMLR 10/2024; Hansen & Mukherjee 2003. Some
optimal clustering consists of groups of consecutive values in sorted order, so it is a shortest path over the sorted
values. O(n log n) for the sort, then O(n) to O(n log k). Use it whenever one column is to be protected; ``projection``
is based on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import copysign, ldexp
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.methods.contract import Objective, Optimal, Outcome
from shoal.methods.options import Range, read_option
from shoal.methods.registry import get_method, method
from shoal.methods.univariate.capped import capped_cuts
from shoal.methods.univariate.costs import COSTS, INTEGER_COSTS, Cost, CostName, column_cost
from shoal.methods.univariate.exact_values import numbers, prepare
from shoal.methods.univariate.own_cost import OwnCost, optimal_for_own_cost
from shoal.methods.univariate.searches import choose
from shoal.methods.univariate.sorting import labels_from_cuts, sort_values
from shoal.methods.univariate.sum_modes import cuts_by_sums
from shoal.methods.univariate.uncapped import Terms, uncapped_cuts

HIGHEST_SCALED_COST = 1e250  # a cost per group that no clustering can outweigh
HIGHEST_COST = 1e200  # of a group or a missing record

SearchName = Literal["auto", "direct", "simple", "simple+", "divide", "staggered", "wilber", "galil-park", "quadratic"]

_SHORTAGE_COST = read_option("shortage_cost", Annotated[float, Range(0, HIGHEST_COST)] | None, None)


def optimal_1d(
    values: ArrayLike,
    k: int,
    cost: str | OwnCost = "sse",
    *,
    weights: ArrayLike | None = None,
    search: str = "auto",
    max_size: int | None = None,
    max_groups: int | None = None,
    groups: int | None = None,
    group_cost: float = 0.0,
    shortage_cost: float | None = None,
    sums: str = "inside",
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Group the values of one column such that the total cost is minimal.

    Parameters
    ----------
    values
        One column: integers, floats, dates or durations; an array, a list or a Series.
    k
        Minimum group size. 1 is possible with ``max_groups`` or ``groups``: this is k-means of one column at its
        optimum, and **not k-anonymous**.
    cost
        The cost of a group: ``sse`` (squared distances to the mean), ``sae`` (distances to the median),
        ``max-distance`` (half the range), ``round-up`` and ``round-down`` (distances to the largest or smallest
        value), or ``rounded-mean`` (squared distances to the mean rounded to an integer; for integers only). Or a cost
        of your own, an :class:`~shoal.methods.univariate.own_cost.OwnCost`, alone or with ``max_size``.
    weights
        Sampling weights for ``sse``, positive. Group sizes still count records.
    search
        The algorithm; ``auto`` selects the fastest one that is valid.
    max_size
        Maximum group size; None for no limit.
    max_groups
        Maximum number of groups; None for no limit.
    groups
        The exact number of groups; None for the cheapest number.
    group_cost
        A cost for each group, in units of the cost: the higher it is, the fewer groups there are.
    shortage_cost
        A cost for each record that a group has fewer than k. **Groups below k are then allowed** and the result is not
        k-anonymous; with None they are not allowed.
    sums
        How the costs are summed. ``inside`` the groups is accurate and the only way for releases. For research the
        ways that Stamm & Schaub 2024 compare in Figure 5: ``prefix`` (sums from the first value on), ``cheaper`` (a
        cost without the sum of squares) and ``cells`` (sums that begin anew); the first two lose digits on long
        columns, so that the groups may cost more than the optimum. They can be combined with k and a cost only.
    progress
        Progress callback.

    Returns
    -------
    labels
        The group number of each record; groups are numbered 0, 1, ... in the order of their values. Records of equal
        value are separated only where that lowers the cost or where both groups get the same representative, and then
        by their record number.

    Examples
    --------
    >>> optimal_1d([1, 50, 1.1, 50.1, 1.2, 50.2, 1.3, 50.3], k=3)
    array([0, 1, 0, 1, 0, 1, 0, 1])
    >>> optimal_1d([3, 0, 2, 1], k=2, cost="sae")
    array([1, 0, 1, 0])
    >>> optimal_1d([1, 2, 30, 31, 60, 61], k=2, max_groups=2)
    array([0, 0, 0, 0, 1, 1])
    """
    if isinstance(cost, OwnCost) or sums != "inside":
        others = (weights, max_groups, groups, shortage_cost, group_cost or None, None if search == "auto" else search)
        alone = all(value is None for value in others)
        if isinstance(cost, OwnCost):
            if not alone or sums != "inside":
                raise ParameterError("a cost of your own can be combined with max_size only")
            return optimal_for_own_cost(values, k, cost, max_size=max_size, progress=progress)
        if not alone or max_size is not None:
            raise ParameterError(f'sums="{sums}" can be combined with k and cost only')
        return _labels_by_sums(values, k, cost, sums)
    options = {"cost": cost, "search": search, "max_groups": max_groups, "group_cost": group_cost, "groups": groups}
    checked = get_method("optimal-1d").check_options(options)
    shortage: Any = _SHORTAGE_COST.check(shortage_cost)
    return _solve(values, k, weights=weights, max_size=max_size, shortage=shortage, progress=progress, **checked).labels


def _labels_by_sums(values: ArrayLike, k: int, cost: str, sums: str) -> NDArray[np.int64]:
    """Group a column with costs that are summed in another way."""
    column = numbers(values)
    check_k(k, column.size)
    ordered, order = sort_values(column)
    return labels_from_cuts(cuts_by_sums(ordered, int(k), cost, sums), order)


def optimal_ordered(
    points: ArrayLike, k: int, *, max_size: int | None = None, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Cut records in a given order into groups of consecutive records with the smallest SSE over all attributes.

    Stamm & Schaub 2024, sections 1.1 and 6. The cost is not concave here, so every valid size is tried: O(k n d).

    Parameters
    ----------
    points
        n x d, in the given order.
    k
        Minimum group size.
    max_size
        Maximum group size; None for no limit.
    progress
        Progress callback.

    Returns
    -------
    labels
        The group number of each record, ascending.

    Examples
    --------
    >>> optimal_ordered([[1, 1], [1, 2], [9, 9], [8, 9], [1, 1], [1, 1]], k=2)
    array([0, 0, 1, 1, 2, 2])
    """
    records = np.array(points, np.float64, order="C", ndmin=2)
    if records.ndim != 2 or not np.isfinite(records).all():
        raise DataError("points must be finite numbers, n x d")
    check_k(k, records.shape[0])
    terms = _terms(int(k), records.shape[0], max_size)
    records -= records.mean(axis=0)
    largest = terms.largest or 2 * terms.k - 1
    cuts = capped_cuts(
        records, np.empty(0), terms.k, COSTS["ordered-sse"], "simple", largest=largest, progress=progress
    )
    return np.repeat(np.arange(cuts.size - 1), np.diff(cuts))


def representatives(
    values: ArrayLike, labels: NDArray[np.int64], cost: str = "sse", *, weights: ArrayLike | None = None
) -> NDArray[Any]:
    """Return the value that replaces each group under a cost: mean, median, midrange, maximum, minimum, rounded mean.

    Parameters
    ----------
    values, cost, weights
        As in :func:`optimal_1d`.
    labels
        The group number of each record, 0, 1, ...

    Returns
    -------
    representatives
        One number per group; ``representatives(...)[labels]`` is the protected column.

    Examples
    --------
    >>> representatives([1.0, 2.0, 6.0, 9.0, 9.0], np.array([0, 0, 0, 1, 1]))
    array([3., 9.])
    >>> representatives([1.0, 2.0, 6.0, 9.0, 9.0], np.array([0, 0, 0, 1, 1]), "sae")
    array([2., 9.])
    """
    column = numbers(values)
    checked = _checked_weights(weights, column.size)
    order = np.lexsort((column, labels))
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    kind = column_cost(cost, weighted=checked is not None)
    found: NDArray[Any] = kind.representatives(column[order], starts, None if checked is None else checked[order])
    return found


@dataclass(frozen=True, eq=False)
class _Solution:
    """The sorted values, their record numbers, the cuts of the optimal clustering, and the search that found them."""

    ordered: NDArray[Any]
    order: NDArray[Any]
    cuts: NDArray[np.int64]
    search: str
    terms: Terms

    @property
    def labels(self) -> NDArray[np.int64]:
        return labels_from_cuts(self.cuts, self.order)


def _solve(
    values: ArrayLike,
    k: int,
    *,
    cost: str,
    search: str,
    weights: ArrayLike | None = None,
    max_size: int | None = None,
    max_groups: int | None = None,
    groups: int | None = None,
    group_cost: float = 0.0,
    shortage: float | None = None,
    progress: Progress = SILENT,
) -> _Solution:
    """Sort a column and cut it; options are checked already."""
    column = numbers(values)
    if groups is not None and max_groups is not None:
        raise ParameterError("groups is the exact number of groups and max_groups the largest; state one of them")
    if k != 1 or (max_groups is None and groups is None):
        check_k(k, column.size)
    checked = _checked_weights(weights, column.size)
    kind = column_cost(cost, weighted=checked is not None)
    terms = scaled = _terms(int(k), column.size, max_size, groups or max_groups, group_cost, shortage)
    if groups is not None:
        terms = scaled = replace(terms, exact=True)
    ordered, order = sort_values(column)
    sorted_weights = np.empty(0)
    if checked is not None:
        sorted_weights = checked[order] / checked.min()
        scaled = _scaled(terms, float(1.0 / checked.min()))
    cuts, used = _cuts(ordered, sorted_weights, kind, search, scaled, progress)
    return _Solution(ordered, order, cuts, used, terms)


def _cuts(
    ordered: NDArray[Any], weights: NDArray[np.float64], cost: Cost, search: str, terms: Terms, progress: Progress
) -> tuple[NDArray[np.int64], str]:
    """Select a search and run it on sorted values; return the cuts and the name of the search."""
    prepared = prepare(ordered, integer=cost.name in INTEGER_COSTS)
    terms = _scaled(terms, 1.0, prepared.exponent * cost.power)
    splitting = terms.group_cost <= 0.0 and terms.shortage < 0.0
    largest = terms.largest if terms.largest and not (splitting and terms.largest >= 2 * terms.k - 1) else None
    if terms.exact or terms.k == 1:
        return uncapped_cuts(prepared.floats, weights, cost, "layers", terms, progress=progress), "layers"
    chosen = choose(search, cost, terms.k, splitting=splitting, largest=largest)
    if not chosen.capped:
        return uncapped_cuts(prepared.floats, weights, cost, chosen.name, terms, progress=progress), chosen.name
    cuts = capped_cuts(prepared.values, weights, terms.k, cost, chosen.name, largest=largest, progress=progress)
    if terms.max_groups and cuts.size - 1 > terms.max_groups:
        return uncapped_cuts(prepared.floats, weights, cost, "layers", terms, progress=progress), "layers"
    return cuts, chosen.name


def _terms(
    k: int,
    n: int,
    max_size: int | None,
    max_groups: int | None = None,
    group_cost: float = 0.0,
    shortage: float | None = None,
) -> Terms:
    if max_size is not None and max_size < k:
        raise ParameterError(f"max_size={max_size} is below k={k}; choose a max_size of at least k")
    largest = 0 if max_size is None or max_size >= n else int(max_size)
    return Terms(k, group_cost, -1.0 if shortage is None else shortage, largest, max_groups or 0)


def _scaled(terms: Terms, factor: float, exponent: int = 0) -> Terms:
    """Return the terms with costs in the units of the prepared values and weights."""

    def scaled(amount: float) -> float:
        try:
            return ldexp(amount * factor, exponent)
        except OverflowError:  # larger than any cost that it could be compared with
            return copysign(HIGHEST_SCALED_COST, amount)

    shortage = terms.shortage if terms.shortage < 0 else scaled(terms.shortage)
    return replace(terms, group_cost=scaled(terms.group_cost), shortage=shortage)


def _checked_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    checked = numbers(weights, "weights").astype(np.float64)
    if checked.size != n:
        raise DataError(f"there are {checked.size} weights for {n} records")
    bad = int((checked <= 0).sum())
    if bad:
        raise DataError(f"{bad} of {n} weights are not positive; correct or remove these records")
    return checked


@method(
    "optimal-1d",
    title="The optimal groups of one column",
    complexity="n log n",
    guarantees=(Optimal("the smallest cost possible; groups of k to 2k-1 unless options request larger ones"),),
    reference="Stamm & Schaub 2024; Hansen & Mukherjee 2003",
    when="always, for a single column",
    proves="sse",
    version=1,
)
def optimal_1d_method(
    values: NDArray[np.float64],
    k: int,
    *,
    cost: CostName = "sse",
    search: SearchName = "auto",
    max_groups: Annotated[int, Range(1)] | None = None,
    groups: Annotated[int, Range(1)] | None = None,
    group_cost: Annotated[float, Range(-HIGHEST_COST, HIGHEST_COST)] = 0.0,
    max_size: int | None = None,
    progress: Progress = SILENT,
) -> Outcome:
    """Group one column as :func:`optimal_1d` does, without the options that allow groups below k.

    Parameters
    ----------
    cost, search, max_groups, groups, group_cost
        As in :func:`optimal_1d`.

    Returns
    -------
    outcome
        Labels in the order of the values; the objective with its bound (the cost is optimal), except for
        ``rounded-mean``, for which that is not proved; diagnostics ``search`` and ``groups``.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = optimal_1d_method(np.array([0.0, 9.0, 1.0, 8.0]), 2)
    >>> outcome.labels, outcome.objective.value, outcome.objective.gap
    (array([0, 1, 0, 1]), 1.0, 0.0)
    """
    solution = _solve(
        values, k, cost=cost, search=search, max_size=max_size, max_groups=max_groups, groups=groups,
        group_cost=group_cost, progress=progress,
    )  # fmt: skip
    number = solution.cuts.size - 1
    value = COSTS[cost].total(solution.ordered, solution.cuts)
    bound = value if COSTS[cost].proven else None
    objective = Objective(cost, value, bound, _scope(solution.terms, number))
    return Outcome(solution.labels, objective=objective, diagnostics={"search": solution.search, "groups": number})


def _scope(terms: Terms, groups: int) -> str:
    """Return the groupings among which the cost of the groups, without the cost per group, is the smallest.

    With a cost per group, another number of groups may have a smaller cost of the groups themselves.

    Examples
    --------
    >>> _scope(Terms(3), 4), _scope(Terms(3, largest=4), 4)
    ('all groupings', 'groupings with at most 4 records in a group')
    >>> _scope(Terms(3, group_cost=2.0, largest=9), 4)
    'groupings with 4 groups, at most 9 records in a group'
    """
    limits = []
    if terms.group_cost or terms.exact:
        limits.append(f"{groups} groups")
    elif terms.max_groups:
        limits.append(f"at most {terms.max_groups} groups")
    if terms.largest and (limits or terms.largest < 2 * terms.k - 1):
        limits.append(f"at most {terms.largest} records in a group")
    return f"groupings with {', '.join(limits)}" if limits else "all groupings"
