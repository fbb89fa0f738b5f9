"""The searches by name, what each is valid for, and the one that is fastest.

Stamm & Schaub 2024, Figure 2: the more a cost promises, the faster a search may be. A search refuses a cost that does
not keep its promise, since it would then return a clustering that is not the best without anybody noticing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from shoal.core.compiled import Kernel
from shoal.errors import ParameterError, suggestion
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

DIRECT = 5  # the largest k that is compiled on its own


@dataclass(frozen=True)
class Search:
    """A search: its kernel, what it costs and what it needs.

    ``capped``: it looks only at groups of at most 2k-1 values, which is enough where splitting is beneficial.
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
    """Return the search of that name, or for ``auto`` the fastest one that is valid; refuse one that is not.

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
    if name not in SEARCHES:
        raise ParameterError(f'there is no search "{name}"; {suggestion(name, ["auto", *SEARCHES])}')
    search = SEARCHES[name]
    if search.needs_concave and not cost.concave:
        raise ParameterError(f'search="{name}" needs a concave cost, which "{cost.name}" is not; use search="auto"')
    if search.capped and not splitting:
        raise ParameterError(
            f'search="{name}" looks only at groups of up to 2k-1 records, which is not enough with a group cost or '
            'groups below k; use search="auto"'
        )
    if not search.capped and cost.cost is None:
        raise ParameterError(f'search="{name}" does not know the cost "{cost.name}"; use search="auto"')
    if name == "direct" and (cost.name != "sse" or k > DIRECT):
        raise ParameterError(f'search="direct" is for cost="sse" and k up to {DIRECT}; use search="auto"')
    if largest is not None and name not in {"simple", "quadratic"}:
        raise ParameterError(f'search="{name}" knows no largest size; use search="auto"')
    return search


def _fastest(cost: Cost, k: int, *, splitting: bool, largest: int | None) -> str:
    """Return the name of the fastest valid search; benchmarks/univariate_figures.py measures them all."""
    if not splitting:
        return "quadratic" if largest is not None else "wilber"
    if largest is not None or not cost.concave:
        return "simple"
    if k <= DIRECT:
        return "direct" if cost.name == "sse" else "simple+"
    return "divide"


@cache
def capped_kernel(search: str, cost: str, k: int | None = None) -> Kernel:
    """Return the dynamic program of a capped search for a cost; ``direct`` also wants to know k."""
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
    """Return a search without a largest group for a cost."""
    group_cost: Any = COSTS[cost].cost
    price = bind(entry, cost, cost=group_cost)
    row_search = bind(smawk, f"unbounded, {cost}", value=price)
    kernel = layer if search == "layer" else SEARCHES[search].kernel
    return bind(kernel, cost, entry=price, row_search=row_search)


@cache
def surcharge_kernel(cost: str) -> Kernel:
    """Return the kernel that finds the surcharge of each cut between equal values."""
    return bind(surcharges, cost, tie=COSTS[cost].tie)
