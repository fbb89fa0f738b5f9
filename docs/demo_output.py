"""Put the output of ``shoal demo`` into docs/install.md. Run from the root: python docs/demo_output.py."""

import subprocess
import sys
import tempfile
from pathlib import Path

START, END = "<!-- demo output: written by docs/demo_output.py -->", "<!-- end of demo output -->"


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-m", "shoal", "demo"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
    lines = "\n".join(line.rstrip() for line in run.stdout.splitlines())
    page = Path("docs/install.md")
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n```text\n{lines}\n```\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
