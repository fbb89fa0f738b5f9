"""Pages and fragments: the frame that every screen shares, formats of figures, and the answers to a change."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from shoal.core.languages import chosen_language, translated_page
from shoal.studio.help_texts import HELP

if TYPE_CHECKING:
    from shoal.studio.session import Session
    from shoal.studio.settings import Settings

SPACE = "\N{NO-BREAK SPACE}"
STEPS = (
    ("open", "Open"), ("columns", "Columns"), ("protect", "Protect"), ("run", "Run"), ("look", "Look"),
    ("out", "Hand out"),
)  # fmt: skip
ROLE_WORDS = {
    "identifier": "identifier", "unit": "person", "household": "household", "time": "time", "quasi": "quasi",
    "confidential": "confidential", "other": "other", "": "to decide",
}  # fmt: skip


def session_of(request: Request) -> Session:
    """Return the session of the server."""
    found: Session = request.app.state.session
    return found


@cache
def templates() -> Any:
    """Return the environment of the templates of this package."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=PackageLoader("shoal.studio", "templates"),
    )  # fmt: skip
    environment.filters |= {
        "percent": percent, "count": "{:,}".format, "size": size_text, "clock": clock, "drawn": drawn, "about": about,
    }  # fmt: skip
    environment.globals |= {"role_words": ROLE_WORDS, "helps": HELP}
    return environment


def whole_number(text: str, most: int = 10**9) -> int | None:
    """Return a number of ASCII digits up to a limit; None for anything else.

    Examples
    --------
    >>> whole_number("12"), whole_number("\u00b2"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None, None)
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(most)):
        return None
    return int(digits) if int(digits) <= most else None


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent; one that is not zero is never printed as zero.

    Examples
    --------
    >>> percent(0.15894, 2).replace(SPACE, " "), percent(0.00001).replace(SPACE, " ")
    ('15.89 %', 'below 0.1 %')
    """
    if share is None:
        return "–"
    text = f"{100 * share:.{digits}f}"
    if share and not float(text):
        return f"below {10.0**-digits:.{digits}f}{SPACE}%"
    return f"{text}{SPACE}%"


def size_text(size: float) -> str:
    """Return a size of a file in words.

    Examples
    --------
    >>> size_text(69_912).replace(SPACE, " ")
    '69.9 kB'
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g}{SPACE}{unit}"
    return f"{size:.0f}{SPACE}B"


def clock(when: float) -> str:
    """Return a time of this day, or a date for an earlier one."""
    today = time.strftime("%Y-%m-%d") == time.strftime("%Y-%m-%d", time.localtime(when))
    return time.strftime("%H:%M" if today else "%Y-%m-%d", time.localtime(when))


def about(seconds: float) -> str:
    """Return a duration as a person reads it.

    Examples
    --------
    >>> about(9.4).replace(SPACE, " "), about(200).replace(SPACE, " ")
    ('9 s', '3 min')
    """
    if seconds < 10:
        return f"{seconds:.1f}{SPACE}s" if seconds < 2 else f"{seconds:.0f}{SPACE}s"
    return f"{seconds:.0f}{SPACE}s" if seconds < 120 else f"{seconds / 60:.0f}{SPACE}min"


def drawn(figure: str) -> Markup:
    """Return an SVG text of the report or of :mod:`shoal.studio.drawing` as it is; both escape every name."""
    return Markup(figure)  # noqa: S704 - escaped where it is made


def page(request: Request, name: str, *, screen: str = "", **context: Any) -> HTMLResponse:
    """Return a screen; ``screen`` is the step that it belongs to, if it has another name."""
    return HTMLResponse(render(request, f"{name}.html.jinja", screen=screen or name, **context))


def fragment(request: Request, template: str, screen: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a part of a screen and, out of band, the frame: steps, plan, tools and status line."""
    body = render(request, template, screen=screen, **context)
    frame = render(request, "frame_parts.html.jinja", screen=screen, oob=True)
    return HTMLResponse(body + frame, status_code=status)


def render(request: Request, template: str, **context: Any) -> str:
    """Return a filled template."""
    session = session_of(request)
    frame = frame_context(session, context.get("screen", ""))
    access = request.app.state.access
    given = {"oob": False, "session": session, "token": access.token, "proxied": access.scheme == "https"}
    text: str = templates().get_template(template).render(frame | given | context)
    return in_language(request, text)


def in_language(request: Request, text: str) -> str:
    """Return a page in the language that the browser prefers; names from the data stay as they are."""
    return translated_page(text, language_of(request))


def language_of(request: Request) -> str:
    """Return the language that the browser prefers; English where Shoal does not have it."""
    return chosen_language(request.headers.get("accept-language"))


def go_to(path: str) -> Response:
    """Return the answer to a change that leads to another screen."""
    return Response(status_code=200, headers={"HX-Redirect": path})


def problem(request: Request, text: str, status: int = 422) -> HTMLResponse:
    """Return an error as a notice in the status line; what was typed stays."""
    body = in_language(request, templates().get_template("notice.html.jinja").render(text=text))
    return HTMLResponse(body, status_code=status, headers={"HX-Retarget": "#notices", "HX-Reswap": "innerHTML"})


