"""MDAV with distances in single precision, as sdcMicro computes them, to reproduce its results."""

import numpy as np


def squared_distances(columns, reference):
    """Differences rounded to float32, squared and summed in float32, attribute by attribute."""
    total = np.zeros(columns.shape[1], np.float32)
    for column, centre in zip(columns, reference, strict=True):
        difference = (column - centre).astype(np.float32)
        total += difference * difference
    return total


def mdav_in_single_precision(points, k):
    """MDAV whose neighbours are the highest numbers among equally distant records."""
    free = list(range(len(points)))
    groups = []

    def farthest(reference):
        return free[int(np.argmax(squared_distances(points[free].T, reference)))]

    def close(seed):
        distances = squared_distances(points[free].T, points[seed])
        distances[free.index(seed)] = -1
        nearest = np.lexsort((-np.arange(len(free)), distances))[:k]
        groups.append([free[i] for i in nearest])
        for member in groups[-1]:
            free.remove(member)

    while len(free) >= 2 * k:
        two = len(free) >= 3 * k
        centroid = np.add.accumulate(points[free], axis=0)[-1] / len(free)
        r = farthest(centroid)
        s = farthest(points[r])
        close(r)
        if two:
            close(s if s in free else farthest(points[r]))
    groups.append(free)
    labels = np.empty(len(points), int)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels
