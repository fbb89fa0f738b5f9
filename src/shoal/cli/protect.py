"""``shoal protect``: a table in, a protected table and its evidence out."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import flags
from shoal.errors import ParameterError


@flags.command("roles", "persons", "histories", "treatment", "models", "reading", "output")
def protect_command(
    given: flags.Given,
    file: flags.File,
    k: flags.K,
    output: flags.Output,
    method: Annotated[str, typer.Option(help="Grouping method; see shoal methods.")] = "auto",
    labels: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column with the group of each record, in place of a method; not released."),
    ] = None,
    effort: Annotated[str | None, typer.Option(help="For method auto: fast, balanced (default) or best.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option of the method; a list is written a,b. Repeatable."),
    ] = None,
    seed: flags.Seed = 0,
    manifest: flags.ManifestFile = None,
    report: Annotated[Path | None, typer.Option(help="Write the report for the data holder, one HTML file.")] = None,
    public_report: Annotated[
        Path | None, typer.Option(help="Write the report for publication, without figures of the original.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the reports.", metavar="TEXT")] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the reports, en or de; that of the environment if not given.")
    ] = None,
    population: flags.ReportedPopulation = None,
    sampling_fraction: flags.ReportedFraction = None,
    control: Annotated[
        Path | None,
        typer.Option(help="For --report: table of persons who are not in the release, as in shoal evaluate."),
    ] = None,
    max_suppressed: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="For method full-domain: largest share of records that are suppressed."),
    ] = None,
    moment_bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="With --keep-moments: bounds of a column, age=0:110. Repeatable."),
    ] = None,
    holder_record: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Holder's record, confidential; beside the output if not given, none to write none."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a run file, confidential, by which shoal run repeats the release."),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(help="Holder's record of an earlier release of the same people, whose groups are kept."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Where to run: local (in memory), disk (Parquet beyond memory), spark (a cluster), or auto (local or "
            "disk, as memory allows)."
        ),
    ] = "local",
    force: flags.Force = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Allow a loss over 100 %, or a column with one value left in the output."),
    ] = False,
    accept_derived: Annotated[
        bool,
        typer.Option("--accept-derived", help="Allow unchanged columns that give a protected one back exactly."),
    ] = False,
    accept_relinking: Annotated[
        bool,
        typer.Option("--accept-relinking", help="Allow columns that put the rows of a person together again (--unit)."),
    ] = False,
    accept_second_release: Annotated[
        bool,
        typer.Option(
            "--accept-second-release",
            help="Allow settings other than those of the earlier release; both can then be intersected.",
        ),
    ] = False,
) -> None:
    """Protect a table: group records, replace quasi-identifiers, verify k, write table, manifest and report.

    Every column needs a role: name it, or give all unnamed columns one role with --unnamed.

    Example: shoal protect people.csv -k 5 --quasi age,income --confidential diagnosis --identifiers name -o safe.csv
    """
    from shoal.api.protect import protect
    from shoal.tables.files import check_targets, files_beside, holder_record_path

    arguments: dict[str, Any] = {
        "method": method,
        "labels": labels,
        "schema": given.schema,
        **given.columns(),
        **given.requirements(),
        **given.person_options(),
        "decimals": given.decimals(),
        "sums": given.sums(),
        "keep_moments": given.values["keep_moments"],
        "moment_bounds": flags.split_bounds(moment_bounds),
        "seed": seed,
        "effort": effort,
        "time_limit": given.values["time_limit"],
        "options": method_options(method, option, max_suppressed),
        "read_options": given.read_options(),
        "previous": previous,
        "accept_second_release": accept_second_release,
        "accept_loss": accept_loss,
        "accept_relinking": accept_relinking,
        "accept_derived": accept_derived,
    }
    if engine != "local":
        from shoal.cli.protect_in_parts import protect_by_engine, uses_engine

        if uses_engine(engine, file, output):
            files = {
                "--report": report, "--public-report": public_report, "--holder-record": holder_record, "--save": save,
                "--manifest": manifest, "--population": population, "--sampling-fraction": sampling_fraction,
                "--control": control,
            }  # fmt: skip
            protect_by_engine(
                given, file, k, arguments | {"engine": engine, "output": output, "overwrite": force}, files,
                {"title": title, "language": language or flags.language()},
            )  # fmt: skip
            return
    printed = str(output) == "-"
    with given.output_file(output) as place:
        beside = files_beside(place)
        record = holder_record_path(beside, holder_record or ("none" if printed else None))
        manifest = check_targets(
            place,
            manifest,
            report,
            public_report=public_report,
            holder_record=record,
            run_file=save,
            inputs=given.inputs(file, previous, control),
            overwrite=force,
        )
        if report is None and not (population is None and sampling_fraction is None and control is None):
            raise ParameterError(
                "--population, --sampling-fraction and --control are for the report; name it: --report"
            )
        with given.progress() as progress, _compiling(method, given):
            release = protect(file, k, **arguments, read_identifiers=record is not None, progress=progress)
            progress.stage("writing")
            paths = release.write(
                place,
                manifest=manifest,
                holder_record=record or "none",
                report=report,
                public_report=public_report,
                run_file=save,
                title=title,
                language=language or flags.language(),
                population=population,
                sampling_fraction=sampling_fraction,
                control=control,
                overwrite=force,
            )
    if given.json:
        flags.print_manifest(manifest)
    elif not given.quiet and not printed:
        from shoal.cli.terminal import draw_release

        draw_release(release, paths, confidential=[path for path in (record, report, save) if path is not None])


def _compiling(method: str, given: flags.Given) -> AbstractContextManager[None]:
    """Return what compiles loops of the default method in a second process, where they have to be compiled."""
    if method not in {"auto", "annealing"}:
        return nullcontext()
    from shoal.api.compiling import compiling_ahead

    more = any(given.values.get(name) is not None for name in ("l", "p", "alpha", "t", "beta", "unit"))
    return compiling_ahead(method, requirements=more)


def method_options(method: str, texts: list[str] | None, max_suppressed: float | None = None) -> dict[str, Any]:
    """Return the options of a method as values; each text is one option, whose value may contain commas."""
    if not texts and max_suppressed is None:
        return {}
    import shoal

    info = shoal.get_method(method)
    values: dict[str, Any] = {}
    if max_suppressed is not None:
        values |= info.check_options({"max_suppressed": max_suppressed})
    for text in texts or []:
        name, sign, value = text.partition("=")
        key = name.strip().replace("-", "_")
        if not sign:
            raise ParameterError(f"--option {text}: write it as NAME=VALUE")
        if key not in info.options:
            info.check_options({key: value})
        values[key] = info.options[key].parse(value.strip())
    return values
