"""The screen Open: a path browser, uploads, databases, demo tables, and a preview with how the file is read."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from shoal.studio.web import fragment, go_to, page, problem, session_of, whole_number
from shoal.studio.worker import Job

DEMOS = {
    "patients": "1,000 generated patients, one row each",
    "stays": "hospital stays of 500 generated patients, several rows each",
    "survey": "a survey of 400 generated households",
}
FORMATS = {
    ".csv": "CSV", ".tsv": "tab-separated text", ".txt": "delimited text", ".parquet": "Parquet", ".arrow": "Arrow",
    ".feather": "Feather", ".ipc": "Arrow", ".xlsx": "Excel", ".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata",
    ".xpt": "SAS transport", ".sas7bdat": "SAS",
}  # fmt: skip
LARGEST_UPLOAD = 20 * 10**9
_SPARE_DISK = 2 * 10**9
_MOST_ENTRIES = 2000
_READ_OPTIONS = ("delimiter", "encoding", "decimal", "sheet")
_LONGEST_NAME = 120


async def open_screen(request: Request) -> Response:
    """Show the files of a directory, and the file that is chosen."""
    session = session_of(request)
    given = request.query_params.get("path", "")
    folder, chosen = _place(given or _start(request))
    context = listing(folder) | {"chosen": chosen, "peek": session.job("peek"), "demos": DEMOS}
    return page(request, "open", **context)


async def files(request: Request) -> Response:
    """Return the list of files of a directory."""
    folder, chosen = _place(request.query_params.get("path", ""))
    return fragment(request, "files.html.jinja", "open", **listing(folder), chosen=chosen)


async def peek(request: Request) -> Response:
    """Return the first rows of a file and how it was read."""
    form = await request.form()
    path = table_path(str(form.get("path", "")))
    if isinstance(path, str):
        return problem(request, path)
    options = read_options(form)
    job = session_of(request).begin("peek", Job("peek", {"path": str(path), "read_options": options}))
    await job.finished.wait()
    return _peeked(request, job, path, options)


def _peeked(request: Request, job: Job, path: Path, options: dict[str, Any]) -> Response:
    return fragment(request, "peek.html.jinja", "open", job=job, path=path, options=options)


async def open_table(request: Request) -> Response:
    """Open a table: it is read and profiled in the worker; the screen of columns waits for it."""
    form = await request.form()
    path = table_path(str(form.get("path", "")))
    if isinstance(path, str):
        return problem(request, path)
    session_of(request).open_table(str(path), read_options(form))
    return go_to("/columns")


async def open_demo(request: Request) -> Response:
    """Generate a demo table in the private directory and open it."""
    name = request.path_params["name"]
    session = session_of(request)
    if name not in DEMOS:
        return problem(request, f"There is no such demo table; choose one of: {', '.join(DEMOS)}.", 404)
    job = session.begin("demo", Job("demo", {"name": name, "folder": str(session.folder.work)}))
    await job.finished.wait()
    if job.state != "done":
        return problem(request, "The demo table could not be generated.")
    session.open_table(job.result["path"], {})
    return go_to("/columns")


async def open_database(request: Request) -> Response:
    """Copy a table or the result of a query into the private directory and show its first rows; no address is kept."""
    form = await request.form()
    address, query = (str(form.get(name, "")).strip() for name in ("address", "query"))
    session = session_of(request)
    payload = {"address": address, "query": query, "folder": str(session.folder.work)}
    job = session.begin("database", Job("database", payload))
    await job.finished.wait()
    payload.clear()  # an address may hold a password
    if job.state != "done":
        return problem(request, job.error["text"] if job.error else "It was cancelled.")
    path = Path(job.result["path"])
    job = session.begin("peek", Job("peek", {"path": str(path), "read_options": {}}))
    await job.finished.wait()
    return _peeked(request, job, path, {})


async def upload(request: Request) -> Response:
    """Stream an upload into the private directory; the name in the header names a file there, never a path."""
    from urllib.parse import unquote

    name = Path(unquote(request.headers.get("x-file-name", ""))).name[-_LONGEST_NAME:]
    if not name or name.startswith(".") or not table_format(name) or any(ord(sign) < 32 for sign in name):
        return problem(
            request, "This is no table that Shoal reads; choose CSV, Parquet, Arrow, Excel, SPSS, Stata or SAS."
        )
    folder = session_of(request).folder.work
    limit = min(LARGEST_UPLOAD, shutil.disk_usage(folder).free - _SPARE_DISK)
    announced = request.headers.get("content-length", "")
    if limit <= 0 or whole_number(announced, limit) is None:
        return problem(
            request, "The disk has too little space for this file; open it by its path, which needs no copy.", 413
        )
    target = folder / name
    target.unlink(missing_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if not await _received(request, descriptor, int(announced)):
        target.unlink(missing_ok=True)
        return problem(request, "The upload was not complete; nothing was kept.", 400)
    job = session_of(request).begin("peek", Job("peek", {"path": str(target), "read_options": {}}))
    await job.finished.wait()
    return _peeked(request, job, target, {})


async def _received(request: Request, descriptor: int, announced: int) -> bool:
    """Write the body of a request to a file; return whether it has the announced size."""
    received = 0
    with os.fdopen(descriptor, "wb") as file, suppress(ClientDisconnect, OSError):
        async for chunk in request.stream():
            received += len(chunk)
            if received > announced:
                break
            file.write(chunk)
        file.flush()
        return received == announced
    return False


def read_options(form: FormData) -> dict[str, Any]:
    """Return how a file is to be read; what is empty is detected."""
    options: dict[str, Any] = {name: str(form[name]) for name in _READ_OPTIONS if form.get(name)}
    marks = [mark.strip() for mark in str(form.get("na_values", "")).split(",") if mark.strip()]
    return options | ({"na_values": marks} if marks else {})


def table_format(name: str) -> str:
    """Return the format that the name of a file states; the empty text if it is no table.

    Examples
    --------
    >>> table_format("people.csv.gz"), table_format("notes.pdf")
    ('CSV', '')
    """
    base = name.casefold()
    for compressed in (".gz", ".zst"):
        base = base.removesuffix(compressed) if base.endswith((f".csv{compressed}", f".tsv{compressed}")) else base
    return FORMATS.get(Path(base).suffix, "")


def table_path(given: str) -> Path | str:
    """Return the path of a table, or why it cannot be opened."""
    if not given.strip() or "\0" in given:
        return "Name a file, or choose one in the list."
    if "://" in given:
        return "This is no path of a file; the address of a database belongs into the field below."
    try:
        path = Path(given.strip()).expanduser()
        path = (Path.cwd() / path).resolve()
        if not path.is_file():
            return f"{path} is not a file; choose one in the list."
    except (OSError, RuntimeError, ValueError):
        return "This path cannot be read; choose a file in the list."
    if not table_format(path.name):
        return f"{path.name} has no extension of a table; choose from: {', '.join(FORMATS)}."
    return path


def _start(request: Request) -> str:
    settings = session_of(request).settings
    work = str(session_of(request).folder.work)
    started: str = request.app.state.start_folder
    return settings.source if settings is not None and not settings.source.startswith(work) else started


def _place(given: str) -> tuple[Path, str]:
    """Return the directory to list and the name of the file that is chosen in it; the home if it cannot be read."""
    try:
        path = (Path.cwd() / Path(given).expanduser()).resolve() if given and "\0" not in given else Path.cwd()
        if path.is_file():
            return path.parent, str(path)
        if path.is_dir():
            return path, ""
    except (OSError, RuntimeError, ValueError):
        pass
    return Path.cwd(), ""


def listing(folder: Path) -> dict[str, Any]:
    """Return directories and files of a directory; hidden ones are left out."""
    entries = []
    note = ""
    try:
        found = sorted(os.scandir(folder), key=lambda one: one.name.casefold())
    except OSError:
        found, note = [], "This directory cannot be read."
    for entry in found[:_MOST_ENTRIES]:
        if entry.name.startswith("."):
            continue
        try:
            is_folder, size = entry.is_dir(), entry.stat().st_size
            regular = is_folder or entry.is_file()
        except OSError:
            continue
        if regular:
            shown = "folder" if is_folder else table_format(entry.name)
            entries.append({"name": entry.name, "path": str(folder / entry.name), "folder": is_folder,
                            "format": shown, "size": size})  # fmt: skip
    if len(found) > _MOST_ENTRIES:
        note = f"Only the first {_MOST_ENTRIES:,} entries are listed; type the path."
    entries.sort(key=lambda one: not one["folder"])
    parts = [*reversed(folder.parents), folder]
    crumbs = [{"name": part.name or "/", "path": str(part)} for part in parts]
    return {"entries": entries, "folder": str(folder), "parent": str(folder.parent), "crumbs": crumbs, "note": note}
