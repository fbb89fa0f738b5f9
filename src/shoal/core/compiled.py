"""Compiled loops that cost nothing until they are called.

``@compiled`` marks a function for numba without importing numba: the import and the compilation happen at the first
call, so ``import shoal`` and ``shoal --help`` stay fast. A compiled function may call another one as usual. The machine
code is stored in the folder that the environment variable ``SHOAL_CACHE`` names; without it next to the source file, in
a user cache directory if the installation is read-only, and nowhere if neither can be written. Stored files that are
damaged are replaced, and a message says so once.

While another process compiles the loops of some modules (:func:`compiled_elsewhere`), a loop of such a module waits for
it and is then loaded.

``@inner`` marks a function that only other compiled functions call: it has no wrapper for Python and no machine code of
its own, so it compiles faster (see ``inner_loops``); it is not stored. Division follows IEEE 754 (a zero divisor gives
inf or nan), which saves a check in every loop. Literals that a function is passed have the type of a variable, so that
it is not compiled once more for each of them. The garbage collector rests while a function is compiled, since a
compiler makes many objects that live until its end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import update_wrapper
from threading import RLock
from typing import Any, overload

_one_at_a_time = RLock()  # several threads may need a kernel at the same moment
_callbacks: list[Callable[[str], None]] = []
_callbacks_installed = False
_cache_works = True
_notices: set[str] = set()
_elsewhere: dict[str, Callable[[str], None]] = {}
CACHE_VARIABLE = "SHOAL_CACHE"
"""The environment variable that names the folder of compiled loops."""


class Kernel:
    """A function that becomes machine code when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self._options = options
        self._dispatcher: Any = None
        self._cached = False
        update_wrapper(self, function)

    @property
    def dispatcher(self) -> Any:
        """The numba dispatcher; numba is imported when it is first needed."""
        if self._dispatcher is None or (self._cached and not _cache_works):
            with _one_at_a_time:
                self._make_dispatcher()
        return self._dispatcher

    def _make_dispatcher(self) -> None:
        if self._dispatcher is None or (self._cached and not _cache_works):
            _forward_compile_events()
            self._cached = _cache_works and not self._options.get("no_cpython_wrapper")
            dispatcher = self._stored_dispatcher() if self._cached else None
            self._cached = dispatcher is not None
            self._dispatcher = _without_literals(dispatcher or self._plain_dispatcher())

    def _stored_dispatcher(self) -> Any:
        """Return a dispatcher that stores what it compiles; None if no directory for the cache can be written."""
        import numba

        try:
            with _chosen_folder():
                return _with_safe_cache(numba.njit(cache=True, **self._numba_options())(self.function))
        except RuntimeError:
            return None

    def _numba_options(self) -> dict[str, Any]:
        """Return the options of numba; its runtime counts references, and is left out where nothing is allocated."""
        from numba.core import options as known

        options = {name: value for name, value in self._options.items() if name != "allocates"}
        # numba has no public name for it, so a version without this one counts
        if not self._options.get("allocates", True) and hasattr(getattr(known, "DefaultOptions", None), "_nrt"):
            options["_nrt"] = False
        return options

    def _plain_dispatcher(self) -> Any:
        import numba

        options = self._numba_options()
        if options.get("no_cpython_wrapper"):
            from shoal.core.inner_loops import inner_compiler

            options = options | {"pipeline_class": inner_compiler()} if inner_compiler() else options
        return numba.njit(**options)(self.function)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba reads when a kernel is called from another kernel."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        global _cache_works  # noqa: PLW0603 - a disk that is full is full for all kernels
        if _elsewhere and self.function.__module__ in _elsewhere:
            _elsewhere[self.function.__module__](self.function.__module__)
        try:
            return self.dispatcher(*arguments)
        except OSError:  # kernels touch no files, so this is the cache: go on without it
            _cache_works = False
            _notify("compiled loops cannot be stored or read; they are compiled again in every process")
            return self.dispatcher(*arguments)


@overload
def compiled(function: Callable[..., Any]) -> Kernel: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...
def compiled(function: Any = None, **options: Any) -> Any:
    """Mark a function for compilation at its first call; options go to ``numba.njit``.

    The lock of the interpreter is released while it runs, so that threads can share the work. With ``allocates=False``
    a function, and all that it calls, may make no array, list or set; references to arrays are then not counted, which
    takes most of the time where arrays are passed on in named tuples.

    Examples
    --------
    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> double.function(21)  # the plain Python function remains available
    42
    """
    options.setdefault("nogil", True)
    options.setdefault("no_cfunc_wrapper", True)  # kernels are not called from C
    if function is None:
        return lambda decorated: Kernel(decorated, options)
    return Kernel(function, options)


