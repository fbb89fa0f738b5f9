"""Methods as an earlier run resolved them: which method ran on which block, with which options and in which version.

A run file stores them, so that a release can be repeated although another version of Shoal would select otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.methods.contract import Array, Outcome
from shoal.methods.registry import MethodInfo, get_method
from shoal.methods.running import Inputs, run
from shoal.schema.plan import MethodCall, ResolvedMethod

if TYPE_CHECKING:
    from shoal.flow.group import MethodRun

SECOND_RELEASE = "previous@1"
"""The algorithm that changes the groups of an earlier release."""
HISTORIES = "histories@1"
"""The algorithm that groups whole histories."""
NESTED_PERSONS = "nested-persons@1"
"""The algorithm that groups persons with nested groups of rows."""
FLOW_ALGORITHMS = frozenset({SECOND_RELEASE, HISTORIES, NESTED_PERSONS})
"""Algorithms of the stages themselves, which are no registered methods; the plan decides whether they run."""


def resolved_call(call: MethodCall, runs: Sequence[MethodRun]) -> MethodCall:
    """Return a call with the methods that ran for it."""
    resolved = []
    for ran in runs:
        version = ran.identity.partition("@")[2]
        blocks = ran.numbers if len(runs) > 1 else ()
        entry = ResolvedMethod(ran.name, int(version) if version else None, dict(ran.options), ran.reason, blocks)
        resolved.append(entry)
    return replace(call, resolved=tuple(resolved))


def check_resolved(call: MethodCall) -> None:
    """Raise ParameterError where a method of an earlier run is not available, or not in the version that ran.

    Examples
    --------
    >>> check_resolved(MethodCall("auto", resolved=(ResolvedMethod("mdav", 7),)))
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: the earlier run used mdav@7, and this Shoal has mdav@1; use the Shoal of that run, \
or remove method.resolved to group anew
    """
    for entry in call.resolved:
        if entry.identity in FLOW_ALGORITHMS:
            continue
        info = get_method(entry.name)
        if info.version != entry.version:
            raise ParameterError(
                f"the earlier run used {entry.identity}, and this Shoal has {info.identity}; use the Shoal of that "
                "run, or remove method.resolved to group anew"
            )
        info.check_options(entry.options)


def resolved_methods(call: MethodCall, blocks: int) -> list[ResolvedMethod]:
    """Return the method of each block as an earlier run resolved it; nothing if the call is to be resolved anew."""
    check_resolved(call)
    if len(call.resolved) == 1 and not call.resolved[0].blocks:
        return [call.resolved[0]] * blocks
    found = {number: entry for entry in call.resolved for number in entry.blocks}
    if call.resolved and sorted(found) != list(range(blocks)):
        raise ParameterError(
            f"the earlier run resolved the method for {len(found)} strata or missingness patterns, and this table has "
            f"{blocks}; remove method.resolved to group anew"
        )
    return [found[number] for number in sorted(found)]


def run_resolved(entry: ResolvedMethod, requested: MethodInfo, data: Array, k: int, inputs: Inputs) -> Outcome:
    """Run a method in place of the one that selected it, with the inputs that this one passed on."""
    info = get_method(entry.name, requested.data)
    passed = {name for name in requested.injected if name in info.injected}
    given = inputs.copy()
    given["max_size"] = inputs["max_size"] if "max_size" in passed else None
    given["time_limit"] = inputs["time_limit"] if "time_limit" in passed else None
    given["units"] = inputs["units"] if "units" in passed else None
    given["column_costs"] = inputs["column_costs"] if "column_costs" in passed else None
    given["record_weights"] = inputs["record_weights"] if "record_weights" in passed else None
    given["observed"] = inputs["observed"] if "observed" in passed else None
    if "seed" not in passed:
        given["seed"] = 0
    ones = np.ones_like(inputs["column_weights"])
    given["column_weights"] = inputs["column_weights"] if "column_weights" in passed else ones
    outcome = run(info, data, k, **given, **entry.options)
    return replace(outcome, reason=entry.reason)
