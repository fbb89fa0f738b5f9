"""Pricing: for each record the groups of least reduced cost.

The subproblem of column generation for squared error (Cost 2023, section 2.7, solves the same for categories). The
reduced cost of a group is its squared error minus the dual values of its records. Records are sorted by their dual
values, highest first, and the first member of a group in that order is its root, so that each group is examined once,
under its root. Below a root a depth-first search adds records.

The search itself, and the proof that it omits no group that matters, are in ``sse_pricing_kernel``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.threads import get_threads, run_in_threads
from shoal.methods.optimal.sse_pricing_kernel import price_roots
from shoal.methods.programs.restricted_master import Cuts, Duals

LEAST_CHUNKS = 8  # of roots, shared by the threads
CHUNK_ROOTS = 4_000  # in one chunk at most, so that an interrupt is noticed
SAMPLING_STEP = 40  # of so many roots one is tried first
RELATIVE_TOLERANCE = 1e-9  # of the mean dual value: reduced costs above minus this are not negative
BOX_RECORDS = 32  # in a box at most
MOST_NODES = 200_000  # below one root


class PricedGroups(NamedTuple):
    """The result of pricing.

    ``columns``: groups of negative reduced cost, filled up with -1; ``costs``: their squared errors; ``slack``: for
    each record a lower bound on the reduced costs of the groups with this root (at most 0); ``nodes``: nodes visited.
    """

    columns: NDArray[np.int32]
    costs: NDArray[np.float64]
    slack: NDArray[np.float64]
    nodes: int


class SsePricer:
    """The pricing problem of a table for squared error.

    Parameters
    ----------
    points
        n x d, centred.
    k
        Minimum group size.

    Examples
    --------
    >>> from shoal.methods.programs.restricted_master import no_cuts
    >>> pricer = SsePricer(np.array([[0.0], [1.0], [5.0], [6.0]]), 2)
    >>> found = pricer.price(Duals(np.full(4, 0.5), no_cuts(4)))
    >>> found.columns[:, :2].tolist(), found.slack.round(6).tolist()
    ([[0, 1], [2, 3]], [-0.5, 0.0, -0.5, 0.0])
    """

    def __init__(self, points: NDArray[np.float64], k: int) -> None:
        from scipy.spatial import cKDTree

        self.points, self.k = np.ascontiguousarray(points), k
        n = points.shape[0]
        near = np.asarray(cKDTree(points).query(points, k=np.arange(2, 2 * k), workers=get_threads())[0])
        near = np.where(np.isfinite(near), near, 0.0) ** 2 * (1.0 - 1e-12)  # rounded down: it is a bound
        self.nearest = np.zeros((n, 2 * k))
        self.nearest[:, 2:] = np.cumsum(near, axis=1)[:, : 2 * k - 2]  # [:, t]: the t-1 nearest others
        self.boxes = boxed(self.points)

    def price(
        self,
        duals: Duals,
        *,
        keep: int = 6,
        limit: int = MOST_NODES,
        roots: NDArray[np.int64] | None = None,
        high: NDArray[np.float64] | None = None,
    ) -> PricedGroups:
        """Find groups of negative reduced cost and the slack of each root.

        Parameters
        ----------
        duals
            Dual values of records and cuts.
        keep
            Groups to return for a root at most, those of least reduced cost.
        limit
            Nodes to visit below a root; if there are more, the slack is a lower bound, otherwise it is exact.
        roots
            The records whose groups are examined; the slack of the others is 0. None: all.
        high
            Dual values that are nowhere lower, by which records are sorted; None: those of ``duals``.
        """
        dual_values = duals.elements
        n = dual_values.size
        high = dual_values if high is None else high
        order = np.argsort(-high, kind="stable")
        own = order if roots is None else order[np.isin(order, roots)]
        tolerance = RELATIVE_TOLERANCE * max(float(np.abs(dual_values).mean()), 1e-300)
        parts = self._run(duals, high, order, own, -tolerance, limit, keep, every=False)
        slack = np.zeros(n)
        slack[parts[2]] = parts[3]
        by_value = np.argsort(parts[1], kind="stable")
        columns = parts[0][by_value]
        return PricedGroups(columns, column_costs(self.points, columns), slack, int(parts[4].sum()))

    def all_below(self, duals: Duals, ceiling: float, *, keep: int, limit: int) -> NDArray[np.int32] | None:
        """Return every group with a reduced cost below ``ceiling``; None if there are too many.

        Parameters
        ----------
        duals
            Dual values of records and cuts.
        ceiling
            A positive number.
        keep
            Groups of one root at most.
        limit
            Nodes to visit below a root at most.
        """
        order = np.argsort(-duals.elements, kind="stable")
        for own in (order[::SAMPLING_STEP], order):  # a sample first: mostly it shows that there are too many
            parts = self._run(duals, duals.elements, order, own, ceiling, limit, keep, every=True)
            if (parts[3] < 0.0).any():
                return None
        return np.asarray(parts[0], np.int32)

    def _run(
        self,
        duals: Duals,
        high: NDArray[np.float64],
        order: NDArray[np.int64],
        own: NDArray[np.int64],
        ceiling: float,
        limit: int,
        keep: int,
        *,
        every: bool,
    ) -> list[NDArray[Any]]:
        """Search below all roots in threads; return columns, values, roots, slack and nodes."""
        chunks = max(LEAST_CHUNKS, own.size // CHUNK_ROOTS)
        ranks = np.empty(order.size, np.int64)
        ranks[order] = np.arange(order.size)
        cuts = listed(duals.cuts)

        def work(chunk: int) -> tuple[NDArray[Any], ...]:
            roots = np.ascontiguousarray(own[chunk::chunks])  # one layout: compiled once
            columns = np.empty((roots.size * keep, 2 * self.k - 1), np.int32)
            values = np.empty(roots.size * keep)
            slack = np.zeros(roots.size)
            written, nodes = price_roots(
                self.points, self.nearest, duals.elements, high, ranks, roots, self.k, ceiling, limit, keep, every,
                *self.boxes, *cuts, columns, values, slack,
            )  # fmt: skip
            return columns[:written], values[:written], roots, slack, np.array([nodes])

        return [np.concatenate(part) for part in zip(*run_in_threads(work, range(chunks)), strict=True)]


class Boxes(NamedTuple):
    """Records in small boxes: box b holds ``records[starts[b]:starts[b + 1]]``, all between its corners."""

    records: NDArray[np.int64]
    starts: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]


def boxed(points: NDArray[np.float64]) -> Boxes:
    """Halve the records along the widest side until few are in a box.

    Examples
    --------
    >>> boxes = boxed(np.arange(100.0)[:, None])
    >>> np.diff(boxes.starts).max() <= BOX_RECORDS, boxes.lows[0], boxes.highs[-1]
    (np.True_, array([0.]), array([99.]))
    """
    waiting = [np.arange(points.shape[0])]
    done = []
    while waiting:
        records = waiting.pop()
        if records.size <= BOX_RECORDS:
            done.append(records)
            continue
        own = points[records]
        side = own[:, int(np.argmax(np.ptp(own, axis=0)))]
        halves = np.argpartition(side, records.size // 2)
        waiting += [records[halves[records.size // 2 :]], records[halves[: records.size // 2]]]
    starts = np.cumsum([0, *(records.size for records in done)])
    joined = np.concatenate(done)
    return Boxes(
        joined,
        starts,
        np.minimum.reduceat(points[joined], starts[:-1]),
        np.maximum.reduceat(points[joined], starts[:-1]),
    )


class Listed(NamedTuple):
    """Cuts of positive dual value: their members, and for each record the cuts that it is in."""

    dual_values: NDArray[np.float64]
    divisors: NDArray[np.int64]
    shared: NDArray[np.float64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    firsts: NDArray[np.int64]
    owners: NDArray[np.int64]


def listed(cuts: Cuts) -> Listed:
    """Return the cuts of positive dual value as lists.

    Examples
    --------
    >>> found = listed(Cuts(np.array([[True, False, True, True]]), np.array([2]), np.array([0.5])))
    >>> found.members.tolist(), found.shared.tolist(), found.firsts.tolist()
    ([0, 2, 3], [0.25], [0, 1, 1, 2, 3])
    """
    active = np.flatnonzero(cuts.dual_values > 0.0)
    inside = cuts.members[active]
    owners, members = map(np.ascontiguousarray, np.nonzero(inside))  # one layout: compiled once
    sizes = inside.sum(axis=1)
    dual_values, divisors = cuts.dual_values[active], cuts.divisors[active]
    by_member = np.argsort(members, kind="stable")
    shared = dual_values / np.maximum(sizes - divisors + 1, 1)
    return Listed(
        dual_values, divisors, shared, np.concatenate([[0], np.cumsum(sizes)]), members,
        np.searchsorted(members[by_member], np.arange(cuts.members.shape[1] + 1)), owners[by_member],
    )  # fmt: skip


def column_costs(points: NDArray[np.float64], columns: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the squared errors of groups that are given as lists of records, filled up with -1.

    Examples
    --------
    >>> column_costs(np.array([[0.0], [2.0], [3.0]]), np.array([[0, 1, -1], [2, 1, -1]]))
    array([2. , 0.5])
    """
    inside = (columns >= 0)[:, :, None]
    apart = np.where(inside, points[columns] - points[columns[:, 0]][:, None, :], 0.0)
    means = apart.sum(axis=1) / inside.sum(axis=1)
    return np.asarray((np.where(inside, apart - means[:, None, :], 0.0) ** 2).sum(axis=(1, 2)))
