"""The history of a session: an append-only file of steps; undo, redo and branches move a pointer.

Each line of the file is one event as JSON: a step with its settings, a move of the pointer, a name, a note, a pin, a
decision, or the figures of a result. No line is ever changed, so a history survives a server that is killed: a last
line that was not finished is ignored. The file has settings and figures of whole tables, and no record.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError
from shoal.studio.settings import Settings, changed_text

FILE = "history.jsonl"
VERSION = 1


@dataclass
class Step:
    """One step.

    Parameters
    ----------
    number
        Its number, from 1.
    parent
        The step that it was made from; 0 for the first.
    settings
        Its settings.
    text
        What changed.
    when
        When it was made, in seconds since 1970.
    name, note
        What the steward called it, and why.
    """

    number: int
    parent: int
    settings: Settings
    text: str
    when: float
    name: str = ""
    note: str = ""


@dataclass
class History:
    """Steps, the present one, pins and the figures of results.

    Parameters
    ----------
    folder
        The private directory of the session.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     history = History(Path(folder))
    ...     first, second = history.add(Settings("a.csv", k=3)), history.add(Settings("a.csv", k=5))
    ...     history.undo()
    ...     restored = History(Path(folder))
    >>> restored.present.settings.k, restored.can_redo.number
    (3, 2)
    """

    folder: Path
    steps: dict[int, Step] = field(default_factory=dict)
    at: int = 0
    pins: list[int] = field(default_factory=list)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    newest_child: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            self._restore()

    @property
    def path(self) -> Path:
        """The file of the history."""
        return self.folder / FILE

    @property
    def present(self) -> Step | None:
        """The present step."""
        return self.steps.get(self.at)

    @property
    def can_undo(self) -> Step | None:
        """The present step, if there is one before it."""
        step = self.present
        return step if step is not None and step.parent in self.steps else None

    @property
    def can_redo(self) -> Step | None:
        """The step that redo goes to: the one below the present that was visited last."""
        return self.steps.get(self.newest_child.get(self.at, 0))

    def add(self, settings: Settings) -> Step:
        """Add a step after the present one and go there; settings that do not differ add nothing."""
        before = self.present
        if before is not None and before.settings == settings:
            return before
        number = len(self.steps) + 1
        event = {
            "event": "step", "number": number, "parent": self.at, "settings": settings.to_dict(), "when": time.time(),
        }  # fmt: skip
        self._record(event)
        return self.steps[number]

    def undo(self) -> None:
        """Go to the step before; does nothing at the first."""
        if self.can_undo is not None:
            self.go(self.steps[self.at].parent)

    def redo(self) -> None:
        """Go to the step that was left by undo; does nothing where there is none."""
        if self.can_redo is not None:
            self.go(self.can_redo.number)

    def go(self, number: int) -> None:
        """Go to a step."""
        self._check(number)
        self._record({"event": "go", "number": number})

    def describe(self, number: int, name: str, note: str) -> None:
        """Set name and note of a step."""
        self._check(number)
        self._record({"event": "describe", "number": number, "name": name[:200], "note": note[:5000]})

    def pin(self, number: int, *, pinned: bool) -> None:
        """Pin a step to compare it, or remove the pin."""
        self._check(number)
        self._record({"event": "pin", "number": number, "pinned": pinned})

    def decide(self, digest: str, finding: str, reason: str) -> None:
        """Record the decision about a finding of a result; an empty reason opens it again."""
        event = {"event": "decide", "digest": digest, "finding": finding, "reason": reason[:2000], "when": time.time()}
        self._record(event)

    def result(self, digest: str, figures: Mapping[str, Any]) -> None:
        """Record the figures of a result, for later sessions."""
        self._record({"event": "result", "digest": digest, "figures": dict(figures)})

    def children(self, number: int) -> list[Step]:
        """Return the steps that were made from a step, in their order."""
        return [step for step in self.steps.values() if step.parent == number]

    def _check(self, number: int) -> None:
        if number not in self.steps:
            raise ParameterError(f"there is no step {number}; choose one of the {len(self.steps)} steps of the history")

    def _record(self, event: dict[str, Any]) -> None:
        """Append one line and flush it to the disk, then apply it."""
        new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            if new:
                file.write(json.dumps({"event": "start", "version": VERSION}) + "\n")
            file.write(json.dumps(event, ensure_ascii=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._apply(event)

    def _apply(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "step":
            before = self.steps.get(event["parent"])
            settings = Settings.from_dict(event["settings"])
            text = changed_text(None if before is None else before.settings, settings)
            number = event["number"]
            self.steps[number] = Step(number, event["parent"], settings, text, event["when"])
            self._arrive(number)
        elif kind == "go":
            self._arrive(event["number"])
        elif kind == "describe":
            self.steps[event["number"]].name, self.steps[event["number"]].note = event["name"], event["note"]
        elif kind == "pin":
            self.pins = [number for number in self.pins if number != event["number"]]
            self.pins += [event["number"]] if event["pinned"] else []
        elif kind == "decide":
            self.decisions.setdefault(event["digest"], {})[event["finding"]] = event
        elif kind == "result":
            self.figures[event["digest"]] = event["figures"]

    def _arrive(self, number: int) -> None:
        self.at = number
        step = self.steps[number]
        while step.parent in self.steps:
            self.newest_child[step.parent] = step.number
            step = self.steps[step.parent]
        self.newest_child[0] = step.number

    def _restore(self) -> None:
        lines = self.path.read_text(encoding="utf-8").split("\n")
        if lines[-1]:  # the line was not finished when the process ended; later lines start after it
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")
        for line in lines:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                continue
            if event.get("event") == "start" and event.get("version") != VERSION:
                raise ParameterError("the history was written by another version of Shoal Studio; start a new session")
            self._apply(event)
