"""Loss of nested groups and of histories on panels whose tables are fetched by ``public_tables.py``.

Loss is 100 SSE/SST on standardised columns. Quasi-identifiers: RAND HIE black, linc, female, educdec (constant), year,
xage, num; pbcseq age, sex (constant), day, logarithm of bili, albumin; wage panel black, hisp, educ (constant), year,
hours, married, lwage. With these columns the groups of rows alone (``ona-star``) lose 0.99/1.77/3.23, 2.30/4.08/6.98
and 2.06/3.50/6.08 for k = 3, 5, 10. Then growth of time and memory for n, 2n and 4n generated rows. ``--write`` puts
the losses into ``docs/persons.md``.

    python benchmarks/histories.py [--write] [--growth N]
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import public_tables

from shoal.methods.persons.history_groups import history_groups
from shoal.methods.persons.person_groups import person_groups

TIMES = {"rand-hie": "year", "pbcseq": "day", "wage-panel": "year"}
TITLES = {
    "rand-hie": "RAND HIE: 20,186 years of 5,908 persons",
    "pbcseq": "pbcseq: 1,945 visits of 312 patients",
    "wage-panel": "wage panel: 8 years of 545 men",
}
PAGE = Path(__file__).parent.parent / "docs" / "persons.md"


def read(name):
    """Units, standardised values, number of constant columns, and the time of each row."""
    units, values, constants = public_tables.panel(name)
    _, constant, varying = public_tables.PANELS[name]
    columns = [*constant, *varying]
    if name == "pbcseq":
        values[:, columns.index("bili")] = np.log(values[:, columns.index("bili")])
    when = values[:, columns.index(TIMES[name])].copy()
    return units, (values - values.mean(axis=0)) / values.std(axis=0), constants, when


def panels():
    """Print the losses of all panels; return the rows of the table in the docs."""
    rows = []
    print("| table, k | constant + varying = nested | scheme | histories | aligned | rows kept | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in TIMES:
        units, points, constants, when = read(name)
        total = float((points**2).sum()) / 100
        for k in (3, 5, 10):
            began = time.process_time()
            nested = person_groups(points[:, :constants], points[:, constants:], units, k)
            middle = time.process_time()
            plain = history_groups(points, units, k, time=when, align=False)
            aligned = history_groups(points, units, k, time=when)
            ended = time.process_time()
            print(
                f"| {name}, {k} | {nested.constant_cost / total:.2f} + {nested.varying_cost / total:.2f} = "
                f"{nested.cost / total:.2f} | {nested.scheme} | {plain.cost / total:.2f} | {aligned.cost / total:.2f} "
                f"| {100 * aligned.kept / units.size:.1f} % | {middle - began:.1f}, {ended - middle:.1f} |",
                flush=True,
            )
            rows.append(
                f"| {TITLES[name] if k == 3 else ''} | {k} | {nested.constant_cost / total:.2f} | "
                f"{nested.varying_cost / total:.2f} | {nested.cost / total:.2f} | {aligned.cost / total:.2f} | "
                f"{100 * aligned.kept / units.size:.1f} % |"
            )
    return rows


def write_page(rows):
    """Put the losses into the page about persons."""
    start, end = "<!-- histories: written by benchmarks/histories.py -->", "<!-- end of histories -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
    _, found, after = rest.partition(end)
    assert found
    lines = [
        "| table | k | constants kept: constant | + varying | = loss | histories: loss | rows kept |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *rows,
    ]
    PAGE.write_text("\n".join([before + start, "", *lines, "", end + after]), encoding="utf-8")


def growth(n):
    print("\n| rows | nested, seconds | histories, seconds | peak memory, MB |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(0)
    for rows in (n, 2 * n, 4 * n):
        sizes = np.minimum(rng.geometric(0.25, rows), 8)
        units = np.repeat(np.arange(rows), sizes)[:rows]
        own = rng.normal(size=(int(units.max()) + 1, 3))[units]
        varying = rng.normal(size=(rows, 3))
        began = time.process_time()
        person_groups(own, varying, units, 5)
        middle = time.process_time()
        history_groups(np.column_stack([own, varying]), units, 5)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {rows:,} | {middle - began:.1f} | {time.process_time() - middle:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--growth", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    found = panels()
    if arguments.write:
        write_page(found)
    if arguments.growth:
        growth(arguments.growth)
