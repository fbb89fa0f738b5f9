"""Kernels that only other kernels call: no door for Python, so that they compile faster.

Division follows IEEE (a zero divisor gives inf or nan), which spares a check in every loop.

A kernel is compiled once more where it is handed a literal, so callers begin a count with ``np.int64(0)``, not with 0.
"""

from __future__ import annotations

from shoal.core.compiled import compiled

inner = compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
