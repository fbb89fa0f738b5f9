"""``shoal compare``: methods and levels of protection side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags as shared
from shoal.cli.schema import read_schema_file
from shoal.errors import ParameterError


def compare_command(
    file: Annotated[Path, typer.Argument(help="The table: CSV (also .gz), Parquet, Arrow, SPSS, Stata or SAS.")],
    k: Annotated[list[str], typer.Option("-k", metavar="NUMBERS", help="Sizes to try: 3,5,10. May be repeated.")],
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Methods to try: mdav,ona-star; see shoal methods.")
    ] = None,
    diversity: Annotated[
        list[str] | None, typer.Option("--l", metavar="NUMBERS", help="Targets of l-diversity to try.")
    ] = None,
    closeness: Annotated[
        list[str] | None, typer.Option("--t", metavar="NUMBERS", help="Targets of t-closeness to try.")
    ] = None,
    quasi: shared.Quasi = None,
    confidential: shared.Confidential = None,
    drop: shared.Drop = None,
    schema: shared.SchemaFile = None,
    missing: shared.Missing = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the risk-utility picture.")] = None,
    png: Annotated[Path | None, typer.Option(help="The same as PNG; needs the extra shoal[png].")] = None,
    html: Annotated[Path | None, typer.Option(help="Write table and picture as one web page.")] = None,
    seed: Annotated[int, typer.Option(help="For methods that draw random numbers.")] = 0,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Protect a table by several methods and levels and show loss, risk and time side by side; writes no release.

    Example: shoal compare people.csv -k 3,5,10 --methods mdav,ona-star --quasi age,income --html compared.html
    """
    shared.use_threads(threads)
    from shoal.api.compare import HEADINGS, check_comparison_targets, compare
    from shoal.cli.terminal import console, draw_rows, drawn_progress

    wanted = ((csv, ".csv"), (svg, ".svg"), (png, ".png"), (html, ".html"))
    targets = [_place(path, ending) for path, ending in wanted if path]
    check_comparison_targets(targets, inputs=(file,) if schema is None else (file, schema))
    with drawn_progress(quiet=quiet or as_json) as progress:
        found = compare(
            file,
            [int(number) for number in _numbers(k, "-k", whole=True) or []],
            methods=shared.split_names(methods),
            l=_numbers(diversity, "--l"),
            t=_numbers(closeness, "--t"),
            quasi=shared.split_names(quasi),
            confidential=shared.split_names(confidential),
            identifiers=shared.split_names(drop),
            schema=read_schema_file(schema) if schema is not None else None,
            missing=missing,
            seed=seed,
            read_options=shared.read_options(delimiter, encoding, decimal, na),
            progress=progress,
        )
    written = found.write(*targets) if targets else []
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    elif not quiet:
        draw_rows("", list(HEADINGS), found.rows())
        for name, reason in found.reasons().items():
            console().print(f"{name} failed: {reason}", soft_wrap=True, markup=False)
        console().print("\nlinkage: records traced to their person by the nearest true values, with a 95 % interval")
        if written:
            console().print("written: " + ", ".join(map(str, written)), soft_wrap=True, markup=False)
    if all(one.reason for one in found):
        raise typer.Exit(1)


def _place(path: Path, ending: str) -> Path:
    if path.suffix.lower() != ending and not (ending == ".html" and path.suffix.lower() == ".htm"):
        raise ParameterError(f"--{ending[1:]} {path}: call it {path.stem or 'compared'}{ending}")
    return path


def _numbers(texts: list[str] | None, option: str, *, whole: bool = False) -> list[float] | None:
    if texts is None:
        return None
    numbers = []
    for text in shared.split_names(texts) or []:
        try:
            numbers.append(float(int(text)) if whole else float(text))
        except ValueError:
            kind = "a whole number" if whole else "a number"
            raise ParameterError(f'{option} {text}: "{text}" is not {kind}') from None
    return numbers
