"""Cells that cannot have a value: never filled, imputed, averaged or mixed with others in a group."""

import base64
import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, MissingValues, SchemaError
from shoal.flow.not_applicable import NotApplicable, split_by_applicability
from shoal.schema.determined_masks import determined_masks
from shoal.schema.number_marks import marks_among_numbers
from shoal.tables import Table

# 24 records written as SAS stores them, by the library ReadStat; compressed
SAS_FILE = (
    "H4sIAAAAAAACA+3avUtbURgG8DfVIaUOV3DIYOlBRByC5LZWIgTMVeNHia2QQNcWvC1dRAyhGYSmsxFt/d4c/AMEZ4u4OIqbW/dO"
    "mVSwbXrS+94m76lXrQ4ifX4iJ+/jc443hkAuSFSz9+3jq+2W5oOdz2G6v2+XIo+s5idEbRQimy7UIqaMk1FDo+nUoJN1MqmsCkKX"
    "qO73esmZ5dxXp7YaqidZRPeMuLcrZsfssZheu/Xak343mS8QAAAAAAAAAAAAAAAAAADA/yisv4iOmryps0H+dJfziLFrivNxPwh5"
    "S4LzbiMvP/DWtJFvcZ40zw/IYwE5AAAAAMB1/Dyr/PZvuzrp4Y323/T313z3tlfif33KJ2rUH7rDxmwZcz0+qqL+JK3k3R4oXtv1"
    "HukH70nUZeb/A79+61LOLdB7/eCl/o6qLkflJyfcaWX36KFfTbtv8jl3QnePteoe47aETrSr/D0idP79i6/hsgOs8+OKAe8cuJNC"
    "9e8MS95Wfzn94D3o4LzcJ/PHsj8+y3Ov7BdKPCdlf2POm4sDsr/jnz8s++V57j+T/dICz89lX33iuTXg+qMBz/ep7B/6eUL2pxb5"
    "ehzZb1ziOSX7/vMqjsh+dJnntOzvcl58IfvZFZ7bA67flv2ZVZ7jsm+t8dwn+5t+PiD78XW+nqGA1wsAAAAAAABuyy/Z7cZSAEAA"
    "AA=="
)

POLICIES = ["fill", "suppress", "impute", "by-pattern"]


