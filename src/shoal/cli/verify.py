"""``shoal verify``: verify k and further requirements of a file, whichever tool produced it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import flags
from shoal.errors import ParameterError, SchemaError


@flags.command("roles", "persons", "released", "models", "counting", "reading", "output")
def verify_command(
    given: flags.Given,
    file: flags.File,
    k: Annotated[int | None, typer.Option("-k", "--k", help="Minimum group size (k).")] = None,
    delta: Annotated[float | None, typer.Option(help="delta-disclosure: maximum |ln(q/p)|.")] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="Manifest of the release: its file, plan, k and requirements are checked against the table."),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(metavar="BOOK", help="Rule book: hipaa-safe-harbor, ema-0.09, cms-11, or a TOML file."),
    ] = None,
    populations: Annotated[
        Path | None, typer.Option(help="Table of postcodes and their numbers of people, for rules about small areas.")
    ] = None,
    signature: Annotated[Path | None, typer.Option(help="Detached signature of the manifest.")] = None,
    signer: Annotated[
        Path | None, typer.Option(help="Public key of the signer (SSH or minisign), or a list of allowed signers.")
    ] = None,
) -> None:
    """Verify k and further requirements on a table; exit code 0 if all are satisfied, 1 if one is violated.

    Example: shoal verify safe.csv -k 5 --quasi age,region --confidential diagnosis --l 3 --t 0.2

    Example: shoal verify safe.csv --manifest safe.manifest.json

    Example: shoal verify safe.csv --rules ema-0.09 --quasi age,region --unnamed other
    """
    if rules is not None:
        _verify_rules(given, file, rules, populations)
        return
    if populations is not None:
        raise ParameterError("--populations is about the postcodes of a rule book; name the book with --rules")
    if manifest is not None:
        _verify_release(given, file, manifest, signature, signer, k=k, delta=delta)
        return
    if signature is not None or signer is not None:
        raise ParameterError("--signature and --signer are about a manifest; name it with --manifest")
    if k is None:
        raise ParameterError("name what is verified: -k with --quasi, or the manifest of the release with --manifest")
    from shoal.api.checks import assess, requirements_of

    requirements = requirements_of(k, delta=delta, **given.requirements())  # raises before the file is read
    with given.progress() as progress:
        assessment = assess(
            file,
            schema=given.schema,
            **given.columns(),
            **given.counting(),
            **given.released(),
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
    holds = assessment.satisfies_k(k) and all(enough for _, _, enough in achieved.values())
    holds &= not any(assessment.several_values.values())
    if given.json:
        flags.print_json(_result(assessment, k, achieved, holds=holds))
    elif not given.quiet:
        _draw(assessment, k, achieved)
    if not holds:
        raise typer.Exit(1)


def _verify_rules(given: flags.Given, file: Path, rules: str, populations: Path | None) -> None:
    """Check a file against a rule book, line by line."""
    from shoal.api.rule_check import check_rules
    from shoal.cli.terminal import console, printable

    with given.progress() as progress:
        check = check_rules(
            file, rules, populations=populations, schema=given.schema, **given.columns(), **given.counting(),
            **given.released(), read_options=given.read_options(), progress=progress,
        )  # fmt: skip
    if given.json:
        flags.print_json(check.to_dict())
    elif not given.quiet:
        from rich.text import Text

        out = console()
        out.print(printable(f"{check.book.title} ({check.book.source})" if check.book.source else check.book.title))
        for line in check.lines:
            word = ("not shown by the table", "yellow") if line.satisfied is None else _verdict(line.satisfied)
            out.print(Text.assemble(f"{line.rule}: ", word, f": {printable(line.text)}"), soft_wrap=True)
        for remark in check.remarks:
            out.print(printable(remark), soft_wrap=True)
    if check.violated:
        raise typer.Exit(1)


def _verify_release(
    given: flags.Given, file: Path, manifest: Path, signature: Path | None, signer: Path | None, **further: Any
) -> None:
    """Check a file against its manifest, which states roles and requirements."""
    from shoal.api.release_check import verify_release
    from shoal.cli.terminal import console, printable

    stated = {**given.columns(), **given.requirements(), **given.released(), **further, "schema": given.schema}
    named = [name for name, value in stated.items() if value is not None]
    if named:
        raise ParameterError(
            f"--{named[0].replace('_', '-')} is stated by the manifest; give --manifest, or roles and requirements"
        )
    with given.progress() as progress:
        check = verify_release(
            file, manifest, signature=signature, signer=signer, read_options=given.read_options(), progress=progress
        )
    if given.json:
        flags.print_json(check.to_dict())
    elif not given.quiet:
        from rich.text import Text

        for each in check.checks:
            line = Text.assemble(f"{each.name} is ", _verdict(each.holds is True), f": {printable(each.text)}")
            console().print(line, soft_wrap=True)
    if not check.satisfied:
        raise typer.Exit(1)


def _result(assessment: Any, k: int, achieved: dict[str, Any], *, holds: bool) -> dict[str, Any]:
    return {
        "satisfied": holds,
        "k": {"requested": k, "achieved": assessment.k, **assessment.known_k(), **_persons(assessment)},
        **{
            name: {
                "requested": requested,
                "achieved": value if value < float("inf") else None,
                **({} if assessment.persons is None else {"of": assessment.values_of}),
            }
            for name, (requested, value, _) in achieved.items()
        },
        **({} if assessment.persons is None else {"persons": assessment.persons.to_dict()}),
        **assessment.kept_constants(),
        "records": assessment.records,
        "classes": int(assessment.sizes.size),
        "records_below": assessment.records_below(k),
        **({"notes": list(assessment.notes)} if assessment.notes else {}),
    }


def _persons(assessment: Any) -> dict[str, Any]:
    return {} if assessment.units is None else {"of": str(assessment.of), "rows": int(assessment.sizes.min())}


def _draw(assessment: Any, k: int, achieved: dict[str, Any]) -> None:
    from rich.text import Text

    from shoal.cli.terminal import console, printable

    out = console()
    below, noun = assessment.records_below(k), assessment.of.noun
    of_all = f"of {assessment.records:,} records" if assessment.units is None else f"{noun}"
    found = f": the smallest of {assessment.sizes.size:,} equivalence classes has {assessment.k:,} {of_all}" + (
        f"; {below:,} records are in classes below {k}" if below else ""
    )
    counts = "" if assessment.units is None else f" {noun}"
    out.print(Text.assemble(f"k={k}{counts} is ", _verdict(assessment.k >= k), found))
    if assessment.units is not None:
        out.print(f"rows: the smallest class has {int(assessment.sizes.min()):,} of {assessment.records:,} records")
    for note in assessment.notes:
        out.print(printable(note), soft_wrap=True)
    for name, several in assessment.several_values.items():
        found = f": {several:,} {assessment.constant_within[name]} have several values"
        out.print(Text.assemble(f"constant {printable(name)} is ", _verdict(not several), found))
    if assessment.k_with_weight is not None:
        text = f" with the sampling weight: the smallest class has {assessment.k_with_weight:,} {noun}"
        counted = [f"k={k} is ", _verdict(assessment.satisfies_k(k))] if assessment.weight_counts else ["not counted,"]
        out.print(Text.assemble(*counted, text))
    if assessment.k_with_known is not None:
        text = f"with all columns that an intruder may know: the smallest class has {assessment.k_with_known:,} {noun}"
        out.print(text)
    for name, (requested, value, enough) in achieved.items():
        found = f": the table has {name}={value:.4g}"
        found += "" if assessment.persons is None else f", counted by {assessment.values_of}"
        out.print(Text.assemble(f"{name}={requested:g} is ", _verdict(enough), found))
    if assessment.persons is not None:
        persons = assessment.persons
        out.print(
            f"person risk: {100 * persons.risk.highest:.4g} % at most, {100 * persons.risk.average:.4g} % on average, "
            "if rows cannot be linked; the largest share of a person in the rows of a class is "
            f"{100 * persons.share.highest:.4g} %",
            soft_wrap=True,
        )


def _verdict(holds: bool) -> tuple[str, str]:
    return ("satisfied", "green") if holds else ("violated", "red")
