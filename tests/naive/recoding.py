"""Representatives, one group after the other."""

import statistics

import numpy as np


def per_group(function, values, labels, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    return np.array([function(values[labels == g], weights[labels == g]) for g in range(labels.max() + 1)])


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
