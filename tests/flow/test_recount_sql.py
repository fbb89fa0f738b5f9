"""The SQL of the manifest counts what Shoal counts, in DuckDB and SQLite, for any column names."""

import sqlite3

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.recount_file import recount_entry
from shoal.privacy.k_anonymity import count_classes
from shoal.tables import Table

NAMES = ['the "net" income', "größe", "select", "order by", "a,b", "x'y", "--", "名前", "tab\tname", "%s", ";drop", "K"]


def in_sqlite(frame, statement):
    """Run a statement on a frame in SQLite."""
    database = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
    database.execute(f"CREATE TABLE released ({columns})")
    marks = ", ".join("?" for _ in frame.columns)
    database.executemany(f"INSERT INTO released VALUES ({marks})", frame.rows())
    cursor = database.execute(statement)
    return dict(zip([entry[0] for entry in cursor.description], cursor.fetchone(), strict=True))


def in_duckdb(source, statement):
    """Run a statement on a file in DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    database = duckdb.connect()
    path = str(source).replace("'", "''")
    reader = f"read_csv('{path}', all_varchar=true)" if source.suffix == ".csv" else f"read_parquet('{path}')"
    database.execute(f"CREATE VIEW released AS SELECT * FROM {reader}")
    found = database.execute(statement)
    return dict(zip([entry[0] for entry in found.description], found.fetchone(), strict=True))


def odd_release(names=NAMES, **changes):
    """Protect a table whose columns have odd names; the last two are confidential."""
    people = shoal.datasets.patients(120)
    columns = {
        name: people[("age", "income", "sex", "region", "height")[number % 5]] for number, name in enumerate(names)
    }
    frame = pl.DataFrame(columns).with_columns(
        pl.Series(names[-2], [None if row % 7 == 0 else row % 3 for row in range(120)]),
        pl.Series(names[-1], people["diagnosis"]),
    )
    return shoal.protect(
        frame, 3, quasi=names[:-2], confidential=names[-2:], method="mdav", missing="by-pattern", **changes
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_duckdb_recounts_k_and_l_of_a_released_file(tmp_path, ending):
    release = odd_release(l=2)
    file = release.write(tmp_path / f"it's.{ending}")[0]
    found = in_duckdb(file, release.manifest["recount"]["sql"])
    assert found["k"] == release.k
    assert found["classes"] == release.classes.sizes.size
    assert [found["l1"], found["l2"]] == [release.assessment.columns[name].l for name in NAMES[-2:]]
    assert list(release.manifest["recount"]["result"].values())[1:] == NAMES[-2:]


def test_sqlite_recounts_the_same():
    release = odd_release(l=2)
    found = in_sqlite(release.data, release.manifest["recount"]["sql"])
    assert found["k"] == release.k
    assert [found["l1"], found["l2"]] == [release.assessment.columns[name].l for name in NAMES[-2:]]


@settings(max_examples=60)
@given(st.data())
def test_the_statement_counts_as_shoal_does_on_any_table_and_names(data):
    names = data.draw(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12),
            min_size=2,
            max_size=5,
            unique_by=str.casefold,
        )
    )
    rows = data.draw(st.integers(1, 12))
    cell = st.sampled_from([None, "a", "b", ""])
    frame = pl.DataFrame(
        {name: data.draw(st.lists(cell, min_size=rows, max_size=rows)) for name in names},
        schema=dict.fromkeys(names, pl.String),
    )
    found = in_sqlite(frame, recount_entry(names[:-1], names[-1:])["sql"])
    classes = frame.group_by(names[:-1]).agg(pl.col(names[-1]).n_unique().alias("distinct values"))
    assert found["k"] == count_classes(Table.from_native(frame), names[:-1]).k
    assert found["l1"] == classes["distinct values"].min()


def test_a_missing_confidential_value_is_a_value():
    """The plain COUNT(DISTINCT ...) would say 1."""
    frame = pl.DataFrame({"age": [1, 1], "diagnosis": ["a", None]})
    entry = recount_entry(["age"], ["diagnosis"])
    assert in_sqlite(frame, entry["sql"])["l1"] == 2
    plain = entry["sql"].replace(' + MAX(CASE WHEN "diagnosis" IS NULL THEN 1 ELSE 0 END)', "")
    assert in_sqlite(frame, plain)["l1"] == 1


def test_names_that_a_database_would_confuse_have_no_statement():
    """DuckDB calls the second of the columns age and Age by another name, so that a statement would count too much."""
    assert recount_entry(["age", "Age"], [])["sql"] is None
    assert "case" in recount_entry(["age", "Age"], [])["reason"]
    assert recount_entry(["age"], [], ["Age", "age"])["sql"] is None
    assert recount_entry([""], [])["sql"] is None
    assert recount_entry(["age"], ["age"])["sql"] is not None
