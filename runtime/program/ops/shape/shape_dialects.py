"""Operations of the tensor, arith and shape dialects that exporters leave in computations of shapes.

Scalars of type ``index`` or iN are arrays of rank 0. ``!shape.shape`` is read as ``tensor<?xindex>`` and
``!shape.size`` as ``index``; witnesses are not supported.

Source: MLIR, dialects "tensor", "arith" and "shape".
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....types import BOOLEAN, DYNAMIC, INDEX, INTEGER, PLAIN, Array, ElementType, TensorType, Type
from ...ir import Attribute as IrAttribute
from ...ir import BoolAttribute, DenseArrayAttribute, DenseElementsAttribute, IntegerAttribute
from ..framework import constraints, rules
from ..framework.attribute_kinds import AttributeKind, Dimensions, NumberedEnum
from ..framework.declaration import Attribute, Op, Operand, Result, constraint, declare
from ..framework.facts import Finiteness
from ..framework.rules import as_tensor, constant_operand, fail_if
from ..framework.traits import Memory
from ..numerics.broadcast_shapes import broadcast_shapes
from ..numerics.element_types import carrier, through_carrier, unsigned_bits
from ..numerics.special_functions import divide_integers
from .dynamic_shapes import ReadsSizes


class _Value(AttributeKind[Array]):
    """A number, or a dense constant, as an array."""

    description = "an integer or a dense constant"

    def decode(self, attribute: IrAttribute) -> Array:
        if isinstance(attribute, DenseElementsAttribute):
            return attribute.array
        if isinstance(attribute, BoolAttribute):
            return np.array(attribute.value)
        if isinstance(attribute, IntegerAttribute) and isinstance(attribute.type, ElementType):
            dtype = attribute.type.dtype
            return np.array(attribute.value).astype(dtype)
        raise self.mismatch(attribute)

    def encode(self, value: Array) -> IrAttribute:
        raise NotImplementedError("an array does not tell a scalar from a tensor")


class _Sizes(Dimensions):
    """A tuple of int: ``array<i64: ...>`` or ``dense<...> : tensor<Nxindex>``."""

    def __init__(self) -> None:
        super().__init__("i64")
        self.description = "a list of sizes"

    def decode(self, attribute: IrAttribute) -> tuple[int, ...]:
        if isinstance(attribute, DenseArrayAttribute):
            return tuple(map(int, attribute.values))
        if isinstance(attribute, DenseElementsAttribute) and attribute.array.ndim == 1:
            return tuple(map(int, attribute.array.tolist()))
        raise self.mismatch(attribute)

    def encode(self, value: tuple[int, ...]) -> IrAttribute:
        array = np.array(value, np.int64)
        return DenseElementsAttribute(TensorType(array.shape, INDEX), array)


class ArithConstant(Op, name="arith.constant", assembly="attr-dict custom(number)"):
    """A number, or a constant tensor."""

    memory = Memory.CREATES

    value = Attribute(_Value())
    result = Result(PLAIN, scalar=True)

    def reference(self) -> Array:
        value: Array = self.value
        return value


class _Binary(Op, assembly="$lhs , $rhs attr-dict : same-type"):
    """Base of operations on two integers, or on two tensors of them element by element."""

    lhs = Operand(INTEGER | BOOLEAN, scalar=True)
    rhs = Operand(INTEGER | BOOLEAN, scalar=True)
    result = Result(INTEGER | BOOLEAN, scalar=True)

    function: ClassVar[Callable[..., Any] | None] = None
    """The function of arrays that the operation applies."""
    function_of_bits: ClassVar[Callable[..., Any] | None] = None
    """The same for i1, whose values are the signed integers 0 and -1."""

    def __init_subclass__(
        cls,
        *,
        function: Callable[..., Any] | None = None,
        function_of_bits: Callable[..., Any] | None = None,
        **rest: Any,
    ) -> None:
        super().__init_subclass__(**rest)
        cls.function, cls.function_of_bits = function, function_of_bits

    C1 = constraints.same_type("lhs", "rhs", "result")

    def infer(self) -> list[Type]:
        return [self.lhs if isinstance(self.result, TensorType) else self.result]

    def reference(self, lhs: Array, rhs: Array) -> Array:
        operand = as_tensor(self.lhs)
        assert isinstance(operand, TensorType) and isinstance(operand.element_type, ElementType)
        element_type, operation = operand.element_type, type(self)
        is_bit = element_type.category == BOOLEAN
        function = operation.function_of_bits if is_bit else operation.function
        assert function is not None
        compute = through_carrier(function, element_type, element_type, carrier(element_type))
        return np.asarray(compute(np.asarray(lhs), np.asarray(rhs)))


declare(
    _Binary,
    __name__,
    {
        "arith.addi": {"function": np.add, "function_of_bits": np.bitwise_xor},
        "arith.subi": {"function": np.subtract, "function_of_bits": np.bitwise_xor},
        "arith.muli": {"function": np.multiply, "function_of_bits": np.bitwise_and},
        "arith.maxsi": {"function": np.maximum, "function_of_bits": np.bitwise_and},
        "arith.minsi": {"function": np.minimum, "function_of_bits": np.bitwise_or},
    },
)


class _Division(_Binary):
    """Base of divisions. A divisor of one bit is -1, which divides without a remainder."""

    may_be_hoisted = False

    def reference(self, lhs: Array, rhs: Array) -> Array:
        fail_if(self, None if np.all(rhs != 0) else "rhs is 0")
        return super().reference(lhs, rhs)


declare(
    _Division,
    __name__,
    {
        "arith.divsi": {"function": divide_integers, "function_of_bits": np.bitwise_and},
        "arith.remsi": {"function": np.fmod, "function_of_bits": lambda lhs, rhs: np.zeros_like(lhs)},
    },
)


class Predicate(enum.IntEnum):
    """The comparison of `arith.cmpi`, by MLIR's numbers; s is signed, u is unsigned."""

    eq = 0
    ne = 1
    slt = 2
    sle = 3
    sgt = 4
    sge = 5
    ult = 6
    ule = 7
    ugt = 8
    uge = 9


