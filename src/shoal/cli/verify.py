"""``shoal verify``: verify k and further requirements of a file, whichever tool produced it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import flags
from shoal.errors import SchemaError


@flags.command("roles", "models", "counting", "reading", "output")
def verify_command(
    given: flags.Given,
    file: flags.File,
    k: flags.K,
    delta: Annotated[float | None, typer.Option(help="delta-disclosure: maximum |ln(q/p)|.")] = None,
) -> None:
    """Verify k and further requirements on a table; exit code 0 if all are satisfied, 1 if one is violated.

    Example: shoal verify safe.csv -k 5 --quasi age,region --confidential diagnosis --l 3 --t 0.2
    """
    from shoal.api.checks import assess, requirements_of
    from shoal.cli.terminal import drawn_progress

    requirements = requirements_of(k, delta=delta, **given.requirements())
    with drawn_progress(quiet=given.silent) as progress:
        assessment = assess(
            file,
            schema=given.schema,
            **given.columns(),
            **given.counting(),
            l=requirements.recursive_l,
            read_options=given.read_options(),
            progress=progress,
        )
    if requirements.beyond_k and not assessment.columns:
        raise SchemaError(
            f"--{next(iter(requirements.requested())).replace('_', '-')} is about confidential attributes; name them "
            "with --confidential"
        )
    achieved = assessment.achieved(requirements)
    holds = assessment.k >= k and all(enough for _, _, enough in achieved.values())
    if given.json:
        flags.print_json(_result(assessment, k, achieved, holds=holds))
    elif not given.quiet:
        _draw(assessment, k, achieved)
    if not holds:
        raise typer.Exit(1)


def _result(assessment: Any, k: int, achieved: dict[str, Any], *, holds: bool) -> dict[str, Any]:
    return {
        "satisfied": holds,
        "k": {"requested": k, "achieved": assessment.k},
        **{
            name: {"requested": requested, "achieved": value if value < float("inf") else None}
            for name, (requested, value, _) in achieved.items()
        },
        "records": assessment.records,
        "classes": int(assessment.sizes.size),
        "records_below": assessment.records_below(k),
    }


def _draw(assessment: Any, k: int, achieved: dict[str, Any]) -> None:
    from rich.text import Text

    from shoal.cli.terminal import console

    out = console()
    below = assessment.records_below(k)
    found = (
        f": the smallest of {assessment.sizes.size:,} equivalence classes has {assessment.k:,} of "
        f"{assessment.records:,} records" + (f"; {below:,} records are in classes below {k}" if below else "")
    )
    out.print(Text.assemble(f"k={k} is ", _verdict(assessment.k >= k), found))
    for name, (requested, value, enough) in achieved.items():
        out.print(Text.assemble(f"{name}={requested:g} is ", _verdict(enough), f": the table has {name}={value:.4g}"))


def _verdict(holds: bool) -> tuple[str, str]:
    return ("satisfied", "green") if holds else ("violated", "red")
