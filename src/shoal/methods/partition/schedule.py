"""A schedule: how much is left of the time that a user is ready to wait, and what to do when it runs short.

Not in the papers. The first grouping of the blocks may take a share of the time; when the blocks that are done show
that it will not be enough, those still waiting are grouped more coarsely. What comes after, the passes of repair, can
end at any block. Groups then depend on the speed of the machine; without a schedule they never do.
"""

from __future__ import annotations

import threading
import time

from shoal.core.threads import get_threads
from shoal.errors import ParameterError

COARSEST = 3
LEAVES = 0.65  # the share of the time that is for the first grouping


class Schedule:
    """The time there is for a piece of work, counted from when the schedule is made.

    Parameters
    ----------
    seconds
        How long the work may take.

    Examples
    --------
    >>> Schedule(60.0).late
    False
    """

    def __init__(self, seconds: float) -> None:
        if not seconds > 0:
            raise ParameterError(f"seconds={seconds} is not possible; choose more than 0")
        self.seconds = seconds
        self.started = now()

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return now() - self.started

    @property
    def left(self) -> float:
        """The seconds that are left; negative when the time is over."""
        return self.seconds - self.spent

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.left <= 0


class Pace:
    """How fast blocks are grouped, and how coarsely the next one must be: from 0, as planned, to 3, by cuts only.

    Parameters
    ----------
    schedule
        The time there is.
    records
        How many records are to be grouped.

    Examples
    --------
    >>> pace = Pace(Schedule(1.0), 1000)
    >>> pace.done(0, 100, 30.0)
    >>> pace.level
    1
    """

    def __init__(self, schedule: Schedule, records: int) -> None:
        self.level = 0
        self._schedule = schedule
        self._limit = LEAVES * schedule.seconds
        self._waiting = records
        self._each: dict[int, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def done(self, level: int, records: int, seconds: float) -> None:
        """Say that so many records were grouped on a level, and how long one core was busy with them."""
        with self._lock:
            self._waiting -= records
            before = self._each.get(level, (0.0, 0))
            self._each[level] = before[0] + seconds, before[1] + records
            if level == self.level < COARSEST and self._needed() > self._limit - self._schedule.spent:
                self.level += 1

    def _needed(self) -> float:
        """Return how long the records that wait will take on this level."""
        seconds, records = self._each[self.level]
        return seconds / max(records, 1) * self._waiting / get_threads()


def now() -> float:
    """Return the time on a clock that only goes forward."""
    return time.perf_counter()
