"""Write the tables of docs/methods/nominal.md: Cost 2023, Tables 6.3 and 6.6 to 6.10, printed and ours.

Run from the root of the repository: ``python docs/reproduction_nominal.py --instances 10``, about an hour. Results of
single instances are kept in docs/methods/nominal-results.json and not computed again with the same limits; ``--tables``
only writes the page.
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
from shoal.methods.nominal.table_representatives import table_representatives  # noqa: E402
from shoal.methods.registry import get_method  # noqa: E402

PAGE = ROOT / "docs" / "methods" / "nominal.md"
PARTITION_PAGE = ROOT / "docs" / "methods" / "nominal-partition.md"
RESULTS = ROOT / "docs" / "methods" / "nominal-results.json"
DUALS = {"e": "optimal", "h": "heuristic"}
BUILD = {"e": "exact", "h": "greedy"}
WAYS = {"g": "greedy", "c": "clique", "e": "exact"}
LIMITS = {  # seconds
    "partition": 300.0, "representatives": 120.0, "rand-e": 30.0, "chi-ex": 90.0, "safe-ex": 300.0, "msafe-ex": 300.0
}  # fmt: skip
OTHER_LIMITS = {"200m5_20percent": {"rand-e": 1800.0}}  # where the thesis prints rand-e
WHOLE = ("chi-ex", "chi-search", "safe", "safe-ex", "msafe-ex")


def one_instance(scenario, instance):
    """Everything the tables need of one table of codes."""
    codes = cost.codes(scenario, instance)
    if scenario == cost.LARGER:
        return {"recipes": own_recipes(codes, cost.PARAMETERS["200m5_20percent"], ("he", "hh"))[1]}
    best = best_partition(codes)
    partition, recipes = own_recipes(codes, cost.PARAMETERS[scenario], ("ee", "eh", "he", "hh"))
    for a in WAYS:
        recipes[f"rand-{a}"] = random_groups(codes, scenario, instance, a)
    for name in (*WHOLE, cost.PRINTED_SAFE):
        recipes[name] = whole(codes, name)
    return {"best": best, "partition": partition, "recipes": recipes}


def best_partition(codes):
    """The partition with a proven gap; seconds are those of the processor."""
    told = {}
    started = time.process_time()
    column_generation(codes, 3, time_limit=LIMITS["partition"], facts=told)
    return {name: told[name] for name in ("weight", "bound", "stopped")} | {"seconds": time.process_time() - started}


def whole(codes, name):
    """A method that chooses groups and representatives at once."""
    method, *rest = name.split(", ")
    options = dict(option.split("=") for option in rest) | ({"time_limit": LIMITS[name]} if name in LIMITS else {})
    facts = {}
    started = time.perf_counter()
    standing = get_method(method).run(codes, 3, facts=facts, **options)
    seconds = time.perf_counter() - started
    return measured(codes, codes[standing], seconds) | {
        "optimal": facts.get("optimal"), "records": facts.get("vector_records", len(codes)),
        "bound": facts.get("bound"), "objective": facts.get("objective"),
    }  # fmt: skip


def limits_of(scenario):
    return LIMITS | OTHER_LIMITS.get(scenario, {})


def random_groups(codes, scenario, instance, a):
    """Random groups with each way to choose representatives; seconds are those of the processor."""
    labels = get_method("random").run(codes, 3, seed=instance)
    started = time.process_time()
    found = aggregated(codes, labels, WAYS[a], limits_of(scenario)["rand-e"], 0.0)
    seconds = time.process_time() - started
    return found | {"seconds": seconds, "choosing": seconds}


def own_recipes(codes, parameters, kinds):
    """The partitions as published, and the recipes with each way to choose representatives."""
    partition, recipes = {}, {}
    for f, i in kinds:
        gamma, lambda_ = parameters["eh".index(f)]
        told = {}
        labels = column_generation(
            codes, 3, fractional=DUALS[f], construction=BUILD[i], gamma=gamma, lambda_=lambda_,
            time_limit=LIMITS["partition"], facts=told,
        )  # fmt: skip
        partition[f + i] = {
            name: told.get(name) for name in ("linear", "weight", "seconds_fractional", "seconds_integer", "seconds")
        }
        for a, way in WAYS.items():
            limit = LIMITS["representatives"]
            recipes[f"own-{f}{i}{a}"] = aggregated(codes, labels, way, limit, told["seconds"])
    return partition, recipes


def aggregated(codes, labels, way, limit, before):
    facts = {}
    started = time.perf_counter()
    rows = table_representatives(codes, labels, way=way, time_limit=limit, facts=facts)
    seconds = time.perf_counter() - started
    return measured(codes, codes[rows[labels]], before + seconds) | {
        "choosing": seconds, "optimal": facts.get("representatives_optimal"), "bound": facts.get("chi_square_bound"),
        "objective": facts["chi_square"],
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
            missing = scenario != cost.LARGER and cost.PRINTED_SAFE not in old.get("recipes", {})
            if old["limits"] == limits and not missing:
                continue
            if old["limits"] | {"rand-e": limits["rand-e"]} == limits:  # nothing else to do
                codes = cost.codes(scenario, instance)
                if old["limits"] != limits:
                    old["recipes"]["rand-e"] = random_groups(codes, scenario, instance, "e")
                if missing:
                    old["recipes"][cost.PRINTED_SAFE] = whole(codes, cost.PRINTED_SAFE)
                results[key] = old | {"limits": limits}
            else:
                results[key] = one_instance(scenario, instance) | {"limits": limits}
            lines = [f"{json.dumps(name)}: {json.dumps(rounded(one))}" for name, one in results.items()]
            RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            print(key, flush=True)
    return results


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("--instances", type=int, default=10)
    reader.add_argument("--tables", action="store_true")
    given = reader.parse_args()
    if not given.tables:
        one_instance("200m5_2percent", 0)  # compiled and loaded before anything is measured
    results = collect(0 if given.tables else given.instances)
    every = {s: [r for key, r in results.items() if key.startswith(s + "/")] for s in (*cost.SCENARIOS, cost.LARGER)}
    write_tables(PAGE, {"printed and ours": sections(every, LIMITS, OTHER_LIMITS)})
    write_tables(PARTITION_PAGE, {"partition": [partition_table({s: every[s] for s in cost.SCENARIOS})]})


if __name__ == "__main__":
    main()
