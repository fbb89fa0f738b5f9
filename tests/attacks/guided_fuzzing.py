"""A program for atheris: ``python guided_fuzzing.py TARGET -runs=10000``; an internal error stops it."""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["shoal.schema", "shoal.core.hierarchy", "shoal.tables"]):
    import shoal
    from shoal.core.hierarchy import Hierarchy
    from shoal.schema.columns import Column, Kind, Role, Schema
    from shoal.schema.hierarchy_sources import read_hierarchy
    from shoal.schema.toml import format_schema, parse_schema
    from shoal.tables import read_table

BASE = Schema(tuple(Column(name, Role.OTHER, Kind.NUMERIC) for name in ("a", "b", "c")))
FOLDER = Path(tempfile.mkdtemp())


def treatment(found):
    return [(c.name, c.role, c.kind, c.weight, c.order, c.recode, c.missing) for c in found.columns], found.strata


def schema(data):
    """Read a schema file; what is accepted survives writing and reading."""
    parsed = parse_schema(data.decode("utf-8", "ignore"), BASE)
    assert treatment(parse_schema(format_schema(parsed), BASE)) == treatment(parsed)


def tree(data):
    """Read a hierarchy file; every value has a way to the root."""
    path = FOLDER / "tree.csv"
    path.write_bytes(data)
    found = read_hierarchy(path)
    assert Hierarchy(found.paths()).labels[found.root] == found.labels[found.root]


def csv(data):
    """Read a text table."""
    path = FOLDER / "table.csv"
    path.write_bytes(data)
    read_table(path)


TARGETS = {"schema": schema, "tree": tree, "csv": csv}


def main():
    target = TARGETS[sys.argv.pop(1)]

    def attempt(data):
        try:
            target(data)
        except shoal.errors.ShoalError as problem:
            assert str(problem).isprintable()  # noqa: PT017 - most inputs are refused

    atheris.Setup(sys.argv, attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
