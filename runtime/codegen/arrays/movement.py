"""Operations that only move elements: boxes of their operands are copied to boxes of the result."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Operation
from ..blocks import Bound, Elements, Storage
from ..blocks.movement import MOVES, boxes
from ..coverage import ViewOf
from ..llvm.values import I64
from .boxes import Side, copy
from .emitter import EMIT_RULES, ArrayEmitter, EmitRule, is_single


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    bounds = [emitter.bound[operand] for operand in operation.operands]
    moved = boxes(emitter.view_of(operation))
    if is_single(operation.result.type):
        last = moved[-1]
        return [Elements((emitter.at(bounds[last.operand], I64(last.source.offset)),))]
    storage = emitter.allocate_result(operation.result)
    for box in moved:
        target = Side(storage, I64(box.target.offset), box.target.strides)
        source = Side(bounds[box.operand], I64(box.source.offset), box.source.strides)
        copy(emitter, target, source, box.sizes)
    return [storage]


def _no_problem(operation: Operation, view_of: ViewOf) -> str | None:
    return None


def _emit_alias(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    """The operands' memory, seen as the results' types."""
    results: list[Bound] = []
    for operand, result in zip(operation.operands, operation.results, strict=True):
        bound, kind = emitter.bound[operand], result.type
        results.append(Storage(kind, bound.pointer) if isinstance(bound, Storage) else bound)  # type: ignore[arg-type]
    return results


_ALIASES = ("stablehlo.optimization_barrier", "stablehlo.reshape")
EMIT_RULES.update(dict.fromkeys(_ALIASES, EmitRule(_no_problem, _emit_alias, is_outlined=False)))
EMIT_RULES.update(dict.fromkeys(MOVES, EmitRule(_no_problem, _emit)))
