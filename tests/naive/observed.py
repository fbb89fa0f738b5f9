"""Groups where cells are missing, from their description: partial distances, and the squared error of known cells."""

import numpy as np


def distance(points, observed, i, reference):
    return sum((points[i, j] - reference[j]) ** 2 for j in range(points.shape[1]) if observed[i, j])


def centroid(points, observed, members):
    found = []
    for j in range(points.shape[1]):
        known = [points[i, j] for i in members if observed[i, j]]
        found.append(known[0] + sum(x - known[0] for x in known) / len(known) if known else 0.0)
    return found


def mdav(points, observed, k):
    """MDAV: the centroid completes a record that founds a group; ties go to the lowest number."""
    free, labels, groups = list(range(len(points))), np.full(len(points), -1), 0

    def farthest(reference):
        return max(free, key=lambda i: (distance(points, observed, i, reference), -i))

    def found_group(record, centre, groups):
        reference = [points[record, j] if observed[record, j] else centre[j] for j in range(points.shape[1])]
        others = [i for i in free if i != record]
        others.sort(key=lambda i: (distance(points, observed, i, reference), i))
        for i in [record, *others[: k - 1]]:
            labels[i] = groups
            free.remove(i)
        return reference

    while len(free) >= 2 * k:
        centre = centroid(points, observed, free)
        r = farthest(centre)
        reference = [points[r, j] if observed[r, j] else centre[j] for j in range(points.shape[1])]
        s = farthest(reference)
        found_group(r, centre, groups)
        groups += 1
        if len(free) >= 2 * k:
            s = s if s in free else farthest(reference)
            found_group(s, centre, groups)
            groups += 1
    for i in free:
        labels[i] = groups
    return labels


def cost(points, observed, labels):
    """The squared error of known cells to the mean of the known cells of their group."""
    total = 0.0
    for group in np.unique(labels):
        for j in range(points.shape[1]):
            known = [points[i, j] for i in np.flatnonzero(labels == group) if observed[i, j]]
            if known:
                mean = sum(known) / len(known)
                total += sum((x - mean) ** 2 for x in known)
    return total
