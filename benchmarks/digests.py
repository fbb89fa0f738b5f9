"""Digests of what Shoal computes, to prove that a change of the code does not change any result.

    python benchmarks/digests.py --write [FILE]      compute all digests and write them as JSON
    python benchmarks/digests.py --compare [FILE]    compute them again and compare (this is the default)
    python benchmarks/digests.py --only methods      or: releases, or the name of one method
    python benchmarks/digests.py --methods mdav,ona  some methods only, and no releases
    python benchmarks/digests.py --releases limit    releases whose name begins so, and no methods

FILE is benchmarks/digests.json if it is not given. With ``--only``, ``--methods`` or ``--releases`` the other digests
in FILE are kept by ``--write`` and ignored by ``--compare``. The exit code of a comparison is 1 if a digest changed or
is missing.

There are two parts. The first runs every registered grouping method on slices of the reference tables in the folder
``$SHOAL_DATA`` and keeps the SHA-256 digest of the labels, numbered by first appearance. Methods that select a record
for each group have a second digest, of these records. The second part protects tables with ``shoal.protect`` and keeps
the digests of the released values and of the types of their columns. If a case ends in an error, the name of the error
class takes the place of the digest. Digests are shortened to 16 hexadecimal digits.

Random numbers have fixed seeds, and exact programs get slices so small that they end long before their time limit. So
two runs on one machine agree. Other versions of NumPy, Numba or the solver, or another processor, may round differently
and may then give other digests: write the file and compare with it on the same machine.

Everything that touches Shoal is in the section "Adapter". If names of Shoal change, correct them there and leave all
others alone, so that the keys of the cases stay the same.
"""

import argparse
import csv
import hashlib
import inspect
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import shoal

# ----------------------------------------------------------------------------------------------------------------------
# Adapter: the only section that uses Shoal. The names on the left are those of the keys and of the cases below and must
# not change; the names on the right are those of the present code. A name that is not listed is the same on both sides.
# ----------------------------------------------------------------------------------------------------------------------

METHOD_NAMES: dict[str, str] = {}  # for example {"c-modes": "k-modes"}
OPTION_NAMES = {  # of methods: {"option": "new name"} or {"method.option": "new name"}
    "place": "split_position",
    "column-generation.weights": "column_weights",
    "nominal.weights": "column_weights",
    "set-partition.effort": "steps_per_record",
}
OPTION_VALUES: dict[str, object] = {}  # {"option=value": new value} or {"method.option=value": new value}
PROTECT_ARGUMENTS = {  # of shoal.protect
    "globally": "global_recoding",
    "keep_integers": "decimals",
    "weights": "column_weights",
    "within": "strata",
}
PROTECT_VALUES = {
    "keep_integers=False": "full",
    "keep_integers=True": "input",
    "missing=as-value": "category",
    "missing=own-group": "by-pattern",
    "missing=refuse": "error",
    "recode=tables": "frequencies",
}
ERROR_NAMES: dict[str, str] = {}  # of error classes: {"ParameterError": "OptionError"}


def method_names():
    """Return the names of all methods, as they are written in keys."""
    stable = {present: name for name, present in METHOD_NAMES.items()}
    return [stable.get(name, name) for name in shoal.all_methods()]


def data_kind(name):
    """Return what a method reads: points, values or codes."""
    kind = shoal.get_method(METHOD_NAMES.get(name, name)).data
    return "points" if kind == "mixed" else kind


def present_options(name, options):
    """Return options with the names and values that the present code knows."""
    found = {}
    for option, value in options.items():
        value = OPTION_VALUES.get(f"{name}.{option}={value}", OPTION_VALUES.get(f"{option}={value}", value))
        found[OPTION_NAMES.get(f"{name}.{option}", OPTION_NAMES.get(option, option))] = value
    return found


def labels_of(name, array, k, options):
    """Return the labels that a method gives and, if it selects a record for each group, these records (else None).

    The records are those of the groups in the order in which the groups appear first.
    """
    method = shoal.get_method(METHOD_NAMES.get(name, name))
    given = present_options(name, options)
    if "column_weights" in given:
        given["column_weights"] = np.array(given["column_weights"])
    outcome = shoal.run_method(method, array, k, seed=SEED, **given)
    if outcome.representatives is None:
        return canonical(outcome.labels)[0], None
    records = outcome.representatives[outcome.labels]  # groups with the same representative count as one
    labels, first = canonical(records)
    return labels, records[first]


