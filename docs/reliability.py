"""Write the tables of docs/reliability.md: figures of the attack suite, and the tests of single faults.

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
CLOSED = "test_closed_faults"
CLOSED_START, CLOSED_END = "<!-- closed faults: written by docs/reliability.py -->", "<!-- end of closed faults -->"


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


def closed_faults():
    """Return the sentences of the tests of single faults as a table."""
    tree = ast.parse((ATTACKS / f"{CLOSED}.py").read_text(encoding="utf-8"))
    rows = ["| what holds now | test |", "|---|---|"]
    for group in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        tests = [node for node in group.body if isinstance(node, ast.FunctionDef)]
        rows += [f"| {ast.get_docstring(test)} | `{group.name}::{test.name}` |" for test in tests]
    return "\n".join(rows)


def replaced(text, start, end, content):
    """Return a text with other content between two marks."""
    before, _, rest = text.partition(start)
    return f"{before}{start}\n\n{content}\n\n{end}{rest.partition(end)[2]}"


def page(figures):
    """Return the page with both tables in their place."""
    text = replaced(PAGE.read_text(encoding="utf-8"), START, END, table(figures))
    return replaced(text, CLOSED_START, CLOSED_END, closed_faults())


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES
    figures = json.loads(source.read_text(encoding="utf-8"))
    PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
