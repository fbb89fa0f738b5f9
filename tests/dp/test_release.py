"""Tables in, tables under differential privacy out: from Python and from the command line."""

import hashlib
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime
from io import StringIO
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal import datasets, dp
from shoal.cli.application import main
from shoal.errors import DataError, ParameterError, SchemaError, UnknownColumn

BOUNDS = {"age": (0, 110), "income": (0, 100_000)}
SEXES = ["female", "male", "other"]
OPTIONS = {
    "mondrian": {"k": 20},
    "histogram": {"cells": 5},
    "intervals": {"alpha": 0.9, "records": 200},
    "insensitive": {"k": 100},
    "strongly-safe": {"k": 5, "delta": 1e-3, "cells": 3},
    "epsilon-safe": {"k": 5, "delta": 1e-3},
    "small-db": {"cells": 2, "alpha": 0.7},
}


@pytest.fixture(scope="module")
def people():
    return datasets.patients(600)


def run(*arguments):
    out, err = StringIO(), StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return SimpleNamespace(returncode=code or 0, stdout=out.getvalue(), stderr=err.getvalue())


@pytest.mark.parametrize("mechanism", OPTIONS)
def test_every_mechanism_releases_a_table_within_its_bounds(people, mechanism):
    made = dp.release(people, epsilon=2.0, mechanism=mechanism, bounds=BOUNDS, **OPTIONS[mechanism])
    assert made.data.columns == ["age", "income"]
    assert made.data.schema == {"age": pl.Int64, "income": pl.Int64}
    assert len(made.data) > 0
    for name, (low, high) in BOUNDS.items():
        assert made.data[name].is_between(low, high).all()
    assert made.guarantee.epsilon == 2.0
    assert made.accountant.spent_epsilon <= 2.0
    assert made.manifest["guarantee"]["epsilon"] == 2.0
    assert made.manifest["budget"]["spent_epsilon"] == made.accountant.spent_epsilon
    assert made.manifest["reproducible"] is False
    assert "no seed" in made.manifest["reason_not_reproducible"]
    json.loads(made.manifest_json())


@pytest.mark.parametrize("mechanism", OPTIONS)
def test_the_manifest_contains_nothing_that_the_guarantee_does_not_cover(people, mechanism):
    made = dp.release(people, epsilon=2.0, mechanism=mechanism, bounds=BOUNDS, **OPTIONS[mechanism])
    public = made.guarantee.neighbours == dp.Neighbours.REPLACE
    assert (made.manifest["input"]["records"] == 600) is public
    assert "sha256" not in made.manifest["input"]["fingerprint"]
    assert ("600" in json.dumps(made.manifest["input"])) is public


def test_microaggregated_releases_are_k_anonymous(people):
    made = dp.release(people, epsilon=3.0, mechanism="mondrian", bounds=BOUNDS, k=20)
    assert made.data.group_by("age", "income").len()["len"].min() >= 20


def test_a_release_with_a_large_budget_is_close_to_the_original(people):
    made = dp.release(people, epsilon=100.0, mechanism="mondrian", bounds=BOUNDS, k=10)
    assert abs(len(made.data) - 600) < 20
    assert made.data["age"].mean() == pytest.approx(people["age"].mean(), abs=2)
    assert made.data["income"].mean() == pytest.approx(people["income"].mean(), rel=0.05)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_release_is_in_the_dataframe_library_of_the_input(people, kind):
    given = kind(people.select("age", "sex").to_dict(as_series=False))
    made = dp.release(given, epsilon=1.0, mechanism="histogram", bounds={"age": (0, 110)}, categories={"sex": SEXES})
    assert isinstance(made.data, type(given))
    assert set(pl.DataFrame(made.data)["sex"].to_list()) <= set(SEXES)


@pytest.mark.parametrize(
    ("values", "bounds", "dtype"),
    [
        ([date(2024, 1, 1), date(2024, 6, 30)] * 100, ("2024-01-01", date(2024, 12, 31)), pl.Date),
        (
            [datetime(2024, 1, 1, 3), datetime(2024, 6, 30, 23)] * 100,
            ("2024-01-01 00:00:00", date(2024, 12, 31)),
            pl.Datetime("us"),
        ),
        ([0.25, 0.75] * 100, (0, 1.0), pl.Float64),
        ([0.25, 0.75] * 100, (0, 1), pl.Int64),
        ([25, 75] * 100, (0.0, 100.0), pl.Float64),
        (pl.Series([1, 7] * 100, dtype=pl.UInt8), (0, 9), pl.Int64),
        (pl.Series([1, 2**64 - 1] * 100, dtype=pl.UInt64), (0, 9), pl.Int64),
        (pl.Series([-1e300, 1e300] * 100), (-1e300, 1e300), pl.Float64),
        (pl.Series([1.5, 2.5] * 100, dtype=pl.Float32), (np.float32(0.5), 3.5), pl.Float64),
        (pl.Series([1, -3] * 100).cast(pl.Decimal(10, 2)), (-5, 5), pl.Int64),
        (["1", "x"] * 100, ("-5", "5"), pl.Int64),
    ],
)
@pytest.mark.parametrize("mechanism", ["histogram", "insensitive", "mondrian"])
def test_the_type_of_a_column_follows_from_its_bounds(values, bounds, dtype, mechanism):
    table = pl.DataFrame({"x": values})
    options = {} if mechanism == "histogram" else {"k": 10}
    made = dp.release(table, epsilon=5.0, mechanism=mechanism, bounds={"x": bounds}, **options)
    assert made.data.schema == {"x": dtype}
    shown = made.manifest["domain"][0]
    assert str(shown["low"]).startswith(str(bounds[0])[:4])


