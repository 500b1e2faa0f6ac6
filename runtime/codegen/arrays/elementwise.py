"""Elementwise operations, in chains, constants and iotas on small arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ...ir import Operation
from ...ir import Value as IrValue
from ..blocks import Bound, Elements, Storage
from ..coverage import ViewOf, emits
from ..elementwise.elementwise import emit
from ..llvm.functions import opaque
from ..llvm.values import I64, Value, constant, constant_element
from .chains import is_splat
from .emitter import ELEMENTWISE, EMIT_RULES, ArrayEmitter, EmitRule, is_single


def _problem(operation: Operation, view_of: ViewOf) -> str | None:
    if len(operation.results) != 1 or operation.regions or not emits(operation):
        return "is not generated"
    shape = operation.result.type.shape  # type: ignore[union-attr]
    for operand in operation.operands:
        if not is_single(operand.type) and operand.type.shape != shape:  # type: ignore[union-attr]
            return "operands of several shapes"
    return None


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    kind: Any = operation.result.type
    if is_single(kind):
        values = [emitter.element(operand) for operand in operation.operands]
        return [Elements((emit(emitter.builder, operation, values),))]
    storage = emitter.allocate_result(operation.result)
    with emitter.loop(kind.size) as index:
        computed: dict[IrValue, Value] = {}
        for one in emitter.chain(operation):
            if is_splat(one):
                computed[one.result] = constant_element(one)
                continue
            values = [
                computed[operand] if operand in computed else emitter.at(emitter.bound[operand], index)
                for operand in one.operands
            ]
            computed[one.result] = emit(emitter.builder, one, values)
        emitter.put(storage, index, computed[operation.result])
    return [storage]


def _no_problem(operation: Operation, view_of: ViewOf) -> str | None:
    return None


def _emit_constant(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    attribute: Any = operation.attributes["value"]
    return [constant_array(emitter, operation.result.type, attribute.array)]


def _emit_iota(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    return [constant_array(emitter, operation.result.type, emitter.view_of(operation).reference())]


def constant_array(emitter: ArrayEmitter, kind: Any, array: Any) -> Bound:
    """A known tensor: an LLVM value, or a constant in memory."""
    if is_single(kind):
        return Elements((constant(kind.element_type, np.asarray(array).reshape(-1)[0]),))
    content = bytearray(np.ascontiguousarray(array).tobytes())
    type = ir.ArrayType(ir.IntType(8), len(content))
    module = emitter.builder.module
    data = ir.GlobalVariable(module, type, module.get_unique_name("data"))
    data.linkage, data.global_constant, data.initializer = "internal", True, ir.Constant(type, content)
    data.align = 64
    return Storage(kind, opaque(emitter.builder.gep(data, [I64(0), I64(0)], inbounds=True)))


EMIT_RULES[ELEMENTWISE] = EmitRule(_problem, _emit)
EMIT_RULES["stablehlo.constant"] = EmitRule(_no_problem, _emit_constant, is_outlined=False)
EMIT_RULES["stablehlo.iota"] = EmitRule(_no_problem, _emit_iota, is_outlined=False)
