"""The screen Hand out: the files of the release, all of them or none, and how to make them without the studio."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shoal.studio.exports import command_text, default_outputs, script_text
from shoal.studio.security import REPORT_POLICY
from shoal.studio.web import fragment, language_of, open_points, page, problem, session_of
from shoal.studio.worker import Job

EXTENSIONS = {
    ".csv": "CSV", ".tsv": "tab-separated text", ".parquet": "Parquet", ".arrow": "Arrow", ".xlsx": "Excel",
    ".sav": "SPSS", ".dta": "Stata", ".xpt": "SAS transport",
}  # fmt: skip
DECISIONS = {
    "release": "may be released", "conditions": "may be released under the conditions below",
    "refuse": "must not be released",
}  # fmt: skip


async def out_screen(request: Request) -> Response:
    """Show the files that would be written."""
    session = session_of(request)
    if session.settings is None or session.result is None:
        return page(
            request,
            "empty",
            screen="out",
            title="Hand out",
            text="Possible when plan and result agree: run the plan first.",
        )
    return page(request, "out", **_context(request, dict(request.query_params)))


async def out_files(request: Request) -> Response:
    """Return files, command and script after another directory or format was chosen."""
    session = session_of(request)
    if session.settings is None or session.result is None:
        return problem(request, "Run the plan first.", 409)
    return fragment(request, "out_files.html.jinja", "out", **_context(request, dict(request.query_params)))


def _context(request: Request, given: dict[str, str]) -> dict[str, Any]:
    session = session_of(request)
    settings = session.settings
    assert settings is not None
    folder = given.get("folder") or _default_folder(request)
    extension = given.get("extension", "")
    if extension not in EXTENSIONS:
        suffix = Path(settings.source).suffix.casefold()
        extension = suffix if suffix in EXTENSIONS else ".csv"
    outputs = default_outputs(settings.source, folder, extension)
    wanted = [name for name in ("report", "public_report", "run_file") if given.get(name, "on") == "on" or not given]
    chosen = {"table": outputs["table"], **{name: outputs[name] for name in wanted}}
    if given.get("title"):
        chosen["title"] = given["title"][:200]
    if language_of(request) != "en":
        chosen["language"] = language_of(request)
    return {
        "outputs": outputs, "wanted": wanted, "folder": folder, "extension": extension, "extensions": EXTENSIONS,
        "command": command_text(settings, chosen), "script": script_text(settings, chosen), "chosen": chosen,
        "run_command": f"shoal run {shlex.quote(outputs['run_file'])}",
        "open_points": open_points(session), "job": session.job("write"), "written": session.written,
        "decisions": DECISIONS, "title": given.get("title", ""),
        "private": Path(settings.source).is_relative_to(session.folder.path),
        "timed": bool(settings.time_limit),
        "manifest": str(Path(outputs["table"]).name).rpartition(".")[0] + ".manifest.json",
        "record": str(Path(outputs["table"]).name).rpartition(".")[0] + ".holder.parquet",
    }  # fmt: skip


def _default_folder(request: Request) -> str:
    session = session_of(request)
    assert session.settings is not None
    source = Path(session.settings.source)
    if source.is_relative_to(session.folder.path):
        started: str = request.app.state.start_folder
        return started
    return str(source.parent)


async def write_files(request: Request) -> Response:
    """Write the files in the worker and wait for it; a second request while it writes waits for the same job."""
    session = session_of(request)
    form = {name: str(value) for name, value in (await request.form()).items()}
    if session.settings is None or session.result is None:
        return problem(request, "Run the plan first.", 409)
    left = open_points(session)
    if left:
        return problem(request, f"{len(left)} finding{'s' if len(left) > 1 else ''} of Look need a decision first.")
    if form.get("decision") == "refuse":
        return problem(request, "The decision says that the table must not be released; nothing was written.")
    folder = _existing_folder(form.get("folder", ""))
    if folder is None:
        return problem(request, "Name a directory that exists; nothing was written.")
    given = {"report": "", "public_report": "", "run_file": ""} | form | {"folder": folder}
    context = _context(request, given)
    payload = {
        "settings": session.settings.to_dict(), "outputs": context["chosen"],
        "fingerprint": session.result["fingerprint"],
        "overwrite": form.get("overwrite") == "on",
    }  # fmt: skip
    job = session.begin("write", Job("write", payload, key=f"write {session.settings.digest()} {context['chosen']}"))
    await job.finished.wait()
    if job.state == "done":
        session.written = job.result["paths"]
        if form.get("decision") or form.get("remarks"):
            note = " ".join(
                filter(None, (DECISIONS.get(form.get("decision", "")), form.get("remarks"), form.get("signer")))
            )
            step = session.history.present
            assert step is not None
            session.history.describe(step.number, step.name, f"{step.note}\n{note}".strip())
    elif job.state == "cancelled":
        session.begin("clean", Job("clean", {"folder": context["folder"]}))
    return fragment(request, "written.html.jinja", "out", **_context(request, given))


def _existing_folder(given: str) -> str | None:
    """Return a directory that exists, None if there is none."""
    try:
        path = Path(given).expanduser().resolve()
        return str(path) if given.strip() and path.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _file_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return None


async def written_report(request: Request) -> Response:
    """Show a report that was just written, under a policy that lets it do nothing."""
    session, index = session_of(request), request.path_params["index"]
    if index >= len(session.written) or not session.written[index]["path"].endswith(".html"):
        return problem(request, "There is no such report.", 404)
    text = _file_text(session.written[index]["path"])
    if text is None:
        return problem(request, "The report is not there any more.", 404)
    return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})
