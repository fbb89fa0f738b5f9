"""How results look in a terminal: tables, warnings and the progress line. Results go to stdout, progress to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from shoal.api.release import Release
from shoal.cli.flags import said
from shoal.cli.log_file import LoggedProgress, write_line
from shoal.core.progress import SILENT, Progress
from shoal.errors import in_words_of
from shoal.schema.columns import ReleaseWeight


def console() -> Console:
    """Return the console for results; a file or pipe gets lines of up to 110 characters.

    Text is printed as it is: names of columns and files are never read as markup or emoji codes.
    """
    screen = Console(highlight=False, markup=False, emoji=False)
    return screen if screen.is_terminal else Console(highlight=False, markup=False, emoji=False, width=110)


def printable(text: str) -> str:
    r"""Return a text with control characters as escapes, so that a name cannot steer the terminal.

    Examples
    --------
    >>> printable("age\x1b[2J")
    'age\\x1b[2J'
    """
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


@contextmanager
def drawn_progress(*, quiet: bool) -> Iterator[Progress]:
    """Draw progress on the terminal while the block runs; draws nothing where the output is no terminal."""
    screen = Console(stderr=True, markup=False, emoji=False)
    if quiet or not screen.is_terminal:
        yield LoggedProgress(SILENT)
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from shoal.core.compiled import when_compiling

    bars = Bars(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
    )
    with bars, when_compiling(lambda _: drawn.note("compiling loops, once on this machine")):
        drawn = _Drawn(bars)
        yield LoggedProgress(drawn)


class _Drawn(Progress):
    """Draws one bar, for the current step."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._task: Any = None
        self._name = ""

    def stage(self, name: str, total: int | None = None) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._name = name
        self._task = self._bars.add_task(name, total=total)

    def advance(self, amount: int = 1) -> None:
        if self._task is not None:
            self._bars.update(self._task, description=self._name, advance=amount)

    def note(self, text: str) -> None:
        if self._task is not None:
            self._bars.update(self._task, description=f"{self._name}: {text}")


def draw_release(release: Release, paths: list[Path], confidential: Sequence[Path] = ()) -> None:
    """Print a summary of a release, and which of its files may be released."""
    _draw_figures(release, _summary(release))
    draw_warnings(map(str, release.remarks))
    public = [path for path in paths if path not in confidential]
    if public:
        draw_written(public, "written, to be released")
    if confidential:
        draw_written(confidential, "written, confidential, keep with the original")


def draw_parts_release(release: Release, reports: Mapping[Path, bool]) -> None:
    """Print a summary of a release that was made in parts; for each report whether it is for publication."""
    manifest = release.manifest
    sizes = [int(size) for size in manifest["groups"]["sizes"]]
    rows = [
        ("records", f"{manifest['input']['records']:,}"),
        ("parts", f"{manifest['method']['parts']['count']:,}"),
        ("method", ", ".join(dict.fromkeys(entry["algorithm"] for entry in manifest["method"]["resolved"]))),
        ("k requested / achieved", f"{manifest['k']['requested']} / {release.k}" + _k_text(release)),
        ("groups", f"{manifest['groups']['count']:,} of {min(sizes)} to {max(sizes)} records"),
        ("information loss", f"{100 * release.loss.information_loss:.2f} %"),
    ]
    for name, figures in manifest.get("achieved", {}).items():
        rows.append((f"{name} requested / achieved", f"{figures['requested']:g} / {figures['achieved']:.4g}"))
    _draw_figures(release, rows)
    draw_warnings(map(str, release.remarks))
    public = [path for path, released in reports.items() if released]
    draw_written([*release.paths, *public], "written, to be released")  # type: ignore[attr-defined]  # of files
    confidential = [path for path, released in reports.items() if not released]
    if confidential:
        draw_written(confidential, "written, confidential, keep with the original")


