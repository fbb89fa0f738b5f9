"""Remarks: what a person should know before a table is released, each with a code, a column and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.core.group_statistics import largest_shares
from shoal.errors import DerivedNotAccepted, LinksNotAccepted
from shoal.flow.derived_columns import derived_columns
from shoal.flow.group import Grouped
from shoal.flow.prepare import Prepared
from shoal.flow.recode import Recoded
from shoal.methods.contract import Outcome
from shoal.schema.column_words import FEW_CODES, looks_like_identifier, named_as_person, words_of
from shoal.schema.columns import Kind, Recode, ReleaseWeight, Role
from shoal.schema.plan import Plan
from shoal.tables.clean_copy import left_out

if TYPE_CHECKING:
    from shoal.flow.known_cells import ChangedCells
    from shoal.flow.released import Recount
    from shoal.flow.units import UnitIndex
    from shoal.schema.person_numbers import RepeatedNumber

DOMINANT_SHARE = 0.8
"""The share of the sampling weight of a group above which one record dominates it: the (1, 80 %) dominance rule."""
_HEAD = 10_000
FULLY_RESTORED = 1e-6
"""The share of the variances that may be missing where all of them count as restored."""
HEAVY_LOSS = 0.4
"""The information loss of a column above which a remark is made."""


@dataclass(frozen=True)
class Remark:
    """Something a person should know before the table is released: a code, the column it concerns, and a sentence."""

    code: str
    column: str | None
    text: str

    def __str__(self) -> str:
        return self.text


def release_remarks(
    plan: Plan, prepared: Prepared, grouped: Grouped, recoded: Recoded, recount: Recount, persons: UnitIndex | None
) -> tuple[Remark, ...]:
    """Return what a person should know before the table is released.

    Parameters
    ----------
    plan
        What was requested.
    prepared, grouped, recoded
        The stages before; the recoded table is in the order of the release.
    recount
        What was counted on the released table.
    persons
        The persons of its rows.
    """
    remarks = [*_remarks(prepared, grouped, recoded), *known_remarks(plan, recount), *_second_weights(prepared)]
    if persons is not None:
        from shoal.flow.relinked import person_remarks

        remarks += [Remark(found.code, None, found.text) for found in person_remarks(plan, recoded.table, persons)]
    remarks += _code_remarks(prepared)
    remarks += _moment_remarks(recoded)
    remarks += [Remark(found.code, found.column, found.sentence) for found in derived_columns(prepared)]
    if persons is not None or prepared.whole is not None:
        from shoal.flow.relinked import original_remarks

        remarks += [Remark(found.code, None, found.text) for found in original_remarks(plan, prepared)]
    if prepared.steps is not None:
        from shoal.flow.released_steps import step_remarks

        remarks += [Remark(*found) for found in step_remarks(plan, prepared)]
    remarks += [Remark("several-rows", found.column, found.warning) for found in _asked_persons(plan, prepared)]
    return tuple(remarks)


def _asked_persons(plan: Plan, prepared: Prepared) -> list[RepeatedNumber]:
    """Return the columns that look like the number of a person and repeat, where no unit and no ``of`` is stated."""
    schema = plan.schema
    if schema.unit is not None or plan.requirements.of is not None:
        return []
    columns = [column for column in schema.columns if column.name not in {schema.household, schema.time}]
    unclear = [column.name for column in columns if column.role in {Role.IDENTIFIER, Role.OTHER}]
    if not unclear and not any(named_as_person(column.name) for column in columns):
        return []
    from shoal.schema.person_numbers import repeated_numbers

    return repeated_numbers(prepared.table, [column.name for column in columns], unclear)


def check_accepted(remarks: Sequence[Remark], *, relinking: bool, derived: bool) -> None:
    """Raise for what a user has to accept, unless it is accepted.

    Parameters
    ----------
    remarks
        The remarks about a release.
    relinking
        Whether it is accepted that the rows of too many persons can be put together again.
    derived
        Whether it is accepted that unchanged columns give a protected one back exactly.
    """
    for remark in remarks:
        if remark.code == "relinking" and not relinking:
            raise LinksNotAccepted(
                f"{remark}: nothing was released; drop or coarsen these columns, declare them as quasi-identifiers, "
                'protect whole histories with --of histories (Python: of="histories"), or accept it with '
                "--accept-relinking (Python: accept_relinking=True)"
            )
    found = [str(remark) for remark in remarks if remark.code == "derived-exactly"]
    if found and not derived:
        raise DerivedNotAccepted(
            f"{'; '.join(found)}: nothing was released; declare one of these columns as a quasi-identifier too, drop "
            "it as an identifier, or accept it with --accept-derived (Python: accept_derived=True)"
        )


def _remarks(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> tuple[Remark, ...]:
    """Return what a person should know before the table is released."""
    schema, table = prepared.schema, prepared.table
    remarks = [Remark("left-out", None, sentence) for sentence in left_out(table)]
    for column in schema.columns:
        if column.role in {Role.OTHER, Role.CONFIDENTIAL} and column.name != schema.sampling_weight:
            reason = looks_like_identifier(table.typed(column.name))
            if reason:
                text = f'column "{column.name}" is released unchanged but may identify single persons ({reason})'
                remarks.append(Remark("possible-identifier", column.name, text))
    for name, count in prepared.imputed.items():
        cells = "1 missing value" if count == 1 else f"{count} missing values"
        were = "was" if count == 1 else "were"
        text = f'{cells} of "{name}" {were} imputed and then replaced like all others'
        remarks.append(Remark("imputed", name, text))
    for name, count in grouped.blocks.added.items():
        cells = "1 value" if count == 1 else f"{count} values"
        were = "was" if count == 1 else "were"
        text = f'{cells} of "{name}" {were} suppressed because the missingness pattern was too rare'
        remarks.append(Remark("suppressed", name, text))
    remarks += cell_remarks(recoded.cells)
    for name, loss in recoded.loss.columns.items():
        if loss.information_loss > HEAVY_LOSS:
            text = f'column "{name}" lost {100 * loss.information_loss:.0f} % of its information'
            remarks.append(Remark("heavy-loss", name, text))
    remarks += _lost_categories(prepared, recoded)
    return (*remarks, *_weight_remarks(prepared, grouped, recoded), *_vector_remarks(grouped.outcome, prepared.n))


def cell_remarks(changed: Mapping[str, ChangedCells]) -> list[Remark]:
    """Return how many cells were filled or emptied in groups that mix known and missing cells, by column."""
    remarks = []
    for name, cells in changed.items():
        groups = "1 group" if cells.groups == 1 else f"{cells.groups:,} groups"
        if cells.filled:
            amount = "1 missing value" if cells.filled == 1 else f"{cells.filled:,} missing values"
            text = f'{amount} of "{name}" got the representative of the known cells of {groups}'
            remarks.append(Remark("filled", name, text))
        if cells.emptied:
            amount = "1 value" if cells.emptied == 1 else f"{cells.emptied:,} values"
            were = "was" if cells.emptied == 1 else "were"
            text = f'{amount} of "{name}" {were} emptied in {groups} with missing or not applicable cells'
            remarks.append(Remark("emptied", name, text))
    return remarks


def _moment_remarks(recoded: Recoded) -> tuple[Remark, ...]:
    """Return what keeping means and covariances means for a second release, and what could not be kept."""
    moments = recoded.moments
    if moments is None:
        return ()
    left_out = [name for name in recoded.recodes if name not in moments.columns]
    text = "means and covariances of the numeric quasi-identifiers were kept"
    text += f" (not of {', '.join(left_out)})" if left_out else ""
    text += (
        "; a second release of nearly the same records with this option discloses second moments of the records that "
        "only one of them has"
    )
    if moments.restored < 1 - FULLY_RESTORED:
        text += f"; {100 * moments.restored:.0f} % of the variances could be restored, since there are too few groups"
    return (Remark("moments-kept", None, text),)


def _code_remarks(prepared: Prepared) -> tuple[Remark, ...]:
    """Return remarks for few different whole numbers that are averaged although no person called them numbers."""
    remarks = []
    for column in prepared.schema.quasi:
        if column.kind != Kind.NUMERIC or column.kind_stated or column.default_recode != Recode.MEAN:
            continue
        series = prepared.table.typed(column.name)
        if not series.dtype.is_integer() or series.head(_HEAD).n_unique() > FEW_CODES:
            continue
        from shoal.schema.kind_proposal import propose_kind

        if propose_kind(series, words_of(column.name), prepared.table.value_labels(column.name))[0] == Kind.NOMINAL:
            text = (
                f'"{column.name}" has {series.drop_nulls().n_unique()} different whole numbers, which are averaged; if '
                "they are codes, state --nominal (Python: kinds=...) for it, if they are amounts, --numeric (Python: "
                "kinds=...)"
            )
            remarks.append(Remark("integer-codes", column.name, text))
    return tuple(remarks)


def _weight_remarks(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> tuple[Remark, ...]:
    """Return a remark where one record has so much weight in its group that the mean is nearly its value."""
    if prepared.weights is None or Recode.MEAN not in recoded.recodes.values():
        return ()
    count = int((largest_shares(prepared.weights, grouped.grouping) > DOMINANT_SHARE).sum())
    if not count:
        return ()
    groups = "1 group" if count == 1 else f"{count} groups"
    text = (
        f"in {groups} of {len(grouped.grouping)} one record has more than {100 * DOMINANT_SHARE:.0f} % of the sampling "
        "weight, so the weighted mean is nearly the value of this record"
    )
    return (Remark("dominant-weight", prepared.schema.sampling_weight, text),)


def _lost_categories(prepared: Prepared, recoded: Recoded) -> list[Remark]:
    """Return a remark for each column of categories of which some do not occur any more, without naming them."""
    remarks = []
    for entry in prepared.encoding.quasi:
        name = entry.column.name
        if entry.column.kind == Kind.NUMERIC or recoded.recodes[name] in {Recode.RANGE, Recode.SET, Recode.HIERARCHY}:
            continue
        tables = prepared.complete.table, recoded.table
        before, after = (table.column(name).drop_nulls().n_unique() for table in tables)
        if after < before:
            lost = before - after
            categories = "1 category" if lost == 1 else f"{lost} categories"
            text = f'{categories} of "{name}" {"does" if lost == 1 else "do"} not occur in the released table any more'
            remarks.append(Remark("lost-category", name, text))
    return remarks


def known_remarks(plan: Plan, recount: Recount) -> list[Remark]:
    """Return remarks where columns that an intruder may know beside the quasi-identifiers leave fewer than k."""
    k, weight = plan.requirements.k, plan.schema.sampling_weight
    remarks = []
    if recount.with_weight is not None and recount.with_weight.k < k:
        text = (
            f'the sampling weight "{weight}" is released unchanged: with it, {recount.with_weight.records_below(k):,} '
            f"records are in classes of fewer than {k}, the smallest of {recount.with_weight.k}"
        )
        remarks.append(Remark("sampling-weight", weight, text))
    if recount.with_known is not None and recount.with_known.k < k:
        names = ", ".join(f'"{name}"' for name in plan.schema.known)
        text = (
            f"with {names}, which an intruder may know, {recount.with_known.records_below(k):,} records are in classes "
            f"of fewer than {k}, the smallest of {recount.with_known.k}"
        )
        remarks.append(Remark("known-columns", None, text))
    if recount.with_constant is not None and recount.with_constant.k < k:
        names = ", ".join(f'"{name}"' for name in recount.constant)
        owner = "persons" if plan.schema.household is None else "households"
        text = (
            f"with {names}, released unchanged and constant within {owner}, "
            f"{recount.with_constant.records_below(k):,} records are in classes of fewer than {k}, the smallest of "
            f"{recount.with_constant.k}"
        )
        remarks.append(Remark("constant-columns", None, text))
    return remarks


def _second_weights(prepared: Prepared) -> list[Remark]:
    """Return remarks for unchanged columns with one value for each sampling weight, such as a second weight."""
    schema, weights = prepared.schema, prepared.weights
    if weights is None or schema.release_weight == ReleaseWeight.UNCHANGED:
        return []
    distinct = np.unique(weights).size
    remarks = []
    for column in schema.columns:
        if column.role not in {Role.OTHER, Role.CONFIDENTIAL} or column.name in {schema.sampling_weight, *schema.known}:
            continue
        values = prepared.table.column(column.name).to_polars()
        if values.dtype.is_nested() or values.n_unique() != distinct or distinct == 1:
            continue
        if pl.DataFrame({"value": values, "weight": weights}).n_unique() == distinct:
            text = (
                f'column "{column.name}" is released unchanged and has one value for each sampling weight, so an '
                "intruder can read the weight from it"
            )
            remarks.append(Remark("second-weight", column.name, text))
    return remarks


def _vector_remarks(outcome: Outcome, n: int) -> tuple[Remark, ...]:
    """Return a remark where a method found frequencies of another number of records than the table has."""
    several = outcome.diagnostics.get("blocks")
    parts = several if isinstance(several, list) else [outcome.diagnostics]
    found = [part for part in parts if isinstance(part, dict | type(outcome.diagnostics)) and "vector_records" in part]
    counts = np.array([[part["vector_records"], part.get("records", n)] for part in found], np.int64).reshape(-1, 2)
    if not (counts[:, 0] != counts[:, 1]).any():
        return ()
    text = (
        f"the method found frequencies of {int(counts[:, 0].sum())} records; they were adjusted to the {n} records of "
        "the table, so that none is lost, which changes its frequency tables by as much"
    )
    return (Remark("frequency-vector", None, text),)
