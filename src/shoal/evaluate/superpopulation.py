"""How many individuals of the population share the values of a class, where only the size of the population is known.

The classes of the table are taken for a simple random sample of the classes of a population of N. Three estimates:

*Pitman*: the Ewens-Pitman model with 0 < a < 1 and t > 0, fitted by maximum likelihood to the sizes of the classes
(Pitman 1995; Hoshino 2001). Given the size f in the sample, the rest of the class in the population is
beta-binomial, so the model gives the risk of every class and not only the number of population uniques.

*Zayatz* (1991) and *SNB*, the slide negative binomial model (Chen and Keller-McNulty 1998), give the number of
population uniques only and serve as cross-checks. Dankar et al. (2012): Pitman for sampling fractions up to 0.1, above
the smaller of the other two. An estimate that does not exist is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_MAX_TERMS = 20_000
_LARGE_CLASS = 400
DANKAR_FRACTION = 0.1
"""Up to this sampling fraction the Pitman model estimates population uniques best (Dankar et al. 2012)."""
_STARTS = ((-1.0, 2.0), (0.0, 5.0), (1.0, 8.0), (-2.0, 0.0), (3.0, 3.0))
_SMALLEST_A, _LARGEST_A = 1e-5, 1 - 1e-5
_LOWEST_LOG_T, _HIGHEST_LOG_T = -25.0, 35.0
_SUMMED_CLASSES = 20_000
_SOLVED = 1e-8


@dataclass(frozen=True)
class Pitman:
    """The Ewens-Pitman model of a table.

    Parameters
    ----------
    a, t
        The parameters.
    records, population
        The number of records and of individuals of the population.

    Examples
    --------
    >>> model = Pitman(0.5145, 391.30, 4885, 48842)
    >>> round(model.population_uniques()), round(float(model.risk(np.array([1]))[0]), 2)
    (4672, 0.5)
    """

    a: float
    t: float
    records: int
    population: int

    def population_uniques(self) -> float:
        """Return the expected number of uniques in the population."""
        from scipy.special import gammaln

        a, t, N = self.a, self.t, self.population
        return float(np.exp(np.log(N) + gammaln(t + 1) - gammaln(t + a) + gammaln(t + a + N - 1) - gammaln(t + N)))

    def same_size(self, sizes: Integers) -> Floats:
        """Return for each size the probability that the population has no further individual in the class."""
        from scipy.special import gammaln

        f, a, t = sizes.astype(np.float64), self.a, self.t
        n, N = float(self.records), float(self.population)
        return np.exp(gammaln(t + N - f + a) - gammaln(t + n - f + a) + gammaln(t + n) - gammaln(t + N))

    def risk(self, sizes: Integers) -> Floats:
        """Return for each size the expectation of one divided by the size of the class in the population."""
        different, where = np.unique(sizes, return_inverse=True)
        return np.array([self._risk(int(f)) for f in different])[where.reshape(-1)]

    def _risk(self, f: int) -> float:
        further = self.population - self.records
        if not further:
            return 1 / f
        return expected_inverse_of_class(f, further, f - self.a, self.t + self.records - f + self.a)


def expected_inverse_of_class(f: int, further: int, alpha: float, beta: float) -> float:
    """Return E[1 / (f + H)] of a beta-binomial H of ``further`` trials.

    The first terms are added one by one. Where the mass lies beyond them, the rest of the sum is an integral over the
    logarithm of h, or around the mode for large classes, whose integrand is smooth there.

    Examples
    --------
    >>> round(expected_inverse_of_class(1, 2, 1.0, 1.0), 6)  # F is 1, 2 or 3 with equal probability
    0.611111
    """
    from scipy.special import betaln

    exact = min(further + 1, _MAX_TERMS)
    mean = further * alpha / (alpha + beta)
    variance = mean * beta * (alpha + beta + further) / ((alpha + beta) * (alpha + beta + 1))
    if f > _LARGE_CLASS and mean > _MAX_TERMS:
        return _around_mode(f, further, alpha, beta, (mean, float(np.sqrt(variance))))
    h = np.arange(exact, dtype=np.float64)
    before = h[:-1]
    ratios = np.log((further - before) * (before + alpha)) - np.log((before + 1) * (further - before - 1 + beta))
    first = float(betaln(alpha, further + beta) - betaln(alpha, beta))
    log_terms = first + np.concatenate([[0.0], np.cumsum(ratios)])
    if exact > further:
        return float((np.exp(log_terms) / (f + h)).sum())
    total = float((np.exp(log_terms[:-1]) / (f + before)).sum())
    return total + _tail(f, further, alpha, beta, (exact - 1, float(log_terms[-1])))


def _log_pmf(h: Floats, further: int, alpha: float, beta: float) -> Floats:
    """Return the logarithm of the probabilities, up to a constant."""
    from scipy.special import gammaln

    return gammaln(h + alpha) - gammaln(h + 1) + gammaln(further - h + beta) - gammaln(further - h + 1)


def _tail(f: int, further: int, alpha: float, beta: float, start: tuple[int, float]) -> float:
    """Return the sum from a term on as an integral over log h, given the logarithm of that term."""
    begin, log_first = start
    low, high = np.log(begin - 0.5), np.log(further + 0.5)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    edges = np.linspace(low, high, 2 + int((high - low) / 0.2))
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half) + half * nodes[None, :]
    h = np.exp(x)
    inside = np.minimum(h, further)
    shift = log_first - float(_log_pmf(np.array([float(begin)]), further, alpha, beta)[0])
    terms = np.exp(_log_pmf(inside, further, alpha, beta) + shift)
    return float((half * weights[None, :] * terms * h / (f + h)).sum())


def _around_mode(f: int, further: int, alpha: float, beta: float, moments: tuple[float, float]) -> float:
    mean, deviation = moments
    h = np.linspace(max(0.0, mean - 14 * deviation), min(float(further), mean + 14 * deviation), 8001)
    logs = _log_pmf(h, further, alpha, beta)
    weights = np.exp(logs - logs.max())
    return float((weights / (f + h)).sum() / weights.sum())


def fit_pitman(sizes: Integers, population: int) -> Pitman | None:
    """Fit the Ewens-Pitman model to the sizes of classes by maximum likelihood.

    Parameters
    ----------
    sizes
        The number of records of each class.
    population
        The number of individuals of the population.

    Returns
    -------
    model
        a is 0 if the likelihood is largest there (the model of Ewens 1972); None if it is largest at a = 1 or for an
        infinite t, where the model does not exist. Cost O(different sizes + 20,000) for each of a thousand evaluations.

    Examples
    --------
    >>> fit_pitman(np.array([1] * 6), 100) is None
    True
    """
    from scipy.optimize import minimize, minimize_scalar

    if sizes.max() == 1:  # the likelihood is 1 for a = 1 and any t
        return None
    different, counts = (part.astype(np.float64) for part in np.unique(sizes, return_counts=True))
    best: Any = None
    for start in _STARTS:
        found = minimize(
            lambda x: -_log_likelihood(_inverse_logit(x[0]), x[1], different, counts), start, method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000},
        )  # fmt: skip
        if best is None or found.fun < best.fun:
            best = found
    a, log_t = _inverse_logit(best.x[0]), float(best.x[1])
    if a < _SMALLEST_A:
        ewens = minimize_scalar(lambda x: -_log_likelihood(0.0, x, different, counts), bounds=(-30, 40))
        a, log_t = 0.0, float(ewens.x)
    if a > _LARGEST_A or not np.isfinite(best.fun) or not _LOWEST_LOG_T < log_t < _HIGHEST_LOG_T:
        return None
    return Pitman(a, float(np.exp(log_t)), int(sizes.sum()), population)


def _inverse_logit(x: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(x, -700, 700))))


def _log_likelihood(a: float, log_t: float, sizes: Floats, counts: Floats) -> float:
    from scipy.special import gammaln

    if not (0 <= a < 1 and _LOWEST_LOG_T <= log_t <= _HIGHEST_LOG_T):
        return float("-inf")
    t, u, n = np.exp(log_t), int(counts.sum()), float(sizes @ counts)
    if u <= _SUMMED_CLASSES or a == 0:
        new = (u - 1) * log_t + float(np.log1p(a / t * np.arange(1, u)).sum()) if a else (u - 1) * log_t
    else:
        new = (u - 1) * np.log(a) + gammaln(t / a + u) - gammaln(t / a + 1)
    return float(new - gammaln(t + n) + gammaln(t + 1) + float(counts @ (gammaln(sizes - a) - gammaln(1 - a))))


def zayatz(sizes: Integers, population: int) -> float | None:
    """Return the number of population uniques by the estimate of Zayatz (1991).

    The probability that a class with one record in the sample has one individual in the population follows from the
    sizes in the sample as if they were those of the population.
    """
    from scipy.stats import hypergeom

    different, counts = np.unique(sizes, return_counts=True)
    if different[0] != 1:
        return 0.0
    n = int(sizes.sum())
    q, ones = n / population, float(counts[0])
    drawn = hypergeom.pmf(1, population, different, n)
    return float(ones * (ones * q / float(counts @ drawn)) / q)


def slide_negative_binomial(sizes: Integers, population: int) -> float | None:
    """Return the number of population uniques by the slide negative binomial model; None without a solution.

    The number of classes in the population is the estimate of Shlosser (Haas and Stokes 1998); the two parameters solve
    the equations for the classes of one and of two records (Chen and Keller-McNulty 1998).
    """
    from scipy.optimize import least_squares

    different, counts = np.unique(sizes, return_counts=True)
    number = dict(zip(different.tolist(), counts.tolist(), strict=True))
    one, two = number.get(1, 0), number.get(2, 0)
    if not one:
        return 0.0
    q = float(sizes.sum()) / population
    if not two or q >= 1:
        return None
    classes = _shlosser(different.astype(np.float64), counts.astype(np.float64), q, float(one))

    def residuals(x: Floats) -> Floats:
        s, b = np.exp(x[0]), 1 / (1 + np.exp(-x[1]))
        w = 1 - (1 - q) * (1 - b)
        first = np.log(classes * q) + s * np.log(b / w) + np.log1p(s * (1 - q) * (1 - b) / w)
        inner = max(2 - (1 - s) * (1 - b) * (1 - q), 1e-300)
        second = np.log(classes * q * q / 2 * s * (1 - b)) + s * np.log(b) + np.log(inner) - (s + 2) * np.log(w)
        return np.array([first - np.log(one), second - np.log(two)])

    best = None
    for start in ((-1.0, -3.0), (0.0, 0.0), (-2.0, -6.0), (1.0, 2.0), (-4.0, -8.0), (3.0, 3.0)):
        with np.errstate(all="ignore"):
            found = least_squares(residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=2000)
        if np.isfinite(found.cost) and (best is None or found.cost < best.cost):
            best = found
    if best is None or best.cost > _SOLVED:
        return None
    s, b = np.exp(best.x[0]), 1 / (1 + np.exp(-best.x[1]))
    return float(classes * b**s)


def _shlosser(sizes: Floats, counts: Floats, q: float, one: float) -> float:
    """Return the estimated number of classes in the population."""
    missed = (1 - q) ** sizes
    first = float((sizes * q**2 * (1 - q**2) ** (sizes - 1)) @ counts) / float(
        (missed * ((1 + q) ** sizes - 1)) @ counts
    )
    second = float(missed @ counts) / float((sizes * q * (1 - q) ** (sizes - 1)) @ counts)
    return float(counts.sum() + one * first * second**2)
