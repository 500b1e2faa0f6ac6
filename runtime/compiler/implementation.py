"""The interface of everything that runs an operation: references, NumPy, kernels, generated code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from ..program.ir import Operation, Value
from ..program.ir.record import Record

Runnable = Callable[..., Any]
OverwritePairs = tuple[tuple[int, int], ...]
"""Pairs of an operand and a result, by position; the result may overwrite the operand."""


class Cost(Record):
    """Estimated times of an implementation, in seconds.

    Attributes:
        baseline_seconds: of a call of the operation's NumPy implementation; 0.0: to be measured first.
        native_seconds_per_element: of native code, for one element of the results, on one thread.
        compile_seconds: of generating and compiling the code, once the compiler is loaded.
    """

    baseline_seconds: float = 0.0
    native_seconds_per_element: float = 0.0
    compile_seconds: float = 0.0


class ImplementationKind(StrEnum):
    """What runs an operation, as `Executable.explain` and profiles name it."""

    REFERENCE = "reference"
    """The specification's text."""
    NUMPY = "numpy"
    """Functions of NumPy and prepared native functions; nothing is compiled."""
    KERNEL = "kernel"
    GENERATED = "generated"
    UFUNC_PROGRAM = "ufunc program"
    TIERED = "tiered"
    """One of the others until native code replaces it."""
    COMMUNICATION = "communication"
    EXPLORED = "explored"
    """A schedule of the explorer (`nimblehlo.checks.explorer`)."""
    WIDER = "wider"
    """A computation in wider types (`nimblehlo.checks.error_bounds`)."""


UNCOMPILED: Final = frozenset({ImplementationKind.REFERENCE, ImplementationKind.NUMPY})
"""The kinds for which no code is compiled: `Op.bind` gives the function."""


class NoCode(Exception):
    """Raised, with the reason, if no code can be generated for an operation."""


class Implementation:
    """An implementation of an operation.

    The functions of `choice` and `implementations/` return an implementation of an operation, or a text that
    says why they have none. Some reasons appear only when code is generated, so `key`, `is_compiled` and
    `prepare` may raise NoCode.

    Attributes:
        kind: what runs the operation.
        reason: why it was chosen.
        takes_regions: whether the function takes the operation's regions, by name.
        may_overwrite: pairs of an operand and a result. The function may write the result into the operand's
            array if that is C-contiguous, writeable, of the result's type and not used after the call. It
            then gets the argument ``out``, for each result an array or None, and may ignore it. It reads each
            element of the operand before it writes the result's element at the same position. Without
            pairs, it does not get ``out``.
        baseline_overwrites: such pairs of what runs until native code does; the function takes ``out`` for
            them too.
        may_alias: whether results may be views of operands, where the operation allows it (`buffer_uses`).
        compiles_when_called: whether the first call of the function compiles it, for the operands' types.
        compiles_ahead: whether `compile_texts_ahead` may have other processes compile the code.
        has_quick_code: whether `prepare_soon` gives code that LLVM has not optimized.
        has_vectors: whether its LLVM IR has vector instructions, so that it is fast before LLVM optimizes it.
        threshold_class: the entry of `cost_model.THRESHOLDS` by which native code replaces a
            baseline.
        absorbed: earlier operations whose results it also computes, and nothing else reads.
    """

    __slots__ = ()

    kind: ImplementationKind = ImplementationKind.REFERENCE
    reason: str = ""
    takes_regions: bool = True
    may_overwrite: OverwritePairs = ()
    baseline_overwrites: Collection[tuple[int, int]] = ()
    may_alias: bool = True
    compiles_when_called: bool = False
    compiles_ahead: bool = False
    has_quick_code: bool = False
    has_vectors: bool = False
    threshold_class: str = "code"
    absorbed: tuple[Operation, ...] = ()

    @property
    def function(self) -> Runnable:
        """The function that the executor calls with the operands; it returns a value or a tuple."""
        return self.prepare()

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the arrays that code of several operations allocates for intermediate values."""
        return 0

    def cost(self) -> Cost:
        """The estimated times."""
        return Cost()

    @property
    def code_keys(self) -> Sequence[str]:
        """The keys of the modules of generated code that `prepare` loads."""
        return ()

    def compile_texts_ahead(self, quickly: bool = False, is_hot: bool = False) -> Iterator[None]:
        """Have another process compile the code that `prepare` loads, where there is such a process.

        Args:
            quickly: whether it is the code of `prepare_soon`.
            is_hot: whether an idle process optimizes quick code meanwhile.

        Returns:
            An iterator, each step of which makes one text and sends it.
        """
        return iter(())

    def set_enclosing(self, enclosing: Implementation) -> None:
        """Note that this implementation runs within the regions of `enclosing`; called for each of them."""

    @property
    def replaces_regions(self) -> bool:
        """Whether native code will run in place of the regions' plans, so that their steps need none."""
        return False

    @property
    def key(self) -> Hashable:
        """The key of the code from `prepare`, which implementations with equal keys share; None: not
        shared.
        """
        return None

    @property
    def is_settled(self) -> bool:
        """Whether `function` will not be replaced by other code."""
        return True

    @property
    def is_replaced(self) -> bool:
        """Whether native code runs in the place of what ran at first."""
        return False

    def is_compiled(self, quickly: bool = False) -> bool:
        """Whether `prepare` does not compile, or with `quickly` whether `prepare_soon` does not."""
        return True

    def prepare(self) -> Runnable:
        """Generate and compile the code, and return a function that calls it."""
        raise NotImplementedError

    def prepare_soon(self) -> Runnable:
        """Like `prepare`, but the function may call code that LLVM has not optimized yet.

        The caller has the code optimized (`tiering.background.optimize_quick_code`).
        """
        return self.prepare()

    def prepare_for_loops(self) -> Runnable | None:
        """A function for native loops, which call it with C-contiguous arrays; None: they call `function`."""
        return None

    def on_native_code(self, callback: Callable[[Runnable], None]) -> None:
        """Register a callback that gets the native code which replaces `function`."""

    def constituents(self) -> tuple[Implementation, ...]:
        """The implementations that this one calls; itself if it calls none."""
        return (self,)


