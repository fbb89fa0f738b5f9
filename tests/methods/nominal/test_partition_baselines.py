"""The baselines for nominal records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.grouping import Grouping, canonical_labels
from shoal.methods.nominal.baselines import k_member, nominal_mdav, nominal_v_mdav
from shoal.methods.nominal.c_modes import c_modes
from shoal.methods.nominal.codes import clustering_weight
from shoal.methods.nominal.random_groups import random_groups

from naive import nominal_partition as naive


@given(seed=st.integers(0, 10_000), n=st.integers(4, 40), k=st.integers(2, 4), values=st.integers(1, 5))
@settings(max_examples=40)
def test_nominal_mdav_follows_its_outline(seed, n, k, values):
    codes = np.random.default_rng(seed).integers(0, values, size=(max(n, k), 3)).astype(np.int32)
    np.testing.assert_array_equal(nominal_mdav(codes, k), canonical_labels(naive.mdav(codes.tolist(), k)))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 200), k=st.integers(2, 9))
@settings(max_examples=40)
def test_random_sizes_lie_between_k_and_2k_minus_1(seed, n, k):
    codes = np.zeros((max(n, k), 1), np.int32)
    Grouping(random_groups(codes, k, seed=seed), k, max_size=2 * k - 1)


def test_a_gain_of_zero_keeps_groups_at_k_and_a_large_one_lets_them_grow(rng):
    codes = rng.integers(0, 4, size=(60, 3)).astype(np.int32)
    assert np.bincount(nominal_v_mdav(codes, 3, gamma=0.0)).tolist() == [3] * 20
    assert np.bincount(nominal_v_mdav(codes, 3, gamma=100.0)).max() == 5
    with pytest.raises(ParameterError, match="gamma=-1"):
        nominal_v_mdav(codes, 3, gamma=-1)


def test_equal_rows_meet_in_every_baseline_that_looks_at_them(rng):
    codes = np.repeat(rng.permutation(30).astype(np.int32), 3)[:, None][rng.permutation(90)]
    for run in (nominal_mdav, nominal_v_mdav, k_member):
        assert clustering_weight(codes, run(codes, 3)) == 0
    assert clustering_weight(codes, random_groups(codes, 3)) > 0


def test_c_modes_merges_small_clusters_and_refuses_impossible_numbers(rng):
    codes = rng.integers(0, 3, size=(80, 4)).astype(np.int32)
    for clusters in (1, 5, 80):
        Grouping(c_modes(codes, 4, clusters=clusters), 4)
    assert c_modes(codes, 4, clusters=1).max() == 0
    with pytest.raises(ParameterError, match="clusters=81 is not possible; choose 1 to 80"):
        c_modes(codes, 4, clusters=81)


def test_all_baselines_beat_chance(rng):
    centres = rng.integers(0, 6, size=(12, 6))
    codes = centres[rng.integers(12, size=240)]
    codes = np.where(rng.uniform(size=codes.shape) < 0.2, rng.integers(0, 6, size=codes.shape), codes).astype(np.int32)
    chance = clustering_weight(codes, random_groups(codes, 3))
    for run in (nominal_mdav, nominal_v_mdav, k_member):
        assert clustering_weight(codes, run(codes, 3)) < 0.6 * chance
