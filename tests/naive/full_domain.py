"""Reference implementation of full-domain recoding: every node of the lattice, one record after the other."""

from collections import Counter
from itertools import product


def admissible(rows, trees, k, limit):
    """All admissible nodes with their loss and suppressed records.

    ``trees[j][level][leaf]`` is the pair of node and penalty of a leaf of column j on a level.
    """
    found = {}
    for node in product(*(range(len(tree)) for tree in trees)):
        coded = [tuple(trees[j][node[j]][leaf] for j, leaf in enumerate(row)) for row in rows]
        sizes = Counter(tuple(cell[0] for cell in row) for row in coded)
        small = [sizes[tuple(cell[0] for cell in row)] < k for row in coded]
        penalties = [len(row) if gone else sum(cell[1] for cell in row) for row, gone in zip(coded, small, strict=True)]
        if sum(small) <= limit:
            found[node] = (sum(penalties) / (len(rows) * len(trees)), sum(small))
    return found


def with_requirements(rows, trees, k, limit, *, satisfied, blocks=None, whole=True):
    """All admissible nodes where classes of a block must satisfy more than k.

    ``satisfied(members)`` says so for a list of record numbers. With ``whole`` the suppressed records of a block are
    none or a class that satisfies everything itself.
    """
    blocks = [0] * len(rows) if blocks is None else blocks

    def fine(members):
        return len(members) >= k and satisfied(members)

    found = {}
    for node in product(*(range(len(tree)) for tree in trees)):
        coded = [tuple(trees[j][node[j]][leaf] for j, leaf in enumerate(row)) for row in rows]
        classes = {}
        for record, (block, row) in enumerate(zip(blocks, coded, strict=True)):
            classes.setdefault((block, *(cell[0] for cell in row)), []).append(record)
        gone = {record for members in classes.values() if not fine(members) for record in members}
        hidden = {}
        for record in gone:
            hidden.setdefault(blocks[record], []).append(record)
        if len(gone) > limit or (whole and not all(fine(members) for members in hidden.values())):
            continue
        costs = [
            len(row) if record in gone else sum(cell[1] for cell in coded[record]) for record, row in enumerate(rows)
        ]
        found[node] = (sum(costs) / (len(rows) * len(trees)), len(gone))
    return found


def best(found, k, whole):
    """The best node; ties: smallest sum of levels, then the first."""
    usable = {node: value for node, value in found.items() if not (whole and 0 < value[1] < k)}
    return min(usable, key=lambda node: (round(usable[node][0], 10), sum(node), node))
