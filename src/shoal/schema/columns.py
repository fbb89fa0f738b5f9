"""What each column is: its role in the protection, its kind of values, and how it is treated.

Roles follow the field: *identifiers* point at one person and are dropped; *quasi-identifiers* are what an outsider may
know and are replaced by a representative of the group; *confidential* columns are what must not be learned about a
person; everything else is *other*. Kinds say how values compare: *numeric* (also dates), *ordinal* (an order without
distances), *nominal* (equal or not).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from shoal.errors import ParameterError, SchemaError, UnknownColumn, suggestion

E = TypeVar("E", bound=StrEnum)


class Role(StrEnum):
    """What a column means for the privacy of a person."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    CONFIDENTIAL = "confidential"
    OTHER = "other"


class Kind(StrEnum):
    """How the values of a column compare."""

    NUMERIC = "numeric"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


class Missing(StrEnum):
    """What happens to holes in quasi-identifiers."""

    REFUSE = "refuse"
    OWN_GROUP = "own-group"
    IMPUTE = "impute"
    AS_VALUE = "as-value"


class Recode(StrEnum):
    """What replaces the values of a group."""

    MEAN = "mean"
    MEDIAN = "median"
    MODE = "mode"
    MEDOID = "medoid"
    RANGE = "range"
    MIDRANGE = "midrange"
    MIN = "min"
    MAX = "max"
    SET = "set"
    HIERARCHY = "hierarchy"
    SUPPRESS = "suppress"
    TABLES = "tables"


_GENERAL = {Recode.SET, Recode.HIERARCHY, Recode.SUPPRESS}
DEFAULT_RECODE = {Kind.NUMERIC: Recode.MEAN, Kind.ORDINAL: Recode.MEDIAN, Kind.NOMINAL: Recode.MODE}
ALLOWED_RECODES = {
    Kind.NUMERIC: set(Recode) - {Recode.TABLES},
    Kind.ORDINAL: {Recode.MEDIAN, Recode.MODE, Recode.MEDOID, Recode.RANGE, Recode.MIN, Recode.MAX, *_GENERAL}
    | {Recode.TABLES},
    Kind.NOMINAL: {Recode.MODE, Recode.MEDOID, Recode.TABLES, *_GENERAL},
}


@dataclass(frozen=True)
class Column:
    """One column: name, role, kind and the choices made for it.

    Parameters
    ----------
    name
        The name in the table.
    role, kind
        See :class:`Role` and :class:`Kind`.
    weight
        How much the column counts when records are compared; 2 doubles its squared distances.
    order
        The categories of an ordinal column from lowest to highest.
    recode
        What replaces the values of a group; by default mean, median or mode for numeric, ordinal or nominal.
    missing
        What happens to holes, if not as in the rest of the table.
    hierarchy
        A :class:`shoal.Hierarchy`, the path of a hierarchy file, nested mappings, or how to build one from the values;
        a quasi-identifier that has one is generalised by it unless ``recode`` says otherwise.
    why
        Why role and kind were chosen, for a person to read.
    """

    name: str
    role: Role
    kind: Kind
    weight: float = 1.0
    order: tuple[str, ...] | None = None
    recode: Recode | None = None
    missing: Missing | None = None
    why: str = ""
    hierarchy: Any = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise SchemaError(f'column "{self.name}": weight={self.weight} must be a finite number of at least 0')
        if self.order is not None and len(set(self.order)) != len(self.order):
            raise SchemaError(f'column "{self.name}": its order names a category twice')
        if self.recode is not None and self.recode not in ALLOWED_RECODES[self.kind]:
            allowed = ", ".join(sorted(ALLOWED_RECODES[self.kind]))
            raise SchemaError(f'column "{self.name}" is {self.kind} and has no {self.recode}; choose one of: {allowed}')

    @property
    def representative(self) -> Recode:
        """What replaces the values of a group."""
        given = Recode.HIERARCHY if self.hierarchy is not None else DEFAULT_RECODE[self.kind]
        return self.recode or given


