"""Analyses of the bodies of reductions, scatters and sorts by value numbering.

Equal expressions of a body get equal numbers (value numbering), so a body is compared with a known form by
building that form's number: the order of commutative operands, swapped comparisons and the positions of
constants do not matter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    FLOAT,
    INTEGER,
    SIGNED,
    UNSIGNED,
    AnyElementType,
    Array,
    DType,
    ElementType,
    TensorType,
    storage_range,
)
from ...ir import Block, EnumAttribute, Operation, Region, Value
from ...ir.record import Record
from ..elementwise.base import Elementwise
from ..framework.declaration import Evaluate, declaration_of

MONOIDS: Final = ("add", "multiply", "minimum", "maximum", "and", "or", "xor")
"""The operations that `monoid` knows, each by its name in the specification."""

_COMMUTATIVE: Final = frozenset(f"stablehlo.{name}" for name in MONOIDS)
_FLIPPED: Final = {"GT": "LT", "GE": "LE"}


def identity(monoid: str, element_type: ElementType) -> Array | None:
    """The identity element of a monoid, an array of rank 0; None if the type does not have it.

    Args:
        monoid: one of MONOIDS, which has to accept the type.
        element_type: the type.
    """
    if monoid in ("minimum", "maximum"):
        return extreme(element_type, is_minimum=monoid == "maximum")
    value: int = {"multiply": 1, "and": -1}.get(monoid, 0)
    if value == -1 and not element_type.category & SIGNED:
        return extreme(element_type, is_minimum=False)
    element = np.array(value).astype(element_type.dtype)
    # f8E8M0FNU has no zero.
    return element if element == value else None


def neutral(monoid: str, element_type: ElementType) -> Array | None:
    """The element that a monoid ignores to the bit; None if the type does not have it.

    It differs from `identity`, which programs start their reductions with, in a sum of floats: 0 added to -0
    is 0, and -0 added to it is -0.

    Args:
        monoid: one of MONOIDS, which has to accept the type.
        element_type: the type.
    """
    element = identity(monoid, element_type)
    if monoid != "add" or element is None or not element_type.category & (FLOAT | COMPLEX):
        return element
    negative = -element
    # Formats without -0 have a NaN, or nothing, in its place.
    return negative if negative == element else element


def extreme(element_type: ElementType, *, is_minimum: bool) -> Array:
    """The smallest or the largest value of a type, an infinity if it has one, as an array of rank 0."""
    dtype = element_type.dtype
    if element_type.category == BOOLEAN:
        return np.array(not is_minimum)
    if element_type.category & INTEGER:
        low, high = storage_range(element_type)
        return np.array(low if is_minimum else high).astype(dtype)
    infinity = -np.inf if is_minimum else np.inf
    if element_type.category == COMPLEX:
        return np.array(complex(infinity, infinity), dtype)
    element = np.array(infinity).astype(dtype)
    if not np.isinf(element.astype(np.float64)):
        # Not at the top: programs of NumPy's types need not import this package.
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        element = np.array(limits.min if is_minimum else limits.max)
    return element


class Order(StrEnum):
    """The order of two keys by a recognised comparator."""

    FLOAT = "FLOAT"
    """By value, as LT of numbers says: -0 equals +0; NaN is not ordered."""
    TOTAL = "TOTALORDER"
    """TOTALORDER: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN."""
    CANONICAL = "CANONICAL"
    """TOTALORDER once -0 became +0 and each NaN the same positive one: all NaNs are equal and greatest."""


class SortKey(Record):
    """One key of a recognised comparator.

    Attributes:
        operand: which input of `sort` it is taken from.
        component: ``"value"``, or ``"real"`` or ``"imag"`` of a complex input.
        descending: whether greater keys come first.
        order: how two keys are compared.
    """

    operand: int
    component: str
    descending: bool
    order: Order


def is_scalar_elementwise(region: Region) -> bool:
    """Whether each operation of a region is elementwise on 0-dimensional tensors.

    A function of such a region may be applied to whole arrays at once.
    """
    return all(_is_on_scalars(operation) for operation in region.block.operations[:-1])


def _is_on_scalars(operation: Operation) -> bool:
    """Whether an operation is a constant or elementwise, on scalars."""
    if not operation.is_constant and not issubclass(declaration_of(operation), Elementwise):
        return False
    values = (*operation.operands, *operation.results)
    return all(isinstance(value.type, TensorType) and not value.type.shape for value in values)


VectorizedRegion = Callable[..., tuple[Array, ...]]
"""Applies a region's function to arrays of one shape; returns arrays of that shape."""


