"""Shoal: tables about people made safe to hand out, with measured evidence.

The names below are loaded when they are first used, so that ``import shoal`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, dp, errors
    from shoal.api import group, protect, verify
    from shoal.assessing import assess
    from shoal.comparing import compare
    from shoal.grouping import Grouping
    from shoal.hierarchy import Hierarchy
    from shoal.measures.risk import risk
    from shoal.measures.utility import utility
    from shoal.methods.refine import refine
    from shoal.methods.registry import all_methods, get_method
    from shoal.methods.univariate.optimal_1d import optimal_1d
    from shoal.progress import Progress
    from shoal.release import Release
    from shoal.schema import Column, Kind, Missing, Recode, Role, Schema

_HOMES = {
    "Column": "shoal.schema",
    "Grouping": "shoal.grouping",
    "Hierarchy": "shoal.hierarchy",
    "Kind": "shoal.schema",
    "Missing": "shoal.schema",
    "Progress": "shoal.progress",
    "Recode": "shoal.schema",
    "Release": "shoal.release",
    "Role": "shoal.schema",
    "Schema": "shoal.schema",
    "all_methods": "shoal.methods.registry",
    "assess": "shoal.assessing",
    "compare": "shoal.comparing",
    "datasets": "shoal.datasets",
    "dp": "shoal.dp",
    "errors": "shoal.errors",
    "get_method": "shoal.methods.registry",
    "group": "shoal.api",
    "optimal_1d": "shoal.methods.univariate.optimal_1d",
    "protect": "shoal.api",
    "refine": "shoal.methods.refine",
    "risk": "shoal.measures.risk",
    "utility": "shoal.measures.utility",
    "verify": "shoal.api",
}

__all__ = [
    "Column",
    "Grouping",
    "Hierarchy",
    "Kind",
    "Missing",
    "Progress",
    "Recode",
    "Release",
    "Role",
    "Schema",
    "all_methods",
    "assess",
    "compare",
    "datasets",
    "dp",
    "errors",
    "get_method",
    "group",
    "optimal_1d",
    "protect",
    "refine",
    "risk",
    "utility",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if name in {"datasets", "dp", "errors"} else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
