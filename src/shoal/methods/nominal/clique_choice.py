"""The aggregation step as a search for a clique: Cost 2023, sections 5.3 (P8) and 5.4.2 (Algorithm 9).

Candidates are vertices, candidates of different groups are joined by edges, and a maximal clique holds one candidate
per group. With all of the chi-square error folded into the edges, the weight of a maximal clique is the error of that
choice. The weights of all pairs of candidates are stored: O(v²) memory for v candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.methods.nominal.table_representatives import Selection

MOST_CANDIDATES = 5_000


def edge_weights(problem: Selection) -> NDArray[np.float64]:
    """Return the folded weight of the edge between any two candidates (section 5.3), for two or more groups.

    Entries for two candidates of the same group have no meaning, since there is no such edge.
    """
    p = problem.sizes.size
    group = np.repeat(np.arange(p), np.diff(problem.starts))
    size = problem.sizes[group].astype(np.float64)
    cells = problem.tables.cells[problem.entries]
    edges = np.zeros((size.size, size.size))
    vertex = np.zeros(size.size)
    for column in cells.T:
        share = 1.0 / problem.target[column]
        edges += np.where(column[:, None] == column[None, :], share[:, None], 0.0)
        vertex += size**2 * share - 2.0 * size
    edges *= 2.0 * size[:, None] * size[None, :]
    edges += (vertex[:, None] + vertex[None, :]) / (p - 1)
    edges += 2.0 / (p * (p - 1)) * problem.target.sum()
    return edges


def clique_choice(problem: Selection) -> NDArray[np.int64]:
    """Return the choice of Algorithm 9: remove the vertex of largest sum of lightest edges until one each is left.

    Ties go to the candidate with the lowest number.
    """
    v, p = problem.entries.size, problem.sizes.size
    if v > MOST_CANDIDATES:
        raise ParameterError(
            f"the clique heuristic stores the weights of all pairs of at most {MOST_CANDIDATES:,} candidates; there "
            f"are {v:,} candidates; choose the greedy variant, whose name ends in g"
        )
    if p == 1:
        return np.array([min(range(v), key=lambda i: problem.chi_square(np.array([i])))])
    weights = edge_weights(problem)
    group = np.repeat(np.arange(p), np.diff(problem.starts))
    alive = np.ones(v, bool)
    lightest = np.minimum.reduceat(weights, problem.starts[:-1], axis=1)  # vertex x group
    lightest[np.arange(v), group] = 0.0
    left = np.diff(problem.starts)
    while (left > 1).any():
        for c in np.flatnonzero(left > 1):
            members = np.flatnonzero(alive[problem.starts[c] : problem.starts[c + 1]]) + problem.starts[c]
            removed = members[np.argmax(np.round(lightest[members].sum(axis=1), 9))]
            alive[removed] = False
            left[c] -= 1
            kept = members[members != removed]
            lightest[:, c] = weights[:, kept].min(axis=1)
            lightest[problem.starts[c] : problem.starts[c + 1], c] = 0.0
    return np.flatnonzero(alive)
