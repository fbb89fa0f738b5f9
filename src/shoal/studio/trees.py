"""Hierarchies that are made and edited by hand: made by a wizard from the values of a column, then changed as a tree.

A tree is kept as one row for each value: the value and the names above it, nearest first, without the root. It belongs
to the settings of a step, so it is undone, redone and exported like every other choice. The values come from the
profile of the table; nothing here reads a table.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

Rows = tuple[tuple[str, ...], ...]
Parents = dict[str, str | None]
ROOT = "*"
MOST_VALUES = 500
"""Different values up to which a tree can be edited."""
MOST_LEVELS = 20
_LONGEST_NAME = 80
_DATE = re.compile(r"^(-?\d{4})-(\d{2})-(\d{2})")
WAYS = {
    "intervals": ("Intervals", "the widths of the levels, smallest first: 5, 10, 50"),
    "calendar": ("Calendar", "the units of the levels: month, quarter, year, decade"),
    "prefixes": ("Prefixes of codes", "how many characters each level keeps: 3, 1"),
    "order": ("Neighbours in the order", "how many neighbours each level joins: 2, 4"),
    "hand": ("Grouping by hand", "starts with every value below the root"),
}
"""How the wizard makes a tree: the name, and what its detail is."""
_DEFAULTS = {"intervals": "", "calendar": "month, year, decade", "prefixes": "", "order": "2, 4", "hand": ""}


def ways_of(kind: str, values: Sequence[str]) -> list[str]:
    """Return the ways that fit a column.

    Examples
    --------
    >>> ways_of("numeric", ["31", "58"]), ways_of("nominal", ["80331", "80333"])
    (['intervals', 'hand'], ['prefixes', 'hand'])
    """
    dates = bool(values) and all(_DATE.match(value) for value in values)
    numbers = all(_number(value) is not None for value in values)
    found = ["calendar"] if dates and kind != "ordinal" else []
    found += ["intervals"] if numbers and kind == "numeric" else []
    found += ["order"] if kind == "ordinal" else []
    found += ["prefixes"] if kind == "nominal" else []
    return [*found, "hand"]


def build(way: str, detail: str, values: Sequence[str]) -> Rows:
    """Return the tree that the wizard makes; raise :class:`ValueError` with one sentence where it cannot.

    Parameters
    ----------
    way
        One of :data:`WAYS`.
    detail
        The numbers or units of the levels, separated by commas; empty for suitable ones.
    values
        The values, in the order of the column.

    Examples
    --------
    >>> build("intervals", "10, 100", ["31", "38", "102"])
    (('31', '30-39', '0-99'), ('38', '30-39', '0-99'), ('102', '100-109', '100-199'))
    >>> build("prefixes", "2", ["8033", "8012"])
    (('8033', '80**'), ('8012', '80**'))
    """
    if not values:
        raise ValueError("This column has no values to build a tree from.")
    entries = [entry.strip() for entry in (detail.strip() or _DEFAULTS[way]).split(",") if entry.strip()]
    makers: dict[str, Callable[[list[str], Sequence[str]], list[list[str]]]] = {
        "intervals": _intervals, "calendar": _calendar, "prefixes": _prefixes, "order": _order,
        "hand": lambda _entries, given: [[] for _ in given],
    }  # fmt: skip
    above = makers[way](entries, values)
    return tuple((value, *_distinct_names(value, names)) for value, names in zip(values, above, strict=True))


def _distinct_names(value: str, names: list[str]) -> list[str]:
    """Return the names above a value without repetitions; a level that says no more than the one below goes."""
    kept: list[str] = []
    for name in names:
        if name not in {value, *kept}:
            kept.append(name)
    return kept


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _numbers(entries: Sequence[str], text: str) -> list[float]:
    found = [_number(entry) for entry in entries]
    numbers = [one for one in found if one is not None and one > 0]
    if len(numbers) < len(found) or numbers != sorted(set(numbers)):
        raise ValueError(f"Write {text}.")
    return numbers


def _intervals(entries: list[str], values: Sequence[str]) -> list[list[str]]:
    numbers = [_number(value) or 0.0 for value in values]
    if any(_number(value) is None for value in values):
        raise ValueError("Intervals are for numbers; this column holds texts.")
    spread = max(numbers) - min(numbers)
    widths = _numbers(entries, WAYS["intervals"][1])
    if not widths:
        unit = 10.0 ** math.floor(math.log10(max(spread / 10, 1e-9)))
        widths = [unit, 5 * unit] if spread > 0 else [1.0]
    for small, large in itertools.pairwise(widths):
        if abs(large / small - round(large / small)) > 1e-9:
            raise ValueError(f"Each width must be a multiple of the one before: {large:g} is none of {small:g}.")
    whole = all(number.is_integer() for number in (*numbers, *widths))
    levels = []
    for number in numbers:
        names = []
        for width in widths:
            low = math.floor(number / width) * width
            if whole:
                text = f"{low:.0f}" if width == 1 else _between(low, low + width - 1)
            else:
                text = f"[{low:g}, {low + width:g})"
            names.append(text)
        levels.append(names)
    return levels


def _between(low: float, high: float) -> str:
    return f"{low:.0f}-{high:.0f}" if low >= 0 else f"{low:.0f} to {high:.0f}"


def _calendar(entries: list[str], values: Sequence[str]) -> list[list[str]]:
    units: dict[str, Callable[[str, int], str]] = {
        "month": lambda year, month: f"{year}-{month:02d}",
        "quarter": lambda year, month: f"{year}-Q{(month + 2) // 3}",
        "year": lambda year, _month: year,
        "decade": lambda year, _month: f"{year[:-1]}0s",
    }
    if not entries or not set(entries) <= set(units):
        raise ValueError("Write units of the calendar: month, quarter, year, decade.")
    ordered = [unit for unit in units if unit in entries]
    levels = []
    for value in values:
        match = _DATE.match(value)
        if match is None:
            raise ValueError("The calendar is for dates; this column holds other values.")
        levels.append([units[unit](match[1], int(match[2])) for unit in ordered])
    return levels


def _prefixes(entries: list[str], values: Sequence[str]) -> list[list[str]]:
    longest = max(map(len, values))
    kept = [int(number) for number in _numbers(list(reversed(entries)), WAYS["prefixes"][1])]
    kept = sorted(kept, reverse=True) if kept else list(range(longest - 1, 0, -1))
    return [[value[:keep] + "*" * (longest - keep) for keep in kept if keep < longest] for value in values]


def _order(entries: list[str], values: Sequence[str]) -> list[list[str]]:
    widths = [int(number) for number in _numbers(entries, WAYS["order"][1])]
    for small, large in itertools.pairwise(widths):
        if large % small:
            raise ValueError(f"Each number must be a multiple of the one before: {large} is none of {small}.")
    levels: list[list[str]] = [[] for _ in values]
    for width in widths:
        for start in range(0, len(values), width):
            part = values[start : start + width]
            for place in range(start, start + len(part)):
                levels[place].append(part[0] if len(part) == 1 else f"{part[0]} to {part[-1]}")
    return levels


def nested(rows: Rows) -> dict[str, Any]:
    """Return a tree as nested mappings and lists, as :func:`shoal.protect` and schema files take it.

    Examples
    --------
    >>> nested((("Oslo", "north", "Europe"), ("Rome", "Europe"), ("Hue",)))
    {'*': [{'Europe': [{'north': ['Oslo']}, 'Rome']}, 'Hue']}
    """
    parents, order = _read(rows)

    def children(parent: str | None) -> list[Any]:
        inside = [node for node in order if parents[node] == parent]
        return [node[1:] if node[0] == "v" else {node[1:]: children(node)} for node in inside]

    return {ROOT: children(None)}


def edited(rows: Rows, action: str, chosen: Sequence[str], name: str = "", target: str = "") -> Rows:
    """Return a tree after a change; raise :class:`ValueError` with one sentence where it is not possible.

    Parameters
    ----------
    rows
        The tree.
    action
        ``group`` puts what is chosen below a new name, ``move`` below ``target`` (the empty text for the root),
        ``ungroup`` takes names out and lifts what is below them (a value goes up one level), ``rename`` gives one name
        another text.
    chosen
        Values as ``v`` with the value, names as ``n`` with the name.
    name
        The new name.
    target
        The name to move to.

    Examples
    --------
    >>> flat = (("Oslo",), ("Rome",), ("Hue",))
    >>> grouped = edited(flat, "group", ["vOslo", "vRome"], "Europe")
    >>> grouped
    (('Oslo', 'Europe'), ('Rome', 'Europe'), ('Hue',))
    >>> edited(grouped, "ungroup", ["nEurope"]) == flat
    True
    """
    parents, order = _read(rows)
    known = [node for node in chosen if node in parents]
    if not known:
        raise ValueError("Choose values or names in the tree first.")
    inside = [node for node in known if not _below(parents, node, set(known) - {node})]
    actions: dict[str, Callable[[Parents, list[str]], Parents]] = {
        "group": lambda tree, nodes: _group(tree, nodes, name),
        "move": lambda tree, nodes: _move(tree, nodes, target),
        "ungroup": _ungroup,
        "rename": lambda tree, nodes: _rename(tree, nodes, name),
    }
    if action not in actions:
        raise ValueError("Choose group, move, ungroup or rename.")
    parents = actions[action](parents, inside)
    changed = _write(parents, [node for node in order if node[0] == "v"])
    if max(map(len, changed)) > MOST_LEVELS:
        raise ValueError(f"A tree has at most {MOST_LEVELS} levels; ungroup some names first.")
    return changed


def _group(parents: Parents, nodes: list[str], name: str) -> Parents:
    new = _new_name(parents, name)
    above = {parents[node] for node in nodes}
    return parents | {new: above.pop() if len(above) == 1 else None} | dict.fromkeys(nodes, new)


def _move(parents: Parents, nodes: list[str], target: str) -> Parents:
    goal = f"n{target}" if target else None
    if goal is not None and (goal not in parents or goal in nodes or _below(parents, goal, set(nodes))):
        raise ValueError("A name cannot be moved below itself; choose another one.")
    return parents | dict.fromkeys(nodes, goal)


def _ungroup(parents: Parents, nodes: list[str]) -> Parents:
    changed = dict(parents)
    for node in nodes:
        above = changed[node]
        if node[0] == "v":
            changed[node] = None if above is None else changed[above]
            continue
        changed = {one: above if parent == node else parent for one, parent in changed.items() if one != node}
    return changed


def _rename(parents: Parents, nodes: list[str], name: str) -> Parents:
    if len(nodes) != 1 or nodes[0][0] != "n":
        raise ValueError("Choose one name to rename.")
    if name.strip() == nodes[0][1:]:
        return parents
    new = _new_name(parents, name)
    renamed = {new if node == nodes[0] else node: parent for node, parent in parents.items()}
    return {node: new if parent == nodes[0] else parent for node, parent in renamed.items()}


def _new_name(parents: Parents, name: str) -> str:
    text = name.strip()
    if not text or len(text) > _LONGEST_NAME or text == "*":
        raise ValueError(f"Write a name of 1 to {_LONGEST_NAME} characters.")
    if f"n{text}" in parents or f"v{text}" in parents:
        raise ValueError(f"{text} is in the tree already; choose another name.")
    return f"n{text}"


def _below(parents: Parents, node: str, others: set[str]) -> bool:
    above = parents[node]
    while above is not None:
        if above in others:
            return True
        above = parents[above]
    return False


def _read(rows: Rows) -> tuple[Parents, list[str]]:
    """Return the parent of each node, and the nodes in the order of the tree: names before what is below them."""
    parents: Parents = {}
    order: list[str] = []
    for value, *names in rows:
        chain = [f"v{value}", *(f"n{name}" for name in names)]
        order += [node for node in reversed(chain) if node not in parents]
        for node, above in zip(chain, [*chain[1:], None], strict=True):
            parents.setdefault(node, above)
    return parents, order


def _write(parents: Parents, values: list[str]) -> Rows:
    rows = []
    for value in values:
        path, above = [value[1:]], parents[value]
        while above is not None:
            path.append(above[1:])
            above = parents[above]
        rows.append(tuple(path))
    return tuple(rows)


def tree_view(rows: Rows, counts: dict[str, int]) -> dict[str, Any]:
    """Return what the editor shows: the nodes below the root with their rows of the table, names, levels.

    Examples
    --------
    >>> found = tree_view((("Oslo", "Europe"), ("Hue",)), {"Oslo": 3, "Hue": 2})
    >>> found["rows"], found["levels"], [(one["text"], one["count"]) for one in found["nodes"]], found["names"]
    (5, 3, [('Europe', 3), ('Hue', 2)], ['Europe'])
    """
    parents, order = _read(rows)
    below: dict[str | None, list[str]] = {}
    for node in order:
        below.setdefault(parents[node], []).append(node)

    def entry(node: str) -> dict[str, Any]:
        inside = [entry(child) for child in below.get(node, [])]
        count = counts.get(node[1:], 0) if node[0] == "v" else sum(one["count"] for one in inside)
        return {"key": node, "text": node[1:], "leaf": node[0] == "v", "nodes": inside, "count": count}

    nodes = [entry(node) for node in below.get(None, [])]
    return {
        "nodes": nodes, "rows": sum(one["count"] for one in nodes), "levels": max(map(len, rows), default=0) + 1,
        "names": [node[1:] for node in order if node[0] == "n"], "values": len(rows),
    }  # fmt: skip
