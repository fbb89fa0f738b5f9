"""``shoal verify``: recount k on a file, protected by whomever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options as shared


def verify_command(
    file: Annotated[Path, typer.Argument(help="The table to check.")],
    k: Annotated[int, typer.Option("-k", help="The smallest class allowed.")],
    quasi: shared.Quasi = None,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = None,
    decimal: shared.Decimal = None,
    na: shared.Na = None,
    threads: shared.Threads = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Recount k on a table from scratch; exit code 0 if it holds, 1 if not."""
    shared.use_threads(threads)
    from shoal.cli.drawing import console, drawn_progress
    from shoal.loading import load_for_counting
    from shoal.methods.registry import check_k
    from shoal.privacy.k_anonymity import count_classes

    check_k(k, k)
    names = shared.split_names(quasi) or []
    with drawn_progress(quiet=quiet or as_json) as progress:
        table = load_for_counting(file, names, shared.read_options(delimiter, encoding, decimal, na), progress)
        classes = count_classes(table, names)
    holds = classes.k >= k
    if as_json:
        result = {
            "holds": holds,
            "k": {"asked": k, "reached": classes.k},
            "records": table.n_rows,
            "classes": int(classes.sizes.size),
            "records_below": classes.records_below(k),
        }
        typer.echo(json.dumps(result, indent=2))
    elif not quiet:
        verdict = "[green]holds[/green]" if holds else "[red]does not hold[/red]"
        console().print(
            f"k={k} {verdict}: the smallest of {classes.sizes.size:,} classes has {classes.k:,} of {table.n_rows:,} "
            "records" + ("" if holds else f"; {classes.records_below(k):,} records are in classes below {k}")
        )
    if not holds:
        raise typer.Exit(1)
