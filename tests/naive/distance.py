"""Distance-based methods, read literally from the pseudocode: lists of records, everything computed anew each time."""

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
            host = groups[closest(points, groups, r, by_cost)]
            v = members[1]
            others = nearest(points, [x for x in free if x != r], v, k)
            rise = len(host) / (len(host) + 1) * distance(points[r], centroid(points[host]))
            joins = (rise + cost(points[others])) / (k + 1) + tolerance < gamma * own
            if with_neighbour:
                joins |= cost_of_joining(points, host, [r, v]) / 2 + tolerance < own
        if joins:
            host += take(free, [r])
        else:
            groups.append(take(free, members))
    return join_closest(points, groups, free, by_cost)


def cost_of_joining(points, group, joining):
    merged = centroid(points[group + joining])
    return len(group) * distance(centroid(points[group]), merged) + sum(distance(points[x], merged) for x in joining)


def nearest_other(points, groups, group, record):
    """The group with the nearest centroid, other than this one; None if there is no other."""
    others = [other for other in groups if other is not group]
    return others[closest(points, others, record)] if others else None


def dissolve(points, groups, group, tolerance):
    """The dissolve check; returns the groups that have taken the records in, nothing if the group stays."""
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


def refine(points, labels, k, by_cost=True, max_rounds=30, history=None):
    """The rounds of ONA*; ``history`` receives the cost after each change."""
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
        for group in list(groups):
            if len(group) == k and any(group is other for other in groups):
                targets = dissolve(points, groups, group, tolerance)
                changed |= bool(targets)
                for target in targets:
                    split(target)
                note()
        for group in list(groups):
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


class Chance:
    """SplitMix64 in whole numbers."""

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
    chance = Chance(state)
    tolerance = 1e-10 * scale(points)
    groups = groups_of(labels)

    def two_groups(members):
        order = list(range(len(members)))
        for i in range(len(order) - 1, 0, -1):
            other = chance.below(i + 1)
            order[i], order[other] = order[other], order[i]
        parts = np.empty(len(members), int)
        for i, place in enumerate(order):
            parts[place] = i * 2 // len(members)
        for _ in range(10):
            before = parts.copy()
            for i, record in enumerate(members):
                if (parts == parts[i]).sum() > k:
                    rest = [[m for place, m in enumerate(members) if parts[place] == p and place != i] for p in (0, 1)]
                    parts[i] = closest(points, rest, record)
            if (parts == before).all():
                break
        return [[m for place, m in enumerate(members) if parts[place] == p] for p in (0, 1)]

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
