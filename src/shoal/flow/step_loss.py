"""The loss of a column that steps changed, measured against the original table before all steps.

A reader of the release takes a number as it is; a band or another text as the mean of the original values that it
represents; and guesses uniformly among the categories that a mapping made one. A record that is not released counts as
if replaced by the mean or by the most frequent category.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.flow.encoding import NumericEncoding, fit_column
from shoal.flow.prepare import Prepared
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.schema.columns import Kind
from shoal.tables.value_codes import comparable_values, polars_series

if TYPE_CHECKING:
    from shoal.tables.table import Series

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def loss_against_original(prepared: Prepared, name: str, released: Series, loss: ColumnLoss) -> ColumnLoss:
    """Return the loss of a quasi-identifier against the table before all steps.

    Parameters
    ----------
    prepared
        The table that was grouped.
    name
        The column.
    released
        Its released values, in the order of ``prepared``.
    loss
        The loss against the table after the steps; its penalties of generalised cells stay.
    """
    original = prepared.input.typed(name)
    rows = prepared.input_rows
    rows = np.arange(len(original)) if rows is None else rows
    weights = _weights(prepared, rows, len(original))
    stated = prepared.schema if prepared.steps is None else prepared.steps.fitted.stated
    column = stated[name]
    numeric = column.kind == Kind.NUMERIC and not original.dtype.is_numeric() and not original.dtype.is_temporal()
    if column.kind == Kind.NUMERIC and not numeric:
        fitted = prepared.encoding[name]  # without steps, that of the whole table, of which this may be a part
        entry = fitted if prepared.steps is None else fit_column(
            original, replace(column, before=(), after=(), hierarchy=None)
        )  # fmt: skip
        assert isinstance(entry, NumericEncoding)
        values = entry.standardised(entry.values(original))
        found = np.full(values.size, np.nan)
        found[rows] = _decoded(prepared, name, released, values[rows], entry)
        return replace(squared_loss(values, found, weights), ncp=loss.ncp, total_il=loss.total_il)
    texts = comparable_values(original).cast(pl.String)
    codes = _codes(texts)
    right = np.zeros(codes.size)
    stepped = comparable_values(prepared.table.column(name)).cast(pl.String)
    right[rows] = _guessed(stepped, comparable_values(released).cast(pl.String), codes[rows])
    known = codes >= 0
    total = mismatch_loss(np.where(known, codes, np.nan).astype(np.float64), np.full(codes.size, -1.0), weights)
    wrong = np.where(known, 1.0 - right, 0.0)
    missed = float(wrong.sum() if weights is None else wrong @ weights)
    return ColumnLoss(missed, total.sst, ncp=loss.ncp, total_il=loss.total_il)


def _weights(prepared: Prepared, rows: Integers, n: int) -> Floats | None:
    """Return the sampling weights of all records of the original; those of dropped records have the mean weight."""
    if prepared.weights is None:
        return None
    if rows.size == n:
        return prepared.weights
    found = np.full(n, float(prepared.weights.mean()))
    found[rows] = prepared.weights
    return found


def _decoded(prepared: Prepared, name: str, released: Series, values: Floats, entry: NumericEncoding) -> Floats:
    """Return released values on the standardised scale of the original; texts as the mean of what they represent."""
    column = polars_series(released)
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        if column.dtype.is_float() or column.dtype.is_decimal():
            numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy() - float(entry.origin)
            return entry.standardised(numbers / entry.step if entry.integer else numbers)
        return entry.standardised(entry.values(released))
    texts = comparable_values(released).cast(pl.String)
    stepped = comparable_values(prepared.table.column(name)).cast(pl.String)
    frame = pl.DataFrame({"own": stepped, "text": texts, "value": pl.Series(values, nan_to_null=True)})
    of_band = frame.group_by("own").agg(pl.col("value").mean().alias("band")).drop_nulls("own")
    of_text = frame.group_by("text").agg(pl.col("value").mean().alias("mean")).drop_nulls("text")
    joined = frame.join(of_band, left_on="text", right_on="own", how="left", maintain_order="left")
    joined = joined.join(of_text, on="text", how="left", maintain_order="left")
    found = joined.select(pl.coalesce("band", "mean")).to_series().cast(pl.Float64)
    return found.fill_null(np.nan).to_numpy().astype(np.float64)


def _guessed(stepped: pl.Series, released: pl.Series, original: Integers) -> Floats:
    """Return the probability that a reader guesses the original category of each cell."""
    frame = pl.DataFrame({"own": stepped, "text": released, "old": original})
    of_step = frame.group_by("own").agg(pl.col("old").n_unique().alias("step_options")).drop_nulls("own")
    of_text = frame.group_by("text").agg(pl.col("old").n_unique().alias("text_options")).drop_nulls("text")
    joined = frame.join(of_step, left_on="text", right_on="own", how="left", maintain_order="left")
    joined = joined.join(of_text, on="text", how="left", maintain_order="left")
    same = pl.when(pl.col("own") == pl.col("text")).then(1.0 / pl.col("step_options")).otherwise(0.0)
    chosen = pl.when(pl.col("step_options").is_not_null()).then(same).otherwise(1.0 / pl.col("text_options"))
    return joined.select(chosen.fill_null(0.0).alias("right")).to_series().cast(pl.Float64).to_numpy()


def _codes(texts: pl.Series) -> Integers:
    """Return categories as codes from 0, missing ones as -1."""
    ranks = texts.rank("dense").cast(pl.Int64) - 1
    return ranks.fill_null(-1).to_numpy().astype(np.int64)
