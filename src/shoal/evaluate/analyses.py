"""Agreement of analyses of the release and of the original: regression and prediction.

- Confidence-interval overlap (Karr et al. 2006): a coefficient of the release agrees with that of the original as far
  as their 95 % intervals overlap; 1 is the same interval, 0 none of it.
- Train on the release, test on the original: a linear or logistic model, against the same model trained on the
  original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.paired_columns import PairedColumn
from shoal.evaluate.propensity_scores import sampled_rows
from shoal.evaluate.regression_models import Fit, design, least_squares, logistic, predict

Floats = NDArray[np.float64]
_MAX_CATEGORIES = 10


@dataclass(frozen=True)
class RegressionAgreement:
    """The agreement of a regression of one column on the others between original and release.

    Parameters
    ----------
    target
        The dependent column.
    overlap
        The mean overlap of the 95 % intervals of the slopes.
    lowest_overlap
        The smallest overlap of a slope.
    same_sign
        The share of slopes with the same sign.
    terms
        The number of slopes.
    """

    target: str
    overlap: float
    lowest_overlap: float
    same_sign: float
    terms: int


@dataclass(frozen=True)
class Prediction:
    """The quality of a model on records of the original that it was not fitted to.

    Parameters
    ----------
    target
        The column predicted.
    score
        ``R2`` for numbers, ``accuracy`` for categories.
    from_release, from_original
        The score of the model trained on the release, and on the original.
    baseline
        The score of always predicting the mean, or the most frequent category.
    """

    target: str
    score: str
    from_release: float
    from_original: float
    baseline: float


def interval_overlap(left: Fit, right: Fit) -> Floats:
    """Return the overlap of the 95 % intervals of each coefficient, between 0 and 1.

    Examples
    --------
    >>> fit = Fit(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    >>> interval_overlap(fit, Fit(np.array([0.0, 99.0]), np.array([1.0, 1.0]))).tolist()
    [1.0, 0.0]
    """
    (low, high), (low2, high2) = left.interval(), right.interval()
    shared = np.maximum(np.minimum(high, high2) - np.maximum(low, low2), 0.0)
    width, width2 = high - low, high2 - low2
    equal = (np.abs(low - low2) <= 1e-9) & (np.abs(high - high2) <= 1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        overlap = (shared / width + shared / width2) / 2
    return np.where(equal, 1.0, np.nan_to_num(overlap, nan=0.0, posinf=0.0))


def regression_agreement(
    columns: Sequence[PairedColumn], target: PairedColumn, *, seed: int = 0
) -> RegressionAgreement | None:
    """Return the agreement of the regression of the target on the other columns; None where nothing can be fitted.

    A number is explained by least squares, a category by a logistic model of whether it is the most frequent one.
    """
    fits = []
    others = [column for column in columns if column.name != target.name]
    for part in ("original", "released"):
        X, y = _cases(others, target, part)
        if y.size == 0:
            return None
        if not target.numeric:
            y = (y == _most_frequent(target)).astype(np.float64)
            X, y = _sampled(X, y, seed)
        if X.shape[1] == 0 or len(y) <= X.shape[1] + 1 or np.ptp(y) == 0:
            return None
        fits.append(least_squares(X, y) if target.numeric else logistic(X, y))
    overlap = interval_overlap(*fits)[1:]
    signs = np.sign(fits[0].coefficients[1:]) == np.sign(fits[1].coefficients[1:])
    return RegressionAgreement(
        target.name, float(overlap.mean()), float(overlap.min()), float(signs.mean()), overlap.size
    )


def trained_on_release(
    columns: Sequence[PairedColumn], target: PairedColumn, *, aligned: bool = True, seed: int = 0
) -> Prediction | None:
    """Train on the release, test on the original; None where nothing can be fitted.

    Three tenths of the original records are for testing. Where records correspond, the release is used without the
    tested ones. A column with more than 10 categories is not predicted.
    """
    others = [column for column in columns if column.name != target.name]
    if not target.numeric and len(target.categories) > _MAX_CATEGORIES:
        return None
    n = target.original.size
    order = np.random.default_rng(seed).permutation(n)
    test = np.zeros(n, bool)
    test[order[: max(1, (3 * n) // 10)]] = True
    train_release = ~test if aligned else np.ones(target.released.size, bool)
    X, y = _cases(others, target, "original", test)
    models = []
    for part, rows in (("released", train_release), ("original", ~test)):
        models.append(_cases(others, target, part, rows))
    if X.shape[1] == 0 or len(y) < 2 or any(len(ym) <= Xm.shape[1] + 1 for Xm, ym in models):
        return None
    if target.numeric:
        total = float(((y - y.mean()) ** 2).sum())
        if total == 0:
            return None
        scores = [
            1 - float(((y - predict(X, least_squares(Xm, ym).coefficients)) ** 2).sum()) / total for Xm, ym in models
        ]
        baseline = 1 - float(((y - models[1][1].mean()) ** 2).sum()) / total
        return Prediction(target.name, "R2", scores[0], scores[1], baseline)
    scores = [float((_classify(*_sampled(Xm, ym, seed), X) == y).mean()) for Xm, ym in models]
    common = np.bincount(models[1][1].astype(np.int64)).argmax()
    return Prediction(target.name, "accuracy", scores[0], scores[1], float((y == common).mean()))


def _classify(X: Floats, y: Floats, tested: Floats) -> Floats:
    """Return the category of each tested record: the one with the highest logistic score."""
    kinds = np.unique(y)
    if kinds.size == 1:
        return np.full(len(tested), kinds[0])
    scores = [predict(tested, logistic(X, (y == kind).astype(np.float64)).coefficients) for kind in kinds]
    return kinds[np.argmax(scores, axis=0)]


def _cases(
    others: Sequence[PairedColumn], target: PairedColumn, part: str, rows: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """Return design and target of the records without missing values."""
    if not others:
        return np.empty((0, 0)), np.empty(0)
    X = design(others, part)[0]
    y = getattr(target, part)
    y = target.standardised(y) if target.numeric else y
    keep = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    keep = keep if rows is None else keep & rows
    return X[keep], y[keep]


def _most_frequent(target: PairedColumn) -> int:
    return int(np.bincount(target.original[~np.isnan(target.original)].astype(np.int64)).argmax())


def _sampled(X: Floats, y: Floats, seed: int) -> tuple[Floats, Floats]:
    return sampled_rows(X, seed), sampled_rows(y, seed)
