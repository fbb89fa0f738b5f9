"""Shoal: k-anonymous microaggregation of microdata, with measured information loss and residual risk.

The names below are loaded when they are first used, so that ``import shoal`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets, dp, errors
    from shoal.api.checks import assess, verify
    from shoal.api.compare import compare
    from shoal.api.evaluation import evaluate as evaluate_release
    from shoal.api.protect import group, protect, run_plan
    from shoal.api.release import Release
    from shoal.api.release_check import verify_release
    from shoal.api.repeat import load_run, save_run
    from shoal.api.rule_check import check_rules
    from shoal.core.grouping import Grouping
    from shoal.core.hierarchy import Hierarchy
    from shoal.core.progress import Progress
    from shoal.evaluate.risk import risk
    from shoal.evaluate.utility import utility
    from shoal.flow.encoding import Encoding, fit_encoding
    from shoal.flow.group import group_records
    from shoal.flow.holder_record import HolderRecord
    from shoal.flow.prepare import prepare
    from shoal.flow.recode import recode_table
    from shoal.flow.released import release_table
    from shoal.flow.satisfy import satisfy_requirements
    from shoal.flow.stepped import apply_steps
    from shoal.methods.contract import Objective, Outcome
    from shoal.methods.refinement.ona_star_moves import refine
    from shoal.methods.registry import all_methods, get_method, method
    from shoal.methods.running import run as run_method
    from shoal.methods.univariate.optimal_1d import optimal_1d
    from shoal.methods.univariate.own_cost import OwnCost, check_cost
    from shoal.privacy.earth_mover import emd, hierarchy_distances
    from shoal.schema import steps
    from shoal.schema.columns import Column, Kind, Missing, Recode, Role, Schema
    from shoal.schema.hierarchy_sources import read_hierarchy
    from shoal.schema.loading import load_with_schema as load_table
    from shoal.schema.plan import MethodCall, Plan, ReadOptions, ResolvedMethod
    from shoal.schema.requirements import Requirements
    from shoal.schema.run_file import Accepted, InputFiles, OutputFiles, RunFile
    from shoal.schema.statistic import Statistic

_HOMES = {
    "Accepted": "shoal.schema.run_file",
    "Column": "shoal.schema.columns",
    "Encoding": "shoal.flow.encoding",
    "Grouping": "shoal.core.grouping",
    "Hierarchy": "shoal.core.hierarchy",
    "HolderRecord": "shoal.flow.holder_record",
    "InputFiles": "shoal.schema.run_file",
    "Kind": "shoal.schema.columns",
    "MethodCall": "shoal.schema.plan",
    "Missing": "shoal.schema.columns",
    "Objective": "shoal.methods.contract",
    "Outcome": "shoal.methods.contract",
    "OutputFiles": "shoal.schema.run_file",
    "OwnCost": "shoal.methods.univariate.own_cost",
    "Plan": "shoal.schema.plan",
    "Progress": "shoal.core.progress",
    "ReadOptions": "shoal.schema.plan",
    "Recode": "shoal.schema.columns",
    "Release": "shoal.api.release",
    "Requirements": "shoal.schema.requirements",
    "ResolvedMethod": "shoal.schema.plan",
    "Role": "shoal.schema.columns",
    "RunFile": "shoal.schema.run_file",
    "Schema": "shoal.schema.columns",
    "Statistic": "shoal.schema.statistic",
    "all_methods": "shoal.methods.registry",
    "apply_steps": "shoal.flow.stepped",
    "assess": "shoal.api.checks",
    "check_cost": "shoal.methods.univariate.own_cost",
    "compare": "shoal.api.compare",
    "emd": "shoal.privacy.earth_mover",
    "evaluate_release": "shoal.api.evaluation:evaluate",
    "fit_encoding": "shoal.flow.encoding",
    "get_method": "shoal.methods.registry",
    "group": "shoal.api.protect",
    "group_records": "shoal.flow.group",
    "hierarchy_distances": "shoal.privacy.earth_mover",
    "load_run": "shoal.api.repeat",
    "load_table": "shoal.schema.loading:load_with_schema",
    "method": "shoal.methods.registry",
    "optimal_1d": "shoal.methods.univariate.optimal_1d",
    "prepare": "shoal.flow.prepare",
    "protect": "shoal.api.protect",
    "read_hierarchy": "shoal.schema.hierarchy_sources",
    "recode_table": "shoal.flow.recode",
    "refine": "shoal.methods.refinement.ona_star_moves",
    "release_table": "shoal.flow.released",
    "risk": "shoal.evaluate.risk",
    "run_method": "shoal.methods.running:run",
    "run_plan": "shoal.api.protect",
    "satisfy_requirements": "shoal.flow.satisfy",
    "save_run": "shoal.api.repeat",
    "utility": "shoal.evaluate.utility",
    "check_rules": "shoal.api.rule_check",
    "verify": "shoal.api.checks",
    "verify_release": "shoal.api.release_check",
}
_MODULES = {"datasets": "datasets", "dp": "dp", "errors": "errors", "steps": "schema.steps"}

__all__ = [
    "Accepted",
    "Column",
    "Encoding",
    "Grouping",
    "Hierarchy",
    "HolderRecord",
    "InputFiles",
    "Kind",
    "MethodCall",
    "Missing",
    "Objective",
    "Outcome",
    "OutputFiles",
    "OwnCost",
    "Plan",
    "Progress",
    "ReadOptions",
    "Recode",
    "Release",
    "Requirements",
    "ResolvedMethod",
    "Role",
    "RunFile",
    "Schema",
    "Statistic",
    "all_methods",
    "apply_steps",
    "assess",
    "check_cost",
    "check_rules",
    "compare",
    "datasets",
    "dp",
    "emd",
    "errors",
    "evaluate_release",
    "fit_encoding",
    "get_method",
    "group",
    "group_records",
    "hierarchy_distances",
    "load_run",
    "load_table",
    "method",
    "optimal_1d",
    "prepare",
    "protect",
    "read_hierarchy",
    "recode_table",
    "refine",
    "release_table",
    "risk",
    "run_method",
    "run_plan",
    "satisfy_requirements",
    "save_run",
    "steps",
    "utility",
    "verify",
    "verify_release",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name in _MODULES:
        return import_module(f"shoal.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
