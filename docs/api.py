"""Write docs/api.md, the reference of all public names, from their docstrings. Run from the root: python docs/api.py.

The examples in it are those of the docstrings, which the tests run (pytest --doctest-modules).
"""

import importlib
import inspect
import re
from enum import Enum
from functools import cached_property
from pathlib import Path

from docstrings import cell, entries, markdown, sections

import shoal

PAGE = Path(__file__).parent / "api.md"
PARTS = {
    "Protect and check a table": [
        "protect", "run_plan", "verify", "verify_release", "check_rules", "assess", "compare", "evaluate_release",
        "risk", "utility", "Release", "HolderRecord",
    ],
    "Stages of a protection": [
        "load_table", "apply_steps", "fit_encoding", "prepare", "group_records", "satisfy_requirements",
        "recode_table", "release_table", "Encoding",
    ],
    "Plans": ["Plan", "Requirements", "MethodCall", "ResolvedMethod", "ReadOptions"],
    "Run files": ["load_run", "save_run", "RunFile", "InputFiles", "OutputFiles", "Accepted"],
    "Columns": ["Schema", "Column", "Statistic", "Role", "Kind", "Recode", "Missing", "Hierarchy", "read_hierarchy"],
    "Arrays and groups": ["group", "run_method", "refine", "Grouping", "Outcome", "Objective"],
    "Distributions": ["emd", "hierarchy_distances"],
    "One column": ["optimal_1d", "OwnCost", "check_cost"],
    "Methods": ["all_methods", "get_method", "method"],
    "Progress": ["Progress"],
}  # fmt: skip
MODULES = {
    "shoal.schema.steps": "Steps before and after grouping",
    "shoal.sklearn": "scikit-learn",
    "shoal.dp": "Differential privacy",
    "shoal.evaluate": "Measures for arrays and groupings",
    "shoal.methods.optimal": "Lower bounds",
    "shoal.methods.partition": "Scans of options",
    "shoal.datasets": "Generated tables and reference data",
    "shoal.errors": "Errors",
}
HEADER = """\
# API reference

`docs/api.py` writes this page from the docstrings, and the tests run the examples. Names are loaded when they are first
used, so `import shoal` takes a fraction of a second. Each grouping method has [a page of its own](methods/index.md).
Stages and plans are explained under [stages](stages.md), methods in other packages under [extending](extending.md).
"""


def page():
    """Return the text of the page."""
    missing = (
        set(shoal.__all__)
        - {name for names in PARTS.values() for name in names}
        - {"datasets", "dp", "errors", "steps"}
    )
    if missing:
        raise SystemExit(f"docs/api.py lists no part for {sorted(missing)}")
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
    """Return the functions and classes that a module lists, or that it defines."""
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
        lines += ["```python", example(name, thing, text["Examples"]), "```", ""]
    if inspect.isclass(thing) and not issubclass(thing, (Exception, Enum)):
        lines += members(thing)
    return lines


def example(name, thing, text):
    """Return the example of a docstring; a function whose public name differs from its own is called by the former."""
    own = getattr(thing, "__name__", name)
    return text if name.endswith(f".{own}") else re.sub(rf"\b{own}\(", f"{name}(", text)


def members(thing):
    """Return the table of the public methods and properties that a class documents itself; methods end in ``()``."""
    rows = []
    for name, member in vars(thing).items():
        is_property = isinstance(member, property | cached_property)
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        doc = inspect.getdoc(function) if callable(function) else None
        if name.startswith("_") or not doc or inspect.isclass(function):
            continue
        shown = f"`{name}`" if is_property else f"`{name}()`"
        rows.append(f"| {shown} | {cell(markdown(sections(doc)[''].split(chr(10) * 2)[0]))} |")
    return ["| member | |", "|---|---|", *rows, ""] if rows else []


def signature(name, thing):
    """Return the call of a function or class, one argument a line where one line is too short; without types."""
    short = name.removeprefix("shoal.") if name.count(".") == 1 else name
    arguments = inspect.signature(thing).parameters.values()
    shown = []
    for position, argument in enumerate(arguments):
        if argument.kind is argument.KEYWORD_ONLY and (
            not position or list(arguments)[position - 1].kind not in {argument.KEYWORD_ONLY, argument.VAR_POSITIONAL}
        ):
            shown.append("*")
        default = "" if argument.default is argument.empty else f"={default_text(argument.default)}"
        stars = {argument.VAR_KEYWORD: "**", argument.VAR_POSITIONAL: "*"}.get(argument.kind, "")
        shown.append(f"{stars}{argument.name}{default}")
    line = f"{short}({', '.join(shown)})"
    return line if len(line) <= 100 else f"{short}(\n    " + ",\n    ".join(shown) + "\n)"


def default_text(value):
    """Return a default as Python code; objects without such a text by their class."""
    text = repr(value.value if isinstance(value, Enum) else value)
    return type(value).__name__ if " at 0x" in text else "..." if text.startswith("<") else text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
