"""The release of engine ``spark`` is that of engine ``disk``, however the work is divided and whatever fails.

Run with ``pytest -m spark``; needs a Java virtual machine and pyspark 3.5 or newer.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from engines.test_partitioned_run import KEY, digest, holed, people, plan_of, run
from engines.test_repair import QUASI
from engines.test_repair import plan_of as repaired_plan
from shoal.core.progress import Progress
from shoal.errors import (
    DataError,
    GroupTooSmall,
    MissingValues,
    ParameterError,
    RequirementNotMet,
    SchemaError,
    UnknownColumn,
)
from shoal.tables.parquet_parts import open_parts

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]
QUICK_JAVA = "-XX:TieredStopAtLevel=1"  # a test is too short for the optimising compiler of Java
SOURCE = Path(shoal.__file__).parent


def spark_or_skip():
    """Return the module pyspark.sql; skips the test, with the reason, where Spark cannot run."""
    pyspark_sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java virtual machine")
    return pyspark_sql


@pytest.fixture(scope="session")
def session():
    """A session of two cores, in which a task is tried four times."""
    pyspark_sql = spark_or_skip()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark_sql.SparkSession.builder.master("local[2,4]").appName("tests")
    for name, value in {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.enabled": "true",
        "spark.driver.extraJavaOptions": QUICK_JAVA, "spark.sql.codegen.wholeStage": "false",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


def files_of(table, place, sizes, row_group_size=90):
    place.mkdir(parents=True)
    start = 0
    for number, size in enumerate(sizes):
        parquet.write_table(table.slice(start, size), place / f"{number}.parquet", row_group_size=row_group_size)
        start += size
    assert start == table.num_rows
    return place


def in_spark(session, source, plan, place, leaf, partitions=3, **options):
    from shoal.engines.spark import protect_to_folder

    place.mkdir()
    found = protect_to_folder(
        session, open_parts(source), plan, place, leaf_records=leaf, bucket_rows=300, partitions=partitions,
        order_key=KEY, **options,
    )  # fmt: skip
    return found, pa.concat_tables([parquet.read_table(file) for file in sorted((place / "new").iterdir())])


def rows_of(frame):
    return pa.Table.from_batches(frame._collect_as_arrow())


SPLITS = {1: ([600], 600), 3: ([1, 400, 199], 100), 8: ([75] * 8, 40), 64: ([9, 591], 50)}


@pytest.mark.parametrize(("partitions", "leaf"), [(1, 200), (3, 200), (8, 200), (64, 7)])
def test_one_release_for_every_engine_partition_and_input_split(session, tmp_path, partitions, leaf):
    """With two repairs: rows travel three times, and the digest is that of one process."""
    from shoal.engines import disk

    table = people(600)
    plan = repaired_plan(table, QUASI["mixed"])
    source = files_of(table, tmp_path / "in", *SPLITS[partitions])
    found, released = in_spark(session, source, plan, tmp_path / "spark", leaf, partitions)
    (tmp_path / "disk").mkdir()
    of_disk = disk.protect_to_folder(open_parts(source), plan, tmp_path / "disk", leaf_records=leaf, bucket_rows=300)
    reference, expected = run(table, plan, leaf=leaf)
    assert reference.figures.jobs >= (2 if leaf == 200 else 64)  # as many tasks of a shuffle as partitions
    assert digest(released) == digest(expected)
    names = ["part-00000.parquet"]
    assert [path.name for path in (tmp_path / "spark" / "new").iterdir()] == names
    assert found.manifest == of_disk.manifest  # also size and SHA-256 of the file
    assert not list((tmp_path / "spark").glob("attempt-*"))


CASES = {
    "persons": ({"unit": "person"}, {}),
    "requirements": ({"quasi": ["age", "income"], "strata": ["region"]}, {"l": 2}),
    "missing": ({"missing": "by-pattern", "quasi": ["age", "income", "born"]}, {}),
    "rules": ({"quasi": ["age", "income"], "keep": ["age <= income"]}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_everything_else_that_disk_can(session, tmp_path, case):
    columns, requirements = CASES[case]
    table = holed(people(), "income", 0.2) if case == "missing" else people()
    plan = plan_of(table, requirements=requirements, **columns)
    source = files_of(table, tmp_path / "in", [500, 400])
    found, released = in_spark(session, source, plan, tmp_path / "spark", 100, single="safe.parquet")
    reference, expected = run(table, plan)
    assert digest(released) == digest(expected)
    assert found.figures.jobs == reference.figures.jobs > 1
    assert found.counted.recount.classes.k >= 4
    assert found.figures.loss(4).columns == reference.figures.loss(4).columns


def test_a_dataframe_of_files_has_the_numbers_of_its_footers(session, tmp_path):
    from shoal.engines.spark import protect_frame

    table = people(600)
    plan = plan_of(table)
    source = files_of(table, tmp_path / "in with space", [1, 400, 199])
    found, data = protect_frame(
        session.read.parquet(str(source)), plan, leaf_records=200, bucket_rows=300, partitions=3, order_key=KEY
    )
    assert digest(rows_of(data)) == digest(run(table, plan, leaf=200)[1])
    assert found.manifest["output"] == {"records": 600, "columns": len(data.columns)}


def test_a_dataframe_without_files_depends_on_its_rows_alone(session):
    """The wrong version numbers rows by the task that reads them."""
    from shoal.engines.spark import protect_frame

    table = people(600)
    twice = pa.concat_tables([table, table.slice(0, 100)])  # equal rows are interchangeable
    plan = plan_of(twice)
    releases = []
    for partitions, order in ((1, np.arange(700)), (5, np.random.default_rng(4).permutation(700))):
        frame = session.createDataFrame(twice.take(pa.array(order)).to_pandas()).repartition(partitions)
        frame = frame.withColumn("born", frame["born"].cast("date"))
        _, data = protect_frame(frame, plan, leaf_records=100, bucket_rows=300, partitions=partitions, order_key=KEY)
        releases.append(digest(rows_of(data)))
    assert releases[0] == releases[1]


def test_a_table_of_one_part_is_released_as_in_memory(session, tmp_path):
    table = people(300).append_column(
        "paid", pa.array([Decimal(n).scaleb(-2) for n in range(300)], pa.decimal128(9, 2))
    )
    table = table.append_column("seen", pa.array(np.arange(300) * 10**6, pa.timestamp("us")))
    table = table.append_column("at", pa.array(np.arange(300) * 10**6, pa.timestamp("us", "UTC")))
    table = table.append_column("well", pa.array(np.arange(300) % 3 == 0))
    source = files_of(table, tmp_path / "in", [300])
    options = {
        "quasi": ["age", "income", "job", "seen"], "confidential": ["diagnosis"], "identifiers": ["person"],
        "unnamed": "other", "method": "mdav", "recode": {"job": "set"},
    }  # fmt: skip
    frame = session.read.parquet(str(source))
    release = shoal.protect(frame, 4, **options)
    local = shoal.protect(table, 4, **options)
    assert type(release.data).__module__.startswith("pyspark.sql")
    assert rows_of(release.data).cast(local.data.schema) == local.data
    kinds = {field.name: field.dataType for field in frame.schema}
    assert all(field.dataType == kinds[field.name] for field in release.data.schema)
    assert (release.k, release.loss.columns) == (local.k, local.loss.columns)
    assert "person" not in release.data.columns
    assert "DataFrame of Spark" in repr(release)
    with pytest.raises(ParameterError, match=r"release\.data"):
        release.write(tmp_path / "again.parquet")


def test_only_counts_and_the_sample_reach_the_driver(session, tmp_path, monkeypatch):
    from shoal.engines import spark, spark_session

    calls = {
        path.name for path in (SOURCE / "engines").glob("*.py")
        if re.search(r"\.(collect|toPandas|toArrow|take|first|head|toLocalIterator)\(\)", path.read_text())
        and "spark" in path.name
    }  # fmt: skip
    assert calls == {"spark_session.py"} | ({"spark.py", "spark_sources.py"} & calls)  # source.head() is not Spark's
    seen = []

    def noted(packets):
        found = spark_session.collected_evidence(packets)
        seen.append(sum(table_rows(one) for _, one in found))
        return found

    monkeypatch.setattr(spark, "collected_evidence", noted)
    table = people(3000)
    plan = plan_of(table, quasi=["age", "income"], method="mondrian")
    source = files_of(table, tmp_path / "in", [3000], 500)
    in_spark(session, source, plan, tmp_path / "spark", 1500)
    sample = run(table, plan, leaf=1500)[0].planned.sample.n_rows
    assert seen[0] == sample < 2000
    assert set(seen[1:]) == {0}


OTHER_WAYS = (
    "toPandas", "toArrow", "_collect_as_arrow", "toLocalIterator", "take", "first", "head", "tail", "show", "foreach",
    "foreachPartition", "rdd",
)  # fmt: skip
"""All other ways in which rows of a DataFrame reach the driver, or code of its own."""


def test_plans_that_end_at_the_driver_return_evidence_or_totals(session, tmp_path, monkeypatch):
    """Reads the plan of everything that is collected: what tasks have counted, or totals."""
    frames = type(session.range(1))
    plans, original = [], frames.collect

    def collect(frame):
        plans.append((tuple(frame.columns), frame._jdf.queryExecution().optimizedPlan().toString()))
        return original(frame)

    def refused(*_args, **_options):
        raise AssertionError("rows reach the driver")

    monkeypatch.setattr(frames, "collect", collect)
    for name in OTHER_WAYS:
        if hasattr(frames, name):
            monkeypatch.setattr(frames, name, property(refused) if name == "rdd" else refused)
    table = people(600)
    plan = plan_of(table, quasi=["age", "income"], method="mondrian")
    source = files_of(table, tmp_path / "in", [300, 300])
    in_spark(session, source, plan, tmp_path / "spark", 100)
    from shoal.engines.spark import protect_frame
    from shoal.engines.spark_checks import sample_frame

    frame = session.read.parquet(str(source))
    for given in (frame, frame.where("age > 20")):  # numbered by files, and by content
        protect_frame(given, plan, leaf_records=100, bucket_rows=300, partitions=3, order_key=KEY)
    kinds, made = dict(plans), len(plans)
    named = {"quasi": ["age", "income"], "unnamed": "other"}
    with pytest.raises(GroupTooSmall):
        shoal.verify(frame, 600, **named)
    shoal.assess(frame, **named)
    sample_frame(frame, named["quasi"], records=50)
    assert len(plans) > made + 4
    assert made > 12
    for columns, text in plans:
        top = text.splitlines()[0]
        assert columns == ("place", "evidence") or top.startswith("Aggregate"), text
        if columns == ("place", "evidence"):
            assert "isnotnull(evidence" in text
            assert "packet" not in top
    assert ("min(count)",) in kinds  # the group-by as an intruder has one number
    with pytest.raises(AssertionError, match="rows reach"):  # the wrong version takes rows
        frame.take(1)


def table_rows(found):
    if isinstance(found, pa.Table):
        return found.num_rows
    return sum(table_rows(part) for part in found) if isinstance(found, tuple | list) else 0


def test_keys_are_sent_to_exactly_their_partition(session):
    from pyspark.sql.functions import spark_partition_id

    from shoal.engines.packets import partition_keys

    keys = partition_keys(7)
    frame = session.createDataFrame([(int(key),) for key in keys], "bin int")
    placed = frame.repartition(7, "bin").select("bin", spark_partition_id())
    assert {row[0]: row[1] for row in placed.collect()} == {int(key): place for place, key in enumerate(keys)}


def test_counts_find_a_class_of_fewer_than_k(session):
    from shoal.engines.spark import recount_by_group
    from shoal.engines.spark_session import collected_evidence, exchanged, mapped, records_per_batch
    from shoal.engines.spark_tasks import Bucketing, Recounting

    table = pa.table({"age": [1.0] * 4 + [2.0] * 3, "job": ["x"] * 7})
    plan = plan_of(table, quasi=["age"], confidential=[])
    frame = session.createDataFrame(table.to_pandas())
    with pytest.raises(GroupTooSmall, match="finds 3 equal records"):
        recount_by_group(frame, plan)
    buckets = exchanged(mapped(frame, Bucketing(plan, 7, 100, np.array([0], np.int32))), 1)
    with records_per_batch(session, 1), pytest.raises(GroupTooSmall, match="k=4"):
        collected_evidence(mapped(buckets, Recounting(plan, ())))


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda frame, functions: frame.withColumn("age", functions.rand()), ParameterError, "random values"),
        (
            lambda frame, functions: frame.withColumn("m", functions.create_map("job", "age")),
            DataError,
            '"m" is of type',
        ),
        (lambda frame, _: frame.limit(2), ParameterError, "k=4 needs at least 4 records"),
        (lambda frame, functions: frame.withColumn("age", functions.lit(None).cast("double")), MissingValues, "age"),
        (lambda frame, _: frame.where("age > 900"), DataError, "no records"),
    ],
    ids=["random", "map", "few", "missing", "empty"],
)
def test_wrong_use_is_one_sentence(session, make, error, match):
    from pyspark.sql import functions

    frame = make(session.createDataFrame(people(30).select(["age", "job"]).to_pandas()), functions)
    with pytest.raises(error, match=match):
        shoal.protect(frame, 4, quasi=["age"], unnamed="other")


@pytest.fixture
def classes(session):
    """A table with ties, missing values and two zeros in memory, and as a DataFrame in several partitions."""
    rng = np.random.default_rng(2)
    age = rng.integers(0, 12, 900).astype(float)
    age[age == 3.0] = -0.0
    age[age == 4.0] = np.nan
    job, illness = rng.choice(["x", "y", None], 900), rng.choice(list("abcd"), 900)
    table = pa.table({"age": age, "job": pa.array(job), "illness": illness, "paid": rng.integers(0, 9, 900)})
    nulls = table.set_column(0, "age", pa.array([None if np.isnan(value) else value for value in age], pa.float64()))
    return nulls, session.createDataFrame(table.to_pylist(), "age double, job string, illness string, paid long")


def test_a_dataframe_is_verified_and_assessed_as_in_memory(classes, monkeypatch):
    """Every figure is exact, in several buckets, too; a column of persons that is not there is stated."""
    from shoal.engines import spark_checks

    monkeypatch.setitem(spark_checks.assess_frame.__kwdefaults__, "bucket_rows", 100)
    table, frame = classes
    columns = {"quasi": ["age", "job"], "confidential": ["illness", "paid"]}
    whole = shoal.verify(table, 2, **columns)
    found = shoal.verify(frame.repartition(5), 2, **columns)
    assert found.size_histogram() == whole.size_histogram()
    for options in ({}, {"l": 2}, {"kinds": {"paid": "nominal"}}):
        measured = shoal.assess(frame.repartition(3), **columns, **options)
        assert measured.to_dict() == shoal.assess(table, **columns, **options).to_dict()
    assert shoal.verify(frame, 2, l=2, **columns).k == whole.k
    with pytest.raises(GroupTooSmall, match=f"has {whole.k} "):
        shoal.verify(frame, whole.k + 1, **columns)
    with pytest.raises(RequirementNotMet):
        shoal.verify(frame, 2, l=5, **columns)
    absent = shoal.assess(frame, unit="person", **columns)
    assert absent.notes == shoal.assess(table, unit="person", **columns).notes != ()


def test_what_a_dataframe_is_not_measured_for_is_one_sentence(classes):
    _, frame = classes
    for options in ({"of": "units", "unit": "paid"}, {"special_uniques": True}, {"missing_semantics": "wildcard"}):
        with pytest.raises(ParameterError, match="write it to Parquet"):
            shoal.assess(frame, quasi=["age"], unnamed="other", **options)
    with pytest.raises(UnknownColumn, match="agee"):
        shoal.verify(frame, 2, quasi=["agee"], unnamed="other")
    with pytest.raises(UnknownColumn, match="diagnose"):
        shoal.verify(frame, 2, quasi=["age"], confidential=["diagnose"], unnamed="other")
    for call in (shoal.verify, lambda data, _, **columns: shoal.assess(data, **columns)):
        with pytest.raises(DataError, match="no records"):
            call(frame.where("age < -900"), 2, quasi=["age"], unnamed="other")
        with pytest.raises(SchemaError, match="job"):
            call(frame, 2, quasi=["age"])


def test_the_report_of_a_dataframe_measures_whole_classes(session, tmp_path, monkeypatch):
    """The same classes as those of the same release in files."""
    from shoal.engines import spark_checks
    from shoal.engines.class_sample import sample_classes

    table = people(3000)
    columns = {"quasi": ["age", "income"], "confidential": ["diagnosis"], "unnamed": "other"}
    frame = session.read.parquet(str(files_of(table, tmp_path / "in", [3000], 700)))
    release = shoal.protect(frame, 4, method="mondrian", **columns)
    rows, total = spark_checks.sample_frame(release.data.repartition(3), ["age", "income"], records=400)
    parquet.write_table(rows_of(release.data), tmp_path / "safe.parquet", row_group_size=500)
    expected = sample_classes(open_parts(tmp_path / "safe.parquet"), ["age", "income"], records=400)
    assert (400 <= rows.num_rows <= 800, total) == (True, 3000)
    order = [(name, "ascending") for name in rows.column_names]
    assert digest(rows.sort_by(order)) == digest(expected.table.sort_by(order))
    monkeypatch.setitem(spark_checks.sample_frame.__kwdefaults__, "records", 400)
    text = release.report(tmp_path / "report.html").read_text()
    assert f"were measured on {rows.num_rows} of 3,000 records" in text
    assert "The original table was not available" in text
    with pytest.raises(DataError, match="more than 600 records each"):
        spark_checks.sample_frame(session.range(3000).selectExpr("1 as age"), ["age"], records=300)


def test_a_dataframe_of_spark_has_no_other_engine(session):
    frame = session.range(3)
    for options in ({"engine": "disk"}, {"output": "safe"}):
        with pytest.raises(ParameterError, match=r"write release\.data"):
            shoal.protect(frame, 2, quasi=["id"], **options)


class Killing(Progress):
    """Kills a Python worker of Spark while parts are protected."""

    def __init__(self):
        self.killed = 0

    def stage(self, name, total=None):  # noqa: ARG002
        if name.startswith("protecting"):
            threading.Thread(target=self.kill, daemon=True).start()

    def kill(self):
        end = time.monotonic() + 20
        while time.monotonic() < end and not self.killed:
            for worker in workers_of(os.getpid()):
                os.kill(worker, signal.SIGKILL)
                self.killed += 1
                break
            time.sleep(0.05)


def workers_of(root):
    """Return the Python workers below a process: the children of the daemon of pyspark."""
    parents, daemons = {}, set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if "pyspark.daemon" in (entry / "cmdline").read_text():
                    daemons.add(int(entry.name))
        except OSError:  # the process has ended
            continue

    def below(process):
        while process in parents and process != root:
            process = parents[process]
        return process == root

    return [process for process, parent in parents.items() if parent in daemons and below(process)]


def test_a_killed_worker_changes_no_byte(session, tmp_path):
    table = people(600)
    plan = plan_of(table)
    source = files_of(table, tmp_path / "in", [300, 300])
    killing = Killing()
    _, released = in_spark(session, source, plan, tmp_path / "spark", 100, progress=killing)
    assert killing.killed
    assert digest(released) == digest(run(table, plan, leaf=100)[1])


DRIVER = """
import sys
import shoal
from shoal.core.progress import Progress

