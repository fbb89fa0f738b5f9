"""The optimum without rounding, by listing all groupings; and the most obvious bound."""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import lcm

import numpy as np

SIZE_MULTIPLE = lcm(*range(1, 13))


def exact_distances(points):
    """Squared distances times the square of a power of two that makes all coordinates integers, and that square."""
    rows = [[Fraction(float(x)) for x in row] for row in points]
    scale = max(x.denominator for row in rows for x in row)
    integers = [[int(x * scale) for x in row] for row in rows]
    return [[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in integers] for a in integers], scale * scale


def groupings(records, smallest, largest):
    """Every partition of the records into groups of smallest..largest; the first record names the group."""
    if not records:
        yield []
        return
    first, *others = records
    for size in range(smallest, min(largest, len(records)) + 1):
        for others_of_group in combinations(others, size - 1):
            rest = [r for r in others if r not in others_of_group]
            for more in groupings(rest, smallest, largest):
                yield [(first, *others_of_group), *more]


def optimum(points, k, largest=None, allowed=lambda _: True):
    """The smallest SSE of all groupings into groups of k..largest (no limit if not given), as a fraction.

    The SSE of a group is the sum of its squared distances divided by its size; costs are multiplied by a number that
    all sizes up to 12 divide.
    """
    distances, scale = exact_distances(points)
    known = {}

    def cost(group):
        if group not in known:
            known[group] = SIZE_MULTIPLE // len(group) * sum(distances[i][j] for i, j in combinations(group, 2))
        return known[group]

    choices = groupings(list(range(len(points))), k, largest or len(points))
    return Fraction(min(sum(map(cost, groups)) for groups in choices if allowed(groups)), SIZE_MULTIPLE * scale)


def grouping_cost(points, labels):
    """The SSE of a grouping, as a fraction."""
    rows = [[Fraction(float(x)) for x in row] for row in points]
    groups = {}
    for row, label in zip(rows, labels, strict=True):
        groups.setdefault(int(label), []).append(row)
    total = Fraction(0)
    for group in groups.values():
        for column in zip(*group, strict=True):
            mean = sum(column) / len(group)
            total += sum((x - mean) ** 2 for x in column)
    return total


def first_bound(points, k):
    """The sum over records of the k-1 smallest squared distances, divided by 2k."""
    distances, scale = exact_distances(points)
    return Fraction(sum(sum(sorted(line)[1:k]) for line in distances), 2 * k * scale)


def semidefinite_value(points, k, duals, vectors, own=True):
    """The bound that dual values and vectors prove, as a fraction; ``own`` false leaves out pairs of one record."""
    distances, scale = exact_distances(points)
    y = [Fraction(float(x)) for x in duals]
    v = [[Fraction(float(x)) for x in row] for row in vectors]
    taken = Fraction(0)
    for i in range(len(y)):
        for j in range(len(y)):
            if own or i != j:
                product = sum(a * b for a, b in zip(v[i], v[j], strict=True))
                taken += max(0, (y[i] + y[j] - Fraction(distances[i][j], scale)) / 2 + product)
    return sum(y) - taken / k


def two_and_one_three(groups):
    """Whether all groups are pairs but for one of three."""
    return sorted(map(len, groups))[:-1] == [2] * (len(groups) - 1)


def small_instance(seed):
    """Points of every nasty kind, and a k."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    n, d = int(rng.integers(k, 9)), int(rng.integers(1, 4))
    points = rng.normal(size=(n, d))
    if seed % 5 == 1:
        points = rng.integers(0, 3, size=(n, d)).astype(float)
    elif seed % 5 == 2:
        points = points[rng.integers(0, max(1, n // 2), n)]
    elif seed % 5 == 3:
        points += 1e8
    elif seed % 5 == 4:
        points *= 10.0 ** rng.integers(-6, 6, size=(n, 1))
    return points * 2.0 ** rng.choice([0, -30, 30]), k


@cache
def small_optimum(seed):
    """The optimum of that instance."""
    return optimum(*small_instance(seed))
