"""The search for a gain factor: 0.0, 0.1, ..., 2.0, the cheapest grouping wins (Thaeter 2021, section 5.2).

No rule is known that tells a good factor beforehand, so all are tried, on all cores.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import Progress
from shoal.core.threads import run_in_threads
from shoal.errors import ParameterError
from shoal.methods.kernels.centroids import total_cost

FACTORS = tuple(i / 10 for i in range(21))


def best_gain(
    name: str,
    run: Callable[[float, Progress], NDArray[np.int64]],
    points: NDArray[np.float64],
    gamma: float | None,
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    """Return the labels of ``run`` for gamma, or for the best of all factors if gamma is None."""
    if gamma is not None and not 0.0 <= gamma < np.inf:
        raise ParameterError(f"gamma={gamma} is not possible; choose a factor of at least 0, or none to search for it")
    factors = FACTORS if gamma is None else (float(gamma),)
    progress.stage(f"grouping ({name})", len(factors) * len(points))
    shared = SharedProgress(progress)
    runs = run_in_threads(lambda factor: run(factor, shared), factors)
    costs = [total_cost(points, labels) for labels in runs]
    best = int(np.argmin(costs))
    if facts is not None:
        facts["gamma"] = factors[best]
        if gamma is None:
            facts["cost of each gamma"] = dict(zip(map(str, factors), costs, strict=True))
    return runs[best]


class SharedProgress(Progress):
    """Passes on the advances of several threads, one at a time, and leaves out their stages."""

    def __init__(self, listener: Progress) -> None:
        self._listener = listener
        self._lock = Lock()

    def advance(self, amount: int = 1) -> None:
        """Pass the amount on."""
        with self._lock:
            self._listener.advance(amount)