class Shown(Progress):
    def stage(self, name, total=None):
        print(name, file=sys.stderr, flush=True)

shoal.protect(
    sys.argv[1], 4, quasi=["age", "income"], unnamed="other", method="mondrian", engine="spark", output=sys.argv[2],
    overwrite=True, progress=Shown(),
)
"""


def driver(folder):
    """Return the command and the environment of a process that protects files by Spark, and its output."""
    source, safe = files_of(people(2000), folder / "in", [2000]), folder / "out" / "safe"
    safe.parent.mkdir()
    master = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false"
    master += f" --driver-java-options {QUICK_JAVA} pyspark-shell"
    return [sys.executable, "-c", DRIVER, str(source), str(safe)], os.environ | {"PYSPARK_SUBMIT_ARGS": master}, safe


def test_nothing_is_visible_after_the_driver_is_killed(session, tmp_path):
    command, environment, safe = driver(tmp_path)
    for stage in ("counting", "protecting", "verifying", None):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True, errors="replace")
        for line in process.stderr:
            if stage is not None and line.startswith(stage):
                time.sleep(0.5)
                process.kill()
                break
        else:
            assert stage is None, stage
        process.stderr.close()
        code = process.wait()
        if stage is None:
            assert code == 0
        else:
            assert code == -signal.SIGKILL
            assert [path.name[:6] for path in safe.parent.iterdir()] == [".safe."]
    assert [path.name for path in safe.parent.iterdir()] == ["safe"]
    manifest = json.loads((safe / "_manifest.json").read_text())
    assert manifest["k"]["achieved"] >= 4
    assert (safe / "_SUCCESS").exists()


CLUSTER = """
import os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
from shoal.core.progress import Progress
from engines.test_partitioned_run import KEY, people
from engines.test_repair import QUASI, plan_of
from shoal.engines.spark import protect_to_folder
from shoal.tables.parquet_parts import open_parts

