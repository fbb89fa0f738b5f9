"""The number of threads never changes a result."""

import threading

import numpy as np
import pytest

from shoal.core import threads
from shoal.errors import ParameterError
from shoal.methods.running import run


@pytest.fixture(autouse=True)
def _restored():
    yield
    threads.set_threads(None)


def test_results_come_in_the_order_of_the_jobs():
    threads.set_threads(4)
    waits = [threading.Event() for _ in range(3)]

    def job(i):
        if i == 1:
            waits[2].wait(5)  # job 1 ends after job 2
        waits[i].set()
        return i

    assert threads.run_in_threads(job, [0, 1, 2]) == [0, 1, 2]


def test_all_cores_are_used_unless_a_number_is_chosen():
    assert threads.get_threads() >= 1
    threads.set_threads(3)
    assert threads.get_threads() == 3


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_an_impossible_number_of_threads_raises(n):
    with pytest.raises(ParameterError, match="choose at least 1"):
        threads.set_threads(n)


def test_an_error_in_a_job_is_raised():
    threads.set_threads(2)

    def job(i):
        if i == 2:
            raise ParameterError("no")
        return i

    with pytest.raises(ParameterError, match="no"):
        threads.run_in_threads(job, range(5))


@pytest.mark.parametrize("name", ["v-mdav", "mdav-star-gamma", "ona", "lmas", "lloyd", "pcl", "ona-star"])
def test_labels_are_the_same_for_one_thread_and_for_four(name, rng):
    points = rng.normal(size=(200, 3))
    threads.set_threads(1)
    alone = run(name, points, 4).labels
    threads.set_threads(4)
    np.testing.assert_array_equal(alone, run(name, points, 4).labels)
