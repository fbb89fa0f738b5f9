import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import ParameterError
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition import principal_components as module
from shoal.methods.partition.leaf_grouping import leaf_method
from shoal.methods.partition.macrocells import distal_records, macrocell_errors, macrocells
from shoal.methods.partition.pca_mdav import pca_mdav
from shoal.methods.partition.pca_proximal import pca_proximal
from shoal.methods.partition.prepartition import prepartition
from shoal.methods.partition.principal_components import compress, spectrum_of
from shoal.methods.partition.scans import choose_components, scan_components, scan_distal
from shoal.methods.running import run

from naive import partition as naive
from strategies import points_and_k

mdav = leaf_method("mdav")
mdav_plus = leaf_method("mdav-plus")


def factors(rng, n=1000, d=8, hidden=3):
    """Attributes made of a few factors and a little noise, standardised."""
    points = rng.normal(size=(n, hidden)) @ rng.normal(size=(hidden, d)) + 0.2 * rng.normal(size=(n, d))
    return (points - points.mean(axis=0)) / points.std(axis=0)


@given(points_and_k())
def test_the_spectrum_equals_that_of_the_singular_values(case):
    points, _ = case
    points = points - points[0]
    found = spectrum_of(points)
    values, _ = naive.spectrum(points)
    scale = max(float(values.max()), 1e-300)
    np.testing.assert_allclose(found.values / scale, values / scale, atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(points.shape[1]), atol=1e-9)


def test_statements_of_the_paper_about_energy(rng):
    points = factors(rng)
    n, d = points.shape
    spectrum = spectrum_of(points)
    assert spectrum.values.sum() == pytest.approx(d)  # T7
    losses = [spectrum.energy_loss(m) for m in range(1, d + 1)]
    assert losses == sorted(losses, reverse=True)  # T8
    assert losses[-1] == pytest.approx(0.0, abs=1e-12)
    for m in range(1, d + 1):
        images = compress(points, spectrum, m)
        np.testing.assert_allclose(images.T @ images / n, np.diag(spectrum.values[:m]), atol=1e-9)  # T9
        back = images @ spectrum.vectors[:, :m].T
        np.testing.assert_allclose((points**2).sum(1), (back**2).sum(1) + ((points - back) ** 2).sum(1))  # T4
        assert ((points - back) ** 2).sum() / n == pytest.approx(spectrum.values[m:].sum(), abs=1e-9)  # T6
        other, _ = np.linalg.qr(rng.normal(size=(d, m)))
        assert ((points - points @ other @ other.T) ** 2).sum() >= ((points - back) ** 2).sum() - 1e-9  # T10


def test_consequences_for_distances(rng):
    points = factors(rng, 300)
    n, d = points.shape
    assert (points**2).sum() == pytest.approx(n * d)  # T1
    spectrum = spectrum_of(points)
    for m in (2, 5):
        axes = spectrum.vectors[:, :m]
        np.testing.assert_allclose(axes.T @ axes, np.eye(m), atol=1e-12)  # T3
        images = compress(points, spectrum, m)
        inside = images @ axes.T
        np.testing.assert_allclose(inside @ inside.T, images @ images.T, atol=1e-9)  # T5
        between = ((images[:, None] - images) ** 2).sum(axis=2)
        whole = ((points[:, None] - points) ** 2).sum(axis=2)
        assert (between <= whole + 1e-9).all()  # D5
        assert whole.mean() == pytest.approx(2 * d)
        assert between.mean() == pytest.approx(2 * d * (1 - spectrum.energy_loss(m)))


def test_consequences_for_groups(rng):
    points = factors(rng, 303)
    labels = pca_mdav(points, 5, components=3).labels
    sizes = np.bincount(labels)
    assert sizes.size == 60  # D7
    assert sorted(sizes)[-2:] == [5, 8]
    centroids = np.array([points[labels == g].mean(axis=0) for g in range(60)])
    spectrum = spectrum_of(points)
    images = compress(points, spectrum, 3)
    compressed = np.array([images[labels == g].mean(axis=0) for g in range(60)])
    np.testing.assert_allclose(compressed, centroids @ spectrum.vectors[:, :3], atol=1e-9)  # D4
    loss = total_cost(points, labels) / points.size
    assert loss == pytest.approx(1 - (sizes * (centroids**2).sum(axis=1)).sum() / points.size)  # D6
    moved = centroids + 0.01 * rng.normal(size=centroids.shape)
    assert ((points - moved[labels]) ** 2).sum() / points.size > loss  # T11


