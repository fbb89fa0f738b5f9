"""Run examples/notebook.ipynb; write its outputs into it and into docs/tutorial-notebook.md.

Run: python docs/notebook.py. The cells run in one namespace, as a kernel runs them: what a cell prints is shown, then
the value of its last expression. No output depends on time or place, so a second run writes the same bytes.
"""

import ast
import json
import os
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

DOCS = Path(__file__).parent
NOTEBOOK, PAGE = DOCS.parent / "examples" / "notebook.ipynb", DOCS / "tutorial-notebook.md"
HEAD = """\
<!-- written by docs/notebook.py from examples/notebook.ipynb -->
"""


def run(source, names):
    """Run a cell; return what it prints and the value of its last expression as a text."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    return printed.getvalue(), None if value is None else str(value)


def outputs(source, names):
    """Return the outputs of a cell as a notebook stores them."""
    printed, value = run(source, names)
    found = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        shown = {"text/plain": value.splitlines(keepends=True)}
        found.append({"data": shown, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def executed(notebook):
    """Return a notebook with the outputs of its cells and their numbers."""
    names, number = {"__name__": "__main__"}, 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number += 1
                cell["outputs"] = outputs("".join(cell["source"]), names)
                cell["execution_count"] = number
                for output in cell["outputs"]:
                    if "execution_count" in output:
                        output["execution_count"] = number
    return notebook


def page(notebook):
    """Return the page that shows a notebook with its outputs."""
    parts = [HEAD]
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text + "\n")
            continue
        parts.append(f"```python\n{text}\n```\n")
        for output in cell["outputs"]:
            lines = output.get("text") or output["data"]["text/plain"]
            parts.append(f"<!-- output -->\n```text\n{''.join(lines).rstrip()}\n```\n<!-- end of output -->\n")
    return "\n".join(parts)


def written():
    """Return the files that this script writes, with their texts."""
    notebook = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    return {NOTEBOOK: json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", PAGE: page(notebook)}


if __name__ == "__main__":
    os.environ["COLUMNS"] = "110"
    sys.path.insert(0, str(DOCS))
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
