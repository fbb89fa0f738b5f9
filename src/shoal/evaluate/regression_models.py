"""The two models of the analysis measures: least squares and logistic regression, with NumPy only.

Columns become a design matrix that both tables share: numbers in standard deviations of the original, categories as
indicators of all but the most frequent one (at most 20).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
_MAX_CATEGORIES = 20
_RIDGE = 1e-6


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Parameters
    ----------
    coefficients
        The intercept, then one per column of the design.
    errors
        Their standard errors.
    """

    coefficients: Floats
    errors: Floats

    def interval(self) -> tuple[Floats, Floats]:
        """Return the ends of the 95 % confidence intervals."""
        half = 1.959963984540054 * self.errors
        return self.coefficients - half, self.coefficients + half


def design(columns: Sequence[PairedColumn], part: str) -> tuple[Floats, list[str]]:
    """Return the design matrix of the ``original`` or ``released`` table without an intercept, and its columns' names.

    Rows with missing values contain NaN.
    """
    blocks, names = [], []
    for column in columns:
        values = getattr(column, part)
        if column.numeric:
            if column.deviation > 0:
                blocks.append(column.standardised(values)[:, None])
                names.append(column.name)
            continue
        known = column.original[~np.isnan(column.original)].astype(np.int64)
        frequency = np.bincount(known, minlength=len(column.categories))
        order = [int(code) for code in np.argsort(-frequency, kind="stable") if frequency[code]]
        for code in order[1:_MAX_CATEGORIES]:
            blocks.append(np.where(np.isnan(values), np.nan, values == code)[:, None])
            names.append(f"{column.name} (category {code})")
    n = columns[0].original.size if part == "original" else columns[0].released.size
    return (np.hstack(blocks) if blocks else np.empty((n, 0))), names


def least_squares(X: Floats, y: Floats) -> Fit:
    """Fit y = b0 + X b by least squares. Cost O(n d^2).

    Examples
    --------
    >>> fit = least_squares(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]))
    >>> fit.coefficients.round(9).tolist()
    [1.0, 2.0]
    """
    A = _with_intercept(X)
    inverse = np.linalg.pinv(A.T @ A)
    coefficients = inverse @ (A.T @ y)
    free = max(len(y) - A.shape[1], 1)
    variance = float(((y - A @ coefficients) ** 2).sum()) / free
    return Fit(coefficients, np.sqrt(np.maximum(np.diag(inverse) * variance, 0.0)))


def logistic(X: Floats, y: Floats, *, rounds: int = 30) -> Fit:
    """Fit P(y = 1) by logistic regression with a tiny ridge, by Newton's method. Cost O(rounds n d^2).

    Examples
    --------
    >>> fit = logistic(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 1.0, 1.0]))
    >>> bool(abs(fit.coefficients[0]) < 1e-3 and fit.coefficients[1] > 1)
    True
    """
    A = _with_intercept(X)
    ridge = _RIDGE * len(y) * np.eye(A.shape[1])
    b = np.zeros(A.shape[1])
    hessian = ridge
    for _ in range(rounds):
        p = probability(A, b)
        hessian = (A * (p * (1 - p))[:, None]).T @ A + ridge
        step = np.linalg.solve(hessian, A.T @ (y - p) - ridge @ b)
        largest = float(np.abs(step).max())
        b = b + step * min(1.0, 5.0 / max(largest, 1e-300))
        if largest < 1e-8:
            break
    return Fit(b, np.sqrt(np.maximum(np.diag(np.linalg.inv(hessian)), 0.0)))


def predict(X: Floats, coefficients: Floats) -> Floats:
    """Return b0 + X b."""
    return coefficients[0] + X @ coefficients[1:]


def probability(A: Floats, b: Floats) -> Floats:
    """Return 1 / (1 + exp(-A b)), without overflow."""
    return 1 / (1 + np.exp(-np.clip(A @ b, -35.0, 35.0)))


def _with_intercept(X: Floats) -> Floats:
    return np.hstack([np.ones((len(X), 1)), X])
