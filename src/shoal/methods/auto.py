"""The default: the best method for the data, k and the time a user is ready to wait.

One column has an optimum that is found at once. Otherwise ONA* loses least; where it would take more than some minutes,
MDAV⁺ takes its place. The limit comes from Covertype (581,012 x 10), where ONA* took two minutes on a busy machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.methods.registry import all_methods, get_method, method
from shoal.progress import SILENT, Progress

PATIENCE = 4e12  # n² d, a little more than that of Covertype


@method(
    "auto",
    title="The best choice for the size of the table",
    cost="as the method it chooses",
    guarantee="as the method it chooses, which the result names",
    reference="-",
    when="always, unless a certain method is wanted",
)
def auto(
    points: NDArray[np.float64], k: int, *, progress: Progress = SILENT, facts: dict[str, Any] | None = None
) -> NDArray[np.int64]:
    """Group records by the method that suits them best.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
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
    name, why = choose(*points.shape)
    if facts is not None:
        facts["chosen"] = name
        facts["why"] = why
    return get_method(name).run(points, k, progress=progress, facts=facts)


def choose(n: int, d: int) -> tuple[str, str]:
    """Return the name of the method for n records of d attributes, and the reason.

    Examples
    --------
    >>> choose(48_842, 3)[0], choose(10_000_000, 3)[0]
    ('ona-star', 'mdav-plus')
    """
    if d == 1 and "optimal-1d" in all_methods():
        return "optimal-1d", "one column: the optimum is known"
    if float(n) * n * d <= PATIENCE:
        return "ona-star", f"{n:,} records of {d} attributes: small enough for the method that loses least"
    return "mdav-plus", f"{n:,} records of {d} attributes: too many for ona-star"
