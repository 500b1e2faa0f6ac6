"""Numba's pipelines: one for functions that only compiled functions call, which ends with LLVM IR, and one
for those that are called from outside.

By default Numba optimises every function, makes machine code of it, links its IR into each caller and
optimises that as well. Kernels call kernels several levels deep, and only the function at the top is called
from outside. `LinkedCompiler` leaves optimisation and machine code to that one, which halves the compile time
of scatters. `EntryCompiler` compiles the functions at the top. Both return the pages of LLVM's library where
they would raise the peak of the process. Importing this module imports Numba.
"""

import itertools
from typing import Any

from numba.core import compiler
from numba.core.codegen import JITCodeLibrary

from . import library_pages

_LITTLE_BYTES = 8 << 20
"""Bytes of LLVM's library that small functions of Numba's touch, which are compiled between linked ones."""

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
        library_pages.release_before(_LITTLE_BYTES)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The machine code of a function that is called from outside."""

    def _optimize_final_module(self) -> None:
        library_pages.release_before(library_pages.OPTIMIZER_BYTES)
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        library_pages.release_before(library_pages.CODE_GENERATOR_BYTES)
        super()._finalize_final_module()


class EntryCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline for a function that is called from outside."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *others: Any) -> None:
        library = _EntryLibrary(target_context.codegen(), f"entry{next(_numbers)}")
        # The cache on disk asks for the machine code.
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *others)


class LinkedCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline with a library that makes no machine code."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *others: Any) -> None:
        library = _LinkedLibrary(target_context.codegen(), f"linked{next(_numbers)}")
        super().__init__(typing_context, target_context, library, *others)
