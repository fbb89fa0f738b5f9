"""``shoal verify``: recount k and further limits on a file, protected by whomever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import assess as checks
from shoal.cli import flags as shared


def verify_command(
    file: Annotated[Path, typer.Argument(help="The table to check.")],
    k: Annotated[int, typer.Option("-k", help="The smallest class allowed.")],
    quasi: shared.Quasi = None,
    confidential: shared.Confidential = None,
    l: shared.L = None,
    l_kind: shared.LKind = None,
    c: shared.C = None,
    p: shared.P = None,
    alpha: shared.Alpha = None,
    t: shared.T = None,
    beta: shared.Beta = None,
    delta: Annotated[float | None, typer.Option(help="delta-disclosure: the largest |ln(q/p)| allowed.")] = None,
    nominal: checks.Nominal = None,
    ordinal: checks.Ordinal = None,
    hierarchy: checks.Hierarchy = None,
    reading: checks.Reading = "each",
    missing: checks.Holes = "own-value",
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Recount k and further limits on a table from scratch; exit code 0 if all hold, 1 if one does not.

    Example: shoal verify safe.csv -k 5 --quasi age,region --confidential diagnosis --l 3 --t 0.2
    """
    shared.use_threads(threads)
    from shoal.api.checks import assess
    from shoal.cli.terminal import drawn_progress
    from shoal.errors import SchemaError
    from shoal.methods.registry import check_k
    from shoal.schema.requirements import Requirements

    check_k(k, k)
    limits = Requirements(l, l_kind or "distinct", c, p, alpha, t, beta, delta)
    secrets = shared.split_names(confidential) or []
    if limits and not secrets:
        raise SchemaError(
            f"--{next(iter(limits.asked()))} is about what is learned of confidential columns; name them with "
            "--confidential"
        )
    with drawn_progress(quiet=quiet or as_json) as progress:
        found = assess(
            file,
            quasi=shared.split_names(quasi) or [],
            confidential=secrets,
            **checks.column_options(nominal, ordinal, hierarchy),
            reading=reading,
            missing=missing,
            l=limits.recursive_l,
            read_options=shared.read_options(delimiter, encoding, decimal, na),
            progress=progress,
        )
    reached = found.reached(limits)
    holds = found.k >= k and all(enough for _, _, enough in reached.values())
    if as_json:
        typer.echo(json.dumps(_result(found, k, reached, holds=holds), indent=2))
    elif not quiet:
        _draw(found, k, reached)
    if not holds:
        raise typer.Exit(1)


def _result(found: Any, k: int, reached: dict[str, Any], *, holds: bool) -> dict[str, Any]:
    return {
        "holds": holds,
        "k": {"asked": k, "reached": found.k},
        **{
            name: {"asked": asked, "reached": value if value < float("inf") else None}
            for name, (asked, value, _) in reached.items()
        },
        "records": found.records,
        "classes": int(found.sizes.size),
        "records_below": found.records_below(k),
    }


def _draw(found: Any, k: int, reached: dict[str, Any]) -> None:
    from shoal.cli.terminal import console

    out = console()
    below = found.records_below(k)
    out.print(
        f"k={k} {_verdict(found.k >= k)}: the smallest of {found.sizes.size:,} classes has {found.k:,} of "
        f"{found.records:,} records" + (f"; {below:,} records are in classes below {k}" if below else "")
    )
    for name, (asked, value, enough) in reached.items():
        out.print(f"{name}={asked:g} {_verdict(enough)}: the table has {name}={value:.4g}")


def _verdict(holds: bool) -> str:
    return "[green]holds[/green]" if holds else "[red]does not hold[/red]"
