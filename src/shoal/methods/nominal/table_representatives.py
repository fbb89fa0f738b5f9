"""Which record stands for its group, so that frequency tables stay right: the aggregation step of Cost 2023, chapter 5.

Every group is represented by one of its own records, so no combination is invented and an empty cell stays empty. The
choices are made jointly, since groups share cells: minimised is the chi-square error of the control tables. Ways to
choose: ``greedy`` (Algorithm 8, O(n s) for s tables), ``search`` (greedy, then exchanges and annealing; not in the
thesis; for any size), ``clique`` (Algorithm 9, all pairs of candidates) and ``exact`` (P7, an integer program).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_tables import ControlTables, Tables, control_tables
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import collapse
from shoal.errors import ParameterError
from shoal.methods.kernels.table_choice import anneal_choice, descend_choice, greedy_choice

Way = Literal["greedy", "search", "clique", "exact"]
PASSES = 200
FEW = 20_000


@dataclass(frozen=True)
class Selection:
    """The choice to be made: for each cluster, its distinct rows.

    Parameters
    ----------
    entries
        The combination of each candidate, cluster after cluster, in lexicographic order within a cluster.
    rows
        A record of the cluster that has it: the one with the lowest number.
    starts
        The first candidate of each cluster, and at the end the number of candidates.
    sizes
        The number of records of each cluster.
    tables
        The cells of each combination.
    target
        The entry of each cell in the original table.
    """

    entries: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    tables: ControlTables
    target: NDArray[np.float64]

    @property
    def free(self) -> NDArray[np.int64]:
        """The clusters with more than one distinct row; all others have no choice."""
        return np.flatnonzero(np.diff(self.starts) > 1)

    def value(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the entry of each cell after every cluster took its candidate."""
        counts = np.bincount(self.entries[chosen], weights=self.sizes, minlength=len(self.tables.cells))
        return self.tables.totals(counts)

    def chi_square(self, chosen: NDArray[np.int64]) -> float:
        """Return the chi-square error of the control tables for a choice."""
        return float(((self.value(chosen) - self.target) ** 2 / self.target).sum())


def selection(codes: NDArray[np.int32], labels: NDArray[np.int64], tables: Tables = None) -> Selection:
    """Return the candidates of each cluster, without duplicates, and the cells of the control tables.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [0, 0], [1, 1], [1, 1]], np.int32)
    >>> problem = selection(codes, np.array([0, 0, 0, 1, 1]))
    >>> problem.rows.tolist(), problem.starts.tolist(), problem.free.tolist()
    ([0, 1, 3], [0, 2, 3], [0])
    """
    labels = canonical_labels(labels)
    distinct = collapse(codes)
    pairs, rows = np.unique(labels * distinct.counts.size + distinct.inverse, return_index=True)
    sizes = np.bincount(labels)
    starts = np.searchsorted(pairs // distinct.counts.size, np.arange(sizes.size + 1))
    cells = control_tables(distinct.rows, tables)
    return Selection(
        pairs % distinct.counts.size, rows.astype(np.int64), starts.astype(np.int64), sizes, cells,
        cells.totals(distinct.counts),
    )  # fmt: skip


def table_representatives(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    *,
    way: Way = "search",
    tables: Tables = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Return for each group the record that stands for it, so that frequency tables stay right.

    Parameters
    ----------
    codes
        n x m.
    labels
        The group of each record.
    way
        ``greedy``, ``search``, ``clique`` or ``exact``.
    tables
        The control tables: a dimension, or a list; see :func:`shoal.core.frequency_tables.chosen_tables`.
    time_limit
        For ``exact``: seconds to search; then the best choice found so far is taken.
    seed
        For ``search``.
    progress
        Hears how far the work is.
    facts
        Receives ``chi_square`` of the control tables, how many there are, and for ``exact`` a ``chi_square_bound``.

    Returns
    -------
    rows
        One record per group, in the order of the groups' first records.

    Examples
    --------
    >>> codes = np.array([[s, w] for w in range(3) for s in (0, 0, 1)], np.int32)  # Cost 2023, Example 5.1.2
    >>> rows = table_representatives(codes, np.repeat([0, 1, 2], 3), tables=1)
    >>> int((codes[rows, 0] == 1).sum())  # one of the three groups is represented by the rarer value
    1
    """
    if way not in get_args(Way):
        raise ParameterError(f'way="{way}" is not known; there is: {", ".join(get_args(Way))}')
    progress.stage("choosing representatives")
    problem = selection(codes, labels, tables)
    told: dict[str, Any] = {}
    if way == "exact":
        from shoal.methods.nominal.table_representatives_exact import exact_choice

        chosen = exact_choice(problem, time_limit=time_limit, seed=seed, facts=told)
    elif way == "clique":
        from shoal.methods.nominal.clique_choice import clique_choice

        chosen = clique_choice(problem)
    else:
        chosen = greedy(problem)
        if way == "search":
            chosen = search(problem, chosen, seed=seed)
    if facts is not None:
        facts["control_tables"] = len(problem.tables.tables)
        facts["chi_square"] = problem.chi_square(chosen)
        facts |= told
    return problem.rows[chosen]


def greedy(problem: Selection) -> NDArray[np.int64]:
    """Return the choice of Algorithm 8; squared errors, and nothing counted twice."""
    chosen = np.zeros(problem.sizes.size, np.int64)
    few = problem.entries.size * len(problem.tables.tables) <= FEW  # not worth a compilation
    (greedy_choice.function if few else greedy_choice)(*_arrays(problem), chosen, np.zeros(problem.tables.size))
    return chosen


def search(problem: Selection, chosen: NDArray[np.int64], *, passes: int = PASSES, seed: int = 0) -> NDArray[np.int64]:
    """Return a choice in which no single cluster can do better, never worse than the one given."""
    chosen = chosen.copy()
    value = problem.value(chosen)
    descend_choice(*_arrays(problem), chosen, value)
    if problem.free.size:
        before, kept = problem.chi_square(chosen), chosen.copy()
        state = np.array([seed], np.uint64)
        anneal_choice(*_arrays(problem), chosen, value, chosen.copy(), problem.free, passes, state)
        descend_choice(*_arrays(problem), chosen, value)
        if problem.chi_square(chosen) >= before - 1e-9:
            return kept
    return chosen


def _arrays(problem: Selection) -> tuple[NDArray[Any], ...]:
    return problem.tables.cells, problem.starts, problem.entries, problem.sizes, problem.target
