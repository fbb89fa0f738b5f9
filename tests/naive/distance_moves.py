"""Searches that move records between groups (ONA*, ONA, k-means, exchanges), as in the pseudocode."""

import math

import numpy as np

from naive.distance import (
    centroid,
    closest,
    cost,
    cost_of_joining,
    distance,
    groups_of,
    labels_of,
    mdav_plus,
    mdav_star,
    scale,
    squared_distances,
    total_cost,
)


def nearest_other(points, groups, group, record):
    """The group with the nearest centroid, other than this one; None if there is no other."""
    others = [other for other in groups if other is not group]
    return others[closest(points, others, record)] if others else None


def dissolve(points, groups, group, tolerance):
    """Dissolve a group if that lowers the cost; returns the groups that its records joined, none if the group stays."""
    targets = [nearest_other(points, groups, group, s) for s in group]
    if None in targets or cost(points[group]) <= 0:
        return []
    distinct = [target for i, target in enumerate(targets) if all(target is not other for other in targets[:i])]
    joining = [[s for s, target in zip(group, targets, strict=True) if target is t] for t in distinct]
    rise = sum(cost_of_joining(points, t, j) for t, j in zip(distinct, joining, strict=True))
    if cost(points[group]) <= rise + tolerance:
        return []
    for target, records in zip(distinct, joining, strict=True):
        target[:] = sorted(target + records)
    remove_group(groups, group)
    return distinct


def remove_group(groups, group):
    groups[:] = [other for other in groups if other is not group]


def refine(points, labels, k, by_cost=True, max_rounds=30, history=None, phases="both"):
    """The rounds of ONA*; ``history`` receives the cost after each change. A phase that is left out visits nothing."""
    tolerance = 1e-10 * scale(points)
    groups = groups_of(labels)
    for group in list(groups):
        if len(group) >= 2 * k:
            remove_group(groups, group)
            groups += [[group[i] for i in part] for part in groups_of(mdav_plus(points[group], k))]

    def split(group):
        if len(group) >= 2 * k:
            remove_group(groups, group)
            parts = mdav_star(points[group], k, by_cost=by_cost, tolerance=tolerance)
            groups.extend([group[i] for i in part] for part in groups_of(parts))

    def note():
        if history is not None:
            history.append(total_cost(points, groups))

    note()
    for _ in range(max_rounds):
        changed = False
        for group in list(groups) if phases != "reassign" else []:
            if len(group) == k and any(group is other for other in groups):
                targets = dissolve(points, groups, group, tolerance)
                changed |= bool(targets)
                for target in targets:
                    split(target)
                note()
        for group in list(groups) if phases != "dissolve" else []:
            while len(group) > k and any(group is other for other in groups) and len(groups) > 1:
                best = tolerance
                move = None
                for s in group:
                    target = nearest_other(points, groups, group, s)
                    saved = len(group) / (len(group) - 1.0) * distance(points[s], centroid(points[group]))
                    paid = len(target) / (len(target) + 1.0) * distance(points[s], centroid(points[target]))
                    if saved - paid > best:
                        best = saved - paid
                        move = s, target
                if move is None:
                    break
                s, target = move
                group.remove(s)
                target[:] = sorted([*target, s])
                changed = True
                split(target)
                note()
        if not changed:
            break
    return labels_of(groups, len(points))


def ona_star(points, k, by_cost=True):
    return refine(points, mdav_star(points, k, by_cost=by_cost), k, by_cost)


class RandomIntegers:
    """SplitMix64 in Python integers."""

    def __init__(self, state):
        self.state = int(state)

    def below(self, limit):
        mask = 2**64 - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % limit