def labels_of_group(array, k, method, options):
    """Return the labels that the function ``shoal.group`` gives, with its own standardisation."""
    options = present_options(method, options)
    return shoal.group(array, k, method=METHOD_NAMES.get(method, method), seed=SEED, **options)


def protected(data, k, arguments):
    """Return the result of ``shoal.protect``."""
    given = {}
    for argument, value in arguments.items():
        if argument == "options":
            value = present_options(arguments["method"], value)
        elif argument == "method":
            value = METHOD_NAMES.get(value, value)
        elif isinstance(value, str | bool):
            value = PROTECT_VALUES.get(f"{argument}={value}", value)
        elif isinstance(value, dict):
            value = {
                column: PROTECT_VALUES.get(f"{argument}={entry}", entry) if isinstance(entry, str) else entry
                for column, entry in value.items()
            }
        given[PROTECT_ARGUMENTS.get(argument, argument)] = value
    if "unnamed" in inspect.signature(shoal.protect).parameters:
        given.setdefault("unnamed", "other")
    if "release_weight" in inspect.signature(shoal.protect).parameters:
        given.setdefault("release_weight", "unchanged")
    return shoal.protect(data, k, accept_loss=True, **given)


def released_table(release):
    """Return the released table, in the library of the input."""
    return release.data


def released_loss(release):
    """Return the share of the information that was lost."""
    return release.loss.information_loss


def write_release(release, path):
    """Write the released table to a file."""
    release.write(path, overwrite=True)


def patients(n, missing):
    """Return a generated table of patients as a polars DataFrame."""
    return shoal.datasets.patients(n, missing=missing, seed=SEED)


def education_order():
    """Return the order of the column ``education`` of the patients."""
    return list(shoal.datasets.EDUCATION_ORDER)


# ----------------------------------------------------------------------------------------------------------------------
# The reference tables and the arrays made from them
# ----------------------------------------------------------------------------------------------------------------------

SEED = 7
KS = (3, 5, 10)
TABLES = {
    "adult": "adult.csv.gz",
    "census": "census.csv",
    "cloud1": "cloud1.csv",
    "cloud2": "cloud2.csv",
    "covertype": "covertype_quant.csv.gz",
    "credit_card": "credit_card.csv.gz",
    "eia": "eia.csv",
    "eia_full": "eia_full.csv",
    "francdat": "francdat.csv",
    "nursery": "nursery.csv.gz",
    "tarragona": "tarragona.csv",
    "testdata": "testdata.csv",
}
FIRST_ROWS = 60_000  # of large files; the rest is not read
CATEGORIES = {
    "adult": ("sex", "race", "relationship", "marital-status", "workclass"),
    "nursery": ("parents", "has_nurs", "form", "children", "housing"),
}
BINS = 4  # of a numeric column that is made a category
CODE_COLUMNS = 4
_read = {}


def reference(name):
    """Return a reference table, the first 60,000 records of it at most."""
    if name not in _read:
        folder = os.environ.get("SHOAL_DATA")
        if not folder:
            sys.exit("set SHOAL_DATA to the folder that holds the reference tables")
        _read[name] = pl.read_csv(Path(folder, TABLES[name]), infer_schema_length=None, n_rows=FIRST_ROWS)
    return _read[name]


def rows_of(name, n):
    """Return n records of a reference table at equal distances, or all of them if there are fewer."""
    table = reference(name)
    return table[np.unique(np.linspace(0, len(table) - 1, min(n, len(table))).astype(np.int64))]


def numbers_of(name, n):
    """Return the numeric columns of n records; if the table has none, the codes of its categories."""
    table = rows_of(name, n)
    numeric = table.select(pl.selectors.numeric())
    return (numeric.to_numpy() if numeric.width else numbered(table)).astype(np.float64)


def points_of(name, n):
    """Return the numeric columns of n records, with mean 0 and variance 1."""
    points = numbers_of(name, n)
    points -= points.mean(axis=0)
    spread = np.sqrt((points**2).mean(axis=0))
    return np.ascontiguousarray(points / np.where(spread > 0, spread, 1.0))


