"""The screens Look, Compare and History: what came of a plan, pinned runs side by side, steps and branches."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ParameterError
from shoal.studio.drawing import bar, scatter, two_bars
from shoal.studio.exports import plan_text
from shoal.studio.protect_screen import begin_run
from shoal.studio.settings import LARGEST_WEIGHT, Settings, changed_text
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
    points = [
        {**one, "decision": decided.get(one["text"]), "ways": [
            (number, way) for number, way in enumerate(one["ways"])
            if present and with_way(session.settings, way) not in (None, session.settings)
        ]}
        for one in found["decide"]
    ]  # fmt: skip
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


MORE_WEIGHT, LEAST_L, LEAST_T = 2.0, 2.0, 0.3
"""What the buttons of findings set: the factor of a weight, l and t."""


def with_way(settings: Settings, way: dict[str, str]) -> Settings | None:
    """Return settings changed by a way out of a finding; None where it does not fit them any more.

    Examples
    --------
    >>> from shoal.studio.settings import ColumnSettings
    >>> settings = Settings("people.csv", columns={"age": ColumnSettings("quasi", "numeric")})
    >>> with_way(settings, {"change": "weight", "column": "age"}).columns["age"].weight
    2.0
    """
    column = settings.columns.get(way["column"])
    if way["change"] == "l":
        return replace(settings, l=max(settings.l or 0.0, LEAST_L))
    if way["change"] == "t":
        return replace(settings, t=min(settings.t or 1.0, LEAST_T))
    if column is None or column.role != "quasi":
        return None
    if way["change"] == "weight":
        return settings.with_column(way["column"], weight=min(MORE_WEIGHT * column.weight, LARGEST_WEIGHT))
    return settings.with_column(way["column"], recode="frequencies", hierarchy="")


async def take_point(request: Request) -> Response:
    """Change the plan by a way out of a finding and run it; undo leads back."""
    session, index = session_of(request), request.path_params["index"]
    form = await request.form()
    number = whole_number(str(form.get("way", "")))
    points = [] if session.result is None else session.result["decide"]
    ways = points[index]["ways"] if index < len(points) else []
    changed = None
    if session.settings is not None and number is not None and number < len(ways):
        changed = with_way(session.settings, ways[number])
    if changed is None:
        return problem(request, "There is no such finding in the present result.", 404)
    session.change(changed)
    return await begin_run(request)


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
