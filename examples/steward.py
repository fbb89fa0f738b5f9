"""For the data steward: from a CSV file to a release with manifest, report and verification.

Run the cells one by one in an editor that supports ``# %%``, or everything with ``python examples/steward.py FOLDER``.
"""

# %% A table of generated patients, as it might come from a hospital
import sys
from pathlib import Path

import polars as pl

import shoal

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "steward-example")
folder.mkdir(exist_ok=True)
shoal.datasets.patients(400).write_csv(folder / "patients.csv")

# %% How many records share the same quasi-identifier values?
quasi = ["age", "sex", "region", "education", "income"]
before = shoal.assess(folder / "patients.csv", quasi=quasi, confidential=["diagnosis"], unnamed="other")
print(before)

# %% Protect: groups of at least five with at least three diagnoses each
release = shoal.protect(
    folder / "patients.csv",
    k=5,
    l=3,
    quasi=quasi,
    confidential=["diagnosis", "stay_days"],
    identifiers=["name", "height", "admitted"],
    orders={"education": shoal.datasets.EDUCATION_ORDER},
)
print(f"k = {release.k}, information loss {100 * release.loss.information_loss:.1f} %")
for remark in release.remarks:
    print(f"{remark.code}: {remark.text}")

# %% Write table, manifest and report; they appear together or not at all
release.write(folder / "safe.csv", report=folder / "safe.html")

# %% Verify the written file; only the file is needed for that
shoal.verify(folder / "safe.csv", 5, quasi=quasi, confidential=["diagnosis"], other=["stay_days"], l=3)
assert pl.read_csv(folder / "safe.csv").height == 400
print("k = 5 and l = 3 are satisfied:", *sorted(path.name for path in folder.iterdir()))
