"""Steps that start as reference steps and are compiled once their cost exceeds the compilation's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Protocol, TypeVar

from .estimates import loading_seconds

HOT_SECONDS = 0.3
"""Time in a step's reference after which its kernel is compiled.

Compiling a kernel costs 1 to 2 s once and 0.1 s when it lies in the cache, importing Numba 0.7 s a process.
"""

PATIENCE = 2.0
"""A step's reference may take so many times as long as its compilation before native code is generated."""

QUICK_SECONDS = 2e-3
"""Time that loading generated code from the disk takes: after so much, kept code is used."""


LEAST_SHARED_SECONDS = 2e-4
"""Steps that are expected to take less a call do not look for others that share their code."""


Prepare = TypeVar("Prepare", bound=Callable[[], Callable[..., Any]])


def compiled_ahead(prepare: Prepare) -> Prepare:
    """Declare that a kernel waits for no compiler, so that it can serve from the first call on."""
    prepare.is_compiled_ahead = True  # type: ignore[attr-defined]
    return prepare


class Heat:
    """What the steps of a program that share their native code have cost, and are expected to cost a call.

    Attributes:
        seconds: spent in references.
        expected: in the references of all these steps, one call of each.
    """

    __slots__ = ("expected", "seconds")

    def __init__(self, expected: float = 0.0) -> None:
        self.seconds = 0.0
        self.expected = expected


def share_heat(functions: Iterable[object]) -> None:
    """Let the steps of a program that share their native code be compiled by what all of them cost.

    Args:
        functions: of the program's steps; those that are not tiered are passed over.
    """
    shared: dict[str, Heat] = {}
    for function in functions:
        if isinstance(function, (Tiered, Generated)):
            key = function.key()
            if key is not None:
                heat = shared.setdefault(key, Heat())
                heat.expected += function.heat.expected
                function.heat = heat


class Tiered:
    """Calls the reference until the time spent in it exceeds what the kernel's compilation costs.

    Both give the same result, so that a caller cannot tell which one ran. Threads may call it at the same
    time: at worst several of them prepare the kernel.

    Args:
        reference: called with the operands and, by name, the regions.
        prepare: returns the kernel, called with the operands alone; where it can write into operands
            (`nimblehlo.ops.in_place`), `prepare` declares it as well.
        kind: steps of one kind share their kernel's code.
    """

    __slots__ = ("accepts_out", "heat", "kernel", "kind", "may_overwrite", "prepare", "reference")

    def __init__(
        self,
        reference: Callable[..., Any],
        prepare: Callable[[], Callable[..., Any]],
        kind: str | None = None,
    ) -> None:
        self.kind = kind
        self.heat = Heat()
        self.reference = reference
        self.prepare = prepare
        self.accepts_out = getattr(prepare, "accepts_out", False)
        self.may_overwrite = getattr(prepare, "may_overwrite", ())
        self.kernel: Callable[..., Any] | None = None

    def key(self) -> str | None:
        """What tells the kernel's code from others."""
        return self.kind

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.kernel is None and self.heat.seconds > HOT_SECONDS:
            self.kernel = self.prepare()
        if self.kernel is not None:
            return self.kernel(*operands) if out is None else self.kernel(*operands, out=out)
        start = perf_counter()
        result = self.reference(*operands, **regions)
        self.heat.seconds += perf_counter() - start
        return result


class _Code(Protocol):
    """See `nimblehlo.plan.clusters.Code`."""

    @property
    def key(self) -> str: ...
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

    __slots__ = ("code", "compile_seconds", "heat", "look", "may_overwrite", "native", "reference")

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
        self.heat = Heat(reference_seconds)
        self.look = QUICK_SECONDS
        self.compile_seconds = compile_seconds

    def key(self) -> str | None:
        """What tells the code from others; None where there is none, or too little work to look."""
        if self.heat.expected < LEAST_SHARED_SECONDS:
            return None
        try:
            return self.code().key
        except ValueError:
            return None

    @property
    def limit(self) -> float:
        """The time in references after which the code is compiled."""
        return 0.0 if self.heat.expected > self.compile_seconds else PATIENCE * self.compile_seconds

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.native is not None:
            return self.native(*operands, out=out) if out is not None else self.native(*operands)
        if self.heat.seconds + self.heat.expected > min(self.look, self.limit):
            native = self.considered()
            if native is not None:
                return native(*operands)
        start = perf_counter()
        result = self.reference(*operands, **regions)
        self.heat.seconds += perf_counter() - start
        return result

    def considered(self) -> Callable[..., Any] | None:
        """The native code, if it lies on the disk or its time has come."""
        if self.heat.seconds + self.heat.expected < min(self.limit, loading_seconds()):
            self.look = loading_seconds()
            return None
        try:
            code = self.code()
            if self.heat.seconds >= self.limit or code.is_quick():
                self.native = code.function()
            else:
                self.look = self.limit
        except ValueError:
            self.look = self.compile_seconds = float("inf")
        return self.native
