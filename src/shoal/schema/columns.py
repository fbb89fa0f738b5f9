"""The columns of a table: the role of each, its kind of values, and how it is treated.

Roles follow the field: *direct identifiers* are dropped; *quasi-identifiers* (key variables) may be known to an
intruder and are replaced by a representative of the group; *confidential* (sensitive) attributes must not be disclosed;
everything else is *other* and released unchanged. The *unit* states which rows belong to one person, the *household*
which persons live together, and the *time* orders the rows of a person; the three are used and not released. Every
column needs a stated role. Kinds are levels of measurement: *numeric* (also dates), *ordinal* (an order without
distances), *nominal* (equal or not).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any

from shoal.core.arguments import checked, choice
from shoal.errors import ParameterError, SchemaError, UnknownColumn

if TYPE_CHECKING:
    from shoal.schema.statistic import Statistic


class Role(StrEnum):
    """What a column means for the privacy of a person.

    Examples
    --------
    >>> Role("quasi").name
    'QUASI'
    """

    IDENTIFIER = "identifier"
    UNIT = "unit"
    HOUSEHOLD = "household"
    TIME = "time"
    QUASI = "quasi"
    CONFIDENTIAL = "confidential"
    OTHER = "other"


DROPPED = frozenset({Role.IDENTIFIER, Role.UNIT, Role.HOUSEHOLD, Role.TIME})
"""The roles of columns that are not released."""

UNDECIDED = "other?"
"""What a schema file states as the role of a column that a person has to decide."""


class Kind(StrEnum):
    """The level of measurement: how the values of a column compare.

    Examples
    --------
    >>> Kind("ordinal").name
    'ORDINAL'
    """

    NUMERIC = "numeric"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"


class Missing(StrEnum):
    """What happens to missing values of quasi-identifiers before grouping.

    Examples
    --------
    >>> Missing("by-pattern").name
    'BY_PATTERN'
    """

    ERROR = "error"
    FILL = "fill"
    SUPPRESS = "suppress"
    BY_PATTERN = "by-pattern"
    IMPUTE = "impute"
    CATEGORY = "category"


class ReleaseWeight(StrEnum):
    """How the sampling weight is released; an intruder may know it, for example from the file of the survey."""

    GROUPED = "grouped"
    UNCHANGED = "unchanged"
    DROPPED = "dropped"


class Recode(StrEnum):
    """What replaces the values of a group.

    Examples
    --------
    >>> Recode("median").name
    'MEDIAN'
    """

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
    FREQUENCIES = "frequencies"


_GENERAL = {Recode.SET, Recode.HIERARCHY, Recode.SUPPRESS}
DEFAULT_RECODE = {Kind.NUMERIC: Recode.MEAN, Kind.ORDINAL: Recode.MEDIAN, Kind.NOMINAL: Recode.MODE}
ALLOWED_RECODES = {
    Kind.NUMERIC: set(Recode) - {Recode.FREQUENCIES},
    Kind.ORDINAL: {Recode.MEDIAN, Recode.MODE, Recode.MEDOID, Recode.RANGE, Recode.MIN, Recode.MAX, *_GENERAL}
    | {Recode.FREQUENCIES},
    Kind.NOMINAL: {Recode.MODE, Recode.MEDOID, Recode.FREQUENCIES, *_GENERAL},
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
    kind_stated
        Whether a person stated the kind; otherwise it was inferred from the values.
    role_stated
        Whether the role was stated; a column without a stated role stops a protection.
    weight
        How much the column counts when records are compared; 2 doubles its squared distances.
    order
        The categories of an ordinal column from lowest to highest.
    recode
        What replaces the values of a group; by default mean, median or mode for numeric, ordinal or nominal.
    missing
        What happens to missing values, if not as in the rest of the table.
    hierarchy
        A :class:`shoal.Hierarchy`, the path of a hierarchy file, nested mappings, or how to build one from the values;
        a quasi-identifier that has one is generalised by it unless ``recode`` states something else.
    reason
        Why role and kind were chosen, for a person to read.
    time
        Whether the values order the rows of a person although the column has another role; a column whose role is
        *time* does and is not released.
    constant
        For a quasi-identifier: whether all rows of a person (without a unit, of a household) keep one value; None where
        that is not decided.
    before
        Steps before grouping, in their order, such as ``top 90`` or ``band 10``; see :mod:`shoal.schema.steps`.
    after
        Steps after grouping on the representatives of a quasi-identifier, such as ``round 100``.
    not_applicable
        Codes of cells that cannot have a value, such as the wage of a child; the empty text means empty cells. They are
        never filled, averaged or mixed with others in a group.

    Examples
    --------
    >>> age = Column("age", Role.QUASI, Kind.NUMERIC, weight=2.0)
    >>> age.role.value, age.weight
    ('quasi', 2.0)
    """

    name: str
    role: Role
    kind: Kind
    kind_stated: bool = False
    weight: float = 1.0
    order: tuple[str, ...] | None = None
    recode: Recode | None = None
    missing: Missing | None = None
    hierarchy: Any = None
    reason: str = ""
    role_stated: bool = True
    time: bool = False
    constant: bool | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_types()
        if self.before != () or self.after != ():
            from shoal.schema.step_texts import checked_steps

            for entry in ("before", "after"):
                object.__setattr__(self, entry, checked_steps(getattr(self, entry), self, after=entry == "after"))
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise SchemaError(f'column "{self.name}": weight={self.weight} must be a finite number of at least 0')
        if self.order is not None and len(set(self.order)) != len(self.order):
            raise SchemaError(f'column "{self.name}": its order names a category twice')
        if self.recode is not None and self.recode not in ALLOWED_RECODES[self.kind]:
            allowed = ", ".join(sorted(ALLOWED_RECODES[self.kind]))
            raise SchemaError(f'column "{self.name}" is {self.kind} and has no {self.recode}; choose one of: {allowed}')

    def _check_types(self) -> None:
        """Accept enumerations by their texts; raise for other values that an entry cannot have."""
        if not isinstance(self.name, str):
            raise SchemaError(f"the name of a column must be a text, not {type(self.name).__name__}")
        choices: tuple[tuple[str, type[StrEnum]], ...]
        choices = (("role", Role), ("kind", Kind), ("recode", Recode), ("missing", Missing))
        for entry, kind in choices:
            value = getattr(self, entry)
            if not isinstance(value, kind) and not (value is None and entry in {"recode", "missing"}):
                object.__setattr__(self, entry, choice(kind, value, entry))
        if not isinstance(self.time, bool):
            raise SchemaError(f'column "{self.name}": time must be true or false, not {type(self.time).__name__}')
        constant: Any = self.constant
        if constant is not None and not isinstance(constant, bool):
            raise SchemaError(f'column "{self.name}": constant must be true or false, not {type(constant).__name__}')
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float):
            raise SchemaError(f'column "{self.name}": weight must be a number, not {type(self.weight).__name__}')
        order: Any = self.order
        if order is not None:
            if isinstance(order, str) or not isinstance(order, Iterable):
                raise SchemaError(f'column "{self.name}": its order must be a list of categories, such as low and high')
            object.__setattr__(self, "order", tuple(map(str, order)))
        codes: Any = self.not_applicable
        plain = isinstance(codes, list | tuple) and all(isinstance(code, str | int | float) for code in codes)
        if not plain:
            raise SchemaError(
                f'column "{self.name}": not_applicable must be a list of codes, such as ["-1"]; [""] means empty cells'
            )
        object.__setattr__(self, "not_applicable", tuple(dict.fromkeys(map(str, codes))))

    @property
    def default_recode(self) -> Recode:
        """What replaces the values of a group where neither the user nor the method selects anything."""
        return self.recode or (Recode.HIERARCHY if self.hierarchy is not None else DEFAULT_RECODE[self.kind])