def codes_of(name, n):
    """Return categories of n records as codes: categorical columns, or numeric ones cut into bins of equal counts."""
    table = rows_of(name, n)
    if name in CATEGORIES:
        return numbered(table.select(CATEGORIES[name]))
    numeric = table.select(pl.selectors.numeric()).to_numpy().astype(np.float64)
    different = [len(np.unique(column)) for column in numeric.T]
    columns = numeric[:, np.array(different) > 1][:, :CODE_COLUMNS]
    cuts = np.quantile(columns, np.arange(1, BINS) / BINS, axis=0)
    codes = [np.searchsorted(cuts[:, j], columns[:, j], side="right") for j in range(columns.shape[1])]
    return np.ascontiguousarray(np.column_stack(codes), np.int32)


def values_of(name, n, column):
    """Return one numeric column of n records, as it is."""
    return np.ascontiguousarray(numbers_of(name, n)[:, column])


def numbered(table):
    """Return the columns of a table as codes: the place of a value in the sorted list of all values of the column."""
    codes = [np.unique(table[name].to_numpy(), return_inverse=True)[1].reshape(-1) for name in table.columns]
    return np.ascontiguousarray(np.column_stack(codes), np.int32)


# ----------------------------------------------------------------------------------------------------------------------
# The cases of methods
# ----------------------------------------------------------------------------------------------------------------------

