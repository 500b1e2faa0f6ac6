"""Numba's pipelines, which end with LLVM IR, and the machine code of tasks. Importing this imports Numba.

By default Numba optimises every function, makes machine code of it, links its IR into each caller and
optimises that as well. Kernels call kernels several levels deep, and only the function at the top, the task,
is called from outside. Here only the task is optimised, and made into machine code, which halves the compile
time of scatters. The code is not loaded by Numba (`object_code`).
"""

import itertools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from ..launch import library_pages
from ..launch.processor import limit_numba
from .closure_arguments import Arguments
from .closures import closure_task
from .deferred_blas import defer_blas
from .object_code import TASK_SYMBOL
from .target import target_machine

_TASK_SIGNATURE = "void(intp, intp)"
"""The signature of a task: its number, and the address of the closure that has its arguments."""
_COMPILE_BYTES = 1 << 27
"""Bytes that Numba and LLVM take for a kernel, the first of a process: measured with Numba 0.68."""
_LITTLE_BYTES = 8 << 20
"""Bytes of LLVM's library that small functions of Numba's touch, which are compiled between linked ones."""
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}

_numbers = itertools.count()

limit_numba()
defer_blas()


class _NoEnvironments:
    """The code generator of a library without machine code, as Numba's compiler uses it."""

    def set_env(self, name: str, environment: Any) -> None:
        """Drop a function's environment: it serves calls of Python's API, which kernels do not make."""


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The IR of a function, without that of its callees.

    Attributes:
        callees: their libraries.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.callees: list[Any] = []

    @property
    def codegen(self) -> Any:
        return _NoEnvironments()

    def add_linking_library(self, library: Any) -> None:
        self.callees.append(library)

    def finalize(self) -> None:
        """Leave everything to the libraries that are called from outside."""
        library_pages.release_before(_LITTLE_BYTES)
        self._finalize_dynamic_globals()
        self._finalized = True


class _CalledLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The machine code of a function that Python calls, with the IR of all functions below it.

    Attributes:
        callees: the libraries of the functions that it calls.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.callees: list[Any] = []

    def add_linking_library(self, library: Any) -> None:
        self.callees.append(library)

    def finalize(self) -> None:
        found: dict[Any, None] = {}
        for library in self.callees:
            _find_callees(library, found)
        # A caller comes before its callees: LLVM drops functions that nothing calls when they are linked.
        for library in reversed(found):
            super().add_linking_library(library)
        super().finalize()


class _TaskLibrary(_CalledLibrary):
    """The optimised IR of a task."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironments()

    def _optimize_final_module(self) -> None:
        library_pages.release_before(library_pages.OPTIMIZER_BYTES)
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


def _find_callees(library: Any, found: dict[Any, None]) -> None:
    """Add the libraries of all functions that a library's call, and then itself. There is no recursion."""
    if library not in found:
        for callee in library.callees if isinstance(library, _LinkedLibrary) else ():
            _find_callees(callee, found)
        found[library] = None


class _LinkedCompiler(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline for a function that compiled functions alone call."""

    library_class: type[JITCodeLibrary] = _LinkedLibrary

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *others: Any) -> None:
        library = self.library_class(target_context.codegen(), f"linked{next(_numbers)}")
        super().__init__(typing_context, target_context, library, *others)


class _CalledCompiler(_LinkedCompiler):
    """Numba's pipeline for a function that Python calls."""

    library_class = _CalledLibrary


class _TaskCompiler(_LinkedCompiler):
    """Numba's pipeline for a task."""

    library_class = _TaskLibrary


def linked_dispatcher(function: Callable[..., Any], inline: bool) -> Any:
    """Numba's dispatcher of a function that compiled functions alone call.

    Args:
        inline: whether it is inlined into its callers before type inference.
    """
    return numba.njit(
        function,
        **_OPTIONS,
        inline="always" if inline else "never",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=_LinkedCompiler,
    )


def called_dispatcher(body: Any) -> Any:
    """Numba's dispatcher of a function that Python calls, which calls a dispatcher's function."""

    def entry(*arguments):
        return body(*arguments)

    return numba.njit(entry, **_OPTIONS, pipeline_class=_CalledCompiler)


def task_code(body: Any, arguments: Arguments) -> bytes:
    """The machine code of a task that loads arguments from a closure for a dispatcher's function."""
    task = closure_task(body, arguments)
    dispatcher = numba.njit(task, **_OPTIONS, no_cpython_wrapper=True, pipeline_class=_TaskCompiler)
    with library_pages.released_during(_COMPILE_BYTES):
        dispatcher.compile(_TASK_SIGNATURE)
        (compiled,) = dispatcher.overloads.values()
        library_pages.release_before(library_pages.CODE_GENERATOR_BYTES)
        module = llvm.parse_assembly(compiled.library.get_llvm_str(), llvm.create_context())
        module.get_function(compiled.fndesc.llvm_cfunc_wrapper_name).name = TASK_SYMBOL
        _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
        code: bytes = target_machine(cpu, features, level=3).emit_object(module)
    library_pages.release()
    return code
