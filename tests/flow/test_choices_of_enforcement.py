"""When groups that satisfy requirements are sought in a second way as well, and what is written down about that."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.core.progress import SILENT
from shoal.errors import SchemaError
from shoal.flow import satisfy
from shoal.methods.persons.rising_price import Constraints
from shoal.privacy import closeness_construction, enforcement
from shoal.privacy.confidential import Values
from shoal.privacy.enforcement import Enforcement
from shoal.privacy.ground_distances import ORDERED
from shoal.privacy.requirement_table import build_requirement_table
from shoal.schema.requirements import Requirements


def requested(values, **requirements):
    column = Values("a", values, int(values.max()) + 1, ORDERED)
    wanted = Requirements(k=3, **requirements)
    return wanted, satisfy.ConfidentialValues((), (column,)), build_requirement_table(wanted, [column])


@pytest.fixture
def built(monkeypatch):
    """What the construction of close groups was asked for."""
    asked, usual = [], closeness_construction.build_close_groups

    def build(*arguments, values):
        asked.append(values)
        return usual(*arguments, values=values) if len(arguments[0]) < 100 else None

    monkeypatch.setattr(closeness_construction, "build_close_groups", build)
    return asked


@pytest.mark.parametrize(
    ("kind", "options", "asked"), [("numeric", {}, [None]), ("nominal", {}, [3]), ("numeric", {"strata": ["sex"]}, [])]
)
def test_groups_that_are_close_by_construction_are_tried_where_one_group_may_hold_all(kind, options, asked, built):
    table = pl.DataFrame({"age": range(40), "pay": [i // 14 for i in range(40)], "sex": [i % 2 for i in range(40)]})
    shoal.protect(
        table, quasi=["age"], confidential=["pay"], kinds={"pay": kind}, unnamed="other", k=4, t=0.3, method="mdav",
        **options,
    )  # fmt: skip
    assert built == asked


def test_groups_are_constructed_for_up_to_5000_records(built):
    for n, asked in ((10, [None]), (5_000, [None]), (5_001, [])):
        built.clear()
        values = np.arange(n) % 2
        wanted, confidential, table = requested(values, t=0.3)
        found = Enforcement(np.zeros(n, np.int64), groups_violating=1)
        constraints = Constraints(3, None, values[:, None], table)
        satisfy._or_built(np.zeros((n, 1)), found.labels, found, constraints, confidential, wanted, SILENT)
        assert built == asked


@pytest.mark.parametrize(("compared", "times"), [(3, 1), (2, 0)])
def test_groups_are_sought_without_a_price_too_where_few_records_are_concerned(compared, times, monkeypatch):
    """One violating group of four and twelve records: three records a group."""
    calls, usual = [], enforcement.satisfy_requirements
    monkeypatch.setattr(enforcement, "satisfy_requirements", lambda *given: calls.append(1) or usual(*given))
    monkeypatch.setattr(satisfy, "COMPARED_RECORDS", compared)
    values = np.array([0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1])
    _, _, table = requested(values, l=2)
    points, labels, codes = np.arange(12.0)[:, None], np.arange(12) // 3, values[:, None]
    found = satisfy.satisfied_by_price(points, labels, Constraints(3, None, codes, table), codes, table, SILENT)
    assert (found.groups_violating, len(calls)) == (1, times)
    assert enforcement.count_violating(found.labels, codes, table) == 0


def test_groups_with_exactly_k_persons_each_are_not_searched():
    table = pl.DataFrame({"who": range(9), "age": range(9)})
    release = shoal.protect(table, quasi=["age"], unit="who", unnamed="other", k=3, method="mdav")
    assert (release.k, release.grouping.sizes.tolist()) == (3, [3, 3, 3])
    assert {"name": "k persons", "groups_violating": 0} in release.manifest["method"]["steps"]


def test_requirements_on_confidential_attributes_need_one():
    with pytest.raises(SchemaError, match="l is about confidential attributes, but none is named"):
        shoal.protect(pl.DataFrame({"age": [1, 2, 3, 4]}), quasi=["age"], k=2, l=2)
