"""Write docs/api.md, the reference of all public names, from their docstrings. Run from the root: python docs/api.py.

The examples in it are those of the docstrings, which the tests run (pytest --doctest-modules).
"""

import importlib
import inspect
from enum import Enum
from pathlib import Path

from docstrings import cell, entries, markdown, sections

import shoal

PAGE = Path(__file__).parent / "api.md"
PARTS = {
    "The way of a table": ["protect", "verify", "assess", "compare", "risk", "utility", "Release"],
    "Arrays and groups": ["group", "refine", "optimal_1d", "Grouping", "all_methods", "get_method"],
    "What columns are": ["Schema", "Column", "Role", "Kind", "Recode", "Missing", "Hierarchy"],
    "The rest": ["Progress"],
}
MODULES = {
    "shoal.sklearn": "scikit-learn",
    "shoal.dp": "Differential privacy",
    "shoal.datasets": "Data to try things on",
    "shoal.errors": "Errors",
}
HEADER = """\
# API reference

This page is written by `docs/api.py` from the docstrings, and the tests run the examples. Names are loaded when they
are first used: `import shoal` costs next to nothing. Methods of grouping have [pages of their own](methods/index.md).
"""


def page():
    """Return the text of the page."""
    missing = set(shoal.__all__) - {name for names in PARTS.values() for name in names} - {"datasets", "dp", "errors"}
    if missing:
        raise SystemExit(f"docs/api.py has no place for {sorted(missing)}")
    lines = [HEADER]
    for title, names in PARTS.items():
        lines.append(f"## {title}\n")
        for name in names:
            lines += described(f"shoal.{name}", getattr(shoal, name))
    for module_name, title in MODULES.items():
        module = importlib.import_module(module_name)
        lines += [f"## {title}\n", f"`{module_name}`. {markdown(inspect.getdoc(module))}\n"]
        for name, found in public(module):
            lines += described(f"{module_name}.{name}", found)
    return "\n".join(lines).rstrip() + "\n"


def public(module):
    """Return names and things of a module that are its own or that it lists."""
    names = getattr(module, "__all__", None) or [
        name
        for name, found in vars(module).items()
        if not name.startswith("_") and getattr(found, "__module__", "") == module.__name__
    ]
    found = [(name, getattr(module, name)) for name in names]
    return [(name, thing) for name, thing in found if inspect.isfunction(thing) or inspect.isclass(thing)]


def described(name, thing):
    """Return the lines about a function or a class."""
    text = sections(inspect.getdoc(thing) or "")
    lines = [f"### {name}\n"]
    if not (inspect.isclass(thing) and issubclass(thing, (Exception, Enum))):
        lines += ["```text", signature(name, thing), "```", ""]
    lines.append(f"{markdown(text[''])}\n")
    if inspect.isclass(thing) and issubclass(thing, Enum):
        lines.append(", ".join(f"`{member.value}`" for member in thing) + "\n")
    for title in ("Parameters", "Attributes", "Returns"):
        if text.get(title):
            lines += [f"| {title.lower()} | |", "|---|---|"]
            lines += [f"| {', '.join(f'`{n.strip()}`' for n in names.split(','))} | {cell(meaning)} |"
                      for names, meaning in entries(text[title])]  # fmt: skip
            lines.append("")
    if text.get("Examples"):
        lines += ["```python", text["Examples"], "```", ""]
    if inspect.isclass(thing) and not issubclass(thing, (Exception, Enum)):
        lines += members(thing)
    return lines


def members(thing):
    """Return the table of the public methods and properties that a class documents itself."""
    rows = []
    for name, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        function = getattr(member, "func", function)  # cached properties
        doc = inspect.getdoc(function) if callable(function) else None
        if name.startswith("_") or not doc:
            continue
        shown = f"`{name}`" if not inspect.isroutine(member) and not callable(member) else f"`{name}()`"
        rows.append(f"| {shown} | {cell(markdown(sections(doc)[''].split(chr(10) * 2)[0]))} |")
    return ["| member | |", "|---|---|", *rows, ""] if rows else []


def signature(name, thing):
    """Return how a thing is called, one argument a line where one line is not enough; types are in the docstring."""
    short = name.removeprefix("shoal.") if name.count(".") == 1 else name
    arguments = inspect.signature(thing).parameters.values()
    shown = []
    for place, argument in enumerate(arguments):
        if argument.kind is argument.KEYWORD_ONLY and (
            not place or list(arguments)[place - 1].kind not in {argument.KEYWORD_ONLY, argument.VAR_POSITIONAL}
        ):
            shown.append("*")
        default = "" if argument.default is argument.empty else f"={default_text(argument.default)}"
        stars = {argument.VAR_KEYWORD: "**", argument.VAR_POSITIONAL: "*"}.get(argument.kind, "")
        shown.append(f"{stars}{argument.name}{default}")
    line = f"{short}({', '.join(shown)})"
    return line if len(line) <= 100 else f"{short}(\n    " + ",\n    ".join(shown) + "\n)"


def default_text(value):
    """Return a default as one would type it; objects without such a text by their class."""
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else "..." if text.startswith("<") else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
