"""Printed tables of Thaeter 2021 and Thaeter & Reischuk 2021: information loss in per cent, k = 2, 3, 4, 5, 7, 10.

Thesis: F. Thaeter, "k-anonymous Microaggregation", Universität zu Lübeck 2021. Paper: F. Thaeter & R. Reischuk,
"Scalable k-anonymous Microaggregation", 2021. Numbers are text, so that the printed precision is known.
"""

import gzip

import numpy as np

from shoal.methods.kernels.centroids import total_cost

import reference

KS = (2, 3, 4, 5, 7, 10)
SMALL = ("census", "tarragona", "eia", "cloud1", "cloud2")
LARGE = ("credit_card", "adult")

# Tables A.1 to A.3 and B.1 to B.3 of the thesis; lmas and ona: best of 100 runs
LOSS = {
    "max-distance": {
        "census": "3.18 5.72 7.64 9.00 11.54 14.40",
        "tarragona": "9.31 16.98 19.54 22.53 27.52 33.18",
        "eia": "0.27 0.47 0.77 1.67 2.28 3.71",
        "cloud1": "1.21 2.18 3.42 4.23 5.59 7.35",
        "cloud2": "0.68 1.19 1.63 2.04 2.66 3.36",
        "credit_card": "3.66 6.43 8.56 10.23 12.64 15.16",
    },
    "mdav": {
        "census": "3.18 5.69 7.49 9.09 11.60 14.16",
        "tarragona": "9.33 16.93 19.55 22.46 27.52 33.19",
        "eia": "0.31 0.48 0.67 1.67 2.17 3.84",
        "cloud1": "1.21 2.22 3.74 4.31 5.70 7.05",
        "cloud2": "0.68 1.21 1.70 2.03 2.69 3.40",
        "credit_card": "3.66 6.40 8.53 10.17 12.58 15.18",
        "adult": "0.054 0.108 0.162 0.217 0.317 0.463",
    },
    "mdav-plus": {
        "census": "3.16 5.66 7.51 9.01 11.66 14.07",
        "tarragona": "9.29 16.95 19.77 22.87 28.26 33.25",
        "eia": "0.32 0.49 0.67 1.78 2.21 3.55",
        "cloud1": "1.20 2.23 3.78 4.31 5.56 6.98",
        "cloud2": "0.66 1.22 1.62 2.09 2.78 3.50",
        "credit_card": "3.65 6.39 8.49 10.17 12.59 15.21",
        "adult": "0.053 0.107 0.163 0.217 0.317 0.464",
    },
    "v-mdav": {
        "census": "3.16 5.66 7.51 8.98 11.59 14.04",
        "tarragona": "9.29 15.85 19.70 22.87 28.25 33.25",
        "eia": "0.23 0.46 0.67 1.06 2.21 2.79",
        "cloud1": "1.19 2.15 3.78 4.29 5.53 6.94",
        "cloud2": "0.66 1.19 1.62 2.05 2.77 3.46",
        "credit_card": "3.64 6.38 8.49 10.17 12.58 15.17",
        "adult": "0.046 0.102 0.158 0.210 0.314 0.464",
    },
    "mdav-star": {
        "census": "3.16 5.78 7.45 8.83 11.37 14.00",
        "tarragona": "9.44 16.15 19.19 22.26 28.40 34.74",
        "eia": "0.22 0.45 0.62 0.91 2.03 2.63",
        "cloud1": "1.16 2.10 3.65 4.09 5.54 6.70",
        "cloud2": "0.64 1.09 1.52 1.87 2.50 3.28",
        "credit_card": "3.65 6.44 8.48 10.22 12.36 14.67",
        "adult": "0.041 0.088 0.138 0.184 0.281 0.421",
    },
    "mdav-star-gamma": {
        "census": "3.11 5.59 7.24 8.61 11.04 13.77",
        "tarragona": "9.28 16.09 19.19 21.96 27.76 32.97",
        "eia": "0.20 0.39 0.54 0.82 1.66 2.18",
        "cloud1": "1.15 2.10 3.63 4.08 5.49 6.70",
        "cloud2": "0.63 1.09 1.48 1.86 2.48 3.23",
        "credit_card": "3.59 6.25 8.25 9.83 12.11 14.47",
        "adult": "0.040 0.086 0.133 0.180 0.273 0.411",
    },
    "lmas": {
        "census": "3.37 5.78 7.49 8.84 11.00 13.81",
        "tarragona": "9.46 15.83 18.73 21.83 27.61 31.83",
        "eia": "0.19 0.39 0.56 0.80 1.67 2.04",
        "cloud1": "1.23 2.19 3.46 4.27 5.51 6.82",
        "cloud2": "0.66 1.13 1.54 1.87 2.43 3.14",
        "credit_card": "3.89 6.48 7.92 9.28 11.36 13.42",
        "adult": "0.041 0.090 0.137 0.183 0.275 0.408",
    },
    "ona": {
        "census": "3.47 5.46 7.01 8.18 10.15 12.35",
        "tarragona": "9.49 15.01 17.83 20.84 26.35 30.87",
        "eia": "0.21 0.40 0.59 0.80 1.60 2.01",
        "cloud1": "1.20 2.13 3.20 3.82 4.95 6.37",
        "cloud2": "0.67 1.10 1.46 1.74 2.27 2.96",
    },
    "ona-star": {
        "census": "3.06 5.27 6.71 8.04 10.07 12.46",
        "tarragona": "9.06 15.11 17.79 20.48 26.34 31.15",
        "eia": "0.20 0.37 0.52 0.79 1.63 1.99",
        "cloud1": "1.15 2.02 3.24 3.92 5.07 6.28",
        "cloud2": "0.61 1.04 1.40 1.71 2.22 2.92",
        "credit_card": "3.50 5.86 7.53 8.65 10.23 12.24",
        "adult": "0.039 0.081 0.123 0.165 0.243 0.357",
    },
    "ona-star-gamma": {
        "census": "3.06 5.22 6.72 7.91 9.84 12.31",
        "tarragona": "9.05 15.10 17.76 20.49 26.12 30.51",
        "eia": "0.19 0.37 0.52 0.78 1.58 1.98",
        "cloud1": "1.13 2.02 3.10 3.68 4.92 6.28",
        "cloud2": "0.60 1.03 1.39 1.67 2.19 2.91",
        "credit_card": "3.50 5.86 7.40 8.46 10.20 12.12",
        "adult": "0.039 0.081 0.122 0.161 0.241 0.353",
    },
}

