"""Linkage counted by persons against plain lists, and the count of records that it corrects."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.flow.test_units import QUASI, protect, stays

import shoal
from shoal.api.evaluation import evaluate
from shoal.evaluate.linkage import person_linkage, record_linkage
from shoal.evaluate.paired_columns import PairedColumn


def by_lists(original, released, units):
    """For each person the average over its rows of the share of its own rows among the nearest ones."""
    of_person = {}
    for value, unit in zip(original, units, strict=True):
        gaps = [abs(value - other) for other in released]
        near = [i for i, gap in enumerate(gaps) if gap == min(gaps)]
        of_person.setdefault(unit, []).append(sum(units[i] == unit for i in near) / len(near))
    return np.mean([np.mean(shares) for shares in of_person.values()])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), min_size=2, max_size=20))
def test_persons_are_counted_as_by_lists(rows):
    original, released, units = (np.array(column) for column in zip(*rows, strict=True))
    column = PairedColumn("x", original.astype(float), released.astype(float))
    attack = person_linkage([column], units)
    assert attack.success.value == pytest.approx(by_lists(original.tolist(), released.tolist(), units.tolist()))
    assert attack.success.value >= 0
    if np.unique(units).size == units.size:  # one row a person: the count of records
        assert attack.success.value == pytest.approx(record_linkage([column]).success.value)


def test_a_link_to_another_row_of_the_person_is_a_success():
    """The wrong version counts records: five equal rows of one person are no protection of it."""
    column = PairedColumn("x", np.array([1.0, 1, 1, 1, 1, 9]), np.array([1.0, 1, 1, 1, 1, 9]))
    units = np.array([0, 0, 0, 0, 0, 1])
    assert record_linkage([column]).success.value == pytest.approx(1 / 3)
    assert person_linkage([column], units).success.value == 1.0


def test_releases_and_evaluate_state_what_is_counted(tmp_path):
    table = stays()
    release = protect(table)
    assert "all other attacks count persons" in " ".join(release.risk.notes)
    table.write_csv(tmp_path / "stays.csv")
    paths = release.write(tmp_path / "safe.csv")
    record = next(path for path in paths if "holder" in path.name)
    others = [name for name in table.columns if name not in {*QUASI, "patient"}]
    risk, _ = evaluate(
        tmp_path / "stays.csv", tmp_path / "safe.csv", quasi=QUASI, unit="patient", other=others, record=record
    )
    found = risk.attack("person-linkage").success.value
    assert found == pytest.approx(release.risk.attack("person-linkage").success.value)
    assert found <= 1 / release.k + 0.35
    plain = shoal.risk(pl.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [1, 2]}), quasi=["x"])
    assert "person-linkage" not in {attack.name for attack in plain.attacks}
