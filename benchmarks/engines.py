"""Loss, processor time and peak memory of the engines, and what a cluster would take for a billion records.

Every run has a process of its own, one after the other; seconds are processor time with reading and writing Parquet.
Without options: engine disk against memory on Covertype (581,012 x 10) with k = 5, in turn, the least time of three
runs each (``--repeats``). ``--growth`` runs both on 1, 2 and 4 times the records (copies with noise), with one core and
with all of them. ``--scale`` runs engine disk on 2, 4 and 8 million generated records, and engine spark on the
smallest of these tables, and writes the cost model. ``--large`` runs engine disk on the given numbers of records:
numbers only, five columns of numbers and five of categories with missing cells and l = 3 (both by the method that takes
the least time), and a column in which 60 % of the records have one value; 0 leaves a table out. ``--driver`` runs
engine spark on the given numbers of records, with the driver and the executor in processes of their own. Rows of other
sizes that ``--large`` and ``--driver`` wrote before stay on the page. Generated tables are removed after their run.

    python benchmarks/engines.py [--growth | --scale [SIZES] | --large NUMBERS MIXED SKEWED | --driver SIZES] [--write]

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
import time
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "engines.md"


SCALE = (2_000_000, 4_000_000, 8_000_000)
COLUMNS = 10
REPEATS = 3
WORKERS = {"nodes": 100, "cores": 4, "gigabits": 10}
"""The cluster of the cost model: executors, cores of each, and the network of each."""
STAGES = ("counting and sampling", "sorting rows", "protecting", "restoring", "verifying")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--scale", type=int, nargs="?", const=len(SCALE), help="how many of the sizes")
    parser.add_argument("--driver", type=int, nargs="+", metavar="RECORDS", help="records of each table")
    parser.add_argument("--large", type=int, nargs=3, metavar=("NUMBERS", "MIXED", "SKEWED"), help="records of each")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each engine on Covertype")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.large:
            name, text = "large", large(folder, dict(zip(KINDS, given.large, strict=True)))
        elif given.driver:
            name, text = "driver", driver(folder, given.driver)
        elif given.scale:
            name, text = "scale", scale(folder, SCALE[: given.scale])
        else:
            name, text = ("growth", growth(folder)) if given.growth else (
                "engines", against_memory(folder, given.repeats)
            )  # fmt: skip
    print(text)
    if given.write:
        write(name, text)


def write(name, text):
    """Insert a table into the page, between the marks of its name."""
    page = marks(name).sub(lambda found: f"{found[1]}\n{text}\n{found[3]}", PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


def marks(name):
    return re.compile(rf"(<!-- {name}: written by benchmarks/engines.py -->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)


def scale(folder, sizes):
    """Return the table of growing sizes and the cost model that follows from the largest."""
    rows = [
        f"| {COLUMNS} numeric columns, k = 5, `fast` | seconds of processor | per million rows | peak, MB | loss, % |",
        "|---|--:|--:|--:|--:|",
    ]
    for records in sizes:
        generate(folder, "generated", records)
        found = measured(folder, "disk", "fast", records)
        rows.append(scale_row("disk", found))
        if records == SCALE[0]:
            spark = measured(folder, "spark", "fast", records)
            rows.append(scale_row("spark", spark))
            factor = spark["seconds"] / found["seconds"]
        Path(folder, f"generated-{records}.parquet").unlink()
    return "\n".join(rows) + "\n\n" + cost_model(found, factor)


def scale_row(engine, found):
    each = found["seconds"] / found["records"] * 1e6
    return (
        f"| `{engine}`, {found['records']:,} rows | {found['seconds']:.1f} | {each:.2f} | {found['peak']:.0f} | "
        f"{100 * found['loss']:.3f} |"
    )


def cost_model(found, factor):
    """Return what a billion records take on a cluster, from rates that were measured on this machine."""
    million = found["records"] / 1e6
    rates = {stage: found["stages"].get(stage, 0.0) / million for stage in STAGES}
    cores = WORKERS["nodes"] * WORKERS["cores"]
    rows = [
        "| stage of `disk` | seconds of processor per million rows | 1e9 rows on one core, hours |",
        "|---|--:|--:|",
    ]
    rows += [f"| {stage} | {rate:.2f} | {rate / 3.6:.2f} |" for stage, rate in rates.items()]
    total = sum(rates.values())
    rows.append(f"| all | {total:.2f} | {total / 3.6:.2f} |")
    row_bytes = 8 * (COLUMNS + 1)
    moved = 2 * row_bytes + 8 * COLUMNS  # to the part, back to the order, to the buckets of the recount
    network = moved * 1e9 / (WORKERS["nodes"] * WORKERS["gigabits"] / 8 * 1e9)
    seconds = total * 1e3 * factor / cores
    driver = found["driver"] / million * 1e3
    nodes, network_speed, parts = WORKERS["nodes"], WORKERS["gigabits"], 1e9 / 200_000
    sentences = [
        f"A billion rows on {nodes} executors with {WORKERS['cores']} cores each:",
        f"`spark` took {factor:.2f} times the processor time of `disk` on the same table (Java included), so",
        f"{total:.2f} x 1,000 x {factor:.2f} / {cores} = {seconds:.0f} seconds of work for each core.",
        f"Three shuffles move {moved} bytes for each row, {moved:.0f} GB before compression: {network:.0f} seconds at",
        f"{network_speed} Gbit/s for each executor; each repair (two with `balanced`) moves {row_bytes + 8} GB",
        "more and searches once more.",
        f"There are {parts:,.0f} parts, {parts / cores:.1f} for each core.",
        f"The driver reads the release once, for its fingerprint and the digests of its files, in {driver:.0f}",
        f"seconds; the sample has {400 * parts:,.0f} rows, {400 * parts * row_bytes / 1e6:.0f} MB.",
        "This is an estimate from one machine: no cluster was at hand.",
    ]
    return "\n".join(rows) + "\n\n" + "\n".join(sentences) + "\n"


def against_memory(folder, repeats):
    names = ["loss, %", "loss / local", "seconds of processor", "seconds / local", "peak, MB"]
    rows = [f"| Covertype, k = 5, least time of {repeats} | {' | '.join(names)} |", "|---|--:|--:|--:|--:|--:|"]
    for effort in ("fast", "balanced"):
        runs = [{engine: measured(folder, engine, effort) for engine in ("local", "disk")} for _ in range(repeats)]
        best = {engine: min((run[engine] for run in runs), key=lambda run: run["seconds"]) for engine in runs[0]}
        local = best["local"]
        for engine, found in best.items():
            rows.append(
                f"| `{effort}`, `{engine}` | {100 * found['loss']:.3f} | {found['loss'] / local['loss']:.3f} | "
                f"{found['seconds']:.1f} | {found['seconds'] / local['seconds']:.2f} | {found['peak']:.0f} |"
            )
    return "\n".join(rows) + "\n"


def growth(folder):
    names = ["cores", "loss, %", "loss / local", "seconds of processor", "seconds / local", "peak, MB"]
    rows = [f"| `disk`, `fast`, k = 5 | {' | '.join(names)} |", "|---|--:|--:|--:|--:|--:|--:|"]
    measured(folder, "local", "fast")  # compiles
    for times in (1, 2, 4):
        for cores in sorted({1, len(os.sched_getaffinity(0))}):
            local, found = (measured(folder, engine, "fast", times, cores) for engine in ("local", "disk"))
            rows.append(
                f"| {found['records']:,} records | {cores} | {100 * found['loss']:.3f} | "
                f"{found['loss'] / local['loss']:.3f} | {found['seconds']:.1f} | "
                f"{found['seconds'] / local['seconds']:.2f} | {found['peak']:.0f} |"
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows) + "\n"


KINDS = {
    "numbers": ("10 numeric columns, `mondrian`", {"method": "mondrian"}),
    "mixed": (
        "5 numeric columns, 5 of up to 5,000 categories, missing cells, l = 3, `mixed-blocks`",
        {
            "method": "mixed-blocks",
            "options": {"effort": "fast"},
            "l": 3,
            "confidential": ["illness"],
            "missing": "fill",
        },
    ),
    "skewed": ("1 numeric column, one value in 60 % of the records, `mondrian`", {"method": "mondrian"}),
}
"""Large tables: what the page calls them, and what is requested."""
SMALL = 1_000_000
"""The records of a small table, whose memory is compared with that of a large one."""


def large(folder, sizes):
    """Return the table of runs that are too long to be repeated, each with the same table of a million records."""
    rows = former_rows("large")
    for kind, records in sizes.items():
        for size in sorted({min(SMALL, records), records} - {0}, reverse=True):
            first, cells = large_row(folder, kind, size)
            rows[first] = cells
    header = [
        "| `disk`, k = 5 | seconds of processor | per million records | peak, MB | loss, % |",
        "|---|--:|--:|--:|--:|",
    ]
    kinds = [text for text, _ in KINDS.values()]
    return "\n".join([*header, *in_order(rows, kinds)]) + "\n"


def former_rows(name):
    """Return the rows of a table of the page by their first cell."""
    before = marks(name).search(PAGE.read_text(encoding="utf-8"))[2].splitlines()
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in before if row.startswith("|")]
    return {row[0]: row[1:] for row in rows[2:]}


def in_order(rows, kinds):
    """Return rows of a table, those of a kind together in the order of their sizes."""

    def place(first):
        kind = next(number for number, text in enumerate(kinds) if first.startswith(text))
        return kind, int(re.search(r"([0-9,]+) records$", first)[1].replace(",", ""))

    return [f"| {first} | {' | '.join(rows[first])} |" for first in sorted(rows, key=place)]


def large_row(folder, kind, records):
    """Return the row of one table; it is protected twice where the time of compiling would count."""
    generate(folder, kind, records)
    found = [measured(folder, "disk", kind, records) for _ in range(2 if records <= SMALL else 1)][-1]
    Path(folder, f"{kind}-{records}.parquet").unlink()
    each = found["seconds"] / records * 1e6
    first = f"{KINDS[kind][0]}, {records:,} records"
    cells = [f"{found['seconds']:.0f}", f"{each:.2f}", f"{found['peak']:.0f}", f"{100 * found['loss']:.3f}"]
    print(first, cells, file=sys.stderr, flush=True)
    return first, cells


def driver(folder, sizes):
    """Return the memory of the driver of engine spark by the number of records."""
    rows = former_rows("driver")
    for records in sizes:
        generate(folder, "numbers", records)
        found = measured(folder, "cluster", "numbers", records)
        Path(folder, f"numbers-{records}.parquet").unlink()
        each = found["seconds"] / records * 1e6
        cells = [f"{found['peak']:.0f}", f"{found['java']:.0f}", f"{found['seconds']:.0f}", f"{each:.2f}"]
        rows[f"{KINDS['numbers'][0]}, {records:,} records"] = [*cells, f"{100 * found['loss']:.3f}"]
        print(records, found, file=sys.stderr, flush=True)
    names = ["driver: Python, MB", "driver: Java, MB", "seconds of processor", "per million records", "loss, %"]
    header = [f"| `spark`, k = 5 | {' | '.join(names)} |", "|---|--:|--:|--:|--:|--:|"]
    return "\n".join([*header, *in_order(rows, [KINDS["numbers"][0]])]) + "\n"


def generate(folder, kind, records):
    subprocess.run([sys.executable, __file__, "--make", folder, kind, str(records)], check=True)


def measured(folder, engine, effort, times=1, cores=0):
    command = [sys.executable, __file__, "--one", folder, engine, effort, str(times), str(cores)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def make(folder, kind, records):
    """Write a generated table in row groups of 200,000 records."""
    import numpy as np
    import polars as pl
    from pyarrow import parquet

    rng, angles = np.random.default_rng(records), np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS))
    writer = None
    for _ in range(records // 200_000):
        frame = pl.DataFrame(
            {"skewed": skewed_columns, "mixed": mixed_columns}.get(kind, numeric_columns)(rng, angles, 200_000)
        )
        table = frame.to_arrow()
        writer = writer or parquet.ParquetWriter(Path(folder, f"{kind}-{records}.parquet"), table.schema)
        writer.write_table(table)
    writer.close()


def numeric_columns(rng, angles, count):
    """Return skewed, correlated and rounded numbers."""
    import numpy as np

    values = rng.normal(size=(count, len(angles))) @ angles
    values[:, ::3] = np.exp(values[:, ::3] / 4)
    return {f"x{number}": column for number, column in enumerate(np.round(values, 2).T)}


def skewed_columns(rng, angles, count):
    import numpy as np

    return {"x0": np.where(rng.random(count) < 0.6, 0.0, np.round(rng.normal(size=count), 6))}


def mixed_columns(rng, angles, count):
    """Return numbers, categories and a confidential attribute; two columns of each kind have missing cells."""
    import numpy as np
    import polars as pl

    columns = numeric_columns(rng, angles[:5, :5], count)
    for number, categories in enumerate((3, 12, 80, 600, 5_000)):
        shares = 1 / np.arange(1, categories + 1)
        columns[f"c{number}"] = rng.choice(categories, count, p=shares / shares.sum()).astype(str)
    frame = pl.DataFrame(columns)
    for name in ("x1", "x3", "c1", "c3"):
        known = pl.Series(rng.random(count) >= 0.03)
        frame = frame.with_columns(pl.when(known).then(pl.col(name)).alias(name))
    illness = rng.choice(20, count, p=np.full(20, 0.05)).astype(str)
    return {**frame.to_dict(), "illness": pl.Series(illness)}


def processor_time_below(root):
    """Return the processor time of all processes below one, and of their children that have ended."""
    times, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(words[1])
            times[int(entry.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")

    def below(process):
        while process in parents:
            process = parents[process]
            if process == root:
                return True
        return False

    return sum(seconds for process, seconds in times.items() if below(process))


MASTERS = {"spark": "local[2]", "cluster": "local-cluster[1,2,2048]"}
"""Where engine spark runs: in one process of Java, or with the executor in another one than the driver."""


def spark_session(folder, master):
    """Return a session whose files are in a folder."""
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": folder, "SPARK_WORKER_DIR": folder,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }  # fmt: skip
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    if master.startswith("local-cluster"):
        builder = builder.config("spark.executor.memory", "2g").config("spark.driver.memory", "1g")
        builder = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def peak_of_java(session):
    """Return the peak of memory, in MB, of the process of Java that belongs to the driver."""
    process = session.sparkContext._gateway.proc.pid  # noqa: SLF001 - no public way to ask
    status = Path(f"/proc/{process}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines())
    assert found["Name"].strip() == "java"
    return int(found["VmHWM"].split()[0]) / 1e3


def one(folder, engine, effort, times, cores):
    import numpy as np
    import polars as pl

    import shoal
    from shoal.core.progress import Progress

    class Timed(Progress):
        """Notes the processor time of each stage."""

        def __init__(self):
            self.name, self.start, self.stages = "", time.process_time(), {}

        def stage(self, name, total=None):  # noqa: ARG002
            now = time.process_time()
            self.stages[self.name] = self.stages.get(self.name, 0.0) + now - self.start
            self.name, self.start = next((known for known in STAGES if name.startswith(known)), name), now

    source = Path(folder, f"covertype-{times}.parquet")
    if effort in KINDS:
        source = Path(folder, f"{effort}-{times}.parquet")
    elif times >= min(SCALE):
        source = Path(folder, f"generated-{times}.parquet")
    elif not source.exists():
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
    if engine in MASTERS:
        session = spark_session(folder, MASTERS[engine])
    before = resource.getrusage(resource.RUSAGE_SELF)
    options = dict(KINDS[effort][1]) if effort in KINDS else {"effort": effort}
    options |= {"quasi": [name for name in names if name != "illness"], "accept_derived": True, "accept_loss": True}
    timed = Timed()
    if engine == "local":
        release = shoal.protect(source, 5, **options)
        release.write(target, holder_record="none")
    else:
        engine = "disk" if engine == "disk" else "spark"
        release = shoal.protect(source, 5, **options, engine=engine, output=target, progress=timed)
    timed.stage("end")
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    records = pl.scan_parquet(source).select(pl.len()).collect().item()
    found = {"loss": release.loss.information_loss, "peak": after.ru_maxrss / 1e3}
    if engine == "spark":
        seconds += processor_time_below(os.getpid())
        found["java"] = peak_of_java(session)
        session.stop()
    found["seconds"] = seconds
    start = time.process_time()
    if times >= min(SCALE):
        from shoal.engines.disk import release_files
        from shoal.tables.parquet_release import ParquetFiles

        release_files(ParquetFiles([target]), records, target.name)
    found |= {"stages": timed.stages, "driver": time.process_time() - start}
    target.unlink()
    print(json.dumps(found | {"records": records}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:5], int(sys.argv[5]), int(sys.argv[6]))
    elif sys.argv[1:2] == ["--make"]:
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
