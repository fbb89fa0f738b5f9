"""Annealing of groups that satisfy requirements on confidential values: less exact loss, and nothing is violated.

Beyond the papers. Groups of any method are first made to satisfy the requirements; that search lowers the squared error
of coordinates and never accepts a worse grouping. Here their records go on to change groups as in ``mixed_search``, by
the loss that is reported and while a temperature falls, and a change that violates a requirement is not made. Large
tables are searched in blocks of whole groups with other cuts in every pass; the groups are the same for any number of
threads, and never worse than the given ones. Cost O(n s columns) per sweep for groups of s records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels, ordered_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.requirement_violation import RequirementTable
from shoal.methods.effort import MOST_WINDOW_STEPS, WINDOW_STEP, Effort
from shoal.methods.kernels.logarithm_table import exponential_table
from shoal.methods.kernels.mixed_moves import GroupRule
from shoal.methods.refinement.crossover import crossover
from shoal.methods.refinement.mixed_search import BLOCK_RECORDS, ONE_BLOCK_RECORDS, MixedChain, anneal_pass
from shoal.methods.refinement.mixed_table import MixedTable, exact_crossover
from shoal.methods.refinement.record_annealing import Schedule
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.sse_annealing import anneal

Integers = NDArray[np.int64]
HOT, COLD = 0.2, 0.06
"""The temperature at the start and at the end, in units of the cost per record around a record."""
LARGEST = 64
"""Groups of more records stay as they are: an exchange with them would take long."""
DISSOLVED = 3
"""Groups of up to so many times k records may be dissolved."""
MIDDLE_RECORDS = 100_000
VISITS: dict[Effort, int] = {"fast": 100_000, "balanced": 600_000, "best": 2_400_000}
"""How often records of a small table are visited,"""
SWEEPS: dict[Effort, tuple[int, int]] = {"fast": (5, 20), "balanced": (40, 200), "best": (150, 600)}
"""and the fewest and the most sweeps of a table of one block."""
PASSES: dict[Effort, tuple[tuple[int, int], tuple[int, int]]] = {
    "fast": ((1, 5), (1, 2)),
    "balanced": ((2, 12), (1, 6)),
    "best": ((6, 40), (3, 20)),
}
"""Passes and sweeps of a table of several blocks, and of a large one."""
WINDOWS: dict[Effort, float] = {"fast": 0.0, "balanced": 0.75, "best": 3.0}
"""Seconds that a search in windows of a few groups may take before numbers are made to satisfy requirements."""
FEWEST_STEPS = 8.0
"""With fewer steps per record the windows find little."""
WINDOW_HEAT = 0.25


@dataclass(frozen=True, eq=False)
class Required:
    """What every group must satisfy: at least k records, at most ``max_size``, and requirements on their codes."""

    k: int
    codes: Integers
    table: RequirementTable
    max_size: int | None = None


def required_work(n: int, effort: Effort) -> tuple[int, int]:
    """Return passes and sweeps for a table of n records; the same on every machine.

    Examples
    --------
    >>> required_work(1_000, "balanced"), required_work(50_000, "balanced"), required_work(1_000_000, "fast")
    ((1, 200), (2, 12), (1, 2))
    """
    if n > ONE_BLOCK_RECORDS:
        return PASSES[effort][n > MIDDLE_RECORDS]
    fewest, most = SWEEPS[effort]
    return 1, min(max(VISITS[effort] // n, fewest), most)


def windows_work(n: int, d: int, k: int, effort: Effort) -> float:
    """Return the steps per record of the search in windows, 0 for none; the same on every machine.

    Examples
    --------
    >>> windows_work(4_000, 6, 5, "balanced"), windows_work(20_000, 6, 5, "balanced")
    (14.0, 0.0)
    """
    seconds = n * WINDOW_STEP * k * k * (d + 10) / 23
    steps = float(round(min(MOST_WINDOW_STEPS, WINDOWS[effort] / seconds)))
    return steps if steps >= FEWEST_STEPS else 0.0


def search_windows(
    points: NDArray[np.float64], labels: Integers, k: int, *, steps: float, progress: Progress = SILENT
) -> Integers:
    """Return groups with at most the squared error of the given ones, from windows of groups that are formed anew.

    They reach what no move of one record does, above all where many records are equal.

    Examples
    --------
    >>> points = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> search_windows(points, np.array([0, 0, 1, 1]), 2, steps=20.0)
    array([0, 1, 0, 1])
    """
    start = split_large(points, ordered_labels(labels), k)
    found = anneal(
        points - points.mean(axis=0), start, k, steps_per_record=steps, temperature=WINDOW_HEAT,
        exponentials=exponential_table(), progress=progress,
    )  # fmt: skip
    return canonical_labels(crossover(points, start, found))


def search_within(
    table: MixedTable, labels: Integers, required: Required, *, passes: int, sweeps: int, seed: int = 0,
    progress: Progress = SILENT,
) -> Integers:  # fmt: skip
    """Return groups with at most the exact loss of the given ones that satisfy the same requirements.

    Parameters
    ----------
    table
        The records with the costs of their columns.
    labels
        Groups that satisfy the requirements.
    required
        What every group must satisfy.
    passes
        How often a table of several blocks is cut anew.
    sweeps
        How often every record is visited in a pass.
    seed
        Seed of the random numbers.
    progress
        Progress callback.

    Examples
    --------
    Records 0 and 1 are near each other, but have the same value:

    >>> from shoal.core.requirement_violation import no_requirements
    >>> from shoal.methods.refinement.mixed_table import mixed_table
    >>> table = mixed_table(np.array([[0.0], [0.1], [5.0], [5.1]]))
    >>> required = Required(2, np.array([[0], [1], [0], [1]]), no_requirements())
    >>> search_within(table, np.array([0, 1, 1, 0]), required, passes=1, sweeps=20)
    array([0, 0, 1, 1])
    """
    labels = ordered_labels(labels)
    sizes = np.bincount(labels)
    most = LARGEST if required.max_size is None else min(LARGEST, required.max_size)
    records = np.flatnonzero(sizes[labels] <= most)
    inside = ordered_labels(labels[records]) if records.size else records
    if records.size < 2 * required.k or not inside.any():
        return canonical_labels(labels)
    largest = max(int(sizes[sizes <= most].max()), min(2 * required.k - 1, most))
    part = table.part(records)
    schedule = Schedule(passes, sweeps, HOT, COLD, BLOCK_RECORDS)
    codes = required.codes[records]

    def chain_of(members: Integers, sizes: Integers, seed: tuple[int, ...]) -> MixedChain:
        values, counts = np.zeros((codes.shape[1], largest + 2), np.int64), np.zeros(largest + 2, np.int64)
        inside = np.ascontiguousarray(codes[members])
        rule = GroupRule(inside, required.table, DISSOLVED * required.k, values, counts)
        return MixedChain(part.part(members), sizes, required.k, seed, largest=largest, rule=rule)

    found = inside
    for number in range(passes):
        progress.stage(f"searching within the requirements, pass {number + 1} of {passes}", records.size * sweeps)
        found = anneal_pass(part, found, number, schedule, seed, progress, chain_of)
    best = exact_crossover(part, inside, found)
    labels = labels.copy()
    labels[records] = sizes.size + best
    return canonical_labels(labels)
