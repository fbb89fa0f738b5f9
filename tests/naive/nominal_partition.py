"""Reference implementations of the partitions of shoal.methods.nominal: full enumeration, row by row."""

from itertools import combinations

import numpy as np

from shoal.methods.programs.mixed_integer import Program


def distance(a, b):
    return sum(x != y for x, y in zip(a, b, strict=True))


def group_distance(codes, cluster):
    return sum(distance(codes[i], codes[l]) for i, l in combinations(cluster, 2))


def clusters(n, k, largest=None):
    """All clusters of k to 2k-1 of n rows."""
    for size in range(k, min(n, largest or 2 * k - 1) + 1):
        yield from combinations(range(n), size)


def least_distance(codes, k, largest=None):
    """The least within-group distance of all partitions into groups of at least k rows."""

    def best(free):
        if not free:
            return 0
        first, rest = free[0], free[1:]
        found = np.inf
        for size in range(k - 1, min(len(rest), (largest or len(free)) - 1) + 1):
            for others in combinations(rest, size):
                left = tuple(row for row in rest if row not in others)
                if not left or len(left) >= k:
                    found = min(found, group_distance(codes, (first, *others)) + best(left))
        return found

    return best(tuple(range(len(codes))))


def reduced_cost(codes, duals, cluster):
    return group_distance(codes, cluster) - sum(duals[i] for i in cluster)


def least_reduced_cost(codes, duals, k):
    return min(reduced_cost(codes, duals, cluster) for cluster in clusters(len(codes), k))


def linear_optimum(codes, k, *, covering=False):
    """The linear master with all columns (P4 without integrality); covering: >= instead of =."""
    columns = list(clusters(len(codes), k))
    program = Program()
    first = program.variables(len(columns), cost=[group_distance(codes, cluster) for cluster in columns])
    for row in range(len(codes)):
        index = [first + c for c, cluster in enumerate(columns) if row in cluster]
        program.row(index, [1.0] * len(index), lower=1.0, upper=np.inf if covering else 1.0)
    return program.solve().value


def pricing_program(codes, duals, k):
    """The value of P5 as a mixed-integer program (4.3.7) to (4.3.11)."""
    n = len(codes)
    program = Program()
    v = program.variables(n, cost=[-dual for dual in duals], upper=1.0, whole=True)
    program.row([v + i for i in range(n)], [1.0] * n, lower=k, upper=2 * k - 1)
    for i, l in combinations(range(n), 2):
        z = program.variables(1, cost=float(distance(codes[i], codes[l])))
        program.row([z, v + i, v + l], [1.0, -1.0, -1.0], lower=-1.0)
    return program.solve().value


def greedy_pricing(codes, duals, k, n_max):
    """Algorithm 5, row by row."""
    free, found = list(range(len(codes))), []
    while len(free) >= k and len(found) < n_max:
        cluster = [max(free, key=lambda i: (duals[i], -i))]
        best = None
        while len(cluster) < 2 * k - 1 and len(cluster) < len(free):
            rest = [i for i in free if i not in cluster]
            cost = {i: sum(distance(codes[j], codes[i]) for j in cluster) - duals[i] for i in rest}
            cluster.append(min(rest, key=lambda i: (cost[i], i)))
            value = reduced_cost(codes, duals, cluster)
            if len(cluster) >= k and (best is None or value < best[0] - 1e-12):
                best = (value, tuple(cluster))
        if best is None or best[0] >= 0:
            break
        found.append(best[1])
        free = [i for i in free if i not in best[1]]
    return found


def mdav(codes, k):
    """MDAV with Hamming distances and plurality modes; ties to the lowest value and record."""
    free, groups = list(range(len(codes))), []

    def mode():
        columns = zip(*(codes[i] for i in free), strict=True)
        return [min(set(column), key=lambda value: (-column.count(value), value)) for column in columns]

    def farthest(row):
        return max(free, key=lambda i: (distance(codes[i], row), -i))

    def group(seed):
        near = sorted(free, key=lambda i: (i != seed, distance(codes[i], codes[seed]), i))[:k]
        groups.append(near)
        for i in near:
            free.remove(i)

    while len(free) >= 2 * k:
        r = farthest(mode())
        s = farthest(codes[r])
        group(r)
        group(s if s in free else farthest(codes[r]))
    if len(free) >= k:
        groups.append(list(free))
    else:
        taken = sorted(i for members in groups for i in members)
        nearest = {i: min(taken, key=lambda l: (distance(codes[i], codes[l]), l)) for i in free}
        groups = [members + [i for i in free if nearest[i] in members] for members in groups]
    labels = np.empty(len(codes), np.int64)
    for number, members in enumerate(groups):
        labels[members] = number
    return labels
