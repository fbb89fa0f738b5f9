"""The memory that grouping needs, and the memory that is free."""

from __future__ import annotations

import os

from shoal.errors import DataError


def memory_for(n: int, d: int, k: int, *, bytes_per_number: int = 8) -> int:
    """Return about how many bytes grouping needs at its peak, the table included.

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
    free = free_memory() if available is None else available
    needed = memory_for(n, d, k, bytes_per_number=bytes_per_number)
    if free is not None and present:
        free += n * d * bytes_per_number
    if free is not None and needed > free:
        fitting = int(free / needed * n)
        fitting -= fitting % 10 ** max(0, len(str(fitting)) - 2)
        raise DataError(
            f"{n:,} records of {d} attributes need about {needed / 1e9:.3g} GB of memory, "
            f"{free / 1e9:.3g} GB are free; "
            f"about {fitting:,} records would fit: take fewer records or attributes, "
            f"{'storage=float32, ' if bytes_per_number > 4 else ''}or a larger machine"
        )


def free_memory() -> int | None:
    """Return the bytes of memory that are free; None where the operating system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - not a file of the user
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