def vectorize_region(region: Region) -> VectorizedRegion:
    """Vectorize a region of 0-dimensional tensors: apply it to whole arrays.

    Returns:
        A function that takes the region's function, then arrays of one common shape, and returns a tuple of
        arrays of that shape, which may be views of its arguments. It calls the region's function once where
        the region is elementwise, otherwise once for each element.
    """
    if not is_scalar_elementwise(region):
        dtypes = [type.dtype for type in region.type.results if isinstance(type, TensorType)]
        return functools.partial(_one_by_one, dtypes)
    return _directly if _depends_on_arguments(region.block) else _broadcast


def _directly(function: Evaluate, *arrays: Array) -> tuple[Array, ...]:
    return function(*arrays)


def _broadcast(function: Evaluate, *arrays: Array) -> tuple[Array, ...]:
    shape = np.shape(arrays[0])
    return tuple([np.broadcast_to(result, shape) for result in function(*arrays)])


def _one_by_one(dtypes: Sequence[DType], function: Evaluate, *arrays: Array) -> tuple[Array, ...]:
    shape = np.shape(arrays[0])
    results = tuple([np.empty(shape, dtype) for dtype in dtypes])
    for position in np.ndindex(shape):
        values = function(*[np.asarray(array[position]) for array in arrays])
        for result, value in zip(results, values, strict=True):
            result[position] = value
    return results


def _depends_on_arguments(block: Block) -> bool:
    """Whether each result depends on an argument, so that it has the arguments' shape."""
    dependent: set[Value] = set(block.arguments)
    for operation in block.operations:
        if not dependent.isdisjoint(operation.operands):
            dependent.update(operation.results)
    return dependent.issuperset(block.terminator.operands)


def overwrites(region: Region) -> bool:
    """Whether a region of N pairs returns its last N arguments, so that updates replace the old values."""
    arguments, returned = region.block.arguments, region.block.terminator.operands
    return tuple(returned) == arguments[len(returned) :] and len(arguments) == 2 * len(returned)


def monoid(region: Region) -> str | None:
    """The operation that a region applies to its two arguments and returns.

    Returns:
        One of `MONOIDS`, or None if the region has another number of arguments, computes something else,
        or has effects.
    """
    block = region.block
    if len(block.arguments) != 2 or len(block.terminator.operands) != 1 or not is_scalar_elementwise(region):
        return None
    numbering = _Numbering(block)
    name, *operands = numbering.expression(block.terminator.operands[0])
    if operands == [0, 1] and name in _COMMUTATIVE:
        return str(name).removeprefix("stablehlo.")
    return None


def arg_reducer(region: Region) -> str | None:
    """The extreme, maximum or minimum, that a region of (value, index) pairs computes with its index; None
    for other regions.

    It must be the form in which the first NaN wins, and the lowest index among equal values.

    Returns:
        ``"maximum"``, ``"minimum"``, or None.
    """
    block = region.block
    if len(block.arguments) != 4 or len(block.terminator.operands) != 2 or not is_scalar_elementwise(region):
        return None
    value, index = block.arguments[0].type, block.arguments[1].type
    assert isinstance(value, TensorType)
    assert isinstance(index, TensorType)
    numbering = _Numbering(block)
    returned = [numbering.number(operand) for operand in block.terminator.operands]
    for name, (smaller, larger) in {"maximum": (2, 0), "minimum": (0, 2)}.items():
        wins = numbering.compare("LT", value.element_type, smaller, larger)
        is_nan = numbering.compare("NE", value.element_type, 0, 0)
        same = numbering.compare("EQ", value.element_type, 0, 2)
        lower = numbering.compare("LT", index.element_type, 1, 3)
        tie = numbering.commutative("stablehlo.and", same, lower)
        picks = [numbering.commutative("stablehlo.or", wins, is_nan)]
        if value.element_type.category != FLOAT:
            picks.append(wins)
        for pick in picks:
            pick_index = numbering.commutative("stablehlo.or", pick, tie)
            expected = [
                numbering.enter("stablehlo.select", pick, 0, 2),
                numbering.enter("stablehlo.select", pick_index, 1, 3),
            ]
            if returned == expected:
                return name
    return None


