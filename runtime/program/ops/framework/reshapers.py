"""Functions that give arrays other shapes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Final

from ....types import Array

_MIN_ELEMENTS: Final = 1 << 13
"""Minimum elements for which the kernel is imported: NumPy copies fewer in a few microseconds."""


def reshaper(shape: tuple[int, ...], threads: int | None = 1) -> Callable[[Array], Array]:
    """The function that gives arrays a shape, by a view of the array where there is one.

    Args:
        shape: the shape.
        threads: maximum number of threads that copy the elements where they must move; None: all.
    """
    if math.prod(shape) < _MIN_ELEMENTS:
        return operator.methodcaller("reshape", shape)
    from ....kernels.matmul.strided_copy import reshaped

    # No frame of Python's: each costs microseconds after a launch that streams through the caches.
    return functools.partial(reshaped, shape=shape, threads=threads)
