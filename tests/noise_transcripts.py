"""The noise of differential privacy, recorded and replayed: what does a release reveal besides its noisy answers?

A :class:`Transcript` takes the place of the functions that draw noise. The first run records every answer. A run on a
neighbouring table replays them: whatever then differs (a type, a row, a message, an error, the next query) depends on
the data in another way than through noise. The two inputs of each query give the exact privacy loss of the transcript.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from unittest import mock

import numpy as np

from shoal.dp import opendp_library

_MODULES = (
    "exponential", "histogram_mechanism", "insensitive_mechanism", "interval_mechanism", "laplace", "mondrian_release",
    "private_mondrian", "quantile", "safe_k_anonymity", "small_db_mechanism",
)  # fmt: skip
_SOURCES = ("integer_noise", "real_noise", "select", "bernoulli_draws")


class NotReplayable(AssertionError):
    """A query differs from the recorded one in number, shape, sensitivity or epsilon."""


@dataclass(frozen=True)
class Query:
    """One call that draws noise."""

    source: str
    values: np.ndarray
    sensitivity: float
    epsilon: float
    answer: object

    def loss(self, values):
        """The exact logarithm of the ratio of the probabilities of the answer, for these inputs and for others."""
        rate = self.epsilon / self.sensitivity
        if self.source == "select":
            one, other = (np.logaddexp.reduce(rate / 2 * scores) for scores in (self.values, values))
            return rate / 2 * float(self.values[self.answer] - values[self.answer]) - one + other
        return rate * float((np.abs(self.answer - values) - np.abs(self.answer - self.values)).sum())

    def change(self, values):
        """How far the inputs differ, in the distance that the sensitivity bounds."""
        far = np.abs(self.values - values)
        return float(far.max(initial=0) if self.source == "select" else far.sum())


class Transcript:
    """Records the answers of a run, or replays them.

    Parameters
    ----------
    unsampled
        The position of the record in which the tables differ; it is never among the sampled ones.
    halved
        A module and the name of a function in it that draws only half the noise, for tests of the tests.
    """

    def __init__(self, unsampled=None, halved=None):
        self.queries = []
        self.halved = halved
        self.unsampled = unsampled
        self.inputs = []

    @contextmanager
    def recording(self):
        with self._instead_of_noise(self._record):
            yield self

    @contextmanager
    def replaying(self):
        self.inputs = []
        with self._instead_of_noise(self._replay):
            yield self
        if len(self.inputs) < len(self.queries):
            raise NotReplayable(f"{len(self.inputs)} queries instead of {len(self.queries)}")

    @contextmanager
    def _instead_of_noise(self, answer):
        def draw(module, source):
            if source == "bernoulli_draws":
                return self._sampled
            times = 2 if (module, source) == self.halved else 1
            return lambda values, sensitivity, epsilon: answer(source, np.asarray(values), sensitivity, times * epsilon)

        originals = np.random.default_rng
        seeded = lambda seed=20: originals(seed)  # noqa: E731 - what is drawn inside a cell depends on noisy answers only
        with ExitStack() as patches:
            patches.enter_context(mock.patch("numpy.random.default_rng", seeded))
            for module in _MODULES:
                for source in _SOURCES:
                    if hasattr(import_module(f"shoal.dp.{module}"), source):
                        name = f"shoal.dp.{module}"
                        patches.enter_context(mock.patch(f"{name}.{source}", draw(name, source)))
            yield

    def _record(self, source, values, sensitivity, epsilon):
        answer = getattr(opendp_library, source)(values, sensitivity, epsilon)
        self.queries.append(Query(source, values, sensitivity, epsilon, answer))
        return answer

    def _replay(self, source, values, sensitivity, epsilon):
        if len(self.inputs) == len(self.queries):
            raise NotReplayable("more queries than recorded")
        query = self.queries[len(self.inputs)]
        if (source, values.shape, sensitivity, epsilon) != (
            query.source, query.values.shape, query.sensitivity, query.epsilon,
        ):  # fmt: skip
            raise NotReplayable(f"query {len(self.inputs)} is another one")
        self.inputs.append(values)
        return query.answer

    def _sampled(self, n, probability):
        drawn = np.random.PCG64(5)
        chosen = np.random.Generator(drawn).random(n) < probability
        if self.unsampled is not None and self.unsampled < n:
            chosen[self.unsampled] = False
        return chosen

    def losses(self):
        """The exact privacy loss of each query, between the recorded and the replayed table."""
        return np.array([query.loss(values) for query, values in zip(self.queries, self.inputs, strict=True)])

    def spent(self):
        """The sum of epsilon of the queries whose inputs differ; each must change by at most its sensitivity."""
        total = 0.0
        for query, values in zip(self.queries, self.inputs, strict=True):
            change = query.change(values)
            assert change <= query.sensitivity, f"{query.source} changes by {change}, sensitivity {query.sensitivity}"
            total += query.epsilon * (change > 0)
        return total
