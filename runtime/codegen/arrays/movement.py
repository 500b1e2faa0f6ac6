"""Operations that only move elements: boxes of their operands are copied to boxes of the result.

Which ones, their references find out on the elements' numbers, so that no rule of theirs is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir import Operation
from ..blocks import Bound, Elements, Storage
from ..blocks.elements import element_count, row_major_strides
from ..coverage import ViewOf
from ..llvm.values import I64
from .boxes import Side, copy
from .emitter import EMIT_RULES, ArrayEmitter, EmitRule, is_single

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast", "broadcast_in_dim", "concatenate", "pad", "reverse", "slice", "transpose",
    )
)  # fmt: skip

MAX_NUMBERED_ELEMENTS = 1 << 16
"""An operand with more elements is not numbered to find out where its elements go."""


class _Box(NamedTuple):
    """Elements of the result, and those of an operand that go there."""

    operand: int
    first: int
    steps: list[int]
    source_first: int
    source_strides: list[int]
    sizes: list[int]


def _problem(operation: Operation, view_of: ViewOf) -> str | None:
    if sum(element_count(operand.type) for operand in operation.operands) > MAX_NUMBERED_ELEMENTS:
        return "moves elements of a large tensor"
    return None


def _boxes(operation: Operation, view_of: ViewOf) -> list[_Box]:
    """What is copied, one after the other."""
    numbered, firsts, first = [], [], 0
    for operand in operation.operands:
        kind: Any = operand.type
        count = element_count(kind)
        numbered.append(np.arange(first, first + count).reshape(kind.shape))
        firsts.append(first)
        first += count
    moved = np.asarray(view_of(operation).reference(*numbered))
    owners = np.searchsorted(firsts, moved, side="right") - 1
    boxes: list[_Box] = []
    for number, operand in enumerate(operation.operands):
        places = owners == number
        if not places.any():
            continue
        box = _box(number, places, moved, firsts[number])
        if box is not None:
            boxes.append(box)
            continue
        # A padding value goes where the other operands do not: it is written first.
        assert is_single(operand.type)
        everywhere = _box(number, np.ones_like(places), np.full_like(moved, firsts[number]), firsts[number])
        assert everywhere is not None
        boxes.insert(0, everywhere)
    return boxes


def _box(number: int, places: Any, moved: Any, first: int) -> _Box | None:
    """The box of the result's elements at some places, None where they are none."""
    at = [
        np.flatnonzero(places.any(axis=tuple([o for o in range(places.ndim) if o != d])))
        for d in range(places.ndim)
    ]
    sizes = [len(indices) for indices in at]
    if np.count_nonzero(places) != np.prod(sizes, dtype=np.int64):
        return None
    strides = [int(indices[1] - indices[0]) if len(indices) > 1 else 1 for indices in at]
    if any((np.diff(indices) != stride).any() for indices, stride in zip(at, strides, strict=True)):
        return None
    taken = [slice(int(indices[0]), None, stride) for indices, stride in zip(at, strides, strict=True)]
    lengths = tuple([slice(size) for size in sizes])
    sources = moved[tuple(taken)][lengths] - first
    start = int(sources.reshape(-1)[0])
    steps = [
        int(sources[tuple(1 if o == d else 0 for o in range(len(sizes)))]) - start if size > 1 else 0
        for d, size in enumerate(sizes)
    ]
    grid = start + sum(
        (np.arange(size) * step).reshape([-1 if o == d else 1 for o in range(len(sizes))])
        for d, (size, step) in enumerate(zip(sizes, steps, strict=True))
    )
    if (np.broadcast_to(grid, sources.shape) != sources).any():
        return None
    row_major = row_major_strides(moved.shape)
    target = sum(int(indices[0]) * step for indices, step in zip(at, row_major, strict=True))
    target_steps = [stride * step for stride, step in zip(strides, row_major, strict=True)]
    return _Box(number, target, target_steps, start, steps, sizes)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    kind: Any = operation.result.type
    bounds = [emitter.bound[operand] for operand in operation.operands]
    boxes = _boxes(operation, emitter.view_of)
    if is_single(kind):
        last = boxes[-1]
        return [Elements((emitter.at(bounds[last.operand], I64(last.source_first)),))]
    storage = emitter.allocate_result(operation.result)
    for box in boxes:
        target = Side(storage, I64(box.first), box.steps)
        source = Side(bounds[box.operand], I64(box.source_first), box.source_strides)
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
EMIT_RULES.update(dict.fromkeys(_MOVES, EmitRule(_problem, _emit)))
