"""Work with a time limit, on a clock that only the test moves forward."""

import numpy as np
import pytest

from shoal.core import deadline
from shoal.core.deadline import Deadline
from shoal.core.grouping import Grouping
from shoal.core.threads import set_threads
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.kernels.cut_blocks import cut_into_blocks
from shoal.methods.partition import leaf_grouping as leaves
from shoal.methods.partition.mona_plus import mona_plus
from shoal.methods.partition.pace import Pace
from shoal.methods.refinement import block_refinement


class Clock:
    """A clock that stands still until its time is changed."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(deadline, "now", made)
    monkeypatch.setattr(leaves, "now", made)
    set_threads(1)
    yield made
    set_threads(None)


def slow_leaf(clock, each):
    def run(points, k):
        clock.time += each * len(points)
        return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)

    return run


def test_the_level_does_not_change_while_there_is_time(clock):
    pace = Pace(Deadline(100.0), 1000)
    for _ in range(10):
        clock.time += 6.0
        pace.done(0, 100, 6.0)
    assert pace.level == 0


def test_blocks_get_coarser_until_the_rest_fits(clock):
    pace = Pace(Deadline(100.0), 1000)
    levels = []
    for _ in range(10):
        level = pace.level
        taken = [20.0, 8.0, 4.0, 0.1][level]
        clock.time += taken
        pace.done(level, 100, taken)
        levels.append(level)
    assert levels == sorted(levels)
    assert levels[0] == 0
    assert clock.time - 100.0 <= 100.0


@pytest.mark.parametrize("each", [1e-3, 1e-2, 1.0])
def test_leaves_that_are_too_slow_are_grouped_coarsely(each, clock, rng):
    points = rng.normal(size=(8000, 3))
    blocks = cut_into_blocks(points, 500)
    labels = leaves.group_blocks(
        points, blocks, 5, slow_leaf(clock, each), 9, "grouping", pace=Pace(Deadline(10.0), 8000)
    )
    Grouping(labels, 5, max_size=9)
    assert clock.time - 100.0 <= max(10.0, 500 * each)  # never more than a block too late


@pytest.mark.parametrize("level", [1, 2, 3])
def test_coarse_groups_have_k_to_2k_less_1_records(level, rng):
    for n in (10, 19, 300):
        Grouping(leaves.group_coarsely(rng.normal(size=(n, 2)), 5, level), 5, max_size=9)


def test_a_repair_that_runs_out_of_time_returns_what_it_has(clock, rng, monkeypatch):
    points = rng.normal(size=(6000, 3))
    labels = np.arange(6000) // 5
    refined = block_refinement._refine_block

    def one_second(*arguments):
        clock.time += 1.0
        return refined(*arguments)

    monkeypatch.setattr(block_refinement, "_refine_block", one_second)
    costs = []
    for seconds in (0.5, 3.0, 1000.0):
        found = block_refinement.repair(points, labels, 5, passes=2, block=500, deadline=Deadline(seconds)).labels
        Grouping(found, 5, max_size=9)
        costs.append(total_cost(points, found))
    assert total_cost(points, labels) > costs[0] > costs[1] > costs[2]


def test_enough_time_changes_nothing(rng):
    points = rng.normal(size=(3000, 3))
    limited = mona_plus(points, 5, block=500, time_limit=1e9)
    np.testing.assert_array_equal(limited.labels, mona_plus(points, 5, block=500).labels)
    assert limited.stopped == "finished"


def test_no_time_at_all_still_groups(rng):
    points = rng.normal(size=(3000, 3))
    outcome = mona_plus(points, 5, block=500, time_limit=1e-9)
    Grouping(outcome.labels, 5, max_size=9)
    assert outcome.stopped == "time limit"
