"""What a grouping method is, what it returns, and what it may guarantee.

A method is a plain function on arrays, ``f(points, k, *, ...) -> labels``. The name of its first parameter says what
it reads: ``points`` (float64, n x d), ``values`` (one column), ``codes`` (int32, n x m) or ``mixed`` (float64, numbers
beside codes; the input ``nominal`` says which columns are codes). It returns labels, the group number of each
record, or an :class:`Outcome` where there is more to say: a representative record of each group, the objective with a
proven bound, diagnostics.

Further inputs are passed to functions that declare them as keyword-only parameters (:data:`INJECTED`); every other
keyword-only parameter is an option of the method.

A method lists its guarantees when it is registered, beside the largest group (``max_size``) and the objective for which
it proves a bound (``proves``). Each kind of guarantee is a class of its own; the property tests have a check for every
kind, apply it to every method that claims it, and show a wrong grouping that the check finds. Text that no test can
check is not a guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
DataKind = Literal["points", "values", "codes", "mixed"]
Stopped = Literal["finished", "time limit", "interrupted"]
OptionValue = bool | int | float | str | None | Sequence["OptionValue"] | Mapping[str, "OptionValue"]
Diagnostic = bool | int | float | str | None | Sequence["Diagnostic"] | Mapping[str, "Diagnostic"]
Array = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int32]

INJECTED = (
    "progress", "seed", "max_size", "time_limit", "column_weights", "record_weights", "units", "observed", "nominal",
    "column_costs", "class_rule",
)  # fmt: skip
"""Inputs that are passed to a method only if its function declares them."""
MIXED_DISTANCE = 4.0
"""The squared distance that is added between a known and a missing cell of a column that is emptied in groups that mix
them: two standard deviations."""


class GroupingMethod(Protocol):
    """A function that groups records."""

    def __call__(self, data: Array, k: int, /) -> Labels | Outcome:
        """Return the group of each record, or an outcome."""
        ...


class RefinementStep(Protocol):
    """A function that improves or repairs a given grouping."""

    def __call__(self, data: Array, labels: Labels, k: int, /) -> Labels | Outcome:
        """Return the group of each record, or an outcome."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnCost:
    """What the reported loss of a column is measured by: the representative that is released.

    Parameters
    ----------
    recode
        The name of the representative, such as ``mean``, ``median``, ``mode``, ``range`` or ``hierarchy``.
    ordinal
        Whether the numbers are positions in an order, so that a median is one of them.
    ancestors, options
        For categories with a hierarchy: the node above each category on each level (levels x categories, from the
        category itself to the root), and how many categories each node represents; 0 for a missing cell that stays one.
    emptied
        Whether the column is emptied in groups that mix known and missing cells; otherwise missing cells get the
        representative of the known ones. The input ``observed`` says which cells are known.
    linked
        The number of a set of columns that are suppressed together; None for a column that is suppressed alone.
    """

    recode: str
    ordinal: bool = False
    ancestors: NDArray[np.int64] | None = None
    options: NDArray[np.float64] | None = None
    emptied: bool = False
    linked: int | None = None


@dataclass(frozen=True, eq=False)
class ClassRule:
    """What classes must satisfy beside k records, for a method that makes the classes of the whole table at once.

    Parameters
    ----------
    blocks
        The block of each record, 0, 1, ...; no class has records of two blocks.
    violating
        Returns for each class, from the class of each record (0, 1, ..., without gaps), whether it violates a
        requirement; None where there is none beside k records.
    joined
        When two classes satisfy all requirements together: ``either`` if one of them does, ``both`` if both do, or
        ``never`` for certain.
    """

    blocks: Labels
    violating: Callable[[Labels], NDArray[np.bool_]] | None = None
    joined: Literal["either", "both", "never"] = "either"


