"""The progress callback that long work calls.

Work that may take longer than a second calls :meth:`Progress.stage` once per step and :meth:`Progress.advance` during
the step. The base class does nothing, so that callers need no check whether a callback was given; the command line
passes an object that draws a progress bar.
"""

from __future__ import annotations


class Progress:
    """A progress callback; receives the steps of the work and their progress. This base class ignores them.

    Examples
    --------
    >>> class Printed(Progress):
    ...     def stage(self, name, total=None):
    ...         print(name, total)
    >>> Printed().stage("grouping", 1080)
    grouping 1080
    """

    def stage(self, name: str, total: int | None = None) -> None:
        """Report that a step begins: its name and, if known, its amount of work."""

    def advance(self, amount: int = 1) -> None:
        """Report that a part of the amount given to :meth:`stage` is done."""

    def note(self, text: str) -> None:
        """Report a message for the user, for example that a loop is being compiled."""


SILENT = Progress()
