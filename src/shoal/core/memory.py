"""The memory that grouping needs, and the memory that is free."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from shoal.core.threads import get_threads
from shoal.errors import DataError


def memory_for(n: int, d: int, k: int, *, bytes_per_number: int = 8) -> int:
    """Return about how many bytes grouping needs at its peak, the table included.

    What a whole protection needs is estimated by ``shoal.flow.needed_memory``.

    Examples
    --------
    >>> memory_for(10_000_000, 10, 5) < 3 * 8 * 10_000_000 * 10
    True
    """
    table = n * d * bytes_per_number
    return table + 8 * n * d // max(k, 2) + 72 * n


def check_memory(
    n: int, d: int, k: int, *, available: int | None = None, bytes_per_number: int = 8, present: bool = False
) -> None:
    """Raise DataError for a table that does not fit into memory; the message states how many records would fit.

    Parameters
    ----------
    n, d, k
        Records, attributes and the minimum group size.
    available
        Bytes that are available; None for the free memory that the operating system reports.
    bytes_per_number
        8 for float64, 4 for float32.
    present
        Whether the table is in memory already, so that only what is needed beside it must be free.

    Examples
    --------
    >>> check_memory(1000, 10, 5)
    >>> check_memory(10**9, 10, 5, available=16 * 10**9)
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: 1,000,000,000 records of 10 attributes need about 168 GB of memory, 16 GB are free; \
about 95,000,000 records would fit: take fewer records or attributes, storage=float32, or a larger machine
    """
    present_bytes = n * d * bytes_per_number if present else 0
    needed = memory_for(n, d, k, bytes_per_number=bytes_per_number)
    smaller = "storage=float32, " if bytes_per_number > 4 else ""
    _require(needed, f"{n:,} records of {d} attributes", n, present_bytes, available, smaller)


def check_fits(needed: int, n: int, columns: int, *, present: int = 0) -> None:
    """Raise DataError where a protection needs more memory than is free; the message states how many records would fit.

    Parameters
    ----------
    needed
        Bytes at the peak, those of the table included.
    n, columns
        Records and quasi-identifiers, for the message.
    present
        Bytes that are in memory already.

    Examples
    --------
    >>> check_fits(1000, 10, 2)
    """
    _require(needed, f"{n:,} records of {columns} quasi-identifiers", n, present, None, "")


def _require(needed: int, what: str, n: int, present: int, available: int | None, smaller: str) -> None:
    free = free_memory() if available is None else available
    if free is None or needed <= free + present:
        return
    free += present
    fitting = int(free / needed * n)
    fitting -= fitting % 10 ** max(0, len(str(fitting)) - 2)
    raise DataError(
        f"{what} need about {needed / 1e9:.3g} GB of memory, {free / 1e9:.3g} GB are free; "
        f"about {fitting:,} records would fit: take fewer records or attributes, {smaller}or a larger machine"
    )


def free_memory() -> int | None:
    """Return the bytes that this process may still take; None where nothing is known.

    The least of the memory that the machine has free, the limits of the control groups (containers) that this process
    belongs to, each nested one included, and the limit of its address space.
    """
    known = [_machine_memory(), control_group_memory(), _address_space()]
    return min((number for number in known if number is not None), default=None)


def control_group_memory(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> int | None:
    """Return the bytes that the control groups of this process leave; None if there is no limit.

    Reads version 2 (``memory.max``) and version 1 (``memory.limit_in_bytes``), from the group of the process up to the
    root: the strictest limit of all counts.

    Parameters
    ----------
    root
        Where control groups are mounted.
    membership
        The file that lists the groups of the process.

    Examples
    --------
    >>> control_group_memory("/absent", "/absent") is None
    True
    """
    left: list[int] = []
    for line in _lines(membership):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            bases, limit, used, cache = [root, f"{root}/unified"], "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            bases = [f"{root}/{controllers}", f"{root}/memory"]
            limit, used, cache = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        names = [name for name in path.split("/") if name]
        for base in bases:
            for depth in range(len(names) + 1):
                folder = "/".join([base, *names[:depth]])
                most, present = _number(f"{folder}/{limit}"), _number(f"{folder}/{used}")
                if most is not None and most < _NO_LIMIT:
                    fields = (line.split() for line in _lines(f"{folder}/memory.stat"))
                    reclaimable = sum(int(field[1]) for field in fields if field[0] == cache)
                    left.append(max(0, most - (present or 0) + reclaimable))
    return min(left, default=None)


_NO_LIMIT = 2**60  # version 1 states a number near 2**63 where there is no limit


def _machine_memory() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _address_space() -> int | None:
    """Return the bytes of address space that the limit of the process leaves; None if there is no limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    sizes = _lines("/proc/self/statm")
    if most == resource.RLIM_INFINITY or not sizes:
        return None
    return max(0, most - int(sizes[0].split()[0]) * os.sysconf("SC_PAGE_SIZE"))


_LIBRARIES, _THREAD = 3 * 10**9, 10**7
"""Address space that the libraries reserve, which is ten times what they use, and for each core besides."""


def check_address_space() -> None:
    """Raise DataError where the process may not reserve the address space that the libraries need.

    Their allocators and threads end the process without a sentence where they cannot reserve it: compiled loops of
    polars and pyarrow abort, OpenBLAS cannot start its threads, and numba cannot load machine code.

    Examples
    --------
    >>> check_address_space()
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = _LIBRARIES + _THREAD * get_threads()
    if most == resource.RLIM_INFINITY or most >= needed:
        return
    raise DataError(
        f"the address space of this process is limited to {most / 1e9:.1f} GB (ulimit -v), and the libraries reserve "
        f"up to {needed / 1e9:.1f} GB of it, most of which they never use; raise that limit, and limit the memory in "
        "use by a control group instead (systemd-run -p MemoryMax=1G, docker run --memory 1g)"
    )


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - not a file of the user
            return file.read().splitlines()
    except OSError:
        return []


def _number(path: str) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def return_free_memory() -> None:
    """Return memory that is free but still held by allocators to the system, before a step that needs much.

    The C library keeps what arrays used, in the expectation that the next arrays are of the same size, and pyarrow does
    so for buffers; together up to a third of the peak of a large table. Where an allocator cannot do it, nothing
    happens.

    Examples
    --------
    >>> return_free_memory()
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
