"""The values of quasi-identifiers as leaves of their hierarchies, for methods that generalise whole columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.hierarchy import Hierarchy
from shoal.core.text import text_of
from shoal.errors import DataError, ParameterError
from shoal.flow.encoding import ColumnEncoding
from shoal.flow.group import FULL_DOMAIN
from shoal.flow.prepare import Prepared
from shoal.methods.contract import ColumnCost
from shoal.schema.columns import Recode
from shoal.schema.hierarchy_sources import hierarchy_of
from shoal.schema.requirements import Of, Requirements


def check_one_coding(prepared: Prepared, requirements: Requirements) -> None:
    """Raise for what one coding of the whole table cannot satisfy."""
    schema = prepared.schema
    unsuitable = {
        "strata": bool(schema.strata),
        "a unit or a household": requirements.counting(schema) != Of.ROWS,
        "requirements beyond k": requirements.beyond_k,
    }
    for words, given in unsuitable.items():
        if given:
            raise ParameterError(
                f'method "{FULL_DOMAIN}" gives the whole table one coding with k records in every class, and does not '
                f"know {words}; leave that out, or use the default method with --recode hierarchy"
            )
    for column in schema.quasi:
        if column.recode not in {None, Recode.HIERARCHY}:
            raise ParameterError(
                f'method "{FULL_DOMAIN}" generalises "{column.name}" by its hierarchy; leave out recode '
                f'"{column.recode}"'
            )


def leaf_codes(prepared: Prepared) -> tuple[NDArray[np.int32], tuple[ColumnCost, ...]]:
    """Return the leaf of each cell (n x m), and the nodes above each leaf of each column."""
    columns, costs = [], []
    for entry in prepared.encoding.quasi:
        tree = _tree(prepared, entry)
        columns.append(_leaves(prepared, entry, tree))
        ancestors = tree.ancestors[::-1]
        sizes = np.maximum(tree.sizes[ancestors], 1).astype(np.float64)
        costs.append(ColumnCost(str(Recode.HIERARCHY), ancestors=np.ascontiguousarray(ancestors), options=sizes))
    return np.ascontiguousarray(np.column_stack(columns).astype(np.int32)), tuple(costs)


def _tree(prepared: Prepared, entry: ColumnEncoding) -> Hierarchy:
    return entry.tree if entry.tree is not None else hierarchy_of(entry.column, prepared.table)


def _leaves(prepared: Prepared, entry: ColumnEncoding, tree: Hierarchy) -> NDArray[np.int64]:
    name = entry.column.name
    values = prepared.original(name)
    if np.isnan(values).any():
        raise DataError(
            f'column "{name}" has missing values, and method "{FULL_DOMAIN}" needs a value in every cell; replace them '
            "by a category of their own before, or use another method"
        )
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    texts = [text_of(value) for value in prepared.table.column(name)[first].to_list()]
    return tree.codes(texts, name)[which.reshape(-1)]
