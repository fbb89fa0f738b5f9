"""Shoal: tables about people made safe to hand out, with measured evidence.

The names below are loaded when they are first used, so that ``import shoal`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, errors
    from shoal.api import group, protect, verify
    from shoal.grouping import Grouping
    from shoal.methods.refine import refine
    from shoal.methods.registry import all_methods, get_method
    from shoal.methods.univariate.optimal_1d import optimal_1d
    from shoal.progress import Progress
    from shoal.release import Release
    from shoal.schema import Column, Kind, Missing, Recode, Role, Schema

_HOMES = {
    "Column": "shoal.schema",
    "Grouping": "shoal.grouping",
    "Kind": "shoal.schema",
    "Missing": "shoal.schema",
    "Progress": "shoal.progress",
    "Recode": "shoal.schema",
    "Release": "shoal.release",
    "Role": "shoal.schema",
    "Schema": "shoal.schema",
    "all_methods": "shoal.methods.registry",
    "datasets": "shoal.datasets",
    "errors": "shoal.errors",
    "get_method": "shoal.methods.registry",
    "group": "shoal.api",
    "optimal_1d": "shoal.methods.univariate.optimal_1d",
    "protect": "shoal.api",
    "refine": "shoal.methods.refine",
    "verify": "shoal.api",
}

__all__ = [
    "Column",
    "Grouping",
    "Kind",
    "Missing",
    "Progress",
    "Recode",
    "Release",
    "Role",
    "Schema",
    "all_methods",
    "datasets",
    "errors",
    "get_method",
    "group",
    "optimal_1d",
    "protect",
    "refine",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if name in {"datasets", "errors"} else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
