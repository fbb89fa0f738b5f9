"""Tables from planar 3-SAT: the distances that the proof needs, and the SSE of satisfying and other assignments."""

from itertools import product

import numpy as np
import pytest

from shoal.core.grouping import Grouping
from shoal.datasets.planar import ALPHA, planar_instance
from shoal.errors import ParameterError

FORMULAS = {
    "Thaeter 2021": [(-1, 2, 3), (2, -3, 4), (1, -2)],
    "one literal": [(1,), (-2,), (2, -1)],
    "both sides": [(1, 2, 3), (-1, -2, -3), (1, -3), (-1, 3)],
    "nested": [(1, 2), (-1, 2), (1, -2), (3, -4), (1, 3, 4), (-1, -4), (2, -3)],
    "unsatisfiable": [(1, 2), (-1, 2), (1, -2), (-1, -2)],
}


@pytest.fixture(params=FORMULAS.values(), ids=FORMULAS)
def formula(request):
    return request.param


def cost(points, labels):
    centres = np.zeros((labels.max() + 1, 2))
    np.add.at(centres, labels, points)
    centres /= np.bincount(labels)[:, None]
    return ((points - centres[labels]) ** 2).sum()


def assignments(formula):
    count = max(abs(literal) for clause in formula for literal in clause)
    return product([False, True], repeat=count)


def violated(formula, assignment):
    return sum(not any(assignment[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in formula)


def squares(left, right):
    return ((left[:, None] - right[None]) ** 2).sum(axis=2)


def test_circuits_are_even_and_only_neighbours_are_at_distance_one(formula):
    """Thaeter 2021, Fact 4.9."""
    instance = planar_instance(formula)
    every = np.vstack(instance.circuits)
    adjacent = np.zeros((len(every), len(every)), bool)
    first = 0
    for circuit in instance.circuits:
        size = len(circuit)
        assert size % 2 == 0
        here = first + np.arange(size)
        adjacent[here, first + (np.arange(size) + 1) % size] = True
        first += size
    adjacent |= adjacent.T
    distances = squares(every, every)
    np.testing.assert_allclose(distances[adjacent], 1.0, atol=1e-9)
    assert distances[~adjacent & ~np.eye(len(every), dtype=bool)].min() >= 2 - 1e-9


def test_clauses_are_near_one_edge_of_each_of_their_circuits_and_its_matching_is_the_literal(formula):
    instance = planar_instance(formula)
    for clause, point in zip(instance.clauses, instance.clause_points, strict=True):
        for variable, circuit in enumerate(instance.circuits, start=1):
            distances = squares(circuit, point[None])[:, 0]
            literal = next((x for x in clause if abs(x) == variable), None)
            if literal is None:
                assert distances.min() >= ALPHA + 9 / 4 - 1e-9
                continue
            near = np.sort(np.argsort(distances)[:2])
            np.testing.assert_allclose(distances[near], ALPHA + 1 / 4, atol=1e-9)
            assert np.delete(distances, near).min() >= ALPHA + 9 / 4 - 1e-9
            assert (near[1] - near[0]) in {1, len(circuit) - 1}
            is_true = near[0] % 2 == 0 and near[1] == near[0] + 1
            assert is_true == (literal > 0)


@pytest.mark.parametrize("k", [4, 5, 6, 7])
def test_satisfying_assignments_cost_the_threshold_and_others_more(formula, k):
    instance = planar_instance(formula, k)
    gap = k / (k + 1) if k % 2 == 0 else (k - 1) / (k + 1)
    for assignment in assignments(formula):
        labels = instance.labels(assignment)
        Grouping(labels, k)
        more = cost(instance.points, labels) - instance.threshold
        wrong = violated(formula, assignment)
        assert more == pytest.approx(0.0, abs=1e-6) if wrong == 0 else more >= wrong * gap - 1e-6


@pytest.mark.parametrize(
    ("formula", "k", "text"),
    [
        ([(1, 2)], 3, "k of at least 4"),
        ([(1, 2, 3, 4)], 4, "one to three literals"),
        ([(1, -1)], 4, "different variables"),
        ([], 4, "at least one clause"),
        ([(1, 2, 3), (1, -2, 3), (-1, 2, 3)], 4, "without crossing"),
    ],
)
def test_formulas_that_cannot_be_drawn_raise_an_error(formula, k, text):
    with pytest.raises(ParameterError, match=text):
        planar_instance(formula, k)
