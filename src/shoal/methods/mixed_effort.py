"""The amount of work of ``mixed-annealing`` for a table and an effort, or for a time limit.

Without a time limit it depends on the size of the table only, so the same table gets the same groups everywhere. Speeds
are those of an ordinary machine, measured on tables of about a hundred coordinates.
"""

from __future__ import annotations

from typing import Any

from shoal.methods.effort import Effort

DENSE_COLUMNS, DENSE_CELLS = 300, 2**27
"""The most coordinates, one per category, and cells of a table whose start is ``ona-star``; others begin in blocks."""
SMALL_RECORDS, MIDDLE_RECORDS = 3_000, 50_000
"""Records up to which ``ona-star`` is the start of the fast effort, and of the others."""
LARGE_RECORDS = 100_000
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
    >>> mixed_work(4_000, 108, "balanced")
    {'start': 'ona-star', 'start_sweeps': 30, 'passes': 1, 'sweeps': 150}
    >>> mixed_work(1_000_000, 108, "fast")
    {'start': 'mixed-blocks', 'start_effort': 'fast', 'passes': 1, 'sweeps': 2}
    """
    dense = width <= DENSE_COLUMNS and n * width <= DENSE_CELLS
    start: dict[str, Any]
    if not dense or n > (SMALL_RECORDS if effort == "fast" else MIDDLE_RECORDS):
        start = {"start": "mixed-blocks", "start_effort": "fast" if effort == "fast" else "balanced"}
    else:
        start = {"start": "ona-star", "start_sweeps": 0 if effort == "fast" else 30}
    if effort == "fast":
        work = {"passes": 1, "sweeps": 20} if n <= BLOCK_LIMIT else {"passes": 2, "sweeps": 5}
        return start | (work if n <= LARGE_RECORDS else {"passes": 1, "sweeps": 2})
    if n <= BLOCK_LIMIT:
        if effort == "balanced":
            return start | {"passes": 1, "sweeps": min(max(600_000 // n, 100), 400)}
        return start | {"passes": 1, "sweeps": 300, "reheats": 10, "reheat_sweeps": 200}
    if effort == "balanced":
        return start | ({"passes": 4, "sweeps": 20} if n <= LARGE_RECORDS else {"passes": 3, "sweeps": 10})
    return start | ({"passes": 8, "sweeps": 60} if n <= LARGE_RECORDS else {"passes": 6, "sweeps": 40})


def mixed_work_within(n: int, width: int, columns: int, k: int, seconds: float) -> dict[str, Any]:
    """Return the options that leave time to heat the search again within a time limit.

    Examples
    --------
    >>> mixed_work_within(4_000, 108, 14, 5, 10.0)["start"]
    'ona-star'
    >>> mixed_work_within(1_000_000, 108, 14, 5, 10.0)
    {'start': 'mixed-blocks', 'start_effort': 'fast', 'passes': 1, 'sweeps': 3, 'reheat_sweeps': 10}
    """
    dense = width <= DENSE_COLUMNS and n * width <= DENSE_CELLS
    growth = max(n / ONA_RECORDS, 1.0) ** ONA_GROWTH
    ona = n * ONA_SECONDS * growth * max(width, ONA_COLUMNS / 4) / ONA_COLUMNS
    start: dict[str, Any]
    if dense and ona <= START_SHARE * seconds:
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
