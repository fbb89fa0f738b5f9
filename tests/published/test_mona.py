"""The Mondrian family and MONA: Tables C.1 and C.2 of Thaeter 2021, Tables 5 and 6 of Thaeter & Reischuk 2021.

Losses in percent for k = 2, 3, 4, 5, 7, 10. Values with four digits come from an independent program that reproduces
the tables. On Adult, where four of five records have a duplicate, the third digit of MONA depends on the order of equal
records.
"""

import csv
import gzip
from functools import cache

import numpy as np
import pytest

from shoal.methods.contract import labels_of
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.mona import mona, mona_2d
from shoal.methods.partition.mondrian import mondrian, mondrian_v, mondrian_v2d

import reference

KS = (2, 3, 4, 5, 7, 10)
MARRIAGE = 3  # where the published runs on Credit Card cut first


@cache
def adult():
    with gzip.open(reference.path("adult.csv.gz"), "rt") as lines:
        rows = list(csv.DictReader(lines))
    raw = np.array([[float(row[name]) for name in ("age", "education-num", "hours-per-week")] for row in rows])
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def data(name):
    return adult() if name == "adult" else reference.points(name)


def losses(name, method, ks=KS, **options):
    points = data(name)
    return [100 * total_cost(points, labels_of(method(points, k, **options))) / points.size for k in ks]


@pytest.mark.parametrize(
    ("name", "method", "options", "printed"),
    [
        ("adult", mondrian, {}, [0.249, 0.508, 0.508, 0.508, 0.917, 0.917]),
        ("adult", mondrian_v, {}, [0.206, 0.407, 0.407, 0.407, 0.757, 0.757]),
        ("adult", mondrian_v2d, {}, [0.188, 0.387, 0.387, 0.387, 0.705, 0.705]),
        ("adult", mondrian_v2d, {"pair_scale": 1.0}, [0.19, 0.38, 0.38, 0.38, 0.71, 0.71]),
        ("credit_card", mondrian, {}, [30.33, 30.33, 41.47, 41.47, 43.75, 50.71]),
        ("credit_card", mondrian_v, {"first": MARRIAGE}, [24.05, 24.05, 32.54, 32.54, 34.12, 39.27]),
        ("credit_card", mondrian_v, {}, [21.5655, 21.5655, 29.5715, 29.5715, 30.9978, 36.0182]),
        ("credit_card", mondrian_v2d, {}, [17.85, 17.85, 24.52, 24.52, 25.78, 30.30]),
        ("credit_card", mondrian_v2d, {"pair_scale": 1.0}, [15.8127, 15.8127, 21.9328, 21.9328, 23.2247, 27.3383]),
    ],
)
def test_mondrian_family_to_the_printed_digit(name, method, options, printed):
    digits = max(len(str(value).split(".")[1]) for value in printed)
    np.testing.assert_allclose(losses(name, method, **options), printed, rtol=0, atol=0.5001 * 10**-digits + 5e-5)


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


