"""Read numpy-style docstrings and write them as Markdown; what the pages of methods and of names share."""

import inspect
import re

SECTIONS = ("Parameters", "Returns", "Attributes", "Examples")


def sections(text):
    """Return the parts of a docstring: "" for what stands before the first heading, then one entry a heading."""
    found, name = {"": []}, ""
    lines = inspect.cleandoc(text).splitlines()
    for place, line in enumerate(lines):
        under = lines[place + 1] if place + 1 < len(lines) else ""
        if line in SECTIONS and set(under) == {"-"}:
            name = line
            found[name] = []
        elif not (set(line) == {"-"} and place and lines[place - 1] == name):
            found[name].append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def entries(text):
    """Return names and texts of a section of parameters: ``[("gamma, lambda_", "What they do."), ...]``."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line.strip())
    return [(name, markdown(" ".join(lines).strip())) for name, lines in found]


def markdown(text):
    """Turn the marks of docstrings into those of Markdown: roles and double backquotes become single ones."""
    text = re.sub(r":\w+:`~?\.?(?:shoal\.)?([\w.]+)`", r"``\1``", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    return re.sub(r"(?<![`\w\\])(MDAV|ONA|MONA)\*", r"\1\\*", text)


def cell(text):
    """Return a text that may stand in a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")