RECIPES = tuple(f"own-{f}{i}{a}" for f in "eh" for i in "eh" for a in "egc")
EXACT = {*RECIPES, "castro-rounding", "chi-ex", "column-generation", "msafe-ex", "nominal", "rand-e", "safe-ex"}
ROWS = {"brute-force": 10, "matching": 120, "set-partition": 60} | dict.fromkeys(EXACT, 30)
USUAL_ROWS = 300
FEW_ROWS = 20  # for exact programs and k = 10; more may need a minute
FURTHER_KS = {"matching": (2,), "mu-approx": (2,), "set-partition": (2,)}
VALUE_COLUMNS = (0, 3, 1)
VARIANT_TABLES = {"points": ("census", "eia"), "values": ("census", "tarragona"), "codes": ("adult", "nursery")}
VARIANT_KS = (3, 5)
RECIPE_VARIANTS = ({"gamma": 0.5}, {"lambda_": 0.5}, {"tables": 2})
VARIANTS = {
    "auto": ({"effort": "fast"}, {"storage": "float32"}),
    "c-modes": ({"clusters": 20}, {"passes": 2}),
    "castro-rounding": ({"rounding": "columns"}, {"rounding": "edges"}),
    "chi-ex": ({"weight": 0.5}, {"tables": 2}),
    "chi-search": ({"weight": 0.5}, {"tables": 2}),
    "column-generation": (
        {"fractional": "heuristic"},
        {"construction": "exact"},
        {"construction": "greedy"},
        {"gamma": 0.5},
        {"lambda_": 0.5},
        {"weights": (1.0, 2.0, 1.0, 0.5, 3.0)},
    ),
    "insensitive": ({"order": "lexicographic"},),
    "k-means-merged": ({"factor": 2.0}, {"rounds": 3}),
    "lloyd": ({"start": "forgy"}, {"start": "partition"}),
    "lmas": ({"runs": 2},),
    "mdav": ({"precision": "single"},),
    "mdav-star": ({"closest": "cost"},),
    "mdav-star-gamma": ({"gamma": 1.1}, {"closest": "cost"}),
    "mona": (
        {"rho": 0.3},
        {"block": 60},
        {"leaf": "mdav"},
        {"whole": "2k-1"},
        {"first": 1},
        {"storage": "float32"},
    ),
    "mona-2d": (
        {"rho": 0.3},
        {"block": 60},
        {"leaf": "mdav"},
        {"whole": "2k-1"},
        {"first": 1},
        {"pair_scale": 1.0},
        {"storage": "float32"},
    ),
    "mona-plus": (
        {"block": 60},
        {"rho": 0.3},
        {"passes": 1},
        {"rounds": 0},
        {"leaf": "mdav-plus"},
        {"storage": "float32"},
    ),
    "mondrian": ({"whole": "2k-1"}, {"first": 1}, {"storage": "float32"}),
    "mondrian-nominal": ({"cuts": "strict"},),
    "mondrian-v": ({"whole": "2k-1"}, {"first": 1}, {"storage": "float32"}),
    "mondrian-v2d": ({"whole": "2k-1"}, {"first": 1}, {"pair_scale": 1.0}, {"storage": "float32"}),
    "msafe-ex": ({"weight": 0.5}, {"tables": 2}),
    "nominal": ({"block": 20}, {"rounds": 1}, {"weights": (1.0, 2.0, 1.0, 0.5, 3.0)}),
    "nominal-v-mdav": ({"gamma": 0.5},),
    "ona": ({"runs": 2}, {"max_rounds": 2}),
    "ona-star": ({"closest": "centroid"}, {"place": "origin"}, {"max_rounds": 1}),
    "ona-star-gamma": ({"gamma": 1.1}, {"closest": "centroid"}, {"place": "origin"}, {"max_rounds": 1}),
    "ona-star-plus": ({"closest": "centroid"}, {"max_rounds": 1}),
    "optimal-1d": (
        *({"cost": cost} for cost in ("sae", "max-distance", "round-up", "round-down", "rounded-mean")),
        *(
            {"search": search}
            for search in ("direct", "simple", "simple+", "divide", "staggered", "wilber", "galil-park", "quadratic")
        ),
        {"max_size": 12},
        {"max_groups": 8},
        {"group_cost": 1e7},
    ),
    "pca-mdav": ({"components": 2}, {"energy_loss": 0.3}, {"grouping": "ona-star"}),
    "pca-proximal": (
        {"macro": 60},
        {"macro": 60, "distal": 2},
        {"macro": 60, "fraction": 0.2},
        {"macro": 60, "threshold": 1.5},
        {"macro": 60, "components": 2},
        {"macro": 60, "energy_loss": 0.3},
        {"macro": 60, "grouping": "ona-star"},
    ),
    "pcl": ({"max_rounds": 2}, {"steps": 5}),
    "prepartition": (
        {"macro": 60},
        {"macro": 60, "distal": 2},
        {"macro": 60, "fraction": 0.2},
        {"macro": 60, "threshold": 1.5},
        {"macro": 60, "grouping": "ona-star"},
    ),
    "projection": ({"axis": "random"}, {"axis": "random", "directions": 3}, {"signed": True}),
    "rand-c": ({"tables": 2},),
    "rand-e": ({"tables": 1},),
    "rand-g": ({"tables": 2},),
    "safe": ({"tables": 2}, {"improve": False}, {"keep": "last"}),
    "safe-ex": ({"tables": 2},),
    "set-partition": (
        {"effort": 5.0},
        {"bound": "none"},
        {"bound": "instant"},
        {"bound": "columns"},
    ),
    "v-mdav": ({"gamma": 1.1},),
} | dict.fromkeys(RECIPES, RECIPE_VARIANTS)

LARGE = 4_000  # records, with other code than for few records
LARGE_TABLES = {"points": ("eia", "covertype"), "values": ("eia", "covertype"), "codes": ("adult",)}
LARGE_K = 5
LARGE_OPTIONS = {
    "auto": ({}, {"effort": "fast"}, {"storage": "float32"}),
    "mona-plus": ({}, {"block": 1000}, {"storage": "float32"}),
    "set-partition": ({"effort": 2.0},),
}
NOT_LARGE = {"brute-force", "matching", *EXACT}
SLOW_METHODS = {"ona", "pcl"}  # one large slice only
BLOCKS = {"nominal": 500}  # records that are cut into several blocks


