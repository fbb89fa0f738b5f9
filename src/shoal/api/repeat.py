"""Run files: a release is stored with all that is needed to repeat it, and repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.api.protect import run_plan
from shoal.api.release import Release
from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.errors import SchemaError
from shoal.flow.resolved import check_resolved, resolved_call
from shoal.schema.loading import load
from shoal.schema.run_file import Accepted, InputFiles, OutputFiles, RunFile, format_run, read_run
from shoal.tables import write_files
from shoal.tables.files import check_output, check_report, check_targets, holder_record_path, write_text

if TYPE_CHECKING:
    from shoal.api.partitioned import PartitionedRelease


@checked
def load_run(path: str | Path) -> RunFile:
    """Read a run file, which ``shoal protect --save`` or :func:`save_run` wrote.

    Parameters
    ----------
    path
        The run file.

    Returns
    -------
    run
        The plan, the files that it reads and those that it writes; paths are those that the run file names, seen from
        the present directory. Raises :class:`shoal.errors.ParameterError` for an unknown or wrong entry, for another
        version of the file, and for a method that this Shoal does not have in the version that ran.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"age": [30, 32, 60, 62]}).write_csv(f"{folder}/people.csv")
    ...     release = shoal.protect(f"{folder}/people.csv", k=2, quasi=["age"])
    ...     _ = release.write(f"{folder}/safe.csv", run_file=f"{folder}/release.toml")
    ...     run = shoal.load_run(f"{folder}/release.toml")
    ...     table, _ = shoal.load_table(run.input.file, schema=run.plan.schema)
    ...     again = shoal.run_plan(table, run.plan)
    >>> run.plan.method.resolved[0].identity, again.data.equals(release.data)
    ('optimal-1d@1', True)
    """
    run = read_run(Path(path))
    check_resolved(run.plan.method)
    return run


@checked
def save_run(run: RunFile, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a run file with mode 0600: it lists values of the original, so it stays with the data holder.

    Parameters
    ----------
    run
        What is to be repeated.
    path
        The run file, a TOML file.
    overwrite
        Whether an existing file is replaced; if not, it raises :class:`shoal.errors.FileProblem`.

    Returns
    -------
    path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl, shoal
    >>> _, schema = shoal.load_table(pl.DataFrame({"age": [30, 31, 32]}), quasi=["age"])
    >>> plan = shoal.Plan(schema, shoal.Requirements(k=3))
    >>> run = shoal.RunFile(plan, shoal.InputFiles("people.csv"), shoal.OutputFiles("safe.csv"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_run(run, f"{folder}/release.toml")
    ...     shoal.load_run(path).plan.requirements.k
    3
    """
    path = Path(path)
    check_output(path, inputs=run_inputs(run), table=False, overwrite=overwrite)
    text = format_run(run, path.parent)
    write_files({path: lambda target: write_text(target, text)}, private=(path,))
    return path


def run_inputs(run: RunFile) -> list[Path]:
    """Return the files that a run reads, which no output may replace."""
    hierarchies = [
        Path(column.hierarchy) for column in run.plan.schema.columns if isinstance(column.hierarchy, str | Path)
    ]
    further = (run.input.previous, run.input.population, run.input.control)
    return [run.input.file, *(path for path in further if path is not None), *hierarchies]


