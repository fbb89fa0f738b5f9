"""Groups that travel to the parts of another tree: k holds, the loss falls, and no byte depends on the batches."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from engines.test_partitioned_run import digest, people, run
from shoal.core.grouping import canonical_labels
from shoal.engines import repair
from shoal.engines.repair import group_part, group_places, refine_part, repair_passes, repair_trees
from shoal.engines.spill import Spill
from shoal.schema.plan import MethodCall, Plan
from shoal.schema.requirements import Requirements

QUASI = {"numbers": ["age", "income", "weight"], "mixed": ["age", "income", "job"]}


def plan_of(table, quasi, effort="balanced", requirements=(), **columns):
    _, schema = shoal.load_table(table, quasi=quasi, unnamed="other", **columns)
    return Plan(schema, Requirements(k=3, **dict(requirements)), MethodCall("auto", {"effort": effort}))


@pytest.mark.parametrize("kind", QUASI)
def test_repairs_lower_the_loss_and_depend_on_no_batch(kind, tmp_path, monkeypatch):
    table = people(1_200)
    plan = plan_of(table, QUASI[kind])
    monkeypatch.setitem(repair.PASSES, "balanced", 0)
    before = run(table, plan, leaf=300)[0].figures.loss(3).information_loss
    monkeypatch.setitem(repair.PASSES, "balanced", 2)
    found, released = run(table, plan, leaf=300)
    assert found.figures.loss(3).information_loss < before
    assert shoal.verify(released, 3, quasi=QUASI[kind], unnamed="other").k >= 3
    in_files = run(
        table, plan, leaf=300, splits=(1, 700, 499), rows=lambda name: Spill(tmp_path, name, buffer_bytes=9_000)
    )
    assert digest(in_files[1]) == digest(released)
    assert found.figures.records == table.num_rows
    assert found.figures.runs


def test_strata_are_not_crossed_by_a_repair():
    table = people(1_200)
    _, released = run(table, plan_of(table, QUASI["numbers"], strata=["region"]), leaf=300)
    names = [*QUASI["numbers"], "region"]
    assert released.group_by(names).aggregate([([], "count_all")])["count_all"].to_numpy().min() >= 3
    assert released["region"].equals(table["region"])


def test_whole_groups_travel_and_rows_alone_would_break_k():
    table = people(1_200)
    plan = plan_of(table, QUASI["numbers"])
    found, _ = run(table, plan, leaf=300)
    encoding = found.planned.partition.encoding
    tree = repair_trees(found.planned, 1, 300)[0]
    labels, _ = group_part(table, plan, encoding)
    places = group_places(table, labels, tree)
    assert np.unique(places).size > 1
    sizes = [np.bincount(canonical_labels(labels[places == place])).min() for place in np.unique(places)]
    assert min(sizes) >= 3
    from shoal.tables import Table

    rows = tree.leaves(Table.from_native(table))  # the wrong version: each row goes where it lies itself
    sizes = [np.bincount(canonical_labels(labels[rows == place])).min() for place in np.unique(rows)]
    assert min(sizes) < 3


def test_a_refined_part_is_never_worse():
    table = people(600)
    plan = plan_of(table, QUASI["numbers"])
    found, _ = run(table, plan, leaf=300)
    encoding = found.planned.partition.encoding
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(200), 3))
    refined = refine_part(table, canonical_labels(labels), plan, encoding, 0)
    sums = [_squares(table, groups) for groups in (labels, refined)]
    assert sums[1] < 0.2 * sums[0]
    assert np.bincount(refined).min() >= 3


def _squares(table, labels):
    total = 0.0
    for name in QUASI["numbers"]:
        values = np.asarray(table[name], dtype=float)
        values = (values - values.mean()) / values.std()
        means = np.bincount(labels, values) / np.bincount(labels)
        total += ((values - means[labels]) ** 2).sum()
    return total


@pytest.mark.parametrize(
    ("choices", "passes"),
    [
        ({}, 2),
        ({"effort": "fast"}, 0),
        ({"effort": "best"}, 4),
        ({"requirements": {"l": 2}, "confidential": ["diagnosis"]}, 0),
        ({"unit": "person"}, 0),
        ({"sampling_weight": "weight", "quasi": ["age", "income"]}, 0),
        ({"quasi": ["income"]}, 0),
    ],
)
def test_repairs_follow_the_effort_and_only_where_k_alone_is_asked_for(choices, passes):
    table = people(1_200)
    choices = {"quasi": QUASI["numbers"]} | choices
    planned = run(table, plan_of(table, **choices | {"effort": "fast"}), leaf=400)[0].planned
    assert repair_passes(plan_of(table, **choices), planned) == passes


def test_a_table_of_equal_rows_ends():
    table = pa.table({"age": [1.0] * 2_000, "income": [2.0] * 2_000})
    found, released = run(table, plan_of(table, ["age", "income"]), leaf=200)
    assert digest(released) == digest(table)
    assert found.figures.jobs > 1
