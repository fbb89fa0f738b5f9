"""``shoal dp``: a table released under differential privacy, with the accounting of epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import flags
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.dp.private_release import PrivateRelease


@flags.command("reading", "output")
def dp_command(
    given: flags.Given,
    file: flags.File,
    epsilon: Annotated[float, typer.Option(help="Total privacy loss epsilon; smaller is safer.")],
    output: flags.Output,
    mechanism: Annotated[
        str,
        typer.Option(
            help="mondrian, histogram, intervals, insensitive, strongly-safe, epsilon-safe or small-db.",
        ),
    ] = "mondrian",
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW..HIGH",
            help="Lowest and highest possible value of a column, chosen without looking at the data; 0..120 for whole "
            "numbers, 0.0..1.0 for fractions, 2020-01-01..2030-12-31 for dates. May be repeated.",
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A|B|C",
            help="All possible values of a column; any other value counts as the last one. May be repeated.",
        ),
    ] = None,
    decimals: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Decimals of the released numbers of a column. May be repeated."),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="The value that takes the place of missing and unreadable values; if not given, the middle of the "
            "bounds or the last category. May be repeated.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Columns to release; those with bounds or categories if not given."),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            help="TOML file: its identifiers are never released, its unit is that of the guarantee, and the order of a "
            "column lists its categories; written without looking at the data.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column that numbers persons with several rows: epsilon and delta are then per person. Needs "
            "--rows-per-person.",
        ),
    ] = None,
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="How many rows of a person are used at most, drawn at random; chosen without looking at the data.",
        ),
    ] = None,
    k: Annotated[int | None, typer.Option("-k", "--k", help="The size of groups or parts.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="For strongly-safe and epsilon-safe: the probability of failure.")
    ] = None,
    cells: Annotated[
        int | None, typer.Option(help="For histogram, strongly-safe, small-db: cells of a column of numbers.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="For intervals and small-db: the accuracy aimed at.")] = None,
    beta: Annotated[float | None, typer.Option(help="For the safe mechanisms: the share of records sampled.")] = None,
    records: Annotated[int | None, typer.Option(help="For intervals: how many records to draw.")] = None,
    output_type: Annotated[str | None, typer.Option(help="Released records: synthetic or microaggregated.")] = None,
    neighbours: Annotated[str | None, typer.Option(help="For histogram: add-remove (default) or replace.")] = None,
    split_criterion: Annotated[
        str | None, typer.Option(help="For mondrian and epsilon-safe: side (default), deviation or mad.")
    ] = None,
    structure: Annotated[
        float | None, typer.Option(help="For epsilon-safe: the share of epsilon that pays for the boxes.")
    ] = None,
    order: Annotated[str | None, typer.Option(help="For insensitive: z-curve (default), sum or lexicographic.")] = None,
    manifest: flags.ManifestFile = None,
    force: flags.Force = False,
) -> None:
    """Release a table under differential privacy: new records, a guarantee, and the accounting of epsilon.

    Example: shoal dp people.csv --epsilon 1 -k 50 --bounds age=0..120,income=0..200000 -o private.csv
    """
    from shoal.dp.private_release import release
    from shoal.tables.files import check_targets

    options: dict[str, Any] = {
        "k": k, "delta": delta, "cells": cells, "alpha": alpha, "beta": beta, "records": records, "output": output_type,
        "neighbours": neighbours, "split_criterion": split_criterion, "structure": structure, "order": order,
    }  # fmt: skip
    with given.output_file(output) as place:
        manifest = check_targets(place, manifest, None, inputs=given.inputs(file, schema), overwrite=force)
        with given.progress() as progress:
            made = release(
                file,
                epsilon=epsilon,
                mechanism=mechanism,
                columns=flags.split_names(columns),
                bounds=_bounds(bounds),
                categories={
                    name: text.split("|") for name, text in flags.split_pairs(categories, "--categories").items()
                },
                decimals=_decimals(decimals),
                default=flags.split_pairs(default, "--default"),
                schema=schema,
                unit=unit,
                rows_per_person=rows_per_person,
                read_options=given.read_options(),
                progress=progress,
                **{name: value for name, value in options.items() if value is not None},
            )
            progress.stage("writing")
            paths = made.write(place, manifest=manifest, overwrite=force)
    if given.json:
        flags.print_manifest(manifest)
    elif not given.quiet and str(output) != "-":
        _draw(made, paths)


def _bounds(texts: list[str] | None) -> dict[str, tuple[str, str]]:
    found = {}
    for name, text in flags.split_pairs(texts, "--bounds").items():
        low, sign, high = text.partition("..")
        if not sign or not low or not high:
            raise ParameterError(f"--bounds {name}={text}: write it as {name}=LOW..HIGH, for example age=0..120")
        found[name] = (low.strip(), high.strip())
    return found


def _decimals(texts: list[str] | None) -> dict[str, int]:
    found = {}
    for name, text in flags.split_pairs(texts, "--decimals").items():
        if not text.isdecimal():
            raise ParameterError(f"--decimals {name}={text}: write it as {name}=NUMBER, for example {name}=2")
        found[name] = int(text)
    return found


def _draw(made: PrivateRelease, paths: list[Path]) -> None:
    """Print the guarantee and the accounting."""
    from shoal.cli.terminal import console, draw_rows, draw_warnings, draw_written, printable

    out = console()
    name = made.manifest["mechanism"]["name"]
    out.print(f"mechanism {name}: {made.table.n_rows:,} records released")
    out.print(made.guarantee.sentence)
    for column in made.manifest["domain"]:
        out.print(printable(_shown_domain(column)), soft_wrap=True)
    rows = [
        (line.query, f"{line.epsilon:.4g}", line.times, line.parts, f"{float(line.total_epsilon):.4g}")
        for line in made.accountant.spends
    ]
    total = ("sum", "", "", "", f"{made.accountant.spent_epsilon:.4g} of {made.accountant.epsilon:g}")
    heading = "privacy accounting" if made.guarantee.rows_per_person is None else "privacy accounting per record"
    draw_rows(f"\n{heading}", ["query", "epsilon", "times", "parts", "total"], [*rows, total])
    draw_warnings(made.warnings)
    draw_written(paths)


_TYPES = {"integer": "whole numbers", "number": "numbers", "date": "dates", "datetime": "dates with time"}


def _shown_domain(column: dict[str, Any]) -> str:
    """Return the declared domain of a column as text."""
    if "categories" in column:
        return (
            f"{column['name']}: {len(column['categories'])} categories; any other value counts as {column['default']}"
        )
    shown = f"{column['name']}: {_TYPES[column['type']]} from {column['low']} to {column['high']}"
    if column.get("decimals") is not None:
        shown += f" with {column['decimals']} decimals"
    return f"{shown}; missing values count as {column['default']}"
