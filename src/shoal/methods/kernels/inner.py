"""Kernels that only other kernels call: no door for Python, so that they compile faster.

Division follows IEEE (a zero divisor gives inf or nan), which spares a check in every loop.
"""

from __future__ import annotations

from shoal.methods.kernels.compiled import compiled

inner = compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
