"""The base of generated loops for operations with regions, such as sorts and scatters with any body.

Each operation's class stands beside its emitter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....program.ir import Value, captured_values
from ....program.ops.framework.declaration import Op
from ....program.ops.framework.facts import named_code
from ....program.ops.reduction.bodies import is_scalar_elementwise
from ....types import QUANTIZED, AnyElementType, Array, ElementType, TensorType
from ...cost_model import (
    NATIVE_FRACTION,
    REGION_CALL_SECONDS,
    REGION_COMPILE_SECONDS,
    REGION_COMPILE_SECONDS_PER_OPERATION,
    REGION_PASS_SECONDS,
    SMALL_REGION_CALLS,
    SMALL_REGION_SECONDS,
    seconds_of_operations,
)
from ...implementation import Cost, Implementation, NoCode, Runnable
from ..native_code import LoweredLoop, NativeCode, has_small_arrays, names_of, seconds_of, tensor

if TYPE_CHECKING:
    from ....program.ops.reduction.reducer import Body

MAX_TASKS = 8
"""Maximum number of tasks that share the destinations, or the slices to sort."""

_LOOPS: Final = __package__.rpartition(".")[0]


def region_loop_code(
    view: Op, threads: int | None, has_kernel: bool, precedes_kernel: bool = False
) -> RegionCode | str:
    """The generated loops of an operation with regions, or why there are none, "" where it never has any.

    They may still turn out not to be possible (`RegionCode.check_loop`).

    Args:
        view: the operation; its sizes are known.
        threads: maximum number of threads; None: all.
        has_kernel: whether a hand-written kernel can serve as well; it is better on many elements.
        precedes_kernel: whether a kernel will replace the loop, which therefore runs on many elements too.
    """
    if not view.region_loop:
        return ""
    values = (*view.operation.operands, *view.operation.results)
    if any(value.type.category & QUANTIZED for value in values):
        return "no generated loops on quantized tensors"
    if not all(tensor(value.type).size for value in values):
        return "there are no elements"
    code: RegionCode = named_code(_LOOPS, view.region_loop)(view, threads)
    code.precedes_kernel = precedes_kernel
    if has_kernel and not precedes_kernel and not code.is_small:
        return ""
    return code.check() or code


class RegionCode(NativeCode):
    """The native code of an operation with regions: its costs and its function.

    Args:
        view: the operation.
        threads: maximum number of threads; None: all.
    """

    max_small_calls = 1 << 16
    """Applications of a region in the time of a call of a hand-written kernel."""
    applies_per_element = False
    """Whether the baseline applies elementwise regions, too, to one element at a time."""
    loop_compile_seconds = REGION_COMPILE_SECONDS
    """Seconds to compile the loops around the regions."""
    precedes_kernel = False
    """Whether a kernel will replace the loop."""

    def __init__(self, view: Any, threads: int | None) -> None:
        self.view = view
        self.threads = threads
        self.reason = f"one loop around {names_of(view.operation.regions[0].block)}"

    def check(self) -> str | None:
        """Why there is no generated loop, as far as can be decided without loading the code generator."""
        raise NotImplementedError

    def check_loop(self) -> str | None:
        """Any other reason why there is no generated loop; None if there is one."""
        from ..scalars import check_ordering
        from .region_function import check_region

        regions = self.view.operation.regions
        reasons = map(check_region, regions)
        return next(filter(None, reasons), None) or check_ordering(regions, self.view.ordering)

    @property
    def has_code(self) -> bool:
        return self.check_loop() is None

    @property
    def has_quick_code(self) -> bool:  # type: ignore[override]
        """Not in the place of a kernel: known bodies are vectors in optimized code alone, and take NumPy less
        time than quick code."""
        return not self.precedes_kernel

    def lower(self) -> LoweredLoop:
        """The code before it is compiled."""
        raise NotImplementedError

    def operations_on_elements(self) -> float:
        """The approximate number of times that the baseline applies the regions to an element."""
        raise NotImplementedError

    def passes(self) -> float:
        """The number of passes over arrays in which the baseline applies the regions."""
        raise NotImplementedError

    def gather_seconds(self) -> float:
        """Seconds in which the baseline gathers the elements to which it applies the regions."""
        return 0.0

    def native_calls(self) -> float:
        """The number of applications of the regions by native code."""
        raise NotImplementedError

    @property
    def operands(self) -> list[TensorType]:
        """The types of the native code's operands, without captured values."""
        return [value.type for value in self.view.operation.operands]

    @property
    def results(self) -> list[TensorType]:
        """The types of the native code's results."""
        return [value.type for value in self.view.operation.results]

    @property
    def is_small(self) -> bool:
        """Whether the call of a hand-written kernel would take longer than its work."""
        return has_small_arrays(self.view.operation) and self.native_calls() <= self.max_small_calls

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        """Wrap the native function, whose operands may differ from the operation's, for the operation's
        operands and captured values.
        """
        return native

    def baseline_on_captures(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The baseline with the native code's arguments: the operands, then the captured values."""
        if not self.captured or not self.captured_operands:
            return function
        count = len(self.view.operation.operands)
        return lambda *operands, **regions: function(*operands[:count], **regions)

    def with_captured_arguments(self, implementation: Implementation) -> Implementation:
        """The implementation of a step, from one that takes captured values after the operands."""
        if not self.captured or not self.captured_operands:
            return implementation
        positions = [self.captured.index(value) for value in self.captured_operands]
        return _WithCaptures(implementation, positions)

    @functools.cached_property
    def captured_operands(self) -> list[Value]:
        """The captured values that regions get: operands that follow the operation's own."""
        from .region_function import captured_arguments

        return captured_arguments(self.view.operation.regions)

    @functools.cached_property
    def lowered(self) -> LoweredLoop:
        """The cached result of `lower`."""
        return self.lower()

    @functools.cached_property
    def key(self) -> str:
        reason = self.check_loop()
        if reason is not None:
            raise NoCode(reason)
        from ..description import (
            attributes_description,
            constants_description,
            operation_description,
        )
        from ..llvm.machine import key_of

        operation = self.view.operation
        return key_of(
            f"{type(self).__name__} by {self.lowered.items_per_task}, {self.view.ordering.accumulate}\n"
            f"{attributes_description(operation)}\n"
            f"{operation_description(operation, self.captured)}\n"
            f"{constants_description(self.captured)}"
        )

    @property
    def captured(self) -> list[Value]:
        """The values that the regions capture."""
        return captured_values(self.view.operation.regions)

    def signature(self) -> tuple[list[TensorType], list[TensorType]]:
        return [*self.operands, *(tensor(value.type) for value in self.captured_operands)], self.results

    def function_of_launches(self, quickly: bool) -> Runnable:
        return self.adapt_operands(super().function_of_launches(quickly))

    def cost(self) -> Cost:
        """The estimated time of the baseline and of the compilation."""
        regions = self.view.operation.regions
        seconds = sum(seconds_of_operations(region.block) for region in regions)
        work = self.operations_on_elements()
        if not self.applies_per_element and all(map(is_scalar_elementwise, regions)):
            count = sum(len(region.block.operations) for region in regions)
            baseline = work * seconds + self.gather_seconds() + self.passes() * count * REGION_PASS_SECONDS
            if self.is_small:
                calls = max(1.0, self.native_calls() / SMALL_REGION_CALLS)
                baseline = min(baseline, SMALL_REGION_SECONDS * calls)
        else:
            baseline = work * REGION_CALL_SECONDS
        if self.precedes_kernel:
            # NumPy has algorithms of its own for known bodies, whose time shows.
            baseline = 0.0
        compiling = self.loop_compile_seconds + REGION_COMPILE_SECONDS_PER_OPERATION * self.instructions()
        return Cost(baseline, seconds * NATIVE_FRACTION, compiling)

    def instructions(self) -> int:
        """The approximate number of instructions of the regions."""
        return sum(len(region.block.operations) for region in self.view.operation.regions)

    def seconds(self) -> float:
        """The estimated seconds of one thread."""
        work = self.native_calls() * self.cost().native_seconds_per_element
        return seconds_of(work, (*self.operands, *self.results))


class _WithCaptures(Implementation):
    """Passes values that the regions capture to an implementation that takes them after the operands.

    Args:
        implementation: what runs.
        positions: of these values among all that the regions capture.
    """

    def __init__(self, implementation: Implementation, positions: Sequence[int]) -> None:
        self.implementation = implementation
        self.called = implementation.function
        self.positions = positions
        self.kind = implementation.kind
        self.reason = implementation.reason
        self.may_overwrite = implementation.may_overwrite
        self.baseline_overwrites = implementation.baseline_overwrites

    def run(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        """See `function`."""
        captured = next(iter(regions.values())).captures
        keywords = regions if self.implementation.takes_regions else {}
        if out is not None:
            keywords["out"] = out
        return self.called(*operands, *[captured[k] for k in self.positions], **keywords)

    @property
    def function(self) -> Runnable:
        return self.run

    @property
    def scratch_bytes(self) -> int:
        return self.implementation.scratch_bytes

    @property
    def is_settled(self) -> bool:
        return self.implementation.is_settled

    @property
    def is_replaced(self) -> bool:
        return self.implementation.is_replaced

    def set_enclosing(self, enclosing: Implementation) -> None:
        self.implementation.set_enclosing(enclosing)

    def constituents(self) -> tuple[Implementation, ...]:
        return self.implementation.constituents()


def check_reducer(analysis: Body, accumulate: str, results: Sequence[TensorType]) -> str | None:
    """Why a body does not reduce in the results' types, or None if it does."""
    is_wider = analysis.wider_reducer(accumulate, results) is not None
    return "its body accumulates in a wider type" if is_wider else None


def converters(
    types: Sequence[TensorType], targets: Sequence[AnyElementType]
) -> Callable[[Sequence[Array]], list[Array]]:
    """A function that converts arrays to a region's own element types."""
    from ....program.ops.numerics.element_types import converter

    functions: list[Runnable | None] = []
    for type, target in zip(types, targets, strict=True):
        if type.element_type == target:
            functions.append(None)
        else:
            assert isinstance(target, ElementType)
            functions.append(converter(type.plain_element_type, target))
    return lambda arrays: [
        array if function is None else np.asarray(function(array))  # scalars come out of 0-dimensional ones
        for function, array in zip(functions, arrays, strict=True)
    ]


def as_result_types(declared: Sequence[TensorType], results: Sequence[TensorType]) -> list[TensorType]:
    """The given types with the results' element types, in turn."""
    return [type.with_element_type(results[k % len(results)].element_type) for k, type in enumerate(declared)]


def with_converted_operands(
    native: Callable[..., object], types: Sequence[TensorType], targets: Sequence[TensorType]
) -> Callable[..., Any]:
    """A function whose first operands are converted to other element types."""
    if list(types) == list(targets):
        return native
    count = len(types)
    convert = converters(types, [target.plain_element_type for target in targets])
    return lambda *operands: native(*convert(operands[:count]), *operands[count:])
