"""Write the reference of all keys in docs/run-file.md from the dataclasses.

Run from the root: python docs/run_file.py.
"""

import types
from dataclasses import MISSING, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from docstrings import cell, entries, sections

from shoal.schema import run_file
from shoal.schema.field_values import WORDS, stored_fields, to_plain
from shoal.schema.plan import Plan
from shoal.schema.requirements import Requirements

PAGE = Path(__file__).parent / "run-file.md"
START, END = "<!-- keys: written by docs/run_file.py -->", "<!-- end of keys -->"


def described(kind):
    """Return the text of each field of a dataclass, from its docstring."""
    found = {}
    for names, text in entries(sections(kind.__doc__).get("Parameters", "")):
        for name in names.split(", "):
            found[name] = text
    return found


def values(hint):
    """Return in words what a key may hold."""
    if get_origin(hint) in {Union, types.UnionType}:
        parts = [part for part in get_args(hint) if part is not type(None) and "Callable" not in str(part)]
        chosen = [part for part in parts if isinstance(part, type) and issubclass(part, StrEnum)]
        return ", ".join(values(part) for part in chosen or parts)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return ", ".join(f'`"{member}"`' for member in hint)
    if get_origin(hint) is Literal:
        return ", ".join(f'`"{text}"`' for text in get_args(hint))
    if get_origin(hint) is tuple:
        inside = get_args(hint)[0]
        return "one section each" if is_dataclass(inside) else f"a list, each {values(inside)}"
    if hint is Any:
        return 'a file, a word, a tree `{a = ["b"]}`, or a list of paths `[["b", "a"]]`'
    if is_dataclass(hint):
        return "a section"
    return WORDS.get(hint, "a table of names and values")


def default(field):
    """Return what holds if a key is left out."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "needed"
    value = field.default if field.default is not MISSING else field.default_factory()
    if value is None or is_dataclass(value) or value in ((), {}):
        return "-"
    plain = to_plain(value)
    return (
        f"`{str(plain).lower()}`"
        if isinstance(plain, bool)
        else f'`"{plain}"`'
        if isinstance(plain, str)
        else f"`{plain}`"
    )


def tables(kind, heading):
    """Yield the keys of a section, then those of the sections inside it."""
    texts = described(kind)
    inside = []
    yield f"\n### {heading}\n\n| key | value | if left out | meaning |\n|---|---|---|---|"
    for name, (field, hint) in stored_fields(kind).items():
        place = heading.strip("`[]")
        parts = [part for part in (hint, *get_args(hint)) if is_dataclass(part)]
        if parts:
            inside.append((parts[0], f"`[[{place}.{name}]]`"))
        text = texts.get(name) or texts.get("role" if name == "kind" else name, "")
        absent = "needed" if (kind, name) == (Requirements, "k") else default(field)
        yield f"| `{name}` | {cell(values(hint))} | {absent} | {cell(text)} |"
    for below, name in inside:
        yield from tables(below, name)


def keys():
    """Return the tables of all keys."""
    lines = ["### Top of the file\n", "| key | value | if left out | meaning |", "|---|---|---|---|"]
    lines.append(f"| `version` | `{run_file.RUN_FILE_VERSION}` | needed | The version of the format of the file. |")
    lines.append("| `shoal` | a text | - | The version of Shoal that wrote the file; for information. |")
    texts, parts = described(Plan), []
    for name, (field, hint) in stored_fields(Plan).items():
        if is_dataclass(hint):
            parts.append((hint, f"`[{name}]`"))
        else:
            lines.append(f"| `{name}` | {cell(values(hint))} | {default(field)} | {cell(texts[name])} |")
    parts += [(kind, f"`[{name}]`") for name, kind in run_file.PARTS.items()]
    for kind, heading in parts:
        lines += tables(kind, heading)
    return "\n".join(lines)


def page():
    """Return the page with the keys in their place."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}\n\n{keys()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
