"""A kernel that a native loop launches, and the generated loop that it launches until there is the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...implementation import Cost, Implementation, ImplementationKind, Prepared, Runnable
from ...loops.native_code import NativeCode
from ..tiering.tiers import Tiering
from .kernel import KernelImplementation


class LaunchedKernel(Implementation):
    """A kernel in a native loop, which would wait for Numba at its first iteration.

    Args:
        code: runs until Numba has compiled the kernel.
        kernel: takes the same operands.
    """

    kind = ImplementationKind.TIERED
    takes_regions = False
    # The loop waits for the code of all that it launches.
    has_quick_code = True

    def __init__(self, code: NativeCode, kernel: KernelImplementation) -> None:
        self.code, self.kernel = code, kernel
        self.reason = kernel.reason

    @property
    def compiles_ahead(self) -> bool:  # type: ignore[override]
        return self.code.compiles_ahead

    @property
    def code_keys(self) -> Sequence[str]:
        return self.code.code_keys

    def cost(self) -> Cost:
        return self.code.cost()

    def compile_texts_ahead(self, quickly: bool = False, is_hot: bool = False) -> Iterator[None]:
        return self.code.compile_texts_ahead(quickly, is_hot)

    def prepare(self) -> Runnable:
        return self._until_kernel(self.code.prepare())

    def prepare_soon(self) -> Runnable:
        return self._until_kernel(self.code.prepare_soon())

    def _until_kernel(self, generated: Runnable) -> Runnable:
        code = self.code
        baseline = Prepared(generated, code.kind, code.reason, code.takes_regions, code.may_overwrite)
        return Tiering(baseline, self.kernel, self.reason).function
