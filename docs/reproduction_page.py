"""The page docs/reproduction.md, from the printed figures of tests/published/printed and the stored ones of Shoal."""

from collections import Counter
from pathlib import Path

from reproduction_costs import left_out, lines
from reproduction_statements import statements

from published import printed
from published.printed import ABSENT, DIFFERS, EQUAL, LAST_DIGIT, RANDOM, STATUSES

PAGE = Path(__file__).parent / "reproduction.md"
MARKS = {EQUAL: "", LAST_DIGIT: " ·", RANDOM: " ~", DIFFERS: " ✗"}
UNKNOWN = "not known"
TITLES = {
    "census": "Census", "tarragona": "Tarragona", "eia": "EIA", "cloud1": "Cloud1", "cloud2": "Cloud2",
    "credit_card": "Credit Card", "adult": "Adult", "simu": "SimU", "simc": "SimC", "all": "all tables",
    "covertype": "Forest",
}  # fmt: skip
MEASURES = {
    "loss": "information loss, %", "size": "average size", "gamma": "gain factor", "ratio": "ratio of losses, %",
    "spread": "loss of the runs, %", "rounds": "rounds", "rounds of runs": "rounds of the runs",
}  # fmt: skip
NOT_COMPARED = [
    ("Thaeter 2021", "A.5 to A.7, B.5 to B.7, C.4 to C.6", "run times of another machine"),
    ("Thaeter 2021", "C.3, C.6 and ten cells of 7.3", "Winnipeg (325,834 x 174) is not among the tables here"),
    ("Thaeter 2021", "5.4 to 5.6, 6.6 to 6.8, 7.4 to 7.6", "excerpts of the appendices"),
    ("Thaeter 2021", "8.4, claims of the cited authors", "Thaeter 2021 could not reproduce them either"),
    ("Thaeter & Reischuk 2021", "4, 5 and the times of 6", "run times of another machine"),
    ("Thaeter & Reischuk 2021", "6, Adult", "nine cells cannot be read in the copy that was available"),
    ("Cost 2023", "6.7, 6.8, 6.10", "run times and numbers of programs solved within a time, of another machine"),
    ("Rebollo-Monedero et al. 2019", "I and III", "run times of another machine"),
    ("Rebollo-Monedero et al. 2019", "II", "Large Census is not available; a generated table cannot confirm the paper"),
    ("Stamm & Schaub 2024", "all", "the paper prints figures without numbers; its statements are compared below"),
]
INTRODUCTION = """# Printed figures and Shoal

Every printed figure of the five documents that Shoal implements and whose data are available, beside what Shoal gives.
The printed texts are in `tests/published/printed`, the figures of Shoal in `docs/reproduction-results.json`; `python
docs/reproduction.py --docs` writes this page from both, and tests compare the stored figures with the print and with
new runs. A cell is

- **equal**: rounded to the printed digits it is the printed number;
- **last digit** (·): at most one unit of the last printed digit away;
- **random spread** (~): a figure of random runs or of random tables, which lies where 99 of 100 repetitions would lie.
  Seeds and tables of the documents are not available; the figures of Shoal have the seed 0, simulated tables the seeds
  0 to 24;
- **differs** (✗): none of these;
- **not computed**: random runs of minutes to hours; their cost is [below](#not-computed).
"""


def page():
    """The text of the page."""
    return "\n".join(
        [INTRODUCTION, counts(), differences(), tolerances(), said(), not_computed(), not_compared(), *tables()]
    )


def write_page():
    PAGE.write_text(page(), encoding="utf-8")


def table(head, lines, right=0):
    """A table; the last columns are aligned to the right."""
    marks = ["---"] * (len(head) - right) + ["--:"] * right
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, marks, *lines]) + "\n"


def statuses(row):
    return [(column, text, printed.status(row, column, text)) for column, text in row.cells()]


def counts():
    """The counts by document and table, and how many differences have a known reason."""
    found, total, explained, unknown = {}, Counter(), Counter(), []
    for row in printed.rows():
        part = found.setdefault((row.document, row.table), Counter())
        for column, text, status in statuses(row):
            part[status] += 1
            total[status] += 1
            if status in {DIFFERS, LAST_DIGIT}:
                explained[status, bool(printed.why(row, column, text))] += 1
                if not printed.why(row, column, text):
                    unknown.append(f"{row.document}, {row.table}, {TITLES[row.data]}, {named(row)}, {column}: {text}")
    lines = [
        (document, name, sum(part.values()), *(part[status] or "" for status in STATUSES))
        for (document, name), part in found.items()
    ]
    lines.append(("**all**", "", sum(total.values()), *(total[status] for status in STATUSES)))
    compared = sum(total.values()) - total[ABSENT]
    text = (
        f"Of {sum(total.values()):,} printed cells {compared:,} were computed: {total[EQUAL]:,} are equal, "
        f"{total[LAST_DIGIT]:,} differ in the last digit, {total[RANDOM]:,} lie within the random spread, and "
        f"{total[DIFFERS]:,} differ. A reason is known for {explained[DIFFERS, True]} of the cells that differ and for "
        f"{explained[LAST_DIGIT, True]} of those that differ in the last digit; "
        + (f"{len(unknown)} are open:\n\n" if unknown else "none is open.\n")
        + "".join(f"- {one}\n" for one in unknown)
    )
    return f"## Counts\n\n{text}\n" + table(["document", "table", "cells", *STATUSES], lines, right=6)


