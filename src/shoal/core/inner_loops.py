"""The compiler of functions that only other compiled functions call.

numba optimises such a function and turns it into machine code, links it into its caller, and optimises it there once
more. The machine code of the function itself is never run. The compiler of this module leaves both steps out: the
function is linked into its caller as it was written, and optimised there. The result is the same, since no option
allows the compiler to change the order of floating point operations, and compiling takes a third less time where such
functions call each other.

numba has no public interface for this, so :func:`inner_compiler` returns None where a version of numba lacks one of
the names that are used; the functions are then compiled like all others.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def inner_compiler() -> Any:
    """Return the class that compiles functions for their callers only; None if this version of numba has other names.

    Examples
    --------
    >>> inner_compiler().__name__
    'InnerCompiler'
    """
    library, compiler = _class("numba.core.codegen", "JITCodeLibrary"), _class("numba.core.compiler", "Compiler")
    used = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "get_pointer_to_function")
    if not all(hasattr(library, name) for name in used) or not hasattr(compiler, "_compile_core"):
        return None

    class InnerLibrary(library):  # type: ignore[misc, valid-type]
        """Code that is linked into its callers and has no address of its own."""

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, _name: str, _environment: Any) -> None:
            """Do nothing: without machine code there is no variable to set."""

        def _optimize_final_module(self) -> None:
            """Do nothing: the caller is optimised as a whole."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, _name: str) -> int:
            self._ensure_finalized()
            return 0

    class InnerCompiler(compiler):  # type: ignore[misc, valid-type]
        """The usual passes with such a library."""

        def _compile_core(self) -> Any:
            state = self.state
            state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            return super()._compile_core()

    return InnerCompiler


def _class(module: str, name: str) -> Any:
    """Return a class of numba; None if this version has no such name."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
