"""Combinations that were compared: their figures, as a table, a figure, a page and files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoal.api.compared_utility import (
    RIVAL_TEXT,
    SAME_LINKAGE_HEADINGS,
    UTILITY_HEADINGS,
    same_linkage,
    same_linkage_rows,
    utility_rows,
)
from shoal.core.text import html_table, text_table
from shoal.errors import ParameterError
from shoal.schema.requirements import Of
from shoal.tables import write_files
from shoal.tables.files import check_output, write_text
from shoal.tables.frames import data_frame
from shoal.tables.table import FileNumber


@dataclass(frozen=True)
class Combination:
    """One combination and what came of it; figures are None where it failed.

    Parameters
    ----------
    method, k, l, t
        What was asked for; k is None for a rival, which gives none.
    of, constant
        What k was asked to count, and whether columns were kept constant within persons, where several were compared.
    selected_method
        The method that ``auto`` selected.
    information_loss
        Information loss, SSE / SST.
    k_achieved
        The number of what k counts in the smallest equivalence class of the finished table.
    k_of
        What k counts: ``rows``, ``units`` (persons), ``households`` or ``histories``.
    k_rows
        The number of records in the smallest equivalence class.
    highest_risk, average_risk
        Prosecutor risk: of the record with the highest risk, and on average over records. With a unit the person risk:
        the highest, and on average over persons, for rows that cannot be linked.
    highest_share
        With a unit: the largest share of one person in the rows of an equivalence class.
    record_linkage, record_linkage_low, record_linkage_high
        The share of records re-identified by nearest-neighbour record linkage, with its 95 % interval.
    candidates
        The share of records re-identified among the rows that cover the true values, where cells were suppressed or
        generalised; record linkage is too low there.
    statistics_outside
        The number of figures of statistics that must hold that are outside their tolerance; such a release is not made.
    attribute_disclosure
        By how much the release improves guesses of a confidential value, for the column where that is most.
    seconds
        How long the protection took, without compiling loops.
    efficient
        Whether the combination is Pareto-efficient: no other has less loss and less record linkage.
    rows_kept
        The share of the rows that are released; histories suppress some.
    constant_loss, varying_loss
        Information loss of the columns that are declared as constant within persons, and of all others.
    reason
        Why it failed; empty if it did not.
    keep_moments
        Whether means and covariances of numeric columns were kept.
    rival, setting
        Whether the line is a perturbation that is measured for comparison only, and its amount.
    il1s, variance, correlation
        Mean change of a number in units of sqrt(2) standard deviations; mean change of the variances, as a share; mean
        difference of the correlations, over the quasi-identifiers.
    hellinger, propensity_ratio, specks
        Mean Hellinger distance of the columns, pMSE over its null value, and SPECKS; see :func:`shoal.utility`. The
        propensity scores are those of at most 5,000 records of each table.
    ncp
        Mean NCP over the cells, where all quasi-identifiers are generalised.
    """

    method: str
    k: int | None
    l: float | None = None
    t: float | None = None
    of: str | None = None
    constant: bool = False
    selected_method: str = ""
    information_loss: float | None = None
    k_achieved: int | None = None
    highest_risk: float | None = None
    average_risk: float | None = None
    record_linkage: float | None = None
    record_linkage_low: float | None = None
    record_linkage_high: float | None = None
    attribute_disclosure: float | None = None
    seconds: float | None = None
    efficient: bool = False
    rows_kept: float | None = None
    constant_loss: float | None = None
    varying_loss: float | None = None
    reason: str = ""
    k_of: str = "rows"
    k_rows: int | None = None
    highest_share: float | None = None
    keep_moments: bool = False
    rival: bool = False
    setting: str = ""
    il1s: float | None = None
    variance: float | None = None
    correlation: float | None = None
    hellinger: float | None = None
    propensity_ratio: float | None = None
    specks: float | None = None
    candidates: float | None = None
    statistics_outside: int | None = None
    ncp: float | None = None

    @property
    def requested_k(self) -> int:
        """The k that was asked for; 1 for a rival."""
        return 1 if self.k is None else self.k

    @property
    def name(self) -> str:
        """The combination in a few words: ``mdav k=5 l=3``, ``noise 0.1``."""
        if self.rival:
            return f"{self.method} {self.setting}"
        targets = [f"{name}={value:g}" for name, value in (("l", self.l), ("t", self.t)) if value is not None]
        targets += ["moments kept"] if self.keep_moments else []
        return " ".join([self.method, f"k={self.k}", *targets, *([self.counted] if self.counted else [])])

    @property
    def loss_apart(self) -> str:
        """The loss of constant and of varying columns, in words."""
        if self.constant_loss is None:
            return ""
        varying = "" if self.varying_loss is None else f" / {100 * self.varying_loss:.2f}"
        return f"{100 * self.constant_loss:.2f}{varying} %"

    @property
    def counted(self) -> str:
        """What k counts, and whether columns are kept constant: ``units, constants kept``."""
        parts = [self.of] if self.of else []
        return ", ".join([*parts, "constants kept"] if self.constant else parts)


@dataclass(frozen=True, repr=False)
class Comparison:
    """All combinations, in the order in which they were asked for.

    Parameters
    ----------
    combinations
        What came of each.
    records
        The number of records of the table.
    backend
        The library of the table, for :meth:`table`.
    inputs
        The files that the table was made from, which :meth:`write` never replaces; dropped by pickle.
    persons
        The number of persons, where there is a unit.
    """

    combinations: tuple[Combination, ...]
    records: int
    backend: str = "polars"
    inputs: tuple[Path | FileNumber, ...] = field(default=(), compare=False)
    persons: int | None = None

    @property
    def note(self) -> str:
        """What k and the risk count, where the table has persons or households with several rows; otherwise empty."""
        counted = {Of(one.k_of) for one in self.combinations}
        if self.persons is None and counted == {Of.ROWS}:
            return ""
        of = " or ".join(sorted(each.noun for each in counted))
        risk = "records" if self.persons is None else "persons, for rows that cannot be linked to each other"
        table = f"{self.records:,} records" + ("" if self.persons is None else f" of {self.persons:,} persons")
        return f"{table}: k counts {of}; highest and average risk are those of {risk}"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"inputs": ()}

    def __iter__(self) -> Any:
        return iter(self.combinations)

    def __len__(self) -> int:
        return len(self.combinations)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        persons = {} if self.persons is None else {"persons": self.persons}
        found = {"records": self.records, **persons, "combinations": [asdict(one) for one in self.combinations]}
        if self.has_rivals:
            found["same_linkage"] = [asdict(one) for one in same_linkage(self.combinations)]
        return found

    def table(self) -> Any:
        """Return one row per combination as a DataFrame of the library that the table came in."""
        rows = [list(asdict(one).values()) for one in self.combinations]
        return data_frame(list(asdict(self.combinations[0])), rows, self.backend)

    def __repr__(self) -> str:
        failed = len(self.reasons())
        text = f"{len(self)} combinations on {self.records:,} records"
        return f"<Comparison: {text}{f', {failed} failed' if failed else ''}>"

    def _repr_html_(self) -> str:
        return str(self.svg()) + html_table(self.headings, self.rows())

    @property
    def _by_persons(self) -> bool:
        """Whether lines differ in what k counts, or columns are kept constant."""
        return any(one.counted for one in self.combinations)

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the rows: :data:`HEADINGS`; with what k counts, where that is compared.

        Average risk and attribute disclosure then give their place; CSV and JSON have all figures.
        """
        if not self._by_persons:
            return HEADINGS
        shown = (HEADINGS[place] for place in _WITH_PERSONS)
        return ("method", "k", "k counts", "rows kept", "constant / varying", *shown)

    @property
    def persons_text(self) -> str:
        """What the columns about persons mean, as the end of a sentence."""
        text = "; constant / varying: loss of the columns that are constant within persons, and of the others"
        return text if self._by_persons else ""

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of a table for people; see :attr:`headings`."""
        found = [_row(one) for one in self.combinations]
        if not self._by_persons:
            return found
        return [
            (one.selected_method or one.method, row[1], one.counted, _percent(one.rows_kept), one.loss_apart,
             *(row[place].partition(" (")[0] for place in _WITH_PERSONS))
            for row, one in zip(found, self.combinations, strict=True)
        ]  # fmt: skip

    @property
    def has_rivals(self) -> bool:
        """Whether perturbations were measured for comparison."""
        return any(one.rival for one in self.combinations)

    def utility_rows(self) -> list[tuple[str, ...]]:
        """Return what analysts keep in each line as rows of text; see :mod:`shoal.api.compared_utility`."""
        return utility_rows(self.combinations)

    def same_linkage_rows(self) -> list[tuple[str, ...]]:
        """Return what each rival costs at the record linkage of each grouping, as rows of text."""
        return same_linkage_rows(self.combinations)

    def _further_tables(self) -> list[str]:
        tables = ["", text_table(UTILITY_HEADINGS, self.utility_rows())] if self.utility_rows() else []
        if self.has_rivals:
            tables += ["", text_table(SAME_LINKAGE_HEADINGS, self.same_linkage_rows()), RIVAL_TEXT]
        return tables

    def __str__(self) -> str:
        return "\n".join(
            [
                text_table(self.headings, self.rows()),
                *self._further_tables(),
                *(f"{name} failed: {reason}" for name, reason in self.reasons().items()),
                *([self.note] if self.note else []),
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
        """Return the risk-utility figure as SVG text."""
        from shoal.report.comparison import comparison_figure

        return comparison_figure(self)

    def png(self) -> bytes:
        """Return the risk-utility figure as PNG; needs ``shoal[png]``."""
        from shoal.report.comparison import comparison_png

        return comparison_png(self)

    def html(self) -> str:
        """Return table and picture as one self-contained web page."""
        from shoal.report.comparison import comparison_page

        return comparison_page(self, self.headings, UTILITY_HEADINGS, SAME_LINKAGE_HEADINGS)

    def write(self, *paths: str | Path, overwrite: bool = False) -> list[Path]:
        """Write ``.csv``, ``.svg``, ``.png`` or ``.html`` files, all of them or none, by extension.

        An existing file raises :class:`shoal.errors.FileProblem`, unless ``overwrite`` is True.

        They state exact losses and successful attacks of the original, so that only their owner can read them (mode
        0600).
        """
        if not all(isinstance(path, str | Path) and str(path) for path in paths):
            raise ParameterError("a comparison is written to the paths of files, such as compared.html")
        places = [Path(path) for path in paths]
        check_comparison_targets(places, self.inputs, overwrite=overwrite)
        texts: dict[str, Callable[[], str | bytes]] = {
            ".csv": self.csv, ".svg": self.svg, ".png": self.png, ".html": self.html, ".htm": self.html,
        }  # fmt: skip
        write_files({place: _writer(texts[place.suffix.lower()]()) for place in places}, private=places)
        return places


def _writer(text: str | bytes) -> Callable[[Path], None]:
    return lambda place: write_text(place, text) if isinstance(text, str) else _write_bytes(place, text)


def _write_bytes(place: Path, content: bytes) -> None:
    place.write_bytes(content)


HEADINGS = (
    "method", "k", "loss", "k achieved", "highest risk", "average risk", "record linkage", "attribute disclosure",
    "seconds", "",
)  # fmt: skip
"""The headings of the table for people."""
_WITH_PERSONS = (2, 3, 4, 6, 8, 9)
"""Those that are shown where lines differ in what k counts."""


def _row(one: Combination) -> tuple[str, ...]:
    targets = "".join(f" {name}={value:g}" for name, value in (("l", one.l), ("t", one.t)) if value is not None)
    method = f"{one.method} ({one.selected_method})" if one.selected_method else one.method
    kept = " moments kept" if one.keep_moments else ""
    level = one.setting if one.rival else f"{one.k}{targets}{kept}"
    if one.reason:
        return (method, level, *[""] * 7, "failed")
    low, high = (100 * (bound or 0) for bound in (one.record_linkage_low, one.record_linkage_high))
    linkage = f"{_percent(one.record_linkage)} ({low:.1f}–{high:.1f})"
    linkage += "" if one.candidates is None else f"; candidates {_percent(one.candidates)}"
    return (
        method,
        level,
        _percent(one.information_loss, 2),
        str(one.k_achieved) if one.k_of == Of.ROWS else f"{one.k_achieved} {Of(one.k_of).noun} ({one.k_rows} records)",
        _percent(one.highest_risk),
        _percent(one.average_risk),
        linkage,
        _percent(one.attribute_disclosure) if one.attribute_disclosure is not None else "",
        "" if one.seconds is None else f"{one.seconds:.2f}",
        ("efficient" if one.efficient else "") + _statistics_text(one),
    )


def _statistics_text(one: Combination) -> str:
    if one.statistics_outside is None:
        return ""
    return " statistics hold" if not one.statistics_outside else f" {one.statistics_outside:,} statistics outside"


def _percent(share: float | None, digits: int = 1) -> str:
    return "" if share is None else f"{100 * share:.{digits}f} %"


def check_comparison_targets(
    places: Sequence[Path], inputs: Sequence[Path | FileNumber] = (), *, overwrite: bool = False
) -> None:
    """Raise, before any work, for files that cannot be written or have an unknown extension."""
    from shoal.report.comparison import check_png

    for place in places:
        if place.suffix.lower() not in {".csv", ".svg", ".png", ".html", ".htm"}:
            raise ParameterError(
                f"{place.name}: a comparison is written as .csv, .svg or .html, or as .png with shoal[png]; choose one"
            )
        if place.suffix.lower() == ".png":
            check_png()
        check_output(place, inputs=inputs, table=False, overwrite=overwrite)
