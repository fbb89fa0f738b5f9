"""Categorical microdata of growing size: time, within-group distance and errors of frequency tables, with baselines.

    python benchmarks/nominal.py [--data adult,nursery] [--sizes 200,2000,20000,100000] [--docs]

Adult's eight categorical attributes (beyond 30,162 records: drawn with replacement) and the eight attributes of Nursery
(all 12,960 combinations; beyond that each combination several times). The methods are ``nominal`` with representatives
that preserve tables, ``chi-search``, ``safe``, MDAV on categories with modes, and random groups with modes; k = 3.
Seconds are CPU seconds of all threads without compilation. Results are stored in docs/methods/nominal-sizes.json, so
that a run of some sizes renews those only; ``--docs`` writes the table of docs/methods/nominal.md from them.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from shoal.core.frequency_errors import frequency_errors
from shoal.core.group_statistics import group_modes
from shoal.core.grouping import Grouping
from shoal.core.row_classes import within_group_distance
from shoal.datasets import adult_categories, category_codes
from shoal.methods.nominal.table_representatives import table_representatives
from shoal.methods.running import run

K = 3
NURSERY = (3, 5, 4, 4, 3, 2, 3, 3)
PAGES = Path(__file__).parent.parent / "docs" / "methods"
RESULTS = PAGES / "nominal-sizes.json"
SHOWN = ("nominal + tables", "nominal + modes", "chi-search", "safe", "mdav + modes", "random + modes")


def adult(n):
    codes = category_codes(adult_categories(attributes=8))
    return codes[np.random.default_rng(1).choice(len(codes), n, replace=n > len(codes))]


def nursery(n):
    rows = np.array(list(itertools.product(*(range(size) for size in NURSERY))), np.int32)
    rng = np.random.default_rng(1)
    copies, rest = divmod(n, len(rows))
    return np.vstack([np.repeat(rows, copies, axis=0), rows[rng.choice(len(rows), rest, replace=False)]])


def with_records(codes, outcome):
    return codes[table_representatives(codes, outcome.labels)[outcome.labels]]


def with_modes(codes, outcome):
    grouping = Grouping(outcome.labels, K)
    columns = [group_modes(column.astype(np.int64), grouping)[grouping.labels] for column in codes.T]
    return np.column_stack(columns)


def of_method(codes, outcome):
    return codes[outcome.representatives[outcome.labels]]


MAKERS = {"adult": adult, "nursery": nursery}
RUNS = {
    "nominal": {"nominal + tables": with_records, "nominal + modes": with_modes},
    "chi-search": {"chi-search": of_method},
    "safe": {"safe": of_method},
    "nominal-mdav": {"mdav + modes": with_modes},
    "random": {"random + modes": with_modes},
}


def measured(codes):
    """All measurements of one table of codes."""
    found = {}
    for name, releases in RUNS.items():
        started = time.process_time()
        outcome = run(name, codes, K)
        grouped = time.process_time() - started
        for title, release in releases.items():
            started = time.process_time()
            released = release(codes, outcome)
            seconds = grouped + time.process_time() - started
            errors = frequency_errors(codes, released, 3)
            found[title] = {
                "seconds": round(seconds, 2), "distance": within_group_distance(codes, outcome.labels),
                "chi_square": round(errors.chi_square, 1), "one_way": errors.dimensions[1].max_absolute,
                "largest": errors.max_absolute,
            }  # fmt: skip
            print(f"{len(codes):>7,} {title:<17} {found[title]}", flush=True)
    return found


def table(results):
    head = "data|records|combinations|method|CPU seconds|within-group distance|chi-square, up to dimension 3|"
    head += "largest error, one column"
    lines = [f"| {head.replace('|', ' | ')} | largest error |", "|---" * 9 + "|"]
    for key in sorted(results, key=lambda key: (key.split("/")[0], int(key.split("/")[1]))):
        data, n = key.split("/")
        first = f"| {data} | {int(n):,} | {results[key]['combinations']:,} |"
        for title in SHOWN:
            result = results[key]["runs"][title]
            distance = "-" if title in RUNS else f"{result['distance']:,.0f}"  # groups of any size
            lines.append(
                f"{first} {title} | {result['seconds']:,.1f} | {distance} | {result['chi_square']:,.0f} | "
                f"{result['one_way']:,.0f} | {result['largest']:,.0f} |"
            )
            first = "| | | |"
    return lines


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--data", default="adult,nursery")
    options.add_argument("--sizes", default="200,2000,20000,100000")
    options.add_argument("--docs", action="store_true", help="only write the table of docs/methods/nominal.md")
    chosen = options.parse_args()
    if chosen.docs:
        write_tables(PAGES / "nominal.md", {"sizes": table(kept(RESULTS))})
        return
    measured(adult(300))  # compiles everything
    with_records(adult(2_000), run("random", adult(2_000), K))
    for data in chosen.data.split(","):
        for n in map(int, chosen.sizes.split(",")):
            codes = MAKERS[data](n)
            combinations = len(np.unique(codes, axis=0))
            keep(RESULTS, f"{data}/{n}", {"combinations": combinations, "runs": measured(codes)})


if __name__ == "__main__":
    main()
