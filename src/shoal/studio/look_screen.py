"""The screens Look, Compare and History: what came of a plan, pinned runs side by side, steps and branches."""

from __future__ import annotations

import time
from dataclasses import fields
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ParameterError
from shoal.studio.drawing import bar, scatter, two_bars
from shoal.studio.exports import plan_text
from shoal.studio.settings import changed_text
from shoal.studio.web import fragment, go_to, open_points, page, problem, session_of, whole_number
from shoal.studio.worker import Job

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def look_screen(request: Request) -> Response:
    """Show the result of the plan, or the newest one with a notice that it is out of date."""
    session = session_of(request)
    if session.shown_result is None:
        return page(request, "empty", screen="look", title="Look", text="There is no result yet: run the plan first.")
    return page(request, "look", **_look(session))


def _look(session: Any) -> dict[str, Any]:
    found, present = session.shown_result
    decided = session.history.decisions.get(found["digest"], {})
    points = [{**one, "decision": decided.get(one["text"])} for one in found["decide"]]
    return {
        "found": found, "present": present, "points": points, "bar": bar, "two_bars": two_bars,
        "open_points": open_points(session), "by_loss": sorted(found["columns"], key=lambda one: -one["loss"]),
        "pinned": session.history.at in session.history.pins,
    }  # fmt: skip


async def decide_point(request: Request) -> Response:
    """Record the decision about a finding, with its reason."""
    session, index = session_of(request), request.path_params["index"]
    if session.result is None or index >= len(session.result["decide"]):
        return problem(request, "There is no such finding in the present result.", 404)
    form = await request.form()
    reason = str(form.get("reason", "")).strip()
    if not reason and "open" not in form:
        return problem(request, "Write the reason why this is accepted; it is printed in the history.")
    session.history.decide(session.result["digest"], session.result["decide"][index]["text"], reason)
    return fragment(request, "points.html.jinja", "look", **_look(session))


async def show_rows(request: Request) -> Response:
    """Show single rows of the original, after the steward asked for them; the history notes it."""
    session = session_of(request)
    settings, step = session.settings, session.history.present
    if session.result is None or settings is None or step is None:
        return problem(request, "Run the plan first.", 409)
    job = session.begin("rows", Job("rows", {"settings": settings.to_dict()}))
    await job.finished.wait()
    if job.state == "done":
        note = f"Single rows of the original were shown on screen, {time.strftime('%Y-%m-%d %H:%M')}."
        session.history.describe(step.number, step.name, f"{step.note}\n{note}".strip())
    response = fragment(request, "rows.html.jinja", "look", job=job)
    job.result = None  # the server keeps no record
    return response


async def compare_screen(request: Request) -> Response:
    """Show pinned runs."""
    session = session_of(request)
    runs = pinned_runs(session)
    return page(request, "compare", runs=runs, picture=scatter(runs), differing=_differing(session), words=_words(runs))


def pinned_runs(session: Any) -> list[dict[str, Any]]:
    """Return the pinned steps with their figures."""
    runs = []
    for letter, number in zip(LETTERS, session.history.pins, strict=False):
        step = session.history.steps[number]
        figures = session.history.figures.get(step.settings.digest(), {})
        empty: dict[str, Any] = {"loss": None, "linkage": None, "low": None, "high": None, "highest": None}
        runs.append({**empty, "method": "", **figures, "letter": letter, "step": step})
    return runs


def _words(runs: list[dict[str, Any]]) -> list[str]:
    """Return each pair of runs in one sentence; risks differ only if their intervals do not overlap."""
    sentences = []
    known = [run for run in runs if run["loss"] is not None]
    for first, second in pairwise(known):
        points = 100 * (second["loss"] - first["loss"])
        more = "more" if points >= 0 else "less"
        text = f"{second['letter']} loses {abs(points):.2f} points {more} than {first['letter']}"
        if first["low"] is None or second["low"] is None:
            risk = "record linkage was not measured for both"
        elif first["low"] <= second["high"] and second["low"] <= first["high"]:
            risk = "their record linkage does not differ beyond its intervals"
        else:
            lower = second["high"] < first["low"]
            risk = f"its record linkage is {'lower' if lower else 'higher'}"
        sentences.append(f"{text}; {risk}.")
    return sentences


