"""Best of many random runs, with the spread of all of them (Thaeter 2021, Tables 6.3 and 6.5)."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, median, pvariance
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import Progress
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.distance.repeats import SharedProgress
from shoal.methods.kernels.centroids import total_cost

Run = Callable[[np.random.Generator, Progress], tuple[NDArray[np.int64], int]]


def best_of(
    name: str,
    run: Run,
    points: NDArray[np.float64],
    runs: int,
    seed: int,
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    """Return the cheapest grouping of ``runs`` runs; each returns labels and the number of its rounds.

    The runs draw from generators of their own, so run number 3 is the same whether 10 or 1000 are made.
    """
    if runs < 1:
        raise ParameterError(f"runs={runs} is not possible; choose at least 1")
    progress.stage(f"grouping ({name}), {runs} runs", runs * len(points))
    shared = SharedProgress(progress)

    def job(number: int) -> tuple[float, int, NDArray[np.int64]]:
        labels, rounds = run(np.random.default_rng([seed, number]), shared)
        return total_cost(points, labels), rounds, labels

    results = run_in_threads(job, range(runs))
    costs = [cost for cost, _, _ in results]
    if facts is not None:
        whole = total_cost(points, np.zeros(len(points), np.int64))
        facts["information loss of the runs"] = _spread([cost / whole if whole else 0.0 for cost in costs])
        facts["rounds of the runs"] = _spread([float(rounds) for _, rounds, _ in results])
    return results[int(np.argmin(costs))][2]


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "lowest": min(values),
        "highest": max(values),
        "median": median(values),
        "mean": fmean(values),
        "variance": pvariance(values),
    }
