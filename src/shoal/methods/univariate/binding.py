"""A search is written once and compiled for one cost at a time.

The searches of this folder call ``cross``, ``fill`` or ``cost`` as if these were functions of their own file. ``bind``
makes a copy of such a search in which the names stand for the kernels of one cost, so that the compiler sees a direct
call and can merge it into the loop. The copy has a name of its own (``simple[sse]``), under which its machine code is
kept on disk; only the pairs that are really used are ever compiled.
"""

from __future__ import annotations

from types import FunctionType

from shoal.core.compiled import Kernel


def bind(kernel: Kernel, variant: str, **names: Kernel | int) -> Kernel:
    """Return the kernel with some names of its file replaced by other kernels.

    Parameters
    ----------
    kernel
        The search, written against names that its file only declares.
    variant
        Tells the copies apart, in the cache and in error texts.
    names
        The kernels, or constants, to put in the places of these names.

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
