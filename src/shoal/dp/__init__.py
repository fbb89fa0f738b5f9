"""Differential privacy: mechanisms, their guarantees and the accounting of the privacy budget.

``release`` reads a table and returns a table. The other names are the mechanisms themselves, on integer cells of a
public grid, and functions that compute the bounds of the papers. All noise comes from OpenDP
(``python3 -m pip install 'shoal[dp]'``), which is imported by the first call that draws noise.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.dp.accountant import Accountant, Spend
    from shoal.dp.audits import Audit, audit
    from shoal.dp.database import HistogramDatabase, Universe
    from shoal.dp.exponential import exponential_mechanism, exponential_shortfall
    from shoal.dp.guarantee import Guarantee, Neighbours
    from shoal.dp.histogram_mechanism import laplace_histograms
    from shoal.dp.insensitive_mechanism import insensitive_noise
    from shoal.dp.interval_mechanism import intervals_records_needed, max_intervals, release_intervals
    from shoal.dp.laplace import laplace_mechanism
    from shoal.dp.mondrian_release import mondrian
    from shoal.dp.private_release import PrivateRelease, release
    from shoal.dp.quantile import private_quantile
    from shoal.dp.queries import (
        LinearQuery,
        all_range_queries,
        counting_query,
        histogram_query,
        interval_query,
        linear_query,
        range_query,
    )
    from shoal.dp.safe_k_anonymity import epsilon_safe, strongly_safe
    from shoal.dp.safe_parameters import safe_beta, safe_delta, safe_k
    from shoal.dp.small_db_accuracy import (
        small_db_error,
        small_db_log_queries,
        small_db_records_needed,
        small_db_vc_dimension,
    )
    from shoal.dp.small_db_mechanism import small_db, small_db_size
    from shoal.dp.vc_dimensions import shatters, vc_dimension, vc_dimension_of_boxes

_MODULES = {
    "Accountant": "accountant",
    "Audit": "audits",
    "Guarantee": "guarantee",
    "HistogramDatabase": "database",
    "LinearQuery": "queries",
    "Neighbours": "guarantee",
    "PrivateRelease": "private_release",
    "Spend": "accountant",
    "Universe": "database",
    "all_range_queries": "queries",
    "audit": "audits",
    "counting_query": "queries",
    "epsilon_safe": "safe_k_anonymity",
    "exponential_mechanism": "exponential",
    "exponential_shortfall": "exponential",
    "histogram_query": "queries",
    "insensitive_noise": "insensitive_mechanism",
    "interval_query": "queries",
    "intervals_records_needed": "interval_mechanism",
    "laplace_histograms": "histogram_mechanism",
    "laplace_mechanism": "laplace",
    "linear_query": "queries",
    "max_intervals": "interval_mechanism",
    "mondrian": "mondrian_release",
    "private_quantile": "quantile",
    "range_query": "queries",
    "release": "private_release",
    "release_intervals": "interval_mechanism",
    "safe_beta": "safe_parameters",
    "safe_delta": "safe_parameters",
    "safe_k": "safe_parameters",
    "shatters": "vc_dimensions",
    "small_db": "small_db_mechanism",
    "small_db_error": "small_db_accuracy",
    "small_db_log_queries": "small_db_accuracy",
    "small_db_records_needed": "small_db_accuracy",
    "small_db_size": "small_db_mechanism",
    "small_db_vc_dimension": "small_db_accuracy",
    "strongly_safe": "safe_k_anonymity",
    "vc_dimension": "vc_dimensions",
    "vc_dimension_of_boxes": "vc_dimensions",
}

__all__ = [
    "Accountant",
    "Audit",
    "Guarantee",
    "HistogramDatabase",
    "LinearQuery",
    "Neighbours",
    "PrivateRelease",
    "Spend",
    "Universe",
    "all_range_queries",
    "audit",
    "counting_query",
    "epsilon_safe",
    "exponential_mechanism",
    "exponential_shortfall",
    "histogram_query",
    "insensitive_noise",
    "interval_query",
    "intervals_records_needed",
    "laplace_histograms",
    "laplace_mechanism",
    "linear_query",
    "max_intervals",
    "mondrian",
    "private_quantile",
    "range_query",
    "release",
    "release_intervals",
    "safe_beta",
    "safe_delta",
    "safe_k",
    "shatters",
    "small_db",
    "small_db_error",
    "small_db_log_queries",
    "small_db_records_needed",
    "small_db_size",
    "small_db_vc_dimension",
    "strongly_safe",
    "vc_dimension",
    "vc_dimension_of_boxes",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'shoal.dp' has no attribute {name!r}")
    return getattr(import_module(f"shoal.dp.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
