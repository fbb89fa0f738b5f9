"""Strongly-safe and epsilon-safe k-anonymisation with sampling (Thaeter 2021, Def. 3.16, Remark 3.18, Theorem 10.24).

Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474. Records are sampled, each is mapped to a cell, and cells with at
least k sampled records are released with their counts. There is no noise: sampling hides the presence of a record, and
k suppresses small cells. *strongly safe*: the map does not depend on the data. *epsilon-safe*: the map is the result of
a private clustering, here the cells of a private Mondrian, and its privacy loss is added.

The release of a cell is the cell itself, never a statistic of its records: the mean of the sampled records would reveal
a record with an unusual value whenever it is sampled, and the theorem does not cover it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import Guarantee, check_delta, check_k
from shoal.dp.opendp_library import bernoulli_draws
from shoal.dp.private_mondrian import SplitCriterion, mondrian_boxes
from shoal.dp.safe_parameters import safe_beta, safe_delta
from shoal.errors import DataError, ParameterError


@dataclass(frozen=True)
class SafeRelease:
    """Cells and their numbers of sampled records.

    Parameters
    ----------
    cells
        The cells that are released.
    counts
        The number of sampled records of each cell, at least k.
    beta
        The sampling probability.
    low, high
        The boxes that the cells represent, if the map is a private clustering; cells x columns.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    beta: float
    low: NDArray[np.int64] | None
    high: NDArray[np.int64] | None
    guarantee: Guarantee
    accountant: Accountant


def strongly_safe(
    cells: NDArray[np.int64], *, k: int, epsilon: float, delta: float, beta: float | None = None
) -> SafeRelease:
    """Release the counts of cells after sampling, without cells of fewer than k sampled records.

    Parameters
    ----------
    cells
        The cell of each record, from a map that does not depend on the data.
    k
        The smallest count that is released.
    epsilon, delta
        Privacy loss.
    beta
        The sampling probability; by default as large as epsilon and delta allow.

    Returns
    -------
    release
        The released cells. Time O(n).

    Examples
    --------
    >>> ages = np.repeat([20, 30, 40, 99], [4000, 4000, 4000, 2])
    >>> release = strongly_safe(ages // 10, k=20, epsilon=0.5, delta=1e-6)
    >>> release.cells, release.beta
    (array([2, 3, 4]), 0.164736)
    """
    accountant = Accountant(epsilon, delta)
    return _sampled(np.asarray(cells, np.int64), k, accountant, epsilon, beta)


def epsilon_safe(
    codes: NDArray[np.int64],
    shape: tuple[int, ...],
    *,
    k: int,
    epsilon: float,
    delta: float,
    beta: float | None = None,
    structure: float = 0.5,
    split_criterion: SplitCriterion = "side",
    progress: Progress = SILENT,
) -> SafeRelease:
    """Release the counts of the boxes of a private Mondrian after sampling, without boxes of fewer than k records.

    Parameters
    ----------
    codes
        n x d integers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        The smallest count that is released.
    epsilon, delta
        Total privacy loss.
    beta
        The sampling probability for the counts; by default as large as epsilon and delta allow.
    structure
        The fraction of epsilon that is spent on the boxes; the rest is spent on the counts.
    split_criterion
        Criterion for the column of a split: ``side``, ``deviation`` or ``mad``, as for :func:`mondrian`.
    progress
        Progress callback.

    Returns
    -------
    release
        Boxes and counts. The boxes depend on all records, the counts on a new sample, so the privacy losses add up.

    Examples
    --------
    >>> cells = np.random.default_rng(0).integers(0, 64, (20_000, 2))
    >>> release = epsilon_safe(cells, (64, 64), k=20, epsilon=2.0, delta=1e-6)
    >>> bool(release.counts.min() >= 20), release.guarantee.epsilon
    (True, 2.0)
    """
    if not 0 < structure < 1:
        raise ParameterError(f"structure={structure} must be strictly between 0 and 1")
    check_k(k)
    check_delta(delta, needed=True)
    accountant = Accountant(epsilon, delta)
    thousandths = max(1, min(999, round(1000 * structure)))
    for_boxes, for_counts = accountant.share(thousandths, 1000), accountant.share(1000 - thousandths, 1000)
    if beta is None:
        beta = safe_beta(k=k, epsilon=for_counts, delta=delta)
    sampled_share = beta
    boxes = mondrian_boxes(
        codes, shape, k=max(1, round(k / sampled_share)), accountant=accountant, epsilon=for_boxes,
        split_criterion=split_criterion, progress=progress,
    )  # fmt: skip
    release = _sampled(boxes.labels, k, accountant, for_counts, beta)
    return SafeRelease(
        release.cells, release.counts, beta, boxes.low[release.cells], boxes.high[release.cells], release.guarantee,
        accountant,
    )  # fmt: skip


def _sampled(
    cells: NDArray[np.int64], k: int, accountant: Accountant, epsilon: float, beta: float | None
) -> SafeRelease:
    check_k(k)
    check_delta(accountant.delta, needed=True)
    if cells.ndim != 1:
        raise DataError("cells must be one integer for each record")
    if beta is None:
        beta = safe_beta(k=k, epsilon=epsilon, delta=accountant.delta)
    achieved = safe_delta(k=k, beta=beta, epsilon=epsilon)
    if achieved > accountant.delta:
        raise ParameterError(
            f"k={k}, beta={beta:g} and epsilon={epsilon:g} give delta={achieved:.2g}, more than the requested "
            f"{accountant.delta:g}; choose a smaller beta or a larger k"
        )
    accountant.spend(
        f"counts of at least {k} among records sampled with probability {beta:g}", epsilon, accountant.delta
    )
    chosen = cells[bernoulli_draws(cells.size, beta)]
    found, counts = np.unique(chosen, return_counts=True)
    kept = counts >= k
    return SafeRelease(found[kept], counts[kept].astype(np.int64), beta, None, None, accountant.guarantee(), accountant)