def comparator(region: Region) -> tuple[SortKey, ...] | None:
    """The keys by which a comparator of `sort` orders, the most significant first.

    Returns:
        None if the comparator has no known form.
    """
    block = region.block
    if len(block.terminator.operands) != 1 or not is_scalar_elementwise(region):
        return None
    return _Comparator(block).keys()


def selection(region: Region) -> str | None:
    """The comparison of its two arguments that a `select` region of `select_and_scatter` returns.

    Returns:
        ``"GE"``, ``"GT"``, ``"LE"`` or ``"LT"``, or None if it does something else, or compares in another
        way than numbers are compared.
    """
    block = region.block
    if len(block.arguments) != 2 or len(block.terminator.operands) != 1 or not is_scalar_elementwise(region):
        return None
    name, *compared = _Numbering(block).expression(block.terminator.operands[0])
    type = block.arguments[0].type
    if name != "stablehlo.compare" or not isinstance(type, TensorType):
        return None
    direction, kind, *operands = compared
    if kind != _default_compare_type(type.element_type) or direction not in ("LE", "LT"):
        return None
    swapped = {"LE": "GE", "LT": "GT"}
    return {(0, 1): direction, (1, 0): swapped[direction]}.get(tuple(operands))


class _Numbering:
    """Numbers for expressions: equal expressions have equal numbers; a block's arguments have 0, 1, ..."""

    def __init__(self, block: Block) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._of_values: dict[Value, int] = {}
        self.expressions: list[tuple[Any, ...]] = []
        self.constants: dict[int, Any] = {}
        for argument in block.arguments:
            self._of_values[argument] = self.enter("argument", argument.index)
        for operation in block.operations[:-1]:
            self._enter_operation(operation)

    def enter(self, *expression: Any) -> int:
        """The number of an expression: its name, then numbers of operands and plain values."""
        number = self._numbers.setdefault(expression, len(self.expressions))
        if number == len(self.expressions):
            self.expressions.append(expression)
        return number

    def commutative(self, name: str, *operands: int) -> int:
        """The number of an operation whose operands may change places."""
        return self.enter(name, *sorted(operands))

    def compare(
        self, direction: str, element_type: AnyElementType, lhs: int, rhs: int, kind: str | None = None
    ) -> int:
        """The number of a comparison; `kind` is its compare_type (None: the one of the element type)."""
        kind = kind or _default_compare_type(element_type)
        if direction in _FLIPPED:
            direction, lhs, rhs = _FLIPPED[direction], rhs, lhs
        elif direction in ("EQ", "NE"):
            lhs, rhs = sorted((lhs, rhs))
        return self.enter("stablehlo.compare", direction, kind, lhs, rhs)

    def number(self, value: Value) -> int:
        """The number of a value of the block, or of one captured from outside."""
        if value not in self._of_values:
            owner = value.owner
            if isinstance(owner, Operation) and owner.is_constant:
                self._enter_operation(owner)
            else:
                self._of_values[value] = self.enter("captured", value)
        return self._of_values[value]

    def expression(self, value: Value) -> tuple[Any, ...]:
        return self.expressions[self.number(value)]

    def _enter_operation(self, operation: Operation) -> None:
        for result in operation.results:
            self._of_values[result] = self._number_result(operation, result)

    def _number_result(self, operation: Operation, result: Value) -> int:
        operands = [self.number(operand) for operand in operation.operands]
        attributes = operation.attributes
        value = operation.constant_value
        if value is not None:
            number = self.enter("constant", str(value.type), value.array[()].tobytes())
            self.constants[number] = value.array[()]
            return number
        if operation.name == "stablehlo.compare":
            direction, kind = attributes.get("comparison_direction"), attributes.get("compare_type")
            operand = operation.operands[0].type
            if isinstance(direction, EnumAttribute) and isinstance(operand, TensorType):
                named = kind.value if isinstance(kind, EnumAttribute) and kind.value != "NOTYPE" else None
                return self.compare(direction.value, operand.element_type, operands[0], operands[1], named)
        elif operation.name in _COMMUTATIVE:
            return self.commutative(operation.name, *operands)
        elif operation.name in ("stablehlo.select", "stablehlo.real", "stablehlo.imag"):
            return self.enter(operation.name, *operands)
        return self.enter("opaque", result)


