"""Representatives, one group after the other."""

import statistics
from fractions import Fraction

import numpy as np


def per_group(function, values, labels, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    return np.array([function(values[labels == g], weights[labels == g]) for g in range(labels.max() + 1)])


def exact_mean(values, weights):
    """The mean of numbers without any rounding."""
    values, weights = [Fraction(v) for v in values], [Fraction(w) for w in weights]
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def mean(values, weights):
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def median(values, weights):
    if (weights == 1).all():
        return statistics.median(values.tolist())
    pairs = sorted(zip(values.tolist(), weights.tolist(), strict=True))
    half, summed = sum(weights) / 2, 0.0
    for place, (value, weight) in enumerate(pairs):
        summed += weight
        if abs(summed - half) <= 1e-9 * half:
            return (value + pairs[place + 1][0]) / 2
        if summed > half:
            return value
    raise AssertionError


def lower_median(values, weights):
    assert (weights == 1).all()
    return statistics.median_low(values.tolist())


def greatest_count(codes, weights):
    """How much weight the most frequent code has."""
    return max(sum(w for c, w in zip(codes, weights, strict=True) if c == code) for code in set(codes.tolist()))


def medoid(points, labels):
    found = []
    for g in range(labels.max() + 1):
        members = np.flatnonzero(labels == g)
        distances = ((points[members] - points[members].mean(axis=0)) ** 2).sum(axis=1)
        found.append((members, distances))
    return found


def closest_common_ancestor(parents, leaves):
    """The lowest node that is on the way to the root of every leaf."""

    def way(node):
        found = [node]
        while parents[node] != node:
            node = parents[node]
            found.append(node)
        return found

    ways = [way(leaf) for leaf in leaves]
    return next(node for node in ways[0] if all(node in other for other in ways))


def leaves_below(parents, n_leaves, node):
    """How many leaves have the node on their way to the root; 0 for a leaf."""
    if node < n_leaves:
        return 0
    return sum(_passes(parents, leaf, node) for leaf in range(n_leaves))


def _passes(parents, leaf, node):
    while leaf != node and parents[leaf] != leaf:
        leaf = parents[leaf]
    return leaf == node
