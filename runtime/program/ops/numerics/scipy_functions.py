"""SciPy's special functions, without the rest of SciPy.

The package `scipy.special` imports SciPy's linear algebra, which takes 0.3 s and 33 MB, and the functions
below stand in one extension module of it, which needs no other and takes 2 ms and 1.4 MB (Sapphire Rapids,
SciPy 1.18). Both call the same loops.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

_FUNCTIONS = ("_zeta", "gamma", "gammaln", "i1e", "ive", "psi", "zetac")
_MODULE = "scipy.special._special_ufuncs"


@functools.cache
def scipy_functions() -> Any:
    """A module with the ufuncs `_FUNCTIONS`.

    Raises:
        ImportError: SciPy is not installed.
    """
    if "scipy.special" not in sys.modules:
        module = _extension_module()
        if module is not None:
            return module
    from scipy.special import _ufuncs

    return _ufuncs


def _extension_module() -> ModuleType | None:
    """The extension module by itself; None where it cannot be loaded so, or where this version of SciPy has
    some of the functions elsewhere. A later import of the package loads its module anew, or takes this one
    where it has one initialization phase (SciPy 1.15).
    """
    package = find_spec("scipy")
    for folder in (package and package.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            path = os.path.join(folder, *_MODULE.split(".")[1:]) + suffix
            spec = spec_from_file_location(_MODULE, path) if os.path.exists(path) else None
            if spec is not None and spec.loader is not None:
                try:
                    module = module_from_spec(spec)
                    spec.loader.exec_module(module)
                except ImportError:
                    # It needs libraries that only the package finds.
                    return None
                return module if all(hasattr(module, name) for name in _FUNCTIONS) else None
    return None
