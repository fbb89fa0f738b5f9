"""optimal-1d: the best possible groups of one column, in the time of a sort.

F. I. Stamm & M. T. Schaub, "Faster Optimal Univariate Microaggregation", TMLR 10/2024; Hansen & Mukherjee 2003. Some
best clustering consists of neighbours in sorted order, so it is a shortest path over the sorted values. O(n log n) for
the sort, then O(n) to O(n log k). Use it whenever one column is to be protected; it is also the engine of
``projection``.
"""

from __future__ import annotations

from dataclasses import replace
from math import copysign, ldexp
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.methods.registry import check_k, method
from shoal.methods.univariate.capped import capped_cuts
from shoal.methods.univariate.costs import COSTS, Cost, column_cost
from shoal.methods.univariate.exact_values import numbers, prepare
from shoal.methods.univariate.searches import choose
from shoal.methods.univariate.sorting import labels_of, sort_values
from shoal.methods.univariate.uncapped import Terms, uncapped_cuts

HIGHEST_PRICE = 1e250

CostName = Literal["sse", "sae", "max-distance", "round-up", "round-down", "rounded-mean"]
SearchName = Literal["auto", "direct", "simple", "simple+", "divide", "staggered", "wilber", "galil-park", "quadratic"]


def optimal_1d(
    values: ArrayLike,
    k: int,
    cost: str = "sse",
    *,
    weights: ArrayLike | None = None,
    search: str = "auto",
    max_size: int | None = None,
    max_groups: int | None = None,
    group_cost: float = 0.0,
    shortage_cost: float | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group the values of one column so that the total cost is as small as possible.

    Parameters
    ----------
    values
        One column: integers, floats, dates or durations; an array, a list or a Series.
    k
        The smallest group allowed.
    cost
        What a group costs: ``sse`` (squared distances to the mean), ``sae`` (distances to the median), ``max-distance``
        (half the range), ``round-up`` and ``round-down`` (distances to the largest or smallest value), or
        ``rounded-mean`` (squared distances to the mean rounded to a whole number).
    weights
        Sampling weights for ``sse``, positive. Sizes still count records.
    search
        The algorithm; ``auto`` takes the fastest one that is valid.
    max_size
        The largest group allowed.
    max_groups
        The largest number of groups allowed.
    group_cost
        A price for each group, in units of the cost: the higher, the fewer groups.
    shortage_cost
        A price for each record that a group has fewer than k. **Groups below k are then allowed** and the result is not
        k-anonymous; without it they are not.
    progress
        Hears how far the work is.
    facts
        Receives the search that was chosen and the number of groups.

    Returns
    -------
    labels
        The group of each record; groups are numbered 0, 1, ... in the order of their values. Records of equal value are
        separated only where that lowers the cost or where both groups get the same representative, and then by
        their number.

    Examples
    --------
    >>> optimal_1d([1, 50, 1.1, 50.1, 1.2, 50.2, 1.3, 50.3], k=3)
    array([0, 1, 0, 1, 0, 1, 0, 1])
    >>> optimal_1d([3, 0, 2, 1], k=2, cost="sae")
    array([1, 0, 1, 0])
    >>> optimal_1d([1, 2, 30, 31, 60, 61], k=2, max_groups=2)
    array([0, 0, 0, 0, 1, 1])
    """
    column = numbers(values)
    check_k(k, column.size)
    k = int(k)
    load = _checked_weights(weights, column.size)
    kind = column_cost(cost, weighted=load is not None)
    terms = _checked_terms(k, column.size, max_size, max_groups, group_cost, shortage_cost)
    ordered, order = sort_values(column)
    if load is None:
        sorted_load = np.empty(0)
    else:
        sorted_load = load[order] / load.min()
        terms = _scaled(terms, float(1.0 / load.min()))
    cuts = _cuts(ordered, sorted_load, kind, search, terms, progress, facts if facts is not None else {})
    return labels_of(cuts, order)


def optimal_ordered(
    points: ArrayLike, k: int, *, max_size: int | None = None, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Cut records that stand in a given order into groups of neighbours with the smallest SSE over all attributes.

    Stamm & Schaub 2024, sections 1.1 and 6. The cost is not concave here, so every legal size is tried: O(k n d).

    Parameters
    ----------
    points
        n x d, in the order that is to be kept.
    k
        The smallest group allowed.
    max_size
        The largest group allowed.
    progress
        Hears how far the work is.

    Returns
    -------
    labels
        The group of each record, ascending.

    Examples
    --------
    >>> optimal_ordered([[1, 1], [1, 2], [9, 9], [8, 9], [1, 1], [1, 1]], k=2)
    array([0, 0, 1, 1, 2, 2])
    """
    records = np.array(points, np.float64, order="C", ndmin=2)
    if records.ndim != 2 or not np.isfinite(records).all():
        raise DataError("points must be finite numbers, n x d")
    check_k(k, records.shape[0])
    terms = _checked_terms(int(k), records.shape[0], max_size, None, 0.0, None)
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
        The group of each record, 0, 1, ...

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
    load = _checked_weights(weights, column.size)
    order = np.lexsort((column, labels))
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    kind = column_cost(cost, weighted=load is not None)
    found: NDArray[Any] = kind.representatives(column[order], starts, None if load is None else load[order])
    return found


def _cuts(
    ordered: NDArray[Any],
    weights: NDArray[np.float64],
    cost: Cost,
    search: str,
    terms: Terms,
    progress: Progress,
    facts: dict[str, Any],
) -> NDArray[np.int64]:
    """Choose a search and run it on sorted values."""
    prepared = prepare(ordered, whole=cost.name == "rounded-mean")
    terms = _scaled(terms, 1.0, prepared.exponent * cost.power)
    splitting = terms.group_cost <= 0.0 and terms.shortage < 0.0
    largest = terms.largest if terms.largest and not (splitting and terms.largest >= 2 * terms.k - 1) else None
    chosen = choose(search, cost, terms.k, splitting=splitting, largest=largest)
    facts["search"] = chosen.name
    if chosen.capped:
        cuts = capped_cuts(prepared.values, weights, terms.k, cost, chosen.name, largest=largest, progress=progress)
        if terms.max_groups and cuts.size - 1 > terms.max_groups:
            facts["search"] = "layers"
            cuts = uncapped_cuts(prepared.floats, weights, cost, "layers", terms, progress=progress)
    else:
        cuts = uncapped_cuts(prepared.floats, weights, cost, chosen.name, terms, progress=progress)
    facts["groups"] = cuts.size - 1
    return cuts


def _checked_terms(
    k: int, n: int, max_size: int | None, max_groups: int | None, group_cost: float, shortage_cost: float | None
) -> Terms:
    if max_size is not None and max_size < k:
        raise ParameterError(f"max_size={max_size} is below k={k}; no group would be legal")
    if max_groups is not None and max_groups < 1:
        raise ParameterError(f"max_groups={max_groups} leaves no group; choose at least 1")
    if not np.isfinite(group_cost) or abs(group_cost) > 1e200:
        raise ParameterError("group_cost must be a finite number below 1e200")
    if shortage_cost is not None and not 0 <= shortage_cost <= 1e200:
        raise ParameterError("shortage_cost must be a number of at least 0 and at most 1e200")
    largest = 0 if max_size is None or max_size >= n else int(max_size)
    shortage = -1.0 if shortage_cost is None else float(shortage_cost)
    return Terms(k, float(group_cost), shortage, largest, int(max_groups or 0))


def _scaled(terms: Terms, factor: float, exponent: int = 0) -> Terms:
    """Return the terms with prices in the units of the prepared values and weights."""

    def price(amount: float) -> float:
        try:
            return ldexp(amount * factor, exponent)
        except OverflowError:  # dearer than anything that could be gained by paying it
            return copysign(HIGHEST_PRICE, amount)

    shortage = terms.shortage if terms.shortage < 0 else price(terms.shortage)
    return replace(terms, group_cost=price(terms.group_cost), shortage=shortage)


def _checked_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    load = numbers(weights, "weights").astype(np.float64)
    if load.size != n:
        raise DataError(f"there are {load.size} weights for {n} records")
    bad = int((load <= 0).sum())
    if bad:
        raise DataError(f"{bad} of {n} weights are not positive; a record that stands for nobody has to be removed")
    return load


@method(
    "optimal-1d",
    title="The best groups of one column",
    cost="n log n",
    guarantee="the smallest cost possible; groups of k to 2k-1 unless options ask for larger ones",
    reference="Stamm & Schaub 2024; Hansen & Mukherjee 2003",
    when="always, for a single column",
    data="values",
)
def optimal_1d_method(
    points: NDArray[np.float64],
    k: int,
    *,
    cost: CostName = "sse",
    search: SearchName = "auto",
    max_size: int | None = None,
    max_groups: int | None = None,
    group_cost: float = 0.0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group one column as :func:`optimal_1d` does; the registry's view of it, without what could give groups below k.

    Parameters
    ----------
    points
        One column of finite numbers.
    k, cost, search, max_size, max_groups, group_cost, progress, facts
        As in :func:`optimal_1d`.

    Returns
    -------
    labels
        The group of each record, in the order of the values.

    Examples
    --------
    >>> import numpy as np
    >>> optimal_1d_method(np.array([0.0, 9.0, 1.0, 8.0]), 2)
    array([0, 1, 0, 1])
    """
    return optimal_1d(
        points,
        k,
        cost,
        search=search,
        max_size=max_size,
        max_groups=max_groups,
        group_cost=group_cost,
        progress=progress,
        facts=facts,
    )
