"""The default: the best method for the data, k and the time a user is ready to wait.

One column has an optimum that is found at once. A small table goes to ONA*, whose loops compile quickly. Everything
else follows a plan (see ``planning``): ``effort`` chooses a rung of a ladder by a fixed model of the costs, so that the
same table gets the same groups everywhere; ``budget`` measures the machine first and takes the best rung that fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.kernels.plain import FEW
from shoal.methods.planning import Effort, Plan, calibrate, check_memory, plan
from shoal.methods.registry import get_method, method
from shoal.progress import SILENT, Progress


@method(
    "auto",
    title="The best choice for the size of the table and the time there is",
    cost="as the method it chooses",
    guarantee="as the method it chooses, which the result names",
    reference="-",
    when="always, unless a certain method is wanted",
)
def auto(
    points: NDArray[np.float64],
    k: int,
    *,
    effort: Effort = "balanced",
    budget: float | str | None = None,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by the method that suits them best.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    effort
        ``fast``, ``balanced`` or ``best``.
    budget
        Seconds to spend, or a text such as ``60s`` or ``5m``; overrides the effort. The choice then depends on the
        speed of the machine.
    progress
        Hears how far the work is.
    facts
        Receives the name of the method ``chosen``, ``why``, and what that method has to tell.

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> import numpy as np
    >>> found = {}
    >>> auto(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [8.0, 8.0]]), 2, facts=found)
    array([0, 1, 0, 1])
    >>> found["chosen"]
    'ona-star'
    """
    n, d = points.shape
    check_memory(n, d, k)
    chosen = choose(n, d, k, effort=effort)
    if budget is not None and d > 1:
        progress.stage("measuring the speed of this machine")
        chosen = plan(n, d, k, budget=budget, calibration=calibrate(points, k))
    if facts is not None:
        facts["chosen"] = chosen.method
        facts["why"] = chosen.why
    return get_method(chosen.method).run(points, k, progress=progress, facts=facts, **chosen.options)


def choose(n: int, d: int, k: int, *, effort: Effort = "balanced") -> Plan:
    """Return the plan for n records of d attributes; the same on every machine.

    Examples
    --------
    >>> [choose(n, 10, 5).method for n in (1_000, 50_000, 10_000_000)]
    ['ona-star', 'mona-plus', 'mona-plus']
    """
    if d == 1:
        return Plan("optimal-1d", {}, 0.0, "one column: the optimum is known")
    planned = plan(n, d, k, effort=effort)
    if n <= FEW and effort != "best":
        return Plan("ona-star", {}, 0.0, f"{n:,} records: few enough for ona-star, which is ready at once")
    return planned
