"""SmallDB: a small synthetic database that answers given queries nearly like the original (Thaeter 2021, Alg. 24).

Blum, Ligett & Roth 2008, doi:10.1145/1374376.1374464; Dwork & Roth 2014, Algorithm 4. Among all databases of
ceil(ln |Q| / alpha²) records, the exponential mechanism chooses one whose worst answer is near the original's. All of
them are enumerated, C(|X| + m - 1, m) for m records, so this is for tiny universes only.

The utility is taken as -max |f(X) - f(Y)| times the number of records, whose sensitivity is 1 whether a record is
added, removed or replaced: a record that joins adds g to the sum over X and f(Y) to |X| f(Y), both between 0 and 1.
This is the mechanism of the text (sensitivity 1/|X| of shares) without publishing |X|, computed in whole numbers.
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
from shoal.dp.opendp_library import LARGEST, select
from shoal.dp.queries import STEPS, LinearQuery
from shoal.errors import DataError, ParameterError

MOST_DATABASES = 500_000
"""The most candidate databases that are enumerated."""


@dataclass(frozen=True)
class SmallDB:
    """What SmallDB releases.

    Parameters
    ----------
    database
        The synthetic database.
    guarantee, accountant
        What is promised and what was spent.
    """

    database: HistogramDatabase
    guarantee: Guarantee
    accountant: Accountant


def small_db(database: HistogramDatabase, queries: Sequence[LinearQuery], *, epsilon: float, alpha: float) -> SmallDB:
    """Release a small database that answers the queries nearly alike.

    Parameters
    ----------
    database
        The original.
    queries
        Normalised linear queries; chosen without looking at the data.
    epsilon
        The price; the promise holds for neighbours by adding, removing or replacing a record.
    alpha
        The accuracy aimed at, between 0 and 1; smaller means a larger synthetic database and more candidates.

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
    account = Accountant(epsilon)
    size = small_db_size(len(queries), alpha)
    candidates = _databases(database.universe, size)
    account.spend(f"exponential mechanism over {len(candidates)} databases of {size} records", account.epsilon)
    scores, sensitivity = small_db_scores(database, queries, candidates)
    chosen = candidates[select(scores, sensitivity, account.epsilon)]
    return SmallDB(HistogramDatabase(database.universe, chosen), account.guarantee(), account)


def small_db_size(queries: int, alpha: float) -> int:
    """Return the number of records of the synthetic database, ceil(ln |Q| / alpha²) and at least 1."""
    if queries < 1:
        raise ParameterError("SmallDB needs at least one query")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha} must lie strictly between 0 and 1")
    return max(1, math.ceil(math.log(queries) / alpha**2))


def small_db_scores(
    database: HistogramDatabase, queries: Sequence[LinearQuery], candidates: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Return the utility of each candidate in whole steps, and the most that one record changes any of them."""
    for query in queries:
        if not query.normalised:
            raise ParameterError("SmallDB takes normalised queries, whose answers are shares")
    size = int(candidates[0].sum())
    if database.size * size * STEPS > LARGEST:
        raise DataError("the database is too large for SmallDB's whole numbers; use fewer records or a larger alpha")
    worst = np.zeros(len(candidates), np.int64)
    for query in queries:
        difference = size * query.total(database.counts) - database.size * (candidates @ query.property_steps)
        np.maximum(worst, np.abs(difference), out=worst)
    return -worst, size * STEPS


def _databases(universe: Universe, size: int) -> NDArray[np.int64]:
    """Return every histogram of so many records over the universe."""
    count = math.comb(universe.size + size - 1, size)
    if count > MOST_DATABASES:
        raise ParameterError(
            f"SmallDB would have to try {count:.3g} databases of {size} records over {universe.size} cells, more than "
            f"{MOST_DATABASES:,}; use fewer cells or a larger alpha, or LaplaceHistograms instead"
        )
    bars = itertools.combinations(range(universe.size + size - 1), universe.size - 1)
    places = np.array(list(bars), np.int64).reshape(count, universe.size - 1)
    ends = np.full((count, 1), universe.size + size - 1)
    return np.diff(places, axis=1, prepend=-1, append=ends) - 1
