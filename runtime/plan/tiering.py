"""A step that starts as a reference step and is compiled once its cost exceeds the compilation's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

COMPILE_SECONDS = 1.0
"""What compiling a kernel costs, measured; less where it is cached, which is not known beforehand."""

IMPORT_SECONDS = 0.7
"""What importing Numba costs where that has not happened yet."""


class Tiered:
    """Calls the reference until the time spent in it exceeds what the kernel's compilation costs.

    Both give the same result, so that a caller cannot tell which one ran. Threads may call it at the same
    time: at worst several of them prepare the kernel.

    Args:
        reference: called with the operands and, by name, the regions.
        prepare: returns the kernel, called with the operands alone.
    """

    __slots__ = ("kernel", "prepare", "reference", "seconds")

    def __init__(self, reference: Callable[..., Any], prepare: Callable[[], Callable[..., Any]]) -> None:
        self.reference = reference
        self.prepare = prepare
        self.kernel: Callable[..., Any] | None = None
        self.seconds = 0.0

    def __call__(self, *operands: Any, **regions: Any) -> Any:
        if self.kernel is not None:
            return self.kernel(*operands)
        start = perf_counter()
        result = self.reference(*operands, **regions)
        self.seconds += perf_counter() - start
        if self.seconds > COMPILE_SECONDS + (0.0 if "numba" in sys.modules else IMPORT_SECONDS):
            self.kernel = self.prepare()
        return result
