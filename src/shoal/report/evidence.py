"""What the report measures: risk before and after, attacks, relations between columns, and distributions.

Everything is bounded, so that a table of a million records takes seconds: attacks and relations look at random samples
(always the same ones), pictures at the columns that lost most. Without the original, or for readers outside, only what
the released table tells is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.evaluate.attacks import Attack, sampled_rows
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.class_risk import ClassRisk, class_risk, population_sizes
from shoal.evaluate.interval_disclosure import interval_disclosure
from shoal.evaluate.linkage import distance_linkage, one_to_one_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.privacy.assessment import ColumnAssessment, assess_column
from shoal.privacy.confidential import read_values
from shoal.privacy.counts import count_values
from shoal.privacy.equivalence_classes import Holes
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.l_diversity import distinct_l
from shoal.report.column_distributions import Spread, spreads
from shoal.report.relations import MOST, Relations, association, correlation
from shoal.schema.columns import Kind, Role
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.api.release import Release

LINKED = 2_000
"""How many persons the linkage attack tries."""
SAMPLED = 50_000
"""How many records intervals and relations look at; attributes look at whole classes of about twice as many."""
_MOST_CELLS = 60_000_000
_MOST_GUESSED = 8


@dataclass(frozen=True)
class Secret:
    """What the groups tell about one confidential column.

    Parameters
    ----------
    name
        The column.
    figures
        Every privacy model.
    groups, records
        How many groups, and records in them, share one single value.
    """

    name: str
    figures: ColumnAssessment
    groups: int
    records: int


@dataclass(frozen=True)
class Evidence:
    """Everything that the report measures.

    Parameters
    ----------
    before, after
        Risk from the sizes of classes; before is None where the original is not shown.
    attacks
        What attacks achieved.
    secrets
        Confidential columns.
    spreads
        Distributions.
    correlation, association
        Relations between columns.
    dominated
        Columns in which k records make up most of the variation, with that share.
    notes
        What was sampled or left out.
    """

    before: ClassRisk | None
    after: ClassRisk
    attacks: tuple[Attack, ...] = ()
    secrets: tuple[Secret, ...] = ()
    spreads: tuple[Spread, ...] = ()
    correlation: Relations | None = None
    association: Relations | None = None
    dominated: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def measured(release: Release, *, public: bool = False) -> Evidence:
    """Return the evidence for a release.

    Parameters
    ----------
    release
        The release.
    public
        Measure only what the released table tells, for readers outside.

    Returns
    -------
    evidence
        All figures; the same for the same release. Cost O(n log n) per column.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.patients(60)
    >>> found = measured(shoal.protect(people, 3, quasi=["age", "income"], confidential=["diagnosis"], method="mdav"))
    >>> found.before.unique, found.after.unique
    (1.0, 0.0)
    """
    schema, names = release.schema, release.schema.protected
    original = None if public else release.original
    labels = class_labels(release.table, names)
    notes: list[str] = []
    before: ClassRisk | None = None
    attacks: tuple[Attack, ...] = ()
    dominated: dict[str, float] = {}
    secrets = schema.named(Role.CONFIDENTIAL)
    if original is not None:
        before = _class_risk(original, release, class_labels(original, names))
        if original.n_rows * len(names) <= _MOST_CELLS:
            paired = pair_columns(original, release.table, names, schema)
            attacks, told = _attacks(release, original, paired, labels, secrets[:_MOST_GUESSED])
            notes += told
            if len(secrets) > _MOST_GUESSED:
                notes.append(f"Guessing was tried for {_MOST_GUESSED} of {len(secrets)} confidential columns.")
            dominated = _dominated(paired, release.grouping.k)
        else:
            notes.append("Attacks were not tried: the table is too large for a report; shoal evaluate tries them.")
    related = _related(release, original, secrets)
    if len(related) < len(names) + len(secrets):
        notes.append(
            f"Relations are shown for {len(related)} of {len(names) + len(secrets)} columns: some confidential ones, "
            "and the quasi-identifiers that lost most."
        )
    looked_at = secrets[: max(1, _MOST_CELLS // max(release.grouping.n, 1))]
    if len(looked_at) < len(secrets):
        notes.append(
            f"Of {len(secrets)} confidential columns {len(looked_at)} were looked at: the table is too large for a "
            "report; shoal assess looks at all."
        )
    if release.grouping.n > SAMPLED:
        notes.append(f"Relations between columns were measured on a random sample of {SAMPLED:,} records.")
    return Evidence(
        before=before,
        after=_class_risk(release.table, release, labels),
        attacks=attacks,
        secrets=tuple(_secret(release.table, release, name, labels) for name in looked_at),
        spreads=spreads(release, original),
        correlation=correlation(related, shown=original is not None),
        association=association(related, shown=original is not None),
        dominated=dominated,
        notes=tuple(notes),
    )


def _class_risk(table: Table, release: Release, labels: NDArray[np.int64]) -> ClassRisk:
    """Return the risk from the sizes of classes; the journalist's population is what sampling weights add up to."""
    weight = release.schema.sampling_weight
    people = population_sizes(table, release.schema.protected, labels, sampling_weight=weight)
    return class_risk(np.bincount(labels), population=people)


