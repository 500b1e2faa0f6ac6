"""Constants, and operations that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from llvmlite import ir

from ....kernels.launch.cache_files import digest
from ....program.ir import DenseElementsAttribute, Operation, tensor_type
from ....program.ir import Value as IrValue
from ....program.ir.affine import row_major_offset
from ....program.ops.framework.declaration import Op
from ....program.ops.shape.movement import MovementMap, MovementOp
from ....types import Array, TensorType
from ..llvm.functions import opaque, outside_address
from ..llvm.values import I8, I64, constant
from .boxes import Side, copy, copy_rows
from .elements import Elements, Storage
from .emitter import Binding, EmitRule, Emitter, Registers, Target, check_nothing

MAX_CONSTANT_BYTES = 1 << 10
"""Maximum bytes of a constant that becomes part of the code. Code refers to others by symbols, since LLVM IR
has three letters for a byte; variables index larger tables, so LLVM would fold no element of theirs."""

MAX_ROW_ELEMENTS = 8
"""Maximum elements of short rows, which are copied together."""


def is_splat(operation: Operation) -> bool:
    """Whether an operation is a constant whose elements are equal: loops need not read them."""
    value = operation.constant_value
    return value is not None and value.is_splat


def outside_constant(operation: Operation) -> tuple[str, Array] | None:
    """The symbol and the elements of a constant that is too large for the code; None for other operations."""
    value = operation.constant_value
    if value is None or value.array.nbytes <= MAX_CONSTANT_BYTES:
        return None
    array = np.require(value.array, requirements=("C", "ALIGNED"))
    return f"constant_{digest(array.tobytes()).hex()[:32]}", array


def _emit_constant(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    attribute = operation.attributes["value"]
    assert isinstance(attribute, DenseElementsAttribute)
    outside = outside_constant(operation)
    if outside is not None:
        symbol, array = outside
        address = outside_address(emitter.builder, symbol, array.nbytes)
        return [Storage(tensor_type(operation.result), address)]
    return [constant_tensor(emitter, tensor_type(operation.result), attribute.array)]


def _emit_iota(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    return [constant_tensor(emitter, tensor_type(operation.result), Op.of(operation).bind()())]


def constant_tensor(emitter: Emitter, result_type: TensorType, array: Array) -> Binding:
    """A known tensor: LLVM values, or a constant in memory."""
    if emitter.mode.holds(result_type):
        return Elements(tuple([constant(result_type.plain_element_type, item) for item in array.reshape(-1)]))
    content = bytearray(np.ascontiguousarray(array).tobytes())
    type = ir.ArrayType(I8, len(content))
    module = emitter.builder.module
    data = ir.GlobalVariable(module, type, module.get_unique_name("data"))
    data.linkage, data.global_constant, data.initializer = "internal", True, ir.Constant(type, content)
    data.align = 64
    return Storage(result_type, opaque(emitter.builder.gep(data, [I64(0), I64(0)], inbounds=True)))


def _emit_move(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    """Copy the boxes of the result in order; where boxes overlap, the first map applies."""
    result_type = tensor_type(operation.result)
    maps = [each for each in MovementOp.of(operation).movement_maps() or () if 0 not in each.sizes]
    target = (
        Registers(result_type)
        if emitter.mode.holds(result_type)
        else emitter.allocate_result(operation.result)
    )
    for boxes in _together(list(reversed(maps))):
        sides = [_sides(emitter, operation, target, box) for box in boxes]
        if len(boxes) == 1:
            copy(emitter, *sides[0], boxes[0].sizes)
        else:
            copy_rows(emitter, sides, [box.sizes for box in boxes])
    return [emitter.result(target)]


def _sides(emitter: Emitter, operation: Operation, target: Target, box: MovementMap) -> tuple[Side, Side]:
    """Where a box of the result is, and where its elements are read."""
    result_shape = tensor_type(operation.result).shape
    operand = operation.operands[box.operand]
    to = row_major_offset(result_shape, box.result_indices, len(result_shape))
    at = row_major_offset(tensor_type(operand).shape, box.indices, len(result_shape))
    return Side(target, to.offset, to.strides), Side(emitter.bindings[operand], at.offset, at.strides)


def _together(boxes: Sequence[MovementMap]) -> list[list[MovementMap]]:
    """Neighbouring boxes of as many rows, each of few elements: one loop over rows copies them."""
    groups: list[list[MovementMap]] = []
    for box in boxes:
        others = groups[-1] if groups else []
        elements = sum(one.sizes[-1] for one in (*others, box)) if box.sizes else MAX_ROW_ELEMENTS + 1
        if others and others[0].sizes[:-1] == box.sizes[:-1] and elements <= MAX_ROW_ELEMENTS:
            others.append(box)
        else:
            groups.append([box])
    return groups


def _emit_alias(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    """The operands' memory, seen as the results' types."""
    results: list[Binding] = []
    for operand, result in zip(operation.operands, operation.results, strict=True):
        binding = emitter.bindings[operand]
        if isinstance(binding, Storage):
            binding = Storage(tensor_type(result), binding.pointer)
        results.append(binding)
    return results


def _results(operation: Operation) -> Sequence[IrValue]:
    return operation.results


CONSTANT: Final = EmitRule(check_nothing, _emit_constant, _results, is_outlined=False, takes_any_size=True)
IOTA: Final = EmitRule(check_nothing, _emit_iota, _results, is_outlined=False)
ALIAS: Final = EmitRule(check_nothing, _emit_alias, _results, is_outlined=False, takes_any_size=True)
FORWARD: Final = EmitRule(check_nothing, _emit_alias, is_outlined=False)
MOVE: Final = EmitRule(check_nothing, _emit_move, _results)
