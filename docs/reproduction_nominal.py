"""Writes the tables of docs/methods/nominal.md: Cost 2023, Tables 6.3 and 6.6 to 6.10, printed and ours.

Run from the root of the repository, for example ``python docs/reproduction_nominal.py --limit 60 --instances 10``.
Results of single instances are kept in docs/methods/nominal-results.json and not computed again with the same limit;
``--tables`` only writes the page.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from published import cost  # noqa: E402 - found through the path above
from shoal.datasets import adult_categories, category_codes  # noqa: E402
from shoal.measures.frequency_tables import frequency_errors  # noqa: E402
from shoal.methods.nominal.codes import problem_rows  # noqa: E402
from shoal.methods.nominal.partition import column_generation  # noqa: E402
from shoal.methods.nominal.representatives import table_representatives  # noqa: E402
from shoal.methods.registry import get_method  # noqa: E402

PAGE = ROOT / "docs" / "methods" / "nominal.md"
RESULTS = ROOT / "docs" / "methods" / "nominal-results.json"
DUALS = {"e": "optimal", "h": "heuristic"}
BUILD = {"e": "exact", "h": "greedy"}
WAYS = {"g": "greedy", "c": "clique", "e": "exact"}
WHOLE = ("chi-ex", "chi-search", "safe", "safe-ex", "msafe-ex")
ORDER = ("chi-ex", "chi-search", "own-eee", "own-hee", "own-hhe", "own-hhg", "msafe-ex", "safe", "safe-ex", "rand-e")
TITLES = {"adult200m5": "Adult", "200m5_2percent": "2 %", "200m5_20percent": "20 %", "200m5_100percent": "100 %"}


def one_instance(scenario, instance, limit):
    """Everything the tables need of one table of codes."""
    codes = cost.codes(scenario, instance)
    found = {"partition": {}, "recipes": {}}
    best = {}
    column_generation(codes, 3, time_limit=limit, facts=best)
    found["best"] = {name: best[name] for name in ("weight", "bound", "stopped", "seconds")}
    for f, i in (("e", "e"), ("e", "h"), ("h", "e"), ("h", "h")):
        gamma, lambda_ = cost.PARAMETERS[scenario]["eh".index(f)]
        told = {}
        labels = column_generation(
            codes, 3, fractional=DUALS[f], construction=BUILD[i], gamma=gamma, lambda_=lambda_, time_limit=limit,
            facts=told,
        )  # fmt: skip
        found["partition"][f + i] = {
            name: told.get(name) for name in ("linear", "weight", "seconds_fractional", "seconds_integer", "seconds")
        }
        for a, way in WAYS.items():
            found["recipes"][f"own-{f}{i}{a}"] = aggregated(codes, labels, way, limit, told["seconds"])
    labels = get_method("random").run(codes, 3, seed=instance)
    found["recipes"]["rand-e"] = aggregated(codes, labels, "exact", limit, 0.0)
    for name in WHOLE:
        facts = {}
        options = {"time_limit": limit} if "time_limit" in get_method(name).options else {}
        started = time.perf_counter()
        standing = get_method(name).run(codes, 3, facts=facts, **options)
        seconds = time.perf_counter() - started
        found["recipes"][name] = measured(codes, codes[standing], seconds) | {
            "optimal": facts.get("optimal"), "records": facts.get("vector_records", len(codes)),
            "bound": facts.get("bound"), "objective": facts.get("objective"),
        }  # fmt: skip
    return found


def aggregated(codes, labels, way, limit, before):
    facts = {}
    started = time.perf_counter()
    rows = table_representatives(codes, labels, way=way, time_limit=limit, facts=facts)
    seconds = time.perf_counter() - started
    return measured(codes, codes[rows[labels]], before + seconds) | {
        "choosing": seconds, "optimal": facts.get("representatives_optimal"), "bound": facts.get("chi_square_bound"),
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


def collect(instances, limit):
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for instance in range(instances):
        for scenario in cost.SCENARIOS:
            key = f"{scenario}/{instance}"
            if key in results and results[key]["limit"] >= limit:
                continue
            results[key] = one_instance(scenario, instance, limit) | {"limit": limit}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            print(key, flush=True)
    return results


def mean(values):
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def table(head, rows):
    lines = ["| " + " | ".join(map(str, head)) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""])


def problem_shares():
    codes = category_codes(adult_categories(None, 8))
    rows = []
    for title, printed in cost.PROBLEM_SHARES.items():
        n = {"samples, n = 200": 200, "samples, n = 500": 500}.get(title, len(codes))
        drawn = [np.random.default_rng(seed).choice(len(codes), n, replace=False) for seed in range(10)]
        ours = [mean([problem_rows(codes[rows_of, :m], 3).mean() for rows_of in drawn]) for m in range(3, 9)]
        rows += [(title, "printed", *printed.split()), ("", "ours", *(f"{share:.3f}" for share in ours))]
    return "### Table 6.3: share of confidentiality problems in Adult, k = 3\n\n" + table(
        ["", "", *(f"{m} attributes" for m in range(3, 9))], rows
    )


def sections(results):
    by = {s: [r for key, r in results.items() if key.startswith(s + "/")] for s in cost.SCENARIOS}
    limits = sorted({r["limit"] for r in results.values()})
    counts = ", ".join(f"{TITLES[s]} {len(by[s])}" for s in cost.SCENARIOS)
    note = f"k = 3, n = 200, m = 5; instances: {counts}; at most {' or '.join(f'{x:g}' for x in limits)} s per step."
    note += " Seconds are those of the machine as it was, also where others used it."
    yield problem_shares()
    yield f"### Table 6.6: sum of cluster weights, mean\n\n{note}\n\n" + table(
        ["scenario", "duals", "", "linear", "exact P6", "greedy P6", "column-generation: weight", "proven bound"],
        weight_rows(by),
    )
    yield "### Table 6.7: seconds of the partition, mean\n\n" + table(
        ["scenario", "", "linear exact", "linear heuristic", "integer exact", "integer greedy"], partition_rows(by)
    )
    yield "### Table 6.8: seconds of the choice of representatives, mean\n\n" + table(
        ["scenario", "recipes", "", "greedy", "clique", "exact", "proven optimal"], choice_rows(by)
    )
    found = [r["recipes"]["safe"]["records"] for r in by["200m5_2percent"]]
    records = sorted({*cost.SAFE_RECORDS, *found})
    yield "### Table 6.9: records of the vector of SAFE, 2 %\n\n" + table(
        ["", *records],
        [("printed", *(cost.SAFE_RECORDS.get(n, 0) for n in records)), ("ours", *(found.count(n) for n in records))],
    )
    yield "### Table 6.10: seconds in all, mean, and how often the optimum was proven\n\n" + table(
        ["method", "", *TITLES.values()], total_rows(by)
    )
    for key, title in (("chi_square", "control tables (up to dimension 3)"), ("chi_square_all", "all 31 tables")):
        rows = [
            (name, *(f"{mean([r['recipes'][name][key] for r in by[s]]):.1f}" for s in cost.SCENARIOS)) for name in ORDER
        ]
        yield f"### Chi-square error, {title}, mean\n\n" + table(["method", *TITLES.values()], rows)
    for key, title in (("absolute", "absolute error"), ("relative", "relative error")):
        rows = [
            (name, *(
                " / ".join(f"{mean([r['recipes'][name][key][d] for r in by[s]]):.1f}" for d in range(5))
                for s in cost.SCENARIOS
            )) for name in ORDER
        ]  # fmt: skip
        yield f"### Largest {title} in tables of dimension 1 / 2 / 3 / 4 / 5, mean\n\n" + table(
            ["method", *TITLES.values()], rows
        )


def weight_rows(by):
    for s, runs in by.items():
        for place, duals in enumerate("eh"):
            yield (TITLES[s] if place == 0 else "", DUALS[duals], "printed", *cost.WEIGHTS[s][place].split(), "", "")
            parts = [r["partition"] for r in runs]
            ours = [mean([p[f"{duals}e"]["linear"] for p in parts])]
            ours += [mean([p[duals + i]["weight"] for p in parts]) for i in "eh"]
            proven = [mean([r["best"][name] for r in runs]) for name in ("weight", "bound")] if place == 0 else []
            yield ("", "", "ours", *(f"{x:.1f}" for x in ours + proven), *([] if proven else ["", ""]))


def partition_rows(by):
    for s, runs in by.items():
        yield (TITLES[s], "printed", *cost.PARTITION_SECONDS[s].split())
        parts = [r["partition"] for r in runs]
        linear = [mean([p[f + i]["seconds_fractional"] for p in parts for i in "eh"]) for f in "eh"]
        whole = [mean([p[f + i]["seconds_integer"] for p in parts for f in "eh"]) for i in "eh"]
        yield ("", "ours", *(f"{x:.2f}" for x in linear + whole))


def choice_rows(by):
    for s, runs in by.items():
        for place, i in enumerate("he"):
            yield (
                TITLES[s] if place == 0 else "",
                f"own-\\*{i}\\*",
                "printed",
                *cost.AGGREGATION_SECONDS[s][place].split(),
                "",
            )
            found = [[r["recipes"][f"own-{f}{i}{a}"] for r in runs for f in "eh"] for a in "gce"]
            proven = [bool(one["optimal"]) for one in found[2]]
            yield ("", "", "ours", *(f"{mean([x['choosing'] for x in part]):.2f}" for part in found),
                   f"{sum(proven)}/{len(proven)}")  # fmt: skip


def total_rows(by):
    for name, printed in cost.TOTAL_SECONDS.items():
        yield (name, "printed", *printed.split())
        runs = {s: [r["recipes"][name] for r in by[s]] for s in cost.SCENARIOS}
        yield ("", "ours", *(f"{mean([x['seconds'] for x in runs[s]]):.2f}" for s in cost.SCENARIOS))
        if name in cost.SOLVED:
            yield ("", "proven, printed", *cost.SOLVED[name].split())
        if any(x.get("optimal") is not None for s in runs for x in runs[s]):
            shares = (f"{sum(bool(x['optimal']) for x in runs[s])}/{len(runs[s])}" for s in cost.SCENARIOS)
            yield ("", "proven, ours", *shares)


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("--limit", type=float, default=60.0)
    reader.add_argument("--instances", type=int, default=10)
    reader.add_argument("--tables", action="store_true")
    given = reader.parse_args()
    results = collect(0 if given.tables else given.instances, given.limit)
    generated = "\n".join(sections(results))
    page = PAGE.read_text(encoding="utf-8")
    start, end = "<!-- generated by docs/reproduction_nominal.py -->", "<!-- end -->"
    page = re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{generated}\n{end}", page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
