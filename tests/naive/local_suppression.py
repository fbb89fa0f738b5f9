"""Local suppression as sdcMicro documents it: one record after another, until wildcards count k."""

import numpy as np


def locally_suppressed(codes, k):
    """The suppressed cells, true where one is.

    Only the first k records of each combination of values take part. As long as a record has fewer than k matches,
    where a suppressed cell matches every value, one cell is suppressed in each such record, those with the fewest
    matches first: in the column with the most categories in which it differs from a nearest record that does not match.
    """
    _, combination = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(combination, kind="stable")
    sizes = np.bincount(combination)
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    taking_part = np.flatnonzero(place < k)
    rows = codes[taking_part].astype(float)
    categories = [len(np.unique(column)) for column in codes.T]
    columns = sorted(range(codes.shape[1]), key=lambda column: (categories[column], column), reverse=True)
    while True:
        differences = [different(rows, row) for row in rows]
        matches = np.array([np.count_nonzero(~found.any(axis=1)) for found in differences])
        below = np.flatnonzero(matches < k)
        if not below.size:
            break
        for record in below[np.argsort(matches[below], kind="stable")]:
            found = different(rows, rows[record])
            counts = found.sum(axis=1)
            nearest = found[counts == counts[counts > 0].min()]
            rows[record, next(column for column in columns if nearest[:, column].any())] = np.nan
    hidden = np.zeros(codes.shape, dtype=bool)
    hidden[taking_part] = np.isnan(rows)
    return hidden


def different(rows, row):
    """The shown cells that differ from the shown cells of ``row``."""
    return (rows != row) & ~np.isnan(rows) & ~np.isnan(row)
