"""Trees, steps, statistics, patterns, tables made elsewhere and previews, through the server."""

import html
import os
import re
import subprocess
import sys
import time

import polars as pl
import pytest

from shoal.datasets import patients
from shoal.studio.help_texts import HELP


@pytest.fixture
def opened(client, tmp_path):
    patients(200).write_csv(tmp_path / "people.csv")
    client.open(tmp_path / "people.csv")
    client.settle()
    return client


def position(client, name):
    return [column["name"] for column in client.session.profile["columns"]].index(name)


def test_a_tree_is_made_edited_run_and_repeated_by_script_and_run_file(opened, tmp_path):
    region, age = position(opened, "region"), position(opened, "age")
    panel = opened.post(f"/columns/{region}/panel", way="hand").text
    assert "Grouping by hand" in panel
    opened.post(f"/columns/{region}/panel", tree="group", node=["vnorth", "veast"], name="north-east")
    opened.post(f"/columns/{region}/panel", tree="group", node=["vsouth", "vwest"], name="north-east")
    assert len(opened.session.settings.columns["region"].tree) == 5, "a name that exists is refused"
    opened.post(f"/columns/{region}/panel", tree="move", node=["vsouth"], target="north-east")
    assert "already" in opened.post(f"/columns/{region}/panel", tree="group", node=["vwest"], name="south").text
    opened.post(f"/columns/{age}/panel", way="intervals", detail="10, 50")
    opened.post(f"/columns/{age}/panel", step="top", amount="80")
    assert opened.session.settings.columns["age"].before == ("top 80",)
    assert "above 0" in opened.post(f"/columns/{age}/panel", step="band", amount="-3").text
    assert opened.session.settings.columns["age"].before == ("top 80",)
    opened.post(f"/columns/{age}/panel", remove="0")
    assert opened.session.settings.columns["age"].before == ()
    assert opened.run().state == "done", opened.session.job("run").error
    for point in range(len(opened.session.result["decide"])):
        opened.post(f"/points/{point}", reason="seen")
    page = opened.get("/out").text
    assert "shoal run" in page
    opened.post("/out", folder=str(tmp_path), extension=".csv", run_file="on")
    made = tmp_path / "people-protected.csv"
    first = made.read_bytes()
    released = pl.read_csv(made)
    known = {"north-east", "*", "north", "east", "south", "west", "islands"}
    assert set(released["region"]) <= known
    assert set(released["region"]) & {"north-east", "*"}
    assert released["age"].cast(pl.String).str.contains("-|\\*").any()
    from shoal.studio.exports import command_text, script_text

    assert command_text(opened.session.settings, {"table": "x.csv"}) is None
    (tmp_path / "again.py").write_text(script_text(opened.session.settings, {"table": "again.csv"}))
    subprocess.run([sys.executable, "again.py"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "again.csv").read_bytes() == first
    run = [sys.executable, "-m", "shoal", "run", "people-protected.run.toml", "--force"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    assert made.read_bytes() == first


def test_a_column_that_others_give_back_is_named_before_a_run(client, tmp_path):
    start = [(7 * i * i) % 101 for i in range(80)]
    stays = pl.DataFrame({"start": start, "days": [i % 7 for i in range(80)]}).with_columns(
        end=pl.col("start") + pl.col("days")
    )
    stays.write_csv(tmp_path / "stays.csv")
    client.open(tmp_path / "stays.csv")
    client.post("/columns/0", role="quasi")
    client.post("/columns/1", role="other")
    client.post("/columns/2", role="other")
    page = client.get("/columns").text
    assert "give it back: it is &#34;end&#34; minus &#34;days&#34;" in page
    client.post("/columns/2", role="quasi")
    assert "give it back" not in client.get("/columns").text


def test_an_order_is_moved_by_places_and_undone(opened):
    index = position(opened, "education")
    before = opened.session.settings.columns["education"].order
    opened.post(f"/columns/{index}/panel", move="0 2")
    assert opened.session.settings.columns["education"].order == (*before[1:3], before[0], *before[3:])
    for wrong in ("0 99", "x 1", "99 0", "1 1", "1"):
        assert opened.post(f"/columns/{index}/panel", move=wrong).status_code == 422, wrong
    opened.post("/undo")
    assert opened.session.settings.columns["education"].order == before


def test_statistics_that_must_hold_stop_a_run_or_are_shown(opened):
    wrong = {"held_name": "x", "held_value": "read_csv('/etc/passwd')", "held_relative": "1"}
    assert "it may call known functions" in opened.post("/protect", **wrong).text
    assert "no column" in opened.post("/protect", held_name="x", held_value="income", held_domains="planet",
                                      held_relative="1").text  # fmt: skip
    opened.post("/protect", held_name="mean income", held_value="income", held_domains="sex", held_relative="0")
    job = opened.run()
    assert job.state == "failed"
    assert "mean income" in job.error["text"]
    opened.post("/protect", held_off="0")
    opened.post("/protect", held_name="mean income", held_value="income", held_relative="50")
    assert opened.run().state == "done"
    look = opened.get("/look").text
    assert "mean income: within its tolerance" in look
    figures = opened.session.result["statistics"][0]["figures"]
    assert figures[0]["before"] > 0


def test_patterns_name_ten_rows_and_single_rows_only_when_asked(opened):
    assert opened.run().state == "done"
    found = opened.session.result["patterns"]
    assert 0 < found["everyone"] < 1
    assert all(one["rows"] >= 10 and one["low"] > found["everyone"] for one in found["found"])
    look = opened.get("/look").text
    assert "Riskiest patterns" in look
    incomes = {str(value) for value in pl.read_csv(opened.session.settings.source)["income"]}
    shown = opened.post("/look/rows").text
    assert sum(value in shown for value in incomes) >= 5, "rows of the original"
    assert opened.session.job("rows").result is None
    assert "Single rows of the original were shown" in opened.session.history.present.note
    text = opened.session.history.path.read_text()
    assert "Wei " not in text, "no name of a person is kept"


def test_a_table_made_elsewhere_is_assessed_and_evaluated(opened, tmp_path):
    frame = pl.read_csv(tmp_path / "people.csv").drop("name")
    other = frame.with_columns(age=(pl.col("age") // 20) * 20, income=pl.lit(1))
    other.write_csv(tmp_path / "other.csv")
    found = opened.post("/check", released=str(tmp_path / "other.csv"), quasi="age, sex").text
    assert "Quasi-identifiers: age, sex" in re.sub(r"</?bdi[^>]*>", "", found)
    counted = other.group_by("age", "sex").len()["len"].min()
    assert f"k = {counted}" in found
    frame.write_csv(tmp_path / "before.csv")
    both = opened.post("/check", released=str(tmp_path / "other.csv"), original=str(tmp_path / "before.csv"),
                       quasi="age, sex", confidential="diagnosis").text  # fmt: skip
    assert "Data utility" in both
    assert "linkage" in both
    assert "is not a file" in opened.post("/check", released="/nowhere.csv").text
    assert "planet" in opened.post("/check", released=str(tmp_path / "other.csv"), quasi="planet").text
    assert "other.csv" in opened.get("/check").text


def test_large_tables_get_a_preview_that_full_results_replace(client, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.studio.session.CURVE_LEVELS", (4, 5))
    table = tmp_path / "people.parquet"
    patients(20_500).select("age", "income", "height").write_parquet(table)
    client.open(table)
    while client.session.settings.undecided:
        client.post("/columns/all", role="quasi")
    client.post("/protect", k="5", effort="fast")
    end = time.monotonic() + 300
    while any(point["waiting"] for point in client.session.curve()) and time.monotonic() < end:
        time.sleep(0.1)
    points = client.session.curve()
    assert all(point["preview"] and point["loss_low"] < point["loss"] < point["loss_high"] for point in points), points
    text = client.get("/curves").text
    assert "preview with its interval" in text
    assert "every 600ms" not in text
    assert client.run().state == "done"
    at = next(point for point in client.session.curve() if point["k"] == 5)
    assert "preview" not in at
    assert at["loss"] == client.session.result["loss"]


def test_an_idle_studio_stops_by_itself_and_leaves_nothing(tmp_path):
    state = tmp_path / "state"
    command = [sys.executable, "-c", "from shoal.studio.server import serve; serve(None, idle=1.0)"]
    environment = {**os.environ, "SHOAL_STUDIO": str(state)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "/start/" in done.stdout
    assert [path for path in state.rglob("*") if path.is_file()] == []


def test_every_field_has_its_help(opened):
    opened.post("/columns/0", role="quasi")
    pages = "".join(opened.get(path).text for path in ("/open", "/columns", "/protect", "/check"))
    for name in ("region", "education", "diagnosis"):
        pages += opened.get(f"/columns/{position(opened, name)}/panel").text
    pages += opened.post("/peek", path=opened.session.settings.source).text
    assert opened.run().state == "done"
    pages += opened.get("/out").text + opened.get("/look").text + opened.get("/history").text
    plain = html.unescape(pages)
    lacking = [name for name, text in HELP.items() if text not in plain and name not in {"kind", "sheet", "missing"}]
    assert lacking == []


def test_a_schema_is_saved_and_loaded_for_the_next_table(client, tmp_path):
    """Trees, orders, weights, steps, strata, the sampling weight and statistics come back as they were."""
    for name, seed in (("first", 1), ("second", 2)):
        frame = patients(80, seed=seed).with_columns(wt=pl.lit(1.5))
        frame.write_csv(tmp_path / f"{name}.csv")
    client.open(tmp_path / "first.csv")
    client.settle(missing="fill", held_name="mean stay", held_value="stay_days", held_relative="90")
    client.post(f"/columns/{position(client, 'region')}/panel", way="hand")
    client.post(f"/columns/{position(client, 'region')}/panel", tree="group", node=["vnorth", "veast"], name="upper")
    client.post(f"/columns/{position(client, 'age')}/panel", weight="2", before="top 80")
    client.post(f"/columns/{position(client, 'sex')}", role="other")
    client.post(f"/columns/{position(client, 'sex')}/panel", use="stratum")
    client.post(f"/columns/{position(client, 'wt')}/panel", use="weight")
    before = client.session.settings
    assert (before.strata, before.sampling_weight) == (("sex",), "wt")
    path = tmp_path / "first.schema.toml"
    assert "was written" in client.post("/columns/schema", action="save", schema=str(path)).text
    assert path.stat().st_mode & 0o077 == 0
    assert "exists" in client.post("/columns/schema", action="save", schema=str(path)).text
    client.open(tmp_path / "second.csv")
    assert client.post("/columns/schema", action="load", schema=str(path)).headers["hx-redirect"] == "/columns"
    after = client.session.settings
    assert after.columns["region"].tree == before.columns["region"].tree
    assert (after.strata, after.sampling_weight, after.statistics) == (("sex",), "wt", before.statistics)
    released = {name for name, column in before.columns.items() if column.role in {"quasi", "confidential"}}
    for name in released:
        assert after.columns[name] == before.columns[name], name
    assert client.run().state == "done", client.session.job("run").error
    client.post("/undo")
    assert client.session.settings.strata == ()


@pytest.mark.parametrize("line", ['known = ["age"]', "shuffle = true", 'release_weight = "dropped"', "nonsense = 1"])
def test_a_schema_that_states_more_than_the_studio_offers_is_refused_whole(opened, tmp_path, line):
    """The wrong version: a schema is taken in part, and what protects is left out."""
    path = tmp_path / "more.toml"
    path.write_text(f'{line}\n[columns.age]\nrole = "quasi"\nkind = "numeric"\n')
    before = opened.session.settings
    answer = opened.post("/columns/schema", action="load", schema=str(path))
    assert answer.status_code == 422
    assert opened.session.settings is before
    assert opened.post("/columns/schema", action="save", schema=str(tmp_path / "people.csv")).status_code == 422


def test_all_columns_that_are_shown_change_in_one_step(opened):
    steps = len(opened.session.history.steps)
    opened.post("/columns/all", shown="on", find="e", show="quasi", role="confidential")
    changed = {name for name, one in opened.session.settings.columns.items() if one.role == "confidential"}
    assert "age" in changed
    assert "income" in changed
    assert opened.session.settings.columns["admitted"].role == "confidential"
    assert opened.session.settings.columns["region"].role == "confidential"
    assert len(opened.session.history.steps) == steps + 1
    opened.post("/undo")
    assert opened.session.settings.columns["age"].role == "quasi"


def test_a_stratum_that_becomes_quasi_is_none_any_more(opened):
    index = position(opened, "region")
    opened.post(f"/columns/{index}", role="other")
    opened.post(f"/columns/{index}/panel", use="stratum")
    assert opened.session.settings.arguments()["strata"] == ["region"]
    assert "No group crosses the values of" in opened.get("/protect").text
    assert opened.run().state == "done", opened.session.job("run").error
    opened.post(f"/columns/{index}", role="quasi")
    assert "strata" not in opened.session.settings.arguments()


def test_the_sentence_and_the_plan_follow_the_curve(opened):
    """The wrong version: points arrive in the curve, and the sentence above still says that the cost is not known."""
    here = {"k": 3, "loss": 0.1234, "linkage": 0.2, "low": 0.1, "high": 0.3, "highest": 1 / 3, "waiting": False}
    opened.session.curve = lambda **_: [here]
    opened.session.points[f"curve {opened.session.settings.digest()}"] = here
    answer = opened.get("/curves").text
    assert 'id="meaning" hx-swap-oob="true"' in answer
    assert "This costs <b>12.34" in answer
    assert "12.34\N{NO-BREAK SPACE}% lost</b> · not run yet" in answer
    page = opened.get("/protect").text
    assert page.count('id="meaning"') == 1
    assert 'id="meaning" hx-swap-oob' not in page


def test_the_choice_of_methods_is_filled_when_the_worker_has_listed_them(opened):
    opened.session.curve = lambda **_: []
    assert 'hx-get="/protect/methods"' in opened.get("/protect").text
    names = opened.get("/protect/methods").text
    assert '<option translate="no" value="ona-star">' in names
    assert 'hx-get="/protect/methods"' not in names
    assert 'hx-get="/protect/methods"' not in opened.get("/protect").text


def test_a_finding_is_answered_by_one_click_and_undone(client, tmp_path):
    """Twenty rows of which one differs: the lost category is named, and its button keeps the frequencies."""
    pl.DataFrame({"age": [*range(20, 40)], "sex": ["f"] * 19 + ["m"]}).write_csv(tmp_path / "people.csv")
    client.open(tmp_path / "people.csv")
    client.post("/protect", k="10", method="mdav")
    client.run()
    client.post("/run/way", accept="loss")
    assert client.wait("run").state == "done"
    points = client.session.result["decide"]
    found = [(index, number, way) for index, point in enumerate(points) for number, way in enumerate(point["ways"])]
    index, number, way = next(one for one in found if one[2]["change"] == "frequencies")
    assert way["column"] == "sex"
    assert all(("frequencies" in str(one["ways"])) == ("does not occur" in one["text"]) for one in points)
    assert "Run with the frequencies kept of <bdi>sex</bdi>" in client.get("/look").text
    for wrong in ("9", "-1", "x", ""):
        assert client.post(f"/points/{index}/way", way=wrong).status_code == 404, wrong
    assert client.post("/points/99/way", way="0").status_code == 404
    before = client.session.settings
    assert client.post(f"/points/{index}/way", way=str(number)).headers["hx-redirect"] == "/run"
    assert client.wait("run").state == "done", client.session.job("run").error
    assert client.session.settings.columns["sex"].recode == "frequencies"
    client.post("/undo")
    assert client.session.settings == before


def test_a_plan_counts_histories(client, tmp_path):
    rows = [(person, visit, 20 + person % 10, (person * visit) % 7) for person in range(40) for visit in (1, 2)]
    stays = pl.DataFrame(rows, schema=["patient_id", "visit", "age", "days"], orient="row")
    stays.write_csv(tmp_path / "stays.csv")
    client.open(tmp_path / "stays.csv")
    for index, role in enumerate(("unit", "time", "quasi", "quasi")):
        client.post(f"/columns/{index}", role=role)
    assert "k counts histories" in client.get("/protect").text
    client.post("/protect", k="4", of="histories", effort="fast")
    assert "4 persons</b> with the same sequence of rows" in client.get("/protect").text
    assert client.run().state == "done", client.session.job("run").error
    assert "Requested: k = 4 histories" in client.get("/look").text
    client.post("/columns/0", role="other")
    assert client.session.settings.of == "", "what k counts has no column any more"
