"""Interval analysis of integers: bounds of the values that a tensor may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from ....program.ir import IntegerAttribute, Operation, Value
from ....program.ops.elementwise.base import Elementwise
from ....program.ops.framework.declaration import Op, declaration_of
from ....program.ops.framework.traits import Movement
from ....types import BOOLEAN, INTEGER, ElementType, TensorType, storage_range
from .constants import MAX_ELEMENTS

if TYPE_CHECKING:
    from ....program.ops.shape.movement import MovementOp

Interval = tuple[int, int]
Bounds = Callable[[Value], Interval | None]
"""Gives the bounds of an operand."""
Rule = Callable[[Operation, Bounds], Interval | None]
MAX_DEPTH: Final = 24
"""Maximum depth of definitions that are followed."""


class Intervals:
    """Bounds of values, which are cached.

    `declare` sets the bounds of a block's argument, such as the counter of a loop.
    """

    def __init__(self) -> None:
        self._cache: dict[Value, Interval] = {}

    def declare(self, value: Value, interval: Interval) -> None:
        """Record the bounds of a value."""
        self._cache[value] = interval

    def of(self, value: Value, depth: int = 0) -> Interval | None:
        """The minimum and maximum of a value; None if it is not an integer tensor.

        A tensor without elements has the bounds of its element type.
        """
        cached = self._cache.get(value)
        if cached is not None:
            return cached
        element_type = _integer_type(value)
        if element_type is None:
            return None
        type_range = storage_range(element_type)
        owner = value.owner
        if not isinstance(owner, Operation) or depth > MAX_DEPTH:
            return type_range
        low, high = self._derived(owner, depth) or type_range
        # A value that may leave the range of its type wraps around, so it has no bounds.
        interval = (low, high) if type_range[0] <= low <= high <= type_range[1] else type_range
        self._cache[value] = interval
        return interval

    def along(self, value: Value, dimension: int, index: int, depth: int = 0) -> Interval | None:
        """Bounds of the elements at one index of a dimension; None if the value is not an integer tensor.

        Args:
            value: any value.
            dimension, index: such as that of the components of index vectors, and the number of one.
            depth: how many definitions were followed.
        """
        owner, element_type = value.owner, _integer_type(value)
        if element_type is None or not isinstance(owner, Operation) or depth > MAX_DEPTH:
            return self.of(value, depth)
        type_range = storage_range(element_type)
        low, high = self._derived_along(owner, dimension, index, depth) or type_range
        min_value, max_value = self.of(value, depth) or type_range
        if not type_range[0] <= low <= high <= type_range[1]:
            return min_value, max_value
        return max(low, min_value), min(high, max_value)

    def _derived_along(self, operation: Operation, dimension: int, index: int, depth: int) -> Interval | None:
        """The interval that the operation implies for the elements at `index`, before wrap-around."""
        if operation.is_constant:
            return _of_constant(operation, (slice(None),) * dimension + (slice(index, index + 1),))
        facts = declaration_of(operation)
        if facts.movement in (Movement.JOIN, Movement.BROADCAST):
            source = _source_along(operation, dimension, index)
            return None if source is None else self.along(*source, depth + 1)

        def bounds_of(operand: Value) -> Interval | None:
            has_dimensions = isinstance(operand.type, TensorType) and operand.type.rank
            return self.along(operand, dimension, index, depth + 1) if has_dimensions else None

        if facts.moved_operands is not None and issubclass(facts, Elementwise):
            return _union_of([bounds_of(operand) for operand in operation.operands[facts.moved_operands]])
        return _combined(operation, bounds_of)

    def _derived(self, operation: Operation, depth: int) -> Interval | None:
        """The interval that the operation implies, before wrap-around."""
        if operation.is_constant:
            return _of_constant(operation)
        moved = declaration_of(operation).moved_operands
        if moved is not None:
            return _union_of([self.of(operand, depth + 1) for operand in operation.operands[moved]])
        return _combined(operation, lambda operand: self.of(operand, depth + 1))


def _combined(operation: Operation, bounds_of: Bounds) -> Interval | None:
    """The interval that an operation and the bounds of its operands imply; None if they imply none."""
    name = declaration_of(operation).interval
    return RULES[name](operation, bounds_of) if name else None


def _of_operands(rule: Callable[[Sequence[Interval]], Interval | None]) -> Rule:
    """The rule of operations whose interval follows from those of all operands."""

    def of_operands(operation: Operation, bounds_of: Bounds) -> Interval | None:
        intervals = _all_known([bounds_of(operand) for operand in operation.operands])
        return None if intervals is None else rule(intervals)

    return of_operands


def _all_known(intervals: Sequence[Interval | None]) -> Sequence[Interval] | None:
    known = [interval for interval in intervals if interval is not None]
    return known if len(known) == len(intervals) else None


def _union_of(intervals: Sequence[Interval | None]) -> Interval | None:
    """The smallest interval around all of these; None if one is unknown."""
    known = _all_known(intervals)
    return None if known is None else _union(known)


def _convert(operation: Operation, bounds_of: Bounds) -> Interval | None:
    (operand,) = operation.operands
    if _integer_type(operand) is not None:
        return bounds_of(operand)
    return (0, 1) if isinstance(operand.type, TensorType) and operand.type.category == BOOLEAN else None


def _integer_type(value: Value) -> ElementType | None:
    type = value.type
    if not isinstance(type, TensorType) or not type.category & INTEGER:
        return None
    return type.element_type if isinstance(type.element_type, ElementType) else None


def _source_along(operation: Operation, dimension: int, index: int) -> tuple[Value, int, int] | None:
    """The operand that has all elements at an index of a dimension, and the dimension and index there."""
    type = operation.result.type
    if not all(isinstance(one.type, TensorType) and one.type.is_static for one in operation.operands):
        return None
    view = cast("MovementOp", Op.of(operation))
    assert isinstance(type, TensorType)
    for one in view.movement_maps() or ():
        k = index - one.starts[dimension]
        if 0 <= k < one.sizes[dimension]:
            sizes = (*one.sizes[:dimension], type.shape[dimension], *one.sizes[dimension + 1 :])
            depending = one.depends_on(dimension)
            if sizes != type.shape or len(depending) != 1:
                return None
            (d,) = depending
            source = one.indices[d]
            return operation.operands[one.operand], d, source.offset + source.strides[dimension] * k
    return None


def _of_constant(operation: Operation, selection: tuple[slice, ...] = ()) -> Interval | None:
    """Bounds of a constant's elements, or of those in a part of it."""
    attribute = operation.constant_value
    if attribute is None or not attribute.array.size:
        return None
    array = attribute.array[selection]
    if not array.size:
        return None
    if attribute.is_splat:
        array = array[(slice(0, 1),) * array.ndim]
    if array.size > MAX_ELEMENTS:
        return None
    # Integers narrower than a byte have no order in NumPy.
    values = array if array.dtype.kind in "iu" else array.astype(np.int64)
    return int(values.min()), int(values.max())


