"""The settings of a step: what ``shoal.protect`` is given, as plain values that a history stores.

The server holds settings and never a table, so this module imports no library for arrays or tables. The worker turns
settings into arguments of :func:`shoal.protect`; :mod:`shoal.studio.exports` turns them into a command and a script.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from shoal.errors import ParameterError
from shoal.studio.trees import nested

ROLES = ("identifier", "unit", "household", "time", "quasi", "confidential", "other")
UNDECIDED = ""
"""The role of a column that the steward has to decide."""
ROLE_OPTIONS = {
    "quasi": "quasi", "confidential": "confidential", "identifier": "identifiers", "other": "other", "unit": "unit",
    "household": "household", "time": "time",
}  # fmt: skip
KINDS = ("numeric", "ordinal", "nominal")
SINGLE_ROLES = frozenset({"unit", "household", "time"})
MISSING = ("error", "fill", "suppress", "by-pattern", "impute", "category")
EFFORTS = ("fast", "balanced", "best")
LARGEST_K = 100_000
LARGEST_WEIGHT = 1000.0
HIERARCHIES = {
    "numeric": {"intervals": "intervals", "calendar": "calendar (dates)"},
    "ordinal": {"order": "neighbours in the order"},
    "nominal": {"prefixes": "prefixes of the codes", "flat": "one level"},
}
"""The hierarchies that are built when the plan runs, by the kind of the column."""
USES = {"": "nothing further", "stratum": "a stratum: no group crosses its values", "weight": "the sampling weight"}
"""What a column that is released unchanged is used for."""
_RELEASED = frozenset({"other", "confidential", UNDECIDED})


@dataclass(frozen=True)
class ColumnSettings:
    """What was chosen for one column.

    Parameters
    ----------
    role
        One of :data:`ROLES`, or the empty text if it is to be decided.
    kind
        ``numeric``, ``ordinal`` or ``nominal``.
    order
        The categories of an ordinal column from lowest to highest; empty for the order of the numbers themselves.
    weight
        The column weight.
    recode
        What replaces the values of a group; the empty text for the default.
    hierarchy
        How a hierarchy is built from the values; ``hand`` for the tree, the empty text for none.
    tree
        A tree that was made in the studio: for each value the value and the names above it, nearest first.
    before
        Steps before grouping, such as ``top 90``.
    """

    role: str = UNDECIDED
    kind: str = "nominal"
    order: tuple[str, ...] = ()
    weight: float = 1.0
    recode: str = ""
    hierarchy: str = ""
    before: tuple[str, ...] = ()
    tree: tuple[tuple[str, ...], ...] = ()

    @property
    def stated_hierarchy(self) -> Any:
        """What :func:`shoal.protect` is given: a word, or a tree as nested mappings and lists."""
        return nested(self.tree) if self.hierarchy == "hand" else self.hierarchy


@dataclass(frozen=True)
class Settings:
    """All that determines a release, as plain values.

    Parameters
    ----------
    source
        The path of the table.
    table
        The SHA-256 of the file.
    columns
        The choices for each column, in the order of the table.
    bare_kinds
        The kind that the type of each column suggests; a kind that differs is stated.
    read_options
        How the file is read.
    k, of, l, t, alpha, beta, p, max_size
        The requirements.
    method, effort, time_limit, seed
        The method; effort is for ``auto``.
    missing, strata, sampling_weight
        As in :func:`shoal.protect`.
    statistics
        Statistics that must hold: name, SQL expression, domains, largest change as a share of the figure.
    accept
        What was accepted: ``loss``, ``derived``, ``relinking``.

    Examples
    --------
    >>> settings = Settings("people.csv", columns={"age": ColumnSettings("quasi", "numeric")}, k=5)
    >>> settings.arguments()["quasi"], settings.digest() == settings.digest()
    (['age'], True)
    """

    source: str
    table: str = ""
    columns: Mapping[str, ColumnSettings] = field(default_factory=dict)
    bare_kinds: Mapping[str, str] = field(default_factory=dict)
    read_options: Mapping[str, Any] = field(default_factory=dict)
    k: int = 5
    of: str = ""
    l: float | None = None
    t: float | None = None
    alpha: float | None = None
    beta: float | None = None
    p: int | None = None
    max_size: int | None = None
    method: str = "auto"
    effort: str = ""
    time_limit: str = ""
    seed: int = 0
    missing: str = ""
    strata: tuple[str, ...] = ()
    sampling_weight: str = ""
    accept: tuple[str, ...] = ()
    statistics: tuple[tuple[str, str, tuple[str, ...], float], ...] = ()

    def named(self, role: str) -> list[str]:
        """Return the columns of a role."""
        return [name for name, column in self.columns.items() if column.role == role]

    @property
    def undecided(self) -> list[str]:
        """The columns without a role."""
        return self.named(UNDECIDED)

    @property
    def stated_kinds(self) -> dict[str, str]:
        """The kinds that differ from what the type suggests, of columns that need one."""
        return {
            name: column.kind
            for name, column in self.columns.items()
            if column.role in {"quasi", "confidential"}
            and not (column.kind == "ordinal" and column.order)
            and column.kind != self.bare_kinds.get(name)
        }

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of :func:`shoal.protect`, without those that are left to their defaults."""
        used = {name: column for name, column in self.columns.items() if column.role in {"quasi", "confidential"}}
        quasi = {name: column for name, column in used.items() if column.role == "quasi"}
        roles: dict[str, Any] = {
            option: next(iter(self.named(role)), None) if role in SINGLE_ROLES else self.named(role)
            for role, option in ROLE_OPTIONS.items()
        }
        mappings = {
            "kinds": self.stated_kinds,
            "orders": {name: list(one.order) for name, one in used.items() if one.kind == "ordinal" and one.order},
            "column_weights": {name: one.weight for name, one in quasi.items() if one.weight != 1},
            "recode": {name: one.recode for name, one in quasi.items() if one.recode},
            "hierarchies": {name: one.stated_hierarchy for name, one in quasi.items() if one.hierarchy},
            "before": {name: list(one.before) for name, one in used.items() if one.before},
        }
        plain = {
            name: getattr(self, name)
            for name in ("of", "l", "t", "alpha", "beta", "p", "max_size", "missing", "sampling_weight", "time_limit")
        }
        if self.of == "histories":
            plain["time_limit"] = ""  # groups of whole histories have a search of their own
        elif self.method == "auto" and self.effort:
            plain["effort"] = self.effort
        found = {**roles, **mappings, "strata": list(self.strata), **plain, "read_options": dict(self.read_options)}
        found = {name: value for name, value in found.items() if value not in (None, "", [], {})}
        if self.statistics:
            found["statistics"] = [
                {"name": name, "value": value, "relative": relative} | ({"domains": list(domains)} if domains else {})
                for name, value, domains, relative in self.statistics
            ]
        found |= {f"accept_{name}": True for name in self.accept}
        found |= {"method": self.method} if self.method != "auto" else {}
        found |= {"seed": self.seed} if self.seed else {}
        return {**found, "k": self.k}

    def with_column(self, name: str, **changes: Any) -> Settings:
        """Return settings in which one column differs; a role that only one column can have leaves its earlier one."""
        columns = dict(self.columns)
        role = changes.get("role")
        for other, column in self.columns.items() if role in SINGLE_ROLES else ():
            if column.role == role and other != name:
                columns[other] = replace(column, role=UNDECIDED)
        columns[name] = replace(columns[name], **changes)
        accept = tuple(entry for entry in self.accept if entry != "derived")
        changed = replace(self, columns=columns, accept=accept)
        needed = {"units": "unit", "histories": "unit", "households": "household"}.get(self.of)
        if needed is not None and not changed.named(needed):
            changed = replace(changed, of="")  # what k counted has no column any more
        return changed if columns[name].role in _RELEASED else changed.with_use(name, "")

    def use_of(self, name: str) -> str:
        """Return what a column is used for, one of :data:`USES`."""
        return "stratum" if name in self.strata else "weight" if name == self.sampling_weight else ""

    def with_use(self, name: str, use: str) -> Settings:
        """Return settings in which a column is a stratum, the sampling weight, or neither."""
        wanted = {*self.strata, name} if use == "stratum" else {*self.strata} - {name}
        strata = tuple(one for one in self.columns if one in wanted)
        weight = name if use == "weight" else "" if self.sampling_weight == name else self.sampling_weight
        return replace(self, strata=strata, sampling_weight=weight)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "columns": {name: asdict(column) for name, column in self.columns.items()}}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Settings:
        """Return the settings that :meth:`to_dict` gave."""
        known = {entry.name for entry in fields(cls)}
        given = _with_tuples(plain)
        if not set(given) <= known or "source" not in given:
            raise ParameterError("the history was written by another version of Shoal Studio; start a new session")
        entries: dict[str, dict[str, Any]] = given.get("columns", {})
        columns = {name: ColumnSettings(**_with_tuples(entry)) for name, entry in entries.items()}
        return cls(**{**given, "columns": columns})

    def digest(self) -> str:
        """Return the SHA-256 of plan and table; the path is left out, since the same bytes give the same result."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        plain = {name: value for name, value in self.to_dict().items() if name != "source"}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _with_tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return {name: frozen(value) for name, value in entry.items()}


def changed_text(before: Settings | None, after: Settings) -> str:
    """Return what changed between two settings as a short text for the history.

    Examples
    --------
    >>> changed_text(Settings("a.csv", k=5), Settings("a.csv", k=7))
    'k: 5 → 7'
    """
    from pathlib import Path

    if before is None or before.source != after.source or before.table != after.table:
        return f"Opened {Path(after.source).name}"
    changes = []
    for name, column in after.columns.items():
        earlier = before.columns[name]
        for entry in fields(column):
            old, new = getattr(earlier, entry.name), getattr(column, entry.name)
            if old == new:
                continue
            changes.append(f"{entry.name} of {name}: {_shown(old)} → {_shown(new)}")
    for entry in fields(after):
        if entry.name in {"source", "table", "columns", "bare_kinds"}:
            continue
        old, new = getattr(before, entry.name), getattr(after, entry.name)
        if old != new:
            changes.append(f"{entry.name.replace('_', ' ')}: {_shown(old)} → {_shown(new)}")
    shown = "; ".join(changes[:3]) + (f" and {len(changes) - 3} more" if len(changes) > 3 else "")
    return shown or "no change"


def _shown(value: Any) -> str:
    if value in {None, ""} if not isinstance(value, tuple | dict | Mapping) else not value:
        return "none"
    if isinstance(value, tuple):
        if isinstance(value[0], tuple) and len(value[0]) == 4 and isinstance(value[0][2], tuple):
            return ", ".join(one[0] for one in value)
        if isinstance(value[0], tuple):
            return f"a tree of {len(value)} values, {1 + max(map(len, value))} levels"
        return ", ".join(map(str, value[:4])) + (", …" if len(value) > 4 else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
