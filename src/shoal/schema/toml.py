"""The schema as a TOML file that a person can read, correct and keep with the data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from shoal.core.arguments import choice
from shoal.errors import SchemaError, UnknownColumn, suggestion
from shoal.schema.columns import (
    DROPPED,
    ROLE_OPTIONS,
    UNDECIDED,
    Column,
    Kind,
    Missing,
    Recode,
    ReleaseWeight,
    Role,
    Schema,
    role_of_option,
    shown_role,
)
from shoal.schema.statistic import Statistic
from shoal.schema.toml_values import format_key as _key
from shoal.schema.toml_values import format_text as _text
from shoal.schema.toml_values import format_value

_TOP = {
    "release_weight", "known", "unnamed", "strata", "sampling_weight", "missing", "columns", "keep_links", "shuffle",
    "keep", "together",
    "statistics",
}  # fmt: skip
_COLUMN = {"role", "kind", "weight", "order", "recode", "missing", "hierarchy", "time", "constant", "before", "after"}
_COLUMN |= {"not_applicable"}

_HEADER = """\
# What each column is. Read it, correct it, then: shoal protect {source} -k 5 --schema THIS_FILE -o safe.csv
#
# role: identifier (dropped) | quasi (may be known to an intruder: replaced) | confidential (sensitive) | other
#       unit (whose row it is, where a person has several) | household | time (order of a person's rows); all dropped
#       other? (not known: decide it; until then no table is protected, unless --unnamed decides all of them)
# kind: numeric | ordinal (give its order) | nominal
# Optional: weight = 2.0   order = ["low", "high"]   recode = "median"   missing = "impute"   hierarchy = "jobs.csv"
#           constant = true (one value in all rows of a person)
#           before = ["top 90", "band 10"]   after = ["round 100"] (steps before and after grouping)