# Table A.8: average size of a group
SIZE = {
    "v-mdav": {
        "census": "2.00 3.00 4.00 5.02 7.01 10.09",
        "tarragona": "2.00 3.02 4.03 5.02 7.25 10.17",
        "eia": "2.17 3.61 4.00 5.54 7.01 11.46",
        "cloud1": "2.00 3.14 4.16 5.02 7.01 10.04",
        "cloud2": "2.00 3.04 4.00 5.02 7.06 10.56",
        "credit_card": "2.02 3.02 4.00 5.00 7.03 10.04",
        "adult": "2.10 3.10 4.12 5.10 7.10 10.11",
    },
    "mdav-star": {
        "census": "2.19 3.42 4.50 5.71 8.06 11.49",
        "tarragona": "2.15 3.39 4.53 5.67 8.26 11.42",
        "eia": "2.24 3.38 4.24 5.62 7.56 10.88",
        "cloud1": "2.17 3.32 4.47 5.48 7.70 10.89",
        "cloud2": "2.24 3.34 4.47 5.60 7.64 10.78",
        "credit_card": "2.21 3.50 4.75 6.01 8.45 11.94",
        "adult": "2.12 3.36 4.23 5.39 7.41 10.72",
    },
    "mdav-star-gamma": {
        "census": "2.06 3.04 4.41 5.45 7.61 10.29",
        "tarragona": "2.04 3.22 4.56 5.25 7.13 10.56",
        "eia": "2.19 3.37 4.60 6.14 9.39 12.00",
        "cloud1": "2.13 3.32 4.32 5.36 7.31 10.89",
        "cloud2": "2.11 3.21 4.30 5.69 7.47 10.67",
        "credit_card": "2.11 3.23 4.35 5.46 7.99 11.30",
        "adult": "2.09 3.38 4.35 5.60 7.70 11.45",
    },
}

# Tables A.9 and B.8: the gain factors found
GAMMA = {
    "v-mdav": {
        "census": "0.0 0.0 0.0 0.2 0.1 0.2",
        "tarragona": "0.0 0.3 0.3 0.0 0.6 0.3",
        "eia": "0.2 0.6 0.0 0.4 0.0 1.3",
        "cloud1": "0.1 0.4 0.4 0.2 0.1 0.2",
        "cloud2": "0.0 0.2 0.0 0.1 0.2 0.5",
        "credit_card": "0.1 0.1 0.0 0.0 0.1 0.1",
        "adult": "0.4 0.1 0.4 0.2 0.2 0.2",
    },
    "mdav-star-gamma": {
        "census": "0.8 0.6 0.9 0.9 0.9 0.8",
        "tarragona": "0.8 0.9 1.0 0.8 0.7 0.8",
        "eia": "0.8 0.7 0.8 1.2 1.1 1.2",
        "cloud1": "0.9 1.0 0.9 0.9 0.8 1.0",
        "cloud2": "0.8 0.8 0.8 1.0 0.9 0.9",
        "credit_card": "0.8 0.8 0.8 0.8 0.9 0.9",
        "adult": "0.7 0.9 0.9 1.0 0.9 1.0",
    },
    "ona-star-gamma": {
        "census": "0.9 1.2 1.0 1.1 1.2 1.7",
        "tarragona": "0.7 1.9 1.1 1.0 1.1 1.3",
        "eia": "1.6 1.0 0.9 0.5 1.8 1.3",
        "cloud1": "1.3 1.0 1.5 1.1 1.1 1.0",
        "cloud2": "1.1 0.9 1.0 0.8 1.4 1.9",
        "credit_card": "1.1 1.0 1.7 1.2 1.1 0.9",
        "adult": "1.0 0.9 0.9 1.2 1.1 1.1",
    },
}