def test_values_beyond_the_bounds_are_replaced_by_them():
    table = pl.DataFrame({"x": [-50, 500] * 200})
    made = dp.release(table, epsilon=20.0, mechanism="histogram", bounds={"x": (0, 9)})
    counts = made.data["x"].value_counts()
    assert set(counts.filter(pl.col("count") > 100)["x"]) == {0, 9}


@pytest.mark.parametrize(
    ("categories", "dtype"), [([1, 2, 3], pl.Int64), (["1", "2", "3"], pl.String), ([True, False], pl.Boolean)]
)
@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2"], [True, False]])
def test_the_type_of_categories_is_the_declared_one(values, categories, dtype):
    made = dp.release(
        pl.DataFrame({"code": values * 100}), epsilon=5.0, mechanism="histogram", categories={"code": categories}
    )
    assert made.data.schema == {"code": dtype}


def test_equal_numbers_are_one_category_whatever_the_type_of_the_column():
    for values in ([1, 2, 2], [1.0, 2.0, 2.0], ["1", "2.0", "02"], [1.0, 2.0, None]):
        table = pl.DataFrame({"code": values * 100})
        made = dp.release(table, epsilon=100.0, mechanism="histogram", categories={"code": ["1", "2"]})
        assert 180 < made.data.filter(code="2").height < 220
    with pytest.raises(SchemaError, match="different categories"):
        dp.release(table, epsilon=1.0, mechanism="histogram", categories={"code": ["1", "01"]})


@pytest.mark.parametrize(
    ("declared", "released"),
    [
        ({"bounds": {"x": (0, 9)}}, 4),
        ({"bounds": {"x": (0, 9)}, "default": {"x": 7}}, 7),
        ({"bounds": {"x": (0.0, 9.0)}}, 4.95),
        ({"bounds": {"x": ("2024-01-01", "2024-01-03")}}, date(2024, 1, 2)),
        ({"bounds": {"x": ("2024-01-01", "2024-01-03")}, "default": {"x": "2024-01-03"}}, date(2024, 1, 3)),
        ({"categories": {"x": ["a", "b", "c"]}}, "c"),
        ({"categories": {"x": ["a", "b", "c"]}, "default": {"x": "a"}}, "a"),
    ],
)
@pytest.mark.parametrize("value", [None, float("nan"), "?", "unheard of"])
def test_missing_and_unreadable_values_count_as_the_default(declared, released, value):
    made = dp.release(
        pl.DataFrame({"x": [value] * 500}), epsilon=20.0, mechanism="histogram", output="microaggregated", **declared
    )
    assert made.data["x"].mode().to_list() == [released]


def test_infinite_values_are_replaced_by_the_bounds():
    table = pl.DataFrame({"x": [-np.inf, np.inf] * 300})
    made = dp.release(table, epsilon=20.0, mechanism="histogram", bounds={"x": (0, 9)})
    assert set(made.data["x"].value_counts().filter(pl.col("count") > 100)["x"]) == {0, 9}


@pytest.mark.parametrize(
    ("bounds", "decimals", "places"), [((0.0, 1.0), None, 5), ((0.0, 1.0), 2, 2), ((0, 1), 3, 3), ((0, 250.5), None, 2)]
)
def test_decimals_are_declared(bounds, decimals, places):
    table = pl.DataFrame({"x": np.linspace(0, 1, 400)})
    made = dp.release(
        table, epsilon=5.0, mechanism="histogram", bounds={"x": bounds}, decimals={"x": decimals} if decimals else None
    )
    values = made.data["x"]
    assert (values == values.round(places)).all()
    assert (values != values.round(places - 1)).any()
    assert made.manifest["domain"][0]["decimals"] == places