def _draw_figures(release: Release, rows: Iterable[tuple[str, str]]) -> None:
    """Print the lines of a summary, and the loss of each quasi-identifier."""
    out = console()
    summary = Grid(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows:
        summary.add_row(said(name), printable(said(value)))
    out.print(summary)
    out.print()
    columns = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("quasi-identifier", "kind", "replaced by"):
        columns.add_column(said(heading))
    columns.add_column(said("loss"), justify="right")
    columns.add_column("")
    recodes = {entry["name"]: entry.get("recode", "") for entry in release.manifest["schema"]["columns"]}
    for column in release.schema.quasi:
        share = release.loss.columns[column.name].information_loss
        full, thin = ("█", "▏") if out.encoding.startswith("utf") else ("#", "")
        bar = full * round(20 * min(share, 1.0)) or thin
        figure = said(f"{100 * share:.2f} %")
        columns.add_row(printable(column.name), said(str(column.kind)), recodes[column.name], figure, bar)
    out.print(columns)


def draw_warnings(texts: Iterable[str]) -> None:
    """Print what a person should know before the table is released."""
    for text in texts:
        text = in_words_of(text, "command line")
        write_line(text, "warning")
        console().print(Text.assemble("\n", (said("warning:"), "yellow"), " ", printable(said(text))))


def draw_written(paths: Iterable[Path], heading: str = "written") -> None:
    """Print the names of the files that were written, on one line."""
    console().print(f"\n{said(heading)}: " + ", ".join(printable(str(path)) for path in paths), soft_wrap=True)


_WEIGHT_TEXTS = {
    ReleaseWeight.GROUPED: "replaced by the mean of its group",
    ReleaseWeight.UNCHANGED: "released unchanged",
    ReleaseWeight.DROPPED: "dropped",
}


def _persons_text(counts: dict[str, Any]) -> str:
    """Return how many persons and households the table has, if that is known."""
    known = [f"{counts[name]:,} {name}" for name in ("persons", "households") if name in counts]
    return f" of {' and '.join(known)}" if known else ""


def _person_rows(entry: dict[str, Any], records: int) -> list[tuple[str, str]]:
    """Return the lines about links, rows kept, and columns that stay constant within persons."""
    if not entry:
        return []
    rows = [("rows kept", f"{entry['rows_kept']:,} of {records:,} ({100 * entry['rows_kept'] / records:.1f} %)")]
    if entry["links"] == "kept":
        rows.append(("links", "kept: a random code for each person, rows in the order of the history"))
    if "constant" in entry:
        rows.append((f"constant within {entry['constant_within']}", ", ".join(entry["constant"])))
        if "constant_within_households" in entry:
            rows.append(("of these within households", ", ".join(entry["constant_within_households"])))
    return rows


def _step_rows(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines about steps before and after grouping."""
    rows = []
    for name, steps in entry.get("columns", {}).items():
        for when in ("before", "after"):
            if when in steps:
                cells = steps.get(f"changed_{when}")
                count = "" if cells is None else f" ({cells:,} cell{'' if cells == 1 else 's'} changed)"
                rows.append((f"{when} grouping", f"{name}: {', '.join(steps[when])}{count}"))
    if "records_dropped" in entry:
        rows.append(("records dropped", f"{entry['records_dropped']:,} ({100 * entry['share_dropped']:.1f} %)"))
    if entry.get("shuffled"):
        rows.append(("rows", "in a random order"))
    return rows


def _rule_rows(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines about rules between columns."""
    changed = ", ".join(f"{cells:,} of {name}" for name, cells in entry.get("changed_cells", {}).items())
    return [("rules kept", f"{', '.join(entry['kept'])} (cells changed: {changed or 'none'})")] if entry else []


def _k_text(release: Release) -> str:
    """Return what k counts where that is not records."""
    classes = release.classes
    return "" if classes.units is None else f" {classes.of.noun} ({classes.k_rows} records in the smallest class)"


def _loss_apart(release: Release) -> str:
    """Return the loss of columns that stay constant and of all others, where there are such columns."""
    constant = release.schema.constant
    if not constant:
        return ""
    varying = [column.name for column in release.schema.quasi if not column.constant]
    parts = f" (constant columns {100 * release.loss.over(constant):.2f} %"
    parts += f", varying {100 * release.loss.over(varying):.2f} %" if varying else ""
    return f"{parts}; every {'person' if release.plan.persons.weighting == 'persons' else 'row'} counts the same)"


_STOPPED_TEXTS = {"interrupted": "interrupted from the keyboard: the best groups found so far"}
"""How a search ended, where that was not planned."""


def _summary(release: Release) -> list[tuple[str, str]]:
    """Return the lines of the summary: what was done, achieved and lost."""
    manifest, sizes, loss = release.manifest, release.grouping.sizes, release.loss
    method = manifest["method"]
    resolved = ", ".join(entry["algorithm"] for entry in method["resolved"])
    requested = method["requested"]["name"]
    rows = [
        ("records", f"{manifest['input']['records']:,}" + _persons_text(manifest["input"])),
        ("method", resolved if resolved.partition("@")[0] == requested else f"{requested} (selected {resolved})"),
        *([("search", _STOPPED_TEXTS[method["stopped"]])] if method["stopped"] in _STOPPED_TEXTS else []),
        ("k requested / achieved", f"{release.grouping.k} / {release.k}" + _k_text(release)),
        *((f"k {name.replace('_', ' ')}", str(value)) for name, value in release.released.recount.known_k().items()),
        (
            "groups",
            f"{len(release.grouping):,} of {sizes.min()} to {sizes.max()} records, {sizes.mean():.2f} on average",
        ),
        *_person_rows(manifest.get("person_groups", {}), manifest["input"]["records"]),
        *_step_rows(manifest.get("steps", {})),
        *_rule_rows(manifest.get("rules", {})),
        ("information loss", f"{100 * loss.information_loss:.2f} %" + _loss_apart(release)),
    ]
    if release.schema.sampling_weight is not None:
        rows.append(("sampling weight", _WEIGHT_TEXTS[release.schema.release_weight]))
    if loss.gap is not None and loss.objective is not None:
        rows.append(("proven", f"at most {100 * loss.gap:.2g} % above the best possible {loss.objective.name}"))
    tables = loss.frequency_tables
    if tables is not None:
        single = tables.dimensions.get(1)
        rows.append(("frequency tables", f"chi-square {tables.chi_square:,.1f}, cells vanished {tables.vanished:,}"))
        if single is not None:
            one_way = f"{single.max_absolute:,.0f} in one-way tables"
            rows.append(("largest cell error", f"{tables.max_absolute:,.0f} ({one_way})"))
    for name, figures in manifest.get("achieved", {}).items():
        counted = ", counted by persons" if "of" in figures else ""
        rows.append((f"{name} requested / achieved", f"{figures['requested']:g} / {figures['achieved']:.4g}{counted}"))
    persons = release.released.recount.persons
    if persons is not None and release.schema.unit is not None:
        share = f"one person has up to {100 * persons.share.highest:.4g} % of the rows of a class"
        highest = f"{100 * persons.risk.highest:.4g} % at most, if rows cannot be linked"
        if persons.linked is not None:  # links are kept
            highest = f"{100 * persons.linked.highest:.4g} % at most, for all rows of a person together"
        rows.append(("person risk", f"{highest}; {share}"))
    if persons is not None and persons.household_risk is not None:
        rows.append(("household risk", f"{100 * persons.household_risk.highest:.4g} % at most, for one member"))
    rows += [("statistic", statistic.sentence()) for statistic in release.statistics]
    second = release.released.second
    if second is not None:
        counts = ", ".join(f"{getattr(second, name):,} {name}" for name in ("kept", "changed", "new", "deleted"))
        rows.append(("records since the earlier release", counts))
        avoidable = second.below_k - second.unavoidable
        rows.append((
            "fewer than k candidates in both",
            f"{second.below_k:,} records ({100 * second.share_below_k:.2f} %); of {second.unavoidable:,} the earlier "
            "group has fewer than k members left" + (f", {avoidable:,} were separated" if avoidable else ""),
        ))  # fmt: skip
    return rows


_WORDS = frozenset({"", "meaning", "measure", "figure", "description", "kind", "role", "reason", "time"})
"""The headings of columns that hold words of Shoal; cells of other columns may come from the data."""


def _cell(heading: str, text: str) -> str:
    """Return a cell of a table of results in the language of this process; only words of Shoal, and numbers."""
    return (
        said(text) if heading in _WORDS or text.replace(" %", "").replace(",", "").replace(".", "").isdigit() else text
    )


def draw_rows(title: str, names: list[str], rows: Sequence[tuple[object, ...]], *, one_line: bool = False) -> None:
    """Print a small table, optionally with rows that never take a second line."""
    grid = Grid(title=printable(said(title)), title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        grid.add_column(printable(said(name)), no_wrap=one_line, overflow="ellipsis" if one_line else "fold")
    for row in rows:
        cells = ["" if value is None else str(value) for value in row]
        grid.add_row(
            *(printable(cell if one_line else _cell(name, cell)) for name, cell in zip(names, cells, strict=True))
        )
    console().print(grid)
