"""projection: many columns reduced to one, which is then grouped at its optimum.

Stamm & Schaub 2024, section 5.2; Domingo-Ferrer & Mateo-Sanz 2002. The axis is the one of largest variance, or the
best of several random ones. O(n log n) per direction, so it serves any number of records, but it is blind to all other
directions: far more is lost than with methods that look at distances, unless k is large or one direction rules the
data.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.registry import method
from shoal.methods.univariate.optimal_1d import optimal_1d


@method(
    "projection",
    title="The best groups along one direction of the data",
    cost="n log n + n d²",
    guarantee="groups of k to 2k-1, optimal along the direction",
    reference="Stamm & Schaub 2024, section 5.2",
    when="millions of records in a hurry, or columns that all say nearly the same",
    max_size=lambda k: 2 * k - 1,
)
def projection(
    points: NDArray[np.float64],
    k: int,
    *,
    axis: Literal["principal", "random"] = "principal",
    directions: int = 10,
    signed: bool = False,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by their order along one direction.

    Parameters
    ----------
    points
        n x d, standardised.
    k
        The smallest group allowed.
    axis
        ``principal``: the direction of largest variance. ``random``: the best of several random directions.
    directions
        How many random directions are tried.
    signed
        Whether random directions may also subtract columns; those of the paper only add them.
    seed
        Chooses the random directions. More directions with one seed include those of fewer.
    progress
        Hears how many directions are done.
    facts
        Receives the direction, and the SSE of each that was tried.

    Returns
    -------
    labels
        The group of each record, in the order of the projection.

    Examples
    --------
    >>> import numpy as np
    >>> projection(np.array([[0.0, 0.1], [9.0, 9.0], [1.0, 1.0], [8.0, 8.2]]), 2)
    array([0, 1, 0, 1])
    """
    if axis not in {"principal", "random"}:
        raise ParameterError(f'axis="{axis}" is neither "principal" nor "random"')
    if directions < 1:
        raise ParameterError(f"directions={directions} leaves nothing to project on; choose at least 1")
    centred = points - points.mean(axis=0)
    found = facts if facts is not None else {}
    progress.stage("grouping (projection)", directions if axis == "random" else 1)
    if axis == "principal":
        direction = principal_axis(centred)
        labels = optimal_1d(centred @ direction, k)
        found["direction"] = direction.tolist()
        found["sse"] = [grouped_sse(centred, labels)]
        progress.advance()
        return labels
    rng = np.random.default_rng(seed)
    best = float("inf")
    found["sse"] = []
    for _ in range(directions):
        direction = np.asarray(rng.normal(size=points.shape[1]) if signed else rng.random(points.shape[1]))
        attempt = optimal_1d(centred @ direction, k)
        sse = grouped_sse(centred, attempt)
        found["sse"].append(sse)
        if sse < best:
            best, labels = sse, attempt
            found["direction"] = direction.tolist()
        progress.advance()
    return labels


def individual_ranking_not_jointly_anonymous(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Group each column on its own at its optimum. **The result is not k-anonymous** over several columns.

    Thaeter 2021, section 2.1; Domingo-Ferrer & Mateo-Sanz 2002. Each value is shared by k records, but hardly any
    combination of values is: a record with two columns that are known can usually be found. Loses very little,
    protects very little. Only for columns that nobody can link with each other.

    Parameters
    ----------
    points
        n x d.
    k
        The smallest group allowed in each column.

    Returns
    -------
    labels
        n x d: the group of each record, column by column.

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
    spread = np.abs(centred).max()
    if spread == 0.0:
        return np.eye(centred.shape[1])[0]
    scaled = centred / spread
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
