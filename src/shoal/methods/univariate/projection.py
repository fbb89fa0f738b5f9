"""projection: many columns reduced to one, which is then grouped at its optimum.

Stamm & Schaub 2024, section 5.2; Domingo-Ferrer & Mateo-Sanz 2002. The axis is the one of largest variance, or the
best of several random ones. O(n log n) per direction, so it is suitable for any number of records, but it ignores all
other directions: the loss is far larger than that of methods that compute distances, unless k is large or one direction
dominates the data.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Objective, OptimalAlongDirection, Outcome
from shoal.methods.options import Range
from shoal.methods.registry import method
from shoal.methods.univariate.optimal_1d import optimal_1d


@method(
    "projection",
    title="The optimal groups along one direction of the data",
    complexity="n log n + n d²",
    guarantees=(OptimalAlongDirection(),),
    reference="Stamm & Schaub 2024, section 5.2",
    when="millions of records in little time, or columns that are strongly correlated",
    max_size=lambda k: 2 * k - 1,
)
def projection(
    points: NDArray[np.float64],
    k: int,
    *,
    axis: Literal["principal", "random"] = "principal",
    directions: Annotated[int, Range(1)] = 10,
    signed: bool = False,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by their order along one direction.

    Parameters
    ----------
    axis
        ``principal``: the direction of largest variance. ``random``: the best of several random directions.
    directions
        How many random directions are tried.
    signed
        Whether random directions may also subtract columns; those of the paper only add them.
    seed
        Seed of the random directions. A larger number of directions with the same seed includes those of a smaller one.

    Returns
    -------
    outcome
        Labels in the order of the projection, the SSE as objective; diagnostics ``direction``, and
        ``sse_of_each_direction`` that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> projection(np.array([[0.0, 0.1], [9.0, 9.0], [1.0, 1.0], [8.0, 8.2]]), 2).labels
    array([0, 1, 0, 1])
    """
    centred = points - points.mean(axis=0)
    if axis == "principal":
        tried = [principal_axis(centred)]
    else:
        rng, d = np.random.default_rng(seed), points.shape[1]
        tried = [np.asarray(rng.normal(size=d) if signed else rng.random(d)) for _ in range(directions)]
    progress.stage("grouping (projection)", len(tried))
    losses: list[float] = []
    for direction in tried:
        attempt = optimal_1d(centred @ direction, k)
        losses.append(grouped_sse(centred, attempt))
        if int(np.argmin(losses)) == len(losses) - 1:
            labels, chosen = attempt, direction
        progress.advance()
    diagnostics = {"direction": chosen.tolist(), "sse_of_each_direction": losses}
    return Outcome(labels, objective=Objective("sse", min(losses)), diagnostics=diagnostics)


def individual_ranking_not_jointly_anonymous(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Group each column on its own at its optimum. **The result is not k-anonymous** over several columns.

    Thaeter 2021, section 2.1; Domingo-Ferrer & Mateo-Sanz 2002. Each value is shared by k records, but few combinations
    of values are: an intruder who knows two columns can usually re-identify a record. The loss is very small, and so is
    the protection. Use it only for columns that no intruder can link with each other.

    Parameters
    ----------
    points
        n x d.
    k
        Minimum group size in each column.

    Returns
    -------
    labels
        n x d: the group number of each record in each column.

    Examples
    --------
    >>> import numpy as np
    >>> individual_ranking_not_jointly_anonymous(np.array([[0.0, 5.0], [9.0, 4.0], [1.0, 1.0], [8.0, 0.0]]), 2)
    array([[0, 1],
           [1, 1],
           [0, 0],
           [1, 0]])
    """
    return np.column_stack([optimal_1d(column, k) for column in np.asarray(points).T])


def principal_axis(centred: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction of largest variance, its largest component positive.

    Examples
    --------
    >>> principal_axis(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    array([1., 0.])
    """
    scale = np.abs(centred).max()
    if scale == 0.0:
        return np.eye(centred.shape[1])[0]
    scaled = centred / scale
    axis: NDArray[np.float64] = np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    return axis * np.sign(axis[np.argmax(np.abs(axis))])


def grouped_sse(centred: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the SSE over all columns.

    Examples
    --------
    >>> grouped_sse(np.array([[0.0, 0.0], [2.0, 0.0], [7.0, 7.0]]), np.array([0, 0, 1]))
    2.0
    """
    sizes = np.bincount(labels)
    total = 0.0
    for column in centred.T:
        means = np.bincount(labels, weights=column) / sizes
        total += float(((column - means[labels]) ** 2).sum())
    return total
