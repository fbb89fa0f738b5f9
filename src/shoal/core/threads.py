"""The number of threads, and the functions that distribute work over them.

The compiled loops release the global interpreter lock, so threads use all cores. Work is divided into jobs that do not
depend on the number of threads, and results are returned in the order of the jobs, so that no result depends on the
number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shoal.errors import ParameterError

J = TypeVar("J")
R = TypeVar("R")

_chosen: int | None = None


def set_threads(n: int | None) -> None:
    """Set how many threads long work may use; None for one thread per core that this process may use.

    Examples
    --------
    >>> set_threads(2)
    >>> get_threads()
    2
    >>> set_threads(0)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: threads=0 is not possible; choose at least 1, or None for all cores
    >>> set_threads(None)
    """
    global _chosen  # noqa: PLW0603 - one setting per process, like the number of cores
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ParameterError(f"threads={n!r} is not possible; choose at least 1, or None for all cores")
    _chosen = n


def get_threads() -> int:
    """Return how many threads long work uses.

    Examples
    --------
    >>> get_threads() >= 1
    True
    """
    if _chosen is not None:
        return _chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_two(first: Callable[[], R], second: Callable[[], R], apart: bool = True) -> tuple[R, R]:
    """Return the results of two independent functions, in parallel if ``apart`` and more than one thread is allowed.

    Examples
    --------
    >>> run_two(lambda: 1, lambda: 2)
    (1, 2)
    """
    if not apart or get_threads() == 1:
        return first(), second()
    with ThreadPoolExecutor(1, thread_name_prefix="shoal") as pool:
        other = pool.submit(second)
        return first(), other.result()


def run_in_threads(function: Callable[[J], R], jobs: Iterable[J]) -> list[R]:
    """Return the results of the function for all jobs, in the order of the jobs.

    The first job runs before the others, so that loops are compiled only once. An error in a job is raised here after
    the jobs that have begun are finished.

    Examples
    --------
    >>> run_in_threads(lambda x: x * x, [3, 1, 2])
    [9, 1, 4]
    """
    jobs = list(jobs)
    threads = min(get_threads(), len(jobs))
    if threads <= 1:
        return [function(job) for job in jobs]
    first = function(jobs[0])
    with ThreadPoolExecutor(threads, thread_name_prefix="shoal") as pool:
        futures = [pool.submit(function, job) for job in jobs[1:]]
        try:
            return [first, *(future.result() for future in futures)]
        except BaseException:  # also an interrupt: jobs that have not begun are cancelled
            for future in futures:
                future.cancel()
            raise
