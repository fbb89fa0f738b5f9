"""Trees that are made by the wizard and edited by hand: every value keeps a place, whatever is done to them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.hierarchy import Hierarchy
from shoal.studio.trees import build, edited, nested, tree_view, ways_of

VALUES = ["8033", "8012", "7001", "7999"]
ACTIONS = st.tuples(
    st.sampled_from(["group", "move", "ungroup", "rename", "burn"]),
    st.lists(st.sampled_from([*(f"v{value}" for value in VALUES), "nA", "nB", "nC", "vx"]), max_size=4),
    st.sampled_from(["A", "B", "C", "", "8033", "*"]),
    st.sampled_from(["", "A", "B", "C"]),
)


@given(st.lists(ACTIONS, max_size=12))
def test_every_value_keeps_one_place_and_every_tree_is_one_that_shoal_reads(actions):
    rows = build("hand", "", VALUES)
    for action, chosen, name, target in actions:
        with suppress(ValueError):
            rows = edited(rows, action, chosen, name, target)
    assert [row[0] for row in rows] == VALUES
    tree = Hierarchy.from_nested(nested(rows))
    assert sorted(tree.leaves) == sorted(VALUES)
    paths = {path[0]: tuple(path[1:-1]) for path in tree.paths()}
    assert paths == {value: tuple(above) for value, *above in rows}
    assert tree_view(rows, dict.fromkeys(VALUES, 3))["rows"] == 12


def test_the_wizard_makes_the_levels_that_were_asked_for():
    assert build("intervals", "10,50", ["7", "12", "61"])[2] == ("61", "60-69", "50-99")
    assert build("intervals", "0.5", ["0.2", "0.7"]) == (("0.2", "[0, 0.5)"), ("0.7", "[0.5, 1)"))
    assert build("calendar", "quarter, year", ["2025-11-03"]) == (("2025-11-03", "2025-Q4", "2025"),)
    assert build("prefixes", "3,1", ["8033"]) == (("8033", "803*", "8***"),)
    assert build("order", "2", ["a", "b", "c"]) == (("a", "a to b"), ("b", "a to b"), ("c",))
    assert ways_of("numeric", ["2025-11-03"]) == ["calendar", "hand"]


@pytest.mark.parametrize(
    ("way", "detail", "values", "words"),
    [
        ("intervals", "10, 25", ["1", "99"], "multiple"),
        ("intervals", "ten", ["1"], "widths"),
        ("intervals", "10", ["one"], "numbers"),
        ("calendar", "week", ["2025-01-01"], "units"),
        ("order", "2, 3", ["a", "b"], "multiple"),
        ("hand", "", [], "no values"),
    ],
)
def test_what_the_wizard_cannot_make_is_said_in_one_sentence(way, detail, values, words):
    with pytest.raises(ValueError, match=words):
        build(way, detail, values)
