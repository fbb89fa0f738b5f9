"""Risk and utility of a release, measured against its original or on the released table alone.

``shoal.risk`` and ``shoal.utility`` return all figures of a release. Further measures, for arrays and groupings, are
listed here and loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.evaluate.generalisation_penalties import closeness_utility, ncp, total_il
    from shoal.evaluate.regression import RegressionCheck, mcfadden, regression_check

_HOMES = {
    "RegressionCheck": "shoal.evaluate.regression",
    "closeness_utility": "shoal.evaluate.generalisation_penalties",
    "mcfadden": "shoal.evaluate.regression",
    "ncp": "shoal.evaluate.generalisation_penalties",
    "regression_check": "shoal.evaluate.regression",
    "total_il": "shoal.evaluate.generalisation_penalties",
}

__all__ = ["RegressionCheck", "closeness_utility", "mcfadden", "ncp", "regression_check", "total_il"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