def run_again(
    path: Path, *, overwrite: bool = False, progress: Progress = SILENT
) -> tuple[Release, list[Path], list[Path]]:
    """Repeat the release of a run file and write its files.

    Parameters
    ----------
    path
        The run file.
    overwrite
        Whether files that exist are replaced.
    progress
        Progress callback.

    Returns
    -------
    release, written, confidential
        The release, all files that were written (the table first, then its manifest), and the confidential ones.
    """
    run = load_run(path)
    plan, output = run.plan, run.output
    if output.engine is not None:
        return _repeated_in_parts(run, path, overwrite=overwrite, progress=progress)
    record = holder_record_path(output.table, output.holder_record)
    inputs = [*run_inputs(run), path]
    manifest = check_targets(
        output.table, output.manifest, output.report, public_report=output.public_report, holder_record=record,
        inputs=inputs, overwrite=overwrite,
    )  # fmt: skip
    table, schema = load(run.input.file, plan.schema, {}, plan.reading, progress)
    listed = {column.name for column in plan.schema.columns}
    new = [name for name in table.names if name not in listed]
    if new:  # unnamed was decided for the columns of the earlier table
        raise SchemaError(
            f'column "{new[0]}" of {run.input.file} is not in the run file; add it to schema.columns with its role, or '
            "protect the table anew"
        )
    table = replace(table, inputs=(*table.inputs, path))
    release = run_plan(
        table, replace(plan, schema=schema), previous=run.input.previous, accept_loss=run.accept.loss,
        accept_relinking=run.accept.relinking, accept_derived=run.accept.derived,
        accept_second_release=run.accept.second_release, progress=progress,
    )  # fmt: skip
    progress.stage("writing")
    written = release.write(
        output.table, manifest=manifest, holder_record=record or "none", report=output.report,
        public_report=output.public_report, title=output.title, language=output.language, overwrite=overwrite,
        population=run.input.population if run.input.individuals is None else run.input.individuals,
        sampling_fraction=run.input.sampling_fraction, control=run.input.control,
    )  # fmt: skip
    return release, written, [place for place in (record, output.report) if place is not None]


def run_in_parts(
    release: PartitionedRelease, file: Path, given: Mapping[str, Any], reports: Mapping[Path, bool],
    texts: Mapping[str, Any],
) -> RunFile:  # fmt: skip
    """Return what repeats a release in parts, by the same engine.

    Parameters
    ----------
    release
        The release.
    file
        The table that it was made from.
    given
        The arguments of :func:`shoal.protect`.
    reports
        Reports beside it, and whether each is for publication.
    texts
        Title and language of the reports.
    """
    plan = replace(release.plan, method=resolved_call(release.plan.method, release.found.figures.runs))
    places = {public: place for place, public in reports.items()}
    output = OutputFiles(
        Path(given["output"]), holder_record=Path("none"), report=places.get(False), public_report=places.get(True),
        engine=release.engine, **texts,
    )  # fmt: skip
    accepted = Accepted(given["accept_loss"], given["accept_relinking"], given["accept_derived"])
    return RunFile(plan, InputFiles(file), output, accepted)


def _repeated_in_parts(
    run: RunFile, path: Path, *, overwrite: bool, progress: Progress
) -> tuple[Release, list[Path], list[Path]]:
    """Repeat a release that was made in parts; each part resolves its method anew, in the versions that ran."""
    from shoal.api.partitioned import protect_by_engine
    from shoal.schema.plan import ReadOptions

    output, accept = run.output, run.accept
    plan = replace(run.plan, method=replace(run.plan.method, resolved=()))
    reports = [(place, place == output.public_report) for place in (output.report, output.public_report) if place]
    for place, _ in reports:
        check_report(place, [*run_inputs(run), path], overwrite=overwrite)
    given = {
        "data": run.input.file, "schema": plan.schema, "previous": run.input.previous, "engine": output.engine,
        "output": output.table, "overwrite": overwrite, "progress": progress, "accept_loss": accept.loss,
        "accept_derived": accept.derived, "accept_relinking": accept.relinking,
    }  # fmt: skip
    release = protect_by_engine(
        str(output.engine), given, {}, lambda schema: replace(plan, schema=schema), ReadOptions()
    )  # fmt: skip
    for place, public in reports:
        release.report(
            place, public=public, title=output.title, language=output.language, overwrite=overwrite, progress=progress
        )
    paths = release.paths if len(release.paths) > 1 else [*release.paths, release.paths[0] / "_manifest.json"]
    return release, [*paths, *(place for place, _ in reports)], [place for place, public in reports if not public]
