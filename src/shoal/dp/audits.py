"""An audit: attack a mechanism on two neighbouring databases and see how well they can be told apart.

Results are drawn many times from both databases. One half of the draws is used to find the event that tells them apart
best, the other half to bound its probabilities (Clopper & Pearson 1934). From (epsilon, delta)-differential privacy
follows Pr[event | one] <= exp(epsilon) Pr[event | other] + delta, so the bounds give a lower bound on the true epsilon:
if it exceeds what was promised, the promise is broken, up to the stated probability of a false alarm. An audit can
refute a promise, never prove it. Ding et al. 2018, doi:10.1145/3243734.3243818; Jagielski et al. 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.dp.guarantee import Guarantee, Neighbours, check_share
from shoal.errors import ParameterError

_EVENTS = 200


@dataclass(frozen=True)
class Audit:
    """The finding of an audit.

    Parameters
    ----------
    epsilon_lower
        The true epsilon is at least this, except with the probability of a false alarm.
    promised
        What was promised.
    event
        The event that tells the databases apart, in words.
    false_alarm
        The probability that a sound mechanism gets an ``epsilon_lower`` above its epsilon.
    """

    epsilon_lower: float
    promised: Guarantee
    event: str
    false_alarm: float

    @property
    def violated(self) -> bool:
        """Whether the promise is refuted."""
        return self.epsilon_lower > self.promised.epsilon


def audit(
    attack: Callable[[Any, int], NDArray[Any]],
    one: Any,
    other: Any,
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
        ``attack(database, runs)`` runs the mechanism so often and returns one number for each result: what an attacker
        would look at.
    one, other
        The two databases.
    epsilon, delta
        What was promised.
    runs
        How often the mechanism is run on each of the two.
    false_alarm
        The probability with which a sound mechanism may be found violated.

    Returns
    -------
    finding
        The lower bound on epsilon, and the event it rests on.

    Examples
    --------
    >>> honest = audit(lambda answer, runs: np.full(runs, 0), 0, 1, epsilon=0.1, runs=100)
    >>> honest.epsilon_lower, honest.violated
    (0.0, False)
    >>> audit(lambda answer, runs: np.full(runs, answer), 0, 1, epsilon=0.1, runs=1000).violated
    True
    """
    check_share(false_alarm, "false_alarm")
    if runs < 10:
        raise ParameterError(f"runs={runs} are too few for an audit; use at least 1000")
    promised = Guarantee(epsilon, delta, Neighbours.ADD_REMOVE)
    draws = [np.asarray(attack(database, runs)).ravel() for database in (one, other)]
    half = runs // 2
    best = (0.0, "none")
    for first, second, names in ((0, 1, "one / other"), (1, 0, "other / one")):
        learn, check = (draws[first][:half], draws[second][:half]), (draws[first][half:], draws[second][half:])
        event = max(_events(*learn), key=lambda event: _bound(event, *learn, delta, 1e-3))
        found = _bound(event, *check, delta, false_alarm / 4)
        best = max(best, (found, f"{event[0]} {event[1]:g} ({names})"))
    return Audit(best[0], promised, best[1], false_alarm)


Event = tuple[str, float]


def _events(first: NDArray[Any], second: NDArray[Any]) -> list[Event]:
    """Return events to try: results at least, at most, or equal to some value."""
    both = np.concatenate([first, second])
    values, counts = np.unique(both, return_counts=True)
    steps = np.unique(np.quantile(both, np.linspace(0, 1, _EVENTS), method="nearest"))
    common = values[np.argsort(-counts, kind="stable")[:_EVENTS]]
    sides: list[Event] = [(sign, float(value)) for value in steps for sign in ("at least", "at most")]
    return [*sides, *(("equal to", float(value)) for value in common)]


def _happens(event: Event, draws: NDArray[Any]) -> int:
    sign, value = event
    if sign == "at least":
        return int((draws >= value).sum())
    return int((draws <= value).sum() if sign == "at most" else (draws == value).sum())


def _bound(event: Event, first: NDArray[Any], second: NDArray[Any], delta: float, error: float) -> float:
    """Return a lower bound on ln((Pr[event | first] - delta) / Pr[event | second])."""
    likely = _clopper_pearson(_happens(event, first), first.size, error, upper=False) - delta
    rare = _clopper_pearson(_happens(event, second), second.size, error, upper=True)
    return max(0.0, math.log(likely / rare)) if likely > 0 else 0.0


def _clopper_pearson(successes: int, trials: int, error: float, *, upper: bool) -> float:
    """Return a bound on a probability that is wrong with at most the given error."""
    from scipy.special import betaincinv

    if upper:
        return 1.0 if successes == trials else float(1 - betaincinv(trials - successes, successes + 1, error))
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, error))
