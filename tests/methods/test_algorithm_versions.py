"""Supported methods: the result of an algorithm version never changes within a major version of Shoal.

Coordinates are small multiples of 1/8, so that sums of squares are exact and no processor rounds differently. If a test
fails, either the change is a mistake, or the version in the decorator of the method must be raised and the digest of
the new version added; the digests of old versions stay as documentation.
"""

import hashlib

import numpy as np
import pytest

from shoal.methods.registry import all_methods, get_method
from shoal.methods.running import run

FROZEN = {
    ("annealing@1", 3): "d854dfdf2d6f91c8",
    ("annealing@1", 7): "51bd18cbcb4855ac",
    ("auto@1", 3): "4cef86b59cd4ced2",
    ("auto@1", 7): "07ee59d8943ff5eb",
    ("auto@2", 3): "dcd8c39eb1674ad8",
    ("auto@2", 7): "772b31a754ae4e4f",
    ("auto@3", 3): "17d5303f27bba14c",
    ("auto@3", 7): "b9a9d3af8a36feeb",
    ("auto@4", 3): "17d5303f27bba14c",
    ("auto@4", 7): "b9a9d3af8a36feeb",
    ("auto@5", 3): "17d5303f27bba14c",
    ("auto@5", 7): "b9a9d3af8a36feeb",
    ("mdav@1", 3): "c5f6d7ffa7895798",
    ("mdav@1", 7): "d181b957040bf069",
    ("mdav-star@1", 3): "04bf5431f1657629",
    ("mdav-star@1", 7): "e38f258db71c2d3d",
    ("mixed-annealing@1", 3): "e890913a92cbcbbd",
    ("mixed-annealing@1", 7): "d3ddc357df0068f2",
    ("mona-plus@1", 3): "88a72bf6745fcc0d",
    ("mona-plus@1", 7): "d14d936702e740b1",
    ("mondrian@1", 3): "edf22fb4b249343c",
    ("mondrian@1", 7): "717b5f479d02f6a6",
    ("nominal@1", 3): "50bf04a8e0cbcc38",
    ("nominal@1", 7): "bc3176de437f8491",
    ("ona-star@1", 3): "4cef86b59cd4ced2",
    ("ona-star@1", 7): "07ee59d8943ff5eb",
    ("optimal-1d@1", 3): "fd919c2a17c4e269",
    ("optimal-1d@1", 7): "cc5b630698117acf",
    ("set-partition@1", 3): "082f77c915ac79f5",
    ("set-partition@1", 7): "a4eb64e4322cbc34",
}
SUPPORTED = [name for name, info in all_methods().items() if info.supported]


def table(kind):
    rng = np.random.default_rng(2026)
    if kind == "codes":
        return rng.integers(0, 4, (60, 3)).astype(np.int32)
    points = rng.integers(-40, 40, (240, 3)) / 8
    if kind == "mixed":
        points[:, 1:] = rng.integers(0, 4, (240, 2))
    return points[:, 0].copy() if kind == "values" else points


def digest(labels):
    return hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()[:16]


def test_about_eight_methods_are_supported():
    assert SUPPORTED == [
        "annealing", "auto", "mdav", "mdav-star", "mixed-annealing", "mona-plus", "mondrian", "nominal", "ona-star",
        "optimal-1d", "set-partition",
    ]  # fmt: skip


@pytest.mark.parametrize("name", SUPPORTED)
@pytest.mark.parametrize("k", [3, 7])
def test_the_labels_of_an_algorithm_version_are_frozen(name, k):
    info = get_method(name)
    nominal = {"nominal": np.array([False, True, True])} if info.data == "mixed" else {}
    assert digest(run(info, table(info.data), k, **nominal).labels) == FROZEN[info.identity, k]


def test_another_algorithm_would_be_noticed():
    assert digest(run("mdav-plus", table("points"), 7).labels) != FROZEN["mdav@1", 7]
    assert digest(run("ona-star-plus", table("points"), 7).labels) != FROZEN["ona-star@1", 7]
