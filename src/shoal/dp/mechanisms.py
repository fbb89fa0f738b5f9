"""The mechanisms that release a whole table, each with its options; one function each, found by its name.

Every function takes a domain and an epsilon and returns places on its grid, with the promise and the account.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import Progress
from shoal.dp.accountant import Accountant
from shoal.dp.database import HistogramDatabase, Universe
from shoal.dp.domain import Domain
from shoal.dp.guarantee import Guarantee
from shoal.dp.histogram_mechanism import laplace_histograms
from shoal.dp.insensitive_mechanism import Order, insensitive_noise
from shoal.dp.interval_mechanism import release_intervals
from shoal.dp.mondrian_release import mondrian
from shoal.dp.private_mondrian import Spread
from shoal.dp.queries import all_range_queries
from shoal.dp.safe_k_anonymity import epsilon_safe, strongly_safe
from shoal.dp.small_db_mechanism import small_db
from shoal.errors import ParameterError, suggestion

Output = Literal["synthetic", "microaggregated"]

FINE = 2**16
"""The cells of a column where a mechanism chooses its own cuts."""


@dataclass(frozen=True)
class Outcome:
    """Records on a grid.

    Parameters
    ----------
    places
        One row for each record that is released; whole numbers are cells, fractions lie between their middles.
    cells
        The most cells of a column of the grid.
    inside
        Whether a value is drawn from inside its cell or is the middle of it.
    guarantee, accountant
        What is promised and what was spent.
    facts
        What else may be told.
    """

    places: NDArray[Any]
    cells: int
    inside: bool
    guarantee: Guarantee
    accountant: Accountant
    facts: dict[str, Any] = field(default_factory=dict)


def _histogram(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    cells: int = 10,
    neighbours: str = "add-remove",
    output: Output = "synthetic",
) -> Outcome:
    codes, shape = domain.grid(cells)
    Universe(shape)  # too large a universe is refused before any work
    progress.stage("counting cells")
    released = laplace_histograms(HistogramDatabase.of(codes, shape), epsilon=epsilon, neighbours=neighbours)
    facts = {"universe": int(np.prod(shape)), "scale": released.scale}
    return Outcome(
        released.database.records(), cells, output == "synthetic", released.guarantee, released.accountant, facts
    )


def _intervals(
    domain: Domain, epsilon: float, progress: Progress, *, alpha: float = 0.5, records: int = 1000
) -> Outcome:
    domain.refuse_categories("intervals")
    if records < 1:
        raise ParameterError(f"records={records} must be at least 1")
    codes, shape = domain.grid(FINE)
    sigma = tuple(max(1, (cells - 1).bit_length()) for cells in shape)
    released = release_intervals(codes, sigma, epsilon=epsilon, alpha=alpha, progress=progress)
    places = released.synthetic(records, shape)
    return Outcome(places, FINE, True, released.guarantee, released.accountant, {"boxes": len(released.low)})


def _small_db(domain: Domain, epsilon: float, progress: Progress, *, cells: int = 4, alpha: float = 0.5) -> Outcome:
    codes, shape = domain.grid(cells)
    database = HistogramDatabase.of(codes, shape)
    queries = all_range_queries(database.universe)
    progress.stage("trying databases")
    released = small_db(database, queries, epsilon=epsilon, alpha=alpha)
    return Outcome(
        released.database.records(), cells, True, released.guarantee, released.accountant, {"queries": len(queries)}
    )


def _mondrian(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    k: int,
    output: Output = "microaggregated",
    spread: Spread = "side",
) -> Outcome:
    domain.refuse_categories("mondrian")
    codes, shape = domain.grid(FINE)
    means = output == "microaggregated"
    released = mondrian(codes, shape, k=k, epsilon=epsilon, means=means, spread=spread, progress=progress)
    facts = {"parts": len(released.low)}
    if not means:
        return Outcome(released.synthetic(), FINE, True, released.guarantee, released.accountant, facts)
    centres, counts = released.microaggregated(k)
    return Outcome(
        np.repeat(centres, counts, axis=0), FINE, False, released.guarantee, released.accountant,
        facts | {"groups": len(counts)},
    )  # fmt: skip


def _strongly_safe(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    k: int,
    delta: float,
    cells: int = 10,
    beta: float | None = None,
    output: Output = "microaggregated",
) -> Outcome:
    codes, shape = domain.grid(cells)
    universe = Universe(shape)
    progress.stage("sampling")
    flat = np.ravel_multi_index(tuple(codes.T), shape).astype(np.int64)
    released = strongly_safe(flat, k=k, epsilon=epsilon, delta=delta, beta=beta)
    places = np.repeat(universe.elements()[released.cells], released.counts, axis=0)
    facts = {"beta": released.beta, "cells_released": len(released.cells), "universe": universe.size}
    return Outcome(places, cells, output == "synthetic", released.guarantee, released.accountant, facts)


def _epsilon_safe(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    k: int,
    delta: float,
    beta: float | None = None,
    structure: float = 0.5,
    spread: Spread = "side",
    output: Output = "microaggregated",
) -> Outcome:
    domain.refuse_categories("epsilon-safe")
    codes, shape = domain.grid(FINE)
    released = epsilon_safe(
        codes, shape, k=k, epsilon=epsilon, delta=delta, beta=beta, structure=structure, spread=spread,
        progress=progress,
    )  # fmt: skip
    assert released.low is not None
    assert released.high is not None
    low = np.repeat(released.low, released.counts, axis=0)
    high = np.repeat(released.high, released.counts, axis=0)
    inside = output == "synthetic"
    places = np.random.default_rng().integers(low, high, endpoint=True) if inside else (low + high) / 2
    facts = {"beta": released.beta, "boxes_released": len(released.cells)}
    return Outcome(places, FINE, inside, released.guarantee, released.accountant, facts)


def _insensitive(domain: Domain, epsilon: float, progress: Progress, *, k: int, order: Order = "z-curve") -> Outcome:
    domain.refuse_categories("insensitive")
    codes, shape = domain.grid(FINE)
    progress.stage("grouping")
    released = insensitive_noise(codes, shape, k=k, epsilon=epsilon, order=order)
    places = np.repeat(released.means, released.counts, axis=0)
    facts = {"groups": len(released.counts), "scale": released.scale}
    return Outcome(places, FINE, False, released.guarantee, released.accountant, facts)


MECHANISMS: dict[str, Callable[..., Outcome]] = {
    "epsilon-safe": _epsilon_safe,
    "histogram": _histogram,
    "insensitive": _insensitive,
    "intervals": _intervals,
    "mondrian": _mondrian,
    "small-db": _small_db,
    "strongly-safe": _strongly_safe,
}


def check_mechanism(name: str, options: dict[str, Any]) -> Callable[..., Outcome]:
    """Return a mechanism by name, or say what is wrong with the name or the options."""
    if name not in MECHANISMS:
        raise ParameterError(f'there is no mechanism "{name}"; {suggestion(name, MECHANISMS)}')
    parameters = inspect.signature(MECHANISMS[name]).parameters.values()
    known = {item.name: item.default for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY}
    for option in options:
        if option not in known:
            raise ParameterError(f'mechanism "{name}" has no option "{option}"; {suggestion(option, known)}')
    for option, default in known.items():
        if default is inspect.Parameter.empty and options.get(option) is None:
            raise ParameterError(
                f'mechanism "{name}" needs {option}; give it as {option}=... (command line: --{option})'
            )
    if options.get("output", "synthetic") not in {"synthetic", "microaggregated"}:
        raise ParameterError(f'output="{options["output"]}" is not possible; choose synthetic or microaggregated')
    if options.get("neighbours", "replace") not in {"add-remove", "replace"}:
        raise ParameterError(f'neighbours="{options["neighbours"]}" is not possible; choose add-remove or replace')
    return MECHANISMS[name]
