import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods import MODULES
from shoal.methods.contract import Objective, Outcome
from shoal.methods.options import Range, read_option
from shoal.methods.registry import _methods, all_methods, get_method, method
from shoal.methods.running import run


@pytest.fixture
def registry():
    """The registry, restored after a test that adds to it."""
    all_methods()
    before = {name: dict(variants) for name, variants in _methods.items()}
    yield
    _methods.clear()
    _methods.update(before)


def halves(points, k, *, offset: int = 0):
    """Return the first and the second half of the records."""
    return (np.arange(len(points)) >= len(points) // 2).astype(np.int64) + offset


def test_every_method_is_described():
    for info in all_methods().values():
        assert all([info.title, info.complexity, info.guarantee, info.reference, info.when]), info.name
        assert info.function.__doc__, info.name


def test_the_catalogue_names_the_module_of_every_built_in_method():
    assert {name: info.function.__module__ for name, info in all_methods().items() if info.built_in} == MODULES


def test_loading_one_method_imports_no_other():
    code = (
        "import sys; from shoal.methods.registry import get_method; get_method('mdav');"
        "sys.exit('shoal.methods.optimal.set_partition' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_listing_methods_imports_no_compiler():
    code = "import sys, shoal; shoal.all_methods(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_options_are_named_with_a_suggestion():
    with pytest.raises(ParameterError, match='method "mdav" has no option "precison"; did you mean "precision"'):
        run("mdav", np.zeros((4, 1)), 2, precison="single")


@pytest.mark.parametrize("name", ["seed", "max_size", "time_limit", "progress"])
def test_common_inputs_are_no_options(name):
    with pytest.raises(ParameterError, match=f'"{name}" is not an option of a method; give it as {name}='):
        get_method("set-partition").check_options({name: 7})


@pytest.mark.parametrize(
    ("name", "option", "value", "text"),
    [
        ("mdav", "precision", "singel", 'precision="singel" is not possible; choose one of double, single; did you'),
        ("ona-star", "closest", "cetnroid", 'did you mean "centroid"'),
        ("set-partition", "bound", "colums", 'did you mean "columns"'),
        ("column-generation", "fractional", "optmal", 'did you mean "optimal"'),
        ("mona", "rho", "2", "choose a number"),
        ("mona-plus", "passes", 0, "choose an integer at least 1"),
        ("mona-plus", "passes", True, "choose an integer"),
        ("set-partition", "steps_per_record", float("nan"), "choose a number above 0"),
    ],
)
def test_values_of_options_are_checked(name, option, value, text):
    with pytest.raises(ParameterError, match=text):
        get_method(name).check_options({option: value})


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (1, "k must be at least 2, got 1"),
        (0, "k must be at least 2, got 0"),
        (9, "needs at least 9"),
        (2.5, "an integer"),
        (True, "an integer"),
    ],
)
def test_a_k_that_cannot_be_is_refused(k, text):
    with pytest.raises(ParameterError, match=text):
        run("mdav", np.zeros((4, 1)), k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_coordinates_are_refused(bad):
    points = np.zeros((4, 2))
    points[1, 1] = bad
    with pytest.raises(DataError, match="1 of 8 coordinates"):
        run("mdav", points, 2)


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "3", 3),
        (float, "1.5", 1.5),
        (bool, "yes", True),
        (str, "a", "a"),
        (int | None, "none", None),
        (int | str | None, "2", 2),
        (int | str | None, "0,1", "0,1"),
        (Sequence[int], "1,2", (1, 2)),
        (Sequence[float], "0.5", (0.5,)),
        (Mapping[str, int], "a=1,b=2", {"a": 1, "b": 2}),
        (Literal["one", "two"], "two", "two"),
    ],
)
def test_texts_of_the_command_line_become_values(hint, text, value):
    assert read_option("x", hint, None).parse(text) == value


@pytest.mark.parametrize(
    ("hint", "text", "said"),
    [
        (int, "many", 'option x="many" is not possible; choose an integer'),
        (int, "none", 'option x="none" is not possible'),
        (Annotated[float, Range(0, 1)], "1.5", "choose a number from 0 to 1"),
        (Literal["one", "two"], "twoo", 'did you mean "two"'),
        (Mapping[str, int], "a", "choose a mapping"),
    ],
)
def test_texts_of_the_wrong_type_are_refused(hint, text, said):
    with pytest.raises(ParameterError, match=said):
        read_option("x", hint, 1).parse(text)