def method_cases(name):
    """Yield the cases of a method: table, number of records, column (for methods of one column), k and options."""
    kind = data_kind(name)
    columns = VALUE_COLUMNS if kind == "values" else (None,)
    rows = ROWS.get(name, USUAL_ROWS)
    for table in TABLES:
        for column in columns:
            for k in (*FURTHER_KS.get(name, ()), *KS):
                yield table, FEW_ROWS if name in EXACT and k >= 10 else rows, column, k, {}
    for table in VARIANT_TABLES[kind]:
        for options in VARIANTS.get(name, ()):
            for k in VARIANT_KS:
                yield table, rows, columns[-1], k, options
    if name not in NOT_LARGE:
        for table in LARGE_TABLES[kind][: 1 if name in SLOW_METHODS else None]:
            for options in LARGE_OPTIONS.get(name, ({},)):
                yield table, LARGE, columns[-1], LARGE_K, options
    if name in BLOCKS:
        yield "adult", BLOCKS[name], None, 3, {}


def array_of(kind, table, rows, column):
    """Return the input of a method."""
    if kind == "values":
        return values_of(table, rows, column)
    return codes_of(table, rows) if kind == "codes" else points_of(table, rows)


def digests_of_method(name):
    """Return the digests of all cases of a method."""
    kind = data_kind(name)
    found = {}
    for table, rows, column, k, options in method_cases(name):
        place = f"{table}-{rows}" + ("" if column is None else f"-column{column}")
        key = "/".join(["methods", name, place, f"k{k}", *(f"{option}={options[option]}" for option in options)])
        array = array_of(kind, table, rows, column)
        before = array.copy()
        started = time.perf_counter()
        try:
            labels, records = labels_of(name, array, k, options)
        except Exception as problem:  # noqa: BLE001 - the class of the error is the result
            found[f"{key}/labels"] = error_name(problem)
        else:
            found[f"{key}/labels"] = digest(np.asarray(labels, np.int64).tobytes())
            if records is not None:
                found[f"{key}/records"] = digest(np.asarray(records, np.int64).tobytes())
        if not np.array_equal(before, array):
            found[f"{key}/input"] = "changed by the method"
        note_slow(key, time.perf_counter() - started)
    return found


def digests_of_group():
    """Return the digests of ``shoal.group``, which standardises columns itself."""
    found = {}
    for table in TABLES:
        numeric = rows_of(table, USUAL_ROWS).select(pl.selectors.numeric())
        for method, options in (("auto", {}), ("mdav", {}), ("projection", {"axis": "random"})):
            key = f"group/{method}/{table}-{USUAL_ROWS}/k3/labels"
            try:
                labels = labels_of_group(numeric.to_numpy(), 3, method, options)
            except Exception as problem:  # noqa: BLE001 - the class of the error is the result
                found[key] = error_name(problem)
            else:
                found[key] = digest(np.asarray(labels, np.int64).tobytes())
    return found


# ----------------------------------------------------------------------------------------------------------------------
# The cases of releases
# ----------------------------------------------------------------------------------------------------------------------

PATIENT_QUASI = ["age", "sex", "region", "education", "income", "height", "admitted"]
REGIONS = {"mainland": {"upper": ["north", "east"], "lower": ["south", "west"]}, "sea": ["islands"]}
STATUS = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent", "Separated", "Divorced", "Widowed")


