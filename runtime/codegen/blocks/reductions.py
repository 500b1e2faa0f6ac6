"""Reductions of small tensors in the order of their references: by adjacent pairs, level by level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Operation
from ..coverage import ViewOf
from ..llvm.values import Value
from .elements import Elements
from .emitter import EMIT_RULES, BlockEmitter, Bound, EmitRule, all_small, block_problem

_Items = list[Value]
"""An element of each of the operands that are reduced together."""


def _problem(operation: Operation, view_of: ViewOf) -> str | None:
    reason = all_small((*operation.operands, *operation.results))
    if reason is not None:
        return reason
    view = view_of(operation)
    return order_problem(view) or block_problem(view.body.block, view_of)


def order_problem(view: Any) -> str | None:
    """Why a reduction is not made in its own types by adjacent pairs, or None where it is."""
    if view.ordering.reduction_tree != "blocked":
        return f"reduces by the tree {view.ordering.reduction_tree!r}"
    types = [type.element_type for type in view.inputs]
    if types != list(view.analysis.element_types) or types != [type.element_type for type in view.results]:
        return "its body has other element types"
    fold = view.analysis.monoid_reducer(view.ordering.accumulate)
    if fold is not None and list(fold.dtypes) != [type.dtype for type in view.results]:
        return "accumulates in a wider type"
    return None


def _emit(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    view = emitter.view_of(operation)
    count = len(operation.results)
    items = [emitter.elements(operand).values for operand in operation.operands]
    initial: _Items = [values[0] for values in items[count:]]
    folded: list[_Items] = []
    for places in _places(view.inputs[0].shape, view.dimensions):
        level = [[values[place] for values in items[:count]] for place in places]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            last = level[len(level) // 2 * 2 :]
            level = [_combined(emitter, view.body.block, *pair) for pair in pairs] + last
        folded.append(_combined(emitter, view.body.block, initial, level[0]))
    return [Elements(tuple([results[k] for results in folded])) for k in range(count)]


def _places(shape: Sequence[int], dimensions: Sequence[int]) -> list[list[int]]:
    """For each element of the result the places of those that it is made of, in order."""
    kept = [d for d in range(len(shape)) if d not in dimensions]
    numbers = np.arange(math.prod(shape)).reshape(shape).transpose(*kept, *sorted(dimensions))
    count = math.prod(shape[d] for d in dimensions)
    return numbers.reshape(-1, count).tolist()


def _combined(emitter: BlockEmitter, body: Any, left: _Items, right: _Items) -> _Items:
    """What a body makes of two items."""
    results = emitter.emit_block(body, [Elements((value,)) for value in (*left, *right)])
    return [result.scalar for result in results if isinstance(result, Elements)]


EMIT_RULES["stablehlo.reduce"] = EmitRule(_problem, _emit)
