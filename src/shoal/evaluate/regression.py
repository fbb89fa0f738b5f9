"""Multinomial logistic regression of categorical microdata before and after protection.

Cost 2023, section 6.2.8. One attribute is explained by the others (one coefficient per category), once from the
original and once from the protected table; both models then predict the original records, and the Euclidean distance
between the two columns of probabilities is reported for each category. Where McFadden's pseudo-R² of the original model
is low the model explains nothing, and the distances are not meaningful. The models are fitted by Newton steps on the
distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.row_classes import collapse, compact
from shoal.errors import DataError

MIN_PSEUDO_R2 = 0.2
"""Below this pseudo-R² the distances are not meaningful (McFadden: 0.2 to 0.4 is an excellent fit)."""
_RIDGE = 1e-4
_MAX_NEWTON_STEPS = 100


@dataclass(frozen=True)
class RegressionCheck:
    """The change of a regression by protection.

    Parameters
    ----------
    pseudo_r2
        McFadden's pseudo-R² of the model of the original table.
    distances
        For each category of the dependent attribute, in ascending order of its code, the Euclidean distance between the
        probabilities of the two models over the original records.
    meaningful
        Whether the pseudo-R² is high enough for the distances to be meaningful.

    Examples
    --------
    >>> check = RegressionCheck(pseudo_r2=0.3, distances=np.array([0.1, 0.2]), meaningful=True)
    >>> check.meaningful, float(check.distances.max())
    (True, 0.2)
    """

    pseudo_r2: float
    distances: tuple[float, ...]
    meaningful: bool


def regression_check(
    original: NDArray[Any], released: NDArray[Any], dependent: int, *, min_pseudo_r2: float = MIN_PSEUDO_R2
) -> RegressionCheck:
    """Fit one attribute by the others before and after protection, and compare the predictions of both models.

    Parameters
    ----------
    original, released
        Tables of codes (n x m).
    dependent
        The index of the dependent attribute.
    min_pseudo_r2
        The pseudo-R² from which on the distances are meaningful.

    Returns
    -------
    check
        The pseudo-R² of the original model, and the distance for each category.

    Examples
    --------
    >>> table = np.array([[0, 0]] * 8 + [[1, 0]] * 2 + [[1, 1]] * 8 + [[0, 1]] * 2)
    >>> check = regression_check(table, table, 0)
    >>> round(check.pseudo_r2, 2), check.distances, check.meaningful
    (0.28, (0.0, 0.0), True)
    """
    before, after = np.asarray(original), np.asarray(released)
    if before.ndim != 2 or before.shape[1] < 2 or before.shape[1:] != after.shape[1:]:
        raise DataError("a regression needs two tables of codes with the same attributes, at least two attributes")
    joint, domains = compact(np.vstack([before, after]).astype(np.int32))
    classes = domains[dependent].size
    combinations = collapse(joint[: len(before)])
    design = _design(combinations.rows, dependent, domains)
    fitted = _fit(design, _class_counts(combinations, dependent, classes))
    later = collapse(joint[len(before) :])
    again = _fit(_design(later.rows, dependent, domains), _class_counts(later, dependent, classes))
    difference = _probabilities(design, fitted) - _probabilities(design, again)
    distances = np.sqrt((combinations.counts[:, None] * difference**2).sum(axis=0))
    occurring = np.unique(joint[: len(before), dependent])
    pseudo_r2 = mcfadden(before, dependent)
    return RegressionCheck(pseudo_r2, tuple(distances[occurring].tolist()), pseudo_r2 >= min_pseudo_r2)


def mcfadden(codes: NDArray[Any], dependent: int) -> float:
    """Return McFadden's pseudo-R² of the model that explains one attribute by all others; 0 for a constant attribute.

    Parameters
    ----------
    codes
        Categories from 0, records x attributes.
    dependent
        The number of the explained attribute.

    Returns
    -------
    pseudo_r2
        From 0 (the others explain nothing) to 1.

    Examples
    --------
    >>> round(mcfadden(np.array([[0, 0]] * 9 + [[1, 0]] + [[1, 1]] * 9 + [[0, 1]]), 0), 2)
    0.53
    """
    numbered, domains = compact(np.asarray(codes, np.int32))
    combinations = collapse(numbered)
    counts = _class_counts(combinations, dependent, domains[dependent].size)
    share = counts.sum(axis=0) / counts.sum()
    null = float((counts * np.log(share)).sum())
    if null == 0:
        return 0.0
    design = _design(combinations.rows, dependent, domains)
    logs = np.log(np.maximum(_probabilities(design, _fit(design, counts)), 1e-300))
    return 1.0 - float((counts * logs).sum()) / null


def _design(rows: NDArray[np.int32], dependent: int, domains: list[NDArray[np.int32]]) -> NDArray[np.float64]:
    """Return a constant and one column per category of the other attributes, the first of each left out."""
    parts = [np.ones((len(rows), 1))]
    for j, domain in enumerate(domains):
        if j != dependent:
            parts.append((rows[:, j, None] == np.arange(1, domain.size)).astype(np.float64))
    return np.hstack(parts)


def _class_counts(combinations: Any, dependent: int, classes: int) -> NDArray[np.float64]:
    counts = np.zeros((combinations.counts.size, classes))
    counts[np.arange(combinations.counts.size), combinations.rows[:, dependent]] = combinations.counts
    return counts


def _fit(design: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return coefficients (columns x classes - 1) by Newton steps; a tiny ridge keeps separated classes finite."""
    p, classes = design.shape[1], counts.shape[1]
    coefficients = np.zeros((p, classes - 1))
    if classes < 2:
        return coefficients
    total = counts.sum(axis=1, keepdims=True)
    penalised = _penalised(design, counts, coefficients)
    for _ in range(_MAX_NEWTON_STEPS):
        probabilities = _probabilities(design, coefficients)[:, 1:]
        gradient = design.T @ (counts[:, 1:] - total * probabilities) - _RIDGE * coefficients
        hessian = np.empty((classes - 1, p, classes - 1, p))
        for a in range(classes - 1):
            for b in range(classes - 1):
                weight = probabilities[:, a] * ((a == b) - probabilities[:, b]) * total[:, 0]
                hessian[a, :, b, :] = (design * weight[:, None]).T @ design
        size = p * (classes - 1)
        step = np.linalg.solve(hessian.reshape(size, size) + _RIDGE * np.eye(size), gradient.T.ravel())
        step = step.reshape(classes - 1, p).T
        length = 1.0
        while length > 1e-6 and _penalised(design, counts, coefficients + length * step) < penalised:
            length /= 2
        coefficients += length * step
        reached = _penalised(design, counts, coefficients)
        if reached - penalised <= 1e-9 * max(1.0, abs(reached)):
            break
        penalised = reached
    return coefficients


def _penalised(design: NDArray[np.float64], counts: NDArray[np.float64], coefficients: NDArray[np.float64]) -> float:
    logs = np.log(np.maximum(_probabilities(design, coefficients), 1e-300))
    return float((counts * logs).sum() - _RIDGE / 2 * (coefficients**2).sum())


def _probabilities(design: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = np.hstack([np.zeros((len(design), 1)), design @ coefficients])
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
