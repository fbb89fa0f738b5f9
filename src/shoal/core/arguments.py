"""Checks of the arguments of public functions, by their names.

An argument of a name means the same in all functions, so its check is written once: :data:`CHECKS` lists them, and
:func:`checked` applies them before a function starts. What depends on the table, such as whether a column exists, is
checked where the table is read.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from shoal.errors import ParameterError, WrongArguments, suggestion

LARGEST_SEED = 2**63 - 1

E = TypeVar("E", bound=StrEnum)


def choice(kind: type[E], text: str, option: str) -> E:
    """Return the member of an enumeration, or raise an error that lists what is allowed.

    Examples
    --------
    >>> class Size(StrEnum):
    ...     SMALL = "small"
    ...     LARGE = "large"
    >>> choice(Size, "smal", "size")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: size="smal" is not known; did you mean "small"?
    """
    try:
        return kind(text)
    except ValueError:
        hint = suggestion(str(text), [str(member) for member in kind])
        raise ParameterError(f'{option}="{text}" is not known; {hint}') from None


def check_seed(seed: Any) -> int:
    """Return a seed as an integer, or raise an error.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: seed=-1 is not possible; choose an integer from 0 to 9223372036854775807
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or not 0 <= int(seed) <= LARGEST_SEED:
        raise ParameterError(f"seed={seed!r} is not possible; choose an integer from 0 to {LARGEST_SEED}")
    return int(seed)


def check_decimals(decimals: Any) -> None:
    """Raise an error for decimals other than ``input``, ``full`` and 0 to 15.

    Examples
    --------
    >>> check_decimals(16)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: decimals=16 is not possible; choose input, full or 0 to 15
    """
    number = isinstance(decimals, int) and not isinstance(decimals, bool) and 0 <= decimals <= 15
    if not number and not (isinstance(decimals, str) and decimals in {"input", "full"}):
        raise ParameterError(f"decimals={decimals!r} is not possible; choose input, full or 0 to 15")


def check_size(number: Any, option: str) -> None:
    """Raise an error for a number of records or columns that is no integer of at least 1.

    Examples
    --------
    >>> check_size(0, "n")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: n=0 is not possible; choose an integer of at least 1
    """
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 1:
        raise ParameterError(f"{option}={number!r} is not possible; choose an integer of at least 1")


P = ParamSpec("P")
T = TypeVar("T")
Check = Callable[[str, Any], None]


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that checks its arguments by name before it runs.

    Examples
    --------
    >>> @checked
    ... def protect(data, k, *, quasi=None):
    ...     return quasi
    >>> protect([], 3, quasi=5)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: quasi must be a name or a list of names, not 5
    >>> protect([], 3, quais=["age"])
    Traceback (most recent call last):
        ...
    shoal.errors.WrongArguments: protect has no argument "quais"; did you mean "quasi"?
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        signature = _signature(function)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise WrongArguments(_mismatch(function, kwargs, str(problem))) from None
        for name, value in given.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                for key, item in value.items():
                    _check(key, item, None)
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                _check(name, value, parameter.default)
        return function(*args, **kwargs)

    return run


def check_arguments(**given: Any) -> None:
    """Check some arguments by name, for a function in which another argument of the list has its own meaning.

    Examples
    --------
    >>> check_arguments(seed=-1)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: seed=-1 is not possible; choose an integer from 0 to 9223372036854775807
    """
    for name, value in given.items():
        CHECKS[name](name, value)


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _check(name: str, value: Any, default: Any) -> None:
    if name in CHECKS and not (value is None and default is None):
        CHECKS[name](name, value)


def _mismatch(function: Callable[..., Any], given: Mapping[str, Any], problem: str) -> str:
    """Return in words which argument is unknown, missing or given twice."""
    parameters = [name for name in _signature(function).parameters if name != "self"]
    unknown = [name for name in given if name not in parameters]
    if unknown and "unexpected" in problem:
        return f'{function.__name__} has no argument "{unknown[0]}"; {suggestion(unknown[0], parameters)}'
    return f"{function.__name__}: {problem}"


def check_language(name: str, value: Any) -> None:
    """Raise an error unless a value is one of :data:`shoal.core.languages.LANGUAGES`.

    Examples
    --------
    >>> check_language("language", "deutsch")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: language="deutsch" is not known; choose from: en, de
    """
    if value == "en":  # the language of the source
        return
    from shoal.core.languages import LANGUAGES

    if value not in LANGUAGES:
        raise ParameterError(f'{name}="{value}" is not known; {suggestion(str(value), LANGUAGES)}')


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating | numbers.Real) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_real(value) and not math.isnan(value)


def _a(words: str, *kinds: type) -> Check:
    """Return a check that a value is of one of some types."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ParameterError(f"{name} must be {words}, not {_shown(value)}")

    return check


def _named(*kinds: str, source: str) -> Check:
    """Return a check that a value is of a class of this name, which a layer above defines."""

    def check(name: str, value: Any) -> None:
        if not any(base.__name__ in kinds for base in type(value).__mro__):
            raise ParameterError(f"{name} must be {source}, not {_shown(value)}")

    return check


def _shown(value: Any) -> str:
    """Return a wrong value in words; contents of tables and lists are not shown."""
    if isinstance(value, str) and not value:
        return "an empty text"
    return repr(value) if value is None or isinstance(value, bool | int | float) else type(value).__name__


def _names(name: str, value: Any) -> None:
    is_list = isinstance(value, Iterable) and not isinstance(value, Mapping | bytes)
    if not is_list:
        raise ParameterError(f"{name} must be a name or a list of names, not {_shown(value)}")
    wrong = [] if isinstance(value, str) else [entry for entry in value if not isinstance(entry, str)]
    if wrong:
        raise ParameterError(f"{name} must be a list of names, and one entry is {_shown(wrong[0])}")


def _mapping(example: str, accepts: Callable[[Any], bool]) -> Check:
    """Return a check that a value is a mapping from names to values that are accepted."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise ParameterError(f"{name} must be a mapping such as {example}, not {_shown(value)}")
        for key, entry in value.items():
            if not isinstance(key, str):
                raise ParameterError(f"{name} must be a mapping from names such as {example}; {_shown(key)} is no name")
            if not accepts(entry):
                raise ParameterError(f'{name}["{key}"] must be as in {example}, not {_shown(entry)}')

    return check


def _is_order(value: Any) -> bool:
    return (
        isinstance(value, Iterable)
        and not isinstance(value, str | bytes | Mapping)
        and len(entries := list(value)) > 0
        and all(isinstance(entry, str | int | float) for entry in entries)
    )


def _is_hierarchy(value: Any) -> bool:
    return isinstance(value, str | Path | Mapping) or type(value).__name__ == "Hierarchy"


def _missing(name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        _mapping('{"age": "fill"}', _is_text)(name, value)
    elif not isinstance(value, str):
        raise ParameterError(f"{name} must be a text such as fill, or a mapping of columns, not {_shown(value)}")


def _recode(name: str, value: Any) -> None:
    if not isinstance(value, str):
        _mapping('{"age": "median"}', _is_text)(name, value)


def _progress(name: str, value: Any) -> None:
    if not all(callable(getattr(value, part, None)) for part in ("stage", "advance", "note")):
        raise ParameterError(f"{name} must be a shoal.Progress, not {_shown(value)}")


def _method(name: str, value: Any) -> None:
    if not isinstance(value, str) and not callable(value) and type(value).__name__ != "MethodInfo":
        raise ParameterError(f"{name} must be the name of a method or a function, not {_shown(value)}")


def _methods(name: str, value: Any) -> None:
    if not isinstance(value, str) and not callable(value):
        if not isinstance(value, Sequence) or isinstance(value, bytes) or not value:
            raise ParameterError(f'{name} must be a list of methods such as ["mdav"], not {_shown(value)}')
        for entry in value:
            _method(name, entry)


def _between(low: float, high: float, words: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not _is_number(value) or not low <= value <= high:
            raise ParameterError(f"{name}={_shown(value)} is not possible; choose {words}")

    return check


def _positive(name: str, value: Any) -> None:
    if not _is_number(value) or not 0 < value < math.inf:
        raise ParameterError(f"{name} must be a number above 0, not {_shown(value)}")


def _count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be an integer of at least 1, not {_shown(value)}")


def _path(name: str, value: Any) -> None:
    if not isinstance(value, str | Path) or not str(value):
        raise ParameterError(f"{name} must be the path of a file, not {_shown(value)}")


def _time_limit(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, str | numbers.Real):
        raise ParameterError(f"{name} must be seconds or a text such as 60s, not {_shown(value)}")


def _seed(_: str, value: Any) -> None:
    check_seed(value)


def _decimals(_: str, value: Any) -> None:
    if not isinstance(value, Mapping):  # shoal.dp.release has decimals for each column
        check_decimals(value)


def _sums(_: str, value: Any) -> None:
    if not isinstance(value, str) or value not in {"rounded", "exact"}:
        raise ParameterError(f"sums={_shown(value)} is not possible; choose rounded or exact")


_TEXT = _a("a text", str)
_FLAG = _a("True or False", bool, np.bool_)


def _name(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be the name of a column, not {_shown(value)}")


CHECKS: dict[str, Check] = {
    **dict.fromkeys(("quasi", "confidential", "identifiers", "other", "strata", "columns"), _names),
    **dict.fromkeys(("sampling_weight", "target", "unit", "household", "time"), _name),
    **dict.fromkeys(("effort", "confidential_as", "missing_semantics", "l_kind", "mechanism", "unnamed"), _TEXT),
    **dict.fromkeys(
        (
            "global_recoding",
            "contributions",
            "special_uniques",
            "standardise",
            "public",
            "read_identifiers",
            "overwrite",
        ),
        _FLAG,
    ),
    "kinds": _mapping('{"zip": "nominal"}', _is_text),
    "orders": _mapping('{"education": ["low", "high"]}', _is_order),
    "column_weights": _mapping('{"age": 2.0}', _is_real),
    "hierarchies": _mapping('{"job": "jobs.csv"}', _is_hierarchy),
    "options": _mapping('{"effort": "best"}', lambda _: True),
    "recode": _recode,
    "missing": _missing,
    "not_applicable": _mapping('{"wage": ["-1"]}', lambda codes: isinstance(codes, str | list | tuple)),
    "method": _method,
    "methods": _methods,
    "schema": _named("Schema", "str", "Path", source="a shoal.Schema, the path of a schema file or TOML text"),
    "progress": _progress,
    "seed": _seed,
    "language": check_language,
    "decimals": _decimals,
    "sums": _sums,
    "max_size": _count,
    "threshold": _between(0, 1, "a number from 0 to 1"),
    "width": _positive,
    "sample": _count,
    "time_limit": _time_limit,
    **dict.fromkeys(("path", "report", "public_report", "manifest", "run_file"), _path),
    "run": _named("RunFile", source="a shoal.RunFile, as shoal.load_run returns it"),
    "table": _named("Table", source="a table as shoal.load_table returns it"),
    "encoding": _named("Encoding", source="an encoding as shoal.fit_encoding returns it"),
    "prepared": _named("Prepared", source="what shoal.prepare returns"),
    "grouped": _named("Grouped", source="what shoal.group_records returns"),
    "recoded": _named("Recoded", source="what shoal.recode_table returns"),
    "plan": _named("Plan", source="a shoal.Plan"),
    "requirements": _named("Requirements", source="a shoal.Requirements"),
    "call": _named("MethodCall", source="a shoal.MethodCall"),
}
"""The check of each argument by name; values that are None where None is the default are not checked."""
