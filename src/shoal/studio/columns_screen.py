"""The screen Columns: role and kind of each column, with the guess and its reason; the panel of one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.schema.step_texts import parse_step
from shoal.studio.drawing import small_bars
from shoal.studio.settings import (
    HIERARCHIES,
    KINDS,
    LARGEST_WEIGHT,
    MISSING,
    ROLES,
    UNDECIDED,
    USES,
    ColumnSettings,
    Settings,
)
from shoal.studio.trees import MOST_VALUES, WAYS, build, edited, tree_view, ways_of
from shoal.studio.web import fragment, page, problem, session_of, whole_number

ROWS = 200
"""Columns that are sent at once."""
RECODES = {
    "numeric": ("mean", "median", "medoid", "range", "midrange", "min", "max", "frequencies", "suppress"),
    "ordinal": ("median", "mode", "medoid", "range", "min", "max", "frequencies", "suppress"),
    "nominal": ("mode", "medoid", "set", "frequencies", "suppress"),
}  # fmt: skip
STEP_WORDS = {
    "numeric": {
        "top": "top coding: larger values become", "bottom": "bottom coding: smaller values become",
        "round": "round to multiples of", "band": "bands, width or edges",
    },
    "date": {
        "top": "top coding: later dates become", "bottom": "bottom coding: earlier dates become",
        "round": "round to day, week, month, quarter or year", "band": "bands: month, quarter or year",
    },
    "ordinal": {
        "rare": "categories of fewer rows become one: rows", "map": "map values: a file of two columns",
        "top": "top coding: larger values become", "bottom": "bottom coding: smaller values become",
        "band": "bands, width or edges",
    },
    "nominal": {
        "rare": "categories of fewer rows become one: rows", "map": "map values: a file of two columns",
    },
}  # fmt: skip
"""The steps before grouping that the panel offers, by the kind of the column."""
UNCHANGED = {"other", "confidential"}
"""The roles of columns whose values are released as they are."""
SHARED_ROWS = 10
"""Rows that must share a value before a count of it is shown."""
_FEW_ROWS_PER_VALUE = 0.9


async def columns_screen(request: Request) -> Response:
    """Show the columns; while the table is read, what is under way."""
    session = session_of(request)
    opening = session.job("open")
    if opening is None or not opening.open:
        session.need_profile()
        opening = session.job("open")
    if session.settings is None and opening is None:
        return page(
            request, "empty", screen="columns", title="Columns", text="Open a table first; the other steps follow."
        )
    if opening is not None and (opening.open or opening.state == "failed" or session.profile is None):
        return page(request, "opening", screen="columns", job=opening)
    return page(request, "columns", **_context(session, request.query_params))


async def more_columns(request: Request) -> Response:
    """Return the rows of the table that are shown, after a filter or when the end comes into view."""
    session = session_of(request)
    if session.settings is None or session.profile is None or session.profile_of != session.settings.table:
        return problem(request, "Open a table first.", 409)
    return fragment(request, "column_rows.html.jinja", "columns", **_context(session, request.query_params))


def _context(session: Any, query: Mapping[str, str]) -> dict[str, Any]:
    settings, profile = session.settings, session.profile
    show, find = query.get("show", ""), query.get("find", "")
    start = whole_number(query.get("after", "")) or 0
    wanted = set(shown_columns(session, find, show))
    rows = [column_row(session, index) for index, entry in enumerate(profile["columns"]) if entry["name"] in wanted]
    counts = {role: len(settings.named(role)) for role in ROLES}
    return {
        "rows": rows[start : start + ROWS], "after": start + ROWS if len(rows) > start + ROWS else 0, "show": show,
        "find": find, "counts": counts, "roles": ROLES, "kinds": KINDS, "total": len(profile["columns"]),
        "undecided": settings.undecided, "schema_path": _schema_path(session),
        "start": start, "has_loss": session.shown_result is not None,
    }  # fmt: skip


def _schema_path(session: Any) -> str:
    """Return where a schema file of the table would lie: beside it, if it is no private copy."""
    source = Path(session.settings.source)
    name = f"{source.name.split('.')[0] or 'table'}.schema.toml"
    return name if source.is_relative_to(session.folder.path) else str(source.parent / name)


def shown_columns(session: Any, find: str, show: str) -> list[str]:
    """Return the names of the columns that a filter shows: a part of the name, and a role."""
    role = UNDECIDED if show == "undecided" else show
    return [
        name
        for name, column in session.settings.columns.items()
        if find.casefold() in name.casefold() and (not show or column.role == role)
    ]


def kind_changes(entry: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return what changes with the kind of a column: what fits the earlier kind only is left."""
    changes: dict[str, Any] = {"kind": kind, "recode": "", "hierarchy": "", "tree": ()}
    if kind == "ordinal" and not entry["order"] and entry.get("values"):
        changes["order"] = tuple(entry["values"])
    return changes


