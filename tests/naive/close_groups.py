"""Groups from buckets of the confidential value, the obvious way: one record after the other."""

from itertools import permutations

import numpy as np


def buckets(codes, size):
    """The bucket of each record: equally many in order of the values, the remainder in the middle."""
    counts = [len(codes) // size] * size
    middle = [(size - 1) // 2, size // 2]
    for number in range(len(codes) % size):
        counts[middle[number % 2]] += 1
    found, order = {}, sorted(range(len(codes)), key=lambda row: codes[row])
    for bucket, count in enumerate(counts):
        for _ in range(count):
            found[order.pop(0)] = bucket
    return [found[row] for row in range(len(codes))]


def groups(points, codes, size):
    """In the order of MDAV, groups around the record that is farthest from the centroid, then from the last one."""
    bucket, left = buckets(codes, size), list(range(len(codes)))
    found, count, seed = {}, len(codes) // size, None

    def apart(row, place):
        return float(((points[row] - place) ** 2).sum())

    for group in range(count):
        place = points[left].mean(axis=0) if group % 2 == 0 else points[seed]
        seed = max(left, key=lambda row: apart(row, place))
        for number in range(size):
            inside = sorted((row for row in left if bucket[row] == number), key=lambda row: apart(row, points[seed]))
            for row in inside[: -(-len(inside) // (count - group))]:
                found[row] = group
                left.remove(row)
    return [found[row] for row in range(len(codes))]


def error(points, labels):
    return sum(
        float(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum()) for g in np.unique(labels)
    )  # fmt: skip


def improved(points, labels, bucket):
    """In rounds, every way of giving the records of a bucket the places of that bucket; the cheapest is taken.

    A record costs the error that it adds to the others of the group.
    """
    best, least = np.array(labels), error(points, np.array(labels))
    for _ in range(10):
        labels = best.copy()
        for number in range(max(bucket) + 1):
            rows = [row for row in range(len(bucket)) if bucket[row] == number]
            cost = {}
            for slot in rows:
                others = [row for row in np.flatnonzero(labels == labels[slot]) if row != slot]
                for row in rows:
                    alone = ((points[others] - points[others].mean(axis=0)) ** 2).sum() if others else 0.0
                    both = [*others, row]
                    cost[row, slot] = float(((points[both] - points[both].mean(axis=0)) ** 2).sum() - alone)
            chosen = min(
                permutations(rows), key=lambda slots: sum(cost[pair] for pair in zip(rows, slots, strict=True))
            )
            labels[rows] = labels[list(chosen)]
        now = error(points, labels)
        if now >= least * (1 - 1e-9):
            break
        best, least = labels, now
    return best
