"""The registry: every grouping method with its description.

``@method("name", ...)`` registers a plain function (see ``contract``). The command line, the documentation and
``compare`` read only the registry, so a new built-in method is one new file, named after the method. Other packages
register theirs with the same decorator, or through the entry-point group ``shoal.methods``; a callable is accepted
wherever a name is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal, TypeVar, get_args, get_type_hints

import numpy as np

from shoal.errors import ParameterError, function_name, suggestion
from shoal.methods import MODULES
from shoal.methods.contract import INJECTED, AsMethodUsed, DataKind, Guarantee, Labels, Outcome, sizes_in_words
from shoal.methods.options import Option, completed_docstring, read_option

F = TypeVar("F", bound=Callable[..., Labels | Outcome])
Storage = Literal["float64", "float32"]
ENTRY_POINTS = "shoal.methods"

_methods: dict[str, dict[DataKind, MethodInfo]] = {}


@dataclass(frozen=True)
class MethodInfo:
    """A grouping method and what users have to know about it.

    Parameters
    ----------
    name
        The name users type.
    function
        ``f(points, k, **options)``, which returns labels or an :class:`~shoal.methods.contract.Outcome`.
    data
        What it reads: ``points`` (float64, n x d), ``values`` (one column of numbers), ``codes`` (int32, n x m) or
        ``mixed`` (numbers beside codes).
    title
        One line: what it does.
    complexity
        Time as a formula in n, d and k.
    reference
        Paper and section.
    when
        When to use it.
    options
        Its options by name.
    injected
        The common inputs that the function declares.
    max_size
        The largest group for a given k, if the method guarantees one.
    represents
        Whether the method selects a representative record of each group.
    frequencies
        Whether a record that keeps frequency tables represents each group of categories unless something else is
        stated; always so if the method selects representatives.
    proves
        The objective for which it proves a lower bound, if any.
    float32
        Whether it reads matrices of float32 as they are (and computes in float64); it then has an option ``storage``.
    version
        The version of the algorithm if the method is supported: its results for a given version never change. None
        for research methods, whose results may change with any release.
    guarantees
        What holds for every result beside the sizes; a property test checks each.
    built_in
        Whether the method is part of Shoal.
    """

    name: str
    function: Callable[..., Labels | Outcome]
    data: DataKind
    title: str
    complexity: str
    reference: str
    when: str
    options: Mapping[str, Option]
    injected: frozenset[str]
    max_size: Callable[[int], int] | None = None
    represents: bool = False
    frequencies: bool = False
    proves: str | None = None
    float32: bool = False
    version: int | None = None
    guarantees: tuple[Guarantee, ...] = ()
    built_in: bool = True

    @property
    def guarantee(self) -> str:
        """What is guaranteed about sizes and loss, in words."""
        own = (
            []
            if any(isinstance(stated, AsMethodUsed) for stated in self.guarantees)
            else [sizes_in_words(self.max_size)]
        )
        proven = [] if self.proves is None else [f"a proven bound on the {self.proves} where the result states one"]
        return "; ".join([*own, *(stated.text for stated in self.guarantees), *proven])

    @property
    def supported(self) -> bool:
        """Whether the results of the method are frozen for a major version of Shoal."""
        return self.version is not None

    @property
    def identity(self) -> str:
        """The name with the version of the algorithm, ``mdav@1``, or the name alone for research methods."""
        return self.name if self.version is None else f"{self.name}@{self.version}"

    @property
    def seeded(self) -> bool:
        """Whether the method uses random numbers."""
        return "seed" in self.injected

    def dtype(self, storage: str = "float64") -> type[np.generic]:
        """Return the type of number that the method reads.

        Examples
        --------
        >>> get_method("mona-plus").dtype("float32")
        <class 'numpy.float32'>
        """
        if self.data == "codes":
            return np.int32
        return np.float32 if storage == "float32" else np.float64

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with checked values; an unknown name or a wrong value raises ParameterError."""
        checked = {}
        for name, value in options.items():
            if name in INJECTED:
                raise ParameterError(
                    f'"{name}" is not an option of a method; give it as {name}= (command line: '
                    f"--{name.replace('_', '-')})"
                )
            if name not in self.options:
                raise ParameterError(f'method "{self.name}" has no option "{name}"; {suggestion(name, self.options)}')
            checked[name] = self.options[name].check(value)
        return checked


