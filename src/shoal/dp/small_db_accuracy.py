"""The accuracy of SmallDB, and the numbers of records or queries it allows (Thaeter 2021, Theorems 10.14 and 10.17).

Logarithms are natural. The bounds with the VC dimension omit the constants of the O(.) in the theorem, as Table 10.2
does: they are orders of magnitude.
"""

from __future__ import annotations

import math

from shoal.dp.guarantee import check_epsilon, check_fraction
from shoal.errors import ParameterError


def small_db_error(*, universe: int, queries: int, size: int, epsilon: float, alpha: float, beta: float) -> float:
    """Return the bound on the largest error of ``small_db(..., alpha)`` that holds except with probability beta.

    Parameters
    ----------
    universe
        Number of possible records.
    queries
        Number of queries that are answered.
    size
        Number of records of the original.
    epsilon
        Privacy loss of the release.
    alpha
        The accuracy that ``small_db`` is called with.
    beta
        Probability that the bound fails.

    Returns
    -------
    error
        As a share of the records (Theorem 10.14).

    Examples
    --------
    >>> round(small_db_error(universe=10, queries=55, size=100_000, epsilon=1.0, alpha=0.1, beta=0.01), 4)
    0.1185
    """
    _check(universe, epsilon, alpha, beta)
    choices = math.log(universe) * math.log(queries) / alpha**2
    return alpha + 2 * (choices + math.log(1 / beta)) / (epsilon * size)


def small_db_records_needed(*, universe: int, queries: int, epsilon: float, alpha: float, beta: float) -> int:
    """Return the number of records that ``small_db(..., alpha / 2)`` needs for an error of at most alpha.

    Parameters
    ----------
    universe
        Number of possible records.
    queries
        Number of queries that are answered.
    epsilon
        Privacy loss of the release.
    alpha
        Largest error of an answer, as a share of the records.
    beta
        Probability that the bound fails.

    Returns
    -------
    records
        Number of records of the original (Theorem 10.14).

    Examples
    --------
    >>> small_db_records_needed(universe=10, queries=55, epsilon=1.0, alpha=0.1, beta=0.01)
    166057
    """
    _check(universe, epsilon, alpha, beta)
    weight = 16 * math.log(universe) * math.log(queries) + 4 * math.log(1 / beta)
    return math.ceil(weight / (epsilon * alpha**3))


def small_db_log_queries(*, universe: int, size: int, epsilon: float, alpha: float, beta: float) -> float:
    """Return the natural logarithm of the number of queries that can be answered to within alpha (equation 10.1).

    Parameters
    ----------
    universe
        Number of possible records.
    size
        Number of records of the original.
    epsilon
        Privacy loss of the release.
    alpha
        Largest error of an answer, as a share of the records.
    beta
        Probability that the bound fails.

    Returns
    -------
    logarithm
        Natural logarithm of the number of queries.

    Examples
    --------
    >>> round(math.exp(small_db_log_queries(universe=20**5, size=10**7, epsilon=0.1, alpha=0.1, beta=0.01)), 1)
    60.1
    """
    _check(universe, epsilon, alpha, beta)
    log_universe = math.log(universe)
    return alpha**3 * epsilon * size / (16 * log_universe) - math.log(1 / beta) / (4 * log_universe)


def small_db_vc_dimension(*, universe: int, size: int, epsilon: float, alpha: float, beta: float) -> float:
    """Return the VC dimension of counting queries that can be answered to within alpha, up to constants (10.2).

    Parameters
    ----------
    universe
        Number of possible records.
    size
        Number of records of the original.
    epsilon
        Privacy loss of the release.
    alpha
        Largest error of an answer, as a share of the records.
    beta
        Probability that the bound fails.

    Returns
    -------
    dimension
        The largest VC dimension (Theorem 10.17), without the constants of O(.).

    Examples
    --------
    >>> int(small_db_vc_dimension(universe=20**5, size=10**7, epsilon=0.1, alpha=0.1, beta=0.01))
    66
    """
    _check(universe, epsilon, alpha, beta)
    return max(0.0, (alpha**3 * epsilon * size - math.log(1 / beta)) / math.log(universe))


def _check(universe: int, epsilon: float, alpha: float, beta: float) -> None:
    check_epsilon(epsilon)
    check_fraction(alpha, "alpha")
    check_fraction(beta, "beta")
    if universe < 2:
        raise ParameterError(f"universe={universe} must have at least two possible records")
