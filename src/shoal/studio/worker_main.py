"""The process that holds the table and computes: reads tasks from its input, one JSON text a line, and answers.

Started by :class:`shoal.studio.worker.Worker` as ``python -m shoal.studio.worker_main``. It ends when its input is
closed, so it never outlives the server, and on SIGTERM, after files that were begun are removed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from typing import Any

from shoal.core.progress import Progress

_INTERVAL = 0.1


class _Reported(Progress):
    """Sends stages and their progress, at most ten messages a second within a stage."""

    def __init__(self, send: Any, number: int) -> None:
        self._send, self._number = send, number
        self._stage, self._done, self._last = "", 0, 0.0
        self._total: int | None = None

    def stage(self, name: str, total: int | None = None) -> None:
        self._stage, self._total, self._done = name, total, 0
        self._report()

    def advance(self, amount: int = 1) -> None:
        self._done += int(amount)
        if time.monotonic() - self._last >= _INTERVAL:
            self._report()

    def note(self, text: str) -> None:
        self._send({"id": self._number, "note": text})

    def _report(self) -> None:
        self._last = time.monotonic()
        total = None if self._total is None else int(self._total)
        self._send({"id": self._number, "progress": {"stage": self._stage, "total": total, "done": self._done}})


class _Terminated(BaseException):
    """The process received SIGTERM; no Exception, so that nothing between takes it for an error of its own."""


def _stop(_number: int, _frame: Any) -> None:
    raise _Terminated


def answer(message: dict[str, Any], send: Any) -> None:
    """Run one task and send its result or its error; texts of foreign errors are not sent, they may quote records."""
    from shoal.errors import ShoalError
    from shoal.studio.worker_tasks import run_task

    number = message["id"]
    try:
        result = run_task(message["task"], message["payload"], _Reported(send, number))
        send({"id": number, "result": result})
    except ShoalError as problem:
        kind = type(problem).__name__
        send({"id": number, "error": {"type": kind, "text": problem.command_line or str(problem)}})
    except MemoryError:
        text = "the table does not fit into memory; use a machine with more, or a part of the table"
        send({"id": number, "error": {"type": "MemoryError", "text": text}})
    except Exception as fault:  # noqa: BLE001 - the worker answers every task
        if os.environ.get("SHOAL_DEBUG"):
            import traceback

            traceback.print_exc()
        text = f"internal error ({type(fault).__name__}); nothing was written"
        send({"id": number, "error": {"type": "internal", "text": text}})


def main() -> None:
    """Answer tasks until the input is closed."""
    signal.signal(signal.SIGTERM, _stop)
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints does not reach the answers
    tasks: queue.Queue[dict[str, Any] | None] = queue.Queue()
    busy = threading.Event()

    def read() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        if busy.is_set():
            os.kill(os.getpid(), signal.SIGTERM)  # the server is gone
            time.sleep(2)
            os._exit(143)
        tasks.put(None)

    def send(message: dict[str, Any]) -> None:
        output.write(json.dumps(message) + "\n")
        output.flush()

    threading.Thread(target=read, daemon=True).start()
    code = 0
    try:
        while (message := tasks.get()) is not None:
            busy.set()
            answer(message, send)
            busy.clear()
    except (_Terminated, KeyboardInterrupt, BrokenPipeError):
        code = 143
    os._exit(code)


if __name__ == "__main__":
    main()
