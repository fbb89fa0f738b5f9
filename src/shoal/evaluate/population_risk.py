"""The risk of a table that is a sample of a population: sampling weights, the size of the population, or its table.

A *journalist* is an intruder who has a register of the population and does not know who is in the table. A record in a
class with f records and F individuals of the population is re-identified with probability 1/F. F is not known where
only weights are, and replacing it by the sum of the weights understates the risk several times over: given f, F is
random, and its expectation says little about that of 1/F. Three sources, best first:

*Population table*: F of a class is the number of individuals whose nearest class it is. *Sampling weights*: with
p = f / sum of the weights, F is negative binomial given f, and E[1/F | f] = (p/f) 2F1(1, 1; f + 1; 1 - p) (Benedetti
and Franconi 1998; Franconi and Polettini 2004). *Size of the population*: the model of Pitman, see
:mod:`shoal.evaluate.superpopulation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.row_classes import equal_rows
from shoal.core.text import percent
from shoal.errors import ParameterError
from shoal.evaluate.candidates import covering_individuals
from shoal.evaluate.covering import any_general, covered_columns
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import pair_with_others
from shoal.evaluate.superpopulation import (
    DANKAR_FRACTION,
    fit_pitman,
    slide_negative_binomial,
    zayatz,
)
from shoal.schema.columns import Schema
from shoal.tables import Table

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_SERIES_TERMS = 400
_RECURRENCE_SIZE = 20  # below it the series converges slowly where p is small
TABLE, WEIGHTS, SIZE = "population table", "sampling weights", "size of the population"


@dataclass(frozen=True)
class PopulationUniques:
    """Estimates of the uniques of the population from the size of the population alone.

    Parameters
    ----------
    estimate, rule
        The estimate that the rule of Dankar et al. (2012) selects, and its name; None if it does not exist.
    pitman, zayatz, snb
        The three estimates of the number of population uniques; None where there is no solution.
    a, t
        The parameters of the Pitman model.
    sample_uniques
        The number of sample-unique records.
    unique_in_both
        How many of them are expected to be unique in the population as well (Pitman).
    expected_matches
        The expected number of correct matches with them, the sum of E[1/F] (Pitman).
    """

    estimate: float | None
    rule: str
    pitman: float | None
    zayatz: float | None
    snb: float | None
    a: float | None
    t: float | None
    sample_uniques: int
    unique_in_both: float | None
    expected_matches: float | None


@dataclass(frozen=True)
class PopulationFigures:
    """The risk of a table against its population.

    Parameters
    ----------
    source
        What the figures rest on: ``population table``, ``sampling weights`` or ``size of the population``.
    population
        The number of individuals of the population, counted or estimated.
    sampling_fraction
        The share of them that the table is.
    highest, average
        The risk of a journalist: the largest of a record, and the mean over records.
    expected
        The expected number of re-identified records.
    population_unique
        The share of records that are expected to be unique in the population.
    k_map
        The smallest number of individuals in a class; None where only the size of the population is known.
    presence
        The smallest and the largest share of the individuals of a class who are in the table (delta-presence).
    uncovered
        The number of classes with more records than individuals: the population does not hold the table.
    uniques
        Estimates of population uniques from the size of the population.
    weighted_average
        The mean risk by sampling weights, where another source is the main one.
    model_average
        The mean risk by the Pitman model, where another source is the main one.
    in_found_households
        The expected number of persons in households of which a member is re-identified, where households are known.
    notes
        What a reader has to know about the figures.
    """

    source: str
    population: float
    sampling_fraction: float
    highest: float
    average: float
    expected: float
    population_unique: float
    k_map: float | None = None
    presence: tuple[float, float] | None = None
    uncovered: int = 0
    uniques: PopulationUniques | None = None
    weighted_average: float | None = None
    model_average: float | None = None
    in_found_households: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**asdict(self), "presence": None if self.presence is None else list(self.presence),
                "notes": list(self.notes)}  # fmt: skip

    def sentence(self) -> str:
        """Return what the figures mean as one sentence for a data steward."""
        known = {
            TABLE: f"the population table of {self.population:,.0f} individuals",
            WEIGHTS: f"the sampling weights, which add up to {self.population:,.0f} individuals",
            SIZE: f"a model of a population of {self.population:,.0f} individuals",
        }[self.source]
        return (
            f"An intruder with a register of the population who does not know who is in the table re-identifies about "
            f"{_number_text(self.expected)} records ({percent(self.average)} on average, {percent(self.highest)} at "
            f"most), by {known}."
        )

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, figure and meaning as rows of text."""
        found = [
            ("journalist, highest", percent(self.highest), f"largest risk of a record, by {self.source}"),
            ("journalist, average", percent(self.average), "mean over records"),
            ("expected re-identifications", _number_text(self.expected), "sum of the risks of all records"),
            ("population-unique", percent(self.population_unique), "records expected to be unique in the population"),
        ]
        others = ((self.weighted_average, "sampling weights"), (self.model_average, "the Pitman model"))
        found += [
            (f"journalist by {name}", percent(value), "mean over records, for comparison")
            for value, name in others
            if value is not None
        ]
        if self.k_map is not None:
            kind = "counted" if self.source == TABLE else "estimated"
            found.append(("k-map", f"{self.k_map:.6g}", f"smallest number of individuals in a class, {kind}"))
        if self.presence is not None:
            shown = f"{percent(self.presence[0])} to {percent(self.presence[1])}"
            found.append(("delta-presence", shown, "share of the individuals of a class who are in the table"))
        if self.in_found_households is not None:
            found.append((
                "persons in found households", f"{self.in_found_households:,.4g}",
                "expected number of persons in households of which a member is re-identified",
            ))  # fmt: skip
        return found + ([] if self.uniques is None else _unique_rows(self.uniques))


