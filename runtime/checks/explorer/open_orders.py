"""The operations whose order the specification does not define."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from ...program.ir import Function, Operation
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.facts import ORDERS_WITH_OPTIONS, OpenOrder
from ...program.ops.indexing.index_space import batch_sizes
from ...program.ops.reduction.reducer import Body
from ...types import COMPLEX, DYNAMIC, FLOAT, TensorType

OrderOption = Literal["scatter_schedule", "reduction_tree"]

_IDEMPOTENT: Final = frozenset({"minimum", "maximum", "and", "or"})
_IDENTITIES: Final = {"add": 0, "multiply": 1, "xor": 0}


def order_option_of(view: Any) -> OrderOption | None:
    """The option that determines the order of an operation; None if all orders give the same bits, all NaNs
    being equal.
    """
    if view.open_order is OpenOrder.SCATTER_SCHEDULE:
        return None if _is_ordered(view) or view.analysis.is_exact else "scatter_schedule"
    if view.open_order is OpenOrder.REDUCTION_TREE:
        return None if _is_tree_independent(view) else "reduction_tree"
    return None


def _is_ordered(view: Any) -> bool:
    """Whether a scatter cannot update an element twice, because it has at most one window."""
    windows = batch_sizes(view.scatter_indices.shape, view.index_vector_dim)
    return DYNAMIC not in windows and int(np.prod(windows, dtype=object)) <= 1


def _is_tree_independent(view: Any) -> bool:
    """Whether all trees of an operation give the same bits; init values may occur in them several times."""
    body: Body = view.analysis
    if not body.is_exact:
        return False
    if body.monoid in _IDEMPOTENT:
        return True
    init_value = view.operation.operands[-1]
    constant = init_value.constant_value
    return constant is not None and bool(constant.array[()] == _IDENTITIES.get(body.monoid or ""))


def contains_open_order(operation: Operation) -> bool:
    """Whether an operation in the regions of another one has an open order."""
    return any(
        order_option_of(Op.of(inner)) is not None
        for region in operation.regions
        for inner in region.walk()
        if declaration_of(inner).open_order in ORDERS_WITH_OPTIONS
    )


def max_updates(function: Function) -> int:
    """The largest number of updates of a scatter; unknown sizes count as 1."""
    sizes = [0]
    for operation in function.body.walk() if function.body else ():
        if declaration_of(operation).open_order is OpenOrder.SCATTER_SCHEDULE:
            type = operation.operands[-1].type
            assert isinstance(type, TensorType)
            sizes.append(int(np.prod([max(size, 1) for size in type.shape], dtype=object)))
    return max(sizes)


def unexplored(function: Function) -> dict[str, int]:
    """The number of operations, by name, whose order is open but has no option."""
    counts: dict[str, int] = {}
    for operation in function.body.walk() if function.body else ():
        if _is_unexplored(operation):
            counts[operation.name] = counts.get(operation.name, 0) + 1
    return counts


def _is_unexplored(operation: Operation) -> bool:
    order = declaration_of(operation).open_order
    if order is OpenOrder.DRAWS:
        return True
    if order is OpenOrder.EQUAL_ELEMENTS:
        return not getattr(Op.of(operation), "is_stable", True)
    return order is OpenOrder.SUMS and any(
        isinstance(result.type, TensorType) and result.type.category & (FLOAT | COMPLEX)
        for result in operation.results
    )
