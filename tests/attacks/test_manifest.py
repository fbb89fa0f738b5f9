"""Reconstruction of original values from the manifest that travels with the table."""

import json
from itertools import combinations_with_replacement, permutations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.flow.manifest import exact_loss
from shoal.tables import Table

AGES = [23, 61, 34, 70, 29, 66]
POSSIBLE = range(18, 91)


@pytest.fixture
def release():
    return shoal.protect(pl.DataFrame({"age": AGES}), 3, quasi=["age"], method="mdav", sums="exact")


def consistent(released, stated_loss, tolerance):
    """Return pairs of sorted triples of ages that fit the two released means and the stated information loss."""
    means = sorted(set(released))
    triples = []
    for mean in means:
        near = [ages for ages in combinations_with_replacement(POSSIBLE, 3) if abs(sum(ages) - 3 * mean) < 3]
        triples.append(np.array(near))
    first, second = triples
    squares = [((group - mean) ** 2).sum(axis=1) for group, mean in zip(triples, means, strict=True)]
    sums = first.sum(axis=1)[:, None] + second.sum(axis=1)[None]
    total = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None] - sums**2 / 6
    loss = (squares[0][:, None] + squares[1][None]) / total
    left, right = np.nonzero(np.abs(loss - stated_loss) <= tolerance)
    return first[left], second[right]


def confirmed(released, first, second, fingerprint):
    """Return the table whose fingerprint is the stated one, trying every order of every candidate; and the tries."""
    tries = 0
    rows = [[row for row, value in enumerate(released) if value == mean] for mean in sorted(set(released))]
    for one, two in zip(first.tolist(), second.tolist(), strict=True):
        for order in set(permutations(one)):
            for other in set(permutations(two)):
                ages = np.empty(6, np.int64)
                ages[rows[0]], ages[rows[1]] = order, other
                tries += 1
                if Table.from_native(pl.DataFrame({"age": ages})).fingerprint() == fingerprint:
                    return ages.tolist(), tries
    return None, tries


def test_six_ages_are_found_with_exact_sums_and_a_plain_fingerprint(release, record):
    """The manifest of version 2 stated both; here they are computed from the original."""
    stated = exact_loss(release.loss)["information_loss"]
    released = release.data["age"].to_list()
    first, second = consistent(released, stated, 1e-12)
    found, tries = confirmed(released, first, second, Table.from_native(pl.DataFrame({"age": AGES})).fingerprint())
    assert found == AGES
    assert tries < 10_000
    record("ages reconstructed from exact sums and a plain fingerprint", 6)


def test_six_ages_are_not_found_with_the_manifest(release, record):
    manifest = json.loads(release.manifest_json())
    loss = manifest["loss"]
    assert "fingerprint" not in manifest["input"]
    unit = 10.0 ** (np.floor(np.log10(loss["information_loss"])) - loss["digits"] + 1)
    first, second = consistent(release.data["age"].to_list(), loss["information_loss"], unit / 2)
    assert len(first) > 5_000
    for group in (first, second):  # a person is equally probable at each place of a triple
        shares = np.bincount(group.reshape(-1)) / group.size
        assert shares.max() < 0.1
    record("candidates that the manifest leaves for six ages", len(first))


@pytest.mark.parametrize(
    "changes",
    [{"orders": {"grade": ["low", "mid", "high"]}}, {"orders": {"grade": ["high", "mid", "low"]}}],
    ids=["rising", "falling"],
)
def test_an_order_cannot_be_confirmed(changes):
    """Orders list values: a digest of them would confirm a guess. Both orders state the same."""
    people = pl.DataFrame({"grade": ["low", "mid", "high", "mid"] * 5, "age": range(20)})
    release = shoal.protect(people, 5, quasi=["grade", "age"], method="mdav", **changes)
    text = release.manifest_json()
    assert '"order": true' in text
    assert release.plan.digest() not in text
    assert "mid" not in text


@pytest.mark.parametrize("changed", ["order", "hierarchy", "na_values", "values"])
def test_all_that_depends_on_the_original_and_not_on_the_release_is_rounded(changed, tmp_path):
    """Two originals that give the same released table must have the same manifest, up to rounded figures."""
    file = tmp_path / "people.csv"
    pl.DataFrame({"grade": ["low", "high"] * 10, "age": [30 + row // 10 for row in range(20)]}).write_csv(file)
    plain = {
        "orders": {"grade": ["low", "high"]},
        "hierarchies": {"grade": {"any": ["low", "high"]}},
        "read_options": {"na_values": ["?"]},
    }
    other = {
        "order": {"orders": {"grade": ["low", "high", "highest"]}},
        "hierarchy": {"hierarchies": {"grade": {"any": ["low", "high", "highest"]}}},
        "na_values": {"read_options": {"na_values": ["-"]}},
        "values": {},
    }[changed]
    common = {"quasi": ["grade", "age"], "method": "mdav", "recode": {"grade": "suppress"}}
    before = shoal.protect(file, 5, **common, **plain)
    if changed == "values":  # ages 29 and 31 instead of 30 and 30 in one group
        frame = pl.read_csv(file)
        frame[0, "age"], frame[2, "age"] = 29, 31
        frame.write_csv(file)
    after = shoal.protect(file, 5, **common, **(plain | other))
    if before.data.equals(after.data):
        one, two = (json.loads(release.manifest_json()) for release in (before, after))
        if changed == "values":
            one.pop("loss"), two.pop("loss")
        assert one == two
    assert before.plan.digest() != after.plan.digest() or changed == "values"
