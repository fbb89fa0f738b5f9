"""``shoal demo``: a generated table, protected, with a report: patients, hospital stays, or a household survey."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import flags
from shoal.errors import FileProblem, ParameterError

_SHOWN = 5


@dataclass(frozen=True)
class _Demo:
    """A generated table and how it is protected.

    Parameters
    ----------
    file
        The name of its file.
    what
        What it holds, for headings.
    roles
        Arguments of :func:`shoal.protect` that have an option of the same name.
    further
        Arguments that are not printed as a command.
    """

    file: str
    what: str
    roles: Mapping[str, Any]
    further: Mapping[str, Any] = field(default_factory=dict)

    def words(self) -> list[str]:
        """Return the roles as words of a command."""
        found = []
        for name, value in self.roles.items():
            found += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value)]
        return found


_PATIENTS = _Demo(
    "patients.csv",
    "patients",
    {
        "quasi": ["age", "sex", "region", "education", "income", "height", "admitted"],
        "confidential": ["diagnosis"],
        "identifiers": ["name"],
        "other": ["stay_days"],
    },
    {"accept_loss": True},
)
_STAYS = _Demo(
    "stays.csv",
    "stays",
    {
        "quasi": ["sex", "birth_year", "region", "admitted", "days"],
        "confidential": ["diagnosis", "cost"],
        "other": ["ward"],
        "unit": "patient_id",
    },
)
_HOUSEHOLDS = _Demo(
    "survey.csv",
    "persons",
    {
        "quasi": ["region", "size", "household_income", "age", "sex", "education"],
        "confidential": ["health"],
        "other": ["relation"],
        "household": "household_id",
        "of": "households",
    },
)


@flags.command("output")
def demo_command(
    given: flags.Given,
    folder: Annotated[Path, typer.Option(help="Directory of the files; created if needed.")] = Path("shoal-demo"),
    stays: Annotated[
        bool, typer.Option("--stays", help="Hospital stays, several rows per patient; k counts patients.")
    ] = False,
    households: Annotated[
        bool, typer.Option("--households", help="A household survey, one row per person; k counts households.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(min=10, help="Number of patients (1000; with --stays 500) or households (400).")
    ] = None,
    k: flags.K = 5,
    missing: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of missing incomes and educations.")] = 0.0,
    method: Annotated[str, typer.Option(help="Grouping method; see shoal methods.")] = "auto",
    seed: Annotated[int, typer.Option(help="Random seed for the generated data.")] = 0,
) -> None:
    """Generate a table, protect it, show rows before and after, and write table, manifest and report.

    Example: shoal demo --stays --folder stays-demo
    """
    import shoal
    from shoal import datasets
    from shoal.api.protect import protect
    from shoal.cli.terminal import console, draw_release, draw_rows, printable
    from shoal.core.arguments import check_seed
    from shoal.core.grouping import check_k
    from shoal.tables import Table, write_table

    if stays and households:
        raise ParameterError("--stays and --households are two demonstrations; choose one")
    if missing and (stays or households):
        raise ParameterError("--missing is about the demonstration of patients; leave out --stays and --households")
    demo = _STAYS if stays else _HOUSEHOLDS if households else _PATIENTS
    shoal.get_method(method)
    generate: Callable[..., Any] = datasets.stays if stays else datasets.households
    count = rows or (500 if stays else 400 if households else 1000)
    check_k(k, count)
    original = (
        generate(count, seed=check_seed(seed))
        if stays or households
        else datasets.patients(count, missing=missing, seed=check_seed(seed))
    )
    further = dict(demo.further)
    if demo is _PATIENTS:
        further |= {"orders": {"education": datasets.EDUCATION_ORDER}, "missing": "by-pattern" if missing else None}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileProblem(
            f'directory "{folder}" cannot be created: {problem.strerror}; choose another with --folder'
        ) from None
    source = folder / demo.file
    write_table(Table.from_native(original), source)
    with given.progress() as progress:
        release = protect(source, k, **demo.roles, **further, method=method, seed=seed, progress=progress)
        progress.stage("writing")
        paths = release.write(folder / "safe.csv", report=folder / "report.html", language=flags.language())
    if given.json:
        flags.print_manifest(paths[1])
    if given.silent:
        return
    head = original.head(_SHOWN)
    title = f"{source}: the first {_SHOWN} of {original.height:,} generated {demo.what}"
    draw_rows(title, head.columns, head.rows(), one_line=True)
    shown = release.data.head(_SHOWN)
    same = "the same" if demo is _PATIENTS else f"{_SHOWN} of the"
    after = f"{same} {demo.what}, protected" + ("" if demo is _PATIENTS else ", in a random order")
    draw_rows(f"\n{paths[0]}: {after}", shown.columns, shown.rows(), one_line=True)
    console().print()
    draw_release(release, paths, confidential=paths[2:])
    if demo is not _PATIENTS:
        _draw_commands(demo, k, method, source, folder)
    page = printable(str(folder / "report.html"))
    console().print(f"\nopen {page} in a browser to look at the evidence", soft_wrap=True)


def _draw_commands(demo: _Demo, k: int, method: str, source: Path, folder: Path) -> None:
    """Print the commands that protect, verify and evaluate the generated table."""
    from shoal.cli.terminal import console, printable

    safe, record = folder / "safe.csv", folder / "safe.holder.parquet"
    chosen = [] if method == "auto" else ["--method", method]
    report = ["--report", str(folder / "report.html")]
    released = [word for word in demo.words() if word not in {"--unit", "--household", demo.roles.get("unit", "")}]
    released = [word for word in released if word != demo.roles.get("household")]
    counted = ["--original", str(source), "--record", str(record)]
    commands = [
        ["protect", str(source), "-k", str(k), *demo.words(), *chosen, *report, "-o", str(safe), "--force"],
        ["verify", str(safe), "-k", str(k), *released, *counted],
        ["assess", str(source), *demo.words()],
        ["evaluate", str(source), str(safe), *_without_of(demo.words()), "--record", str(record)],
    ]
    console().print("\nthe commands that do this, and count the result:")
    for words in commands:
        console().print(printable(shlex.join(["shoal", *words])), soft_wrap=True)


def _without_of(words: list[str]) -> list[str]:
    """Return words of a command without what k counts, which evaluate does not ask for."""
    if "--of" not in words:
        return words
    at = words.index("--of")
    return words[:at] + words[at + 2 :]
