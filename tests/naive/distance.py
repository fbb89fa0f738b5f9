"""Distance-based methods, read literally from the pseudocode."""

import math

import numpy as np


def squared_distances(points, reference):
    """Sum attribute by attribute, in order, so that rounding is the same as in the kernels."""
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - reference[j]) ** 2
    return total


def centroid(points):
    return np.array([math.fsum(column) / len(points) for column in points.T])


def nearest(points, free, record, size):
    """The record and its size-1 nearest neighbours among the free ones; ties to the lowest number."""
    distances = squared_distances(points[free], points[record])
    return [free[i] for i in np.argsort(distances, kind="stable")[:size]]


def farthest(points, free, reference):
    return free[int(np.argmax(squared_distances(points[free], reference)))]


def mdav(points, k):
    free = list(range(len(points)))
    groups = []

    def close(record):
        group = nearest(points, free, record, k)
        groups.append(group)
        for member in group:
            free.remove(member)

    while len(free) >= 3 * k:
        r = farthest(points, free, centroid(points[free]))
        s = farthest(points, free, points[r])
        close(r)
        close(s)
    if len(free) >= 2 * k:
        close(farthest(points, free, centroid(points[free])))
    groups.append(list(free))
    labels = np.empty(len(points), int)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels
