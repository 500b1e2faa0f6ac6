"""Numba's pipeline for functions that only compiled functions call: it ends with LLVM IR.

By default Numba optimises every function, makes machine code of it, links its IR into each caller and
optimises that as well. Kernels call kernels several levels deep, and only the function at the top is called
from outside. `LinkedCompiler` leaves optimisation and machine code to that one, which halves the compile time
of scatters. Importing this module imports Numba.
"""

import itertools
from typing import Any

from numba.core import compiler
from numba.core.codegen import JITCodeLibrary

_numbers = itertools.count()


class _NoEnvironments:
    """The code generator of a library without machine code, as Numba's compiler uses it."""

    def set_env(self, name: str, environment: Any) -> None:
        """Drop a function's environment: it serves calls of Python's API, which kernels do not make."""


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The IR of a function and of its callees."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironments()

    def _optimize_final_module(self) -> None:
        """Leave it to the callers' libraries, which link this one."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class LinkedCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline with a library that makes no machine code."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *others: Any) -> None:
        library = _LinkedLibrary(target_context.codegen(), f"linked{next(_numbers)}")
        super().__init__(typing_context, target_context, library, *others)
