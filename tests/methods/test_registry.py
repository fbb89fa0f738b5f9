import subprocess
import sys

import numpy as np
import pytest

from shoal.errors import DataError, ParameterError
from shoal.methods.registry import Option, all_methods, get_method


def test_every_method_states_its_facts():
    for method in all_methods().values():
        assert all([method.title, method.cost, method.guarantee, method.reference, method.when]), method.name
        assert method.function.__doc__, method.name


def test_unknown_options_are_named_with_a_suggestion():
    with pytest.raises(ParameterError, match='method "mdav" has no option "gama"'):
        get_method("mdav").run(np.zeros((4, 1)), 2, gama=1)


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (1, "protects nobody"),
        (0, "protects nobody"),
        (9, "needs at least 9"),
        (2.5, "whole number"),
        (True, "whole number"),
    ],
)
def test_a_k_that_cannot_be_is_refused(k, text):
    with pytest.raises(ParameterError, match=text):
        get_method("mdav").run(np.zeros((4, 1)), k)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_coordinates_are_refused(bad):
    points = np.zeros((4, 2))
    points[1, 1] = bad
    with pytest.raises(DataError, match="1 of 8 coordinates"):
        get_method("mdav").run(points, 2)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(int, "3", 3), (float, "1.5", 1.5), (bool, "yes", True), (str, "a", "a"), (int | None, "none", None)],
)
def test_option_texts_become_values(kind, text, value):
    assert Option("x", kind, None).parse(text) == value


def test_option_texts_of_the_wrong_type_are_refused():
    with pytest.raises(ParameterError, match='option x="many" is not of type int'):
        Option("x", int, 1).parse("many")


def test_listing_methods_imports_no_compiler():
    code = "import sys, shoal; shoal.all_methods(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
