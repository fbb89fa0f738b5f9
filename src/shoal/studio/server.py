"""The server of Shoal Studio: routes, start, idle stop. It renders pages and never computes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from shoal.core.languages import translated
from shoal.errors import FileProblem, ParameterError
from shoal.studio import (
    check_screen,
    columns_screen,
    look_screen,
    open_screen,
    out_screen,
    protect_screen,
    schema_screen,
)
from shoal.studio.security import Access, Guard
from shoal.studio.session import Session
from shoal.studio.session_folder import choose_session, state_folder
from shoal.studio.web import language_of, problem, session_of

LOCAL = "127.0.0.1"
_STATIC = {
    "studio.css": "text/css", "parts.css": "text/css", "studio.js": "text/javascript", "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml", "colours.css": "text/css",
}  # fmt: skip


class _Small(Convertor[int]):
    """A number of at most nine digits, so that no request can name a huge one."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("small", _Small())


async def _start(request: Request) -> Response:
    access: Access = request.app.state.access
    cookie = access.exchange(request.path_params["token"])
    if cookie is None:
        return PlainTextResponse("This link was used before. Start shoal studio again for a new link.\n", 403)
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        access.cookie_name, cookie, httponly=True, samesite="strict", path="/", secure=access.scheme == "https"
    )
    return response


async def _home(request: Request) -> Response:
    session = session_of(request)
    opening = session.job("open")
    known = session.settings is not None or (opening is not None and opening.open)
    return RedirectResponse("/columns" if known else "/open", status_code=303)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        return PlainTextResponse("There is no such file.\n", 404)
    if name == "colours.css":
        return Response(_shades(), media_type="text/css")
    body = package_files("shoal.studio").joinpath("static", name).read_bytes()
    return Response(body, media_type=_STATIC[name])


@cache
def _shades() -> str:
    """Return the colours of the heat maps of the report, for light and dark."""
    from shoal.report.palette import DARK, LIGHT, shades

    dark = shades(DARK)
    return "".join(
        f"svg .{name}{{fill:light-dark({cell},{dark[name][0]})}}"
        f"svg .{name}-text{{fill:light-dark({text},{dark[name][1]})}}"
        for name, (cell, text) in shades(LIGHT).items()
    )


async def _theme(request: Request) -> Response:
    form = await request.form()
    if form.get("theme") in {"", "light", "dark"}:
        session_of(request).theme = str(form["theme"])
    return Response(status_code=204)


async def _end(request: Request) -> Response:
    request.app.state.ending = True
    request.app.state.stop()
    text = "The session has ended; its files were removed. This page can be closed."
    return PlainTextResponse(f"{translated(text, language_of(request))}\n")


