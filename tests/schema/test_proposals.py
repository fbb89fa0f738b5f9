"""Proposals for roles and kinds: what names, labels and values say; what they do not say is asked."""

import tomllib
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.errors import ParameterError
from shoal.schema.column_profile import describe_column
from shoal.schema.column_words import bare_schema, infer_kind
from shoal.schema.columns import Column, Kind, Role, Schema, shown_role
from shoal.schema.inference import infer_schema
from shoal.schema.kind_proposal import propose_kind
from shoal.schema.toml import format_schema, parse_schema
from shoal.schema.value_patterns import form_of, ordered_categories
from shoal.tables import Table
from shoal.tables.column_labels import Labels

N = 60


def series(values, name="x"):
    return nw.from_native(pl.Series(name, values), series_only=True)


def proposed(**columns):
    table = Table.from_native(pl.DataFrame({"filler": ["a", "b"] * (N // 2), **columns}))
    return infer_schema(table)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["ann@x.org", "b.c@mail.de"], "e-mail address"),
        (["+49 30 1234567", "0171/1234567"], "telephone number"),
        (["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819"], "IBAN"),
        (["192.168.0.1", "10.0.0.7"], "IP address"),
        (["https://a.b/c", "www.x.de"], "web address"),
        (["123-45-6789", "987-65-4321"], "social security number"),
        (["03.07.2024", "1.12.1999"], "date"),
        (["2024-07", "2024-07-03", "1999"], "date"),
        (["10115", "80331"], "postcode"),
        (["SW1A 1AA", "M1 1AE"], "postcode"),
        (["1984", "1999"], None),
        (["red", "blue"], None),
    ],
)
def test_forms_of_texts(texts, form):
    assert form_of(series(texts)) == form


def test_values_that_identify_are_dropped_whatever_the_name_is():
    found = proposed(contact=[f"p{i}@x.org" for i in range(N)], remark=[
        f"the patient {i} came with a friend and waited for a long time in room {i % 7}" for i in range(N)
    ])  # fmt: skip
    assert [found[name].role for name in ("contact", "remark")] == [Role.IDENTIFIER, Role.IDENTIFIER]
    assert "e-mail" in found["contact"].reason
    assert "free text" in found["remark"].reason


def test_a_column_that_nothing_is_known_about_is_asked():
    found = proposed(qzx=np.arange(N) % 7 / 3)
    assert shown_role(found["qzx"]) == "other?"
    assert "filler" in found.undecided


def test_an_undecided_role_survives_the_file_and_stops_until_it_is_decided():
    found = proposed(qzx=np.arange(N) % 7 / 3, age=np.arange(N))
    text = format_schema(found)
    assert 'role = "other?"' in text
    table = Table.from_native(pl.DataFrame({"filler": ["a"], "qzx": [1.0], "age": [3]}))
    again = parse_schema(text, bare_schema(table))
    assert again.undecided == ["filler", "qzx"]
    with pytest.raises(ParameterError, match="role"):
        parse_schema(text.replace("other?", "othr?"), bare_schema(table))


def test_integer_codes_are_nominal_and_counts_and_years_are_numeric():
    rng = np.random.default_rng(1)
    found = proposed(
        region=rng.integers(1, 5, N), sex=rng.integers(1, 3, N), children=rng.integers(0, 4, N),
        year=rng.integers(2001, 2006, N), nkids=np.minimum(rng.poisson(1, N), 5),
    )  # fmt: skip
    kinds = {column.name: column.kind for column in found.columns}
    assert [kinds[name] for name in ("region", "sex")] == [Kind.NOMINAL] * 2
    assert [kinds[name] for name in ("children", "year", "nkids")] == [Kind.NUMERIC] * 3


def labelled(labels, values=tuple(range(18, 78))):
    frame = pl.DataFrame({"x": values})
    return Table(nw.from_native(frame, eager_only=True), labels=Labels(values={"x": labels}))


def test_one_label_for_missing_values_does_not_make_a_number_nominal():
    table = labelled({99: "refused", -1: "don't know"})
    assert infer_kind(table.typed("x"), table.value_labels("x"))[0] == Kind.NUMERIC
    codes = labelled({1: "yes", 2: "no", 9: "missing"}, [1, 2] * 30)
    assert infer_kind(codes.typed("x"), codes.value_labels("x"))[0] == Kind.NOMINAL
    assert propose_kind(codes.typed("x"), ("x",), codes.value_labels("x"))[0] == Kind.NOMINAL


def test_variable_labels_are_read():
    frame = pl.DataFrame({"v1": range(1_000, 1_000 + N), "v2": np.arange(N) % 7})
    labels = Labels(variable={"v1": "UNIQUE PERSONAL IDENTIFIER", "v2": "Religion of the respondent"})
    found = infer_schema(Table(nw.from_native(frame, eager_only=True), labels=labels))
    assert [found[name].role for name in ("v1", "v2")] == [Role.IDENTIFIER, Role.CONFIDENTIAL]


def test_units_households_times_and_weights():
    person = np.repeat(np.arange(20), 3)
    found = proposed(
        patient_id=person, visit=np.tile([1, 2, 3], 20), hhid=person // 2, pweight=np.linspace(1, 9, N),
        weight=np.linspace(50, 90, N),
    )  # fmt: skip
    assert (found.unit, found.household, found.time) == ("patient_id", "hhid", "visit")
    assert found.sampling_weight == "pweight"
    assert found["weight"].role == Role.QUASI


def test_columns_named_after_another_and_shared_scales_of_answers():
    rng = np.random.default_rng(2)
    answers = {f"zz{letter}": rng.permutation(np.tile([1, 2, 3, 4, 5], N // 5)) for letter in "abc"}
    found = proposed(age=np.arange(N) // 2, dage=np.arange(N) // 3, **answers)
    assert found["dage"].role == Role.QUASI
    assert "named after" in found["dage"].reason
    assert [found[name].role for name in answers] == [Role.CONFIDENTIAL] * 3


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["often", "never", "sometimes"], ("never", "sometimes", "often")),
        (["25-34", "65+", "18-24"], ("18-24", "25-34", "65+")),
        (["10_c", "2_b", "1_a"], ("1_a", "2_b", "10_c")),
        (["red", "green", "blue"], None),
        (["1", "2", "3"], None),
    ],
)
def test_texts_with_an_order(texts, order):
    assert ordered_categories(series(texts)) == order


def test_the_remark_of_a_column_shows_no_value_of_few_records():
    values = ["common"] * 50 + [f"rare{i}" for i in range(9)] + ["planted"]
    table = Table.from_native(pl.DataFrame({"x": values, "y": [*range(N - 1), 987654]}))
    assert "planted" not in describe_column(table, "x")
    assert '"common" (50)' in describe_column(table, "x")
    assert "987654" not in describe_column(table, "y")
    text = format_schema(infer_schema(table), remarks={name: describe_column(table, name) for name in table.names})
    assert "planted" not in text
    assert tomllib.loads(text)["columns"]["x"]["kind"] == "nominal"


def test_a_hostile_label_stays_inside_the_comment():
    text = format_schema(Schema((Column("a", Role.QUASI, Kind.NUMERIC),)), remarks={"a": "x\nrole = 'other'\n[b]"})
    assert tomllib.loads(text)["columns"]["a"]["role"] == "quasi"


def test_questions_are_asked_for_doubtful_columns_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": range(N), "qzx": np.arange(N) % 7 / 3}).write_csv("people.csv")
    words = ["schema", "people.csv", "-o", "people.toml", "--ask"]
    unanswered = CliRunner().invoke(app, words, input="")
    assert unanswered.exit_code != 0
    assert not Path("people.toml").exists()
    result = CliRunner().invoke(app, words, input="wrong\nconf\n\n")
    assert result.exit_code == 0, result.output
    assert "1 of 2 columns are doubtful" in result.output
    assert "choose one of" in result.output
    written = tomllib.loads(Path("people.toml").read_text(encoding="utf-8"))["columns"]
    assert (written["qzx"]["role"], written["age"]["role"]) == ("confidential", "quasi")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_nested_columns_are_asked_about_and_not_compared(library):
    frame = pl.DataFrame({"age": range(N), "visits": [[i, i + 1] for i in range(N)], "device": [{"os": "x"}] * N})
    schema = infer_schema(Table.from_native(frame if library == "polars" else frame.to_arrow()))
    assert [shown_role(column) for column in schema.columns] == ["quasi", "other?", "other?"]
    assert "nested" in schema["visits"].reason
    release = shoal.protect(frame if library == "polars" else frame.to_arrow(), 2, quasi=["age"], unnamed="other")
    assert pl.DataFrame(release)["visits"].to_list() == frame["visits"].to_list()


def test_the_name_comes_before_the_label():
    frame = pl.DataFrame({"educ": ["a", "b", "c"] * (N // 3), "q17": ["a", "b", "c"] * (N // 3)})
    labels = Labels(variable=dict.fromkeys(frame.columns, "What is the last grade that you completed?"))
    schema = infer_schema(Table(nw.from_native(frame, eager_only=True), labels=labels))
    assert [column.role for column in schema.columns] == [Role.QUASI, Role.CONFIDENTIAL]


def test_a_weight_that_is_missing_or_zero_is_that_of_a_body():
    assert proposed(wgt=[float(i + 1) for i in range(N)]).sampling_weight == "wgt"
    for values in ([None, *(float(i + 1) for i in range(N - 1))], [float(i) for i in range(N)]):
        schema = proposed(wgt=values)
        assert schema.sampling_weight is None
        assert schema["wgt"].role == Role.QUASI
