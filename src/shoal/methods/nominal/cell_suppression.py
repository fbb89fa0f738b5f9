"""cell-suppression: groups for which as few cells as possible are suppressed.

A released class keeps the values on which its records agree and suppresses the others, so a group g costs |g| times the
weights of the columns that are not constant in it (Meyerson and Williams 2004, with weights as importance). Records
whose combination of values occurs k times need no suppression; a combination with more than k records can lend the
surplus, one with fewer than 2k can also be dissolved. Every other record takes part in a *pattern*: a set of suppressed
columns together with the values of the others.

A greedy choice opens the pattern with the least price for each record, several times, with ties and near ties in random
order; up to a few thousand patterns an integer program then selects patterns and the records in them. Patterns suppress
few columns at first, more only while a record has none.

Columns that are suppressed together are one column with the sum of their weights: their combination is constant in a
group, or all of them are suppressed. Time O(combinations times sets of columns), plus that of the program.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import check_codes, checked_column_weights, collapse, equal_rows
from shoal.methods.contract import ColumnCost, Objective, Outcome
from shoal.methods.options import Range
from shoal.methods.programs.mixed_integer import Program
from shoal.methods.registry import method

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
OBJECTIVE = "suppressed cells"
_GREEDY_PATTERNS = 400_000  # patterns times greedy choices
_HIGHER_PRICE = 0.05
MOST_COLUMN_SETS = 20_000  # for which patterns are sought; beyond, all columns of a record are suppressed


@method(
    "cell-suppression",
    title="Categories: suppresses as few cells as possible, by an integer program for small tables",
    complexity="unsafe combinations of values times sets of columns",
    reference="Meyerson & Williams 2004",
    when="categories whose recode is suppress",
    proves="suppressed cells",
)
def cell_suppression(
    codes: NDArray[np.int32],
    k: int,
    *,
    most_columns: Annotated[int, Range(1)] = 3,
    starts: Annotated[int, Range(1)] = 40,
    program: Annotated[int, Range(0)] = 3_000,
    nodes: Annotated[int, Range(0)] = 200,
    column_weights: NDArray[np.float64] | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Outcome:
    """Group nominal records such that few cells differ inside groups, weighted by the importance of columns.

    Parameters
    ----------
    most_columns
        Patterns suppress at most so many columns, and more only while a record has none. Where there are more than
        20,000 such sets of columns, larger sets are left out, and records without a pattern are suppressed entirely.
    starts
        Greedy choices of which the best is taken; fewer where there are more than 10,000 patterns.
    program
        Up to so many patterns the integer program is solved; 0 for the greedy choice alone.
    nodes
        Nodes of the search after which the program stops with the best solution so far; the same on every machine.

    Examples
    --------
    >>> rows = ["111", "111", "111", "112", "122", "222", "221"]
    >>> codes = np.array([[int(value) for value in row] for row in rows], np.int32)
    >>> outcome = cell_suppression(codes, 2)
    >>> outcome.labels, outcome.objective.value
    (array([0, 0, 0, 1, 1, 2, 2]), 4.0)
    """
    check_codes(codes)
    codes, weights = _linked(codes, checked_column_weights(column_weights, codes.shape[1]), column_costs)
    table = collapse(codes)
    progress.stage("grouping (cell suppression)")
    problem = find_patterns(table.rows, table.counts, k, weights, most_columns)
    chosen = best_greedy_choice(problem, starts, seed)
    bound, solved = None, False
    if problem.members and len(problem.members) <= program:
        chosen, bound, solved = solve_program(problem, chosen, nodes=nodes, time_limit=time_limit)
    labels = _labels(problem, chosen, table.inverse, codes, weights)
    value = suppression_cost(codes, labels, weights)
    scope = (
        "groups in which combinations of at least 2k records keep k of them, with up to "
        f"{problem.most_columns} suppressed columns a record"
    )
    return Outcome(
        labels,
        objective=Objective(OBJECTIVE, value, None if bound is None else min(bound, value), scope),
        diagnostics={
            "patterns": len(problem.members), "most_columns": problem.most_columns, "program_solved": solved,
        },
    )  # fmt: skip


def _linked(
    codes: NDArray[np.int32], weights: Floats, column_costs: Sequence[ColumnCost] | None
) -> tuple[NDArray[np.int32], Floats]:
    """Return codes and weights with one column for each set of columns that are suppressed together."""
    sets: dict[int | str, list[int]] = {}
    for column, cost in enumerate(column_costs or ()):
        sets.setdefault(f"column {column}" if cost.linked is None else cost.linked, []).append(column)
    if all(len(columns) == 1 for columns in sets.values()):
        return codes, weights
    joined = [equal_rows([codes[:, column] for column in columns]) for columns in sets.values()]
    total = np.array([float(weights[columns].sum()) for columns in sets.values()])
    return np.ascontiguousarray(np.column_stack(joined).astype(np.int32)), total


def suppression_cost(codes: NDArray[np.int32], labels: Integers, weights: Floats) -> float:
    """Return the weighted number of cells that are suppressed: all of a column in a group in which it is not constant.

    Examples
    --------
    >>> suppression_cost(np.array([[0, 1], [0, 2], [5, 5]], np.int32), np.array([0, 0, 1]), np.ones(2))
    2.0
    """
    sizes = np.bincount(labels)
    first = np.full(sizes.size, -1, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    total = 0.0
    for column, weight in zip(codes.T, weights, strict=True):
        differs = np.zeros(sizes.size, bool)
        differs[labels[column != column[first[labels]]]] = True
        total += float(weight) * float(sizes[differs].sum())
    return total


@dataclass(frozen=True, eq=False)
class Problem:
    """Combinations of values and the patterns that they can take part in.

    Parameters
    ----------
    counts
        The number of records of each combination.
    unsafe
        Whether a combination has fewer than k records.
    k
        Minimum size of a group.
    members, lenders
        For each pattern the unsafe combinations that fit it, and the safe ones.
    prices
        The weight of the columns that each pattern suppresses.
    most_columns
        The most columns that a pattern suppresses.
    """

    counts: Integers
    unsafe: NDArray[np.bool_]
    k: int
    members: list[Integers]
    lenders: list[Integers]
    prices: list[float]
    most_columns: int


@dataclass(frozen=True, eq=False)
class Chosen:
    """Records of combinations in patterns.

    Parameters
    ----------
    taken
        For each open pattern the records of each combination that are in it, lent ones included.
    complete
        Whether every unsafe record is in a pattern.
    """

    taken: dict[int, dict[int, int]]
    complete: bool

    def cost(self, prices: list[float]) -> float:
        """Return the price of all records in patterns."""
        return sum(prices[pattern] * sum(records.values()) for pattern, records in self.taken.items())


def find_patterns(rows: NDArray[np.int32], counts: Integers, k: int, weights: Floats, most: int) -> Problem:
    """Return the patterns of up to ``most`` suppressed columns in which k records can be; more columns if needed."""
    unsafe = counts < k
    able = np.arange(counts.size)
    lent_most = np.where(unsafe, 0, np.where(counts < 2 * k, counts, counts - k))
    found: dict[tuple[bytes, bytes], tuple[float, Integers, Integers]] = {}
    covered = ~unsafe
    columns = range(rows.shape[1])
    used = 0
    tried = 0
    for size in range(1, len(columns) + 1):
        if size > most and covered.all():
            break
        tried += comb(len(columns), size)
        if size < len(columns) and tried > MOST_COLUMN_SETS:  # then only records without any value are left
            continue
        used = size
        for hidden in combinations(columns, size):
            kept = [column for column in columns if column not in hidden]
            price = float(weights[list(hidden)].sum())
            labels = equal_rows([rows[able, column] for column in kept]) if kept else np.zeros(able.size, np.int64)
            own = np.bincount(labels, np.where(unsafe[able], counts[able], 0))
            lent = np.bincount(labels, lent_most[able])
            possible = (own > 0) & (own + lent >= k)
            inside = possible[labels]
            order = np.flatnonzero(inside)[np.argsort(labels[inside], kind="stable")]
            for group in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if order.size else ():
                combos = able[group]
                fitting, lending = combos[unsafe[combos]], combos[~unsafe[combos]]
                covered[fitting] = True
                key = (fitting.tobytes(), lending.tobytes())
                if key not in found or price < found[key][0]:
                    found[key] = (price, fitting, lending)
    patterns = list(found.values())
    return Problem(
        counts,
        unsafe,
        k,
        [one[1] for one in patterns],
        [one[2] for one in patterns],
        [one[0] for one in patterns],
        used,
    )


def best_greedy_choice(problem: Problem, starts: int, seed: int) -> Chosen:
    """Return the best of several greedy choices: with the prices as they are, and with prices up to 5 % higher.

    A choice is not shorter for a wrong order of patterns with equal or nearly equal prices for each record, and there
    are many such orders: on the table ``testdata`` the best of 40 suppresses 4 and 9 % fewer cells than the first.

    Parameters
    ----------
    problem
        Combinations and patterns.
    starts
        The number of choices; fewer where there are many patterns.
    seed
        Seed of the random numbers.
    """
    patterns = len(problem.members)
    best = choose_greedily(problem)
    prices, rng = np.array(problem.prices), np.random.default_rng(seed)
    for _ in range(min(starts, _GREEDY_PATTERNS // max(patterns, 1)) - 1):
        higher = prices * (1 + _HIGHER_PRICE * rng.random(patterns))
        found = choose_greedily(replace(problem, prices=higher.tolist()))
        if found.complete >= best.complete and found.cost(problem.prices) < best.cost(problem.prices):
            best = found
    return best


def choose_greedily(problem: Problem) -> Chosen:
    """Open the pattern with the least price for each record that it takes, until every unsafe record is in one."""
    remaining = np.where(problem.unsafe, problem.counts, 0)
    surplus = np.where(problem.unsafe, 0, problem.counts - problem.k)

    def ratio(pattern: int) -> float:
        own = int(remaining[problem.members[pattern]].sum())
        if not own or own + int(surplus[problem.lenders[pattern]].sum()) < problem.k:
            return np.inf
        return problem.prices[pattern] * max(own, problem.k) / own

    heap = [(ratio(pattern), pattern) for pattern in range(len(problem.members))]
    heapq.heapify(heap)
    taken: dict[int, dict[int, int]] = {}
    while heap and remaining.any():
        before, pattern = heapq.heappop(heap)
        now = ratio(pattern)
        if not np.isfinite(now):
            continue
        if now > before * (1 + 1e-12):
            heapq.heappush(heap, (now, pattern))
            continue
        records = {int(one): int(remaining[one]) for one in problem.members[pattern] if remaining[one]}
        remaining[problem.members[pattern]] = 0
        lacking = problem.k - sum(records.values())
        for lender in problem.lenders[pattern]:
            lent = min(lacking, int(surplus[lender]))
            if lent > 0:
                records[int(lender)] = lent
                surplus[lender] -= lent
                lacking -= lent
        taken[pattern] = records
    for pattern, records in taken.items():  # what is left joins an open pattern that it fits
        for one in problem.members[pattern]:
            if remaining[one]:
                records[int(one)] = records.get(int(one), 0) + int(remaining[one])
                remaining[one] = 0
    return Chosen(taken, not remaining.any())


def solve_program(
    problem: Problem, start: Chosen, *, nodes: int, time_limit: float | None
) -> tuple[Chosen, float, bool]:
    """Return the best choice of patterns and records, with a proven bound for these patterns."""
    program = Program()
    places: list[tuple[int, int, int]] = []  # variable, pattern, combination
    by_row: dict[int, list[int]] = {}
    by_lender: dict[int, list[int]] = {}
    known: list[float] = []
    for pattern, (members, lenders, price) in enumerate(
        zip(problem.members, problem.lenders, problem.prices, strict=True)
    ):
        open_ = program.variables(1, upper=1.0, whole=True)
        known.append(float(pattern in start.taken))
        records = start.taken.get(pattern, {})
        inside = []
        for one in [*members.tolist(), *lenders.tolist()]:
            most = int(problem.counts[one]) if problem.counts[one] < 2 * problem.k else problem.k
            variable = program.variables(1, cost=price, upper=float(most), whole=True)
            known.append(float(records.get(one, 0)))
            places.append((variable, pattern, one))
            inside.append(variable)
            (by_row if problem.unsafe[one] else by_lender).setdefault(one, []).append(variable)
            program.row([variable, open_], [1.0, -float(most)], upper=0.0)
        program.row([*inside, open_], [*[1.0] * len(inside), -float(problem.k)], lower=0.0)
    for one, variables in by_row.items():
        count = float(problem.counts[one])
        program.row(variables, np.ones(len(variables)), lower=count, upper=count)
    for one, variables in by_lender.items():  # a safe combination keeps k records, or none
        count = float(problem.counts[one])
        if count < 2 * problem.k:
            gone = program.variables(1, upper=1.0, whole=True)
            known.append(0.0)
            program.row([*variables, gone], [*[1.0] * len(variables), -float(problem.k)], upper=count - problem.k)
            program.row([*variables, gone], [*[1.0] * len(variables), -count], lower=0.0)
        else:
            program.row(variables, np.ones(len(variables)), upper=count - problem.k)
    begin = np.array(known) if start.complete else None
    solved = program.solve(start=begin, time_limit=time_limit, nodes=nodes)
    if solved.x is None or (start.complete and solved.value > start.cost(problem.prices)):
        return start, solved.bound, False
    taken: dict[int, dict[int, int]] = {}
    for variable, pattern, one in places:
        amount = int(solved.x[variable])
        if amount:
            taken.setdefault(pattern, {})[one] = amount
    return Chosen(taken, complete=True), solved.bound, solved.optimal


def _labels(problem: Problem, chosen: Chosen, inverse: Integers, codes: NDArray[np.int32], weights: Floats) -> Integers:
    """Return the group of each record; records without a pattern join the group that they make least dearer."""
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(problem.counts.size))
    used = np.zeros(problem.counts.size, np.int64)
    labels = np.full(inverse.size, -1, np.int64)
    number = problem.counts.size
    for records in chosen.taken.values():
        for one, amount in records.items():
            place = starts[one] + used[one]
            labels[order[place : place + amount]] = number
            used[one] += amount
        number += 1
    rest = np.flatnonzero(labels < 0)
    safe = rest[~problem.unsafe[inverse[rest]]]
    labels[safe] = inverse[safe]
    left = rest[problem.unsafe[inverse[rest]]]
    if left.size == labels.size:
        return np.zeros(labels.size, np.int64)
    for record in left.tolist():
        labels[record] = _cheapest_group(codes, labels, record, weights)
    return canonical_labels(labels)


def _cheapest_group(codes: NDArray[np.int32], labels: Integers, record: int, weights: Floats) -> int:
    """Return the group whose suppressed cells grow least when the record joins it."""
    grouped = np.flatnonzero(labels >= 0)
    groups, inside = np.unique(labels[grouped], return_inverse=True)
    sizes = np.bincount(inside)
    grown = np.zeros(groups.size)
    first = np.unique(inside, return_index=True)[1]
    for column, weight in zip(codes.T, weights, strict=True):
        differs = np.zeros(groups.size, bool)
        differs[inside[column[grouped] != column[grouped[first]][inside]]] = True
        new = column[grouped[first]] != column[record]
        grown += float(weight) * np.where(differs, 1.0, np.where(new, sizes + 1.0, 0.0))
    return int(groups[int(grown.argmin())])
