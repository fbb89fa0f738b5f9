"""The page for users of other software names every function that they export."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PEERS = json.loads((Path(__file__).parent / "peer_functions.json").read_text(encoding="utf-8"))


def names(peer):
    """The names that a peer's users write."""
    found = PEERS[peer]["names"]
    return found if isinstance(found, list) else [name for package in found.values() for name in package]


def rows(text, peer):
    """For each row of a peer's table the names in its first cell, its second cell, and its third."""
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (table,) = (part for part in section if part.startswith(f"{peer}\n"))
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return [(re.findall(r"`([^`]+)`", first), second.strip(), third.strip()) for first, second, third in cells[1:]]


def unnamed(text, peer):
    """The names that no row of the table has."""
    present = {name.split("(")[0] for first, _, _ in rows(text, peer) for name in first}
    return [name for name in names(peer) if name not in present]


@pytest.mark.parametrize("peer", sorted(PEERS))
def test_every_function_of_a_peer_has_a_row_with_a_counterpart_or_a_reason(peer):
    text = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    assert len(names(peer)) > 50
    assert unnamed(text, peer) == []
    assert [first for first, second, third in rows(text, peer) if second in {"", "-"} and not third] == []
    lacking = text.replace("`infoLoss`, ", "").replace("`RiskModelMSU`", "")
    assert unnamed(lacking, peer) == [{"sdcMicro": "infoLoss", "ARX": "RiskModelMSU"}[peer]]
