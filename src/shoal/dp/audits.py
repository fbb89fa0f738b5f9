"""Audits: an attack on a mechanism that tries to distinguish two neighbouring databases by its results.

The mechanism is run many times on both databases. One half of the results is used to find the event that distinguishes
them best, the other half to bound its probabilities (Clopper & Pearson 1934). (epsilon, delta)-differential privacy
implies Pr[event | database] <= exp(epsilon) Pr[event | neighbour] + delta, so these bounds give a lower bound on the
true epsilon. If it exceeds the claimed epsilon, the claim is refuted, up to the stated probability of a false alarm. An
audit can refute a claim, but not prove it. Ding et al. 2018, doi:10.1145/3243734.3243818; Jagielski et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.dp.guarantee import check_delta, check_epsilon, check_fraction
from shoal.errors import ParameterError

_MAX_EVENTS = 200


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Parameters
    ----------
    epsilon_lower
        Lower bound on the true epsilon; it holds except with the probability of a false alarm.
    claimed_epsilon, claimed_delta
        The guarantee that was audited.
    event
        The event that distinguishes the databases best.
    false_alarm
        The probability that ``epsilon_lower`` exceeds the epsilon of a correct mechanism.

    Examples
    --------
    >>> found = Audit(epsilon_lower=1.2, claimed_epsilon=1.0, claimed_delta=0.0, event="at least 101", false_alarm=1e-8)
    >>> found.violated
    True
    """

    epsilon_lower: float
    claimed_epsilon: float
    claimed_delta: float
    event: str
    false_alarm: float

    @property
    def violated(self) -> bool:
        """Whether the claimed guarantee is refuted."""
        return self.epsilon_lower > self.claimed_epsilon


def audit(
    attack: Callable[[Any, int], NDArray[Any]],
    database: Any,
    neighbour: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    runs: int = 10_000,
    false_alarm: float = 1e-8,
) -> Audit:
    """Attack a mechanism on two neighbouring databases.

    Parameters
    ----------
    attack
        ``attack(database, runs)`` runs the mechanism ``runs`` times and returns one number for each result: the
        statistic that an intruder would use.
    database, neighbour
        The two neighbouring databases.
    epsilon, delta
        The claimed guarantee.
    runs
        Number of runs of the mechanism on each database; at least 10.
    false_alarm
        The probability with which a correct mechanism may be reported as violated.

    Returns
    -------
    finding
        The lower bound on epsilon and the event that it was computed from.

    Examples
    --------
    >>> constant = audit(lambda answer, runs: np.full(runs, 0), 0, 1, epsilon=0.1, runs=100)
    >>> constant.epsilon_lower, constant.violated
    (0.0, False)
    >>> audit(lambda answer, runs: np.full(runs, answer), 0, 1, epsilon=0.1, runs=1000).violated
    True
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_fraction(false_alarm, "false_alarm")
    if runs < 10:
        raise ParameterError(f"runs={runs} are too few for an audit; use at least 1000")
    draws = [np.asarray(attack(audited, runs)).ravel() for audited in (database, neighbour)]
    half = runs // 2
    best = (0.0, "none")
    for first, second, names in ((0, 1, "database / neighbour"), (1, 0, "neighbour / database")):
        learn, check = (draws[first][:half], draws[second][:half]), (draws[first][half:], draws[second][half:])
        event = max(_events(*learn), key=lambda event: _bound(event, *learn, delta, 1e-3))
        found = _bound(event, *check, delta, false_alarm / 4)
        best = max(best, (found, f"{event[0]} {event[1]:g} ({names})"))
    return Audit(best[0], float(epsilon), float(delta), best[1], false_alarm)


Event = tuple[str, float]


def _events(first: NDArray[Any], second: NDArray[Any]) -> list[Event]:
    """Return candidate events: results at least, at most, or equal to a value."""
    both = np.concatenate([first, second])
    values, counts = np.unique(both, return_counts=True)
    steps = np.unique(np.quantile(both, np.linspace(0, 1, _MAX_EVENTS), method="nearest"))
    common = values[np.argsort(-counts, kind="stable")[:_MAX_EVENTS]]
    sides: list[Event] = [(relation, float(value)) for value in steps for relation in ("at least", "at most")]
    return [*sides, *(("equal to", float(value)) for value in common)]


def _occurrences(event: Event, draws: NDArray[Any]) -> int:
    relation, value = event
    if relation == "at least":
        return int((draws >= value).sum())
    return int((draws <= value).sum() if relation == "at most" else (draws == value).sum())


def _bound(event: Event, first: NDArray[Any], second: NDArray[Any], delta: float, error: float) -> float:
    """Return a lower bound on ln((Pr[event | first] - delta) / Pr[event | second])."""
    likely = _clopper_pearson(_occurrences(event, first), first.size, error, upper=False) - delta
    rare = _clopper_pearson(_occurrences(event, second), second.size, error, upper=True)
    return max(0.0, math.log(likely / rare)) if likely > 0 else 0.0


def _clopper_pearson(successes: int, trials: int, error: float, *, upper: bool) -> float:
    """Return a confidence bound on a probability; ``error`` is the probability that it fails."""
    from scipy.special import betaincinv

    if upper:
        return 1.0 if successes == trials else float(1 - betaincinv(trials - successes, successes + 1, error))
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, error))
