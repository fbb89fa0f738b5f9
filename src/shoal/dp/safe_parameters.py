"""The guarantee of sampling before a safe k-anonymisation: delta(k, beta, epsilon) (Thaeter 2021, Theorem 10.24).

Li, Qardaji & Su 2012, doi:10.1145/2414456.2414474. With gamma = (exp(epsilon) - 1 + beta) / exp(epsilon),
delta = max over n >= ceil(k/gamma - 1) of Pr[Binomial(n, beta) > gamma n], for epsilon >= -ln(1 - beta). Table 10.5 has
beta and epsilon exchanged; in the order used here, delta decreases with epsilon and k, and increases with beta.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shoal.dp.guarantee import check_delta, check_epsilon, check_fraction, check_k
from shoal.errors import ParameterError


def safe_delta(*, k: int, beta: float, epsilon: float) -> float:
    """Return the delta of a safe k-anonymisation after sampling with probability beta.

    The maximum is exact: n increases until the Chernoff bound exp(-n KL(gamma, beta)), which decreases with n, is below
    the largest tail so far.

    Parameters
    ----------
    k
        Minimum number of sampled records in a cell.
    beta
        Sampling probability of a record.
    epsilon
        The epsilon of the guarantee; at least -ln(1 - beta).

    Returns
    -------
    delta
        The smallest one that Theorem 10.24 guarantees.

    Examples
    --------
    >>> f"{safe_delta(k=20, beta=0.1, epsilon=0.5):.1e}"
    '1.6e-09'
    >>> safe_delta(k=20, beta=0.5, epsilon=0.5)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: epsilon=0.5 is too small for sampling with beta=0.5; choose epsilon of at least 0.6932
    """
    check_k(k)
    check_fraction(beta, "beta")
    check_epsilon(epsilon)
    if epsilon < -math.log1p(-beta):
        needed = math.ceil(-1e4 * math.log1p(-beta)) / 1e4
        raise ParameterError(
            f"epsilon={epsilon:g} is too small for sampling with beta={beta:g}; choose epsilon of at least {needed:g}"
        )
    return _largest_tail(k, beta, epsilon)


@lru_cache(maxsize=4096)
def _largest_tail(k: int, beta: float, epsilon: float) -> float:
    gamma = (math.expm1(epsilon) + beta) / math.exp(epsilon)
    if gamma >= 1:  # epsilon is so large that no count is excluded
        return 0.0
    from scipy.special import bdtrc

    distance = gamma * math.log(gamma / beta) + (1 - gamma) * math.log((1 - gamma) / (1 - beta))
    first = max(1, math.ceil(k / gamma - 1))
    largest, step = 0.0, 1024
    while True:
        n = np.arange(first, first + step)
        largest = max(largest, float(bdtrc(np.floor(gamma * n * (1 - 1e-15)), n, beta).max()))
        first += step
        if (
            math.exp(-first * distance) <= largest or first * distance > 745
        ):  # the bound is reached, or is below the smallest float
            return largest


def safe_beta(*, k: int, epsilon: float, delta: float) -> float:
    """Return the largest allowed sampling probability, rounded down to six digits.

    Parameters
    ----------
    k
        Minimum number of sampled records in a cell.
    epsilon
        The epsilon of the guarantee.
    delta
        The delta of the guarantee.

    Returns
    -------
    beta
        The probability with which each record is sampled.

    Examples
    --------
    >>> safe_beta(k=20, epsilon=0.5, delta=1e-6)
    0.164736
    """
    check_delta(delta, needed=True)
    check_epsilon(epsilon)
    low, high = 0, min(999_999, math.floor(-1e6 * math.expm1(-epsilon)))
    while low < high:
        middle = (low + high + 1) // 2
        if safe_delta(k=k, beta=middle / 1e6, epsilon=epsilon) <= delta:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise ParameterError(
            f"no sampling probability satisfies k={k}, epsilon={epsilon:g} and delta={delta:g}; choose a "
            "larger k, epsilon or delta"
        )
    return low / 1e6


def safe_k(*, beta: float, epsilon: float, delta: float) -> int:
    """Return the smallest k that achieves delta for the sampling probability beta.

    Parameters
    ----------
    beta
        Sampling probability of a record.
    epsilon
        The epsilon of the guarantee; at least -ln(1 - beta).
    delta
        The delta of the guarantee.

    Returns
    -------
    k
        Minimum number of sampled records in a cell.

    Examples
    --------
    >>> safe_k(beta=0.1, epsilon=0.5, delta=1e-6)
    13
    """
    check_delta(delta, needed=True)
    k = 1
    while safe_delta(k=k, beta=beta, epsilon=epsilon) > delta:
        k *= 2
        if k > 2**40:
            raise ParameterError(
                f"no k achieves delta={delta:g} with beta={beta:g} and epsilon={epsilon:g}; choose a smaller beta or a "
                "larger epsilon or delta"
            )
    low = k // 2 + 1
    while low < k:
        middle = (low + k) // 2
        if safe_delta(k=middle, beta=beta, epsilon=epsilon) <= delta:
            k = middle
        else:
            low = middle + 1
    return k
