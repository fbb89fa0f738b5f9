"""Python functions with wrong arguments."""

import pytest

from shoal.errors import ShoalError

from attacks.bad_commands import CELLS
from attacks.misuses import misuses


def complaint(call):
    """Return what is wrong with the answer to a misuse, or None."""
    try:
        call()
    except ShoalError as problem:
        text = str(problem)
        if not text.isprintable() or len(text) > 1_000:
            return f"the error is not one sentence: {text}"
        if any(cell in text for cell in CELLS):
            return "the error quotes a value of a record"
        return None
    except Exception as fault:  # noqa: BLE001 - any other error is the finding
        return f"{type(fault).__name__} instead of an error for people: {fault}"
    return "it was accepted"


def test_every_misuse_is_an_error_for_people(tmp_path, monkeypatch, record):
    monkeypatch.chdir(tmp_path)
    all_misuses = list(misuses(tmp_path))
    before = set(tmp_path.iterdir())
    found = {misuse.name: complaint(misuse.call) for misuse in all_misuses}
    assert {name: text for name, text in found.items() if text is not None} == {}
    assert set(tmp_path.iterdir()) == before, "a misuse wrote a file"
    assert len(found) >= 1_700
    record("misuses of Python functions, each answered by one sentence", len(found))


def raising(error):
    raise error


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: None, "accepted"),
        (lambda: raising(TypeError("x")), "TypeError"),
        (lambda: raising(ShoalError(f"could not convert {CELLS[0]}")), "quotes a value"),
    ],
)
def test_a_wrong_answer_is_noticed(call, words):
    assert words in complaint(call)