def test_a_file_is_read_and_written_with_its_manifest(people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    made = dp.release(tmp_path / "people.csv", epsilon=1.0, bounds=BOUNDS, k=50)
    paths = made.write(tmp_path / "private.csv")
    assert [path.name for path in paths] == ["private.csv", "private.manifest.json"]
    found = json.loads(paths[1].read_text())
    content = paths[0].read_bytes()
    entry = {"file": "private.csv", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert found == made.manifest | {"output": made.manifest["output"] | entry}
    assert pl.read_csv(paths[0]).columns == ["age", "income"]
    assert any("omitted columns" in text and "diagnosis" in text for text in made.warnings)


def test_repr_shows_guarantee_and_budget_in_a_few_lines_and_no_values(people):
    made = dp.release(people, epsilon=2.0, mechanism="strongly-safe", bounds=BOUNDS, k=20, delta=1e-3, cells=3)
    lines = repr(made).splitlines()
    assert lines[0] == f"PrivateRelease: {len(made.data):,} records of age, income; mechanism strongly-safe"
    assert lines[1] == "(2, 0.001)-differential privacy; neighbours: one record more or less"
    assert lines[2] == "privacy budget: epsilon 2 of 2 spent, delta 0.001 of 0.001"
    assert lines[3:] == [f"warning: {text}" for text in made.warnings]
    assert len(lines) <= 5


def test_the_html_of_a_release_lists_its_queries_and_escapes_names():
    table = pl.DataFrame({"<b>": [1, 2] * 100})
    made = dp.release(table, epsilon=1.0, mechanism="mondrian", bounds={"<b>": (0, 9)}, k=20)
    page = made._repr_html_()
    assert all(line.query in page for line in made.accountant.spends)
    assert "records of &lt;b&gt;; mechanism mondrian" in page
    assert "privacy budget: epsilon" in page


def test_two_runs_differ():
    table = pl.DataFrame({"x": [1, 2] * 100})
    made = [dp.release(table, epsilon=0.1, mechanism="histogram", bounds={"x": (0, 50)}) for _ in range(2)]
    # 10 noisy counts of scale 10 agree at random with probability below (1/20)^10
    assert made[0].manifest["output"]["fingerprint"] != made[1].manifest["output"]["fingerprint"]


def test_a_large_epsilon_or_delta_gives_a_warning(people):
    made = dp.release(people, epsilon=50.0, mechanism="strongly-safe", bounds=BOUNDS, k=5, delta=0.2, cells=2)
    assert any("gives hardly any protection" in text for text in made.warnings)
    assert any("delta=0.2" in text for text in made.warnings)
    assert made.manifest["guarantee_if_a_record_is_replaced"] is None


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"bounds": {}}, SchemaError, r'column "name" needs a domain .* categories=\{"name": \["a", "b"\]\}'),
        (
            {"columns": ["age", "height"]},
            SchemaError,
            r'column "height" needs a domain .* bounds=\{"height": \(low, high\)\}',
        ),
        ({"columns": ["age", "region"]}, SchemaError, r'categories=\{"region": \["a", "b"\]\}'),
        ({"bounds": {"age": (110, 0)}}, ParameterError, 'column "age": the lower bound must be below'),
        ({"bounds": {"age": (5, 5)}}, ParameterError, "must be below"),
        ({"bounds": {"age": (0,)}}, ParameterError, "two finite bounds"),
        ({"bounds": {"age": (0, float("inf"))}}, ParameterError, "two finite bounds"),
        ({"bounds": {"age": ("low", "high")}}, ParameterError, "two finite bounds"),
        ({"bounds": {"age": (0, "2024-01-01")}}, ParameterError, "two finite bounds"),
        ({"bounds": {"age": (True, 5)}}, ParameterError, "two finite bounds"),
        ({"bounds": {"age": (0, 2**53 + 1)}}, ParameterError, "integers below"),
        ({"bounds": {"age": (0, 10**400)}}, ParameterError, "two finite bounds"),
        ({"decimals": {"age": 16}}, ParameterError, "decimals=16 must be an integer from 0 to 15"),
        ({"decimals": {"sex": 1}}, SchemaError, 'decimals is given for column "sex"'),
        ({"default": {"sex": "x"}}, SchemaError, 'default is given for column "sex"'),
        ({"default": {"age": 111}}, ParameterError, "within the bounds"),
        ({"default": {"age": "young"}}, ParameterError, "within the bounds"),
        ({"bounds": {"age": ("2024-01-01", "2024-12-31")}, "decimals": {"age": 1}}, ParameterError, "for numbers"),
        ({"bounds": {"agee": (0, 1)}}, UnknownColumn, 'did you mean "age"'),
        ({"categories": {"age": ["1"]}}, SchemaError, "bounds and categories"),
        ({"epsilon": 0}, ParameterError, "epsilon=0 must be"),
        ({"epsilon": -1.0}, ParameterError, "epsilon=-1.0 must be"),
        ({"mechanism": "mondriaan"}, ParameterError, 'did you mean "mondrian"'),
        ({"k": None}, ParameterError, 'mechanism "mondrian" needs k'),
        ({"k": 0}, ParameterError, "k=0"),
        ({"cells": 3}, ParameterError, 'mechanism "mondrian" has no option "cells"'),
        ({"output": "both"}, ParameterError, "choose synthetic or microaggregated"),
        ({"categories": {"sex": ["female", "male"]}}, SchemaError, "needs numbers or dates"),
    ],
)
def test_wrong_input_raises_an_error_with_a_way_out(people, change, error, text):
    given = {"epsilon": 1.0, "mechanism": "mondrian", "bounds": BOUNDS, "k": 20} | change
    with pytest.raises(error, match=text):
        dp.release(people, **given)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mechanism": "strongly-safe", "k": 5}, "needs delta"),
        ({"mechanism": "strongly-safe", "k": 5, "delta": 0.0}, "needs delta above 0"),
        ({"mechanism": "strongly-safe", "k": 5, "delta": 1.0}, "delta=1.0"),
        ({"mechanism": "insensitive", "k": 601}, "k=601 needs at least 601 records"),
        ({"mechanism": "histogram", "cells": 0}, "cells=0"),
        ({"mechanism": "histogram", "cells": 50_000}, "too large to count"),
        ({"mechanism": "histogram", "neighbours": "friends"}, "choose add-remove or replace"),
        ({"mechanism": "histogram", "categories": {"sex": ["f"]}, "default": {"sex": "m"}}, "one of the categories"),
        ({"mechanism": "histogram", "categories": {"sex": ["female", "female"]}}, "different categories"),
        ({"mechanism": "intervals", "records": 0}, "records=0"),
        ({"mechanism": "small-db", "cells": 20}, "SmallDB would enumerate"),
        ({"mechanism": "strongly-safe", "k": 599, "delta": 1e-9, "cells": 9}, "no records are left to release"),
    ],
)
def test_wrong_options_raise_an_error(people, options, text):
    with pytest.raises((ParameterError, DataError, SchemaError), match=text):
        dp.release(people, epsilon=1.0, bounds=BOUNDS, **options)


