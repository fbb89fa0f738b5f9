"""Reference implementations of risk against a population: sums over the distribution of F, term by term."""

from fractions import Fraction
from math import comb, exp, lgamma


def expected_inverse(f, p, terms=20_000):
    """E[1/F] of a negative binomial F: the number of trials until f successes of probability p."""
    total, probability = 0.0, float(p) ** f  # P(F = f)
    for F in range(f, f + terms):
        total += probability / F
        probability *= (1 - p) * F / (F - f + 1)
    return total


def one_over_sum(f, people):
    """The wrong neighbour: 1 divided by the expectation of F."""
    return 1 / max(f, people)


def beta_binomial_inverse(f, further, alpha, beta):
    """E[1 / (f + H)] of a beta-binomial H by logarithms of factorials."""
    total = 0.0
    for h in range(further + 1):
        log = lgamma(further + 1) - lgamma(h + 1) - lgamma(further - h + 1)
        log += lgamma(h + alpha) + lgamma(further - h + beta) - lgamma(further + alpha + beta)
        log -= lgamma(alpha) + lgamma(beta) - lgamma(alpha + beta)
        total += exp(log) / (f + h)
    return total


def log_likelihood(a, t, sizes):
    """The Ewens-Pitman sampling formula, without the factor that does not depend on a and t."""
    from math import log

    n, u = sum(sizes), len(sizes)
    value = sum(log(t + i * a) for i in range(1, u)) - lgamma(t + n) + lgamma(t + 1)
    return value + sum(lgamma(j - a) - lgamma(1 - a) for j in sizes)


def zayatz(sizes, N):
    """With exact fractions."""
    n, ones = sum(sizes), sum(1 for f in sizes if f == 1)
    q = Fraction(n, N)
    drawn = sum(Fraction(j * comb(N - j, n - 1), comb(N, n)) for j in sizes)
    return ones * (ones * q / drawn) / q


def nearest_individuals(classes, individuals):
    """For classes with one number each: the individuals nearest to each of them, ties shared."""
    counts = [0.0] * len(classes)
    for x in individuals:
        best = min(abs(x - value) for value in classes)
        near = [i for i, value in enumerate(classes) if abs(x - value) == best]
        for i in near:
            counts[i] += 1 / len(near)
    return counts