def people(n=300, seed=0, missing=0.1, code=-1):
    """Persons; children have no wage, and some wages of others are missing."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 80, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "wage": np.where(age < 16, -1, random.integers(500, 5_000, n)),
            "sex": random.choice(["f", "m"], n),
            "weight": random.uniform(1, 9, n).round(2),
        }
    )
    lost = pl.Series(random.random(n) < missing) & (frame["wage"] >= 0)
    wage = pl.when(lost).then(None).when(pl.col("wage") < 0).then(pl.lit(code)).otherwise("wage")
    return frame.with_columns(wage.alias("wage"))


def protect(frame, k=5, **changes):
    arguments = {"quasi": ["age", "wage", "sex"], "unnamed": "other", "method": "mdav", "accept_loss": True}
    return shoal.protect(frame, k, **arguments | changes)


@settings(max_examples=30)
@given(
    st.integers(0, 10**6), st.sampled_from(POLICIES), st.sampled_from(["mdav", "auto", "mondrian", "ona-star"]),
    st.integers(2, 6), st.sampled_from(["mean", "median", "range", "medoid", "min"]), st.integers(12, 60),
)  # fmt: skip
def test_no_cell_is_filled_averaged_or_mixed(seed, policy, method, k, recode, n):
    frame = people(n, seed, missing=0.2)
    options = {"effort": "fast"} if method == "auto" else {}
    release = protect(
        frame, k, method=method, missing=policy, recode={"wage": recode}, not_applicable={"wage": ["-1"]}, **options
    )
    assert release.k >= k
    labels, after = release.grouping.labels, release.data["wage"].cast(str).to_list()
    children = (frame["wage"] == -1).fill_null(value=False).to_numpy()
    for group in np.unique(labels):
        inside = np.flatnonzero(labels == group)
        shown = {after[i] for i in inside}
        assert len(shown) == 1
        if children[inside].all():
            assert shown == {"-1"}
        elif children[inside].any():
            assert shown == {None}  # fewer than k records have their combination: the column of the group is emptied
            assert children.sum() < k or (~children).sum() < k
        elif policy != "impute" and frame["wage"][inside].null_count() == 0:
            assert "-" not in next(iter(shown)).replace(" - ", " to ").removeprefix("{") or recode == "range"
    if children.sum() >= k and (~children).sum() >= k:
        assert sum(value == "-1" for value in after) == children.sum()


@pytest.mark.parametrize("method", ["mdav", "auto"])
def test_children_get_no_wages_by_imputation(method):
    frame = people(600, missing=0.1, code=None)
    given = {"missing": "impute", "sampling_weight": "weight", "sums": "exact", "method": method}
    given |= {"effort": "fast"} if method == "auto" else {}
    adults = (frame["age"] >= 16).to_numpy()

    def total(release):
        weighted = release.data["wage"].fill_null(0) * frame["weight"]
        return weighted.sum(), weighted.filter(pl.Series(~adults)).sum()

    wrong = protect(frame, **given)  # the wrong version: children count as missing
    assert total(wrong)[1] > 0.1 * total(wrong)[0]
    frame = people(600, missing=0.1)
    true = protect(frame, **given, not_applicable={"wage": ["-1"]})
    assert true.data["wage"].filter(pl.Series(~adults)).unique().to_list() == [-1]
    assert true.manifest["missing_values"]["imputed"]["wage"] == frame["wage"].null_count()
    known = frame.filter(frame["wage"] >= 0)
    mean = np.average(known["wage"], weights=known["weight"])
    released = true.data.filter(pl.Series(adults))
    assert np.average(released["wage"], weights=frame.filter(adults)["weight"]) == pytest.approx(mean, rel=0.05)


def test_empty_cells_and_texts_can_be_codes():
    empty = people(missing=0, code=None)
    release = protect(empty, not_applicable={"wage": ""})
    assert (release.data["wage"].is_null() == empty["wage"].is_null()).all()
    text = people(missing=0).with_columns(
        pl.when(pl.col("wage") < 0).then(pl.lit("NIU")).otherwise(pl.col("wage").cast(str)).alias("wage")
    )
    release = protect(text, kinds={"wage": "numeric"}, not_applicable={"wage": ["NIU"]})
    assert (release.data["wage"] == "NIU").sum() == (text["wage"] == "NIU").sum()
    assert release.data["wage"].dtype == pl.String
    job = people(missing=0).with_columns(pl.when(pl.col("wage") < 0).then(pl.lit("none")).otherwise("sex").alias("job"))
    release = protect(job, quasi=["age", "job"], not_applicable={"job": ["none"]})
    assert ((release.data["job"] == "none") == (job["job"] == "none")).all()


def test_pandas_and_arrow_columns_keep_their_codes():
    frame = people(missing=0.1)
    expected = protect(frame, missing="fill", not_applicable={"wage": ["-1"]}).data["wage"].to_list()
    for table in (frame.to_pandas(), frame.to_arrow()):
        release = protect(table, missing="fill", not_applicable={"wage": ["-1"]})
        column = release.data["wage"]
        found = column.tolist() if hasattr(column, "tolist") else column.to_pylist()
        assert [value == -1 for value in found] == [value == -1 for value in expected]


def test_rare_combinations_join_the_nearest_one():
    aside = {
        "a": NotApplicable(np.array([0, 0, 0, 1, 1, 1, 1, 0]), (-1,)),
        "b": NotApplicable(np.array([0, 0, 0, 1, 1, 1, 0, 0]), (-1,)),
    }
    parts = split_by_applicability(np.arange(8), aside, 3, None)
    assert [part.tolist() for part in parts] == [[0, 1, 2, 6, 7], [3, 4, 5]] or [part.tolist() for part in parts] == [
        [0, 1, 2, 7], [3, 4, 5, 6]
    ]  # fmt: skip
    assert [len(part) for part in split_by_applicability(np.arange(8), aside, 9, None)] == [8]
    by_units = split_by_applicability(np.arange(8), aside, 2, np.array([0, 1, 2, 3, 3, 3, 4, 5]))
    assert all(len({(0, 1, 2, 3, 3, 3, 4, 5)[i] for i in part}) >= 2 for part in by_units)


def test_schema_manifest_and_errors():
    frame = people(missing=0)
    release = protect(frame, not_applicable={"wage": [-1]})
    entry = next(column for column in release.manifest["schema"]["columns"] if column["name"] == "wage")
    assert entry["not_applicable"] is True
    schema = '[columns.wage]\nrole = "quasi"\nnot_applicable = ["-1"]\n[columns.age]\nrole = "quasi"'
    again = shoal.protect(frame, 5, schema=schema, unnamed="other", method="mdav")
    assert (again.data["wage"] == -1).sum() == (frame["wage"] == -1).sum()
    with pytest.raises(SchemaError, match="must be a list of codes"):
        shoal.protect(frame, 5, schema=schema.replace('["-1"]', "3"), unnamed="other")
    with pytest.raises(DataError, match="which steps would change"):
        protect(frame, not_applicable={"wage": ["-1"]}, before={"wage": ["top 900"]})


def test_the_text_na_among_numbers_is_asked_about():
    frame = pl.DataFrame({"income": ["10", "NA", "20", "30"], "job": ["a", "NA", "b", "b"]})
    with pytest.raises(MissingValues, match='column "income" holds numbers and the text "NA"') as raised:
        shoal.protect(frame, 2, quasi=["income", "job"])
    assert "--na-values" in raised.value.command_line
    assert "na_values" in str(raised.value)
    stated = shoal.protect(frame, 2, quasi=["income", "job"], kinds={"income": "nominal"}, accept_loss=True)
    assert stated.k == 2
    assert marks_among_numbers(pl.Series(["1", "2", ".", "NULL"])) == [".", "NULL"]
    assert marks_among_numbers(pl.Series(["1", "2"])) == []
    assert marks_among_numbers(pl.Series([1, 2])) == []


def test_a_mask_that_another_column_determines_is_proposed():
    frame = people(missing=0, code=None)
    assert determined_masks(Table.from_native(frame)) == {"wage": 'empty exactly where "age" is below a threshold'}
    some = people(missing=0.1, code=None)
    assert determined_masks(Table.from_native(some)) == {}
    by_sex = frame.with_columns(births=pl.when(pl.col("sex") == "f").then(1))
    assert determined_masks(Table.from_native(by_sex.drop("wage")))["births"].endswith('"sex" has certain values')


@pytest.mark.parametrize(("ending", "code"), [(".sav", -9.0), (".dta", "a")])
def test_codes_that_a_file_declares_as_missing_are_kept(tmp_path, ending, code):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = people(missing=0, code=None).drop("weight").to_pandas()
    frame["sex"] = (frame["sex"] == "f").astype(int)
    frame["wage"] = frame["wage"].astype(object).where(frame["wage"].notna(), code)
    path, target = tmp_path / f"people{ending}", tmp_path / f"safe{ending}"
    if ending == ".sav":
        frame["wage"] = frame["wage"].astype(float)
        pyreadstat.write_sav(frame, path, missing_ranges={"wage": [{"lo": code, "hi": code}]})
    else:
        pyreadstat.write_dta(frame, path, missing_user_values={"wage": [code]})
    stated = {"wage": ["-9" if ending == ".sav" else ".a"]}
    release = shoal.protect(path, 5, quasi=["age", "wage", "sex"], method="mdav", not_applicable=stated)
    assert release.data["wage"].null_count() == (frame["wage"] == code).sum()
    release.write(target)
    reader = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    written = reader(target, user_missing=True)[0]
    assert (written["wage"] == code).tolist() == (frame["wage"] == code).tolist()


def test_missing_letters_of_sas_are_kept_as_those_of_stata(tmp_path):
    """The file has ages, and wages that are .A under 16, .B where refused and once missing without a letter."""
    pyreadstat = pytest.importorskip("pyreadstat")
    path, target = tmp_path / "people.sas7bdat", tmp_path / "safe.dta"
    path.write_bytes(gzip.decompress(base64.b64decode(SAS_FILE)))
    frame = pyreadstat.read_sas7bdat(path, user_missing=True)[0]
    assert set(frame["wage"][frame["age"] < 16]) == {"A"}
    for code in (".A", ".a"):
        release = shoal.protect(
            path,
            3,
            quasi=["age", "wage"],
            unnamed="other",
            method="mdav",
            missing="fill",
            not_applicable={"wage": [code]},
        )
        release.write(target, overwrite=True)
        written = pyreadstat.read_dta(target, user_missing=True)[0]
        assert ((written["wage"] == "a") == (frame["wage"] == "A")).all()
        assert written["wage"].notna().all()
    untouched = shoal.protect(path, 3, quasi=["age"], unnamed="other", method="mdav")
    untouched.write(target, overwrite=True)
    written = pyreadstat.read_dta(target, user_missing=True)[0]
    assert written["wage"].astype(str).tolist() == frame["wage"].astype(str).str.lower().tolist()
    untouched.write(tmp_path / "other.sav")  # SPSS has no letters
    assert pyreadstat.read_sav(tmp_path / "other.sav", user_missing=True)[0]["wage"].isna().sum() == 9


def test_declared_codes_move_with_their_rows_where_these_are_shuffled(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = people(missing=0).drop("weight").to_pandas()
    frame["wage"] = frame["wage"].astype(float)
    frame["same"] = frame["wage"]
    path, target = tmp_path / "people.sav", tmp_path / "safe.sav"
    declared = [{"lo": -1.0, "hi": -1.0}]
    pyreadstat.write_sav(frame, path, missing_ranges={"wage": declared, "same": declared})
    release = shoal.protect(
        path,
        5,
        quasi=["age", "wage"],
        accept_derived=True,
        unnamed="other",
        method="mdav",
        not_applicable={"wage": ["-1"]},
        shuffle=True,
    )
    release.write(target)
    written = pyreadstat.read_sav(target, user_missing=True)[0]
    assert written["same"].tolist() != frame["same"].tolist()
    assert sorted(written["same"]) == sorted(frame["same"])
    assert ((written["wage"] == -1) == (written["same"] == -1)).all()


@pytest.mark.parametrize("method", ["mdav", "mona-2d", "own-eeg", "projection", "nominal", "auto"])
@pytest.mark.parametrize("policy", ["fill", "suppress"])
@pytest.mark.filterwarnings("error")
def test_a_column_without_any_applicable_value_is_no_problem(method, policy):
    kind = "nominal" if method in {"own-eeg", "nominal"} else "numeric"
    values = [1.0, None, 1.0, 1.0, None, 1.0, 1.0, 1.0, None, 1.0, 1.0, 1.0]
    frame = pl.DataFrame({"a": [None if x is None else "x" for x in values] if kind == "nominal" else values})
    release = shoal.protect(
        frame, 3, quasi=["a"], kinds={"a": kind}, method=method, missing=policy, accept_loss=True,
        not_applicable={"a": ["x" if kind == "nominal" else "1"]},
    )  # fmt: skip
    assert release.k >= 3
    assert release.loss.information_loss == 0
