"""Writes tables of docs/methods/distance.md and docs/validation/distance.md: printed cells, exchanges, and PCL.

Run from the root of the repository, with the names of the parts to renew (all if there is none: cells, cuts, data,
simulated, exchanges, pcl); ``--large`` adds Credit Card and Adult to the exchanges (a few minutes). Counts and
simulated tables come from docs/reproduction-results.json, the other parts are computed from the reference data.
"""

import math
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np  # noqa: E402 - one block with those below
from kept import write_tables  # noqa: E402

from published import computed, printed  # noqa: E402 - found through the path above
from published.printed import ABSENT, DIFFERS, STATUSES  # noqa: E402
from published.test_mdav_baseline import CREDIT_CARD_DIFFERENCES  # noqa: E402
from shoal.methods.running import run  # noqa: E402

PAGE = ROOT / "docs" / "methods" / "distance.md"
VALIDATION = ROOT / "docs" / "validation" / "distance.md"
TITLES = {"census": "Census", "tarragona": "Tarragona", "eia": "EIA", "cloud1": "Cloud1", "cloud2": "Cloud2"}
TITLES |= {"credit_card": "Credit Card", "adult": "Adult"}
PCL_RUNS = [("census", 10), ("census", 50), ("census", 100), ("adult", 500), ("adult", 1000), ("adult", 4000)]
PCL_RUNS += [("credit_card", 1000)]
FAMILIES = ("mondrian", "mona")  # on a page of their own


def cells(_large):
    """How many printed losses of each method based on distances are equal, by document."""
    return counts_by_method(lambda method: not method.startswith(FAMILIES))


def cuts(_large):
    """The same for methods that cut the space."""
    return counts_by_method(lambda method: method.startswith(FAMILIES))


def counts_by_method(wanted):
    found = {}
    for row in printed.rows(measures=("loss",)):
        if row.document.startswith("Thaeter") and wanted(row.method):
            counts, differences = found.setdefault((row.method, row.document), (Counter(), [0.0]))
            for column, text in row.cells():
                status = printed.status(row, column, text)
                counts[status] += 1
                if status == DIFFERS:
                    differences.append(printed.ours(row, column) - float(text))
    names = [status for status in STATUSES if status != ABSENT]
    lines = ["| method | document | cells | " + " | ".join(names) + " | largest difference of the last |"]
    lines.append("|---|---|" + "--:|" * (len(names) + 2))
    for (method, document), (counts, differences) in found.items():
        total = sum(counts.values()) - counts[ABSENT]
        largest = max(differences, key=abs)
        lines.append(
            f"| `{method}` | {document} | {total} | " + " | ".join(str(counts[name] or "") for name in names)
            + f" | {f'{largest:+.3f}' if largest else ''} |"
        )  # fmt: skip
    return lines


def simulated(_large):
    """How far the printed means over 25 databases lie from those of other 25 databases."""
    found = []
    for row in printed.rows(measures=("loss",)):
        for column, text in row.cells():
            result = printed.stored().get(row.key(column))
            if row.data == "simu" and row.runs is None and result is not None:
                error = result["sd of loss"] * math.sqrt(2 / result["databases"])
                found.append(((result["loss"] - float(text)) / error, row.method, column, text, result["loss"]))
    below = sum(cell[0] > 0 for cell in found)
    far, method, k, text, loss = max(found)
    example = f"`{method}`, k = {k}: {text} printed, {loss:.2f} here"
    return [
        f"Of {len(found)} printed means of SimU {below} lie below those of the 25 databases of Shoal, by at most",
        f"{far:.1f} standard errors of such a difference ({example}). The same 25",
        "databases served for all printed cells, so that their draw moves all of them in one direction.",
    ]


def data(_large):
    """Equal records of Adult, and the differences from sdcMicro that a test compares with new runs."""
    adult = computed.points("adult")
    different = len(np.unique(adult, axis=0))
    apart = ", ".join(f"k = {k}: {value:+.6f}" for k, value in CREDIT_CARD_DIFFERENCES.items())
    return [
        f"Of the {len(adult):,} records of Adult {different:,} differ from each other. Loss of `mdav` on Credit Card",
        f"less that of sdcMicro, in percentage points, where six decimals differ: {apart}.",
    ]


def exchanges(large):
    """What exchanges gain over ONA*."""
    lines = ["Information loss in per cent:", "", "| data | | " + " | ".join(f"k={k}" for k in printed.KS) + " |"]
    lines.append("|---" * (len(printed.KS) + 2) + "|")
    for name in printed.SMALL + (printed.LARGE if large else ()):
        table = computed.points(name)
        rows = []
        for method in ("ona-star", "ona-star-plus"):
            rows.append([computed.loss(table, run(method, table, k).labels) for k in printed.KS])
            first = TITLES[name] if method == "ona-star" else ""
            lines.append(f"| {first} | `{method}` | " + " | ".join(f"{value:.3f}" for value in rows[-1]) + " |")
        ratios = [f"{100 * (new / old - 1):+.1f} %" for old, new in zip(*rows, strict=True)]
        lines.append("| | change | " + " | ".join(ratios) + " |")
    return lines


def pcl(_large):
    """PCL beside two other methods."""
    methods = ("pcl", "ona-star", "mdav")
    lines = ["| data | k | " + " | ".join(f"`{method}`" for method in methods) + " |", "|---|--:|--:|--:|--:|"]
    for name, k in PCL_RUNS:
        table = computed.points(name)
        losses = [computed.loss(table, run(method, table, k).labels) for method in methods]
        lines.append(f"| {TITLES[name]} | {k} | " + " | ".join(f"{loss:.2f}" for loss in losses) + " |")
    return lines


def main():
    validation = {"cells": cells, "cuts": cuts, "data": data, "simulated": simulated}
    parts = validation | {"exchanges": exchanges, "pcl": pcl}
    wanted = [name for name in parts if name in sys.argv] or parts
    for name in wanted:
        write_tables(VALIDATION if name in validation else PAGE, {name: parts[name]("--large" in sys.argv)})


if __name__ == "__main__":
    main()
