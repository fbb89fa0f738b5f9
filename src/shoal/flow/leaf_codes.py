"""The values of quasi-identifiers as leaves of their hierarchies, for methods that generalise whole columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.hierarchy import Hierarchy
from shoal.core.row_classes import distinct_per_class
from shoal.core.text import text_of
from shoal.errors import DataError, ParameterError
from shoal.flow.encoding import ColumnEncoding
from shoal.flow.group import FULL_DOMAIN, Blocks
from shoal.flow.prepare import Integers, Masks, Prepared
from shoal.methods.contract import ClassRule, ColumnCost
from shoal.schema.columns import Recode
from shoal.schema.hierarchy_sources import hierarchy_of
from shoal.schema.requirements import Of, Requirements
from shoal.tables.value_codes import missing_mask


def check_one_coding(prepared: Prepared, requirements: Requirements) -> None:
    """Raise for what one coding of the whole table does not do."""
    schema = prepared.schema
    unsuitable = {
        "the same number of rows for every person of a class": requirements.counting(schema) == Of.HISTORIES,
        "columns that stay constant within persons": any(column.constant for column in schema.quasi),
    }
    for words, given in unsuitable.items():
        if given:
            raise ParameterError(
                f'method "{FULL_DOMAIN}" gives the whole table one coding, and does not keep {words}; leave that out, '
                "or use the default method with --recode hierarchy"
            )
    for column in schema.quasi:
        if column.recode not in {None, Recode.HIERARCHY}:
            raise ParameterError(
                f'method "{FULL_DOMAIN}" generalises "{column.name}" by its hierarchy; leave out recode '
                f'"{column.recode}"'
            )


def class_rule(prepared: Prepared, requirements: Requirements, blocks: Blocks) -> ClassRule:
    """Return the blocks of the table, and what classes must satisfy besides k records.

    Different persons, and l and p as numbers of different values, are satisfied by a class as soon as a part of it does
    so; frequencies of values hold for a class if they hold for all of its parts. By persons the latter is not certain.
    """
    from shoal.core.requirement_violation import DISTINCT, SATISFIED, violations
    from shoal.flow.person_requirements import person_requirements
    from shoal.flow.satisfy import read_confidential, requirement_arrays

    places = np.empty(prepared.n, np.int64)
    for number, records in enumerate(blocks.members):
        places[records] = number
    confidential = read_confidential(prepared.table, prepared.schema, requirements, prepared.whole_table)
    units, k = prepared.counted(requirements), requirements.k
    persons = person_requirements(prepared, requirements, confidential)
    if persons is not None:

        def by_persons(classes: Integers) -> NDArray[np.bool_]:
            found = persons.violation(classes) > 0
            return found if units is None else found | (distinct_per_class(classes, units) < k)

        either = persons.joining_is_safe and requirements.max_share is None
        return ClassRule(places, by_persons, "either" if either else "both" if persons.joining_is_safe else "never")
    if confidential is None and units is None:
        return ClassRule(places)
    table, codes = requirement_arrays(requirements, confidential, units)
    codes = np.ascontiguousarray(codes, np.int64)

    def by_records(classes: Integers) -> NDArray[np.bool_]:
        sizes = np.bincount(classes).astype(np.int64)
        members, starts = np.argsort(classes, kind="stable"), np.cumsum(sizes) - sizes
        violating: NDArray[np.bool_] = violations(codes, members, starts, sizes, table) > SATISFIED
        return violating

    return ClassRule(places, by_records, "either" if (table.rows[:, 0] == DISTINCT).all() else "both")


def leaf_codes(prepared: Prepared, suppressed: Masks) -> tuple[NDArray[np.int32], tuple[ColumnCost, ...]]:
    """Return the leaf of each cell (n x m), and the nodes above each leaf of each column.

    A missing cell has a leaf of its own. It becomes the root of the tree on the highest level, where all cells of the
    column do, and stays missing below; where missing cells are grouped by pattern it stays missing on every level.
    ``suppressed`` are cells that are missing because their pattern is too rare.
    """
    columns, costs = [], []
    for entry in prepared.encoding.quasi:
        name = entry.column.name
        tree = entry.tree if entry.tree is not None else hierarchy_of(entry.column, prepared.table)
        ancestors = tree.ancestors[::-1]
        sizes = np.maximum(tree.sizes[ancestors], 1).astype(np.float64)
        leaves = _leaves(prepared, entry, tree, suppressed)
        if (leaves < 0).any():
            leaves = np.where(leaves < 0, ancestors.shape[1], leaves)
            missing, represented = np.full((len(ancestors), 1), len(tree)), np.zeros((len(ancestors), 1))
            if name not in prepared.by_pattern and name not in prepared.aside:
                missing[-1], represented[:] = tree.root, 1.0
                represented[-1] = sizes.max()
            ancestors, sizes = np.hstack([ancestors, missing]), np.hstack([sizes, represented])
        columns.append(leaves)
        costs.append(ColumnCost(str(Recode.HIERARCHY), ancestors=np.ascontiguousarray(ancestors), options=sizes))
    return np.ascontiguousarray(np.column_stack(columns).astype(np.int32)), tuple(costs)


def _leaves(prepared: Prepared, entry: ColumnEncoding, tree: Hierarchy, suppressed: Masks) -> NDArray[np.int64]:
    """Return the leaf of each cell, -1 for a missing one."""
    name = entry.column.name
    values = prepared.original(name)
    if name in prepared.imputed:
        raise DataError(
            f'column "{name}" has missing values that are to be imputed, and method "{FULL_DOMAIN}" generalises only '
            f'values that are there; choose "fill", "suppress", "by-pattern" or, for categories, "category" instead'
        )
    known = ~(np.isnan(values) | missing_mask(prepared.table.column(name)))  # a missing category has a code
    _, first, which = np.unique(values[known], return_index=True, return_inverse=True)
    rows = np.flatnonzero(known)
    texts = [text_of(value) for value in prepared.table.column(name)[rows[first]].to_list()]
    leaves = np.full(values.size, -1, np.int64)
    leaves[known] = tree.codes(texts, name)[which.reshape(-1)]
    return np.where(suppressed[name], -1, leaves) if name in suppressed else leaves
