"""LLVM's passes and code generator, without most of the memory of LLVM's library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....kernels.launch import library_pages
from .codegen import CodeGenerator


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
