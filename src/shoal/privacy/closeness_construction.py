"""Groups that are t-close by construction, for one confidential column with ordered or equal values.

Soria-Comas et al. 2015, section 7: records are sorted by the confidential value and cut into k* buckets of n / k*
records; a group takes one record of every bucket, and so has nearly the distribution of the table. With

    k* = max(k, ceil(n / (2 (n - 1) t + 1)))

the earth mover's distance of every group is at most (n - k*) / (2 (n - 1) k*) <= t if all values differ. With equal
values only 1 / k* is certain, so groups are counted, and k* is raised until all of them satisfy t. Values that are
equal or not (m of them) are sorted by category; k* = ceil((m - 1) / t), since at most m - 1 buckets are mixed.

Groups are formed in the order of MDAV: around the record that is farthest from the centroid of those left, then around
the one farthest from it. Each takes the nearest record of every bucket. The records of each bucket are then assigned to
groups anew while the loss falls (linear assignment), which keeps the rule of the buckets. Cost O(n^2 d / k*) for the
groups and O(k* (n / k*)^3) for a round of assignments.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from shoal.core.requirement_violation import RequirementTable
from shoal.privacy.counts import Floats, Integers

MAX_RECORDS = 5_000
"""Blocks with more records are not constructed: the time grows with the square."""
MAX_GROUPS = 800
"""With more groups records of a bucket are not assigned anew: the time grows with the cube."""
_ROUNDS = 10


def cluster_size(n: int, k: int, t: float) -> int:
    """Return the number of buckets that suffices for t if all confidential values differ.

    Examples
    --------
    >>> cluster_size(12, 2, 0.2), cluster_size(1080, 3, 0.1)
    (3, 5)
    """
    return max(k, ceil(n / (2 * (n - 1) * t + 1) - 1e-12))


def build_close_groups(
    points: Floats, codes: Integers, k: int, t: float, table: RequirementTable, *, values: int | None = None
) -> Integers | None:
    """Return groups that satisfy a table of requirements, built from buckets; None if no number of buckets leads there.

    Parameters
    ----------
    points
        n x d, standardised.
    codes
        The confidential value of each record (n x 1), in order.
    k
        Minimum group size.
    t
        The requested t.
    table
        The requirements that are counted.
    values
        The number of different values where they are equal or not; None where they are ordered.

    Examples
    --------
    See :func:`groups_of_buckets`.
    """
    from shoal.privacy.enforcement import count_violating

    n = len(points)
    first = cluster_size(n, k, t) if values is None else max(k, ceil((values - 1) / t))
    last = max(first, ceil(1 / t) if values is None else first)
    for size in range(first, min(last, n) + 1):
        labels = groups_of_buckets(points, codes[:, 0], size)
        if not count_violating(labels, codes, table):
            better = improved(points, labels, buckets(codes[:, 0], size))
            # with equal values the buckets alone guarantee nothing
            return labels if count_violating(better, codes, table) else better
    return None


def buckets(codes: Integers, size: int) -> Integers:
    """Return the bucket of each record: equally many in order of the values, the remainder in the middle.

    Examples
    --------
    >>> buckets(np.array([5, 1, 4, 2, 3, 0, 6]), 3).tolist()
    [2, 0, 1, 1, 1, 0, 2]
    """
    n = codes.size
    each, rest = divmod(n, size)
    counts = np.full(size, each)
    middle = [(size - 1) // 2] if size % 2 else [size // 2 - 1, size // 2]
    for number in range(rest):
        counts[middle[number % len(middle)]] += 1
    found = np.empty(n, np.int64)
    found[np.argsort(codes, kind="stable")] = np.repeat(np.arange(size), counts)
    return found


def groups_of_buckets(points: Floats, codes: Integers, size: int) -> Integers:
    """Return groups with records of every bucket, in the order of MDAV.

    Examples
    --------
    >>> x = np.array([1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 22, 23.0])
    >>> y = np.array([50, 10, 90, 60, 20, 100, 30, 110, 70, 40, 120, 80])
    >>> groups_of_buckets(x[:, None], y, 3).tolist()
    [1, 1, 1, 3, 3, 3, 2, 2, 2, 0, 0, 0]
    """
    n = len(points)
    bucket = buckets(codes, size)
    groups = n // size
    left = np.ones(n, bool)
    labels = np.full(n, -1, np.int64)
    seed = -1
    for group in range(groups):
        rows = np.flatnonzero(left)
        centre = points[rows].sum(axis=0) / rows.size if group % 2 == 0 else points[seed]
        distances = _squared(points[rows], centre)
        seed = int(rows[int(distances.argmax())])
        near = _squared(points[rows], points[seed])
        for number in range(size):
            inside = np.flatnonzero(bucket[rows] == number)
            count = -(-inside.size // (groups - group))
            taken = rows[inside[np.argsort(near[inside], kind="stable")[:count]]]
            labels[taken] = group
            left[taken] = False
    return labels


def improved(points: Floats, labels: Integers, bucket: Integers) -> Integers:
    """Return groups with less squared error: the records of each bucket assigned to the groups anew.

    Every group keeps as many records of every bucket, so that what the buckets guarantee still holds.
    """
    from scipy.optimize import linear_sum_assignment

    groups = int(labels.max()) + 1
    if groups > MAX_GROUPS or groups < 2:
        return labels
    best, error = labels, _error(points, labels)
    for _ in range(_ROUNDS):
        labels = best.copy()
        for number in range(int(bucket.max()) + 1):
            rows = np.flatnonzero(bucket == number)
            sizes = np.bincount(labels, minlength=groups).astype(np.float64)
            sums = np.column_stack([np.bincount(labels, column, minlength=groups) for column in points.T])
            slots = labels[rows]
            others = sizes[slots] - 1
            centres = (sums[slots] - points[rows]) / np.maximum(others, 1)[:, None]
            cost = np.zeros((rows.size, rows.size))
            for column in range(points.shape[1]):
                cost += (points[rows, column][:, None] - centres[None, :, column]) ** 2
            cost *= (others / sizes[slots])[None, :]
            labels[rows] = slots[linear_sum_assignment(cost)[1]]
        found = _error(points, labels)
        if found >= error * (1 - 1e-9):
            break
        best, error = labels, found
    return best


def _squared(points: Floats, centre: Floats) -> Floats:
    """Return squared distances, one column after the other, so that no library changes their last digits."""
    found = np.zeros(len(points))
    for column in range(points.shape[1]):
        found += (points[:, column] - centre[column]) ** 2
    return found


def _error(points: Floats, labels: Integers) -> float:
    sizes = np.bincount(labels)
    total = 0.0
    for column in points.T:
        difference = column - (np.bincount(labels, column) / sizes)[labels]
        total += float((difference * difference).sum())
    return total
