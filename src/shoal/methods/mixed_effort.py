"""The amount of work of ``mixed-annealing`` for a table and an effort, or for a time limit.

Without a time limit it depends on the size of the table only, so the same table gets the same groups everywhere. Speeds
are those of an ordinary machine, measured on tables of about a hundred coordinates.
"""

from __future__ import annotations

import math
from typing import Any

from shoal.methods.effort import Effort

DENSE_COLUMNS, DENSE_CELLS = 300, 2**27
"""The most coordinates, one per category, and cells of a table whose start is ``ona-star``; others begin in blocks."""
START_SECONDS: dict[Effort, float] = {"fast": 0.25, "balanced": 12.0, "best": 12.0}
"""The most seconds that ``ona-star`` may take as the start."""
LARGE_RECORDS = 100_000
REHEATED_RECORDS = 2_000
"""Records up to which the search is hotter and heated again."""
BLOCK_LIMIT = 8_000
ONA_SECONDS, ONA_RECORDS, ONA_GROWTH, ONA_COLUMNS = 75e-6, 4_000, 0.35, 100
"""Seconds per record of ``ona-star`` for this many records and coordinates, and how they grow with the records."""
BLOCKS_SECONDS: dict[Effort, float] = {"fast": 10e-6, "balanced": 21e-6}
VISIT_SECONDS = 6e-8
"""Seconds for a visit of a record and each of its columns, for k = 5."""
START_SHARE, SEARCH_SHARE = 0.4, 0.3
"""of a time limit, for the first groups and for the first search"""


def mixed_work(n: int, width: int, effort: Effort) -> dict[str, Any]:
    """Return the options of ``mixed-annealing`` for a table of n records and, one per category, ``width`` coordinates.

    Examples
    --------
    >>> mixed_work(4_000, 108, "balanced")  # doctest: +NORMALIZE_WHITESPACE
    {'start': 'ona-star', 'start_sweeps': 100, 'passes': 1, 'sweeps': 150, 'reheats': 0, 'reheat_sweeps': 150,
    'heat': 0.2}
    >>> mixed_work(1_000_000, 108, "fast")
    {'start': 'mixed-blocks', 'start_effort': 'fast', 'passes': 1, 'sweeps': 2}
    """
    start: dict[str, Any]
    if _ona_seconds(n, width) > START_SECONDS[effort]:
        start = {"start": "mixed-blocks", "start_effort": "fast" if effort == "fast" else "balanced"}
    else:
        sweeps = 300 if effort == "best" else min(max(400_000 // n, 30), 300)
        start = {"start": "ona-star", "start_sweeps": 10 if effort == "fast" else sweeps}
    if effort == "fast":
        work = {"passes": 1, "sweeps": 20} if n <= BLOCK_LIMIT else {"passes": 2, "sweeps": 5}
        return start | (work if n <= LARGE_RECORDS else {"passes": 1, "sweeps": 2})
    if n <= BLOCK_LIMIT:
        again, heat = (2, 0.3) if n <= REHEATED_RECORDS else (0, 0.2)
        if effort == "best":
            again = 10
        sweeps = 300 if effort == "best" else min(max(600_000 // n, 100), 300)
        return start | {"passes": 1, "sweeps": sweeps, "reheats": again, "reheat_sweeps": 150, "heat": heat}
    if effort == "balanced":
        return start | ({"passes": 4, "sweeps": 20} if n <= LARGE_RECORDS else {"passes": 3, "sweeps": 10})
    return start | ({"passes": 8, "sweeps": 60} if n <= LARGE_RECORDS else {"passes": 6, "sweeps": 40})


def _ona_seconds(n: int, width: int) -> float:
    """Return the seconds that ``ona-star`` takes; infinite where the coordinates would not fit into memory."""
    if width > DENSE_COLUMNS or n * width > DENSE_CELLS:
        return math.inf
    growth = max(n / ONA_RECORDS, 1.0) ** ONA_GROWTH
    return n * ONA_SECONDS * growth * max(width, ONA_COLUMNS / 4) / ONA_COLUMNS


def mixed_work_within(n: int, width: int, columns: int, k: int, seconds: float) -> dict[str, Any]:
    """Return the options that leave time to heat the search again within a time limit.

    Examples
    --------
    >>> mixed_work_within(4_000, 108, 14, 5, 10.0)["start"]
    'ona-star'
    >>> mixed_work_within(1_000_000, 108, 14, 5, 10.0)
    {'start': 'mixed-blocks', 'start_effort': 'fast', 'passes': 1, 'sweeps': 3, 'reheat_sweeps': 10}
    """
    ona = _ona_seconds(n, width)
    start: dict[str, Any]
    if ona <= START_SHARE * seconds:
        start = {"start": "ona-star", "start_sweeps": 30 if 2 * ona <= START_SHARE * seconds else 0}
    else:
        level = "balanced" if n * BLOCKS_SECONDS["balanced"] <= START_SHARE * seconds else "fast"
        start = {"start": "mixed-blocks", "start_effort": level}
    visits = SEARCH_SHARE * seconds / (n * VISIT_SECONDS * columns * max(k, 5) / 5)
    passes = 1 if n <= BLOCK_LIMIT else 4 if visits >= 40 else 1
    sweeps = int(min(visits / passes, 200))
    reheated = 150 if n <= BLOCK_LIMIT else 10
    if sweeps < 1:
        return start | {"passes": 0, "reheat_sweeps": reheated}
    return start | {"passes": passes, "sweeps": sweeps, "reheat_sweeps": reheated}