def frame_context(session: Session, screen: str) -> dict[str, Any]:
    """Return what the frame shows: steps with their states, plan, next action, undo and redo, status."""
    settings, history = session.settings, session.history
    shown = session.shown_result
    open_findings = 0 if session.result is None else len(open_points(session))
    reasons = blocked(session)
    steps = []
    position = [key for key, _ in STEPS].index(screen) if screen in dict(STEPS) else -1
    for number, (key, title) in enumerate(STEPS):
        state = "shut" if reasons.get(key) else "open"
        if number == position:
            state = "now"
        elif state == "open" and _is_done(session, key):
            state = "done"
        elif key == "look" and shown is not None and not shown[1]:
            state = "stale"
        count = open_findings if key == "look" else len(settings.undecided) if key == "columns" and settings else 0
        steps.append({"key": key, "title": title, "n": number + 1, "state": state, "count": count,
                      "reason": reasons.get(key, "")})  # fmt: skip
    run = session.job("run")
    return {
        "steps": steps,
        "settings": settings,
        "file": "" if settings is None else Path(settings.source).name,
        "profile": session.profile if settings is not None and session.profile_of == settings.table else None,
        "result": session.result,
        "shown": shown,
        "estimate": session.estimate if shown is None else None,
        "next_action": next_action(session, screen, reasons),
        "undo": history.can_undo,
        "redo": history.can_redo,
        "step": history.present,
        "running": run if run is not None and run.open else None,
        "n_steps": len(history.steps),
        "n_pins": len(history.pins),
        "theme": session.theme,
    }


def _is_done(session: Session, key: str) -> bool:
    settings = session.settings
    if key == "open":
        return settings is not None
    if key in {"columns", "protect"}:
        return settings is not None and not settings.undecided and (key == "columns" or session.result is not None)
    if key in {"run", "look"}:
        return session.result is not None
    return bool(session.written)


def blocked(session: Session) -> dict[str, str]:
    """Return for each step that is not possible yet the reason."""
    settings = session.settings
    if settings is None:
        return {key: "Open a table first; the other steps follow." for key, _ in STEPS[1:]}
    found: dict[str, str] = {}
    reason = plan_problem(session, settings)
    if reason:
        found |= dict.fromkeys(("run",), reason)
        if "role" in reason or "quasi-identifier" in reason:
            found["protect"] = reason
    if session.shown_result is None:
        found["look"] = "Run the plan first."
    if session.result is None:
        found["out"] = "Possible when plan and result agree: run the plan first."
    return found


def plan_problem(session: Session, settings: Settings) -> str:
    """Return why the present plan cannot run; the empty text if it can."""
    undecided = settings.undecided
    if undecided:
        named = ", ".join(undecided[:3]) + (" …" if len(undecided) > 3 else "")
        return f"Decide the role of {len(undecided)} column{'s' if len(undecided) > 1 else ''}: {named}."
    if not settings.named("quasi"):
        return "Choose at least one quasi-identifier."
    if not settings.missing and missing_columns(session, settings):
        return "Decide what happens to missing cells."
    needs = [name for name in ("l", "t", "alpha", "beta", "p") if getattr(settings, name) is not None]
    if needs and not settings.named("confidential"):
        return f"{needs[0]} is about confidential columns; choose one, or leave {needs[0]} out."
    return ""


def missing_columns(session: Session, settings: Settings) -> list[str]:
    """Return the quasi-identifiers with missing cells."""
    profile = session.profile
    if profile is None or session.profile_of != settings.table:
        return []
    quasi = set(settings.named("quasi"))
    return [column["name"] for column in profile["columns"] if column["missing"] and column["name"] in quasi]


def next_action(session: Session, screen: str, reasons: dict[str, str]) -> dict[str, str]:
    """Return the one filled button of a screen: what comes next, or the reason why it is not possible."""
    order = {"open": "columns", "columns": "protect", "protect": "run", "run": "look", "look": "out"}
    target = order.get(screen, "")
    if not target:
        return {}
    title = dict(STEPS)[target]
    running = session.job("run")
    if target == "run":
        if reasons.get("run"):
            return {"reason": reasons["run"]}
        if session.result is not None:
            return {"label": "Next: Look", "href": "/look", "note": "The result is up to date."}
        if running is not None and running.open:
            return {"label": "See the run", "href": "/run", "note": "A run is under way."}
        return {"label": "Run", "post": "/run"}
    if target == "look" and running is not None and running.open:
        return {"reason": "Opens when the run is done."}
    if reasons.get(target):
        return {"reason": reasons[target]}
    return {"label": f"Next: {title}", "href": f"/{target}"}


def open_points(session: Session) -> list[int]:
    """Return the findings of the present result that are not decided yet."""
    result = session.result
    if result is None:
        return []
    decided = session.history.decisions.get(result["digest"], {})
    return [i for i, one in enumerate(result["decide"]) if not decided.get(one["text"], {}).get("reason")]
