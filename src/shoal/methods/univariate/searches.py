"""The searches by name, the costs that each is valid for, and the choice of the fastest.

Stamm & Schaub 2024, Figure 2: the more properties a cost has, the faster a search may be. Selecting a search for a cost
without the properties that it needs raises ParameterError, because it would silently return a clustering that is not
optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from shoal.core.compiled import Kernel
from shoal.errors import ParameterError
from shoal.methods.univariate.binding import bind
from shoal.methods.univariate.costs import COSTS, Cost
from shoal.methods.univariate.row_blocks import blocks
from shoal.methods.univariate.search_direct import direct
from shoal.methods.univariate.search_divide import divide
from shoal.methods.univariate.search_galil_park import galil_park
from shoal.methods.univariate.search_layers import layer
from shoal.methods.univariate.search_quadratic import quadratic
from shoal.methods.univariate.search_simple import simple
from shoal.methods.univariate.search_simple_plus import simple_plus
from shoal.methods.univariate.search_staggered import staggered
from shoal.methods.univariate.search_staggered import value as staggered_value
from shoal.methods.univariate.search_wilber import wilber
from shoal.methods.univariate.smawk import smawk
from shoal.methods.univariate.ties import surcharges
from shoal.methods.univariate.unbounded import entry

LARGEST_DIRECT_K = 5  # up to this k, ``direct`` is compiled for each k


@dataclass(frozen=True)
class Search:
    """A search: its kernel, its time complexity and the properties that it needs.

    ``capped``: it tries only groups of at most 2k-1 values, which is enough where splitting is beneficial.
    """

    name: str
    kernel: Kernel
    time: str
    needs_concave: bool
    capped: bool


SEARCHES = {
    search.name: search
    for search in [
        Search("direct", direct, "k n", needs_concave=False, capped=True),
        Search("simple", simple, "k n", needs_concave=False, capped=True),
        Search("simple+", simple_plus, "k n", needs_concave=True, capped=True),
        Search("divide", divide, "n log k", needs_concave=True, capped=True),
        Search("staggered", staggered, "n", needs_concave=True, capped=True),
        Search("wilber", wilber, "n", needs_concave=True, capped=False),
        Search("galil-park", galil_park, "n", needs_concave=True, capped=False),
        Search("quadratic", quadratic, "n²", needs_concave=False, capped=False),
    ]
}


def choose(name: str, cost: Cost, k: int, *, splitting: bool, largest: int | None) -> Search:
    """Return the search of that name, or for ``auto`` the fastest valid one; raise ParameterError if it is not valid.

    Examples
    --------
    >>> choose("auto", COSTS["sse"], 100, splitting=True, largest=None).name
    'divide'
    >>> choose("simple+", COSTS["ordered-sse"], 3, splitting=True, largest=None)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: search="simple+" needs a concave cost, which "ordered-sse" is not; use search="auto"
    """
    if name == "auto":
        return SEARCHES[_fastest(cost, k, splitting=splitting, largest=largest)]
    search = SEARCHES[name]
    if search.needs_concave and not cost.concave:
        raise ParameterError(f'search="{name}" needs a concave cost, which "{cost.name}" is not; use search="auto"')
    if search.capped and not splitting:
        raise ParameterError(
            f'search="{name}" tries only groups of up to 2k-1 records, which is not enough with a group_cost or '
            'groups below k; use search="auto"'
        )
    if not search.capped and cost.cost is None:
        raise ParameterError(f'search="{name}" has no kernel for the cost "{cost.name}"; use search="auto"')
    if name == "direct" and (cost.name != "sse" or k > LARGEST_DIRECT_K):
        raise ParameterError(f'search="direct" is for cost="sse" and k up to {LARGEST_DIRECT_K}; use search="auto"')
    if largest is not None and name not in {"simple", "quadratic"}:
        raise ParameterError(f'search="{name}" cannot limit the group size; use search="auto", or remove max_size')
    return search


def _fastest(cost: Cost, k: int, *, splitting: bool, largest: int | None) -> str:
    """Return the name of the fastest valid search; benchmarks/univariate_figures.py measures them all."""
    if not splitting:
        return "quadratic" if largest is not None else "wilber"
    if largest is not None or not cost.concave:
        return "simple"
    if k <= LARGEST_DIRECT_K:
        return "direct" if cost.name == "sse" else "simple+"
    return "divide"


@cache
def capped_kernel(search: str, cost: str, k: int | None = None) -> Kernel:
    """Return the dynamic program of a capped search for a cost; ``direct`` also needs k."""
    kernels = COSTS[cost]
    if search == "direct":
        return bind(direct, f"k={k}", K=k or 2)
    names = {"cross": kernels.cross}
    if search == "staggered":
        names["value"] = bind(staggered_value, cost, cross=kernels.cross)
        names["row_search"] = bind(smawk, f"staggered, {cost}", value=names["value"])
    row_minima = bind(SEARCHES[search].kernel, cost, **names)
    return bind(blocks, f"{search}, {cost}", row_minima=row_minima, fill=kernels.fill, tie=kernels.tie)


@cache
def unbounded_kernel(search: str, cost: str) -> Kernel:
    """Return a search without a maximum group size for a cost."""
    group_cost: Any = COSTS[cost].cost
    bound_entry = bind(entry, cost, cost=group_cost)
    row_search = bind(smawk, f"unbounded, {cost}", value=bound_entry)
    kernel = layer if search == "layer" else SEARCHES[search].kernel
    return bind(kernel, cost, entry=bound_entry, row_search=row_search)


@cache
def surcharge_kernel(cost: str) -> Kernel:
    """Return the kernel that computes the surcharge of each cut between equal values."""
    return bind(surcharges, cost, tie=COSTS[cost].tie)
