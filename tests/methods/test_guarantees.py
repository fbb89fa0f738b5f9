"""Every guarantee that a method states in the registry is checked by a test that can refute it."""

from functools import singledispatch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods import contract, running
from shoal.methods.contract import Outcome, labels_of
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import all_methods, get_method

from naive import nominal_partition, optimal
from strategies import points_and_k

CLAIMS = [(name, claim) for name, info in all_methods().items() for claim in info.guarantees]
PROVERS = [name for name, info in all_methods().items() if info.proves and name != "auto"]
TIMED = {"time_limit": 5.0}
TOLERANCE = 1e-9
SLOW_SEARCHES = {"set-partition", "mixed-annealing", "annealing"}
FEW_RECORDS = 8  # for which all groupings are tried


def shaped(name, points):
    """The points as the method reads them: all of them, their first column, or small whole numbers."""
    kind = get_method(name).data
    if kind == "values":
        return points[:, 0]
    if kind == "codes":
        return np.unique(points.round(), return_inverse=True)[1].reshape(points.shape).astype(np.int32)
    return points


def call(name, data, k, **options):
    method = get_method(name)
    if method.represents and "time_limit" in method.injected:
        options = TIMED | options
    return running.run(name, data, k, **options)


def cost(data, outcome):
    """What the method minimises: its own objective where it is not the squared error of the points."""
    if outcome.objective is not None and outcome.objective.name != "sse":
        return outcome.objective.value
    if np.issubdtype(data.dtype, np.integer):
        groups = [np.flatnonzero(outcome.labels == label) for label in np.unique(outcome.labels)]
        return sum(nominal_partition.group_distance(data, group) for group in groups)
    return total_cost(data.reshape(len(data), -1), outcome.labels)


def sizes(outcome):
    return np.unique(outcome.labels, return_counts=True)[1]


@singledispatch
def violation(claim, name, data, k, run):
    """Why a result violates a claim, or None; ``run(options)`` returns the outcome of the method."""
    raise NotImplementedError(f"no test checks {type(claim).__name__}")


@violation.register
def _(claim: contract.OneLargerGroup, name, data, k, run):
    found = np.sort(sizes(run({})))
    return None if (found[:-1] == k).all() and found[-1] <= 2 * k - 1 else f"sizes {found}"


@violation.register
def _(claim: contract.FewExtraRecords, name, data, k, run):
    regular = 2 * k - 1 if claim.doubled else k
    extra = np.maximum(sizes(run({})) - regular, 0).sum()
    return None if extra < k else f"{extra} records beyond {regular}"


@violation.register
def _(claim: contract.TwoGroups, name, data, k, run):
    if not 2 * k <= len(data) < 3 * k:
        return None
    return None if len(sizes(run({}))) == 2 else f"{len(sizes(run({})))} groups"


@violation.register
def _(claim: contract.EqualRecordsTogether, name, data, k, run):
    _, rows = np.unique(np.asarray(data), axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([rows.reshape(-1), run({}).labels]), axis=0)
    return None if len(pairs) == len(np.unique(pairs[:, 0])) else "equal records in two groups"


@violation.register
def _(claim: contract.NeverWorse, name, data, k, run):
    if claim.most_records is not None and len(data) > claim.most_records:
        return None
    other = run(dict(claim.options)) if claim.than == name else call(claim.than, data, k, **claim.options)
    ours, theirs = cost(data, run({})), cost(data, other)
    return None if ours <= theirs + TOLERANCE * (theirs + 1e-300) else f"{ours} above {theirs}"


@violation.register
def _(claim: contract.Optimal, name, data, k, run):
    if len(data) > FEW_RECORDS or (name == "matching" and k != 2):
        return None
    outcome = run({})
    if outcome.objective is not None and outcome.objective.gap:
        return f"gap {outcome.objective.gap}"
    return above(data, outcome.labels, k, 1)


@violation.register
def _(claim: contract.WithinFactor, name, data, k, run):
    return None if len(data) > FEW_RECORDS else above(data, run({}).labels, k, claim.factor(k))


@violation.register
def _(claim: contract.OptimalAlongDirection, name, data, k, run):
    if len(data) > FEW_RECORDS:
        return None
    outcome = run({})
    line = (data - data.mean(axis=0)) @ np.array(outcome.diagnostics["direction"])
    return above(line, outcome.labels, k, 1)


