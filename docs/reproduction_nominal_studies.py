"""The smaller studies of Cost 2023, chapter 6: parameters, control dimension, regression, growth.

    python docs/reproduction_nominal_studies.py [parameters] [dimensions] [regression] [growth] [--docs]

Results are stored in docs/methods/nominal-studies.json; ``--docs`` writes the tables of docs/methods/nominal-studies.md
from them. Seconds are those of the processor.
"""

import sys
import time
from pathlib import Path
from statistics import fmean, median

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import keep, kept, write_tables  # noqa: E402 - one block with those below

from published import cost  # noqa: E402 - found through the path above
from shoal.core.frequency_errors import frequency_errors  # noqa: E402
from shoal.datasets import adult_categories, category_codes, nominal_problems  # noqa: E402
from shoal.evaluate.regression import regression_check  # noqa: E402
from shoal.methods.nominal.column_generation import column_generation  # noqa: E402
from shoal.methods.nominal.table_representatives import select_representatives  # noqa: E402
from shoal.methods.running import run  # noqa: E402

RESULTS = ROOT / "docs" / "methods" / "nominal-studies.json"
PAGE = ROOT / "docs" / "methods" / "nominal-studies.md"
GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0)
LAMBDAS = (0.001, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
SCENARIO = "200m5_20percent"
INSTANCES = 10
DUALS = ("optimal", "heuristic")
SAMPLES = 100  # of Adult, for the regression
COMPARED = ("safe", "own-hhe", "chi-search")
SIZES, KS, DIMENSIONS = (100, 200, 300, 400, 500, 700, 1000), (3, 4, 5, 6, 7), tuple(range(1, 9))
EIGHT = (2, 5, 6, 7, 7, 14, 16, 42)  # values of the attributes of 200m8_20percent: those of Adult from the sixth on


def measure_parameters():
    """Figures 6.1 to 6.4: the distance of Algorithm 7 with exact P6 for all pairs of gamma and lambda."""
    for instance in range(INSTANCES):
        codes = cost.codes(SCENARIO, instance)
        for duals in DUALS:
            found = {
                f"{gamma:g} {lambda_:g}": column_generation(
                    codes, 3, fractional=duals, construction="exact", gamma=gamma, lambda_=lambda_, time_limit=300.0
                ).objective.value
                for gamma in GAMMAS for lambda_ in LAMBDAS
            }  # fmt: skip
            keep(RESULTS, f"parameters {duals} {instance}", found)
            print("parameters", duals, instance, flush=True)


def measure_dimensions():
    """Figures 6.9 and 6.10: control tables up to dimension 2 or 3, chi-square by dimension, Own-hee."""
    for instance in range(INSTANCES):
        codes = cost.codes(SCENARIO, instance)
        for tables in (2, 3):
            outcome = run("own-hee", codes, 3, tables=tables, time_limit=120.0)
            errors = frequency_errors(codes, codes[outcome.representatives[outcome.labels]])
            found = {str(d): errors.dimensions[d].chi_square for d in range(1, 6)} | {"all": errors.chi_square}
            keep(RESULTS, f"dimensions {tables} {instance}", found)
        print("dimensions", instance, flush=True)


def measure_regression():
    """Figures 6.20 and B.10: distances of estimated probabilities in samples of Adult."""
    for instance in range(SAMPLES):
        codes = category_codes(adult_categories(200, 5, seed=instance))
        for method in COMPARED:
            outcome = run(method, codes, 3, **({"time_limit": 60.0} if method == "own-hhe" else {}))
            released = codes[outcome.representatives[outcome.labels]]
            for attribute in (1, 3):
                check = regression_check(codes, released, attribute - 1)
                keep(
                    RESULTS, f"regression {attribute} {method} {instance}",
                    {"distances": [round(x, 4) for x in check.distances], "mean": fmean(check.distances)},
                )  # fmt: skip
        print("regression", instance, flush=True)


def seconds_of(codes, k, tables=3):
    """Processor seconds of the partition and of the greedy representatives of Own-hhg."""
    started = time.process_time()
    outcome = column_generation(
        codes, k, fractional="heuristic", construction="greedy", gamma=0.25, lambda_=3.0, time_limit=300.0
    )
    partition = time.process_time() - started
    started = time.process_time()
    select_representatives(codes, outcome.labels, variant="greedy", tables=tables)
    return {"partition": partition, "representatives": time.process_time() - started}


def measure_growth():
    """Figures 6.21 to 6.24: seconds over n, k and the control dimension."""
    seconds_of(nominal_problems(100, 0.2, 3), 3)  # compiles everything
    cases = {f"growth n {n}": (n, 3, None, 3) for n in SIZES}
    cases |= {f"growth k {k}": (200, k, None, 3) for k in KS}
    cases |= {f"growth dimension {d}": (200, 3, EIGHT, d) for d in DIMENSIONS}
    for key, (n, k, domains, tables) in cases.items():
        given = {"domains": domains} if domains else {}
        runs = [seconds_of(nominal_problems(n, 0.2, k, seed=seed, **given), k, tables) for seed in range(5)]
        keep(RESULTS, key, {name: fmean(found[name] for found in runs) for name in runs[0]})
        print(key, flush=True)


def gaps(results, duals):
    """The gaps of all pairs by instance: the distance above the best pair of the instance, as a share of it."""
    found = {}
    for instance in range(INSTANCES):
        distances = results[f"parameters {duals} {instance}"]
        best = min(distances.values())
        for pair, distance in distances.items():
            found.setdefault(tuple(map(float, pair.split())), []).append(distance / best - 1)
    return found


def chosen_pair(results, duals):
    """The pair with the least median gap among those that are best in some instance (Table 6.5)."""
    found = {pair: values for pair, values in gaps(results, duals).items() if min(values) == 0}
    return min(found, key=lambda pair: (median(found[pair]), pair))


def median_gaps(results, duals, position, values):
    """The median gap over all instances and the other parameter, for each value of one parameter."""
    every = gaps(results, duals)
    return [median(gap for pair, of in every.items() if pair[position] == value for gap in of) for value in values]


def lines_of(head, rows):
    return ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)]


