"""Steps in a release: codes in the place of direct identifiers, and what the manifest states about all steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from shoal.flow.prepare import Prepared
from shoal.flow.row_order import RowOrder
from shoal.schema.columns import Role
from shoal.schema.plan import JsonDict, Plan
from shoal.schema.step_texts import stated_step
from shoal.schema.steps import Top
from shoal.tables import Table
from shoal.tables.value_codes import polars_series

if TYPE_CHECKING:
    from shoal.flow.recode import Recoded


def with_identifier_codes(table: Table, prepared: Prepared, order: RowOrder | None) -> Table:
    """Return a released table with random codes in the place of direct identifiers, as its first columns.

    Parameters
    ----------
    table
        The released table.
    prepared
        The table that was grouped, with the codes of its records.
    order
        The order of the released rows among those of ``prepared``.
    """
    import narwhals as nw

    assert prepared.steps is not None
    columns = []
    for name, codes in prepared.steps.codes.items():
        values = polars_series(codes)
        if prepared.rows is not None:
            values = values.gather(prepared.rows)
        if order is not None:
            values = values.gather(order.original_rows)
        columns.append(nw.new_series(name, values.to_list(), nw.String, backend=table.frame.implementation))
    names = [column.name for column in columns]
    return replace(table, frame=table.frame.with_columns(*columns).select([*names, *table.names]))


def step_remarks(plan: Plan, prepared: Prepared) -> list[tuple[str, str | None, str]]:
    """Return code, column and sentence of what a person should know about the steps."""
    steps = prepared.steps
    found: list[tuple[str, str | None, str]] = []
    if steps is None:
        return found
    if steps.kept is not None:
        n = steps.original.n_rows
        gone = n - steps.kept.size
        were = "1 record was" if gone == 1 else f"{gone:,} records were"
        text = f"{were} dropped as outliers, {100 * gone / n:.1f} % of {n:,}"
        found.append(("outliers-dropped", None, text))
    for name, fitted in steps.fitted.columns.items():
        if plan.schema[name].role == Role.QUASI:
            continue
        values = polars_series(prepared.table.column(name))
        for one in fitted:
            if not isinstance(one.step, Top) or one.step.share is not None or values.dtype == pl.String:
                continue
            holders = int((values == one.bound).sum())
            if 0 < holders < plan.requirements.k:
                text = (
                    f'the bound of the step "{one.step}" of column "{name}" is shared by fewer than '
                    f"{plan.requirements.k} records"
                )
                found.append(("rare-bound", name, text))
    return found


def step_sentences(manifest: JsonDict, *, public: bool) -> list[str]:
    """Return what was done by steps and rules, one sentence each, for reports; counts are not public."""
    sentences = []
    entry: JsonDict = manifest.get("steps", {})
    for name, steps in entry.get("columns", {}).items():
        for when in ("before", "after"):
            if when not in steps:
                continue
            cells = steps.get(f"changed_{when}")
            count = "" if public or cells is None else f" ({cells:,} cell{'' if cells == 1 else 's'} changed)"
            sentences.append(f'Step {when} grouping on "{name}": {", ".join(steps[when])}{count}.')
    if "records_dropped" in entry:
        share = f"{100 * entry['share_dropped']:.1f} % of the records"
        count = "" if public else f"{entry['records_dropped']:,}, "
        sentences.append(f"Outlier records were dropped: {count}{share}.")
    if entry.get("shuffled"):
        sentences.append("The rows were released in a random order.")
    if entry.get("columns"):
        sentences.append("Information loss is measured against the table before all steps.")
    if "rules" in manifest:
        rules = manifest["rules"]
        changed = ", ".join(f'{cells:,} cells of "{name}"' for name, cells in rules["changed_cells"].items())
        count = "" if public else f"; changed to keep them: {changed or 'nothing'}"
        sentences.append(f"Rules between columns hold in every record: {', '.join(rules['kept'])}{count}.")
    return sentences


def steps_entry(prepared: Prepared, recoded: Recoded) -> JsonDict:
    """Return what a manifest states about steps: texts without values of mappings, and counts of cells and records."""
    schema, steps = prepared.schema, prepared.steps
    columns: JsonDict = {}
    for column in schema.columns:
        entry: JsonDict = {}
        if column.before:
            entry["before"] = [stated_step(text) for text in column.before]
        if steps is not None and column.name in steps.changed:
            entry["changed_before"] = steps.changed[column.name]
        if steps is not None and column.name in steps.dropped:
            entry["outliers"] = steps.dropped[column.name]
        if column.after:
            entry["after"] = [stated_step(text) for text in column.after]
            entry["changed_after"] = recoded.after.get(column.name, 0)
        if entry:
            columns[column.name] = entry
    found: JsonDict = {"columns": columns} if columns else {}
    if steps is not None and steps.kept is not None:
        n = steps.original.n_rows
        found |= {"records_dropped": n - steps.kept.size, "share_dropped": round(1 - steps.kept.size / n, 4)}
    if schema.shuffle:
        found["shuffled"] = True
    if columns:
        found["loss"] = "measured against the table before all steps"
    return found
