"""Run the commands of docs/guide.md and put what they print below them, where the page asks for it.

    python docs/outputs.py

A block of commands that is followed by ``<!-- output -->`` shows its output up to ``<!-- end of output -->``.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent / "guide.md"
OUTPUT = r"\n<!-- output -->\n.*?<!-- end of output -->\n"
BLOCK = re.compile(rf"```sh\n(?P<commands>.*?)```\n(?P<shown>{OUTPUT})?", re.DOTALL)


def main():
    binaries = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    with tempfile.TemporaryDirectory() as folder:

        def filled(found):
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", found["commands"]],
                cwd=folder, env=environment, capture_output=True, text=True, check=True, encoding="utf-8",
            )  # fmt: skip
            if not found["shown"]:
                return found[0]
            lines = "\n".join(line.rstrip() for line in run.stdout.strip().splitlines())
            commands = found["commands"]
            return f"```sh\n{commands}```\n\n<!-- output -->\n```text\n{lines}\n```\n<!-- end of output -->\n"

        PAGE.write_text(BLOCK.sub(filled, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