def _number_text(number: float) -> str:
    """Return an expected number of records: whole from a hundred on, otherwise with three digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _unique_rows(uniques: PopulationUniques) -> list[tuple[str, str, str]]:
    named = (("Pitman", uniques.pitman), ("Zayatz", uniques.zayatz), ("SNB", uniques.snb))
    return [
        (
            f"population uniques, {name}",
            "no solution" if value is None else f"{value:,.1f}",
            "the estimate to use for this sampling fraction (Dankar et al. 2012)"
            if name == uniques.rule
            else "for comparison",
        )
        for name, value in named
    ]


@dataclass(frozen=True)
class KnownPopulation:
    """What is known about the population besides sampling weights: its table, or its size.

    Parameters
    ----------
    table
        A table of the population, or the path of a file; None if there is none.
    size
        The number of its individuals; None if not known.
    """

    table: Any = None
    size: int | None = None


def stated_size(population: Any) -> Any:
    """Return a population that is stated as the text of a number as that number; anything else as it is.

    Examples
    --------
    >>> stated_size("50,000"), stated_size("people.csv")
    (50000, 'people.csv')
    """
    text = str(population).strip().replace(",", "") if isinstance(population, str | Path) else ""
    return int(text) if text.isdecimal() else population


def known_population(population: Any, sampling_fraction: float | None, records: int) -> KnownPopulation:
    """Return what ``population`` (a number, a table or the path of a file) and ``sampling_fraction`` state.

    Examples
    --------
    >>> known_population(None, 0.1, 50).size, known_population("1000", None, 50).size
    (500, 1000)
    """
    check_sampling_fraction(sampling_fraction)
    population = stated_size(population)
    if population is None:
        return KnownPopulation(size=None if sampling_fraction is None else round(records / sampling_fraction))
    if sampling_fraction is not None:
        raise ParameterError("population and sampling_fraction state the same; give one of them")
    if isinstance(population, bool):
        raise ParameterError("population must be a number, a table or the path of a file, not a truth value")
    if isinstance(population, int | float | np.integer | np.floating):
        if not np.isfinite(population) or population < records or population != int(population):
            raise ParameterError(
                f"population={population} is not possible; a population is a whole number of individuals, at least as "
                f"many as the {records:,} records"
            )
        return KnownPopulation(size=int(population))
    return KnownPopulation(table=population)


def check_sampling_fraction(fraction: Any) -> None:
    """Raise an error unless a sampling fraction is above 0 and at most 1."""
    number = isinstance(fraction, int | float | np.integer | np.floating) and not isinstance(fraction, bool)
    if fraction is not None and not (number and 0 < fraction <= 1):
        raise ParameterError(f"sampling_fraction={fraction!r} is not possible; choose a number above 0 and at most 1")


def expected_inverse(sizes: Floats, people: Floats) -> Floats:
    """Return E[1/F | f] for classes of f records whose weights add up to ``people``.

    Parameters
    ----------
    sizes
        The number of records f of each class.
    people
        The sum of their sampling weights; p = f / people, at most 1.

    Returns
    -------
    risk
        F is negative binomial given f. Up to 20 records and p up to 1/2 the recurrence r(1) = p/(1-p) ln(1/p),
        r(f+1) = p/(1-p) (1/f - r(f)), which is stable there; otherwise a series of positive terms.

    Examples
    --------
    >>> expected_inverse(np.array([1.0, 2.0]), np.array([17.0, 110.0])).round(8).tolist()
    [0.17707583, 0.01714426]
    """
    p = np.minimum(1.0, sizes / people)
    found = _by_series(sizes, p)
    few = (sizes <= _RECURRENCE_SIZE) & (p <= 0.5)
    ratio = p[few] / (1 - p[few])
    current = ratio * np.log(1 / p[few])
    result = current.copy()
    for f in range(1, _RECURRENCE_SIZE):
        current = ratio * (1 / f - current)
        result = np.where(sizes[few] == f + 1, current, result)
    found[few] = result
    return found


def _by_series(sizes: Floats, p: Floats) -> Floats:
    """Return (p/f) 2F1(1, 1; f+1; 1-p) by its series, whose terms are positive."""
    term, total = np.ones_like(p), np.ones_like(p)
    for j in range(_SERIES_TERMS):
        term = term * (j + 1) * (1 - p) / (sizes + 1 + j)
        total += term
        if not (term > total * 1e-17).any():
            break
    return p / sizes * total


def nearest_individuals(matcher: Matcher, values: Sequence[Floats]) -> Floats:
    """Return for each class how many individuals of a population have it as their nearest class.

    An individual with m equally near classes counts 1/m for each. Equal individuals are searched once.

    Examples
    --------
    >>> from shoal.evaluate.paired_columns import PairedColumn
    >>> ages = PairedColumn("age", np.array([31.0, 31, 61, 61]), np.array([31.0, 31, 61, 61]))
    >>> nearest_individuals(Matcher([ages]), [np.array([28.0, 29, 45, 46, 60])]).tolist()
    [3.5, 1.5]
    """
    labels = equal_rows(list(values))
    first = np.unique(labels, return_index=True)[1]
    counts = np.bincount(labels).astype(np.float64)
    matches = matcher.nearest([part[first] for part in values])
    equally_near = np.bincount(matches.rows, minlength=first.size)
    weights = (counts / equally_near)[matches.rows]
    return np.bincount(matches.classes, weights, minlength=matcher.sizes.size).astype(np.float64)


def population_of_classes(
    original: Table, released: Table, population: Table, names: Sequence[str], labels: Integers, schema: Schema | None
) -> Floats:
    """Return for each class of a release how many individuals of a population table are nearest to it.

    Distances are those of record linkage, on the scale of the original; without one, of the population
    (``original`` is then the population itself). Where cells are ranges, sets, nodes or suppressed, an individual
    belongs to the nearest of the classes that cover it; to the nearest of all if none does.
    """
    pairs, values = pair_with_others(original, released, population, names, schema)
    covered = covered_columns(population, released, names, schema, aligned=False)
    if not any_general(covered):
        return nearest_individuals(Matcher(pairs, labels), values)
    people, found = covering_individuals(covered, pairs, values, labels)
    rest = np.flatnonzero(~found)
    if rest.size:
        people += nearest_individuals(Matcher(pairs, labels), [part[rest] for part in values])
    return people


def persons_in_found_households(risk: Floats, households: Integers) -> float:
    """Return the expected number of persons in households of which at least one member is re-identified.

    Members are found independently of each other: 1 - product of (1 - risk) over the members.

    Examples
    --------
    >>> persons_in_found_households(np.array([0.5, 0.5, 0.2]), np.array([0, 0, 1]))
    1.7
    """
    missed = np.bincount(households, np.log1p(-np.minimum(risk, 1 - 1e-16)))
    return float(np.round((1 - np.exp(missed)) @ np.bincount(households), 12))


def against_population(
    sizes: Integers, *, counted: Floats | None = None, people: Floats | None = None, population: int | None = None
) -> tuple[Floats, PopulationFigures]:
    """Return the risk of a record of each class for an intruder who knows the population, and all figures.

    Parameters
    ----------
    sizes
        The number of records of each class.
    counted
        The number of individuals of a population table in each class.
    people
        The sum of the sampling weights of each class.
    population
        The number of individuals of the population. At least one of the three is given.

    Examples
    --------
    >>> risk, found = against_population(np.array([2, 2]), counted=np.array([7.0, 4.0]))
    >>> found.highest, round(found.average, 6), found.k_map, found.presence
    (0.25, 0.196429, 4.0, (0.2857142857142857, 0.5))
    """
    f, n = sizes.astype(np.float64), float(sizes.sum())
    if population is None:
        total = counted if counted is not None else people
        assert total is not None
        population = max(round(float(total.sum())), int(n))
    by_weights = None if people is None else expected_inverse(f, people)
    uniques, by_model = _without_model(sizes), f
    notes: list[str] = []
    if counted is None:
        uniques, by_model, notes = _modelled(sizes, population)
    notes = notes if people is None else []
    unique_share: float
    if counted is not None:
        source, risk = TABLE, 1 / np.maximum(counted, f)
        unique_share = float(f[(sizes == 1) & (counted <= 1)].sum()) / n
    elif people is not None and by_weights is not None:
        source, risk = WEIGHTS, by_weights
        unique_share = float(np.minimum(1.0, f / people)[sizes == 1].sum()) / n
    else:
        source, risk = SIZE, by_model
        share = uniques.unique_in_both
        unique_share = (share if share is not None else float((sizes == 1).sum()) * n / population) / n
    known = counted if counted is not None else people
    shares = None if known is None else np.minimum(1.0, f / np.maximum(known, 1e-300))
    uncovered = 0 if known is None else int((known < f * (1 - 1e-9)).sum())
    if uncovered:
        notes = [*notes, _uncovered_text(uncovered, f.size, source)]
    average = float(risk @ f) / n
    return risk, PopulationFigures(
        source=source,
        population=float(population),
        sampling_fraction=n / population,
        highest=float(risk.max()),
        average=average,
        expected=average * n,
        population_unique=unique_share,
        k_map=None if known is None else float(known.min()),
        presence=None if shares is None else (float(shares.min()), float(shares.max())),
        uncovered=uncovered,
        uniques=None if counted is not None else uniques,
        weighted_average=None if by_weights is None or source == WEIGHTS else float(by_weights @ f) / n,
        model_average=None if source != WEIGHTS or uniques.a is None else float(by_model @ f) / n,
        notes=tuple(notes),
    )


def _uncovered_text(uncovered: int, classes: int, source: str) -> str:
    whose = "individuals of the population" if source == TABLE else "individuals by the sampling weights"
    return (
        f"{uncovered:,} of {classes:,} classes have more records than {whose}: the population does not hold the table, "
        "and the risk of these classes is that of a prosecutor."
    )


def _without_model(sizes: Integers) -> PopulationUniques:
    return PopulationUniques(None, "Pitman", None, None, None, None, None, int((sizes == 1).sum()), None, None)


def _modelled(sizes: Integers, population: int) -> tuple[PopulationUniques, Floats, list[str]]:
    """Return the estimates from the size of the population, the risk of each class by the model, and notes."""
    n, ones = int(sizes.sum()), int((sizes == 1).sum())
    f, fraction = sizes.astype(np.float64), n / population
    without_model = expected_inverse(f, f / fraction)
    if not ones:
        none = replace(_without_model(sizes), estimate=0.0, pitman=0.0, zayatz=0.0, snb=0.0, unique_in_both=0.0)
        note = (
            "No record is unique, so no model of the population was fitted; each record represents as many individuals "
            "as the sampling fraction says."
        )
        return none, without_model, [note]
    model = fit_pitman(sizes, population)
    pitman = None if model is None else model.population_uniques()
    others = {"Zayatz": zayatz(sizes, population), "SNB": slide_negative_binomial(sizes, population)}
    rule, estimate = "Pitman", pitman
    if fraction > DANKAR_FRACTION:
        found = {name: value for name, value in others.items() if value is not None}
        rule = min(found, key=lambda name: found[name]) if found else "none"
        estimate = found.get(rule)
    notes = []
    if model is None:
        notes.append(
            "The Pitman model has no maximum inside its limits (nearly every record is unique), so each record "
            "represents as many individuals as the sampling fraction says; this can understate the risk."
        )
    elif model.a == 0:
        notes.append("The Pitman model is largest at a = 0, where it is the model of Ewens.")
    one = np.ones(1, np.int64)
    uniques = PopulationUniques(
        estimate=estimate,
        rule=rule,
        pitman=pitman,
        zayatz=others["Zayatz"],
        snb=others["SNB"],
        a=None if model is None else model.a,
        t=None if model is None else model.t,
        sample_uniques=ones,
        unique_in_both=None if model is None else ones * float(model.same_size(one)[0]),
        expected_matches=None if model is None else ones * float(model.risk(one)[0]),
    )
    return uniques, without_model if model is None else model.risk(sizes), notes
