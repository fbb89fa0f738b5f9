"""The default: the best method for the data, k and the time a user is ready to wait.

One column has an optimum that is found at once. A small table goes to ONA*, whose loops compile quickly, or with the
best effort to ``set-partition``. Everything else follows a plan (see ``planning``): ``effort`` chooses a rung of a
ladder by a fixed model of the costs, so that the same table gets the same groups everywhere; ``budget`` measures the
machine first and takes the best rung that fits, or ``set-partition`` if there is time to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError, suggestion
from shoal.methods.effort import Effort, Plan, calibrate, check_memory, plan, seconds_of
from shoal.methods.optimal.set_partition import SMALL
from shoal.methods.partition.schedule import Schedule
from shoal.methods.registry import Method, get_method, method

READY_AT_ONCE = 1_000  # records; above, mona-plus loses less
LEAST = 5.0  # seconds below which a search is not begun
SPARE = 3.0  # a budget this many times as long as the best plan is worth a search


@method(
    "auto",
    title="The best choice for the size of the table and the time there is",
    cost="as the method it chooses",
    guarantee="as the method it chooses, which the result names",
    reference="-",
    when="always, unless a certain method is wanted",
    float32=True,
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
        Seconds to spend, or a text such as ``60s`` or ``5m``; overrides the effort. The groups then depend on the
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
    check_memory(n, d, k, bytes_per_number=points.itemsize, present=True)
    chosen = choose(n, d, k, effort=effort)
    if budget is not None and d > 1:
        progress.stage("measuring the speed of this machine")
        watch = Schedule(seconds_of(budget))
        calibration = calibrate(points, k)
        chosen = plan(n, d, k, budget=max(watch.left, watch.seconds / 2), calibration=calibration)
        if n >= 2 * k and watch.left >= max(LEAST, SPARE * chosen.seconds):
            why = f"{watch.left:.0f} s are left, far more than {chosen.method} needs: search for better groups"
            chosen = Plan("set-partition", {"seconds": watch.left}, watch.left, why)
    if facts is not None:
        facts["chosen"] = chosen.method
        facts["why"] = chosen.why
    wanted = get_method(chosen.method)
    storage = {"storage": str(points.dtype)} if wanted.float32 else {}
    return wanted.run(points, k, progress=progress, facts=facts, **chosen.options, **storage)


def choose(n: int, d: int, k: int, *, effort: Effort = "balanced") -> Plan:
    """Return the plan for n records of d attributes; the same on every machine.

    Examples
    --------
    >>> [choose(n, 10, 5).method for n in (1_000, 50_000, 10_000_000)]
    ['ona-star', 'mona-plus', 'mona-plus']
    >>> choose(1_000, 10, 5, effort="best").method
    'set-partition'
    """
    if d == 1:
        return Plan("optimal-1d", {}, 0.0, "one column: the optimum is known")
    planned = plan(n, d, k, effort=effort)
    if effort == "best" and n <= SMALL:
        return Plan("set-partition", {}, 0.0, f"{n:,} records: few enough to come close to the optimum, with a proof")
    if n <= READY_AT_ONCE:
        return Plan("ona-star", {}, 0.0, f"{n:,} records: few enough for ona-star, which is ready at once")
    return planned


def nominal_method(options: Mapping[str, Any]) -> tuple[Method, dict[str, Any]]:
    """Return the method for tables of nothing but categories, with the options of auto in its own words.

    Examples
    --------
    >>> nominal_method({"effort": "fast"})[1]
    {'rounds': 1}
    """
    efforts = {"fast": {"rounds": 1}, "balanced": {}, "best": {"rounds": 8}}
    effort = str(options.get("effort") or "balanced")
    if effort not in efforts:
        raise ParameterError(f'effort="{effort}" is not known; {suggestion(effort, efforts)}')
    budget = options.get("budget")
    return get_method("nominal"), efforts[effort] | ({} if budget is None else {"time_limit": seconds_of(budget)})
