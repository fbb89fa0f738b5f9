"""A column without a stated role is released by no command and counted by none until somebody decides about it."""

import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

import shoal
from shoal.cli.application import main
from shoal.errors import ParameterError, SchemaError
from shoal.schema.columns import Role
from shoal.schema.inference import infer_schema
from shoal.tables import Table

N = 60
PEOPLE = pl.DataFrame(
    {
        "birth_date": [1950 + i % 50 for i in range(N)],
        "sex": ["f", "m"] * (N // 2),
        "postcode": [10_000 + 7 * (i % 20) for i in range(N)],
        "hobby": [f"h{i % 30}" for i in range(N)],
        "wave": [3] * N,
    }
)
NAMED = {"quasi": ["birth_date", "sex"]}
CALLS = {
    "protect": lambda table, **roles: shoal.protect(table, 3, method="mdav", **roles),
    "compare": lambda table, **roles: shoal.compare(table, 3, methods=["mdav"], **roles),
    "assess": shoal.assess,
    "verify": lambda table, **roles: shoal.verify(table, 1 + 1, **roles),
    "verify with a requirement beyond k": lambda table, **roles: shoal.verify(table, 2, p=1, **roles),
    "evaluate": lambda table, **roles: shoal.evaluate_release(table, table, **roles),
    "load_table": shoal.load_table,
}
COMMANDS = {
    "protect": ["-k", "3", "--method", "mdav", "-o", "out.csv"],
    "compare": ["-k", "3", "--methods", "mdav", "--csv", "out.csv"],
    "assess": [],
    "verify": ["-k", "2"],
    "evaluate": ["people.csv"],
}


def run(*words):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    PEOPLE.write_csv(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("call", CALLS)
def test_every_function_stops_for_columns_that_are_not_named(call):
    with pytest.raises(SchemaError) as problem:
        CALLS[call](PEOPLE, **NAMED)
    text = str(problem.value)
    assert '2 columns have no role: "postcode" (guess: quasi, its name says "postcode")' in text
    assert '"hobby" (guess: other?, nothing shows whether an intruder may know it)' in text
    assert "wave" not in text
    assert "other=" in text
    assert 'unnamed="other"' in text
    assert "\n" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stops_with_exit_code_2_and_writes_nothing(command, folder):
    words = [command, "people.csv", *COMMANDS[command], "--quasi", "birth_date,sex"]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith('shoal: 2 columns have no role: "postcode"')
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["people.csv"]
    for decision in (
        ["--other", "postcode,hobby"],
        ["--unnamed", "other"],
        ["--other", "hobby", "--strata", "postcode"],
    ):
        code, _, err = run(*words, *decision, "--quiet")
        assert "no role" not in err, decision


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "decision",
    [
        {"other": ["postcode", "hobby"]},
        {"other": "postcode", "identifiers": ["hobby"]},
        {"confidential": ["hobby"], "unnamed": "other"},
        {"unnamed": "other"},
        {"unnamed": "identifiers"},
        {"unnamed": "confidential"},
    ],
)
def test_each_decision_is_accepted_everywhere(call, decision):
    try:
        CALLS[call](PEOPLE, **NAMED, **decision)
    except shoal.errors.GroupTooSmall:
        assert call.startswith("verify")


def test_the_decided_role_is_what_happens_to_the_column():
    kept = CALLS["protect"](PEOPLE, **NAMED, other=["postcode"], identifiers=["hobby"])
    assert kept.data.columns == ["birth_date", "sex", "postcode", "wave"]
    assert kept.data["postcode"].equals(PEOPLE["postcode"])
    dropped = CALLS["protect"](PEOPLE, **NAMED, unnamed="identifiers")
    assert dropped.data.columns == ["birth_date", "sex"]
    quasi = CALLS["protect"](PEOPLE, **NAMED, unnamed="quasi")
    assert quasi.data.group_by("birth_date", "sex", "postcode", "hobby").len()["len"].min() >= 3
    assert quasi.schema.named(Role.QUASI) == PEOPLE.columns
    secret = CALLS["protect"](PEOPLE, **NAMED, other=["wave"], unnamed="confidential", l=2)
    assert secret.schema.named(Role.CONFIDENTIAL) == ["postcode", "hobby"]


def test_without_the_check_an_unnamed_column_goes_out_and_singles_records_out(monkeypatch):
    """The wrong version: every unnamed column is *other*, as it was before roles had to be stated."""
    from shoal.schema import inference

    right = inference.decide_roles
    monkeypatch.setattr(
        inference, "decide_roles", lambda table, schema, **_: right(table, schema.updated(unnamed="other"))
    )
    released = CALLS["protect"](PEOPLE, **NAMED).data
    assert released["postcode"].equals(PEOPLE["postcode"])
    assert released.group_by("birth_date", "sex", "postcode").len()["len"].min() < 3
    with pytest.raises(pytest.fail.Exception):
        test_every_function_stops_for_columns_that_are_not_named("protect")


def test_verify_counts_columns_that_unnamed_makes_quasi_identifiers():
    with pytest.raises(shoal.errors.GroupTooSmall):
        shoal.verify(PEOPLE, 2, quasi=["sex"], unnamed="quasi")
    assert shoal.verify(PEOPLE, 2, quasi=["sex"], unnamed="other").k == N // 2


def test_verify_names_a_column_that_does_not_exist():
    with pytest.raises(SchemaError, match='column "hobbby" is not in the table; did you mean "hobby"'):
        shoal.verify(PEOPLE, 2, quasi=["sex"], other=["hobbby"], unnamed="other")


def test_a_schema_decides_about_its_columns_only(folder):
    drafted = infer_schema(Table.from_native(PEOPLE))
    assert drafted.undecided == ["hobby"]
    with pytest.raises(SchemaError, match=r'1 column has no role: "hobby" \(guess: other\?'):
        CALLS["protect"](PEOPLE, schema=drafted)
    drafted = drafted.updated(other=["hobby"])
    assert CALLS["protect"](PEOPLE, schema=drafted).schema.undecided == []
    code, _, err = run("schema", "people.csv", "-o", "people.toml", "--quiet")
    assert code == 0, err
    assert 'role = "other?"' in Path("people.toml").read_text(encoding="utf-8")
    command = ("protect", "people.csv", "-k", 3, "--schema", "people.toml", "-o", "out.csv", "--quiet")
    assert run(*command)[0] == 2
    assert not Path("out.csv").exists()
    assert run(*command, "--unnamed", "other")[0] == 0
    part = "[columns.birth_date]\nrole = 'quasi'\n[columns.sex]\nkind = 'nominal'\n"
    with pytest.raises(SchemaError, match='3 columns have no role: "sex"'):
        CALLS["protect"](PEOPLE, schema=part)
    assert CALLS["protect"](PEOPLE, schema=f"unnamed = 'other'\n{part}").schema["sex"].role == Role.OTHER
    with pytest.raises(ParameterError, match='unnamed="all" is not known; choose from: other, quasi, ident'):
        CALLS["protect"](PEOPLE, schema=f"unnamed = 'all'\n{part}")
    wider = PEOPLE.with_columns(job=pl.Series([f"j{i % 9}" for i in range(N)]))
    with pytest.raises(SchemaError, match='1 column has no role: "job"'):
        CALLS["protect"](wider, schema=drafted)


def test_a_column_that_loses_its_role_needs_another_one():
    schema = "".join(f"[columns.{name}]\nrole = 'quasi'\n" for name in PEOPLE.columns)
    with pytest.raises(SchemaError, match='2 columns have no role: "postcode"'):
        CALLS["protect"](PEOPLE, schema=schema, quasi=["birth_date", "sex"])
    kept = CALLS["protect"](PEOPLE, schema=schema, quasi=["birth_date", "sex"], other=["postcode", "hobby", "wave"])
    assert kept.schema.named(Role.OTHER) == ["postcode", "hobby", "wave"]


def test_a_plan_releases_no_column_that_its_schema_does_not_have():
    plan = CALLS["protect"](PEOPLE.drop("postcode"), **NAMED, unnamed="other").plan
    with pytest.raises(SchemaError, match='1 column has no role: "postcode"'):
        shoal.run_plan(Table.from_native(PEOPLE), plan)
    _, schema = shoal.load_table(PEOPLE, **NAMED, unnamed="other")
    fewer = schema.updated(quasi=["birth_date"])
    table = Table.from_native(PEOPLE)
    with pytest.raises(SchemaError, match='1 column has no role: "sex"'):
        shoal.prepare(table, shoal.fit_encoding(table, fewer))


def test_a_column_that_is_constant_only_at_the_beginning_of_a_file_is_not_guessed_other(tmp_path):
    long = pl.DataFrame({"age": [20 + i % 60 for i in range(5_000)], "flag": [0] * 4_999 + [1]})
    long.write_csv(tmp_path / "long.csv")
    with pytest.raises(SchemaError, match='1 column has no role: "flag"'):
        shoal.protect(tmp_path / "long.csv", 3, quasi=["age"], method="mdav")


def test_few_equal_values_say_nothing():
    with pytest.raises(SchemaError, match='"flag"'):
        shoal.protect(pl.DataFrame({"age": [1, 2, 3, 4], "flag": [0] * 4}), 2, quasi=["age"])


@pytest.mark.parametrize("name", ["diagnosis", "Sex", "test_result", "name"])
def test_a_constant_column_with_a_telling_name_has_to_be_named(name):
    table = PEOPLE.select("birth_date").with_columns(pl.lit("x").alias(name))
    with pytest.raises(SchemaError, match=f'1 column has no role: "{name}"'):
        shoal.protect(table, 3, quasi=["birth_date"])


def test_many_columns_are_counted_and_the_first_ones_listed():
    wide = PEOPLE.with_columns(pl.Series(f"c{j}", range(N)) for j in range(100))
    with pytest.raises(SchemaError) as problem:
        shoal.protect(wide, 3, **NAMED)
    assert str(problem.value).startswith("102 columns have no role: ")
    assert " more; name each with" in str(problem.value)
    assert str(problem.value).endswith('unnamed="other"')


def test_the_manifest_has_the_decided_roles(folder):
    words = [
        "--quasi",
        "birth_date,sex",
        "--other",
        "postcode",
        "--unnamed",
        "identifiers",
        "-o",
        "safe.csv",
        "--quiet",
    ]
    assert run("protect", "people.csv", "-k", 3, *words)[0] == 0
    entries = json.loads((folder / "safe.manifest.json").read_text())["schema"]["columns"]
    roles = {entry["name"]: entry["role"] for entry in entries}
    assert roles == {
        "birth_date": "quasi", "sex": "quasi", "postcode": "other", "hobby": "identifier", "wave": "identifier",
    }  # fmt: skip
    assert pl.read_csv("safe.csv").columns == ["birth_date", "sex", "postcode"]


def test_a_guess_from_the_first_records_says_so(tmp_path):
    rows = [f"{20 + i % 50},{'yes' if i < 1500 else 'no'}" for i in range(1600)]
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["age,flag", *rows[:900]]) + "\n")
    assert shoal.protect(file, 5, quasi=["age"]).k >= 5  # one value in all records: released unchanged
    file.write_text("\n".join(["age,flag", *rows]) + "\n")
    with pytest.raises(SchemaError, match='1 column has no role: "flag"'):  # two values in all records
        shoal.protect(file, 5, quasi=["age"])
    file.write_text("\n".join(["age,job", *rows[:900]]) + "\n")
    with pytest.raises(SchemaError, match='1 column has no role: "job"'):
        shoal.protect(file, 5, quasi=["age"])
    file.write_text("\n".join(["age,job", *rows]) + "\n")
    with pytest.raises(SchemaError, match='1 column has no role, guessed from the first 1,000 records: "job"'):
        shoal.protect(file, 5, quasi=["age"])
