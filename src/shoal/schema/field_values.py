"""Dataclasses as plain values (texts, numbers, lists, mappings) and back, read from their fields and type hints.

A field that is added to a schema, to requirements or to a plan is stored and read without further code, if its type is
one of: ``bool``, ``int``, ``float``, ``str``, ``Path``, an enumeration of texts, ``Literal``, ``tuple[T, ...]``,
``Mapping[str, ...]``, a dataclass, ``Any`` (hierarchies and options), and unions of these. Any other type raises
TypeError when the field is stored, so that no field is lost.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from shoal.core.arguments import choice
from shoal.core.hierarchy import Hierarchy
from shoal.core.text import text_of
from shoal.errors import ParameterError, suggestion
from shoal.schema.statistic import Statistic

NO_VALUE = {"none": True}
"""What None inside a mapping or a list is stored as, because TOML has no word for it."""
_known: dict[type[Any], dict[str, tuple[Field[Any], Any]]] = {}
WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    Path: "the path of a file, as text",
}


def stored_fields(kind: type[Any]) -> dict[str, tuple[Field[Any], Any]]:
    """Return the fields of a dataclass that determine it, each with its type.

    Examples
    --------
    >>> from shoal.schema.plan import ReadOptions
    >>> list(stored_fields(ReadOptions))
    ['delimiter', 'encoding', 'decimal', 'na_values', 'sheet', 'query']
    """
    if kind not in _known:
        hints = get_type_hints(kind, localns={"Statistic": Statistic})
        _known[kind] = {field.name: (field, hints[field.name]) for field in fields(kind) if field.init}
    return _known[kind]


def to_plain(value: Any) -> Any:
    """Return a dataclass as plain values; a field that is None is left out.

    Examples
    --------
    >>> from shoal.schema.plan import ReadOptions
    >>> to_plain(ReadOptions(delimiter=";", na_values=("NA",)))
    {'delimiter': ';', 'na_values': ['NA']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: to_plain(getattr(value, name))
            for name in stored_fields(type(value))
            if _is_stated(value, name)
        }  # fmt: skip
    if isinstance(value, StrEnum | Path):
        return str(value)
    if isinstance(value, Hierarchy):
        return value.paths()
    if isinstance(value, Mapping):
        if dict(value) == NO_VALUE:
            raise ParameterError("a mapping with the only entry none=true cannot be stored in a file")
        return {text_of(key): to_plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return to_plain(value.tolist())
    if isinstance(value, bool | int | float | str):
        return value
    if value is None:
        return dict(NO_VALUE)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [to_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be stored in a file")


def _is_stated(value: Any, name: str) -> bool:
    """Return whether a field is stored: not if it is None, which must then be its default."""
    if getattr(value, name) is not None:
        return True
    if stored_fields(type(value))[name][0].default is not None:
        raise TypeError(f"{type(value).__name__}.{name} is None, which is not its default, and cannot be stored")
    return False


def from_plain(hint: Any, plain: Any, where: str) -> Any:
    """Return a value of a type from plain values; raises ParameterError with one sentence where they do not fit.

    Parameters
    ----------
    hint
        The type.
    plain
        What a file holds.
    where
        The key in the file, for errors.

    Examples
    --------
    >>> from shoal.schema.requirements import Requirements
    >>> from_plain(Requirements, {"k": 5, "t": 0.2}, "requirements").t
    0.2
    >>> from_plain(Requirements, {"k": "5"}, "requirements")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: requirements.k must be an integer, not a text
    >>> from_plain(Requirements, {"kk": 5}, "requirements")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: requirements has an unknown entry "kk"; did you mean "k"?
    """
    accepted = [(part, reader) for part in _alternatives(hint) for reader in [_reader(part)] if reader[0](plain)]
    if not accepted:
        wanted = " or ".join(dict.fromkeys(_words(part) for part in _alternatives(hint)))
        found = _kind_of(plain)
        raise ParameterError(f"{where} must be {wanted}, not {found}")
    part, (_, read) = accepted[0]
    return read(part, plain, where)


def _alternatives(hint: Any) -> list[Any]:
    """Return the types of a union that can be stored; an enumeration takes the place of text beside it."""
    parts = list(get_args(hint)) if get_origin(hint) in {Union, types.UnionType} else [hint]
    parts = [part for part in parts if part is not type(None) and not _is_callable(part)]
    chosen = [part for part in parts if _is_enumeration(part) or get_origin(part) is Literal]
    return [part for part in parts if not (part is str and chosen)]


def _is_callable(hint: Any) -> bool:
    return get_origin(hint) is Callable or hint is Callable


def _is_enumeration(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, StrEnum)


def _reader(hint: Any) -> tuple[Callable[[Any], bool], Callable[[Any, Any, str], Any]]:
    """Return what a type accepts, and how it is read."""
    form = get_origin(hint) or hint
    if is_dataclass(hint):
        form = "dataclass"
    elif _is_enumeration(hint):
        form = StrEnum
    if form not in _READERS:
        raise TypeError(f"a field of the type {hint} cannot be stored in a file")
    return _READERS[form]


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda plain: isinstance(plain, kinds) and (bool in kinds or not isinstance(plain, bool))


def _as_it_is(_: Any, plain: Any, __: str) -> Any:
    return plain


def _read_literal(hint: Any, plain: str, where: str) -> str:
    allowed = [str(text) for text in get_args(hint)]
    if plain not in allowed:
        raise ParameterError(f'{where}="{plain}" is not known; {suggestion(plain, allowed)}')
    return plain


def _read_tuple(hint: Any, plain: list[Any], where: str) -> tuple[Any, ...]:
    inside = get_args(hint)[0]
    return tuple(from_plain(inside, item, f"{where}[{position + 1}]") for position, item in enumerate(plain))


def _read_dataclass(kind: type[Any], plain: dict[str, Any], where: str) -> Any:
    return kind(**read_fields(kind, plain, where))


def read_fields(kind: type[Any], plain: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a dataclass by name; an unknown entry or a missing one raises ParameterError."""
    known = stored_fields(kind)
    for name in plain:
        if name not in known:
            place = where or "the file"
            raise ParameterError(f'{place} has an unknown entry "{name}"; {suggestion(name, sorted(known))}')
    for name, (field, _) in known.items():
        if name not in plain and field.default is MISSING and field.default_factory is MISSING:
            raise ParameterError(f'{where or "the file"} has no entry "{name}", which is needed')
    prefix = f"{where}." if where else ""
    return {name: from_plain(known[name][1], item, f"{prefix}{name}") for name, item in plain.items()}


def _restored(plain: Any) -> Any:
    """Return a value of any type as it was before :func:`to_plain`, up to the type of lists."""
    if isinstance(plain, dict):
        if plain == NO_VALUE:
            return None
        return {name: _restored(item) for name, item in plain.items()}
    return [_restored(item) for item in plain] if isinstance(plain, list) else plain


def _read_any(_: Any, plain: Any, __: str) -> Any:
    return _restored(plain)


_READERS: Mapping[Any, tuple[Callable[[Any], bool], Callable[[Any, Any, str], Any]]] = {
    Any: (lambda _: True, _read_any),
    "dataclass": (_is(dict), _read_dataclass),
    StrEnum: (_is(str), choice),
    Literal: (_is(str), _read_literal),
    tuple: (_is(list), _read_tuple),
    Mapping: (_is(dict), _read_any),
    dict: (_is(dict), _read_any),
    float: (_is(int, float), _as_it_is),
    int: (_is(int), _as_it_is),
    str: (_is(str), _as_it_is),
    bool: (_is(bool), _as_it_is),
    Path: (lambda plain: isinstance(plain, str) and bool(plain), lambda _, plain, __: Path(plain)),
}
"""For each type what a file may hold, and how it becomes a value: from the type, what the file holds, and the key."""


def _words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(f'"{text}"' for text in get_args(hint))
    if is_dataclass(hint) or get_origin(hint) in {Mapping, dict}:
        return "a table"
    if get_origin(hint) is tuple:
        return "a list"
    return WORDS.get(hint, "a text")


def _kind_of(plain: Any) -> str:
    if plain in ("", []):
        return "an empty text" if plain == "" else "an empty list"
    return {**WORDS, list: "a list", dict: "a table"}.get(type(plain), "a date or time")
