"""Compiles LLVM IR: in another process, or in this one.

A process that lets others compile has none of LLVM's library, and its threads do not wait for each other.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence

from ....kernels.compiling.address_space import require_address_space
from ....kernels.launch.native import leave_processors
from . import compiler_processes
from .paged_generator import PagedGenerator


class Compiler:
    """Has texts compiled.

    Args:
        lock: held while this process compiles.

    Attributes:
        is_here: whether this process compiles: once it has loaded LLVM, or `machine.compile_here` was called.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self.is_here = False

    @functools.cached_property
    def generator(self) -> PagedGenerator:
        """LLVM in this process, which the first use loads."""
        self.is_here = True
        return PagedGenerator()

    def compile(self, text: str, fast_compile: bool) -> bytes:
        """See `CodeGenerator.compile`.

        Raises:
            MemoryError: the process can map too little memory.
        """
        code = self._compiled_elsewhere(text, fast_compile)
        return code or self._run_here(lambda: self.generator.compile(text, fast_compile))

    def compile_quickly(self, text: str, names: Sequence[str]) -> bytes:
        """See `CodeGenerator.compile_quickly`; and `compile`."""
        code = self._compiled_elsewhere(text, False, names)
        return code or self._run_here(lambda: self.generator.compile_quickly(text, names))

    def start(self) -> None:
        """Have another process start that will compile, where one does."""
        if not self.is_here:
            compiler_processes.PROCESSES.start_for_caller()

    def _compiled_elsewhere(self, text: str, fast_compile: bool, names: Sequence[str] = ()) -> bytes | None:
        """The machine code of a text from another process; None where this process must compile it."""
        return None if self.is_here else compiler_processes.PROCESSES.compile(text, fast_compile, names)

    def _run_here(self, compile: Callable[[], bytes]) -> bytes:
        with self._lock:
            require_address_space()
            leave_processors(__name__, 1)
            try:
                return compile()
            finally:
                leave_processors(__name__, 0)
