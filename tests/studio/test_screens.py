"""The screens through the server: from a file to a release, with cancel, ways out of errors, and the same bytes."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from shoal.datasets import EDUCATION_ORDER, patients
from shoal.tables import Table
from shoal.tables.databases import write_database


def test_from_a_file_to_the_files_of_a_release(client, table, tmp_path):
    assert "people.csv" in client.get("/files", params={"path": str(tmp_path)}).text
    peeked = client.post("/peek", path=str(table))
    assert "comma (found)" in peeked.text
    client.open(table)
    columns = client.get("/columns").text
    assert "its name says &#34;age&#34;" in columns
    assert client.session.settings.columns["education"].order == tuple(EDUCATION_ORDER)
    client.settle()
    assert "k = 3 rows" in client.get("/protect").text
    assert client.get("/out").text.count("run the plan first") == 1
    job = client.run()
    assert job.state == "done", job.error
    look = client.get("/look").text
    assert "All privacy requirements are met." in look
    for point in range(len(client.session.result["decide"])):
        assert client.post(f"/points/{point}", reason="").status_code == 422
        assert client.post("/out", folder=str(tmp_path), report="on").status_code == 422
        client.post(f"/points/{point}", reason="seen")
    answer = client.post("/out", folder=str(tmp_path), extension=".csv", report="on", public_report="on", run_file="on")
    assert "6 files were written" in answer.text
    released = pl.read_csv(tmp_path / "people-protected.csv")
    quasi = client.session.settings.named("quasi")
    assert released.group_by(quasi).len()["len"].min() >= 3
    assert "name" not in released.columns
    again = client.post("/out", folder=str(tmp_path), extension=".csv", report="on")
    assert "Nothing was written" in again.text
    report = client.get("/out/report/3")
    assert report.status_code == 200
    assert "sandbox" in report.headers["content-security-policy"]


def run_line(line, folder):
    path = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(shlex.split(line), cwd=folder, check=True, capture_output=True, env=environment)


def test_command_script_and_run_file_give_the_same_bytes(client, tmp_path):
    table = tmp_path / "people.csv"
    frame = patients(80, missing=0.1)
    frame.write_csv(table, separator=";")
    client.open(table)
    client.settle(l="2", missing="fill")
    client.post("/columns/5/panel", weight="2", before="round 100")
    client.post("/columns/4", kind="nominal")
    client.post("/columns/3/panel", recode="frequencies")
    assert client.run().state == "done"
    for point in range(len(client.session.result["decide"])):
        client.post(f"/points/{point}", reason="seen")
    answer = client.post("/out", folder=str(tmp_path), extension=".csv", run_file="on")
    assert "files were written" in answer.text, answer.text
    made = (tmp_path / "people-protected.csv").read_bytes()
    manifest = (tmp_path / "people-protected.manifest.json").read_bytes()
    from shoal.studio.exports import command_text, default_outputs, script_text

    settings = client.session.settings
    for kind in ("command", "script"):
        folder = tmp_path / kind
        folder.mkdir()
        outputs = {"table": default_outputs(settings.source, str(folder), ".csv")["table"]}
        if kind == "command":
            run_line(command_text(settings, outputs), folder)
        else:
            (folder / "again.py").write_text(script_text(settings, outputs))
            subprocess.run([sys.executable, "again.py"], cwd=folder, check=True, capture_output=True)
        assert (folder / "people-protected.csv").read_bytes() == made
        assert (folder / "people-protected.manifest.json").read_bytes() == manifest
    run_line("shoal run people-protected.run.toml --force", tmp_path)
    assert (tmp_path / "people-protected.csv").read_bytes() == made


def test_a_cancelled_run_ends_the_worker_and_writes_nothing(client, tmp_path):
    table = tmp_path / "people.csv"
    patients(4000).write_csv(table)
    client.open(table)
    client.settle()
    client.post("/protect", k="5", method="ona-star")
    client.post("/run")
    job = client.session.job("run")
    while not job.stages:
        time.sleep(0.01)
    process = client.session.worker.process.pid
    client.get("/protect")  # asks for the points of the curve, which wait
    before, starts = set(tmp_path.iterdir()), client.session.worker.starts
    assert "nothing was written" in client.delete("/run").text
    assert job.state == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert set(tmp_path.iterdir()) == before
    time.sleep(0.2)
    assert client.session.worker.starts == starts, "what waited does not start a worker after a cancel"
    client.session.curve = lambda **_: []
    client.post("/protect", k="3", method="mdav")
    assert client.run().state == "done", "a new worker takes its place"
    assert client.session.worker.starts == starts + 1


def test_an_error_of_the_plan_has_its_way_out(client, tmp_path):
    table = tmp_path / "people.csv"
    pl.DataFrame({"age": [*range(20, 40)], "sex": ["f"] * 19 + ["m"]}).write_csv(table)
    client.open(table)
    client.post("/protect", k="10", method="mdav")
    assert client.run().state == "failed"
    page = client.get("/run").text
    assert "nothing was written" in page
    assert "Accept this loss and run" in page
    client.post("/run/way", accept="loss")
    assert client.wait("run").state == "done"
    assert client.session.settings.accept == ("loss",)


def test_missing_cells_are_never_treated_silently(client, tmp_path):
    table = tmp_path / "people.csv"
    pl.DataFrame({"age": [20, None] * 10, "region": ["n", "s"] * 10}).write_csv(table)
    client.open(table)
    assert "Decide what happens to missing cells" in client.get("/protect").text
    assert client.post("/run").status_code == 422
    client.post("/protect", missing="suppress", method="mdav")
    assert client.run().state in {"done", "failed"}


def test_a_restarted_server_continues_where_the_killed_one_was(make_client, table, tmp_path):
    first = make_client(tmp_path / "one")
    first.open(table)
    first.settle()
    assert first.run().state == "done"
    digest = first.session.settings.digest()
    os.close(first.session.folder._lock)  # what the kernel does when a process is killed
    first.session.folder._lock = None
    second = make_client(tmp_path / "one")
    assert second.session.settings.digest() == digest
    assert second.session.history.figures[digest]["loss"] > 0
    second.get("/columns")
    second.wait("open")
    assert "its name says" in second.get("/columns").text
    assert second.run().state == "done"


def test_a_table_that_changed_is_not_protected_with_the_old_plan(client, table):
    client.open(table)
    client.settle()
    patients(61).write_csv(table)
    job = client.run()
    assert job.state == "failed"
    assert "has changed since it was opened" in job.error["text"]


def test_a_curve_is_computed_for_each_k(client, table):
    client.open(table)
    client.settle()
    end = time.monotonic() + 60
    while client.session.curve()[-1].get("loss") is None and time.monotonic() < end:
        client.get("/curves")
        time.sleep(0.05)
    points = client.session.curve()
    losses = [point["loss"] for point in points]
    assert losses[0] < losses[-1]
    assert all(point["low"] <= point["linkage"] <= point["high"] for point in points)
    text = client.get("/curves").text
    assert "every 600ms" not in text
    assert text.count("<circle") >= 2 * len(points)


def test_uploads_stay_in_the_private_directory(client, tmp_path):
    body = b"age,sex\n" + b"30,f\n40,m\n" * 10
    for name in ("../../evil.csv", "/etc/passwd.csv", "..%2f..%2fevil.csv", "a/b/evil.csv"):
        headers = client.writes | {"x-file-name": name}
        assert client.http.post("/upload", headers=headers, content=body).status_code == 200
    kept = {path.name for path in client.session.folder.work.iterdir()}
    assert kept == {"evil.csv", "passwd.csv"}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in client.session.folder.work.iterdir())
    assert not (tmp_path / "evil.csv").exists()
    for name in (".hidden", "", "tool.exe", "a.csv\n", ".csv"):
        answer = client.http.post("/upload", headers=client.writes | {"x-file-name": name.encode()}, content=body)
        assert answer.status_code == 422, name
    target = client.session.folder.work / "linked.csv"
    target.symlink_to(tmp_path / "outside.csv")
    client.http.post("/upload", headers=client.writes | {"x-file-name": "linked.csv"}, content=body)
    assert not (tmp_path / "outside.csv").exists()
    client.open(client.session.folder.work / "evil.csv")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_tables_and_queries_of_databases_are_copied_and_their_address_is_not_kept(client, tmp_path, kind):
    people = patients(60).select("age", "sex", "income")
    file = tmp_path / f"office.{kind}"
    table, address = Table.from_native(people), f"{kind}:///{file}?table=people"
    write_database(table, address, overwrite=False, check=lambda _: None, finish=lambda visible: visible())
    answer = client.post("/database", address=address, query="")
    assert "people.parquet" in answer.text
    assert "60 rows" in answer.text
    answer = client.post("/database", address=f"{kind}:///{file}", query="SELECT age, sex FROM people WHERE age > 50")
    copy = client.session.folder.work / "office.parquet"
    assert answer.status_code == 200
    assert copy.stat().st_mode & 0o777 == 0o600
    assert (
        pl.read_parquet(copy)
        .sort("age", "sex")
        .equals(people.filter(pl.col("age") > 50).select("age", "sex").sort("age", "sex"), null_equal=True)
    )
    client.open(copy)
    assert [column["name"] for column in client.session.profile["columns"]] == ["age", "sex"]
    assert str(file) not in (client.session.folder.path / "history.jsonl").read_text()
    assert all(str(file) not in str(job.payload) for job in client.session.last.values())


@pytest.mark.parametrize(
    ("address", "query", "words"),
    [
        ("people.csv", "", "no address of a database"),
        ("sqlite:///none.db?table=people", "", "does not exist"),
        ("sqlite:///none.db", "", "name the table"),
        ("", "SELECT 1", "no address of a database"),
        ("postgresql://ann:secret-word@127.0.0.1:1/x?table=y", "", "cannot be opened"),
    ],
)
def test_databases_that_cannot_be_read_are_refused_with_a_sentence(client, address, query, words):
    answer = client.post("/database", address=address, query=query)
    assert answer.status_code == 422
    assert words in answer.text
    assert "secret-word" not in answer.text
    assert list(client.session.folder.work.iterdir()) == []


def test_a_disk_without_space_refuses_the_upload(client, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    answer = client.http.post("/upload", headers=client.writes | {"x-file-name": "a.csv"}, content=b"age\n1\n")
    assert answer.status_code == 413
    assert "open it by its path" in answer.text


def test_ending_the_session_removes_its_files(make_client, table, tmp_path):
    client = make_client(tmp_path / "gone")
    client.open(table)
    client.post("/end")
    client.http.__exit__(None, None, None)
    assert not (tmp_path / "gone").exists()
    client.http.__enter__()


def test_many_columns_are_sent_in_parts(client, tmp_path):
    table = tmp_path / "wide.csv"
    pl.DataFrame({f"answer {i}": [i, 1, 2] * 4 for i in range(450)}).write_csv(table)
    client.open(table)
    assert client.get("/columns").text.count('<tbody id="col-') == 200
    rows = client.get("/columns/rows", params={"after": "400"}).text
    assert rows.count('<tbody id="col-') == 50
    assert client.get("/columns/rows", params={"find": "answer 449"}).text.count('<tbody id="col-') == 1


def test_names_of_columns_are_escaped_everywhere(client, tmp_path):
    table = tmp_path / "odd.csv"
    odd = '<img src=x onerror="a()">'
    pl.DataFrame({odd: [*range(30)], "b": [*range(30)]}).write_csv(table)
    client.open(table)
    client.post("/columns/0", role="quasi")
    client.settle()
    assert client.run().state == "done"
    for path in ("/columns", "/columns/0/panel", "/protect", "/look", "/history", "/compare", "/out"):
        assert "<img" not in client.get(path).text, path


def test_pinned_runs_are_compared_in_words(client, table):
    client.open(table)
    client.settle()
    client.run()
    client.post("/pins/1")
    client.post(f"/pins/{client.session.history.at}")
    client.post("/protect", k="6")
    client.run()
    client.post(f"/pins/{client.session.history.at}")
    page = client.get("/compare").text
    assert "points more than" in page
    assert "<circle" in page
    client.delete("/pins/1")
    assert 1 not in client.session.history.pins
    client.post("/steps/2", name="candidate", note="why <not>")
    assert "candidate" in client.get("/history").text
    assert "why &lt;not&gt;" in client.get("/history?step=2").text
    assert client.post("/goto/99").status_code == 404


def test_k_counts_persons_where_a_column_says_which_rows_are_theirs(client, tmp_path):
    """Five stays of one patient are no five persons: the screens ask, count persons, and say so."""
    stays = pl.DataFrame({
        "patient_id": [f"p{i % 60}" for i in range(180)],
        "age": [20 + (i % 60) for i in range(180)],
        "days": [1 + (i * 7) % 11 for i in range(180)],
    })  # fmt: skip
    stays.write_csv(tmp_path / "stays.csv")
    client.open(tmp_path / "stays.csv")
    assert "is one row one person?" in client.get("/columns").text
    client.post("/columns/0", role="unit")
    client.post("/columns/1", role="quasi")
    client.post("/columns/2", role="quasi")
    client.post("/protect", k="4", method="mdav")
    assert "4 persons" in client.get("/protect").text
    client.run()
    look = client.get("/look").text
    assert "Requested: k = 4 persons; achieved: k = 4" in look
