"""Binding: a search is written once and compiled separately for each cost.

The searches of this directory call ``cross``, ``fill`` or ``cost`` as if these were functions of their own file.
``bind`` returns a copy of such a search in which the names refer to the kernels of one cost, so that the compiler sees
a direct call and can inline it. The copy has its own name (``simple[sse]``), under which its machine code is stored on
disk; only the pairs of search and cost that are used are compiled.
"""

from __future__ import annotations

from types import FunctionType

from shoal.core.compiled import Kernel


def bind(kernel: Kernel, variant: str, **names: Kernel | int) -> Kernel:
    """Return the kernel with some names of its file replaced by other kernels.

    Parameters
    ----------
    kernel
        The search, which calls placeholders that its file declares.
    variant
        The suffix of the name of the copy, in the cache and in error texts.
    names
        The kernels, or constants, that replace the placeholders.

    Examples
    --------
    >>> from shoal.core.compiled import compiled
    >>> @compiled
    ... def step(x):
    ...     return x
    >>> @compiled
    ... def twice(x):
    ...     return step(step(x))
    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> bind(twice, "double", step=double).__name__
    'twice[double]'
    """
    original = kernel.function
    if not isinstance(original, FunctionType):
        raise TypeError(f"only a plain function can be bound, not {original!r}")
    copy = FunctionType(original.__code__, {**original.__globals__, **names}, f"{original.__name__}[{variant}]")
    copy.__qualname__ = f"{original.__qualname__}[{variant}]"
    copy.__doc__ = original.__doc__
    copy.__module__ = original.__module__
    return Kernel(copy, {"nogil": True, "no_cfunc_wrapper": True})
