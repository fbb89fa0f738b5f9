"""Which column of a proposed schema to put into bands first: the one that makes most records unique."""

from __future__ import annotations

from shoal.core.text import percent
from shoal.evaluate.special_uniques import special_uniques
from shoal.evaluate.subset_classes import MAX_BITS
from shoal.privacy.k_anonymity import class_labels
from shoal.schema.columns import Schema
from shoal.tables import Table

_CELLS = 300_000_000  # records times sets of columns: a few seconds


def column_to_band(table: Table, schema: Schema) -> tuple[str, str] | None:
    """Return the quasi-identifier that contributes most to unique records, with a sentence; None if none stands out.

    Parameters
    ----------
    table
        The table.
    schema
        Its schema, proposed or corrected.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = Table.from_native(pl.DataFrame({"sex": ["f", "f", "m", "m"] * 25, "age": range(100)}))
    >>> bare = shoal.Schema(tuple(shoal.Column(name, "quasi", "nominal") for name in ("sex", "age")))
    >>> column_to_band(people, bare)
    ('age', 'coarsen it first: 100.00 % of the score of 100 unique records comes from combinations with it')
    """
    names = [name for name in schema.protected if name in table.names]
    if not 1 < len(names) <= MAX_BITS or not table.n_rows:
        return None
    units = class_labels(table, [schema.unit]) if schema.unit in table.names else None
    found = special_uniques(table, names, size=3, units=units, cells=_CELLS)
    name = found.band_first
    if name is None:
        return None
    records = f"{found.unique_records:,} unique record{'s' if found.unique_records != 1 else ''}"
    share = percent(found.contributions[name])
    return name, f"coarsen it first: {share} of the score of {records} comes from combinations with it"
