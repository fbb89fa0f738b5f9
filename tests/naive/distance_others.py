"""The methods of Thaeter 2021, chapter 8 (ranks, two corners, density, spanning tree), as in the pseudocode."""

import numpy as np

from naive.distance import (
    cost,
    distance,
    farthest,
    groups_of,
    join_closest,
    labels_of,
    mdav,
    nearest,
    scale,
    take,
)
from naive.distance_moves import dissolve, remove_group


def rank_sum(points, k):
    n = len(points)
    ranks = np.zeros(n, int)
    for column in points.T:
        for rank, record in enumerate(sorted(range(n), key=lambda r, column=column: (column[r], r))):
            ranks[record] += rank + 1
    free = sorted(range(n), key=lambda r: (ranks[r], r))
    groups = []
    while len(free) >= 3 * k:
        groups.append(take(free, nearest(points, sorted(free), free[0], k)))
        groups.append(take(free, nearest(points, sorted(free), free[-1], k)))
    if len(free) >= 2 * k:
        groups.append(take(free, nearest(points, sorted(free), free[0], k)))
    return labels_of([*groups, free], n)


def scatter(points, groups, order, tolerance):
    for group in order:
        dissolve(points, groups, group, tolerance)


def from_two_corners(points, k):
    corners = [np.full(points.shape[1], points.min()), np.full(points.shape[1], points.max())]
    free = list(range(len(points)))
    groups = []
    while len(free) >= k:
        r = farthest(points, free, corners[len(groups) % 2])
        groups.append(take(free, nearest(points, free, r, k)))
    return join_closest(points, groups, free)


def tfrp(points, k):
    groups = groups_of(from_two_corners(points, k))
    order = sorted(groups, key=lambda group: -cost(points[group]))
    scatter(points, groups, order, 1e-10 * scale(points))
    while large := [group for group in groups if len(group) >= 2 * k]:
        for group in large:
            remove_group(groups, group)
            groups += [[group[i] for i in part] for part in groups_of(from_two_corners(points[group], k))]
    return labels_of(groups, len(points))


def density(points, k):
    free = list(range(len(points)))
    groups = []
    while len(free) >= k:
        around = [nearest(points, free, r, k) for r in free]
        groups.append(take(free, around[int(np.argmin([cost(points[group]) for group in around]))]))
    groups = groups_of(join_closest(points, groups, free))
    scatter(points, groups, list(reversed(groups)), 1e-10 * scale(points))
    done = []
    for group in groups:
        parts = groups_of(mdav(points[group], k)) if len(group) >= 2 * k else [range(len(group))]
        done += [[group[i] for i in part] for part in parts]
    return labels_of(done, len(points))


def spanning_tree(points, k):
    n = len(points)
    inside, edges = [0], []
    best = {r: (distance(points[r], points[0]), 0) for r in range(1, n)}
    while best:
        r = min(best, key=lambda r: (best[r][0], r))
        length, parent = best.pop(r)
        edges.append((length, r, parent))
        inside.append(r)
        for other in best:
            far = distance(points[other], points[r])
            if far < best[other][0]:
                best[other] = far, r
    kept = {(r, parent) for _, r, parent in edges}
    for _, r, parent in sorted(edges, key=lambda edge: (-edge[0], edge[1])):
        parts = components(n, kept - {(r, parent)})
        if sum(parts == parts[r]) >= k and sum(parts == parts[parent]) >= k:
            kept.remove((r, parent))
    groups = []
    for group in groups_of(components(n, kept)):
        parts = groups_of(mdav(points[group], k)) if len(group) >= 2 * k else [range(len(group))]
        groups += [[group[i] for i in part] for part in parts]
    return labels_of(groups, n)


def components(n, edges):
    labels = np.arange(n)
    for left, right in edges:
        labels[labels == labels[left]] = labels[right]
    return np.unique(labels, return_inverse=True)[1]
