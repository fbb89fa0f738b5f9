"""The earth mover's distance of two distributions, over any ground distance.

The least work that turns one distribution into the other, where moving a share s from value i to value j costs s times
the ground distance of i and j (Li et al. 2007, section 5; Thaeter 2021, Def. 3.12). Requirements on a table use the
closed forms of ``ground_distances``; this function also takes a matrix of distances and then solves the transport
problem. Cost O(m) for m values in order or with equal distances, a linear program with m² variables for a matrix.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.arguments import checked
from shoal.core.hierarchy import Hierarchy
from shoal.errors import DataError, ParameterError

MOST_VALUES = 1_500
"""Values of a distance matrix: the linear program has a variable for each pair."""


@checked
def emd(p: ArrayLike, q: ArrayLike, distance: Literal["ordered", "equal"] | ArrayLike = "ordered") -> float:
    """Return the earth mover's distance of two distributions over the same values.

    Parameters
    ----------
    p, q
        How often each value occurs, as counts or shares; both are divided by their sums.
    distance
        ``ordered``: the difference of ranks divided by the number of values less one; ``equal``: 1 between any two
        values; or a matrix with the distance of each pair of values, for example from :func:`hierarchy_distances`.

    Returns
    -------
    distance
        The least work, 0 for equal distributions.

    Examples
    --------
    >>> emd([1, 0, 0], [0, 0, 1])
    1.0
    >>> emd([2, 1, 1], [1, 1, 2], "equal")
    0.25
    >>> emd([1, 0, 0], [0, 1, 1], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    2.5
    """
    first, second = _shares(p, "p"), _shares(q, "q")
    if first.size != second.size:
        raise DataError(f"p has {first.size} values and q has {second.size}; both must list the same values")
    if isinstance(distance, str):
        if distance == "equal":
            return float(np.abs(first - second).sum() / 2)
        if distance == "ordered":
            below = np.abs(np.cumsum(first - second)[:-1])
            return float(below.sum() / max(first.size - 1, 1))
        raise ParameterError(f'distance="{distance}" is not possible; choose ordered, equal or a matrix')
    return _transport(first, second, _matrix(distance, first.size))


def hierarchy_distances(
    hierarchy: Hierarchy, measure: Literal["height", "size"] = "height"
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the values of a hierarchy, and the distance of each pair of them.

    Parameters
    ----------
    hierarchy
        The hierarchy.
    measure
        Of the closest common ancestor: its ``height`` as a share of the height of the tree, as in Total-IL, or its
        ``size``, the share of all values below it, as in NCP (Thaeter 2021, Defs. 3.6 to 3.8).

    Returns
    -------
    values, distances
        The values in the order of the hierarchy, and a matrix with a row and a column for each.

    Examples
    --------
    >>> jobs = Hierarchy([("baker", "craft"), ("painter", "craft"), ("dentist", "medicine")])
    >>> values, distances = hierarchy_distances(jobs, "size")
    >>> values, distances[0].round(2).tolist()
    (('baker', 'painter', 'dentist'), [0.0, 0.67, 1.0])
    """
    if measure == "height":
        return hierarchy.leaves, hierarchy.distances()
    if measure != "size":
        raise ParameterError(f'measure="{measure}" is not possible; choose height or size')
    n = hierarchy.n_leaves
    found = np.ones((n, n))
    for ancestors in hierarchy.ancestors[1:]:  # from the root down, so that the closest ancestor remains
        nodes = ancestors[:n]
        same = nodes[:, None] == nodes[None, :]
        found = np.where(same, hierarchy.sizes[nodes][:, None] / n, found)
    np.fill_diagonal(found, 0.0)
    return hierarchy.leaves, found


def _shares(counts: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(counts, np.float64)
    except (ValueError, TypeError):  # its text may quote values
        array = np.full(1, np.nan)
    total = float(array.sum()) if array.ndim == 1 and array.size else 0.0
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any() or total <= 0 or not np.isfinite(total):
        raise DataError(f"{name} must be a list of numbers of at least 0, one for each value, and not all 0")
    return array / total


def _matrix(distance: ArrayLike, n: int) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(distance, np.float64)
    except (ValueError, TypeError):
        matrix = np.empty(0)
    if matrix.shape != (n, n) or not np.isfinite(matrix).all() or (matrix < 0).any():
        raise DataError(f"a matrix of distances needs {n} rows and columns of numbers of at least 0")
    if np.diagonal(matrix).any():
        raise DataError("the distance of a value from itself must be 0")
    if n > MOST_VALUES:
        raise ParameterError(f"a matrix of {n} values is too large; join values to at most {MOST_VALUES}")
    return matrix


def _transport(p: NDArray[np.float64], q: NDArray[np.float64], distance: NDArray[np.float64]) -> float:
    """Return the least cost of moving p to q: a linear program over the pairs of values that give and receive."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    gives, receives = np.flatnonzero(p), np.flatnonzero(q)
    rows, columns = gives.size, receives.size
    pair = np.arange(rows * columns)
    sums = csr_matrix(
        (np.ones(2 * pair.size), (np.concatenate([pair // columns, rows + pair % columns]), np.tile(pair, 2)))
    )
    amounts = np.concatenate([p[gives], q[receives]])
    costs = distance[np.ix_(gives, receives)].reshape(-1)
    solved = linprog(costs, A_eq=sums[:-1], b_eq=amounts[:-1], method="highs")  # the last sum follows from the others
    if solved.status != 0:
        raise DataError(f"the transport problem was not solved: {solved.message}")
    return max(float(solved.fun), 0.0)
