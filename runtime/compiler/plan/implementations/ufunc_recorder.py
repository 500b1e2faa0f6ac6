"""Records the body of a fusion as instructions of a ufunc program (`kernels/launch/ufunc_program.h`)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....kernels.launch import ufunc_loops, ufunc_program
from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Operation, Value, plain_element_type, tensor_type
from ....program.ops.framework.declaration import Op, declaration_of
from ....program.ops.reduction.bodies import identity
from ....types import DType, ElementType
from ...implementation import OverwritePairs
from ...loops.reductions.row_tiling import RowTilePlan
from .block_baseline import EXACT_UFUNCS
from .ufunc_traces import Traced, Untraceable, trace

if TYPE_CHECKING:
    from ....program.ops.reduction.reduce import Reduce

MAX_OPERANDS = 3
"""Maximum operands of an instruction."""

_EXTREMES = {
    "maximum": (ufunc_program.MAXIMUM, np.maximum),
    "minimum": (ufunc_program.MINIMUM, np.minimum),
}


class UfuncValue:
    """A value of a program.

    Attributes:
        source: the number of its array, `SCRATCH` or `CONSTANT`.
        offset_or_bits: its offset in bytes, or a constant's bits.
        item_bytes: bytes of an element.
        varies_by_column: whether its elements differ between columns.
        column_stride, row_strides: in bytes.
    """

    __slots__ = ("column_stride", "item_bytes", "offset_or_bits", "row_strides", "source", "varies_by_column")

    def __init__(self, source: int, item_bytes: int, varies_by_column: bool, offset_or_bits: int = 0) -> None:
        self.source = source
        self.item_bytes = item_bytes
        self.varies_by_column = varies_by_column
        self.offset_or_bits = offset_or_bits
        self.column_stride = item_bytes if varies_by_column else 0
        self.row_strides: Sequence[int] = ()


class UfuncInstruction(NamedTuple):
    """An instruction of a program.

    Attributes:
        kind: whether the loop maps elements or reduces a row, and how.
        loop: the addresses of the loop and of its data.
        is_per_column: whether it runs over all columns, or once a row.
        operands, result: the numbers of the values.
    """

    kind: int
    loop: tuple[int, int]
    is_per_column: bool
    operands: tuple[int, ...]
    result: int


class UfuncProgramRecorder:
    """Records a block as instructions; a `Recorder`.

    Attributes:
        values, instructions: of the program.
        reduces: whether it reduces rows.

    Raises:
        Untraceable: the block does something other than loops over elements and reductions of rows.
    """

    def __init__(self, block: Block, tiling: RowTilePlan) -> None:
        self.tiling = tiling
        self._block = block
        self.values: list[UfuncValue] = []
        self.instructions: list[UfuncInstruction] = []
        self.reduces = False
        self._traced: dict[Value, Traced] = {}
        for number, argument in enumerate(block.arguments):
            self._traced[argument] = Traced(self, self._array(number, argument), tensor_type(argument).dtype)
        for operation in block.operations[:-1]:
            self._traced[operation.result] = self._result_of(operation)
        for number, result in enumerate(block.terminator.operands, len(block.arguments)):
            self._write(number, result)

    def constant(self, value: Any) -> int:
        """See `Recorder`."""
        return self._add(UfuncValue(ufunc_program.CONSTANT, value.dtype.itemsize, False, _bits(value)))

    def apply(self, loop: tuple[int, int], operands: tuple[int, ...], result: DType) -> int:
        """See `Recorder`."""
        if len(operands) > MAX_OPERANDS:
            raise Untraceable("has too many operands")
        varies_by_column = any(self.values[number].varies_by_column for number in operands)
        value_number = self._add(UfuncValue(ufunc_program.SCRATCH, result.itemsize, varies_by_column))
        self._emit(ufunc_program.APPLY, loop, varies_by_column, operands, value_number)
        return value_number

    def overwrites(self) -> OverwritePairs:
        """Pairs of an operand and a result of the block that may share memory.

        A pass of the program reads and writes the same elements of both, and no others. The last instruction
        that reads the operand comes before the first one that writes the result, or is the same one and gives
        the same bits in place.
        """
        arguments = self._block.arguments
        return tuple(
            [
                (operand, result)
                for operand, argument in enumerate(arguments)
                for result, value in enumerate(self._block.terminator.operands)
                if argument.type == value.type and self._may_overwrite(operand, len(arguments) + result)
            ]
        )

    def _may_overwrite(self, operand: int, result: int) -> bool:
        """Whether the array of a result may be that of an operand, by the numbers of arrays."""
        read, written = [
            {number for number, value in enumerate(self.values) if value.source == array}
            for array in (operand, result)
        ]
        values = [self.values[number] for number in read | written]
        numbered = list(enumerate(self.instructions))
        readers = [number for number, instruction in numbered if not read.isdisjoint(instruction.operands)]
        writers = [number for number, instruction in numbered if instruction.result in written]
        if len({(value.column_stride, *value.row_strides) for value in values}) > 1 or not writers:
            return False
        first, last = min(writers), max(readers, default=-1)
        return last < first or (last == first and _is_exact(self.instructions[first]))

    def _add(self, value: UfuncValue) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _emit(
        self, kind: int, loop: tuple[int, int], is_per_column: bool, operands: tuple[int, ...], result: int
    ) -> None:
        self.instructions.append(UfuncInstruction(kind, loop, is_per_column, operands, result))

    def _array(self, number: int, value: Value) -> int:
        """Add the elements of an operand or result, array `number` of the program; the value's number."""
        program_value = UfuncValue(
            number, tensor_type(value).dtype.itemsize, self.tiling.varies_along_columns(value)
        )
        self._set_address(program_value, value)
        return self._add(program_value)

    def _set_address(self, program_value: UfuncValue, value: Value) -> None:
        """Set the strides of a program's value to those of `value`'s array."""
        stride = self.tiling.column_stride(value)
        if stride is None:
            raise Untraceable("has columns without a constant stride")
        program_value.column_stride = stride * program_value.item_bytes
        program_value.row_strides = [
            stride * program_value.item_bytes for stride in self.tiling.strides(value)[: self.tiling.row_rank]
        ]

    def _result_of(self, operation: Operation) -> Traced:
        operands = [self._traced[operand] for operand in operation.operands]
        if declaration_of(operation).movement is not None:  # one that keeps dimensions: see `IterationSpace`
            return operands[0]
        if operation.is_constant:
            value = operation.constant_value
            if value is None or not value.has_one_value:
                raise Untraceable("has a constant of several elements")
            return Traced(self, self.constant(value.array.flat[0]), value.array.dtype)
        view = Op.of(operation)
        if declaration_of(operation).reduces:
            return self._reduction(cast("Reduce", view), operands[0], operands[1])
        if operation.regions or not operands:
            raise Untraceable(f"has {operation.name}")
        return trace(view.bind(), tuple(operands))

    def _reduction(self, view: Reduce, operand: Traced, init_value: Traced) -> Traced:
        self.reduces = True
        analysis, dtype = view.analysis, operand.dtype
        reducer = analysis.monoid_reducer(view.ordering.accumulate)
        if (
            not self.values[operand.number].varies_by_column
            or dtype != tensor_type(view.operation.result).dtype
        ):
            raise Untraceable("reduces elements that are equal in all columns, or to another type")
        if analysis.is_float_minmax:
            element_type = plain_element_type(view.operation.result)
            return self._extreme(str(analysis.monoid), element_type, operand, init_value)
        if reducer is None or reducer.ufunc is None or reducer.dtypes[0] != dtype:
            raise Untraceable("reduces by a function that is not a NumPy ufunc")
        scratch = self._add(UfuncValue(ufunc_program.SCRATCH, dtype.itemsize, True))
        kind = ufunc_program.REDUCE if reducer.is_exact else ufunc_program.TREE_REDUCE
        reduced = self._emit_reduction(kind, reducer.ufunc, operand, scratch)
        return trace(reducer.ufunc, (init_value, reduced))

    def _extreme(self, name: str, element_type: ElementType, operand: Traced, init_value: Traced) -> Traced:
        """The maximum or minimum float of each row, where the init value is the identity."""
        kind, function = _EXTREMES[name]
        initial = self.values[init_value.number]
        identity_bits = _bits(operand.dtype.type(identity(name, element_type)))
        if initial.source != ufunc_program.CONSTANT or initial.offset_or_bits != identity_bits:
            raise Untraceable("starts a maximum or minimum with a value other than its identity")
        return self._emit_reduction(kind, function, operand, operand.number)

    def _emit_reduction(self, kind: int, function: np.ufunc, operand: Traced, scratch: int) -> Traced:
        loop = ufunc_program.pairwise_loop_of(function, operand.dtype)
        if loop is None:
            raise Untraceable(f"{function.__name__} has no loop for {operand.dtype}")
        value_number = self._add(UfuncValue(ufunc_program.SCRATCH, operand.dtype.itemsize, False))
        self._emit(kind, loop, True, (operand.number, scratch), value_number)
        return Traced(self, value_number, operand.dtype)

    def _write(self, number: int, result: Value) -> None:
        traced, dtype = self._traced[result], tensor_type(result).dtype
        value = self.values[traced.number]
        varies_by_column = self.tiling.varies_along_columns(result)
        if value.source == ufunc_program.SCRATCH and value.varies_by_column == varies_by_column:
            value.source = number
            self._set_address(value, result)
            return
        copy = ufunc_program.cast_loop_of(dtype, dtype)
        if copy is None:
            raise Untraceable("has elements that NumPy has no loop to copy")
        value_number = self._array(number, result)
        is_per_column = self.values[value_number].varies_by_column
        self._emit(ufunc_program.APPLY, (copy, 0), is_per_column, (traced.number,), value_number)


@functools.cache
def _exact_loops() -> frozenset[tuple[int, int]]:
    """The loops of `EXACT_UFUNCS`."""
    return frozenset([loop for function in EXACT_UFUNCS for loop in ufunc_loops.loops_of(function)])


def _is_exact(instruction: UfuncInstruction) -> bool:
    """Whether a loop over elements gives the same bits in place."""
    return instruction.kind == ufunc_program.APPLY and (
        instruction.loop in _exact_loops() or ufunc_program.is_own_loop(instruction.loop[0])
    )


def _bits(value: Any) -> int:
    """The bits of a scalar of NumPy as an integer."""
    if value.dtype.itemsize > 8:
        raise Untraceable("has a constant of more than 8 bytes")
    return int.from_bytes(value.tobytes().ljust(8, b"\0"), "little", signed=True)
