"""castro-rounding: the fractional solution of column generation, rounded by the two heuristics of Castro et al. 2022.

As described in Cost 2023, section 1.2.2. The first columns are the groups of MDAV and V-MDAV. The solution of each
iteration is rounded, and the grouping of least within-group distance is returned. (a) ``columns``: take entire columns
in order of decreasing share, skipping those that overlap. (b) ``edges``: begin with single records and merge groups
along the pairs of records that share the most columns. Remaining rows are grouped greedily; groups below k join the
group whose distance increases least.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import Collapsed, check_codes, collapse, distance_step, hamming, within_group_distance
from shoal.errors import DataError
from shoal.methods.contract import Objective, Outcome
from shoal.methods.nominal.distinct_rows import OBJECTIVE, Problem, record_labels, simple_bound
from shoal.methods.nominal.hamming_pricing import NominalPricer, column_costs
from shoal.methods.nominal.integer_construction import construct
from shoal.methods.nominal.nominal_mdav import nominal_mdav
from shoal.methods.nominal.nominal_v_mdav import nominal_v_mdav
from shoal.methods.programs.restricted_master import Master
from shoal.methods.programs.set_partitioning import Partitioning
from shoal.methods.registry import method

Rounding = Literal["both", "columns", "edges"]
MOST_RECORDS = 3_000
_ZERO_SHARE = 1e-9  # smaller shares of a column count as rounding errors


@method(
    "castro-rounding",
    title="Categories: the fractional solution of column generation, rounded",
    complexity="as column-generation + n²",
    reference="Castro et al. 2022; Cost 2023, section 1.2.2",
    when="as a baseline for column-generation, which is better",
    max_size=lambda k: 2 * k - 1,
    proves=OBJECTIVE,
)
def castro_rounding(
    codes: NDArray[np.int32],
    k: int,
    *,
    rounding: Rounding = "both",
    time_limit: float = 60.0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group nominal records by rounding the linear relaxation of the partitioning problem.

    Parameters
    ----------
    rounding
        ``columns`` (a), ``edges`` (b), or ``both``, of which the better result is taken.
    time_limit
        Seconds (default 60) after which the best groups so far are returned; the groups then depend on the machine.

    Examples
    --------
    >>> castro_rounding(np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], np.int32), 2).objective
    Objective(name='within-group distance', value=3.0, bound=2.0, scope='all groupings')
    """
    check_codes(codes)
    if len(codes) > MOST_RECORDS:
        raise DataError(
            f'"castro-rounding" compares all pairs of records, of at most {MOST_RECORDS:,} records; the table has '
            f'{len(codes):,}; choose method "nominal"'
        )
    table = collapse(codes)
    problem = Problem(hamming(table.rows), table.counts, k, distance_step(np.ones(codes.shape[1])))
    progress.stage("grouping (rounding)")
    first, more = (_as_columns(group(codes, k), table.inverse) for group in (nominal_mdav, nominal_v_mdav))
    deadline = Deadline(time_limit)
    rounded = _BestRounding(problem, table, rounding, deadline)
    state = Partitioning(
        NominalPricer(problem.distance, problem.counts, k), first, column_costs(first, problem.distance),
        step=problem.step, deadline=deadline, stop_at_best=False, progress=progress, watch=rounded.try_in_time,
    )  # fmt: skip
    state.master.add(more, column_costs(more, problem.distance))
    state.generate()
    if rounded.labels is None:
        state.master.solve()
        rounded.try_solution(state.master)
    assert rounded.labels is not None
    return Outcome(
        rounded.labels,
        objective=Objective(OBJECTIVE, rounded.distance, max(state.bound, simple_bound(problem))),
        diagnostics={
            "linear_value": state.linear if np.isfinite(state.linear) else None,
            "roundings": rounded.count,
        },
        stopped="time limit" if deadline.expired() else "finished",
    )


class _BestRounding:
    """The best grouping from all fractional solutions that were rounded."""

    def __init__(self, problem: Problem, table: Collapsed, rounding: Rounding, deadline: Deadline) -> None:
        self.problem, self.table, self.rounding, self.deadline = problem, table, rounding, deadline
        self.labels: NDArray[np.int64] | None = None
        self.distance = np.inf
        self.count = 0

    def try_in_time(self, master: Master) -> None:
        """Round the solution of a master unless the deadline has expired."""
        if not self.deadline.expired():
            self.try_solution(master)

    def try_solution(self, master: Master) -> None:
        """Round the solution of a master."""
        self.count += 1
        shares = master.shares()
        used = shares > _ZERO_SHARE
        columns, shares = master.columns[used], shares[used]
        if self.rounding != "edges":
            self._offer(record_labels(round_columns(self.problem, columns, shares), self.table))
        if self.rounding != "columns":
            self._offer(round_edges(self.problem, columns, shares, self.table.inverse))

    def _offer(self, labels: NDArray[np.int64]) -> None:
        distance = within_group_distance(self.table.rows[self.table.inverse], labels)
        if distance < self.distance:
            self.labels, self.distance = labels, distance


def _as_columns(labels: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return groups as lists of distinct rows."""
    sizes = np.bincount(labels)
    columns = np.full((sizes.size, int(sizes.max())), -1, np.int32)
    columns[np.arange(columns.shape[1]) < sizes[:, None]] = rows[np.argsort(labels, kind="stable")]
    return columns


def round_columns(problem: Problem, columns: NDArray[np.int32], shares: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return columns in order of decreasing share that do not overlap (a), and groups of the remaining rows."""
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
    """Return labels of records merged along the pairs that share the most columns (b)."""
    together = np.zeros_like(problem.distance)
    for number in np.flatnonzero(shares > _ZERO_SHARE):
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
    """Return the pairs of records with a positive value, in descending order of the value."""
    records = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[records], np.arange(len(value) + 1))
    parts, values = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for i, j in np.argwhere(np.triu(value > _ZERO_SHARE)):
        pairs = np.stack(np.meshgrid(records[starts[i] : starts[i + 1]], records[starts[j] : starts[j + 1]]), axis=-1)
        pairs = np.sort(pairs.reshape(-1, 2), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
        parts.append(pairs)
        values.append(np.full(len(pairs), value[i, j]))
    edges = np.vstack(parts)
    return edges[np.lexsort((edges[:, 1], edges[:, 0], -np.concatenate(values)))]


def _large_enough(labels: NDArray[np.int64], distance: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Join groups below k with the group whose distance increases least, and split groups that become too large."""
    sizes = np.bincount(labels)
    while sizes[sizes > 0].min() < k and (sizes > 0).sum() > 1:
        small = int(np.flatnonzero((sizes > 0) & (sizes == sizes[sizes > 0].min()))[0])
        cost = np.bincount(labels, distance[labels == small].sum(axis=0), minlength=sizes.size)
        cost[(sizes == 0)] = np.inf
        cost[small] = np.inf
        target = int(np.argmin(cost))
        labels[labels == small] = target
        sizes[target] += sizes[small]
        sizes[small] = 0
        if sizes[target] >= 2 * k:
            members = np.flatnonzero(labels == target)
            labels[members[:k]] = small
            sizes[small], sizes[target] = k, sizes[target] - k
    return canonical_labels(labels)
