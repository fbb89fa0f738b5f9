"""ONA: records move to the nearest centroid, groups of k dissolve, from a random start; best of several runs.

Thaeter 2021, Algorithm 14 (section 6.4); Soria-Comas, Domingo-Ferrer & Mulero 2019. A record in a group of more than k
moves whatever the cost, so the loss may rise and a run may not converge: it stops after 30 rounds. A group of 2k is
split by ONA itself (10 rounds; a third level would return its random start, but 2k to 3k-1 records never reach it).
Cost O(runs ζ (n² + n k²) d) time for ζ rounds, O(n d) memory. Use it to compare with published results; ona-star is
better and deterministic.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.grouping import ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome
from shoal.methods.distance.repeats import best_of_runs
from shoal.methods.kernels.box_tree import NOT_FOUND, search, search_stack
from shoal.methods.kernels.centroid_index import index_groups, needs_rebuilding, update_index
from shoal.methods.kernels.centroids import add, gain_tolerance
from shoal.methods.kernels.group_moves import (
    DISSOLVED,
    LARGE,
    LOGGED,
    REASSIGNED,
    VISITED,
    begin_moves,
    rise_of,
    scratch_for,
    transfer,
    with_more_capacity,
)
from shoal.methods.kernels.projected_points import project
from shoal.methods.kernels.random_numbers import shuffle
from shoal.methods.kernels.small_mdav import cost_of, squared_distance
from shoal.methods.options import Range
from shoal.methods.registry import method


@method(
    "ona",
    title="Records move to the nearest centroid from a random start; best of several runs",
    complexity="runs rounds n² d",
    reference="Thaeter 2021, Alg. 14; Soria-Comas et al. 2019",
    when="comparison with published results; a few thousand records",
    max_size=lambda k: 2 * k - 1,
)
def ona(
    points: NDArray[np.float64],
    k: int,
    *,
    runs: Annotated[int, Range(1)] = 10,
    max_rounds: Annotated[int, Range(0)] = 30,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by ONA.

    Parameters
    ----------
    runs
        Number of random starts; the cheapest result is kept.
    max_rounds
        Maximum number of rounds of a run.

    Examples
    --------
    >>> import numpy as np, shoal
    >>> shoal.run_method("ona", np.array([[0.0], [9.0], [1.0], [8.0], [2.0]]), 2).labels
    array([0, 1, 0, 1, 0])
    """

    def run(rng: np.random.Generator, shared: Progress) -> tuple[NDArray[np.int64], int]:
        labels = random_start(len(points), k, rng)
        random_state = rng.integers(2**64, size=1, dtype=np.uint64)
        return local_search(points, labels, k, max_rounds, random_state, shared)

    return best_of_runs("ona", run, points, runs, seed, progress)


