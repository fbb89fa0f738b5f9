"""The server's side of the worker process: one task at a time, progress as it comes, cancel by ending the process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

_PATIENCE = 0.6
"""Seconds between asking the process to end and ending it."""
_GRACE = 1.0
"""Seconds that an urgent job waits for one that is not, before that one is put off."""
_KEPT_FOR = frozenset({"write", "rows"})
"""Tasks that use the release in the memory of the process: for them it is not ended."""
_LONGEST_ANSWER = 2**28


@dataclass
class Job:
    """One task and what became of it.

    Parameters
    ----------
    task
        The name of the task.
    payload
        What it is given.
    key
        What the result is stored under.
    state
        ``waiting``, ``running``, ``ending`` while its process is ended, ``done``, ``failed`` or ``cancelled``.
    """

    task: str
    payload: dict[str, Any]
    key: str = ""
    urgent: bool = True
    state: str = "waiting"
    result: Any = None
    error: dict[str, str] | None = None
    stages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: float = 0.0
    ended: float = 0.0
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    when_done: Callable[[Job], None] | None = None

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return 0.0 if not self.started else (self.ended or time.monotonic()) - self.started

    @property
    def open(self) -> bool:
        """Whether it waits or runs, or its process is not gone yet."""
        return self.state in {"waiting", "running", "ending"}

    def receive(self, progress: dict[str, Any]) -> None:
        """Add what the worker reports about a stage."""
        now = time.monotonic()
        if not self.stages or self.stages[-1]["name"] != progress["stage"]:
            if self.stages:
                self.stages[-1]["ended"] = now
            self.stages.append({"name": progress["stage"], "started": now, "ended": None})
        self.stages[-1] |= {"total": progress["total"], "done": progress["done"]}

    def end(self, state: str) -> None:
        """Set how it ended."""
        self.state, self.ended = state, time.monotonic()
        if self.stages:
            self.stages[-1]["ended"] = self.ended
        try:
            if self.when_done is not None:
                self.when_done(self)
        finally:
            self.finished.set()


class Worker:
    """One process that computes, started when it is first needed and again after it was cancelled."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None
        self.current: Job | None = None
        self._waiting: list[Job] = []
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._putting_off: asyncio.Task[None] | None = None
        self._number = 0
        self.starts = 0

    @property
    def jobs(self) -> list[Job]:
        """The job that runs and those that wait."""
        return ([self.current] if self.current is not None else []) + self._waiting

    def submit(self, job: Job) -> Job:
        """Add a job; urgent ones go before those that are not."""
        same = next((one for one in self.jobs if one.key and one.key == job.key and one.open), None)
        if same is not None:
            return same
        if job.urgent:
            position = next((i for i, one in enumerate(self._waiting) if not one.urgent), len(self._waiting))
            self._waiting.insert(position, job)
            if self.current is not None and not self.current.urgent and job.task not in _KEPT_FOR:
                self._putting_off = asyncio.get_running_loop().create_task(self._put_off(self.current))
        else:
            self._waiting.append(job)
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._serve())
        self._wake.set()
        return job

    def withdraw(self, unwanted: Callable[[Job], bool]) -> None:
        """Remove jobs that wait and are not wanted any more."""
        for job in [one for one in self._waiting if unwanted(one)]:
            self._waiting.remove(job)
            job.end("cancelled")

    async def _put_off(self, job: Job) -> None:
        """End the process for an urgent job, unless the present one ends within a second; that one waits again."""
        while job is self.current and job.open:
            with suppress(TimeoutError):
                await asyncio.wait_for(job.finished.wait(), _GRACE)
            if job is self.current and job.state == "running":
                job.state, job.stages = "waiting", []
                self._waiting.append(job)
                await self._stop()
                return

    async def cancel(self, job: Job) -> None:
        """End a job; if it runs, the process ends within a second.

        Points of the curve that wait are withdrawn as well, so that no new process starts; the screen that shows the
        curve asks for them again.
        """
        if job.urgent:
            self.withdraw(lambda waiting: not waiting.urgent)
        if job in self._waiting:
            self._waiting.remove(job)
            job.end("cancelled")
        elif job is self.current and job.open:
            job.state = "ending"  # said to be cancelled only when the process is gone
            await self._stop()
            if job.open:
                job.end("cancelled")

    async def close(self) -> None:
        """End the process and all jobs."""
        for job in self._waiting:
            job.end("cancelled")
        self._waiting.clear()
        if self.current is not None and self.current.open:
            self.current.end("cancelled")
        if self._putting_off is not None:
            self._putting_off.cancel()
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        await self._stop()

    async def _serve(self) -> None:
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            self.current = self._waiting.pop(0)
            try:
                await self._run(self.current)
            finally:
                self.current = None

    async def _run(self, job: Job) -> None:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        if not job.open:
            return
        self._number += 1
        job.state, job.started = "running", time.monotonic()
        message = {"id": self._number, "task": job.task, "payload": job.payload}
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            await process.stdin.drain()
        while job.state == "running":
            line = await process.stdout.readline()
            if not line:
                await process.wait()
                if job.state == "running":
                    job.error = {"type": "ended", "text": "the worker ended, perhaps for want of memory; try again"}
                    job.end("failed")
                return
            self._take(job, json.loads(line))

    def _take(self, job: Job, answer: dict[str, Any]) -> None:
        if answer["id"] != self._number or job.state != "running":
            return
        if "progress" in answer:
            job.receive(answer["progress"])
        elif "note" in answer:
            job.notes.append(answer["note"])
        elif "error" in answer:
            job.error = answer["error"]
            job.end("failed")
        else:
            job.result = answer["result"]
            job.end("done")

    async def _started(self) -> asyncio.subprocess.Process:
        if self.process is None or self.process.returncode is not None:
            errors = None if os.environ.get("SHOAL_DEBUG") else asyncio.subprocess.DEVNULL
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "shoal.studio.worker_main", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=errors, limit=_LONGEST_ANSWER, start_new_session=True,
            )  # fmt: skip
            self.starts += 1
        return self.process

    async def _stop(self) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
