"""The compiler of functions that only other compiled functions call, and types that are derived once.

numba optimises such a function and turns it into machine code, links it into its caller, and optimises it there once
more. The machine code of the function itself is never run. The compiler of this module leaves both steps out: the
function is linked into its caller as it was written, and optimised there. The result is the same, since no option
allows the compiler to change the order of floating point operations, and compiling takes a third less time where such
functions call each other.

To type an operation such as the sum of two numbers, numba tries all functions of that name that it has, among them
those for texts, sets and dates, and does so again at every place where the operation occurs. Inside
:func:`types_remembered` the outcome is kept for the function and the types of its arguments. Only outcomes that depend
on nothing else are kept: those that numba itself implements by the types of the arguments, not those that it compiles
from Python code, which also depend on the options of the loop. So the machine code is the same.

numba has no public interface for either, so :func:`inner_compiler` returns None where a version of numba lacks one of
the names that are used; the functions are then compiled like all others, and no types are kept.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_used: list[dict[Any, Any]] = []
_kept: dict[Any, Any] = {}


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


@contextmanager
def types_remembered() -> Iterator[None]:
    """Inside the block, let numba derive the type of an operation once; other threads wait for the compiler anyway."""
    _install()
    _used.append(_kept)
    try:
        yield
    finally:
        _used.pop()


@cache
def _install() -> bool:
    """Let numba ask for what is remembered; return False if this version of numba has other names."""
    from numba.core import types

    function = getattr(types, "BaseFunction", None)
    names = ("Number", "Boolean", "Array", "BaseTuple", "NoneType", "SliceType", "IntegerLiteral")
    plain = tuple(getattr(types, name) for name in names if hasattr(types, name))
    if function is None or len(plain) < len(names) or not hasattr(function, "get_call_type"):
        return False
    derive = function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if not _used or kws or not all(isinstance(each, plain) for each in args):
            return derive(self, context, args, kws)
        key = (id(context), self, tuple(args))
        found = _kept.get(key)
        if found is None:
            found = derive(self, context, args, kws)
            implemented_by = getattr(self, "_impl_keys", {}).get(getattr(found, "args", None))
            if implemented_by is not None and implemented_by is getattr(self, "typing_key", None):
                _kept[key] = found
        return found

    function.get_call_type = get_call_type
    return True
