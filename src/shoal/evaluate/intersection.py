"""Intersection of two releases of the same people (Ganta, Kasiviswanathan and Smith 2008, section 3).

An intruder who knows the quasi-identifiers of a person finds its equivalence class in each release. The candidates are
the persons in both classes. Two attacks differ in how the intruder recognises a record of one release in the other:

- ``intersection``: every record is recognised. This is the worst case, for example if a column that both releases
  contain unchanged has a different value in each record. Candidates of a person are those who share both its classes.
- ``intersection-by-values``: a record is recognised by the values that both releases contain unchanged. Candidates are
  the records of the first class that have a partner with the same values in the second, one partner each.

A person is exposed if fewer than k candidates are left, where k is the size of the smallest class of the release that
is evaluated. Where persons have several records, candidates are different persons, k is that of persons, and a person
is exposed if one of its records is. O(n log n), and O(n times the size of a class) for the second attack.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.row_classes import distinct_per_class
from shoal.errors import SchemaError
from shoal.evaluate.attacks import Attack
from shoal.evaluate.estimates import share
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import pair_columns
from shoal.privacy.k_anonymity import class_labels
from shoal.schema.columns import Schema
from shoal.tables import Table

Integers = NDArray[np.int64]


def intersection_attacks(
    original: Table,
    released: Table,
    also: Table,
    names: Sequence[str],
    *,
    rows: Integers | None = None,
    units: Integers | None = None,
    schema: Schema | None = None,
) -> tuple[list[Attack], list[str]]:
    """Measure how many persons two releases together leave with fewer than k candidates.

    Parameters
    ----------
    original, released
        The original and the release that is evaluated, the same records in the same order.
    also
        An earlier or parallel release of the same people.
    names
        Quasi-identifiers and strata; those that the other release lacks are left out there.
    rows
        The row of each record in the other release, -1 where it is not in it. If not given, the intruder takes the
        class with the nearest values, and only records that are recognised by unchanged values are counted.
    units
        The person of each record of the original, where persons have several.
    schema
        Kinds and orders of columns, where they differ from what the types suggest.

    Returns
    -------
    attacks, notes
        The share of persons with fewer than k candidates, and what could not be measured.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": [30, 32, 34, 36]}))
    >>> one = Table.from_native(pl.DataFrame({"age": [31, 31, 35, 35]}))
    >>> two = Table.from_native(pl.DataFrame({"age": [33, 34, 34, 33]}))
    >>> attacks, _ = intersection_attacks(people, one, two, ["age"], rows=np.arange(4))
    >>> attacks[0].name, attacks[0].success.value, attacks[0].baseline.value
    ('intersection', 1.0, 0.0)
    """
    shared = [name for name in names if name in also.names]
    if not shared:
        raise SchemaError("the other release has none of the quasi-identifiers; name the columns as in this release")
    first, second = class_labels(released, names), class_labels(also, shared)
    whose = np.arange(original.n_rows) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    sizes = distinct_per_class(first, whose)
    of_other = np.arange(second.size) if rows is None else _of_other(rows, whose, second.size)
    other_sizes = distinct_per_class(second, of_other)
    k = int(sizes.min())
    if rows is None:
        matches = Matcher(pair_columns(original, also, shared, schema, aligned=False), second)
        found = matches.nearest([column.original for column in matches.columns])
        persons, classes = found.rows, found.classes
    else:
        persons = np.flatnonzero(rows >= 0)
        classes = second[rows[persons]]
    people = np.unique(persons)
    alone = np.minimum(sizes[first[persons]], other_sizes[classes])
    baseline = np.bincount(persons, alone, minlength=original.n_rows)[people] < k
    attacks, notes = [], []
    noun = "records" if units is None else "persons"

    def attack(name: str, candidates: NDArray[np.float64], how: str) -> None:
        below = (candidates >= 1) & (candidates < k)  # no candidate: the attack failed
        attacks.append(Attack(
            name, "", share(_any_of_each(below, whose[people])), share(_any_of_each(baseline, whose[people])),
            people.size,
            f"persons with fewer than k={k} candidates in both releases, {how}; the baseline is the smaller of the two "
            f"classes alone{'' if units is None else '; candidates are persons, and a person counts once'}",
            noun,
        ))  # fmt: skip

    if rows is not None:
        pairs = first[persons] * (int(second.max()) + 1) + classes
        which = np.unique(pairs, return_inverse=True)[1].reshape(-1)
        counts = distinct_per_class(which, whose[persons])
        attack("intersection", counts[which].astype(np.float64), "every record recognised")
    else:
        notes.append(
            "It is not known which record of the other release belongs to whom, so persons were searched there by the "
            "nearest values; its holder's record (also_record=, --also-record) allows the exact measure."
        )
    unchanged = [name for name in released.names if name in also.names and name not in set(names)]
    if unchanged:
        candidates = linked_candidates(
            released, also, unchanged, (first, second), (persons, classes), None if units is None else whose
        )
        shown = ", ".join(f'"{name}"' for name in unchanged[:5]) + (", ..." if len(unchanged) > 5 else "")
        attack("intersection-by-values", candidates[people], f"records recognised by {shown}")
    else:
        notes.append("The releases share no unchanged column by which a record of one is recognised in the other.")
    return attacks, notes


def _of_other(rows: Integers, whose: Integers, size: int) -> Integers:
    """Return the person of each row of the other release; a row of none of the persons is a further person."""
    found = int(whose.max()) + 1 + np.arange(size)
    found[rows[rows >= 0]] = whose[rows >= 0]
    return found


def _any_of_each(exposed: NDArray[np.bool_], whose: Integers) -> NDArray[np.float64]:
    """Return for each person whether any of its records is exposed."""
    inside = np.unique(whose, return_inverse=True)[1].reshape(-1)
    return (np.bincount(inside, exposed) > 0).astype(np.float64)


def linked_candidates(
    released: Table,
    also: Table,
    unchanged: Sequence[str],
    labels: tuple[Integers, Integers],
    pairs: tuple[Integers, Integers],
    units: Integers | None = None,
) -> NDArray[np.float64]:
    """Return for each person how many records of its class in one release have a partner in its class in the other.

    Parameters
    ----------
    released, also
        The releases.
    unchanged
        Columns by whose values records are recognised.
    labels
        The class of each record of both releases.
    pairs
        Persons, and for each a class of the other release; a person may be named with several classes.
    units
        The person of each record of the first release, where persons have several: candidates are then at most the
        different persons among the records of the class that have a partner.
    """
    frames = [
        pl.DataFrame({name: table.column(name).to_polars().cast(pl.String, strict=False) for name in unchanged})
        for table in (released, also)
    ]
    keys = pl.concat(frames).unique().with_row_index("key")
    counted: list[pl.DataFrame] = []
    of_first = pl.Series(dtype=pl.UInt32)
    for frame, label, name in zip(frames, labels, ("one", "two"), strict=True):
        key = frame.join(keys, on=list(unchanged), how="left", nulls_equal=True, maintain_order="left")["key"]
        of_first = of_first if counted else key
        counted.append(pl.DataFrame({name: label, "key": key}).group_by(name, "key").len(f"count_{name}"))
    persons, classes = pairs
    wanted = pl.DataFrame({"person": persons, "one": labels[0][persons], "two": classes})
    found = (
        wanted.select("one", "two").unique()
        .join(counted[0], on="one").join(counted[1], on=["two", "key"])
        .group_by("one", "two").agg(pl.min_horizontal("count_one", "count_two").sum().alias("candidates"))
    )  # fmt: skip
    if units is not None:
        rows = pl.DataFrame({"one": labels[0], "key": of_first, "unit": units})
        different = (
            wanted.select("one", "two").unique().join(counted[1].select("two", "key"), on="two")
            .join(rows.unique(), on=["one", "key"])
            .group_by("one", "two").agg(pl.col("unit").n_unique().alias("persons"))
        )  # fmt: skip
        found = found.join(different, on=["one", "two"]).select(
            "one", "two", pl.min_horizontal("candidates", "persons").alias("candidates")
        )
    of_persons = wanted.join(found, on=["one", "two"], how="left").group_by("person").agg(pl.col("candidates").sum())
    candidates = np.zeros(released.n_rows)
    candidates[of_persons["person"].to_numpy()] = of_persons["candidates"].to_numpy()
    return candidates
