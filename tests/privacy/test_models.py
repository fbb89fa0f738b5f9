"""Every privacy model against its reference implementation, the literature, and known faults of other software."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.hierarchy import Hierarchy
from shoal.errors import MissingValues, ParameterError, SchemaError, UnknownColumn
from shoal.privacy.alpha_k import alpha_of
from shoal.privacy.counts import count_values
from shoal.privacy.ground_distances import ORDERED, equal_distance, hierarchical_distance
from shoal.privacy.l_diversity import distinct_l, entropy_l, recursive_c
from shoal.privacy.m_t_closeness import m_t_closeness
from shoal.privacy.p_sensitivity import most_classes
from shoal.privacy.t_closeness import closeness

from naive import privacy as naive


@st.composite
def columns(draw, max_n=14, max_values=4, max_groups=4):
    n = draw(st.integers(1, max_n))
    labels = draw(st.lists(st.integers(0, max_groups - 1), min_size=n, max_size=n))
    codes = draw(st.lists(st.integers(0, max_values - 1), min_size=n, max_size=n))
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return labels, codes


def groups_of(labels):
    return naive.classes(labels.tolist())


@given(columns(), st.sampled_from(["ordered", "nominal"]))
@settings(max_examples=60)
def test_every_figure_equals_the_reference_implementation(case, kind):
    labels, codes = case
    frame = pl.DataFrame({"q": labels, "s": codes if kind == "ordered" else [f"v{code}" for code in codes]})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"])
    m = int(codes.max()) + 1
    ground = naive.ordered_ground(m) if kind == "ordered" else naive.equal_ground(m)
    for name, value in naive.figures(groups_of(labels), codes.tolist(), ground).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-9), name
    assert found.p == found.l
    assert found.entropy_l <= found.l + 1e-9, "entropy l-diversity implies distinct l-diversity"


TREE = Hierarchy([("a", "ab", "abc"), ("b", "ab", "abc"), ("c", "abc"), ("d", "de"), ("e", "de")])


@given(columns(max_values=5), st.booleans())
@settings(max_examples=40)
def test_the_hierarchical_distance_is_a_transport_over_common_ancestors(case, with_missing):
    labels, codes = case
    leaves = np.array([4, 2, 0, 3, 1])[: int(codes.max()) + 1]
    ground = TREE.distances()[np.ix_(leaves, leaves)]
    if with_missing:
        leaves = np.append(leaves[:-1], -1)
        ground = ground.copy()
        ground[-1, :] = ground[:, -1] = 1.0
        ground[-1, -1] = 0.0
    counts = count_values(labels, codes)
    p = counts.totals / counts.totals.sum()
    found = closeness(counts, hierarchical_distance(TREE, leaves))
    for group in range(labels.max() + 1):
        q = np.bincount(codes[labels == group], minlength=p.size) / (labels == group).sum()
        assert found[group] == pytest.approx(naive.earth_mover(q, p, ground), abs=1e-9)


@given(columns(max_n=7, max_values=3, max_groups=3), st.integers(1, 7), st.booleans())
@settings(max_examples=25)
def test_m_t_closeness_tries_every_larger_set(case, m, ordered):
    labels, codes = case
    m = min(m, codes.size)
    size = int(codes.max()) + 1
    distance = ORDERED if ordered else equal_distance(size)
    ground = naive.ordered_ground(size) if ordered else naive.equal_ground(size)
    found = m_t_closeness(count_values(labels, codes), distance, m)
    assert found == pytest.approx(naive.m_t_closeness(groups_of(labels), codes.tolist(), ground, m), abs=1e-7)


@given(columns())
def test_for_m_equal_to_n_it_is_t_closeness_and_one_class_is_always_close(case):
    labels, codes = case
    counts = count_values(labels, codes)
    assert m_t_closeness(counts, ORDERED, codes.size) == pytest.approx(closeness(counts, ORDERED).max(), abs=1e-9)
    one = count_values(np.zeros_like(labels), codes)
    assert m_t_closeness(one, ORDERED, codes.size) == pytest.approx(0.0, abs=1e-12)


def test_table_3_4_is_4_anonymous_with_l_1():
    frame = pl.DataFrame({"q": [1, 1, 1, 1, 2, 2, 2, 2], "s": [1, 1, 1, 1, 2, 2, 3, 4]})
    found = shoal.assess(frame, quasi="q", confidential="s")
    assert (found.k, found.l, found.alpha, found.beta) == (4, 1, 1.0, 1.0)
    counts = count_values(np.repeat([0, 1], 4), np.array([0, 0, 0, 0, 1, 1, 2, 3]))
    assert distinct_l(counts).tolist() == [1, 3]
    assert counts.frequencies[0] == 0.5


@pytest.mark.parametrize("groups", [[0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3], [0, 1, 2, 3, 0, 1, 2, 3]])
def test_table_3_5_is_2_anonymous_and_4_0_close(groups):
    counts = count_values(np.array(groups), np.array([0, 0, 1, 1, 0, 0, 1, 1]))
    assert counts.sizes.min() == 2
    assert m_t_closeness(counts, equal_distance(2), 4) == 0.0


def test_t_closeness_of_the_salaries_of_li_et_al_2007():
    """Tables 3 and 5 of the paper: nine salaries of 3k to 11k, in thousands."""
    salaries = np.arange(9)
    first = count_values(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), salaries)
    assert closeness(first, ORDERED)[0] == pytest.approx(0.375)
    second = count_values(np.array([1, 1, 1, 0, 2, 0, 2, 2, 0]), np.array([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    assert closeness(second, ORDERED)[0] == pytest.approx(0.167, abs=5e-4)


def test_recursive_diversity_uses_the_most_frequent_value():
    counts = count_values(np.zeros(10, np.int64), np.repeat([0, 1, 2], [5, 3, 2]))
    assert recursive_c(counts, 2)[0] == 1.0  # 5 < c (3 + 2)
    assert recursive_c(counts, 3)[0] == 2.5
    assert recursive_c(counts, 4)[0] == math.inf


def test_truta_and_vinay_limit_the_number_of_classes():
    """p = 3 with 900, 90 and 10 of a thousand: each class needs one of the ten."""
    assert most_classes(np.array([900, 90, 10]), 3) == 10
    assert most_classes(np.array([900, 90, 10]), 4) == 0


# -- faults of other software -----------------------------------------------------------------------------------


def test_seven_rows_with_a_missing_quasi_identifier_have_k_1():
    frame = pl.DataFrame({"q": ["a", "a", "a", "b", "b", "b", None], "s": list("xyzxyzx")})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"])
    assert (found.k, found.l, found.records) == (1, 1, 7)
    assert shoal.assess(frame, quasi=["q"], missing_semantics="wildcard", unnamed="other").k == 4
    with pytest.raises(MissingValues, match=r'missing values in "q" \(1\)'):
        shoal.assess(frame, quasi=["q"], missing_semantics="error", unnamed="other")


@pytest.mark.parametrize("index", ["shuffled", "text", "repeated"])
def test_the_index_is_ignored(index):
    pd = pytest.importorskip("pandas")
    labels = {"shuffled": [3, 0, 5, 1, 4, 2], "text": list("fedcba"), "repeated": [0] * 6}[index]
    frame = pd.DataFrame({"q": [1, 1, 1, 2, 2, 2], "s": ["x", "x", "x", "x", "y", "z"]}, index=labels)
    found = shoal.assess(frame, quasi=["q"], confidential=["s"])
    assert (found.l, found.k) == (1, 3)


def test_the_average_risk_is_over_records():
    frame = pl.DataFrame({"q": [0] * 98 + [1, 2]})
    risk = shoal.assess(frame, quasi=["q"]).risk
    assert risk.prosecutor.average == pytest.approx(3 / 100)
    assert risk.prosecutor.highest == 1.0


# -- missing values -------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([None, "a", "b"]), st.sampled_from(list("xyz"))),
        min_size=1, max_size=12,
    )
)  # fmt: skip
@settings(max_examples=60)
def test_wildcards_match_where_both_values_are_known(rows):
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String, "s": pl.String}, orient="row")
    found = shoal.assess(frame, quasi=["a", "b"], confidential=["s"], missing_semantics="wildcard")
    matches = naive.wildcard_matches([row[:2] for row in rows])
    assert found.k == min(map(len, matches))
    assert found.l == min(len({rows[i][2] for i in match}) for match in matches)
    assert found.risk.prosecutor.average == pytest.approx(np.mean([1 / len(match) for match in matches]))
    assert found.records_below(3) == sum(len(match) < 3 for match in matches)


def test_a_hidden_confidential_value_may_be_the_most_frequent():
    frame = pl.DataFrame({"q": [1] * 4, "s": ["x", "x", "y", None]})
    own = shoal.assess(frame, quasi=["q"], confidential=["s"])
    assert (own.l, own.alpha) == (3, 0.5)
    hidden = shoal.assess(frame, quasi=["q"], confidential=["s"], missing_semantics="wildcard")
    assert (hidden.l, hidden.alpha) == (2, 0.75)
    assert hidden.t == 0.0
    counts = count_values(np.zeros(4, np.int64), np.array([0, 0, 1, -1]))
    assert alpha_of(counts)[0] == 0.75
    assert entropy_l(counts)[0] == pytest.approx(math.exp(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25))))
    with pytest.raises(MissingValues, match='missing values in "s"'):
        shoal.assess(frame, quasi=["q"], confidential=["s"], missing_semantics="error")


def test_a_class_whose_confidential_values_are_all_missing_is_the_worst():
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": [None, None, "x", "y"]})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], missing_semantics="wildcard", m=2)
    assert (found.l, found.entropy_l, found.alpha, found.t, found.m_t) == (1, 1.0, 1.0, 0.5, 0.5)
    assert (found.c, found.beta, found.enhanced_beta) == (1.0, 1.0, math.inf)
    assert found.delta == pytest.approx(math.log(2))
    for requirement in ({"l": 2, "l_kind": "entropy"}, {"t": 0.4}, {"beta": 0.9}, {"delta": 0.6}):
        with pytest.raises(shoal.errors.RequirementNotMet):
            shoal.verify(frame, 2, quasi=["q"], confidential=["s"], missing_semantics="wildcard", **requirement)


@given(columns(max_n=10), st.sampled_from(["ordered", "nominal"]), st.integers(1, 3))
@settings(max_examples=40)
def test_an_unknown_class_is_as_bad_as_the_worst_class_with_one_value(case, kind, size):
    labels, codes = case
    n_values = int(codes.max()) + 1
    values = codes.tolist() if kind == "ordered" else [f"v{code}" for code in codes]
    frame = pl.DataFrame({"q": labels.tolist() + [99] * size, "s": values + [None] * size})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], missing_semantics="wildcard")
    ground = naive.ordered_ground(n_values) if kind == "ordered" else naive.equal_ground(n_values)
    expected = naive.figures_with_unknown_class(groups_of(labels), codes.tolist(), ground)
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-9), name


def test_a_column_without_any_known_value_gives_no_protection():
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": [None] * 4}, schema_overrides={"s": pl.String})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], missing_semantics="wildcard")
    assert (found.l, found.entropy_l, found.alpha, found.t) == (1, 1.0, 1.0, 1.0)
    assert (found.beta, found.enhanced_beta, found.delta) == (math.inf, math.inf, math.inf)


def test_a_combination_with_a_missing_value_may_be_any_combination():
    frame = pl.DataFrame({"q": [1, 1], "s": ["x", None], "u": [1, 1]})
    found = shoal.assess(
        frame, quasi=["q"], confidential=["s", "u"], confidential_as="joint", missing_semantics="wildcard"
    )
    assert (found.l, found.alpha) == (1, 1.0)
    distinct = shoal.assess(frame, quasi=["q"], confidential=["s", "u"], confidential_as="joint")
    assert (distinct.l, distinct.alpha) == (2, 0.5)


# -- several columns, wrong use -------------------------------------------------------------------------------------


def test_several_confidential_columns_are_assessed_in_three_ways():
    frame = pl.DataFrame({"q": [1, 1, 1, 1], "s": ["x", "x", "y", "y"], "u": [1, 2, 1, 2]})
    separate = shoal.assess(frame, quasi=["q"], confidential=["s", "u"])
    assert (separate.l, separate.columns["s"].l) == (2, 2)
    known = shoal.assess(frame, quasi=["q"], confidential=["s", "u"], confidential_as="quasi")
    assert known.l == 2
    assert known.k == 4
    joint = shoal.assess(frame, quasi=["q"], confidential=["s", "u"], confidential_as="joint")
    assert joint.l == 4
    frame = frame.with_columns(u=pl.Series([1, 1, 2, 2]))
    assert shoal.assess(frame, quasi=["q"], confidential=["s", "u"], confidential_as="quasi").l == 1
    assert shoal.assess(frame, quasi=["q"], confidential=["s", "u"], confidential_as="joint").l == 2


def test_an_order_and_a_hierarchy_change_the_distance():
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["low", "mid", "mid", "high"]})
    assert shoal.assess(frame, quasi=["q"], confidential=["s"]).columns["s"].distance == "equal"
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], orders={"s": ["low", "mid", "high"]})
    assert (found.columns["s"].distance, found.t) == ("ordered", 0.25)
    tree = Hierarchy([("low", "some"), ("mid", "some"), ("high", "many")])
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], hierarchies={"s": tree})
    assert found.columns["s"].distance == "hierarchical"
    assert found.t == pytest.approx(0.25)


def test_a_confidential_quasi_identifier_raises_an_error():
    frame = pl.DataFrame({"q": [1, 1], "s": [1, 2]})
    with pytest.raises(SchemaError, match='column "q" is given two roles'):
        shoal.assess(frame, quasi=["q"], confidential=["q"])
    with pytest.raises(UnknownColumn):
        shoal.assess(frame, quasi=["q"], confidential=["z"])
    with pytest.raises(SchemaError, match="no quasi-identifier"):
        shoal.assess(frame, quasi=[], unnamed="other")


@pytest.mark.parametrize(
    ("requirements", "text"),
    [
        ({"t": 1.5}, "t=1.5 is not possible; t-closeness needs 0 <= t <= 1"),
        ({"t": -0.1}, "t=-0.1 is not possible"),
        ({"l": 0}, "l=0 is not possible"),
        ({"l": 2.5}, "l=2.5 must be an integer"),
        ({"alpha": 0}, "alpha=0 is not possible"),
        ({"beta": 0}, "beta=0 is not possible"),
        ({"delta": -1}, "delta=-1 is not possible"),
        ({"p": 1.5}, "p=1.5 is not possible"),
        ({"l": 2, "l_kind": "recursive"}, "needs both l_kind=recursive and c"),
        ({"c": 2, "l_kind": "recursive"}, "needs l as well"),
        ({"l": 2, "l_kind": "entropi"}, 'l_kind="entropi" is not known; did you mean "entropy"'),
        ({"t": float("nan")}, "t must be a number"),
    ],
)
def test_requirements_without_sense_raise_an_error(requirements, text):
    frame = pl.DataFrame({"q": [1, 1], "s": [1, 2]})
    with pytest.raises(ParameterError, match=text.replace("(", r"\(").replace(")", r"\)")):
        shoal.verify(frame, 2, quasi=["q"], confidential=["s"], **requirements)


def test_verify_names_each_violated_requirement():
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    assert shoal.verify(frame, 2, quasi=["q"], confidential=["s"], l=1, t=0.5).k == 2
    with pytest.raises(shoal.errors.RequirementNotMet, match=r"l=2 is violated, the table has l=1; t=0.1 is"):
        shoal.verify(frame, 2, quasi=["q"], confidential=["s"], l=2, t=0.1)
    with pytest.raises(shoal.errors.GroupTooSmall, match="k=3 is violated"):
        shoal.verify(frame, 3, quasi=["q"], confidential=["s"], l=1)
    with pytest.raises(SchemaError, match="l is about confidential attributes"):
        shoal.verify(frame, 2, quasi=["q"], l=2, unnamed="other")


def test_m_beyond_the_table_and_columns_with_too_many_values_raise_an_error():
    frame = pl.DataFrame({"q": [0] * 1200, "s": range(1200)})
    with pytest.raises(ParameterError, match="m=1300 is not possible; choose 1 to 1200"):
        shoal.assess(frame, quasi=["q"], confidential=["s"], m=1300)
    with pytest.raises(ParameterError, match="up to 1000 different values"):
        shoal.assess(frame, quasi=["q"], confidential=["s"], m=12)
    with pytest.raises(AttributeError, match="m_t was not measured"):
        _ = shoal.assess(frame, quasi=["q"], confidential=["s"]).m_t


def test_an_assessment_prints_and_becomes_json():
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    found = shoal.assess(frame, quasi=["q"], confidential=["s"], m=3, contributions=True)
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["figures"]["k"] == 2
    assert stored["figures"]["enhanced_beta"] is None
    assert stored["columns"]["s"]["m_t"] == found.m_t
    assert stored["risk"]["prosecutor"]["highest"] == 0.5
    assert (stored["confidential_as"], stored["missing_semantics"]) == ("separate", "distinct")
    assert "recursive c (l=1)" in str(found)
    assert repr(found).startswith("<Assessment: 4 records in 2 equivalence classes, k=2\n s: alpha=1, l=1,")
    assert found._repr_html_().count("<tr>") == 1 + len(found.rows())


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_an_assessment_is_a_table_of_the_library_that_was_given(backend):
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    native = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[backend]
    found = shoal.assess(native, quasi=["q"], confidential=["s"])
    assert type(found.table()) is type(native)
    table = found.table("polars")
    assert table.columns == ["measure", "column", "value", "meaning"]
    assert table.filter(measure="t", column="s")["value"].item() == found.t
    assert table.filter(measure="k")["value"].item() == 2
