"""Shoal: tables about people made safe to hand out, with measured evidence.

The names below are loaded when they are first used, so that ``import shoal`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, dp, errors
    from shoal.api.checks import assess
    from shoal.api.compare import compare
    from shoal.api.protect import group, protect, verify
    from shoal.api.release import Release
    from shoal.core.grouping import Grouping
    from shoal.core.hierarchy import Hierarchy
    from shoal.core.progress import Progress
    from shoal.evaluate.risk import risk
    from shoal.evaluate.utility import utility
    from shoal.methods.refinement.ona_star_moves import refine
    from shoal.methods.registry import all_methods, get_method
    from shoal.methods.univariate.optimal_1d import optimal_1d
    from shoal.schema.columns import Column, Kind, Missing, Recode, Role, Schema

_HOMES = {
    "Column": "shoal.schema.columns",
    "Grouping": "shoal.core.grouping",
    "Hierarchy": "shoal.core.hierarchy",
    "Kind": "shoal.schema.columns",
    "Missing": "shoal.schema.columns",
    "Progress": "shoal.core.progress",
    "Recode": "shoal.schema.columns",
    "Release": "shoal.api.release",
    "Role": "shoal.schema.columns",
    "Schema": "shoal.schema.columns",
    "all_methods": "shoal.methods.registry",
    "assess": "shoal.api.checks",
    "compare": "shoal.api.compare",
    "datasets": "shoal.datasets",
    "dp": "shoal.dp",
    "errors": "shoal.errors",
    "get_method": "shoal.methods.registry",
    "group": "shoal.api.protect",
    "optimal_1d": "shoal.methods.univariate.optimal_1d",
    "protect": "shoal.api.protect",
    "refine": "shoal.methods.refinement.ona_star_moves",
    "risk": "shoal.evaluate.risk",
    "utility": "shoal.evaluate.utility",
    "verify": "shoal.api.protect",
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