_COMPARISONS: Final = {
    Predicate.eq: operator.eq,
    Predicate.ne: operator.ne,
    Predicate.slt: operator.lt,
    Predicate.sle: operator.le,
    Predicate.sgt: operator.gt,
    Predicate.sge: operator.ge,
    Predicate.ult: operator.lt,
    Predicate.ule: operator.le,
    Predicate.ugt: operator.gt,
    Predicate.uge: operator.ge,
}


_SIGNED_ORDERS: Final = (Predicate.slt, Predicate.sle, Predicate.sgt, Predicate.sge)


class CmpI(Op, name="arith.cmpi", assembly="$predicate , $lhs , $rhs attr-dict : compared-type"):
    """Compares integers, which the predicate interprets as signed or unsigned."""

    predicate = Attribute(NumberedEnum(Predicate, "i64"))
    lhs = Operand(INTEGER | BOOLEAN, scalar=True)
    rhs = Operand(INTEGER | BOOLEAN, scalar=True)
    result = Result(BOOLEAN, scalar=True)

    C1 = constraints.same_type("lhs", "rhs")

    def reference(self, lhs: Array, rhs: Array) -> Array:
        type = as_tensor(self.lhs)
        assert isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
        if type.element_type.category == BOOLEAN:
            # A signed integer of one bit is 0 or -1.
            lhs, rhs = (rhs, lhs) if self.predicate in _SIGNED_ORDERS else (lhs, rhs)
        elif self.predicate >= Predicate.ult:
            to_bits, _ = unsigned_bits(type.element_type)
            lhs, rhs = to_bits(lhs), to_bits(rhs)
        result: Array = _COMPARISONS[self.predicate](lhs, rhs)
        return result


