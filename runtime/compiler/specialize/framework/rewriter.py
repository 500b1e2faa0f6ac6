"""Runs rewrites: a forward pass over a region that simplifies each operation.

A rewrite is a function of an operation and the `Rewriter`. It returns the values that replace the operation's
results, or None if it does not apply. It creates operations through the Rewriter, which simplifies them at
once. A rewrite keeps every bit of every result (except for payloads and signs of NaNs), and never removes an
effect or an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....program.ir import (
    Attribute,
    Block,
    DenseElementsAttribute,
    Operation,
    Region,
    Value,
    constant_operation,
    tensor_type,
)
from ....program.ops.framework.attribute_kinds import DIMENSIONS
from ....program.ops.framework.declaration import declaration_of
from ....types import Array, TensorType, Type
from .constants import Budget, fold
from .intervals import Interval, Intervals
from .operation_classes import has_no_effect

MAX_REWRITE_DEPTH: Final = 40
"""Maximum nesting of rewrites of created operations, so that two rewrites that undo each other end."""

Rewrite = Callable[[Operation, "Rewriter"], "Value | Sequence[Value] | None"]
Preparation = Callable[[Operation, "Rewriter"], None]


class Rewriter:
    """Rebuilds blocks, operation by operation.

    Args:
        tensor_rewrites: the rewrites by the operation's name that apply if all operands and results are
            tensors of known sizes that are not quantized.
        other_rewrites: the rewrites that apply to any operands.
        preparations: called before an operation's regions are rebuilt.
        budget: for folding.
        only: the operations that a rewrite may apply to, in a region which is simplified otherwise, besides
            what these rewrites create or change; None: all operations.

    Attributes:
        known_constants: the constants among the visible values.
        intervals: bounds of integer values.
        rewrite_count: the number of operations that rewrites have replaced.
    """

    def __init__(
        self,
        tensor_rewrites: Mapping[str, Sequence[Rewrite]],
        other_rewrites: Mapping[str, Sequence[Rewrite]],
        preparations: Mapping[str, Preparation],
        budget: Budget,
        only: Callable[[Operation], bool] | None = None,
    ) -> None:
        self.known_constants: dict[Value, DenseElementsAttribute] = {}
        self.intervals = Intervals()
        self.rewrite_count = 0
        self._tensor_rewrites = tensor_rewrites
        self._other_rewrites = other_rewrites
        self._preparations = preparations
        self._values: dict[Value, Value] = {}
        self._block = Block()
        self._current: Operation | None = None
        self._nested = 0
        self._budget = budget
        self._only = only

    def visit(self, region: Region) -> None:
        """Rebuild a region, in place."""
        outer, self._block = self._block, region.block
        operations, self._block.operations = self._block.operations, []
        for operation in operations:
            self.insert(operation)
        self._block = outer

    def insert(self, operation: Operation) -> Sequence[Value]:
        """Append an operation or its simplification; the values of its results."""
        operands = operation.operands
        operation.replace_operands(self._values)
        if declaration_of(operation).is_terminator:
            self._block.operations.append(operation)
            return ()
        if operation.name in self._preparations:
            self._preparations[operation.name](operation, self)
        for region in operation.regions:
            self.visit(region)
        is_simplified = operation.operands is operands and self._is_other(operation)
        results = None if is_simplified else self._simplified(operation)
        if results is None:
            self._append_unchanged(operation)
            return operation.results
        self._values.update(zip(operation.results, results, strict=True))
        return results

    def _is_other(self, operation: Operation) -> bool:
        """Whether no rewrite created an operation, and it is none of those that they apply to alone."""
        if self._only is None or self._nested or operation.regions:
            return False
        return not self._only(operation)

    def insert_all(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self.insert(operation)

    def substitute(self, block: Block) -> None:
        """Replace operands of a block that was rebuilt earlier by their current replacements."""
        block.replace_uses(self._values)

    def current(self, value: Value) -> Value:
        """The value that has replaced `value`, or `value` itself."""
        return self._values.get(value, value)

    def create(
        self,
        name: str,
        operands: Iterable[Value],
        type: Type,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """Append an operation with one result, or its simplification; the value of the result."""
        assert self._current is not None
        operation = Operation(name, operands, [type], attributes, (), self._current.location)
        (result,) = self.insert(operation)
        return result

    def constant(self, type: TensorType, value: object) -> Value:
        """A constant whose elements are all `value`, or whose array is `value`."""
        assert self._current is not None
        (result,) = self.insert(constant_operation(type, value, self._current.location))
        return result

    def interval(self, value: Value) -> Interval | None:
        """The minimum and maximum of an integer tensor."""
        return self.intervals.of(value)

    def interval_along(self, indices: Value, index_vector_dim: int, component: int) -> Interval | None:
        """The minimum and maximum of a component of index vectors."""
        if tensor_type(indices).rank == index_vector_dim:
            return self.interval(indices)
        return self.intervals.along(indices, index_vector_dim, component)

    def _append_unchanged(self, operation: Operation) -> None:
        value = operation.constant_value
        if value is not None:
            self.known_constants[operation.result] = value
        self._block.operations.append(operation)

    def _simplified(self, operation: Operation) -> Sequence[Value] | None:
        """The values that replace the operation's results; None if no rewrite applies."""
        rewrites = self._other_rewrites.get(operation.name, ())
        tensor_rewrites = self._tensor_rewrites.get(operation.name)
        if tensor_rewrites is not None and has_static_unquantized_types(operation):
            rewrites = (*rewrites, *tensor_rewrites) if rewrites else tensor_rewrites
        if self._nested >= MAX_REWRITE_DEPTH or not (rewrites or operation.operands):
            return None
        outer, self._current = self._current, operation
        self._nested += 1
        try:
            replacements = self._folded(operation) or self._without_elements(operation)
            return replacements or self._rewritten(operation, rewrites)
        finally:
            self._current = outer
            self._nested -= 1

    def _rewritten(self, operation: Operation, rewrites: Sequence[Rewrite]) -> Sequence[Value] | None:
        for rewrite in rewrites:
            replacement = rewrite(operation, self)
            if replacement is None:
                continue
            results = (replacement,) if isinstance(replacement, Value) else replacement
            # A body may promote its operands: a value of another type cannot replace a result.
            if all(old.type == new.type for old, new in zip(operation.results, results, strict=True)):
                self.rewrite_count += 1
                return results
        return None

    def _without_elements(self, operation: Operation) -> Sequence[Value] | None:
        """Constants in place of results that have no elements."""
        if not (operation.operands and operation.results):
            return None
        for result in operation.results:
            if not isinstance(result.type, TensorType) or 0 not in result.type.shape:
                return None
        if not (has_static_unquantized_types(operation) and has_no_effect(operation)):
            return None
        self.rewrite_count += 1
        return [self.constant(tensor_type(result), 0) for result in operation.results]

    def _folded(self, operation: Operation) -> Sequence[Value] | None:
        """The constant that an operation on constants computes."""
        for operand in operation.operands:
            if operand not in self.known_constants:
                return None
        if not operation.operands:
            return None
        value = fold(operation, self.known_constants, self._budget)
        if value is None:
            return None
        self.rewrite_count += 1
        return (self.constant(value.type, value.array),)


