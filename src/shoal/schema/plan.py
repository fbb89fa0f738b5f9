"""A plan: all that determines a release, besides the table itself.

``Plan`` holds the schema, the requirements, the method with its options, and how numbers are released. The run file,
the manifest and the history of a study hold plans; the digest of a plan names its result.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from shoal.core.arguments import check_decimals, check_seed
from shoal.errors import ParameterError, suggestion
from shoal.schema.columns import Kind, Role, Schema
from shoal.schema.requirements import Of, PersonOptions, Requirements, check_person_plan

Decimals = int | Literal["input", "full"]
Sums = Literal["rounded", "exact"]
JsonDict = dict[str, Any]
"""What JSON holds: the values are plain, and nested as the writer states."""
PLAN_VERSION = 1


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read; what is None is detected.

    Parameters
    ----------
    delimiter
        The separator of fields.
    encoding
        The encoding.
    decimal
        The decimal separator, ``"."`` or ``","``.
    na_values
        Texts that mean a missing value besides the empty field, for example ``("NA", "?")``.
    sheet
        The sheet of an Excel workbook.
    query
        SQL query on a database.

    Examples
    --------
    >>> ReadOptions.of({"delimeter": ";"})
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no read option "delimeter"; did you mean "delimiter"?
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na_values: tuple[str, ...] = ()
    sheet: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        for name, example in (
            ("delimiter", '";"'),
            ("encoding", '"latin-1"'),
            ("decimal", '","'),
            ("sheet", '"people"'),
            ("query", '"SELECT ..."'),
        ):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value or "\0" in value):
                raise ParameterError(f"{name}={value!r} is not possible; write a text such as {example}")
        texts = self.na_values
        if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
            raise ParameterError(f'na_values={texts!r} is not possible; write texts such as ("NA", "?")')

    @classmethod
    def of(cls, options: Mapping[str, Any] | ReadOptions | None) -> ReadOptions:
        """Return the options of a mapping; an unknown name raises ParameterError."""
        if isinstance(options, ReadOptions):
            return options
        if options is not None and not isinstance(options, Mapping):
            raise ParameterError(f'read_options must be a mapping such as {{"delimiter": ";"}}, not {options!r}')
        given: dict[str, Any] = dict(options or {})
        names = [entry.name for entry in fields(cls)]
        for name in given:
            if name not in names:
                raise ParameterError(f'there is no read option "{name}"; {suggestion(name, names)}')
        texts = given.get("na_values")
        given["na_values"] = (
            (texts,) if isinstance(texts, str) else tuple(texts or ()) if isinstance(texts, Iterable | None) else texts
        )
        return cls(**given)

    def given(self) -> dict[str, Any]:
        """Return the options that are not left to detection."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class ResolvedMethod:
    """A method that ran, with all of its options, so that it can run again whatever ``auto`` would select then.

    Parameters
    ----------
    name
        Its registered name.
    version
        The version of the algorithm; None for methods whose results may change with any version of Shoal.
    options
        All of its options.
    reason
        Why it was selected, if another method selected it.
    blocks
        The numbers of the blocks (strata, missingness patterns) that it grouped, from 0; empty for all of them.

    Examples
    --------
    >>> ResolvedMethod("mdav", 1).identity
    'mdav@1'
    """

    name: str
    version: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    blocks: tuple[int, ...] = ()

    @property
    def identity(self) -> str:
        """The name with the version of the algorithm, or the name alone."""
        return self.name if self.version is None else f"{self.name}@{self.version}"