def test_the_command_writes_table_and_manifest_and_shows_the_privacy_accounting(people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    private = tmp_path / "private.csv"
    done = run("dp", tmp_path / "people.csv", "--epsilon", 1, "-k", 50, "--bounds", "age=0..110", "-o", private)
    assert done.returncode == 0, done.stderr
    assert "(1, 0)-differential privacy; neighbours: one record more or less" in done.stdout
    assert "mean of each part" in done.stdout
    assert "of 1" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "private.csv", "private.manifest.json"}
    assert json.loads((tmp_path / "private.manifest.json").read_text())["guarantee"]["neighbours"] == "add-remove"


def test_the_command_reads_categories_and_prints_json(people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    done = run(
        "dp", tmp_path / "people.csv", "--mechanism", "histogram", "--epsilon", 1, "--cells", 4, "--json",
        "--bounds", "age=0..110,admitted=2020-01-01..2030-01-01", "--categories", "sex=female|male|other",
        "-o", tmp_path / "private.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert manifest["mechanism"]["options"] == {"cells": 4}
    assert [column["name"] for column in manifest["domain"]] == ["age", "sex", "admitted"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--epsilon", "1", "--columns", "age", "-k", "5"], 'column "age" needs a domain'),
        (["--epsilon", "0", "--bounds", "age=0..9", "-k", "5"], "epsilon=0.0 must be"),
        (["--epsilon", "1", "--bounds", "age=0-9", "-k", "5"], "write it as age=LOW..HIGH"),
        (["--epsilon", "1", "--bounds", "age=9..0", "-k", "5"], "lower bound must be below"),
        (["--epsilon", "1", "--bounds", "age=0..9"], "needs k"),
        (["--epsilon", "1", "--bounds", "age=0..9", "-k", "5", "--decimals", "age=x"], "write it as age=NUMBER"),
    ],
)
def test_the_command_reports_mistakes_and_writes_no_file(people, tmp_path, arguments, text):
    people.write_csv(tmp_path / "people.csv")
    done = run("dp", tmp_path / "people.csv", *arguments, "-o", tmp_path / "private.csv")
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv"}


def test_the_command_never_overwrites_its_input(people, tmp_path):
    people.write_csv(tmp_path / "people.csv")
    before = (tmp_path / "people.csv").read_bytes()
    done = run("dp", tmp_path / "people.csv", "--epsilon", 1, "--bounds", "age=0..9", "-o", tmp_path / "people.csv")
    assert done.returncode == 2
    assert (tmp_path / "people.csv").read_bytes() == before
