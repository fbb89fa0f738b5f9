"""How the search for one level per column grows with the lattice: Adult with up to nine hierarchies.

Hierarchies are made here. For 2 to 9 columns the script prints the nodes of the lattice, the nodes that were counted,
processor time, and what was found; beyond 100,000 nodes the search is a beam and proves nothing.

The table is written into docs/recoding.md.

    python benchmarks/full_domain.py
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np

from shoal import Hierarchy, datasets
from shoal.core.row_classes import collapse
from shoal.methods.nominal.level_search import ColumnLevels, search_levels

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from kept import write_tables  # noqa: E402

SPOUSE = {"Married-civ-spouse", "Married-AF-spouse"}
SCHOOL = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
          "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"]  # fmt: skip
EUROPE = {"England", "Germany", "France", "Italy", "Greece", "Poland", "Portugal", "Ireland", "Hungary", "Scotland",
          "Yugoslavia", "Holand-Netherlands"}  # fmt: skip
ASIA = {"India", "China", "Japan", "Philippines", "Vietnam", "Taiwan", "Iran", "Cambodia", "Thailand", "Laos", "Hong"}


def bands(values, *widths):
    """Numbers in bands of rising width."""
    return [(str(v), *(f"{v // w * w} to {v // w * w + w - 1}" for w in widths), "*") for v in values]


def trees(table):
    """A hierarchy of each of nine columns."""
    texts = {name: sorted(table[name].unique().to_list()) for name in table.columns}
    place = {name: number for number, name in enumerate(SCHOOL)}
    return {
        "sex": [(v, "*") for v in texts["sex"]],
        "race": [(v, "White" if v == "White" else "other", "*") for v in texts["race"]],
        "marital-status": [(v, "spouse" if v in SPOUSE else "no spouse", "*") for v in texts["marital-status"]],
        "age": bands(range(17, 91), 5, 10, 20, 40),
        "education": [
            (v, f"level {place.get(v, 0) // 2}", f"school {place.get(v, 0) // 4}", f"half {place.get(v, 0) // 8}", "*")
            for v in texts["education"]
        ],
        "workclass": [(v, "government" if "gov" in v else "other", "*") for v in texts["workclass"]],
        "occupation": [
            (v, "office" if v in {"Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales"} else "other", "*")
            for v in texts["occupation"]
        ],
        "native-country": [
            (v, "Europe" if v in EUROPE else "Asia" if v in ASIA else "America and others", "*")
            for v in texts["native-country"]
        ],
        "hours-per-week": bands(range(1, 100), 10, 20, 40),
    }


def main():
    table = datasets.load("adult")
    table = table.with_columns([table[name].cast(str).str.strip_chars() for name in table.columns])
    made = {name: Hierarchy(rows) for name, rows in trees(table).items()}
    lines = ["| columns | nodes | counted | seconds | NCP | suppressed | proven |", "|--:|--:|--:|--:|--:|--:|---|"]
    print(f"{table.height:,} records, k = 5, at most 2 % suppressed", *lines, sep="\n")
    for count in range(2, len(made) + 1):
        names = list(made)[:count]
        codes = np.column_stack([made[name].codes(table[name].to_list(), name) for name in names]).astype(np.int32)
        levels = []
        for name in names:
            nodes = made[name].ancestors[::-1]
            share = np.where(nodes == nodes[0], 0.0, made[name].sizes[nodes] / made[name].n_leaves)
            levels.append(ColumnLevels(np.ascontiguousarray(nodes), share))
        different = collapse(codes)
        started = process_time()
        found = search_levels(different.rows, different.counts, levels, 5, limit=table.height // 50)
        seconds = process_time() - started
        proven = "yes" if found.proven else "no"
        figures = f"{found.nodes:,} | {found.checked:,} | {seconds:.2f} | {found.loss:.4f} | {found.suppressed:,}"
        lines.append(f"| {count} | {figures} | {proven} |")
        print(lines[-1], flush=True)
    write_tables(DOCS / "recoding.md", {"lattice": lines})


if __name__ == "__main__":
    main()
