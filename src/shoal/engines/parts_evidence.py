"""The evidence of a release that was made in parts: remarks, the checks that stop a release, and the manifest.

What is counted comes from the whole table. What has to be searched for (columns that give protected ones back, columns
that look like identifiers, rows that can be put together again) is searched for in the sample, whose size is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.engines.leaf_figures import LeafFigures
from shoal.engines.planning import CHECKED_RECORDS, Planned
from shoal.engines.profile import Numbers, Profile, followed_column
from shoal.engines.recount_parts import PartsRecount
from shoal.errors import LossNotAccepted
from shoal.flow.derived_columns import find_derived
from shoal.flow.manifest import ManifestParts, manifest_of_parts, stated_plan_digest
from shoal.flow.relinked import person_remarks
from shoal.flow.remarks import HEAVY_LOSS, Remark, cell_remarks, check_accepted, known_remarks
from shoal.flow.units import UnitIndex, positions
from shoal.schema.column_words import looks_like_identifier
from shoal.schema.columns import Recode, Role
from shoal.schema.plan import JsonDict, Plan
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

LINKED_ROWS = 100_000
"""The most released rows, of complete persons, that are searched for columns by which they could be linked again."""
_TEXTS = {Recode.RANGE, Recode.SET, Recode.HIERARCHY}


@dataclass(frozen=True)
class Accepted:
    """What a user accepts: loss, columns that give protected ones back, rows that can be linked again."""

    loss: bool = False
    derived: bool = False
    relinking: bool = False


@dataclass(frozen=True, eq=False)
class PartsRelease:
    """What a release in parts achieved.

    Parameters
    ----------
    plan
        What was done.
    figures
        Counts and sums over all parts.
    counted
        What was counted on the files of the release.
    manifest
        What was done, as a dictionary without values of records.
    remarks
        What a person should know before the table is released.
    """

    plan: Plan
    figures: LeafFigures
    counted: PartsRecount
    manifest: JsonDict
    remarks: tuple[Remark, ...]


class EngineRun(Protocol):
    """A plan that an engine has run on a table in parts."""

    @property
    def plan(self) -> Plan:
        """What was requested, completed for the whole table."""

    @property
    def inner(self) -> Plan:
        """The plan for parts, without direct identifiers."""

    @property
    def leaf_records(self) -> int:
        """The wanted number of rows of a part."""

    @property
    def planned(self) -> Planned | None:
        """The partition of the table."""

    @property
    def figures(self) -> LeafFigures | None:
        """Counts and sums over all parts."""


class ReleasedColumns:
    """What is noted about released rows on their way to the files: whether columns vary, and rows of some persons.

    Parameters
    ----------
    plan
        What is requested.
    records
        The number of rows of the table.
    """

    def __init__(self, plan: Plan, records: int) -> None:
        self.plan = plan
        self._values: dict[str, pl.Series] = {}
        self._linked: list[Any] = []
        self._share = max(1, -(-records // LINKED_ROWS))

    def add(self, table: Any, owners: Any) -> None:
        """Note some released rows, and the persons or households that they belong to."""
        shown = Table.from_native(table)
        for column in self.plan.schema.quasi:
            self._note(column.name, comparable_values(shown.column(column.name)).unique())
        if owners is None or self.plan.schema.unit != followed_column(self.plan):
            return
        persons = pl.Series(pl.from_arrow(owners))
        chosen = np.flatnonzero(persons.hash(seed=7).to_numpy() % np.uint64(self._share) == 0)
        self._linked.append(table.append_column("__shoal_owner", owners).take(chosen))

    def join(self, other: ReleasedColumns) -> None:
        """Take over what was noted about other rows of the release."""
        for name, values in other._values.items():
            self._note(name, values)
        self._linked += other._linked

    def _note(self, name: str, few: pl.Series) -> None:
        if name in self._values:
            few = pl.concat([self._values[name], few]).unique()
        # two values show that a column varies; categories are counted, numbers need not be
        self._values[name] = few if str(self.plan.schema[name].kind) != "numeric" else few.sort().head(2)

    def single_valued(self) -> list[str]:
        """Return the quasi-identifiers that have one value left."""
        return [name for name, values in self._values.items() if len(values) == 1]

    def categories(self, name: str) -> int:
        """Return the number of different released values of a column of categories."""
        return len(self._values[name].drop_nulls())

    def person_remarks(self) -> list[Remark]:
        """Return what is found about the rows of some complete persons."""
        import pyarrow as pa

        if not self._linked:
            return []
        rows = pa.concat_tables(self._linked).unify_dictionaries().combine_chunks()
        values = comparable_values(Table.from_native(rows.select(["__shoal_owner"])).column("__shoal_owner"))
        unit = values.rank("dense").to_numpy().astype(np.int64) - 1
        units = UnitIndex(unit, None, positions(unit))
        table = Table.from_native(rows.drop_columns(["__shoal_owner"]))
        return [Remark(found.code, None, found.text) for found in person_remarks(self.plan, table, units)]


def finished_release(
    run: EngineRun, noted: ReleasedColumns, counted: PartsRecount, *, columns: int, output: JsonDict,
    names: Sequence[str], accepted: Accepted | None,
) -> PartsRelease:  # fmt: skip
    """Return the evidence of a release that was counted; raises where something is not accepted.

    Parameters
    ----------
    run, noted, counted
        What was done, noted about released rows, and counted on them.
    columns
        The number of columns of the input.
    output, names
        Shape and files of the release, and its columns.
    accepted
        What is accepted; nothing if not given.
    """
    planned, figures = run.planned, run.figures
    assert planned is not None
    assert figures is not None
    accepted = accepted or Accepted()
    remarks = parts_remarks(run, planned, figures, noted, counted)
    if not accepted.loss:
        check_parts_loss(planned.profile, figures, noted, run.plan.requirements.k)
    check_accepted(remarks, relinking=accepted.relinking, derived=accepted.derived)
    manifest = parts_manifest(run, figures, counted, remarks, columns=columns, output=output, names=names)
    return PartsRelease(run.plan, figures, counted, manifest, remarks)


def parts_remarks(
    run: EngineRun, planned: Planned, figures: LeafFigures, released: ReleasedColumns, counted: PartsRecount
) -> tuple[Remark, ...]:
    """Return what a person should know before the table is released."""
    plan, sample = run.plan, planned.sample
    some = sample if sample.n_rows <= CHECKED_RECORDS else sample.in_order(np.arange(CHECKED_RECORDS))
    remarks = []
    for column in plan.schema.columns:
        if column.role in {Role.OTHER, Role.CONFIDENTIAL} and column.name != plan.schema.sampling_weight:
            reason = looks_like_identifier(some.column(column.name))
            if reason:
                text = f'column "{column.name}" is released unchanged but may identify single persons ({reason})'
                remarks.append(Remark("possible-identifier", column.name, text))
    for name, count in figures.imputed.items():
        text = f'{count:,} missing values of "{name}" were imputed and then replaced like all others'
        remarks.append(Remark("imputed", name, text))
    for name, count in figures.suppressed.items():
        text = f'{count:,} values of "{name}" were suppressed because the missingness pattern was too rare'
        remarks.append(Remark("suppressed", name, text))
    remarks += cell_remarks(figures.cells)
    for name, loss in figures.loss(plan.requirements.k).columns.items():
        if loss.information_loss > HEAVY_LOSS:
            text = f'column "{name}" lost {100 * loss.information_loss:.0f} % of its information'
            remarks.append(Remark("heavy-loss", name, text))
    remarks += _lost_categories(planned.profile, figures, released)
    if figures.dominated:
        text = (
            f"in {figures.dominated:,} groups of {figures.groups:,} one record has most of the sampling weight, so the "
            "weighted mean is nearly the value of this record"
        )
        remarks.append(Remark("dominant-weight", plan.schema.sampling_weight, text))
    remarks += known_remarks(plan, counted.recount)
    remarks += released.person_remarks()
    schema = run.inner.schema
    remarks += [Remark(found.code, found.column, found.sentence) for found in find_derived(some, schema)]
    return tuple(remarks)


def _lost_categories(profile: Profile, figures: LeafFigures, released: ReleasedColumns) -> list[Remark]:
    remarks = []
    for name, found in profile.columns.items():
        if isinstance(found, Numbers) or figures.recodes[name] in _TEXTS:
            continue
        lost = len(found.counts) - released.categories(name)
        if lost > 0:
            categories = "1 category" if lost == 1 else f"{lost:,} categories"
            text = f'{categories} of "{name}" {"does" if lost == 1 else "do"} not occur in the released table any more'
            remarks.append(Remark("lost-category", name, text))
    return remarks


def check_parts_loss(profile: Profile, figures: LeafFigures, released: ReleasedColumns, k: int) -> None:
    """Raise where a release has lost more than everything, or a column has one value left; a user has to accept it."""
    total = figures.loss(k).information_loss
    problems = [f"the information loss is {100 * total:.0f} %"] if total > 1 else []
    for name in released.single_valued():
        found = profile.columns[name]
        several = found.low != found.high if isinstance(found, Numbers) else len(found.counts) > 1
        if several or (found.missing and found.missing < profile.records):
            problems.append(f'column "{name}" has one value left')
    if problems:
        raise LossNotAccepted(
            f"{'; '.join(problems)}: nothing was released; choose a smaller k, fewer quasi-identifiers or another "
            "treatment of missing values, drop the column, or accept the loss with --accept-loss (Python: "
            "accept_loss=True)"
        )


def parts_manifest(
    run: EngineRun, figures: LeafFigures, counted: PartsRecount, remarks: Sequence[Remark], *, columns: int,
    output: JsonDict, names: Sequence[str],
) -> JsonDict:  # fmt: skip
    """Return the manifest of a release that was made in parts; it does not depend on the engine.

    Parameters
    ----------
    run, figures, counted, remarks
        What was done, counted and found.
    columns
        The number of columns of the input.
    output
        Shape and fingerprint of the release.
    names
        Its columns.
    """
    missing: JsonDict = {"imputed": dict(figures.imputed), "suppressed": dict(figures.suppressed)}
    for word in ("filled", "emptied"):
        if figures.cells:
            counts = {name: getattr(cells, word) for name, cells in figures.cells.items()}
            missing[word] = {name: count for name, count in counts.items() if count}
    method: JsonDict = {
        "blocks": figures.blocks, "stopped": "finished", "diagnostics": {},
        "steps": [{"name": name, **counts} for name, counts in figures.steps.items()],
        "parts": {"count": figures.jobs, "records": run.leaf_records},
    }  # fmt: skip
    parts = ManifestParts(
        figures.records, {"records": figures.records, "columns": columns}, output, names, figures.recodes,
        figures.runs, method, missing, figures.sizes, figures.loss(run.plan.requirements.k),
    )  # fmt: skip
    manifest = manifest_of_parts(run.plan, parts, counted.recount, remarks)
    if run.plan.schema.shuffle:
        manifest["steps"] = {"columns": {}, "shuffled": True}
    if run.plan.schema.keep:
        manifest["rules"] = {"kept": list(run.plan.schema.keep), "changed_cells": dict(figures.repaired)}
    manifest["plan"] = stated_plan_digest(manifest)
    if counted.achieved:
        manifest["achieved"] = counted.achieved
        manifest["confidential_compared"] = counted.compared
    return manifest
