"""Write the table of docs/reliability.md from the figures of the attack suite.

    python docs/reliability.py [FIGURES]

``make attacks`` runs the suite and writes the figures to docs/reliability.json. The heading of each row is the first
line of the docstring of the test module, so a new attack appears here without further work.
"""

import ast
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER / "reliability.md"
FIGURES = FOLDER / "reliability.json"
ATTACKS = FOLDER.parent / "tests" / "attacks"
START, END = "<!-- figures: written by docs/reliability.py -->", "<!-- end of figures -->"


def heading(module):
    """Return what a module of attacks is about: the first line of its docstring."""
    text = ast.get_docstring(ast.parse((ATTACKS / f"{module}.py").read_text(encoding="utf-8"))) or module
    return text.splitlines()[0].rstrip(".")


def table(figures):
    """Return the figures as a table, one row for each figure."""
    rows = ["| attack | figure | number |", "|---|---|--:|"]
    for module, numbers in figures.items():
        if module == "test_figures":
            continue
        rows += [f"| {heading(module)} | {name} | {number:,} |" for name, number in numbers.items()]
    return "\n".join(rows)


def page(figures):
    """Return the page with the figures in their place."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n\n{table(figures)}\n\n{END}{after}"


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES
    figures = json.loads(source.read_text(encoding="utf-8"))
    PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
