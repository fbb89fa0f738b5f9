"""For the data engineer: protection as a step of a nightly job, with files, exit codes and machine-readable results.

Run the cells one by one, or everything with ``python examples/data_engineer.py FOLDER``.
"""

# %% A Parquet file with holes, as jobs find them
import json
import subprocess
import sys
from pathlib import Path

import shoal

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "engineer-example")
folder.mkdir(exist_ok=True)
shoal.datasets.patients(500, missing=0.02).write_parquet(folder / "patients.parquet")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the folder, as a scheduler would."""
    command = [sys.executable, "-m", "shoal", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")


# %% Missing values are refused until somebody decides about them: exit code 2, one sentence, nothing written
quasi = ["--quasi", "age,income,region,education"]
refused = run("protect", "patients.parquet", "-k", "5", *quasi, "-o", "safe.parquet")
print(refused.returncode, refused.stderr.strip())
assert refused.returncode == 2
assert not (folder / "safe.parquet").exists()

# %% The decision, and a result for machines
decided = ["--missing", "own-group", "--drop", "name", "--confidential", "diagnosis"]
done = run("protect", "patients.parquet", "-k", "5", *quasi, *decided, "-o", "safe.parquet", "--json")
assert done.returncode == 0, done.stderr
print(sorted(json.loads(done.stdout)))

# %% A gate before publication: exit code 0 if k holds, 1 if not
assert run("verify", "safe.parquet", "-k", "5", *quasi, "--quiet").returncode == 0
assert run("verify", "safe.parquet", "-k", "50", *quasi, "--quiet").returncode == 1

# %% The same input and options give the same bytes, so that a job can be repeated and compared
first = (folder / "safe.parquet").read_bytes()
run("protect", "patients.parquet", "-k", "5", *quasi, *decided, "-o", "safe.parquet", "--threads", "1")
assert (folder / "safe.parquet").read_bytes() == first
manifest = json.loads((folder / "safe.manifest.json").read_text(encoding="utf-8"))
print(manifest["output"]["fingerprint"])
