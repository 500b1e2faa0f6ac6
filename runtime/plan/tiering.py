"""Steps that start as reference steps and are compiled once their cost exceeds the compilation's."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

from .estimates import loading_seconds

HOT_SECONDS = 0.3
"""Time in a step's reference after which its kernel is compiled.

Compiling a kernel costs 1 to 2 s once and 0.1 s when it lies in the cache, importing Numba 0.7 s a process.
"""

PATIENCE = 2.0
"""A step's reference may take so many times as long as its compilation before native code is generated."""

QUICK_SECONDS = 2e-3
"""Time that loading generated code from the disk takes: after so much, kept code is used."""


class Tiered:
    """Calls the reference until the time spent in it exceeds what the kernel's compilation costs.

    Both give the same result, so that a caller cannot tell which one ran. Threads may call it at the same
    time: at worst several of them prepare the kernel.

    Args:
        reference: called with the operands and, by name, the regions.
        prepare: returns the kernel, called with the operands alone; where it can write into operands
            (`nimblehlo.ops.in_place`), `prepare` declares it as well.
    """

    __slots__ = ("accepts_out", "kernel", "may_overwrite", "prepare", "reference", "seconds")

    def __init__(self, reference: Callable[..., Any], prepare: Callable[[], Callable[..., Any]]) -> None:
        self.reference = reference
        self.prepare = prepare
        self.accepts_out = getattr(prepare, "accepts_out", False)
        self.may_overwrite = getattr(prepare, "may_overwrite", ())
        self.kernel: Callable[..., Any] | None = None
        self.seconds = 0.0

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.kernel is not None:
            return self.kernel(*operands) if out is None else self.kernel(*operands, out=out)
        start = perf_counter()
        result = self.reference(*operands, **regions)
        self.seconds += perf_counter() - start
        if self.seconds > HOT_SECONDS:
            self.kernel = self.prepare()
        return result


class _Code(Protocol):
    """See `nimblehlo.plan.clusters.Code`."""

    def is_quick(self) -> bool: ...
    def function(self) -> Callable[..., Any]: ...


class Generated:
    """Calls the reference until generating native code pays.

    That is at the first call, where one call by the reference is expected to take longer than the
    compilation; as soon as loading it pays, where it is kept on the disk; and otherwise once the reference
    has taken `PATIENCE` times as long as the compilation. Both give the same bits.

    Args:
        reference: called with the operands and, by name, the regions.
        code: makes the code; ValueError: there can be none.
        reference_seconds: what one call of the reference is expected to take.
        compile_seconds: what the compilation is expected to take.
        may_overwrite: pairs of an operand and a result that may be the same memory.
    """

    accepts_out = True

    __slots__ = ("code", "expected", "limit", "look", "may_overwrite", "native", "reference", "seconds")

    def __init__(
        self,
        reference: Callable[..., Any],
        code: Callable[[], _Code],
        reference_seconds: float,
        compile_seconds: float,
        may_overwrite: tuple[tuple[int, int], ...],
    ) -> None:
        self.reference = reference
        self.code = code
        self.may_overwrite = may_overwrite
        self.native: Callable[..., Any] | None = None
        self.seconds = 0.0
        self.expected = reference_seconds
        self.look = QUICK_SECONDS
        self.limit = 0.0 if reference_seconds > compile_seconds else PATIENCE * compile_seconds

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.native is not None:
            return self.native(*operands, out=out) if out is not None else self.native(*operands)
        if self.seconds + self.expected > min(self.look, self.limit):
            native = self.considered()
            if native is not None:
                return native(*operands)
        start = perf_counter()
        result = self.reference(*operands, **regions)
        self.seconds += perf_counter() - start
        return result

    def considered(self) -> Callable[..., Any] | None:
        """The native code, if it lies on the disk or its time has come."""
        if self.seconds + self.expected < min(self.limit, loading_seconds()):
            self.look = loading_seconds()
            return None
        try:
            code = self.code()
            if self.seconds >= self.limit or code.is_quick():
                self.native = code.function()
            else:
                self.look = self.limit
        except ValueError:
            self.look = self.limit = float("inf")
        return self.native
