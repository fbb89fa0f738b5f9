"""Running a method: the only place where a method is called by its name.

Checks the data, k and the options, passes the common inputs that the function declares, and checks that the result
assigns one group to every record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import check_seed, check_size
from shoal.core.grouping import canonical_order, check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.methods.contract import ClassRule, ColumnCost, Labels, Outcome
from shoal.methods.registry import MethodInfo, get_method


class Inputs(TypedDict):
    """The inputs that methods may declare, as the stages pass them."""

    progress: Progress
    seed: int
    max_size: int | None
    time_limit: float | None
    column_weights: NDArray[np.float64]
    nominal: NDArray[np.bool_]
    column_costs: Sequence[ColumnCost] | None
    record_weights: NDArray[np.float64] | None
    units: NDArray[np.int64] | None
    observed: NDArray[np.bool_] | None
    class_rule: ClassRule | None


def run(  # noqa: PLR0913 - one entry for all that methods may declare
    method: str | Callable[..., Any] | MethodInfo,
    data: NDArray[Any],
    k: int,
    *,
    progress: Progress = SILENT,
    seed: int = 0,
    max_size: int | None = None,
    time_limit: float | str | None = None,
    column_weights: NDArray[np.float64] | None = None,
    record_weights: NDArray[np.float64] | None = None,
    units: NDArray[np.int64] | None = None,
    observed: NDArray[np.bool_] | None = None,
    nominal: NDArray[np.bool_] | None = None,
    column_costs: Sequence[ColumnCost] | None = None,
    class_rule: ClassRule | None = None,
    **options: Any,
) -> Outcome:
    """Run a method on an array.

    Parameters
    ----------
    method
        A name, a function, or an entry of the registry.
    data
        What the method reads: coordinates, one column, or codes.
    k
        Minimum group size.
    progress
        Progress callback.
    seed
        Seed of the random numbers, for methods that use some.
    max_size
        Maximum group size, for methods that can keep one.
    time_limit
        Seconds; only for methods that can stop early.
    column_weights, record_weights, units, observed, nominal, column_costs, class_rule
        Further inputs for methods that declare them.
    options
        Options of the method.

    Returns
    -------
    outcome
        Labels numbered by first appearance, with all that the method reports.

    Examples
    --------
    >>> run("mdav", np.array([[0.0], [9.0], [1.0], [8.0]]), 2).labels
    array([0, 1, 0, 1])
    >>> run("mdav", np.zeros((4, 1)), 2, precison="single")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: method "mdav" has no option "precison"; did you mean "precision"?
    """
    info = method if isinstance(method, MethodInfo) else get_method(method)
    if time_limit is not None:
        from shoal.core.deadline import seconds_of

        time_limit = seconds_of(time_limit)
    if max_size is not None:
        check_size(max_size, "max_size")
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0:
        check_seed(seed)
    checked = info.check_options(options)
    _check_inputs(info, progress, time_limit, column_weights)
    given = {
        "progress": progress, "seed": seed, "max_size": max_size, "time_limit": time_limit,
        "column_weights": column_weights, "record_weights": record_weights, "units": units, "observed": observed,
        "nominal": nominal, "column_costs": column_costs, "class_rule": class_rule,
    }  # fmt: skip
    inputs = {name: value for name, value in given.items() if name in info.injected and value is not None}
    storage = str(checked.pop("storage", "float64"))
    prepared = prepare_data(info, data, k, info.dtype(storage))
    if prepared.ndim == 2 and prepared.shape[1] == 0:
        # nothing distinguishes these records: one constant column, because compiled loops read at least one
        prepared = np.zeros((len(prepared), 1), prepared.dtype)
        of_columns = {"column_weights", "nominal", "column_costs"}
        inputs = {name: value for name, value in inputs.items() if name not in of_columns}
    result = info.function(prepared, k, **inputs, **checked)
    outcome = checked_outcome(result, info.name, len(prepared))
    if outcome.method:
        return outcome
    resolved = {name: option.default for name, option in info.options.items()} | checked
    if "storage" in info.options:
        resolved["storage"] = storage
    return replace(outcome, method=info.name, options=resolved)


def checked_outcome(result: Labels | Outcome, name: str, n: int) -> Outcome:
    """Return a method's result as a canonical outcome, or raise if it does not assign one group to every record."""
    outcome = result if isinstance(result, Outcome) else Outcome(np.asarray(result))
    labels = np.asarray(outcome.labels)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f'method "{name}" returned an array of shape {labels.shape} and type {labels.dtype}; '
            f"it must return one integer label for each of the {n} records"
        )
    outcome = replace(outcome, labels=labels.astype(np.int64, copy=False))
    representatives = outcome.representatives
    if representatives is not None:
        groups = np.unique(labels).size
        inside = representatives.shape == (groups,) and ((representatives >= 0) & (representatives < n)).all()
        if not inside:
            raise DataError(f'method "{name}" must return one record number as the representative of each group')
    numbered, order = canonical_order(outcome.labels)
    kept = None if representatives is None else representatives[order]
    return replace(outcome, labels=numbered, representatives=kept)


def prepare_data(info: MethodInfo, data: NDArray[Any], k: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Return the data as the method reads them, or raise if they are of the wrong shape or not finite."""
    try:
        prepared = np.ascontiguousarray(data, dtype=dtype)
    except (ValueError, TypeError, OverflowError):  # its text may quote values
        raise DataError(f'method "{info.name}" needs an array of numbers with as many columns in each row') from None
    if info.data == "values" and prepared.ndim == 2 and prepared.shape[1] == 1:
        prepared = prepared[:, 0].copy()
    if info.data == "codes" and not np.array_equal(prepared, data):
        raise DataError(f'method "{info.name}" reads codes: integers from 0 to {np.iinfo(np.int32).max}')
    wanted = 1 if info.data == "values" else 2
    if prepared.ndim != wanted:
        raise DataError(f'method "{info.name}" needs a {wanted}-d array, not {prepared.ndim}-d')
    check_k(k, prepared.shape[0])
    if info.data != "codes" and not np.isfinite(prepared).all():
        bad = int((~np.isfinite(prepared)).sum())
        raise DataError(f"{bad} of {prepared.size} coordinates are missing or infinite; methods need finite numbers")
    return prepared


def _check_inputs(
    info: MethodInfo, progress: Progress, time_limit: float | str | None, column_weights: NDArray[np.float64] | None
) -> None:
    """Raise where an input was given that changes the groups and that the method cannot follow."""
    if time_limit is not None and "time_limit" not in info.injected:
        raise ParameterError(
            f'method "{info.name}" has no time limit: it ends when its work is done; remove time_limit= '
            '(command line: --time-limit), or choose method "auto"'
        )
    for part in ("stage", "advance", "note"):
        if not callable(getattr(progress, part, None)):
            raise ParameterError(f"progress must be a shoal.Progress, not {type(progress).__name__}")
    if column_weights is not None and not isinstance(column_weights, np.ndarray):
        raise ParameterError("column_weights of an array must be an array of numbers, one for each column")
    weighted = column_weights is not None and bool((column_weights != 1).any())
    if weighted and info.data == "codes" and "column_weights" not in info.injected:
        raise ParameterError(
            f'method "{info.name}" cannot weight columns; remove column_weights= (command line: --column-weight), or '
            'choose method "auto"'
        )
