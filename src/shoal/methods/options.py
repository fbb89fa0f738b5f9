"""Options of methods, read from the type hints of a function and checked in one place; texts of shared parameters.

Supported hints: ``bool``, ``int``, ``float``, ``str``, ``Literal``, ``T | None``, ``Sequence[T]``, ``Mapping[str, T]``,
unions of these, and ``Annotated[T, Range(low, high)]``. Any other hint is an error when the method is registered.

On a command line a list is written ``a,b``, a mapping ``a=1,b=2``, and ``none`` stands for no value where the option
allows that.

A docstring of a method describes its own options only. The sections on data, k, common inputs and the return value are
the same everywhere; the decorator :func:`shoal.methods.registry.method` adds them.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np

from shoal.errors import ParameterError, suggestion
from shoal.methods.contract import OptionValue

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Range:
    """The numbers that an option may take; an end that is None is open, ``above`` excludes the lower end.

    Examples
    --------
    >>> str(Range(1)), str(Range(0, 1)), str(Range(above=0))
    ('at least 1', 'from 0 to 1', 'above 0')
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None

    def holds(self, number: float) -> bool:
        """Return whether a number is within the range."""
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and (self.above is None or number > self.above)
        )

    def __str__(self) -> str:
        if self.above is not None:
            return f"above {self.above:g}" + ("" if self.high is None else f" and at most {self.high:g}")
        if self.low is None:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high is None else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Kind:
    """One type that an option's value may have."""

    base: Literal["bool", "int", "float", "str", "choice", "list", "mapping"]
    choices: tuple[str, ...] = ()
    range: Range | None = None
    items: tuple[Kind, ...] = ()

    def __str__(self) -> str:
        items = " or ".join(map(str, self.items))
        words = {
            "bool": "true or false", "int": "an integer", "float": "a number", "str": "a text",
            "choice": f"one of {', '.join(self.choices)}", "list": f"a list ({items}, separated by commas)",
            "mapping": f"a mapping (name=value; {items})",
        }  # fmt: skip
        return words[self.base] + (f" {self.range}" if self.range else "")


@dataclass(frozen=True)
class Option:
    """A keyword of a method: its name, default and the values it may take.

    Parameters
    ----------
    name
        The keyword.
    default
        Its value if not given.
    kinds
        The types that it may have.
    optional
        Whether None is allowed.

    Examples
    --------
    >>> read_option("gamma", float, 1.0).parse("1.1")
    1.1
    >>> read_option("precision", Literal["double", "single"], "double").check("singel")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: option precision="singel" is not possible; choose one of double, single; ...
    """

    name: str
    default: OptionValue
    kinds: tuple[Kind, ...]
    optional: bool = False

    def check(self, value: Any) -> OptionValue:
        """Return the value as a plain Python value, or raise if the option cannot have it."""
        if value is None and self.optional:
            return None
        for kind in self.kinds:
            accepted, plain = _accepted(kind, value)
            if accepted:
                return plain
        raise ParameterError(self._refusal(value))

    def parse(self, text: str) -> OptionValue:
        """Return the value that a text on the command line stands for."""
        if self.optional and text.casefold() in {"none", ""}:
            return None
        for kind in self.kinds:
            try:
                value = _parsed(kind, text)
            except ValueError:
                continue
            accepted, plain = _accepted(kind, value)
            if accepted:
                return plain
        raise ParameterError(self._refusal(text))

    def _refusal(self, value: Any) -> str:
        shown = f'"{value}"' if isinstance(value, str) else repr(value)
        choices = [choice for kind in self.kinds for choice in kind.choices]
        close = suggestion(value, choices) if isinstance(value, str) and choices else ""
        hint = f"; {close}" if close.startswith("did you mean") else ""
        return f"option {self.name}={shown} is not possible; choose {self.type_text}{hint}"

    @property
    def type_text(self) -> str:
        """The values that are allowed, in words."""
        return " or ".join([*map(str, self.kinds), *(["none"] if self.optional else [])])


