"""The scikit-learn transformer: its contract, k on what it returns, and what it refuses."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import shoal
from shoal.errors import DataError, ParameterError
from shoal.sklearn import Microaggregator


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([Microaggregator(), Microaggregator(k=2, method="mdav")])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def smallest_class(table):
    return int(np.unique(np.asarray(table), axis=0, return_counts=True)[1].min())


@given(
    table=arrays(np.float64, st.tuples(st.integers(4, 40), st.integers(1, 3)), elements=st.integers(-3, 3)),
    k=st.integers(2, 4),
    offset=st.sampled_from([0.0, 1e9]),
    scale=st.sampled_from([1.0, 1e-9, 1e9]),
)
def test_every_row_occurs_k_times_and_transform_agrees(table, k, offset, scale):
    table = table * scale + offset
    step = Microaggregator(k=k, method="mdav")
    released = step.fit_transform(table)
    assert released.shape == table.shape
    assert smallest_class(released) >= k
    assert step.sizes_.min() >= k
    assert np.array_equal(np.bincount(step.labels_), step.sizes_)
    assert np.array_equal(step.transform(table), released)


def test_representatives_are_the_means_of_their_records(rng):
    table = rng.normal(50, 10, size=(90, 3))
    step = Microaggregator(k=4).fit(table)
    for number, representative in enumerate(step.representatives_):
        assert representative == pytest.approx(table[step.labels_ == number].mean(axis=0))
    lost = ((table - step.representatives_[step.labels_]) / table.std(axis=0)) ** 2
    assert step.information_loss_ == pytest.approx(lost.sum() / table.size)
    assert step.method_ == "annealing"


def test_the_loss_stays_close_to_that_of_the_method(rng):
    table = rng.normal(size=(600, 3))
    labels = shoal.group(table, 5, method="ona-star")
    points = (table - table.mean(axis=0)) / table.std(axis=0)
    means = np.array([points[labels == number].mean(axis=0) for number in range(labels.max() + 1)])
    of_method = ((points - means[labels]) ** 2).sum() / points.size
    assert of_method <= Microaggregator(k=5, method="ona-star").fit(table).information_loss_ <= 1.1 * of_method


def test_new_records_get_representatives_but_no_promise_of_k(rng):
    step = Microaggregator(k=5).fit(rng.normal(size=(100, 2)))
    new = step.transform([[0.0, 0.0], [100.0, 100.0]])
    known = {tuple(row) for row in step.representatives_}
    assert {tuple(row) for row in new} <= known
    assert smallest_class(new) == 1


def test_pandas_go_in_and_come_out_with_names_and_index(rng):
    people = pd.DataFrame(rng.normal(size=(30, 2)), columns=["age", "income"], index=np.arange(30) * 7)
    step = Microaggregator(k=3).set_output(transform="pandas")
    released = step.fit_transform(people)
    assert list(released.columns) == list(step.get_feature_names_out()) == ["age", "income"]
    assert released.index.equals(people.index)
    assert released.value_counts().min() >= 3


def test_it_works_in_pipelines_and_beside_other_columns(rng):
    people = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "income", "other"])
    some = ColumnTransformer([("safe", Microaggregator(k=5), ["age", "income"])], remainder="passthrough")
    model = make_pipeline(some, LinearRegression()).fit(people, people["other"])
    assert model.score(people, people["other"]) == pytest.approx(1.0)
    assert clone(some.transformers[0][1]).get_params()["k"] == 5


def test_the_fitted_object_holds_no_record(rng):
    table = rng.normal(size=(50, 2))
    held = pickle.dumps(Microaggregator(k=5).fit(table))
    assert not any(row.tobytes() in held for row in table)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(bad):
    with pytest.raises(ValueError, match="Input X contains"):
        Microaggregator(k=2).fit([[1.0], [bad], [2.0]])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"k": 1}, "at least 2, got 1"),
        ({"k": 2, "method": "safe"}, "works on categories"),
        ({"k": 2, "method": "mdv"}, "did you mean"),
        ({"k": 2, "method": "mdav", "options": {"gama": 1}}, "has no option"),
    ],
)
def test_options_that_cannot_be_are_refused(options, text):
    with pytest.raises(ParameterError, match=text):
        Microaggregator(**options).fit(np.arange(6.0).reshape(3, 2))


def test_too_few_records_are_refused():
    with pytest.raises(ValueError, match="minimum of 5 is required"):
        Microaggregator(k=5).fit(np.zeros((4, 2)))


def test_without_scikit_learn_the_way_out_is_named():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from shoal.errors import MissingExtra\n"
        "try:\n    import shoal.sklearn\nexcept MissingExtra as problem:\n    print(problem)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[sklearn]'" in run.stdout


def mixed_frame(rng, n=120):
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "sex": pd.Categorical(np.where(rng.random(n) < 0.5, "f", "m"), categories=["f", "m", "unused"]),
            "job": np.where(rng.random(n) < 0.1, None, rng.choice(["a", "b", "c"], n)),
            "abroad": rng.random(n) < 0.3,
        },
        index=np.arange(n) * 2,
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("method", ["mdav", "auto"])
def test_frames_with_categories_and_missing_cells_are_k_anonymous(rng, library, method):
    people = mixed_frame(rng)
    if library == "polars":
        people = pl.from_pandas(people)
    if library == "pyarrow":
        people = pa.Table.from_pandas(people, preserve_index=False)
    step = Microaggregator(k=5, method=method, missing="fill")
    released = step.fit_transform(people)
    assert type(released) is type(people)
    frame = pd.DataFrame(pl.DataFrame(released).to_pandas())
    assert frame.columns.tolist() == ["age", "sex", "job", "abroad"]
    assert frame.groupby(frame.columns.tolist(), dropna=False, observed=True).size().min() >= 5
    assert pl.DataFrame(step.transform(people)).equals(pl.DataFrame(released))
    assert frame["sex"].notna().all()


def test_representatives_of_frames_are_means_and_modes_of_known_cells(rng):
    people = mixed_frame(rng)
    step = Microaggregator(k=5, method="mdav", missing="fill")
    released = step.fit_transform(people)
    assert released.index.equals(people.index)
    assert list(released["sex"].cat.categories) == ["f", "m"]
    for label in range(len(step.sizes_)):
        inside = step.labels_ == label
        known = people.loc[inside]
        row = released.loc[inside].iloc[0]
        assert row["age"] == pytest.approx(
            known["age"].mean()
        )  # of known cells; the wrong version counts the others as 0
        counts = known["job"].value_counts()
        assert counts[row["job"]] == counts.max()
        assert (known["abroad"] == row["abroad"]).mean() >= 0.5


def test_a_group_without_any_known_cell_stays_missing():
    people = pd.DataFrame({"age": [1.0, 2.0, 90.0, 91.0], "job": ["a", "b", None, None]})
    released = Microaggregator(k=2, method="mdav", missing="fill").fit_transform(people)
    assert released["job"].isna().tolist() == [False, False, True, True]


def test_a_category_of_fewer_than_k_records_is_not_kept_by_the_step(rng):
    people = mixed_frame(rng)
    people.loc[people.index[:4], "job"] = "astronaut"
    step = Microaggregator(k=5, method="mdav", missing="fill").fit(people)
    assert b"astronaut" not in pickle.dumps(step)
    assert len(step.transform(people.assign(job="a new one"))) == len(people)


def test_frames_work_in_pipelines_with_set_output(rng):
    people = mixed_frame(rng)
    columns = ColumnTransformer([("numbers", "passthrough", ["age"])], remainder=OneHotEncoder(), sparse_threshold=0.0)
    model = make_pipeline(Microaggregator(k=5, method="mdav", missing="fill"), columns, LinearRegression())
    assert model.fit(people, rng.normal(size=len(people))).predict(people).shape == (len(people),)
    assert clone(model).get_params()["microaggregator__missing"] == "fill"


@pytest.mark.parametrize(
    ("people", "text"),
    [
        ({"age": [1.0, None, 3.0], "sex": ["f", "m", "f"]}, 'column "age"; give missing="fill"'),
        ({"age": [1.0, float("inf"), 3.0], "sex": ["f", "m", "f"]}, 'infinity in column "age"'),
        ({"born": pd.to_datetime(["2020-01-01"] * 3)}, "holds dates"),
        ({"sex": ["f"]}, "minimum of 2 is required"),
    ],
)
def test_frames_that_cannot_be_grouped_are_refused(people, text):
    with pytest.raises(DataError, match=re.escape(text)):
        Microaggregator(k=2).fit(pd.DataFrame(people))


def test_a_frame_with_other_columns_than_the_fitted_one_is_refused(rng):
    people = mixed_frame(rng)
    step = Microaggregator(k=5, method="mdav", missing="fill").fit(people)
    with pytest.raises(DataError, match="feature names"):
        step.transform(people.drop(columns="job"))
    with pytest.raises(DataError, match="must be a DataFrame"):
        step.transform(np.zeros((3, 4)))
    with pytest.raises(ParameterError, match="choose error or fill"):
        Microaggregator(missing="drop").fit(people)
