"""Rules of the source: errors without values, tables read in one place, and no way from a release to its original."""

import ast
import gc
import types
from collections import deque
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal

SOURCE = Path(shoal.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What a text of an error may call: counts, types, names, paths and options, never something that reads a cell.
CALLS = {
    "_encoding_hint", "_place", "_shown", "amount", "bool", "classes.records_below", "float", "format_of",
    "function_name", "getattr", "getModelStatus", "given", "iinfo", "int", "is_infinite", "iter", "join", "len",
    "lower", "map", "max_intervals", "min", "next", "Path", "prod", "quote", "reason", "records_below", "replace",
    "repr", "requested", "round", "shown", "simpleString", "sorted", "str", "suggestion", "sum", "type", "upper",
    "values", "violation",
}  # fmt: skip
LOGGED = {"core/compiled.py": "that compiled loops are built again"}
FOREIGN_TEXTS = {
    "schema/toml.py": "the reader of TOML names a line and a column",
    "methods/registry.py": "type hints of a method",
}
TABLE_READERS = {
    "read_csv", "read_parquet", "read_ipc", "scan_csv", "scan_parquet", "scan_ipc", "read_feather", "write_csv",
    "write_parquet", "write_ipc", "sink_csv", "read_excel", "read_sav", "read_dta",
}  # fmt: skip
TABLES_ELSEWHERE = {
    "datasets/reference.py": "published tables of the literature",
    "flow/saved_encoding.py": "categories as bytes in memory",
    "flow/holder_record.py": "the confidential record of the data holder",
}


@cache
def trees():
    """Return the parts of each file, in the order of ``ast.walk``; they are read once for all tests."""
    return {
        path.relative_to(SOURCE).as_posix(): list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for path in FILES
    }


def name_of(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "?")


def raised_values(nodes):
    """Yield the expressions that stand in the texts of errors."""
    for node in nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.FormattedValue):
                    yield part.value


def reading_calls(nodes):
    """Return the calls in texts of errors that are not on the list of harmless ones."""
    calls = [part for value in raised_values(nodes) for part in ast.walk(value) if isinstance(part, ast.Call)]
    return sorted({name_of(call) for call in calls} - CALLS)


def foreign_texts(nodes):
    """Return the handlers that put the text of an error of another library into an error of their own."""
    found = []
    for node in nodes:
        if not isinstance(node, ast.ExceptHandler) or node.name is None or node.type is None:
            continue
        kinds = ast.unparse(node.type)
        if kinds in {"SchemaError", "ShoalError", "DataError", "ParameterError", "FileProblem"}:
            continue
        values = list(raised_values(ast.walk(node)))
        shown = [value for value in values if isinstance(value, ast.Name) and value.id == node.name]
        texts = [
            part
            for value in values
            for part in ast.walk(value)
            if isinstance(part, ast.Call) and name_of(part) == "str" and ast.unparse(part.args[0]) == node.name
        ]
        found += [f"line {node.lineno}: {kinds}"] if shown or texts else []
    return found


def called(nodes):
    return {name_of(node) for node in nodes if isinstance(node, ast.Call)}


def test_texts_of_errors_read_no_cells(record):
    assert {file: found for file, nodes in trees().items() if (found := reading_calls(nodes))} == {}
    raised = sum(isinstance(node, ast.Raise) for nodes in trees().values() for node in nodes)
    record("texts of errors read for values", raised)


def test_texts_of_other_libraries_are_not_shown():
    found = {file: foreign_texts(nodes) for file, nodes in trees().items() if file not in FOREIGN_TEXTS}
    assert {file: lines for file, lines in found.items() if lines} == {}


def test_nothing_is_printed_or_logged_outside_the_command_line():
    for file, nodes in trees().items():
        imports = [node for node in nodes if isinstance(node, ast.Import)]
        imported = {alias.name for node in imports for alias in node.names}
        assert file in LOGGED or not imported & {"logging", "syslog"}, file
        assert file.startswith("cli/") or "print" not in called(nodes), file


def test_only_the_package_of_tables_opens_tables():
    outside = {file: called(nodes) & TABLE_READERS for file, nodes in trees().items() if not file.startswith("tables/")}
    assert {file for file, calls in outside.items() if calls} <= set(TABLES_ELSEWHERE)


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (reading_calls, 'raise DataError(f"value {column.to_list()[3]} is no number")'),
        (reading_calls, 'raise DataError(f"value {series.item(3)!r} is no number")'),
        (foreign_texts, 'try:\n    f()\nexcept ValueError as e:\n    raise DataError(f"no number: {e}")'),
    ],
)
def test_the_rules_find_what_they_forbid(check, source):
    assert check(list(ast.walk(ast.parse(source))))


PLANTED = "Planted7351"


def reachable(start):
    """Yield all objects that an object leads to, without modules, classes and code."""
    skipped = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
    seen, waiting = {id(start)}, deque([start])
    while waiting:
        found = waiting.popleft()
        yield found
        for below in gc.get_referents(found):
            if id(below) not in seen and not isinstance(below, skipped):
                seen.add(id(below))
                waiting.append(below)


def leads_to(start, text):
    """Return the types of the objects below an object that hold a text."""
    found = []
    for item in reachable(start):
        if isinstance(item, str):
            held = text in item
        elif isinstance(item, bytes):
            held = text.encode() in item
        elif isinstance(item, pl.DataFrame | pl.Series):
            held = text in str(item.to_dicts() if isinstance(item, pl.DataFrame) else item.to_list())
        elif isinstance(item, np.ndarray):
            held = item.dtype.kind in "OUS" and text in str(item.tolist())
        else:
            held = False
        if held:
            found.append(type(item).__name__)
    return found


def planted(**more):
    people = pl.DataFrame(
        {"name": [f"{PLANTED}-{i}" for i in range(8)], "job": [f"{PLANTED}j{i % 4}" for i in range(8)], "age": range(8)}
    )
    return shoal.protect(
        people,
        4,
        quasi=["job", "age"],
        identifiers=["name"],
        recode={"job": "suppress"},
        method="mdav",
        accept_loss=True,
        **more,
    )


@pytest.mark.parametrize("missing", ["error", "impute"])
def test_nothing_of_the_original_is_reachable_from_what_is_released(missing):
    release = planted(missing=missing)
    assert leads_to(release.released, PLANTED) == []
    assert leads_to(release.manifest, PLANTED) == []


def test_the_walk_finds_an_original_that_is_reachable():
    assert leads_to(planted(), PLANTED) != []  # the private handle, for risk and utility
    assert leads_to({"a": [planted()._original]}, PLANTED) != []