def read_option(name: str, hint: Any, default: Any) -> Option:
    """Return the option that a type hint describes, or raise TypeError if the hint is not supported."""
    kinds, optional = _kinds(hint, name)
    return Option(name, default, tuple(kinds), optional)


def _kinds(hint: Any, name: str) -> tuple[list[Kind], bool]:
    if hint is type(None) or hint is None:
        return [], True
    if get_origin(hint) in {Union, types.UnionType}:
        found = [_kinds(part, name) for part in get_args(hint)]
        kinds = [kind for part, _ in found for kind in part]
        # bool before int before float before text, so that a text on the command line becomes the narrowest type
        rank = ["bool", "choice", "int", "float", "list", "mapping", "str"]
        return sorted(kinds, key=lambda kind: rank.index(kind.base)), any(optional for _, optional in found)
    if get_origin(hint) is Annotated:
        base, *extras = get_args(hint)
        kinds, optional = _kinds(base, name)
        limits = [extra for extra in extras if isinstance(extra, Range)]
        return [Kind(k.base, k.choices, limits[0] if limits else k.range, k.items) for k in kinds], optional
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        texts = tuple(choice for choice in choices if isinstance(choice, str))
        return [Kind("choice", texts)], None in choices
    if get_origin(hint) in {Sequence, list, tuple}:
        items = [part for part in get_args(hint) if part is not ...]
        return [Kind("list", items=tuple(_kinds(items[0] if items else str, name)[0]))], False
    if get_origin(hint) in {Mapping, dict}:
        return [Kind("mapping", items=tuple(_kinds(get_args(hint)[1], name)[0]))], False
    bases: dict[Any, Kind] = {bool: Kind("bool"), int: Kind("int"), float: Kind("float"), str: Kind("str")}
    if hint in bases:
        return [bases[hint]], False
    raise TypeError(f'option "{name}" has the type hint {hint!r}, which options cannot have')


