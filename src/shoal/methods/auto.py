"""auto: the method for the data, k and the time at hand.

One column is grouped by ``optimal-1d``. All other tables are grouped by ``annealing``: a start (ONA* up to 100,000
records, blocks above and for the fast effort) and a search whose amount of work depends on the effort and on the size
of the table, never on the clock, so that the same table gets the same groups everywhere (see ``effort``). With a time
limit the speed of the machine is measured first, and the most thorough start and search that fit are selected; the
search then goes on until the time ends. A table of up to 80 records, and a small table with much time, is searched by
``set-partition``, which also proves a bound.

Tables with categories, and tables whose numbers are replaced by something else than means, are grouped by
``mixed-annealing``, which searches by the loss that is reported; its work is planned in the same way (see
``mixed_effort``). Where frequency tables are to be kept, tables of categories only are grouped by ``nominal``; where
cells are suppressed, by ``cell-suppression``.

Where more than k is required, the groups are made to satisfy it, and then ``shoal.flow`` searches them further with the
same effort (see ``refinement.required_search``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.memory import check_memory
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import collapse
from shoal.methods.calibration import Calibration, calibrate
from shoal.methods.contract import AsMethodUsed, ColumnCost, Outcome
from shoal.methods.effort import (
    MANY_ATTRIBUTES,
    MIDDLE_RECORDS,
    Effort,
    MethodChoice,
    choose_preset,
    search_seconds,
    search_within,
    search_work,
    small_table,
    start_of_many,
)
from shoal.methods.mixed_effort import mixed_work, mixed_work_within
from shoal.methods.registry import get_method, method
from shoal.methods.running import run

SEARCHED_TABLE_RECORDS = 6_000  # records up to which set-partition searches if there is much time
LARGE_START = {"start_block": 50_000, "start_passes": 1, "start_rounds": 1}
LEAST_SECONDS = 5.0  # with less time left, no search is started
SMALL_TABLE_RECORDS = 3_000  # records up to which ona-star is the start whatever the effort
RECORD_LIST_ATTRIBUTES = 20  # attributes above which the fast effort makes lists for each record, which take long
START_SHARE, SEARCH_SHARE = 0.3, 0.4  # of a time limit, for the first groups and for the first search
REHEAT_SWEEPS = 20  # within a time limit
SPARE_FACTOR = 3.0  # a time limit this many times as long as the best preset allows a search
PROGRAM_ROWS: dict[Effort, tuple[int, int]] = {"fast": (100, 50), "balanced": (300, 100), "best": (300, 150)}
"""Distinct rows up to which nominal tables are solved by programs within seconds: for k up to 3, and for larger k."""
NOMINAL_ROUNDS: dict[Effort, int] = {"fast": 1, "balanced": 3, "best": 8}
SUPPRESSED_COMBINATIONS = 5_000_000  # distinct rows times sets of columns up to which patterns are enumerated
SUPPRESSED_PATTERNS: dict[Effort, int] = {"fast": 0, "balanced": 2_500, "best": 6_000}
"""Patterns of suppressed columns up to which an integer program selects among them."""
ANNEALING_BLOCK = 600  # distinct rows
TRIALS: dict[Effort, tuple[int, int]] = {
    "fast": (20_000_000, 40),
    "balanced": (150_000_000, 400),
    "best": (1_000_000_000, 4_000),
}
"""Trials of annealing for a table, and for each record of a large one; a second of one core makes about 15 million."""
TRIALS_PER_SECOND = 15_000_000
COUNTED_RECORDS = 20_000  # records up to which distinct rows are counted to select a search

_TITLE = "Selects a method for the size of the table and the time at hand"
_WHEN = "always, unless a certain method is wanted"


@method(
    "auto",
    title=_TITLE,
    complexity="that of the selected method",
    guarantees=(AsMethodUsed(),),
    when=_WHEN,
    proves="sse",
    float32=True,
    version=5,
)
def auto(
    points: NDArray[np.float64],
    k: int,
    *,
    effort: Effort = "balanced",
    time_limit: float | None = None,
    observed: NDArray[np.bool_] | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by the method that suits them best.

    Parameters
    ----------
    effort
        Preset of the search effort.
    time_limit
        Seconds to spend; overrides the effort. The groups then depend on the speed of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = auto(np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [8.0, 8.0]]), 2)
    >>> outcome.labels, outcome.method
    (array([0, 1, 0, 1]), 'set-partition')
    """
    n, d = points.shape
    check_memory(n, d, k, bytes_per_number=points.itemsize, present=True)
    if observed is not None and not observed.all():
        return auto_of_mixed(
            points.astype(np.float64, copy=False), k, effort=effort, time_limit=time_limit, observed=observed,
            seed=seed, progress=progress,
        )  # fmt: skip
    choice = choose(n, d, k, effort=effort)
    if time_limit is not None and d > 1:
        choice = _choice_within(points, k, Deadline(time_limit), progress)
    selected = get_method(choice.method)
    options: dict[str, Any] = dict(choice.options)
    if selected.float32:
        options["storage"] = str(points.dtype)
    outcome = run(selected, points, k, progress=progress, seed=seed, time_limit=choice.time_limit, **options)
    return replace(outcome, reason=choice.reason)


