"""Compiling loops before they are needed: for images of containers, and beside a protection that is the first one.

The first use of a method on a machine compiles its loops, which takes seconds. ``compile_methods`` does so in advance.
``compiling_ahead`` shortens the first protection: as soon as a loop has to be compiled, a second process compiles those
that are needed last, so that both work at the same time. A second process and not a thread, because the compiler holds
the lock of the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import CACHE_VARIABLE, compiled_elsewhere, stored_in, when_compiling
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import get_threads
from shoal.methods.contract import DataKind
from shoal.methods.registry import all_methods, get_method
from shoal.methods.running import run

if TYPE_CHECKING:
    from shoal.methods.refinement.record_annealing import Neighbours

SMALL, LARGE, SEVERAL_BLOCKS = 24, 3_200, 15_500
"""Records of the tables that are grouped: the loops of a method differ with the size of the table."""
_PROGRAM = "import sys; from shoal.api.compiling import compile_search; compile_search(sys.argv[1:], report=True)"
FIRST_PART = "search"
"""The part that the second process begins with, and that is always waited for."""
BEGUN = "begun "
"""What the second process prints before the name of a part that it begins with."""
ONE_COLUMN_K = (2, 3, 5, 10)
"""The values of k for which the loops of ``optimal-1d``, which differ with k, are compiled in advance."""
KINDS: tuple[DataKind, ...] = ("points", "values", "codes")
AHEAD = {
    "shoal.methods.kernels.annealing_lists": "search",
    "shoal.methods.kernels.annealing_moves": "search",
    "shoal.core.key_hashes": "keys",
    "shoal.methods.kernels.cut_kernels": "cuts",
    "shoal.methods.kernels.mixed_costs": "mixed",
    "shoal.methods.kernels.mixed_lists": "mixed",
    "shoal.methods.kernels.mixed_moves": "mixed",
    "shoal.methods.kernels.record_lists": "lists",
    "shoal.methods.persons.priced_groups": "price",
    "shoal.methods.persons.priced_moves": "price",
}
"""The modules whose loops the second process compiles, those that ``auto`` needs last, and the name of their part."""


def compile_methods(names: Sequence[str] = ("auto",), *, progress: Progress = SILENT) -> dict[str, Any]:
    """Compile and store the loops of methods, so that their first use takes no longer than a later one.

    Parameters
    ----------
    names
        Names of methods; ``all`` for all of them. The loops of reading, recoding and writing are always included.
    progress
        Progress callback.

    Returns
    -------
    done
        ``methods`` (their names), ``compiled`` (how many loops were compiled; 0 if all were stored already) and
        ``folder`` (where they are stored; None if no folder can be written).

    Examples
    --------
    >>> from shoal.api.compiling import compile_methods
    >>> compile_methods(["mdav"])["methods"]  # doctest: +SKIP
    ['mdav']
    """
    chosen = list(all_methods()) if "all" in names else [get_method(name).name for name in dict.fromkeys(names)]
    compiled: list[str] = []
    with when_compiling(compiled.append):
        progress.stage("compiling", len(chosen) + 1)
        for name in chosen:
            _use(name)
            progress.advance()
        _protect_tables()
        progress.advance()
    return {"methods": chosen, "compiled": len(compiled), "folder": cache_folder()}


def cache_folder() -> str | None:
    """Return the folder in which compiled loops are stored, or the one above where there are several."""
    from shoal.methods.kernels import annealing_moves

    folder = stored_in(annealing_moves.sweep)
    chosen = os.environ.get(CACHE_VARIABLE)
    inside = folder is not None and chosen and Path(folder).is_relative_to(Path(chosen).absolute())
    return str(Path(chosen).absolute()) if inside and chosen else folder


def _use(name: str) -> None:
    """Group small tables by a method, each by all loops that it uses for tables of some size."""
    rng = np.random.default_rng(0)
    for kind in KINDS:
        info = get_method(name, kind)
        if info.data != kind:
            continue
        if kind == "values":
            run(info, rng.normal(size=SMALL), 3)
        elif kind == "codes":
            run(info, rng.integers(0, 3, size=(12, 3)).astype(np.int32), 3)
        else:
            run(info, rng.normal(size=(10 if name == "brute-force" else SMALL, 2)), 3)
            if info.supported and info.name != "set-partition":
                run(info, rng.normal(size=(LARGE, 2)), 5)
    if name in {"auto", "optimal-1d"}:
        for k in ONE_COLUMN_K:
            run("optimal-1d", rng.normal(size=SMALL), k)
    if name in {"auto", "annealing"}:
        compile_search()
        few: dict[str, Any] = {"passes": 1, "sweeps": 1, "costly_sweeps": 0}
        run("annealing", rng.normal(size=(SEVERAL_BLOCKS, 2)), 5, start="mona-plus", start_block=5_000, **few)


def compile_search(first: Sequence[str] = (), *, report: bool = False) -> None:
    """Compile the loops of the modules in ``AHEAD``, some parts first; print which part begins and ends, if wanted."""
    from shoal.core.key_hashes import TextKeys
    from shoal.methods.kernels.cut_blocks import cut_into_blocks
    from shoal.methods.refinement.record_annealing import anneal_records

    points, labels = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(np.arange(8), 5)

    def search(neighbours: Neighbours) -> None:
        anneal_records(points, labels, 5, passes=1, sweeps=2, neighbours=neighbours)

    parts: dict[str, Callable[[], object]] = {
        "search": lambda: search("group"),
        "keys": lambda: TextKeys(1, np.array([True]), ",").add(b"x\n1\n"),
        "cuts": lambda: cut_into_blocks(points, 10),
        "mixed": lambda: _search_mixed_table(points, labels),
        "lists": lambda: search("record"),
        "price": lambda: _raise_price(points, labels),
        "within": lambda: _search_within(points, labels),
    }
    for part in dict.fromkeys([*first, *parts]):
        for text, step in ((f"{BEGUN}{part}", parts[part]), (part, lambda: None)):
            if report:
                sys.stdout.write(f"{text}\n")
                sys.stdout.flush()
            step()


def _search_mixed_table(points: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Search a table of a number and a category by the loss of both."""
    from shoal.methods.refinement.mixed_search import anneal_mixed
    from shoal.methods.refinement.mixed_table import mixed_table

    rows = np.column_stack([points[:, 0], np.arange(len(points)) % 3])
    table = mixed_table(rows, np.array([False, True]), column_weights=None, record_weights=None, column_costs=None)
    anneal_mixed(table, labels, 5, passes=1, sweeps=2)


