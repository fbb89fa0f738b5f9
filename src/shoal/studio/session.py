"""The one session of a server: history, worker, what is known about the table, results by the digest of settings."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.studio.history import History
from shoal.studio.session_folder import SessionFolder
from shoal.studio.settings import UNDECIDED, ColumnSettings, Settings
from shoal.studio.worker import Job, Worker

CURVE_LEVELS = (3, 4, 5, 7, 10, 15, 20)
_MOST_RESULTS = 30
SMALL_TABLE_ROWS = 20_000
"""Rows up to which the whole curve is computed without being asked for."""


class Session:
    """The state of the studio; no table is in it.

    Parameters
    ----------
    folder
        The private directory.
    """

    def __init__(self, folder: SessionFolder) -> None:
        self.folder = folder
        self.history = History(folder.path)
        self.worker = Worker()
        self.profile: dict[str, Any] | None = None
        self.profile_of = ""
        self.results: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.points: dict[str, dict[str, Any]] = {}
        self.methods: list[dict[str, str]] = []
        self.theme = ""
        self.last: dict[str, Job] = {}
        self.written: list[dict[str, Any]] = []

    @property
    def settings(self) -> Settings | None:
        """The settings of the present step."""
        step = self.history.present
        return None if step is None else step.settings

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of the present settings."""
        settings = self.settings
        return None if settings is None else self.results.get(settings.digest())

    @property
    def shown_result(self) -> tuple[dict[str, Any], bool] | None:
        """The result of the present settings, or else the newest of the same table, and whether it is the present."""
        if self.result is not None:
            return self.result, True
        settings = self.settings
        for found in reversed(self.results.values()):
            if settings is not None and found["table"] == settings.table:
                return found, False
        return None

    def job(self, name: str) -> Job | None:
        """Return the newest job of a name."""
        return self.last.get(name)

    def begin(self, name: str, job: Job) -> Job:
        """Submit a job and remember it under a name."""
        self.last[name] = self.worker.submit(job)
        return self.last[name]

    def open_table(self, path: str, read_options: dict[str, Any]) -> Job:
        """Read and profile a table, then add the first step."""

        def done(job: Job) -> None:
            if job.state == "done":
                self.profile, self.profile_of = job.result, job.result["digest"]
                self.history.add(first_settings(path, read_options, job.result))

        payload = {"path": path, "read_options": read_options}
        return self.begin("open", Job("open", payload, when_done=done))

    def need_profile(self) -> Job | None:
        """Return the job that profiles the present table again, after a restart; None if the profile is known."""
        settings = self.settings
        if settings is None or self.profile_of == settings.table:
            return None
        running = self.job("open")
        same = running is not None and running.payload["path"] == settings.source
        if running is not None and (running.open or (same and running.state == "failed")):
            return running

        def done(job: Job) -> None:
            if job.state == "done" and job.result["digest"] == settings.table:
                self.profile, self.profile_of = job.result, job.result["digest"]
            elif job.state == "done":
                job.state = "failed"
                text = f"{settings.source} has changed since it was opened; open it again to use the new content"
                job.error = {"type": "FileProblem", "text": text}

        payload = {"path": settings.source, "read_options": dict(settings.read_options)}
        return self.begin("open", Job("open", payload, when_done=done))

    def change(self, settings: Settings) -> None:
        """Add a step; points of the curve that wait are not wanted any more."""
        before = self.history.at
        self.history.add(settings)
        if self.history.at != before:
            self.worker.withdraw(_estimates)

    async def end_estimates(self) -> None:
        """End what is computed for the curves of a large table, so that a run does not wait for it."""
        current = self.worker.current
        self.worker.withdraw(_estimates)
        if current is not None and _estimates(current) and self.profile and self.profile["n_rows"] > SMALL_TABLE_ROWS:
            await self.worker.cancel(current)

    def run(self) -> Job:
        """Protect the table with the present settings."""
        settings = self.settings
        assert settings is not None
        digest = settings.digest()

        def done(job: Job) -> None:
            if job.state == "done":
                self.keep_result(digest, settings, job.result)

        self.worker.withdraw(_estimates)
        return self.begin("run", Job("protect", {"settings": settings.to_dict()}, key=digest, when_done=done))

    def keep_result(self, digest: str, settings: Settings, result: dict[str, Any]) -> None:
        """Store a result in memory, and its figures in the history."""
        step = self.history.present
        self.results[digest] = {**result, "table": settings.table, "digest": digest, "step": step.number if step else 0}
        self.results.move_to_end(digest)
        while len(self.results) > _MOST_RESULTS:
            self.results.popitem(last=False)
        linkage = result["linkage"] or {}
        figures = {
            "loss": result["loss"], "highest": result["highest"], "k": result["k"]["achieved"],
            "linkage": linkage.get("value"), "low": linkage.get("low"), "high": linkage.get("high"),
            "method": ", ".join(one["name"] for one in result["methods"]),
        }  # fmt: skip
        self.history.result(digest, figures)

    def curve(self, *, wanted: bool = False) -> list[dict[str, Any]]:
        """Return the points of the curve for the present settings; those that lack are computed in the background."""
        settings = self.settings
        if settings is None or settings.undecided or self.profile is None:
            return []
        n_rows = self.profile["n_rows"]
        levels = [k for k in sorted({*CURVE_LEVELS, settings.k}) if 2 * k <= n_rows or k == settings.k]
        full = {k: replace(settings, k=k, accept=()) for k in levels}
        quick = {} if settings.method != "auto" or settings.effort == "fast" else {
            k: replace(at, effort="fast", time_limit="") for k, at in full.items()
        }  # fmt: skip
        if n_rows <= SMALL_TABLE_ROWS or wanted:
            first = sorted(levels, key=lambda k: k != settings.k)
            for at in [*(quick[k] for k in first if k in quick), *(full[k] for k in first)]:
                self._compute_point(at)
        if n_rows > SMALL_TABLE_ROWS:
            for k in sorted(levels, key=lambda k: k != settings.k):
                if not self._known(full[k]):
                    self._compute_point(full[k], task="preview", largest_k=levels[-1])
        return [self._point(k, full[k], quick.get(k)) for k in levels]

    def _point(self, k: int, full: Settings, quick: Settings | None) -> dict[str, Any]:
        """Return what is known about one k: the full result, else that of the effort fast, else a preview."""
        found = self._known(full)
        if found is None and quick is not None:
            found = self._known(quick)
            found = None if found is None else {**found, "fast": True}
        preview = self.points.get(_point_key(full, "preview"))
        if preview is not None and (found is None or found.get("loss") is None):
            found = preview if found is None or preview.get("loss") is not None else found
        keys = [_point_key(full), _point_key(full, "preview")]
        return {"k": k, "loss": None, **(found or {}), "waiting": any(map(self._waits, keys))}

    @property
    def estimate(self) -> dict[str, Any] | None:
        """What is known about the loss of the present settings before they are run; nothing is computed for it."""
        settings = self.settings
        if settings is None:
            return None
        point = self._point(settings.k, replace(settings, accept=()), None)
        return None if point["loss"] is None else point

    def _known(self, settings: Settings) -> dict[str, Any] | None:
        """Return the figures of full results: of the curve, or of a run that was made with these settings."""
        present = self.settings
        run = None if present is None else self.history.figures.get(replace(settings, accept=present.accept).digest())
        found = self.points.get(_point_key(settings))
        return found if run is None else {"k": settings.k, **run}

    def _waits(self, key: str) -> bool:
        return any(job.key == key for job in self.worker.jobs)

    def _compute_point(self, settings: Settings, task: str = "curve", **further: Any) -> None:
        key = _point_key(settings, task)
        if key in self.points:
            return

        def done(job: Job) -> None:
            if job.state == "done":
                self.points[key] = job.result
            elif job.state == "failed" and job.error is not None:
                self.points[key] = {"k": settings.k, "loss": None, "reason": job.error["text"]}

        payload = {"settings": settings.to_dict(), **further}
        self.worker.submit(Job(task, payload, key=key, urgent=False, when_done=done))

    async def close(self, *, end: bool = False) -> None:
        """End the worker and remove uploads; with ``end`` also the history."""
        await self.worker.close()
        if end:
            self.folder.end()
        self.folder.leave()


def _point_key(settings: Settings, task: str = "curve") -> str:
    return f"{task} {settings.digest()}"


def _estimates(job: Job) -> bool:
    return job.task in {"curve", "preview"}


def first_settings(path: str, read_options: dict[str, Any], profile: dict[str, Any]) -> Settings:
    """Return the settings that the guesses give; a column whose role is a question stays undecided."""
    columns = {
        column["name"]: ColumnSettings(column["role"] or UNDECIDED, column["kind"], tuple(column["order"]))
        for column in profile["columns"]
    }
    return Settings(
        str(Path(path)), profile["digest"], columns,
        {column["name"]: column["bare_kind"] for column in profile["columns"]}, read_options,
        k=min(5, max(2, profile["n_rows"] // 2)), sampling_weight=profile["sampling_weight"],
    )  # fmt: skip
