"""The utility of a release in one place: numbers, distributions, frequency tables and analyses against the original.

``shoal.utility(original, released)`` measures any release, whichever software made it. Each figure states its best
value; of two releases the one with the lower (or, for overlap and prediction, the higher) figure is the better one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.core.text import html_table, text_table
from shoal.errors import DataError, SchemaError, UnknownColumn
from shoal.evaluate.analyses import (
    Prediction,
    RegressionAgreement,
    regression_agreement,
    trained_on_release,
)
from shoal.evaluate.distribution_distances import (
    cells,
    hellinger,
    kolmogorov_smirnov,
    pairwise_variation,
    total_variation,
    wasserstein,
)
from shoal.evaluate.moments import il1s, joint_moments, mean_shift, quantile_shift, variance_change
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.evaluate.propensity_scores import MAX_LOGISTIC_RECORDS, propensity
from shoal.schema.columns import Schema, names_list
from shoal.schema.loading import check_read_options, complete_schema, load_file_or_frame
from shoal.schema.plan import ReadOptions
from shoal.tables import Table
from shoal.tables.frames import backend_of, data_frame

_MAX_TABLE_COLUMNS = 8
_HEADER = ("measure", "figure", "meaning")
_COLUMN_HEADER = (
    "column",
    "IL1s",
    "mean",
    "variance",
    "quantiles",
    "distribution",
    "Wasserstein",
    "Hellinger",
    "changed",
)
_COLUMN_MEANINGS = {
    "il1s": "mean |x - x'| / (sqrt(2) S); 0 is best",
    "mean": "change of the mean, in standard deviations; 0 is best",
    "variance": "variance of the release / variance of the original, less one; 0 is best",
    "quantiles": "mean distance of the deciles, in standard deviations; 0 is best",
    "distribution": "Kolmogorov-Smirnov distance for numbers, total variation for categories; 0 is best",
    "wasserstein": "mean distance of equal quantiles, in standard deviations; 0 is best",
    "hellinger": "sqrt(1 - sum sqrt(p p')) of categories, or of numbers cut at the deciles; 0 is best",
    "changed": "share of cells that changed",
}


@dataclass(frozen=True)
class ColumnUtility:
    """The utility of one column; a figure is None where it does not apply to the kind of the column.

    Parameters
    ----------
    il1s
        Mean |x - x'| / (sqrt(2) S).
    mean
        Absolute change of the mean, in standard deviations.
    variance
        Variance of the release / variance of the original, less one.
    quantiles
        Mean distance of the deciles, in standard deviations.
    distribution
        Largest difference of the distribution functions for numbers, total variation for categories.
    wasserstein
        Mean distance of equal quantiles, in standard deviations.
    hellinger
        The Hellinger distance of the distributions, numbers cut at the deciles of the original.
    changed
        The share of cells that changed.
    """

    il1s: float | None
    mean: float | None
    variance: float | None
    quantiles: float | None
    distribution: float
    wasserstein: float | None
    hellinger: float
    changed: float | None


@dataclass(frozen=True, repr=False)
class Utility:
    """The utility of a release.

    Parameters
    ----------
    columns
        Figures of single columns.
    il1s
        The mean over the numeric columns.
    covariance, correlation, eigenvalues
        See :func:`shoal.evaluate.moments.joint_moments`.
    pairs
        Total variation of the two-way table of each pair of columns.
    tables
        Chi-square, largest errors and zero cells of frequency tables up to dimension 2, numbers cut at deciles.
    regression
        Agreement of a regression of the target on the other columns.
    propensity, propensity_ratio, specks
        pMSE as a share of its largest value and over its null value, and SPECKS; see
        :class:`shoal.evaluate.propensity_scores.PropensityFigures`.
    prediction
        Train on the release, test on the original.
    notes
        What was not measured, or measured on a sample.
    backend
        The library of the DataFrame that :meth:`table` returns: ``polars``, ``pandas`` or ``pyarrow``.
    """

    columns: Mapping[str, ColumnUtility]
    il1s: float | None
    covariance: float | None
    correlation: float | None
    eigenvalues: float | None
    pairs: Mapping[tuple[str, str], float]
    tables: Mapping[str, Any] | None
    regression: RegressionAgreement | None
    propensity: float | None
    propensity_ratio: float | None
    specks: float | None
    prediction: Prediction | None
    notes: tuple[str, ...] = ()
    backend: str = field(default="polars", compare=False, kw_only=True)

    @property
    def pairwise(self) -> float | None:
        """The mean total variation of the two-way tables."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else None

    @property
    def hellinger(self) -> float:
        """The mean Hellinger distance of the columns."""
        return float(np.mean([column.hellinger for column in self.columns.values()]))

    def _figures(self) -> list[tuple[str, float, str]]:
        """Return measure, figure and meaning of the measures that apply."""
        worst = max(self.pairs.items(), key=lambda item: item[1], default=None)
        found: list[tuple[str, float | None, str]] = [
            ("IL1s", self.il1s, "mean change of a number, in units of sqrt(2) standard deviations; 0 is best"),
            ("covariances", self.covariance, "mean difference, in products of standard deviations; 0 is best"),
            ("correlations", self.correlation, "mean difference; 0 is best"),
            ("eigenvalues", self.eigenvalues, "summed differences as a share of their sum; 0 is best"),
            ("two-way tables", self.pairwise, "mean total variation over pairs of columns; 0 is best"),
        ]
        if worst is not None:
            found.append(("worst two-way table", worst[1], f"{worst[0][0]} by {worst[0][1]}"))
        if self.tables is not None:
            found.append(("largest table error", self.tables["max_absolute"], "records, tables of one or two columns"))
        if self.regression is not None:
            meaning = f"mean overlap of the intervals of {self.regression.terms} slopes on {self.regression.target}; "
            found.append(("regression", self.regression.overlap, meaning + "1 is best"))
        found += [
            ("Hellinger", self.hellinger, "mean distance of the distributions of single columns; 0 is best"),
            ("propensity (pMSE)", self.propensity, "share of its maximum; 0: the tables cannot be distinguished"),
            (
                "pMSE / null value",
                self.propensity_ratio,
                "1 or less: as near as records drawn at random from the original",
            ),
            (
                "SPECKS",
                self.specks,
                "largest difference of the propensity scores; 0: the tables cannot be distinguished",
            ),
        ]
        if self.prediction is not None:
            score = f"{self.prediction.score} for {self.prediction.target} on original records for testing, "
            found += [
                ("trained on release", self.prediction.from_release, score + "trained on the release"),
                ("trained on original", self.prediction.from_original, score + "trained on the original"),
                ("baseline", self.prediction.baseline, score + "always the same prediction"),
            ]
        return [(name, value, meaning) for name, value, meaning in found if value is not None]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return measure, figure and meaning as rows of text."""
        return [(name, _figure(value), meaning) for name, value, meaning in self._figures()]

    def column_rows(self) -> list[tuple[str, ...]]:
        """Return the figures of each column as rows of text."""
        return [(name, *map(_figure, asdict(column).values())) for name, column in self.columns.items()]

    def table(self, backend: str | None = None) -> Any:
        """Return the figures as a DataFrame with one row per measure and column.

        Parameters
        ----------
        backend
            ``polars``, ``pandas`` or ``pyarrow``; by default the library of the released table.

        Returns
        -------
        frame
            Columns ``measure``, ``column`` (empty for the whole table), ``value`` and ``meaning``.
        """
        rows: list[tuple[Any, ...]] = [(name, "", float(value), meaning) for name, value, meaning in self._figures()]
        for column, figures in self.columns.items():
            for name, value in asdict(figures).items():
                if value is not None:
                    rows.append((name, column, float(value), _COLUMN_MEANINGS[name]))
        return data_frame(("measure", "column", "value", "meaning"), rows, backend or self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON."""
        return {
            "columns": {name: asdict(column) for name, column in self.columns.items()},
            "il1s": self.il1s,
            "covariance": self.covariance,
            "correlation": self.correlation,
            "eigenvalues": self.eigenvalues,
            "pairwise": self.pairwise,
            "pairs": [{"columns": list(names), "total_variation": value} for names, value in self.pairs.items()],
            "tables": self.tables,
            "regression": None if self.regression is None else asdict(self.regression),
            "hellinger": self.hellinger,
            "propensity": self.propensity,
            "propensity_ratio": self.propensity_ratio,
            "specks": self.specks,
            "prediction": None if self.prediction is None else asdict(self.prediction),
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Return the number of columns and the main figures as one line."""
        figures = {"IL1s": self.il1s, "correlations": self.correlation, "two-way tables": self.pairwise}
        shown = [f"{name} {_figure(value)}" for name, value in figures.items() if value is not None]
        return ", ".join([f"{len(self.columns)} column{'s' if len(self.columns) != 1 else ''}", *shown])

    def __repr__(self) -> str:
        lines = []
        for name, column in self.columns.items():
            figures = {key: value for key, value in asdict(column).items() if value is not None}
            lines.append(f" {name}: " + ", ".join(f"{key}={_figure(value)}" for key, value in figures.items()))
        shown = lines if len(lines) <= _MAX_TABLE_COLUMNS else [*lines[:_MAX_TABLE_COLUMNS], " ..."]
        return "\n".join([f"<Utility: {self.summary()}", *shown]) + ">"

    def __str__(self) -> str:
        tables = [text_table(_HEADER, self.rows()), text_table(_COLUMN_HEADER, self.column_rows())]
        return "\n\n".join([*tables, *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        tables = html_table(_HEADER, self.rows()) + html_table(_COLUMN_HEADER, self.column_rows())
        return f"<p>{escape(self.summary())}</p>{tables}{notes}"


def _figure(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.4g}"


@checked
def utility(
    original: Any,
    released: Any,
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    schema: Schema | str | Path | None = None,
    seed: int = 0,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Utility:
    """Measure the utility of a release, whichever software made it, against its original.

    Parameters
    ----------
    original, released
        Two tables or paths of files. If they have the same number of records, record i of the original is record i of
        the release; if not, only column-level figures are measured, and ``notes`` states so.
    columns
        The columns to compare; all that both tables have, if not given.
    target
        The dependent column of regression and prediction; the last of ``columns`` if not given.
    schema
        Kinds and orders of columns, where they differ from what the types suggest.
    seed
        Seed of samples and of the records for testing.
    read_options
        For text files: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Progress callback.

    Returns
    -------
    utility
        All figures; ``print`` shows them as tables, ``.table()`` returns a DataFrame. Cost O(n log n) per column and
        O(n d^2) for models; logistic models are fitted to at most 50,000 records of each table.

    Examples
    --------
    >>> import polars as pl
    >>> before = pl.DataFrame({"age": [30, 32, 60, 62], "income": [10, 14, 20, 30]})
    >>> found = utility(before, before.with_columns(age=pl.Series([31, 31, 61, 61])))
    >>> round(found.columns["age"].il1s, 4), found.columns["age"].mean, found.columns["income"].il1s
    (0.0407, 0.0, 0.0)
    """
    options = ReadOptions.of(read_options).given()
    check_read_options(options, original, released)
    before, after = load_file_or_frame(original, options), load_file_or_frame(released, options)
    if isinstance(schema, str | Path):
        schema = complete_schema(before, schema, {})
    names = [name for name in before.names if name in after.names] if columns is None else names_list(columns)
    if not names:
        raise SchemaError(
            "the two tables have no column of the same name; give the columns that are to be compared the same name"
        )
    if not (before.n_rows and after.n_rows):
        raise DataError("one of the tables has no records, so nothing can be compared")
    if target is not None and target not in names:
        raise UnknownColumn(target, names)
    aligned = before.n_rows == after.n_rows
    progress.stage("pairing columns")
    paired = pair_columns(before, after, names, schema, aligned=False)
    notes = _notes(paired, before, after, aligned=aligned)
    progress.stage("single columns", len(paired))
    single = {}
    for column in paired:
        single[column.name] = _single(column, aligned=aligned)
        progress.advance()
    progress.stage("pairs of columns")
    joint = joint_moments(paired)
    pairs = pairwise_variation(paired, seed=seed)
    tables = _tables(paired)
    progress.stage("analyses")
    explained = next(column for column in paired if column.name == (target or names[-1]))
    scores = propensity(paired, seed=seed)
    distances = [figures.il1s for figures in single.values() if figures.il1s is not None]
    return Utility(
        columns=single,
        il1s=float(np.mean(distances)) if distances else None,
        covariance=joint.get("covariance"),
        correlation=joint.get("correlation"),
        eigenvalues=joint.get("eigenvalues"),
        pairs=pairs,
        tables=tables,
        regression=regression_agreement(paired, explained, seed=seed),
        propensity=None if scores is None else scores.share,
        propensity_ratio=None if scores is None else scores.ratio,
        specks=None if scores is None else scores.specks,
        prediction=trained_on_release(paired, explained, aligned=aligned, seed=seed),
        notes=notes,
        backend=backend_of(after.native),
    )


def _single(column: PairedColumn, *, aligned: bool) -> ColumnUtility:
    changed = _changed(column) if aligned else None
    if not column.numeric:
        return ColumnUtility(None, None, None, None, total_variation(column), None, hellinger(column), changed)
    return ColumnUtility(
        il1s=il1s(column) if aligned else None,
        mean=mean_shift(column),
        variance=variance_change(column),
        quantiles=quantile_shift(column),
        distribution=kolmogorov_smirnov(column),
        wasserstein=wasserstein(column),
        hellinger=hellinger(column),
        changed=changed,
    )


def _changed(column: PairedColumn) -> float:
    same = (column.original == column.released) | (np.isnan(column.original) & np.isnan(column.released))
    return float((~same).mean())


def _tables(columns: Sequence[PairedColumn]) -> dict[str, Any]:
    """Return the errors of all frequency tables of one or two of the first columns."""
    from shoal.core.frequency_errors import frequency_errors

    parts = [cells(column)[:2] for column in columns[:_MAX_TABLE_COLUMNS]]
    before, after = (np.column_stack([pair[side] for pair in parts]) for side in (0, 1))
    errors = frequency_errors(_int32(before), _int32(after), min(2, len(parts)))
    return errors.as_dict()


def _int32(codes: NDArray[np.int64]) -> NDArray[np.int32]:
    return codes.astype(np.int32)


def _notes(columns: Sequence[PairedColumn], before: Table, after: Table, *, aligned: bool) -> tuple[str, ...]:
    notes = []
    if not aligned:
        notes.append(
            f"The original has {before.n_rows:,} records and the release {after.n_rows:,}; changes of single cells "
            "were not measured."
        )
    if max(before.n_rows, after.n_rows) > MAX_LOGISTIC_RECORDS:
        notes.append(
            f"Logistic models were fitted to a random sample of {MAX_LOGISTIC_RECORDS:,} records of each table."
        )
    if len(columns) > _MAX_TABLE_COLUMNS:
        notes.append(f"Frequency tables were counted for the first {_MAX_TABLE_COLUMNS} columns.")
    return tuple(notes)
