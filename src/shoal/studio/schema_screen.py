"""Changes of many columns at once: those that are shown, or all of them by a schema file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.studio.columns_screen import kind_changes, shown_columns
from shoal.studio.settings import KINDS, ColumnSettings, Settings
from shoal.studio.web import fragment, go_to, problem, session_of
from shoal.studio.worker import Job

SHARED_ROLES = ("quasi", "confidential", "identifier", "other")
"""The roles that several columns can have."""


async def change_many(request: Request) -> Response:
    """Give all undecided columns, or all that the filter shows, one role or kind."""
    session = session_of(request)
    form = await request.form()
    role, kind = str(form.get("role", "")), str(form.get("kind", ""))
    if session.settings is None or not (role in SHARED_ROLES or kind in KINDS):
        return problem(request, "Choose a role or a kind from the list.")
    settings = session.settings
    names = settings.undecided
    if "shown" in form:
        if session.profile is None or session.profile_of != settings.table:
            return problem(request, "Open a table first.", 409)
        names = shown_columns(session, str(form.get("find", "")), str(form.get("show", "")))
    entries = {entry["name"]: entry for entry in session.profile["columns"]} if session.profile else {}
    for name in names:
        if role in SHARED_ROLES:
            settings = settings.with_column(name, role=role)
        if kind in KINDS and settings.columns[name].kind != kind:
            settings = settings.with_column(name, **kind_changes(entries[name], kind))
    session.change(settings)
    return go_to("/columns")


async def schema_file(request: Request) -> Response:
    """Load roles, kinds and treatments of all columns from a schema file, or save them to one."""
    session = session_of(request)
    settings = session.settings
    if settings is None:
        return problem(request, "Open a table first.", 409)
    form = await request.form()
    path = _schema_path(str(form.get("schema", "")))
    if path is None:
        return problem(request, "Name a schema file that ends in .toml.")
    save = form.get("action") == "save"
    payload = {"settings": settings.to_dict(), "path": str(path), "overwrite": form.get("overwrite") == "on"}
    job = session.begin("schema", Job("save_schema" if save else "load_schema", payload))
    await job.finished.wait()
    if job.state != "done":
        text = job.error["text"] if job.error else "It was cancelled."
        return problem(request, f"{text[:1].upper()}{text[1:]}.".replace("..", "."))
    if save:
        return fragment(request, "saved.html.jinja", "columns", path=job.result["path"])
    session.change(_with_schema(settings, job.result))
    return go_to("/columns")


def _schema_path(given: str) -> Path | None:
    if not given.strip() or "\0" in given or not given.strip().endswith(".toml"):
        return None
    try:
        return (Path.cwd() / Path(given.strip()).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _with_schema(settings: Settings, found: dict[str, Any]) -> Settings:
    columns = {
        name: ColumnSettings(
            **{**entry, "order": tuple(entry["order"]), "before": tuple(entry["before"]),
               "tree": tuple(map(tuple, entry["tree"]))}
        )
        for name, entry in found["columns"].items()
    }  # fmt: skip
    statistics = tuple(
        (name, value, tuple(domains), relative) for name, value, domains, relative in found["statistics"]
    )
    return replace(
        settings, columns=columns, strata=tuple(found["strata"]), sampling_weight=found["sampling_weight"],
        missing=found["missing"], statistics=statistics, accept=(),
    )  # fmt: skip
