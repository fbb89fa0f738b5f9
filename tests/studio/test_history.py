"""The history: append-only, undo and redo give the same settings, a killed server loses nothing."""

import json
from dataclasses import replace

import pytest

from shoal.errors import ParameterError
from shoal.studio.history import History
from shoal.studio.protect_screen import changed_settings
from shoal.studio.session_folder import SessionFolder, choose_session
from shoal.studio.settings import ColumnSettings, Settings, changed_text

FIRST = Settings("people.csv", "abc", {"age": ColumnSettings("quasi", "numeric"), "job": ColumnSettings()}, k=3)


def test_fifty_steps_undone_and_redone_have_the_same_digests(tmp_path):
    history = History(tmp_path)
    made = [history.add(replace(FIRST, k=k)).settings.digest() for k in range(3, 54)]
    for _ in range(60):
        history.undo()
    assert history.at == 1
    again = [history.present.settings.digest()]
    while history.can_redo:
        history.redo()
        again.append(history.present.settings.digest())
    assert again == made
    restored = History(tmp_path)
    assert [step.settings.digest() for step in restored.steps.values()] == made
    assert restored.at == 51


def test_a_change_after_undo_starts_a_branch_and_loses_no_step(tmp_path):
    history = History(tmp_path)
    for k in (3, 5, 7):
        history.add(replace(FIRST, k=k))
    history.undo()
    history.add(replace(FIRST, k=9))
    assert [step.settings.k for step in history.children(2)] == [7, 9]
    history.undo()
    assert history.can_redo.settings.k == 9
    history.go(3)
    history.undo()
    assert history.can_redo.settings.k == 7


def test_the_file_is_private_and_only_grows(tmp_path):
    history = History(tmp_path)
    before = b""
    for act in (lambda: history.add(FIRST), lambda: history.add(replace(FIRST, k=4)), history.undo, history.redo,
                lambda: history.describe(1, "a", "b"), lambda: history.pin(2, pinned=True)):  # fmt: skip
        act()
        now = history.path.read_bytes()
        assert now.startswith(before)
        assert len(now) > len(before)
        before = now
    assert history.path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_was_not_finished_is_ignored(tmp_path):
    history = History(tmp_path)
    history.add(FIRST)
    history.add(replace(FIRST, k=4))
    with history.path.open("a") as file:
        file.write('{"event": "step", "number": 3, "par')
    restored = History(tmp_path)
    assert restored.at == 2
    restored.add(replace(FIRST, k=8))
    assert History(tmp_path).present.settings.k == 8


def test_another_version_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "history.jsonl").write_text(json.dumps({"event": "start", "version": 99}) + "\n")
    with pytest.raises(ParameterError, match="another version"):
        History(tmp_path)


def test_settings_that_do_not_differ_add_no_step(tmp_path):
    history = History(tmp_path)
    history.add(FIRST)
    history.add(replace(FIRST))
    assert len(history.steps) == 1


def test_settings_survive_json_and_their_digest_sees_every_field():
    full = replace(FIRST, l=2.0, t=0.3, strata=("sex",), accept=("loss",), read_options={"delimiter": ";"})
    assert Settings.from_dict(json.loads(json.dumps(full.to_dict()))) == full
    changes = [
        {"k": 4}, {"l": 3.0}, {"t": 0.2}, {"method": "mdav"}, {"effort": "best"}, {"seed": 1}, {"missing": "fill"},
        {"table": "other"}, {"accept": ()}, {"read_options": {}}, {"of": "rows"}, {"time_limit": "5s"},
    ]  # fmt: skip
    assert len({replace(full, **change).digest() for change in changes} | {full.digest()}) == len(changes) + 1
    moved = full.with_column("age", weight=2.0)
    assert moved.digest() != full.digest()
    assert replace(full, source="elsewhere/people.csv").digest() == full.digest()


def test_only_one_column_says_which_rows_belong_to_one_person():
    once = FIRST.with_column("age", role="unit")
    twice = once.with_column("job", role="unit")
    assert twice.named("unit") == ["job"]
    assert twice.undecided == ["age"]
    assert changed_text(FIRST, once) == "role of age: quasi → unit"


def test_two_servers_cannot_use_one_session_and_the_next_start_continues_it(tmp_path):
    first = choose_session(tmp_path, new=False)
    History(first.path).add(FIRST)
    second = choose_session(tmp_path, new=False)
    assert second.path != first.path
    (first.work / "upload.csv").write_text("a\n1\n")
    first.leave()
    assert not first.work.exists()
    third = choose_session(tmp_path, new=False)
    assert third.path == first.path
    assert History(third.path).present.settings == FIRST
    assert first.path.stat().st_mode & 0o777 == 0o700
    third.end()
    assert not third.path.exists()


def test_a_session_behind_a_link_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Exception, match="is a link"):
        SessionFolder(tmp_path / "link")


def test_one_field_of_a_form_is_one_change():
    """The wrong version: the form sends all of its fields, and what is usual anyway is noted as chosen."""
    form = {"k": "3", "of": "rows", "effort": "balanced", "method": "mdav", "l": "", "t": "", "time_limit": ""}
    changed = changed_settings(FIRST, form, 100)
    assert changed_text(FIRST, changed) == "method: auto → mdav"
    assert changed_settings(changed, form | {"effort": "fast"}, 100).effort == "fast"
    assert changed_settings(FIRST.with_column("job", role="unit"), form, 100).of == "rows", "persons are usual there"
