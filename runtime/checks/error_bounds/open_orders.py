"""Finds the elements of scatters that depend on the order of updates, which the specification leaves open.

Sums, products and similar reductions are not marked: rounding rules bound the effect of their order. Bodies
that overwrite, or that are neither commutative nor associative, give results that differ as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...api import Executable, compile
from ...options import Options
from ...program.ir import Operation, captured_values, operation_module
from ...program.ops.framework.declaration import Op
from ...program.ops.reduction.bodies import monoid
from ...types import Array
from .reduction_bounds import Bounds, reduction_rule
from .ulps import distance, is_inexact

_ORDERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"scatter_schedule": "reverse", "reduction_tree": "left"},
    {"scatter_schedule": ("random", 1), "reduction_tree": "right"},
    {"scatter_schedule": ("random", 2), "reduction_tree": "balanced"},
    {"scatter_schedule": ("random", 3), "reduction_tree": "left"},
)
"""The first is ours. Of two updates each is the last one in one of them."""


def order_rule(view: Op) -> Callable[[Sequence[Array], Sequence[Array]], list[Array | None]] | None:
    """Marks elements that depend on the order; None for operations on which no order is open."""
    operation = view.operation
    if not view.terms_depend_on_data:
        return None
    if monoid(operation.regions[-1]) is not None or captured_values(operation.regions):
        return None
    rounding = reduction_rule(operation)

    def marks(operands: Sequence[Array], _: Sequence[Array]) -> list[Array | None]:
        # The results that are given may have errors added.
        plain, *others = [[np.asarray(one) for one in run(*operands)] for run in _executables(operation)]
        bounds: Bounds = [None for _ in plain] if rounding is None else list(rounding(operands, plain))
        masks = [np.zeros(one.shape, np.bool_) for one in plain]
        for other in others:
            for mask, a, b, bound in zip(masks, plain, other, bounds, strict=True):
                mask |= _differs(a, b, bound)
        return [mask if mask.any() else None for mask in masks]

    return marks


def _differs(a: Array, b: Array, bound: Array | None) -> Array:
    if not is_inexact(a.dtype):
        return np.asarray(a != b)
    return np.asarray(distance(a, b) > (0.0 if bound is None else bound))


@lru_cache(maxsize=64)
def _executables(operation: Operation) -> list[Executable]:
    """Executables of the operation alone, one for each order."""
    module = operation_module(operation)
    return [compile(module, options=Options(compile="never", **order)) for order in _ORDERS]
