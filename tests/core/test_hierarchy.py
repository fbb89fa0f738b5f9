import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.hierarchy import Hierarchy
from shoal.errors import FileProblem, SchemaError
from shoal.schema.columns import Column, Kind, Role
from shoal.schema.hierarchy_building import BUILDERS, build_hierarchy
from shoal.schema.hierarchy_sources import hierarchy_of, read_hierarchy
from shoal.tables import Table

from naive import recoding as naive

JOBS = {  # Thaeter 2021, Fig. 3.2 as far as the text tells it
    "medic": ["dentist", "dermatologist", "ophthalmologist", "surgeon"],
    "craftsperson": ["baker", "carpenter", "painter", "electrician"],
}


@st.composite
def trees(draw):
    """Random trees with values at different depths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    paths = []
    for leaf in range(draw(st.integers(1, 12))):
        node = int(rng.integers(0, 9))
        path = [f"v{leaf}"]
        while node > 0:
            path.append(f"n{node}")
            node //= 2  # the parent of a node is given by its number
        paths.append((*path, "all"))
    return Hierarchy(paths)


@given(trees(), st.integers(0, 2**32 - 1))
def test_closest_common_ancestors_and_sizes_equal_the_naive_twin(tree, seed):
    rng = np.random.default_rng(seed)
    parents = tree.parents.tolist()
    assert tree.sizes.tolist() == [naive.leaves_below(parents, tree.n_leaves, node) for node in range(len(tree))]
    groups = rng.permutation(np.append(np.arange(4), rng.integers(0, 4, 10)))
    leaves = rng.integers(0, tree.n_leaves, groups.size)
    found = tree.common_ancestors(leaves, groups)
    for group in range(4):
        assert found[group] == naive.closest_common_ancestor(parents, leaves[groups == group].tolist())


@given(trees())
def test_distances_are_a_metric_with_a_largest_value_of_one(tree):
    distances = tree.distances()
    assert (distances == distances.T).all()
    assert (np.diag(distances) == 0).all()
    assert distances.max() <= 1
    n = tree.n_leaves
    for middle in range(n):  # an ultrametric: no way round is shorter
        assert (distances <= np.maximum(distances[:, [middle]], distances[[middle], :]) + 1e-12).all()


def test_the_tree_of_the_thesis():
    tree = Hierarchy.from_nested(JOBS)
    assert tree.cca(["baker", "painter"]) == "craftsperson"
    assert tree.cca(["painter", "surgeon", "electrician"]) == "*"
    assert tree.cca(["dentist", "dentist"]) == "dentist"
    assert (tree.size("craftsperson"), tree.size("dentist"), tree.size("*")) == (4, 0, 8)
    assert (tree.height("dentist"), tree.height("medic"), tree.height("*")) == (0, 1, 2)
    assert repr(tree) == "Hierarchy(8 values, 11 nodes, height 2)"


@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_a_file_as_arx_writes_it(tmp_path, sign):
    file = tmp_path / "job.csv"
    lines = ["baker;craft;work;*", "painter;craft;work;*", "monk;church;church;*", "child"]
    file.write_text("\n".join(lines).replace(";", sign), encoding="utf-8-sig")
    tree = read_hierarchy(file)
    assert tree.leaves == ("baker", "painter", "monk", "child")
    assert (tree.cca(["baker", "painter"]), tree.cca(["baker", "monk"]), tree.cca(["monk", "child"])) == (
        "craft",
        "*",
        "*",
    )
    assert tree.size("church") == 1  # a label that repeats the one before counts once
    assert tree.size("*") == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;x;*\na;y;*", "rows 1 and 2 are about the same value"),
        ("a;x;p;*\nb;x;q;*", "rows 1 and 2 have the same node with different parents"),
        ("a;;p", "row 1 has an empty field"),
        ("a;x;y\nb;y;x", "rows 1 and 2 have the same node with different parents"),
    ],
)
def test_broken_files_are_refused_with_the_row(tmp_path, text, words):
    file = tmp_path / "job.csv"
    file.write_text(text)
    with pytest.raises(SchemaError, match=words):
        read_hierarchy(file)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(FileProblem, match="does not exist"):
        read_hierarchy(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("\n")
    with pytest.raises(FileProblem, match="is empty"):
        read_hierarchy(tmp_path / "empty.csv")
    (tmp_path / "latin.csv").write_bytes("Müller;*".encode("latin-1"))
    with pytest.raises(FileProblem, match="not UTF-8"):
        read_hierarchy(tmp_path / "latin.csv")


def test_an_unknown_value_is_counted_and_not_shown():
    tree = Hierarchy.from_nested(JOBS)
    with pytest.raises(
        SchemaError, match=r'column "job" has 1 different value that the hierarchy does not name'
    ) as seen:
        tree.codes(["baker", "secret agent", "secret agent"], "job")
    assert "agent" not in str(seen.value)


def built(values, kind=Kind.NOMINAL, builder="auto", order=None):
    column = Column("x", Role.QUASI, kind, order=order, hierarchy=builder)
    return hierarchy_of(column, Table.from_native(pl.DataFrame({"x": values})))


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30))
def test_intervals_hold_the_values_below_them(values):
    tree = built(values, Kind.NUMERIC)
    for leaf, label in enumerate(tree.leaves):
        node = int(tree.parents[leaf])
        while node != tree.root:
            low, high = map(int, tree.labels[node].split("-" if min(values) >= 0 else " to "))
            assert low <= int(label) <= high
            node = int(tree.parents[node])


def test_builders_fit_the_column():
    assert built(["80331", "80333", "80999", "01067"]).cca(["80331", "80333"]) == "8033*"
    assert built(["80331", "80333", "80999", "01067"]).cca(["80331", "80999"]) == "80***"
    assert built(["f", "m"]).cca(["f", "m"]) == "*"
    order = ("none", "school", "college", "university")
    assert (
        built(["none", "college"], Kind.ORDINAL, order=order).cca(["college", "university"]) == "college to university"
    )
    days = [dt.date(2024, 3, 5), dt.date(2024, 3, 9), dt.date(2024, 11, 1), dt.date(2021, 1, 1)]
    assert built(days, Kind.NUMERIC).cca(days[:2]) == "2024-03"
    assert built(days, Kind.NUMERIC).cca(days[:3]) == "2024"
    assert built(days, Kind.NUMERIC).cca(days) == "2020s"
    assert built([0.12, 0.13, 0.9], Kind.NUMERIC).cca([0.12, 0.13]) == "[0.10, 0.15)"
    assert built([5, 5], Kind.NUMERIC).cca([5]) == "5"


def test_builders_refuse_columns_they_do_not_fit():
    series = Table.from_native(pl.DataFrame({"x": ["a", "b"]})).column("x")
    for builder in ("intervals", "calendar"):
        with pytest.raises(SchemaError, match='column "x"'):
            build_hierarchy(Column("x", Role.QUASI, Kind.NOMINAL), series, builder)
    assert set(BUILDERS) == {"auto", "flat", "prefixes", "intervals", "order", "calendar"}


def test_an_empty_column_has_a_tree_of_its_own():
    assert built(pl.Series([None, None], dtype=pl.Int64), Kind.NUMERIC).n_leaves == 1


def test_the_schema_file_names_a_tree(tmp_path):
    (tmp_path / "job.csv").write_text("baker;craft\npainter;craft\nmonk;church\nnun;church\n")
    people = pl.DataFrame({"job": ["baker", "painter", "monk", "nun"], "home": ["Ulm", "Bonn", "Rom", "Pisa"]})
    text = (
        f'[columns.job]\nrole = "quasi"\nhierarchy = "{tmp_path / "job.csv"}"\n'
        '[columns.home]\nrole = "quasi"\nhierarchy = {Germany = ["Ulm", "Bonn"], Italy = ["Rom", "Pisa"]}\n'
    )
    release = shoal.protect(people, 2, schema=text, method="mdav", column_weights={"job": 1.0})
    assert release.k >= 2
    assert set(release.data["job"]) <= {"craft", "church", "*"}
    assert set(release.data["home"]) <= {"Germany", "Italy", "*"}
    from shoal.schema.column_words import bare_schema
    from shoal.schema.toml import format_schema, parse_schema

    base = bare_schema(Table.from_native(people))
    again = parse_schema(format_schema(parse_schema(text, base)), base)
    assert again["home"].hierarchy == {"Germany": ["Ulm", "Bonn"], "Italy": ["Rom", "Pisa"]}
    with pytest.raises(SchemaError, match="hierarchy must be a file"):
        parse_schema("[columns.job]\nhierarchy = 5", base)