def ona(points, labels, k, state, max_rounds=30):
    """One run of ONA from these labels."""
    random = RandomIntegers(state)
    tolerance = 1e-10 * scale(points)
    groups = groups_of(labels)

    def two_groups(members):
        order = list(range(len(members)))
        for i in range(len(order) - 1, 0, -1):
            other = random.below(i + 1)
            order[i], order[other] = order[other], order[i]
        parts = np.empty(len(members), int)
        for i, position in enumerate(order):
            parts[position] = i * 2 // len(members)
        for _ in range(10):
            before = parts.copy()
            for i, record in enumerate(members):
                if (parts == parts[i]).sum() > k:
                    rest = [
                        [m for position, m in enumerate(members) if parts[position] == p and position != i]
                        for p in (0, 1)
                    ]
                    parts[i] = closest(points, rest, record)
            if (parts == before).all():
                break
        return [[m for position, m in enumerate(members) if parts[position] == p] for p in (0, 1)]

    for _ in range(max_rounds):
        changed = False
        for r in range(len(points)):
            group = next(group for group in groups if r in group)
            grown = []
            if len(group) > k:
                group.remove(r)
                target = groups[closest(points, groups, r)]
                target[:] = sorted([*target, r])
                grown = [target] if target is not group else []
            else:
                grown = dissolve(points, groups, group, tolerance)
            changed |= bool(grown)
            for target in grown:
                if len(target) >= 2 * k:
                    remove_group(groups, target)
                    groups += two_groups(target)
        if not changed:
            break
    return labels_of(groups, len(points))


def k_means(points, centres, max_rounds=50):
    """Lloyd's algorithm from these centres."""
    labels, before = None, math.inf
    for _ in range(max_rounds):
        far = np.array([squared_distances(points, centre) for centre in centres])
        labels = np.unique(far.argmin(axis=0), return_inverse=True)[1]
        total = far.min(axis=0).sum()
        if before - total < 1e-3 * scale(points):
            break
        before = total
        centres = [points[labels == g].sum(axis=0) / (labels == g).sum() for g in range(labels.max() + 1)]
    return labels


def merge(points, labels, k):
    groups = groups_of(labels)
    while any(0 < len(group) < k for group in groups):
        for group in groups:
            if 0 < len(group) < k:
                other = nearest_other_centroid(points, [g for g in groups if g], group)
                group += other
                other.clear()
    return labels_of([group for group in groups if group], len(points))


def nearest_other_centroid(points, groups, group):
    others = [other for other in groups if other is not group]
    here = centroid(points[group])
    return others[int(np.argmin([distance(centroid(points[other]), here) for other in others]))]


def refine_with_exchanges(points, labels, k, neighbours=5, max_rounds=30):
    """The rounds of ONA* and the exchanges in turn, until neither changes anything."""
    labels = refine(points, labels, k, max_rounds=max_rounds)
    for _ in range(max_rounds):
        groups = groups_of(labels)
        if not exchange_all(points, groups, k, neighbours):
            break
        labels = refine(points, labels_of(groups, len(points)), k, max_rounds=max_rounds)
    return labels


def exchange_all(points, groups, k, neighbours, rounds=5):
    """Every group exchanges records with the groups that were nearest at the start; return the number of exchanges."""
    centroids = np.array([centroid(points[group]) for group in groups])
    order = [[int(b) for b in np.argsort(squared_distances(centroids, here), kind="stable")] for here in centroids]
    near = [[b for b in row if b != a][:neighbours] for a, row in enumerate(order)]
    to_visit = [True] * len(groups)
    done = 0
    for _ in range(rounds):
        before = done
        for a in range(len(groups)):
            if not to_visit[a]:
                continue
            to_visit[a] = False
            for b in near[a]:
                for _ in range(2 * k):
                    exchanged = best_exchange(points, groups[a], groups[b], k, 1e-10 * scale(points))
                    if exchanged is None:
                        break
                    groups[a][:], groups[b][:] = exchanged
                    to_visit[a] = to_visit[b] = True
                    done += 1
        if done == before:
            break
    return done


def best_exchange(points, left, right, k, least):
    """The two groups after the exchange or reassignment that lowers the cost most; None if none lowers it."""
    best, found = least, None
    for give in [None, *left]:
        for get in [None, *right]:
            first = [r for r in left if r != give] + [get] * (get is not None)
            second = [r for r in right if r != get] + [give] * (give is not None)
            if give == get or not (k <= len(first) < 2 * k and k <= len(second) < 2 * k):
                continue
            gain = cost(points[left]) + cost(points[right]) - cost(points[first]) - cost(points[second])
            if gain > best:
                best, found = gain, (first, second)
    return found
