"""Local search on groups of nominal rows: move one row, or exchange two, while the within-group distance falls.

Works on distinct rows with counts, as pricing does. Each pass visits all pairs of rows, O(n²), for blocks of a few
hundred rows. Each row in order makes its best move until no move helps; the search is deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled


def exchange(
    columns: NDArray[np.int32], distance: NDArray[np.float64], k: int, *, passes: int = 50
) -> NDArray[np.int32]:
    """Return groups of k to 2k-1 rows whose within-group distance is not larger.

    Parameters
    ----------
    columns
        The rows of one group per line, padded with -1 to length 2k-1.
    distance
        Distances of the distinct rows.
    k
        Minimum group size.
    passes
        Maximum number of passes over all rows.

    Examples
    --------
    >>> distance = np.array([[0.0, 1], [1, 0]])
    >>> exchange(np.array([[0, 1, -1], [1, 0, -1]], np.int32), distance, 2).tolist()
    [[1, 1, -1], [0, 0, -1]]
    """
    better = columns.copy()
    sizes = (better >= 0).sum(axis=1)
    padded = np.pad(distance, (0, 1))
    sums = np.zeros((len(better), len(distance)))
    for position in range(better.shape[1]):
        sums += padded[better[:, position], :-1]
    _exchange(better, sizes, sums, distance, k, passes)
    return better


@compiled(no_cfunc_wrapper=True, error_model="numpy")
def _exchange(columns: Any, sizes: Any, sums: Any, distance: Any, k: int, passes: int) -> None:
    """Change the columns in place; ``sums``: the distance of each row to all rows of each group."""
    groups, high = columns.shape
    for _ in range(passes):
        better = False
        for a in range(groups):
            p = 0
            while p < sizes[a]:
                e = columns[a, p]
                now = sums[a, e]
                best, best_b, best_q = -1e-9, -1, -1
                if now > 0:
                    for b in range(groups):
                        if b == a:
                            continue
                        come = sums[b, e] - now
                        if sizes[a] > k and sizes[b] < high and come < best:
                            best, best_b, best_q = come, b, -1
                        for q in range(sizes[b]):
                            f = columns[b, q]
                            change = come + sums[a, f] - sums[b, f] - 2 * distance[e, f]
                            if change < best:
                                best, best_b, best_q = change, b, q
                if best_b < 0:
                    p += 1
                    continue
                better = True
                b = best_b
                if best_q >= 0:
                    f = columns[b, best_q]
                    columns[a, p], columns[b, best_q] = f, e
                    for i in range(sums.shape[1]):
                        sums[a, i] += distance[f, i] - distance[e, i]
                        sums[b, i] += distance[e, i] - distance[f, i]
                    p += 1
                else:
                    sizes[a] -= 1
                    columns[a, p] = columns[a, sizes[a]]
                    columns[a, sizes[a]] = -1
                    columns[b, sizes[b]] = e
                    sizes[b] += 1
                    for i in range(sums.shape[1]):
                        sums[a, i] -= distance[e, i]
                        sums[b, i] += distance[e, i]
        if not better:
            break
