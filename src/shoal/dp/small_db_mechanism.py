"""SmallDB: a small synthetic database with nearly the same answers to given queries (Thaeter 2021, Alg. 24).

Blum, Ligett & Roth 2008, doi:10.1145/1374376.1374464; Dwork & Roth 2014, Algorithm 4. Among all databases of ceil(ln
|Q| / alpha²) records, the exponential mechanism chooses one whose largest error is small. All of them are enumerated,
C(|X| + m - 1, m) for m records, so this is for very small universes only.

The utility is -max |f(X) - f(Y)| times the number of records. Its sensitivity is 1 whether a record is added, removed
or replaced: an additional record adds g to the sum over X and f(Y) to |X| f(Y), both between 0 and 1. This is the
published mechanism (sensitivity 1/|X| of relative frequencies) without publishing |X|, computed in integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.dp.accountant import Accountant
from shoal.dp.database import HistogramDatabase, Universe
from shoal.dp.guarantee import Guarantee
from shoal.dp.opendp_library import LARGEST_INTEGER, select
from shoal.dp.queries import STEPS_PER_UNIT, LinearQuery
from shoal.errors import DataError, ParameterError

MAX_DATABASES = 500_000
"""The largest number of candidate databases that are enumerated."""


@dataclass(frozen=True)
class SmallDB:
    """The release of SmallDB.

    Parameters
    ----------
    database
        The synthetic database.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    database: HistogramDatabase
    guarantee: Guarantee
    accountant: Accountant


def small_db(database: HistogramDatabase, queries: Sequence[LinearQuery], *, epsilon: float, alpha: float) -> SmallDB:
    """Release a small database that gives nearly the same answers to the queries.

    Parameters
    ----------
    database
        The original database.
    queries
        Normalised linear queries; they must not depend on the data.
    epsilon
        Privacy loss epsilon; the guarantee holds for add-remove and for replace neighbours.
    alpha
        Target accuracy, between 0 and 1; smaller values give a larger synthetic database and more candidates.

    Returns
    -------
    release
        A database of ceil(ln |Q| / alpha²) records.

    Examples
    --------
    >>> from shoal.dp.queries import all_range_queries
    >>> original = HistogramDatabase.of([[0]] * 300 + [[2]] * 100, (3,))
    >>> release = small_db(original, all_range_queries(original.universe), epsilon=1.0, alpha=0.5)
    >>> release.database.size
    8
    """
    accountant = Accountant(epsilon)
    size = small_db_size(len(queries), alpha)
    candidates = _databases(database.universe, size)
    accountant.spend(f"exponential mechanism over {len(candidates)} databases of {size} records", accountant.epsilon)
    scores, sensitivity = small_db_scores(database, queries, candidates)
    chosen = candidates[select(scores, sensitivity, accountant.epsilon)]
    return SmallDB(HistogramDatabase(database.universe, chosen), accountant.guarantee(), accountant)


def small_db_size(queries: int, alpha: float) -> int:
    """Return the number of records of the synthetic database, ceil(ln |Q| / alpha²) and at least 1.

    Parameters
    ----------
    queries
        Number of queries that are answered.
    alpha
        Accuracy of the synthetic database, between 0 and 1.

    Returns
    -------
    size
        Number of its records.

    Examples
    --------
    >>> small_db_size(55, 0.5)
    17
    """
    if queries < 1:
        raise ParameterError("SmallDB needs at least one query")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha} must be strictly between 0 and 1")
    return max(1, math.ceil(math.log(queries) / alpha**2))


def small_db_scores(
    database: HistogramDatabase, queries: Sequence[LinearQuery], candidates: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Return the utility of each candidate in integer steps, and the sensitivity of the utilities."""
    for query in queries:
        if not query.normalised:
            raise ParameterError("SmallDB needs normalised queries, whose answers are relative frequencies")
    size = int(candidates[0].sum())
    if database.size * size * STEPS_PER_UNIT > LARGEST_INTEGER:
        raise DataError("the database is too large for the integers of SmallDB; use fewer records or a larger alpha")
    worst = np.zeros(len(candidates), np.int64)
    for query in queries:
        difference = size * query.total(database.counts) - database.size * (candidates @ query.property_steps)
        np.maximum(worst, np.abs(difference), out=worst)
    return -worst, size * STEPS_PER_UNIT


def _databases(universe: Universe, size: int) -> NDArray[np.int64]:
    """Return every histogram of ``size`` records over the universe."""
    count = math.comb(universe.size + size - 1, size)
    if count > MAX_DATABASES:
        raise ParameterError(
            f"SmallDB would enumerate {count:.3g} databases of {size} records over {universe.size} cells, more than "
            f"{MAX_DATABASES:,}; use fewer cells or a larger alpha, or LaplaceHistograms instead"
        )
    bars = itertools.combinations(range(universe.size + size - 1), universe.size - 1)
    positions = np.array(list(bars), np.int64).reshape(count, universe.size - 1)
    ends = np.full((count, 1), universe.size + size - 1)
    return np.diff(positions, axis=1, prepend=-1, append=ends) - 1
