"""What a private release takes from a schema: the unit, what is never released, and orders as categories."""

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.application import app
from shoal.dp import release
from shoal.errors import ParameterError, SchemaError
from shoal.schema.inference import infer_schema
from shoal.tables import Table

PEOPLE = pl.DataFrame(
    {
        "name": [f"person {row}" for row in range(600)],
        "patient": [row // 2 for row in range(600)],
        "age": [20 + row % 60 for row in range(600)],
        "size": ["S", "M", "L"] * 200,
        "job": ["a", "b"] * 300,
    }
)
SCHEMA = """
[columns.name]
role = "identifier"
[columns.patient]
role = "unit"
[columns.age]
role = "quasi"
[columns.size]
role = "quasi"
kind = "ordinal"
order = ["S", "M", "L"]
"""


def test_the_schema_gives_unit_and_categories():
    made = release(PEOPLE, epsilon=20, schema=SCHEMA, bounds={"age": (0, 99)}, rows_per_person=2, mechanism="histogram")
    assert set(made.data.columns) == {"age", "size"}
    assert made.guarantee.rows_per_person == 2
    assert "job" in made.warnings[-1]


def test_a_schema_object_gives_the_same():
    schema = infer_schema(Table.from_native(PEOPLE)).updated(
        identifiers=["name"], unit="patient", quasi=["age", "size"], orders={"size": ["S", "M", "L"]}, unnamed="other"
    )
    made = release(PEOPLE, epsilon=20, schema=schema, bounds={"age": (0, 99)}, rows_per_person=2, mechanism="histogram")
    assert set(made.data.columns) == {"age", "size"}


@pytest.mark.parametrize(
    ("schema", "options", "error", "text"),
    [
        (SCHEMA, {"categories": {"name": ["a"]}, "rows_per_person": 1}, SchemaError, "the role identifier"),
        (SCHEMA, {"columns": ["patient", "age"], "rows_per_person": 1}, SchemaError, "the role unit"),
        (SCHEMA, {}, ParameterError, "rows_per_person"),
        ("[columns.age]\nrole = 'other?'", {}, SchemaError, "is not decided"),
        ("[columns.age]\nrole = 'key'", {}, SchemaError, "unknown role"),
        ("[columns.age\nrole =", {}, ParameterError, "is not TOML"),
        ("columns = 3", {}, ParameterError, "no tables of columns"),
    ],
)
def test_what_contradicts_the_schema_is_refused(schema, options, error, text):
    with pytest.raises(error, match=text):
        release(PEOPLE, epsilon=1, schema=schema, bounds={"age": (0, 99)}, mechanism="histogram", **options)


def test_stated_categories_win_over_the_order():
    stated = {"size": ["small", "S", "M", "L"]}
    made = release(
        PEOPLE, epsilon=20, schema=SCHEMA, bounds={"age": (0, 99)}, categories=stated, rows_per_person=2,
        mechanism="histogram",
    )  # fmt: skip
    (domain,) = [column for column in made.manifest["domain"] if column["name"] == "size"]
    assert list(domain["categories"]) == stated["size"]


def test_the_command_takes_a_schema(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    words = ["dp", "people.csv", "--epsilon", "20", "--schema", "schema.toml", "--bounds", "age=0..99", "--mechanism",
             "histogram", "--rows-per-person", "2", "-o", "private.csv"]  # fmt: skip
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert set(pl.read_csv("private.csv").columns) == {"age", "size"}
    assert CliRunner().invoke(app, [*words[:-1], "schema.toml", "--force"]).exit_code != 0
    assert (tmp_path / "schema.toml").read_text(encoding="utf-8") == SCHEMA
