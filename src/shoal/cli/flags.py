"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.errors import ParameterError

Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi", metavar="NAMES", help="Columns that an outsider may know: age,region. May be repeated."),
]
Confidential = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Columns that must not be learned about a person.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Identifiers: columns that point at one person.")]
SchemaFile = Annotated[Path | None, typer.Option(help="A TOML file with roles and kinds, as drafted by shoal schema.")]
Missing = Annotated[str | None, typer.Option(help="Missing values: refuse (default), own-group, impute or as-value.")]
ManifestFile = Annotated[Path | None, typer.Option(help="Where the manifest goes; beside the output if not given.")]
Delimiter = Annotated[str | None, typer.Option(help="Field separator of a text file; detected if not given.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a text file; detected if not given.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign of a text file, . or ,; detected if not given.")]
Na = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="MARKS", help="Texts that mark a missing value: NA,?. An empty field always does."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of threads; all cores if not given. Never changes the result.")
]
L = Annotated[float | None, typer.Option("--l", help="l-diversity: so many values in every group of records.")]
LKind = Annotated[str | None, typer.Option(help="The form of l-diversity: distinct (default), entropy or recursive.")]
C = Annotated[float | None, typer.Option("--c", help="The c of recursive (c, l)-diversity.")]
P = Annotated[int | None, typer.Option("--p", help="p-sensitivity: so many different values of every column.")]
Alpha = Annotated[float | None, typer.Option(help="(alpha, k)-anonymity: the largest share of one value in a group.")]
T = Annotated[float | None, typer.Option("--t", help="t-closeness: the largest distance of a group to the table.")]
Beta = Annotated[float | None, typer.Option(help="beta-likeness: the largest gain in frequency of a value.")]


def split_names(texts: Sequence[str] | None) -> list[str] | None:
    """Return comma-separated names as a list; quote a name that contains a comma.

    Examples
    --------
    >>> split_names(['age,"income, net"', "region"])
    ['age', 'income, net', 'region']
    """
    if texts is None:
        return None
    fields = [field.strip() for text in texts for field in next(csv.reader([text], skipinitialspace=True), [])]
    return [field for field in fields if field]


def split_pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return ``name=value`` texts as a dictionary.

    Examples
    --------
    >>> split_pairs(["age=2,income=0.5"], "--weight")
    {'age': '2', 'income': '0.5'}
    """
    pairs: dict[str, str] = {}
    for field in split_names(texts) or []:
        name, sign, value = field.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"{option} {field}: write it as name=value, for example {option} age=...")
        pairs[name.strip()] = value.strip()
    return pairs


def read_options(
    delimiter: str | None, encoding: str | None, decimal: str | None, na: Sequence[str] | None
) -> dict[str, Any]:
    """Return what the reader of text files has to know; ``tab`` or a backslash and t mean a tabulator."""
    if delimiter in {"\\t", "tab", "TAB"}:
        delimiter = "\t"
    return {
        "delimiter": delimiter,
        "encoding": encoding,
        "decimal": decimal,
        "missing_marks": tuple(split_names(na) or ()),
    }


def use_threads(threads: int | None) -> None:
    """Limit threads of our own loops and of the libraries; call it before anything heavy is imported."""
    if threads is None:
        return
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    from shoal.core.threads import set_threads

    set_threads(threads)
