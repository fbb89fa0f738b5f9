"""Every printed figure of the documents that Shoal reproduces, read from the files in ``printed/``.

A row of a printed table has one line in its file: the table, the measure, the data, the method by its name in Shoal
with the options of the published runs, and the printed texts ("-" where the text cannot be read). ``tolerance`` is
given only where it is wider than one unit of the last printed digit; ``reason`` says why cells differ, ``reasons`` the
same for single columns.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from math import sqrt
from pathlib import Path

KS = (2, 3, 4, 5, 7, 10)
SMALL = ("census", "tarragona", "eia", "cloud1", "cloud2")
LARGE = ("credit_card", "adult")
FOLDER = Path(__file__).parent / "printed"
RESULTS = Path(__file__).parent.parent.parent / "docs" / "reproduction-results.json"
EQUAL, LAST_DIGIT, RANDOM, DIFFERS, ABSENT = "equal", "last digit", "random spread", "differs", "not computed"
STATUSES = (EQUAL, LAST_DIGIT, RANDOM, DIFFERS, ABSENT)
WIDTH = 2.58 * sqrt(2)  # 99 % of the differences of two figures with the same normal error
BEST_OF = {10: 0.59, 100: 0.43, 1000: 0.35}  # standard deviation of the lowest of so many normal values, in theirs


@dataclass(frozen=True)
class Row:
    """One row of a printed table."""

    document: str
    table: str
    measure: str
    data: str
    method: str
    columns: tuple
    printed: tuple[str, ...]
    options: dict = field(default_factory=dict, hash=False)
    runs: int | None = None
    k: int | None = None
    tolerance: float | None = None
    reason: str = ""
    reasons: dict = field(default_factory=dict, hash=False)

    def cells(self):
        """(column, printed text) of each cell that can be read."""
        return [
            (column, text) for column, text in zip(self.columns, self.printed, strict=True) if text not in {"-", "–"}
        ]

    def key(self, column):
        """The key of the run that gives a cell; rows of several tables share runs."""
        given = "".join(f" {name}={value}" for name, value in sorted(self.options.items()))
        runs = f" runs={self.runs}" if self.runs else ""
        place = f"k={self.k or column}" if self.k or isinstance(column, int) else column
        return f"{self.data}/{self.method}{given}{runs}/{place}"

    def unit(self, text):
        """One unit of the last printed digit."""
        return 10.0 ** -len(text.partition(".")[2])


@cache
def rows(document=None, measures=()):
    """All rows, those of one file, or those of some measures."""
    found = []
    for file in sorted(FOLDER.glob(f"{document or '*'}.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for row in content["rows"]:
            texts = tuple(row["printed"].split())
            columns = tuple(row.get("columns", content.get("ks", ())))
            row = {name: value for name, value in row.items() if name not in {"printed", "columns"}}
            found.append(Row(content["document"], columns=columns, printed=texts, **row))
    return tuple(row for row in found if not measures or row.measure in measures)


@cache
def stored():
    """What Shoal gives, as computed by docs/reproduction.py."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def as_printed(value, text):
    """The value with as many digits as the printed text has."""
    return f"{value:.{len(text.partition('.')[2])}f}"


def printed_loss(method, data, k):
    """The printed loss of a method without random runs in the appendices of Thaeter 2021; None if there is none."""
    for row in rows("thaeter-2021", ("loss",)):
        if (row.method, row.data, row.runs) == (method, data, None) and row.table[0] in "AB" and k in row.columns:
            return row.printed[row.columns.index(k)]
    return None


def ours(row, column, results=None):
    """The figure of Shoal for a cell, or None if it was not computed."""
    results = stored() if results is None else results
    if row.measure == "ratio":
        return ratio(row, column, results)
    found = results.get(row.key(column))
    return None if found is None else found.get(figure(row, column))


def figure(row, column):
    """The name under which the results of a run have the figure of a cell."""
    if row.measure == "spread":
        return column
    if row.measure == "rounds of runs":
        return f"rounds {column}"
    return "lowest" if row.runs else row.measure


def ratio(row, column, results):
    """Mean of the ratios of the losses of two methods over all tables that both rows have, in per cent."""
    ratios = []
    pairs = losses_of(row.document, row.method, row.table), losses_of(row.document, column, row.table)
    for place in pairs[0].keys() & pairs[1].keys():
        first, second = (ours(losses[place], place[1], results) for losses in (pairs[0], pairs[1]))
        if first is None or second is None:
            return None
        ratios.append(second / first)
    return 100 * sum(ratios) / len(ratios)


TABLES_OF_RATIOS = {"5.3": "A", "6.2": "AB", "7.3": "BC"}  # the appendices with the losses


@cache
def losses_of(document, method, table):
    """The row of the losses of a method by (data, k), for a table of ratios; random methods: the best of 100 runs."""
    found = {}
    for row in rows(measures=("loss",)):
        rho = row.options.get("rho", 0.5)
        fits = row.document == document and row.method == method and row.runs in {None, 100} and rho == 0.5
        if (
            fits
            and row.table[0] in TABLES_OF_RATIOS[table]
            and (table != "7.3" or row.data in {"adult", "credit_card"})
        ):
            found |= {(row.data, column): row for column in row.columns}
    return found


def half_width(row, column, text, results=None):
    """How far two draws of a random figure may lie apart, with half a unit for the rounding; 0 if nothing is random."""
    found = (stored() if results is None else results).get(row.key(column))
    if found is None:
        return 0.0
    if "databases" in found:
        error = found.get(f"sd of {row.measure}", 0.0) / sqrt(found["databases"])
    elif row.runs and row.measure in {"spread", "loss"}:
        deviation, runs = sqrt(found["variance"]), row.runs
        error = {
            "mean": deviation / sqrt(runs), "median": 1.25 * deviation / sqrt(runs),
            "variance": 1.5 * found["variance"] * sqrt(2 / runs),
        }.get(column, deviation * BEST_OF[runs])  # fmt: skip
    elif row.measure == "rounds of runs":
        deviation = sqrt(found["rounds variance"])
        error = deviation / sqrt(row.runs) if column == "mean" else deviation
    else:
        return 0.0
    return WIDTH * error + row.unit(text) / 2


def status(row, column, text, results=None):
    """How the figure of Shoal compares with the printed one."""
    value = ours(row, column, results)
    if value is None:
        return ABSENT
    if as_printed(value, text) == text:
        return EQUAL
    difference = abs(value - float(text))
    if difference <= row.unit(text) + 1e-9:
        return LAST_DIGIT
    return RANDOM if difference <= half_width(row, column, text, results) else DIFFERS


def why(row, column, text, results=None):
    """The reason of a difference, empty if it is not known."""
    stated = row.reasons.get(str(column), row.reason)
    if row.measure == "ratio":
        own = ratio_of_print(row, column)
        if own is not None and as_printed(own, text) != text:
            return f"the printed losses themselves give {as_printed(own, text)}"
    value = ours(row, column, results)
    if not stated and value is not None and abs(value - float(text)) <= half_width(row, column, text, results):
        return "random runs, whose seeds are not available; within their random spread"
    return stated


def ratio_of_print(row, column):
    """The mean of the ratios of the printed losses of two methods, in per cent; None if none can be read."""
    ratios = []
    first, second = (losses_of(row.document, name, row.table) for name in (row.method, column))
    for place in first.keys() & second.keys():
        losses = [dict(rows[place].cells()).get(place[1]) for rows in (first, second)]
        if None not in losses:
            ratios.append(float(losses[1]) / float(losses[0]))
    return 100 * sum(ratios) / len(ratios) if ratios else None
