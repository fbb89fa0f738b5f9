"""``shoal assess``: how safe a table is as it stands, whichever tool produced it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli import flags


@flags.command("roles", "persons", "released", "counting", "reading", "output")
def assess_command(
    given: flags.Given,
    file: flags.File,
    l: Annotated[int | None, typer.Option("--l", help="The l of recursive (c, l)-diversity.")] = None,
    m: Annotated[int | None, typer.Option("-m", "--m", help="Also measure (m, t)-closeness for this m.")] = None,
    threshold: Annotated[float, typer.Option(help="Count records with a re-identification risk above this.")] = 0.2,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="Also show what each quasi-identifier contributes to the risk.")
    ] = False,
    special_uniques: Annotated[
        bool,
        typer.Option("--special-uniques", help="Also show which combinations of columns make records unique."),
    ] = False,
    subset_size: Annotated[
        int | None, typer.Option(help="Largest number of columns that are combined for --special-uniques.")
    ] = None,
    k: Annotated[
        int, typer.Option("-k", "--k", help="With --special-uniques, classes of fewer records are counted as small.")
    ] = 3,
    population: flags.Population = None,
    sampling_fraction: flags.SamplingFraction = None,
) -> None:
    """Measure every privacy model on a table as it stands: k, alpha, l, p, t, beta, delta, and the risk.

    Example: shoal assess safe.csv --quasi age,region --confidential diagnosis
    """
    from shoal.api.checks import assess

    with given.progress() as progress:
        assessment = assess(
            file,
            schema=given.schema,
            **given.columns(),
            **given.counting(),
            **given.released(),
            l=l,
            m=m,
            threshold=threshold,
            contributions=contributions,
            special_uniques=special_uniques,
            subset_size=subset_size,
            k=k,
            population=population,
            sampling_fraction=sampling_fraction,
            read_options=given.read_options(),
            progress=progress,
        )
    if given.json:
        flags.print_json(assessment.to_dict())
    elif not given.quiet:
        _draw(assessment)


def _draw(assessment: Any) -> None:
    from shoal.cli.terminal import console, draw_rows, printable

    several = len(assessment.columns) > 1
    heads = ["measure", "all", *assessment.columns, "meaning"] if several else ["measure", "", "meaning"]
    rows = [row if several else (row[0], row[1], row[-1]) for row in assessment.rows()]
    for note in assessment.notes:
        console().print(printable(note), soft_wrap=True)
    title = f"{assessment.records:,} records in {assessment.sizes.size:,} equivalence classes"
    if assessment.persons is not None:
        other = "" if assessment.of.noun == assessment.values_of else f", the other measures {assessment.values_of}"
        title += f"; k counts {assessment.of.noun}{other or ', like all other measures'}"
    draw_rows(title, heads, rows)
    risk = assessment.risk
    draw_rows(
        "\nre-identification risk (prosecutor)" + (" of records" if assessment.persons is not None else ""),
        ["", "", "meaning"],
        [
            ("highest", f"{100 * risk.prosecutor.highest:.4g} %", "of the record with the highest risk"),
            ("average", f"{100 * risk.prosecutor.average:.4g} %", "over all records"),
            (
                f"above {100 * risk.prosecutor.threshold:g} %",
                f"{100 * risk.prosecutor.share_above:.4g} %",
                "of the records",
            ),
            ("unique", f"{100 * risk.unique:.4g} %", "sample-unique records"),
        ],
    )
    if risk.population is not None:
        draw_rows("\nrisk against the population", ["", "", "meaning"], risk.population.rows())
        for line in (risk.population.sentence(), *risk.population.notes):
            console().print(f"\n{printable(line)}", soft_wrap=True)
    if assessment.persons is not None:
        persons = assessment.persons
        homes = "" if persons.households is None else f" in {persons.households:,} households"
        rows = [(name, f"{100 * value:.4g} %", meaning) for name, value, meaning in persons.figures()]
        draw_rows(f"\nrisk of {persons.persons:,} persons{homes}", ["", "", "meaning"], rows)
    if assessment.contributions:
        draw_rows(
            "\ncontribution of each quasi-identifier",
            ["column", "average risk without it", "k without it", "different values", "pairs distinguished"],
            [
                (
                    name,
                    f"{100 * part.average_without:.4g} %",
                    str(part.k_without),
                    f"{100 * part.distinction:.4g} %",
                    f"{100 * part.separation:.4g} %",
                )
                for name, part in assessment.contributions.items()
            ],
        )
    if assessment.special_uniques is not None:
        _draw_sources(assessment.special_uniques)
    if assessment.missing_semantics == "wildcard":
        console().print("\nmissing values match any value; a record then belongs to several equivalence classes")


def _draw_sources(found: Any) -> None:
    """Print the columns and combinations of columns that make records unique."""
    from shoal.cli.terminal import console, draw_rows, printable

    k = "persons of the smallest class" if found.by_persons else "k"
    heads = ["known columns", k, f"classes below {found.k}", "minimal uniques", "most records below k in"]
    draw_rows("\nsources of risk: k for an intruder who knows only some columns", heads, found.known_rows())
    if found.unique_records:
        counted = "persons" if found.by_persons else "records"
        values = f"values of at least {found.k} {counted} with the largest shares"
        draw_rows("\ncontribution to unique records", ["column", "share of the score", values], found.column_rows())
        heads = ["combination of columns", "minimal uniques", "share of the score"]
        draw_rows("\ncombinations that make most records unique", heads, found.combination_rows())
    if found.dis is not None:
        share = f"{100 * found.dis:.4g} %"
        above = int((found.dis_suda > 0.1).sum())
        text = f"a match with a unique record is correct with a probability of {share} (DIS)"
        console().print(f"\n{text}; above 10 %: {above:,} records", soft_wrap=True)
    for line in (found.sentence(), *found.notes):
        console().print(f"\n{printable(line)}", soft_wrap=True)