ADULT = {
    (mona, 0.1): [0.206, 0.407, 0.407, 0.407, 0.757, 0.757],
    (mona_2d, 0.1): [0.188, 0.387, 0.387, 0.387, 0.705, 0.705],
    (mona, 0.2): [0.105, 0.407, 0.407, 0.407, 0.757, 0.757],
    (mona_2d, 0.2): [0.099, 0.387, 0.387, 0.387, 0.705, 0.705],
    (mona, 0.3): [0.067, 0.140, 0.211, 0.285, 0.434, 0.649],
    (mona_2d, 0.3): [0.068, 0.142, 0.216, 0.290, 0.425, 0.646],
    (mona, 0.4): [0.060, 0.124, 0.187, 0.248, 0.381, 0.569],
    (mona_2d, 0.4): [0.060, 0.125, 0.190, 0.250, 0.376, 0.561],
    (mona, 0.5): [0.050, 0.106, 0.161, 0.211, 0.322, 0.465],
    (mona_2d, 0.5): [0.050, 0.102, 0.156, 0.206, 0.302, 0.456],
    (mona, 0.6): [0.048, 0.099, 0.149, 0.198, 0.303, 0.439],
    (mona_2d, 0.6): [0.048, 0.097, 0.149, 0.195, 0.286, 0.430],
    (mona, 0.7): [0.043, 0.091, 0.137, 0.182, 0.276, 0.402],
    (mona_2d, 0.7): [0.042, 0.090, 0.137, 0.182, 0.268, 0.399],
    (mona, 0.8): [0.041, 0.089, 0.132, 0.175, 0.264, 0.386],
    (mona_2d, 0.8): [0.042, 0.087, 0.132, 0.176, 0.257, 0.381],
    (mona, 0.9): [0.040, 0.085, 0.129, 0.171, 0.258, 0.372],
    (mona_2d, 0.9): [0.041, 0.084, 0.128, 0.170, 0.247, 0.372],
    (mona, 1.0): [0.039, 0.081, 0.123, 0.165, 0.243, 0.357],
}
CREDIT_CARD = {
    (mona, 0.1): [24.05, 24.05, 32.54, 32.54, 34.12, 39.27],
    (mona_2d, 0.1): [17.85, 17.85, 24.52, 24.52, 25.78, 30.30],
    (mona, 0.2): [19.46, 22.50, 32.54, 32.54, 34.12, 39.27],
    (mona_2d, 0.2): [14.83, 17.11, 24.52, 24.52, 25.78, 30.30],
    (mona, 0.3): [10.85, 17.35, 22.26, 25.63, 31.67, 39.27],
    (mona_2d, 0.3): [8.76, 13.92, 17.87, 20.50, 24.84, 30.30],
    (mona, 0.4): [8.67, 13.91, 17.71, 20.53, 24.77, 29.18],
    (mona_2d, 0.4): [7.38, 11.78, 14.93, 17.36, 20.97, 24.62],
    (mona, 0.5): [7.74, 12.56, 15.99, 18.53, 22.45, 26.59],
    (mona_2d, 0.5): [6.87, 10.96, 13.89, 16.16, 19.50, 22.95],
    (mona, 0.6): [6.36, 10.14, 12.90, 14.95, 17.96, 21.44],
    (mona_2d, 0.6): [5.73, 9.20, 11.58, 13.45, 16.29, 19.18],
    (mona, 0.7): [5.64, 9.14, 11.52, 13.41, 16.27, 19.22],
    (mona_2d, 0.7): [5.27, 8.47, 10.75, 12.42, 14.97, 17.54],
    (mona, 0.8): [4.38, 7.29, 9.42, 10.92, 13.19, 15.54],
    (mona_2d, 0.8): [4.56, 7.35, 9.35, 10.77, 12.82, 15.02],
    (mona, 0.9): [4.07, 6.79, 8.79, 10.15, 12.26, 14.48],
    (mona_2d, 0.9): [4.18, 6.83, 8.68, 10.07, 11.95, 13.91],
    (mona, 1.0): [3.50, 5.86, 7.53, 8.65, 10.23, 12.24],
}


# The one cell that is not reproduced, k = 10 and rho = 0.9 of mona-2d, is printed as 13.91. An independent program
# finds 13.8687 there, as Shoal does; the reason for the difference is not known.
APART = 13.8687


@pytest.mark.parametrize(("method", "k"), [(mona, 3), (mona, 10), (mona_2d, 5)])
def test_mona_of_rho_one_half(method, k):
    column = KS.index(k)
    assert losses("adult", method, [k], rho=0.5)[0] == pytest.approx(ADULT[method, 0.5][column], abs=0.003)
    first = MARRIAGE if method is mona else None
    found = losses("credit_card", method, [k], rho=0.5, first=first)[0]
    assert found == pytest.approx(CREDIT_CARD[method, 0.5][column], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rho"), ADULT)
def test_adult_table(method, rho):
    np.testing.assert_allclose(losses("adult", method, rho=rho), ADULT[method, rho], rtol=0, atol=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rho"), CREDIT_CARD)
def test_credit_card_table(method, rho):
    first = MARRIAGE if method is mona and rho < 1 else None
    expected = list(CREDIT_CARD[method, rho])
    if (method, rho) == (mona_2d, 0.9):
        expected[KS.index(10)] = APART
    found = losses("credit_card", method, rho=rho, first=first)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.03)
