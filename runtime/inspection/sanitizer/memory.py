"""Track uninitialized memory: new buffers, and elements that `set_dimension_size` adds.

Each array that may hold uninitialized elements has a shadow: a boolean array that is true where an element
was written. Data-movement operations move the shadow with the elements, and operations that overwrite
elements set the shadow; every other operation reads. The caller reads the program's results.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...program.ir import Function, Operation
from ...program.ops.custom_calls.custom_call import CustomCall
from ...program.ops.custom_calls.targets import SHARDING_ANNOTATIONS
from ...program.ops.elementwise.comparison import Select
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.rules import with_actual_shapes
from ...program.ops.framework.traits import Memory
from ...program.ops.indexing.scatter import Scatter
from ...program.ops.indexing.scatter_destinations import destinations_of
from ...program.ops.reduction.bodies import overwrites
from ...program.ops.shape.dynamic_shapes import ReadsSizes, SetDimensionSize
from ...types import Array
from .elements import first_index, index_text, number
from .findings import Violation

_CREATING: Final = frozenset({"AllocateBuffer", "CreateBuffer"})
_FORWARDING: Final = frozenset({"Pin", "Unpin", *SHARDING_ANNOTATIONS})
"""Custom calls that return their operands."""

ReportRead = Callable[[Violation], None]


ShadowUpdate = Callable[[Sequence[Any], Sequence[Any], ReportRead], None]


def may_be_unwritten(function: Function) -> bool:
    """Whether a function may read memory that was never written."""
    assert function.body is not None
    return any(_creates(operation) for operation in function.body.walk())


def _creates(operation: Operation) -> bool:
    if operation.name == SetDimensionSize.name:
        return True
    view = Op.of(operation) if operation.name == CustomCall.name else None
    return isinstance(view, CustomCall) and view.call_target_name in _CREATING


class Shadows:
    """The shadows of the arrays of one program's runs; many threads may run it at the same time."""

    def __init__(self) -> None:
        self._shadows: dict[int, tuple[weakref.ref[Array], Array]] = {}

    def of(self, value: object) -> Array | None:
        """The shadow of an array; None if every element is written."""
        entry = self._shadows.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else None

    def enter(self, value: Array, written: Array) -> None:
        """Set the shadow of an array; a fully initialized array has none."""
        key, shadows = id(value), self._shadows
        if written.all():
            shadows.pop(key, None)
        else:
            shadows[key] = weakref.ref(value, lambda _: shadows.pop(key, None)), written

    def follow(self, view: Op) -> ShadowUpdate | None:
        """The update of shadows after an operation; it takes operands, results and a callback for reads."""
        if view.memory is Memory.FORWARDS or isinstance(view, ReadsSizes):
            return None
        if isinstance(view, CustomCall):
            return self._follow_call(view)
        if isinstance(view, SetDimensionSize):
            return self._follow_size(view)
        if isinstance(view, Scatter):
            return self._follow_scatter(view)
        if isinstance(view, Select):
            return self._follow_movement(range(1, 3), np.where)
        if view.moved_operands is not None:
            numbers = range(len(view.operation.operands))[view.moved_operands]
            return self._follow_movement(numbers, view.bind())
        return lambda operands, results, report_read: self.read_all(operands, report_read)

    def read_all(self, operands: Sequence[object], report_read: ReportRead) -> None:
        """Report uninitialized elements of the operands."""
        if self._shadows:
            numbers = {id(operand): position for position, operand in reversed([*enumerate(operands)])}
            for position in sorted(numbers.values()):
                self.read(operands[position], f"operand {position}", report_read)

    def read(self, value: Any, name: str, report_read: ReportRead, chosen: Array | None = None) -> None:
        """Report uninitialized elements of an array, or of those that `chosen` selects."""
        written = self.of(value)
        if written is None:
            return
        unwritten = ~written if chosen is None else ~written & chosen
        if unwritten.any():
            index = first_index(unwritten)
            message = f"reads {index_text(index)} of {name}, which nothing has written"
            report_read(Violation(index, number(value[index]), message, int(np.count_nonzero(unwritten))))

    def _follow_call(self, view: CustomCall) -> ShadowUpdate | None:
        if view.call_target_name in _FORWARDING:
            return None
        if view.call_target_name in _CREATING:
            return lambda operands, results, report_read: self.enter(
                results[0], np.zeros(results[0].shape, np.bool_)
            )
        written = {operand for _, operand, _ in view.output_operand_aliases}

        def follow(operands: Sequence[object], results: Sequence[object], report_read: ReportRead) -> None:
            self.read_all([value for n, value in enumerate(operands) if n not in written], report_read)

        return follow

    def _follow_size(self, view: SetDimensionSize) -> ShadowUpdate:
        def follow(operands: Sequence[Any], results: Sequence[Any], report_read: ReportRead) -> None:
            operand, result = operands[0], results[0]
            common = tuple(
                slice(min(size, new_size)) for size, new_size in zip(operand.shape, result.shape, strict=True)
            )
            written = np.zeros(result.shape, np.bool_)
            shadow = self.of(operand)
            written[common] = True if shadow is None else shadow[common]
            self.enter(result, written)

        return follow

    def _follow_movement(self, operand_numbers: range, function: Callable[..., Any]) -> ShadowUpdate:
        """Apply `function` to the shadows of these operands; the other operands are read."""

        def follow(operands: Sequence[Any], results: Sequence[Any], report_read: ReportRead) -> None:
            if not self._shadows:
                return
            shadows = [self.of(operands[position]) for position in operand_numbers]
            read = [value for n, value in enumerate(operands) if n not in operand_numbers]
            self.read_all(read, report_read)
            if any(shadow is not None for shadow in shadows):
                arguments = list(operands)
                for position, shadow in zip(operand_numbers, shadows, strict=True):
                    shape = np.shape(operands[position])
                    arguments[position] = np.ones(shape, np.bool_) if shadow is None else shadow
                self.enter(results[0], np.array(function(*arguments), np.bool_))

        return follow

    def _follow_scatter(self, view: Scatter) -> ShadowUpdate:
        count, replaces = len(view.inputs), overwrites(view.update_computation)

        def follow(operands: Sequence[Any], results: Sequence[Any], report_read: ReportRead) -> None:
            if not self._shadows:
                return
            self.read_all(operands[count:], report_read)
            if all(self.of(operand) is None for operand in operands[:count]):
                return
            indices = operands[count]
            positions, _ = destinations_of(with_actual_shapes(view, operands))(indices)
            touched = np.zeros(operands[0].shape, np.bool_)
            touched.reshape(-1)[positions] = True
            for position, (operand, result) in enumerate(zip(operands[:count], results, strict=True)):
                if not replaces:
                    self.read(operand, f"inputs[{position}]", report_read, touched)
                written = self.of(operand)
                if written is not None:
                    self.enter(result, written | touched)

        return follow
