"""The optimum by complete enumeration: a dynamic program over the subsets of a tiny table.

Only groups of k to 2k-1 records are needed (Thaeter 2021, Corollary 2.21): a larger one can be split without loss. All
groups of the lowest record that is left are tried. O(3ⁿ) time, O(2ⁿ) memory: for at most 18 records, as the reference
for the other methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.contract import Objective, Optimal, Outcome
from shoal.methods.registry import method

MOST_RECORDS = 18


@method(
    "brute-force",
    title="The smallest possible SSE by trying every grouping of a tiny table",
    complexity="3ⁿ",
    guarantees=(Optimal(),),
    reference="Thaeter 2021, section 4.3 and Corollary 2.21",
    when=f"at most {MOST_RECORDS} records, as a reference",
    max_size=lambda k: 2 * k - 1,
    proves="sse",
)
def brute_force(points: NDArray[np.float64], k: int, *, progress: Progress = SILENT) -> Outcome:
    """Group records so that no other grouping has a smaller SSE.

    Among groupings of the same computed SSE, record 0 takes the group whose other records have the lowest numbers, read
    from the highest number down; then the lowest record that is left does the same.

    Examples
    --------
    >>> import numpy as np
    >>> brute_force(np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """
    n = len(points)
    if n > MOST_RECORDS:
        raise ParameterError(
            f"brute-force tries every grouping and takes at most {MOST_RECORDS} records, the table has {n}; "
            "use set-partition, which also proves how far from the optimum it is"
        )
    progress.stage("grouping (brute-force)", n)
    exponent = np.frexp(np.ptp(points / 2, axis=0).max(initial=0.0))[1]
    squares = np.zeros((n, n))
    for column in np.ldexp(points, -exponent).T:  # a power of two, so that no square overflows or vanishes
        squares += (column[:, None] - column[None, :]) ** 2
    labels, best = _cheapest(squares, k)
    progress.advance(n)
    sse = float(np.ldexp(best, 2 * exponent))
    return Outcome(labels, objective=Objective("sse", sse, bound=sse))


@compiled
def _cheapest(squares: Any, k: int) -> Any:
    """Return the labels of the cheapest grouping, and its cost; sets of records are the bits of integers."""
    n = squares.shape[0]
    everything = (1 << n) - 1
    costs = np.zeros(everything + 1)  # first the sum over pairs, a sum without cancellation, then the SSE
    sizes = np.zeros(everything + 1, np.int64)
    for records in range(1, everything + 1):
        low = 0
        while not records >> low & 1:
            low += 1
        rest = records ^ 1 << low
        total = costs[rest]
        for other in range(low + 1, n):
            if rest >> other & 1:
                total += squares[low, other]
        costs[records] = total
        sizes[records] = sizes[rest] + 1
    for records in range(1, everything + 1):
        costs[records] /= sizes[records]
    total = np.full(everything + 1, np.inf)
    choice = np.zeros(everything + 1, np.int64)
    total[0] = 0.0
    for left in range(1, everything + 1):
        if sizes[left] < k:
            continue
        low = left & -left
        others = left ^ low
        part = (0 - others) & others  # the subsets of the others in ascending order
        while part:
            group = part | low
            if k <= sizes[group] < 2 * k and total[left ^ group] + costs[group] < total[left]:
                total[left] = total[left ^ group] + costs[group]
                choice[left] = group
            part = (part - others) & others
    labels = np.zeros(n, np.int64)
    left = everything
    count = 0
    while left:
        for record in range(n):
            if choice[left] >> record & 1:
                labels[record] = count
        left ^= choice[left]
        count += 1
    return labels, total[everything]
