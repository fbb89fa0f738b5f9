"""How well a model distinguishes original from released records: pMSE, pMSE against its null value, and SPECKS.

A logistic model with squares and products predicts which of the two tables a record is from. Three figures of its
scores:

- pMSE (Woo et al. 2009), the mean squared distance of the scores from the share of released records, reported as a
  share of its largest value;
- pMSE over the value expected if the released records were drawn at random from the original, (m - 1)(1 - c)^2 c / N
  for m parameters with the intercept, N records in both tables and a released share c (Snoke et al. 2018). Two
  samples of one population, of which neither is given, have 1 / (1 - c) times this value, 2 for tables of one size;
- SPECKS (Bowen et al. 2021), the largest difference of the distribution functions of the scores.

The model detects differences of means, variances, products and frequencies only; it does not detect that the values of
a microaggregated column repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.distribution_distances import largest_difference
from shoal.evaluate.paired_columns import PairedColumn
from shoal.evaluate.regression_models import design, logistic, probability

Floats = NDArray[np.float64]
MAX_LOGISTIC_RECORDS = 50_000
"""The most records of each table that a logistic model is fitted to."""
_MAX_TERMS = 60


@dataclass(frozen=True)
class PropensityFigures:
    """How far the scores of original and released records differ.

    Parameters
    ----------
    share
        pMSE as a share of its largest value: 0 if the tables cannot be distinguished, 1 if every record can.
    ratio
        pMSE over its expectation for records drawn at random from the original; around 1 or less is good.
    specks
        The largest difference of the distribution functions of the scores, between 0 and 1.
    """

    share: float
    ratio: float
    specks: float


def null_pmse(parameters: int, records: int, share: float) -> float:
    """Return the expectation of pMSE if released records are random draws from the original (Snoke et al. 2018).

    Parameters
    ----------
    parameters
        The number of parameters of the model, with the intercept.
    records
        The number of records of both tables together.
    share
        The share of released records among them.

    Examples
    --------
    >>> null_pmse(6, 2000, 0.5)
    0.0003125
    """
    return (parameters - 1) * (1 - share) ** 2 * share / records


def propensity(
    columns: Sequence[PairedColumn], *, seed: int = 0, records: int = MAX_LOGISTIC_RECORDS
) -> PropensityFigures | None:
    """Return the figures of the propensity scores; None where no column varies.

    Parameters
    ----------
    columns
        The columns of both tables.
    seed
        Seed of the sample of larger tables.
    records
        The most records of each table that the model is fitted to.

    Examples
    --------
    >>> same = np.arange(20.0)
    >>> propensity([PairedColumn("x", same, same)])
    PropensityFigures(share=0.0, ratio=0.0, specks=0.0)
    """
    designs = [design(columns, part)[0] for part in ("original", "released")]
    if designs[0].shape[1] == 0:
        return None
    # both tables get the same indicators: one for each column in which either of them has missing values
    indicated = np.logical_or.reduce([np.isnan(X).any(axis=0) for X in designs])
    matrices = [np.hstack([np.nan_to_num(X, nan=0.0), np.isnan(X[:, indicated])]) for X in designs]
    matrices = [sampled_rows(X, seed + number, records) for number, X in enumerate(matrices)]
    y = np.concatenate([np.zeros(len(matrices[0])), np.ones(len(matrices[1]))])
    X = _with_products(np.vstack(matrices))
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0))[:, deviation > 1e-12] / deviation[deviation > 1e-12]
    if not X.shape[1]:
        return PropensityFigures(0.0, 0.0, 0.0)
    fit = logistic(X, y)
    share = float(y.mean())
    scores = probability(np.hstack([np.ones((len(X), 1)), X]), fit.coefficients)
    pmse = float(((scores - share) ** 2).mean())
    rank = int(np.linalg.matrix_rank(X.T @ X, hermitian=True))  # squares of indicators repeat the indicators
    return PropensityFigures(
        pmse / (share * (1 - share)),
        pmse / null_pmse(rank + 1, y.size, share),
        largest_difference(scores[y == 0], scores[y == 1]),
    )


def sampled_rows(values: Floats, seed: int, records: int = MAX_LOGISTIC_RECORDS) -> Floats:
    """Return the rows, or as many random ones in their order where there are more than ``records``."""
    if len(values) <= records:
        return values
    return values[np.sort(np.random.default_rng(seed).choice(len(values), records, replace=False))]


def _with_products(X: Floats) -> Floats:
    """Return the columns with their squares and products, at most _MAX_TERMS columns in all."""
    pairs = [(i, j) for i in range(X.shape[1]) for j in range(i, X.shape[1])]
    return np.hstack([X, *(X[:, [i]] * X[:, [j]] for i, j in pairs[: max(_MAX_TERMS - X.shape[1], 0)])])
