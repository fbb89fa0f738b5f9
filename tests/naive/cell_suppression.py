"""Reference implementation of cell suppression: every partition of the records into groups of at least k."""


def partitions(n, k):
    """All partitions of 0..n-1 into groups of at least k records."""

    def extend(groups, record):
        if record == n:
            if all(len(group) >= k for group in groups):
                yield [list(group) for group in groups]
            return
        for group in groups:
            group.append(record)
            yield from extend(groups, record + 1)
            group.pop()
        groups.append([record])
        yield from extend(groups, record + 1)
        groups.pop()

    yield from extend([], 0)


def cost(rows, groups, weights):
    """The weighted number of suppressed cells."""
    return sum(
        len(group) * sum(w for c, w in enumerate(weights) if len({rows[r][c] for r in group}) > 1) for group in groups
    )


def best(rows, k, weights):
    """The smallest cost of any grouping."""
    return min(cost(rows, groups, weights) for groups in partitions(len(rows), k))
