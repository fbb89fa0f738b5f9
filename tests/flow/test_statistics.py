"""Statistics that must hold: before and after, stopping a release like k, never stating figures in public."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.errors import ParameterError, RequirementNotMet, SchemaError
from shoal.flow.checked_statistics import compare_statistics
from shoal.report.page import render_report
from shoal.schema.statistic import FUNCTIONS, WORDS, Statistic, read_statistics
from shoal.schema.toml import format_schema
from shoal.tables import Table

PEOPLE = pl.DataFrame({
    "region": ["n"] * 6 + ["s"] * 6, "income": [8, 9, 10, 20, 21, 22, 5, 6, 7, 30, 31, 32],
    "w": [1.0, 2.0] * 6, "name": [f"p{i}" for i in range(12)],
})  # fmt: skip
ROLES = {"quasi": ["income"], "identifiers": ["name"], "unnamed": "other", "method": "mdav"}
POOR = {"name": "poverty rate", "value": "income < 10", "weight": "w", "domains": ["region"]}


def figures(statistic, before=PEOPLE, after=PEOPLE):
    found = compare_statistics(read_statistics([statistic]), Table.from_native(before), Table.from_native(after))[0]
    return {one.domain: (one.before, one.after) for one in found.figures}


def naive_rate(table, region):
    """The weighted share of records below 10, row by row."""
    rows = [row for row in table.iter_rows(named=True) if row["region"] == region]
    return sum(row["w"] for row in rows if row["income"] < 10) / sum(row["w"] for row in rows)


def test_weights_and_domains_equal_a_loop_over_rows():
    found = figures(POOR)
    assert set(found) == {("n",), ("s",)}
    for region in "ns":
        assert found[(region,)] == pytest.approx((naive_rate(PEOPLE, region),) * 2)


@pytest.mark.parametrize(
    ("statistic", "wanted"),
    [
        ({"name": "x", "value": "income"}, {(): sum(PEOPLE["income"]) / 12}),
        ({"name": "x", "value": "income", "measure": "total", "weight": "w"}, {(): 320.0}),
        ({"name": "x", "sql": "SELECT region, MAX(income) FROM data GROUP BY region;"}, {("n",): 22.0, ("s",): 32.0}),
        ({"name": "x", "function": lambda frame: frame["income"].median()}, {(): 15.0}),
        ({"name": "x", "function": lambda _: {"a": 1, "b": 2.5}}, {("a",): 1.0, ("b",): 2.5}),
    ],
)  # fmt: skip
def test_queries_values_and_functions(statistic, wanted):
    assert {domain: before for domain, (before, _) in figures(statistic).items()} == pytest.approx(wanted)


def test_a_missing_value_is_left_out_of_a_mean():
    table = PEOPLE.with_columns(income=pl.when(pl.col("income") == 5).then(None).otherwise(pl.col("income")))
    assert figures({"name": "x", "value": "income"}, table, table)[()][0] == pytest.approx((201 - 5) / 11)


def test_a_release_within_the_tolerance_is_made_and_stated_without_figures(tmp_path):
    release = shoal.protect(PEOPLE, 3, statistics=[{**POOR, "tolerance": 0.5}], **ROLES)
    assert release.statistics[0].outside == 0
    assert release.manifest["statistics"] == [
        {"name": "poverty rate", "tolerance": 0.5, "relative": None, "required": True}
    ]
    release.write(tmp_path / "safe.csv", public_report=tmp_path / "public.html")
    manifest = json.loads((tmp_path / "safe.manifest.json").read_text(encoding="utf-8"))
    text = json.dumps(manifest["statistics"])
    assert str(release.statistics[0].figures[0].before) not in text
    assert "poverty rate" not in (tmp_path / "public.html").read_text(encoding="utf-8")
    assert shoal.verify_release(tmp_path / "safe.csv", tmp_path / "safe.manifest.json").satisfied


def test_a_statistic_outside_its_tolerance_stops_the_release_and_states_no_figure():
    statistic = {**POOR, "tolerance": 0.0}
    plain = shoal.protect(PEOPLE, 6, **ROLES)
    compared = compare_statistics(read_statistics([statistic]), Table.from_native(PEOPLE), plain.table)[0]
    assert compared.outside == 1  # the mean of six records makes one more record poor
    with pytest.raises(RequirementNotMet, match="poverty rate: 1 of 2 domains are outside") as caught:
        shoal.protect(PEOPLE, 6, statistics=[statistic], **ROLES)
    for figure in compared.figures:
        assert f"{figure.before:.3g}" not in str(caught.value)


def test_relative_and_absolute_tolerances():
    one = Statistic("x", value="income", tolerance=1.0, relative=0.5)
    assert (one.allowed(10), one.allowed(1)) == (5.0, 1.0)
    assert not Statistic("x", value="income").limited


def test_a_domain_that_vanishes_is_outside():
    after = PEOPLE.filter(pl.col("region") == "n")
    found = compare_statistics(
        read_statistics([{**POOR, "tolerance": 5}]), Table.from_native(PEOPLE), Table.from_native(after)
    )[0]
    assert found.outside == 1
    assert found.figures[1].after is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('people.csv')",
        "SELECT * FROM READ_PARQUET ('http://example.org/x')",
        "SELECT * FROM \"read_csv\"('people.csv')",
        "SELECT 1 FROM data, read_json('x')",
        "WITH a AS (SELECT * FROM read_ipc('x')) SELECT 1 FROM a",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE data",
        "SELECT 1; SELECT 2",
        "",
        "SELECT * FROM `read_csv`('people.csv')",
        "SELECT * FROM read_csv/* a */('people.csv')",
        "SELECT * FROM read_csv -- a\n('people.csv')",
        "SELECT $$'$$ FROM read_csv('people.csv')",
        "SELECT E'\\'' FROM read_csv('people.csv')",
        "SELECT U&'\\'' FROM read_csv('people.csv')",
        "SELECT (SELECT MAX(income) FROM read_delta('x')) FROM data",
        "SELECT * FROM polars.sum('people.csv')",
        "SELECT * FROM a_function_of_the_future('people.csv')",
        "SELECT 'read_csv(",
    ],
)
def test_sql_that_reads_files_or_is_no_query_is_refused(sql):
    with pytest.raises(SchemaError, match='statistic "x"'):
        Statistic("x", sql=sql)
    if "read" in sql.casefold() or "future" in sql:
        with pytest.raises(SchemaError, match="no files and no network"):
            Statistic("x", value=f"({sql})")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, QUANTILE_CONT(income, 0.5) FROM data GROUP BY region",
        "SELECT SUM(CASE WHEN (income < 10) THEN w ELSE 0 END) / SUM(w) FROM data WHERE region IN ('n', 'read (all)')",
        "WITH a AS (SELECT region, COUNT(*) AS c FROM data GROUP BY region) SELECT MAX(c) FROM (SELECT c FROM a) AS b",
        "SELECT CORR(income, w) FROM data",
        "SELECT COUNT(DISTINCT region) FROM data",
        "SELECT AVG(CAST(income AS DECIMAL(10,2))) FROM data AS one JOIN (SELECT MAX(w) AS w FROM data) AS o USING (w)",
        'SELECT MAX("read_score (%)") FROM data',
        "SELECT MAX(read_score) FROM data",
        "SELECT ROUND(STDDEV(income), 3) FROM data WHERE UPPER(region) LIKE 'N%' AND (w > 0 OR NOT (w < 1))",
    ],
)
def test_queries_of_the_table_are_not_refused(sql):
    """The wrong version refuses names: columns called read_score are frequent in surveys of schools."""
    table = PEOPLE.with_columns(pl.col("w").alias("read_score (%)"), pl.col("w").alias("read_score"))
    found = figures({"name": "x", "sql": sql}, table, table)
    assert all(before is not None and before == after for before, after in found.values())


def test_no_function_and_no_word_of_the_lists_makes_a_table():
    table = pl.DataFrame({"x": [1.0]})
    for name in sorted((FUNCTIONS | WORDS) - {"values"}):  # VALUES gives back its own text
        with pytest.raises((pl.exceptions.PolarsError, ValueError)):
            pl.SQLContext({"data": table}, eager=True).execute(f"SELECT * FROM {name}('people.csv')")


def test_what_the_list_does_not_know_is_found_in_the_plan(tmp_path, monkeypatch):
    """A function that is wrongly on the list: the plan of its query has a file, and nothing is computed."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    monkeypatch.setattr("shoal.schema.statistic.FUNCTIONS", FUNCTIONS | {"read_csv"})
    with pytest.raises(ParameterError, match="cannot be computed"):
        figures({"name": "x", "sql": f"SELECT COUNT(*) FROM read_csv('{tmp_path / 'people.csv'}')"})


