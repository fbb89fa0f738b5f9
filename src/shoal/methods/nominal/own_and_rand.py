"""The recipes of Cost 2023 by name: a partition of least Hamming distance, then representatives that keep tables right.

Section 6.2: ``own-fia`` with f, how the linear master is solved (e exact, h heuristic), i, how clusters are built from
it (e exact, h heuristic), and a, how representatives are chosen (e exact P7, g greedy, c clique heuristic); ``rand-a``
has random clusters instead. Their labels are the numbers of the records that stand for the groups. Every recipe stops
at its time limit with the best it has; the result then depends on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_tables import Tables
from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.methods.nominal.column_generation import column_generation
from shoal.methods.nominal.table_representatives import Way, table_representatives
from shoal.methods.registry import get_method, method

FRACTIONAL: dict[str, Literal["optimal", "heuristic"]] = {"e": "optimal", "h": "heuristic"}
CONSTRUCTION: dict[str, Literal["exact", "greedy"]] = {"e": "exact", "h": "greedy"}
WAYS: dict[str, Way] = {"e": "exact", "g": "greedy", "c": "clique"}
WORDS = {"optimal": "exact duals", "heuristic": "heuristic duals", "exact": "exact", "greedy": "greedy"}
TIME_LIMIT = 300.0
_KEPT = ("weight", "bound", "gap", "linear", "stopped", "gamma", "lambda")


def own(
    codes: NDArray[np.int32],
    k: int,
    recipe: str,
    *,
    gamma: float | None = None,
    lambda_: float | None = None,
    tables: Tables = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records by the recipe of three letters and return for each the record that stands for it.

    Examples
    --------
    >>> codes = np.array([[s, w] for w in range(3) for s in (0, 0, 1)], np.int32)  # Cost 2023, Example 5.1.2
    >>> np.unique(own(codes, 3, "hhe", tables=1), return_counts=True)[1].tolist()
    [3, 3, 3]
    """
    fractional, construction, way = tuple(recipe)
    started = time.monotonic()
    told: dict[str, Any] = {}
    labels = column_generation(
        codes, k, fractional=FRACTIONAL[fractional], construction=CONSTRUCTION[construction], gamma=gamma,
        lambda_=lambda_, time_limit=time_limit, progress=progress, facts=told,
    )  # fmt: skip
    if facts is not None:
        facts |= {name: told[name] for name in _KEPT if name in told}
    left = max(time_limit - (time.monotonic() - started), 1.0)
    return _represented(codes, labels, WAYS[way], tables, left, progress, facts)


def rand(
    codes: NDArray[np.int32],
    k: int,
    way: str,
    *,
    tables: Tables = None,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records at random and return for each the record that stands for it.

    Examples
    --------
    >>> np.unique(rand(np.arange(12, dtype=np.int32)[:, None] % 2, 3, "g"), return_counts=True)[1].sum()
    np.int64(12)
    """
    labels = get_method("random").run(codes, k, seed=seed)
    return _represented(codes, labels, WAYS[way], tables, time_limit, progress, facts)


def _represented(
    codes: NDArray[np.int32],
    labels: NDArray[np.int64],
    way: Way,
    tables: Tables,
    time_limit: float,
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    labels = canonical_labels(labels)
    rows = table_representatives(
        codes, labels, way=way, tables=tables, time_limit=time_limit, progress=progress, facts=facts
    )
    return rows[labels]


def _own_method(recipe: str) -> Callable[..., NDArray[np.int64]]:
    def run(
        codes: NDArray[np.int32],
        k: int,
        *,
        gamma: float | None = None,
        lambda_: float | None = None,
        tables: int | str | None = None,
        time_limit: float = TIME_LIMIT,
        progress: Progress = SILENT,
        facts: dict[str, Any] | None = None,
    ) -> NDArray[np.int64]:
        return own(
            codes, k, recipe, gamma=gamma, lambda_=lambda_, tables=tables, time_limit=time_limit, progress=progress,
            facts=facts,
        )  # fmt: skip

    return run


def _rand_method(way: str) -> Callable[..., NDArray[np.int64]]:
    def run(
        codes: NDArray[np.int32],
        k: int,
        *,
        tables: int | str | None = None,
        time_limit: float = TIME_LIMIT,
        seed: int = 0,
        progress: Progress = SILENT,
        facts: dict[str, Any] | None = None,
    ) -> NDArray[np.int64]:
        return rand(
            codes, k, way, tables=tables, time_limit=time_limit, seed=seed, progress=progress, facts=facts
        )  # fmt: skip

    return run


_OPTIONS = """
    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.{more}
    tables
        The control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds; then the best found so far is returned.{seed}
    progress
        Hears how far the work is.
    facts
        Receives weight and bound of the partition, the chi-square error, and for exact representatives its bound.

    Returns
    -------
    labels
        For each record the number of the record that stands for its group.

    Examples
    --------
    >>> import shoal
    >>> shoal.group([[0, 0], [0, 1], [0, 0], [1, 1], [1, 1]], k=2, method="{name}").size
    5
"""
_GAMMA = """
    gamma, lambda_
        How duals and rows are rewarded while clusters are built (P6); see ``column-generation``."""
_SEED = """
    seed
        For the random clusters."""


def _register() -> None:
    for letters in product("eh", "eh", "egc"):
        recipe = "".join(letters)
        f, i, a = FRACTIONAL[letters[0]], CONSTRUCTION[letters[1]], WAYS[letters[2]]
        function = _own_method(recipe)
        function.__name__ = f"own_{recipe}"
        function.__doc__ = f"Group records by the recipe Own-{recipe} of Cost 2023.\n" + _OPTIONS.format(
            more=_GAMMA, seed="", name=f"own-{recipe}"
        )
        method(
            f"own-{recipe}",
            title=f"Categories: {WORDS[f]}, {WORDS[i]} clusters, {a} representatives that keep tables right",
            cost="as column-generation"
            + {"e": ", then exponential at worst", "g": " + n s", "c": " + n² s"}[letters[2]],
            guarantee="k to 2k-1 records a group; only combinations that occur; the time limit is kept",
            reference="Cost 2023, ch. 4, 5 and section 6.2",
            when="to repeat the experiments of the thesis, or for some hundred records of categories",
            data="codes",
            max_size=lambda k: 2 * k - 1,
            represents=True,
        )(function)
    for way in "egc":
        function = _rand_method(way)
        function.__name__ = f"rand_{way}"
        function.__doc__ = f"Group records at random, with representatives as in rand-{way} of Cost 2023.\n"
        function.__doc__ += _OPTIONS.format(more="", seed=_SEED, name=f"rand-{way}")
        method(
            f"rand-{way}",
            title=f"Categories: random clusters, {WAYS[way]} representatives; the baseline of the thesis",
            cost={"e": "exponential at worst", "g": "O(n s)", "c": "O(n² s)"}[way],
            guarantee="k to 2k-1 records a group; only combinations that occur; the time limit is kept",
            reference="Cost 2023, section 6.2.5",
            when="as a baseline only",
            data="codes",
            max_size=lambda k: 2 * k - 1,
            represents=True,
        )(function)


_register()
