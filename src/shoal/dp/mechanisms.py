"""The mechanisms that release a table, by name; the keyword-only parameters of each function are its options.

Every function receives a domain and an epsilon and returns positions on its grid, the privacy guarantee and the privacy
accounting.
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
from shoal.dp.private_mondrian import SplitCriterion
from shoal.dp.queries import all_range_queries
from shoal.dp.safe_k_anonymity import epsilon_safe, strongly_safe
from shoal.dp.small_db_mechanism import small_db
from shoal.errors import ParameterError, suggestion

Output = Literal["synthetic", "microaggregated"]

FINE_GRID = 2**16
"""The number of cells of a column for mechanisms that choose their own intervals or boxes."""


@dataclass(frozen=True)
class MechanismResult:
    """Released records as positions on a grid.

    Parameters
    ----------
    positions
        One row for each released record; integers are cells, fractions are between the centres of cells.
    cells
        The maximum number of cells of a column of the grid.
    random_within
        Whether released values are drawn uniformly within their cell; otherwise they are its centre.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    diagnostics
        Further properties of the release that the guarantee covers.
    """

    positions: NDArray[Any]
    cells: int
    random_within: bool
    guarantee: Guarantee
    accountant: Accountant
    diagnostics: dict[str, Any] = field(default_factory=dict)


def _histogram(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    cells: int = 10,
    neighbours: str = "add-remove",
    output: Output = "synthetic",
) -> MechanismResult:
    codes, shape = domain.grid(cells)
    Universe(shape)  # raises before any work if the universe is too large
    progress.stage("counting cells")
    released = laplace_histograms(HistogramDatabase.of(codes, shape), epsilon=epsilon, neighbours=neighbours)
    diagnostics = {"universe": int(np.prod(shape)), "scale": released.scale}
    return MechanismResult(
        released.database.records(), cells, output == "synthetic", released.guarantee, released.accountant, diagnostics
    )


def _intervals(
    domain: Domain, epsilon: float, progress: Progress, *, alpha: float = 0.5, records: int = 1000
) -> MechanismResult:
    domain.require_numeric("intervals")
    if records < 1:
        raise ParameterError(f"records={records} must be at least 1")
    codes, shape = domain.grid(FINE_GRID)
    sigma = tuple(max(1, (cells - 1).bit_length()) for cells in shape)
    released = release_intervals(codes, sigma, epsilon=epsilon, alpha=alpha, progress=progress)
    positions = released.synthetic(records, shape)
    return MechanismResult(
        positions, FINE_GRID, True, released.guarantee, released.accountant, {"boxes": len(released.low)}
    )


def _small_db(
    domain: Domain, epsilon: float, progress: Progress, *, cells: int = 4, alpha: float = 0.5
) -> MechanismResult:
    codes, shape = domain.grid(cells)
    database = HistogramDatabase.of(codes, shape)
    queries = all_range_queries(database.universe)
    progress.stage("evaluating databases")
    released = small_db(database, queries, epsilon=epsilon, alpha=alpha)
    return MechanismResult(
        released.database.records(), cells, True, released.guarantee, released.accountant, {"queries": len(queries)}
    )


def _mondrian(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    k: int,
    output: Output = "microaggregated",
    split_criterion: SplitCriterion = "side",
) -> MechanismResult:
    domain.require_numeric("mondrian")
    codes, shape = domain.grid(FINE_GRID)
    means = output == "microaggregated"
    released = mondrian(
        codes, shape, k=k, epsilon=epsilon, means=means, split_criterion=split_criterion, progress=progress
    )
    diagnostics = {"parts": len(released.low)}
    if not means:
        return MechanismResult(
            released.synthetic(), FINE_GRID, True, released.guarantee, released.accountant, diagnostics
        )
    centres, counts = released.microaggregated(k)
    return MechanismResult(
        np.repeat(centres, counts, axis=0), FINE_GRID, False, released.guarantee, released.accountant,
        diagnostics | {"groups": len(counts)},
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
) -> MechanismResult:
    codes, shape = domain.grid(cells)
    universe = Universe(shape)
    progress.stage("sampling")
    flat = np.ravel_multi_index(tuple(codes.T), shape).astype(np.int64)
    released = strongly_safe(flat, k=k, epsilon=epsilon, delta=delta, beta=beta)
    positions = np.repeat(universe.elements()[released.cells], released.counts, axis=0)
    diagnostics = {"beta": released.beta, "cells_released": len(released.cells), "universe": universe.size}
    return MechanismResult(
        positions, cells, output == "synthetic", released.guarantee, released.accountant, diagnostics
    )


def _epsilon_safe(
    domain: Domain,
    epsilon: float,
    progress: Progress,
    *,
    k: int,
    delta: float,
    beta: float | None = None,
    structure: float = 0.5,
    split_criterion: SplitCriterion = "side",
    output: Output = "microaggregated",
) -> MechanismResult:
    domain.require_numeric("epsilon-safe")
    codes, shape = domain.grid(FINE_GRID)
    released = epsilon_safe(
        codes, shape, k=k, epsilon=epsilon, delta=delta, beta=beta, structure=structure,
        split_criterion=split_criterion, progress=progress,
    )  # fmt: skip
    assert released.low is not None
    assert released.high is not None
    low = np.repeat(released.low, released.counts, axis=0)
    high = np.repeat(released.high, released.counts, axis=0)
    random_within = output == "synthetic"
    positions = np.random.default_rng().integers(low, high, endpoint=True) if random_within else (low + high) / 2
    diagnostics = {"beta": released.beta, "boxes_released": len(released.cells)}
    return MechanismResult(positions, FINE_GRID, random_within, released.guarantee, released.accountant, diagnostics)


def _insensitive(
    domain: Domain, epsilon: float, progress: Progress, *, k: int, order: Order = "z-curve"
) -> MechanismResult:
    domain.require_numeric("insensitive")
    codes, shape = domain.grid(FINE_GRID)
    progress.stage("grouping")
    released = insensitive_noise(codes, shape, k=k, epsilon=epsilon, order=order)
    positions = np.repeat(released.means, released.counts, axis=0)
    diagnostics = {"groups": len(released.counts), "scale": released.scale}
    return MechanismResult(positions, FINE_GRID, False, released.guarantee, released.accountant, diagnostics)


MECHANISMS: dict[str, Callable[..., MechanismResult]] = {
    "epsilon-safe": _epsilon_safe,
    "histogram": _histogram,
    "insensitive": _insensitive,
    "intervals": _intervals,
    "mondrian": _mondrian,
    "small-db": _small_db,
    "strongly-safe": _strongly_safe,
}


def check_mechanism(name: str, options: dict[str, Any]) -> Callable[..., MechanismResult]:
    """Return a mechanism by name; raises :class:`ParameterError` for unknown names and wrong options."""
    if name not in MECHANISMS:
        raise ParameterError(f'there is no mechanism "{name}"; {suggestion(name, MECHANISMS)}')
    parameters = inspect.signature(MECHANISMS[name]).parameters.values()
    known = {option.name: option.default for option in parameters if option.kind is inspect.Parameter.KEYWORD_ONLY}
    for option in options:
        if option not in known:
            raise ParameterError(f'mechanism "{name}" has no option "{option}"; {suggestion(option, known)}')
    for option, default in known.items():
        if default is inspect.Parameter.empty and options.get(option) is None:
            raise ParameterError(
                f'mechanism "{name}" needs {option}; give it as {option}=... (command line: --{option})'
            )
    if options.get("output", "synthetic") not in {"synthetic", "microaggregated"}:
        raise ParameterError(f'output="{options["output"]}" is unknown; choose synthetic or microaggregated')
    if options.get("neighbours", "replace") not in {"add-remove", "replace"}:
        raise ParameterError(f'neighbours="{options["neighbours"]}" is unknown; choose add-remove or replace')
    return MECHANISMS[name]
