"""What random programs are made of where fast paths begin.

Sizes are drawn around the numbers by which the code decides, operands are views, and products, which all
modes share, are compared with wider sums.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nimblehlo.program.ir import Value
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import COMPLEX, FLOAT, ElementType

if TYPE_CHECKING:
    from nimblehlo.checks.fuzzing.generator import RandomProgram

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


def wrong_product(program: RandomProgram, values: Mapping[Value, Array]) -> tuple[str, str] | None:
    """The name of an operation that multiplies, and why its result is not right; None if all are."""
    from tests.boundaries.products import Setting, differs

    for operation in program.block.operations:
        if operation.name != "stablehlo.dot_general" or operation.result not in values:
            continue
        view: Any = Op.of(operation)
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
