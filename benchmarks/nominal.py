"""Tables of categories at growing size: time, weight, and errors in frequency tables, against the obvious choices.

    python benchmarks/nominal.py [--data adult,nursery] [--sizes 200,2000,20000,100000] [--docs]

Adult's eight categorical attributes (beyond 30,162 records: drawn with replacement) and the eight attributes of Nursery
(all 12,960 combinations; beyond that each combination several times). Compared are ``nominal`` with table-aware
records, ``chi-search``, ``safe``, MDAV on categories with modes, and random groups with modes; k = 3. Seconds are those
of the processor, all threads together; compiled before the clock starts. Results are kept in
docs/methods/nominal-sizes.json, so that a run of some sizes renews those only; ``--docs`` writes the table of
docs/methods/nominal.md from them.
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
from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.row_classes import clustering_weight
from shoal.datasets import adult_categories, category_codes
from shoal.methods.nominal.table_representatives import table_representatives
from shoal.methods.registry import get_method
from shoal.recoding import group_modes

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
    whole, rest = divmod(n, len(rows))
    return np.vstack([np.repeat(rows, whole, axis=0), rows[rng.choice(len(rows), rest, replace=False)]])


def with_records(codes, labels):
    labels = canonical_labels(labels)
    return labels, codes[table_representatives(codes, labels)[labels]]


def with_modes(codes, labels):
    grouping = Grouping(labels, K)
    columns = [group_modes(column.astype(np.int64), grouping)[grouping.labels] for column in codes.T]
    return grouping.labels, np.column_stack(columns)


def standing(codes, labels):
    return canonical_labels(labels), codes[labels]


MAKERS = {"adult": adult, "nursery": nursery}
RUNS = {
    "nominal": {"nominal + tables": with_records, "nominal + modes": with_modes},
    "chi-search": {"chi-search": standing},
    "safe": {"safe": standing},
    "nominal-mdav": {"mdav + modes": with_modes},
    "random": {"random + modes": with_modes},
}


def measured(codes):
    """Everything the table says about one table of codes."""
    found = {}
    for name, releases in RUNS.items():
        started = time.process_time()
        labels = get_method(name).run(codes, K)
        grouped = time.process_time() - started
        for title, release in releases.items():
            started = time.process_time()
            groups, released = release(codes, labels)
            seconds = grouped + time.process_time() - started
            errors = frequency_errors(codes, released, 3)
            found[title] = {
                "seconds": round(seconds, 2), "weight": clustering_weight(codes, groups),
                "chi_square": round(errors.chi_square, 1), "one_way": errors.dimensions[1].max_absolute,
                "largest": errors.max_absolute,
            }  # fmt: skip
            print(f"{len(codes):>7,} {title:<17} {found[title]}", flush=True)
    return found


def table(results):
    head = "data|records|combinations|method|CPU seconds|weight|chi-square, up to dimension 3|largest error, one column"
    lines = [f"| {head.replace('|', ' | ')} | largest error |", "|---" * 9 + "|"]
    for key in sorted(results, key=lambda key: (key.split("/")[0], int(key.split("/")[1]))):
        data, n = key.split("/")
        first = f"| {data} | {int(n):,} | {results[key]['combinations']:,} |"
        for title in SHOWN:
            one = results[key]["runs"][title]
            weight = "-" if title in RUNS else f"{one['weight']:,.0f}"  # groups of any size
            lines.append(
                f"{first} {title} | {one['seconds']:,.1f} | {weight} | {one['chi_square']:,.0f} | "
                f"{one['one_way']:,.0f} | {one['largest']:,.0f} |"
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
    measured(adult(300))  # compiled
    with_records(adult(2_000), get_method("random").run(adult(2_000), K))
    for data in chosen.data.split(","):
        for n in map(int, chosen.sizes.split(",")):
            codes = MAKERS[data](n)
            combinations = len(np.unique(codes, axis=0))
            keep(RESULTS, f"{data}/{n}", {"combinations": combinations, "runs": measured(codes)})


if __name__ == "__main__":
    main()
