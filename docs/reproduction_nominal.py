"""Write the tables of docs/validation/nominal.md: Cost 2023, Tables 6.3 and 6.6 to 6.10, published and Shoal.

Run from the root of the repository: ``python docs/reproduction_nominal.py --instances 10``, about an hour. Results of
single instances are stored in docs/methods/nominal-results.json and not computed again with the same limits;
``--tables`` only writes the page.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import write_tables  # noqa: E402 - one block with those below
from reproduction_nominal_tables import partition_table, sections  # noqa: E402 - one block with those below

from published import cost  # noqa: E402 - found through the path above
from shoal.core.frequency_errors import frequency_errors  # noqa: E402
from shoal.methods.nominal.column_generation import column_generation  # noqa: E402
from shoal.methods.nominal.table_representatives import select_representatives  # noqa: E402
from shoal.methods.running import run  # noqa: E402

PAGE = ROOT / "docs" / "validation" / "nominal.md"
PARTITION_PAGE = ROOT / "docs" / "methods" / "nominal-partition.md"
RESULTS = ROOT / "docs" / "methods" / "nominal-results.json"
DUALS = {"e": "optimal", "h": "heuristic"}
BUILD = {"e": "exact", "h": "greedy"}
VARIANTS = {"g": "greedy", "c": "clique", "e": "exact"}
LIMITS = {  # seconds
    "partition": 300.0, "representatives": 120.0, "rand-e": 30.0, "chi-ex": 90.0, "safe-ex": 300.0, "msafe-ex": 300.0
}  # fmt: skip
OTHER_LIMITS = {"200m5_20percent": {"rand-e": 1800.0}}  # where Cost 2023 reports rand-e
VECTORS = ("chi-ex", "chi-search")
EDITED = ("safe", cost.LAST_VECTOR, "safe-ex", cost.WITHOUT_START, "msafe-ex")  # renewed when SAFE changes
STATE = 2  # of the code behind the vectors that were edited


def one_instance(scenario, instance):
    """Everything the tables need of one table of codes."""
    codes = cost.codes(scenario, instance)
    if scenario == cost.LARGER:
        return {"methods": own_variants(codes, cost.PARAMETERS["200m5_20percent"], ("he", "hh"))[1]}
    best = best_partition(codes)
    partition, methods = own_variants(codes, cost.PARAMETERS[scenario], ("ee", "eh", "he", "hh"))
    for a in VARIANTS:
        methods[f"rand-{a}"] = random_groups(codes, scenario, instance, a)
    for name in (*VECTORS, *EDITED):
        methods[name] = of_vector(codes, name)
    return {"best": best, "partition": partition, "methods": methods, "state": STATE}


def best_partition(codes):
    """The partition with a proven bound; seconds are CPU seconds."""
    started = time.process_time()
    outcome = column_generation(codes, 3, time_limit=LIMITS["partition"])
    seconds = time.process_time() - started
    return {"distance": outcome.objective.value, "bound": outcome.objective.bound, "seconds": seconds}


def of_vector(codes, name):
    """A method that selects groups and representatives at once, from a frequency vector."""
    method, *rest = name.split(", ")
    options = dict(option.split("=") for option in rest)
    started = time.process_time()
    outcome = run(method, codes, 3, time_limit=LIMITS.get(method), **options)
    seconds = time.process_time() - started
    objective = outcome.objective
    chi_square = outcome.diagnostics["chi_square"]
    return measured(codes, codes[outcome.representatives[outcome.labels]], seconds) | {
        "optimal": None if objective is None else objective.optimal,
        "records": outcome.diagnostics.get("vector_records", len(codes)),
        "vector_chi_square": outcome.diagnostics.get("vector_chi_square", chi_square),
        "bound": None if objective is None else objective.bound,
        "objective": None if objective is None else objective.value,
    }  # fmt: skip


def limits_of(scenario):
    return LIMITS | OTHER_LIMITS.get(scenario, {})


def random_groups(codes, scenario, instance, a):
    """Random groups with each selection of representatives; seconds are CPU seconds."""
    labels = run("random", codes, 3, seed=instance).labels
    started = time.process_time()
    found = aggregated(codes, labels, VARIANTS[a], limits_of(scenario)["rand-e"], 0.0)
    seconds = time.process_time() - started
    return found | {"seconds": seconds, "choosing": seconds}


def own_variants(codes, parameters, kinds):
    """The partitions as published, and the variants with each selection of representatives."""
    partition, methods = {}, {}
    for f, i in kinds:
        gamma, lambda_ = parameters["eh".index(f)]
        outcome = column_generation(
            codes, 3, fractional=DUALS[f], construction=BUILD[i], gamma=gamma, lambda_=lambda_,
            time_limit=LIMITS["partition"],
        )  # fmt: skip
        partition[f + i] = {
            "linear": outcome.diagnostics["linear_value"],
            "distance": outcome.objective.value,
            "seconds_fractional": outcome.timings["fractional"],
            "seconds_integer": outcome.timings["integer"],
            "seconds": outcome.timings["total"],
        }
        for a, variant in VARIANTS.items():
            limit = LIMITS["representatives"]
            methods[f"own-{f}{i}{a}"] = aggregated(codes, outcome.labels, variant, limit, outcome.timings["total"])
    return partition, methods


def aggregated(codes, labels, variant, limit, before):
    started = time.perf_counter()
    selected = select_representatives(codes, labels, variant=variant, time_limit=limit)
    seconds = time.perf_counter() - started
    return measured(codes, codes[selected.rows[labels]], before + seconds) | {
        "selecting": seconds, "optimal": selected.optimal, "bound": selected.bound, "objective": selected.chi_square
    }  # fmt: skip


def measured(codes, released, seconds):
    control, everything = frequency_errors(codes, released, 3), frequency_errors(codes, released)
    return {
        "seconds": seconds,
        "chi_square": control.chi_square,
        "chi_square_all": everything.chi_square,
        "absolute": [everything.dimensions[d].max_absolute for d in (1, 2, 3, 4, 5)],
        "relative": [everything.dimensions[d].max_relative for d in (1, 2, 3, 4, 5)],
    }


def collect(instances):
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for instance in range(instances):
        for scenario in (*cost.SCENARIOS, cost.LARGER):
            key = f"{scenario}/{instance}"
            old, limits = results.get(key, {"limits": {}}), limits_of(scenario)
            missing = scenario != cost.LARGER and old.get("state") != STATE
            if old["limits"] == limits and not missing:
                continue
            if old["limits"] == limits:  # nothing else to do
                codes = cost.codes(scenario, instance)
                old["methods"] |= {name: of_vector(codes, name) for name in EDITED}
                results[key] = old | {"state": STATE}
            else:
                results[key] = one_instance(scenario, instance) | {"limits": limits}
            lines = [f"{json.dumps(name)}: {json.dumps(rounded(result))}" for name, result in results.items()]
            RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            print(key, flush=True)
    return results


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("--instances", type=int, default=10)
    reader.add_argument("--tables", action="store_true")
    given = reader.parse_args()
    if not given.tables:
        one_instance("200m5_2percent", 0)  # compiles and loads everything before the first measurement
    results = collect(0 if given.tables else given.instances)
    every = {s: [r for key, r in results.items() if key.startswith(s + "/")] for s in (*cost.SCENARIOS, cost.LARGER)}
    write_tables(PAGE, {"published and Shoal": sections(every, LIMITS, OTHER_LIMITS)})
    write_tables(PARTITION_PAGE, {"partition": [partition_table({s: every[s] for s in cost.SCENARIOS})]})


if __name__ == "__main__":
    main()