def _accepted(kind: Kind, value: Any) -> tuple[bool, OptionValue]:
    """Return whether a value is of a kind, and the value as a plain Python value."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind.base in {"int", "float"}:
        return _accepted_number(kind, value)
    if kind.base == "bool":
        return isinstance(value, bool), value
    if kind.base in {"str", "choice"}:
        return isinstance(value, str) and (kind.base == "str" or value in kind.choices), value
    if kind.base == "list":
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence | np.ndarray):
            return False, None
        items = [_accepted_by_any(kind.items, item) for item in value]
        return all(ok for ok, _ in items), tuple(item for _, item in items)
    if not isinstance(value, Mapping):
        return False, None
    entries = {str(key): _accepted_by_any(kind.items, item) for key, item in value.items()}
    return all(ok for ok, _ in entries.values()), {key: item for key, (_, item) in entries.items()}


def _accepted_number(kind: Kind, value: Any) -> tuple[bool, OptionValue]:
    types = int if kind.base == "int" else int | float
    number = isinstance(value, types) and not isinstance(value, bool) and not np.isnan(value)
    fits = number and (kind.range is None or kind.range.holds(value))
    return fits, (value if kind.base == "int" else float(value)) if fits else None


def _accepted_by_any(kinds: tuple[Kind, ...], value: Any) -> tuple[bool, OptionValue]:
    results = [_accepted(kind, value) for kind in kinds]
    return next((result for result in results if result[0]), (False, None))


def _parsed(kind: Kind, text: str) -> Any:
    if kind.base == "bool":
        if text.casefold() not in _BOOLEANS:
            raise ValueError(text)
        return _BOOLEANS[text.casefold()]
    if kind.base == "int":
        return int(text)
    if kind.base == "float":
        return float(text)
    if kind.base == "list":
        return [_parsed_by_any(kind.items, part.strip()) for part in text.split(",") if part.strip()]
    if kind.base == "mapping":
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(sign for _, sign, _ in pairs):
            raise ValueError(text)
        return {name.strip(): _parsed_by_any(kind.items, value.strip()) for name, _, value in pairs}
    return text


def _parsed_by_any(kinds: tuple[Kind, ...], text: str) -> Any:
    for kind in kinds:
        try:
            return _parsed(kind, text)
        except ValueError:
            continue
    raise ValueError(text)


SHARED = {
    "points": "Standardised coordinates of the records, float64, n x d.",
    "values": "The numbers of one column, float64.",
    "codes": "Categories as integers from 0 on, int32, one row per record and one column per attribute.",
    "labels": "The group number of each record.",
    "k": "Minimum group size.",
    "seed": "Seed of the random numbers.",
    "max_size": "Maximum group size; None for no limit.",
    "time_limit": "Seconds after which the best result so far is returned; the groups then depend on the machine.",
    "column_weights": "Weight of each column in distances.",
    "record_weights": "Sampling weight of each record.",
    "mixed": "One column per attribute: standardised numbers, or codes of categories where ``nominal`` is true.",
    "nominal": "Which columns hold codes; None for none.",
    "column_costs": "What replaces the values of each column; None for means and modes.",
    "units": "Unit (person) of each record.",
    "observed": "Mask of the cells that are known, n x d.",
    "progress": "Progress callback.",
}
RETURNS = "labels\n    The group number of each record."
RETURNS_OUTCOME = "outcome\n    Labels with diagnostics; see :class:`shoal.Outcome`."
_SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)


def completed_docstring(function: Callable[..., Any]) -> str:
    """Return the docstring of a function with the texts of shared parameters and of the return value added.

    Examples
    --------
    >>> def group(points, k, *, rounds=3):
    ...     '''Group records.'''
    >>> completed_docstring(group).splitlines()[2:6]
    ['Parameters', '----------', 'points', '    Standardised coordinates of the records, float64, n x d.']
    """
    doc = inspect.cleandoc(function.__doc__ or "")
    sections = _sections(doc)
    own = _entries(sections.get("Parameters", ""))
    entries = []
    named = {name.strip() for entry in own for name in entry.split(",")}
    for name in inspect.signature(function).parameters:
        if name in named:
            entry = next((entry for entry in own if name in {part.strip() for part in entry.split(",")}), None)
            if entry is not None:
                entries.append(f"{entry}\n{own.pop(entry)}")
        elif name in SHARED:
            entries.append(f"{name}\n    {SHARED[name]}")
    entries += [f"{entry}\n{text}" for entry, text in own.items()]
    sections["Parameters"] = "\n".join(entries)
    returns = str(inspect.signature(function).return_annotation)
    sections.setdefault("Returns", RETURNS_OUTCOME if "Outcome" in returns else RETURNS)
    order = ["Parameters", "Returns", *(name for name in sections if name not in {"", "Parameters", "Returns"})]
    body = [f"{name}\n{'-' * len(name)}\n{sections[name].strip(chr(10))}" for name in order if sections[name]]
    return "\n\n".join([sections[""].strip(), *body])


def _sections(doc: str) -> dict[str, str]:
    """Return the text before the first section under the empty name, and each section under its own."""
    found = list(_SECTION.finditer(doc))
    ends = [match.start() for match in found[1:]] + [len(doc)]
    sections = {"": doc[: found[0].start()] if found else doc}
    for match, end in zip(found, ends, strict=False):
        sections[match[1]] = doc[match.end() : end].strip("\n")
    return sections


def _entries(text: str) -> dict[str, str]:
    """Return the entries of a section of parameters: the line of names, and the indented text below it."""
    entries: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = line.strip()
            entries[name] = ""
        elif name:
            entries[name] = f"{entries[name]}\n{line}" if entries[name] else line
    return entries
