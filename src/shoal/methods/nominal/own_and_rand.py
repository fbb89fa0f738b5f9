"""own-* and rand-*: the variants of Cost 2023 by name, a partition and then representatives that preserve tables.

Section 6.2: ``own-fia`` with f, the solution of the linear master (e exact, h heuristic), i, the construction of groups
from it (e exact, h heuristic), and a, the selection of representatives (e exact P7, g greedy, c clique heuristic).
``rand-a`` has random groups instead. Every variant returns its best result so far at its time limit; the result then
depends on the machine. One file registers all fifteen, since they differ in these letters only.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.deadline import Deadline
from shoal.core.frequency_tables import Tables
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords, Stopped
from shoal.methods.nominal.column_generation import Fractional, column_generation
from shoal.methods.nominal.distinct_rows import OBJECTIVE
from shoal.methods.nominal.random_groups import random_groups
from shoal.methods.nominal.table_representatives import Selected, Variant, select_representatives
from shoal.methods.options import Range
from shoal.methods.registry import method

FRACTIONAL: dict[str, Fractional] = {"e": "optimal", "h": "heuristic"}
CONSTRUCTION: dict[str, Literal["exact", "greedy"]] = {"e": "exact", "h": "greedy"}
VARIANTS: dict[str, Variant] = {"e": "exact", "g": "greedy", "c": "clique"}
TIME_LIMIT = 300.0
_WORDS = {"optimal": "exact dual values", "heuristic": "heuristic dual values"}


def own(
    codes: NDArray[np.int32],
    k: int,
    letters: str,
    *,
    gamma: float | None = None,
    lambda_: float | None = None,
    tables: Tables = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by column generation and select representatives, in the variant of three letters.

    Examples
    --------
    >>> codes = np.array([[s, w] for w in range(3) for s in (0, 0, 1)], np.int32)  # Cost 2023, Example 5.1.2
    >>> outcome = own(codes, 3, "hhe", tables=1)
    >>> np.bincount(outcome.labels).tolist(), outcome.diagnostics["chi_square"]
    ([3, 3, 3], 0.0)
    """
    fractional, construction, variant = tuple(letters)
    deadline = Deadline(time_limit)
    partition = column_generation(
        codes, k, fractional=FRACTIONAL[fractional], construction=CONSTRUCTION[construction], gamma=gamma,
        lambda_=lambda_, time_limit=time_limit, progress=progress,
    )  # fmt: skip
    labels = canonical_labels(partition.labels)
    selected = select_representatives(
        codes, labels, variant=VARIANTS[variant], tables=tables, time_limit=max(deadline.left(), 1.0), progress=progress
    )
    return Outcome(
        labels,
        selected.rows,
        partition.objective,
        diagnostics={**partition.diagnostics, **selected.diagnostics()},
        timings={**partition.timings, "total": deadline.elapsed()},
        stopped=_stopped(selected) if partition.stopped == "finished" else partition.stopped,
    )


def rand(
    codes: NDArray[np.int32],
    k: int,
    letter: str,
    *,
    tables: Tables = None,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group records at random and select representatives.

    Examples
    --------
    >>> rand(np.arange(12, dtype=np.int32)[:, None] % 2, 3, "g").representatives.size
    3
    """
    labels = random_groups(codes, k, seed=seed)
    selected = select_representatives(
        codes, labels, variant=VARIANTS[letter], tables=tables, time_limit=time_limit, progress=progress
    )
    return Outcome(labels, selected.rows, diagnostics=selected.diagnostics(), stopped=_stopped(selected))


def _stopped(selected: Selected) -> Stopped:
    return "time limit" if selected.optimal is False else "finished"


def _own_method(letters: str) -> Callable[..., Outcome]:
    def group(
        codes: NDArray[np.int32],
        k: int,
        *,
        gamma: Annotated[float, Range(0, 1)] | None = None,
        lambda_: Annotated[float, Range(0)] | None = None,
        tables: int | str | None = None,
        time_limit: float = TIME_LIMIT,
        progress: Progress = SILENT,
    ) -> Outcome:
        return own(
            codes, k, letters, gamma=gamma, lambda_=lambda_, tables=tables, time_limit=time_limit, progress=progress
        )

    return group


def _rand_method(letter: str) -> Callable[..., Outcome]:
    def group(
        codes: NDArray[np.int32],
        k: int,
        *,
        tables: int | str | None = None,
        time_limit: float = TIME_LIMIT,
        seed: int = 0,
        progress: Progress = SILENT,
    ) -> Outcome:
        return rand(codes, k, letter, tables=tables, time_limit=time_limit, seed=seed, progress=progress)

    return group


_OPTIONS = """
    Parameters
    ----------{more}
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds (default 300) after which the best result so far is returned; it then depends on the machine.

    Examples
    --------
    >>> import shoal
    >>> shoal.group([[0, 0], [0, 1], [0, 0], [1, 1], [1, 1]], k=2, method="{name}").size
    5
"""
_GAMMA = """
    gamma, lambda_
        Factor of the dual values and reward of each row in the construction of groups (P6); see
        ``column-generation``."""


def _register() -> None:
    for letters in map("".join, product("eh", "eh", "egc")):
        fractional, construction = FRACTIONAL[letters[0]], CONSTRUCTION[letters[1]]
        variant = VARIANTS[letters[2]]
        function = _own_method(letters)
        function.__name__ = function.__qualname__ = f"own_{letters}"
        function.__doc__ = f"Group records by the variant Own-{letters} of Cost 2023.\n"
        function.__doc__ += _OPTIONS.format(more=_GAMMA, name=f"own-{letters}")
        method(
            f"own-{letters}",
            title=f"Categories: {_WORDS[fractional]}, {construction} groups, {variant} representatives",
            complexity="as column-generation"
            + {"e": ", then exponential at worst", "g": " + n s", "c": " + n² s"}[letters[2]],
            guarantees=(SelectedRecords(),),
            reference="Cost 2023, ch. 4, 5 and section 6.2",
            when="to repeat the experiments of Cost 2023, or for a few hundred records of categories",
            max_size=lambda k: 2 * k - 1,
            represents=True,
            proves=OBJECTIVE,
        )(function)
    for letter in "egc":
        function = _rand_method(letter)
        function.__name__ = function.__qualname__ = f"rand_{letter}"
        function.__doc__ = f"Group records at random, with the representatives of rand-{letter} of Cost 2023.\n"
        function.__doc__ += _OPTIONS.format(more="", name=f"rand-{letter}")
        method(
            f"rand-{letter}",
            title=f"Categories: random groups, {VARIANTS[letter]} representatives; the baseline of Cost 2023",
            complexity={"e": "exponential at worst", "g": "O(n s)", "c": "O(n² s)"}[letter],
            guarantees=(SelectedRecords(),),
            reference="Cost 2023, section 6.2.5",
            when="as a baseline for comparison",
            max_size=lambda k: 2 * k - 1,
            represents=True,
        )(function)


_register()
