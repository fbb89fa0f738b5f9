"""Print digests of what Shoal computes on this processor; a test runs this script on several emulated processors.

The input is made of integers and quotients, so that it has the same bits everywhere. The last cases are wrong on
purpose: a product through BLAS, a function of NumPy, and a sum that a compiler may reorder. They differ between the
processors, which shows that the emulation works and that the comparison can fail.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

import shoal

SEED = 5
MIXED_COLUMNS = ("age", "sex", "region", "education", "income", "height")


def digest(data):
    """Return 16 hexadecimal digits of the SHA-256 digest."""
    return hashlib.sha256(data).hexdigest()[:16]


def numbers(n, columns):
    """A table of numbers that has ties in one column, a large offset in another and a heavy tail in a third."""
    whole = np.random.default_rng(SEED).integers(0, 10_007, size=(n, columns))
    found = whole / 1_000.0
    found[:, 0] = whole[:, 0] % 7
    found[:, -1] = found[:, -1] ** 3 + 1e6
    return found


def standardised(points):
    """Points with mean 0 and variance 1, by exact sums, as the product has them."""
    from math import fsum, sqrt

    columns = []
    for column in points.T.tolist():
        mean = fsum(column) / len(column)
        spread = sqrt(fsum((value - mean) ** 2 for value in column) / len(column))
        columns.append([(value - mean) / spread for value in column])
    return np.ascontiguousarray(np.array(columns).T)


def categories(n, columns):
    return (np.random.default_rng(SEED).integers(0, 60, size=(n, columns)) ** 2 // 900).astype(np.int32)


def grouped():
    """Yield the groups of every supported method."""
    points, small = standardised(numbers(700, 4)), standardised(numbers(60, 3))
    for name, method in shoal.all_methods().items():
        if method.version is None:
            continue
        data = {"values": points[:, 1].copy(), "codes": categories(40, 4)}.get(method.data, points)
        data = small if name == "set-partition" else data
        for k in (3, 10) if name != "set-partition" else (3,):
            yield f"labels of {name}, k={k}", digest(shoal.group(data, k, method=name, seed=SEED).tobytes())


def scenarios():
    """Yield the name, the table and the arguments of protections that use other parts of the code."""
    people, incomplete = shoal.datasets.patients(300, seed=SEED), shoal.datasets.patients(300, missing=0.06, seed=SEED)
    orders = {"education": list(shoal.datasets.EDUCATION_ORDER)}
    mixed = {"quasi": list(MIXED_COLUMNS), "identifiers": ["name"], "orders": orders, "unnamed": "other"}
    plain = {"quasi": ["age", "income", "height"], "unnamed": "other", "method": "mdav"}
    codes = {"quasi": ["sex", "region", "education"], "unnamed": "other", "recode": "frequencies"}
    yield "auto on mixed columns", people, mixed
    yield "means with all digits", people, plain | {"decimals": "full"}
    yield "moments kept", people, plain | {"keep_moments": True, "decimals": "full"}
    yield "medians and ranges", people, plain | {"recode": {"age": "median", "income": "range", "height": "medoid"}}
    yield "missing cells filled", incomplete, mixed | {"missing": "fill"}
    yield "missing cells imputed", incomplete, mixed | {"missing": "impute", "method": "mona-plus"}
    yield "l and t", people, plain | {"confidential": ["diagnosis"], "l": 3, "t": 0.4}
    yield "t of a number", people, plain | {"confidential": ["stay_days"], "t": 0.3, "method": "ona-star"}
    yield "strata and column weights", people, plain | {"strata": ["education"], "column_weights": {"age": 3.0}}
    yield "frequencies kept", people, codes
    yield "one column", people, plain | {"quasi": ["income"], "method": "optimal-1d"}
    yield (
        "intervals of a hierarchy",
        people,
        plain | {"hierarchies": {"age": "intervals"}, "recode": {"age": "hierarchy"}},
    )


def released():
    """Yield the bytes of the files that Shoal writes, and the loss that it states."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table, arguments in scenarios():
            release = shoal.protect(table, 4, seed=SEED, accept_loss=True, accept_derived=True, **arguments)
            file = Path(folder) / "released.csv"
            release.write(file, overwrite=True)
            yield f"bytes of {name}", digest(file.read_bytes())
            yield f"loss of {name}", release.loss.information_loss.hex()


def persons():
    """Yield the rows of a release that counts persons; their order is random, so they are sorted."""
    stays = shoal.datasets.stays(120, seed=SEED)
    quasi = ["sex", "birth_year", "region"]
    release = shoal.protect(
        stays, 4, unit="patient_id", quasi=quasi, unnamed="other", seed=SEED, accept_loss=True, accept_relinking=True
    )
    yield "rows of persons", digest("\n".join(sorted(map(str, release.data.iter_rows()))).encode())


def wrong():
    """Yield figures that depend on the processor."""
    values = np.arange(1, 20_001) * 7919 % 10_007 / 1_000.0

    @numba.njit(fastmath=True)
    def reordered_sum(array):
        total = 0.0
        for value in array:
            total += value * value
        return total

    yield "wrong: BLAS", float(np.dot(values, values)).hex()
    yield "wrong: NumPy", digest(np.log(values + 1).tobytes())
    yield "wrong: compiler", reordered_sum(values).hex()


if __name__ == "__main__":
    found = {}
    for part in (grouped, released, persons, wrong):
        found |= part()
    json.dump(found, sys.stdout)
