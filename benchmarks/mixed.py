"""How much does the default lose on tables of numbers and categories, beside the other methods?

Loss of the numbers (squared error), of the categories (changed cells) and of all columns as it is reported, in per
cent, and seconds of processor time (one thread), for ``auto`` at each effort, ``mdav``, ``ona-star`` and ``annealing``
on one coordinate per category. Tables come from packages and from the reference data, without records that have missing
values. ``--growth`` measures seconds per record on copies of adult with noise, of all columns and of categories only.
Results are stored in docs/mixed-results.json and written into docs/speed-or-quality.md.

    python benchmarks/mixed.py [--k 5] [--most 4000] [--tables NAME,...] [--growth 50000,100000,200000] [--docs]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import public_tables

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from shoal import datasets
from shoal.core.threads import set_threads
from shoal.methods.refinement.mixed_table import group_figures, mixed_table
from shoal.methods.registry import get_method
from shoal.methods.running import run

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "speed-or-quality.md", DOCS / "mixed-results.json"
EFFORTS = ("fast", "balanced", "best")
COORDINATES = ("mdav", "ona-star", "annealing")
SHOWN = {
    "adult": None, "testdata": ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age", "expend",
    "income", "savings"), "diamonds": None, "wvs": None, "slid": None, "chile": None, "arrests": None, "gssvocab": None,
    "cowles": None, "titanicsurvival": None, "mroz": None, "salaries": None, "mpg": None,
}  # fmt: skip
"""The tables, and their columns if not all."""
CODED = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "salary-class")


def table(name, most):
    """A table as numbers and codes, and which columns are codes."""
    frame = datasets.load(name) if name == "adult" else public_tables.load(name)
    frame = frame.select(SHOWN[name] or frame.columns).drop_nulls().head(most)
    nominal = np.array([not frame[c].dtype.is_numeric() or c in CODED for c in frame.columns])
    columns = []
    for column, code in zip(frame.columns, nominal, strict=True):
        values = frame[column].to_numpy()
        if code:
            columns.append(np.unique(values.astype(str), return_inverse=True)[1].astype(float))
        else:
            columns.append((values - values.mean()) / (values.std() or 1.0))
    return np.column_stack(columns), nominal


def losses(mixed, nominal, labels):
    """Loss of numbers, of categories and of all columns, in per cent."""
    whole = np.zeros(len(mixed), np.int64)
    parts = []
    for wanted in (~nominal, nominal):
        part = mixed_table(mixed[:, wanted], nominal[wanted])
        parts.append([float(group_figures(part, found).costs.sum()) for found in (labels, whole)])
    parts.append([sum(column) for column in zip(*parts, strict=True)])
    return [100 * sse / sst if sst else 0.0 for sse, sst in parts]


def measure(mixed, nominal, k):
    """Losses and seconds of each competitor on one table."""
    points = mixed_table(mixed, nominal).points()
    calls = {name: (name, points, {}) for name in COORDINATES}
    auto = get_method("auto", "mixed")
    calls |= {f"auto {effort}": (auto, mixed, {"nominal": nominal, "effort": effort}) for effort in EFFORTS}
    found = {}
    for name, (method, data, options) in calls.items():
        started = time.process_time()
        labels = run(method, data, k, **options).labels
        found[name] = [round(value, 3) for value in losses(mixed, nominal, labels)]
        found[name].append(round(time.process_time() - started, 3))
    return found


def grown(n, kind):
    """Records of adult, repeated with noise in the numbers and one in ten categories drawn anew."""
    mixed, nominal = table("adult", 48_842)
    rng = np.random.default_rng(n)
    rows = mixed[rng.integers(0, len(mixed), n)]
    for j in np.flatnonzero(nominal):
        drawn = rng.random(n) < 0.1
        rows[drawn, j] = mixed[rng.integers(0, len(mixed), int(drawn.sum())), j]
    rows[:, ~nominal] += rng.normal(0, 0.05, (n, int((~nominal).sum())))
    return (rows, nominal) if kind == "mixed" else (rows[:, nominal], nominal[nominal])


def growth(sizes, k, efforts):
    """Seconds of processor time for each number of records."""
    auto = get_method("auto", "mixed")
    for kind in ("mixed", "nominal"):
        for n in sizes:
            rows, nominal = grown(n, kind)
            for effort in efforts:
                started = time.process_time()
                labels = run(auto, rows, k, nominal=nominal, effort=effort).labels
                seconds = time.process_time() - started
                loss = losses(rows, nominal, labels)[2] if kind == "mixed" else nominal_loss(rows, labels)
                print(f"{kind} {n:,} {effort}: {seconds:.1f} s, {loss:.2f} %", flush=True)
                keep(RESULTS, f"growth/{kind}/{n}/{effort}", {"seconds": seconds, "loss": loss, "k": k})


def nominal_loss(rows, labels):
    part = mixed_table(rows, np.ones(rows.shape[1], bool))
    whole = np.zeros(len(rows), np.int64)
    cost, total = (float(group_figures(part, found).costs.sum()) for found in (labels, whole))
    return 100 * cost / total


def cell(value):
    numbers, categories, loss, seconds = value
    return f"{loss:.2f} ({numbers:.1f} / {categories:.1f}), {seconds:.2f} s"


def lines():
    """The tables of the page."""
    results = kept(RESULTS)
    names = (*COORDINATES, *(f"auto {effort}" for effort in EFFORTS))
    compared = ["| table | k | " + " | ".join(f"`{name}`" for name in names) + " |", "|---|--:|" + "---|" * len(names)]
    for key, found in results.items():
        if not key.startswith("growth/"):
            name, k = key.split("/")
            label = f"{name}, {found['n']:,} x {found['numbers']} + {found['categories']}"
            compared.append(f"| {label} | {k} | " + " | ".join(cell(found[m]) for m in names) + " |")
    sizes = ["| columns | records | effort | seconds | microseconds per record | loss |", "|---|--:|---|--:|--:|--:|"]
    rows = [(*key.split("/")[1:], found) for key, found in results.items() if key.startswith("growth/")]
    for kind, n, effort, found in sorted(rows, key=lambda row: (row[0], row[2], int(row[1]))):
        each = 1e6 * found["seconds"] / int(n)
        sizes.append(
            f"| {kind} | {int(n):,} | {effort} | {found['seconds']:.1f} | {each:.0f} | {found['loss']:.2f} % |"
        )
    return {"mixed": compared, "mixed growth": sizes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--most", type=int, default=4_000)
    parser.add_argument("--tables", default=",".join(SHOWN))
    parser.add_argument("--growth", default="")
    parser.add_argument("--efforts", default="fast,balanced")
    parser.add_argument("--docs", action="store_true", help="only write the tables of the page")
    chosen = parser.parse_args()
    set_threads(1)
    if not chosen.docs:
        run_all(chosen)
    write_tables(PAGE, lines())


def run_all(chosen):
    measure(*table("mpg", 100), 3)  # compiles
    if chosen.growth:
        growth([int(n) for n in chosen.growth.split(",")], chosen.k, chosen.efforts.split(","))
        return
    for name in chosen.tables.split(","):
        mixed, nominal = table(name, chosen.most)
        found = measure(mixed, nominal, chosen.k)
        print(name, mixed.shape, {method: values[2:] for method, values in found.items()}, flush=True)
        shape = {"n": len(mixed), "numbers": int((~nominal).sum()), "categories": int(nominal.sum())}
        keep(RESULTS, f"{name}/{chosen.k}", shape | found)


if __name__ == "__main__":
    main()