def _default_compare_type(element_type: AnyElementType) -> str:
    if element_type.category in (FLOAT, COMPLEX):
        return "FLOAT"
    return "UNSIGNED" if element_type.category in (UNSIGNED, BOOLEAN) else "SIGNED"


class _Comparator:
    """Decomposes a comparator: LT of a key, or ``LT(key) or (EQ(key) and comparator of further keys)``."""

    def __init__(self, block: Block) -> None:
        self.numbering = _Numbering(block)
        self.root = self.numbering.number(block.terminator.operands[0])

    def keys(self) -> tuple[SortKey, ...] | None:
        """The keys, or None."""
        keys: list[SortKey] = []
        number = self.root
        while True:
            name, *operands = self.numbering.expressions[number]
            if name != "stablehlo.or":
                last = self._strict(number)
                return None if last is None else (*keys, last)
            next_keys = self._lexicographic(operands)
            if next_keys is None:
                return None
            key, number = next_keys
            keys.append(key)

    def _lexicographic(self, operands: Sequence[int]) -> tuple[SortKey, int] | None:
        """The key of ``LT(key) or (EQ(key) and rest)``, and the rest's number."""
        for strict, tied in (operands, operands[::-1]):
            key = self._strict(strict)
            name, *arguments = self.numbering.expressions[tied]
            if key is None or name != "stablehlo.and":
                continue
            lhs, rhs = sorted(self.numbering.expressions[strict][3:])
            kind = self.numbering.expressions[strict][2]
            same = self.numbering.enter("stablehlo.compare", "EQ", kind, lhs, rhs)
            if same in arguments:
                return key, arguments[1 - arguments.index(same)]
        return None

    def _strict(self, number: int) -> SortKey | None:
        """The key that ``LT(key of one element, the same key of the other)`` compares."""
        name, *operands = self.numbering.expressions[number]
        if name != "stablehlo.compare" or operands[0] != "LT":
            return None
        lhs, rhs = self._key(operands[2]), self._key(operands[3])
        if lhs is None or rhs is None:
            return None
        (argument, component, is_canonical), other = lhs, rhs[0]
        if lhs[1:] != rhs[1:] or argument // 2 != other // 2 or argument == other:
            return None
        if operands[1] == "TOTALORDER":
            order = Order.CANONICAL if is_canonical else Order.TOTAL
        elif is_canonical:
            return None
        else:
            order = Order.FLOAT
        return SortKey(argument // 2, component, descending=argument > other, order=order)

    def _key(self, number: int) -> tuple[int, str, bool] | None:
        """One side of a comparison: its argument, its component, and whether -0 and NaN are canonicalized."""
        base = self._canonicalized(number)
        name, *operands = self.numbering.expressions[number if base is None else base]
        component = "value"
        if name in ("stablehlo.real", "stablehlo.imag"):
            component = name.removeprefix("stablehlo.")
            name, *operands = self.numbering.expressions[operands[0]]
        if name != "argument":
            return None
        return operands[0], component, base is not None

    def _canonicalized(self, number: int) -> int | None:
        """The x of ``select(x != x, NaN, select(x == 0, 0, x))``."""
        name, *operands = self.numbering.expressions[number]
        if name != "stablehlo.select" or not self._is_constant(operands[1], np.nan):
            return None
        name, *inner = self.numbering.expressions[operands[2]]
        if name != "stablehlo.select" or not self._is_constant(inner[1], 0.0):
            return None
        base = inner[2]
        is_nan = self.numbering.enter("stablehlo.compare", "NE", "FLOAT", base, base)
        is_zero = self._zero_test(inner[0], base)
        return base if operands[0] == is_nan and is_zero else None

    def _zero_test(self, number: int, base: int) -> bool:
        name, *operands = self.numbering.expressions[number]
        if name != "stablehlo.compare" or operands[:2] != ["EQ", "FLOAT"] or base not in operands[2:]:
            return False
        other = operands[3] if operands[2] == base else operands[2]
        return other in self.numbering.constants and self.numbering.constants[other] == 0

    def _is_constant(self, number: int, expected: float) -> bool:
        """Whether a number is a constant +0 or a NaN without sign, as `expected` is."""
        if number not in self.numbering.constants:
            return False
        value = float(self.numbering.constants[number])
        return not np.signbit(value) and (np.isnan(value) if np.isnan(expected) else value == expected)
