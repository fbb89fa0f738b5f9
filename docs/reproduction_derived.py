"""Figures for cells that are means of stored experiments, or quick to compute: Cost 2023, Rebollo-Monedero 2019.

``derived()`` reads docs/methods/nominal-results.json, nominal-studies.json and pca-results.json, which the scripts
reproduction_nominal.py, reproduction_nominal_studies.py, reproduction_pca.py and reproduction_pca_studies.py write.
"""

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from reproduction_nominal_studies import SAMPLES, SCENARIO, chosen_pair
from reproduction_pca_studies import ENERGY, KS

from published import cost
from shoal.core.row_classes import unsafe_rows
from shoal.datasets import adult_categories, category_codes
from shoal.evaluate.regression import mcfadden

METHODS = Path(__file__).parent / "methods"
DRAWS = 10
OF_EXTREME = 0.43  # standard deviation of the extreme of 100 normal values, in theirs


def read(name):
    return json.loads((METHODS / f"{name}.json").read_text(encoding="utf-8"))


def derived():
    """(key, figures) of every cell that this module gives."""
    for part in (
        adult_values,
        problem_shares,
        parameters,
        distances,
        safe_records,
        pseudo_r2,
        class_frequencies,
        forest,
    ):
        yield from part()


def mean_of(measure, values):
    """A mean over random tables, with what the random spread needs."""
    return {"databases": len(values), measure: fmean(values), f"sd of {measure}": stdev(values)}


def adult_values():
    """Tables 6.1 and 6.2: the number of values of the attributes."""
    every = adult_categories(None, 8)
    for j, column in enumerate(every.columns, start=1):
        yield f"Adult/all records/attribute {j}", {"values": every[column].n_unique()}
    samples = [adult_categories(200, 5, seed=seed) for seed in range(DRAWS)]
    for j, column in enumerate(samples[0].columns, start=1):
        counts = [sample[column].n_unique() for sample in samples]
        for name, value in (("least", min(counts)), ("largest", max(counts))):
            yield f"Adult, samples of 200/{name} of 10/attribute {j}", {"values": value}


def problem_shares():
    """Table 6.3: the share of records in combinations of fewer than three."""
    codes = category_codes(adult_categories(None, 8))
    for m in range(3, 9):
        yield (
            f"Adult, all 30,162 records/k = 3/{m} attributes",
            {"share of problems": float(unsafe_rows(codes[:, :m], 3).mean())},
        )
    for n in (200, 500):
        drawn = [np.random.default_rng(seed).choice(len(codes), n, replace=False) for seed in range(DRAWS)]
        for m in range(3, 9):
            shares = [float(unsafe_rows(codes[rows, :m], 3).mean()) for rows in drawn]
            yield f"Adult, samples of {n}/k = 3/{m} attributes", mean_of("share of problems", shares)


def parameters():
    """Table 6.5: the pair of gamma and lambda with the least median gap."""
    results = read("nominal-studies")
    for duals in ("optimal", "heuristic"):
        for name, value in zip(("gamma", "lambda"), chosen_pair(results, duals), strict=True):
            yield f"{SCENARIO}/{duals} duals/{name}", {"pair with the least median gap": value}


def instances(scenario):
    return [run for key, run in read("nominal-results").items() if key.startswith(f"{scenario}/")]


def distances():
    """Table 6.6: the within-group distance of the linear program and of Algorithm 7."""
    for scenario in cost.SCENARIOS:
        parts = [run["partition"] for run in instances(scenario)]
        for letter, duals in (("e", "optimal"), ("h", "heuristic")):
            values = {"fractional": [part[f"{letter}e"]["linear"] for part in parts]}
            values["exact P6"] = [part[f"{letter}e"]["distance"] for part in parts]
            values["greedy P6"] = [part[f"{letter}h"]["distance"] for part in parts]
            for name, found in values.items():
                yield f"{scenario}/{duals} duals/{name}", mean_of("within-group distance", found)


def safe_records():
    """Table 6.9: how many of ten vectors of SAFE have so many records; the spread is that of a binomial number."""
    scenario = "200m5_2percent"
    for method in (cost.LAST_VECTOR, "safe"):
        found = [run["methods"][method]["records"] for run in instances(scenario)]
        for records, printed in cost.SAFE_RECORDS.items():
            count = found.count(records)
            share = (count + printed) / (2 * len(found))
            spread = {"databases": 1, "sd of instances": sqrt(len(found) * share * (1 - share))}
            yield f"{scenario}/{method}/{records}", {"instances": count} | spread


def pseudo_r2():
    codes = category_codes(adult_categories())
    for j in range(5):
        yield f"Adult, all 30,162 records/regression/attribute {j + 1}", {"pseudo-R²": mcfadden(codes, j)}


def class_frequencies():
    """Figures 6.20 and B.10: how often the classes of an attribute occur in samples of 200."""
    measure = "frequency in 100 samples"
    for attribute in (1, 3):
        columns = [adult_categories(200, 5, seed=seed)[:, attribute - 1].to_list() for seed in range(SAMPLES)]
        counts = {value: [column.count(value) for column in columns] for value in set().union(*columns)}
        for c, of in enumerate(sorted(counts.values(), key=fmean, reverse=True), start=1):
            key = f"Adult, attribute {attribute}/{{}}/class {c}"
            yield key.format("mean"), mean_of(measure, of)
            for name, value in (("least", min(of)), ("largest", max(of))):
                yield key.format(name), {"databases": 1, measure: value, f"sd of {measure}": OF_EXTREME * stdev(of)}


def forest():
    """Table IV and the numbers of Figures 17 to 23."""
    results = read("pca-results")
    losses = {
        (k, m): results[f"table Forest {k} {m}"]["loss"] for k in KS for m in ("mdav", "pca-mdav", "pca-proximal")
    }
    for (k, method), loss in losses.items():
        yield f"covertype/{method}/k={k}", {"distortion": loss / 100}
    for m in ("6", "7"):
        yield f"covertype/components/{m}", {"energy kept, %": 100 * (1 - results["spectrum Forest"][m])}
    for m in ("1", "6"):
        yield (
            f"covertype/pca-mdav/{m}",
            {"extra distortion of 75,000 records, %": 100 * results[f"scan Forest {m}"]["extra"]},
        )
    yield "covertype/mdav/number", {"macrocells": len(results["macrocells Forest"]["shares"])}
    extra = 100 * results["distal Forest 39"]["extra"]
    yield "covertype/pca-proximal/39 distal", {"extra distortion, %": extra}
    for method in ("pca-mdav", "pca-proximal"):
        at = {"0.1": [losses[k, method] for k in KS]}
        at[f"{ENERGY}"] = [results[f"energy {ENERGY} {k} {method}"]["loss"] for k in KS]
        for energy, found in at.items():
            above = fmean(loss - losses[k, "mdav"] for k, loss in zip(KS, found, strict=True))
            yield f"covertype/{method}/energy loss {energy}", {"mean extra distortion, %": above}
