"""Write the list of methods with a time limit by default on docs/determinism.md, from the registry.

python docs/determinism.py
"""

import inspect
from pathlib import Path

from shoal import all_methods

PAGE = Path(__file__).parent / "determinism.md"
BEGIN, END = "<!-- generated: limits -->", "<!-- end -->"


def limited():
    """Return the default time limits of all methods that have one, in seconds."""
    found = {}
    for name, method in sorted(all_methods().items()):
        parameter = inspect.signature(method.function).parameters.get("time_limit")
        if method.built_in and parameter is not None and isinstance(parameter.default, int | float):
            found[name] = parameter.default
    return found


def page():
    """Return the page with the present list."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    rows = "\n".join(f"| [`{name}`](methods/reference/{name}.md) | {limit:g} |" for name, limit in limited().items())
    return f"{before}{BEGIN}\n\n| method | seconds |\n|---|---:|\n{rows}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
