"""Lists of dimensions and sizes in the arguments of patterns."""

from __future__ import annotations

import operator
from typing import Any

from .failures import violation_error


def dimension(value: Any, rank: int, what: str, pattern: str, label: str | None = None) -> int:
    """A dimension, counted from 0; negative numbers count from the end.

    Raises:
        VerifyError: the value is not an integer, or is out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise violation_error(pattern, f"{what} is {value!r}, but must be an integer", label) from None
    if not -rank <= number < rank:
        raise violation_error(pattern, f"{what} is {number}, but must be from {-rank} to {rank - 1}", label)
    return number % rank


def dimensions(values: Any, rank: int, what: str, pattern: str, label: str | None = None) -> tuple[int, ...]:
    """A list of different dimensions, counted from 0, in the list's order.

    Raises:
        VerifyError: they are not.
    """
    normalized: list[int] = []
    for position, value in enumerate(integers(values, what, pattern, label)):
        number = dimension(value, rank, f"{what}[{position}]", pattern, label)
        if number in normalized:
            raise violation_error(pattern, f"{what} is {list(values)}, but dimensions must not repeat", label)
        normalized.append(number)
    return tuple(normalized)


def integers(values: Any, what: str, pattern: str, label: str | None = None) -> tuple[int, ...]:
    """A list of integers.

    Raises:
        VerifyError: it is none, or a set of several, which has no order.
    """
    if isinstance(values, (set, frozenset)) and len(values) > 1:
        raise violation_error(pattern, f"{what} is {values!r}, a set, which has no order: give a list", label)
    try:
        return tuple([operator.index(value) for value in values])
    except TypeError:
        raise violation_error(
            pattern, f"{what} is {values!r}, but must be a list of integers", label
        ) from None
