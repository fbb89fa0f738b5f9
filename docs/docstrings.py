"""Read numpy-style docstrings and write them as Markdown; shared by the pages of methods and of public names."""

import inspect
import re

SECTIONS = ("Parameters", "Returns", "Attributes", "Examples")


def sections(text):
    """Return the parts of a docstring: "" for the text before the first heading, then one entry per heading."""
    found, name = {"": []}, ""
    lines = inspect.cleandoc(text).splitlines()
    for position, line in enumerate(lines):
        under = lines[position + 1] if position + 1 < len(lines) else ""
        if line in SECTIONS and set(under) == {"-"}:
            name = line
            found[name] = []
        elif not (set(line) == {"-"} and position and lines[position - 1] == name):
            found[name].append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def entries(text):
    """Return names and texts of a section of parameters: ``[("gamma, lambda_", "What they do."), ...]``."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            continued = bool(found) and found[-1][0].endswith(",") and not found[-1][1]
            names = f"{found.pop()[0]} {line}" if continued else line
            found.append((names, []))
        elif found:
            found[-1][1].append(line.strip())
    return [(name, markdown(" ".join(lines).strip())) for name, lines in found]


def markdown(text):
    """Return docstring markup as Markdown: roles and double backquotes become single backquotes."""
    text = re.sub(r":\w+:`~[\w.]*?(\w+)`", r"``\1``", text)
    text = re.sub(r":\w+:`\.?([\w.]+)`", r"``\1``", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    return re.sub(r"(?<![`\w\\])(MDAV|ONA|MONA)\*", r"\1\\*", text)


def cell(text):
    """Return a text for a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")
