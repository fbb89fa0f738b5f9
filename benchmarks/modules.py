"""How much of Shoal does one protection touch?

    python benchmarks/modules.py [--root DIRECTORY] [--list]

Protects a generated CSV file by ``mdav``, once through Python and once through the command line, each in a process of
its own, and counts the modules of Shoal that were imported and the source files in which a function was called. Calls
are counted in a second protection by the same process, so code that runs at import is not counted; compiled loops
cannot be seen. ``--root`` measures another checkout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

QUASI = ["age", "income", "height"]
MOST_MODULES, MOST_FILES = 60, 45
"""What a protection through the command line may import and call, checked by tests/test_start.py; one module more is
imported where loops are compiled than where they are stored."""
SCENARIOS = {
    "python": "shoal.protect of a CSV file",
    "written": "the same, then release.write",
    "command": "shoal protect on the command line",
}


def act(scenario, source, target):
    """Protect a file in this process."""
    if scenario == "command":
        from shoal.cli.application import main as command_line

        arguments = [
            "protect",
            source,
            "-k",
            "5",
            "--quasi",
            ",".join(QUASI),
            "--confidential",
            "diagnosis",
            "--method",
            "mdav",
            "-o",
            target,
        ]
        sys.argv = ["shoal", *arguments, "--quiet"]
        try:
            command_line()
        except SystemExit as finished:
            if finished.code:
                raise
        return
    import shoal

    release = shoal.protect(source, k=5, quasi=QUASI, confidential=["diagnosis"], method="mdav")
    if scenario == "written":
        release.write(target)


def watch(scenario, source, target):
    """Protect a file and print which modules were imported and which files were called, as JSON."""
    called = set()

    def note(frame, event, _argument):
        if event == "call":
            called.add(frame.f_code.co_filename)

    act(scenario, source, f"{target}.first.csv")
    sys.setprofile(note)
    try:
        act(scenario, source, f"{target}.second.csv")
    finally:
        sys.setprofile(None)
    package = Path(sys.modules["shoal"].__file__).parent
    files = sorted(str(Path(file).relative_to(package)) for file in called if Path(file).is_relative_to(package))
    modules = sorted(name for name in sys.modules if name.partition(".")[0] == "shoal")
    print(json.dumps({"modules": modules, "files": files}))


def measured(scenario, root, folder):
    """What a process of its own imports and calls in a scenario."""
    environment = os.environ if root is None else {**os.environ, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, __file__, "--watch", scenario, str(folder / "people.csv"), str(folder / scenario)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(run.stdout.splitlines()[-1])


def write_people(file, rows=1_000):
    """A small table with numbers only, the same for every version of Shoal."""
    lines = ["age,income,height,diagnosis"]
    lines += [
        f"{18 + i * 37 % 70},{20_000 + i * 7_919 % 60_000},{150 + i * 31 % 450 / 10},d{i % 7}" for i in range(rows)
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    if sys.argv[1:2] == ["--watch"]:
        watch(*sys.argv[2:])
        return
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--root", type=Path, help="a checkout; otherwise the Shoal that Python finds")
    arguments.add_argument("--list", action="store_true", help="name the modules and the files")
    arguments.add_argument("--docs", action="store_true", help="write the table into docs/architecture.md")
    chosen = arguments.parse_args()
    rows = []
    print(f"{'protect 1,000 records by mdav':40}{'modules imported':>18}{'files called':>14}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "people.csv")
        for scenario, title in SCENARIOS.items():
            found = measured(scenario, chosen.root, folder)
            print(f"{title:40}{len(found['modules']):18}{len(found['files']):14}")
            rows.append(f"| {title} | {len(found['modules'])} | {len(found['files'])} |")
            if chosen.list:
                print("  modules:", ", ".join(found["modules"]))
                print("  files:", ", ".join(found["files"]))
    if chosen.docs:
        write_page(rows)


def write_page(rows):
    """Replace the table of docs/architecture.md."""
    page = Path(__file__).parent.parent / "docs" / "architecture.md"
    head, start, rest = page.read_text(encoding="utf-8").partition(
        "<!-- modules: written by benchmarks/modules.py -->\n"
    )
    _, end, tail = rest.partition("<!-- end of modules -->")
    table = [
        "",
        "| `protect` of 1,000 records by `mdav` | modules imported | files called |",
        "|---|--:|--:|",
        *rows,
        "",
        "",
    ]
    page.write_text(head + start + "\n".join(table) + end + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