@violation.register
def _(claim: contract.Insensitive, name, data, k, run):
    before = run({}).labels
    for record in range(len(data)):
        changed = data.copy()
        changed[record] = data.max(axis=0) + 1.0 if record % 2 else data.min(axis=0) - 1.0
        after = run({}, changed).labels
        for group in np.unique(before):
            gone = np.setdiff1d(np.flatnonzero(before == group), np.flatnonzero(after == group))
            come = np.setdiff1d(np.flatnonzero(after == group), np.flatnonzero(before == group))
            # A group changes in one element: one record leaves and one comes; the changed record may do either.
            if len(gone) > 1 or len(come) > 1:
                return f"group {group} changes in {len(gone)} and {len(come)} records"
    return None


@violation.register
def _(claim: contract.SelectedRecords, name, data, k, run):
    outcome = run({})
    chosen = outcome.representatives
    if chosen is None or len(chosen) != len(np.unique(outcome.labels)):
        return "groups without a representative"
    return None if ((chosen >= 0) & (chosen < len(data))).all() else "a representative that is no record"


@violation.register
def _(claim: contract.SeparateGroups, name, data, k, run):
    labels = run(dict(claim.options)).labels
    combination = np.unique(data, axis=0, return_inverse=True)[1].ravel()
    split = [value for value in np.unique(combination) if len(np.unique(labels[combination == value])) > 1]
    return None if not split else f"{len(split)} combinations in several groups"


@violation.register
def _(claim: contract.SizesOfOptions, name, data, k, run):
    found = sizes(run(dict(claim.options)))
    return None if found.max() <= 2 * k - 1 else f"sizes {found}"


@violation.register
def _(claim: contract.AsMethodUsed, name, data, k, run):
    outcome = run({})
    used = outcome.method if claim.option is None else get_method(name).options[claim.option].default
    limit = get_method(used).max_size
    return None if limit is None or sizes(outcome).max() <= limit(k) else f"sizes {sizes(outcome)} for {used}"


def above(data, labels, k, factor):
    """Why the squared error is above a factor times the optimum, which is found by trying all groupings; else None."""
    points = data.reshape(len(data), -1)
    ours, least = optimal.grouping_cost(points, labels), optimal.optimum(points, k)
    rounding = 1e-12 * float(np.square(points).sum())
    return None if ours <= factor * least * (1 + TOLERANCE) + rounding else f"{float(ours)} for {float(least)}"


def checked(name, claim, points, k):
    data = shaped(name, points)
    if isinstance(claim, contract.Insensitive):  # groups are compared in their order, which the registry drops

        def run(options, other=data):
            return Outcome(labels_of(get_method(name).function(other, k, **options)))
    else:

        def run(options):
            return call(name, data, k, **options)

    return violation(claim, name, data, k, run)


def test_every_kind_of_guarantee_has_a_check():
    kinds = {type(claim) for _, claim in CLAIMS}
    assert contract.Guarantee not in kinds, "a guarantee in words only, which no test can refute"
    assert kinds <= set(violation.registry)


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}-{type(claim).__name__}" for name, claim in CLAIMS])
@given(case=st.one_of(points_and_k(max_n=8, max_d=2, max_k=3), points_and_k(max_n=40, max_d=3)))
@settings(max_examples=12)
def test_what_a_method_claims_holds(name, claim, case):
    points, k = case
    if name == "brute-force" and len(points) > FEW_RECORDS:
        return
    if name == "matching":
        k = 2
    assert checked(name, claim, points, k) is None


@pytest.mark.parametrize("name", PROVERS)
@given(case=points_and_k(max_n=8, max_d=2, max_k=3))
@settings(max_examples=6)
def test_a_proven_bound_is_never_above_the_optimum(name, case):
    points, k = case
    data = shaped(name, points)
    objective = call(name, data, 2 if name == "matching" else k).objective
    if objective is None or objective.bound is None:
        return
    assert objective.bound <= objective.value * (1 + TOLERANCE) + 1e-300
    if objective.name == "sse" and len(data) <= FEW_RECORDS:
        table = data.reshape(len(data), -1)
        least = optimal.optimum(table, 2 if name == "matching" else k)
        assert objective.bound <= float(least) * (1 + TOLERANCE) + 1e-12 * float(np.square(table).sum())
    if objective.name == "within-group distance" and len(data) <= FEW_RECORDS:
        assert objective.bound <= nominal_partition.least_distance(data, k) + TOLERANCE


