"""`reduce_window` and `select_and_scatter` on small arrays.

A window is reduced from the left, starting with the initial value. Where padding cuts windows, they are read
from a copy of the operand, in which the initial value surrounds its elements and fills the holes between
them. Cumulative windows are the scans of `cumulative`, selections the functions of `regions/windows.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from ....options import Ordering
from ....program.ir import Operation, tensor_type
from ....program.ir.affine import row_major_strides
from ....program.ops.framework.declaration import Op
from ....program.ops.reduction.window_geometry import dilated, overlap
from ..llvm.values import Value
from ..regions.region_function import captured_arguments, check_region
from ..regions.windows import SelectionFunction, slices_of
from ..scalars import Binding, Mode, Storage
from ..scalars.boxes import Side, copy, merged_dimensions
from ..scalars.control import check_body
from ..scalars.emitter import EmitRule, Index
from ..scalars.small_reductions import check_tree, check_types
from . import cumulative
from .emitter import ArrayEmitter

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce_window import ReduceWindow, SelectAndScatter

MAX_PADDED_ELEMENTS = 1 << 15
"""Maximum elements of all padded operands together, which are on the stack: 256 KB of f64."""
_MAX_UNROLLED_POSITIONS = 16
"""Maximum positions of a window that are combined in registers; results are in memory for more."""


def _reduce_window(operation: Operation) -> ReduceWindow:
    return cast("ReduceWindow", Op.of(operation))


def _check(operation: Operation, mode: Mode) -> str | None:
    view = _reduce_window(operation)
    if view.scan_layout is not None:
        return cumulative.check(view)
    reason = check_types(view) or check_body(view.body, mode) or check_tree(view.ordering)
    if reason is not None:
        return reason
    if view.analysis.wider_reducer(view.accumulate, view.results) is not None:
        return "accumulates in a wider type"
    if _is_padded(view) and len(view.inputs) * math.prod(_padded_sizes(view)) > MAX_PADDED_ELEMENTS:
        return f"would pad operands to more than {MAX_PADDED_ELEMENTS} elements"
    return None


def _is_padded(view: ReduceWindow) -> bool:
    """Whether windows contain padding or holes."""
    sizes = zip(view.windows, view.inputs[0].shape, _padded_sizes(view), strict=True)
    return any(
        window.base_dilation > 1 or window.low > 0 or extent - window.low > size
        for window, size, extent in sizes
    )


def _padded_sizes(view: ReduceWindow) -> list[int]:
    """How many elements the windows along each dimension read, with padding and holes."""
    counts = zip(view.windows, view.num_windows(), strict=True)
    return [
        (count - 1) * window.stride + dilated(window.size, window.window_dilation)
        for window, count in counts
    ]


def _multiplications(operation: Operation) -> int:
    """The combinations with elements of windows, which take as long."""
    view = _reduce_window(operation)
    if view.scan_layout is not None:
        return 0
    return view.results[0].size * math.prod(view.window_dimensions) * len(view.inputs)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view, count = _reduce_window(operation), len(operation.results)
    if view.scan_layout is not None:
        return cumulative.emit(emitter, view)
    inputs = [emitter.storage(value) for value in operation.operands[:count]]
    initial = [emitter.element(value) for value in operation.operands[count:]]
    if _is_padded(view):
        sizes, first = _padded_sizes(view), 0
        inputs = [_padded(emitter, view, *pair) for pair in zip(inputs, initial, strict=True)]
    else:
        sizes = list(view.inputs[0].shape)
        strides = row_major_strides(sizes)
        first = sum(-window.low * stride for window, stride in zip(view.windows, strides, strict=True))
    results = [emitter.allocate_result(result) for result in operation.results]
    _Windows(emitter, view, inputs, initial, results).emit(row_major_strides(sizes), first)
    return [emitter.result(result) for result in results]


def _padded(emitter: ArrayEmitter, view: ReduceWindow, operand: Storage, initial: Value) -> Storage:
    """A copy of an operand with the initial value around its elements and in holes."""
    sizes = _padded_sizes(view)
    target = emitter.allocate_scratch(operand.type.with_shape(tuple(sizes)))
    for index in emitter.independent_loop(math.prod(sizes)):
        emitter.put(target, index, initial)
    spans = [
        overlap(extent, 1, -window.low, size, window.base_dilation)
        for extent, window, size in zip(sizes, view.windows, operand.type.shape, strict=True)
    ]
    inside = [span for span in spans if span is not None]
    if len(inside) == len(spans):
        to, at = _side(target, [to for to, _ in inside]), _side(operand, [at for _, at in inside])
        copy(emitter, to, at, [len(range(one.start, one.stop, one.step)) for one, _ in inside])
    return target


def _side(storage: Storage, slices: Sequence[slice]) -> Side:
    """The elements of an array in a slice of each dimension."""
    strides = row_major_strides(storage.type.shape)
    first = sum(one.start * stride for one, stride in zip(slices, strides, strict=True))
    return Side(storage, first, [one.step * stride for one, stride in zip(slices, strides, strict=True)])


class _Windows:
    """Generates the reduction of windows without padding.

    Args:
        inputs, results: in memory.
        initial: the initial values.
    """

    def __init__(
        self,
        emitter: ArrayEmitter,
        view: ReduceWindow,
        inputs: Sequence[Storage],
        initial: Sequence[Value],
        results: Sequence[Storage],
    ) -> None:
        self.emitter, self.view = emitter, view
        self.inputs, self.initial, self.results = inputs, initial, results

    def emit(self, strides: Sequence[int], first: int) -> None:
        """Reduce all windows of inputs with these strides, the first of which begins at `first`."""
        windows, counts = self.view.windows, self.view.num_windows()
        steps = [window.stride * stride for window, stride in zip(windows, strides, strict=True)]
        sizes, (of_inputs, of_results) = merged_dimensions(counts, [steps, row_major_strides(counts)])
        positions = [window.window_dilation * stride for window, stride in zip(windows, strides, strict=True)]
        if math.prod(self.view.window_dimensions) <= _MAX_UNROLLED_POSITIONS:
            self.reduce_in_registers(sizes, (of_inputs, of_results), self.offsets(positions), first)
            return
        for index in self.emitter.independent_loop(math.prod(counts)):
            self.put(index, self.initial)
        for indices in self.emitter.box(self.view.window_dimensions):
            position = self.emitter.offset(indices, positions, first)
            for window in self.emitter.independent_box(sizes):
                at = self.emitter.offset(window, of_results)
                totals = [self.emitter.at(result, at) for result in self.results]
                self.put(at, self.combined(totals, self.emitter.offset(window, of_inputs, position)))

    def offsets(self, strides: Sequence[int]) -> list[int]:
        """The offsets of all positions in a window, row-major."""
        ranges = [range(size) for size in self.view.window_dimensions]
        pairs = [list(zip(position, strides, strict=True)) for position in itertools.product(*ranges)]
        return [sum(index * stride for index, stride in position) for position in pairs]

    def reduce_in_registers(
        self,
        sizes: Sequence[int],
        strides: tuple[Sequence[int], Sequence[int]],
        offsets: Sequence[int],
        first: int,
    ) -> None:
        """Reduce one window after the other."""
        for window in self.emitter.independent_box(sizes):
            start = self.emitter.offset(window, strides[0], first)
            totals = list(self.initial)
            for offset in offsets:
                totals = self.combined(totals, self.emitter.add(start, offset))
            self.put(self.emitter.offset(window, strides[1]), totals)

    def combined(self, totals: Sequence[Value], offset: Index) -> list[Value]:
        """Totals combined with the elements of the inputs at an offset."""
        items = [self.emitter.at(operand, offset) for operand in self.inputs]
        return self.emitter.apply_scalar_body(self.view.body.block, [*totals, *items])

    def put(self, offset: Index, values: Sequence[Value]) -> None:
        for result, value in zip(self.results, values, strict=True):
            self.emitter.put(result, offset, value)


REDUCE_WINDOW: Final = EmitRule(
    _check,
    _emit,
    multiplications=_multiplications,
    check_ordering=lambda operation, ordering: check_tree(ordering),
)


def _select_and_scatter(operation: Operation) -> SelectAndScatter:
    return cast("SelectAndScatter", Op.of(operation))


def _check_selection(operation: Operation, mode: Mode) -> str | None:
    view = _select_and_scatter(operation)
    arguments = (*view.select.block.arguments, *view.scatter.block.arguments)
    values = (*operation.operands, *operation.results, *arguments)
    if len({tensor_type(value).element_type for value in values}) > 1:
        return "its bodies have other element types"
    if captured_arguments([view.select, view.scatter]):
        return "its bodies capture values"
    reason = check_region(view.select) or check_region(view.scatter)
    return reason or _check_order_of_selection(operation, view.ordering)


def _check_order_of_selection(operation: Operation, ordering: Ordering) -> str | None:
    view = _select_and_scatter(operation)
    if view.analysis.wider_reducer(ordering.accumulate, [view.result]) is not None:
        return "accumulates in a wider type"
    return check_tree(ordering)


def _selections(operation: Operation) -> int:
    """The elements that windows compare, which take as long as multiplications."""
    view = _select_and_scatter(operation)
    return view.source.size * math.prod(view.window_dimensions)


def _emit_selection(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view, builder = _select_and_scatter(operation), emitter.builder
    operands = [emitter.storage(value) for value in operation.operands]
    result = emitter.allocate_result(operation.result)
    function = SelectionFunction(builder.module, view, ()).function
    for number in emitter.loop(slices_of(view)):
        builder.call(function, [number, *[storage.pointer for storage in (*operands, result)]])
    return [emitter.result(result)]


SELECT_AND_SCATTER: Final = EmitRule(
    _check_selection,
    _emit_selection,
    multiplications=_selections,
    check_ordering=_check_order_of_selection,
)