def test_scale_order_and_turns_of_the_data_do_not_matter(rng):
    raw = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(300, 5))
    expected = canonical_labels(pca_mdav((raw - raw.mean(axis=0)) / raw.std(axis=0), 4).labels)  # D9
    other = raw * [2.0, 0.5, 9.0, 1e-3, 1e3] + 5.0
    np.testing.assert_array_equal(
        canonical_labels(pca_mdav((other - other.mean(axis=0)) / other.std(axis=0), 4).labels), expected
    )
    points = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    shuffled = rng.permutation(300)
    found = pca_mdav(points[shuffled], 4).labels
    np.testing.assert_array_equal(canonical_labels(found), canonical_labels(expected[shuffled]))
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    np.testing.assert_array_equal(canonical_labels(pca_mdav(points @ turn, 4).labels), expected)


def test_the_energy_of_proximal_records_is_bounded(rng):
    points = factors(rng)
    points[:200] *= 5.0
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    near = points[~distal_records(points, macrocells(points, 5, 100, mdav), 3)]
    assert spectrum_of(near).values.sum() <= points.size / len(near) + 1e-9  # D12


def test_the_relative_extra_loss_falls_with_k(rng):
    points = factors(rng, 3000)
    relative = []
    for k in (2, 10, 50):
        plain = total_cost(points, mdav(points, k))
        relative.append(total_cost(points, pca_mdav(points, k, components=2).labels) / plain)
    assert relative == sorted(relative, reverse=True)  # T18


@pytest.mark.parametrize("m", [1, 3, 5, 8])
def test_loss_is_that_of_the_kept_and_the_discarded_coordinates(m, rng):
    points = factors(rng, 400)
    spectrum = spectrum_of(points)
    labels = pca_mdav(points, 5, components=m).labels
    whole = total_cost(points, labels) / points.size
    kept = total_cost(compress(points, spectrum, m), labels) / points.size
    assert kept <= whole + 1e-12
    assert whole <= kept + spectrum.energy_loss(m) + 1e-12  # D2
    rest = (points - spectrum.centre) @ spectrum.vectors[:, m:]
    assert whole == pytest.approx(kept + (total_cost(rest, labels) / points.size if m < 8 else 0.0))  # D1


def test_all_components_make_the_same_groups(rng):
    points = rng.normal(size=(300, 4))
    np.testing.assert_array_equal(
        canonical_labels(pca_mdav(points, 4, components=4).labels), canonical_labels(mdav(points, 4))
    )


def test_redundant_attributes_change_nothing(rng):
    points = rng.normal(size=(300, 3))
    wide = np.column_stack([points, points[:, 0] + points[:, 1]])
    outcome = pca_mdav(wide, 4, energy_loss=0.0)
    assert outcome.diagnostics["components"] == 3
    assert outcome.diagnostics["redundant_attributes"] == 1
    np.testing.assert_array_equal(canonical_labels(outcome.labels), canonical_labels(mdav(wide, 4)))


def test_the_extra_loss_stays_below_the_energy_loss(rng):
    points = factors(rng)
    for row in scan_components(points, 5):
        assert row.extra_loss <= row.energy_loss + 1e-9  # D3, a property that holds here, not in general
        assert row.extra_loss >= -0.02
    assert scan_components(points, 5, counts=[1])[0].extra_loss > 0.1


@given(points_and_k(), st.integers(1, 5))
def test_every_group_has_k_records(case, m):
    points, k = case
    Grouping(pca_mdav(points, k, components=min(m, points.shape[1])).labels, k)
    for fraction in (0.0, 0.3, 0.5, 1.0):
        Grouping(pca_proximal(points, k, macro=k + 1, fraction=fraction).labels, k)
        Grouping(prepartition(points, k, macro=2 * k, fraction=fraction, grouping="mdav-plus").labels, k)


def test_the_ends_of_the_split_are_the_methods_it_joins(rng):
    points = factors(rng)
    np.testing.assert_array_equal(
        pca_proximal(points, 5, macro=100, distal=0).labels, pca_mdav(points, 5).labels
    )  # T13
    np.testing.assert_array_equal(pca_proximal(points, 5, macro=100, distal=10).labels, mdav(points, 5))
    np.testing.assert_array_equal(prepartition(points, 5, macro=100, distal=0).labels, mdav(points, 5))


