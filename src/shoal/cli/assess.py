"""``shoal assess``: how safe a table is as it stands, protected by whomever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import flags as shared

Nominal = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Confidential columns that are equal or not, without order.")
]
Ordinal = Annotated[
    list[str] | None, typer.Option(metavar="NAME=A<B<C", help="A confidential column with ordered categories.")
]
Hierarchy = Annotated[
    list[str] | None, typer.Option(metavar="NAME=FILE", help="A confidential column that is compared by a tree.")
]
Reading = Annotated[str, typer.Option(help="Several confidential columns: each (default), others-known or together.")]
Holes = Annotated[str, typer.Option("--missing", help="A missing value is: own-value (default), wildcard or error.")]


def assess_command(
    file: Annotated[Path, typer.Argument(help="The table to assess.")],
    quasi: shared.Quasi = None,
    confidential: shared.Confidential = None,
    nominal: Nominal = None,
    ordinal: Ordinal = None,
    hierarchy: Hierarchy = None,
    reading: Reading = "each",
    missing: Holes = "own-value",
    l: Annotated[int | None, typer.Option("--l", help="The l of recursive (c, l)-diversity.")] = None,
    m: Annotated[int | None, typer.Option("-m", help="Also measure (m, t)-closeness for this m.")] = None,
    threshold: Annotated[float, typer.Option(help="Count records with a risk above this.")] = 0.2,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="Also show what each quasi-identifier contributes to the risk.")
    ] = False,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Measure every privacy model on a table as it stands: k, alpha, l, p, t, beta, delta, and the risk.

    Example: shoal assess safe.csv --quasi age,region --confidential diagnosis
    """
    shared.use_threads(threads)
    from shoal.api.checks import assess
    from shoal.cli.terminal import drawn_progress

    with drawn_progress(quiet=quiet or as_json) as progress:
        found = assess(
            file,
            quasi=shared.split_names(quasi) or [],
            confidential=shared.split_names(confidential) or [],
            **column_options(nominal, ordinal, hierarchy),
            reading=reading,
            missing=missing,
            l=l,
            m=m,
            threshold=threshold,
            contributions=contributions,
            read_options=shared.read_options(delimiter, encoding, decimal, na),
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    elif not quiet:
        _draw(found)


def column_options(nominal: list[str] | None, ordinal: list[str] | None, hierarchy: list[str] | None) -> dict[str, Any]:
    """Return kinds, orders and hierarchies of confidential columns from the texts of a command line."""
    pairs = {}
    for text in ordinal or []:
        name, _, order = text.partition("=")
        pairs[name.strip()] = order.strip()
    return {
        "kinds": {**dict.fromkeys(shared.split_names(nominal) or [], "nominal"), **dict.fromkeys(pairs, "ordinal")},
        "orders": {name: order.split("<") for name, order in pairs.items() if order},
        "hierarchies": shared.split_pairs(hierarchy, "--hierarchy"),
    }


def _draw(found: Any) -> None:
    from shoal.cli.terminal import console, draw_rows

    heads = ["measure", "all", *found.columns, "meaning"] if len(found.columns) > 1 else ["measure", "", "meaning"]
    rows = [row if len(found.columns) > 1 else (row[0], row[1], row[-1]) for row in found.rows()]
    draw_rows(f"{found.records:,} records in {found.sizes.size:,} classes", heads, rows)
    risk = found.risk
    draw_rows(
        "\nchance of picking a known person out",
        ["", "", "meaning"],
        [
            ("highest", f"{100 * risk.prosecutor.highest:.4g} %", "of the record that is easiest to pick out"),
            ("average", f"{100 * risk.prosecutor.average:.4g} %", "over all records"),
            (
                f"above {100 * risk.prosecutor.threshold:g} %",
                f"{100 * risk.prosecutor.share_above:.4g} %",
                "of the records",
            ),
            ("alone", f"{100 * risk.unique:.4g} %", "of the records are unlike any other"),
        ],
    )
    if found.contributions:
        draw_rows(
            "\nwhat each quasi-identifier contributes",
            ["column", "average risk without it", "k without it", "different values", "pairs told apart"],
            [
                (
                    name,
                    f"{100 * one.average_without:.4g} %",
                    str(one.k_without),
                    f"{100 * one.distinction:.4g} %",
                    f"{100 * one.separation:.4g} %",
                )
                for name, one in found.contributions.items()
            ],
        )
    if found.missing == "wildcard":
        console().print("\nmissing values match any value; records then belong to several classes")