def value(number, text):
    """A figure with two digits more than the print."""
    return f"{number:.{len(text.partition('.')[2]) + 2}f}"


def named(row):
    given = ", ".join(f"{name}={value}" for name, value in row.options.items())
    runs = f", best of {row.runs}" if row.runs and row.measure == "loss" else f", {row.runs} runs" if row.runs else ""
    k = f", k = {row.k}" if row.k else ""
    return f"`{row.method}`" + (f" ({given})" if given else "") + runs + k


def differences():
    """One line for each cell that is neither equal nor within the random spread."""
    lines = []
    for row in printed.rows():
        for column, text, status in statuses(row):
            if status in {DIFFERS, LAST_DIGIT}:
                found = printed.ours(row, column)
                lines.append(
                    (f"{row.document}, {row.table}", TITLES.get(row.data, row.data), named(row), column, text,
                     value(found, text), f"{found - float(text):+.{len(text.partition('.')[2]) + 2}f}{MARKS[status]}",
                     printed.why(row, column, text) or UNKNOWN)
                )  # fmt: skip
    head = ["table", "data", "method", "k or column", "printed", "Shoal", "difference", "reason"]
    return "## Cells that are not equal\n\n" + table(head, lines)


def reasons_of(row):
    """The reasons of the cells of a row that differ, each once."""
    found = [printed.why(row, column, text) for column, text, status in statuses(row) if status == DIFFERS]
    return [reason for reason in dict.fromkeys(found) if reason]


def tolerances():
    """The tolerances of tests that are wider than one unit of the last printed digit."""
    lines = [
        (f"{row.document}, {row.table}", TITLES.get(row.data, row.data), named(row), row.tolerance,
         f"{max(abs(printed.ours(row, c) - float(t)) for c, t, s in statuses(row) if s != ABSENT):.4f}",
         "; ".join(reasons_of(row)) or UNKNOWN)
        for row in printed.rows() if row.tolerance
    ]  # fmt: skip
    text = (
        "Tests allow a deterministic cell one unit of its last printed digit, or the tolerance listed here; a random "
        "cell may also lie within its random spread. In addition every figure of Shoal is pinned to six digits, so "
        "that another algorithm fails where the tolerance would let it pass.\n"
    )
    head = ["table", "data", "method", "tolerance", "largest difference", "reason"]
    return f"## Tolerances wider than one unit of the last printed digit\n\n{text}\n" + table(head, lines)


def said():
    """The statements about figures whose numbers are not printed."""
    lines = [(figure, text, "yes" if holds else "**no**", shown) for figure, text, holds, shown in statements()]
    holding = sum(line[2] == "yes" for line in lines)
    head = ["document", "statement", "holds here", "figures"]
    return (
        f"## Statements about figures\n\nOf {len(lines)} statements about figures whose numbers are not printed "
        f"{holding} hold. The tables of Cost 2023 are not available; those here are drawn in the same way. Statements "
        "about SAFE are listed twice, for both of its vectors; the error is that of the vector before it is adjusted "
        "to the number of records, and every comparison is strict.\n\n" + table(head, lines)
    )


def not_computed():
    """The cells without a figure of Shoal, with the measured cost of a run."""
    if not left_out():
        return "## Not computed\n\nEvery cell was computed.\n"
    text = (
        "One run was measured for the smallest and the largest k, on one core; the hours are estimated from it. The "
        "same random runs give a figure of several printed tables; a search for the best gain factor takes 21 runs. "
        "Ratios of losses that were not computed are not listed.\n"
    )
    head = ["data", "method", "cells", "processor seconds of a run", "runs", "processor hours"]
    rows = [(TITLES[data], *rest) for data, *rest in lines()]
    return f"## Not computed\n\n{text}\n" + table(head, rows, right=4)


def not_compared():
    return "## Not compared\n\n" + table(["document", "table", "reason"], NOT_COMPARED)


def tables():
    """All cells, table by table."""
    document, name = None, None
    for row in printed.rows():
        if row.document != document:
            document, name = row.document, None
            yield f"## {document}: all cells\n"
        if (row.table, row.columns) != name:
            name = (row.table, row.columns)
            measure = MEASURES.get(row.measure, row.measure)
            yield f"### Table {row.table}: {measure}\n" if row.table[0].isalnum() else f"### {row.table}: {measure}\n"
            heads = [f"k={column}" if isinstance(column, int) else column for column in row.columns]
            yield table(["data", "method", "", *heads], [], right=len(heads)).rstrip()
        cells = dict(row.cells())
        found = {column: printed.ours(row, column) for column in cells}
        shown = [
            "" if found.get(column) is None
            else value(found[column], cells[column]) + MARKS[printed.status(row, column, cells[column])]
            for column in row.columns
        ]  # fmt: skip
        first = "| " + " | ".join([TITLES.get(row.data, row.data), named(row), "printed", *row.printed]) + " |"
        last = following(row)
        yield first + "\n" + "| " + " | ".join(["", "", "Shoal", *shown]) + " |" + ("\n" if last else "")


def following(row):
    """Whether a row is the last one of its table."""
    every = printed.rows()
    position = every.index(row) + 1
    return position == len(every) or (every[position].table, every[position].columns) != (row.table, row.columns)