async def _not_found(request: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 404
    return PlainTextResponse("There is no such page.\n", status)


async def _fault(request: Request, fault: Exception) -> Response:
    """Answer an internal error without its text, which may quote records."""
    return problem(request, f"Internal error ({type(fault).__name__}); nothing was written.", 500)


def routes() -> list[Route]:
    """Return all routes."""
    get, post = ["GET"], ["POST"]
    return [
        Route("/", _home, methods=get),
        Route("/start/{token}", _start, methods=get),
        Route("/static/{name}", _static, methods=get),
        Route("/theme", _theme, methods=post),
        Route("/end", _end, methods=post),
        Route("/open", open_screen.open_screen, methods=get),
        Route("/open", open_screen.open_table, methods=post),
        Route("/files", open_screen.files, methods=get),
        Route("/peek", open_screen.peek, methods=post),
        Route("/upload", open_screen.upload, methods=post),
        Route("/database", open_screen.open_database, methods=post),
        Route("/demo/{name}", open_screen.open_demo, methods=post),
        Route("/columns", columns_screen.columns_screen, methods=get),
        Route("/columns/rows", columns_screen.more_columns, methods=get),
        Route("/columns/all", schema_screen.change_many, methods=post),
        Route("/columns/schema", schema_screen.schema_file, methods=post),
        Route("/columns/{index:small}", columns_screen.change_column, methods=post),
        Route("/columns/{index:small}/panel", columns_screen.panel, methods=get),
        Route("/columns/{index:small}/panel", columns_screen.change_panel, methods=post),
        Route("/protect", protect_screen.protect_screen, methods=get),
        Route("/protect", protect_screen.change_protection, methods=post),
        Route("/protect/methods", protect_screen.method_names, methods=get),
        Route("/curves", protect_screen.curves, methods=get),
        Route("/run", protect_screen.run_screen, methods=get),
        Route("/run", protect_screen.begin_run, methods=post),
        Route("/run", protect_screen.cancel_run, methods=["DELETE"]),
        Route("/run/state", protect_screen.run_state, methods=get),
        Route("/run/way", protect_screen.take_way, methods=post),
        Route("/look", look_screen.look_screen, methods=get),
        Route("/look/rows", look_screen.show_rows, methods=post),
        Route("/check", check_screen.check_screen, methods=get),
        Route("/check", check_screen.check_table, methods=post),
        Route("/points/{index:small}", look_screen.decide_point, methods=post),
        Route("/points/{index:small}/way", look_screen.take_point, methods=post),
        Route("/compare", look_screen.compare_screen, methods=get),
        Route("/history", look_screen.history_screen, methods=get),
        Route("/undo", look_screen.move, methods=post),
        Route("/redo", look_screen.move, methods=post),
        Route("/goto/{number:small}", look_screen.move, methods=post),
        Route("/steps/{number:small}", look_screen.describe_step, methods=post),
        Route("/pins/{number:small}", look_screen.pin, methods=["POST", "DELETE"]),
        Route("/out", out_screen.out_screen, methods=get),
        Route("/out", out_screen.write_files, methods=post),
        Route("/out/files", out_screen.out_files, methods=get),
        Route("/out/report/{index:small}", out_screen.written_report, methods=get),
    ]


def make_app(
    session_folder: Any, access: Access, *, start_folder: str = ".", first: str | None = None,
    stop: Callable[[], None] = lambda: None,
) -> Any:  # fmt: skip
    """Return the application with its guard.

    Parameters
    ----------
    session_folder
        The private directory of the session.
    access
        Hosts, cookie and tokens.
    start_folder
        The directory that Open lists first.
    first
        A table to open at once.
    stop
        Ends the server.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.session = session = Session(session_folder)
        if first is not None:
            session.open_table(first, {})
        yield
        await session.close(end=app.state.ending)

    app = Starlette(
        routes=routes(), lifespan=lifespan, exception_handlers={HTTPException: _not_found, Exception: _fault}
    )
    app.state.access, app.state.start_folder, app.state.ending, app.state.stop = access, start_folder, False, stop
    app.state.used = time.monotonic()

    def used() -> None:
        app.state.used = time.monotonic()

    guard = Guard(app, access, used)
    guard.app = app  # type: ignore[attr-defined]
    return guard


def serve(
    file: str | None, *, host: str = LOCAL, port: int = 0, behind_proxy: str | None = None, idle: float = 3600.0,
    new: bool = False, announce: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Run the studio until it is ended, interrupted, or not used for a while.

    Parameters
    ----------
    file
        A table to open.
    host, port
        Where to listen; port 0 takes a free one.
    behind_proxy
        The public address of the reverse proxy, such as ``https://studio.office.example``; needed for another host.
    idle
        Seconds without a request or a run after which the server stops.
    new
        Start a new session although there is one to continue.
    announce
        Receives the one-time link.
    """
    import uvicorn

    public = check_host(host, behind_proxy)
    first = None
    if file is not None:
        found = open_screen.table_path(file)
        if isinstance(found, str):
            raise FileProblem(found.rstrip("."))
        first = str(found)
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # before the link is shown: a browser that is quick waits instead of being refused
    except OSError as fault:
        reason = (fault.strerror or "unknown reason").lower()
        raise ParameterError(f"port {port} of {host} cannot be used ({reason}); choose another with --port") from None
    number = listening.getsockname()[1]
    hosts = {public.partition("://")[2]} if public else {f"{LOCAL}:{number}", f"localhost:{number}"}
    access = Access(frozenset(hosts), scheme=public.partition("://")[0] if public else "http")
    folder = choose_session(state_folder(), new=new or first is not None)
    config = uvicorn.Config(
        lambda: None, log_level="critical", access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=2, lifespan="on", ws="none", loop="asyncio",
    )  # fmt: skip
    server = uvicorn.Server(config)

    def stop() -> None:
        server.should_exit = True

    guard = make_app(folder, access, start_folder=os.fspath(Path.cwd()), first=first, stop=stop)
    config.app = guard
    announce(f"{public or f'http://{LOCAL}:{number}'}/start/{access.link_token}")
    asyncio.run(_serve(server, listening, guard.app, idle))


async def _serve(server: Any, listening: socket.socket, app: Any, idle: float) -> None:
    async def watch() -> None:
        while True:
            await asyncio.sleep(min(idle, 5.0))
            session = getattr(app.state, "session", None)
            busy = session is not None and any(job.task in {"protect", "write"} for job in session.worker.jobs)
            if not busy and time.monotonic() - app.state.used > idle:
                server.should_exit = True

    watching = asyncio.create_task(watch())
    if sys.platform != "win32":
        for number in (signal.SIGHUP,):
            asyncio.get_running_loop().add_signal_handler(number, lambda: setattr(server, "should_exit", True))
    await server.serve(sockets=[listening])
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


def check_host(host: str, behind_proxy: str | None) -> str:
    """Return the public address of a proxy, the empty text for none; raise where another host has no proxy.

    Examples
    --------
    >>> check_host("127.0.0.1", None)
    ''
    """
    if behind_proxy is None:
        if host != LOCAL:
            raise ParameterError(
                f"--host {host} would offer confidential tables to the network without a login and without encryption; "
                "put a reverse proxy with its own login in front and name its address with --behind-proxy "
                "https://studio.office.example, or leave out --host"
            )
        return ""
    scheme, _, name = behind_proxy.rstrip("/").partition("://")
    if scheme != "https" or not name or "/" in name:
        raise ParameterError(
            f"--behind-proxy {behind_proxy} must be the https address of the proxy, such as "
            "https://studio.office.example"
        )
    return f"{scheme}://{name}"
