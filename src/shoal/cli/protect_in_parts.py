"""``shoal protect --engine disk|spark``: a table that is protected in parts, from Parquet to Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.cli.flags import Given
from shoal.errors import ParameterError


def uses_engine(engine: str, file: Path, output: Path) -> bool:
    """Return whether the table is protected in parts; a wrong name of an engine raises ParameterError."""
    from shoal.api.partitioned import chosen_engine

    return chosen_engine(engine, file, output) != "local"


def protect_by_engine(
    given: Given, file: Path, k: int, arguments: Mapping[str, Any], files: Mapping[str, object]
) -> None:
    """Protect a table in parts, and print what was achieved.

    Parameters
    ----------
    given
        The shared options of the command.
    file, k, arguments
        The arguments of :func:`shoal.protect`.
    files
        Further output files that were asked for, by option; none of them is written in parts.
    """
    from shoal.api.protect import protect
    from shoal.cli.terminal import draw_parts_release

    for option, path in files.items():
        if path is not None and str(path) != "none":
            raise ParameterError(
                f"{option} needs the whole table in memory, and --engine {arguments['engine']} protects it in parts; "
                f"leave out {option}, or take --engine local"
            )
    with given.progress() as progress:
        release = protect(file, k, **arguments, progress=progress)
    if given.json:
        print(release.manifest_json(), end="")  # noqa: T201 - the result of the command
    elif not given.quiet:
        draw_parts_release(release)
