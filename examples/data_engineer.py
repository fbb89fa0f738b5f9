"""For the data engineer: protection as a step of a nightly job, with files, exit codes and machine-readable results.

Exit codes of ``shoal``: 0 done, 1 a requirement is violated, 2 wrong use, 3 internal error, 130 interrupted. Run the
cells one by one, or everything with ``python examples/data_engineer.py FOLDER``.
"""

# %% A Parquet file with missing values
import json
import subprocess
import sys
from pathlib import Path

import shoal

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "engineer-example")
folder.mkdir(exist_ok=True)
shoal.datasets.patients(500, missing=0.02).write_parquet(folder / "patients.parquet")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the directory, as a scheduler would."""
    command = [sys.executable, "-m", "shoal", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")


# %% Missing values are an error until a policy is chosen: exit code 2, one sentence, nothing written
quasi = ["--quasi", "age,income,region,education", "--unnamed", "other"]
failed = run("protect", "patients.parquet", "-k", "5", *quasi, "-o", "safe.parquet")
print(failed.returncode, failed.stderr.strip())
assert failed.returncode == 2
assert not (folder / "safe.parquet").exists()

# %% With a policy; the manifest is printed as JSON
policy = ["--missing", "by-pattern", "--identifiers", "name", "--confidential", "diagnosis"]
done = run("protect", "patients.parquet", "-k", "5", *quasi, *policy, "-o", "safe.parquet", "--json")
assert done.returncode == 0, done.stderr
result = json.loads(done.stdout)
print(result["k"], result["method"]["resolved"][0]["algorithm"], result["loss"]["information_loss"])

# %% A check before publication: exit code 0 if k is satisfied, 1 if it is violated
assert run("verify", "safe.parquet", "-k", "5", *quasi, "--quiet").returncode == 0
assert run("verify", "safe.parquet", "-k", "50", *quasi, "--quiet").returncode == 1

# %% The same input and plan give the same bytes, so a job can be repeated and compared
first = (folder / "safe.parquet").read_bytes()
run("protect", "patients.parquet", "-k", "5", *quasi, *policy, "-o", "safe.parquet", "--threads", "1", "--force")
assert (folder / "safe.parquet").read_bytes() == first
manifest = json.loads((folder / "safe.manifest.json").read_text(encoding="utf-8"))
print(manifest["plan"], manifest["output"]["fingerprint"])
