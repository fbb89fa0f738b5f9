"""The pace of the first grouping: how coarsely blocks must be grouped so that a time limit is kept.

Not in the papers. The first grouping of the blocks may take a share of the time limit. When the blocks that are done
show that this share will not be enough, the remaining blocks are grouped more coarsely. The passes of repair that
follow can end at any block. With a time limit the groups depend on the speed of the machine; without one they never do.
"""

from __future__ import annotations

import threading

from shoal.core.deadline import Deadline
from shoal.core.threads import get_threads

COARSEST_LEVEL = 3
FIRST_GROUPING_SHARE = 0.65  # of the time limit; the rest is for the passes of repair


class Pace:
    """Measures how fast blocks are grouped and sets the level of the next one: from 0, as planned, to 3, cuts only.

    Parameters
    ----------
    deadline
        The time limit.
    records
        The number of records to group.

    Examples
    --------
    >>> pace = Pace(Deadline(1.0), 1000)
    >>> pace.done(0, 100, 30.0)
    >>> pace.level
    1
    """

    def __init__(self, deadline: Deadline, records: int) -> None:
        self.level = 0
        self._deadline = deadline
        self._limit = FIRST_GROUPING_SHARE * deadline.seconds
        self._remaining = records
        self._done: dict[int, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def done(self, level: int, records: int, seconds: float) -> None:
        """Record that one core grouped this many records on a level, and the seconds it took."""
        with self._lock:
            self._remaining -= records
            before = self._done.get(level, (0.0, 0))
            self._done[level] = before[0] + seconds, before[1] + records
            time_left = self._limit - self._deadline.elapsed()
            if level == self.level < COARSEST_LEVEL and self._expected() > time_left:
                self.level += 1

    def _expected(self) -> float:
        """Return the expected seconds for the remaining records on this level."""
        seconds, records = self._done[self.level]
        return seconds / max(records, 1) * self._remaining / get_threads()
