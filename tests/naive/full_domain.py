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


def best(found, k, whole):
    """The best node; ties: smallest sum of levels, then the first."""
    usable = {node: value for node, value in found.items() if not (whole and 0 < value[1] < k)}
    return min(usable, key=lambda node: (round(usable[node][0], 10), sum(node), node))
