"""The manifest: what was done and what was achieved, written for everyone who receives the released table.

The manifest travels with the table, so it holds nothing by which the original could be confirmed or reconstructed:
no fingerprint of the input, no digest of orders, hierarchies or texts that mean a missing value (a short list of
possible values could be tried against each), and no exact sum over original values. Figures that depend on the original
are rounded to few digits (see :func:`stated_digits`).
The exact figures, the full plan and a keyed fingerprint of the input are in the holder's record
(:mod:`shoal.flow.holder_record`).
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from shoal.flow.group import Grouped, MethodRun
from shoal.flow.prepare import Prepared
from shoal.flow.recode import Recoded
from shoal.flow.recount_file import recount_entry
from shoal.recoding.loss import Loss
from shoal.schema.columns import DROPPED, Column, Recode, Role
from shoal.schema.plan import JsonDict, Plan, plain_value, requirements_dict
from shoal.schema.requirements import Of

if TYPE_CHECKING:
    from shoal.flow.released import Recount
    from shoal.flow.remarks import Remark
    from shoal.privacy.assessment import Assessment


MANIFEST_VERSION = 3


@dataclass(frozen=True)
class ManifestParts:
    """What a manifest states beside the plan and the recount, whether a table was protected at once or in parts.

    Parameters
    ----------
    records
        The number of records, which sets how many digits are stated.
    input, output
        Shape of the input; shape and fingerprint of the output.
    names
        The columns of the output.
    recodes
        What replaced the values of each quasi-identifier.
    runs
        The methods that ran.
    method
        Number of blocks, why the method ended, its diagnostics, and the steps after it.
    missing
        How many cells changed because values were missing.
    sizes
        How many groups there are of each size.
    loss
        What was lost.
    """

    records: int
    input: JsonDict
    output: JsonDict
    names: Sequence[str]
    recodes: Mapping[str, Recode]
    runs: Sequence[MethodRun]
    method: JsonDict
    missing: JsonDict
    sizes: Mapping[int, int]
    loss: Loss


def build_manifest(
    plan: Plan,
    prepared: Prepared,
    grouped: Grouped,
    recoded: Recoded,
    recount: Recount,
    remarks: Sequence[Remark],
) -> JsonDict:
    """Return what was done, as a dictionary for JSON; it holds nothing that depends on time, place or threads."""
    table, digits = recoded.table, stated_digits(prepared.n)
    parts = ManifestParts(
        prepared.n,
        {
            "records": prepared.input.n_rows, "columns": len(prepared.table.names),
            **_persons_entry(prepared.complete),
        },
        {"records": table.n_rows, "columns": len(table.names), "fingerprint": f"sha256:{table.fingerprint()}"},
        table.names,
        recoded.recodes,
        grouped.runs,
        {
            "blocks": len(grouped.blocks), "stopped": grouped.outcome.stopped,
            "diagnostics": rounded(plain_value(grouped.outcome.diagnostics), digits),
            "steps": [{"name": step.name, **plain_value(step.counts)} for step in grouped.steps],
        },
        _missing_entry(prepared, grouped, recoded),
        grouped.grouping.size_histogram(),
        recoded.loss,
    )  # fmt: skip
    manifest = manifest_of_parts(plan, parts, recount, remarks)
    if plan.schema.shuffle or any(column.before or column.after for column in plan.schema.columns):
        from shoal.flow.released_steps import steps_entry

        manifest["steps"] = steps_entry(prepared, recoded)
    if recoded.moments is not None:
        moments = recoded.moments
        manifest["moments"] = rounded({"restored": moments.restored, "limited": moments.limited}, digits)
    if plan.schema.keep:
        manifest["rules"] = {"kept": list(plan.schema.keep), "changed_cells": dict(recoded.repaired)}
    if plan.schema.statistics:
        from shoal.flow.checked_statistics import statistics_entry

        manifest["statistics"] = statistics_entry(plan.schema.statistics)
    if plan.by_persons or plan.schema.keep_links:
        manifest["person_groups"] = person_groups_entry(plan, prepared, grouped, recoded, digits)
    manifest["plan"] = stated_plan_digest(manifest)
    return manifest | _counted_entries(plan, recount, digits)


def manifest_of_parts(plan: Plan, parts: ManifestParts, recount: Recount, remarks: Sequence[Remark]) -> JsonDict:
    """Return a manifest without the digest of the plan, which is set when all requested parts are stated.

    Parameters
    ----------
    plan
        What was requested.
    parts
        What was done.
    recount
        What was counted on the released table.
    remarks
        What a person should know before the table is released.
    """
    digits, groups = stated_digits(parts.records), sum(parts.sizes.values())
    return {
        "manifest_version": MANIFEST_VERSION,
        "shoal": _version("shoal"),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in ("numpy", "numba", "polars", "narwhals")},
        "plan": "",
        "input": parts.input,
        "output": parts.output,
        "schema": _schema_entry(plan, parts.recodes),
        "requirements": requirements_dict(plan.requirements),
        "method": _method_entry(plan, parts.runs) | parts.method,
        "missing_values": parts.missing,
        "k": _k_entry(plan, recount),
        "recount": recount_entry(
            plan.schema.protected, plan.schema.named(Role.CONFIDENTIAL), parts.names, plan.of, plan.schema.code
        ),
        "groups": {
            "count": groups,
            "average_size": sum(size * count for size, count in parts.sizes.items()) / groups,
            "sizes": {str(size): count for size, count in parts.sizes.items()},
        },
        "loss": {"digits": digits, **_loss_entry(parts.loss, digits)},
        "remarks": [{"code": remark.code, "column": remark.column, "text": remark.text} for remark in remarks],
    }


@cache
def _version(name: str) -> str:
    """Return the version of an installed package, which is read from a file: once in a process."""
    return version(name)


def _counted_entries(plan: Plan, recount: Recount, digits: int) -> JsonDict:
    """Return what was counted about persons and confidential attributes."""
    entries: JsonDict = {}
    if recount.persons is not None:
        entries["persons"] = rounded(recount.persons.to_dict(), digits)
    if recount.assessment is not None:
        entries["achieved"] = _achieved_entry(plan, recount.assessment)
        entries["confidential_compared"] = dict(recount.compared)
    return entries


def _missing_entry(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> JsonDict:
    """Return how many missing cells changed, and how many known ones were emptied because of them, by column."""
    entry: JsonDict = {"imputed": dict(prepared.imputed), "suppressed": dict(grouped.blocks.added)}
    if recoded.cells:
        for word in ("filled", "emptied"):
            counts = {name: getattr(cells, word) for name, cells in recoded.cells.items()}
            entry[word] = {name: count for name, count in counts.items() if count}
    return entry


def stated_plan_digest(manifest: JsonDict) -> str:
    """Return the SHA-256 of what a manifest states as requested; it reveals nothing that the manifest does not state.

    ``Plan.digest`` covers orders and hierarchies as well, so it is part of the holder's record only.
    """
    method = manifest["method"]
    stated = {
        "schema": manifest["schema"], "requirements": manifest["requirements"], "method": method["requested"],
    }  # fmt: skip
    if "rules" in manifest:
        stated["rules"] = manifest["rules"]["kept"]
    if "steps" in manifest:
        columns = manifest["steps"].get("columns", {})
        requested = {name: [entry.get("before"), entry.get("after")] for name, entry in columns.items()}
        stated["steps"] = {"columns": requested, "shuffled": manifest["steps"].get("shuffled", False)}
    text = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def stated_digits(records: int) -> int:
    """Return how many significant digits of a figure about the original a manifest states: 1 to 4.

    One record changes a sum over n records by a share of about 1/n. With d digits the rounding is at least a share of
    10**-d; d is chosen such that this is at least 10/n, the average contribution of ten records.

    Examples
    --------
    >>> [stated_digits(n) for n in (6, 999, 1_000, 10_000, 100_000, 10**9)]
    [1, 1, 2, 3, 4, 4]
    """
    return min(4, max(1, len(str(records)) - 2))


def rounded(value: object, digits: int) -> object:
    """Return a value, a list or a mapping with all numbers rounded to significant digits.

    Examples
    --------
    >>> rounded({"sse": 1.23456, "cells": 1234, "name": "sse", "bounds": [0.0, None, True]}, 2)
    {'sse': 1.2, 'cells': 1200, 'name': 'sse', 'bounds': [0.0, None, True]}
    """
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0 or not math.isfinite(value):
        return value
    number = float(f"{value:.{digits - 1}e}")
    return int(number) if isinstance(value, int) else number


def _persons_entry(prepared: Prepared) -> JsonDict:
    """Return how many persons and households the table has, where the schema states them."""
    units, schema = prepared.units, prepared.schema
    if units is None:
        return {}
    if prepared.steps is not None and prepared.steps.kept is not None:  # counted with the persons that were dropped
        owners = {"persons": schema.unit, "households": schema.household}
        return {word: prepared.input.column(name).n_unique() for word, name in owners.items() if name is not None}
    households = {} if units.household is None else {"households": int(units.household.max()) + 1}
    return ({} if schema.unit is None else {"persons": units.persons}) | households


def person_groups_entry(plan: Plan, prepared: Prepared, grouped: Grouped, recoded: Recoded, digits: int) -> JsonDict:
    """Return how whole persons were grouped: links, rows kept, columns that stay constant, and their loss apart."""
    schema, units = plan.schema, prepared.units
    entry: JsonDict = {"links": "kept" if schema.keep_links else "not kept", "rows_kept": prepared.n}
    if plan.of == Of.HISTORIES and units is not None:
        entry |= {
            "rows_suppressed": prepared.complete.n - prepared.n, "persons_kept": len(set(units.unit.tolist())),
            "slots": str(plan.persons.slots), "suppressed_weight": plan.persons.suppressed_weight,
        }  # fmt: skip
    if schema.constant:
        varying = [column.name for column in schema.quasi if not column.constant]
        in_households = plan.of != Of.HISTORIES and units is not None and units.owners(schema) is units.household
        if grouped.households is not None:
            entry["constant_within_households"] = list(grouped.households[1])
        loss = {"constant": recoded.loss.over(schema.constant), "varying": recoded.loss.over(varying)}
        entry |= {
            "constant": schema.constant, "constant_within": "households" if in_households else "persons",
            "weighting": str(plan.persons.weighting), "loss": rounded(loss, digits),
            "person_groups": 0 if grouped.outer is None else len(grouped.outer),
        }  # fmt: skip
    return entry


def _k_entry(plan: Plan, recount: Recount) -> JsonDict:
    """Return k as requested and achieved; where it counts persons or households also what is counted, and rows."""
    entry = {"requested": int(plan.requirements.k), "achieved": recount.classes.k, **recount.known_k()}
    if plan.of == Of.ROWS:
        return entry
    return {"of": str(plan.of), **entry, "rows": recount.classes.k_rows}


def _schema_entry(plan: Plan, recodes: Mapping[str, Recode]) -> JsonDict:
    schema = plan.schema
    return {
        "columns": [_column_entry(column, recodes, schema.code) for column in schema.columns],
        "strata": list(schema.strata),
        "sampling_weight": schema.sampling_weight,
        **({"release_weight": str(schema.release_weight)} if schema.sampling_weight else {}),
        **({"known": list(schema.known)} if schema.known else {}),
        **({"keep_links": True} if schema.keep_links else {}),
        "missing": str(schema.missing),
        "decimals": plan.decimals,
        "sums": plan.sums,
        **({"keep_moments": True} if plan.keep_moments else {}),
        **(
            {"moment_bounds": {name: list(ends) for name, ends in plan.moment_bounds.items()}}
            if plan.moment_bounds
            else {}
        ),
    }


def _column_entry(column: Column, recodes: Mapping[str, Recode], code: str | None = None) -> JsonDict:
    """Return a column; orders and hierarchies list values of the original, so only their presence is stated."""
    entry: JsonDict = {"name": column.name, "role": str(column.role), "kind": str(column.kind)}
    if column.role == Role.QUASI:
        entry |= {"weight": column.weight, "recode": str(recodes[column.name])}
        entry |= {} if column.missing is None else {"missing": str(column.missing)}
        entry |= {"not_applicable": True} if column.not_applicable else {}
        entry |= {} if column.order is None else {"order": True}
        entry |= {} if column.hierarchy is None else {"hierarchy": True}
        entry |= {} if column.constant is None else {"constant": column.constant}
    if column.name == code or (column.role == Role.IDENTIFIER and column.before):
        entry["replaced"] = "random code"
    elif column.role in DROPPED:
        entry["dropped"] = True
    if column.time:
        entry["time"] = True
    return entry


def _method_entry(plan: Plan, runs: Sequence[MethodRun]) -> JsonDict:
    """Return the requested method, and the methods that ran with all options resolved and their algorithm versions."""
    call = plan.method
    return {
        "requested": {
            "name": call.text, "options": plain_value(call.options), "seed": call.seed, "time_limit": call.time_limit,
            **({"persons": plan.persons.given()} if plan.persons.given() else {}),
        },
        "resolved": [
            {
                "name": run.name, "algorithm": run.identity, "options": plain_value(run.options),
                "reason": run.reason, "built_in": run.built_in, "blocks": run.blocks,
            }
            for run in runs
        ],
    }  # fmt: skip


def _achieved_entry(plan: Plan, assessment: Assessment) -> JsonDict:
    of = {} if assessment.persons is None else {"of": assessment.values_of}
    return {
        name: {"requested": requested, "achieved": achieved, **of}
        for name, (requested, achieved, _) in assessment.achieved(plan.requirements).items()
    }


def exact_loss(loss: Loss) -> JsonDict:
    """Return the figures of the loss that depend on the original, exactly; for the holder's record only."""
    entry: JsonDict = {
        "information_loss": loss.information_loss,
        "sse": loss.sse,
        "sst": loss.sst,
        "columns": {
            name: {
                "information_loss": column.information_loss,
                "sse": column.sse,
                "sst": column.sst,
                **({} if column.ncp is None else {"ncp": column.ncp, "total_il": column.total_il}),
            }
            for name, column in loss.columns.items()
        },
    }
    if loss.objective is not None:
        entry["objective"] = {name: getattr(loss.objective, name) for name in ("name", "value", "bound", "gap")}
    if loss.frequency_tables is not None:
        entry["frequency_tables"] = loss.frequency_tables.as_dict()
    return entry


def _loss_entry(loss: Loss, digits: int) -> JsonDict:
    """Return the loss, rounded where it depends on the original; group sizes can be counted on the released table."""
    entry = rounded(exact_loss(loss), digits)
    assert isinstance(entry, dict)
    return {**entry, "discernibility": loss.discernibility, "c_avg": loss.c_avg}
