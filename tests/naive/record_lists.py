"""The groups nearest to each record, from all distances."""

import numpy as np


def nearest_groups(points, labels, alive, centroids, wanted):
    """For each record the nearest groups other than its own, nearest first; ties in the order of ``alive``."""
    lists = []
    for point, own in zip(points, labels, strict=True):
        distances = [(float(((point - centroids[g]) ** 2).sum()), place) for place, g in enumerate(alive) if g != own]
        lists.append([int(alive[place]) for _, place in sorted(distances)[:wanted]])
    return lists


def share_between(points, labels):
    """The share of the variance that lies between groups."""
    inside = sum(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum() for g in np.unique(labels))
    total = ((points - points.mean(axis=0)) ** 2).sum()
    return 1.0 if total == 0 else 1.0 - inside / total
