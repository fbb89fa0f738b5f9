"""For the data engineer: a folder of Parquet files protected by engine disk, as a task that may be repeated.

``protect_folder`` is what a scheduler calls: an Airflow task, or a step before or after a dbt run. It ends with the
exit code of ``shoal``, and a repeated call leaves the earlier release in place until the new one is complete. Run
everything with ``python examples/parquet_folder.py FOLDER``.
"""

# %% Files as a job of the night before left them
import json
import subprocess
import sys
from pathlib import Path

import shoal

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "parquet-example")
(folder / "stays").mkdir(parents=True, exist_ok=True)
for number, part in enumerate(shoal.datasets.patients(2_000).iter_slices(500)):
    part.write_parquet(folder / "stays" / f"{number:03d}.parquet")


# %% The task: exit code 0 done, 1 requirement violated, 2 wrong use, 3 internal error
def protect_folder(source: Path, target: Path) -> int:
    """Protect a folder; what is there after an error or a kill is the earlier release, or nothing."""
    command = [
        sys.executable, "-m", "shoal", "protect", str(source), "-k", "5", "--quasi", "age,income,region",
        "--confidential", "diagnosis", "--identifiers", "name", "--unnamed", "other", "--effort", "fast",
        "--engine", "disk", "-o", str(target), "--force", "--quiet",
    ]  # fmt: skip
    return subprocess.run(command, check=False).returncode


assert protect_folder(folder / "stays", folder / "safe") == 0
assert (folder / "safe" / "_SUCCESS").exists()

# %% A retry gives the same release; only then the next task reads it
manifest = json.loads((folder / "safe" / "_manifest.json").read_text(encoding="utf-8"))
assert protect_folder(folder / "stays", folder / "safe") == 0
again = json.loads((folder / "safe" / "_manifest.json").read_text(encoding="utf-8"))
assert again == manifest
print(manifest["k"], manifest["output"]["fingerprint"])

# %% Wrong use is exit code 2, and nothing changes: here a folder that is missing
assert protect_folder(folder / "absent", folder / "safe") == 2
assert json.loads((folder / "safe" / "_manifest.json").read_text(encoding="utf-8")) == manifest