def test_the_number_of_groups_is_that_of_both_parts(rng):
    points = factors(rng, 1042)
    outcome = pca_proximal(points, 10, macro=100, distal=4)
    diagnostics = outcome.diagnostics
    assert outcome.labels.max() + 1 == diagnostics["proximal_records"] // 10 + diagnostics["distal_records"] // 10  # D8
    assert diagnostics["distal_records"] == 400
    assert 0 < diagnostics["energy_loss"] <= 0.1


def test_macrocells_have_the_sizes_of_the_paper(rng):
    """Sections 3.9: 'k to 2k-1 left' (Large Census) and 'fewer than k left' (Forest), a hundred times smaller."""
    sizes = np.bincount(macrocells(rng.normal(size=(1496, 2)), 2, 10, mdav))
    assert sorted(sizes)[-2:] == [10, 16]
    sizes = np.bincount(macrocells(rng.normal(size=(5810, 2)), 2, 100, mdav))
    assert (sizes.size, sizes.max()) == (58, 110)


def test_distal_records_by_count_fraction_and_threshold(rng):
    points = rng.standard_t(2, size=(500, 2))
    cells = macrocells(points, 5, 50, mdav)
    errors = macrocell_errors(points, cells)
    by_count = distal_records(points, cells, 3)
    np.testing.assert_array_equal(by_count, distal_records(points, cells, None, 0.3))
    threshold = np.sort(errors)[-4]
    np.testing.assert_array_equal(by_count, distal_records(points, cells, None, 0.3, threshold))
    assert errors[cells[by_count]].min() >= errors[cells[~by_count]].max()


def test_any_method_can_be_wrapped(rng):
    points = factors(rng, 300)
    spectrum = spectrum_of(points)
    np.testing.assert_array_equal(
        pca_mdav(points, 5, components=3, grouping="mdav-plus").labels, mdav_plus(compress(points, spectrum, 3), 5)
    )


def test_components_are_chosen_by_a_tolerance_on_the_loss(rng):
    points = factors(rng)
    assert choose_components(points, 5, 1.0) == 1
    chosen = choose_components(points, 5, 0.01)
    assert chosen == 3
    rows = {row.value: row for row in scan_components(points, 5)}
    assert rows[chosen].extra_loss <= 0.01 < rows[chosen - 1].extra_loss


def test_the_scan_of_distal_cells_meets_both_ends(rng):
    points = factors(rng, 600)
    first, last = scan_distal(points, 5, counts=[0, 6], macro=100)
    assert first.loss == pytest.approx(total_cost(points, pca_mdav(points, 5).labels) / points.size)
    assert last.extra_loss == 0.0


def test_leading_components_by_random_projection(rng, monkeypatch):
    points = factors(rng, 500, d=60, hidden=4)
    whole = spectrum_of(points)
    monkeypatch.setattr(module, "RANDOM_PROJECTION_ATTRIBUTES", 50)
    part = spectrum_of(points, 4)
    assert part.values.size == 4
    np.testing.assert_allclose(part.values, whole.values[:4], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(part.vectors * whole.vectors[:, :4], axis=0)), 1.0, atol=1e-4)
    assert part.energy_loss(4) == pytest.approx(whole.energy_loss(4), abs=1e-6)


def test_the_toy_of_the_paper():
    people = np.array([[14, 32], [10, 34], [12, 33], [17, 43], [16, 47], [15, 45]], float)
    points = (people - people.mean(axis=0)) / people.std(axis=0)
    np.testing.assert_array_equal(canonical_labels(pca_mdav(points, 3, components=2).labels), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: run("pca-mdav", x, 3, components=9), "components=9 is not possible; choose 1 to 4"),
        (lambda x: run("pca-mdav", x, 3, energy_loss=1.5), "energy_loss=1.5 is not possible"),
        (lambda x: run("pca-proximal", x, 3, macro=3), "macrocells must be larger than k=3"),
        (lambda x: run("prepartition", x, 3, macro=10, distal=99), "distal=99 is not possible; there are 5 macrocells"),
        (lambda x: run("prepartition", x, 3, macro=10, fraction=2.0), "fraction=2.0 is not possible"),
        (lambda x: run("pca-mdav", x, 3, grouping="optimal-1d"), 'grouping="optimal-1d" does not group points'),
        (lambda x: choose_components(x, 3, -1.0), "tolerance=-1.0 is not possible"),
    ],
)
def test_impossible_options_raise_an_error_that_names_them(call, text, rng):
    with pytest.raises(ParameterError, match=text):
        call(rng.normal(size=(50, 4)))
