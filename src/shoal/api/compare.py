"""Methods and levels of protection side by side: what each combination loses, risks and takes.

Two protections are comparable only if both loss and risk are looked at: the picture has loss across and risk up, and
a combination is *efficient* if no other has both less loss and less risk. A combination that fails, because a method
cannot work on the data or a target is out of reach, is listed with the reason and does not end the run.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from shoal.api.protect import protect
from shoal.api.release import Release
from shoal.core.compiled import when_compiling
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError, ShoalError
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.class_risk import class_risk
from shoal.evaluate.linkage import distance_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import pair_columns
from shoal.methods.registry import get_method
from shoal.schema.columns import Role, Schema, names_list
from shoal.schema.loading import load
from shoal.tables import Table, check_output, write_files
from shoal.tables.files import write_text

SMALL = 20_000
DEFAULT_METHODS = ("mdav", "ona-star", "mona")
DEFAULT_METHODS_LARGE = ("mondrian-v", "mona", "mona-plus")
_SAMPLE = 2_000


@dataclass(frozen=True)
class Combination:
    """One combination and what came of it; figures are None where it failed.

    Parameters
    ----------
    method, k, l, t
        What was asked for.
    chosen
        What ``auto`` chose.
    loss
        Information loss, SSE / SST.
    k_reached
        The smallest class of the finished table.
    highest_risk, average_risk
        Prosecutor risk: of the record easiest to pick out, and on average over records.
    linkage, linkage_low, linkage_high
        The share of records linked to their person by the nearest distance, with its 95 % interval.
    attribute
        What the release adds to guessing a confidential value, for the column where that is most.
    seconds
        How long the protection took, without compiling loops.
    efficient
        Whether no other combination has less loss and less linkage.
    reason
        Why it failed; empty if it did not.
    """

    method: str
    k: int
    l: float | None = None
    t: float | None = None
    chosen: str = ""
    loss: float | None = None
    k_reached: int | None = None
    highest_risk: float | None = None
    average_risk: float | None = None
    linkage: float | None = None
    linkage_low: float | None = None
    linkage_high: float | None = None
    attribute: float | None = None
    seconds: float | None = None
    efficient: bool = False
    reason: str = ""

    @property
    def name(self) -> str:
        """The combination in a few words: ``mdav k=5 l=3``."""
        targets = [f"{name}={value:g}" for name, value in (("l", self.l), ("t", self.t)) if value is not None]
        return " ".join([self.method, f"k={self.k}", *targets])


@dataclass(frozen=True)
class Comparison:
    """All combinations, in the order in which they were asked for.

    Parameters
    ----------
    combinations
        What came of each.
    records
        How many records the table has.
    """

    combinations: tuple[Combination, ...]
    records: int

    def __iter__(self) -> Any:
        return iter(self.combinations)

    def __len__(self) -> int:
        return len(self.combinations)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {"records": self.records, "combinations": [asdict(one) for one in self.combinations]}

    def to_frame(self) -> Any:
        """Return the table as a polars DataFrame."""
        import polars as pl

        return pl.DataFrame([asdict(one) for one in self.combinations], infer_schema_length=None)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the lines of a table for people; the headings are :data:`HEADINGS`."""
        return [_row(one) for one in self.combinations]

    def __str__(self) -> str:
        from shoal.core.text import plain_table

        return "\n".join(
            [
                plain_table(HEADINGS, self.rows()),
                *(f"{name} failed: {reason}" for name, reason in self.reasons().items()),
            ]
        )

    def reasons(self) -> dict[str, str]:
        """Return why combinations failed, by name of the combination."""
        return {one.name: one.reason for one in self.combinations if one.reason}

    def csv(self) -> str:
        """Return the table as CSV text."""
        lines = io.StringIO()
        writer = csv.DictWriter(lines, [*asdict(self.combinations[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in self.combinations)
        return lines.getvalue()

    def svg(self) -> str:
        """Return the risk-utility picture as SVG text."""
        from shoal.report.comparison import comparison_picture

        return comparison_picture(self)

    def png(self) -> bytes:
        """Return the risk-utility picture as PNG; needs ``shoal[png]``."""
        from shoal.report.comparison import comparison_png

        return comparison_png(self)

    def html(self) -> str:
        """Return table and picture as one self-contained web page."""
        from shoal.report.comparison import comparison_page

        return comparison_page(self)

    def write(self, *paths: str | Path) -> list[Path]:
        """Write ``.csv``, ``.svg``, ``.png`` or ``.html`` files, all of them or none; the ending says what."""
        places = [Path(path) for path in paths]
        check_comparison_targets(places)
        texts: dict[str, Callable[[], str | bytes]] = {
            ".csv": self.csv, ".svg": self.svg, ".png": self.png, ".html": self.html, ".htm": self.html,
        }  # fmt: skip
        write_files({place: _writer(texts[place.suffix.lower()]()) for place in places})
        return places


def _writer(text: str | bytes) -> Callable[[Path], None]:
    return lambda place: write_text(place, text) if isinstance(text, str) else _write_bytes(place, text)


def _write_bytes(place: Path, content: bytes) -> None:
    place.write_bytes(content)


HEADINGS = ("method", "k", "loss", "k reached", "highest", "average", "linkage", "attribute", "seconds", "")
"""The headings of the table for people."""


def _row(one: Combination) -> tuple[str, ...]:
    targets = "".join(f" {name}={value:g}" for name, value in (("l", one.l), ("t", one.t)) if value is not None)
    method = f"{one.method} ({one.chosen})" if one.chosen else one.method
    if one.reason:
        return (method, f"{one.k}{targets}", *[""] * 7, "failed")
    linkage = f"{_percent(one.linkage)} ({100 * (one.linkage_low or 0):.1f}–{100 * (one.linkage_high or 0):.1f})"
    return (
        method,
        f"{one.k}{targets}",
        _percent(one.loss, 2),
        str(one.k_reached),
        _percent(one.highest_risk),
        _percent(one.average_risk),
        linkage,
        _percent(one.attribute) if one.attribute is not None else "",
        "" if one.seconds is None else f"{one.seconds:.2f}",
        "efficient" if one.efficient else "",
    )


def _percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f} %"


def check_comparison_targets(places: Sequence[Path], inputs: tuple[Path, ...] = ()) -> None:
    """Refuse, before any work, places that cannot be written or that say no known kind."""
    from shoal.report.comparison import check_png

    for place in places:
        if place.suffix.lower() not in {".csv", ".svg", ".png", ".html", ".htm"}:
            raise ParameterError(
                f"{place.name}: a comparison is written as .csv, .svg or .html, or as .png with shoal[png]; choose one"
            )
        if place.suffix.lower() == ".png":
            check_png()
        check_output(place, inputs=inputs, table=False)


def compare(
    data: Any,
    k: int | Iterable[int] = (3, 5, 10),
    *,
    methods: Sequence[str] | None = None,
    l: float | Iterable[float] | None = None,
    t: float | Iterable[float] | None = None,
    schema: Schema | str | None = None,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
    **choices: Any,
) -> Comparison:
    """Protect one table by several methods and levels, and put loss, risk and time side by side.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file; it is read once.
    k
        One or several sizes.
    methods
        Names from :func:`shoal.all_methods`; if not given mdav, ona-star and mona, or faster ones for more than 20,000
        records.
    l, t
        One or several targets of l-diversity and t-closeness, tried in every combination.
    schema
        A schema, or the text of a TOML schema.
    seed
        For methods that draw random numbers, and for the sample of linked records.
    options
        Options of methods by name: ``{"auto": {"effort": "best"}}``.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.
    choices
        What else :func:`shoal.protect` takes: ``quasi``, ``confidential``, ``missing``, ``recode``, ...

    Returns
    -------
    comparison
        One line per combination; ``print`` shows a table, ``.svg()`` a picture, ``.write("x.html")`` a page.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.patients(60)
    >>> found = compare(people, k=[3, 5], methods=["mdav"], quasi=["age", "income"], confidential=["diagnosis"])
    >>> [(one.method, one.k, one.reason) for one in found]
    [('mdav', 3, ''), ('mdav', 5, '')]
    """
    roles = {name: choices.pop(name) for name in [*choices] if name in _SCHEMA_CHOICES}
    changes = {**dict.fromkeys(_SCHEMA_CHOICES), **roles}
    table, full = load(data, schema, changes, read_options or {}, progress)
    if methods is None:
        methods = DEFAULT_METHODS if table.n_rows <= SMALL else DEFAULT_METHODS_LARGE
    names = names_list(methods)
    for name in names:
        get_method(name)  # an unknown name is an error before any work
    grid = [
        Combination(method, size, diversity, closeness)
        for method, size, diversity, closeness in product(names, _several(k, "k"), _several(l), _several(t))
    ]
    if not grid:
        raise ParameterError("there is nothing to compare; name at least one method and one k")
    found = []
    for place, one in enumerate(grid, start=1):
        step = _Named(progress, f"{one.name} ({place} of {len(grid)})")
        found.append(_tried(one, table, full, seed, dict((options or {}).get(one.method, {})), choices, step))
    return Comparison(_with_efficient(found), table.n_rows)


_SCHEMA_CHOICES = (
    "quasi", "confidential", "identifiers", "kinds", "orders", "weights", "within", "sampling_weight", "missing",
    "recode", "hierarchies",
)  # fmt: skip


def _several(values: Any, name: str = "") -> list[Any]:
    if values is None:
        return [None]
    several = [values] if isinstance(values, int | float) else list(values)
    if name and not several:
        raise ParameterError(f"{name} names no value; give at least one, such as {name}=5")
    return several


def _tried(
    one: Combination,
    table: Table,
    schema: Schema,
    seed: int,
    options: dict[str, Any],
    choices: Mapping[str, Any],
    progress: Progress,
) -> Combination:
    """Return a combination with its figures, or with the reason why there are none."""
    targets = {name: value for name, value in (("l", one.l), ("t", one.t)) if value is not None}
    wanted: dict[str, Any] = {**choices, **targets, "method": one.method, "schema": schema, "seed": seed}
    compiled: list[str] = []
    try:
        with when_compiling(compiled.append):
            release, seconds = _timed(table, one.k, {**wanted, "options": options, "progress": progress})
        if compiled:  # the time of compiling is paid once on a machine and says nothing of the method
            seconds = _timed(table, one.k, {**wanted, "options": options, "progress": progress})[1]
        progress.stage("measuring")
        return _measured(replace(one, seconds=seconds), release, seed)
    except ShoalError as problem:
        return replace(one, reason=str(problem))
    except MemoryError:
        return replace(one, reason="it does not fit into memory")
    except Exception as fault:  # noqa: BLE001 - one fault must not end the run; its text may quote values
        return replace(one, reason=f"an error inside Shoal ({type(fault).__name__})")


def _timed(table: Table, k: int, wanted: Mapping[str, Any]) -> tuple[Release, float]:
    started = perf_counter()
    release = protect(table, k, **wanted)
    return release, perf_counter() - started


def _measured(one: Combination, release: Release, seed: int) -> Combination:
    assert release.original is not None
    schema, sizes = release.schema, release.classes.sizes
    classes = class_risk(sizes)
    paired = pair_columns(release.original, release.table, schema.protected, schema)
    matcher = Matcher(paired)
    linkage = distance_linkage(paired, matcher=matcher, sample=_SAMPLE, seed=seed).success
    secret = schema.named(Role.CONFIDENTIAL)
    attribute = None
    if secret:
        columns = pair_columns(release.original, release.table, secret, schema)
        attribute = max(attack.excess for attack in attribute_disclosure(matcher.labels, columns, repeats=3, seed=seed))
    return replace(
        one,
        chosen=str(release.manifest["method"]["facts"].get("chosen", "")),
        loss=release.loss.information,
        k_reached=release.k,
        highest_risk=classes.prosecutor.highest,
        average_risk=classes.prosecutor.average,
        linkage=linkage.value,
        linkage_low=linkage.low,
        linkage_high=linkage.high,
        attribute=attribute,
    )


def _with_efficient(found: list[Combination]) -> tuple[Combination, ...]:
    """Mark the combinations that no other one beats in both loss and linkage."""
    points = [(one.loss, one.linkage) for one in found if one.loss is not None and one.linkage is not None]

    def beaten(loss: float, linkage: float) -> bool:
        return any(other <= loss and risk <= linkage and (other < loss or risk < linkage) for other, risk in points)

    return tuple(
        one if one.loss is None or one.linkage is None else replace(one, efficient=not beaten(one.loss, one.linkage))
        for one in found
    )


class _Named(Progress):
    """Passes progress on with the name of the combination before the name of the step."""

    def __init__(self, listener: Progress, name: str) -> None:
        self._listener, self._name = listener, name

    def stage(self, name: str, total: int | None = None) -> None:
        self._listener.stage(f"{self._name}: {name}", total)

    def advance(self, amount: int = 1) -> None:
        self._listener.advance(amount)

    def note(self, text: str) -> None:
        self._listener.note(text)
