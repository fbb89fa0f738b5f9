"""Encodings as files: JSON, with categories as Arrow data; readable by their owner only, since they list values."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.core.hierarchy import Hierarchy
from shoal.errors import FileProblem
from shoal.flow.encoding import ENCODING_VERSION, CategoryEncoding, ColumnEncoding, Encoding, NumericEncoding
from shoal.schema.columns import Column, Kind, Missing, Recode, ReleaseWeight, Role, Schema
from shoal.schema.plan import JsonDict, schema_dict
from shoal.tables import write_files
from shoal.tables.files import write_text
from shoal.tables.targets import check_output


def save_encoding(encoding: Encoding, path: Path) -> Path:
    """Write an encoding to a file with mode 0600."""
    text = json.dumps(_encoding_dict(encoding), indent=1)
    check_output(path, table=False)
    write_files({path: lambda target: write_text(target, text)}, private=(path,))
    return path


def load_encoding(path: Path) -> Encoding:
    """Read an encoding that :func:`save_encoding` wrote."""
    try:
        return _encoding_of(json.loads(path.read_text(encoding="utf-8")))
    except OSError as problem:
        raise FileProblem(f'"{path}" cannot be read: {(problem.strerror or "unknown reason").lower()}') from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, pl.exceptions.PolarsError) as problem:
        raise FileProblem(f'"{path}" is not a saved encoding: {type(problem).__name__}') from None


def _encoding_dict(encoding: Encoding) -> JsonDict:
    entries = []
    for entry in encoding.quasi:
        plain: JsonDict = {"name": entry.column.name, "mean": entry.mean, "deviation": entry.deviation}
        if isinstance(entry, NumericEncoding):
            plain |= {"origin": entry.origin, "scale": entry.scale, "integer": entry.integer, "step": entry.step}
        else:
            buffer = io.BytesIO()
            entry.categories.to_frame("category").write_ipc(buffer)
            plain |= {"categories": base64.b64encode(buffer.getvalue()).decode()}
        if entry.tree is not None:
            plain["tree"] = entry.tree.paths()
        entries.append(plain)
    return {
        "version": encoding.version, "records": encoding.records, "fill": encoding.fill,
        "schema": schema_dict(replace(encoding.schema, columns=tuple(
            replace(column, hierarchy=None) for column in encoding.schema.columns
        ))), "quasi": entries,
    }  # fmt: skip


def _encoding_of(plain: JsonDict) -> Encoding:
    if plain["version"] != ENCODING_VERSION:
        raise ValueError(plain["version"])
    stored = plain["schema"]
    columns = tuple(
        Column(
            entry["name"], Role(entry["role"]), Kind(entry["kind"]), True, entry.get("weight", 1.0),
            tuple(entry["order"]) if "order" in entry else None,
            Recode(entry["recode"]) if "recode" in entry else None,
            Missing(entry["missing"]) if "missing" in entry else None,
        )
        for entry in stored["columns"]
    )  # fmt: skip
    schema = Schema(
        columns, tuple(stored["strata"]), stored["sampling_weight"], Missing(stored["missing"]), None,
        ReleaseWeight(stored.get("release_weight", "grouped")), tuple(stored.get("known", ())),
    )  # fmt: skip
    entries: list[ColumnEncoding] = []
    for entry in plain["quasi"]:
        tree = Hierarchy(entry["tree"]) if "tree" in entry else None
        column = replace(schema[entry["name"]], hierarchy=tree)
        if "origin" in entry:
            entries.append(NumericEncoding(
                column, entry["origin"], entry["scale"], entry["mean"], entry["deviation"], entry["integer"],
                entry["step"], tree,
            ))  # fmt: skip
        else:
            categories = pl.read_ipc(io.BytesIO(base64.b64decode(entry["categories"]))).to_series()
            entries.append(CategoryEncoding(column, categories, entry["mean"], entry["deviation"], tree))
    by_name = {entry.column.name: entry.column for entry in entries}
    schema = replace(schema, columns=tuple(by_name.get(column.name, column) for column in schema.columns))
    return Encoding(schema, tuple(entries), dict(plain["fill"]), plain["records"])
