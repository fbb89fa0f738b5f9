"""Plans: which method, with which blocks, for a table of this size and the time a user is ready to wait.

The trade-off between time and loss that Thaeter & Reischuk 2021 (section 5) make with ρ: blocks of n^ρ records cost
O(n^(1+ρ) d). Here a ladder of methods, each rung slower and better than the one below, is priced by a model of four
measured speeds, and the best rung that fits is taken. Planning costs nothing; measuring the speeds takes under a second
once the loops are compiled. A budget is kept even where the model is wrong: the run itself watches the clock (see
``partition.schedule``).
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.threads import get_threads
from shoal.errors import DataError, ParameterError

Effort = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class Calibration:
    """How fast this machine is: seconds per record on one core.

    Parameters
    ----------
    cut
        To cut once in halves.
    leaf
        To group a block of 8,000 records by ``mdav-star``.
    refine
        To refine such a block by two rounds of the moves of ONA*, and swaps.
    swaps
        To refine it by swaps only.
    d, k
        The attributes and the smallest group that this holds for.
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


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    method, options
        The name of the method and its options.
    seconds
        How long it will take by the model.
    why
        One sentence for a person.
    """

    method: str
    options: Mapping[str, Any]
    seconds: float
    why: str


@dataclass(frozen=True)
class Rung:
    """A rung of the ladder: blocks of ``block`` records, then ``passes`` of repair with ``rounds`` of ONA* each."""

    block: int
    passes: int
    rounds: int
    leaf: str = "mdav-star"


LADDER = (
    Rung(0, 0, 0),  # Mondrian
    Rung(1_000, 1, 0, "mdav-plus"),
    Rung(3_000, 1, 1),
    Rung(10_000, 3, 2),
    Rung(20_000, 4, 2),
    Rung(50_000, 6, 2),
    Rung(100_000, 10, 3),
)
EFFORTS: dict[str, tuple[int, float]] = {"fast": (1, 1.0), "balanced": (4, 10.0), "best": (6, 60.0)}
MANY = 4_000_000  # records beyond which balanced is content with one rung less: dense tables are harder to search
LEAF_GROWTH = 0.3  # the time per record grows with the block to the power of this
CUT_GROWTH = 0.15  # each doubling of the table makes a cut of it slower by this share, until it has left the cache
OUT_OF_CACHE = 6  # doublings
WHOLE = 1.2  # a pass over the whole table takes longer than one over a block that was just read
LATER = 0.8  # what a later pass takes, of the first one
PLUS_SHARE = 0.55  # the time of mdav-plus over that of mdav-star
SHARING = 0.85  # what a further core adds
MEASURED_ON = 8_000
DRAWN = 50  # a block is cut from so many times its records
TRIES = 3  # the fastest counts: the first compiles, and others may use the machine too
PATIENCE = 20  # the most passes where a budget is left over


def plan(
    n: int,
    d: int,
    k: int,
    *,
    effort: Effort = "balanced",
    budget: float | str | None = None,
    calibration: Calibration | None = None,
) -> Plan:
    """Choose a method for a table.

    Parameters
    ----------
    n, d, k
        Records, attributes, and the smallest group allowed.
    effort
        ``fast``, ``balanced`` or ``best``: a rung of the ladder; small tables get a better one that is still quick.
    budget
        Seconds to spend, or a text such as ``60s``, ``5m`` or ``2h``; then the best method that fits is taken, and
        refines as long as there is time.
    calibration
        The speed of the machine; None: that of an ordinary one.

    Returns
    -------
    plan
        Method, options, expected seconds, and the reason.

    Examples
    --------
    >>> plan(1_000_000, 10, 5, effort="fast").options
    {'block': 1000, 'passes': 1, 'rounds': 0, 'leaf': 'mdav-plus'}
    >>> plan(10_000_000, 10, 5, budget="20s").method
    'mondrian-v'
    >>> plan(1_000, 10, 5, effort="fast").options == plan(1_000, 10, 5, effort="best").options
    True
    """
    if effort not in EFFORTS:
        raise ParameterError(f'effort="{effort}" is not possible; choose fast, balanced or best')
    calibration = calibration or Calibration(d=d, k=k)
    prices = [seconds_for(rung, n, d, k, calibration) for rung in LADDER]
    if budget is None:
        rung, quick = EFFORTS[effort]
        if effort == "balanced" and n > MANY:
            rung -= 1
        chosen = max(i for i in range(len(LADDER)) if prices[i] <= max(quick, prices[rung]))
        reason = f"effort {effort}"
    else:
        limit = seconds_of(budget)
        fitting = [i for i in range(len(LADDER)) if prices[i] <= limit]
        chosen = max(fitting, default=0)
        reason = f"the best that fits into {_spoken(limit)}" if fitting else f"nothing fits into {_spoken(limit)}"
        return _as_plan(LADDER[chosen], n, k, prices[chosen], reason, limit)
    return _as_plan(LADDER[chosen], n, k, prices[chosen], reason)


def seconds_for(rung: Rung, n: int, d: int, k: int, calibration: Calibration) -> float:
    """Return how long a rung takes by the model.

    Examples
    --------
    >>> round(seconds_for(LADDER[1], 1_000_000, 10, 5, Calibration()), 1)
    6.6
    """
    wide = (d + 6) / (calibration.d + 6)
    block = min(n, rung.block) if rung.passes else 2 * k
    doublings = min(max(math.log2(n / MEASURED_ON), 0.0), OUT_OF_CACHE)
    cut = calibration.cut * (1 + CUT_GROWTH * doublings)
    each = cut * max(0.0, math.log2(n / block))
    if rung.passes:
        share = PLUS_SHARE if rung.leaf == "mdav-plus" else 1.0
        each += share * calibration.leaf * (block / MEASURED_ON) ** LEAF_GROWTH
        turn = max(0.0, calibration.refine - calibration.swaps) / 2
        one_pass = WHOLE * (calibration.swaps + turn * rung.rounds) + cut * (math.log2(n) / k + 2)
        each += one_pass * (1 + LATER * (rung.passes - 1))
    cores = max(1.0, min(calibration.threads, n / max(block, 1)))
    return n * wide * each / (1 + SHARING * (cores - 1))


def seconds_of(budget: float | str) -> float:
    """Return a budget in seconds.

    Examples
    --------
    >>> seconds_of("5m")
    300.0
    >>> seconds_of("soon")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: budget="soon" is not a time; write for example 60s, 5m or 2h
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h)?\s*", budget)
        if not found:
            raise ParameterError(f'budget="{budget}" is not a time; write for example 60s, 5m or 2h')
        budget = float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2] or "s"]
    if not budget > 0:
        raise ParameterError(f"budget={budget} is not possible; choose more than 0 seconds")
    return float(budget)


