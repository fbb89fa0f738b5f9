"""The time limit of a computation."""

from __future__ import annotations

import math
import re
import time

from shoal.errors import ParameterError

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Deadline:
    """A time limit that starts when the object is created; None for no limit.

    Parameters
    ----------
    seconds
        The time limit.

    Examples
    --------
    >>> Deadline(None).expired(), Deadline(0.0).expired()
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self.started = now()
        self.seconds = math.inf if seconds is None else float(seconds)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.seconds)

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return now() - self.started

    def left(self) -> float:
        """Return the seconds that are left, at least 0."""
        return max(0.0, self.seconds - self.elapsed())

    def part(self, share: float) -> Deadline:
        """Return a deadline that expires after a share of the time that is left."""
        return Deadline(share * self.left())

    def stop(self) -> None:
        """Let the deadline expire now."""
        self.seconds = 0.0

    def expired(self) -> bool:
        """Return whether no time is left."""
        return self.left() <= 0


def now() -> float:
    """Return the seconds of a monotonic clock."""
    return time.perf_counter()


def seconds_of(time_limit: float | str) -> float:
    """Return a time limit in seconds; a text such as ``60s``, ``5m`` or ``2h`` is read.

    Examples
    --------
    >>> seconds_of("5m")
    300.0
    >>> seconds_of("soon")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: time_limit="soon" is not a time; write for example 60s, 5m or 2h
    """
    if isinstance(time_limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|h)?\s*", time_limit)
        if not match:
            raise ParameterError(f'time_limit="{time_limit}" is not a time; write for example 60s, 5m or 2h')
        time_limit = float(match[1]) * _UNITS[match[2] or "s"]
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float):
        raise ParameterError(f"time_limit={time_limit!r} is not a time; write for example 60s, 5m or 2h")
    if not time_limit > 0:
        raise ParameterError(f"time_limit={time_limit} is not possible; choose more than 0 seconds")
    return float(time_limit)
