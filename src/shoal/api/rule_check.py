"""``check_rules``: a table against a rule book, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.api.checks import assess
from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.privacy.rule_book_columns import RuleLine, check_columns
from shoal.privacy.rule_books import CONFIRM, RuleBook, read_rule_book
from shoal.schema.loading import load_for_counting, load_typed
from shoal.schema.plan import ReadOptions

if TYPE_CHECKING:
    from shoal.privacy.assessment import Assessment


@dataclass(frozen=True)
class RuleCheck:
    """A table against a rule book.

    Parameters
    ----------
    book
        The book.
    lines
        Its lines: satisfied, violated, or not shown by the table.
    """

    book: RuleBook
    lines: tuple[RuleLine, ...]

    @property
    def violated(self) -> bool:
        """Whether a line is violated."""
        return any(line.satisfied is False for line in self.lines)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks of the book, and that it has to be confirmed."""
        return (*self.book.remarks, *((CONFIRM,) if self.book.shipped else ()))

    def to_dict(self) -> dict[str, Any]:
        """Return the lines for JSON."""
        return {
            "book": self.book.name, "title": self.book.title, "source": self.book.source, "violated": self.violated,
            "lines": [asdict(line) for line in self.lines], "remarks": list(self.remarks),
        }  # fmt: skip

    def __str__(self) -> str:
        words = {True: "satisfied", False: "violated", None: "not shown by the table"}
        head = f"{self.book.title} ({self.book.source})" if self.book.source else self.book.title
        return "\n".join([head, *(f"{line.rule}: {words[line.satisfied]}: {line.text}" for line in self.lines),
                          *self.remarks])  # fmt: skip


@checked
def check_rules(
    data: Any,
    rules: str | Path | RuleBook,
    *,
    populations: Any = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
    **choices: Any,
) -> RuleCheck:
    """Check a table that is to be released against a rule book.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    rules
        ``hipaa-safe-harbor``, ``ema-0.09``, ``cms-11``, the path of a TOML file, or a book.
    populations
        A table of two columns, postcode and number of people, or its file; for rules about small areas.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.
    choices
        Roles and further arguments of :func:`shoal.assess`, for rules about equivalence classes.

    Returns
    -------
    check
        One line per rule; ``print`` shows them. The books that come with Shoal are examples to be confirmed.

    Examples
    --------
    >>> import polars as pl
    >>> found = check_rules(pl.DataFrame({"age": [31, 31, 95, 95]}), "hipaa-safe-harbor")
    >>> [line.column for line in found.lines if line.satisfied is False]
    ['age']
    """
    book = rules if isinstance(rules, RuleBook) else read_rule_book(rules)
    reading = ReadOptions.of(read_options)
    lines: list[RuleLine] = []
    limits = book.thresholds
    if limits.k is not None or limits.largest_risk is not None or limits.l is not None:
        if not choices.get("quasi") and choices.get("schema") is None:
            raise ParameterError(
                f'rule book "{book.name}" is about equivalence classes; name the quasi-identifiers (--quasi, --schema)'
            )
        choices = {name: value for name, value in choices.items() if value is not None}
        if limits.of is not None:
            choices.setdefault("of", limits.of)
        assessment = assess(data, read_options=reading, progress=progress, **choices)
        lines += _threshold_lines(book, assessment)
    progress.stage("checking columns")
    table = load_typed(data, reading)
    lines += check_columns(table, book.columns, None if populations is None else _populations(populations))
    return RuleCheck(book, tuple(lines))


def _threshold_lines(book: RuleBook, assessment: Assessment) -> list[RuleLine]:
    limits, lines = book.thresholds, []
    if limits.k is not None:
        text = f"the smallest equivalence class has {assessment.of.amount(assessment.k)}, {limits.k} are needed"
        lines.append(RuleLine(f"k = {limits.k}", assessment.k >= limits.k, text))
    if limits.largest_risk is not None:
        risk = 1 / assessment.k
        compared = risk if limits.round_risk is None else round(risk, limits.round_risk)
        how = "not rounded" if limits.round_risk is None else f"rounded to {limits.round_risk} digits"
        text = f"the largest prosecutor risk is 1/{assessment.k} = {risk:.4f} ({how})"
        holds = compared <= limits.largest_risk + 1e-12
        lines.append(RuleLine(f"largest risk {limits.largest_risk:g}", holds, text))
    if limits.l is not None:
        rule = f"l = {limits.l:g}"
        if not assessment.columns:
            lines.append(RuleLine(rule, None, "no confidential attribute is named"))
        for name, column in assessment.columns.items():
            different = "1 value" if column.l == 1 else f"{column.l:g} different values"
            text = f'the equivalence class with the fewest values of "{name}" has {different}, {limits.l:g} are needed'
            holds = column.l >= limits.l
            lines.append(RuleLine(rule, bool(holds), text, None if holds else name))
    return lines


def _populations(data: Any) -> dict[str, int]:
    """Return the number of people of each postcode."""
    table = load_for_counting(data, (), ReadOptions(), SILENT)
    if len(table.names) != 2:
        raise DataError("the table of populations needs two columns, postcode and number of people")
    codes, people = (table.column(name).to_polars() for name in table.names)
    counts = people.cast(pl.Int64, strict=False)
    if counts.null_count():
        raise DataError(f'column "{table.names[1]}" of the table of populations has cells that are no whole numbers')
    return dict(zip(codes.cast(pl.String).to_list(), counts.to_list(), strict=True))
