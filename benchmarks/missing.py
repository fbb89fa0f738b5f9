"""What does each policy for missing values cost on public tables?

Information loss of the known cells in per cent, and cells that were filled or emptied, for each policy with ``auto``
and ``mdav``. A column that imputation changes loses nothing by that: only known cells are compared. Tables come from
packages. Results are stored in docs/missing-results.json and written into docs/missing-values.md.

    python benchmarks/missing.py [--k 5] [--most 10000] [--tables NAME,...] [--docs]
"""

import argparse
import sys
import time
from pathlib import Path

import public_tables

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

import shoal
from shoal.core.threads import set_threads

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "missing-values.md", DOCS / "missing-results.json"
POLICIES = ("fill", "suppress", "by-pattern", "impute")
METHODS = ("auto", "mdav")
TABLES = {
    "pbcseq": (["age", "sex", "bili", "chol", "albumin", "platelet"], []),
    "colon": (["age", "sex", "nodes", "differ", "extent"], ["sex", "differ", "extent"]),
    "flchain": (["age", "sex", "kappa", "lambda", "creatinine"], []),
    "lung": (["age", "sex", "ph.karno", "pat.karno", "meal.cal", "wt.loss"], ["sex"]),
    "mgus2": (["age", "sex", "hgb", "creat", "mspike"], []),
    "boys": (["age", "hgt", "wgt", "hc", "tv", "reg"], []),
    "bfi": (["age", "gender", "education", "A1", "C1", "E1", "N1", "O1"], ["gender", "education"]),
    "chile": (["region", "sex", "age", "education", "income", "vote"], []),
    "slid": (["age", "sex", "education", "wages", "language"], []),
    "titanicsurvival": (["age", "sex", "passengerClass"], []),
    "gssvocab": (["gender", "nativeBorn", "age", "educ", "vocab"], []),
}
"""By table its quasi-identifiers, and those of them that are codes."""
FURTHER = {"lung": "survival", "mgus2": "survival", "boys": "mice"}
"""Packages of R of tables that no other script reads."""


def table(name, most):
    """The quasi-identifiers of a table."""
    frame = public_tables.from_r(FURTHER[name], name) if name in FURTHER else public_tables.load(name)
    return frame.select(TABLES[name][0]).head(most)


def measure(frame, codes, k):
    """By policy and method: loss, cells filled, cells emptied, and seconds."""
    found = {}
    for policy in POLICIES:
        for method in METHODS:
            began = time.process_time()
            release = shoal.protect(
                frame, k, quasi=frame.columns, kinds=dict.fromkeys(codes, "nominal"), method=method, missing=policy,
                accept_loss=True,
            )  # fmt: skip
            cells = release.manifest["missing_values"]
            filled = sum(cells.get("filled", {}).values()) + sum(cells["imputed"].values())
            emptied = sum(cells.get("emptied", {}).values()) + sum(cells["suppressed"].values())
            loss = float(f"{100 * release.loss.information_loss:.4g}")
            found[f"{policy} {method}"] = [loss, filled, emptied, round(time.process_time() - began, 1)]
    return found


def lines():
    """The table of the page."""
    names = [f"{policy} {method}" for policy in POLICIES for method in METHODS]
    header = "| table | records | missing cells | " + " | ".join(f"`{name}`" for name in names) + " |"
    rows = [header, "|---|--:|--:|" + "--:|" * len(names)]
    for key, found in kept(RESULTS).items():
        name, _ = key.split("/")
        cells = " | ".join(f"{found[one][0]:.2f} ({found[one][1]:,} / {found[one][2]:,})" for one in names)
        share = 100 * found["missing"] / found["cells"]
        rows.append(f"| {name} | {found['n']:,} | {found['missing']:,} ({share:.1f} %) | {cells} |")
    return {"missing": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--docs", action="store_true", help="only write the table of the page")
    chosen = parser.parse_args()
    set_threads(1)
    for name in () if chosen.docs else chosen.tables.split(","):
        frame = table(name, chosen.most)
        missing = sum(frame.null_count().row(0))
        found = measure(frame, TABLES[name][1], chosen.k)
        print(name, frame.shape, missing, found, flush=True)
        shape = {"n": frame.height, "missing": missing, "cells": frame.height * frame.width}
        keep(RESULTS, f"{name}/{chosen.k}", shape | found)
    write_tables(PAGE, lines())


if __name__ == "__main__":
    main()