def release_cases(folder):
    """Yield the cases of releases: name, table or file, k, and the arguments of ``shoal.protect``."""
    people, incomplete = patients(400, 0.0), patients(400, 0.08)
    education = {"education": education_order()}
    usual = {"identifiers": ["name"], "quasi": PATIENT_QUASI, "orders": education, "method": "mdav"}
    unordered = {"identifiers": ["name"], "quasi": ["sex", "region", "education"], "method": "mdav"}
    numbers = usual | {"quasi": ["age", "income", "height", "admitted"]}
    diverse = usual | {"quasi": ["age", "sex", "income"], "confidential": ["diagnosis"]}
    adult = rows_of("adult", 500)
    nominal = {"quasi": list(CATEGORIES["adult"])}

    yield "usual", people, 5, usual
    yield "auto", people, 5, usual | {"method": "auto"}
    yield "auto-best", people.head(60), 5, usual | {"method": "auto", "options": {"effort": "best"}}
    yield "large-auto", patients(4_000, 0.0), 5, usual | {"method": "auto"}
    yield "inferred-roles", people, 5, {"method": "mdav"}
    for policy in ("refuse", "own-group", "impute", "as-value"):
        yield f"missing-{policy}", incomplete, 3, usual | {"missing": policy}
    yield "missing-as-value-nominal", incomplete, 3, unordered | {"missing": "as-value"}
    yield "missing-own-group-auto", incomplete, 3, usual | {"missing": "own-group", "method": "auto"}
    yield "strata", people, 3, usual | {"quasi": ["age", "income", "education"], "within": ["sex"]}
    two = people.filter(pl.col("sex") != "other", pl.col("region") != "islands")
    yield "strata-two", two, 3, numbers | {"within": ["sex", "region"]}
    yield "column-weights", people, 5, usual | {"weights": {"age": 4.0, "region": 0.5, "height": 0.0}}
    survey = {"quasi": ["age", "expend", "income", "savings"], "sampling_weight": "household_weights", "method": "mdav"}
    yield "sampling-weight", rows_of("testdata", 500), 5, survey
    yield "sampling-weight-median", rows_of("testdata", 500), 5, survey | {"recode": "median"}
    for recode in ("mean", "median", "mode", "medoid", "range", "midrange", "min", "max", "set", "suppress"):
        yield f"recode-{recode}-numbers", people, 4, numbers | {"recode": recode}
    for recode in ("mode", "medoid", "set", "suppress", "tables"):
        quasi = {"quasi": ["sex", "region", "education"]}
        yield f"recode-{recode}-categories", people, 4, usual | quasi | {"recode": recode}
    for recode in ("median", "range", "min", "max"):
        yield (
            f"recode-{recode}-order",
            people,
            4,
            usual | {"quasi": ["age", "education"], "recode": {"education": recode}},
        )
    yield "recode-mixed", people, 4, usual | {"recode": {"age": "range", "sex": "set", "admitted": "min"}}
    yield "floats", people, 5, usual | {"keep_integers": False}
    trees = {"age": "intervals", "sex": "flat", "region": REGIONS, "education": "order", "admitted": "calendar"}
    yield "hierarchies", people, 5, usual | {"hierarchies": trees}
    yield "hierarchies-auto", people, 5, usual | {"recode": "hierarchy", "hierarchies": dict.fromkeys(trees, "auto")}
    status = folder / "status.csv"
    lines = [f"{value};{'together' if value.endswith('-spouse') else 'apart'};*" for value in STATUS]
    status.write_text("\n".join([*lines, "Never-married;single;*"]) + "\n", encoding="utf-8")
    by_file = {"quasi": ["age", "marital-status", "sex"], "hierarchies": {"marital-status": str(status)}}
    yield "hierarchy-file", adult, 5, by_file | {"method": "mdav"}
    yield "hierarchy-file-recode", adult, 5, by_file | {"method": "mdav", "recode": {"marital-status": "hierarchy"}}
    yield "global", adult, 3, {"quasi": ["age", "sex", "race"], "globally": True, "method": "mdav"}
    yield "global-nominal", adult, 3, nominal | {"globally": True, "method": "nominal-mdav"}
    for limit in (
        {"l": 3},
        {"l": 2, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 3.0},
        {"p": 2},
        {"alpha": 0.6},
        {"t": 0.4},
        {"beta": 2.5},
        {"l": 2, "t": 0.5, "alpha": 0.7},
    ):
        title = "-".join(f"{name}-{value}" for name, value in limit.items())
        yield f"limit-{title}", people, 4, diverse | limit
    yield "limit-numeric", people, 4, diverse | {"confidential": ["stay_days"], "t": 0.3}
    yield "max-size", people, 4, usual | {"max_size": 7}
    yield "max-size-exceeded", people, 4, usual | {"max_size": 4, "method": "mondrian"}
    yield "nominal-auto", adult.head(120), 3, nominal | {"method": "auto"}
    yield "nominal-modes", adult, 3, nominal | {"method": "nominal-mdav", "recode": "mode"}
    yield "nominal-records", adult, 3, nominal | {"method": "chi-search"}
    yield (
        "nominal-records-limit",
        adult,
        3,
        nominal | {"method": "safe", "confidential": ["salary-class"], "alpha": 0.9},
    )
    yield "kinds", adult, 3, nominal | {"quasi": ["education-num", "sex"], "kinds": {"education-num": "nominal"}}
    yield "one-column", people, 5, usual | {"quasi": ["income"], "method": "auto"}
    for cost in ("sae", "max-distance", "round-up", "round-down"):
        yield (
            f"one-column-{cost}",
            people,
            5,
            usual
            | {
                "quasi": ["income"],
                "method": "optimal-1d",
                "options": {"cost": cost},
            },
        )
    yield "seeded", people, 5, usual | {"method": "lloyd", "seed": 3}
    yield "refused-unknown-column", people, 5, usual | {"quasi": ["height", "shoe"]}
    yield "refused-k", people.head(4), 5, usual

    yield "input-pandas", people.to_pandas(), 5, usual
    yield "input-pandas-missing", incomplete.to_pandas(), 3, usual | {"missing": "impute"}
    yield "input-pyarrow", people.to_arrow(), 5, usual
    yield "input-pyarrow-missing", incomplete.to_arrow(), 3, usual | {"missing": "own-group"}
    people.write_csv(folder / "people.csv")
    yield "input-csv", folder / "people.csv", 5, usual
    incomplete.with_columns(pl.col("height").cast(pl.String).str.replace(".", ",", literal=True)).write_csv(
        folder / "incomplete.csv", separator=";", null_value="NA"
    )
    marks = {"delimiter": ";", "decimal": ",", "na_values": ["NA"]}
    yield "input-csv-missing", folder / "incomplete.csv", 3, usual | {"missing": "impute", "read_options": marks}
    people.write_parquet(folder / "people.parquet")
    yield "input-parquet", folder / "people.parquet", 5, usual