def calibrate(points: NDArray[np.float64] | None = None, k: int = 5, *, seed: int = 0) -> Calibration:
    """Measure how fast this machine is, on records of the table itself if they are given.

    Parameters
    ----------
    points
        The table; a few thousand of its records that lie together are used. None: generated records.
    k
        The smallest group allowed.
    seed
        Chooses the records.

    Returns
    -------
    calibration
        The speeds that ``plan`` needs.

    Examples
    --------
    >>> calibrate(np.random.default_rng(0).normal(size=(500, 3)), 3).leaf > 0
    True
    """
    rng = np.random.default_rng(seed)
    if points is None:
        hidden = rng.normal(size=(MEASURED_ON, 4)) @ rng.normal(size=(4, 10))
        points = hidden + rng.normal(size=hidden.shape)
    block = _block_of(points, rng)
    spent = np.min([_measure(block, k) for _ in range(TRIES)], axis=0) / len(block)
    cut, leaf, refine, swaps = spent.tolist()
    return Calibration(cut, leaf, refine, swaps, d=block.shape[1], k=k, threads=get_threads())


def _block_of(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return records that lie together as those of a block do: such are harder to search than records from anywhere."""
    drawn = np.sort(rng.choice(len(points), min(DRAWN * MEASURED_ON, len(points)), replace=False))
    block = np.ascontiguousarray(points[drawn], np.float64)
    while len(block) >= 2 * MEASURED_ON:
        order = np.argsort(block[:, int(block.var(axis=0).argmax())], kind="stable")
        half = len(block) // 2
        block = block[np.sort(order[:half] if rng.random() < 0.5 else order[half:])]
    return block[np.sort(rng.choice(len(block), min(MEASURED_ON, len(block)), replace=False))]


def _measure(block: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the seconds that a user waits to cut the records once, and to group, refine and swap them."""
    from shoal.methods.distance.mdav_star import mdav_star
    from shoal.methods.partition.cut_blocks import cut_into_blocks
    from shoal.methods.refinement.block_refinement import repair

    clock = [time.perf_counter()]
    cut_into_blocks(block, max(2, len(block) // 16))
    clock.append(time.perf_counter())
    labels = mdav_star(block, k)
    clock.append(time.perf_counter())
    for rounds in (2, 0):
        repair(block, labels, k, passes=1, block=len(block), rounds=rounds)
        clock.append(time.perf_counter())
    cut, leaf, refine, swaps = np.diff(clock)
    return np.maximum([cut / 4, leaf, refine, swaps], 1e-6)


def memory_for(n: int, d: int, k: int, *, bytes_per_number: int = 8) -> int:
    """Return about how many bytes grouping needs at its peak, the table included.

    Examples
    --------
    >>> memory_for(10_000_000, 10, 5) < 3 * 8 * 10_000_000 * 10
    True
    """
    table = n * d * bytes_per_number
    return table + 8 * n * d // max(k, 2) + 72 * n


def check_memory(
    n: int, d: int, k: int, *, available: int | None = None, bytes_per_number: int = 8, present: bool = False
) -> None:
    """Refuse a table that does not fit into memory, and say what would fit.

    Parameters
    ----------
    n, d, k
        Records, attributes, and the smallest group allowed.
    available
        Bytes there are; None: what the machine says is free.
    bytes_per_number
        8 for float64, 4 for float32.
    present
        Whether the table is in memory already, so that only what is needed beside it must be free.

    Examples
    --------
    >>> check_memory(1000, 10, 5)
    >>> check_memory(10**9, 10, 5, available=16 * 10**9)
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: 1,000,000,000 records of 10 attributes need about 168 GB of memory, 16 GB are free; \
about 95,000,000 records would fit: take fewer records or attributes, storage=float32, or a larger machine
    """
    free = free_memory() if available is None else available
    needed = memory_for(n, d, k, bytes_per_number=bytes_per_number)
    if free is not None and present:
        free += n * d * bytes_per_number
    if free is not None and needed > free:
        fitting = int(free / needed * n)
        fitting -= fitting % 10 ** max(0, len(str(fitting)) - 2)
        raise DataError(
            f"{n:,} records of {d} attributes need about {needed / 1e9:.3g} GB of memory, "
            f"{free / 1e9:.3g} GB are free; "
            f"about {fitting:,} records would fit: take fewer records or attributes, "
            f"{'storage=float32, ' if bytes_per_number > 4 else ''}or a larger machine"
        )


def free_memory() -> int | None:
    """Return the bytes of memory that are free; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - not a file of the user
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _as_plan(rung: Rung, n: int, k: int, seconds: float, reason: str, limit: float | None = None) -> Plan:
    if not rung.passes:
        why = f"{reason}: plain cuts into groups (mondrian-v), about {_spoken(seconds)}"
        return Plan("mondrian-v", {"whole": "2k-1"}, seconds, why)
    block = max(min(rung.block, n), 2 * k)
    rho = math.log(block) / math.log(n) if n > 1 else 1.0
    pieces = "the whole table at once" if block >= n else f"blocks of {block:,} records (n^{rho:.2f})"
    turns = "one pass" if rung.passes == 1 else f"{rung.passes} passes"
    options: dict[str, Any] = {"block": rung.block, "passes": rung.passes, "rounds": rung.rounds, "leaf": rung.leaf}
    why = f"{reason}: {pieces}, then {turns} of refinement across the cuts (mona-plus), about {_spoken(seconds)}"
    if limit is not None:
        options |= {"passes": max(rung.passes, PATIENCE), "seconds": limit}
        why += f"; more passes while there is time, at most {PATIENCE}" if rung.passes < PATIENCE else ""
    return Plan("mona-plus", options, seconds, why)


def _spoken(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