def _attacks(
    release: Release,
    original: Table,
    paired: Sequence[PairedColumn],
    labels: NDArray[np.int64],
    secrets: Sequence[str],
) -> tuple[tuple[Attack, ...], list[str]]:
    matcher = Matcher(paired, labels)
    found = [distance_linkage(paired, matcher=matcher, sample=LINKED), one_to_one_linkage(paired, matcher=matcher)]
    rows = sampled_rows(labels.size, SAMPLED, 0)
    changed = [column for column in paired if column.name not in release.schema.within]
    found += interval_disclosure([column.taken(rows) for column in changed])
    notes = []
    if secrets:
        inside = _whole_classes(labels, 2 * SAMPLED)
        columns = [column.taken(inside) for column in pair_columns(original, release.table, secrets, release.schema)]
        members = np.unique(labels[inside], return_inverse=True)[1].reshape(-1)
        found += attribute_disclosure(members, columns)
    if labels.size > SAMPLED:
        notes.append(
            f"Attacks were tried on random samples: linkage on {LINKED:,} records, intervals on {SAMPLED:,}, guessing "
            f"of confidential values on whole groups with about {2 * SAMPLED:,}."
        )
    return tuple(found), notes


def _whole_classes(labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the records of randomly chosen classes, about as many records as asked for."""
    if labels.size <= most:
        return np.arange(labels.size)
    sizes = np.bincount(labels)
    order = np.random.default_rng(0).permutation(sizes.size)
    chosen = np.zeros(sizes.size, bool)
    chosen[order[: int(np.searchsorted(np.cumsum(sizes[order]), most)) + 1]] = True
    return np.flatnonzero(chosen[labels])


def _secret(table: Table, release: Release, name: str, labels: NDArray[np.int64]) -> Secret:
    limited = {} if release.limits is None else {column.name: column for column in release.limits.columns}
    column = limited.get(name, release.schema[name])
    series = table.column(name).to_polars()
    if column.kind == Kind.NUMERIC and series.dtype == pl.String:
        column = release.schema[name]
    values = read_values(table, column, Holes.OWN_VALUE)
    counts = count_values(labels, values.codes, n_values=values.n_values)
    alone = distinct_l(counts) == 1
    sizes = np.bincount(labels)
    return Secret(name, assess_column(counts, values.distance), int(alone.sum()), int(sizes[alone].sum()))


def _dominated(paired: Sequence[PairedColumn], k: int) -> dict[str, float]:
    """Return the columns in which the k most extreme records make up more than half of the variation."""
    found = {}
    for column in paired:
        if not column.numeric or column.deviation == 0:
            continue
        squares = column.standardised(column.original[~np.isnan(column.original)]) ** 2
        if squares.size >= 10 * k:
            share = float(np.sort(np.partition(squares, squares.size - k)[-k:]).sum() / squares.sum())
            if share > 0.5:
                found[column.name] = share
    return found


def _related(release: Release, original: Table | None, secrets: Sequence[str]) -> list[PairedColumn]:
    """Return the columns whose relations are shown, on a sample; the release on both sides where it stands alone."""
    loss = {name: column.information for name, column in release.loss.columns.items()}
    half = MOST // 2
    wanted = [*secrets[:half], *sorted(loss, key=lambda name: -loss[name]), *secrets[half:]][:MOST]
    names = [name for name in release.table.names if name in wanted]
    rows = sampled_rows(release.grouping.n, SAMPLED, 0)
    released = _taken(release.table, rows, names)
    source = release.original if original is None else original
    taken = released if source is None else _taken(source, rows, names)
    paired = pair_columns(taken, released, names, release.schema)
    if original is not None:
        return paired
    return [PairedColumn(one.name, one.released, one.released, one.categories) for one in paired]


def _taken(table: Table, rows: NDArray[np.int64], names: Sequence[str]) -> Table:
    return Table.from_native(pl.DataFrame({name: table.column(name).to_polars().gather(rows) for name in names}))