def operands_of(implementation: Implementation, operation: Operation) -> tuple[Value, ...]:
    """The values that an operation's step reads: those of the operations that it absorbs come first."""
    operations = (*implementation.absorbed, operation)
    computed = {result for absorbed in implementation.absorbed for result in absorbed.results}
    return tuple([value for one in operations for value in one.operands if value not in computed])


class Prepared(Implementation):
    """An existing function: a reference, or prepared code, which tells the bytes of its scratch arrays."""

    __slots__ = (
        "_code",
        "_function",
        "_key",
        "compiles_when_called",
        "kind",
        "may_alias",
        "may_overwrite",
        "reason",
        "takes_regions",
    )

    def __init__(
        self,
        function: Runnable,
        kind: ImplementationKind = ImplementationKind.REFERENCE,
        reason: str = "",
        takes_regions: bool = True,
        may_overwrite: OverwritePairs = (),
        may_alias: bool = True,
        key: Hashable = None,
        compiles_when_called: bool = False,
        code: Implementation | None = None,
    ) -> None:
        self._function = function
        self._code = code
        self.compiles_when_called = compiles_when_called
        self.kind = kind
        self.reason = reason
        self.takes_regions = takes_regions
        self.may_overwrite = may_overwrite
        self.may_alias = may_alias
        self._key = key

    @property
    def key(self) -> Hashable:
        return self._key

    @property
    def scratch_bytes(self) -> int:
        return 0 if self._code is None else self._code.scratch_bytes

    def prepare(self) -> Runnable:
        return self._function

    def prepare_for_loops(self) -> Runnable | None:
        return None if self._code is None else self._code.prepare_for_loops()


class Replaceable(Implementation):
    """Runs without native code until native code replaces it.

    Attributes:
        native: the native code in use.
        callbacks: see `on_native_code`.
    """

    def __init__(self) -> None:
        self.native: Runnable | None = None
        self.callbacks: list[Callable[[Runnable], None]] = []

    def run(self, *operands: Any, **keywords: Any) -> Any:
        """See `function`."""
        raise NotImplementedError

    @property
    def function(self) -> Runnable:
        return self.run

    @property
    def is_settled(self) -> bool:
        return self.native is not None

    @property
    def is_replaced(self) -> bool:
        return self.native is not None

    def on_native_code(self, callback: Callable[[Runnable], None]) -> None:
        self.callbacks.append(callback)

    def use(self, native: Runnable) -> None:
        """Call this native code from now on, and pass it to the callbacks."""
        self.native = native
        for callback in self.callbacks:
            callback(native)
