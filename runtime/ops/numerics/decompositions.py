"""Decompositions by `kernels.linalg`, whose bits depend on nothing but the elements.

A build by a compiler without vector extensions has none of these kernels, and LAPACK serves; also where
`Options(linear_algebra="library")` asks for it, which a mark on the operations tells.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from ...ir import Operation, StringAttribute, UnitAttribute

MAX_NATIVE_ELEMENTS: Final = 1 << 10
"""Maximum number of elements of a matrix whose decomposition native code calls: larger ones use threads."""

_MARK: Final = "by_library"
"""The attribute of operations that LAPACK computes although there is a kernel."""
_LAPACK_PREFIX: Final = "lapack_"
"""Prefix of the custom-call targets that are LAPACK routines."""


class PreparedCall(Protocol):
    """All that a routine needs but for the arrays."""

    @property
    def solver(self) -> int | None:
        """The address of `void solve(call, void **operands, void **results)`; None: Python has to call."""

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """The results for some operands."""


@functools.cache
def has_kernels() -> bool:
    """Whether this build has the kernels."""
    from ...kernels.linalg import linalg

    return linalg.is_available()


def uses_kernels(operation: Operation) -> bool:
    """Whether kernels compute an operation for which there are some."""
    return has_kernels() and _MARK not in operation.attributes


def use_library(operations: Iterable[Operation]) -> None:
    """Let LAPACK compute operations that are decompositions or solve triangular systems.

    The mark is one of the operation's attributes, because compiled code and plans are shared between
    operations whose attributes are equal.
    """
    for operation in operations:
        if operation.name in ("stablehlo.cholesky", "stablehlo.triangular_solve") or _is_routine(operation):
            operation.attributes = {**operation.attributes, _MARK: UnitAttribute()}


def _is_routine(operation: Operation) -> bool:
    """Whether an operation is a custom call of a routine of LAPACK."""
    target = operation.attributes.get("call_target_name")
    return isinstance(target, StringAttribute) and target.value.startswith(_LAPACK_PREFIX)


def native_call_by_kernel(
    make: Callable[[], PreparedCall], matrices: Sequence[Sequence[int]]
) -> Callable[[], PreparedCall] | None:
    """A function that prepares the native call for small matrices of these shapes; None for large ones."""
    is_small = max(map(math.prod, matrices)) <= MAX_NATIVE_ELEMENTS
    return make if is_small and make().solver is not None else None