def parameter_lines(results):
    for duals in DUALS:
        yield from lines_of(
            [f"gamma, {duals} duals", *GAMMAS],
            [["median gap", *(f"{gap:.3f}" for gap in median_gaps(results, duals, 0, GAMMAS))]],
        )
        yield ""
        yield from lines_of(
            [f"lambda, {duals} duals", *LAMBDAS],
            [["median gap", *(f"{gap:.3f}" for gap in median_gaps(results, duals, 1, LAMBDAS))]],
        )
        yield ""
    rows = []
    for position, duals in enumerate(DUALS):
        pair, published = chosen_pair(results, duals), cost.PARAMETERS[SCENARIO][position]
        every = gaps(results, duals)
        rows.append((duals, published, pair, f"{median(every[published]):.3f}", f"{median(every[pair]):.3f}"))
    yield from lines_of(["duals", "pair published", "pair here", "its median gap, published pair", "pair here"], rows)


def dimension_lines(results):
    columns = ["1", "2", "3", "4", "5", "all"]
    rows = []
    for tables in (2, 3):
        runs = [results[f"dimensions {tables} {instance}"] for instance in range(INSTANCES)]
        rows.append([f"up to {tables}", *(f"{fmean(run[column] for run in runs):.1f}" for column in columns)])
    return lines_of(["control tables", *(f"dimension {c}" if c != "all" else c for c in columns)], rows)


def regression_lines(results):
    rows = []
    for attribute in (1, 3):
        for method in COMPARED:
            means = [results[f"regression {attribute} {method} {instance}"]["mean"] for instance in range(SAMPLES)]
            quartiles = np.percentile(means, [25, 50, 75])
            rows.append((attribute, f"`{method}`", f"{fmean(means):.3f}", *(f"{q:.3f}" for q in quartiles)))
    return lines_of(["attribute", "method", "mean distance", "quartile", "median", "quartile"], rows)


def growth_lines(results, kind, values):
    rows = []
    for value in values:
        found = results[f"growth {kind} {value}"]
        rows.append((value, f"{found['partition']:.3f}", f"{found['representatives']:.3f}"))
    return lines_of([kind, "partition, s", "representatives, s"], rows)


def write_page():
    results = kept(RESULTS)
    write_tables(
        PAGE,
        {
            "parameters": list(parameter_lines(results)),
            "dimensions": dimension_lines(results),
            "regression": regression_lines(results),
            "growth n": growth_lines(results, "n", SIZES),
            "growth k": growth_lines(results, "k", KS),
            "growth dimension": growth_lines(results, "dimension", DIMENSIONS),
        },
    )


if __name__ == "__main__":
    studies = {"parameters": measure_parameters, "dimensions": measure_dimensions}
    studies |= {"regression": measure_regression, "growth": measure_growth}
    for name, study in studies.items():
        if name in sys.argv:
            study()
    if "--docs" in sys.argv:
        write_page()
