"""``shoal demo``: a generated patient table, protected, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import flags

_SHOWN = 5


@flags.command("output")
def demo_command(
    given: flags.Given,
    folder: Annotated[Path, typer.Option(help="Directory of the files; created if needed.")] = Path("shoal-demo"),
    rows: Annotated[int, typer.Option(min=10, help="Number of patients to generate.")] = 1000,
    k: flags.K = 5,
    missing: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of missing incomes and educations.")] = 0.0,
    method: Annotated[str, typer.Option(help="Grouping method; see shoal methods.")] = "auto",
    seed: Annotated[int, typer.Option(help="Random seed for the generated data.")] = 0,
) -> None:
    """Generate a patient table, protect it, show rows before and after, and write table, manifest and report."""
    import shoal
    from shoal.api.protect import protect
    from shoal.cli.terminal import console, draw_release, draw_rows, drawn_progress, printable
    from shoal.core.choices import check_seed
    from shoal.core.grouping import check_k
    from shoal.datasets import EDUCATION_ORDER, patients
    from shoal.errors import FileProblem
    from shoal.tables import Table, write_table

    shoal.get_method(method)
    check_k(k, rows)
    original = patients(rows, missing=missing, seed=check_seed(seed))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileProblem(
            f'directory "{folder}" cannot be created: {problem.strerror}; choose another with --folder'
        ) from None
    people = folder / "patients.csv"
    write_table(Table.from_native(original), people)
    with drawn_progress(quiet=given.silent) as progress:
        release = protect(
            people,
            k,
            quasi=["age", "sex", "region", "education", "income", "height", "admitted"],
            confidential=["diagnosis"],
            identifiers=["name"],
            other=["stay_days"],
            accept_loss=True,
            orders={"education": EDUCATION_ORDER},
            missing="by-pattern" if missing else None,
            method=method,
            seed=seed,
            progress=progress,
        )
        progress.stage("writing")
        paths = release.write(folder / "safe.csv", report=folder / "report.html")
    if given.json:
        flags.print_manifest(paths[1])
    if given.silent:
        return
    head = original.head(_SHOWN)
    draw_rows(f"{people}: the first {_SHOWN} of {rows:,} generated patients", head.columns, head.rows(), one_line=True)
    shown = release.data.head(_SHOWN)
    draw_rows(f"\n{paths[0]}: the same patients, protected", shown.columns, shown.rows(), one_line=True)
    console().print()
    draw_release(release, paths, confidential=paths[2:])
    page = printable(str(folder / "report.html"))
    console().print(f"\nopen {page} in a browser to look at the evidence", soft_wrap=True)
