"""``shoal protect --engine disk|spark``: a table that is protected in parts, from Parquet to Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.cli.flags import Given
from shoal.errors import ParameterError

REPORTS = {"--report": False, "--public-report": True}
"""Options for reports, and whether the report is for publication."""
RUN_FILE = "--save"
"""The option for the run file."""


def uses_engine(engine: str, file: Path, output: Path) -> bool:
    """Return whether the table is protected in parts; a wrong name of an engine raises ParameterError."""
    from shoal.api.partitioned import chosen_engine

    return chosen_engine(engine, file, output) != "local"


def protect_by_engine(
    given: Given, file: Path, k: int, arguments: Mapping[str, Any], files: Mapping[str, Path | str | float | None],
    texts: Mapping[str, Any],
) -> None:  # fmt: skip
    """Protect a table in parts, and print what was achieved.

    Parameters
    ----------
    given
        The shared options of the command.
    file, k, arguments
        The arguments of :func:`shoal.protect`.
    files
        Further files that were named, by option; only reports and a run file are written beside a release in parts.
    texts
        Title and language of the reports.
    """
    from shoal.api.partitioned import PartitionedRelease
    from shoal.api.protect import protect
    from shoal.cli.terminal import draw_parts_release
    from shoal.tables.files import check_output, check_report

    asked = [(Path(str(path)), public) for option, public in REPORTS.items() if (path := files[option]) is not None]
    reports, inputs = dict(asked), given.inputs(file, arguments["previous"])
    for path in reports:
        check_report(path, inputs, overwrite=arguments["overwrite"])
    run_file = None if files[RUN_FILE] is None else Path(str(files[RUN_FILE]))
    written = [*(path for path, _ in asked), *([] if run_file is None else [run_file])]
    if run_file is not None:
        check_output(run_file, inputs=inputs, table=False, overwrite=arguments["overwrite"])
    if len({path.resolve() for path in (*written, arguments["output"])}) <= len(written):
        raise ParameterError("the reports, the run file and the release need different names")
    for option, other in files.items():
        if option not in {*REPORTS, RUN_FILE} and other is not None and str(other) != "none":
            raise ParameterError(
                f"{option} needs the whole table in memory, and --engine {arguments['engine']} protects it in parts; "
                f"leave out {option}, or take --engine local"
            )
    with given.progress() as progress:
        release = protect(file, k, **arguments, progress=progress)
        assert isinstance(release, PartitionedRelease)
        for path, public in reports.items():
            release.report(path, public=public, overwrite=arguments["overwrite"], progress=progress, **texts)
        if run_file is not None:
            from shoal.api.repeat import run_in_parts, save_run

            save_run(run_in_parts(release, file, arguments, reports, texts), run_file, overwrite=arguments["overwrite"])
    if given.json:
        print(release.manifest_json(), end="")  # noqa: T201 - the result of the command
    elif not given.quiet:
        draw_parts_release(release, reports if run_file is None else reports | {run_file: False})
