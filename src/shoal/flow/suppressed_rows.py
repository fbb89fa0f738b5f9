"""The loss of rows that are not released."""

from __future__ import annotations

import numpy as np

from shoal.flow.encoding import CategoryEncoding
from shoal.flow.prepare import Prepared
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.schema.columns import Kind


def with_suppressed_rows(part: Prepared, name: str, loss: ColumnLoss) -> ColumnLoss:
    """Return the loss of a column against the whole table.

    A suppressed row counts as if replaced by the mean, or by the most frequent category.
    """
    whole = part.complete
    assert part.rows is not None
    suppressed = np.ones(whole.n, bool)
    suppressed[part.rows] = False
    original, entry = whole.original(name), whole.encoding[name]
    if isinstance(entry, CategoryEncoding) and entry.column.kind == Kind.NOMINAL:
        known = original[~np.isnan(original)].astype(np.int64)
        frequent = float(np.bincount(known).argmax()) if known.size else 0.0
        further = mismatch_loss(original, np.where(suppressed, frequent, original), whole.weights)
    else:
        values = entry.standardised(original)
        further = squared_loss(values, np.where(suppressed, np.nan, values), whole.weights)
    share = part.n / whole.n
    penalties = {
        penalty: None if value is None else value * share + 1 - share
        for penalty, value in (("ncp", loss.ncp), ("total_il", loss.total_il))
    }
    return ColumnLoss(loss.sse + further.sse, further.sst, **penalties)
