"""Constants, and operations that only move elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llvmlite import ir

from ...ir import DenseElementsAttribute, Operation, tensor_type
from ...ir import Value as IrValue
from ...ir.affine import row_major_offset
from ...types import Array, TensorType
from ..llvm.functions import opaque
from ..llvm.values import I64, constant
from .boxes import Side, copy
from .elements import Elements, Storage
from .emitter import EMIT_RULES, Bound, EmitRule, Emitter, Registers, accept_always

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast", "broadcast_in_dim", "concatenate", "pad", "reverse", "slice", "transpose",
    )
)  # fmt: skip
"""Operations whose result's elements are elements of their operands, whatever the values."""


def is_splat(operation: Operation) -> bool:
    """Whether an operation is a constant whose elements are equal: loops need not read them."""
    if operation.name != "stablehlo.constant":
        return False
    value = operation.attributes["value"]
    return isinstance(value, DenseElementsAttribute) and value.is_splat


def _emit_constant(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    attribute = operation.attributes["value"]
    assert isinstance(attribute, DenseElementsAttribute)
    return [constant_tensor(emitter, tensor_type(operation.result), attribute.array)]


def _emit_iota(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    return [constant_tensor(emitter, tensor_type(operation.result), emitter.view_of(operation).reference())]


def constant_tensor(emitter: Emitter, kind: TensorType, array: Array) -> Bound:
    """A known tensor: LLVM values, or a constant in memory."""
    if emitter.mode.holds(kind):
        return Elements(tuple([constant(kind.plain_element_type, item) for item in array.reshape(-1)]))
    content = bytearray(np.ascontiguousarray(array).tobytes())
    type = ir.ArrayType(ir.IntType(8), len(content))
    module = emitter.builder.module
    data = ir.GlobalVariable(module, type, module.get_unique_name("data"))
    data.linkage, data.global_constant, data.initializer = "internal", True, ir.Constant(type, content)
    data.align = 64
    return Storage(kind, opaque(emitter.builder.gep(data, [I64(0), I64(0)], inbounds=True)))


def _emit_move(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    """Copy the boxes of the result in order; where boxes overlap, the first map applies."""
    kind = tensor_type(operation.result)
    maps = [one for one in emitter.view_of(operation).movement_maps() if 0 not in one.sizes]
    target = Registers(kind) if emitter.mode.holds(kind) else emitter.allocate_result(operation.result)
    for one in reversed(maps):
        operand = operation.operands[one.operand]
        operand_shape = tensor_type(operand).shape
        to = row_major_offset(kind.shape, one.result_indices, kind.rank)
        at = row_major_offset(operand_shape, one.indices, kind.rank)
        source = Side(emitter.bound[operand], at.offset, at.strides)
        copy(emitter, Side(target, to.offset, to.strides), source, one.sizes)
    return [emitter.result(target)]


def _emit_alias(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    """The operands' memory, seen as the results' types."""
    results: list[Bound] = []
    for operand, result in zip(operation.operands, operation.results, strict=True):
        bound = emitter.bound[operand]
        if isinstance(bound, Storage):
            bound = Storage(tensor_type(result), bound.pointer)
        results.append(bound)
    return results


def _results(operation: Operation) -> Sequence[IrValue]:
    return operation.results


EMIT_RULES["stablehlo.constant"] = EmitRule(accept_always, _emit_constant, _results, is_outlined=False)
EMIT_RULES["stablehlo.iota"] = EmitRule(accept_always, _emit_iota, _results, is_outlined=False)
EMIT_RULES["stablehlo.reshape"] = EmitRule(accept_always, _emit_alias, _results, is_outlined=False)
EMIT_RULES["stablehlo.optimization_barrier"] = EmitRule(accept_always, _emit_alias, is_outlined=False)
EMIT_RULES.update(dict.fromkeys(_MOVES, EmitRule(accept_always, _emit_move, _results)))
