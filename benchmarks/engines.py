"""Loss, processor time and peak memory of engine disk against memory, on Covertype (581,012 x 10) with k = 5.

Every run has a process of its own, one after the other; seconds are processor time with reading and writing Parquet.
``--growth`` runs engine disk on 1, 2 and 4 times the records (copies with noise), with one core and with all of them.

    python benchmarks/engines.py [--growth] [--write]

``--write`` inserts the tables into docs/engines.md.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "engines.md"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = against_memory(folder)
        if given.growth:
            text += "\n" + growth(folder)
    print(text)
    if given.write:
        page = re.sub(
            r"(<!-- engines: written by benchmarks/engines.py -->\n).*?(<!-- end of engines -->)",
            lambda found: f"{found[1]}\n{text}\n{found[2]}", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL,
        )  # fmt: skip
        PAGE.write_text(page, encoding="utf-8")


def against_memory(folder):
    rows = [
        "| Covertype, k = 5 | loss, % | loss / local | seconds | seconds / local | peak, MB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for effort in ("fast", "balanced"):
        local = measured(folder, "local", effort)
        for engine, found in (("local", local), ("disk", measured(folder, "disk", effort))):
            rows.append(
                f"| `{effort}`, `{engine}` | {100 * found['loss']:.3f} | {found['loss'] / local['loss']:.3f} | "
                f"{found['seconds']:.1f} | {found['seconds'] / local['seconds']:.2f} | {found['peak']:.0f} |"
            )
    return "\n".join(rows) + "\n"


def growth(folder):
    rows = ["| `disk`, `fast` | cores | seconds of processor | peak, MB |", "|---|--:|--:|--:|"]
    for times in (1, 2, 4):
        for cores in sorted({1, len(os.sched_getaffinity(0))}):
            found = measured(folder, "disk", "fast", times, cores)
            rows.append(f"| {found['records']:,} rows | {cores} | {found['seconds']:.1f} | {found['peak']:.0f} |")
    return "\n".join(rows) + "\n"


def measured(folder, engine, effort, times=1, cores=0):
    command = [sys.executable, __file__, "--one", folder, engine, effort, str(times), str(cores)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def one(folder, engine, effort, times, cores):
    import numpy as np
    import polars as pl

    import shoal

    source = Path(folder, f"covertype-{times}.parquet")
    if not source.exists():
        frame = shoal.datasets.load("covertype")
        rng = np.random.default_rng(0)
        copies = [
            frame.with_columns([pl.Series(name, frame[name].to_numpy() + rng.normal(0, 0.3, frame.height))
                                for name in frame.columns]) if number else frame.cast(pl.Float64)
            for number in range(times)
        ]  # fmt: skip
        pl.concat(copies).write_parquet(source)
    if cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    names = pl.scan_parquet(source).collect_schema().names()
    target = Path(folder, f"safe-{os.getpid()}.parquet")
    before = resource.getrusage(resource.RUSAGE_SELF)
    options = {"quasi": names, "effort": effort, "accept_derived": True}
    if engine == "local":
        release = shoal.protect(source, 5, **options)
        release.write(target, holder_record="none")
    else:
        release = shoal.protect(source, 5, **options, engine="disk", output=target)
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    records = pl.scan_parquet(source).select(pl.len()).collect().item()
    found = {"loss": release.loss.information_loss, "seconds": seconds, "peak": after.ru_maxrss / 1e3}
    print(json.dumps(found | {"records": records}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:5], int(sys.argv[5]), int(sys.argv[6]))
    else:
        main()
