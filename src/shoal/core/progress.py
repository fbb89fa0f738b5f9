"""One progress protocol for everything that may take longer than a second.

Long work calls :meth:`Progress.stage` once per step and :meth:`Progress.advance` while it goes on. The base class is
silent, so that code never asks whether anybody is listening; the command line passes an object that draws.
"""

from __future__ import annotations


class Progress:
    """A listener that hears how far the work is, and does nothing with it.

    Examples
    --------
    >>> class Printed(Progress):
    ...     def stage(self, name, total=None):
    ...         print(name, total)
    >>> Printed().stage("grouping", 1080)
    grouping 1080
    """

    def stage(self, name: str, total: int | None = None) -> None:
        """Say that a step begins: its name in plain words and, if known, its amount of work."""

    def advance(self, amount: int = 1) -> None:
        """Say that some of the amount given to :meth:`stage` is done."""

    def note(self, text: str) -> None:
        """Say something a person should read now, for example that a loop is being compiled."""


SILENT = Progress()