{unnamed}
missing = "{missing}"        # error | fill | suppress | by-pattern | impute | category
strata = [{strata}]              # no group crosses these columns
known = [{known}]               # further columns that an intruder may know; k is also counted with them
{sampling}
release_weight = "{release_weight}"   # grouped (mean of the group) | unchanged | dropped
"""


def format_schema(schema: Schema, source: str = "people.csv", remarks: Mapping[str, str] | None = None) -> str:
    """Return the schema as a commented TOML text; ``remarks`` describe the values of columns in a comment.

    Examples
    --------
    >>> text = format_schema(Schema((Column("age", Role.QUASI, Kind.NUMERIC, reason="numbers"),)))
    >>> print(text.splitlines()[-3])
    [columns.age]  # numbers
    >>> parse_schema(text, base=Schema((Column("age", Role.OTHER, Kind.NUMERIC),)))["age"].role
    <Role.QUASI: 'quasi'>
    """
    sampling = (
        f"sampling_weight = {_text(schema.sampling_weight)}"
        if schema.sampling_weight
        else '# sampling_weight = "name"   # positive numbers, used for representatives and the reported loss'
    )
    options = {role: name for name, role in ROLE_OPTIONS.items()}
    unnamed = (
        f'unnamed = "{options[schema.unnamed]}"'
        if schema.unnamed
        else '# unnamed = "other"         # the role of columns that are not listed here'
    )
    strata = ", ".join(map(_text, schema.strata))
    known = ", ".join(map(_text, schema.known))
    header = _HEADER.format(
        source=source, unnamed=unnamed, missing=schema.missing, strata=strata, known=known, sampling=sampling,
        release_weight=schema.release_weight,
    )  # fmt: skip
    if schema.keep_links:
        header += "keep_links = true              # the unit becomes a random code, which links a person's rows\n"
    if schema.shuffle:
        header += "shuffle = true                 # rows in a random order\n"
    if schema.keep:
        header += f"keep = [{', '.join(map(_text, schema.keep))}]   # rules between columns\n"
    if schema.together:
        header += f"together = [{', '.join(map(_text, schema.together))}]   # columns that are suppressed together\n"
    parts = [header]
    parts += [_format_column(column, (remarks or {}).get(column.name, "")) for column in schema.columns]
    return "\n".join([*parts, *map(_format_statistic, schema.statistics)])


def _format_statistic(statistic: Statistic) -> str:
    if statistic.function is not None:
        raise SchemaError(
            f'statistic "{statistic.name}" is a Python function, which a file cannot hold; state it as sql or value'
        )
    lines = ["[[statistics]]"]
    for entry in fields(statistic):
        found = getattr(statistic, entry.name)
        if found != entry.default:
            lines.append(f"{entry.name} = {format_value(list(found) if isinstance(found, tuple) else found)}")
    return "\n".join(lines) + "\n"


def _format_column(column: Column, remark: str = "") -> str:
    reason = f"  # {column.reason}" if column.reason else ""
    lines = [f"[columns.{_key(column.name)}]{reason}"]
    lines += [f"# {_comment(remark)}"] if remark else []
    lines += [f'role = "{shown_role(column)}"', f'kind = "{column.kind}"']
    if column.weight != 1.0:
        lines.append(f"weight = {column.weight}")
    if column.order is not None:
        lines.append(f"order = [{', '.join(map(_text, column.order))}]")
    if column.recode is not None:
        lines.append(f'recode = "{column.recode}"')
    if column.missing is not None:
        lines.append(f'missing = "{column.missing}"')
    if column.not_applicable:
        lines.append(f"not_applicable = [{', '.join(map(_text, column.not_applicable))}]")
    if isinstance(column.hierarchy, str | Path | Mapping):
        lines.append(f"hierarchy = {_inline(column.hierarchy)}")
    if column.time:
        lines.append("time = true")
    if column.constant is not None:
        lines.append(f"constant = {str(column.constant).lower()}")
    for entry in ("before", "after"):
        if getattr(column, entry):
            lines.append(f"{entry} = [{', '.join(map(_text, getattr(column, entry)))}]")
    return "\n".join(lines) + "\n"


def parse_schema(text: str, base: Schema, *, identifiers_dropped: bool = False) -> Schema:
    """Return the schema of a TOML text; a column without a role in it has no stated role, and its kind of ``base``.

    Parameters
    ----------
    text
        The TOML text.
    base
        The columns of the table with inferred kinds.
    identifiers_dropped
        Whether the table is a released one, which lacks the direct identifiers that the text names.
    """
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"the schema file is not valid TOML: {problem}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or thousands of brackets
        raise SchemaError("the schema file has a number that is too long, or is nested too deeply") from None
    _only_known(parsed, _TOP, "the schema file")
    entries = parsed.get("columns", {})
    if not isinstance(entries, dict):
        raise SchemaError("the schema file needs tables such as [columns.age], not one value called columns")
    release_weight = choice(ReleaseWeight, parsed.get("release_weight", "grouped"), "release_weight")
    weight = parsed.get("sampling_weight", "")
    if not isinstance(weight, str):
        raise SchemaError('sampling_weight in the schema file must be the name of a column, such as "weight"')
    names = [column.name for column in base.columns]
    if identifiers_dropped and release_weight == ReleaseWeight.DROPPED and weight not in names:
        entries.pop(weight, None)
        weight = ""
    for name, entry in entries.items():
        dropped = identifiers_dropped and isinstance(entry, dict) and entry.get("role") in DROPPED
        if name not in names and not dropped:
            raise UnknownColumn(name, names)
    columns = tuple(_parse_column(column, entries.get(column.name)) for column in base.columns)
    return Schema(
        columns,
        strata=_parse_names(parsed, "strata"),
        sampling_weight=weight or None,
        missing=choice(Missing, parsed.get("missing", "error"), "missing"),
        unnamed=role_of_option(parsed["unnamed"]) if "unnamed" in parsed else None,
        release_weight=release_weight,
        known=_parse_names(parsed, "known"),
        keep_links=parsed.get("keep_links", False),
        shuffle=parsed.get("shuffle", False),
        keep=_parse_names(parsed, "keep"),
        together=_parse_names(parsed, "together"),
        statistics=tuple(parsed.get("statistics", ())),
    )


def _parse_names(parsed: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = parsed.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError(f'{key} in the schema file must be a list of column names, such as ["region"]')
    return tuple(names)


def _parse_column(column: Column, entry: Any) -> Column:
    if entry is None:
        return column
    if not isinstance(entry, dict):
        raise SchemaError(f'column "{column.name}" in the schema file must be a table with role and kind')
    _only_known(entry, _COLUMN, f'column "{column.name}" in the schema file')
    order = _parse_order(column.name, entry)
    kind = choice(Kind, entry.get("kind", column.kind if order is None else Kind.ORDINAL), "kind")
    weight = entry.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise SchemaError(f'column "{column.name}": weight must be a number')
    undecided = entry.get("role", UNDECIDED) == UNDECIDED
    return Column(
        column.name,
        Role.OTHER if undecided else choice(Role, entry["role"], "role"),
        kind,
        kind_stated="kind" in entry or order is not None,
        weight=float(weight),
        order=order if order is not None else (column.order if kind == column.kind else None),
        recode=choice(Recode, entry["recode"], "recode") if "recode" in entry else None,
        missing=choice(Missing, entry["missing"], "missing") if "missing" in entry else None,
        not_applicable=entry.get("not_applicable", ()),
        reason="schema file",
        role_stated=not undecided,
        hierarchy=_parse_hierarchy(column.name, entry.get("hierarchy")),
        time=entry.get("time", False),
        constant=entry.get("constant"),
        before=entry.get("before", ()),
        after=entry.get("after", ()),
    )


def _parse_order(name: str, entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the ordered categories of a column, or None; an order makes a column ordinal."""
    order = entry.get("order")
    if order is None:
        return None
    plain = isinstance(order, list) and all(isinstance(category, str | int | float) for category in order)
    if not plain or not order:
        raise SchemaError(f'column "{name}": order must be a list of categories, such as ["low", "high"]')
    if entry.get("kind", Kind.ORDINAL) != Kind.ORDINAL:
        raise SchemaError(
            f'column "{name}" has an order, so its kind is "ordinal"; correct the kind or remove the order'
        )
    return tuple(map(str, order))


def _parse_hierarchy(name: str, entry: Any) -> Any:
    """Return the path of a hierarchy file, the way to build a tree, or the tree itself."""
    if entry is None or isinstance(entry, str | Mapping):
        return entry
    raise SchemaError(
        f'column "{name}": hierarchy must be a file, such as "jobs.csv", or a tree, such as '
        '{craft = ["baker", "painter"]}'
    )


def _comment(text: str) -> str:
    """Return a text that can stand in a comment: one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _inline(value: Any) -> str:
    """Return texts, lists and mappings as they stand on one line of a TOML file."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(name))} = {_inline(below)}" for name, below in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _text(str(value))


def _only_known(found: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in found:
        if key not in known:
            raise SchemaError(f'{where} has an unknown entry "{key}"; {suggestion(key, sorted(known))}')
