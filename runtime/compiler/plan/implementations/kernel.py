"""A hand-written kernel as the implementation of an operation."""

from __future__ import annotations

from collections.abc import Callable

from ....kernels.launch.no_kernel import NoKernel
from ...cost_model import KERNEL_COMPILE_SECONDS
from ...implementation import Cost, Implementation, ImplementationKind, NoCode, OverwritePairs, Runnable


class KernelImplementation(Implementation):
    """A hand-written kernel.

    Args:
        make: returns the function of the operands, or raises NoKernel.
        reason: why it was chosen.
        is_compiled_ahead: whether it needs no compiler; Numba compiles other kernels at their first call.
        may_overwrite: see `Implementation`.
        make_for_loops: returns the function for native loops, or None.
    """

    kind = ImplementationKind.KERNEL
    threshold_class = "kernel"
    takes_regions = False

    def __init__(
        self,
        make: Callable[[], Runnable],
        reason: str,
        is_compiled_ahead: bool = False,
        may_overwrite: OverwritePairs = (),
        make_for_loops: Callable[[], Runnable | None] = lambda: None,
    ) -> None:
        self.make = make
        self.make_for_loops = make_for_loops
        self.reason = reason
        self.compiles_when_called = not is_compiled_ahead
        self.may_overwrite = may_overwrite

    def cost(self) -> Cost:
        return Cost(compile_seconds=KERNEL_COMPILE_SECONDS)

    def prepare(self) -> Runnable:
        if self.compiles_when_called:
            _require_numba()
        try:
            return self.make()
        except NoKernel as error:
            raise NoCode(str(error)) from None

    def prepare_for_loops(self) -> Runnable | None:
        return self.make_for_loops()


def _require_numba() -> None:
    """Numba must be able to compile kernels.

    Raises:
        NoCode: it cannot.
    """
    from ....kernels.launch.compilation import problem

    reason = problem()
    if reason is not None:
        raise NoCode(reason)


KernelMatch = KernelImplementation | str
"""The kernel that serves an operation, or the reason why there is none."""
