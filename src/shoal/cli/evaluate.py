"""``shoal evaluate``: how safe and how useful a release is, against its original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags as shared
from shoal.errors import ParameterError


def evaluate_command(
    original: Annotated[Path, typer.Argument(help="The table before protection.")],
    released: Annotated[Path, typer.Argument(help="The table after protection, by whatever software; same order.")],
    quasi: shared.Quasi = None,
    confidential: shared.Confidential = None,
    control: Annotated[
        Path | None, typer.Option(help="A table of people who are not in the release, as a baseline.")
    ] = None,
    population: Annotated[Path | None, typer.Option(help="A table of the population, for the journalist.")] = None,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="The column that models explain.")] = None,
    seed: Annotated[int, typer.Option(help="Draws samples and shuffles controls.")] = 0,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Measure risk and utility of a release, made by whatever software, against its original.

    Example: shoal evaluate people.csv safe.csv --quasi age,income,region --confidential diagnosis
    """
    shared.use_threads(threads)
    from shoal.cli.terminal import console, draw_rows, drawn_progress
    from shoal.evaluate.risk import risk
    from shoal.evaluate.utility import utility

    names, secrets = shared.split_names(quasi), shared.split_names(confidential) or []
    if not names:
        raise ParameterError("name the columns that an outsider may know, for example --quasi age,region")
    options = shared.read_options(delimiter, encoding, decimal, na)
    with drawn_progress(quiet=quiet or as_json) as progress:
        risks = risk(
            original, released, quasi=names, confidential=secrets, control=control, population=population, seed=seed,
            read_options=options, progress=progress,
        )  # fmt: skip
        uses = utility(
            original, released, columns=[*names, *secrets], target=target, seed=seed, read_options=options,
            progress=progress,
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps({"risk": risks.to_dict(), "utility": uses.to_dict()}, indent=2, ensure_ascii=False))
        return
    if quiet:
        return
    draw_rows("risk", ["measure", "figure", "baseline", "meaning"], risks.rows())
    draw_rows("\nutility", ["measure", "figure", "meaning"], uses.rows())
    heads = ["column", "IL1s", "mean", "variance", "quantiles", "distribution", "Wasserstein", "changed"]
    draw_rows("\ncolumns", heads, uses.column_rows())
    for note in dict.fromkeys([*risks.notes, *uses.notes]):
        console().print(f"\n{note}", soft_wrap=True, markup=False)
