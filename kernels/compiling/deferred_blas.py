"""Keeps Numba from importing SciPy's linear algebra before a function needs it.

Numba registers all that it knows before it compiles a first function, and asks for SciPy's BLAS meanwhile.
That imports `scipy.linalg` and a hundred other modules, which take 15 MB and 0.2 s; no kernel calls BLAS.
"""

import functools
import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

_ASKING = "numba.np.arraymath"
"""The module that asks when it is imported, and remembers the answer."""
_QUESTION = "ensure_blas"
"""The function by which it asks, of `numba.np.linalg`."""


@functools.cache
def defer_blas() -> None:
    """Import what Numba registers as if BLAS were there, where SciPy is installed.

    Functions of users that call BLAS ask again when they are compiled. Where Numba has other names, nothing
    is deferred.
    """
    if _ASKING in sys.modules or "scipy.linalg" in sys.modules or find_spec("scipy") is None:
        return
    try:
        linalg = importlib.import_module("numba.np.linalg")
        ensure_blas = getattr(linalg, _QUESTION)
    except (ImportError, AttributeError):
        return
    setattr(linalg, _QUESTION, _assume_blas)
    try:
        importlib.import_module(_ASKING)
    finally:
        for module in (linalg, sys.modules.get(_ASKING)):
            _restore(module, ensure_blas)


def _assume_blas() -> None:
    """Takes the place of the function that raises ImportError where there is no BLAS."""


def _restore(module: ModuleType | None, ensure_blas: object) -> None:
    """Give a module Numba's own function again."""
    if module is not None and getattr(module, _QUESTION, None) is _assume_blas:
        setattr(module, _QUESTION, ensure_blas)
