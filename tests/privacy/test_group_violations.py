"""The amount by which a group violates a requirement, against the definition of each requirement."""

from math import log

import numpy as np
import pytest

from shoal.core.requirement_violation import violations
from shoal.privacy.confidential import Values
from shoal.privacy.ground_distances import ORDERED, equal_distance
from shoal.privacy.requirement_table import build_requirement_table
from shoal.schema.requirements import Requirements

VALUES = 6
RULES = {
    "distinct l": {"l": 3},
    "entropy l": {"l": 2.5, "l_kind": "entropy"},
    "recursive l = 2": {"l": 2, "l_kind": "recursive", "c": 1.5},
    "recursive l = 3": {"l": 3, "l_kind": "recursive", "c": 2.0},
    "alpha": {"alpha": 0.4},
    "t, ordered": {"t": 0.2},
    "t, equal": {"t": 0.2},
}


def obvious(name, counts, overall):
    """The violation of a group with so many records of each value."""
    given, size = RULES[name], counts.sum()
    shares, present = counts / size, sorted(counts[counts > 0].tolist(), reverse=True)
    if name == "distinct l":
        return max(0, given["l"] - len(present)) / given["l"]
    if name == "entropy l":
        return max(0.0, log(given["l"]) + sum(count / size * log(count / size) for count in present))
    if name.startswith("recursive"):
        rest = sum(present[given["l"] - 1 :])
        return (present[0] - given["c"] * rest) / size + 1e-6 if present[0] >= given["c"] * rest else 0.0
    if name == "alpha":
        return np.maximum(shares - given["alpha"], 0).sum()
    if name == "t, ordered":
        return max(0.0, np.abs(np.cumsum(shares - overall)).sum() / (VALUES - 1) - given["t"])
    return max(0.0, np.abs(shares - overall).sum() / 2 - given["t"])


@pytest.mark.parametrize("name", RULES)
def test_the_violation_of_a_group_is_that_of_its_counts(name):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, 80)
    starts = np.cumsum(sizes) - sizes
    codes = np.minimum(rng.integers(0, VALUES, sizes.sum()), rng.integers(0, VALUES, sizes.sum()))
    members = rng.permutation(codes.size)
    distance = equal_distance(VALUES) if name == "t, equal" else ORDERED
    table = build_requirement_table(Requirements(**RULES[name]), [Values("a", codes, VALUES, distance)])
    found = violations(codes[:, None], members, starts, sizes, table)
    overall = np.bincount(codes, minlength=VALUES) / codes.size
    groups = [codes[members[start : start + size]] for start, size in zip(starts, sizes, strict=True)]
    expected = [obvious(name, np.bincount(group, minlength=VALUES), overall) for group in groups]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert 0 < sum(value > 1e-9 for value in expected) < len(expected)
