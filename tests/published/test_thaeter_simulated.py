"""The simulated data of Thaeter 2021 (Tables A.4 and B.4).

The databases of the thesis are lost, so these are means over our own draws of the same recipe.
"""

import pytest

from published.thaeter_simulated import LOSS, mean_loss, printed


@pytest.mark.parametrize("kind", LOSS)
@pytest.mark.parametrize("method", ["mdav", "mdav-plus", "mdav-star", "ona-star"])
@pytest.mark.parametrize("k", [3, 10])
def test_means_over_four_databases_lie_near_tables_a4_and_b4(kind, method, k):
    assert mean_loss(kind, method, k, 4) == pytest.approx(printed(kind, method, k), abs=0.6)


@pytest.mark.parametrize("kind", LOSS)
@pytest.mark.parametrize("k", [3, 10])
def test_the_methods_stand_in_the_printed_order(kind, k):
    assert mean_loss(kind, "ona-star", k, 4) < mean_loss(kind, "mdav-star", k, 4) < mean_loss(kind, "mdav", k, 4)
