"""Run the commands of the tutorials in docs/ and insert their output where the page asks for it.

    python docs/outputs.py [PAGE ...]

The output of a block of commands that is followed by ``<!-- output -->`` is shown up to ``<!-- end of output -->``. A
block of TOML after ``<!-- edit FILE -->`` replaces the entries of the same name in that file, as a reader would do in
an editor.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = [Path(__file__).parent / name for name in ("guide.md", "categorical.md", "tutorial-persons.md")]
OUTPUT = r"\n<!-- output -->\n.*?<!-- end of output -->\n"
BLOCK = re.compile(
    rf"```sh\n(?P<commands>.*?)```\n(?P<shown>{OUTPUT})?|<!-- edit (?P<file>\S+) -->\n```toml\n(?P<entries>.*?)```\n",
    re.DOTALL,
)
ENTRY = re.compile(r"^\[(?P<name>[^\]]+)\].*?(?=^\[|\Z)", re.DOTALL | re.MULTILINE)


def edited(text, entries):
    """Return a TOML text in which the given entries replace those of the same name."""
    new = {entry["name"]: entry[0].rstrip() for entry in ENTRY.finditer(entries)}
    found = {entry["name"] for entry in ENTRY.finditer(text)}
    if not new.keys() <= found:
        raise SystemExit(f"there is no entry {sorted(new.keys() - found)} to edit")
    return ENTRY.sub(lambda entry: new.get(entry["name"], entry[0].rstrip()) + "\n\n", text).rstrip() + "\n"


def fill(page):
    """Run the commands of a page in an empty folder and write their output into it."""
    environment = os.environ | {"COLUMNS": "110"}
    this_shoal = f'shoal() {{ "{sys.executable}" -m shoal "$@"; }}\n'  # also where no script is installed
    with tempfile.TemporaryDirectory() as folder:

        def filled(found):
            if found["file"]:
                path = Path(folder) / found["file"]
                path.write_text(edited(path.read_text(encoding="utf-8"), found["entries"]), encoding="utf-8")
                return found[0]
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", this_shoal + found["commands"]],
                cwd=folder, env=environment, capture_output=True, text=True, check=True, encoding="utf-8",
            )  # fmt: skip
            if not found["shown"]:
                return found[0]
            lines = "\n".join(line.rstrip() for line in run.stdout.strip("\n").splitlines())
            commands = found["commands"]
            return f"```sh\n{commands}```\n\n<!-- output -->\n```text\n{lines}\n```\n<!-- end of output -->\n"

        page.write_text(BLOCK.sub(filled, page.read_text(encoding="utf-8")), encoding="utf-8")


def main():
    names = sys.argv[1:]
    for page in PAGES:
        if not names or page.name in names:
            fill(page)


if __name__ == "__main__":
    main()
