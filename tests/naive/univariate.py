"""Univariate microaggregation by trying every partition, in integers without rounding.

Values are turned into integers with a common scale (floats are fractions with a power of two below), costs are
multiplied by a common multiple of all group sizes up to 12, so every comparison is exact.
"""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import floor, lcm

COMMON_MULTIPLE = 2 * lcm(*range(1, 13))


def integers(values):
    """The values times the power of two that makes all of them integers, and that power."""
    ratios = [Fraction(value) for value in values]
    scale = max(ratio.denominator for ratio in ratios)
    return [int(ratio * scale) for ratio in ratios], scale


@cache
def all_cuts(n, smallest, largest):
    """Every way to cut n sorted values into groups of smallest..largest consecutive values."""
    if n == 0:
        return [(0,)]
    found = []
    for size in range(smallest, min(largest, n) + 1):
        found += [(*cuts, n) for cuts in all_cuts(n - size, smallest, largest)]
    return found


def sse(group):
    total = sum(group)
    return COMMON_MULTIPLE // len(group) * (len(group) * sum(x * x for x in group) - total * total)


def sae(group):
    middle = sorted(group)[len(group) // 2]
    return COMMON_MULTIPLE * sum(abs(x - middle) for x in group)


def max_distance(group):
    return COMMON_MULTIPLE // 2 * (max(group) - min(group))


def round_up(group):
    return COMMON_MULTIPLE * sum(max(group) - x for x in group)


def round_down(group):
    return COMMON_MULTIPLE * sum(x - min(group) for x in group)


def rounded_mean(group):
    middle = floor(Fraction(sum(group), len(group)) + Fraction(1, 2))
    return COMMON_MULTIPLE * sum((x - middle) ** 2 for x in group)


COSTS = {
    "sse": sse,
    "sae": sae,
    "max-distance": max_distance,
    "round-up": round_up,
    "round-down": round_down,
    "rounded-mean": rounded_mean,
}


def cut_costs(ordered, cost, smallest, largest=None):
    """The exact cost of every way to cut the sorted integers, the smallest cost first."""
    n = len(ordered)
    costs = {(i, j): cost(ordered[i:j]) for i in range(n) for j in range(i + smallest, min(i + (largest or n), n) + 1)}
    return sorted((sum(map(costs.__getitem__, pairwise(cuts))), cuts) for cuts in all_cuts(n, smallest, largest or n))


def cost_of_labels(integers, labels, cost):
    groups = {}
    for value, label in zip(integers, labels, strict=True):
        groups.setdefault(int(label), []).append(value)
    return sum(cost(group) for group in groups.values())


def dynamic_program(ordered, k, cost):
    """The exact optimum of any number of sorted values by the plain O(k n) recursion; cost(i, j) is a Fraction."""
    n = len(ordered)
    best = [None] * (n + 1)
    best[0] = 0
    for j in range(k, n + 1):
        ends = [best[i] + cost(i, j) for i in range(max(0, j - 2 * k + 1), j - k + 1) if best[i] is not None]
        best[j] = min(ends) if ends else None
    return best[n]


def set_partitions(records, smallest):
    """Every partition into sets of at least ``smallest``, consecutive or not."""
    if not records:
        yield []
        return
    first, rest = records[0], records[1:]
    for mask in range(1 << len(rest)):
        group = [first, *(r for bit, r in enumerate(rest) if mask >> bit & 1)]
        if len(group) < smallest:
            continue
        left = [r for bit, r in enumerate(rest) if not mask >> bit & 1]
        for others in set_partitions(left, smallest):
            yield [group, *others]
