"""Risk of persons who have several rows: by class, by share of a class, for linked rows, and for households.

A person u has n_u(E) rows in the equivalence class E, which holds the persons U(E).

- *Person risk* r_u: the largest 1 / |U(E)| over the classes of the rows of u, for an intruder who knows the
  quasi-identifiers of one row and guesses the person. k persons in every class limit it to 1/k.
- *Share* q_u: the largest n_u(E) / |E|, the probability that a row drawn from the class belongs to u. k persons do not
  limit it; a limit of 1/k on the share implies k persons.
- *Linked rows*: where an intruder can see which rows belong together, u is one of the persons v with
  n_v(E) >= n_u(E) in all classes E, and the risk is 1 divided by their number.
- *Household risk*: the largest risk of a member, and beside it 1 - prod(1 - r_i), the probability that at least one
  member is identified if these events were independent, which is too high where members share a class.

The first definition rests on rows that are not linked: see :mod:`shoal.privacy.relinking` for how far that holds.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.privacy.counts import Counts, Floats, Integers, count_values
from shoal.privacy.equivalence_classes import EquivalenceClasses


@dataclass(frozen=True, eq=False)
class PersonRisk:
    """Risk and share of each person.

    Parameters
    ----------
    risk
        The largest 1 / (number of persons in the class of a row) of each person.
    share
        The largest share of each person in the rows of a class.

    Examples
    --------
    >>> found = person_risk(EquivalenceClasses(np.array([0, 0, 0, 1, 1])), np.array([0, 0, 1, 1, 2]))
    >>> found.risk, found.share
    (array([0.5, 0.5, 0.5]), array([0.66666667, 0.5       , 0.5       ]))
    """

    risk: Floats
    share: Floats


def person_risk(classes: EquivalenceClasses, units: Integers) -> PersonRisk:
    """Return risk and share of each person.

    Parameters
    ----------
    classes
        The equivalence classes; where missing values are wildcards they overlap, and a class holds the persons of all
        rows that it matches.
    units
        The person of each row, 0, 1, ..., without gaps.

    Returns
    -------
    risk
        One entry per person. Cost O(n log n), one sort of the pairs of class and person.
    """
    n_units = int(units.max(initial=-1)) + 1
    own = count_values(classes.labels, units, n_values=n_units)
    everywhere = classes.counts(units, n_units) if classes.links else own
    persons = np.bincount(everywhere.group, minlength=everywhere.sizes.size)
    count = own.count
    if classes.links:
        at = np.searchsorted(everywhere.group * n_units + everywhere.value, own.group * n_units + own.value)
        count = everywhere.count[at]
    return PersonRisk(
        _largest(own, 1.0 / persons[own.group], n_units),
        _largest(own, count / everywhere.sizes[own.group], n_units),
    )


def _largest(pairs: Counts, figures: Floats, n_units: int) -> Floats:
    """Return the largest figure of each person over its pairs."""
    found = np.zeros(n_units)
    np.maximum.at(found, pairs.value, figures)
    return found


def household_risk(risk: Floats, units: Integers, households: Integers) -> tuple[Floats, Floats]:
    """Return for each household the largest risk of a member, and 1 - prod(1 - risk) over its members.

    Parameters
    ----------
    risk
        The risk of each person.
    units, households
        Person and household of each row, 0, 1, ... A person in several households is a member of each.

    Examples
    --------
    >>> household_risk(np.array([0.5, 0.5, 0.25]), np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]))
    (array([0.5 , 0.25]), array([0.75, 0.25]))
    """
    members = count_values(households, units)
    largest = members.over_classes(np.maximum, risk[members.value], 0.0)
    return largest, 1.0 - members.over_classes(np.multiply, 1.0 - risk[members.value], 1.0)


def linked_risk(labels: Integers, units: Integers) -> Floats:
    """Return the risk of each person where rows are linked: 1 / (persons with as many rows in each of its classes).

    Parameters
    ----------
    labels
        The equivalence class of each row.
    units
        The person of each row, 0, 1, ..., without gaps.

    Returns
    -------
    risk
        One entry per person. Persons with equal numbers of rows in all classes are counted once; the others are
        compared with the persons in the smallest one of their classes.

    Examples
    --------
    >>> linked_risk(np.array([0, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2])).tolist()
    [0.5, 0.5, 0.3333333333333333]
    """
    pairs = count_values(units, labels)  # one run of (class, number of rows) per person
    starts = np.append(pairs.starts, pairs.group.size)
    profile, first = _profiles(pairs, starts)
    weight = np.bincount(profile)
    lengths = np.diff(starts)[first]
    begins = np.append(0, np.cumsum(lengths))
    entries = np.repeat(starts[first] - begins[:-1], lengths) + np.arange(begins[-1])
    classes, counts = pairs.value[entries], pairs.count[entries]
    of_entry = np.repeat(np.arange(first.size), lengths)
    order = np.lexsort((of_entry, classes))
    class_starts = np.append(0, np.cumsum(np.bincount(classes)))
    alike = _count_alike(begins, classes, counts, weight, class_starts, of_entry[order])
    return (1.0 / alike)[profile]


def _profiles(pairs: Counts, starts: Integers) -> tuple[Integers, Integers]:
    """Return a number for each person, equal where the numbers of rows in all classes are equal, and one person each.

    Persons are sorted by a hash of their pairs and compared; if two different ones share a hash, none are put together.
    """
    mixed = pairs.value.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + pairs.count.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = np.add.reduceat(mixed ^ (mixed >> np.uint64(32)), starts[:-1])
    _, first, profile = np.unique(hashes, return_index=True, return_inverse=True)
    profile, lengths = profile.reshape(-1), np.diff(starts)
    if (lengths == lengths[first[profile]]).all():
        own = np.arange(pairs.group.size)
        theirs = own + np.repeat(starts[first[profile]] - starts[:-1], lengths)
        if (pairs.value[own] == pairs.value[theirs]).all() and (pairs.count[own] == pairs.count[theirs]).all():
            return profile, first
    return np.arange(lengths.size), np.arange(lengths.size)


@compiled
def _count_alike(begins: Any, classes: Any, counts: Any, weight: Any, class_starts: Any, class_members: Any) -> Any:
    """Return for each profile the number of persons with at least its counts; ``begins`` are the starts of profiles."""
    found = np.zeros(weight.size, np.int64)
    for p in range(weight.size):
        best = classes[begins[p]]
        for i in range(begins[p], begins[p + 1]):
            c = classes[i]
            if class_starts[c + 1] - class_starts[c] < class_starts[best + 1] - class_starts[best]:
                best = c
        total = 0
        for position in range(class_starts[best], class_starts[best + 1]):
            q = class_members[position]
            j = begins[q]
            enough = True
            for i in range(begins[p], begins[p + 1]):
                while j < begins[q + 1] and classes[j] < classes[i]:
                    j += 1
                if j == begins[q + 1] or classes[j] != classes[i] or counts[j] < counts[i]:
                    enough = False
                    break
            if enough:
                total += weight[q]
        found[p] = total
    return found


def share_of_persons(labels: Integers, units: Integers) -> NDArray[np.float64]:
    """Return for each class the largest share of its rows that belong to one person.

    Examples
    --------
    >>> share_of_persons(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2]))
    array([0.66666667, 0.5       ])
    """
    pairs = count_values(labels, units)
    shares: Floats = pairs.over_classes(np.maximum, pairs.count, 0) / pairs.sizes
    return shares


UNLINKED = "holds for rows that no one can link to each other"
"""The condition of the person risk, stated beside it."""


@dataclass(frozen=True)
class Spread:
    """A figure of all persons or households: the highest, the mean, and the part of them above a threshold."""

    highest: float
    average: float
    above: float

    @classmethod
    def of(cls, figures: Floats, threshold: float) -> Spread:
        """Return the spread of one figure per person or household; their order does not change it."""
        average = math.fsum(figures) / figures.size
        return cls(float(figures.max()), average, float((figures > threshold * (1 + 1e-12)).mean()))


@dataclass(frozen=True)
class PersonFigures:
    """The risk of the persons of a table, and of its households.

    Parameters
    ----------
    persons
        The number of persons.
    threshold
        Persons with a risk or share above this are counted.
    risk
        Person risk: 1 / (number of persons in the class), the largest over the rows of a person, for rows that are not
        linked.
    share
        The largest part of the rows of a class that belong to the person.
    linked
        The risk where an intruder can see which rows belong together, if it was measured.
    households
        The number of households, where there are any.
    household_risk
        The largest risk of a member.
    household_any
        The probability that one of the members is re-identified, if these events were independent.
    several_rows
        Whether any person has several rows; otherwise share and linked risk say nothing new.

    Examples
    --------
    >>> found = person_figures(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2]), threshold=0.5)
    >>> found.risk.highest, round(found.share.highest, 3), round(found.share.above, 3), found.linked.highest
    (0.5, 0.667, 0.333, 1.0)
    """

    persons: int
    threshold: float
    risk: Spread
    share: Spread
    linked: Spread | None = None
    households: int | None = None
    household_risk: Spread | None = None
    household_any: Spread | None = None
    several_rows: bool = True

    @property
    def highest_share(self) -> float:
        """The largest share of a person in the rows of a class."""
        return self.share.highest

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def figures(self) -> list[tuple[str, float, str]]:
        """Return name, value and meaning of each figure."""
        above = f"{100 * self.threshold:g} %"
        found = [
            ("person risk, highest", self.risk.highest, f"1 / (persons in the class); {UNLINKED}"),
            ("person risk, average", self.risk.average, f"mean over persons; {UNLINKED}"),
            ("person risk, share at risk", self.risk.above, f"part of the persons above {above}; {UNLINKED}"),
        ]
        shares = [
            ("share of a class, highest", self.share.highest, "largest part of the rows of a class of one person"),
            ("share of a class, average", self.share.average, "mean over persons of their largest share"),
            ("share of a class, share at risk", self.share.above, f"part of the persons above {above}"),
        ]
        found += shares if self.several_rows else []
        if self.linked is not None and self.several_rows:
            found += [
                ("linked person risk, highest", self.linked.highest, "if an intruder can link all rows of a person"),
                ("linked person risk, average", self.linked.average, "mean over persons, if rows are linked"),
            ]
        if self.household_risk is not None and self.household_any is not None:
            found += [
                ("household risk, highest", self.household_risk.highest, f"of the member at most risk; {UNLINKED}"),
                ("household risk, average", self.household_risk.average, "mean over households"),
                ("any member, highest", self.household_any.highest, "1 - product of (1 - risk), if independent"),
                ("any member, average", self.household_any.average, "mean over households, too high if members share"),
            ]
        return found


def person_figures(
    classes: EquivalenceClasses | Integers,
    units: Integers,
    households: Integers | None = None,
    *,
    threshold: float,
    linked: bool = True,
) -> PersonFigures:
    """Return the risk of the persons and households of a table.

    Parameters
    ----------
    classes
        The equivalence classes, or the class of each row.
    units
        The person of each row, 0, 1, ..., without gaps.
    households
        The household of each row, 0, 1, ..., without gaps.
    threshold
        Persons with a risk or share above this are counted.
    linked
        Whether the risk of linked rows is measured too.
    """
    known = classes if isinstance(classes, EquivalenceClasses) else EquivalenceClasses(classes)
    found = person_risk(known, units)
    figures = PersonFigures(
        persons=int(found.risk.size),
        threshold=threshold,
        risk=Spread.of(found.risk, threshold),
        share=Spread.of(found.share, threshold),
        several_rows=found.risk.size < units.size,
        linked=Spread.of(linked_risk(known.labels, units), threshold) if linked else None,
    )
    if households is None:
        return figures
    largest, anyone = household_risk(found.risk, units, households)
    return replace(
        figures, households=int(largest.size), household_risk=Spread.of(largest, threshold),
        household_any=Spread.of(anyone, threshold),
    )  # fmt: skip