def has_static_unquantized_types(operation: Operation) -> bool:
    """Whether all operands and results are tensors of known sizes that are not quantized."""
    for values in (operation.operands, operation.results):
        for value in values:
            type = value.type
            if not isinstance(type, TensorType) or not type.is_static_unquantized:
                return False
    return True


def is_static_unquantized(value: Value) -> bool:
    """Whether a value is a tensor of known sizes that is not quantized."""
    type = value.type
    return isinstance(type, TensorType) and type.is_static_unquantized


def defined_by(value: Value, name: str) -> Operation | None:
    """The operation of that name whose result a value is; None where `defining_operation` returns None."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != name:
        return None
    return owner if has_static_unquantized_types(owner) else None


def defining_operation(value: Value) -> Operation | None:
    """The operation whose result a value is; None if there is none.

    Also None if its types are not all static and unquantized: unknown sizes may be an error of the run, which
    a rewrite must not remove.
    """
    owner = value.owner
    return owner if isinstance(owner, Operation) and has_static_unquantized_types(owner) else None


def constant_array(value: Value) -> Array | None:
    """The array of a constant, or None."""
    attribute = value.constant_value
    return attribute.array if attribute is not None and is_static_unquantized(value) else None


def splat(value: Value) -> Any:
    """The element of a splat constant, as a NumPy scalar; None for any other value.

    A broadcast of one element of a constant counts as a splat.
    """
    array = constant_array(value)
    if array is None or not array.size or (array.size > 1 and any(array.strides)):
        return None
    return array[(0,) * array.ndim]


def is_splat_of(value: Value, number: float) -> bool:
    """Whether a value is a splat of a number; 0.0 and -0.0 differ."""
    scalar = splat(value)
    if scalar is None or scalar.dtype.kind == "c":
        return False
    element = float(scalar)
    return element == number and np.signbit(element) == np.signbit(number)


def dimensions(**values: Sequence[int]) -> dict[str, Attribute]:
    """Attributes that are lists of dimensions or sizes."""
    return {name: DIMENSIONS.encode(tuple(value)) for name, value in values.items()}
