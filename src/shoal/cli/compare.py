"""``shoal compare``: loss, risk and time of several methods and levels of protection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags
from shoal.errors import ParameterError


@flags.command("roles", "persons", "histories", "treatment", "models", "reading", "output", without=("l", "t", "of"))
def compare_command(
    given: flags.Given,
    file: flags.File,
    k: Annotated[list[str], typer.Option("-k", "--k", metavar="NUMBERS", help="Values of k: 3,5,10. Repeatable.")],
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Methods: mdav,ona-star; see shoal methods.")
    ] = None,
    l: Annotated[
        list[str] | None, typer.Option("--l", metavar="NUMBERS", help="Targets of l-diversity to compare: 2,3.")
    ] = None,
    t: Annotated[
        list[str] | None, typer.Option("--t", metavar="NUMBERS", help="Targets of t-closeness to compare: 0.1,0.2.")
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="What k counts, to compare: rows, units, households, histories."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RIVALS",
            help="Measure noise:0.1,0.2, rank-swap:0.1 or pram:0.2 beside them; never released. Repeatable.",
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the risk-utility figure.")] = None,
    png: Annotated[Path | None, typer.Option(help="The same as PNG; needs the extra png.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write table and figure as one web page.")] = None,
    seed: flags.Seed = 0,
    force: flags.Force = False,
) -> None:
    """Protect a table by several methods and levels and compare loss, risk and time; writes no release.

    Example: shoal compare people.csv -k 3,5,10 --methods mdav,ona-star --schema people.toml --html compared.html
    """
    from shoal.api.combinations import check_comparison_targets
    from shoal.api.compare import compare
    from shoal.api.compared_utility import RIVAL_TEXT, SAME_LINKAGE_HEADINGS, UTILITY_HEADINGS, UTILITY_TEXT
    from shoal.cli.terminal import console, draw_rows, draw_written, printable

    wanted = ((csv, ".csv"), (svg, ".svg"), (png, ".png"), (html, ".html"))
    targets = [_target(path, extension) for path, extension in wanted if path]
    check_comparison_targets(targets, inputs=given.inputs(file), overwrite=force)
    with given.progress() as progress:
        comparison = compare(
            file,
            [int(number) for number in flags.numbers(k, "-k", integers=True) or []],
            methods=flags.split_names(methods),
            l=flags.numbers(l, "--l"),
            t=flags.numbers(t, "--t"),
            of=flags.split_names(of),
            against=" ".join(against or ()).split(),
            schema=given.schema,
            **given.columns(),
            **given.requirements(),
            **given.person_options(),
            decimals=given.decimals(),  # type: ignore[arg-type]  # checked by the plan
            sums=given.sums(),  # type: ignore[arg-type]  # checked by the plan
            keep_moments=given.values["keep_moments"],
            time_limit=given.values["time_limit"],
            seed=seed,
            read_options=given.read_options(),
            progress=progress,
        )
    written = comparison.write(*targets, overwrite=force) if targets else []
    if given.json:
        flags.print_json(comparison.to_dict())
    elif not given.quiet:
        draw_rows("", list(comparison.headings), comparison.rows())
        if comparison.utility_rows():
            draw_rows("\nutility", list(UTILITY_HEADINGS), comparison.utility_rows())
        if comparison.has_rivals:
            draw_rows("\nat the same record linkage", list(SAME_LINKAGE_HEADINGS), comparison.same_linkage_rows())
        for name, reason in comparison.reasons().items():
            console().print(printable(f"{name} failed: {reason}"), soft_wrap=True)
        if comparison.note:
            console().print(f"\n{comparison.note}", soft_wrap=True)
        console().print(
            "\nrecord linkage: share of records re-identified by nearest-neighbour record linkage (95 % interval); "
            "attribute disclosure: excess of predicting a confidential value over the baseline, normalised by the "
            "largest possible excess; "
            "efficient: no other combination has less loss and less record linkage" + comparison.persons_text,
            soft_wrap=True,
        )
        console().print(UTILITY_TEXT, soft_wrap=True)
        if comparison.has_rivals:
            console().print(RIVAL_TEXT, soft_wrap=True)
        if written:
            draw_written(written)
    if all(line.reason for line in comparison):
        raise typer.Exit(1)


def _target(path: Path, extension: str) -> Path:
    if path.suffix.lower() != extension and not (extension == ".html" and path.suffix.lower() == ".htm"):
        raise ParameterError(f"--{extension[1:]} {path}: call it {path.stem or 'compared'}{extension}")
    return path
