"""`sort` of small arrays by its comparator: the merge sort of `regions/sort.py`, one row after the other.

Source: `nimblehlo.program.ops.sorting.sort`, whose order of comparisons this is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ....types import ELEMENT_TYPES, TensorType
from ..llvm.values import I64
from ..regions.region_function import captured_arguments, check_region
from ..regions.sort import MergeSort, SortPlan
from ..scalars import Binding, Mode, Storage
from ..scalars.boxes import Side, copy
from ..scalars.emitter import EmitRule, Index
from .emitter import ArrayEmitter

if TYPE_CHECKING:
    from ....program.ops.sorting.sort import Sort

_OPERATIONS_PER_PROBE = 4
"""Cost of comparing two elements, in multiplications."""


def _check(operation: Operation, mode: Mode) -> str | None:
    view = cast("Sort", Op.of(operation))
    if not view.follows_comparator:
        return "sorts NaN behind all numbers"
    if view.length < 2:
        return "has nothing to sort"
    if captured_arguments([view.comparator]):
        return "its comparator captures values"
    return check_region(view.comparator)


def _multiplications(operation: Operation) -> int:
    """The approximate number of multiplications that take as long as the comparisons of a sort."""
    return int(cast("Sort", Op.of(operation)).comparisons) * _OPERATIONS_PER_PROBE


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view = cast("Sort", Op.of(operation))
    shape, axis, length = view.inputs[0].shape, view.adjusted_dimension, view.length
    inner = math.prod(shape[axis + 1 :])
    outer = view.inputs[0].size // (length * inner)
    targets = [emitter.allocate_result(result) for result in operation.results]
    sources = [emitter.bindings[value] for value in operation.operands]
    rows = _Rows(emitter, view, length)
    for row in emitter.loop(outer):
        for column in emitter.loop(inner):
            first = emitter.offset([row, column], [length * inner, 1])
            rows.sort(sources, targets, first, inner)
    return [emitter.result(target) for target in targets]


class _Rows:
    """Sorts the rows of arrays: each is copied to memory of its own, and back."""

    def __init__(self, emitter: ArrayEmitter, view: Sort, length: int) -> None:
        self.emitter, self.length = emitter, length
        plan = SortPlan(1, length, 1 << (length - 1).bit_length())
        self.function = MergeSort(emitter.builder.module, view.comparator, (), plan).chunks()
        types = [type.with_shape((length,)) for type in view.inputs]
        self.before, self.after, self.between = (
            [emitter.allocate_scratch(type) for type in types] for _ in range(3)
        )
        self.points = emitter.allocate_scratch(TensorType((length + 1,), ELEMENT_TYPES["i32"]))

    def sort(self, sources: Sequence[Binding], targets: Sequence[Storage], first: Index, stride: int) -> None:
        """Sort the row at an offset, whose elements have a stride."""
        emitter, sizes = self.emitter, [self.length]
        for source, row in zip(sources, self.before, strict=True):
            copy(emitter, Side(row, 0, (1,)), Side(source, first, (stride,)), sizes)
        buffers = [*self.before, *self.after, *self.between, self.points]
        emitter.builder.call(self.function, [I64(0), *[buffer.pointer for buffer in buffers]])
        for target, row in zip(targets, self.after, strict=True):
            copy(emitter, Side(target, first, (stride,)), Side(row, 0, (1,)), sizes)


SORT: Final = EmitRule(_check, _emit, multiplications=_multiplications)
