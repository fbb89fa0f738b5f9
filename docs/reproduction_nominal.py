"""Writes the tables of docs/methods/nominal.md: Cost 2023, Tables 6.3 and 6.6 to 6.10, printed and ours.

Run from the root of the repository: ``python docs/reproduction_nominal.py --instances 10``, about an hour. Results of
single instances are kept in docs/methods/nominal-results.json and not computed again with the same limits; ``--tables``
only writes the page.
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
PARTITION_PAGE = ROOT / "docs" / "methods" / "nominal-partition.md"
RESULTS = ROOT / "docs" / "methods" / "nominal-results.json"
DUALS = {"e": "optimal", "h": "heuristic"}
BUILD = {"e": "exact", "h": "greedy"}
WAYS = {"g": "greedy", "c": "clique", "e": "exact"}
LIMITS = {  # seconds
    "partition": 300.0, "representatives": 120.0, "rand-e": 30.0, "chi-ex": 90.0, "safe-ex": 300.0, "msafe-ex": 300.0
}  # fmt: skip
WHOLE = ("chi-ex", "chi-search", "safe", "safe-ex", "msafe-ex")
ORDER = ("chi-ex", "chi-search", "own-eee", "own-hee", "own-hhe", "own-hhg", "msafe-ex", "safe", "safe-ex", "rand-e")
WORDS = {"partition": "partitions", "representatives": "representatives of own-\\*"}
TITLES = {"adult200m5": "Adult", "200m5_2percent": "2 %", "200m5_20percent": "20 %", "200m5_100percent": "100 %"}


def one_instance(scenario, instance):
    """Everything the tables need of one table of codes."""
    codes = cost.codes(scenario, instance)
    if scenario == cost.LARGER:
        return {"recipes": own_recipes(codes, cost.PARAMETERS["200m5_20percent"], ("he", "hh"))[1]}
    best = {}
    column_generation(codes, 3, time_limit=LIMITS["partition"], facts=best)
    partition, recipes = own_recipes(codes, cost.PARAMETERS[scenario], ("ee", "eh", "he", "hh"))
    labels = get_method("random").run(codes, 3, seed=instance)
    for a, way in WAYS.items():
        recipes[f"rand-{a}"] = aggregated(codes, labels, way, LIMITS["rand-e"], 0.0)
    for name in WHOLE:
        facts = {}
        options = {"time_limit": LIMITS[name]} if name in LIMITS else {}
        started = time.perf_counter()
        standing = get_method(name).run(codes, 3, facts=facts, **options)
        seconds = time.perf_counter() - started
        recipes[name] = measured(codes, codes[standing], seconds) | {
            "optimal": facts.get("optimal"), "records": facts.get("vector_records", len(codes)),
            "bound": facts.get("bound"), "objective": facts.get("objective"),
        }  # fmt: skip
    kept = {name: best[name] for name in ("weight", "bound", "stopped", "seconds")}
    return {"best": kept, "partition": partition, "recipes": recipes}


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
            if key in results and results[key].get("limits") == LIMITS:
                continue
            results[key] = one_instance(scenario, instance) | {"limits": LIMITS}
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


def sections(every):
    by = {s: every[s] for s in cost.SCENARIOS}
    counts = ", ".join(f"{TITLES[s]} {len(by[s])}" for s in cost.SCENARIOS)
    limits = ", ".join(f"{WORDS.get(name, name)} {seconds:g} s" for name, seconds in LIMITS.items())
    note = f"k = 3, n = 200, m = 5; instances: {counts}. Limits: {limits}; the thesis: 5,000 s for each. Seconds are "
    note += "those of a machine of two cores that others used too."
    yield problem_shares()
    yield (
        f"### Table 6.6: sum of cluster weights, mean\n\n{note}\n\n"
        + solved_partitions(by)
        + table(
            ["scenario", "duals", "", "linear", "exact P6", "greedy P6", "column-generation: weight", "proven bound"],
            weight_rows(by),
        )
    )
    yield "### Table 6.7: seconds of the partition, mean\n\n" + table(
        ["scenario", "", "linear exact", "linear heuristic", "integer exact", "integer greedy"], partition_rows(by)
    )
    yield "### Table 6.8: seconds of the choice of representatives, mean of all (printed: of those solved)\n\n" + table(
        ["scenario", "recipes", "", "greedy", "clique", "exact", "proven optimal", "gap of the others"],
        choice_rows(every),
    )
    found = [r["recipes"]["safe"]["records"] for r in by["200m5_2percent"]]
    records = sorted({*cost.SAFE_RECORDS, *found})
    yield "### Table 6.9: records of the vector of SAFE, 2 %\n\n" + table(
        ["", *records],
        [("printed", *(cost.SAFE_RECORDS.get(n, 0) for n in records)), ("ours", *(found.count(n) for n in records))],
    )
    yield (
        "### Table 6.10: seconds in all, mean (printed: of those solved), and how often the optimum was proven\n\n"
        + table(["method", "", *TITLES.values()], total_rows(by))
    )
    for key, title in (("chi_square", "control tables (up to dimension 3)"), ("chi_square_all", "all 31 tables")):
        rows = [
            (name, *(f"{mean([r['recipes'][name][key] for r in by[s]]):.1f}" for s in cost.SCENARIOS)) for name in ORDER
        ]
        yield f"### Chi-square error, {title}, mean\n\n" + table(["method", *TITLES.values()], rows)
    yield "### Gap to the best method of the instance (6.1.1), chi-square of the control tables, mean\n\n" + table(
        ["method", *TITLES.values()], gap_rows(by)
    )
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
            title = TITLES.get(s, "20 %, n = 500") if place == 0 else ""
            whole = 20 if s in TITLES else 10
            solved = cost.REPRESENTATIVES_SOLVED.get(s, (f"{whole}/{whole}",) * 2)[place]
            gap = cost.REPRESENTATIVES_GAPS.get(s, ("-", "-"))[place]
            yield (title, f"own-\\*{i}\\*", "printed", *cost.AGGREGATION_SECONDS[s][place].split(), solved, gap)
            duals = "eh" if s in TITLES else "h"
            yield from chosen([[r["recipes"][f"own-{f}{i}{a}"] for r in runs for f in duals] for a in "gce"])
        if s in TITLES:
            printed = cost.RANDOM_SECONDS.split() if s == "200m5_20percent" else ["-"] * 3
            yield ("", "rand-\\*", "printed", *printed, "-", "-")
            yield from chosen([[r["recipes"][f"rand-{a}"] for r in runs] for a in "gce"])


def chosen(found):
    seconds = [f"{mean([x['choosing'] for x in part]):.2f}" for part in found]
    yield ("", "", "ours", *seconds, share_solved(found[2]), mean_gap(found[2]))


def share_solved(runs):
    return f"{sum(bool(x['optimal']) for x in runs)}/{len(runs)}"


def mean_gap(runs):
    gaps = [(x["objective"] - (x["bound"] or 0.0)) / x["objective"] for x in runs if not x["optimal"]]
    return f"{mean(gaps):.3f}" if gaps else "-"


def total_rows(by):
    for name, printed in cost.TOTAL_SECONDS.items():
        yield (name, "printed", *printed.split())
        runs = {s: [r["recipes"][name] for r in by[s]] for s in cost.SCENARIOS}
        yield ("", "ours", *(f"{mean([x['seconds'] for x in runs[s]]):.2f}" for s in cost.SCENARIOS))
        if name in cost.SOLVED:
            yield ("", "proven, printed", *cost.SOLVED[name].split())
            yield ("", "proven, ours", *(share_solved(runs[s]) for s in cost.SCENARIOS))
        if name in cost.GAPS:
            yield ("", "gap of the others, printed", *cost.GAPS[name].split())
            yield ("", "gap of the others, ours", *(mean_gap(runs[s]) for s in cost.SCENARIOS))


def gap_rows(by):
    """How far each method is above the best of an instance (6.1.1), mean."""
    best = {s: [min(r["recipes"][name]["chi_square"] for name in ORDER) for r in by[s]] for s in by}
    for name in ORDER:
        gaps = [
            mean([r["recipes"][name]["chi_square"] / w - 1 for r, w in zip(by[s], best[s], strict=True)]) for s in by
        ]
        yield (name, *(f"{gap:.3f}" for gap in gaps))


def solved_partitions(by):
    runs = [r["best"] for one in by.values() for r in one]
    gaps = [(x["weight"] - x["bound"]) / x["weight"] for x in runs]
    optimal = sum(gap < 1e-9 for gap in gaps)
    return (
        f"`column-generation` proved {optimal} of {len(runs)} partitions to be optimal; the largest gap is "
        f"{100 * max(gaps):.2f} %, the longest run took {max(x['seconds'] for x in runs):.1f} s.\n\n"
    )


def partition_table(by):
    """What docs/methods/nominal-partition.md shows of the same runs."""
    rows = []
    for s, runs in by.items():
        gaps = [(r["best"]["weight"] - r["best"]["bound"]) / r["best"]["weight"] for r in runs]
        seconds = [r["best"]["seconds"] for r in runs]
        printed = cost.WEIGHTS[s][0].split()
        times = cost.PARTITION_SECONDS[s].split()
        ours = [mean([r["partition"]["ee"][name] for r in runs]) for name in ("linear", "weight")]
        ours += [mean([r["best"][name] for r in runs]) for name in ("weight", "bound")]
        rows.append(
            (TITLES[s], printed[0], f"{ours[0]:.1f}", printed[1], f"{ours[1]:.1f}", f"{ours[2]:.1f}", f"{ours[3]:.1f}",
             f"{sum(gap < 1e-9 for gap in gaps)} of {len(runs)}", f"{100 * max(gaps):.1f} %",
             f"{mean(seconds):.1f} ({max(seconds):.1f})", f"{float(times[0]) + float(times[2]):.0f}")
        )  # fmt: skip
    head = "scenario|linear, printed|linear|Alg. 7, printed|Alg. 7|best|bound|solved|largest gap"
    return table([*head.split("|"), "seconds, mean (largest)", "seconds, printed"], rows)


def write_between(page, text):
    """Replace what stands between the marks of this script in a page."""
    start, end = "<!-- generated by docs/reproduction_nominal.py -->", "<!-- end -->"
    old = page.read_text(encoding="utf-8")
    new = re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{text}\n{end}", old, flags=re.DOTALL)
    page.write_text(new, encoding="utf-8")


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("--instances", type=int, default=10)
    reader.add_argument("--tables", action="store_true")
    given = reader.parse_args()
    if not given.tables:
        one_instance("200m5_2percent", 0)  # compiled and loaded before anything is measured
    results = collect(0 if given.tables else given.instances)
    every = {s: [r for key, r in results.items() if key.startswith(s + "/")] for s in (*cost.SCENARIOS, cost.LARGER)}
    write_between(PAGE, "\n".join(sections(every)))
    write_between(PARTITION_PAGE, partition_table({s: every[s] for s in cost.SCENARIOS}))


if __name__ == "__main__":
    main()
