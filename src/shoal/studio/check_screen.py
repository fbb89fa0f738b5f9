"""The screen on which a table that was made elsewhere is assessed, or evaluated against its original."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.studio.open_screen import table_path
from shoal.studio.web import fragment, page, problem, session_of
from shoal.studio.worker import Job

_LONGEST = 5_000


async def check_screen(request: Request) -> Response:
    """Show the form and the newest result."""
    session = session_of(request)
    job = session.job("check")
    given: dict[str, Any] = {} if job is None else job.payload
    shown = None if job is None or job.open else job
    texts = {name: ", ".join(given.get(name, ())) for name in ("quasi", "confidential")}
    paths = {name: given.get(name, "") for name in ("released", "original")}
    return page(request, "check", job=shown, **texts, **paths)


async def check_table(request: Request) -> Response:
    """Assess a table in the worker and return what it discloses."""
    session = session_of(request)
    form = await request.form()
    paths: dict[str, Any] = {}
    for name in ("released", "original"):
        given = str(form.get(name, "")).strip()
        if not given and name == "original":
            paths[name] = ""
            continue
        found = table_path(given)
        if isinstance(found, str):
            return problem(request, found)
        paths[name] = str(found)
    named = {name: _names(str(form.get(name, ""))[:_LONGEST]) for name in ("quasi", "confidential")}
    settings = session.settings
    plan = {} if settings is None else {name: settings.named(name) for name in ("quasi", "confidential")}
    job = session.begin("check", Job("check", {**paths, **named, "plan": plan}))
    await job.finished.wait()
    return fragment(request, "checked.html.jinja", "check", job=job)


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
