"""``shoal studio``: the whole job in the browser."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from shoal.errors import MissingExtra


def studio_command(
    file: Annotated[str | None, typer.Argument(help="A table to open.", metavar="FILE")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; a free one if not given.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the link in the browser.")] = True,
    new: Annotated[bool, typer.Option("--new", help="Start a new session; the last one is not continued.")] = False,
    idle: Annotated[
        float, typer.Option(min=1, metavar="MINUTES", help="Stop after so many minutes without a request or a run.")
    ] = 60,
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 need --behind-proxy.")] = (
        "127.0.0.1"
    ),
    behind_proxy: Annotated[
        str | None, typer.Option(metavar="URL", help="Public https address of a reverse proxy with its own login.")
    ] = None,
) -> None:
    """Start Shoal Studio, the whole job in the browser on this machine; Ctrl-C ends it.

    Example: shoal studio people.csv
    """
    try:
        from shoal.studio.server import serve
    except ImportError as problem:
        raise MissingExtra(
            'the studio needs starlette, uvicorn and python-multipart; install them with: pip install "shoal[studio]"'
        ) from problem

    def announce(link: str) -> None:
        typer.echo(f"Shoal Studio: {link}\nThe link works once, in one browser. Ctrl-C ends the studio.")
        if browser:
            import webbrowser

            webbrowser.open(link)

    with suppress(KeyboardInterrupt):  # Ctrl-C is how the studio ends
        serve(file, host=host, port=port, behind_proxy=behind_proxy, idle=60 * idle, new=new, announce=announce)
