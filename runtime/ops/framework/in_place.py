"""How a function tells that it can write its results into operands that nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

NOWHERE = (None,)
"""What such a function's `out` is where its one result needs memory of its own."""


def overwriting(*pairs: tuple[int, int]) -> Callable[[AnyFunction], AnyFunction]:
    """Declare that a function may write results into operands.

    It is then called with the keyword ``out``, for each result the operand's array or None, where that array
    is C-contiguous, writeable, of the result's type, and dies with this call. It may leave the array alone.

    Args:
        pairs: an operand's position and a result's.
    """

    def declare(function: AnyFunction) -> AnyFunction:
        function.accepts_out = True  # type: ignore[attr-defined]
        function.may_overwrite = pairs  # type: ignore[attr-defined]
        return function

    return declare
