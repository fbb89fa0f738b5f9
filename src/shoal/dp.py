"""Differential privacy, as users see it: mechanisms, their promises and their accounts.

``release`` takes a table to a table. The other names are the mechanisms themselves, on whole numbers of a public grid,
with the calculators of the papers; their files are in ``shoal.privacy.dp``. All noise comes from OpenDP
(``python3 -m pip install 'shoal[dp]'``), which is imported by the first call that draws some.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.privacy.dp.accountant import Accountant, Spend
    from shoal.privacy.dp.audit import Audit, audit
    from shoal.privacy.dp.database import HistogramDatabase, Universe
    from shoal.privacy.dp.exponential import exponential_mechanism, exponential_shortfall
    from shoal.privacy.dp.guarantee import Guarantee, Neighbours
    from shoal.privacy.dp.insensitive_noise import insensitive_noise
    from shoal.privacy.dp.laplace import laplace_mechanism
    from shoal.privacy.dp.laplace_histograms import laplace_histograms
    from shoal.privacy.dp.mondrian_release import mondrian
    from shoal.privacy.dp.quantile import private_quantile
    from shoal.privacy.dp.queries import (
        LinearQuery,
        all_range_queries,
        counting_query,
        histogram_query,
        interval_query,
        linear_query,
        range_query,
    )
    from shoal.privacy.dp.release import PrivateRelease, release
    from shoal.privacy.dp.release_intervals import intervals_records_needed, max_intervals, release_intervals
    from shoal.privacy.dp.safe_delta import safe_beta, safe_delta, safe_k
    from shoal.privacy.dp.safe_k_anonymity import epsilon_safe, strongly_safe
    from shoal.privacy.dp.small_db import small_db, small_db_size
    from shoal.privacy.dp.small_db_accuracy import (
        small_db_error,
        small_db_log_queries,
        small_db_records_needed,
        small_db_vc_dimension,
    )
    from shoal.privacy.dp.vc_dimension import shatters, vc_dimension, vc_dimension_of_boxes

_HOMES = {
    "Accountant": "accountant",
    "Audit": "audit",
    "Guarantee": "guarantee",
    "HistogramDatabase": "database",
    "LinearQuery": "queries",
    "Neighbours": "guarantee",
    "PrivateRelease": "release",
    "Spend": "accountant",
    "Universe": "database",
    "all_range_queries": "queries",
    "audit": "audit",
    "counting_query": "queries",
    "epsilon_safe": "safe_k_anonymity",
    "exponential_mechanism": "exponential",
    "exponential_shortfall": "exponential",
    "histogram_query": "queries",
    "insensitive_noise": "insensitive_noise",
    "interval_query": "queries",
    "intervals_records_needed": "release_intervals",
    "laplace_histograms": "laplace_histograms",
    "laplace_mechanism": "laplace",
    "linear_query": "queries",
    "max_intervals": "release_intervals",
    "mondrian": "mondrian_release",
    "private_quantile": "quantile",
    "range_query": "queries",
    "release": "release",
    "release_intervals": "release_intervals",
    "safe_beta": "safe_delta",
    "safe_delta": "safe_delta",
    "safe_k": "safe_delta",
    "shatters": "vc_dimension",
    "small_db": "small_db",
    "small_db_error": "small_db_accuracy",
    "small_db_log_queries": "small_db_accuracy",
    "small_db_records_needed": "small_db_accuracy",
    "small_db_size": "small_db",
    "small_db_vc_dimension": "small_db_accuracy",
    "strongly_safe": "safe_k_anonymity",
    "vc_dimension": "vc_dimension",
    "vc_dimension_of_boxes": "vc_dimension",
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
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal.dp' has no attribute {name!r}")
    return getattr(import_module(f"shoal.privacy.dp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
