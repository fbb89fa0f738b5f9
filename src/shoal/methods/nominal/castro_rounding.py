"""Groups from the fractional solution of column generation by rounding: the two heuristics of Castro et al. 2022.

As described in Cost 2023, section 1.2.2. The first columns are the groups of MDAV and V-MDAV, and the solution of each
iteration is rounded; the lightest grouping counts. (a) ``columns``: take whole columns in order of decreasing share,
skipping those that clash. (b) ``edges``: begin with single records and merge groups along pairs that share the most
columns. Rows that are left over are grouped greedily; groups that stay too small join the group where they cost least.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import Collapsed, check_codes, clustering_weight, collapse, hamming, weight_step
from shoal.errors import DataError, ParameterError
from shoal.methods.nominal.distinct_rows import Problem, labels_of
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_weights
from shoal.methods.nominal.integer_construction import construct
from shoal.methods.nominal.nominal_mdav import nominal_mdav, nominal_v_mdav
from shoal.methods.programs.restricted_master import Clock, Master
from shoal.methods.programs.set_partitioning import Partitioning
from shoal.methods.registry import method

Rounding = Literal["both", "columns", "edges"]
MOST_RECORDS = 3_000
_NOTHING = 1e-9


@method(
    "castro-rounding",
    title="Categories: the fractional solution of column generation, rounded",
    cost="as column-generation + n²",
    guarantee="k to 2k-1 records a group",
    reference="Castro et al. 2022; Cost 2023, section 1.2.2",
    when="to compare with column-generation, which is better",
    data="codes",
    max_size=lambda k: 2 * k - 1,
)
def castro_rounding(
    codes: NDArray[np.int32],
    k: int,
    *,
    rounding: Rounding = "both",
    time_limit: float = 60.0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group nominal records by rounding the linear relaxation of the partitioning problem.

    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.
    rounding
        ``columns`` (a), ``edges`` (b), or ``both``, of which the better is taken.
    time_limit
        Seconds; when they are over, the best so far is returned, and the result depends on the machine.
    progress
        Hears how far the work is.
    facts
        Receives the value of the relaxation (``linear``), the ``weight`` of the grouping, and how many fractional
        solutions were rounded (``roundings``).

    Returns
    -------
    labels
        The group of each record.

    Examples
    --------
    >>> castro_rounding(np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32), 2).size
    5
    """
    if rounding not in get_args(Rounding):
        raise ParameterError(f'rounding="{rounding}" is not known; there is: {", ".join(get_args(Rounding))}')
    check_codes(codes)
    if len(codes) > MOST_RECORDS:
        raise DataError(
            f"rounding looks at all pairs of records; {len(codes):,} are more than the {MOST_RECORDS:,} it may have; "
            'choose method "nominal"'
        )
    table = collapse(codes)
    problem = Problem(hamming(table.rows), table.counts, k, weight_step(np.ones(codes.shape[1])))
    progress.stage("grouping (rounding)")
    first, more = (_as_columns(run(codes, k), table.inverse) for run in (nominal_mdav, nominal_v_mdav))
    rounded = _Rounded(problem, table, rounding, Clock(time_limit))
    state = Partitioning(
        NominalPricer(problem.distance, problem.counts, k), first, column_weights(first, problem.distance),
        step=problem.step, clock=rounded.clock, stop_at_best=False, progress=progress, watch=rounded.look_in_time,
    )  # fmt: skip
    state.master.add(more, column_weights(more, problem.distance))
    state.generate()
    if rounded.labels is None:
        state.master.solve()
        rounded.look(state.master)
    assert rounded.labels is not None
    if facts is not None:
        facts["linear"] = state.linear if np.isfinite(state.linear) else None
        facts["weight"] = rounded.weight
        facts["roundings"] = rounded.looks
    return rounded.labels


class _Rounded:
    """The lightest grouping from any of the fractional solutions that were shown."""

    def __init__(self, problem: Problem, table: Collapsed, rounding: Rounding, clock: Clock) -> None:
        self.problem, self.table, self.rounding, self.clock = problem, table, rounding, clock
        self.labels: NDArray[np.int64] | None = None
        self.weight = np.inf
        self.looks = 0

    def look_in_time(self, master: Master) -> None:
        """Round the solution of a master unless the time is over."""
        if not self.clock.expired():
            self.look(master)

    def look(self, master: Master) -> None:
        """Round the solution of a master."""
        self.looks += 1
        shares = master.shares()
        used = shares > _NOTHING
        columns, shares = master.columns[used], shares[used]
        if self.rounding != "edges":
            self._offer(labels_of(round_columns(self.problem, columns, shares), self.table))
        if self.rounding != "columns":
            self._offer(round_edges(self.problem, columns, shares, self.table.inverse))

    def _offer(self, labels: NDArray[np.int64]) -> None:
        weight = clustering_weight(self.table.rows[self.table.inverse], labels)
        if weight < self.weight:
            self.labels, self.weight = labels, weight


