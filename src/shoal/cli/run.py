"""``shoal run``: a release repeated from its run file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags


@flags.command("output")
def run_command(
    given: flags.Given,
    file: Annotated[Path, typer.Argument(help="The run file, as written by shoal protect --save.")],
    force: flags.Force = False,
) -> None:
    """Repeat a release from its run file: the same input gives the same released table.

    The run file names input, schema, requirements, method and outputs; paths are relative to its directory. Where there
    is a unit (several rows per person), the groups are the same and the rows are in another random order.

    Example: shoal run release.toml --force
    """
    from shoal.api.repeat import run_again
    from shoal.cli.terminal import draw_parts_release, draw_release

    with given.progress() as progress:
        release, paths, confidential = run_again(file, overwrite=force, progress=progress)
    if given.json:
        flags.print_manifest(paths[1])
    elif not given.quiet and "parts" in release.manifest["method"]:
        draw_parts_release(release, {path: path not in confidential for path in paths[2:]})
    elif not given.quiet:
        draw_release(release, paths, confidential=confidential)