@dataclass(frozen=True)
class Objective:
    """The value that a method minimises, with a lower bound that it has proven.

    Parameters
    ----------
    name
        What is minimised: ``sse``, ``within-group distance``, ``chi-square`` or another cost.
    value
        The value of the grouping that was found.
    bound
        A proven lower bound; None if nothing was proven.
    scope
        The groupings that the bound holds for.

    Examples
    --------
    >>> round(Objective("sse", 732.0, 549.0).gap, 4)
    0.3333
    >>> Objective("sse", 5.0).gap is None
    True
    """

    name: str
    value: float
    bound: float | None = None
    scope: str = "all groupings"

    @property
    def gap(self) -> float | None:
        """By which share the value may exceed the best possible one: ``value / bound - 1``; None if that is unknown.

        A value at (or, by rounding, below) its bound is optimal: the gap is 0. Where the bound is not positive, no
        ratio exists and the gap is None.
        """
        if self.bound is None:
            return None
        if self.value <= self.bound:
            return 0.0
        return self.value / self.bound - 1.0 if self.bound > 0 else None

    @property
    def optimal(self) -> bool:
        """Whether the value is proven to be the best possible within the scope."""
        return self.gap == 0.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method returns.

    Parameters
    ----------
    labels
        The group number of each record.
    representatives
        The record that represents each group, if the method selects one; ``representatives[g]`` is a row index.
    objective
        The value that was minimised, with its bound, if the method states it.
    diagnostics
        What the method reports beside: counts of rounds, parameters that it chose. Names in snake_case, values that
        JSON can hold, nothing that depends on the speed of the machine.
    timings
        Seconds of the parts of the run; never written into a manifest.
    stopped
        Why the method ended.
    method, options
        The method that made the groups, and its options; set where a method such as ``auto`` selects another one.
    reason
        Why that method was selected.

    Examples
    --------
    >>> Outcome(np.array([0, 0, 1, 1]), diagnostics={"rounds": 3}).diagnostics["rounds"]
    3
    """

    labels: Labels
    representatives: NDArray[np.int64] | None = None
    objective: Objective | None = None
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    stopped: Stopped = "finished"
    method: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    reason: str = ""

    def with_diagnostics(self, **diagnostics: Diagnostic) -> Outcome:
        """Return the outcome with further diagnostics."""
        return replace(self, diagnostics={**self.diagnostics, **diagnostics})

    def regrouped(self, labels: Labels) -> Outcome:
        """Return the outcome for other groups: what was selected and proven for the old groups no longer holds."""
        return replace(self, labels=labels, representatives=None, objective=None)


def labels_of(result: Labels | Outcome) -> Labels:
    """Return the labels of what a method returned."""
    return result.labels if isinstance(result, Outcome) else result


@dataclass(frozen=True)
class Guarantee:
    """A property of every grouping that a method returns.

    The methods of Shoal use the kinds below; a method of another package may state its own in words.

    Parameters
    ----------
    text
        The property in words.
    """

    text: str


@dataclass(frozen=True)
class OneLargerGroup(Guarantee):
    """Every group has exactly k records, except for one of up to 2k-1."""

    text: str = "all groups have k records, except for one of up to 2k-1"


@dataclass(frozen=True)
class FewExtraRecords(Guarantee):
    """Fewer than k records in total exceed a size: k records a group, or 2k-1.

    Parameters
    ----------
    doubled
        Whether the size is 2k-1 instead of k.
    """

    text: str = "fewer than k records enlarge groups of k"
    doubled: bool = False


@dataclass(frozen=True)
class TwoGroups(Guarantee):
    """A table of 2k to 3k-1 records is divided into exactly two groups."""

    text: str = "2k to 3k-1 records make two groups"


@dataclass(frozen=True)
class NeverWorse(Guarantee):
    """The cost is never above that of another method, or of the same method with other options.

    The cost is the sum of squared errors of points, and the within-group distance of codes.

    Parameters
    ----------
    than
        The name of the other method.
    options
        Its options.
    most_records
        The guarantee holds for tables of up to this many records; None for all.

    Examples
    --------
    >>> NeverWorse("never worse than ona-star", "ona-star").text
    'never worse than ona-star'
    """

    than: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    most_records: int | None = None


@dataclass(frozen=True)
class Optimal(Guarantee):
    """No grouping of at least k records a group costs less, within what the objective of the outcome states."""

    text: str = "the smallest SSE of all groupings"


@dataclass(frozen=True)
class WithinFactor(Guarantee):
    """The sum of squared errors is at most a factor, which depends on k, times the optimum."""

    factor: Callable[[int], int] = lambda _: 1


@dataclass(frozen=True)
class OptimalAlongDirection(Guarantee):
    """Among the groupings of the records projected on the reported direction, none has less SSE there."""

    text: str = "optimal along the direction"


@dataclass(frozen=True)
class Insensitive(Guarantee):
    """If one record has other values, each group changes in at most one record (Thaeter 2021, Definition 3.19)."""

    text: str = "changing a record changes each group in at most one element"


@dataclass(frozen=True)
class EqualRecordsTogether(Guarantee):
    """Records with equal values in all columns are in one group (Thaeter 2021, Def. 3.1: global recoding)."""

    text: str = "equal records are in one group"


@dataclass(frozen=True)
class SelectedRecords(Guarantee):
    """Each group is represented by the combination of values of a record, so that no combination is new."""

    text: str = "only combinations that occur"


@dataclass(frozen=True)
class SeparateGroups(Guarantee):
    """With the given options no two groups share a combination of categories.

    Parameters
    ----------
    options
        Options of the method for which this holds.
    """

    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True)
class SizesOfOptions(Guarantee):
    """With the given options groups have k to 2k-1 records.

    Parameters
    ----------
    options
        Options of the method for which this holds.
    """

    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True)
class AsMethodUsed(Guarantee):
    """The sizes are those of the method that is named by an option, or by the outcome.

    Parameters
    ----------
    option
        The option that names the method; None if the outcome names it.
    """

    text: str = "that of the selected method, which the result names"
    option: str | None = None


def sizes_in_words(max_size: Callable[[int], int] | None) -> str:
    """Return what is guaranteed about the sizes of groups, in words.

    Examples
    --------
    >>> sizes_in_words(lambda k: 2 * k - 1)
    'groups have k to 2k-1 records'
    >>> sizes_in_words(None)
    'groups have at least k records'
    """
    if max_size is None:
        return "groups have at least k records"
    known = {(5, 19): "2k-1", (6, 20): "2k"}
    largest = known.get((max_size(3), max_size(10)), f"{max_size(3)} (k = 3), {max_size(10)} (k = 10)")
    return f"groups have k to {largest} records"
