"""Strongly-safe and epsilon-safe k-anonymisation with sampling (Thaeter 2021, Def. 3.16, Remark 3.18, Theorem 10.24).

Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474. Records are sampled, each is mapped to a cell, and cells with at
least k sampled records are released with their counts. There is no noise: sampling hides who took part, and k hides
small cells. *strongly safe*: the map does not look at the data. *epsilon-safe*: the map is the result of a private
clustering, here the cells of a private Mondrian, and its price is added.

What is released for a cell is the cell itself, never a statistic of the records in it: the mean of the sampled records
would betray one record with an unusual value whenever it is sampled, and the theorem does not cover it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import Guarantee, check_delta, check_smallest
from shoal.dp.opendp_library import coins
from shoal.dp.private_mondrian import Spread, mondrian_boxes
from shoal.dp.safe_parameters import safe_beta, safe_delta
from shoal.errors import DataError, ParameterError


@dataclass(frozen=True)
class SafeRelease:
    """Cells with their counts among the sampled records.

    Parameters
    ----------
    cells
        The cells that are released.
    counts
        How many sampled records each has: at least k.
    beta
        The share of the records that was sampled.
    low, high
        The boxes that the cells stand for, if the map was made by a private clustering; cells x columns.
    guarantee, accountant
        What is promised and what was spent.
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
    """Release the counts of cells after sampling, without cells of fewer than k.

    Parameters
    ----------
    cells
        The cell of each record, by a map that does not depend on the data.
    k
        The smallest count that is released.
    epsilon, delta
        The price.
    beta
        The share of the records to sample; by default as large as epsilon and delta allow.

    Returns
    -------
    release
        The cells that are left. Cost O(n).

    Examples
    --------
    >>> ages = np.repeat([20, 30, 40, 99], [4000, 4000, 4000, 2])
    >>> release = strongly_safe(ages // 10, k=20, epsilon=0.5, delta=1e-6)
    >>> release.cells, release.beta
    (array([2, 3, 4]), 0.164736)
    """
    account = Accountant(epsilon, delta)
    return _sampled(np.asarray(cells, np.int64), k, account, epsilon, beta)


def epsilon_safe(
    codes: NDArray[np.int64],
    shape: tuple[int, ...],
    *,
    k: int,
    epsilon: float,
    delta: float,
    beta: float | None = None,
    structure: float = 0.5,
    spread: Spread = "side",
    progress: Progress = SILENT,
) -> SafeRelease:
    """Release the counts of boxes that a private Mondrian has cut, after sampling, without boxes of fewer than k.

    Parameters
    ----------
    codes
        n x d whole numbers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        The smallest count that is released.
    epsilon, delta
        The price of everything.
    beta
        The share of the records to sample for the counts; by default as large as the price allows.
    structure
        The share of epsilon that pays for the boxes; the rest pays for the counts.
    spread
        How columns are chosen, as for ``mondrian``.
    progress
        Hears how deep the cuts are.

    Returns
    -------
    release
        Boxes and counts. The boxes rest on all records, the counts on a fresh sample, so the prices add up.

    Examples
    --------
    >>> cells = np.random.default_rng(0).integers(0, 64, (20_000, 2))
    >>> release = epsilon_safe(cells, (64, 64), k=20, epsilon=2.0, delta=1e-6)
    >>> bool(release.counts.min() >= 20), release.guarantee.epsilon
    (True, 2.0)
    """
    if not 0 < structure < 1:
        raise ParameterError(f"structure={structure} must lie strictly between 0 and 1")
    check_smallest(k)
    check_delta(delta, needed=True)
    account = Accountant(epsilon, delta)
    thousandths = max(1, min(999, round(1000 * structure)))
    for_boxes, for_counts = account.share(thousandths, 1000), account.share(1000 - thousandths, 1000)
    if beta is None:
        beta = safe_beta(k=k, epsilon=for_counts, delta=delta)
    sampled_share = beta
    boxes = mondrian_boxes(
        codes, shape, k=max(1, round(k / sampled_share)), account=account, epsilon=for_boxes, spread=spread,
        progress=progress,
    )  # fmt: skip
    release = _sampled(boxes.labels, k, account, for_counts, beta)
    return SafeRelease(
        release.cells, release.counts, beta, boxes.low[release.cells], boxes.high[release.cells], release.guarantee,
        account,
    )  # fmt: skip


def _sampled(cells: NDArray[np.int64], k: int, account: Accountant, epsilon: float, beta: float | None) -> SafeRelease:
    check_smallest(k)
    check_delta(account.delta, needed=True)
    if cells.ndim != 1:
        raise DataError("cells must be one whole number for each record")
    if beta is None:
        beta = safe_beta(k=k, epsilon=epsilon, delta=account.delta)
    reached = safe_delta(k=k, beta=beta, epsilon=epsilon)
    if reached > account.delta:
        raise ParameterError(
            f"k={k}, beta={beta:g} and epsilon={epsilon:g} reach delta={reached:.2g}, more than the {account.delta:g} "
            "asked for; choose a smaller beta or a larger k"
        )
    account.spend(f"counts of at least {k} among records sampled with probability {beta:g}", epsilon, account.delta)
    chosen = cells[coins(cells.size, beta)]
    found, counts = np.unique(chosen, return_counts=True)
    kept = counts >= k
    return SafeRelease(found[kept], counts[kept].astype(np.int64), beta, None, None, account.guarantee(), account)