def digests_of_releases(beginning=""):
    """Return the digests of releases whose name begins so: values, types and information loss."""
    found = {} if beginning else {"datasets/patients": table_digest(patients(500, 0.1))}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, data, k, arguments in release_cases(folder):
            key = f"releases/{title}"
            if not title.startswith(beginning):
                continue
            started = time.perf_counter()
            try:
                release = protected(data, k, arguments)
            except Exception as problem:  # noqa: BLE001 - the class of the error is the result
                found[f"{key}/table"] = error_name(problem)
                continue
            found[f"{key}/table"] = table_digest(released_table(release))
            found[f"{key}/loss"] = f"{released_loss(release):.12e}"
            if isinstance(data, Path):
                written = folder / f"released{data.suffix}"
                write_release(release, written)
                parquet = data.suffix == ".parquet"
                found[f"{key}/file"] = (
                    table_digest(pl.read_parquet(written)) if parquet else digest(written.read_bytes())
                )
            note_slow(key, time.perf_counter() - started)
    return found


def table_digest(table):
    """Return the digest of a table of any library: its library, the types of its columns, and its values as CSV."""
    library = type(table).__module__.split(".")[0]
    if library == "pyarrow":
        types, frame = [str(field.type) for field in table.schema], pl.from_arrow(table)
    elif library == "pandas":
        types, frame = [str(kind) for kind in table.dtypes], pl.from_pandas(table)
    else:
        types, frame = [str(kind) for kind in table.dtypes], table
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([[library], list(frame.columns), types])
    for row in frame.iter_rows():
        writer.writerow(["\\N" if value is None else repr(value) for value in row])
    return digest(text.getvalue().encode())


# ----------------------------------------------------------------------------------------------------------------------
# Computing, writing and comparing
# ----------------------------------------------------------------------------------------------------------------------

DEFAULT_FILE = Path(__file__).with_name("digests.json")
SLOW = 2.0  # seconds from which on a case is named
SHOWN = 12  # changed keys of one method that are listed