class Killing(Progress):
    killed = 0

    def stage(self, name, total=None):
        if name.startswith("protecting"):
            threading.Timer(1.0, self.kill).start()

    def kill(self):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    text = (entry / "cmdline").read_text()
                except OSError:
                    continue
                if "CoarseGrainedExecutorBackend" in text and application in text:
                    os.kill(int(entry.name), signal.SIGKILL)
                    self.killed += 1
                    return

builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("cluster")
for name, value in {
    "spark.ui.enabled": "false", "spark.executor.memory": "1g", "spark.driver.extraJavaOptions": sys.argv[3],
    "spark.executor.extraJavaOptions": sys.argv[3], "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
    "spark.sql.adaptive.enabled": "true", "spark.speculation": "true", "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01", "spark.speculation.interval": "10ms",
    "spark.speculation.minTaskRuntime": "0ms",
}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")
application, killing = session.sparkContext.applicationId, Killing()
place = Path(sys.argv[2])
place.mkdir()
protect_to_folder(
    session, open_parts(Path(sys.argv[1])), plan_of(people(600), QUASI["numbers"]), place, leaf_records=200,
    bucket_rows=300, partitions=3, order_key=KEY, progress=killing,
)
print("executors killed:", killing.killed)
"""


def test_a_killed_executor_and_second_attempts_change_no_byte(tmp_path):
    """Two executors on this machine; speculation begins a second attempt of every task that is not the fastest."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("no Java virtual machine")
    table = people(600)
    source = files_of(table, tmp_path / "in", [200, 200, 200])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-c", CLUSTER, str(source), str(tmp_path / "spark"), QUICK_JAVA]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "executors killed: 1" in done.stdout
    released = parquet.read_table(tmp_path / "spark" / "new")
    assert digest(released) == digest(run(table, repaired_plan(table, QUASI["numbers"]), leaf=200)[1])
