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
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

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
_PROGRAM = "from shoal.api.compiling import compile_search; compile_search(report=True)"
ONE_COLUMN_K = (2, 3, 5, 10)
"""The values of k for which the loops of ``optimal-1d``, which differ with k, are compiled in advance."""
KINDS: tuple[DataKind, ...] = ("points", "values", "codes")
AHEAD = {
    "shoal.methods.kernels.annealing_lists": "search",
    "shoal.methods.kernels.annealing_moves": "search",
    "shoal.core.key_hashes": "keys",
    "shoal.methods.kernels.cut_kernels": "cuts",
    "shoal.methods.kernels.record_lists": "lists",
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


def compile_search(*, report: bool = False) -> None:
    """Compile the loops of the modules in ``AHEAD``; print the name of each part that is done, if wanted."""
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
        "lists": lambda: search("record"),
    }
    for part, use in parts.items():
        use()
        if report:
            sys.stdout.write(f"{part}\n")
            sys.stdout.flush()


def _protect_tables() -> None:
    """Protect a table with columns of several kinds, and write it."""
    from shoal.api.protect import protect
    from shoal.datasets import patients

    with tempfile.TemporaryDirectory() as folder:
        quasi = ["age", "income", "height", "sex"]
        release = protect(patients(SMALL), 3, quasi=quasi, unnamed="other", method="mdav")
        release.write(Path(folder, "safe.csv"))


@contextmanager
def compiling_ahead(method: str) -> Iterator[None]:
    """Inside the block, compile the loops of ``auto`` in two processes if they have to be compiled.

    Nothing happens where the loops are stored, where one thread is allowed, or for other methods.
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
                second.append(_SecondProcess())

    def wait(module: str) -> None:
        for process in second:
            process.wait_for(AHEAD[module])

    try:
        with when_compiling(start), compiled_elsewhere(AHEAD, wait):
            yield
    finally:
        for process in second:
            process.end()


class _SecondProcess:
    """A process that compiles the loops of the search and prints which parts are done."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[2])
        paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-P", "-c", _PROGRAM]
        self._done: set[str] = set()
        self._lock = Lock()
        self._process = subprocess.Popen(  # noqa: S603 - no part of the command depends on the user
            command, env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def wait_for(self, part: str) -> None:
        """Wait until a part is done, or until the process ends."""
        with self._lock:
            while part not in self._done and self._process.stdout is not None:
                line = self._process.stdout.readline()
                if not line:
                    self._done.update(AHEAD.values())
                self._done.add(line.strip())

    def end(self) -> None:
        """End the process; what it has stored is complete, since files are renamed when they are written."""
        self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
