"""The tasks of the worker: read, profile, protect, measure, write. Everything that computes runs here.

Results are plain values for JSON. Figures are SVG texts of the report, in which every name is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.core.progress import Progress
from shoal.errors import FileProblem, ParameterError
from shoal.studio.settings import Settings

_LONGEST_STEM = 80
_checked_files: dict[str, tuple[int, int, str]] = {}
_release: dict[str, Any] = {}
"""The release that was made last, by the digest of its settings; it holds the table."""
_cut: dict[str, Any] = {}
"""The table that is cut for previews, by the digest of its settings without k."""


def run_task(name: str, payload: Mapping[str, Any], progress: Progress) -> Any:
    """Run a task by its name."""
    tasks: dict[str, Callable[[Mapping[str, Any], Progress], Any]] = {
        "peek": _peek, "open": _open, "demo": _demo, "protect": _protect, "curve": _curve, "write": _write,
        "clean": _clean, "methods": _methods, "check": _check, "rows": _rows, "preview": _preview,
        "database": _database,
        "load_schema": _load_schema, "save_schema": _save_schema,
    }  # fmt: skip
    return tasks[name](payload, progress)


def _peek(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.table_profile import peek

    progress.stage("reading")
    return peek(Path(payload["path"]), dict(payload["read_options"]))


def _open(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.table_profile import profile

    progress.stage("reading")
    path = Path(payload["path"])
    found = profile(path, dict(payload["read_options"]))
    status = path.stat()
    _checked_files[str(path)] = (status.st_mtime_ns, status.st_size, found["digest"])
    return found


def _demo(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal import datasets
    from shoal.tables import Table, write_table

    progress.stage("generating")
    makers: dict[str, Callable[[], Any]] = {
        "patients": lambda: datasets.patients(1000),
        "stays": lambda: datasets.stays(500),
        "survey": lambda: datasets.households(400),
    }
    path = Path(payload["folder"]) / f"{payload['name']}.csv"
    write_table(Table.from_native(makers[payload["name"]]()), path)
    return {"path": str(path)}


def _database(payload: Mapping[str, Any], progress: Progress) -> Any:
    """Write a table or the result of a query to the private directory; a later reading replaces it."""
    from shoal.tables import read_table, write_table
    from shoal.tables.databases import Database
    from shoal.tables.files import is_database

    progress.stage("reading")
    address, query = payload["address"], payload["query"] or None
    if not is_database(address):
        raise ParameterError(
            "this is no address of a database; write sqlite:///people.db, duckdb:///people.duckdb or "
            "postgresql://host/name, with ?table=people or with a query"
        )
    table = read_table(address, query=query)
    database = Database.of(address)
    base = database.table or Path(database.shown).stem
    name = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in base)[:_LONGEST_STEM] or "table"
    path = Path(payload["folder"]) / f"{name}.parquet"
    path.unlink(missing_ok=True)
    write_table(table, path)
    path.chmod(0o600)
    return {"path": str(path)}


def _check_unchanged(settings: Settings) -> None:
    """Raise if the file is not the one that the settings were made for."""
    from shoal.studio.table_profile import file_digest

    path = Path(settings.source)
    try:
        status = path.stat()
    except OSError:
        raise FileProblem(f"{path} was not found; open the table again") from None
    known = _checked_files.get(str(path))
    if known is None or known[:2] != (status.st_mtime_ns, status.st_size):
        known = (status.st_mtime_ns, status.st_size, file_digest(path))
        _checked_files[str(path)] = known
    if known[2] != settings.table:
        raise FileProblem(f"{path} has changed since it was opened; open it again to use the new content")


def _made_release(settings: Settings, progress: Progress) -> Any:
    """Return the release of settings: the one that was made last, or a new one."""
    from shoal.api.protect import protect

    _check_unchanged(settings)
    digest = settings.digest()
    if digest not in _release:
        _release.clear()  # one table at a time
        _release[digest] = protect(settings.source, **settings.arguments(), progress=progress)
    return _release[digest]


def _protect(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.result_figures import result_figures

    settings = Settings.from_dict(payload["settings"])
    release = _made_release(settings, progress)
    progress.stage("measuring risk and utility")
    return result_figures(release)


def _curve(payload: Mapping[str, Any], progress: Progress) -> Any:
    """Return loss and risk for one k, a full result."""
    from shoal.api.compare import compare

    settings = Settings.from_dict(payload["settings"])
    _check_unchanged(settings)
    given = settings.arguments()
    names = ("method", "effort", "time_limit", "seed", "k", "accept_loss", "accept_derived", "accept_relinking")
    choices: dict[str, Any] = {name: value for name, value in given.items() if name not in names}
    if "effort" in given:
        choices["options"] = {"auto": {"effort": given["effort"]}}
    if settings.time_limit:
        choices["time_limit"] = settings.time_limit
    lines = compare(
        settings.source, k=[settings.k], methods=[settings.method], seed=settings.seed, progress=progress, **choices
    )
    line = next(iter(lines))
    return {
        "k": settings.k, "loss": line.information_loss, "linkage": line.record_linkage,
        "low": line.record_linkage_low, "high": line.record_linkage_high, "highest": line.highest_risk,
        "method": line.selected_method or line.method, "reason": line.reason, "seconds": line.seconds,
    }  # fmt: skip


def _preview(payload: Mapping[str, Any], progress: Progress) -> Any:
    """Return the estimate for one k from a few blocks; the table is cut once for all k."""
    from shoal.api.preview import LossPreview

    settings = Settings.from_dict(payload["settings"])
    _check_unchanged(settings)
    key = replace(settings, k=2, accept=()).digest()
    if key not in _cut:
        _cut.clear()
        given = settings.arguments()
        for name in ("k", "time_limit", "accept_loss", "accept_derived", "accept_relinking", "statistics"):
            given.pop(name, None)
        _cut[key] = LossPreview(settings.source, largest_k=payload["largest_k"], progress=progress, **given)
    point = _cut[key].point(settings.k, progress=progress)
    return {
        "k": point.k, "loss": point.loss, "loss_low": point.low, "loss_high": point.high, "average": point.average,
        "highest": point.highest, "blocks": point.blocks, "of_blocks": point.of_blocks, "preview": True,
        "linkage": None, "low": None, "high": None,
    }  # fmt: skip


def _check(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.checked_table import checked_table

    progress.stage("reading")
    return checked_table(payload, progress)


def _rows(payload: Mapping[str, Any], progress: Progress) -> Any:
    """Return single rows of the original: only after the steward asked to see them on this machine."""
    from shoal.api.risk_patterns import riskiest_rows

    return riskiest_rows(_made_release(Settings.from_dict(payload["settings"]), progress))


def _write(payload: Mapping[str, Any], progress: Progress) -> Any:
    settings = Settings.from_dict(payload["settings"])
    outputs = dict(payload["outputs"])
    table = outputs.pop("table")
    folder = Path(table).parent
    if not folder.is_dir():
        raise FileProblem(f"{folder} is not a directory; create it, or name another one")
    release = _made_release(settings, progress)
    if not release.manifest["output"]["fingerprint"].partition(":")[2].startswith(payload["fingerprint"]):
        raise FileProblem(
            "the table made now is not the one that was looked at, since the plan has a time limit; run the plan "
            "again, or leave out the time limit"
        )
    progress.stage("writing")
    paths = release.write(table, **outputs, overwrite=payload["overwrite"])
    return {"paths": [{"path": str(path), "size": path.stat().st_size} for path in paths]}


def _clean(payload: Mapping[str, Any], progress: Progress) -> Any:
    """Remove what a process that was killed while writing left beside its targets."""
    from shoal.tables.atomic import finish_interrupted

    finish_interrupted(Path(payload["folder"]), leftovers=True)
    return {}


def _load_schema(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.schema_files import load_schema

    progress.stage("reading")
    return load_schema(payload)


def _save_schema(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal.studio.schema_files import save_schema

    progress.stage("writing")
    return save_schema(payload)


def _methods(payload: Mapping[str, Any], progress: Progress) -> Any:
    from shoal import all_methods, get_method

    infos = [get_method(name) for name in all_methods()]
    return [{"name": info.name, "title": info.title} for info in infos]