def test_a_query_that_makes_polars_panic_ends_in_one_sentence():
    with pytest.raises(ParameterError, match="cannot be computed"):
        figures({"name": "x", "sql": "SELECT COALESCE() FROM data"})


def test_what_polars_would_read_without_the_check(tmp_path):
    """The wrong version: the SQL of polars opens files."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    query = f"SELECT COUNT(*) AS c FROM read_csv('{tmp_path / 'people.csv'}')"
    assert pl.SQLContext(eager=True).execute(query)["c"][0] == 12
    with pytest.raises(SchemaError):
        Statistic("x", sql=query)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "x"}, "give one of sql, value and function"),
        ({"name": "x", "value": "a", "sql": "SELECT 1"}, "give one of"),
        ({"name": "", "value": "a"}, "needs a name"),
        ({"value": "a"}, "needs a name"),
        ({"name": "x", "value": "a", "tolerance": -1}, "tolerance must be a number"),
        ({"name": "x", "value": "a", "tolerance": float("nan")}, "tolerance must be"),
        ({"name": "x", "value": "a", "measure": "median"}, "mean or total"),
        ({"name": "x", "sql": "SELECT 1", "weight": "w"}, "belong to a value"),
        ({"name": "x", "value": "a", "tolerence": 1}, "tolerance"),
    ],
)
def test_wrong_entries_are_refused(entry, message):
    with pytest.raises(SchemaError, match=message):
        read_statistics([entry])


def test_a_failing_query_or_function_quotes_no_values():
    with pytest.raises(ParameterError, match=r'statistic "x" cannot be computed on the original table') as caught:
        figures({"name": "x", "sql": "SELECT CAST(region AS INT) FROM data"})
    assert "'n'" not in str(caught.value)

    def fails(frame):
        raise ValueError(str(frame["income"].to_list()))

    with pytest.raises(ParameterError, match="failed on the original table") as caught:
        figures({"name": "x", "function": fails})
    assert "22" not in str(caught.value)
    with pytest.raises(ParameterError, match="two figures for one domain"):
        figures({"name": "x", "sql": "SELECT region, income FROM data"})


def test_direct_identifiers_are_not_visible_to_sql():
    with pytest.raises(ParameterError, match="cannot be computed"):
        shoal.protect(PEOPLE, 3, statistics=[{"name": "x", "sql": "SELECT COUNT(name) FROM data"}], **ROLES)


def test_schema_files_and_run_files_keep_statistics(tmp_path):
    release = shoal.protect(PEOPLE, 3, statistics=[{**POOR, "tolerance": 0.5}], **ROLES)
    text = format_schema(release.schema)
    assert "[[statistics]]" in text
    again = shoal.protect(PEOPLE, 3, schema=text, method="mdav")
    assert again.schema.statistics == release.schema.statistics
    assert again.plan.digest() != shoal.protect(PEOPLE, 3, **ROLES).plan.digest()
    with pytest.raises(SchemaError, match="Python function"):
        format_schema(release.schema.updated(statistics=[{"name": "f", "function": len}]))
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "s.toml").write_text('[[statistics]]\nname = "poor"\nvalue = "income < 10"\ntolerance = 0.9\n')
    words = ["protect", str(tmp_path / "people.csv"), "-k", "3", "--quasi", "income", "--identifiers", "name",
             "--unnamed", "other", "--method", "mdav", "--statistics", str(tmp_path / "s.toml"),
             "-o", str(tmp_path / "safe.csv"), "--save", str(tmp_path / "run.toml")]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "poor: within its tolerance" in done.output
    assert "[[schema.statistics]]" in (tmp_path / "run.toml").read_text(encoding="utf-8")
    repeated = CliRunner().invoke(app, ["run", str(tmp_path / "run.toml"), "--force"])
    assert repeated.exit_code == 0, repeated.output


def test_the_command_line_ends_with_code_1_and_writes_nothing(tmp_path, monkeypatch):
    PEOPLE.write_csv(tmp_path / "people.csv")
    (tmp_path / "s.toml").write_text('[[statistics]]\nname = "poor"\nvalue = "income < 10"\ntolerance = 0\n')
    words = ["protect", str(tmp_path / "people.csv"), "-k", "6", "--quasi", "income", "--identifiers", "name",
             "--unnamed", "other", "--method", "mdav", "--statistics", str(tmp_path / "s.toml"),
             "-o", str(tmp_path / "safe.csv")]  # fmt: skip
    from shoal.cli.application import main

    monkeypatch.setattr("sys.argv", ["shoal", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert not (tmp_path / "safe.csv").exists()
    assert not (tmp_path / "safe.manifest.json").exists()


def test_report_and_comparison_show_statistics():
    release = shoal.protect(PEOPLE, 3, statistics=[{**POOR, "tolerance": 0.9}], **ROLES)
    text = render_report(release.released, release._original)
    assert '<h2 id="data-utility">Data utility</h2>' in text
    assert "poverty rate: within its tolerance in all 2 domains" in text
    assert "data-utility" not in render_report(release.released, None, public=True)
    roles = {name: value for name, value in ROLES.items() if name != "method"}
    compared = shoal.compare(PEOPLE, [3, 6], methods=["mdav"], statistics=[{**POOR, "tolerance": 0.0}], **roles)
    assert compared.combinations[1].statistics_outside == 1
    assert "statistics" in str(compared)


def test_files_of_statistics_are_checked(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        read_statistics(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("x = 1")
    with pytest.raises(SchemaError, match=r"\[\[statistics\]\]"):
        read_statistics(tmp_path / "bad.toml")
    with pytest.raises(SchemaError, match="same name"):
        read_statistics([POOR, POOR])