inner = compiled(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")


@contextmanager
def when_compiling(callback: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the name of each kernel that is compiled (not loaded) inside the block."""
    _callbacks.append(callback)
    try:
        yield
    finally:
        _callbacks.remove(callback)


@contextmanager
def compiled_elsewhere(modules: Iterable[str], wait: Callable[[str], None]) -> Iterator[None]:
    """Inside the block, call a function before each loop of some modules: it waits until the loops are stored."""
    names = list(modules)
    _elsewhere.update(dict.fromkeys(names, wait))
    try:
        yield
    finally:
        for name in names:
            _elsewhere.pop(name, None)


def stored_in(kernel: Kernel) -> str | None:
    """Return the folder in which a compiled loop is stored; None if it is not stored."""
    return str(kernel.dispatcher._cache.cache_path) if kernel.dispatcher and kernel._cached else None  # noqa: SLF001


@contextmanager
def _chosen_folder() -> Iterator[None]:
    """Let numba store in the folder that the user chose; loops of other packages are not affected."""
    folder = os.environ.get(CACHE_VARIABLE)
    if not folder:
        yield
        return
    from numba import config

    settings: Any = config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = os.path.abspath(folder)  # noqa: PTH100 - no other path operation is needed
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _with_safe_cache(dispatcher: Any) -> Any:
    """Return a dispatcher that compiles again, and replaces the stored files, where they cannot be interpreted."""
    cache = dispatcher._cache  # noqa: SLF001 - numba has no public name for it
    load = cache.load_overload
    can_load_quickly = all(hasattr(cache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))

    def load_overload(signature: Any, target: Any) -> Any:
        try:
            return _load_quickly(cache, signature, target) if can_load_quickly else load(signature, target)
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - a damaged file may raise anything
            _notify(f"files of compiled loops in {cache.cache_path} are damaged; they are built again")
            cache.flush()
            return None

    cache.load_overload = load_overload
    return dispatcher


def _load_quickly(cache: Any, signature: Any, target: Any) -> Any:
    """Return what numba's cache holds, without first preparing the compiler.

    numba registers all functions that it can compile before it loads a stored loop, which takes half a second and
    imports linear algebra of SciPy. A stored loop needs only the allocator of arrays. Where a loop has to be compiled
    after all, numba prepares its compiler then.
    """
    from numba.core import runtime

    runtime.rtsys.initialize(target)  # type: ignore[attr-defined]
    with cache._guard_against_spurious_io_errors():  # noqa: SLF001 - see above
        return cache._load_overload(signature, target)  # noqa: SLF001


def _without_literals(dispatcher: Any) -> Any:
    """Return a dispatcher that is compiled for the type of a literal, and not for each literal."""
    from numba.core import types

    unliteral: Callable[[Any], Any] = types.unliteral
    template = dispatcher.get_call_template

    def get_call_template(positional: Any, named: Any) -> Any:
        return template(tuple(map(unliteral, positional)), {name: unliteral(each) for name, each in named.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def _notify(text: str) -> None:
    """Write a message, each only once in a process."""
    import logging

    if text not in _notices:
        _notices.add(text)
        logging.getLogger("shoal").warning("shoal: %s", text)


def _forward_compile_events() -> None:
    global _callbacks_installed  # noqa: PLW0603 - installed once per process
    if _callbacks_installed:
        return
    import gc

    from numba.core import event

    class Forward(event.Listener):
        """The callbacks, and a rest for the garbage collector; numba compiles one function at a time."""

        depth = 0
        collecting = False
        remembered: AbstractContextManager[None] = nullcontext()

        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            if self.depth == 0:
                from shoal.core.inner_loops import types_remembered

                self.collecting = gc.isenabled()
                gc.disable()
                own = function.__module__.startswith("shoal.")  # loops of other packages are not affected
                self.remembered = types_remembered() if own else nullcontext()
                self.remembered.__enter__()
            self.depth += 1
            for callback in _callbacks:
                callback(function.__name__)

        def on_end(self, event: Any) -> None:  # noqa: ARG002 - the name is numba's
            self.depth -= 1
            if self.depth == 0:
                self.remembered.__exit__(None, None, None)
                if self.collecting:
                    gc.enable()

    event.register("numba:compile", Forward())  # type: ignore[no-untyped-call]
    _callbacks_installed = True