def column_row(session: Any, index: int) -> dict[str, Any]:
    """Return what the row of a column shows."""
    entry = session.profile["columns"][index]
    settings: ColumnSettings = session.settings.columns[entry["name"]]
    shown = session.shown_result
    losses = {} if shown is None else {one["name"]: one["loss"] for one in shown[0]["columns"]}
    return {
        **entry, "index": index, "settings": settings, "bars": small_bars(entry["bins"]),
        "loss": losses.get(entry["name"]), "use": session.settings.use_of(entry["name"]),
        "warnings": _warnings(session, entry, settings),
        "changed": settings.kind != entry["kind"] or (entry["role"] and settings.role != entry["role"]),
    }  # fmt: skip


def _warnings(session: Any, entry: dict[str, Any], settings: ColumnSettings) -> list[str]:
    found = []
    n_rows = session.profile["n_rows"]
    if settings.role == UNDECIDED:
        found.append("Nothing is known about this column: who else could know its values about a person?")
    if settings.role == "other" and entry["distinct"] > _FEW_ROWS_PER_VALUE * n_rows and n_rows > 20:
        found.append("Nearly every row has a value of its own, and it would be released unchanged.")
    derived = entry.get("derived")
    roles = session.settings.columns
    if settings.role == "quasi" and derived and all(roles[one].role in UNCHANGED for one in derived["sources"]):
        found.append(
            f"Columns that are released unchanged give it back: it is {derived['rule']}. Call one of them quasi, or an "
            "identifier, which is dropped."
        )
    if settings.role == "quasi" and entry["missing"] and not session.settings.missing:
        one = entry["missing"] == 1
        cells = "1 cell is missing" if one else f"{entry['missing']:,} cells are missing"
        found.append(f"{cells}: decide what happens to {'it' if one else 'them'} in Protect.")
    if settings.role == "quasi" and settings.kind == "nominal" and entry["distinct"] > n_rows / 2:
        found.append("Most rows have a category of their own; grouping will lose most of this column.")
    return found


def _entry(request: Request) -> tuple[Any, int] | None:
    session, index = session_of(request), request.path_params["index"]
    if session.settings is None or session.profile is None or session.profile_of != session.settings.table:
        return None
    return (session, index) if index < len(session.profile["columns"]) else None


async def change_column(request: Request) -> Response:
    """Change role or kind of a column."""
    found = _entry(request)
    if found is None:
        return problem(request, "There is no such column; open the table again.", 404)
    session, index = found
    form = await request.form()
    changes: dict[str, Any] = {}
    if form.get("role") in {*ROLES}:
        changes["role"] = str(form["role"])
    name = session.profile["columns"][index]["name"]
    if form.get("kind") in {*KINDS} - {session.settings.columns[name].kind}:
        changes |= kind_changes(session.profile["columns"][index], str(form["kind"]))
    if not changes:
        return problem(request, "Choose a role or a kind from the list.")
    before = session.settings.undecided
    session.change(session.settings.with_column(name, **changes))
    if set(session.settings.undecided) - set(before):  # a role that one column can have was taken from another
        return Response(status_code=200, headers={"HX-Refresh": "true"})
    return fragment(
        request, "column_row.html.jinja", "columns", row=column_row(session, index), roles=ROLES, kinds=KINDS,
        has_loss=session.shown_result is not None,
    )  # fmt: skip


async def panel(request: Request) -> Response:
    """Show the panel of a column."""
    found = _entry(request)
    if found is None:
        return problem(request, "There is no such column; open the table again.", 404)
    return fragment(request, "panel.html.jinja", "columns", **_panel(*found))


def _panel(session: Any, index: int) -> dict[str, Any]:
    row = column_row(session, index)
    kind = row["settings"].kind
    shown = session.shown_result
    drawn = next((one for one in shown[0]["distributions"] if one["name"] == row["name"]), None) if shown else None
    values, counts = row.get("values", []), row.get("value_counts", [])
    tree = row["settings"].tree
    return {
        "row": row, "recodes": RECODES[kind], "hierarchies": HIERARCHIES[kind], "distribution": drawn,
        "total": len(session.profile["columns"]), "n_rows": session.profile["n_rows"],
        "ways": {way: WAYS[way] for way in ways_of(kind, values)} if values else {}, "most_values": MOST_VALUES,
        "tree": tree_view(tree, dict(zip(values, counts, strict=True))) if tree else None, "least": SHARED_ROWS,
        "uses": USES, "use": session.settings.use_of(row["name"]),
        "step_words": STEP_WORDS["date" if row["type"] in {"date", "time"} else kind],
    }  # fmt: skip


