"""The screens Protect and Run: requirements with what they mean, the curves over k, stages, cancel."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import SchemaError
from shoal.schema.statistic import Statistic
from shoal.studio.columns_screen import with_missing
from shoal.studio.drawing import curve
from shoal.studio.session import SMALL_TABLE_ROWS
from shoal.studio.settings import EFFORTS, LARGEST_K, MISSING, Settings
from shoal.studio.web import fragment, go_to, missing_columns, page, plan_problem, problem, session_of, whole_number
from shoal.studio.worker import Job

_LIMITS: dict[str, tuple[float, float, str]] = {
    "l": (1, 1000, "l is a number of different values, such as 3"),
    "t": (0.001, 1, "t is a distance between 0 and 1, such as 0.3"),
    "alpha": (0.001, 1, "alpha is a share between 0 and 1, such as 0.6"),
    "beta": (0.001, 1000, "beta is a number above 0, such as 2"),
    "p": (2, 1000, "p is a number of different values, such as 2"),
    "max_size": (2, 10**9, "the largest group size is a number of rows, at least k"),
}
_WAYS = {
    "LossNotAccepted": [("Accept this loss", {"accept": "loss"})],
    "DerivedNotAccepted": [("Accept the derived columns", {"accept": "derived"})],
    "LinksNotAccepted": [("Accept that rows can be linked", {"accept": "relinking"})],
    "MissingValues": [
        ("Fill from the group", {"missing": "fill"}), ("Suppress in mixed groups", {"missing": "suppress"}),
        ("Treat as a category", {"missing": "category"}),
    ],
}  # fmt: skip
_MOST_STATISTICS = 20
ACCEPTED = ("loss", "derived", "relinking")


async def protect_screen(request: Request) -> Response:
    """Show the requirements and the curves."""
    session = session_of(request)
    session.need_profile()
    settings = session.settings
    if settings is None or session.profile is None or session.profile_of != settings.table:
        return go_back(request)
    _need_methods(session)
    return page(request, "protect", **_context(session, wanted=False))


def go_back(request: Request) -> Response:
    """Return the screen before, where a table is opened or read."""
    from starlette.responses import RedirectResponse

    return RedirectResponse("/columns" if session_of(request).settings is not None else "/open", status_code=303)


def _need_methods(session: Any) -> Job | None:
    """Return the job that lists the methods, before the points of the curve; None if they are known."""
    if session.methods:
        return None
    running: Job | None = session.job("methods")
    if running is not None and running.open:
        return running
    done: Job = session.begin(
        "methods", Job("methods", {}, urgent=False, when_done=lambda job: _keep_methods(session, job))
    )
    return done


async def method_names(request: Request) -> Response:
    """Return the choice of methods as soon as the worker has listed them."""
    session = session_of(request)
    job = _need_methods(session)
    if job is not None:
        await job.finished.wait()
    if session.settings is None or not session.methods:
        return Response(status_code=204)
    return fragment(request, "method_names.html.jinja", "protect", methods=session.methods)


def _keep_methods(session: Any, job: Job) -> None:
    if job.state == "done":
        session.methods = job.result


def _context(session: Any, *, wanted: bool) -> dict[str, Any]:
    settings = session.settings
    points = [] if plan_problem(session, settings) else session.curve(wanted=wanted)
    here: dict[str, Any] = next((point for point in points if point["k"] == settings.k), {})
    shown = {"k": settings.k, "loss": None} | here
    if session.result is not None:
        linkage = session.result["linkage"] or {}
        shown |= {"loss": session.result["loss"], "linkage": linkage.get("value"), "reason": ""}
    waiting = any(point.get("waiting") for point in points)
    estimates = [point for point in points if point.get("preview")]
    return {
        "points": points, "waiting": waiting, "here": shown, "problem_text": plan_problem(session, settings),
        "loss_curve": curve(points, settings.k, "loss"), "risk_curve": curve(points, settings.k, "linkage"),
        "average_curve": curve(estimates, settings.k, "average"), "estimates": estimates,
        "missing_names": missing_columns(session, settings), "missing_choices": MISSING, "efforts": EFFORTS,
        "has_unit": bool(settings.named("unit")), "has_household": bool(settings.named("household")),
        "large": session.profile["n_rows"] > SMALL_TABLE_ROWS, "methods": session.methods, "limits": _LIMITS,
        "worst": _worst(session), "wanted": wanted, "reasons": _reasons(points),
    }  # fmt: skip


def _reasons(points: list[dict[str, Any]]) -> list[str]:
    """Return why points are missing, each reason once with the k that it is about."""
    by_text: dict[str, list[str]] = {}
    for point in points:
        if point.get("reason") and point["loss"] is None:
            by_text.setdefault(point["reason"], []).append(str(point["k"]))
    return [f"k = {', '.join(levels)}: {text}" for text, levels in by_text.items()]


def _worst(session: Any) -> dict[str, Any] | None:
    columns = [] if session.result is None else session.result["columns"]
    return max(columns, key=lambda one: one["loss"], default=None)


async def change_protection(request: Request) -> Response:
    """Change requirements, effort, method or the treatment of missing cells."""
    session = session_of(request)
    if session.settings is None or session.profile is None or session.profile_of != session.settings.table:
        return problem(request, "Open a table first.", 409)
    form = await request.form()
    changed = changed_settings(session.settings, {name: str(value) for name, value in form.items()},
                               session.profile["n_rows"])  # fmt: skip
    if isinstance(changed, str):
        return problem(request, changed)
    session.change(changed)
    return fragment(request, "protection.html.jinja", "protect", **_context(session, wanted=False))


def changed_settings(settings: Settings, form: Mapping[str, str], n_rows: int) -> Settings | str:
    """Return settings with the fields of a form, or what is wrong with one of them."""
    if "k" in form:
        k = whole_number(form["k"], min(LARGEST_K, max(n_rows, 2)))
        if k is None or k < 2:
            return f"k is a whole number from 2 to {min(LARGEST_K, max(n_rows, 2)):,}, the number of rows; 5 is common."
        settings = replace(settings, k=k)
    changes: dict[str, Any] = {}
    for name, (low, high, text) in _LIMITS.items():
        if name not in form:
            continue
        try:
            value = None if not form[name].strip() else float(form[name].replace(",", "."))
        except ValueError:
            return f"{text[0].upper()}{text[1:]}."
        if value is not None and not low <= value <= high:
            return f"{text[0].upper()}{text[1:]}."
        number: Any = int(value) if value is not None and name in {"p", "max_size"} else value
        changes[name] = number
    choices = {"effort": {"", *EFFORTS}, "of": {"", "rows", "units", "households", "histories"}}
    usual = {"effort": "balanced", "of": "units" if settings.named("unit") else "rows"}
    for name, allowed in choices.items():
        if form.get(name) in allowed:
            changes[name] = "" if form[name] == usual[name] else form[name]  # the form sends every field
    settings = replace(settings, **changes)
    if "method" in form and len(form["method"]) < 60 and form["method"].replace("-", "").isalnum():
        settings = replace(settings, method=form["method"])
    if "held_off" in form or "held_name" in form:
        return _with_statistic(settings, form)
    if "missing" in form:
        settings = with_missing(settings, form["missing"])
    return _with_time(settings, form)


def _with_statistic(settings: Settings, form: Mapping[str, str]) -> Settings | str:
    """Return settings with a statistic that must hold more, or without one, or what is wrong with it."""
    held = settings.statistics
    off = form.get("held_off", "")
    if off:
        return replace(settings, statistics=tuple(one for number, one in enumerate(held) if str(number) != off))
    name, value = form["held_name"].strip()[:80], form.get("held_value", "").strip()[:300]
    domains = tuple(entry.strip() for entry in form.get("held_domains", "").split(",") if entry.strip())
    try:
        relative = float(form.get("held_relative", "").replace(",", ".")) / 100
    except ValueError:
        relative = -1.0
    if not name or not value or not 0 <= relative <= 10 or len(held) >= _MOST_STATISTICS:
        return "A statistic needs a name, a column or a condition, and a change in percent from 0 to 1,000."
    unknown = [entry for entry in domains if entry not in settings.columns]
    if unknown:
        return f"The table has no column {unknown[0]}; name columns of the table, separated by commas."
    try:
        Statistic(name, value=value, domains=domains, relative=relative)
    except SchemaError as fault:
        return f"{str(fault)[:1].upper()}{str(fault)[1:]}."
    if name in {one[0] for one in held}:
        return f"There is a statistic {name} already; give each a name of its own."
    return replace(settings, statistics=(*held, (name, value, domains, relative)))


def _with_time(settings: Settings, form: Mapping[str, str]) -> Settings | str:
    if "time_limit" not in form:
        return settings
    text = form["time_limit"].strip()
    number = text.removesuffix("s").removesuffix("m")
    if text and not whole_number(number, 10**6):
        return "The time limit is a number of seconds or minutes, such as 60s or 5m; leave it empty for none."
    return replace(settings, time_limit=text)


async def curves(request: Request) -> Response:
    """Return the curves while points are computed; 204 if nothing changed since."""
    session = session_of(request)
    if session.settings is None or session.profile is None or session.profile_of != session.settings.table:
        return Response(status_code=204)
    context = _context(session, wanted=request.query_params.get("wanted") == "1")
    known = sum(point.get("loss") is not None for point in context["points"])
    fast = sum(bool(point.get("fast") or point.get("preview")) for point in context["points"])
    if request.query_params.get("known") == f"{known}-{fast}" and context["waiting"]:
        return Response(status_code=204)
    return fragment(request, "curves_and_meaning.html.jinja", "protect", **context)


async def begin_run(request: Request) -> Response:
    """Start the protection; the screen Run shows it."""
    session = session_of(request)
    if session.settings is None:
        return problem(request, "Open a table first.", 409)
    reason = plan_problem(session, session.settings)
    if reason:
        return problem(request, reason)
    if session.result is not None:
        return go_to("/look")
    await session.end_estimates()
    session.run()
    return go_to("/run")


async def run_screen(request: Request) -> Response:
    """Show the stages of the run."""
    session = session_of(request)
    if session.settings is None:
        return go_back(request)
    return page(request, "run", **run_context(session))


async def run_state(request: Request) -> Response:
    """Return the state of the run; when it is done, the screen Look."""
    session = session_of(request)
    job = session.job("run")
    if job is not None and job.state == "done":
        return go_to("/look")
    return fragment(request, "run_state.html.jinja", "run", **run_context(session))


async def cancel_run(request: Request) -> Response:
    """Cancel the run: the worker ends, nothing is written."""
    session = session_of(request)
    job = session.job("run")
    if job is not None:
        await session.worker.cancel(job)
    return fragment(request, "run_state.html.jinja", "run", **run_context(session))


async def take_way(request: Request) -> Response:
    """Take a way out of an error: change one setting and run again."""
    session = session_of(request)
    if session.settings is None:
        return problem(request, "Open a table first.", 409)
    form = await request.form()
    settings = with_missing(session.settings, str(form.get("missing", session.settings.missing)))
    accepted = str(form.get("accept", ""))
    if accepted in ACCEPTED:
        settings = replace(settings, accept=tuple(sorted({*settings.accept, accepted})))
    session.change(settings)
    return await begin_run(request)


def run_context(session: Any) -> dict[str, Any]:
    """Return stages, share, time left and rate of the newest run."""
    job = session.job("run")
    if job is None:
        return {
            "job": None,
            "share": 0.0,
            "left": None,
            "rate": None,
            "stages": [],
            "ways": [],
            "now": time.monotonic(),
        }
    stage = job.stages[-1] if job.stages else None
    share, left, rate = None, None, None
    if stage is not None and stage.get("total") and job.open:
        share = min(1.0, stage["done"] / stage["total"])
        gone = time.monotonic() - stage["started"]
        if stage["done"] and gone > 0.3:
            rate = stage["done"] / gone
            left = (stage["total"] - stage["done"]) / rate
    ways = _WAYS.get(job.error["type"], []) if job.error else []
    return {"job": job, "share": share, "left": left, "rate": rate, "stages": job.stages, "ways": ways,
            "now": time.monotonic()}  # fmt: skip
