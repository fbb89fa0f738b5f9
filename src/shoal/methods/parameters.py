"""Texts of parameters that many methods share; the decorator :func:`shoal.methods.registry.method` adds them.

A docstring of a method describes its own options only. The sections on data, k, common inputs and the return value are
the same everywhere and are written here once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

SHARED = {
    "points": "Standardised coordinates of the records, float64, n x d.",
    "values": "The numbers of one column, float64.",
    "codes": "Categories as integers from 0 on, int32, one row per record and one column per attribute.",
    "labels": "The group number of each record.",
    "k": "Minimum group size.",
    "seed": "Seed of the random numbers.",
    "max_size": "Maximum group size; None for no limit.",
    "time_limit": "Seconds after which the best result so far is returned; the groups then depend on the machine.",
    "column_weights": "Weight of each column in distances.",
    "record_weights": "Sampling weight of each record.",
    "mixed": "One column per attribute: standardised numbers, or codes of categories where ``nominal`` is true.",
    "nominal": "Which columns hold codes; None for none.",
    "column_costs": "What replaces the values of each column; None for means and modes.",
    "units": "Unit (person) of each record.",
    "observed": "Mask of the cells that are known, n x d.",
    "progress": "Progress callback.",
}
RETURNS = "labels\n    The group number of each record."
RETURNS_OUTCOME = "outcome\n    Labels with diagnostics; see :class:`shoal.Outcome`."
_SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)


def completed_docstring(function: Callable[..., Any]) -> str:
    """Return the docstring of a function with the texts of shared parameters and of the return value added.

    Examples
    --------
    >>> def group(points, k, *, rounds=3):
    ...     '''Group records.'''
    >>> completed_docstring(group).splitlines()[2:6]
    ['Parameters', '----------', 'points', '    Standardised coordinates of the records, float64, n x d.']
    """
    doc = inspect.cleandoc(function.__doc__ or "")
    sections = _sections(doc)
    own = _entries(sections.get("Parameters", ""))
    entries = []
    named = {name.strip() for entry in own for name in entry.split(",")}
    for name in inspect.signature(function).parameters:
        if name in named:
            entry = next((entry for entry in own if name in {part.strip() for part in entry.split(",")}), None)
            if entry is not None:
                entries.append(f"{entry}\n{own.pop(entry)}")
        elif name in SHARED:
            entries.append(f"{name}\n    {SHARED[name]}")
    entries += [f"{entry}\n{text}" for entry, text in own.items()]
    sections["Parameters"] = "\n".join(entries)
    returns = str(inspect.signature(function).return_annotation)
    sections.setdefault("Returns", RETURNS_OUTCOME if "Outcome" in returns else RETURNS)
    order = ["Parameters", "Returns", *(name for name in sections if name not in {"", "Parameters", "Returns"})]
    body = [f"{name}\n{'-' * len(name)}\n{sections[name].strip(chr(10))}" for name in order if sections[name]]
    return "\n\n".join([sections[""].strip(), *body])


def _sections(doc: str) -> dict[str, str]:
    """Return the text before the first section under the empty name, and each section under its own."""
    found = list(_SECTION.finditer(doc))
    ends = [match.start() for match in found[1:]] + [len(doc)]
    sections = {"": doc[: found[0].start()] if found else doc}
    for match, end in zip(found, ends, strict=False):
        sections[match[1]] = doc[match.end() : end].strip("\n")
    return sections


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section of parameters: the line of names, and the indented text below it."""
    entries: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = line.strip()
            entries[name] = ""
        elif name:
            entries[name] = f"{entries[name]}\n{line}" if entries[name] else line
    return entries