async def change_panel(request: Request) -> Response:
    """Change weight, order, representative, hierarchy or steps of a column."""
    found = _entry(request)
    if found is None:
        return problem(request, "There is no such column; open the table again.", 404)
    session, index = found
    form = await request.form()
    name = session.profile["columns"][index]["name"]
    changes = _panel_changes(session.settings.columns[name], form, session.profile["columns"][index])
    if isinstance(changes, str):
        return problem(request, changes)
    settings = session.settings.with_column(name, **changes) if changes else session.settings
    if form.get("use") in USES and settings.columns[name].role in UNCHANGED:
        settings = settings.with_use(name, str(form["use"]))
    session.change(settings)
    context = _panel(session, index)
    return fragment(
        request, "panel_and_row.html.jinja", "columns", **context, roles=ROLES, kinds=KINDS,
        has_loss=session.shown_result is not None,
    )  # fmt: skip


def _panel_changes(column: ColumnSettings, form: Any, entry: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return the changes of the panel, or what is wrong with them."""
    try:
        changes = _weight(form) | _words(column, form) | _steps(column, form) | _order(column, form)
        changes |= _tree(column, form, entry)
    except ValueError as fault:
        return str(fault)
    return changes if changes or "use" in form else "Nothing was changed."


def _weight(form: Any) -> dict[str, Any]:
    if "weight" not in form:
        return {}
    try:
        weight = float(str(form["weight"]))
    except ValueError:
        weight = -1.0
    if not 0 < weight <= LARGEST_WEIGHT:
        raise ValueError("The weight is a number above 0, at most 1,000; 1 counts as much as every other column.")
    return {"weight": weight}


def _words(column: ColumnSettings, form: Any) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if form.get("recode", "") in {"", *RECODES[column.kind]} and "recode" in form:
        changes["recode"] = str(form["recode"])
    hand = {"hand"} if column.tree else set()
    if form.get("hierarchy", "") in {"", *HIERARCHIES[column.kind]} | hand and "hierarchy" in form:
        changes["hierarchy"] = str(form["hierarchy"])
    return changes


def _steps(column: ColumnSettings, form: Any) -> dict[str, Any]:
    """Return the steps before grouping after one was added, removed, or all were written anew."""
    if "before" in form:
        steps = [line.strip() for line in str(form["before"]).splitlines() if line.strip()]
    elif form.get("step") in {*(word for words in STEP_WORDS.values() for word in words)}:
        amount = str(form.get("amount", "")).strip()
        if not amount:
            raise ValueError("Write the number or the unit of the step, such as 90 for top coding.")
        steps = [*column.before, f"{form['step']} {amount}"]
    elif str(form.get("remove", "")).isascii() and str(form.get("remove", "")).isdigit():
        steps = [step for number, step in enumerate(column.before) if number != int(str(form["remove"])[:9])]
    else:
        return {}
    if len(steps) > 10 or any(len(step) > 2000 for step in steps):
        raise ValueError("At most ten steps, such as: top 90")
    try:
        return {"before": tuple(str(parse_step(step)) for step in steps)}
    except ShoalError as fault:
        text = fault.command_line or str(fault)
        raise ValueError(f"{text[:1].upper()}{text[1:]}.") from None


def _order(column: ColumnSettings, form: Any) -> dict[str, Any]:
    """Return the order after a category was moved: by one place, or to a place where it was dropped."""
    words = str(form.get("move", "")).split()
    if len(words) != 2 or not column.order:
        return {}
    order, last = list(column.order), len(column.order) - 1
    if not (words[0].isascii() and words[0].isdigit()) or int(words[0][:9]) > last:
        return {}
    first = int(words[0][:9])
    if words[1] in {"-1", "+1"}:
        second = first + int(words[1])
    elif words[1].isascii() and words[1].isdigit():
        second = int(words[1][:9])
    else:
        return {}
    if not 0 <= second <= last or first == second:
        return {}
    order.insert(second, order.pop(first))
    return {"order": tuple(order)}


def _tree(column: ColumnSettings, form: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree that the wizard made, or that was edited."""
    if "way" in form:
        values = list(column.order) if column.kind == "ordinal" and column.order else entry.get("values", [])
        way = str(form["way"])
        if way not in ways_of(column.kind, values) or not values:
            raise ValueError("Choose a way of the list; this column has too many values, or none that fit it.")
        return {"tree": build(way, str(form.get("detail", ""))[:200], values), "hierarchy": "hand", "recode": ""}
    if "tree" in form and column.tree:
        chosen = [str(one) for one in form.getlist("node")]
        action = str(form["tree"])
        rows = edited(column.tree, action, chosen, str(form.get("name", "")), str(form.get("target", "")))
        return {"tree": rows, "hierarchy": "hand"}
    return {}


def with_missing(settings: Settings, policy: str) -> Settings:
    """Return settings with a treatment of missing cells; an unknown one changes nothing."""
    return replace(settings, missing=policy) if policy in {"", *MISSING} else settings