def canonical(labels):
    """Return labels numbered by first appearance, and the place where each group appears first."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    return number[inverse.reshape(-1)], first[order]


def digest(data):
    """Return the first 16 hexadecimal digits of the SHA-256 digest."""
    return hashlib.sha256(data).hexdigest()[:16]


def error_name(problem):
    """Return the name of the class of an error, as it is written in the file."""
    stable = {present: name for name, present in ERROR_NAMES.items()}
    return stable.get(type(problem).__name__, type(problem).__name__)


def note_slow(key, seconds):
    """Name a case that takes long."""
    if seconds >= SLOW:
        print(f"  {key}: {seconds:.1f} s", file=sys.stderr)


def compute(names, *, with_group, with_releases, beginning=""):
    """Return the digests of some methods and, if wanted, of ``shoal.group`` and the releases whose name begins so."""
    steps = [(name, lambda name=name: digests_of_method(name)) for name in names]
    steps += [("shoal.group", digests_of_group)] if with_group else []
    steps += [("releases", lambda: digests_of_releases(beginning))] if with_releases else []
    found = {}
    for number, (title, step) in enumerate(steps, start=1):
        started = time.perf_counter()
        new = step()
        found |= new
        spent = time.perf_counter() - started
        print(f"[{number}/{len(steps)}] {title}: {len(new)} digests, {spent:.1f} s", file=sys.stderr, flush=True)
    return found


def part_of(key):
    """Return the method, or the part, that a key belongs to."""
    start, name, *_ = key.split("/")
    return name if start == "methods" else start


def compare(old, new):
    """Print what is equal, changed, missing and new; return whether nothing is changed or missing."""
    keys = {
        "equal": [key for key in old if key in new and old[key] == new[key]],
        "changed": [key for key in old if key in new and old[key] != new[key]],
        "missing": [key for key in old if key not in new],
        "new": [key for key in new if key not in old],
    }
    for title, found in keys.items():
        print(f"{title:<8} {len(found):>6}")
    for title in ("changed", "missing", "new"):
        counts = Counter(part_of(key) for key in keys[title])
        for part in sorted(counts):
            inside = [key for key in keys[title] if part_of(key) == part]
            print(f"\n{title}: {part} ({counts[part]} of {sum(part_of(key) == part for key in old)})")
            for key in inside[:SHOWN]:
                print(f"  {key}  {old.get(key, '-')} -> {new.get(key, '-')}")
            if len(inside) > SHOWN:
                print(f"  and {len(inside) - SHOWN} more")
    return not keys["changed"] and not keys["missing"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", nargs="?", const=DEFAULT_FILE, type=Path, metavar="FILE")
    parser.add_argument("--compare", nargs="?", const=DEFAULT_FILE, type=Path, metavar="FILE")
    parser.add_argument("--only", metavar="methods|releases|METHOD")
    parser.add_argument("--methods", metavar="NAME,NAME,...")
    parser.add_argument("--releases", metavar="BEGINNING", default="")
    arguments = parser.parse_args()
    if arguments.releases:
        arguments.only = "releases"
    if arguments.write and arguments.compare:
        parser.error("choose one of --write and --compare")

    every = method_names()
    wanted = arguments.methods.split(",") if arguments.methods else None
    if arguments.only not in {None, "methods", "releases"}:
        wanted = [*(wanted or []), arguments.only]
    file = arguments.write or arguments.compare or DEFAULT_FILE
    old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not arguments.write and not old:
        parser.error(f"there are no digests in {file}; write them with --write")
    stored = {part_of(key) for key in old if key.startswith("methods/")}
    unknown = sorted(set(wanted or ()) - set(every) - stored)
    if unknown:
        parser.error(f"there is no method {', '.join(unknown)}")

    names = [] if arguments.only == "releases" else [name for name in every if wanted is None or name in wanted]
    with_group = wanted is None and arguments.only != "releases"
    with_releases = wanted is None and arguments.only != "methods"

    def chosen(key):
        if key.startswith("methods/"):
            return arguments.only != "releases" and (wanted is None or part_of(key) in wanted)
        if arguments.releases:
            return key.startswith(f"releases/{arguments.releases}")
        return with_group if key.startswith("group/") else with_releases

    started, worked = time.perf_counter(), time.process_time()
    new = compute(names, with_group=with_group, with_releases=with_releases, beginning=arguments.releases)
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    summary = f"{len(new)} digests of {len(names)} methods in {seconds:.0f} s ({work:.0f} s of processor time)"
    if arguments.write:
        kept = {key: value for key, value in old.items() if not chosen(key)}
        file.write_text(json.dumps(dict(sorted((kept | new).items())), indent=0) + "\n", encoding="utf-8")
        print(f"{summary}, written to {file}")
        return 0
    same = compare({key: value for key, value in old.items() if chosen(key)}, new)
    print(f"\n{summary}: {'all results are the same' if same else 'results differ'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