@dataclass(frozen=True)
class Schema:
    """The columns of a table and how they are treated together.

    Parameters
    ----------
    columns
        One :class:`Column` per column, in the order of the table.
    within
        Columns whose values no group crosses (strata).
    sampling_weight
        A column of positive numbers used for representatives and for the loss that is reported.
    missing
        What happens to holes in quasi-identifiers.
    """

    columns: tuple[Column, ...]
    within: tuple[str, ...] = ()
    sampling_weight: str | None = None
    missing: Missing = Missing.REFUSE
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {column.name: column for column in self.columns})
        for name in [*self.within, *([self.sampling_weight] if self.sampling_weight else [])]:
            role = self[name].role
            if role in {Role.QUASI, Role.IDENTIFIER}:
                raise SchemaError(
                    f'column "{name}" cannot be {"a stratum" if name in self.within else "the sampling weight"} '
                    f"and {_ROLE_WORDS[role]} at once; strata and weights are released unchanged"
                )

    def __getitem__(self, name: str) -> Column:
        if name not in self._by_name:
            raise UnknownColumn(name, self._by_name)
        return self._by_name[name]

    def named(self, role: Role) -> list[str]:
        """Return the names of the columns in a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def quasi(self) -> list[Column]:
        """The quasi-identifiers."""
        return [column for column in self.columns if column.role == Role.QUASI]

    @property
    def protected(self) -> list[str]:
        """The names that are counted together when k is verified: quasi-identifiers and strata."""
        return [*(column.name for column in self.quasi), *self.within]

    def updated(
        self,
        *,
        quasi: Sequence[str] | None = None,
        confidential: Sequence[str] | None = None,
        identifiers: Sequence[str] | None = None,
        kinds: Mapping[str, str] | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        weights: Mapping[str, float] | None = None,
        recode: str | Mapping[str, str] | None = None,
        within: Sequence[str] | None = None,
        sampling_weight: str | None = None,
        missing: str | None = None,
        hierarchies: Mapping[str, Any] | None = None,
    ) -> Schema:
        """Return a schema in which the given choices replace the present ones.

        A role list that is given is complete: columns that had the role and are not in the list become *other*.
        """
        columns = {column.name: column for column in self.columns}
        for role, names in {Role.QUASI: quasi, Role.CONFIDENTIAL: confidential, Role.IDENTIFIER: identifiers}.items():
            if names is not None:
                names = names_list(names)
                columns = {
                    name: replace(column, role=Role.OTHER, why="") if column.role == role else column
                    for name, column in columns.items()
                }
                for name in names:
                    if name not in columns:
                        raise UnknownColumn(name, columns)
        assigned: dict[str, Role] = {}
        for role, names in {Role.QUASI: quasi, Role.CONFIDENTIAL: confidential, Role.IDENTIFIER: identifiers}.items():
            for name in names_list(names or ()):
                if assigned.get(name, role) != role:
                    raise SchemaError(
                        f'column "{name}" is given two roles, {_ROLE_WORDS[assigned[name]]} and {_ROLE_WORDS[role]}; '
                        "choose one"
                    )
                assigned[name] = role
                columns[name] = replace(columns[name], role=role, why="given")
        for name, order in (orders or {}).items():
            self._known(name)
            columns[name] = replace(columns[name], kind=Kind.ORDINAL, order=tuple(map(str, order)), recode=None)
        for name, kind in (kinds or {}).items():
            self._known(name)
            columns[name] = replace(columns[name], kind=choice(Kind, kind, "kind"), recode=None)
        for name, weight in (weights or {}).items():
            self._known(name)
            columns[name] = replace(columns[name], weight=float(weight))
        columns = _with_recode(columns, recode)
        for name, hierarchy in (hierarchies or {}).items():
            self._known(name)
            columns[name] = replace(columns[name], hierarchy=hierarchy)
        return Schema(
            columns=tuple(columns.values()),
            within=self.within if within is None else tuple(names_list(within)),
            sampling_weight=self.sampling_weight if sampling_weight is None else sampling_weight,
            missing=self.missing if missing is None else choice(Missing, missing, "missing"),
        )

    def _known(self, name: str) -> None:
        self[name]

    def explain(self) -> list[tuple[str, str, str, str]]:
        """Return name, role, kind and reason of each column, for a table on the screen."""
        return [(column.name, str(column.role), str(column.kind), column.why) for column in self.columns]


_ROLE_WORDS = {
    Role.IDENTIFIER: "an identifier",
    Role.QUASI: "a quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.OTHER: "other",
}


def _with_recode(columns: dict[str, Column], recode: str | Mapping[str, str] | None) -> dict[str, Column]:
    if recode is None:
        return columns
    if isinstance(recode, str):
        wanted = choice(Recode, recode, "recode")
        return {
            name: replace(column, recode=wanted) if column.role == Role.QUASI else column
            for name, column in columns.items()
        }
    for name, text in recode.items():
        if name not in columns:
            raise UnknownColumn(name, columns)
        columns[name] = replace(columns[name], recode=choice(Recode, text, "recode"))
    return columns


def names_list(names: str | Iterable[str]) -> list[str]:
    """Return column names as a list; one text is one name.

    Examples
    --------
    >>> names_list("age")
    ['age']
    """
    return [names] if isinstance(names, str) else list(names)


def choice(kind: type[E], text: str, option: str) -> E:
    """Return the member of an enumeration, or an error that lists what is allowed.

    Examples
    --------
    >>> choice(Missing, "imput", "missing")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: missing="imput" is not known; did you mean "impute"?
    """
    try:
        return kind(text)
    except ValueError:
        raise ParameterError(f'{option}="{text}" is not known; {suggestion(text, [str(m) for m in kind])}') from None
