"""All printed cells beside the figures of Shoal, the tolerances that are needed, and new runs of the stored figures.

The figures of Shoal are stored in docs/reproduction-results.json. Comparing them with the print takes no time, so every
cell is compared; that they are still what Shoal gives is tested by runs: the default set repeats the small tables, the
long set the searches and a part of the large tables, the slow set the rest.
"""

import numpy as np
import pytest

from published import computed, printed
from published.printed import ABSENT, DIFFERS

PINNED = 6e-6  # six significant digits
DATA = {*printed.SMALL, *printed.LARGE, *computed.SIMULATED}
TABLES = sorted({(row.document, row.table) for row in printed.rows()})


@pytest.mark.parametrize(("document", "table"), TABLES, ids=["-".join(names) for names in TABLES])
def test_every_cell_is_within_its_tolerance(document, table):
    """One unit of the last printed digit, the random spread, or the tolerance that docs/reproduction.md lists."""
    outside = [
        (row.data, row.method, row.options, column, text, printed.ours(row, column))
        for row in printed.rows() if (row.document, row.table) == (document, table)
        for column, text in row.cells()
        if printed.status(row, column, text) == DIFFERS
        and abs(printed.ours(row, column) - float(text)) > (row.tolerance or 0.0)
    ]  # fmt: skip
    assert not outside


def test_no_tolerance_is_wider_than_its_largest_difference_needs():
    for row in printed.rows():
        if row.tolerance:
            needed = max(
                abs(printed.ours(row, column) - float(text)) for column, text in row.cells()
                if printed.status(row, column, text) == DIFFERS
            )  # fmt: skip
            assert needed <= row.tolerance <= 1.15 * needed, (row.table, row.data, row.method)


def test_all_losses_of_the_appendices_were_computed():
    """810 losses on tables that are available; only some of the longest random runs are left out."""
    cells = [
        (row, printed.status(row, column, text))
        for row in printed.rows("thaeter-2021", ("loss",))
        if row.table[0] in "ABC" and row.data not in computed.SIMULATED
        for column, text in row.cells()
    ]
    assert len(cells) == 810
    for row, status in cells:
        hours = row.runs == 1000 or (row.runs and row.data in printed.LARGE)
        assert status != ABSENT or hours, (row.data, row.method)


def test_the_status_of_a_cell_can_be_each_of_its_values():
    row = next(row for row in printed.rows("thaeter-2021") if row.key(2) == "census/mdav/k=2")
    found = {2: 3.18, 3: 5.695, 4: 7.48, 5: 9.2, 7: None}
    results = {row.key(k): {"loss": loss} for k, loss in found.items() if loss}
    statuses = [printed.status(row, k, text, results) for k, text in row.cells()]
    assert statuses == ["equal", "last digit", "last digit", "differs", "not computed", "not computed"]
    random = next(row for row in printed.rows("thaeter-2021") if row.key(2) == "census/ona runs=10/k=2")
    results = {random.key(2): {"lowest": 3.56, "variance": 0.01}}
    assert printed.status(random, 2, "3.51", results) == "random spread"
    results = {random.key(2): {"lowest": 3.96, "variance": 0.01}}
    assert printed.status(random, 2, "3.51", results) == "differs"


def check(key, found):
    """Fail unless the figures of a run are the stored ones, to six digits."""
    stored = printed.stored()[key]
    for name in found.keys() & stored.keys():
        value = found[name]
        assert value == pytest.approx(stored[name], rel=PINNED, abs=1e-9), (key, name)


def set_of(key):
    """The set of tests in which a run is repeated."""
    data, method, options, k = computed.parsed(key)
    runs = options.get("runs", 0)
    search = method == "v-mdav" or method.endswith("gamma")
    if data in {"census", "tarragona", "cloud1", "cloud2"} and not search and runs == 0:
        return "default"
    if data == "adult" and method.startswith("mondrian"):
        return "default"
    if data in printed.SMALL:
        return "long" if runs <= 10 else "slow"
    quick = method in {"mdav-plus", "mondrian", "mondrian-v"} or options.get("rho", 1) in {0.3, 0.5}
    return "long" if data in printed.LARGE and quick and k in {4, 10} else "slow"


def runs_of(name):
    """The runs of a set, one case for each table and call of a method."""
    calls = {}
    for key in printed.stored():
        if key.partition("/")[0] in DATA and set_of(key) == name:
            calls.setdefault(key.rpartition("/")[0], []).append(key)
    return [pytest.param(keys, id=call) for call, keys in calls.items()]


@pytest.mark.parametrize("keys", runs_of("default"))
def test_runs_on_small_tables_give_the_stored_figures(keys):
    for key in keys:
        check(key, computed.figures(key))