class TestWrongVersions:
    """Each check finds a grouping that violates the claim."""

    LINE = np.arange(12.0).reshape(-1, 1)
    SPREAD = np.array([0, 1, 2, 3] * 3)  # far records in each group
    HALVES = np.repeat([0, 1], 6)

    @pytest.mark.parametrize(
        ("claim", "labels", "k"),
        [
            (contract.OneLargerGroup(), np.repeat([0, 1, 2], [5, 4, 3]), 3),
            (contract.FewExtraRecords(), np.repeat([0, 1], 6), 3),
            (contract.FewExtraRecords("", doubled=True), np.repeat([0, 1], [3, 9]), 3),
            (contract.NeverWorse("", "mdav"), SPREAD, 3),
            (contract.WithinFactor("", lambda _: 2), np.array([0, 1] * 4), 2),
            (contract.Optimal(), np.array([0, 0, 1, 0, 1, 1, 1, 1]), 2),
            (contract.SizesOfOptions("", {}), np.repeat([0, 1], [3, 9]), 3),
            (contract.SelectedRecords(), HALVES, 3),
            (contract.TwoGroups(), np.zeros(8, np.int64), 3),
            (contract.AsMethodUsed("", "grouping"), np.repeat([0, 1], [3, 9]), 3),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, contract.Guarantee) else "",
    )
    def test_a_grouping_that_violates_the_claim_is_found(self, claim, labels, k):
        outcome = Outcome(labels)
        assert violation(claim, "pca-mdav", self.LINE[: len(labels)], k, lambda _: outcome) is not None

    def test_representatives_beyond_the_table_are_found(self):
        outcome = Outcome(self.HALVES, representatives=np.array([0, 12]))
        assert violation(contract.SelectedRecords(), "safe", self.LINE, 3, lambda _: outcome) is not None

    def test_combinations_in_two_groups_are_found(self):
        codes = np.zeros((12, 2), np.int32)
        outcome = Outcome(self.HALVES)
        claim = contract.SeparateGroups("", {"cuts": "strict"})
        assert violation(claim, "mondrian-nominal", codes, 3, lambda _: outcome) is not None

    def test_a_grouping_across_the_direction_is_found(self):
        plane = np.column_stack([np.arange(8.0), np.zeros(8)])
        outcome = Outcome(np.array([0, 1] * 4), diagnostics={"direction": [1.0, 0.0]})
        assert violation(contract.OptimalAlongDirection(), "projection", plane, 3, lambda _: outcome) is not None

    def test_mdav_is_not_insensitive(self, rng):
        points = rng.normal(size=(20, 1))

        def run(_, other=points):
            return Outcome(labels_of(get_method("mdav").function(other, 3)))

        assert violation(contract.Insensitive(), "mdav", points, 3, run) is not None

    def test_ona_star_is_sometimes_worse_than_mdav_star(self):
        """Their starts differ: a record joins the group whose cost rises least, or that of the nearest centroid."""
        claim = contract.NeverWorse("never worse than mdav-star", "mdav-star")
        points = np.random.default_rng(2909).normal(size=(19, 2))  # found by a search; about one table in 1,500
        assert checked("ona-star", claim, points, 5) is not None


COMPARED = [(name, claim) for name, claim in CLAIMS if isinstance(claim, contract.NeverWorse)]


@pytest.mark.parametrize(("name", "claim"), COMPARED, ids=[name for name, _ in COMPARED])
def test_no_small_table_refutes_that_a_method_is_never_worse(name, claim, repetitions):
    """Small tables, where one group more or less decides, are the most likely counterexamples."""
    for seed in range(repetitions(50 if name in SLOW_SEARCHES else 2_000)):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 7))
        points = rng.normal(size=(int(rng.integers(2 * k, 6 * k)), int(rng.integers(1, 4))))
        if seed % 3 == 0:
            points = points.round()
        assert checked(name, claim, points, k) is None, f"seed {seed}"
