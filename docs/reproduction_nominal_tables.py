"""The tables of docs/methods/nominal.md from the results of docs/reproduction_nominal.py."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from published import cost
from shoal.core.row_classes import problem_rows
from shoal.datasets import adult_categories, category_codes

DUALS = {"e": "optimal", "h": "heuristic"}
ORDER = (
    "chi-ex",
    "chi-search",
    "own-eee",
    "own-hee",
    "own-hhe",
    "own-hhg",
    "msafe-ex",
    "safe",
    cost.PRINTED_SAFE,
    "safe-ex",
    "rand-e",
)
WORDS = {"partition": "partitions", "representatives": "representatives of own-\\*"}
TITLES = {"adult200m5": "Adult", "200m5_2percent": "2 %", "200m5_20percent": "20 %", "200m5_100percent": "100 %"}


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


def sections(every, limits, others):
    by = {s: every[s] for s in cost.SCENARIOS}
    counts = ", ".join(f"{TITLES[s]} {len(by[s])}" for s in cost.SCENARIOS)
    told = [f"{WORDS.get(name, name)} {seconds:g} s" for name, seconds in limits.items()]
    told += [f"{name} at {TITLES[s]} {seconds:g} s" for s, part in others.items() for name, seconds in part.items()]
    note = (
        f"k = 3, n = 200, m = 5; instances: {counts}. Limits: {', '.join(told)}; the thesis: 5,000 s for each. Seconds "
    )
    note += (
        "are those of a machine of two cores that others used too, but those of `column-generation` and of rand-e at "
    )
    note += "20 % are of the processor alone."
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
    yield (
        "### Order of the methods: what the thesis says, and ours\n\n"
        "Chi-square error of the control tables, as above; where SAFE is compared, also with the vector as printed.\n\n"
        + table(["scenario", "printed", "ours, means", "instances", cost.PRINTED_SAFE, "instances"], order_rows(by))
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


def order_rows(by):
    """Whether the methods rank as in the text to figures 6.5 to 6.17 and B.7, with both versions of SAFE."""
    for scenario, figure, first, second in cost.ORDER:
        runs = [r["recipes"] for r in by[scenario]]
        names = first.split(), second.split()
        ours = compared(runs, *names)
        printed = ["", ""]
        if "safe" in [*names[0], *names[1]]:
            printed = compared(
                runs, *([cost.PRINTED_SAFE if name == "safe" else name for name in part] for part in names)
            )
        yield (f"{TITLES[scenario]} ({figure})", " below ".join(map(", ".join, names)), *ours, *printed)


def compared(runs, first, second):
    """Whether the first methods are below the second: by their means, and in how many instances."""
    better, worse = ([[r[name]["chi_square"] for r in runs] for name in part] for part in (first, second))
    means = [" / ".join(f"{mean(values):.1f}" for values in part) for part in (better, worse)]
    holds = max(map(mean, better)) <= min(map(mean, worse)) + 1e-3
    pairs = zip(np.max(better, axis=0), np.min(worse, axis=0), strict=True)
    count = sum(larger <= smaller + 1e-3 for larger, smaller in pairs)
    return f"{'yes' if holds else 'no'}: {means[0]} and {means[1]}", f"{count}/{len(runs)}"


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
        f"{100 * max(gaps):.2f} %, the longest run took {max(x['seconds'] for x in runs):.1f} s of the processor.\n\n"
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
    return table([*head.split("|"), "CPU seconds, mean (largest)", "seconds, printed"], rows)
