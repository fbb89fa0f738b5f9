"""Groups that a user brings: taken as they are, or refused."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.errors import DataError, GroupTooLarge, GroupTooSmall, ParameterError, SchemaError, UnknownColumn

PEOPLE = pl.DataFrame({
    "age": [30, 32, 60, 62, 61, 33],
    "income": [10.0, 20.0, 50.0, 70.0, 60.0, 15.0],
    "diagnosis": ["A", "B", "A", "C", "A", "B"],
    "g": ["x", "x", "y", "y", "y", "x"],
})  # fmt: skip
ROLES = {"quasi": ["age", "income"], "confidential": ["diagnosis"], "accept_loss": True}


def means_of_groups(values, labels):
    """The obvious version: the exact mean of the records with the same label."""
    sums = dict.fromkeys(labels, Fraction())
    for value, label in zip(values, labels, strict=True):
        sums[label] += Fraction(value)
    return [float(sums[label] / labels.count(label)) for label in labels]


def test_a_column_states_the_groups_and_is_not_released():
    release = shoal.protect(PEOPLE, 3, labels="g", decimals="full", sums="exact", **ROLES)
    assert release.data.columns == ["age", "income", "diagnosis"]
    assert release.data["income"].to_list() == means_of_groups(PEOPLE["income"], PEOPLE["g"].to_list())
    method = json.loads(release.manifest_json())["method"]
    assert method["requested"]["name"] == method["resolved"][0]["name"] == "labels:g"


def test_a_column_with_another_role_is_released():
    release = shoal.protect(PEOPLE, 3, labels="g", other=["g"], **ROLES)
    assert release.data["g"].to_list() == PEOPLE["g"].to_list()


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 3)), min_size=4, max_size=30),
    st.sampled_from(["polars", "pandas", "pyarrow"]),
)
def test_labels_of_any_size_give_the_means_of_their_groups_or_an_error(rows, library):
    values, labels = map(list, zip(*rows, strict=True))
    frame = pl.DataFrame({"a": values})
    if library == "pandas":  # an index that is not the order of the rows
        frame = pd.DataFrame({"a": values}, index=np.roll(np.arange(len(values)), 1))
    elif library == "pyarrow":
        frame = frame.to_arrow()

    def protect(labels):
        return shoal.protect(frame, 2, labels=labels, quasi=["a"], decimals="full", sums="exact", accept_loss=True)

    if min(map(labels.count, labels)) < 2:
        with pytest.raises(GroupTooSmall, match="fewer than k=2 records"):
            protect(labels)
        return
    found = protect(labels).data["a"]
    assert (found.to_pylist() if library == "pyarrow" else list(found)) == means_of_groups(values, labels)


def test_the_wrong_version_that_reads_labels_by_the_index_of_pandas_differs():
    frame = pd.DataFrame({"a": [1.0, 2.0, 10.0, 20.0]}, index=[3, 1, 2, 0])
    labels = [0, 0, 1, 1]
    found = shoal.protect(frame, 2, labels=labels, quasi=["a"], decimals="full", sums="exact", accept_loss=True).data[
        "a"
    ]
    by_index = frame.assign(g=pd.Series(labels)).groupby("g")["a"].transform("mean")
    assert list(found) == [1.5, 1.5, 15.0, 15.0] != list(by_index)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"labels": [0, 0, 0, 0, 0, 1]}, GroupTooSmall, "the smallest has 1"),
        ({"labels": [0, 1]}, ParameterError, "for each of the 6 records"),
        ({"labels": [0.5] * 6}, ParameterError, "one integer or text"),
        ({"labels": [[0], [1, 2]]}, ParameterError, "one integer or text"),
        ({"labels": "h"}, UnknownColumn, '"h" is not in the table'),
        ({"labels": "age"}, SchemaError, "cannot hold the groups"),
        ({"labels": "g", "method": "mdav"}, ParameterError, "no method runs"),
        ({"labels": "g", "options": {"effort": "best"}}, ParameterError, 'no option "effort"'),
        ({"labels": "g", "max_size": 2, "k": 2}, GroupTooLarge, "more than 2 records"),
        ({"labels": "g", "previous": "nowhere.json"}, ParameterError, "states other groups"),
    ],
)
def test_groups_that_cannot_be_released_are_refused(arguments, error, text):
    arguments = {"k": 3, **ROLES, **arguments}
    people = PEOPLE if arguments["labels"] == "g" else PEOPLE.drop("g")
    with pytest.raises(error, match=text):
        shoal.protect(people, arguments.pop("k"), **arguments)


def test_groups_across_strata_and_records_without_a_group_are_refused():
    people = PEOPLE.with_columns(ward=pl.Series(["n", "s"] * 3))
    with pytest.raises(DataError, match='2 of 2 groups in "g" cross strata'):
        shoal.protect(people, 3, labels="g", strata=["ward"], **ROLES)
    with pytest.raises(DataError, match="1 of 6 records have no group"):
        shoal.protect(PEOPLE.with_columns(g=pl.Series(["x", None, "x", "y", "y", "y"])), 3, labels="g", **ROLES)
    with pytest.raises(ParameterError, match="the table has a column"):
        shoal.protect(PEOPLE.rename({"g": "labels"}), 3, labels=[0] * 6, **ROLES)
    with pytest.raises(DataError, match="read from a column of a table"):
        shoal.group([[0.0], [1.0]], 2, method="labels:g")


def test_strata_that_the_groups_respect_are_accepted():
    release = shoal.protect(PEOPLE.with_columns(h=pl.col("g")), 3, labels="h", strata=["g"], **ROLES)
    assert release.k == 3


def test_requirements_beyond_k_join_groups_and_say_so():
    people = pl.DataFrame({"a": [1, 1, 2, 2, 3, 3, 9, 9], "d": list("AABBACBC"), "g": [0, 0, 1, 1, 2, 2, 3, 3]})
    release = shoal.protect(people, 2, labels="g", quasi=["a"], confidential=["d"], l=2, accept_loss=True)
    assert shoal.verify(release.data, 2, quasi=["a"], confidential=["d"], l=2)
    assert json.loads(release.manifest_json())["method"]["steps"] != []


def test_groups_of_rows_are_refused_where_whole_persons_are_grouped():
    stays = shoal.datasets.stays(60).with_columns(g=pl.lit(1))
    with pytest.raises(ParameterError, match="groups of whole persons"):
        shoal.protect(
            stays, 3, labels="g", unit="patient_id", quasi=["sex", "birth_year"], constant=["sex"], unnamed="other"
        )


def test_engines_that_protect_parts_of_a_table_refuse_groups_of_your_own(tmp_path):
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    with pytest.raises(ParameterError, match="groups of your own"):
        shoal.protect(
            tmp_path / "people.parquet", 3, labels="g", engine="disk", output=tmp_path / "out.parquet", **ROLES
        )
    assert not (tmp_path / "out.parquet").exists()


def test_assessing_groups_counts_them_like_equivalence_classes():
    found = shoal.assess(PEOPLE, quasi=["g"], confidential=["diagnosis"], unnamed="other").figures()
    assert (found["k"], found["l"]) == (3, 2)


def test_compare_shows_groups_of_your_own_beside_methods(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    lines = shoal.compare(
        tmp_path / "people.csv", 3, methods=["mdav", "labels:g"], quasi=["age", "income"], identifiers=["g"],
        confidential=["diagnosis"],
    )  # fmt: skip
    assert [line.method for line in lines] == ["mdav", "labels:g"]
    first, second = lines
    assert first.information_loss == pytest.approx(second.information_loss)


def test_the_command_line_and_a_run_file_take_groups_of_a_column(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    common = [str(tmp_path / "people.csv"), "--quasi", "age,income", "--confidential", "diagnosis", "--labels", "g"]
    run = CliRunner().invoke(
        app,
        ["protect", *common, "-k", "3", "-o", str(tmp_path / "a.csv"), "--save", str(tmp_path / "run.toml")],
    )
    assert run.exit_code == 0, run.output
    first = (tmp_path / "a.csv").read_bytes()
    assert CliRunner().invoke(app, ["run", str(tmp_path / "run.toml"), "--force"]).exit_code == 0
    assert (tmp_path / "a.csv").read_bytes() == first
    assert b"g\n" not in first.splitlines(keepends=True)[0]
    small = CliRunner().invoke(app, ["protect", *common, "-k", "4", "-o", str(tmp_path / "b.csv")])
    assert isinstance(small.exception, GroupTooSmall)
    assert not (tmp_path / "b.csv").exists()
