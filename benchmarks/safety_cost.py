"""What does each step that guards a release cost, in processor time?

A table of numbers goes through the whole protection with groups that cost nothing, as in ``flow.py``; each step is
timed where it is called. With ``--earlier`` the same table is protected by an earlier version of Shoal, in alternating
runs, and the whole is compared. Of several runs the least time of each step counts. ``--docs`` writes the table into
docs/reliability.md.

    python benchmarks/safety_cost.py [--rows 1000000] [--columns 10] [--runs 5] [--earlier FOLDER] [--docs]

FOLDER is a checkout of the earlier version.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
START, END = "<!-- cost: written by benchmarks/safety_cost.py -->", "<!-- end of cost -->"
STEPS = {
    "totals that give no record away: means rounded at random": ("shoal.flow.exact_numbers", "round_floats"),
    "means computed exactly, between minimum and maximum": ("shoal.flow.exact_numbers", "group_summary"),
    "released values copied into new memory": ("shoal.flow.released", "clean_copy"),
    "k counted on the table in memory": ("shoal.flow.released", "recount_table"),
    "a column that is emptied": ("shoal.api.protect", "check_loss"),
    "copies and sums of protected columns": ("shoal.flow.derived_columns", "find_derived"),
    "k counted on the bytes of the file, with its SHA-256": ("shoal.flow.recount_file", "recount_file"),
    "keyed hashes of all records for the holder's record": ("shoal.flow.holder_record", "record_hashes"),
    "fingerprint of the released values": ("shoal.tables.value_codes", "fingerprint"),
}


def one_run(source, target):
    """Protect a file with groups that cost nothing; prints processor seconds of the whole and of each step."""
    import pyarrow.parquet  # noqa: F401 - part of the baseline

    import shoal
    from shoal.recoding.rounding import round_keeping_sum

    def in_file_order(points, k):
        return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)

    seconds = {}

    def timed(text, function):
        def run(*given, **further):
            began = time.process_time()
            found = function(*given, **further)
            seconds[text] = seconds.get(text, 0.0) + time.process_time() - began
            return found

        return run

    round_keeping_sum(np.arange(6_000) + 0.5, np.full(6_000, 2.0))  # loads the compiler, part of the baseline
    shoal.protect  # noqa: B018 - and the package itself
    if "SHOAL_STEPS" in os.environ:
        for text, (module, name) in STEPS.items():
            place = import_module(module)
            if hasattr(place, name):
                setattr(place, name, timed(text, getattr(place, name)))
    frame = pl.scan_csv(source) if source.endswith(".csv") else pl.scan_parquet(source)
    names = frame.collect_schema().names()
    began = time.process_time()
    release = shoal.protect(source, 5, quasi=names, method=in_file_order)
    replaces = "overwrite" in inspect.signature(release.write).parameters
    release.write(target, **({"overwrite": True} if replaces else {}))
    print(json.dumps({"whole": time.process_time() - began, "steps": seconds}))


def measured(python, source, target, *, steps):
    """The figures of one process."""
    command = [python, __file__, "--run", str(source), str(target)]
    environment = {**os.environ, **({"SHOAL_STEPS": "1"} if steps else {})}
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(found.stdout)


def table(chosen):
    """Both tables as lines of text."""
    versions = {"now": sys.executable}
    if chosen.earlier:
        versions["before"] = str(Path(chosen.earlier, ".venv", "bin", "python"))
    whole, steps = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for numbers in ("fractions", "integers"):
            draw = rng.normal if numbers == "fractions" else lambda size: rng.integers(0, 10**6, size)
            frame = pl.DataFrame({f"x{j}": draw(size=chosen.rows) for j in range(chosen.columns)})
            for ending in ("csv", "parquet"):
                source = Path(folder, f"in.{ending}")
                frame.write_csv(source) if ending == "csv" else frame.write_parquet(source)
                key = f"{ending}, {numbers}"
                for _ in range(chosen.runs):
                    for version, python in versions.items():
                        found = measured(python, source, Path(folder, f"out.{ending}"), steps=False)["whole"]
                        whole[key, version] = min(whole.get((key, version), np.inf), found)
                    for text, found in measured(
                        sys.executable, source, Path(folder, f"out.{ending}"), steps=True
                    )["steps"].items():  # fmt: skip
                        steps[text, key] = min(steps.get((text, key), np.inf), found)
    keys = list(dict.fromkeys(key for key, _ in whole))
    lines = [f"| seconds of processor time | {' | '.join(keys)} |", f"|---|{'--:|' * len(keys)}"]
    if chosen.earlier:
        cells = [f"{whole[key, 'before']:.2f}" for key in keys]
        lines.append(f"| the whole, before these steps | {' | '.join(cells)} |")
    lines.append(f"| the whole, now | {' | '.join(format(whole[key, 'now'], '.2f') for key in keys)} |")
    if chosen.earlier:
        cells = [f"{100 * (whole[key, 'now'] / whole[key, 'before'] - 1):+.0f} %" for key in keys]
        lines.append(f"| difference | {' | '.join(cells)} |")
    for text in STEPS:
        if any((text, key) in steps for key in keys):
            cells = [f"{steps[text, key]:.2f}" if (text, key) in steps else "-" for key in keys]
            lines.append(f"| {text} | {' | '.join(cells)} |")
    return lines


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--columns", type=int, default=10)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--earlier")
    arguments.add_argument("--docs", action="store_true")
    arguments.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.run:
        one_run(*chosen.run)
        return
    lines = "\n".join(table(chosen))
    print(lines)
    if chosen.docs:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        PAGE.write_text(f"{before}{START}\n\n{lines}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