def shown_role(column: Column) -> str:
    """Return the role of a column as a schema file states it: ``other?`` where a person has to decide.

    Examples
    --------
    >>> shown_role(Column("a", Role.QUASI, Kind.NUMERIC)), shown_role(Column("a", Role.OTHER, Kind.NUMERIC, role_stated=False))
    ('quasi', 'other?')
    """  # noqa: E501 - the doctest is one line
    return str(column.role) if column.role_stated else UNDECIDED


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table and how they are treated together.

    Parameters
    ----------
    columns
        One entry per column of the table.
    strata
        Columns whose values no group crosses. They are released unchanged.
    sampling_weight
        A column of positive numbers: how many members of the population a record represents.
    missing
        What happens to missing values of quasi-identifiers, unless a column states something else.
    unnamed
        The role of every column of a table that is not named here; None raises an error for such a column.
    release_weight
        How the sampling weight is released: ``grouped`` (the mean weight of the group, rounded like other means unless
        exact totals are requested), ``unchanged`` or ``dropped``.
    known
        Columns beside the quasi-identifiers that an intruder may know; k is also counted with them.
    keep_links
        Whether the unit is replaced by a random code, so that the rows of a person stay linked, instead of dropped.
    shuffle
        Whether rows are released in a random order, as they always are where the schema has a unit or a household.
    keep
        Rules between columns that hold in the original and are kept, such as ``start <= end``; see
        :mod:`shoal.schema.column_rules`.
    together
        Sets of quasi-identifiers that are suppressed together, each as a text of names such as ``roof,walls``: where
        one of them is suppressed in a group, all are.
    statistics
        Statistics that must hold: see :class:`shoal.Statistic`.

    Examples
    --------
    >>> schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("job", Role.OTHER, Kind.NOMINAL)))
    >>> schema.updated(quasi=["job"])["job"].role
    <Role.QUASI: 'quasi'>
    >>> print(schema)
    column  role   kind
    ------  -----  -------
    age     quasi  numeric
    job     other  nominal
    """

    columns: tuple[Column, ...]
    strata: tuple[str, ...] = ()
    sampling_weight: str | None = None
    missing: Missing = Missing.ERROR
    unnamed: Role | None = None
    release_weight: ReleaseWeight = ReleaseWeight.GROUPED
    known: tuple[str, ...] = ()
    keep_links: bool = False
    shuffle: bool = False
    keep: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    statistics: tuple[Statistic, ...] = ()
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = list(self.columns) if isinstance(self.columns, Iterable) else [self.columns]
        if not all(isinstance(column, Column) for column in columns):
            raise SchemaError("the columns of a schema must be shoal.Column entries, one for each column of the table")
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "_by_name", {column.name: column for column in self.columns})
        if len(self._by_name) < len(columns):
            raise SchemaError("a schema names a column twice; keep one entry for each column")
        if not isinstance(self.strata, str | Iterable):
            raise SchemaError(f"strata must be a list of column names, not {type(self.strata).__name__}")
        object.__setattr__(self, "strata", tuple(names_list(self.strata)))
        object.__setattr__(self, "missing", choice(Missing, self.missing, "missing"))
        self._check_known()
        self._check_persons()
        if self.statistics:
            from shoal.schema.statistic import read_statistics

            object.__setattr__(self, "statistics", read_statistics(self.statistics))
        for name in [*self.strata, *([self.sampling_weight] if self.sampling_weight else [])]:
            role = self[name].role
            if role == Role.QUASI or role in DROPPED:
                raise SchemaError(
                    f'column "{name}" cannot be {"a stratum" if name in self.strata else "the sampling weight"} '
                    f"and {_ROLE_WORDS[role]} at once; strata and weights are released unchanged"
                )

    def _check_known(self) -> None:
        if not isinstance(self.known, str | Iterable):
            raise SchemaError(f"known must be a list of column names, not {type(self.known).__name__}")
        object.__setattr__(self, "known", tuple(names_list(self.known)))
        object.__setattr__(self, "release_weight", choice(ReleaseWeight, self.release_weight, "release_weight"))
        for name in self.known:
            role = self[name].role
            if role in DROPPED:
                raise SchemaError(f'column "{name}" is dropped as {_ROLE_WORDS[role]}; leave it out of known')

    def _check_persons(self) -> None:
        """Raise where two columns are the unit, the household or the time, or a dropped column is the time as well."""
        for role in (Role.UNIT, Role.HOUSEHOLD, Role.TIME):
            names = [
                column.name for column in self.columns if column.role == role or (role == Role.TIME and column.time)
            ]
            if len(names) > 1:
                raise SchemaError(
                    f'columns "{names[0]}" and "{names[1]}" are both given as the {role}; name one, or combine them'
                )
        for column in self.columns:
            if column.time and column.role in DROPPED - {Role.TIME}:
                raise SchemaError(f'column "{column.name}" cannot be {_ROLE_WORDS[column.role]} and the time at once')
            if column.constant and column.role != Role.QUASI:
                raise SchemaError(
                    f'column "{column.name}" cannot be kept constant within persons as {_ROLE_WORDS[column.role]}; '
                    "only quasi-identifiers are replaced"
                )
        if not isinstance(self.keep_links, bool):
            raise SchemaError(f"keep_links must be true or false, not {type(self.keep_links).__name__}")
        if not isinstance(self.shuffle, bool):
            raise SchemaError(f"shuffle must be true or false, not {type(self.shuffle).__name__}")
        if self.keep != ():
            from shoal.schema.column_rules import checked_rules

            object.__setattr__(self, "keep", checked_rules(self.keep, self._by_name))
        if self.together != ():
            from shoal.schema.linked_columns import checked_links

            object.__setattr__(self, "together", checked_links(self.together, self._by_name))
        if self.sampling_weight and self[self.sampling_weight].before:
            raise SchemaError(f'column "{self.sampling_weight}" is the sampling weight, which no step can change')

    def __getitem__(self, name: str) -> Column:
        if not isinstance(name, str) or name not in self._by_name:
            raise UnknownColumn(name, self._by_name)
        return self._by_name[name]

    def __repr__(self) -> str:
        counts = [(len(self.named(role)), role) for role in Role]
        return f"<Schema: {', '.join(f'{count} {role}' for count, role in counts if count)}>"

    def __str__(self) -> str:
        from shoal.core.text import text_table

        return text_table(("column", "role", "kind"), [(c.name, str(c.role), str(c.kind)) for c in self.columns])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{role}</td><td>{kind}</td><td>{escape(reason)}</td></tr>"
            for name, role, kind, reason in self.explain()
        )
        return f"<table><tr><th>column</th><th>role</th><th>kind</th><th>reason</th></tr>{rows}</table>"

    def named(self, role: Role) -> list[str]:
        """Return the names of the columns in a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def quasi(self) -> list[Column]:
        """The quasi-identifiers."""
        return [column for column in self.columns if column.role == Role.QUASI]

    @property
    def unit(self) -> str | None:
        """The column that says which rows belong to one person."""
        return next(iter(self.named(Role.UNIT)), None)

    @property
    def household(self) -> str | None:
        """The column that says which persons belong to one household."""
        return next(iter(self.named(Role.HOUSEHOLD)), None)

    @property
    def time(self) -> str | None:
        """The column that orders the rows of a person."""
        return next((column.name for column in self.columns if column.role == Role.TIME or column.time), None)

    @property
    def constant(self) -> list[str]:
        """The quasi-identifiers that keep one value in all rows of a person, or of a household without a unit."""
        return [column.name for column in self.quasi if column.constant]

    @property
    def code(self) -> str | None:
        """The column that holds a random code for each person in the release, if links are kept."""
        return self.unit if self.keep_links else None

    @property
    def coded(self) -> list[str]:
        """The direct identifiers that are replaced by random codes instead of dropped."""
        return [column.name for column in self.columns if column.role == Role.IDENTIFIER and column.before]

    @property
    def random_order(self) -> bool:
        """Whether the rows are released in a random order."""
        return self.shuffle or self.unit is not None or self.household is not None

    @property
    def dropped(self) -> list[str]:
        """The names of the columns whose values are not released because of their role."""
        return [column.name for column in self.columns if column.role in DROPPED]

    @property
    def protected(self) -> list[str]:
        """The names that are counted together when k is verified: quasi-identifiers and strata."""
        return [*(column.name for column in self.quasi), *self.strata]

    @property
    def released_weight(self) -> str | None:
        """The sampling weight, unless it is dropped."""
        return None if self.release_weight == ReleaseWeight.DROPPED else self.sampling_weight

    @property
    def counted(self) -> list[str]:
        """The names that must have k together: quasi-identifiers, strata, and the sampling weight if it is grouped."""
        return self.with_weight if self.release_weight == ReleaseWeight.GROUPED else self.protected

    @property
    def with_weight(self) -> list[str]:
        """Quasi-identifiers, strata and the released sampling weight, which an intruder may know."""
        weight = self.released_weight
        return [*self.protected, *([] if weight is None or weight in self.protected else [weight])]

    @property
    def known_columns(self) -> list[str]:
        """All names that an intruder may know: quasi-identifiers, strata, the released sampling weight, and known."""
        return list(dict.fromkeys([*self.with_weight, *self.known]))

    @property
    def nominal(self) -> bool:
        """Whether all quasi-identifiers are nominal."""
        return bool(self.quasi) and all(column.kind == Kind.NOMINAL for column in self.quasi)

    @property
    def undecided(self) -> list[str]:
        """The names of the columns whose role was not stated; strata and the sampling weight are decided."""
        decided = {*self.strata, self.sampling_weight}
        return [column.name for column in self.columns if not column.role_stated and column.name not in decided]

    @checked
    def updated(
        self,
        *,
        quasi: Sequence[str] | None = None,
        confidential: Sequence[str] | None = None,
        identifiers: Sequence[str] | None = None,
        other: Sequence[str] | None = None,
        unnamed: str | None = None,
        unit: str | None = None,
        household: str | None = None,
        time: str | None = None,
        kinds: Mapping[str, str] | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        column_weights: Mapping[str, float] | None = None,
        recode: str | Mapping[str, str] | None = None,
        strata: Sequence[str] | None = None,
        sampling_weight: str | None = None,
        release_weight: str | None = None,
        known: Sequence[str] | None = None,
        missing: str | Mapping[str, str] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        constant: Sequence[str] | None = None,
        keep_links: bool | None = None,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        shuffle: bool | None = None,
        not_applicable: Mapping[str, Sequence[str]] | None = None,
        keep: Sequence[str] | None = None,
        together: Sequence[str] | None = None,
        statistics: Any = None,
    ) -> Schema:
        """Return a schema in which the given choices replace the present ones.

        A list of quasi-identifiers, confidential attributes or identifiers is complete: columns that had the role and
        are in no list have no stated role any more. The list of other columns adds to those that are *other* already. A
        time that is also a quasi-identifier, confidential or other keeps that role; otherwise it is used and dropped.
        The list of constant columns is complete; ``none`` decides that there are none.
        """
        roles = {
            Role.QUASI: quasi, Role.CONFIDENTIAL: confidential, Role.IDENTIFIER: identifiers, Role.OTHER: other,
            Role.UNIT: unit, Role.HOUSEHOLD: household,
        }  # fmt: skip
        columns = self._with_roles(roles)
        if time is not None:
            columns = self._with_time(columns, time)
        changes: list[tuple[str, dict[str, Any]]] = [
            *((name, {"kind": Kind.ORDINAL, "kind_stated": True, "order": tuple(map(str, order)), "recode": None})
              for name, order in (orders or {}).items()),
            *((name, {"kind": choice(Kind, kind, "kind"), "kind_stated": True, "recode": None})
              for name, kind in (kinds or {}).items()),
            *((name, {"weight": float(weight)}) for name, weight in (column_weights or {}).items()),
        ]  # fmt: skip
        for name, change in changes:
            self[name]  # an unknown name is an error
            columns[name] = replace(columns[name], **change)
        columns = _with_recode(columns, recode)
        columns = _with_missing(columns, missing)
        for name, hierarchy in (hierarchies or {}).items():
            self[name]  # an unknown name is an error
            columns[name] = replace(columns[name], hierarchy=hierarchy)
        if constant is not None:
            columns = self._with_constant(columns, names_list(constant))
        for name, codes in (not_applicable or {}).items():
            self[name]  # an unknown name is an error
            columns[name] = replace(columns[name], not_applicable=tuple(names_list(codes)))
        for entry, steps in (("before", before), ("after", after)):
            if steps is not None and not isinstance(steps, Mapping):
                raise SchemaError(f'{entry} must be a mapping from columns to steps, such as {{"age": "top 90"}}')
            for name, given in (steps or {}).items():
                self[name]  # an unknown name is an error
                columns[name] = replace(columns[name], **{entry: given})
        return Schema(
            columns=tuple(columns.values()),
            strata=self.strata if strata is None else tuple(names_list(strata)),
            sampling_weight=self.sampling_weight if sampling_weight is None else sampling_weight,
            missing=choice(Missing, missing, "missing") if isinstance(missing, str) else self.missing,
            unnamed=self.unnamed if unnamed is None else role_of_option(unnamed),
            release_weight=(
                self.release_weight
                if release_weight is None
                else choice(ReleaseWeight, release_weight, "release_weight")
            ),
            known=self.known if known is None else tuple(names_list(known)),
            keep_links=self.keep_links if keep_links is None else keep_links,
            shuffle=self.shuffle if shuffle is None else shuffle,
            keep=self.keep if keep is None else keep,  # type: ignore[arg-type]  # made a tuple of texts by the schema
            together=self.together if together is None else together,  # type: ignore[arg-type]  # likewise
            statistics=self.statistics if statistics is None else statistics,
        )

    def _with_constant(self, columns: dict[str, Column], names: list[str]) -> dict[str, Column]:
        """Return the columns with others that are kept constant; ``none`` and ``auto`` are words, if no column's name.

        ``auto`` leaves it to the table, see :func:`shoal.schema.constant_columns.with_constant_columns`.
        """
        word = names[0] if len(names) == 1 and names[0] in {"none", "auto"} and names[0] not in columns else ""
        for name in () if word else names:
            self[name]  # an unknown name is an error
        decided = False if word == "none" else None
        return {
            name: replace(column, constant=True if name in names else decided if column.role == Role.QUASI else None)
            for name, column in columns.items()
        }

    def _with_roles(self, roles: Mapping[Role, Sequence[str] | None]) -> dict[str, Column]:
        """Return the columns by name with roles as the lists that are given say."""
        columns = {column.name: column for column in self.columns}
        for role, names in roles.items():
            if names is None:
                continue
            for name in names_list(names):
                self[name]  # an unknown name is an error
            for name, column in columns.items():
                if column.role == role != Role.OTHER:
                    columns[name] = replace(column, role=Role.OTHER, reason="", role_stated=False)
        assigned: dict[str, Role] = {}
        for role, names in roles.items():
            for name in names_list(names or ()):
                if assigned.get(name, role) != role:
                    raise SchemaError(
                        f'column "{name}" is given two roles, {_ROLE_WORDS[assigned[name]]} and {_ROLE_WORDS[role]}; '
                        "choose one"
                    )
                assigned[name] = role
                columns[name] = replace(columns[name], role=role, reason="given", role_stated=True)
        return columns

    def _with_time(self, columns: dict[str, Column], name: str) -> dict[str, Column]:
        """Return the columns with another time; a column with a role in which it is released keeps that role."""
        self[name]  # an unknown name is an error
        for other, column in columns.items():
            if column.role == Role.TIME and other != name:
                columns[other] = replace(column, role=Role.OTHER, reason="", role_stated=False)
            elif column.time:
                columns[other] = replace(column, time=False)
        released = columns[name].role_stated and columns[name].role != Role.TIME
        change: dict[str, Any] = {"time": True} if released else {"role": Role.TIME, "reason": "given"}
        columns[name] = replace(columns[name], **change, role_stated=True)
        return columns

    def explain(self) -> list[tuple[str, str, str, str]]:
        """Return name, role, kind and reason of each column, for a table on the screen."""
        return [(column.name, shown_role(column), str(column.kind), column.reason) for column in self.columns]

    def table(self, backend: str = "polars") -> Any:
        """Return name, role, kind and reason of each column as a DataFrame of a library, by default polars."""
        from shoal.tables.frames import data_frame

        return data_frame(("column", "role", "kind", "reason"), self.explain(), backend)


