"""Perturbations that are compared and never released: noise, rank swapping and PRAM keep what they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.evaluate.paired_columns import PairedColumn
from shoal.evaluate.rivals import Rival, noise, rank_swap, read_rivals, swap_ranks, transition

from naive import rivals as naive


def column(values, categories=(), name="x"):
    values = np.asarray(values, float)
    return PairedColumn(name, values, values, categories)


def moved_too_far(values, swapped, share):
    return naive.largest_move(list(values), list(swapped)) > int(share * len(values) + 1e-9)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.floats(0.01, 1), st.integers(0, 99))
def test_a_rank_swap_permutes_a_column_and_moves_no_value_too_far(values, share, seed):
    (found,) = rank_swap([column(values)], share, np.random.default_rng(seed))
    assert sorted(found.released.tolist()) == sorted(values)
    assert not moved_too_far(values, found.released.tolist(), share)


def test_a_swap_that_moves_too_far_is_noticed():
    values = list(range(40))
    twice = [
        rank_swap([column(values)], 0.2, np.random.default_rng(seed))[0].released.tolist() for seed in range(20)
    ]  # a window of a fifth where a tenth was asked for
    assert all(moved_too_far(values, swapped, 0.1) for swapped in twice)


@given(st.integers(1, 40), st.integers(0, 12), st.integers(0, 2**63))
def test_ranks_are_paired_as_in_the_reference_implementation(n, window, seed):
    partner = np.arange(n)
    swap_ranks(partner, window, np.array([seed], np.uint64))
    chosen = iter([other for rank, other in enumerate(partner.tolist()) if other > rank])

    def draw(free):
        other = next(chosen)
        assert other in free  # a free rank within the window
        return other

    assert naive.swapped_ranks(n, window, draw) == partner.tolist()  # and none stays that could be paired


def test_partners_are_drawn_evenly_from_the_window():
    counts = np.zeros(4)
    for seed in range(4000):
        partner = np.arange(9)
        swap_ranks(partner, 4, np.array([seed * 7919], np.uint64))
        counts[partner[0] - 1] += 1
    assert np.abs(counts / 4000 - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 4000)


def test_noise_keeps_means_and_multiplies_covariances():
    rng = np.random.default_rng(3)
    n, amount = 20_000, 0.3
    x = rng.normal(5, 2, n)
    y = x + rng.normal(0, 1, n)
    found = noise([column(x), column(y, name="y")], amount, np.random.default_rng(4))
    added = np.column_stack([one.released - one.original for one in found])
    truth = amount * np.cov(np.column_stack([x, y]), rowvar=False)
    errors = np.sqrt((truth**2 + np.outer(np.diag(truth), np.diag(truth))) / n)
    assert (np.abs(np.cov(added, rowvar=False) - truth) < 4 * errors).all()
    assert (np.abs(added.mean(axis=0)) < 4 * np.sqrt(np.diag(truth) / n)).all()
    independent = np.column_stack([rng.normal(0, np.sqrt(amount) * each.std(), n) for each in (x, y)])
    assert (np.abs(np.cov(independent, rowvar=False) - truth) > 4 * errors).any()  # the wrong neighbour: no correlation
    (restored,) = Rival((("noise-restored", amount),)).applied([column(x)], 1)
    assert restored.released.var() == pytest.approx(x.var(), rel=0.03)
    assert restored.released.mean() == pytest.approx(x.mean())


def test_noise_moves_a_number_as_far_as_theory_says():
    x = np.random.default_rng(1).normal(0, 3, 40_000)
    (found,) = noise([column(x)], 0.1, np.random.default_rng(2))
    il1s = np.abs(found.released - x).mean() / (np.sqrt(2) * x.std())
    assert il1s == pytest.approx(np.sqrt(0.1 / np.pi), rel=4 * 0.756 / 200)  # E|N(0, a)| / sqrt(2)


def test_pram_keeps_frequencies_in_expectation():
    frequencies = np.array([0.5, 0.3, 0.2])
    matrix = transition(frequencies, 0.4)
    assert matrix.round(12).tolist() == [[0.8, 0.12, 0.08], [0.2, 0.72, 0.08], [0.2, 0.12, 0.68]]
    assert frequencies @ matrix == pytest.approx(frequencies)
    n = 40_000
    codes = np.repeat([0.0, 1.0, 2.0], (frequencies * n).astype(int))
    (found,) = Rival((("pram", 0.4),)).applied([column(codes, ("a", "b", "c"))], 7)
    shares = np.bincount(found.released.astype(int)) / n
    assert (np.abs(shares - frequencies) < 4 * np.sqrt(frequencies * (1 - frequencies) / n)).all()
    assert (found.released != codes).mean() == pytest.approx(0.4 * (1 - (frequencies**2).sum()), abs=0.01)
    uniform = (0.6 * np.eye(3) + 0.4 / 3).T @ frequencies  # the wrong neighbour: any category equally often
    assert (np.abs(uniform - frequencies) > 4 * np.sqrt(frequencies * (1 - frequencies) / n)).any()


@given(st.integers(0, 2**32), st.sampled_from(["noise:0.2", "rank-swap:0.3", "pram:0.5", "noise:0.1+pram:0.2"]))
def test_the_same_seed_gives_the_same_values_and_missing_values_stay(seed, text):
    x = np.array([1.0, np.nan, 3.0, 4.0, 4.0])
    codes = np.array([0.0, 1.0, np.nan, 1.0, 0.0])
    columns = [column(x), column(codes, ("a", "b"), "c"), column(np.full(5, 2.0), name="same")]
    (rival,) = read_rivals([text])
    first, again = rival.applied(columns, seed), rival.applied(columns, seed)
    for one, other, given_ in zip(first, again, columns, strict=True):
        assert one.released.tobytes() == other.released.tobytes()
        assert (np.isnan(one.released) == np.isnan(given_.original)).all()
    assert (first[2].released == 2.0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swap:0.1", "there is no perturbation"),
        ("noise", "write numbers above 0"),
        ("noise:-1", "write numbers above 0"),
        ("noise:inf", "write numbers above 0"),
        ("pram:1.5", "at most 1"),
        ("rank-swap:a", "at most 1"),
        ("noise:0.1,0.2+pram:0.1,0.2,0.3", "equally many"),
    ],
)
def test_wrong_rivals_are_named(text, message):
    with pytest.raises(ParameterError, match=message):
        read_rivals([text])
