"""Running a method on a prepared table: what runs, on which numbers, and block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.progress import Progress
from shoal.errors import DataError, ParameterError
from shoal.evaluate.paired_columns import equal_rows
from shoal.flow.prepare import Prepared
from shoal.methods.auto import nominal_method
from shoal.methods.effort import check_memory, seconds_of
from shoal.methods.registry import Method
from shoal.recoding.equal_records import keep_together
from shoal.schema.columns import Kind, Recode, Role, Schema

_RECODE_OF_COST = {
    "sae": Recode.MEDIAN,
    "max-distance": Recode.MIDRANGE,
    "round-up": Recode.MAX,
    "round-down": Recode.MIN,
}


def with_recode_of_cost(schema: Schema, method: Method, options: Mapping[str, Any]) -> Schema:
    """Return the schema with the representative that belongs to the cost to be minimised, where none was asked for."""
    recode = _RECODE_OF_COST.get(str(options.get("cost")))
    if recode is None or "cost" not in method.options:
        return schema
    columns = tuple(
        replace(column, recode=recode) if column.role == Role.QUASI and column.recode is None else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def for_categories(
    method: Method, schema: Schema, options: Mapping[str, Any], seed: int
) -> tuple[Method, Schema, dict[str, Any]]:
    """Return what runs: for auto and nothing but nominal columns the method for those; its way to choose records.

    Where a method chooses the record that stands for a group, or the table is nominal throughout, columns without a
    recode of their own are replaced by a record that keeps frequency tables right.
    """
    runner, given = method, dict(options)
    if method.name == "auto" and schema.quasi and all(column.kind == Kind.NOMINAL for column in schema.quasi):
        runner, given = nominal_method(given)
    given |= {"seed": seed} if runner.seeded else {}
    if runner is not method or runner.represents:
        columns = tuple(
            replace(column, recode=Recode.TABLES)
            if column.role == Role.QUASI and column.kind != Kind.NUMERIC and not (column.recode or column.hierarchy)
            else column
            for column in schema.columns
        )
        schema = replace(schema, columns=columns)
    return runner, schema, given


def largest_allowed(method: Method, k: int, max_size: int | None) -> int | None:
    """Return the smaller of what the user allows and what the method promises."""
    if max_size is not None and max_size < k:
        raise ParameterError(f"max_size={max_size} is below k={k}; no group could be formed")
    limits = [limit for limit in (max_size, method.max_size(k) if method.max_size else None) if limit is not None]
    return min(limits, default=None)


def group_blocks(
    prepared: Prepared, k: int, method: Method, options: dict[str, Any], largest: int | None, progress: Progress
) -> tuple[Grouping, dict[str, Any], NDArray[np.float64] | None]:
    """Run the method on each block; returns the groups, what the method told, and the points if medoids need them."""
    points = _method_input(prepared, method, k, options)
    labels = np.empty(prepared.table.n_rows, np.int64)
    told: list[dict[str, Any]] = []
    start = 0
    for records in prepared.blocks:
        facts: dict[str, Any] = {}
        whole = records.size == labels.size
        inside = points if whole else points[records]
        shared = _share_of_budget(options, records.size / labels.size)
        found = method.run(inside, k, progress=progress, facts=facts, **shared)
        labels[records] = records[found] if method.represents else found + start
        start += int(found.max()) + 1
        told.append(facts)
    prepared.standing = labels.copy() if method.represents else None
    needs_medoids = any(codec.column.representative == Recode.MEDOID for codec in prepared.codecs)
    facts = told[0] if len(told) == 1 else _joint_facts(told)
    grouping = Grouping(labels, k, max_size=largest)
    if not needs_medoids:
        return grouping, facts, None
    return grouping, facts, points if method.data == "points" and points.dtype == np.float64 else prepared.points()


def _share_of_budget(options: dict[str, Any], share: float) -> dict[str, Any]:
    """Return the options with the part of a time budget that belongs to a share of the records."""
    budget = options.get("budget")
    return options if budget is None else options | {"budget": seconds_of(budget) * share}


def _joint_facts(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a method told of several blocks: the methods it chose there, and all of it while that is readable."""
    chosen = sorted({facts["chosen"] for facts in told if "chosen" in facts})
    joint: dict[str, Any] = {"chosen": ", ".join(chosen)} if chosen else {}
    if all({"sse", "bound"} <= facts.keys() for facts in told):  # groups do not cross blocks, so bounds add up
        sse, bound = (float(sum(facts[name] for facts in told)) for name in ("sse", "bound"))
        joint |= {"sse": sse, "bound": bound}
        joint |= {"gap": sse / bound - 1.0} if bound > 0 else {"gap": 0.0} if sse <= 0 else {}
    if any(told) and len(told) <= 20:
        joint["blocks"] = told
    return joint


def _method_input(prepared: Prepared, method: Method, k: int, options: Mapping[str, Any]) -> NDArray[Any]:
    if method.data == "codes":
        other = [f'"{codec.column.name}"' for codec in prepared.codecs if codec.column.kind == Kind.NUMERIC]
        if other:
            raise DataError(
                f'method "{method.name}" works on categories, but {", ".join(other)} '
                f"{'is' if len(other) == 1 else 'are'} numeric; call {'it' if len(other) == 1 else 'them'} nominal or "
                "ordinal (few different values), or choose a method for numbers such as auto"
            )
        return prepared.codes()
    if method.data == "values":
        other = [codec.column.name for codec in prepared.codecs if codec.column.kind == Kind.NOMINAL]
        if other or len(prepared.codecs) != 1:
            raise DataError(
                f'method "{method.name}" groups one numeric or ordinal column; there are {len(prepared.codecs)}'
                + (f' and "{other[0]}" is nominal' if other else "")
            )
    dtype = method.dtype(str(options.get("storage", "float64")))
    width = sum(codec.width for codec in prepared.codecs)
    check_memory(prepared.table.n_rows, width, k, bytes_per_number=np.dtype(dtype).itemsize)
    return prepared.points(dtype)


def equal_records_together(prepared: Prepared, grouping: Grouping, max_size: int | None) -> Grouping:
    """Return the groups with equal records of a block in one group."""
    records = equal_rows([prepared.values(codec) for codec in prepared.codecs])
    points = prepared.points()
    labels = np.empty(grouping.n, np.int64)
    start = 0
    for block in prepared.blocks:
        found = keep_together(records[block], canonical_labels(grouping.labels[block]), points[block], grouping.k)
        labels[block] = found + start
        start += int(found.max()) + 1
    return Grouping(labels, grouping.k, max_size=max_size)