def _iota(operation: Operation, bounds_of: Bounds) -> Interval | None:
    dimension, type = operation.attributes.get("iota_dimension"), operation.result.type
    if not isinstance(dimension, IntegerAttribute) or not isinstance(type, TensorType) or not type.is_static:
        return None
    return 0, max(type.shape[dimension.value] - 1, 0)


def _union(intervals: Sequence[Interval]) -> Interval:
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _add(operands: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = operands
    return a + c, b + d


def _subtract(operands: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = operands
    return a - d, b - c


def _multiply(operands: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = operands
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def _minimum(operands: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = operands
    return min(a, c), min(b, d)


def _maximum(operands: Sequence[Interval]) -> Interval:
    (a, b), (c, d) = operands
    return max(a, c), max(b, d)


def _clamp(operands: Sequence[Interval]) -> Interval:
    low, operand, high = operands
    return _minimum([_maximum([operand, low]), high])


def _and(operands: Sequence[Interval]) -> Interval | None:
    """If an operand is not negative, the result lies between 0 and that operand."""
    limits = [high for low, high in operands if low >= 0]
    return (0, min(limits)) if limits else None


def _remainder(operands: Sequence[Interval]) -> Interval | None:
    """The result has the sign of the dividend, and is smaller than the divisor, which must be positive."""
    (low, high), (min_value, max_value) = operands
    if min_value <= 0:
        return None
    return max(low, 1 - max_value) if low < 0 else 0, min(high, max_value - 1) if high > 0 else 0


def _shift_right(operands: Sequence[Interval]) -> Interval | None:
    """Bounds if the operand is not negative, and the amount is constant and less than the width."""
    (low, high), (min_value, max_value) = operands
    if low < 0 or min_value != max_value or not 0 <= min_value < 64:
        return None
    return low >> min_value, high >> min_value


RULES: Final[dict[str, Rule]] = {
    "add": _of_operands(_add),
    "and": _of_operands(_and),
    "clamp": _of_operands(_clamp),
    "convert": _convert,
    "iota": _iota,
    "maximum": _of_operands(_maximum),
    "minimum": _of_operands(_minimum),
    "multiply": _of_operands(_multiply),
    "remainder": _of_operands(_remainder),
    "shift_right": _of_operands(_shift_right),
    "subtract": _of_operands(_subtract),
}
"""The rules by the names under which declarations state them."""
