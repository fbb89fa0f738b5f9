"""The solver HiGHS: the only place that imports highspy.

highspy is an optional dependency, imported when the first program is solved. Its extension module is linked with a
shared library ``libhighs.so.1``. OR-tools ships another version of that library under the same name, and the dynamic
linker of Linux loads a name only once per process: after ``import ortools``, highspy is linked with the library of
OR-tools, which lacks some of its symbols, and cannot be imported. :func:`load_highspy` then loads highspy's own library
by its path and makes its symbols global, where they are found before those of OR-tools; OR-tools itself was linked
before and keeps its own. The other order cannot be mended here: once highspy is imported, OR-tools cannot be.
"""

from __future__ import annotations

import ctypes
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shoal.errors import MissingExtra

INSTALL = "python3 -m pip install highspy"
SETTINGS: dict[str, Any] = {"output_flag": False, "threads": 1}


def load_highspy() -> Any:
    """Return the module highspy, or raise MissingExtra if it is not installed or cannot be loaded.

    Examples
    --------
    >>> load_highspy().__name__
    'highspy'
    """
    try:
        return import_module("highspy")
    except ModuleNotFoundError as error:
        if error.name != "highspy":
            raise
        raise MissingExtra(
            f"linear and integer programs need the solver highspy; install it with: {INSTALL}"
        ) from error
    except ImportError as error:
        if _load_own_library():
            try:
                return import_module("highspy")
            except ImportError:
                pass
        raise MissingExtra(
            "the solver highspy cannot be loaded, probably because this process has loaded another version of HiGHS, "
            "such as that of ortools; run this method in a process that does not import ortools"
        ) from error


def new_highs(**settings: Any) -> Any:
    """Return a solver that prints nothing and uses one thread, so that the same program has the same solution.

    Parameters
    ----------
    settings
        Further options of HiGHS.

    Examples
    --------
    >>> new_highs(random_seed=0).getOptionValue("threads")[1]
    1
    """
    highs = load_highspy().Highs()
    for name, value in (SETTINGS | settings).items():
        highs.setOptionValue(name, value)
    return highs


def _load_own_library() -> bool:
    """Load highspy's own HiGHS with global symbols; return whether there is such a library."""
    # the library prefers its own symbols even where another version is global already
    mode = getattr(os, "RTLD_GLOBAL", 0) | getattr(os, "RTLD_NOW", 0) | getattr(os, "RTLD_DEEPBIND", 0)
    for library in _own_libraries():
        try:
            ctypes.CDLL(library, mode=mode)
        except OSError:
            continue
        return True
    return False


def _own_libraries() -> list[str]:
    """Return the paths of the shared libraries of HiGHS in the package highspy."""
    found = find_spec("highspy")
    folders = [] if found is None else [Path(folder) for folder in found.submodule_search_locations or ()]
    return [str(library) for folder in folders for library in sorted(folder.glob("libhighs.so*"))]
