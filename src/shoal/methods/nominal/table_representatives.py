"""Representative records that preserve frequency tables: the aggregation step of Cost 2023, chapter 5.

Every group is represented by one of its own records, so no new combination is released and an empty cell stays empty.
Representatives are selected jointly for all groups, since groups share cells; the objective is the chi-square error of
the control tables. Variants: ``greedy`` (Algorithm 8, O(n s) for s tables), ``search`` (greedy, then exchanges and
annealing; not in Cost 2023; for any size), ``clique`` (Algorithm 9, all pairs of candidates) and ``exact`` (P7, an
integer program).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_tables import ControlTables, Tables, control_tables
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import collapse
from shoal.methods.contract import Diagnostic
from shoal.methods.kernels.table_choice import anneal_choice, descend_choice, greedy_choice

Variant = Literal["greedy", "search", "clique", "exact"]
ANNEALING_PASSES = 200
COMPILED_FROM = 20_000  # cells; below, compiling takes longer than the loop


@dataclass(frozen=True)
class Selection:
    """The candidates of each group: its distinct rows.

    Parameters
    ----------
    entries
        The combination of each candidate, group after group, in lexicographic order within a group.
    rows
        The first record of the group with this combination.
    starts
        The first candidate of each group, and at the end the number of candidates.
    sizes
        The number of records of each group.
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
        """The groups with more than one candidate."""
        return np.flatnonzero(np.diff(self.starts) > 1)

    def value(self, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the entry of each cell when every group is represented by its chosen candidate."""
        counts = np.bincount(self.entries[chosen], weights=self.sizes, minlength=len(self.tables.cells))
        return self.tables.totals(counts)

    def chi_square(self, chosen: NDArray[np.int64]) -> float:
        """Return the chi-square error of the control tables for a choice."""
        return float(((self.value(chosen) - self.target) ** 2 / self.target).sum())


def selection(codes: NDArray[np.int32], labels: NDArray[np.int64], tables: Tables = None) -> Selection:
    """Return the candidates of each group, without duplicates, and the cells of the control tables.

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


@dataclass(frozen=True, eq=False)
class Selected:
    """One record for each group.

    Parameters
    ----------
    rows
        The representative of each group, in the order of the groups' first records.
    chi_square
        The chi-square error of the control tables.
    control_tables
        The number of control tables.
    bound, optimal
        For ``exact``: a lower bound of the chi-square error for these groups, and whether it is reached.
    """

    rows: NDArray[np.int64]
    chi_square: float
    control_tables: int
    bound: float | None = None
    optimal: bool | None = None

    def diagnostics(self) -> dict[str, Diagnostic]:
        """Return the diagnostics of a method that selects representatives."""
        found: dict[str, Diagnostic] = {"control_tables": self.control_tables, "chi_square": self.chi_square}
        if self.bound is not None:
            found |= {"chi_square_bound": self.bound, "representatives_optimal": self.optimal}
        return found


def table_representatives(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    *,
    tables: Tables = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Return the representative record of each group by the variant ``search``; see :func:`select_representatives`.

    Examples
    --------
    >>> codes = np.array([[s, w] for w in range(3) for s in (0, 0, 1)], np.int32)  # Cost 2023, Example 5.1.2
    >>> rows = table_representatives(codes, np.repeat([0, 1, 2], 3), tables=1)
    >>> int((codes[rows, 0] == 1).sum())  # one of the three groups is represented by the rarer value
    1
    """
    return select_representatives(codes, labels, tables=tables, seed=seed, progress=progress).rows


def select_representatives(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    *,
    variant: Variant = "search",
    tables: Tables = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Selected:
    """Select for each group the record that represents it, so that frequency tables are preserved.

    Parameters
    ----------
    codes
        Categories as integers, n x m.
    labels
        The group of each record.
    variant
        ``greedy``, ``search``, ``clique`` or ``exact``.
    tables
        The control tables: a dimension, or a list; see :func:`shoal.core.frequency_tables.chosen_tables`.
    time_limit
        For ``exact``: seconds after which the best choice so far is returned.
    seed
        Seed of the random numbers of ``search`` and ``exact``.
    progress
        Progress callback.

    Examples
    --------
    >>> codes = np.array([[s, w] for w in range(3) for s in (0, 0, 1)], np.int32)  # Cost 2023, Example 5.1.2
    >>> select_representatives(codes, np.repeat([0, 1, 2], 3), variant="exact").optimal
    True
    """
    progress.stage("selecting representatives")
    problem = selection(codes, labels, tables)
    bound: float | None = None
    optimal: bool | None = None
    if variant == "exact":
        from shoal.methods.nominal.table_representatives_exact import exact_choice

        chosen, bound, optimal = exact_choice(problem, time_limit=time_limit, seed=seed)
    elif variant == "clique":
        from shoal.methods.nominal.clique_choice import clique_choice

        chosen = clique_choice(problem)
    else:
        chosen = greedy(problem)
        if variant == "search":
            chosen = search(problem, chosen, seed=seed)
    return Selected(problem.rows[chosen], problem.chi_square(chosen), len(problem.tables.tables), bound, optimal)


def greedy(problem: Selection) -> NDArray[np.int64]:
    """Return the choice of Algorithm 8, with squared errors; tables that are constant in a group are counted once."""
    chosen = np.zeros(problem.sizes.size, np.int64)
    small = problem.entries.size * len(problem.tables.tables) <= COMPILED_FROM
    (greedy_choice.function if small else greedy_choice)(*_arrays(problem), chosen, np.zeros(problem.tables.size))
    return chosen


def search(
    problem: Selection, chosen: NDArray[np.int64], *, passes: int = ANNEALING_PASSES, seed: int = 0
) -> NDArray[np.int64]:
    """Return a choice that no change of a single group improves, never worse than the given one."""
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
