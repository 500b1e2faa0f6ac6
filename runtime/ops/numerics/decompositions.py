"""Decompositions by `kernels.linalg`, whose bits depend on nothing but the elements.

A build by a compiler without vector extensions has none of these kernels, and LAPACK serves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

MAX_NATIVE_ELEMENTS: Final = 1 << 10
"""Maximum number of elements of a matrix whose decomposition native code calls: larger ones use threads."""


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


def native_call_by_kernel(
    make: Callable[[], PreparedCall], matrices: Sequence[Sequence[int]]
) -> Callable[[], PreparedCall] | None:
    """What makes the call that native code can make, if matrices of these shapes are small; else None."""
    is_small = max(map(math.prod, matrices)) <= MAX_NATIVE_ELEMENTS
    return make if is_small and make().solver is not None else None