@dataclass(frozen=True)
class MethodCall:
    """A grouping method with its options.

    Parameters
    ----------
    name
        A registered name, or a function.
    options
        Options of the method.
    seed
        Seed of the random numbers.
    time_limit
        Seconds, or a text such as ``60s`` or ``5m``; None for no limit.
    resolved
        The methods that an earlier run resolved the call to; they run in its place. Empty to resolve it anew.

    Examples
    --------
    >>> MethodCall("auto", {"effort": "best"}, time_limit="5m").time_limit
    300.0
    """

    name: str | Callable[..., Any] = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float | None = None
    resolved: tuple[ResolvedMethod, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.name) and (not isinstance(self.name, str) or not self.name):
            raise ParameterError(
                f"a method is named by a text or given as a function, not by {type(self.name).__name__}"
            )
        object.__setattr__(self, "seed", check_seed(self.seed))
        if not isinstance(self.options, Mapping) or not all(isinstance(name, str) for name in self.options):
            raise ParameterError(f"options must be a mapping from names to values, not {type(self.options).__name__}")
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        if self.time_limit is not None:
            from shoal.core.deadline import seconds_of

            object.__setattr__(self, "time_limit", seconds_of(self.time_limit))

    def __reduce__(self) -> tuple[Any, ...]:
        return MethodCall, (self.name, dict(self.options), self.seed, self.time_limit, self.resolved)

    @property
    def text(self) -> str:
        """The name as text: a registered name, or module and name of a function."""
        if isinstance(self.name, str):
            return self.name
        from shoal.errors import function_name

        return function_name(self.name)