_ROLE_WORDS = {
    Role.IDENTIFIER: "an identifier",
    Role.UNIT: "the unit",
    Role.HOUSEHOLD: "the household",
    Role.TIME: "the time",
    Role.QUASI: "a quasi-identifier",
    Role.CONFIDENTIAL: "confidential",
    Role.OTHER: "other",
}


ROLE_OPTIONS = {
    "other": Role.OTHER,
    "quasi": Role.QUASI,
    "identifiers": Role.IDENTIFIER,
    "confidential": Role.CONFIDENTIAL,
}
"""The role of the columns that an option names."""


def role_of_option(name: str) -> Role:
    """Return the role that ``unnamed`` gives to columns.

    Examples
    --------
    >>> role_of_option("identifiers")
    <Role.IDENTIFIER: 'identifier'>
    """
    if str(name) not in ROLE_OPTIONS:
        raise ParameterError(f'unnamed="{name}" is not known; choose from: {", ".join(ROLE_OPTIONS)}')
    return ROLE_OPTIONS[name]


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


def _with_missing(columns: dict[str, Column], missing: str | Mapping[str, str] | None) -> dict[str, Column]:
    """Return the columns with policies by name; one policy for all is that of the schema."""
    if missing is None or isinstance(missing, str):
        return columns
    for name, text in missing.items():
        if name not in columns:
            raise UnknownColumn(name, columns)
        columns[name] = replace(columns[name], missing=choice(Missing, text, "missing"))
    return columns


def names_list(names: str | Iterable[str]) -> list[str]:
    """Return column names as a list; one text is one name.

    Examples
    --------
    >>> names_list("age")
    ['age']
    """
    return [names] if isinstance(names, str) else list(names)
