"""Appends StableHLO operations to a function; the types of their results follow from the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, Array, ElementType, TensorType, storage_range
from ...ir import (
    UNKNOWN,
    Block,
    Builder,
    DenseElementsAttribute,
    DictionaryAttribute,
    IntegerAttribute,
    Location,
    Region,
    Value,
    tensor_type,
)
from ...ops.custom_calls.lapack import ROUTINES, column_major_layout, routine_name
from ...ops.custom_calls.lapack import Shape as RoutineShape
from ...ops.custom_calls.view import TYPED_FFI
from ...ops.framework.encoding import encode_attributes
from ...ops.reduction.bodies import extreme, identity

Shape = tuple[int, ...]
Number = bool | int | float | complex

I1: Final = ELEMENT_TYPES["i1"]
I32: Final = ELEMENT_TYPES["i32"]
I64: Final = ELEMENT_TYPES["i64"]
F32: Final = ELEMENT_TYPES["f32"]
F64: Final = ELEMENT_TYPES["f64"]
UI64: Final = ELEMENT_TYPES["ui64"]

LAPACK_LETTERS: Final = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
"""The element types of LAPACK's routines, and the letters of these in the routines' names."""


def shape_of(value: Value) -> Shape:
    return tensor_type(value).shape


def element_type(value: Value) -> ElementType:
    return tensor_type(value).plain_element_type


def is_float(type: ElementType) -> bool:
    return type.category == FLOAT


def is_complex(type: ElementType) -> bool:
    return type.category == COMPLEX


def wider(type: ElementType) -> ElementType:
    """The type in which PyTorch computes sums and functions of a type: f32 for narrow floats."""
    return F32 if type.name in ("bf16", "f16") else type


def real_type(type: ElementType) -> ElementType:
    """The type of a complex type's components; another type itself."""
    return {"complex<f32>": F32, "complex<f64>": F64}.get(type.name, type)


def positive(dim: int, rank: int) -> int:
    """A dimension that may count from the end."""
    return dim + max(rank, 1) if dim < 0 else dim


def _layouts(types: Sequence[TensorType], shapes: Sequence[RoutineShape]) -> tuple[tuple[int, ...], ...]:
    """The layouts in which a routine of LAPACK takes or gives values: matrices column by column."""
    return tuple(
        [
            tuple(column_major_layout(len(type.shape), shape))
            for type, shape in zip(types, shapes, strict=True)
        ]
    )


