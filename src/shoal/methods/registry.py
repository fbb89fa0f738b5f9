"""The registry: every grouping method with its facts.

A method is a plain function ``f(points, k, *, ..., progress=SILENT) -> labels``. ``@method("name", ...)`` adds it here
with what a user has to know; the command line, the docs and ``compare`` read only this, so that a new method is one new
file in a folder of ``shoal.methods``.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError, suggestion

F = TypeVar("F", bound=Callable[..., NDArray[np.int64]])
DataKind = Literal["points", "values", "codes"]
Storage = Literal["float64", "float32"]

_methods: dict[str, Method] = {}
_NOT_OPTIONS = {"progress", "facts"}


@dataclass(frozen=True)
class Option:
    """A keyword of a method: its name, type and default."""

    name: str
    type: Any
    default: Any

    def parse(self, text: str) -> Any:
        """Turn the text of a command line into a value of the option's type.

        Examples
        --------
        >>> Option("gamma", float, 1.0).parse("1.1")
        1.1
        """
        if text.casefold() in {"none", ""}:
            return None
        for convert in self._converters():
            try:
                return convert(text)
            except ValueError:
                continue
        raise ParameterError(f'option {self.name}="{text}" is not of type {self.type_name}')

    def _converters(self) -> list[Callable[[str], Any]]:
        name = self.type_name
        known: list[tuple[str, Callable[[str], Any]]] = [("bool", _to_bool), ("int", int), ("float", float)]
        found = [convert for kind, convert in known if kind in name]
        return found if found and "str" not in name and "Literal" not in name else [*found, str]

    @property
    def type_name(self) -> str:
        """The type as a reader would write it."""
        return self.type.__name__ if isinstance(self.type, type) else str(self.type).replace("typing.", "")


@dataclass(frozen=True)
class Method:
    """A grouping method and its facts.

    Parameters
    ----------
    name
        The name users type.
    function
        ``f(points, k, **options) -> labels``.
    title
        One line: what it does.
    data
        What it reads: ``points`` (float64, n x d), ``values`` (one column of numbers) or ``codes`` (int32, n x m).
    cost
        Time as a formula in n, d and k.
    guarantee
        What is promised about sizes or loss.
    reference
        Paper and section.
    when
        When to use it.
    max_size
        The largest group for a given k, if there is a promise.
    float32
        Whether it reads tables of float32 as they are (and computes in float64); it then has an option ``storage``.
    represents
        Whether the method chooses representatives too: its labels are then the numbers of the records that stand for
        the groups.
    """

    name: str
    function: Callable[..., NDArray[np.int64]]
    title: str
    data: DataKind
    cost: str
    guarantee: str
    reference: str
    when: str
    max_size: Callable[[int], int] | None
    float32: bool = False
    represents: bool = False

    @cached_property
    def options(self) -> dict[str, Option]:
        """The keywords of the function, except those that every method has."""
        hints = get_type_hints(self.function)
        found = {
            parameter.name: Option(parameter.name, hints.get(parameter.name, Any), parameter.default)
            for parameter in inspect.signature(self.function).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in _NOT_OPTIONS
        }
        return found | ({"storage": Option("storage", Storage, "float64")} if self.float32 else {})

    @property
    def seeded(self) -> bool:
        """Whether the method draws random numbers."""
        return "seed" in self.options

    def run(
        self,
        points: NDArray[Any],
        k: int,
        *,
        progress: Progress = SILENT,
        facts: dict[str, Any] | None = None,
        **options: Any,
    ) -> NDArray[np.int64]:
        """Check the input, run the method, and return its labels.

        ``facts`` is filled with what the method has to tell beyond labels (a parameter it chose, a bound). The option
        ``storage`` of methods for large tables says how the points are kept: ``float64``, or ``float32``, which halves
        them.
        """
        for name in options:
            if name not in self.options:
                raise ParameterError(f'method "{self.name}" has no option "{name}"; {suggestion(name, self.options)}')
        if "facts" in inspect.signature(self.function).parameters:
            options["facts"] = facts
        dtype = self.dtype(options.pop("storage", "float64"))
        return self.function(self.prepare(points, k, dtype), k, progress=progress, **options)

    def dtype(self, storage: str = "float64") -> type[np.generic]:
        """Return the type of number that the method reads.

        Examples
        --------
        >>> get_method("mona-plus").dtype("float32")
        <class 'numpy.float32'>
        """
        if storage not in {"float64", "float32"}:
            raise ParameterError(f'storage="{storage}" is not possible; choose float64 or float32')
        if self.data == "codes":
            return np.int32
        return np.float32 if storage == "float32" else np.float64

    def prepare(self, points: NDArray[Any], k: int, dtype: type[np.generic] | None = None) -> NDArray[Any]:
        """Return the points as the method wants them, or say what is wrong with them."""
        prepared = np.ascontiguousarray(points, dtype=dtype or self.dtype())
        if self.data == "values" and prepared.ndim == 2 and prepared.shape[1] == 1:
            prepared = prepared[:, 0].copy()
        wanted = 1 if self.data == "values" else 2
        if prepared.ndim != wanted:
            raise DataError(f'method "{self.name}" needs a {wanted}-d array, not {prepared.ndim}-d')
        check_k(k, prepared.shape[0])
        if self.data != "codes" and not np.isfinite(prepared).all():
            bad = int((~np.isfinite(prepared)).sum())
            raise DataError(
                f"{bad} of {prepared.size} coordinates are missing or infinite; methods need finite numbers"
            )
        return prepared


def check_k(k: int, n: int) -> None:
    """Refuse a k that protects nobody or that the table cannot reach.

    Examples
    --------
    >>> check_k(5, 3)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: k=5 needs at least 5 records, the table has 3
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError(f"k must be a whole number of at least 2, not {k!r}")
    if k < 2:
        raise ParameterError(f"k={k} protects nobody; choose k of at least 2")
    if k > n:
        raise ParameterError(f"k={k} needs at least {k} records, the table has {n}")


