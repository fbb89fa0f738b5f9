"""A release that follows an earlier one: what may change between them, what stays, and what both together disclose."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.flow.encoding import ColumnEncoding, Floats, NumericEncoding, from_polars
from shoal.flow.group import Grouped, find_blocks
from shoal.flow.holder_record import HolderRecord, plan_changes
from shoal.flow.person_requirements import check_achievable, person_requirements
from shoal.flow.prepare import MethodData, Prepared
from shoal.flow.previous import regroup
from shoal.flow.recode import Recoded, recode_table
from shoal.flow.record_matching import Matched
from shoal.flow.released import Released, release_table
from shoal.flow.resolved import SECOND_RELEASE
from shoal.flow.satisfy import read_confidential
from shoal.methods.registry import get_method
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.schema.columns import Kind, Recode
from shoal.schema.plan import JsonDict, Plan
from shoal.schema.requirements import Of

_VALUES = set(Recode) - {Recode.RANGE, Recode.SET, Recode.HIERARCHY, Recode.SUPPRESS}
"""Recodes that release values of the kind that the column has."""


@dataclass(frozen=True)
class SecondRelease:
    """How a release follows from an earlier one.

    Parameters
    ----------
    kept, changed, new, deleted
        The number of records that are as before, that have other quasi-identifiers, strata or sampling weight, that the
        earlier release lacks, and that are no longer in the table.
    groups_kept
        The number of groups without a new, changed or deleted record.
    below_k
        The number of records of both releases that share both their groups with fewer than k records.
    unavoidable
        How many of these have an earlier group with fewer than k members left in the table.
    plan_changes
        What was requested otherwise than for the earlier release.
    """

    kept: int
    changed: int
    new: int
    deleted: int
    groups_kept: int
    below_k: int
    unavoidable: int
    plan_changes: tuple[str, ...] = ()

    def to_dict(self) -> JsonDict:
        """Return the figures for JSON."""
        return asdict(self) | {"plan_changes": list(self.plan_changes)}

    @property
    def share_below_k(self) -> float:
        """The share of the records of both releases that are left with fewer than k candidates."""
        return self.below_k / (self.kept + self.changed) if self.kept + self.changed else 0.0


def check_second_release(record: HolderRecord, plan: Plan, *, accepted: bool) -> tuple[str, ...]:
    """Return what a plan requests otherwise than the plan of an earlier release; raises unless that was accepted.

    A smaller k than before is no such change: the earlier groups stay together, so every person keeps at least the
    candidates that k asks for. A first release with k + 1 therefore leaves room for one deletion in each group.
    """
    before, now = record.header["plan"], plan.to_dict()
    shared = {"k", "max_size", "global_recoding"}
    roles = {"quasi", "confidential"} if set(before["requirements"]) & set(now["requirements"]) - shared else {"quasi"}
    changes = plan_changes(_compared(before, roles), _compared(now, roles))
    if int(now["requirements"]["k"]) < int(before["requirements"]["k"]):
        changes.remove("requirements.k")
    for entry in record.header["method"]["resolved"]:
        if entry["built_in"] and entry["algorithm"] != _present_identity(str(entry["name"])):
            changes.append(f"algorithm {entry['algorithm']} (now {_present_identity(str(entry['name']))})")
    if changes and not accepted:
        raise ParameterError(
            f"this release and the earlier one differ in {', '.join(changes)}: two releases of the same people under "
            "different settings can be intersected; use the settings of the earlier one, or accept the risk with "
            "accept_second_release=True (command line: --accept-second-release)"
        )
    return tuple(changes)


def _present_identity(name: str) -> str:
    if name == SECOND_RELEASE.partition("@")[0]:
        return SECOND_RELEASE
    try:
        return get_method(name).identity
    except ParameterError:
        return "not available"


def _grouped_persons(plan: JsonDict) -> bool:
    """Return whether a plan grouped whole persons."""
    schema, of = plan["schema"], plan["requirements"].get("of")
    constant = any(column.get("constant") for column in schema["columns"])
    return constant or of == Of.HISTORIES or (of is None and bool(schema.get("keep_links")))


def _compared(plan: JsonDict, roles: set[str]) -> JsonDict:
    """Return the part of a plan that must not change: not how the file is read, nor columns that stay as they are."""
    schema = plan["schema"]
    columns = {
        column["name"]: {name: value for name, value in column.items() if name not in {"name", "hierarchy_tree"}}
        for column in schema["columns"]
        if column["role"] in roles
    }
    return {
        "columns": columns,
        **{name: schema[name] for name in ("strata", "sampling_weight", "missing")},
        "release_weight": schema.get("release_weight"),
        "requirements": plan["requirements"],
        "method": plan["method"],
        "decimals": plan["decimals"],
        "sums": plan["sums"],
        "keep_moments": plan.get("keep_moments", False),
    }


def second_release(
    record: HolderRecord, matched: Matched, grouped: Grouped, changes: tuple[str, ...]
) -> tuple[SecondRelease, NDArray[np.bool_]]:
    """Return how a release follows from the earlier one, and which records are in groups that did not change."""
    labels, k = grouped.grouping.labels, grouped.grouping.k
    found = matched.earlier >= 0
    earlier = np.where(found, record.groups[matched.earlier], -1)
    pairs = np.unique(np.column_stack([earlier[found], labels[found]]), axis=0, return_inverse=True)[1].reshape(-1)
    candidates = np.bincount(pairs)[pairs]
    left = np.bincount(earlier[found])[earlier[found]]
    intact = found & ~matched.changed
    before = np.bincount(record.groups)
    one_group = np.ones(len(grouped.grouping), bool)
    first = np.full(len(grouped.grouping), -1, np.int64)
    first[labels[::-1]] = earlier[::-1]
    one_group[labels[~intact | (earlier != first[labels])]] = False
    one_group &= grouped.grouping.sizes == np.where(first >= 0, before[first], -1)
    figures = SecondRelease(
        kept=int(intact.sum()),
        changed=int(matched.changed.sum()),
        new=int((~found).sum()),
        deleted=matched.deleted,
        groups_kept=int(one_group.sum()),
        below_k=int((candidates < k).sum()),
        unavoidable=int(((candidates < k) & (left < k)).sum()),
        plan_changes=changes,
    )
    return figures, one_group[labels]


def keep_released_values(
    prepared: Prepared, recoded: Recoded, record: HolderRecord, matched: Matched, untouched: NDArray[np.bool_]
) -> Recoded:
    """Return a recoded table in which groups that did not change have the values of the earlier release.

    Integer means are rounded such that totals are kept, and floats are offsets from the middle of the range, so both
    could differ although the group is the same.
    """
    values, groups = record.representatives, record.groups[matched.earlier]
    columns, losses = {}, dict(recoded.loss.columns)
    for entry in prepared.encoding.quasi:
        name = entry.column.name
        series = recoded.table.column(name)
        present = series.to_polars()
        if name not in values.columns:
            continue
        stated = values[name]
        if stated.dtype != present.dtype:
            stated = stated.cast(present.dtype, strict=False)
            if stated.null_count() != values[name].null_count():
                continue
        kept = pl.select(pl.when(pl.Series(untouched)).then(stated.gather(groups)).otherwise(present)).to_series()
        if kept.equals(present, null_equal=True):
            continue
        columns[name] = from_polars(kept.alias(name), series, same_dtype=True)
        if prepared.steps is not None and name in prepared.steps.changed:
            from shoal.flow.step_loss import loss_against_original

            losses[name] = loss_against_original(prepared, name, columns[name], losses[name])
        elif recoded.recodes[name] in _VALUES:
            losses[name] = _loss(entry, prepared, kept)
    if not columns:
        return recoded
    loss = replace(recoded.loss, columns=losses)
    return replace(recoded, table=recoded.table.with_columns(columns), loss=loss)


def _loss(entry: ColumnEncoding, prepared: Prepared, released: pl.Series) -> ColumnLoss:
    original = prepared.original(entry.column.name)
    if entry.column.kind == Kind.NOMINAL:
        return mismatch_loss(original, _encoded(entry, released), prepared.weights)
    standardised = entry.standardised
    return squared_loss(standardised(original), standardised(_encoded(entry, released)), prepared.weights)


def _encoded(entry: ColumnEncoding, released: pl.Series) -> Floats:
    """Return released values as the encoding sees them; means of integers may be floats."""
    if isinstance(entry, NumericEncoding) and released.dtype.is_float():
        return released.cast(pl.Float64).to_numpy() - float(entry.origin)
    return entry.values(nw.from_native(released, series_only=True))


def run_second_release(
    prepared: Prepared, plan: Plan, previous: HolderRecord | str | Path, *, accepted: bool, progress: Progress = SILENT
) -> Released:
    """Run the stages after preparing for a release that follows an earlier one.

    Parameters
    ----------
    prepared
        The new table.
    plan
        What is requested.
    previous
        The holder's record of the earlier release, or its file.
    accepted
        Whether settings may differ from those of the earlier release.
    progress
        Progress callback.
    """
    record = previous if isinstance(previous, HolderRecord) else HolderRecord.read(previous)
    if plan.by_persons or _grouped_persons(record.header["plan"]):
        raise ParameterError(
            "a second release starts from the groups of rows of the earlier one, which histories and constant columns "
            "do not allow; protect both tables together, or count units without constant columns"
        )
    if (prepared.steps is not None and prepared.steps.kept is not None) or (record.groups < 0).any():
        raise ParameterError(
            "a second release starts from the groups of all records of the earlier one, which dropped records do not "
            'allow; leave the step "outliers" out, or protect without previous='
        )
    stated = plan if prepared.steps is None else replace(plan, schema=prepared.steps.fitted.stated)
    changes = check_second_release(record, stated, accepted=accepted)
    requirements = plan.requirements
    blocks = find_blocks(prepared, requirements)
    data = MethodData(prepared, blocks.suppressed)
    confidential = read_confidential(prepared.table, plan.schema, requirements, prepared.whole_table)
    rule = person_requirements(prepared, requirements, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    elif confidential is not None:
        confidential.check_achievable(requirements, blocks)
    grouped, matched = regroup(
        prepared, plan, record, confidential=confidential, data=data, blocks=blocks, progress=progress
    )
    figures, untouched = second_release(record, matched, grouped, changes)
    recodes = None if changes else {str(name): str(recode) for name, recode in record.header["recodes"].items()}
    recoded = recode_table(
        prepared, grouped, recode=recodes, decimals=plan.decimals, sums=plan.sums, data=data, progress=progress
    )
    if not changes:
        recoded = keep_released_values(prepared, recoded, record, matched, untouched)
    return release_table(plan, prepared, grouped, recoded, second=figures, progress=progress)
