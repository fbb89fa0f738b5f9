"""A release that follows an earlier one: what may change between them, what stays, and what both together disclose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import distinct_per_class
from shoal.errors import ParameterError
from shoal.flow.encoding import ColumnEncoding, Floats, NumericEncoding, from_polars
from shoal.flow.group import Blocks, Grouped, find_blocks
from shoal.flow.holder_record import HolderRecord
from shoal.flow.person_requirements import check_achievable, person_requirements
from shoal.flow.prepare import MethodData, Prepared
from shoal.flow.previous import regroup
from shoal.flow.recode import Recoded, recode_table
from shoal.flow.record_matching import Matched
from shoal.flow.released import Released, release_table
from shoal.flow.resolved import FLOW_ALGORITHMS
from shoal.flow.satisfy import read_confidential
from shoal.flow.suppressed_rows import with_suppressed_rows
from shoal.methods.registry import get_method
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.schema.columns import Kind, Recode
from shoal.schema.plan import JsonDict, Plan
from shoal.schema.requirements import Of

if TYPE_CHECKING:
    from shoal.flow.previous_persons import SecondGroups
    from shoal.flow.satisfy import ConfidentialValues

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
    for identity in FLOW_ALGORITHMS:
        if name == identity.partition("@")[0]:
            return identity
    try:
        return get_method(name).identity
    except ParameterError:
        return "not available"


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
        "keep": schema.get("keep"),
        "together": schema.get("together"),
        "requirements": plan["requirements"],
        "method": plan["method"],
        "decimals": plan["decimals"],
        "sums": plan["sums"],
        "keep_moments": plan.get("keep_moments", False),
        "keep_links": schema.get("keep_links"),
        "persons": plan.get("persons"),
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
    prepared: Prepared, recoded: Recoded, record: HolderRecord, matched: Matched, untouched: NDArray[np.bool_],
    of_columns: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Recoded:  # fmt: skip
    """Return a recoded table in which groups that did not change have the values of the earlier release.

    ``of_columns`` names columns that were replaced by other groups, with the rows of those that did not change.

    Integer means are rounded such that totals are kept, and floats are offsets from the middle of the range, so both
    could differ although the group is the same.
    """
    values, groups = record.representatives, np.maximum(record.groups[matched.earlier], 0)
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
        same = pl.Series((of_columns or {}).get(name, untouched))
        kept = pl.select(pl.when(same).then(stated.gather(groups)).otherwise(present)).to_series()
        if kept.equals(present, null_equal=True):
            continue
        columns[name] = from_polars(kept.alias(name), series, same_dtype=True)
        if prepared.steps is not None and name in prepared.steps.changed:
            from shoal.flow.step_loss import loss_against_original

            losses[name] = loss_against_original(prepared, name, columns[name], losses[name])
        elif recoded.recodes[name] in _VALUES:
            losses[name] = _loss(entry, prepared, kept)
            if prepared.whole is not None:
                losses[name] = with_suppressed_rows(prepared, name, losses[name])
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
    if not plan.by_persons and record.person_groups is not None:
        raise ParameterError(
            "the earlier release grouped whole persons and this one groups rows, so that persons would not stay "
            "together; keep the constant columns and what k counts as in the earlier release"
        )
    dropped = record.person_groups is None and bool((record.groups < 0).any())  # histories suppress rows
    if (prepared.steps is not None and prepared.steps.kept is not None) or dropped:
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
    if plan.by_persons:
        return _of_persons(prepared, plan, record, changes, confidential, data, blocks, progress)
    rule = person_requirements(prepared, requirements, confidential)
    if rule is not None:
        check_achievable(rule, blocks)
    elif confidential is not None:
        confidential.check_achievable(requirements, blocks)
    grouped, matched = regroup(
        prepared, plan, record, confidential=confidential, data=data, blocks=blocks, progress=progress
    )
    figures, untouched = second_release(record, matched, grouped, changes)
    recodes = None if changes else _recodes(record)
    recoded = recode_table(
        prepared, grouped, recode=recodes, decimals=plan.decimals, sums=plan.sums, data=data, progress=progress
    )
    if not changes:
        recoded = keep_released_values(prepared, recoded, record, matched, untouched)
    return release_table(plan, prepared, grouped, recoded, second=figures, progress=progress)


def _recodes(record: HolderRecord) -> dict[str, str]:
    """Return the recodes of the earlier release."""
    return {str(name): str(recode) for name, recode in record.header["recodes"].items()}


def _of_persons(  # noqa: PLR0917 - what the release depends on
    prepared: Prepared, plan: Plan, record: HolderRecord, changes: tuple[str, ...],
    confidential: ConfidentialValues | None, data: MethodData, blocks: Blocks, progress: Progress,
) -> Released:  # fmt: skip
    """Run the stages after preparing for a second release that groups whole persons."""
    from shoal.flow.group_persons import requirements_of
    from shoal.flow.nested_requirements import settle_nested
    from shoal.flow.previous_persons import regroup_persons

    found = regroup_persons(
        prepared, plan, record, confidential=confidential, data=data, blocks=blocks, progress=progress
    )
    part, matched = found.part, found.matched
    chosen = np.arange(prepared.n) if part.rows is None else part.rows
    inside = Matched(matched.earlier[chosen], matched.changed[chosen], matched.deleted)
    recodes = None if changes else _recodes(record)

    def recode(groups: Grouped) -> Recoded:
        recoded = recode_table(part, groups, recode=recodes, decimals=plan.decimals, sums=plan.sums, progress=progress)
        if changes:
            return recoded
        # histories suppress rows, so that their classes have no group in the record unless nothing changed
        by_persons = plan.of == Of.HISTORIES
        rows = found.untouched[chosen] if by_persons else second_release(record, inside, groups, changes)[1]
        masks = dict.fromkeys(plan.schema.constant, found.untouched[chosen])
        if found.untouched_households is not None and prepared.units is not None:
            masks |= dict.fromkeys(prepared.units.shared, found.untouched_households[chosen])
        return keep_released_values(part, recoded, record, inside, rows, masks)

    grouped = found.grouped
    recoded = recode(grouped)
    rule = requirements_of(prepared, plan, confidential)
    if rule is not None and plan.of != Of.HISTORIES:
        grouped, recoded = settle_nested(prepared, grouped, recoded, rule, recode=recode, data=data, progress=progress)
    figures = _figures_of_persons(prepared, plan, found, changes)
    return release_table(plan, part, grouped, recoded, second=figures, progress=progress)


def _figures_of_persons(prepared: Prepared, plan: Plan, found: SecondGroups, changes: tuple[str, ...]) -> SecondRelease:
    """Return how the release follows from the earlier one; candidates are persons who share both groups."""
    units, matched, k = prepared.units, found.matched, plan.requirements.k
    assert units is not None
    counted = units.counted(plan.of)
    counted = np.arange(prepared.n) if counted is None else counted
    here = matched.earlier >= 0
    known = found.earlier >= 0
    both = canonical_labels(found.earlier[known] * (int(found.persons.max()) + 1) + found.persons[known])
    candidates, left = np.zeros(prepared.n, np.int64), np.zeros(prepared.n, np.int64)
    if known.any():
        candidates[known] = distinct_per_class(both, counted[known])[both]
        before = canonical_labels(found.earlier[known])
        left[known] = distinct_per_class(before, counted[known])[before]
    few = here & known & (candidates < k)
    return SecondRelease(
        kept=int((here & ~matched.changed).sum()), changed=int(matched.changed.sum()), new=int((~here).sum()),
        deleted=matched.deleted, groups_kept=np.unique(found.persons[found.untouched]).size,
        below_k=int(few.sum()), unavoidable=int((few & (left < k)).sum()), plan_changes=changes,
    )  # fmt: skip


def plan_changes(earlier: Mapping[str, object], now: Mapping[str, object], path: str = "") -> list[str]:
    """Return the entries of two plans that differ, by their place, without values of lists.

    Examples
    --------
    >>> plan_changes({"method": {"seed": 0, "name": "mdav"}}, {"method": {"seed": 1, "name": "mdav"}})
    ['method.seed']
    """
    changes = []
    for name in dict.fromkeys([*earlier, *now]):
        one, two, place = earlier.get(name), now.get(name), f"{path}{name}"
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            changes += plan_changes(one, two, f"{place}.")
        elif one != two:
            changes.append(place)
    return changes