class Emitter:
    """Appends operations to a block.

    Args:
        block: where operations go.

    Attributes:
        location: the location of the operations that follow.
    """

    def __init__(self, block: Block) -> None:
        self._builder = Builder(block)
        self.location: Location = UNKNOWN

    def create(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[TensorType],
        regions: Sequence[Region] = (),
        **attributes: Any,
    ) -> tuple[Value, ...]:
        """Append an operation; attributes are decoded values under their declared names."""
        encoded = encode_attributes(name, attributes)
        return self._builder.create(name, operands, types, encoded, regions, self.location).results

    def one(
        self,
        name: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        type: ElementType,
        regions: Sequence[Region] = (),
        **attributes: Any,
    ) -> Value:
        """Append an operation of one result."""
        (result,) = self.create(name, operands, [TensorType(shape, type)], regions, **attributes)
        return result

    # Constants

    def dense(self, array: Array, type: ElementType | None = None) -> Value:
        """The elements of an array as a constant."""
        from ....types import element_type_of

        own = type or element_type_of(array.dtype)
        value = np.array(array, own.dtype)
        return self._constant(TensorType(value.shape, own), value)

    def full(self, number: Number, shape: Sequence[int], type: ElementType) -> Value:
        """A number, broadcast; integers wrap around."""
        if type.category in (FLOAT, COMPLEX, BOOLEAN):
            element = np.array(number).astype(type.dtype)
        else:
            low, _ = storage_range(type)
            wrapped = (int(number.real) - low) % (1 << type.width) + low
            element = np.array(wrapped, type.dtype)
        return self._constant(TensorType(shape, type), np.broadcast_to(element, tuple(shape)))

    def _constant(self, type: TensorType, array: Array) -> Value:
        return self.create("stablehlo.constant", (), [type], value=DenseElementsAttribute(type, array))[0]

    def like(self, value: Value, number: Number) -> Value:
        """A number in the type of a value."""
        return self.full(number, shape_of(value), element_type(value))

    def iota(self, shape: Sequence[int], dimension: int, type: ElementType = I64) -> Value:
        return self.one("stablehlo.iota", (), shape, type, iota_dimension=dimension)

    # Elementwise

    def unary(self, name: str, x: Value) -> Value:
        """An elementwise operation whose result has its operand's type."""
        return self.one(name, [x], shape_of(x), element_type(x))

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """An elementwise operation whose result has the operands' type."""
        return self.one(name, [x, y], shape_of(x), element_type(x))

    def add(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.or" if element_type(x) is I1 else "stablehlo.add", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.subtract", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.and" if element_type(x) is I1 else "stablehlo.multiply", x, y)

    def divide(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.divide", x, y)

    def both(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.and", x, y)

    def either(self, x: Value, y: Value) -> Value:
        return self.binary("stablehlo.or", x, y)

    def negated(self, x: Value) -> Value:
        """The logical or bitwise complement."""
        return self.unary("stablehlo.not", x)

    def compare(self, direction: str, x: Value, y: Value, *, total_order: bool = False) -> Value:
        """Compare values of one type: ``EQ``, ``NE``, ``GE``, ``GT``, ``LE``, ``LT``."""
        type = element_type(x)
        if type.category in (FLOAT, COMPLEX):
            kind = "TOTALORDER" if total_order else "FLOAT"
        else:
            kind = "SIGNED" if type.name.startswith("i") and type is not I1 else "UNSIGNED"
        return self.one(
            "stablehlo.compare", [x, y], shape_of(x), I1, comparison_direction=direction, compare_type=kind
        )

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        return self.one("stablehlo.select", [condition, x, y], shape_of(x), element_type(x))

    def is_nan(self, x: Value) -> Value:
        return self.compare("NE", x, x)

    def convert(self, x: Value, type: ElementType) -> Value:
        """The elements in another type; PyTorch and StableHLO agree except for complex to real."""
        own = element_type(x)
        if own is type:
            return x
        if is_complex(own) and type is I1:
            zero = self.like(x, 0)
            return self.compare("NE", x, zero)
        if is_complex(own) and not is_complex(type):
            x = self.one("stablehlo.real", [x], shape_of(x), real_type(own))
        return self.one("stablehlo.convert", [x], shape_of(x), type) if element_type(x) is not type else x

    # Movement

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        if shape_of(x) == tuple(shape):
            return x
        return self.one("stablehlo.reshape", [x], shape, element_type(x))

    def broadcast_in_dim(self, x: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
        name, mapped = "stablehlo.broadcast_in_dim", tuple(dimensions)
        return self.one(name, [x], shape, element_type(x), broadcast_dimensions=mapped)

    def broadcast(self, x: Value, shape: Sequence[int]) -> Value:
        """A value broadcast to a shape, its last dimensions aligned."""
        if shape_of(x) == tuple(shape):
            return x
        return self.broadcast_in_dim(x, shape, range(len(shape) - len(shape_of(x)), len(shape)))

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        if list(permutation) == list(range(len(permutation))):
            return x
        shape = [shape_of(x)[d] for d in permutation]
        order = tuple(permutation)
        return self.one("stablehlo.transpose", [x], shape, element_type(x), permutation=order)

    def reverse(self, x: Value, dimensions: Sequence[int]) -> Value:
        reversed_dims = tuple(dimensions)
        return self.one("stablehlo.reverse", [x], shape_of(x), element_type(x), dimensions=reversed_dims)

    def slice(self, x: Value, dim: int, start: int, limit: int, stride: int = 1) -> Value:
        """A slice along one dimension."""
        sizes = shape_of(x)
        if (start, limit, stride) == (0, sizes[dim], 1):
            return x
        starts, limits, strides = [0] * len(sizes), list(sizes), [1] * len(sizes)
        starts[dim], limits[dim], strides[dim] = start, limit, stride
        shape = list(sizes)
        shape[dim] = max(0, -(-(limit - start) // stride))
        return self.one(
            "stablehlo.slice",
            [x],
            shape,
            element_type(x),
            start_indices=tuple(starts),
            limit_indices=tuple(limits),
            strides=tuple(strides),
        )

    def pad(
        self,
        x: Value,
        value: Value,
        low: Sequence[int],
        high: Sequence[int],
        interior: Sequence[int] | None = None,
    ) -> Value:
        """A value padded by a scalar; negative amounts crop."""
        inner = interior or [0] * len(low)
        shape = [
            a + size + max(size - 1, 0) * within + b
            for size, a, b, within in zip(shape_of(x), low, high, inner, strict=True)
        ]
        return self.one(
            "stablehlo.pad",
            [x, value],
            shape,
            element_type(x),
            edge_padding_low=tuple(low),
            edge_padding_high=tuple(high),
            interior_padding=tuple(inner),
        )

    def concatenate(self, values: Sequence[Value], dim: int) -> Value:
        if len(values) == 1:
            return values[0]
        shape = list(shape_of(values[0]))
        shape[dim] = sum(shape_of(value)[dim] for value in values)
        return self.one("stablehlo.concatenate", values, shape, element_type(values[0]), dimension=dim)

    # Regions

    def region(
        self, types: Sequence[TensorType], body: Callable[[Emitter, Sequence[Value]], Sequence[Value]]
    ) -> Region:
        """A region that returns what `body` makes of its arguments."""
        block = Block(types)
        inner = Emitter(block)
        inner.location = self.location
        results = body(inner, block.arguments)
        inner._builder.create("stablehlo.return", results, location=self.location)
        return Region([block])

    def while_loop(
        self,
        initial: Sequence[Value],
        condition: Callable[[Emitter, Sequence[Value]], Value],
        body: Callable[[Emitter, Sequence[Value]], Sequence[Value]],
    ) -> tuple[Value, ...]:
        """The values after `body` was applied to them as long as `condition` holds."""
        types = [tensor_type(value) for value in initial]
        regions = [self.region(types, lambda e, values: [condition(e, values)]), self.region(types, body)]
        return self.create("stablehlo.while", initial, types, regions)

    def combiner(self, name: str, type: ElementType) -> Region:
        """A region that applies an operation to two scalars; ``"second"`` returns the second one."""
        scalar = TensorType((), type)

        def body(inner: Emitter, arguments: Sequence[Value]) -> Sequence[Value]:
            first, second = arguments
            return [second if name == "second" else inner.binary(name, first, second)]

        return self.region([scalar, scalar], body)

    def initial(self, name: str, type: ElementType) -> Value:
        """The identity of a reduction by an operation."""
        value = identity(name.removeprefix("stablehlo."), type)
        assert value is not None, name
        return self.dense(value, type)

    def extreme(self, type: ElementType, *, is_minimum: bool) -> Value:
        """The smallest or the largest value of a type, infinities included, as a scalar."""
        return self.dense(extreme(type, is_minimum=is_minimum), type)

    def reduce(self, name: str, x: Value, dims: Sequence[int], *, keep: bool = False) -> Value:
        """A value reduced by an operation along dimensions, which are counted from the start."""
        sizes, type = shape_of(x), element_type(x)
        dims = sorted(dims)
        shape = [size for d, size in enumerate(sizes) if d not in dims]
        operands = [x, self.initial(name, type)]
        regions = [self.combiner(name, type)]
        reduced = self.one("stablehlo.reduce", operands, shape, type, regions, dimensions=tuple(dims))
        return self.keep_dims(reduced, sizes, dims) if keep else reduced

    def keep_dims(self, reduced: Value, sizes: Shape, dims: Sequence[int]) -> Value:
        """A reduced value whose reduced dimensions have size 1."""
        return self.reshape(reduced, [1 if d in dims else size for d, size in enumerate(sizes)])

    # Routines of LAPACK

    def routine(
        self, name: str, operands: Sequence[Value], types: Sequence[TensorType], **parameters: int | str
    ) -> tuple[Value, ...]:
        """A custom call of a routine of LAPACK, by the name of its target without the element type's letter.

        A parameter that is a letter is passed by its code.
        """
        numbers = {key: ord(n) if isinstance(n, str) else int(n) for key, n in parameters.items()}
        configuration = {key: IntegerAttribute(n, ELEMENT_TYPES["ui8"]) for key, n in numbers.items()}
        target = routine_name(LAPACK_LETTERS[element_type(operands[0]).name], name)
        attributes = {
            "call_target_name": target,
            "api_version": TYPED_FFI,
            "operand_layouts": _layouts(
                [tensor_type(value) for value in operands], ROUTINES[target].operands
            ),
            "result_layouts": _layouts(types, ROUTINES[target].results),
        }
        encoded = encode_attributes("stablehlo.custom_call", attributes)
        encoded["backend_config"] = DictionaryAttribute(configuration)
        return self._builder.create(
            "stablehlo.custom_call", operands, types, encoded, location=self.location
        ).results

    # Products

    def dot(
        self,
        x: Value,
        y: Value,
        contracting: tuple[Sequence[int], Sequence[int]],
        batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
        type: ElementType | None = None,
    ) -> Value:
        """A `dot_general`: batch dimensions, then the free ones of both operands."""
        shape = [shape_of(x)[d] for d in batching[0]]
        for value, contracted, batched in zip((x, y), contracting, batching, strict=True):
            shape += [n for d, n in enumerate(shape_of(value)) if d not in {*contracted, *batched}]
        return self.one(
            "stablehlo.dot_general",
            [x, y],
            shape,
            type or element_type(x),
            lhs_contracting_dimensions=tuple(contracting[0]),
            rhs_contracting_dimensions=tuple(contracting[1]),
            lhs_batching_dimensions=tuple(batching[0]),
            rhs_batching_dimensions=tuple(batching[1]),
        )