def _as_columns(labels: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return groups as lists of distinct rows."""
    sizes = np.bincount(labels)
    columns = np.full((sizes.size, int(sizes.max())), -1, np.int32)
    columns[np.arange(columns.shape[1]) < sizes[:, None]] = rows[np.argsort(labels, kind="stable")]
    return columns


def round_columns(problem: Problem, columns: NDArray[np.int32], shares: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return columns taken in order of decreasing share as far as they fit (a), and the rest grouped greedily."""
    left = problem.counts.copy()
    taken: list[NDArray[np.int32]] = []
    for number in np.argsort(-shares, kind="stable"):
        rows = columns[number][columns[number] >= 0]
        times = np.bincount(rows, minlength=left.size)
        for _ in range(int(np.ceil(shares[number] - 1e-9))):
            if (times > left).any() or rows.size >= 2 * problem.k:
                break
            left -= times
            taken.append(rows)
    while 0 < left.sum() < problem.k:
        left += np.bincount(taken.pop(), minlength=left.size)
    width = 2 * problem.k - 1
    rounded = np.full((len(taken), width), -1, np.int32)
    for line, rows in zip(rounded, taken, strict=True):
        line[: rows.size] = rows
    if not left.any():
        return rounded
    no_duals = np.zeros(left.size)
    rest = construct(problem.distance, no_duals, left, problem.k, gamma=0.0, lambda_=1.5, exact=False)
    return np.vstack([rounded, rest])


def round_edges(
    problem: Problem, columns: NDArray[np.int32], shares: NDArray[np.float64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return labels of records merged along the pairs that share most columns (b)."""
    together = np.zeros_like(problem.distance)
    for number in np.flatnonzero(shares > _NOTHING):
        members, times = np.unique(columns[number][columns[number] >= 0], return_counts=True)
        together[np.ix_(members, members)] += shares[number] * np.outer(times, times)
        together[members, members] -= shares[number] * times
    pairs = np.outer(problem.counts, problem.counts) - np.diag(problem.counts)
    value = together / np.maximum(pairs, 1)
    edges = _edges(value, rows)
    labels = np.arange(rows.size)
    sizes = np.ones(rows.size, np.int64)
    for first, second in edges:
        a, b = labels[first], labels[second]
        if a != b and sizes[a] + sizes[b] <= 2 * problem.k - 1:
            labels[labels == b] = a
            sizes[a] += sizes[b]
            sizes[b] = 0
    return _large_enough(canonical_labels(labels), problem.distance[np.ix_(rows, rows)], problem.k)


def _edges(value: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of records whose rows have a value, the largest first."""
    records = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[records], np.arange(len(value) + 1))
    parts, values = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for i, j in np.argwhere(np.triu(value > _NOTHING)):
        pairs = np.stack(np.meshgrid(records[starts[i] : starts[i + 1]], records[starts[j] : starts[j + 1]]), axis=-1)
        pairs = np.sort(pairs.reshape(-1, 2), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
        parts.append(pairs)
        values.append(np.full(len(pairs), value[i, j]))
    edges = np.vstack(parts)
    return edges[np.lexsort((edges[:, 1], edges[:, 0], -np.concatenate(values)))]


def _large_enough(labels: NDArray[np.int64], distance: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Join groups below k with the group where they cost least, and split what is too large then."""
    sizes = np.bincount(labels)
    while sizes[sizes > 0].min() < k and (sizes > 0).sum() > 1:
        small = int(np.flatnonzero((sizes > 0) & (sizes == sizes[sizes > 0].min()))[0])
        cost = np.bincount(labels, distance[labels == small].sum(axis=0), minlength=sizes.size)
        cost[(sizes == 0)] = np.inf
        cost[small] = np.inf
        goal = int(np.argmin(cost))
        labels[labels == small] = goal
        sizes[goal] += sizes[small]
        sizes[small] = 0
        if sizes[goal] >= 2 * k:
            members = np.flatnonzero(labels == goal)
            labels[members[:k]] = small
            sizes[small], sizes[goal] = k, sizes[goal] - k
    return canonical_labels(labels)
