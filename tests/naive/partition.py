"""Reference implementations of the partition methods: full stable sorts, recursion, brute force."""

import numpy as np

from naive.distance import centroid


def directions(points, rule, pair_scale=0.5**0.5):
    """All candidate directions as vectors; the first of equal ones is selected."""
    d = points.shape[1]
    unit = np.eye(d)
    found = [(unit[j], 1.0) for j in range(d)]
    if rule == "pairs":
        pairs = [(p, q) for p in range(d) for q in range(p + 1, d)]
        found += [(unit[p] + sign * unit[q], pair_scale) for sign in (1, -1) for p, q in pairs]
    return found


def choose(points, rule, pair_scale):
    """The direction of a cut; scores that differ by rounding only count as equal, the first one wins."""
    candidates = directions(points, rule, pair_scale)
    centred = points - points[0]
    centred -= centred.mean(axis=0)
    if rule == "range":
        scores = [np.ptp(points @ vector) for vector, _ in candidates]
    else:
        scores = [scale**2 * ((centred @ vector) ** 2).sum() for vector, scale in candidates]
    best = max(scores)
    return next(candidates[i][0] for i in range(len(scores)) if scores[i] >= best - 1e-9 * abs(best))


def parts(points, size, rule, first=None, pair_scale=0.5**0.5):
    """The parts of the recursion with a full stable sort in every node, each in the order it inherits."""

    def cut(records, first):
        if len(records) <= size:
            return [records]
        inside = points[records]
        vector = np.eye(points.shape[1])[first] if first is not None else choose(inside, rule, pair_scale)
        p, *q = np.flatnonzero(vector)
        along = inside[:, p] + vector[q[0]] * inside[:, q[0]] if q else inside[:, p]
        records = [records[i] for i in np.argsort(along, kind="stable")]
        half = len(records) // 2
        return cut(records[:half], None) + cut(records[half:], None)

    return cut(list(range(len(points))), first)


def labels_of(groups, n):
    labels = np.empty(n, int)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


def cost(points, labels):
    """SSE, computed group by group."""
    return sum(((points[labels == g] - centroid(points[labels == g])) ** 2).sum() for g in np.unique(labels))


def can_swap(points, labels, k, least):
    """Whether any exchange of two records, or any move out of a group above k, gains more than ``least``."""
    before = cost(points, labels)
    sizes = np.bincount(labels)
    for r in range(len(points)):
        for s in range(len(points)):
            if labels[r] != labels[s]:
                other = labels.copy()
                other[[r, s]] = other[[s, r]]
                if before - cost(points, other) > least:
                    return True
        for g in range(sizes.size):
            if sizes[labels[r]] > k and sizes[g] < 2 * k - 1 and g != labels[r]:
                other = labels.copy()
                other[r] = g
                if before - cost(points, other) > least:
                    return True
    return False


def can_dissolve(points, labels, k, least):
    """Whether moving the records of a group of k one by one to the nearest other groups lowers the cost."""
    before = cost(points, labels)
    for g in np.flatnonzero(np.bincount(labels) == k):
        other = labels.copy()
        for r in np.flatnonzero(labels == g):
            choices = []
            for target in set(labels.tolist()) - {int(g)}:
                inside = points[other == target]
                m = len(inside)
                if m < 3 * k:
                    choices.append((m / (m + 1) * ((points[r] - centroid(inside)) ** 2).sum(), target))
            if not choices:
                break
            other[r] = min(choices)[1]
        else:
            if before - cost(points, other) > least:
                return True
    return False


def spectrum(points):
    """Eigenvalues and eigenvectors of the covariance, in descending order, by the singular values of the data."""
    centred = points - points.mean(axis=0)
    _, singular, rows = np.linalg.svd(centred, full_matrices=True)
    values = np.zeros(points.shape[1])
    values[: singular.size] = singular**2 / len(points)
    return values, rows.T


def category_parts(codes, k, strict):
    """Mondrian on categories with lists of records and dictionaries of counts."""

    def ranked(records, j):
        counts = {}
        for record in records:
            counts[codes[record, j]] = counts.get(codes[record, j], 0) + 1
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def sides(records, j):
        low, high, size = set(), set(), [0, 0]
        for category, count in ranked(records, j):
            side = 1 if size[1] < size[0] else 0
            (high if side else low).add(category)
            size[side] += count
        return low

    def cut(records):
        if len(records) < 2 * k:
            return [records]
        gini = [len(records) ** 2 - sum(count**2 for _, count in ranked(records, j)) for j in range(codes.shape[1])]
        by_gini = sorted(range(codes.shape[1]), key=lambda j: (-gini[j], j))
        for j in by_gini:
            chosen = sides(records, j)
            low = [record for record in records if codes[record, j] in chosen]
            high = [record for record in records if codes[record, j] not in chosen]
            if gini[j] > 0 and min(len(low), len(high)) >= k:
                return cut(low) + cut(high)
        if strict:
            return [records]
        rank = [{category: i for i, (category, _) in enumerate(ranked(records, j))} for j in range(codes.shape[1])]
        least_first = sorted(range(codes.shape[1]), key=lambda j: (gini[j], j))
        ordered = sorted(records, key=lambda record: [rank[j][codes[record, j]] for j in least_first[::-1]])
        half = len(records) // 2
        cuts = [at for away in range(half - k + 1) for at in (half - away, half + away) if k <= at <= len(records) - k]
        at = next((at for at in cuts if (codes[ordered[at - 1]] != codes[ordered[at]]).any()), half)
        return cut(ordered[:at]) + cut(ordered[at:])

    return cut(list(range(len(codes))))


def median_parts(points, k):
    """The parts of Mondrian with cuts at a median value, by sorting and recursion, from the low to the high side."""

    def cut(records):
        def negative_range(j):
            return min(points[r, j] for r in records) - max(points[r, j] for r in records)

        by_range = sorted(range(points.shape[1]), key=negative_range)
        for j in by_range:
            values = sorted(points[r, j] for r in records)
            if values[0] == values[-1]:
                return [records]
            median = values[(len(values) - 1) // 2]
            cuts = [
                ([r for r in records if points[r, j] <= median], [r for r in records if points[r, j] > median]),
                ([r for r in records if points[r, j] < median], [r for r in records if points[r, j] >= median]),
            ]
            allowed = [pair for pair in cuts if min(map(len, pair)) >= k]
            if allowed:
                low, high = max(allowed, key=lambda pair: min(map(len, pair)))
                return cut(low) + cut(high)
        return [records]

    return cut(list(range(len(points))))
