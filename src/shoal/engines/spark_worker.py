"""What a Python worker of Spark runs first: one thread for a task, then the task itself.

This file imports nothing that starts threads, so that the limits hold when the libraries of a task are loaded.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

THREADS = ("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Work:
    """A task in the form in which it is sent: a pickle that is read in the worker.

    Parameters
    ----------
    content
        The pickle of a callable that turns record batches into record batches.
    """

    content: bytes

    @classmethod
    def of(cls, task: object) -> Work:
        """Return the work of a task."""
        return cls(pickle.dumps(task))

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Run the task; an error that a user can correct is returned as evidence, since Spark would try it again."""
        for name in THREADS:
            os.environ.setdefault(name, "1")
        from shoal.engines.packets import evidence
        from shoal.errors import ShoalError

        task = pickle.loads(self.content)  # noqa: S301 - written by the driver of this run
        try:
            yield from task(batches)
        except ShoalError as error:
            yield evidence(-1, error)
