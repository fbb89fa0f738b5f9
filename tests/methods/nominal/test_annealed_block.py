"""Annealing of nominal tables with a planned number of trials."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.deadline import Deadline
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.core.row_classes import collapse, hamming
from shoal.methods.auto import nominal_options
from shoal.methods.contract import ColumnCost
from shoal.methods.nominal.annealed_block import FEWEST_PASSES, MOST_PASSES, anneal_block, passes_for
from shoal.methods.nominal.distinct_rows import Problem, nearest_duals, start_columns
from shoal.methods.nominal.hamming_annealing import annealed
from shoal.methods.nominal.hamming_pricing import column_costs
from shoal.methods.registry import get_method
from shoal.methods.running import run

UNIFORM = (4, 5, 6, 8, 10, 12)  # categories of six independent columns


def uniform_table(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, count, n) for count in UNIFORM]).astype(np.int32)


def within_group_distance(codes, labels):
    """The obvious version: all pairs of records of each group."""
    total = 0
    for group in range(labels.max() + 1):
        rows = codes[labels == group]
        total += sum(int((a != b).sum()) for i, a in enumerate(rows) for b in rows[:i])
    return total


@given(
    n=st.integers(2, 40), m=st.integers(1, 4), values=st.integers(1, 5), k=st.integers(2, 5), seed=st.integers(0, 999),
    block=st.sampled_from([2, 7, 600]),
)  # fmt: skip
@settings(max_examples=40)
def test_sizes_and_the_stated_distance_hold(n, m, values, k, seed, block):
    n = max(n, k)
    codes = np.random.default_rng(seed).integers(0, values, (n, m)).astype(np.int32)
    outcome = run("nominal", codes, k, search="annealing", trials=1_000, block=block)
    Grouping(outcome.labels, k, max_size=2 * k - 1)
    assert outcome.objective.value == within_group_distance(codes, outcome.labels)
    assert outcome.objective.bound is None
    history = outcome.diagnostics["rounds"]
    assert history == sorted(history, reverse=True)


def test_both_starts_are_needed():
    """Annealing keeps the number of groups: from the first start alone it ends far above the second."""
    codes = uniform_table(300)
    table = collapse(codes)
    problem = Problem(hamming(table.rows), table.counts, 5, 1.0)
    found, distance = anneal_block(problem, None, 200, Deadline(None))
    assert distance == column_costs(found, problem.distance).sum()
    from_first = annealed(start_columns(problem, nearest_duals(problem)), problem.distance, 5, passes=200)
    assert distance < 0.95 * column_costs(from_first, problem.distance).sum()


def test_annealing_comes_close_to_the_programs():
    codes = uniform_table(100)
    programs = run("nominal", codes, 3).objective.value
    assert run("nominal", codes, 3, search="annealing", trials=4_000_000).objective.value <= 1.03 * programs


def test_a_deadline_ends_annealing():
    table = collapse(uniform_table(60))
    problem = Problem(hamming(table.rows), table.counts, 5, 1.0)
    over = Deadline(None)
    over.stop()
    found, distance = anneal_block(problem, None, 10**9, over)
    assert distance == column_costs(found, problem.distance).sum()


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_the_number_of_trials_is_planned(effort):
    small = nominal_options(uniform_table(50), 3, effort=effort)
    assert small["search"] == "program"
    codes = uniform_table(1_510)
    planned = nominal_options(codes, 5, effort=effort)
    assert planned["search"] == "annealing"
    counts = collapse(codes).counts
    passes = passes_for(planned["trials"], counts, 5, planned["rounds"])
    assert FEWEST_PASSES <= passes <= MOST_PASSES
    assert passes * 1_510 * (planned["rounds"] + 1) <= planned["trials"]
    assert nominal_options(codes, 5, time_limit=2.0)["trials"] == 30_000_000


def test_auto_reports_progress_block_by_block_and_repeats_itself():
    class Counting(Progress):
        def __init__(self):
            self.totals, self.steps = [], 0

        def stage(self, name, total=None):  # noqa: ARG002
            self.totals.append(total)

        def advance(self, amount=1):
            self.steps += amount

    progress, codes = Counting(), uniform_table(3_000)
    auto, kept = get_method("auto", "codes"), [ColumnCost("frequencies")] * codes.shape[1]
    outcome = run(auto, codes, 5, effort="fast", progress=progress, column_costs=kept)
    assert "trials of annealing" in outcome.reason
    assert progress.steps == progress.totals[0] > 4
    np.testing.assert_array_equal(outcome.labels, run(auto, codes, 5, effort="fast", column_costs=kept).labels)