def method(
    name: str,
    *,
    title: str,
    cost: str,
    guarantee: str,
    reference: str,
    when: str,
    data: DataKind = "points",
    max_size: Callable[[int], int] | None = None,
    float32: bool = False,
    represents: bool = False,
) -> Callable[[F], F]:
    """Put a function into the registry under a name, with its facts."""

    def register(function: F) -> F:
        if name in _methods:
            raise RuntimeError(f'two methods are called "{name}"')
        _methods[name] = Method(
            name, function, title, data, cost, guarantee, reference, when, max_size, float32, represents
        )
        return function

    return register


def get_method(name: str) -> Method:
    """Return the method of that name.

    Examples
    --------
    >>> get_method("mdav").max_size(3)
    5
    >>> get_method("mdv")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no method "mdv"; did you mean "mdav"?
    """
    if name not in _methods:
        for module in _method_files():
            import_module(module)
            if name in _methods:  # the rest need not be read
                break
        else:
            raise ParameterError(f'there is no method "{name}"; {suggestion(name, sorted(_methods))}')
    return _methods[name]


@cache
def all_methods() -> dict[str, Method]:
    """Return every method by name, in alphabetical order; reads the files of ``shoal.methods`` once."""
    for module in _method_files():
        import_module(module)
    return dict(sorted(_methods.items()))


def _method_files() -> list[str]:
    """Return the names of the modules that may hold methods."""
    import shoal.methods

    modules = pkgutil.walk_packages(shoal.methods.__path__, "shoal.methods.")
    return [module.name for module in modules if ".kernels" not in module.name]


def _to_bool(text: str) -> bool:
    known = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    if text.casefold() not in known:
        raise ValueError(text)
    return known[text.casefold()]
