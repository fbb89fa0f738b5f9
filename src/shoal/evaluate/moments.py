"""Changes of numeric columns: IL1s, means, variances, covariances, correlations, eigenvalues and quantiles.

All are measured in standard deviations of the original column, so that zeros in the data need no exception: the IL1 of
Mateo-Sanz et al. (2005) divides by the original value and is undefined, or infinite, where that is zero; IL1s divides
by sqrt(2) times the standard deviation (Yancey et al. 2002; ``dUtility`` of sdcMicro) and is always defined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
DECILES = np.arange(1, 10) / 10


def il1s(column: PairedColumn) -> float:
    """Return the mean of |x - x'| / (sqrt(2) S) over the known values of a numeric column. Cost O(n).

    A suppressed value counts as if replaced by the mean; in a constant column a changed value counts one.

    Examples
    --------
    >>> il1s(PairedColumn("x", np.array([0.0, 0.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0])))
    0.6123724356957945
    """
    known = ~np.isnan(column.original)
    if not known.any():
        return 0.0
    original = column.original[known]
    released = np.where(np.isnan(column.released[known]), column.mean, column.released[known])
    deviation = column.deviation * np.sqrt(original.size / max(original.size - 1, 1))  # of a sample
    if deviation == 0:
        return float((original != released).mean())
    return float((np.abs(original - released) / deviation).mean() / np.sqrt(2))


def mean_shift(column: PairedColumn) -> float:
    """Return the absolute change of the mean, in standard deviations of the original.

    Examples
    --------
    >>> mean_shift(PairedColumn("x", np.array([0.0, 2.0]), np.array([1.0, 3.0])))
    1.0
    """
    released = column.standardised(column.released[~np.isnan(column.released)])
    return abs(float(released.mean())) if released.size else float("nan")


def variance_change(column: PairedColumn) -> float:
    """Return the variance of the release as a share of the original one, less one; 0 if both are constant.

    Examples
    --------
    >>> variance_change(PairedColumn("x", np.array([0.0, 2.0]), np.array([1.0, 1.0])))
    -1.0
    """
    released = column.standardised(column.released[~np.isnan(column.released)])
    if not released.size:
        return float("nan")
    variance = float(released.var())
    if column.deviation == 0:
        return 0.0 if variance == 0 else float("inf")
    return variance - 1.0


def quantile_shift(column: PairedColumn) -> float:
    """Return the mean distance between the nine deciles, in standard deviations of the original. Cost O(n log n).

    Examples
    --------
    >>> x = np.linspace(0, 1, 101)
    >>> round(quantile_shift(PairedColumn("x", x, x + x.std())), 12)
    1.0
    """
    parts = [values[~np.isnan(values)] for values in (column.original, column.released)]
    if not (parts[0].size and parts[1].size):
        return float("nan")
    before, after = (np.quantile(column.standardised(part), DECILES) for part in parts)
    return float(np.abs(before - after).mean())


def joint_moments(columns: Sequence[PairedColumn]) -> dict[str, float]:
    """Return how covariances, correlations and eigenvalues changed, over the records without missing values.

    Parameters
    ----------
    columns
        Numeric columns.

    Returns
    -------
    figures
        ``covariance``: mean difference over pairs of columns, in products of standard deviations; ``correlation``: mean
        difference over pairs; ``eigenvalues``: sum of differences of the eigenvalues of the covariance matrix of the
        standardised columns, as a share of their sum. Empty with fewer than two columns or records. Cost O(n d^2).

    Examples
    --------
    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> joint_moments([PairedColumn("x", x, x), PairedColumn("y", y, y[::-1])])["correlation"]
    2.0
    """
    numeric = [column for column in columns if column.numeric]
    before = _complete([column.standardised(column.original) for column in numeric])
    after = _complete([column.standardised(column.released) for column in numeric])
    if len(numeric) < 2 or len(before) < 2 or len(after) < 2:
        return {}
    covariances = [np.cov(part, rowvar=False, bias=True) for part in (before, after)]
    correlations = [_correlation(covariance) for covariance in covariances]
    upper = np.triu_indices(len(numeric), 1)
    roots = [np.sort(np.linalg.eigvalsh(covariance))[::-1] for covariance in covariances]
    total = float(roots[0].sum())
    return {
        "covariance": float(np.abs(covariances[0] - covariances[1])[upper].mean()),
        "correlation": float(np.abs(correlations[0] - correlations[1])[upper].mean()),
        "eigenvalues": float(np.abs(roots[0] - roots[1]).sum()) / total if total > 0 else 0.0,
    }


def _complete(columns: Sequence[Floats]) -> Floats:
    if not columns:
        return np.empty((0, 0))
    matrix = np.column_stack(columns)
    return matrix[~np.isnan(matrix).any(axis=1)]


def _correlation(covariance: Floats) -> Floats:
    """Return correlations; those of a constant column are 0."""
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 1e-12, deviation, np.inf)
    return covariance / scale[:, None] / scale[None, :]
