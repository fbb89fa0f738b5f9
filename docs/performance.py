"""Write docs/performance.md from the benchmarks that take a minute. Run from the root: python docs/performance.py."""

import os
import platform
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "performance.md"
RUNS = {
    "Everything but the grouping": ["benchmarks/flow.py"],
    "Files": ["benchmarks/tables.py"],
    "Risk and utility of a release": ["benchmarks/risk.py"],
    "From the command to the first result": ["benchmarks/start.py", "--cold"],
}
HEADER = """\
# Performance

This page is written by `docs/performance.py`, which runs the scripts named below. Measured with Python {python} on
{cores} cores; read figures as orders of magnitude, and run the scripts on your machine.
"""


def main():
    parts = [HEADER.format(python=platform.python_version(), cores=os.cpu_count())]
    for title, command in RUNS.items():
        run = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, encoding="utf-8")
        output = "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())
        parts.append(f"## {title}\n\n`python {' '.join(command)}`\n\n```text\n{output}\n```\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
