"""Levels of effort: which method, with which blocks, for a table of this size and the time at hand.

Thaeter & Reischuk 2021 (section 5) exchange time for loss by ρ: blocks of n^ρ records cost O(n^(1+ρ) d). Here each
level of effort is slower and loses less than the one below. A model with four measured speeds (see ``calibration``)
predicts the run time of each level, and the best level that fits is selected. The selection itself takes no time. A
time limit is kept even where the model is wrong, because the run itself reads the clock (see ``partition.pace``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shoal.core.deadline import seconds_of
from shoal.methods.calibration import MEASURED_RECORDS, Calibration

Effort = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class MethodChoice:
    """The method that was selected.

    Parameters
    ----------
    method, options
        The name of the method and its options.
    seconds
        The run time that the model predicts.
    reason
        One sentence that explains the selection.
    time_limit
        Seconds that the method may take, if there is a limit.
    """

    method: str
    options: Mapping[str, Any]
    seconds: float
    reason: str
    time_limit: float | None = None


@dataclass(frozen=True)
class EffortLevel:
    """A level of effort: blocks of ``block`` records, then ``passes`` of repair with ``rounds`` of ONA* each."""

    block: int
    passes: int
    rounds: int
    leaf: str = "mdav-star"


EFFORT_LEVELS = (
    EffortLevel(0, 0, 0),  # Mondrian
    EffortLevel(1_000, 1, 0, "mdav-plus"),
    EffortLevel(3_000, 1, 1),
    EffortLevel(10_000, 3, 2),
    EffortLevel(20_000, 4, 2),
    EffortLevel(50_000, 6, 2),
    EffortLevel(100_000, 10, 3),
)
# of each preset: its level for large tables, and the seconds within which smaller tables get a higher one
PRESETS: dict[Effort, tuple[int, float]] = {"fast": (1, 1.0), "balanced": (4, 10.0), "best": (6, 60.0)}
LARGE_TABLE_RECORDS = 4_000_000  # above, balanced takes one level less: dense tables are harder to search
LEAF_GROWTH = 0.3  # the time per record grows with the size of a block to the power of this
CUT_GROWTH = 0.15  # each doubling of the table slows a cut by this share, until the table has left the cache
OUT_OF_CACHE_DOUBLINGS = 6
WHOLE_TABLE_FACTOR = 1.2  # a pass over the whole table takes longer than one over a block that was just read
LATER_PASS_SHARE = 0.8  # the time of a later pass, as a share of that of the first one
MDAV_PLUS_SHARE = 0.55  # the time of mdav-plus, as a share of that of mdav-star
FURTHER_CORE_SHARE = 0.85  # what a further core adds to the speed of one core
MOST_PASSES = 20  # of repair, where a time limit leaves time for more than the level has


def choose_preset(
    n: int,
    d: int,
    k: int,
    *,
    effort: Effort = "balanced",
    time_limit: float | str | None = None,
    calibration: Calibration | None = None,
) -> MethodChoice:
    """Choose a method for a table.

    Parameters
    ----------
    n, d, k
        Records, attributes and the minimum group size.
    effort
        ``fast``, ``balanced`` or ``best``: a level of effort; small tables get a better one that is still quick.
    time_limit
        Seconds to spend, or a text such as ``60s``, ``5m`` or ``2h``; the best method that fits is selected, and
        refines as long as there is time.
    calibration
        The speed of the machine; None for that of an ordinary one.

    Returns
    -------
    choice
        Method, options, expected seconds, and the reason.

    Examples
    --------
    >>> choose_preset(1_000_000, 10, 5, effort="fast").options
    {'block': 1000, 'passes': 1, 'rounds': 0, 'leaf': 'mdav-plus'}
    >>> choose_preset(10_000_000, 10, 5, time_limit="20s").method
    'mondrian-v'
    >>> choose_preset(1_000, 10, 5, effort="fast").options == choose_preset(1_000, 10, 5, effort="best").options
    True
    """
    calibration = calibration or Calibration(d=d, k=k)
    seconds = [seconds_for(level, n, d, k, calibration) for level in EFFORT_LEVELS]
    if time_limit is None:
        number, quick = PRESETS[effort]
        if effort == "balanced" and n > LARGE_TABLE_RECORDS:
            number -= 1
        chosen = max(i for i in range(len(EFFORT_LEVELS)) if seconds[i] <= max(quick, seconds[number]))
        return _choice(EFFORT_LEVELS[chosen], n, k, seconds[chosen], f"effort {effort}")
    limit = seconds_of(time_limit)
    fitting = [i for i in range(len(EFFORT_LEVELS)) if seconds[i] <= limit]
    chosen = max(fitting, default=0)
    reason = f"the best that fits into {_duration(limit)}" if fitting else f"nothing fits into {_duration(limit)}"
    return _choice(EFFORT_LEVELS[chosen], n, k, seconds[chosen], reason, limit)


@dataclass(frozen=True)
class SearchWork:
    """How much a search by ``annealing`` does: its options, and how often each record is visited."""

    options: Mapping[str, Any]
    visits: float


SEARCH_LEVELS = ((2, 6, 20), (3, 10, 30), (4, 12, 40), (6, 20, 50), (8, 60, 150), (12, 60, 150))
"""Passes, sweeps and sweeps of the costliest groups, for tables of several blocks."""
FAST_LEVELS = ((1, 10, 0), (1, 2, 5), (1, 2, 0))
"""The same of the fast effort: for a table of one block, of several blocks, and for a large one."""
VERY_MANY_ATTRIBUTES = 40
"""Above so many attributes, where a move takes long, a table of one block gets half of the sweeps."""
CHAIN_RECORDS = 1_000
"""Records up to which several chains and an integer program are quick,"""
REHEATED_RECORDS = 4_000
"""up to which the best effort heats the search many times,"""
WHOLE_RECORDS = 15_000
"""up to which a table is one block,"""
MIDDLE_RECORDS = 100_000
"""and up to which a table is not large."""
_CHAINS = {"passes": 1, "sweeps": 400, "chain_heat": 1.5, "reheat_sweeps": 300}
CHAINS: dict[Effort, int] = {"balanced": 12, "best": 16}
WINDOW_SECONDS: dict[Effort, float] = {"balanced": 0.3, "best": 0.9}
"""What a search in windows of a few groups may take."""
WINDOW_STEP = 0.75e-6
"""Seconds of a step of that search for 13 attributes and k = 1; it grows with k²."""
MOST_WINDOW_STEPS = 100.0
PROVEN_RECORDS = 80
"""Records up to which ``set-partition`` is quick,"""
PROVEN_K = ((3, 80), (5, 60))
"""and, by k, up to which it proves the optimum of most tables within a second."""
PROGRAM_K: dict[Effort, int] = {"balanced": 3, "best": 5}
"""The largest k for which an integer program over the groups of all chains pays."""
MANY_ATTRIBUTES = 12
"""Attributes up to which trees exclude most records from a search; above, blocks are smaller the more there are."""
BLOCK_NUMBERS, LEAST_BLOCK, LARGEST_BLOCK = 800_000, 2_500, 50_000
"""Numbers in a block of a table with many attributes, and its least and largest number of records."""
VISIT_SHARE = 0.04
"""The time of a visit of a record, as a share of that of a refinement by two rounds of ONA*."""


def window_steps(n: int, d: int, k: int, effort: Effort) -> float:
    """Return the steps per record of a search in windows of groups; the same on every machine.

    Examples
    --------
    >>> window_steps(100, 5, 3, "balanced"), window_steps(1_000, 13, 10, "balanced")
    (100.0, 4.0)
    """
    seconds = n * WINDOW_STEP * k * k * (d + 10) / 23
    return min(MOST_WINDOW_STEPS, max(1.0, float(round(WINDOW_SECONDS[effort] / seconds))))


def small_table(n: int, d: int, k: int, effort: Effort) -> dict[str, Any] | None:
    """Return the options of ``set-partition`` for a table that it solves within a second; None for other tables.

    Examples
    --------
    >>> small_table(50, 4, 3, "balanced"), small_table(500, 4, 3, "balanced")
    ({'bound': 'auto', 'steps_per_record': 100.0}, None)
    """
    if effort == "fast" or n > PROVEN_RECORDS or n < 2 * k:
        return None
    proven = any(k <= largest and n <= records for largest, records in PROVEN_K)
    return {"bound": "auto" if proven else "none", "steps_per_record": window_steps(n, d, k, effort)}


def search_work(n: int, k: int, effort: Effort, *, d: int = 10) -> SearchWork:
    """Return the search after the first groups; the same on every machine.

    Examples
    --------
    >>> search_work(500_000, 5, "balanced").options
    {'passes': 3, 'sweeps': 10, 'costly_sweeps': 30}
    """
    if effort == "fast" and d > MANY_ATTRIBUTES and WHOLE_RECORDS < n <= MIDDLE_RECORDS:
        return _level(0)  # its first groups are quick and coarse
    if effort == "fast":
        return _work(*FAST_LEVELS[(n > WHOLE_RECORDS) + (n > MIDDLE_RECORDS)])
    if n <= CHAIN_RECORDS:
        reheats = 20 if effort == "best" else 4
        more = {"windows": window_steps(n, d, k, effort), "program": k <= PROGRAM_K[effort], "reheats": reheats}
        chains = CHAINS[effort]
        return SearchWork({**_CHAINS, "chains": chains, **more}, 400 * chains + 300 * reheats)
    if n <= WHOLE_RECORDS and effort == "balanced":
        sweeps = min(max((200_000 if d > VERY_MANY_ATTRIBUTES else 400_000) // n, 60), 300)
        return SearchWork({"passes": 1, "sweeps": sweeps, "costly_sweeps": sweeps}, 1.6 * sweeps)
    if n <= WHOLE_RECORDS:
        reheats = 20 if n <= REHEATED_RECORDS else 6
        options = {"passes": 1, "sweeps": 300, "costly_sweeps": 300, "reheats": reheats, "reheat_sweeps": 300}
        return SearchWork(options, 480 + 300 * reheats)
    large = n > MIDDLE_RECORDS
    if effort == "best":
        return _level(5 if large else 4)
    return _level(1 if large else 2 if d <= MANY_ATTRIBUTES else 3)  # few attributes: the first groups take less time


def start_of_many(d: int) -> dict[str, Any]:
    """Return the options of the first groups of a table with many attributes, whose cost is linear in n.

    Examples
    --------
    >>> [start_of_many(d)["start_block"] for d in (20, 50, 200, 1_000)]
    [40000, 16000, 4000, 2500]
    """
    block = min(max(BLOCK_NUMBERS // d, LEAST_BLOCK), LARGEST_BLOCK)
    return {"start": "mona-plus", "start_block": block, "start_passes": 1, "start_rounds": 0}


def search_within(n: int, seconds: float, calibration: Calibration) -> SearchWork | None:
    """Return the most thorough first search that fits into the time; None if none fits."""
    levels = [_level(number) for number in range(len(SEARCH_LEVELS))]
    fitting = [work for work in levels if search_seconds(work, n, calibration) <= seconds]
    return fitting[-1] if fitting else None


def search_seconds(work: SearchWork, n: int, calibration: Calibration) -> float:
    """Return the run time of a search that the model predicts."""
    cores = 1 + FURTHER_CORE_SHARE * (min(calibration.threads, max(1, n // WHOLE_RECORDS)) - 1)
    return n * work.visits * VISIT_SHARE * calibration.refine / cores


def _level(number: int) -> SearchWork:
    return _work(*SEARCH_LEVELS[number])


def _work(passes: int, sweeps: int, costly: int) -> SearchWork:
    return SearchWork({"passes": passes, "sweeps": sweeps, "costly_sweeps": costly}, passes * sweeps + 0.6 * costly)


def seconds_for(level: EffortLevel, n: int, d: int, k: int, calibration: Calibration) -> float:
    """Return the run time of a level that the model predicts.

    Examples
    --------
    >>> round(seconds_for(EFFORT_LEVELS[1], 1_000_000, 10, 5, Calibration()), 1)
    6.6
    """
    width = (d + 6) / (calibration.d + 6)
    block = min(n, level.block) if level.passes else 2 * k
    doublings = min(max(math.log2(n / MEASURED_RECORDS), 0.0), OUT_OF_CACHE_DOUBLINGS)
    cut = calibration.cut * (1 + CUT_GROWTH * doublings)
    per_record = cut * max(0.0, math.log2(n / block))
    if level.passes:
        share = MDAV_PLUS_SHARE if level.leaf == "mdav-plus" else 1.0
        per_record += share * calibration.leaf * (block / MEASURED_RECORDS) ** LEAF_GROWTH
        one_round = max(0.0, calibration.refine - calibration.swaps) / 2
        one_pass = WHOLE_TABLE_FACTOR * (calibration.swaps + one_round * level.rounds) + cut * (math.log2(n) / k + 2)
        per_record += one_pass * (1 + LATER_PASS_SHARE * (level.passes - 1))
    cores = max(1.0, min(calibration.threads, n / max(block, 1)))
    return n * width * per_record / (1 + FURTHER_CORE_SHARE * (cores - 1))


def _choice(
    level: EffortLevel, n: int, k: int, seconds: float, reason: str, limit: float | None = None
) -> MethodChoice:
    if not level.passes:
        text = f"{reason}: plain cuts into groups (mondrian-v), about {_duration(seconds)}"
        return MethodChoice("mondrian-v", {"whole": "2k-1"}, seconds, text)
    block = max(min(level.block, n), 2 * k)
    rho = math.log(block) / math.log(n) if n > 1 else 1.0
    blocks = "the whole table at once" if block >= n else f"blocks of {block:,} records (n^{rho:.2f})"
    passes = "one pass" if level.passes == 1 else f"{level.passes} passes"
    options: dict[str, Any] = {"block": level.block, "passes": level.passes, "rounds": level.rounds, "leaf": level.leaf}
    text = f"{reason}: {blocks}, then {passes} of refinement across the cuts (mona-plus), about {_duration(seconds)}"
    if limit is not None:
        options |= {"passes": max(level.passes, MOST_PASSES)}
        text += f"; more passes while there is time, at most {MOST_PASSES}" if level.passes < MOST_PASSES else ""
    return MethodChoice("mona-plus", options, seconds, text, limit)


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
