"""Errors: one printable line, no long names, and the same error after pickle."""

import copy
import pickle

import pytest

from shoal import errors
from shoal.errors import FileProblem, ShoalError, UnknownColumn

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ShoalError)]
HOSTILE = ["a\nb", "a\rb", "\x1b[31mred", "\u202egpj.exe", "a\x00b", "\u2028next", "\ud800"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_an_error_is_one_printable_line_whatever_a_column_is_called(name):
    for text in (str(UnknownColumn(name, [name * 2])), str(FileProblem(f'file "{name}" is empty'))):
        assert text.isprintable()
        assert len(text.splitlines()) == 1
        text.encode("utf-8")


def test_long_names_and_texts_are_shortened():
    assert str(ShoalError(f'column "{"x" * 5000}" is missing')) == f'column "{"x" * 199}…" is missing'
    assert str(ShoalError(f'column "{"x" * 200}" is missing')) == f'column "{"x" * 200}" is missing'
    assert len(str(ShoalError("y" * 5000))) == 1000
    assert len(str(UnknownColumn("a", ["z" * 5000] * 50))) <= 1000


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_survive_pickle_and_copy(kind):
    error = kind("age", ["sex"]) if kind is UnknownColumn else kind("k must be at least 2")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
