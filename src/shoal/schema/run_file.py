"""The run file: a release that can be repeated, as one TOML file that stays with the data holder.

It names the table and the outputs, and holds the plan in full: orders, hierarchies and texts that mean a missing value
list values of the original, so it is confidential like the original (mode 0600). Its keys are the fields of the
dataclasses below and of :class:`shoal.Plan`. Paths in it are relative to the directory that it lies in.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from shoal.core.arguments import check_language
from shoal.errors import FileProblem, ParameterError, ShoalError, suggestion
from shoal.schema.columns import Column
from shoal.schema.field_values import from_plain, stored_fields, to_plain
from shoal.schema.plan import Plan
from shoal.schema.toml_values import format_document
from shoal.tables.files import check_regular

RUN_FILE_VERSION = 1
LARGEST_FILE = 200_000_000
"""Bytes of a run file; orders and hierarchies in it can be long."""
_HEADER = """\
# A release that can be repeated: shoal run THIS_FILE
# Confidential: it lists values of the original (orders, hierarchies). Keep it with the original.
"""


@dataclass(frozen=True)
class InputFiles:
    """The files that a release and its report are made from.

    Parameters
    ----------
    file
        The table.
    previous
        The holder's record of an earlier release of the same people, whose groups are kept.
    population
        A table of the population, for the report.
    individuals
        The number of individuals of the population, instead of a table.
    sampling_fraction
        The share of the population that the table is, instead of both.
    control
        A table of people who are not in the release, for the report.

    Examples
    --------
    >>> InputFiles("people.csv").previous is None
    True
    """

    file: Path
    previous: Path | None = None
    population: Path | None = None
    individuals: int | None = None
    sampling_fraction: float | None = None
    control: Path | None = None

    def __post_init__(self) -> None:
        _use_paths(self)


@dataclass(frozen=True)
class OutputFiles:
    """The files of a release.

    Parameters
    ----------
    table
        The released table; its extension sets the format.
    manifest
        The manifest; beside the table if not given.
    holder_record
        The holder's record; beside the table if not given, ``none`` to write none.
    report
        The report for the data holder; none if not given.
    public_report
        The report for publication; none if not given.
    title
        The title of the reports.
    language
        The language of the reports, ``en`` or ``de``.
    engine
        What writes the release in parts: ``disk`` or ``spark``; none where the plan is run in memory.

    Examples
    --------
    >>> OutputFiles("safe.parquet", report="safe.html").language
    'en'
    """

    table: Path
    manifest: Path | None = None
    holder_record: Path | None = None
    report: Path | None = None
    public_report: Path | None = None
    title: str | None = None
    language: str = "en"
    engine: str | None = None

    def __post_init__(self) -> None:
        _use_paths(self)
        check_language("language", self.language)
        if self.engine not in {None, "disk", "spark"}:
            raise ParameterError(
                f'engine must be "disk" or "spark", not "{self.engine}"; leave it out to run in memory'
            )


@dataclass(frozen=True)
class Accepted:
    """What stops a release unless it is accepted.

    Parameters
    ----------
    loss
        An information loss over 100 %, or a column with one value left.
    relinking
        Columns that put the rows of a person together again.
    derived
        Unchanged columns that give a protected one back exactly.
    second_release
        Settings other than those of the earlier release.

    Examples
    --------
    >>> Accepted(loss=True).derived
    False
    """

    loss: bool = False
    relinking: bool = False
    derived: bool = False
    second_release: bool = False


@dataclass(frozen=True)
class RunFile:
    """All that is needed to repeat a release: its plan, the files that it reads, and those that it writes.

    Parameters
    ----------
    plan
        Schema, requirements, method, decimals, sums and how the table is read.
    input
        The files that the release is made from.
    output
        The files of the release.
    accept
        What was accepted.

    Examples
    --------
    >>> from shoal.schema.columns import Column, Kind, Role, Schema
    >>> from shoal.schema.requirements import Requirements
    >>> plan = Plan(Schema((Column("age", Role.QUASI, Kind.NUMERIC),)), Requirements(k=5))
    >>> run = RunFile(plan, InputFiles(Path("people.csv")), OutputFiles(Path("safe.csv")))
    >>> parse_run(format_run(run, Path()), Path()) == run
    True
    """

    plan: Plan
    input: InputFiles
    output: OutputFiles
    accept: Accepted = field(default_factory=Accepted)


_TEXTS = {"title", "language", "engine"}
_NUMBERS = {"individuals", "sampling_fraction"}


def _use_paths(files: InputFiles | OutputFiles) -> None:
    """Accept paths that are given as text."""
    for entry in fields(files):
        value = getattr(files, entry.name)
        if entry.name in _NUMBERS or (entry.name in _TEXTS and isinstance(value, str)):
            continue
        if isinstance(value, str) and value:
            object.__setattr__(files, entry.name, Path(value))
        elif not isinstance(value, Path) and not (value is None and entry.default is None):
            raise ParameterError(f"{entry.name} must be the path of a file, not {type(value).__name__}")


PARTS = {"input": InputFiles, "output": OutputFiles, "accept": Accepted}
"""The sections of the file beside those of the plan."""
_COMMENTS = {
    "input": "Paths are relative to the directory of this file.",
    "method": "As requested; method.resolved is what ran, and runs again. Remove it to resolve the method anew.",
    "schema": "The columns of the table; a column that is not listed stops the run.",
}


def format_run(run: RunFile, folder: Path) -> str:
    """Return a run file as text; ``folder`` is the directory that it will lie in."""
    if not isinstance(run.plan.method.name, str):
        raise ParameterError(
            "a run file names the method, and this one is a function; register it with @shoal.method and give its name"
        )
    moved = _relocated(run, lambda path: _relative(path, folder))
    try:
        parts = {name: to_plain(getattr(moved, name)) for name in PARTS}
        content = {
            "version": RUN_FILE_VERSION, "shoal": version("shoal"), "input": parts["input"], **to_plain(moved.plan),
            "accept": parts["accept"], "output": parts["output"],
        }  # fmt: skip
        return _HEADER + "\n" + format_document(content, _COMMENTS)
    except RecursionError:
        raise ParameterError("a hierarchy is nested too deeply for a run file; give it as a file") from None


def parse_run(text: str, folder: Path) -> RunFile:
    """Return the content of a run file that lies in a directory; one sentence for each mistake in it."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        place = re.search(r"at line \d+, column \d+", str(problem))
        where = f" ({place.group()})" if place else ""
        raise ParameterError(f"it is not valid TOML{where}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or thousands of brackets
        raise ParameterError("it has a number that is too long, or is nested too deeply") from None
    _check_version(content)
    plan_keys = list(stored_fields(Plan))
    known = ["version", "shoal", *plan_keys, *PARTS]
    for name in content:
        if name not in known:
            raise ParameterError(f'it has an unknown entry "{name}"; {suggestion(name, sorted(known))}')
    if not isinstance(content.get("shoal", ""), str):
        raise ParameterError('shoal must be the version of Shoal that wrote the file, such as "0.1.0"')
    for name in ("input", "schema", "requirements", "output"):
        if name not in content:
            raise ParameterError(f"it has no section [{name}], which is needed")
    plan = from_plain(Plan, {name: content[name] for name in plan_keys if name in content}, "")
    if "k" not in content["requirements"]:  # never left to a default
        raise ParameterError('requirements has no entry "k", which is needed')
    parts = {name: from_plain(kind, content[name], name) for name, kind in PARTS.items() if name in content}
    return _relocated(RunFile(_with_trees(plan), **parts), lambda path: _located(path, folder))


def _check_version(content: dict[str, Any]) -> None:
    found = content.get("version")
    if found is None:
        raise ParameterError(f"it has no version; a run file starts with version = {RUN_FILE_VERSION}")
    if isinstance(found, bool) or not isinstance(found, int):
        raise ParameterError(f"version must be an integer; this Shoal reads version {RUN_FILE_VERSION}")
    if found != RUN_FILE_VERSION:
        raise ParameterError(
            f"it has version {found}, and this Shoal reads version {RUN_FILE_VERSION}; use the Shoal that wrote it"
        )


def read_run(path: Path) -> RunFile:
    """Read a run file; every mistake in it is one sentence that names the file."""
    check_regular(path, "run file")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FileProblem(f'run file "{path}" is larger than {LARGEST_FILE // 10**6} MB; it is no run file')
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileProblem(f'run file "{path}" was not found') from None
    except UnicodeDecodeError:
        raise FileProblem(f'run file "{path}" is not UTF-8 text; save it as UTF-8') from None
    except (OSError, ValueError) as problem:
        if isinstance(problem, FileProblem):
            raise
        reason = getattr(problem, "strerror", None) or "its name is not possible"
        raise FileProblem(f'run file "{path}" cannot be read: {reason.lower()}') from None
    try:
        return parse_run(text, path.parent)
    except ShoalError as problem:
        raise ParameterError(f'run file "{path}": {problem}') from None


def _relocated(run: RunFile, moved: Callable[[Path], Path]) -> RunFile:
    """Return a run file with all paths changed: those of files, and those of hierarchies."""

    def with_paths(part: Any) -> Any:
        paths = {entry.name: getattr(part, entry.name) for entry in fields(part)}
        changed = {name: moved(path) for name, path in paths.items() if isinstance(path, Path) and str(path) != "none"}
        return replace(part, **changed)

    schema = run.plan.schema
    columns = tuple(_with_hierarchy(column, moved) for column in schema.columns)
    plan = replace(run.plan, schema=replace(schema, columns=columns))
    return replace(run, plan=plan, input=with_paths(run.input), output=with_paths(run.output))


def _with_hierarchy(column: Column, moved: Callable[[Path], Path]) -> Column:
    """Return a column whose hierarchy is read from the changed path; a word for a tree built from values stays."""
    from shoal.schema.hierarchy_building import BUILDERS

    given = column.hierarchy
    if not isinstance(given, str | Path) or (isinstance(given, str) and given in BUILDERS):
        return column
    return replace(column, hierarchy=str(moved(Path(given))))


def _with_trees(plan: Plan) -> Plan:
    """Return a plan in which hierarchies that were stored as paths of their nodes are trees again."""
    from shoal.core.hierarchy import Hierarchy

    def read(column: Column) -> Column:
        given = column.hierarchy
        if given is None or isinstance(given, str | dict):
            return column
        rows = isinstance(given, list) and all(isinstance(row, list) and row for row in given)
        if not rows or not all(isinstance(label, str) for row in given for label in row):
            raise ParameterError(
                f'column "{column.name}": hierarchy must be a file, such as "jobs.csv", a tree, such as '
                '{craft = ["baker", "painter"]}, or a list with the path of each value, such as [["baker", "craft"]]'
            )
        return replace(column, hierarchy=Hierarchy(given))

    return replace(plan, schema=replace(plan.schema, columns=tuple(map(read, plan.schema.columns))))


def _relative(path: Path, folder: Path) -> Path:
    """Return a relative path as it is seen from a directory; an absolute one stays as it is."""
    if path.is_absolute():
        return path
    seen = Path(os.path.relpath(path, folder))
    same = os.path.realpath(folder / seen) == os.path.realpath(path)  # not so where a directory on the way is a link
    return seen if same else path.absolute()


def _located(path: Path, folder: Path) -> Path:
    """Return the path of a file that a run file in a directory names."""
    return path if path.is_absolute() else Path(os.path.normpath(folder / path))
