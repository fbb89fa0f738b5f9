"""The command and the Python script that give the same bytes as a step of the studio."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.studio.settings import Settings

_LISTS = ("quasi", "confidential", "identifiers", "other", "strata")
_PAIRS = {"column_weights": "column-weight", "recode": "recode", "hierarchies": "hierarchy"}


def command_text(settings: Settings, outputs: Mapping[str, str]) -> str | None:
    """Return the command that writes the same files; None where only a run file can hold the plan.

    That is so for trees and statistics that were made in the studio, and where a name contains a character that
    separates names on the command line.

    Parameters
    ----------
    settings
        The settings of the step.
    outputs
        ``table`` and, if wanted, ``report``, ``public_report``, ``run_file``, ``holder_record``, ``title`` and
        ``language``.

    Examples
    --------
    >>> from shoal.studio.settings import ColumnSettings
    >>> age = ColumnSettings("quasi", "numeric")
    >>> people = Settings("people.csv", columns={"age": age}, bare_kinds={"age": "numeric"}, k=3)
    >>> command_text(people, {"table": "safe.csv"})
    'shoal protect people.csv -k 3 --quasi age -o safe.csv'
    """
    given = settings.arguments()
    texts = [*settings.columns, *(text for column in settings.columns.values() for text in column.order)]
    marks = settings.read_options.get("na_values", ())
    if any(set(text) & set(",=<") or text != text.strip() for text in (*texts, *marks)):
        return None
    if settings.statistics or any(not isinstance(tree, str) for tree in given.get("hierarchies", {}).values()):
        return None
    words = ["shoal", "protect", settings.source, "-k", str(given.pop("k"))]
    for name in _LISTS:
        if given.get(name):
            words += [f"--{name}", ",".join(given.pop(name))]
    for name, kind in given.pop("kinds", {}).items():
        words += [f"--{kind}", name]
    for name, order in given.pop("orders", {}).items():
        words += ["--ordinal", f"{name}={'<'.join(order)}"]
    for option, flag in _PAIRS.items():
        for name, value in given.pop(option, {}).items():
            words += [f"--{flag}", f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"]
    for name, steps in given.pop("before", {}).items():
        words += [word for step in steps for word in ("--before", f"{name}={step}")]
    given |= given.pop("read_options", {})
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        shown = (
            ",".join(value) if isinstance(value, list | tuple) else f"{value:g}" if isinstance(value, float) else value
        )
        words += [flag] if value is True else [flag, str(shown)]
    words += ["-o", outputs["table"]]
    flags = {
        "report": "--report", "public_report": "--public-report", "run_file": "--save", "title": "--title",
        "language": "--language",
        "holder_record": "--holder-record",
    }  # fmt: skip
    words += [word for name, flag in flags.items() if outputs.get(name) for word in (flag, outputs[name])]
    return " ".join(map(shlex.quote, words))


def script_text(settings: Settings, outputs: Mapping[str, str]) -> str:
    """Return the Python script that writes the same files.

    Examples
    --------
    >>> print(script_text(Settings("people.csv", k=3), {"table": "safe.csv"}))
    import shoal
    <BLANKLINE>
    release = shoal.protect(
        'people.csv',
        k=3,
    )
    release.write(
        'safe.csv',
    )
    <BLANKLINE>
    """
    given = settings.arguments()
    lines = ["import shoal", "", "release = shoal.protect(", f"    {settings.source!r},", f"    k={given.pop('k')},"]
    lines += [f"    {name}={value!r}," for name, value in given.items()]
    more = [f"    {name}={value!r}," for name, value in outputs.items() if name != "table" and value]
    lines += [")", "release.write(", f"    {outputs['table']!r},", *more, ")", ""]
    return "\n".join(lines)


def default_outputs(source: str, folder: str, extension: str) -> dict[str, str]:
    """Return the names of the files of a release in a directory.

    Examples
    --------
    >>> default_outputs("data/people.csv.gz", "out", ".csv")["report"]
    'out/people-protected.report.html'
    """
    stem = Path(source).name.split(".")[0] or "table"
    base = Path(folder) / f"{stem}-protected"
    return {
        "table": f"{base}{extension}",
        "report": f"{base}.report.html",
        "public_report": f"{base}.public.html",
        "run_file": f"{base}.run.toml",
    }


def plan_text(settings: Settings) -> str:
    """Return the arguments of a step as JSON, for a person to read."""
    shown: dict[str, Any] = settings.arguments()
    return json.dumps(shown, indent=2, ensure_ascii=False)