def test_numpy_scalars_become_plain_values():
    options = get_method("mona-plus").check_options({"passes": np.int64(3), "rho": np.float32(0.5)})
    assert json.dumps(options) == '{"passes": 3, "rho": 0.5}'


def test_a_hint_that_cannot_be_checked_is_an_error_at_registration(registry):
    def odd(points, k, *, shape: complex = 1j):
        return halves(points, k)

    with pytest.raises(ParameterError, match='option "shape" has the type hint'):
        method("odd", title="Odd")(odd)


def test_a_method_registered_after_the_first_listing_is_listed(registry):
    assert "halves" not in all_methods()
    method("halves", title="Two halves")(halves)
    assert "halves" in all_methods()
    assert run("halves", np.zeros((6, 1)), 3).labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_registering_the_same_function_again_replaces_it(registry):
    method("halves", title="Two halves")(halves)
    method("halves", title="Two halves, again")(halves)
    assert get_method("halves").title == "Two halves, again"


def test_a_name_that_another_function_has_is_refused(registry):
    method("halves", title="Two halves")(halves)

    def other(points, k):
        return halves(points, k)

    with pytest.raises(ParameterError, match=r'"halves" belongs to the method .*:halves; choose another'):
        method("halves", title="Other halves")(other)
    with pytest.raises(ParameterError, match="belongs to the method"):
        method("mdav", title="Not MDAV")(halves)


def test_a_function_is_accepted_wherever_a_name_is():
    outcome = run(halves, np.zeros((6, 1)), 3, offset=4)
    assert outcome.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert outcome.method.endswith(":halves")
    assert not get_method(halves).built_in


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda n: np.zeros(n - 1, np.int64), "one integer label for each of the 6 records"),
        (np.zeros, "one integer label for each"),
        (lambda n: (0,) * n, None),
        (lambda n: Outcome(np.zeros(n, np.int64), np.array([n])), "one record number as the representative"),
        (lambda n: Outcome(np.zeros(n, np.int64), np.array([0, 1])), "one record number as the representative"),
    ],
)
def test_results_that_are_no_grouping_are_refused(result, text):
    def answer(points, k):
        return result(len(points))

    if text is None:
        assert run(answer, np.zeros((6, 1)), 3).labels.tolist() == [0] * 6
    else:
        with pytest.raises(DataError, match=text):
            run(answer, np.zeros((6, 1)), 3)


def test_representatives_follow_their_groups_when_groups_are_numbered_anew():
    def backwards(points, k):
        return Outcome(np.array([1, 1, 0, 0]), np.array([3, 1]))

    outcome = run(backwards, np.zeros((4, 1)), 2)
    assert outcome.labels.tolist() == [0, 0, 1, 1]
    assert outcome.representatives.tolist() == [1, 3]


def test_a_time_limit_is_refused_by_methods_that_have_none():
    with pytest.raises(ParameterError, match='method "mdav" has no time limit'):
        run("mdav", np.zeros((4, 1)), 2, time_limit=3)
    with pytest.raises(ParameterError, match="choose more than 0 seconds"):
        run("set-partition", np.zeros((4, 1)), 2, time_limit=-1)


def test_column_weights_are_refused_by_methods_on_codes_that_cannot_use_them():
    codes = np.zeros((4, 2), np.int32)
    with pytest.raises(ParameterError, match='method "random" cannot weight columns'):
        run("random", codes, 2, column_weights=np.array([2.0, 1.0]))
    assert run("random", codes, 2, column_weights=np.ones(2)).labels.size == 4


def test_auto_weights_columns_of_categories():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    auto = get_method("auto", "codes")
    first = run(auto, codes, 2, column_weights=np.array([9.0, 1.0])).labels
    second = run(auto, codes, 2, column_weights=np.array([1.0, 9.0])).labels
    assert first.tolist() == [0, 0, 1, 1]
    assert second.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("value", "bound", "gap"),
    [
        (732.0, 549.0, 732 / 549 - 1),
        (5.0, 5.0, 0.0),
        (5.0, 5.1, 0.0),
        (5.0, 0.0, None),
        (0.0, 0.0, 0.0),
        (5.0, None, None),
    ],
)
def test_the_gap_is_the_share_above_the_bound(value, bound, gap):
    assert Objective("sse", value, bound).gap == gap
