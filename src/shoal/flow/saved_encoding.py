"""Encodings as files: JSON, with categories as Arrow data; readable by their owner only, since they list values."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.core.hierarchy import Hierarchy
from shoal.errors import FileProblem
from shoal.flow.encoding import ENCODING_VERSION, CategoryEncoding, ColumnEncoding, Encoding, NumericEncoding
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.columns import Schema
from shoal.schema.field_values import from_plain, to_plain
from shoal.schema.plan import JsonDict
from shoal.tables import write_files
from shoal.tables.files import check_output, write_text


def save_encoding(encoding: Encoding, path: Path, *, overwrite: bool = False) -> Path:
    """Write an encoding to a file with mode 0600."""
    text = json.dumps(_encoding_dict(encoding), indent=1)
    check_output(path, table=False, overwrite=overwrite)
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
            plain |= {"categories": _series_text(entry.categories)}
        if entry.tree is not None:
            plain["tree"] = entry.tree.paths()
        entries.append(plain)
    columns = tuple(replace(column, hierarchy=None) for column in encoding.schema.columns)
    return {
        "version": encoding.version, "records": encoding.records, "fill": encoding.fill,
        "schema": to_plain(replace(encoding.schema, columns=columns)), "quasi": entries,
        "confidential": [_values_dict(entry.quantised()) for entry in encoding.confidential],
    }  # fmt: skip


def _values_dict(entry: ValueEncoding) -> JsonDict:
    """Return the distribution of a confidential attribute; many numbers are reduced to intervals."""
    tree = entry.column.hierarchy
    return {
        "name": entry.column.name, "values": _series_text(entry.values), "totals": entry.totals.tolist(),
        "missing": entry.missing, "exact": entry.exact,
        **({"tree": tree.paths()} if isinstance(tree, Hierarchy) else {}),
    }  # fmt: skip


def _series_text(series: pl.Series) -> str:
    buffer = io.BytesIO()
    series.to_frame("category").write_ipc(buffer)
    return base64.b64encode(buffer.getvalue()).decode()


def _series_of(text: str) -> pl.Series:
    return pl.read_ipc(io.BytesIO(base64.b64decode(text))).to_series()


def _encoding_of(plain: JsonDict) -> Encoding:
    if plain["version"] != ENCODING_VERSION:
        raise ValueError(plain["version"])
    schema: Schema = from_plain(Schema, plain["schema"], "schema")
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
            categories = _series_of(entry["categories"])
            entries.append(CategoryEncoding(column, categories, entry["mean"], entry["deviation"], tree))
    confidential = []
    for entry in plain["confidential"]:
        tree = Hierarchy(entry["tree"]) if "tree" in entry else None
        column = replace(schema[entry["name"]], hierarchy=tree)
        totals = np.array(entry["totals"], np.int64)
        values = ValueEncoding(column, _series_of(entry["values"]), totals, entry["missing"], entry["exact"])
        confidential.append(values)
    by_name = {entry.column.name: entry.column for entry in [*entries, *confidential]}
    schema = replace(schema, columns=tuple(by_name.get(column.name, column) for column in schema.columns))
    return Encoding(schema, tuple(entries), dict(plain["fill"]), plain["records"], tuple(confidential))