class Select(Op, name="arith.select", assembly="operands attr-dict : selected-type"):
    """Selects one of two values."""

    condition = Operand(BOOLEAN, scalar=True)
    true_value = Operand(PLAIN, scalar=True)
    false_value = Operand(PLAIN, scalar=True)
    result = Result(PLAIN, scalar=True)

    C1 = constraints.same_type("true_value", "false_value", "result")

    def reference(self, condition: Array, true_value: Array, false_value: Array) -> Array:
        return np.where(condition, true_value, false_value)


class IndexCast(Op, name="arith.index_cast", assembly="$operand attr-dict : type($operand) to type($result)"):
    """Integers truncated or sign-extended to another width."""

    operand = Operand(INTEGER, scalar=True)
    result = Result(INTEGER, scalar=True)

    @constraint
    def C1(self) -> str | None:
        """operand and result have the same shape"""
        operand, result = as_tensor(self.operand), as_tensor(self.result)
        if isinstance(operand, TensorType) and isinstance(result, TensorType):
            return rules.same_shape("result", result, "shape(operand)", operand.shape)
        return None

    def infer(self) -> list[Type]:
        if isinstance(self.operand, TensorType) and isinstance(self.result, TensorType):
            return [self.operand.with_element_type(self.result.element_type)]
        return [self.result]

    def reference(self, operand: Array) -> Array:
        return np.asarray(operand).astype(self.result.dtype)


class Dim(ReadsSizes, name="tensor.dim", assembly="$source , $index attr-dict : type($source) index-type"):
    """The size of dimension `index`."""

    source = Operand(PLAIN)
    index = Operand(INTEGER, scalar=True)
    result = Result(INTEGER, scalar=True)

    def dimension_is(self, dimension: int) -> str | None:
        """The index must be a dimension of source."""
        return rules.in_range("index", [dimension], 0, self.source.rank, "the rank of source")

    def value_of_types(self) -> Array | None:
        index = constant_operand(self.operation, 1)
        if index is None or self.dimension_is(int(index)) is not None:
            return None
        size = self.source.shape[int(index)]
        return None if size == DYNAMIC else np.array(size, np.int64)

    def reference(self, source: Array, index: Array) -> Array:
        fail_if(self, self.dimension_is(int(index)))
        return np.array(source.shape[int(index)], np.int64)


class FromElements(Op, name="tensor.from_elements", assembly="$elements attr-dict : type($result)"):
    """A tensor of scalars, in row-major order."""

    elements = Operand(PLAIN, variadic=True, scalar=True)
    result = Result(PLAIN)

    @constraint
    def C1(self) -> str | None:
        """result has a known shape, of as many elements as there are operands"""
        if not self.result.is_static:
            return f"result is {self.result}, but must have a static shape"
        return rules.length_is("elements", len(self.elements), self.result.size, "the size of result")

    @constraint
    def C2(self) -> str | None:
        """elements are scalars of the element type of result"""
        scalar = TensorType((), self.result.element_type)
        return rules.first(
            *(
                rules.same_type(f"elements[{index}]", type, "a scalar of result", scalar)
                for index, type in enumerate(self.elements)
            )
        )

    def reference(self, *elements: Array) -> Array:
        return np.array(elements, self.result.dtype).reshape(self.result.shape)


class Extract(
    Op, name="tensor.extract", assembly="$tensor [ $indices ] attr-dict : type($tensor) element-type"
):
    """One element of a tensor."""

    may_be_hoisted = False

    tensor = Operand(PLAIN)
    indices = Operand(INTEGER, variadic=True, scalar=True)
    result = Result(PLAIN, scalar=True)

    C1 = constraints.size_is_rank("indices", of="tensor")

    @constraint
    def C2(self) -> str | None:
        """result is of the element type of tensor"""
        return rules.same_type("result", self.result, "an element of tensor", self.tensor.element_type)

    def reference(self, tensor: Array, *indices: Array) -> Array:
        position = tuple(map(int, indices))
        for d, (index, size) in enumerate(zip(position, tensor.shape, strict=True)):
            fail_if(self, rules.in_range(f"indices[{d}]", [index], 0, size, "the size of tensor there"))
        return np.asarray(tensor[position])


