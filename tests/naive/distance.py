"""Distance-based methods as in the pseudocode: lists of records, everything computed anew each time."""

import math

import numpy as np


def squared_distances(points, reference):
    """Sum attribute by attribute, in order, so that rounding is the same as in the kernels."""
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - reference[j]) ** 2
    return total


def distance(left, right):
    return float(squared_distances(left[None], right)[0])


def centroid(points):
    return np.array([math.fsum(column) / len(points) for column in points.T])


def cost(points):
    """Relative to the first record, so that equal records cost nothing."""
    total = 0.0
    for column in points.T:
        shifted = column - column[0]
        mean = 0.0
        for value in shifted:
            mean += value
        mean /= len(points)
        for value in shifted:
            total += (value - mean) ** 2
    return total


def total_cost(points, groups):
    return sum(cost(points[group]) for group in groups)


def scale(points):
    return float(points.var(axis=0).mean())


def nearest(points, free, record, size):
    """The record and its size-1 nearest neighbours among the free ones; ties to the lowest number."""
    others = [r for r in free if r != record]
    distances = squared_distances(points[others], points[record]) if others else np.empty(0)
    return [record] + [others[i] for i in np.argsort(distances, kind="stable")[: size - 1]]


def farthest(points, free, reference):
    return free[int(np.argmax(squared_distances(points[free], reference)))]


def labels_of(groups, n):
    labels = np.full(n, -1)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


def groups_of(labels):
    return [[int(r) for r in np.flatnonzero(labels == g)] for g in range(labels.max() + 1)]


def take(free, group):
    for member in group:
        free.remove(member)
    return group


def closest(points, groups, record, by_cost=False):
    """The group with the nearest centroid, or the one whose cost rises least."""
    scores = []
    for group in groups:
        score = distance(points[record], centroid(points[group]))
        scores.append(len(group) / (len(group) + 1) * score if by_cost else score)
    return int(np.argmin(scores))


def join_closest(points, groups, rest, by_cost=False):
    for record in rest:
        groups[closest(points, groups, record, by_cost)].append(record)
    return labels_of(groups, len(points))


def mdav(points, k):
    free = list(range(len(points)))
    groups = []
    while len(free) >= 3 * k:
        r = farthest(points, free, centroid(points[free]))
        s = farthest(points, free, points[r])
        groups.append(take(free, nearest(points, free, r, k)))
        if s not in free:
            s = farthest(points, free, points[r])
        groups.append(take(free, nearest(points, free, s, k)))
    if len(free) >= 2 * k:
        r = farthest(points, free, centroid(points[free]))
        groups.append(take(free, nearest(points, free, r, k)))
    groups.append(list(free))
    return labels_of(groups, len(points))


def max_distance(points, k):
    free = list(range(len(points)))
    groups = []
    while len(free) >= 2 * k:
        longest = -1.0
        for i in free:
            for j in free:
                if j < i and distance(points[i], points[j]) > longest:
                    longest = distance(points[i], points[j])
                    r, s = i, j
        groups.append(take(free, nearest(points, free, r, k)))
        if s not in free:
            s = farthest(points, free, points[r])
        groups.append(take(free, nearest(points, free, s, k)))
    if len(free) >= k:
        return labels_of([*groups, free], len(points))
    return join_closest(points, groups, free)


def v_mdav(points, k, gamma):
    centre = centroid(points)
    free = list(range(len(points)))
    groups = []
    while len(free) >= k:
        group = take(free, nearest(points, free, farthest(points, free, centre), k))
        while len(group) < 2 * k - 1 and free:
            inside = [min(distance(points[x], points[y]) for x in group) for y in free]
            candidate = free[int(np.argmin(inside))]
            outside = [distance(points[candidate], points[y]) for y in free if y != candidate]
            if not min(inside) < gamma * min(outside, default=math.inf) or gamma == 0:
                break
            group += take(free, [candidate])
        groups.append(group)
    return join_closest(points, groups, free)


def mdav_plus(points, k):
    return v_mdav(points, k, 0.0)


def mdav_star(points, k, gamma=1.0, with_neighbour=False, by_cost=False, tolerance=None):
    tolerance = 1e-12 * scale(points) if tolerance is None else tolerance
    centre = centroid(points)
    free = list(range(len(points)))
    groups = []
    while len(free) >= k:
        r = farthest(points, free, centre)
        members = nearest(points, free, r, k)
        own = cost(points[members]) / k
        joins = False
        if groups and len(free) > k:
            target = groups[closest(points, groups, r, by_cost)]
            v = members[1]
            others = nearest(points, [x for x in free if x != r], v, k)
            rise = len(target) / (len(target) + 1) * distance(points[r], centroid(points[target]))
            joins = (rise + cost(points[others])) / (k + 1) + tolerance < gamma * own
            if with_neighbour:
                joins |= cost_of_joining(points, target, [r, v]) / 2 + tolerance < own
        if joins:
            target += take(free, [r])
        else:
            groups.append(take(free, members))
    return join_closest(points, groups, free, by_cost)


def cost_of_joining(points, group, joining):
    merged = centroid(points[group + joining])
    return len(group) * distance(centroid(points[group]), merged) + sum(distance(points[x], merged) for x in joining)