def _differing(session: Any) -> list[dict[str, Any]]:
    """Return the settings in which the pinned steps differ."""
    steps = [session.history.steps[number] for number in session.history.pins]
    rows: list[dict[str, Any]] = []
    if not steps:
        return rows
    for entry in fields(steps[0].settings):
        if entry.name in {"columns", "source", "table", "bare_kinds"}:
            continue
        values = [getattr(step.settings, entry.name) for step in steps]
        if any(value != values[0] for value in values):
            shown = [[_plain(value)] for value in values]
            rows.append({"name": entry.name.replace("_", " "), "values": shown, "column": False})
    for name in dict.fromkeys(name for step in steps for name in step.settings.columns):
        columns = [step.settings.columns.get(name) for step in steps]
        if any(column != columns[0] for column in columns):
            shown = [["–"] if one is None else _choices(one) for one in columns]
            rows.append({"name": name, "values": shown, "column": True})
    return rows


def _choices(column: Any) -> list[str]:
    more = [f"weight {column.weight:g}"] if column.weight != 1 else []
    return [
        column.role or "to decide",
        column.kind,
        *more,
        *filter(None, (column.recode, column.hierarchy)),
        *column.before,
    ]


def _plain(value: Any) -> str:
    return "–" if value in {None, ""} or value == () else ", ".join(value) if isinstance(value, tuple) else f"{value}"


async def history_screen(request: Request) -> Response:
    """Show all steps as a tree."""
    session = session_of(request)
    number = whole_number(request.query_params.get("step", ""))
    chosen = None if number is None else session.history.steps.get(number)
    return page(request, "history", **_history(session, chosen or session.history.present))


def _history(session: Any, chosen: Any) -> dict[str, Any]:
    history = session.history
    lines: list[dict[str, Any]] = []
    waiting = [(step, 0) for step in reversed(history.children(0))]
    while waiting:
        step, depth = waiting.pop()
        figures = history.figures.get(step.settings.digest(), {})
        branch = depth > 0 and history.children(step.parent)[0] is not step
        pinned = step.number in history.pins
        lines.append({"step": step, "depth": min(depth, 5), "figures": figures, "pinned": pinned, "branch": branch})
        children = history.children(step.number)
        waiting += [(child, depth) for child in children[:1]]
        waiting += [(child, depth + 1) for child in reversed(children[1:])]
    before = None if chosen is None else history.steps.get(chosen.parent)
    earlier = None if before is None else before.settings
    return {
        "lines": lines, "chosen": chosen,
        "difference": "" if chosen is None else changed_text(earlier, chosen.settings),
        "plan": "" if chosen is None else plan_text(chosen.settings),
        "chosen_figures": {} if chosen is None else history.figures.get(chosen.settings.digest(), {}),
    }  # fmt: skip


async def move(request: Request) -> Response:
    """Undo, redo or go to a step; the page is shown again."""
    session = session_of(request)
    where = request.url.path
    try:
        if where == "/undo":
            session.history.undo()
        elif where == "/redo":
            session.history.redo()
        else:
            session.history.go(request.path_params["number"])
    except ParameterError as fault:
        return problem(request, str(fault), 404)
    return Response(status_code=200, headers={"HX-Refresh": "true"})


async def describe_step(request: Request) -> Response:
    """Set name and note of a step."""
    session, form = session_of(request), await request.form()
    number = request.path_params["number"]
    try:
        session.history.describe(number, str(form.get("name", "")).strip(), str(form.get("note", "")).strip())
    except ParameterError as fault:
        return problem(request, str(fault), 404)
    return fragment(request, "steps.html.jinja", "history", **_history(session, session.history.steps[number]))


async def pin(request: Request) -> Response:
    """Pin a step to compare it, or remove the pin."""
    session = session_of(request)
    try:
        session.history.pin(request.path_params["number"], pinned=request.method == "POST")
    except ParameterError as fault:
        return problem(request, str(fault), 404)
    return go_to("/compare") if "compare" in request.query_params else Response(headers={"HX-Refresh": "true"})
