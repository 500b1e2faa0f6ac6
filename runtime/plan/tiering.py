"""A step that starts as a reference step and is compiled once its cost exceeds the compilation's."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

HOT_SECONDS = 0.3
"""Time in a step's reference after which it is compiled.

Compiling a kernel costs 1 to 2 s once and 0.1 s when it lies in the cache, importing Numba 0.7 s a process.
"""


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
        if self.seconds > HOT_SECONDS:
            self.kernel = self.prepare()
        return result
