"""The Mondrian family and MONA on tables and with options that the documents do not print.

Losses in percent for k = 2, 3, 4, 5, 7, 10, from an independent program that reproduces the printed tables; the printed
cells are in ``test_printed_cells.py``.
"""

import numpy as np
import pytest

from shoal.methods.contract import labels_of
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.mona import mona, mona_2d
from shoal.methods.partition.mondrian import mondrian, mondrian_v, mondrian_v2d

import reference

KS = (2, 3, 4, 5, 7, 10)


def losses(name, method, ks=KS, **options):
    points = reference.points(name)
    return [100 * total_cost(points, labels_of(method(points, k, **options))) / points.size for k in ks]


@pytest.mark.parametrize(
    ("method", "options", "golden"),
    [
        (mondrian_v, {}, [21.5655, 21.5655, 29.5715, 29.5715, 30.9978, 36.0182]),
        (mondrian_v2d, {"pair_scale": 1.0}, [15.8127, 15.8127, 21.9328, 21.9328, 23.2247, 27.3383]),
    ],
)
def test_variants_that_were_not_printed(method, options, golden):
    np.testing.assert_allclose(losses("credit_card", method, **options), golden, rtol=0, atol=1e-4)


GOLDEN = {
    ("census", mondrian, "2k"): [18.3684, 21.5638, 26.4651, 31.4131, 31.4131, 43.8468],
    ("census", mondrian, "2k-1"): [11.8463, 21.5638, 21.5638, 31.4131, 31.4131, 43.8468],
    ("census", mondrian_v, "2k"): [16.1255, 19.5237, 24.2115, 28.7853, 28.7853, 36.7692],
    ("census", mondrian_v2d, "2k"): [10.8316, 12.5640, 15.2916, 17.8506, 17.8506, 24.0750],
    ("tarragona", mondrian, "2k"): [32.8184, 37.3359, 43.6739, 43.6739, 55.9671, 55.9671],
    ("tarragona", mondrian_v, "2k-1"): [20.8715, 28.5125, 39.8602, 39.8602, 46.4946, 49.8488],
    ("tarragona", mondrian_v2d, "2k"): [25.6946, 26.9160, 34.0059, 34.0059, 45.0725, 45.0725],
    ("eia", mondrian, "2k"): [2.5077, 2.5077, 5.5689, 5.5689, 5.5689, 10.2576],
    ("eia", mondrian_v, "2k"): [2.2366, 2.2366, 5.1568, 5.1568, 5.1568, 9.3468],
    ("eia", mondrian_v2d, "2k"): [2.1262, 2.1262, 4.7620, 4.7620, 4.7620, 8.3257],
    ("cloud2", mondrian, "2k"): [3.0318, 3.0318, 5.2545, 5.2545, 5.2545, 9.3277],
    ("cloud2", mondrian_v, "2k"): [2.4545, 2.4545, 3.9415, 3.9415, 3.9415, 6.0395],
    ("cloud2", mondrian_v2d, "2k"): [2.1211, 2.1211, 3.5011, 3.5011, 3.5011, 5.4794],
}


@pytest.mark.parametrize(("name", "method", "whole"), GOLDEN)
def test_mondrian_family_on_small_data(name, method, whole):
    found = losses(name, method, whole=whole)
    np.testing.assert_allclose(found, GOLDEN[name, method, whole], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "method", "golden"),
    [
        ("census", mona, [6.7673, 11.2075, 14.4809, 17.6134, 23.4498, 36.7692]),
        ("census", mona_2d, [4.6508, 8.0472, 10.5113, 12.5251, 16.1645, 24.0750]),
        ("tarragona", mona, [12.7457, 19.6103, 24.3565, 29.1703, 36.1020, 40.1422]),
        ("tarragona", mona_2d, [11.4006, 17.9619, 21.5497, 24.6363, 32.4410, 37.6308]),
        ("eia", mona, [0.3312, 0.6890, 1.5303, 2.0767, 3.3332, 5.1517]),
        ("eia", mona_2d, [0.4191, 0.9808, 1.6508, 2.1604, 3.6306, 4.9015]),
        ("cloud2", mona, [0.8405, 1.4774, 1.9799, 2.3808, 3.1602, 4.1289]),
        ("cloud2", mona_2d, [0.7729, 1.3500, 1.8910, 2.2508, 3.0650, 3.8018]),
    ],
)
def test_mona_on_small_data(name, method, golden):
    np.testing.assert_allclose(losses(name, method, rho=0.5), golden, rtol=0, atol=1e-4)
