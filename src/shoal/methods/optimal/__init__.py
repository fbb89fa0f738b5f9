"""Exact methods, bounds, and searches that come close to them.

The functions below prove lower bounds on the SSE of every grouping of a table; no method has to be run for them.
``instant_bound`` takes tables of any size, ``semidefinite_bound`` those of up to about two thousand records. The others
solve the linear program of Thaeter 2021, section 9.3, over candidate centres, for tables of a few dozen records.
"""

from shoal.methods.optimal.lp_relaxation import (
    CentreRelaxation,
    dual_bound,
    grid_bound,
    grid_candidates,
    integrality_gap,
    pair_candidates,
    relax,
    subset_candidates,
)
from shoal.methods.optimal.neighbour_bound import instant_bound
from shoal.methods.optimal.semidefinite_program import semidefinite_bound

__all__ = [
    "CentreRelaxation",
    "dual_bound",
    "grid_bound",
    "grid_candidates",
    "instant_bound",
    "integrality_gap",
    "pair_candidates",
    "relax",
    "semidefinite_bound",
    "subset_candidates",
]
