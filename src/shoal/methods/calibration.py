"""The speed of the machine, as four numbers that the model of run times in ``effort`` reads.

Measuring takes under a second once the loops are compiled. Without a measurement the numbers of an ordinary machine
are used, so that the same table gets the same method everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core import deadline
from shoal.core.threads import get_threads
from shoal.methods.running import run

MEASURED_RECORDS = 8_000  # the block on which the speeds are measured
SAMPLE_PER_RECORD = 50  # the block is cut from a random sample this many times as large
LONG_SECONDS = 10.0  # with less time at hand a quarter of the block is measured
MEASURING_SHARE = 0.1  # of the time at hand
FEWER_RECORDS_FACTOR = 1.5  # a record of the whole block takes so many times as long to group as one of the quarter
MEASUREMENTS = 3  # the fastest counts: the first one compiles, and other programs may use the machine too


@dataclass(frozen=True)
class Calibration:
    """The speed of a machine in seconds per record on one core; the defaults are those of an ordinary machine.

    Parameters
    ----------
    cut
        Seconds to cut the records once in halves.
    leaf
        Seconds to group a block of 8,000 records by ``mdav-star``.
    refine
        Seconds to refine such a block by two rounds of the moves of ONA*, and swaps.
    swaps
        Seconds to refine it by swaps only.
    d, k
        The number of attributes and the minimum group size for which the speeds hold.
    threads
        How many cores share the work.
    """

    cut: float = 5e-8
    leaf: float = 7e-6
    refine: float = 3.5e-6
    swaps: float = 2.5e-6
    d: int = 10
    k: int = 5
    threads: int = 1


def calibrate(
    points: NDArray[np.float64] | None = None, k: int = 5, *, seed: int = 0, seconds: float = math.inf
) -> Calibration:
    """Measure how fast this machine is, on records of the table itself if they are given.

    Parameters
    ----------
    points
        The table; a few thousand of its records that lie together are used. None for generated records.
    k
        Minimum group size.
    seed
        Seed of the random sample.
    seconds
        The time at hand; with little of it fewer records are measured, and less often.

    Returns
    -------
    calibration
        The speeds that :func:`shoal.methods.effort.choose_preset` reads.

    Examples
    --------
    >>> calibrate(np.random.default_rng(0).normal(size=(500, 3)), 3).leaf > 0
    True
    """
    rng = np.random.default_rng(seed)
    if points is None:
        hidden = rng.normal(size=(MEASURED_RECORDS, 4)) @ rng.normal(size=(4, 10))
        points = hidden + rng.normal(size=hidden.shape)
    allowed = deadline.Deadline(MEASURING_SHARE * seconds)
    records = MEASURED_RECORDS if seconds >= LONG_SECONDS else MEASURED_RECORDS // 4
    block = _dense_block(points, rng, records)
    measured = [_measure(block, k)]
    while len(measured) < MEASUREMENTS and allowed.left() > measured[-1].sum():
        measured.append(_measure(block, k))
    cut, leaf, refine, swaps = (np.min(measured, axis=0) / len(block)).tolist()
    if records < MEASURED_RECORDS:
        leaf *= FEWER_RECORDS_FACTOR
    return Calibration(cut, leaf, refine, swaps, d=block.shape[1], k=k, threads=get_threads())


def _dense_block(points: NDArray[np.float64], rng: np.random.Generator, records: int) -> NDArray[np.float64]:
    """Return records as close together as those of a block, which are harder to search than a random sample."""
    sample = np.sort(rng.choice(len(points), min(SAMPLE_PER_RECORD * records, len(points)), replace=False))
    block = np.ascontiguousarray(points[sample], np.float64)
    while len(block) >= 2 * records:
        order = np.argsort(block[:, int(block.var(axis=0).argmax())], kind="stable")
        half = len(block) // 2
        block = block[np.sort(order[:half] if rng.random() < 0.5 else order[half:])]
    return block[np.sort(rng.choice(len(block), min(records, len(block)), replace=False))]


def _measure(block: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the seconds that a user waits to cut the records once, and to group, refine and swap them."""
    from shoal.methods.kernels.cut_blocks import cut_into_blocks
    from shoal.methods.refinement.block_refinement import repair

    times = [deadline.now()]
    cut_into_blocks(block, max(2, len(block) // 16))
    times.append(deadline.now())
    labels = run("mdav-star", block, k).labels
    times.append(deadline.now())
    for rounds in (2, 0):
        repair(block, labels, k, passes=1, block=len(block), rounds=rounds)
        times.append(deadline.now())
    cut, leaf, refine, swaps = np.diff(times)
    return np.maximum([cut / 4, leaf, refine, swaps], 1e-6)