# Tables 1 and 6 of the paper; ona: best of 100 runs
PAPER = {
    "mdav": {
        "census": "3.18 5.69 7.49 9.09 11.60 14.16",
        "tarragona": "9.33 16.93 19.55 22.46 27.52 33.19",
        "eia": "0.31 0.48 0.67 1.67 2.17 3.84",
        "cloud1": "1.21 2.22 3.74 4.31 5.70 7.05",
        "cloud2": "0.68 1.21 1.70 2.03 2.69 3.40",
    },
    "mdav-star": {
        "census": "3.17 5.78 7.44 8.81 11.37 14.01",
        "tarragona": "9.44 16.14 19.19 22.25 28.40 34.75",
        "eia": "0.22 0.45 0.62 0.91 2.03 2.63",
        "cloud1": "1.16 2.11 3.65 4.09 5.54 6.70",
        "cloud2": "0.64 1.10 1.52 1.87 2.51 3.28",
        "credit_card": "3.65 6.44 8.48 10.21 12.36 14.68",
        "adult": "0.04 0.09 0.14 0.18 0.28 0.42",
    },
    "ona": {
        "census": "3.44 5.47 6.92 8.16 10.08 12.45",
        "tarragona": "9.19 15.01 17.66 20.88 26.50 30.95",
        "eia": "0.21 0.40 0.59 0.81 1.60 2.01",
        "cloud1": "1.21 2.16 3.18 3.82 4.97 6.35",
        "cloud2": "0.67 1.08 1.46 1.73 2.28 2.96",
    },
    "ona-star": {
        "census": "3.06 5.26 6.81 7.99 10.07 12.46",
        "tarragona": "9.06 15.11 17.79 20.69 26.34 31.15",
        "eia": "0.20 0.37 0.52 0.79 1.63 1.99",
        "cloud1": "1.15 2.02 3.25 3.92 5.07 6.28",
        "cloud2": "0.60 1.04 1.40 1.70 2.22 2.92",
        "credit_card": "3.50 5.86 7.53 8.64 10.23 12.24",
        "adult": "0.04 0.08 0.12 0.16 0.24 0.36",
    },
}

# Table 8.1 (tfrp, density) and Table 8.4 (rank-sum as implemented again for the thesis): k = 3, 4, 5, 10
CHAPTER_8 = {
    "tfrp": {"census": "5.80 7.64 8.98 13.96", "tarragona": "16.88 19.18 21.85 33.01", "eia": "0.43 0.60 0.91 2.59"},
    "density": {
        "census": "5.58 7.59 9.05 13.52",
        "tarragona": "16.15 22.67 25.45 34.81",
        "eia": "0.42 0.56 0.82 2.08",
    },
    "rank-sum": {
        "census": "6.47 9.47 10.58 16.66",
        "tarragona": "18.71 22.98 28.25 32.59",
        "eia": "0.63 0.87 2.19 4.41",
    },
}

# Table 5.7: MDAV* with the group whose cost rises least instead of the nearest centroid, Credit Card
BY_COST = "3.65 6.44 8.48 10.21 12.36 14.68"

# Table 6.3: Census, k = 10: lowest, highest, median, mean and variance of the loss over the runs
SPREAD = {
    ("lmas", 100): "13.56 15.47 14.28 14.38 0.21",
    ("ona", 100): "12.49 13.51 12.77 12.80 0.04",
}

# Paper, Table 2: 1000 runs of ona on Census: lowest, highest, median, mean, variance
ONA_RUNS = {
    2: "3.43 3.90 3.63 3.63 0.01",
    3: "5.42 6.24 5.70 5.71 0.01",
    4: "6.94 7.74 7.25 7.25 0.02",
    5: "8.12 9.10 8.47 8.48 0.02",
    7: "10.04 11.11 10.43 10.44 0.03",
    10: "12.36 13.66 12.77 12.80 0.04",
}

# Table 6.5: rounds until nothing changes, Census: ona (least, mean, most of 1000 runs), ona-star, ona-star-gamma
ROUNDS = {2: ("4 5.7 11", 5, 3), 5: ("5 8.9 17", 3, 4), 10: ("7 11.8 30", 6, 7)}


def points(name):
    """The table of that name, standardised; Adult: age, education-num and hours-per-week."""
    if name != "adult":
        return reference.points(name)
    with gzip.open(reference.path("adult.csv.gz"), "rt") as lines:
        raw = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 4, 12))
    centred = raw - raw.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0))


def loss(points, labels):
    """Information loss in per cent."""
    return 100 * total_cost(points, labels) / total_cost(points, np.zeros(len(points), np.int64))


def cells(table, names=SMALL, ks=KS):
    """(data set, k, printed text) of each cell of a row of tables."""
    return [
        (name, k, text) for name in names for k, text in zip(KS, table.get(name, "").split(), strict=False) if k in ks
    ]


def as_printed(value, text):
    """The value with as many digits as the printed text has."""
    return f"{value:.{len(text.partition('.')[2])}f}"
