"""``shoal compile``: compile loops in advance, for example when an image of a container is built."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import flags


@flags.command("output")
def compile_command(
    given: flags.Given,
    methods: Annotated[
        list[str] | None, typer.Argument(help="Names of methods; auto if none is given, all for all of them.")
    ] = None,
) -> None:
    """Compile and store the loops of methods, so that their first use on this machine is as fast as a later one.

    They are stored beside the package, in the user's cache directory if that is read-only, or in the folder that the
    environment variable SHOAL_CACHE names.
    """
    from shoal.api.compiling import compile_methods
    from shoal.cli.terminal import console
    from shoal.errors import ParameterError

    with given.progress() as progress:
        done = compile_methods(methods or ["auto"], progress=progress)
    if given.json:
        flags.print_json(done)
    elif not given.quiet:
        names = "all methods" if "all" in (methods or []) else ", ".join(done["methods"])
        count = f"{done['compiled']} loops compiled" if done["compiled"] else "all loops were compiled already"
        console().print(f"{names}: {count}; stored in {done['folder'] or 'no folder'}", soft_wrap=True)
    if done["folder"] is None:
        raise ParameterError(
            "compiled loops cannot be stored, so every process compiles them again; name a folder that can be "
            "written in the environment variable SHOAL_CACHE"
        )
