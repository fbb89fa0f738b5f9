"""Write docs/performance.md from short benchmarks. Run from the root directory: python docs/performance.py."""

import os
import platform
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "performance.md"
RUNS = {
    "All stages except grouping": ["benchmarks/flow.py"],
    "Files": ["benchmarks/tables.py"],
    "Risk and utility of a release": ["benchmarks/risk.py"],
    "From the command to the first result": ["benchmarks/start.py", "--cold"],
}
HEADER = """\
# Performance

`docs/performance.py` writes this page from the output of the scripts named below. The times were measured with Python
{python} on {cores} cores; they are orders of magnitude. Run the scripts to measure your machine.

The time of grouping depends on the method and is not included: see [choosing speed or quality](speed-or-quality.md).
"""


def main():
    parts = [HEADER.format(python=platform.python_version(), cores=os.cpu_count())]
    for title, command in RUNS.items():
        run = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, encoding="utf-8")
        output = "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())
        parts.append(f"## {title}\n\n`python {' '.join(command)}`\n\n<!-- output -->\n```text\n{output}\n```\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
