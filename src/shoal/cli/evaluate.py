"""``shoal evaluate``: re-identification risk and data utility of a release, against its original."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags


@flags.command("roles", "reading", "output")
def evaluate_command(
    given: flags.Given,
    original: Annotated[Path, typer.Argument(parser=flags.path_or_uri, help="The table before protection.")],
    released: Annotated[
        Path, typer.Argument(parser=flags.path_or_uri, help="The table after protection, by any software; same order.")
    ],
    control: Annotated[
        Path | None,
        typer.Option(
            parser=flags.path_or_uri,
            help="Table of persons who are not in the release; baseline, also of singling out and linkability.",
        ),
    ] = None,
    population: flags.Population = None,
    sampling_fraction: flags.SamplingFraction = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Target variable of the regression and prediction measures.")
    ] = None,
    k: Annotated[
        int, typer.Option("-k", "--k", help="Count persons with fewer compatible rows, where cells are suppressed.")
    ] = 3,
    record: Annotated[
        Path | None, typer.Option(help="Holder's record of the release; it states the order of rows with --unit.")
    ] = None,
    also: Annotated[
        Path | None,
        typer.Option(
            parser=flags.path_or_uri, help="Earlier or parallel release of the same people; measures both together."
        ),
    ] = None,
    also_record: Annotated[
        Path | None, typer.Option(help="Holder's record of the other release, if its records are others or reordered.")
    ] = None,
    seed: flags.Seed = 0,
) -> None:
    """Measure risk and utility of a release, made by any software, against its original.

    Example: shoal evaluate people.csv safe.csv --quasi age,income,region --confidential diagnosis
    """
    from shoal.api.evaluation import evaluate
    from shoal.cli.terminal import console, draw_rows, printable

    with given.progress() as progress:
        risks, uses = evaluate(
            original, released, schema=given.schema, **given.columns(), control=control, population=population,
            sampling_fraction=sampling_fraction,
            target=target, k=k, record=record, also=also, also_record=also_record, seed=seed,
            read_options=given.read_options(), progress=progress,
        )  # fmt: skip
    if given.json:
        flags.print_json({"risk": risks.to_dict(), "utility": uses.to_dict()})
        return
    if given.quiet:
        return
    draw_rows("risk", ["measure", "figure", "baseline", "meaning"], risks.rows())
    draw_rows("\nutility", ["measure", "figure", "meaning"], uses.rows())
    heads = ["column", "IL1s", "mean", "variance", "quantiles", "distribution", "Wasserstein", "Hellinger", "changed"]
    draw_rows("\ncolumns", heads, uses.column_rows())
    if risks.candidates is not None:
        console().print(f"\n{risks.candidates.sentence()}", soft_wrap=True)
    if risks.classes.population is not None:
        console().print(f"\n{risks.classes.population.sentence()}", soft_wrap=True)
    for note in dict.fromkeys([*risks.notes, *uses.notes]):
        console().print(f"\n{printable(note)}", soft_wrap=True)
