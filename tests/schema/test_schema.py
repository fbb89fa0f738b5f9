import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError, UnknownColumn
from shoal.schema.column_words import bare_schema
from shoal.schema.columns import Column, Kind, Missing, Recode, Role, Schema
from shoal.schema.inference import infer_schema
from shoal.schema.requirements import PersonOptions
from shoal.schema.toml import format_schema, parse_schema
from shoal.tables import Table

PEOPLE = Table.from_native(
    pl.DataFrame(
        {
            "patientId": [f"P{i}" for i in range(40)],
            "code": list(range(100, 140)),
            "age": [30 + i % 7 for i in range(40)],
            "sex": ["f", "m"] * 20,
            "grade": pl.Series(["low", "high"] * 20, dtype=pl.Enum(["low", "high"])),
            "diagnosis": ["A", "B"] * 20,
            "visits": [1.5, 2.5] * 20,
            "wave": [3] * 40,
        }
    )
)


def test_inference_guesses_roles_and_kinds_with_reasons():
    found = {column.name: column for column in infer_schema(PEOPLE).columns}
    assert found["patientId"].role == Role.IDENTIFIER
    assert found["code"].role == Role.IDENTIFIER
    assert "every value differs" in found["code"].reason
    assert (found["age"].role, found["age"].kind) == (Role.QUASI, Kind.NUMERIC)
    assert (found["grade"].kind, found["grade"].order) == (Kind.ORDINAL, ("low", "high"))
    assert found["diagnosis"].role == Role.CONFIDENTIAL
    assert found["visits"].role == Role.CONFIDENTIAL
    assert (found["wave"].role, found["wave"].reason) == (Role.OTHER, "every record has the same value; numbers")
    assert all(column.reason for column in found.values())


def test_the_drafted_file_reads_back_as_the_same_schema():
    drafted = infer_schema(PEOPLE)
    read = parse_schema(format_schema(drafted, "people.csv"), bare_schema(PEOPLE))
    assert [(c.name, c.role, c.kind, c.order) for c in read.columns] == [
        (c.name, c.role, c.kind, c.order) for c in drafted.columns
    ]


def test_every_choice_survives_the_file():
    schema = Schema(
        (
            Column('odd "name" ☃\n', Role.QUASI, Kind.ORDINAL, weight=2.5, order=("a<b", 'c"')),
            Column("y", Role.QUASI, Kind.NUMERIC, recode=Recode.MEDIAN, missing=Missing.IMPUTE),
            Column("region", Role.OTHER, Kind.NOMINAL),
            Column("w", Role.OTHER, Kind.NUMERIC),
        ),
        strata=("region",),
        sampling_weight="w",
        missing=Missing.BY_PATTERN,
    )
    bare = Schema(tuple(Column(column.name, Role.OTHER, column.kind) for column in schema.columns))
    read = parse_schema(format_schema(schema), bare)
    assert (read.strata, read.sampling_weight, read.missing) == (("region",), "w", Missing.BY_PATTERN)
    for column, back in zip(schema.columns, read.columns, strict=True):
        assert (column.name, column.role, column.kind, column.weight, column.order, column.recode, column.missing) == (
            back.name, back.role, back.kind, back.weight, back.order, back.recode, back.missing,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x = [", SchemaError, "not valid TOML"),
        ("colums = 1", SchemaError, 'unknown entry "colums"; did you mean "columns"'),
        ("columns = 1", SchemaError, r"\[columns.age\]"),
        ("[columns.agee]\nrole='quasi'", UnknownColumn, 'column "agee" is not in the table; did you mean "age"'),
        ("[columns.age]\nrol='quasi'", SchemaError, 'unknown entry "rol"; did you mean "role"'),
        ("[columns.age]\nrole='quazi'", ParameterError, 'role="quazi" is not known; did you mean "quasi"'),
        ("[columns.age]\nkind='numerik'", ParameterError, "did you mean"),
        ("[columns.age]\nweight='much'", SchemaError, "weight must be a number"),
        ("[columns.age]\nweight=-1", SchemaError, "weight=-1.0 must be a finite number"),
        ("[columns.sex]\nrecode='mean'", SchemaError, 'column "sex" is nominal and has no mean; choose one of'),
        ("[columns.sex]\norder='a'", SchemaError, "order must be a list"),
        ("strata = 'sex'", SchemaError, "must be a list of column names"),
        ("strata = ['sexx']", UnknownColumn, 'did you mean "sex"'),
    ],
)
def test_mistakes_in_the_file_are_named(text, error, message):
    with pytest.raises(error, match=message):
        parse_schema(text, bare_schema(PEOPLE))


def test_columns_without_a_role_in_the_file_are_undecided():
    read = parse_schema("[columns.age]\nrole = 'quasi'\n[columns.sex]\nkind = 'nominal'", bare_schema(PEOPLE))
    assert read.undecided == [name for name in PEOPLE.names if name != "age"]
    assert parse_schema("unnamed = 'identifiers'", bare_schema(PEOPLE)).unnamed == Role.IDENTIFIER


def test_arguments_override_a_schema():
    schema = bare_schema(PEOPLE).updated(quasi=["age", "sex"]).updated(quasi=["age"], kinds={"age": "nominal"})
    assert [column.name for column in schema.quasi] == ["age"]
    assert schema["age"].kind == Kind.NOMINAL


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quasi": ["agee"]}, 'did you mean "age"'),
        ({"quasi": ["age"], "confidential": ["age"]}, 'column "age" is given two roles'),
        ({"quasi": ["sex"], "recode": "mean"}, 'column "sex" is nominal and has no mean'),
        ({"quasi": ["age"], "strata": ["age"]}, "cannot be a stratum and a quasi-identifier at once"),
        ({"identifiers": ["age"], "sampling_weight": "age"}, "cannot be the sampling weight and an identifier"),
        ({"column_weights": {"age": float("nan")}}, "must be a finite number"),
        ({"missing": "drop"}, 'missing="drop" is not known'),
        ({"orders": {"sex": ["f", "f"]}}, "names a category twice"),
    ],
)
def test_choices_that_do_not_fit_are_refused(changes, message):
    with pytest.raises((SchemaError, ParameterError), match=message):
        bare_schema(PEOPLE).updated(**changes)


def test_a_released_table_is_verified_by_the_schema_of_the_original():
    text = "[columns.name]\nrole = 'identifier'\n[columns.age]\nrole = 'quasi'\n"
    people = pl.DataFrame({"name": ["Ann", "Bob"], "age": [30, 30]})
    released = shoal.protect(people, 2, schema=text, method="mdav")
    assert shoal.verify(released.data, 2, schema=text).k == 2
    assert shoal.verify(released.data, 2, schema=released.schema).k == 2
    with pytest.raises(UnknownColumn, match='"name"'):
        shoal.protect(released.data, 2, schema=text)
    with pytest.raises(UnknownColumn, match='"agee"'):
        shoal.verify(released.data, 2, schema="[columns.agee]\nrole = 'quasi'\n")


def test_a_suppressed_row_costs_as_much_as_the_mean_unless_something_else_is_stated():
    assert PersonOptions(suppressed_weight=1.0) == PersonOptions()
    assert PersonOptions(suppressed_weight=1.0).given() == {}
    assert PersonOptions(suppressed_weight=2.0).given() == {"suppressed_weight": 2.0}
