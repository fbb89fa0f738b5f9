"""Renames of a process that was killed between two of them, finished or undone from its journal."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import FileProblem
from shoal.tables.atomic import JOURNAL_SUFFIX, STAGE_SUFFIX, Changed, Entry, Journal, claim, is_own, remove_claimed


def recover(paths: Sequence[Path]) -> None:
    """Finish or undo the renames of some journals, then remove private directories of processes that no longer run.

    Only journals and directories of the same user are touched, because a journal names files to rename.
    """
    for path in sorted(path for path in paths if path.suffix == JOURNAL_SUFFIX):
        _finish(path)
    for path in paths:
        if path.suffix == STAGE_SUFFIX:
            with suppress(OSError):
                _remove(path)


def _remove(directory: Path) -> None:
    """Remove a private directory, unless its process still runs."""
    found = directory.lstat()
    owned = stat.S_ISDIR(found.st_mode) and is_own(found)
    lock = claim(directory) if owned else None
    if lock is not None:
        remove_claimed(directory, lock)


def _finish(path: Path) -> None:
    """Finish or undo the renames of a journal, unless the process that wrote it still runs."""
    plain = _read(path)
    if plain is None:
        return
    stages = [Path(stage) for stage in plain["stages"]]
    locks = [claim(stage) for stage in stages if stage.exists()]
    try:
        if None in locks:  # the process that writes these files still runs
            return
        if "journal" in plain:
            if Path(plain["journal"]).exists():
                _finish_claimed(Path(plain["journal"]), stages)
            path.unlink(missing_ok=True)
        else:
            _finish_claimed(path, stages)
    except (KeyError, TypeError, ValueError):  # no journal of this program
        return
    except OSError as error:
        raise FileProblem(
            f"an earlier command was killed while it replaced files, and they cannot be completed "
            f"({(error.strerror or 'unknown reason').lower()}); repair that, or remove {path}"
        ) from error
    finally:
        for lock in locks:
            if lock is not None:
                os.close(lock)


def _finish_claimed(path: Path, stages: Sequence[Path]) -> None:
    """Finish or undo the renames of a journal whose process no longer runs, and remove what it left."""
    plain = _read(path)
    if plain is None or "entries" not in plain:
        return
    journal = Journal(path, path, stages, [_entry(entry) for entry in plain["entries"]])
    if plain["back"]:
        journal.undo_renames()
    else:
        with suppress(Changed):
            for entry in journal.entries:
                entry.pending()  # none is renamed if one cannot be
            journal.forward()
    journal.remove()
    for stage in stages:
        shutil.rmtree(stage, ignore_errors=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Return a journal or a pointer of this user; None for all else that has such a name."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or not is_own(found):
            return None
        plain = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(plain, dict) and isinstance(plain["stages"], list):
            return plain
    return None


def _entry(plain: dict[str, Any]) -> Entry:
    """Return a rename of a journal."""
    old = None if plain["old"] is None else Path(plain["old"])
    return Entry(Path(plain["target"]), Path(plain["new"]), old, plain["before"], plain["after"])
