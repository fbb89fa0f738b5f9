"""Compute the figures of printed tables and write docs/reproduction.md.

    python docs/reproduction.py [--compute PATTERN ...] [--again] [--derived] [--docs]

``--compute`` runs the methods for the cells whose key matches a pattern such as ``census/*`` or ``*/ona-star-gamma*``
and stores the figures in docs/reproduction-results.json; figures that are stored are kept unless ``--again`` is given.
``--derived`` renews the figures that are means of the experiments which other scripts store; ``--docs`` writes the page
from the stored figures. All of Thaeter 2021 takes some hours of one core.
"""

import argparse
import fnmatch
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import keep, kept  # noqa: E402 - one block with those below

from published import computed, printed  # noqa: E402 - found through the path above


def keys(patterns):
    """The keys of all cells that runs give, each once, in the order of the documents."""
    measures = ("loss", "size", "gamma", "rounds", "spread", "rounds of runs")
    found = [row.key(column) for row in printed.rows(measures=measures) for column, _ in row.cells()]
    return [key for key in dict.fromkeys(found) if any(fnmatch.fnmatch(key, pattern) for pattern in patterns)]


def compute(patterns, again):
    for key in keys(patterns):
        if again or key not in kept(printed.RESULTS):
            keep(printed.RESULTS, key, computed.figures(key))
            print(key, flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--compute", nargs="+", default=[])
    options.add_argument("--again", action="store_true")
    options.add_argument("--derived", action="store_true")
    options.add_argument("--docs", action="store_true")
    chosen = options.parse_args()
    compute(chosen.compute, chosen.again)
    if chosen.derived:
        from reproduction_derived import derived

        for key, found in derived():
            keep(printed.RESULTS, key, found)
    if chosen.docs:
        from reproduction_page import write_page

        write_page()


if __name__ == "__main__":
    main()
