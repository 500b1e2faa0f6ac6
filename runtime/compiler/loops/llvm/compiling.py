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
from .compiler_processes import Compilation
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
        code = None if self.is_here else compiler_processes.PROCESSES.compile(text, fast_compile)
        return code or self._run_here(lambda: self.generator.compile(text, fast_compile))

    def submit_quickly(self, text: str, names: Sequence[str]) -> Compilation | None:
        """Have another process generate quick code for `compile_quickly`; None: there is no such process."""
        return None if self.is_here else compiler_processes.PROCESSES.submit_awaited(text, False, names)

    def compile_quickly(self, text: str, names: Sequence[str], submitted: Compilation | None) -> bytes:
        """See `CodeGenerator.compile_quickly`; and `compile`.

        Args:
            submitted: from `submit_quickly`.
        """
        code = None if submitted is None else compiler_processes.PROCESSES.result(submitted)
        return code or self._run_here(lambda: self.generator.compile_quickly(text, names))

    def start(self) -> None:
        """Have another process start that will compile, where one does."""
        if not self.is_here:
            compiler_processes.PROCESSES.start_for_caller()

    def _run_here(self, compile: Callable[[], bytes]) -> bytes:
        with self._lock:
            require_address_space()
            leave_processors(__name__, 1)
            try:
                return compile()
            finally:
                leave_processors(__name__, 0)