def random_start(n: int, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return n // k random groups of nearly equal size.

    Examples
    --------
    >>> np.bincount(random_start(11, 3, np.random.default_rng(0)))
    array([4, 4, 3])
    """
    labels = np.empty(n, np.int64)
    labels[rng.permutation(n)] = np.arange(n) * (n // k) // n
    return labels


def local_search(
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    k: int,
    max_rounds: int,
    random_state: NDArray[np.uint64],
    progress: Progress,
) -> tuple[NDArray[np.int64], int]:
    """Return the labels after rounds of ONA, and the number of rounds that changed something."""
    projected = project(points)
    tolerance = gain_tolerance(points)
    scratch, stack = scratch_for(k), search_stack()
    nothing = np.empty(0, np.int64)
    for rounds in range(max_rounds):
        groups, state = begin_moves(projected, labels, k)
        index = index_groups(groups)
        while state.counters[VISITED] < len(points):
            _visit(projected, groups, state, index, scratch, -1, nothing, k, tolerance, stack)
            for g in dict.fromkeys(scratch.large[: state.counters[LARGE]].tolist()):
                if groups.used[0] + 2 > groups.sizes.size:
                    groups, state = with_more_capacity(groups, state)
                if needs_rebuilding(index, groups, soon=2):
                    index = index_groups(groups)
                parts = _two_groups(points, state.members[g, : groups.sizes[g]], k, random_state)
                _visit(projected, groups, state, index, scratch, g, parts, k, tolerance, stack)
        labels = ordered_labels(state.labels)
        if not state.counters[DISSOLVED] and not state.counters[REASSIGNED]:
            progress.advance(len(points))
            return labels, rounds
    progress.advance(len(points))
    return labels, max_rounds


@compiled
def _visit(
    projected: Any, groups: Any, state: Any, index: Any, scratch: Any, split: int, parts: Any, k: int, tolerance: float,
    stack: Any,
) -> None:  # fmt: skip
    """Visit up to 1000 further records in their order, until groups have become too large; or split a group first.

    A record in a group of more than k leaves it and joins the nearest group. ``split`` is -1 or a group that is
    replaced by two; parts: 0 or 1 for each of its members.
    """
    points, projections, axes, margin = projected
    labels, members, _, counters, change_log, _, radii, _ = state
    sizes, sums, centroids, group_projections, used = groups
    cells, numbers, layout, positions = index
    targets, joining, far, target, large = scratch
    zero = np.int64(0)
    moved = sizes[split]
    for _ in range(1000):
        g = split
        if split >= 0:
            for i in range(moved):
                joining[i] = members[split, i]
        else:
            if counters[VISITED] >= labels.size:
                break
            r = counters[VISITED]
            counters[VISITED] += 1
            counters[LARGE] = 0
            g = labels[r]
            moved = zero
            alone = sizes[g] > k
            if alone:  # the own group competes without the record
                add(sizes, sums, centroids, g, points, r, zero - 1)
                update_index(axes, centroids, group_projections, g, cells, numbers, layout, positions)
            for i in range(k):
                joining[i] = r if alone else members[g, i]
            own = cost_of(points, joining, k)
            budget = 2.000001 * own
            for i in range(1 if alone else k):
                far[0] = np.inf if alone else budget
                target[0] = NOT_FOUND
                if far[0] > 0.0:
                    without = zero - 1 if alone else g
                    search(
                        points, projections, joining[i], centroids, sizes, cells, numbers, layout, margin, 1.0, without,
                        zero, far, target, stack,
                    )  # fmt: skip
                if target[0] == NOT_FOUND:
                    break
                budget -= far[0]
                targets[i] = target[0]
                moved += 1
            if alone:
                add(sizes, sums, centroids, g, points, r, zero + 1)
                update_index(axes, centroids, group_projections, g, cells, numbers, layout, positions)
                moved = zero if targets[0] == g else moved
                counters[REASSIGNED] += moved
            else:
                if (
                    moved < k
                    or own <= rise_of(points, sizes, sums, centroids, members, g, targets, joining) + tolerance
                ):
                    moved = zero
                for i in range(k):
                    joining[i] = members[g, i]
                counters[DISSOLVED] += moved > 0
        for i in range(moved):
            counters[LOGGED] = 0  # the log is not read
            destination = used[0] + parts[i] if split >= 0 else targets[i]
            transfer(
                points, axes, labels, members, counters, change_log, radii, sizes, sums, centroids, group_projections,
                cells, numbers, layout, positions, joining[i], destination,
            )  # fmt: skip
        if split >= 0:
            used[0] += 2
            break
        for i in range(moved):
            if sizes[targets[i]] >= 2 * k:
                large[counters[LARGE]] = targets[i]
                counters[LARGE] += 1
        if counters[LARGE] > 0:
            break


@compiled
def _two_groups(points: Any, members: Any, k: int, random_state: Any) -> Any:
    """Return ONA's two groups of 2k to 3k-1 records (0 or 1 for each member), after at most 10 rounds.

    Neither group can be dissolved: merging the two never lowers the cost.
    """
    m = members.size
    d = points.shape[1]
    parts = np.empty(m, np.int64)
    order = np.arange(m)
    shuffle(random_state, order)
    totals = np.zeros((2, d))
    centroids = np.empty((2, d))
    sizes = np.zeros(2, np.int64)
    for i in range(m):
        part = i * 2 // m
        parts[order[i]] = part
        sizes[part] += 1
        for j in range(d):
            totals[part, j] += points[members[order[i]], j]
    for _ in range(10):
        changed = False
        for i in range(m):
            own = parts[i]
            if sizes[own] == k:
                continue
            point = points[members[i]]
            sizes[own] -= 1
            for j in range(d):
                totals[own, j] -= point[j]
                centroids[0, j] = totals[0, j] / sizes[0]
                centroids[1, j] = totals[1, j] / sizes[1]
            first = squared_distance(points[members[i]], centroids[0])
            part = 1 if squared_distance(points[members[i]], centroids[1]) < first else 0
            parts[i] = part
            sizes[part] += 1
            for j in range(d):
                totals[part, j] += point[j]
            changed |= part != own
        if not changed:
            break
    return parts
