"""Compiles LLVM IR in this process, which returns the pages of LLVM's library meanwhile."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ....kernels.compiling.address_space import require_address_space
from ....kernels.launch import library_pages
from ....kernels.launch.native import leave_processors
from .codegen import CodeGenerator

Result = TypeVar("Result")


class PagedGenerator(CodeGenerator):
    """LLVM, whose pages go back to the system before a phase that would raise the peak of the process."""

    def __init__(self) -> None:
        library_pages.load()
        super().__init__()
        library_pages.release()

    def optimised(self, text: str, fast_compile: bool = False) -> Any:
        """See `CodeGenerator.optimised`."""
        with library_pages.released_during(library_pages.OPTIMIZER_BYTES):
            return super().optimised(text, fast_compile)

    def emitted(self, module: Any) -> bytes:
        """See `CodeGenerator.emitted`."""
        with library_pages.released_during(library_pages.CODE_GENERATOR_BYTES):
            return super().emitted(module)

    def compile_quickly(self, text: str, names: Sequence[str]) -> bytes:
        """See `CodeGenerator.compile_quickly`."""
        with library_pages.released_during(library_pages.OPTIMIZER_BYTES):
            return super().compile_quickly(text, names)

    def emitted_quickly(self, module: Any) -> bytes:
        """See `CodeGenerator.emitted_quickly`."""
        with library_pages.released_during(library_pages.CODE_GENERATOR_BYTES):
            return super().emitted_quickly(module)


class Compiler:
    """Has texts compiled.

    Args:
        lock: held while this process compiles.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock

    @functools.cached_property
    def generator(self) -> PagedGenerator:
        """LLVM in this process, which the first use loads."""
        return PagedGenerator()

    def compile(self, text: str, fast_compile: bool) -> bytes:
        """See `CodeGenerator.compile`.

        Raises:
            MemoryError: the process can map too little memory.
        """
        return self._run_here(lambda: self.generator.compile(text, fast_compile))

    def compile_quickly(self, text: str, names: Sequence[str]) -> bytes:
        """See `CodeGenerator.compile_quickly`; and `compile`."""
        return self._run_here(lambda: self.generator.compile_quickly(text, names))

    def _run_here(self, compile: Callable[[], Result]) -> Result:
        with self._lock:
            require_address_space()
            leave_processors(__name__, 1)
            try:
                return compile()
            finally:
                leave_processors(__name__, 0)