def _raise_price(points: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Satisfy a requirement that every group violates: five persons, who have two records each."""
    from shoal.methods.persons.rising_price import Constraints, raise_price, refine_within

    constraints = Constraints(5, np.arange(len(points)) // 2)
    refine_within(points, raise_price(points, labels, constraints), labels, constraints)


def _search_within(points: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    """Search groups that satisfy a requirement."""
    from shoal.core.requirement_violation import no_requirements
    from shoal.methods.refinement.mixed_table import mixed_table
    from shoal.methods.refinement.required_search import Required, search_within

    required = Required(5, np.zeros((len(points), 1), np.int64), no_requirements())
    search_within(mixed_table(points), labels, required, passes=1, sweeps=2)


def _protect_tables() -> None:
    """Protect a table with columns of several kinds, and write it."""
    from shoal.api.protect import protect
    from shoal.datasets import patients

    with tempfile.TemporaryDirectory() as folder:
        quasi = ["age", "income", "height", "sex"]
        release = protect(patients(SMALL), 3, quasi=quasi, unnamed="other", method="mdav")
        release.write(Path(folder, "safe.csv"))


@contextmanager
def compiling_ahead(method: str, *, requirements: bool = False) -> Iterator[None]:
    """Inside the block, compile the loops of ``auto`` in two processes if they have to be compiled.

    Nothing happens where the loops are stored, where one thread is allowed, or for other methods. The second process
    begins at once where no loop of the search is stored, else with the first loop that has to be compiled.

    Parameters
    ----------
    method
        The method of the protection.
    requirements
        Whether more than k is required: the loops that satisfy requirements are then compiled early.
    """
    if method not in {"auto", "annealing"} or get_threads() < 2 or not sys.executable:
        yield
        return
    second: list[_SecondProcess] = []
    tried: list[bool] = []

    def start(_name: str) -> None:
        if not tried:
            tried.append(True)
            with suppress(OSError):  # no memory or no right for a second process: the loops are compiled in this one
                second.append(_SecondProcess(["search", "price"] if requirements else []))

    def wait(module: str) -> None:
        for process in second:
            process.wait_for(AHEAD[module])

    if _nothing_stored():
        start("")
    try:
        with when_compiling(start), compiled_elsewhere(AHEAD, wait):
            yield
    finally:
        for process in second:
            process.end()


def _nothing_stored() -> bool:
    """Return whether no loop of the search is stored where this process would store it; found without numba."""
    chosen = os.environ.get(CACHE_VARIABLE) or os.environ.get("NUMBA_CACHE_DIR")
    place = Path(chosen) if chosen else Path(__file__).parents[1] / "methods" / "kernels" / "__pycache__"
    if not place.exists():
        return chosen is not None or os.access(place.parent, os.W_OK)
    return os.access(place, os.W_OK) and not any(place.rglob("annealing_moves.sweep-*.nbi"))


class _SecondProcess:
    """A process that compiles loops and prints which parts it begins and ends."""

    def __init__(self, first: Sequence[str]) -> None:
        package = str(Path(__file__).parents[2])
        paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-P", "-c", _PROGRAM, *first]
        self._begun: set[str] = set()
        self._done: set[str] = set()
        self._changed = Condition()
        self._process = subprocess.Popen(  # noqa: S603 - no part of the command depends on the user
            command, env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Note what the process prints; when it has ended, no part is waited for."""
        for line in self._process.stdout or ():
            part = line.strip()
            with self._changed:
                (self._begun if part.startswith(BEGUN) else self._done).add(part.removeprefix(BEGUN))
                self._changed.notify_all()
        with self._changed:
            self._done.update(AHEAD.values())
            self._changed.notify_all()

    def wait_for(self, part: str) -> None:
        """Wait until a part that has begun is done; a part that has not begun is compiled by the caller."""
        with self._changed:
            if part in self._begun or part == FIRST_PART:
                self._changed.wait_for(lambda: part in self._done)

    def end(self) -> None:
        """End the process; what it has stored is complete, since files are renamed when they are written."""
        self._process.terminate()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
