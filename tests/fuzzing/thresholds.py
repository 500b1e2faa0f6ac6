"""What random programs are made of where fast paths begin.

Sizes are drawn around the numbers by which the code decides, operands are views, and products, which all ways
of running share, are compared with wider sums.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nimblehlo.ir import Value
from nimblehlo.ops.framework.verify import view_of
from nimblehlo.types import COMPLEX, FLOAT, ElementType, TensorType

if TYPE_CHECKING:
    from .generator import Generator, Program

Array = np.ndarray[Any, Any]

LARGEST = 5000
"""Larger sizes take too long."""


@functools.cache
def sizes() -> tuple[int, ...]:
    """The numbers of decisions that may be sizes, those before and behind them, and few."""
    from tests.boundaries import sources, table

    numbers = {
        int(decision.value)
        for name, decision in sources.decisions().items()
        if 2 < decision.value <= LARGEST and table.crossings().get(name) != "fixed"
    }
    return (1, 2, 2, 3, *sorted({number + step for number in numbers for step in (-1, 0, 1)}))


def as_view(g: Generator, type: TensorType) -> Value | None:
    """A tensor of a type that another one is moved to; None of rank 0, and of quantized types."""
    rank = type.rank
    if not rank or not isinstance(type.element_type, ElementType):
        return None
    kind = g.random.choice(("transpose", "slice", "reverse", "broadcast"))
    if kind == "transpose":
        order = g.random.sample(range(rank), rank)
        source = [0] * rank
        for dimension, taken in enumerate(order):
            source[taken] = type.shape[dimension]
        operand = g.constant(type.with_shape(source))
        return g.add("stablehlo.transpose", [operand], [type], permutation=tuple(order))[0]
    if kind == "slice":
        steps = [g.random.choice((1, 1, 2, 3)) for _ in type.shape]
        starts = [g.random.choice((0, 1, 2)) for _ in type.shape]
        limits = [start + max(size - 1, 0) * step + (size > 0) for start, size, step
                  in zip(starts, type.shape, steps, strict=True)]  # fmt: skip
        operand = g.constant(type.with_shape([limit + g.random.choice((0, 1)) for limit in limits]))
        bounds = {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": tuple(steps)}
        return g.add("stablehlo.slice", [operand], [type], **bounds)[0]
    if kind == "reverse":
        dimensions = tuple(g.random.sample(range(rank), g.random.randrange(1, rank + 1)))
        return g.add("stablehlo.reverse", [g.constant(type)], [type], dimensions=dimensions)[0]
    kept = sorted(g.random.sample(range(rank), g.random.randrange(rank)))
    operand = g.constant(type.with_shape([type.shape[dimension] for dimension in kept]))
    return g.add("stablehlo.broadcast_in_dim", [operand], [type], broadcast_dimensions=tuple(kept))[0]


def wrong_product(program: Program, values: Mapping[Value, Array]) -> tuple[str, str] | None:
    """The name of an operation that multiplies, and why its result is not right; None where all are."""
    from tests.boundaries.products import Setting, differs

    for operation in program.block.operations:
        if operation.name != "stablehlo.dot_general" or operation.result not in values:
            continue
        view: Any = view_of(operation)
        types = [view.lhs.element_type, view.rhs.element_type, view.result.element_type]
        if types[0] != types[1] or types[0] != types[2] or not isinstance(types[0], ElementType):
            continue
        if view.algorithm is not None:
            continue
        lhs, rhs = (values[operand] for operand in operation.operands)
        if types[0].category & (FLOAT | COMPLEX) and not _is_moderate(lhs, rhs):
            continue
        left, right = view.stacker(lhs.shape, rhs.shape)(lhs, rhs)
        setting = Setting(types[0].name, types[2].name, 1, 0, len(left), ("plain", "plain"))
        got = values[operation.result].reshape(len(left), left.shape[1], right.shape[2])
        reason = differs(setting, left, right, got)
        if reason is not None:
            return operation.name, reason
    return None


def _is_moderate(*arrays: Array) -> bool:
    """Whether products of numbers neither overflow nor vanish, in f32."""
    for array in arrays:
        magnitudes = np.abs(array.astype(np.complex128))
        some = magnitudes[magnitudes != 0]
        if not np.isfinite(some).all() or some.max(initial=0) > 1e12 or some.min(initial=1) < 1e-12:
            return False
    return True
