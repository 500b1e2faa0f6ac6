"""Decompositions by `kernels.linalg`, whose bits depend only on the elements.

LAPACK is called instead if the compiler of the build had no vector extensions, or for operations with the
attribute that `Options(linear_algebra="library")` sets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from ...ir import Operation, UnitAttribute
from ..framework.rules import call_target

_LIBRARY_ATTRIBUTE: Final = "by_library"
"""The attribute of operations that LAPACK computes even if there is a kernel."""
_LAPACK_PREFIX: Final = "lapack_"
"""Prefix of the custom-call targets that are LAPACK routines."""


class PreparedCall(Protocol):
    """A prepared routine, which takes the arrays."""

    @property
    def solver(self) -> int | None:
        """The address of `void solve(call, void **operands, void **results)`; None: only Python can call
        it.
        """

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """The results for some operands."""


@functools.cache
def has_kernels() -> bool:
    from ....kernels.linalg import linalg

    return linalg.is_available()


def uses_kernels(operation: Operation) -> bool:
    """Whether a kernel computes an operation, rather than LAPACK."""
    return has_kernels() and _LIBRARY_ATTRIBUTE not in operation.attributes


def use_library(operations: Iterable[Operation]) -> None:
    """Make LAPACK compute the decompositions and triangular solves among some operations.

    This sets an attribute of the operation, because operations with equal attributes share compiled code and
    plans.
    """
    for operation in operations:
        if operation.name in ("stablehlo.cholesky", "stablehlo.triangular_solve") or _is_routine(operation):
            operation.attributes = {**operation.attributes, _LIBRARY_ATTRIBUTE: UnitAttribute()}


def _is_routine(operation: Operation) -> bool:
    """Whether an operation is a custom call of a routine of LAPACK."""
    return (call_target(operation) or "").startswith(_LAPACK_PREFIX)


def native_call_by_kernel(make: Callable[[], PreparedCall]) -> Callable[[], PreparedCall] | None:
    """A function that prepares the native call; None for problems that threads share."""
    return make if make().solver is not None else None
