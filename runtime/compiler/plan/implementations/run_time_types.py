"""Operations with sizes that are unknown before the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....errors import ExecutionError, VerifyError
from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ....program.ops.framework.memory_limit import require_free_memory
from ....program.ops.framework.verify import verify_inferred
from ....types import TensorType, Type

MAX_BINDINGS = 64
"""Combinations of operand sizes whose verification a step caches."""


def has_unknown_sizes(view: Op) -> bool:
    """Whether an operand or result has a size that is not known before the run."""
    values = (*view.operation.operands, *view.operation.results)
    return any(isinstance(value.type, TensorType) and not value.type.is_static for value in values)


class RunTimeTyped:
    """The reference of an operation, which first verifies its constraints for the sizes of the operands.

    Args:
        view: the operation.
        bind: returns the function to call for a view with known sizes.
    """

    __slots__ = ("bind", "bound", "operation", "ordering")

    def __init__(self, view: Op, bind: Callable[[Op], Callable[..., Any]]) -> None:
        self.operation = view.operation
        self.ordering = view.ordering
        self.bind = bind
        self.bound: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *operands: Any, **regions: Any) -> Any:
        operand_shapes = tuple([np.shape(operand) for operand in operands])
        function = self.bound.get(operand_shapes)
        if function is None:
            if len(self.bound) >= MAX_BINDINGS:
                self.bound.clear()
            function = self.bound[operand_shapes] = self.bind(self.verified_view(operands))
        return function(*operands, **regions)

    def verified_view(self, operands: Sequence[object]) -> Op:
        """The operation's view with known sizes.

        Raises:
            ExecutionError: a constraint does not hold; the specification leaves the behaviour undefined.
        """
        from ...specialize.shapes import more_static, result_types

        declared = self.operation
        types = [
            _actual(value.type, operand) for value, operand in zip(declared.operands, operands, strict=True)
        ]
        source = Operation("", (), types)
        declared_types = [result.type for result in declared.results]
        try:
            view = Op.of(_rebuilt(declared, source, declared_types))
            view.verify()
            verify_inferred(view)
            inferred = result_types(view.operation)
            if inferred:
                result_types_ = list(map(more_static, declared_types, inferred))
                view = Op.of(_rebuilt(declared, source, result_types_))
                view.verify()
            require_free_memory(declared, *(result.type for result in view.operation.results))
        except VerifyError as error:
            raise ExecutionError(
                error.reason, operation=error.operation, label=error.label, location=error.location
            ) from None
        view.ordering = self.ordering
        return view


def _rebuilt(operation: Operation, source: Operation, result_types: Sequence[Type]) -> Operation:
    """The operation on the results of `source`."""
    return Operation(
        operation.name,
        source.results,
        result_types,
        operation.attributes,
        operation.regions,
        operation.location,
    )


def _actual(type: Type, value: Any) -> Type:
    return type.with_shape(np.shape(value)) if isinstance(type, TensorType) else type
