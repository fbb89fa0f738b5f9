"""Methods that run several times and keep the cheapest grouping: over gain factors, or over random starts.

No rule is known that gives a good gain factor beforehand, so all of 0.0, 0.1, ..., 2.0 are tried (Thaeter 2021, section
5.2). Random methods report the distribution of the losses and rounds of all runs (Tables 6.3 and 6.5). Runs share the
cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, median, pvariance
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import Progress
from shoal.core.threads import run_in_threads
from shoal.methods.contract import Diagnostic, Outcome
from shoal.methods.kernels.centroids import total_cost

GAIN_FACTORS = tuple(i / 10 for i in range(21))


def best_gain_factor(
    name: str,
    run: Callable[[float, Progress], NDArray[np.int64] | Outcome],
    points: NDArray[np.float64],
    gamma: float | None,
    progress: Progress,
) -> Outcome:
    """Return the grouping of ``run`` for gamma, or for the best of all gain factors if gamma is None.

    Among equal costs the lowest factor wins. Diagnostics: those of the best run, ``gamma`` and, after a search,
    ``cost_of_each_gamma``.
    """
    factors = GAIN_FACTORS if gamma is None else (float(gamma),)
    progress.stage(f"grouping ({name})", len(factors) * len(points))
    shared = SharedProgress(progress)
    results = run_in_threads(lambda factor: run(factor, shared), factors)
    runs = [each if isinstance(each, Outcome) else Outcome(each) for each in results]
    costs = [total_cost(points, each.labels) for each in runs]
    best = int(np.argmin(costs))
    diagnostics: dict[str, Diagnostic] = {"gamma": factors[best], **runs[best].diagnostics}
    if gamma is None:
        diagnostics["cost_of_each_gamma"] = dict(zip(map(str, factors), costs, strict=True))
    return Outcome(runs[best].labels, diagnostics=diagnostics)


def best_of_runs(
    name: str,
    run: Callable[[np.random.Generator, Progress], tuple[NDArray[np.int64], int]],
    points: NDArray[np.float64],
    runs: int,
    seed: int,
    progress: Progress,
) -> Outcome:
    """Return the cheapest grouping of several random runs; a run returns labels and the number of its rounds.

    Every run has a random generator of its own, so run number 3 is the same whether 10 or 1000 are made. Diagnostics:
    ``information_loss_of_the_runs`` and ``rounds_of_the_runs``.
    """
    progress.stage(f"grouping ({name}), {runs} runs", runs * len(points))
    shared = SharedProgress(progress)

    def job(number: int) -> tuple[float, int, NDArray[np.int64]]:
        labels, rounds = run(np.random.default_rng([seed, number]), shared)
        return total_cost(points, labels), rounds, labels

    results = run_in_threads(job, range(runs))
    costs = [cost for cost, _, _ in results]
    total = total_cost(points, np.zeros(len(points), np.int64))
    diagnostics = {
        "information_loss_of_the_runs": _distribution([cost / total if total else 0.0 for cost in costs]),
        "rounds_of_the_runs": _distribution([float(rounds) for _, rounds, _ in results]),
    }
    return Outcome(results[int(np.argmin(costs))][2], diagnostics=diagnostics)


def _distribution(values: Sequence[float]) -> dict[str, float]:
    return {
        "lowest": min(values),
        "highest": max(values),
        "median": median(values),
        "mean": fmean(values),
        "variance": pvariance(values),
    }


class SharedProgress(Progress):
    """Passes the advances of several threads to one progress callback, one at a time, and omits their stages."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._lock = Lock()

    def advance(self, amount: int = 1) -> None:
        """Pass the amount on."""
        with self._lock:
            self._progress.advance(amount)