@method(
    "auto",
    title=_TITLE,
    complexity="that of the selected method",
    guarantees=(AsMethodUsed(),),
    when=_WHEN,
    version=4,
)
def auto_of_categories(
    codes: NDArray[np.int32],
    k: int,
    *,
    effort: Effort = "balanced",
    time_limit: float | None = None,
    column_weights: NDArray[np.float64] | None = None,
    record_weights: NDArray[np.float64] | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    observed: NDArray[np.bool_] | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records of categories by ``mixed-annealing``; by ``nominal`` where frequency tables are to be kept.

    Where all columns are suppressed instead of replaced, ``cell-suppression`` groups them by that objective.

    Parameters
    ----------
    effort
        Preset of the search effort.

    Examples
    --------
    >>> import numpy as np
    >>> auto_of_categories(np.array([[0, 0], [1, 1], [0, 0], [1, 1]], np.int32), 2).method
    'mixed-annealing'
    """
    options = suppression_options(codes, column_costs, effort=effort)
    if options is not None and record_weights is None:
        outcome = run(
            "cell-suppression", codes, k, progress=progress, seed=seed, time_limit=time_limit,
            column_weights=column_weights, column_costs=column_costs, **options,
        )  # fmt: skip
        return replace(outcome, reason="cells are suppressed: as few of them as possible")
    if column_costs is None or all(cost.recode != "frequencies" for cost in column_costs):
        return auto_of_mixed(
            codes.astype(np.float64), k, effort=effort, time_limit=time_limit, nominal=np.ones(codes.shape[1], bool),
            column_weights=column_weights, record_weights=record_weights, column_costs=column_costs,
            observed=observed, seed=seed, progress=progress,
        )  # fmt: skip
    options = nominal_options(codes, k, effort=effort, time_limit=time_limit)
    outcome = run(
        "nominal", codes, k, progress=progress, seed=seed, time_limit=time_limit, column_weights=column_weights,
        **options,
    )  # fmt: skip
    reason = "frequency tables are to be kept"
    if options["search"] == "annealing":
        reason += f"; {options['trials']:,} trials of annealing, since programs would take long"
    return replace(outcome, reason=reason)


@method(
    "auto",
    title=_TITLE,
    complexity="that of the selected method",
    guarantees=(AsMethodUsed(),),
    when=_WHEN,
    version=3,
)
def auto_of_mixed(
    mixed: NDArray[np.float64],
    k: int,
    *,
    effort: Effort = "balanced",
    time_limit: float | None = None,
    nominal: NDArray[np.bool_] | None = None,
    column_weights: NDArray[np.float64] | None = None,
    record_weights: NDArray[np.float64] | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    observed: NDArray[np.bool_] | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group numbers and categories by ``mixed-annealing``.

    Parameters
    ----------
    effort
        Preset of the search effort.
    time_limit
        Seconds to spend; overrides the effort. The groups then depend on the speed of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 7], [0.1, 8], [0.2, 7], [0.3, 8]])
    >>> auto_of_mixed(rows, 2, nominal=np.array([False, True])).method
    'mixed-annealing'
    """
    n, columns = mixed.shape
    coded = np.zeros(columns, bool) if nominal is None else nominal
    width = sum(np.unique(mixed[:, j]).size if coded[j] else 1 for j in range(columns))
    if time_limit is None:
        options = mixed_work(n, width, effort)
        reason = f"effort {effort}"
    else:
        options = mixed_work_within(n, width, columns, k, time_limit)
        reason = f"the best that fits into {time_limit:.0f} s"
    outcome = run(
        "mixed-annealing", mixed, k, progress=progress, seed=seed, time_limit=time_limit, nominal=coded,
        column_weights=column_weights, record_weights=record_weights, column_costs=column_costs, observed=observed,
        **options,
    )  # fmt: skip
    return replace(outcome, reason=f"{reason}: {options['start']}, then a search by the reported loss")


def suppression_options(
    codes: NDArray[np.int32], column_costs: Sequence[ColumnCost] | None, *, effort: Effort = "balanced"
) -> dict[str, Any] | None:
    """Return the options of ``cell-suppression``; None where it does not apply or would take long.

    Examples
    --------
    >>> suppression_options(np.zeros((9, 2), np.int32), [ColumnCost("suppress")] * 2, effort="fast")
    {'most_columns': 3, 'program': 0}
    """
    if column_costs is None or any(cost.recode != "suppress" for cost in column_costs):
        return None
    sets = sum(comb(codes.shape[1], size) for size in range(1, 4))
    few = SUPPRESSED_COMBINATIONS // sets
    if _distinct_rows(codes, few) > few:
        return None
    return {"most_columns": 3, "program": SUPPRESSED_PATTERNS[effort]}


def nominal_options(
    codes: NDArray[np.int32], k: int, *, effort: Effort = "balanced", time_limit: float | None = None
) -> dict[str, Any]:
    """Return the options of ``nominal`` for a table; without a time limit the same on every machine.

    Examples
    --------
    >>> nominal_options(np.zeros((1_000, 2), np.int32), 5)["search"]
    'program'
    >>> nominal_options(np.arange(2_000, dtype=np.int32).reshape(1_000, 2), 5)
    {'rounds': 3, 'search': 'annealing', 'block': 600, 'trials': 150000000}
    """
    few, least = PROGRAM_ROWS[effort][k > 3], TRIALS[effort][1]
    if _distinct_rows(codes, few) <= few:
        return {"rounds": NOMINAL_ROUNDS[effort], "search": "program"}
    trials = max(TRIALS[effort][0], least * len(codes))
    rounds = NOMINAL_ROUNDS[effort]
    if time_limit is not None:
        trials = max(1, int(time_limit * TRIALS_PER_SECOND))
        rounds = NOMINAL_ROUNDS["best"]
    return {"rounds": rounds, "search": "annealing", "block": ANNEALING_BLOCK, "trials": trials}


def _distinct_rows(codes: NDArray[np.int32], few: int) -> int:
    """Return the number of distinct rows, or more than ``few`` where a look at some records shows that."""
    first = len(collapse(codes[:COUNTED_RECORDS]).counts)
    return first if first > few or len(codes) <= COUNTED_RECORDS else len(collapse(codes).counts)


def choose(n: int, d: int, k: int, *, effort: Effort = "balanced") -> MethodChoice:
    """Return the method for n records of d attributes; the same on every machine.

    Examples
    --------
    >>> [choose(n, d, 5).method for n, d in ((1_000, 1), (1_000, 10), (10_000_000, 10))]
    ['optimal-1d', 'annealing', 'annealing']
    >>> choose(1_000, 10, 5, effort="fast").options  # doctest: +NORMALIZE_WHITESPACE
    {'start': 'mona-plus', 'start_block': 100000, 'start_passes': 10, 'start_rounds': 3, 'start_leaf': 'mdav-star',
    'passes': 1, 'sweeps': 10, 'costly_sweeps': 0}
    """
    if d == 1:
        return MethodChoice("optimal-1d", {}, 0.0, "one column: optimal-1d finds the optimum")
    options = small_table(n, d, k, effort)
    if options is not None:
        proof = " with a proof of the optimum where it ends" if options["bound"] == "auto" else ""
        return MethodChoice("set-partition", options, 1.0, f"effort {effort}: a small table, set-partition{proof}")
    work = search_work(n, k, effort, d=d)
    quick = choose_preset(n, d, k, effort=effort)
    start, seconds = _start(n, quick, small=0 if effort == "fast" else MIDDLE_RECORDS)
    if effort != "fast" and n > MIDDLE_RECORDS:
        start = {"start": "mona-plus", **LARGE_START}
    if d > MANY_ATTRIBUTES and n > SMALL_TABLE_RECORDS:
        start = start_of_many(d)
    if d > (RECORD_LIST_ATTRIBUTES if effort == "fast" else MANY_ATTRIBUTES):
        start = {**start, "neighbours": "record"}
    seconds += search_seconds(work, n, Calibration(d=d, k=k))
    first = "ona-star" if start["start"] == "ona-star" else "blocks"
    reason = f"effort {effort}: {first}, then a search (annealing)"
    return MethodChoice("annealing", {**start, **work.options}, seconds, reason)


def _start(n: int, preset: MethodChoice, *, small: int) -> tuple[dict[str, Any], float]:
    """Return the options of the first groups, and the seconds that they take."""
    if n <= small or preset.method != "mona-plus":
        return {"start": "ona-star"}, preset.seconds
    return {"start": "mona-plus", **{f"start_{name}": value for name, value in preset.options.items()}}, preset.seconds


def _choice_within(points: NDArray[np.float64], k: int, deadline: Deadline, progress: Progress) -> MethodChoice:
    """Return the best method that fits into the time, after measuring the speed of the machine."""
    n, d = points.shape
    progress.stage("measuring the speed of this machine")
    calibration = calibrate(points, k, seconds=deadline.seconds)
    left = deadline.seconds - deadline.elapsed()
    limit = max(left, deadline.seconds / 2)
    choice = choose_preset(n, d, k, time_limit=limit, calibration=calibration)
    if n < 2 * k or left <= 0:
        return choice
    if n <= SEARCHED_TABLE_RECORDS and left >= max(LEAST_SECONDS, SPARE_FACTOR * choice.seconds):
        reason = f"{left:.0f} s are left, far more than {choice.method} needs: search for better groups"
        return MethodChoice("set-partition", {"start": "annealing"}, left, reason, time_limit=left)
    quick = choose_preset(n, d, k, time_limit=START_SHARE * limit, calibration=calibration)
    work = search_within(n, SEARCH_SHARE * limit, calibration)
    plain = quick.method != "mona-plus" and n > SMALL_TABLE_RECORDS  # ona-star would not read the clock
    if work is None or plain or quick.seconds > START_SHARE * limit:
        return choice
    start, _ = _start(n, quick, small=SMALL_TABLE_RECORDS)
    if start["start"] == "mona-plus":  # passes beyond those of the level are worth less than the search
        start |= {"start_passes": 1, "start_rounds": min(1, start["start_rounds"])}
    reason = f"the best that fits into {limit:.0f} s, then a search until the time ends (annealing)"
    options = {**start, **work.options, "reheat_sweeps": REHEAT_SWEEPS}
    return MethodChoice("annealing", options, limit, reason, time_limit=limit)