@dataclass(frozen=True)
class Plan:
    """All that determines a release of a given table.

    Parameters
    ----------
    schema
        Roles, kinds and treatment of the columns.
    requirements
        k and further requirements.
    method
        The grouping method with its options.
    decimals
        Decimals of released numbers: ``input`` (integer columns stay integers), a number, or ``full``.
    sums
        Totals of columns that are replaced by means: ``rounded`` or ``exact``.
    reading
        How the text file was read.
    persons
        How persons with several rows are grouped, where histories are counted or columns stay constant.
    keep_moments
        Move the representatives of numeric columns such that their means and covariances are those of the original.
    moment_bounds
        With ``keep_moments``: the smallest and the largest value that a column may get; without them those of the plain
        representatives.

    Examples
    --------
    >>> from shoal.schema.columns import Column, Kind, Role
    >>> plan = Plan(Schema((Column("age", Role.QUASI, Kind.NUMERIC),)), Requirements(k=5))
    >>> plan.digest() == plan.digest(), len(plan.digest())
    (True, 64)
    """

    schema: Schema
    requirements: Requirements
    method: MethodCall = field(default_factory=MethodCall)
    decimals: Decimals = "input"
    sums: Sums = "rounded"
    reading: ReadOptions = field(default_factory=ReadOptions)
    persons: PersonOptions = field(default_factory=PersonOptions)
    keep_moments: bool = False
    moment_bounds: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = (
            ("schema", Schema), ("requirements", Requirements), ("method", MethodCall), ("persons", PersonOptions),
        )  # fmt: skip
        for name, kind in kinds:
            if not isinstance(getattr(self, name), kind):
                raise ParameterError(
                    f"{name} of a plan must be a {kind.__name__}, not {type(getattr(self, name)).__name__}"
                )
        self.requirements.counting(self.schema)  # raises where the schema lacks what k counts
        check_person_plan(self.schema, self.requirements, self.persons)
        if self.by_persons and (self.method.name != "auto" or self.method.options or self.method.time_limit):
            asked = f'method "{self.method.text}"' if self.method.name != "auto" else "options of the method"
            histories = self.of == Of.HISTORIES
            reason, verb = ("of=histories", "needs") if histories else ("columns that stay constant", "need")
            raise ParameterError(
                f"{reason} {verb} groups of whole persons, which have a search of their own; leave out {asked}"
                f"{'' if self.method.name != 'auto' else ', effort and time limit'}"
            )
        check_decimals(self.decimals)
        if not (isinstance(self.sums, str) and self.sums in {"rounded", "exact"}):
            raise ParameterError(f"sums={self.sums!r} is not possible; choose rounded or exact")
        if not isinstance(self.keep_moments, bool):
            raise ParameterError(f"keep_moments={self.keep_moments!r} is not possible; choose true or false")
        object.__setattr__(self, "moment_bounds", self._checked_bounds())
        if self.keep_moments and self.by_persons:
            raise ParameterError(
                "keep_moments moves all columns of a row together, so it is not possible where columns stay constant "
                "within persons or k counts histories; leave out one of them"
            )

    def _checked_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of moved representatives as numbers by column."""
        if not isinstance(self.moment_bounds, Mapping):
            raise ParameterError(
                'moment_bounds must be a mapping from columns to two numbers, such as {"age": (0, 110)}'
            )
        if self.moment_bounds and not self.keep_moments:
            raise ParameterError("moment_bounds limit what keep_moments moves; request keep_moments, or leave them out")
        found = {}
        for name, ends in self.moment_bounds.items():
            column = self.schema[name]  # an unknown name is an error
            if column.role != Role.QUASI or column.kind != Kind.NUMERIC:
                raise ParameterError(f'moment_bounds name "{name}", which is no numeric quasi-identifier; leave it out')
            pair = tuple(ends) if isinstance(ends, Sequence) and not isinstance(ends, str) else ()
            real = [end for end in pair if type(end) is not bool and isinstance(end, numbers.Real)]
            if len(pair) != 2 or len(real) != 2 or not all(map(math.isfinite, real)) or pair[0] >= pair[1]:
                raise ParameterError(
                    f'the bounds of "{name}" must be two numbers, the smaller one first, such as 0 and 110'
                )
            found[name] = (float(pair[0]), float(pair[1]))
        return found

    @property
    def of(self) -> Of:
        """What k counts."""
        return self.requirements.counting(self.schema)

    @property
    def by_persons(self) -> bool:
        """Whether whole persons are grouped: k counts histories, or columns stay constant within persons."""
        return self.of == Of.HISTORIES or bool(self.schema.constant)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON; orders, hierarchies and mappings are included in full."""
        return {
            "version": PLAN_VERSION,
            "schema": schema_dict(self.schema),
            "requirements": requirements_dict(self.requirements),
            "method": {
                "name": self.method.text,
                "options": plain_value(self.method.options),
                "seed": self.method.seed,
                "time_limit": self.method.time_limit,
            },
            "decimals": self.decimals,
            "sums": self.sums,
            **({"keep_moments": True} if self.keep_moments else {}),
            **({"moment_bounds": plain_value(self.moment_bounds)} if self.moment_bounds else {}),
            "reading": plain_value(self.reading.given()),
            **({"persons": self.persons.given()} if self.persons.given() else {}),
        }

    def digest(self) -> str:
        """Return the SHA-256 of the plan as canonical JSON."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def requirements_dict(requirements: Requirements) -> dict[str, Any]:
    """Return the requirements that are requested, for JSON.

    Examples
    --------
    >>> requirements_dict(Requirements(k=5, l=2, l_kind="entropy"))
    {'k': 5, 'l': 2, 'l_kind': 'entropy'}
    """
    unused = set() if requirements.l is not None else {"l_kind"}
    return _stated(requirements, always={"k"}, never=unused)


def schema_dict(schema: Schema) -> dict[str, Any]:
    """Return a schema for JSON: all that determines a release, and not why a role was chosen."""
    columns = [
        _stated(column, always={"name", "role", "kind"}, never={"kind_stated", "role_stated", "reason"})
        for column in schema.columns
    ]
    stated = _stated(schema, always={"strata", "sampling_weight", "missing"}, never={"columns", "unnamed"})
    return {"columns": columns, **stated}


def _stated(value: Any, *, always: Collection[str], never: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, and those that are always stated, for JSON.

    Read from the dataclass, so that a field that is added there changes the digest of a plan as well.
    """
    return {
        entry.name: plain_value(getattr(value, entry.name))
        for entry in fields(value)
        if entry.init
        and entry.name not in never
        and (entry.name in always or getattr(value, entry.name) != entry.default)
    }


def plain_value(value: Any) -> Any:
    """Return a value as JSON holds it: enumerations as text, NumPy numbers as plain ones, trees as their paths.

    Examples
    --------
    >>> import numpy as np
    >>> plain_value({"k": np.int64(5), "names": ("a", "b")})
    {'k': 5, 'names': ['a', 'b']}
    """
    if isinstance(value, StrEnum | Path):
        return str(value)
    if hasattr(value, "stated_entries"):  # a statistic
        value = value.stated_entries()
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if hasattr(value, "labels") and hasattr(value, "parents"):  # a hierarchy
        return {"labels": list(value.labels), "parents": [int(parent) for parent in value.parents]}
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_value(item) for item in value]
    return value
