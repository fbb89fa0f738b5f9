"""Tables of categories at growing size: time, weight, and errors in frequency tables, against the obvious choices.

    python benchmarks/nominal.py [n ...]

Adult's eight categorical attributes (beyond 30,162 records: drawn with replacement) and the eight attributes of Nursery
(all 12,960 combinations; beyond that each combination several times). Compared are ``nominal`` with table-aware
records, ``chi-search``, ``safe`` (up to 10,000 records), MDAV on categories with modes, and random groups with modes;
k = 3.
"""

import itertools
import sys
import time

import numpy as np

from shoal.datasets import adult_categories, category_codes
from shoal.grouping import Grouping, canonical_labels
from shoal.measures.frequency_tables import frequency_errors
from shoal.methods.nominal.codes import clustering_weight
from shoal.methods.nominal.representatives import table_representatives
from shoal.methods.registry import get_method
from shoal.recoding import group_modes

K = 3
NURSERY = (3, 5, 4, 4, 3, 2, 3, 3)
SIZES = (200, 2_000, 20_000, 100_000)
SLOW = {"nominal-mdav": 20_000, "safe": 10_000}


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


RUNS = {
    "nominal + tables": ("nominal", with_records),
    "chi-search": ("chi-search", standing),
    "safe": ("safe", standing),
    "nominal + modes": ("nominal", with_modes),
    "mdav + modes": ("nominal-mdav", with_modes),
    "random + modes": ("random", with_modes),
}


def main():
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    for name in ("nominal", "chi-search", "safe", "nominal-mdav"):  # compile
        get_method(name).run(adult(200), K)
    with_records(adult(2_000), get_method("random").run(adult(2_000), K))
    print(
        f"{'data':<8} {'n':>7} {'method':<17} {'seconds':>8} {'weight':>10} {'chi² d<=3':>11} {'max d=1':>8} {'max':>7}"
    )
    for title, make in (("adult", adult), ("nursery", nursery)):
        for n in sizes:
            codes = make(n)
            for run, (name, release) in RUNS.items():
                if n > SLOW.get(name, n):
                    continue
                started = time.perf_counter()
                labels, released = release(codes, get_method(name).run(codes, K))
                seconds = time.perf_counter() - started
                errors = frequency_errors(codes, released, 3)
                weight = clustering_weight(codes, labels)
                print(
                    f"{title:<8} {n:>7,} {run:<17} {seconds:>8.1f} {weight:>10,.0f} {errors.chi_square:>11,.0f} "
                    f"{errors.dimensions[1].max_absolute:>8,.0f} {errors.max_absolute:>7,.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
