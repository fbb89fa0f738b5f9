"""Tables III and IV and Figures 17 and 18 of Rebollo-Monedero et al. 2019 on "Forest", which is Covertype.

The order of equal records is not known, so distortions are compared with a tolerance; the tests compare the energy of
the components and the order of the methods by loss. The data set "Large Census" is not publicly available.
"""

import pytest

from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.pca_mdav import pca_mdav
from shoal.methods.partition.pca_proximal import pca_proximal
from shoal.methods.partition.principal_components import spectrum_of
from shoal.methods.partition.scans import scan_components
from shoal.methods.running import run

import reference


def test_energy_of_the_components_of_forest():
    spectrum = spectrum_of(reference.points("covertype"))
    assert spectrum.energy_loss(6) == pytest.approx(0.11, abs=0.005)
    assert spectrum.energy_loss(7) == pytest.approx(0.067, abs=0.0005)
    assert spectrum.choose(energy_loss=0.1) == 7
    assert spectrum.redundant == 0


@pytest.mark.slow
@pytest.mark.parametrize(("k", "plain", "projected"), [(50, 0.0417, 0.0586), (100, 0.0580, 0.0757)])
def test_forest_to_the_printed_digit(k, plain, projected):
    """Table IV. The third column (0.0545, 0.0733) is not reproduced: the split loses less and lies between the two."""
    points = reference.points("covertype")
    split = pca_proximal(points, k, macro=10_000, distal=39)
    found = [
        total_cost(points, outcome.labels) / points.size
        for outcome in (run("mdav", points, k), pca_mdav(points, k), split)
    ]
    assert found[0] == pytest.approx(plain, abs=6e-5)
    assert found[1] == pytest.approx(projected, abs=6e-5)
    assert found[0] < found[2] < found[1]
    assert split.diagnostics["distal_records"] in {390_000, 391_012}


@pytest.mark.slow
def test_scan_over_components_of_forest():
    """Figures 18 and 19: time and loss over the components. Printed for k = 10: 69 points for one, 6.4 for six."""
    one, six, ten = scan_components(reference.points("covertype"), 10, counts=[1, 6, 10], sample=30_000)
    assert one.extra_loss > 0.4
    assert 0.01 < six.extra_loss < six.energy_loss
    assert ten.extra_loss == pytest.approx(0.0, abs=0.002)