@pytest.mark.parametrize("keys", runs_of("long"))
def test_longer_runs_give_the_stored_figures(keys):
    for key in keys:
        check(key, computed.figures(key))


@pytest.mark.slow
@pytest.mark.parametrize("keys", runs_of("slow"))
def test_the_longest_runs_give_the_stored_figures(keys):
    for key in keys:
        check(key, computed.figures(key))


THESIS = "closest=centroid split_position=origin"
LEAF = "closest=centroid rho=0.7 split_position=origin"
NEIGHBOURS = [  # a run, another algorithm that lies within the given distance of it, and that distance
    ("tarragona/tfrp/k=4", "tarragona/mdav-star/k=4", 0.08),
    ("adult/mdav/k=10", "adult/mdav-plus/k=10", 0.005),
    (f"adult/mona {LEAF}/k=4", f"adult/mona-2d {LEAF}/k=4", 0.005),
    ("simu/mdav/k=10", "simu/mdav-plus/k=10", 0.6),
    (f"cloud2/ona-star-gamma {THESIS}/k=5", f"cloud2/ona-star {THESIS}/k=5", 0.16),
    ("census/mdav-star closest=cost/k=3", "census/mdav-star/k=3", 0.0175),
]


@pytest.mark.parametrize(("key", "other", "distance"), NEIGHBOURS, ids=[key for key, _, _ in NEIGHBOURS])
def test_a_neighbouring_algorithm_fails_the_comparison(key, other, distance):
    """It lies so near that a tolerance around the print could let it pass; six digits do not."""
    wrong = printed.stored()[other]
    assert abs(wrong["loss"] - printed.stored()[key]["loss"]) < distance
    with pytest.raises(AssertionError, match="loss"):
        check(key, {"loss": wrong["loss"]})


def test_the_runs_of_a_neighbouring_algorithm_fail_too():
    for key, other in (("tarragona/tfrp/k=4", "tarragona/mdav-star/k=4"), ("census/mdav/k=2", "census/mdav-plus/k=2")):
        check(other, computed.figures(other))
        with pytest.raises(AssertionError):
            check(key, computed.figures(other))


OTHER_ORDERS = [  # cells that depend on the order of the records, a run, its figure, and the seed of another order
    ("Thaeter 2021", "A.3", "mdav", 5, {}, "loss", 1),
    ("Thaeter 2021", "A.3", "mdav-star-gamma", 10, {"gamma": 0.9}, "loss", 0),
    ("Thaeter 2021", "A.8", "mdav-star-gamma", 10, {"gamma": 0.9}, "size", 0),
    ("Thaeter & Reischuk 2021", "6", "mondrian-v2d", 7, {"pair_scale": 1.0}, "loss", 1),
]


@pytest.mark.parametrize(("document", "table", "method", "k", "options", "name", "seed"), OTHER_ORDERS)
def test_another_order_of_the_records_gives_the_printed_figure(document, table, method, k, options, name, seed):
    """Credit Card has many records at equal distances and equal values, and the documents do not state their order."""
    row = next(
        row for row in printed.rows()
        if (row.document, row.table, row.data, row.method) == (document, table, "credit_card", method)
    )  # fmt: skip
    points = computed.points("credit_card")
    order = np.random.default_rng(seed).permutation(len(points))
    text = dict(row.cells())[k]
    found = computed.figures_of(np.ascontiguousarray(points[order]), method, options, k)
    assert printed.as_printed(found[name], text) == text
    assert printed.as_printed(printed.ours(row, k), text) != text
    assert "order of the file" in printed.why(row, k, text)


def test_no_cell_is_without_a_known_reason():
    unknown = [
        (row.document, row.table, row.data, row.method, column)
        for row in printed.rows()
        for column, text in row.cells()
        if printed.status(row, column, text) in {printed.LAST_DIGIT, printed.DIFFERS}
        and not printed.why(row, column, text)
    ]
    assert unknown == []


def test_a_random_cell_is_explained_within_its_spread_only():
    row = next(row for row in printed.rows("thaeter-2021") if row.key(2) == "census/ona runs=10/k=2")
    near, far = ({row.key(2): {"lowest": lowest, "variance": 0.01}} for lowest in (3.56, 3.96))
    assert printed.why(row, 2, "3.51", near).startswith("random runs")
    assert printed.why(row, 2, "3.51", far) == ""
    ratio = next(row for row in printed.rows("thaeter-2021", ("ratio",)) if row.method == "mdav-plus")
    assert printed.why(ratio, "mdav-star", "92.7") == "the printed losses themselves give 92.8"
    assert printed.why(ratio, "mdav-star", "92.8") == ""
