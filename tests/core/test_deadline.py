import pytest

from shoal.core import deadline
from shoal.core.deadline import Deadline, seconds_of
from shoal.errors import ParameterError


class Clock:
    """A clock that stands still until its time is changed."""

    time = 100.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "now", made)
    return made


def test_a_deadline_counts_down_and_expires(clock):
    limit = Deadline(10.0)
    clock.time += 4.0
    assert (limit.elapsed(), limit.left(), limit.expired()) == (4.0, 6.0, False)
    clock.time += 7.0
    assert (limit.elapsed(), limit.left(), limit.expired()) == (11.0, 0.0, True)


def test_a_part_expires_after_its_share_of_the_time_left(clock):
    part = Deadline(10.0).part(0.3)
    clock.time += 2.9
    assert not part.expired()
    clock.time += 0.2
    assert part.expired()


def test_no_limit_never_expires_until_it_is_stopped(clock):
    limit = Deadline(None)
    clock.time += 1e9
    assert not limit.limited
    assert not limit.expired()
    limit.stop()
    assert limit.expired()


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("1.5m", 90), ("2h", 7200), ("10", 10), (3, 3)])
def test_time_limits_are_read(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("bad", ["", "5 days", "-3s", 0, -1.0, float("nan")])
def test_impossible_time_limits_raise_an_error(bad):
    with pytest.raises(ParameterError, match="time_limit"):
        seconds_of(bad)