def method(
    name: str,
    *,
    title: str,
    complexity: str = "not stated",
    reference: str = "-",
    when: str = "not stated",
    max_size: Callable[[int], int] | None = None,
    represents: bool = False,
    frequencies: bool = False,
    proves: str | None = None,
    float32: bool = False,
    version: int | None = None,
    guarantees: Sequence[Guarantee] = (),
) -> Callable[[F], F]:
    """Register a function as a grouping method.

    The first parameter of the function must be called ``points``, ``values``, ``codes`` or ``mixed``, the second
    ``k``; its keyword-only parameters are the options of the method, read from their type hints. Registering a function
    of the same module and name again replaces it; a name that another function has raises ParameterError.

    Parameters
    ----------
    name
        The name users type.
    title
        One line: what it does.
    complexity
        Time as a formula in n, d and k.
    reference
        Paper and section.
    when
        When to use it.
    max_size
        The largest group for a given k, if the method guarantees one.
    represents
        Whether it returns representatives.
    frequencies
        Whether groups of categories are represented by records that keep frequency tables, unless stated otherwise.
    proves
        The objective for which it proves a lower bound.
    float32
        Whether it reads matrices of float32.
    version
        The version of the algorithm, if its results are frozen.
    guarantees
        What holds for every result beside the sizes: see ``shoal.methods.contract``.

    Returns
    -------
    decorator
        A decorator that registers the function and returns it unchanged, its docstring completed with the texts of
        shared parameters.

    Examples
    --------
    >>> import numpy as np, shoal
    >>> @shoal.method("halves", title="The lower and the upper half of the first column")
    ... def halves(points, k):
    ...     '''Cut at the median of the first column.'''
    ...     return (np.argsort(np.argsort(points[:, 0])) >= len(points) // 2).astype(np.int64)
    >>> shoal.group([[0.0], [9.0], [1.0], [8.0]], k=2, method="halves")
    array([0, 1, 0, 1])
    """

    def register(function: F) -> F:
        info = describe(
            function, name, title=title, complexity=complexity, reference=reference, when=when,
            max_size=max_size, represents=represents, frequencies=represents or frequencies,
            proves=proves, float32=float32, version=version, guarantees=tuple(guarantees),
        )  # fmt: skip
        present = _methods.get(name, {}).get(info.data)
        if present is not None and function_name(present.function) != function_name(function):
            raise ParameterError(
                f'the name "{name}" belongs to the method {function_name(present.function)}; choose another name for '
                f"{function_name(function)}"
            )
        if MODULES.get(name, info.function.__module__) != info.function.__module__:
            raise ParameterError(f'the name "{name}" belongs to a built-in method; choose another name')
        if "Parameters" in (function.__doc__ or "") or info.built_in:
            function.__doc__ = completed_docstring(function)
        _methods.setdefault(name, {})[info.data] = info
        return function

    return register


def describe(function: Callable[..., Any], name: str, **description: Any) -> MethodInfo:
    """Return the description of a function as a method: what it reads, its options and inputs, from its signature."""
    parameters = inspect.signature(function).parameters
    names = list(parameters)
    if not names or names[0] not in get_args(DataKind):
        raise ParameterError(
            f"the first parameter of {function_name(function)} must be points, values, codes or mixed (what it reads)"
        )
    if len(names) < 2 or names[1] != "k":
        raise ParameterError(f"the second parameter of {function_name(function)} must be k")
    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter
        for parameter in parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in INJECTED
    ]
    options = {}
    for parameter in own:
        if parameter.default is inspect.Parameter.empty:
            raise ParameterError(f'option "{parameter.name}" of {function_name(function)} needs a default value')
        try:
            options[parameter.name] = read_option(parameter.name, hints.get(parameter.name, str), parameter.default)
        except TypeError as error:
            raise ParameterError(f"{function_name(function)}: {error}") from None
    if description.get("float32"):
        options["storage"] = read_option("storage", Storage, "float64")
    texts = {"title": name, "complexity": "not stated", "reference": "-", "when": "-"}
    return MethodInfo(
        name=name, function=function, data=names[0], options=options,  # type: ignore[arg-type]
        injected=frozenset(names) & frozenset(INJECTED), built_in=function_name(function).startswith("shoal."),
        **(texts | description),
    )  # fmt: skip


def get_method(name: str | Callable[..., Any], data: DataKind | None = None) -> MethodInfo:
    """Return the method of that name, or describe a callable as one.

    Parameters
    ----------
    name
        A registered name, ``labels:COLUMN`` for the groups of a column, or a function ``f(points, k, *, ...)``.
    data
        Which variant to take where a name belongs to methods on several kinds of data.

    Returns
    -------
    method
        Description, options and guarantees.

    Examples
    --------
    >>> get_method("mdav").max_size(3)
    5
    >>> get_method("mdv")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no method "mdv"; did you mean "mdav"?
    """
    if not isinstance(name, str):
        if not callable(name):
            raise ParameterError(f"a method is a name or a function, not {type(name).__name__}")
        return describe(name, function_name(name))
    if name not in _methods and name in MODULES:
        import_module(MODULES[name])
    if name not in _methods and name.startswith("labels:"):
        from shoal.methods.own_groups import own_groups

        return describe(own_groups, name, title="Groups that were given, in a column of the table")
    if name not in _methods:
        _load_entry_point(name)
    if name not in _methods:
        raise ParameterError(f'there is no method "{name}"; {suggestion(name, sorted({*_methods, *MODULES}))}')
    variants = _methods[name]
    return variants.get(data, next(iter(variants.values()))) if data is not None else next(iter(variants.values()))


def all_methods() -> dict[str, MethodInfo]:
    """Return every method by name, in alphabetical order: built-in, registered, and those of installed packages.

    Returns
    -------
    methods
        Description, options and guarantees by name.

    Examples
    --------
    >>> sorted(name for name, found in all_methods().items() if found.version and found.data == "values")
    ['optimal-1d']
    """
    for module in dict.fromkeys(MODULES.values()):
        import_module(module)
    for entry in entry_points(group=ENTRY_POINTS):
        _load_entry_point(entry.name)
    return {name: next(iter(variants.values())) for name, variants in sorted(_methods.items())}


def _load_entry_point(name: str) -> None:
    """Import what an installed package offers under a name; a function that is not registered yet becomes a method."""
    if name in _methods:
        return
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        function = entry.load()
        if name not in _methods:
            _methods[name] = {}
            info = describe(function, name)
            _methods[name][info.data] = info
