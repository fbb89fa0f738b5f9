"""What the reported loss of each quasi-identifier is measured by, for methods that search by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.core.text import text_of
from shoal.flow.encoding import CategoryEncoding, ColumnEncoding
from shoal.flow.prepare import Prepared
from shoal.methods.contract import ColumnCost
from shoal.schema.columns import Kind, Missing, Recode


def column_costs(prepared: Prepared) -> tuple[ColumnCost, ...]:
    """Return what replaces the values of each quasi-identifier."""
    emptied = {name for name in prepared.by_known if prepared.policy(name) == Missing.SUPPRESS}
    emptied |= set(prepared.aside) - set(prepared.by_known)
    costs = ((entry.column.name, _cost(entry)) for entry in prepared.encoding.quasi)
    found = {name: replace(cost, emptied=True) if name in emptied else cost for name, cost in costs}
    if prepared.schema.together:
        from shoal.schema.linked_columns import linked_columns

        for number, names in enumerate(linked_columns(prepared.schema)):
            found |= {name: replace(found[name], linked=number) for name in names}
    return tuple(found.values())


def _cost(entry: ColumnEncoding) -> ColumnCost:
    recode, ordinal = entry.column.default_recode, entry.column.kind == Kind.ORDINAL
    if recode != Recode.HIERARCHY or entry.tree is None or not isinstance(entry, CategoryEncoding) or ordinal:
        return ColumnCost(str(recode), ordinal)
    known = [text_of(value) for value in entry.categories if value is not None]
    leaves = entry.tree.codes(known, entry.column.name)
    ancestors = entry.tree.ancestors[::-1, leaves]  # from the category itself to the root
    options = np.maximum(entry.tree.sizes[ancestors], 1).astype(np.float64)
    if len(known) < len(entry.categories):  # the missing value that counts as a category is under the root only
        missing = np.full((len(ancestors), 1), -1)
        missing[-1] = entry.tree.root
        ancestors = np.hstack([ancestors, missing])
        options = np.hstack([options, np.full((len(options), 1), max(int(entry.tree.sizes[entry.tree.root]), 1))])
    return ColumnCost(str(recode), ordinal, ancestors, options)