class Cast(Op, name="tensor.cast", assembly="$source attr-dict : type($source) to type($result)"):
    """The same tensor with a type in which more or fewer sizes are known."""

    finiteness = Finiteness.MOVED
    memory = Memory.FORWARDS
    moved_operands = slice(1)

    source = Operand(PLAIN)
    result = Result(PLAIN)

    C1 = constraints.same_type("source", "result")

    def infer(self) -> list[Type]:
        return [self.source]

    def reference(self, source: Array) -> Array:
        return source


class ShapeOf(ReadsSizes, name="shape.shape_of", assembly="$arg attr-dict : type($arg) -> type($result)"):
    """The sizes of all dimensions."""

    arg = Operand(PLAIN)
    result = Result(INTEGER, rank=1)

    @constraint
    def C1(self) -> str | None:
        """size(result) = rank(arg)"""
        return rules.same_shape("result", self.result, "the rank of arg", [self.arg.rank])

    def infer(self) -> list[Type]:
        return [self.result.with_shape([self.arg.rank])]

    def value_of_types(self) -> Array | None:
        return np.array(self.arg.shape, np.int64) if self.arg.is_static else None

    def reference(self, arg: Array) -> Array:
        return np.array(arg.shape, np.int64)


class ConstShape(Op, name="shape.const_shape", assembly="attr-dict $shape : type($result)"):
    """A constant shape."""

    memory = Memory.CREATES

    shape = Attribute(_Sizes())
    result = Result(INTEGER, rank=1)

    @constraint
    def C1(self) -> str | None:
        """size(result) = size(shape)"""
        return rules.same_shape("result", self.result, "size(shape)", [len(self.shape)])

    def reference(self) -> Array:
        return np.array(self.shape, np.int64)


class Broadcast(Op, name="shape.broadcast", assembly="$shapes attr-dict : types($shapes) -> type($result)"):
    """The shape that all shapes broadcast to, their last dimensions aligned."""

    may_be_hoisted = False

    shapes = Operand(INTEGER, rank=1, variadic=True)
    result = Result(INTEGER, rank=1)

    @constraint
    def C1(self) -> str | None:
        """size(result) is the largest of the sizes of shapes"""
        return rules.same_shape("result", self.result, "the maximum rank", [self.max_rank()])

    def max_rank(self) -> int:
        """The maximum rank of the shapes; DYNAMIC if one is unknown."""
        ranks = [type.shape[0] for type in self.shapes]
        return DYNAMIC if DYNAMIC in ranks else max(ranks, default=0)

    def infer(self) -> list[Type]:
        return [self.result.with_shape([self.max_rank()])]

    def reference(self, *shapes: Array) -> Array:
        sizes = [tuple(map(int, shape)) for shape in shapes]
        fail_if(self, broadcast_reason(sizes))
        return np.array(broadcast_shapes(*sizes), np.int64)


def broadcast_reason(shapes: Sequence[tuple[int, ...]]) -> str | None:
    """Why shapes do not broadcast to one, or None."""
    rank = max(map(len, shapes), default=0)
    for d in range(1, rank + 1):
        sizes = {shape[-d] for shape in shapes if d <= len(shape)} - {1}
        if len(sizes) > 1:
            return f"shapes have the sizes {sorted(sizes)} at dimension {rank - d}, which do not broadcast"
    return None


class NumElements(Op, name="shape.num_elements", assembly="$shape attr-dict : type($shape) -> type($result)"):
    """The product of all sizes."""

    shape = Operand(INTEGER, rank=1)
    result = Result(INTEGER, scalar=True)

    def reference(self, shape: Array) -> Array:
        return np.array(math.prod(map(int, shape)), np.int64)
