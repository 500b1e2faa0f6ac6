"""Products whose operands and result have element types of several kinds, as XLA computes them.

The specification asks for one element type. XLA and the dialect's verifier also accept a result of another
kind (JAX's `preferred_element_type`), and `dot_general` operands of two kinds. Kinds are ordered: boolean,
integer, floating-point, complex.

- An operand of a lower kind than another element type is converted to the widest one of the highest kind.
- Where the result is of a lower kind than an operand, the product has the operands' element type, and is
  converted to the result's.

Conversions are those of `stablehlo.convert`. Within one kind nothing is converted here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from ....kernels.named_tuples import NamedTuple
from ....types import BOOLEAN, COMPLEX, FLOAT, INTEGER, Array, ElementType, QuantizedType, TensorType
from ...ir import Operation
from ..framework.declaration import Op, Operand, Result
from ..numerics.element_types import converter
from .matmul import Multiply, multiplier, narrow_order

_KINDS: Final = (BOOLEAN, INTEGER, FLOAT, COMPLEX)


class ProductTypes(NamedTuple):
    """The element types of operands and product between the conversions."""

    lhs: ElementType
    rhs: ElementType
    product: ElementType


def product_types(lhs: Any, rhs: Any, result: Any) -> ProductTypes | None:
    """The element types in which a product is computed.

    Args:
        lhs, rhs, result: the declared element types.

    Returns:
        None if nothing is converted: all are of one kind, or quantized.
    """
    if not all(isinstance(type, ElementType) for type in (lhs, rhs, result)):
        return None
    kinds = [_kind(type) for type in (lhs, rhs, result)]
    highest = max(kinds)
    if min(kinds) == highest:
        return None
    types = [
        type for type, kind in zip((result, lhs, rhs), (kinds[2], *kinds[:2]), strict=True) if kind == highest
    ]
    widest = max(types, key=lambda type: type.width)
    lhs, rhs = [type if kind == highest else widest for type, kind in zip((lhs, rhs), kinds, strict=False)]
    return ProductTypes(lhs, rhs, result if kinds[2] == highest else widest)


def _kind(element_type: ElementType) -> int:
    return next(kind for kind, category in enumerate(_KINDS) if element_type.category & category)


class Conversions(NamedTuple):
    """The functions of arrays around a product, and the view of the same operation on converted operands."""

    enter_lhs: Callable[[Array], Array]
    enter_rhs: Callable[[Array], Array]
    view: Any
    leave: Callable[[Array], Array]


class MixedProduct(Op):
    """Base of the operations that multiply and sum: how they treat element types of several kinds."""

    lhs: Operand[TensorType]
    rhs: Operand[TensorType]
    result: Result[TensorType]

    @property
    def may_add_two_chains(self) -> bool:
        """Whether products of narrow floats may be added in two chains (`matmul.narrow_order`)."""
        return False

    @functools.cached_property
    def product_types(self) -> ProductTypes | None:
        """`product_types` of this operation."""
        return product_types(self.lhs.element_type, self.rhs.element_type, self.result.element_type)

    @functools.cached_property
    def conversions_around(self) -> Conversions | None:
        """The conversions around the product; None if nothing is converted."""
        types = self.product_types
        if types is None:
            return None
        lhs, rhs, result = (type.plain_element_type for type in (self.lhs, self.rhs, self.result))
        return Conversions(
            converter(lhs, types.lhs),
            converter(rhs, types.rhs),
            self._on_converted(types),
            converter(types.product, result),
        )

    @property
    def is_quantized(self) -> bool:
        """Whether an operand or the result is quantized, so that expressed values are multiplied."""
        types = (self.lhs, self.rhs, self.result)
        return any(isinstance(type.element_type, QuantizedType) for type in types)

    def multiplier(self, threads: int | None = 1) -> Multiply | None:
        """The product of stacks of matrices of these plain element types; None if they have none.

        Args:
            threads: maximum number of threads; None: all.
        """
        lhs, rhs, result = (type.plain_element_type for type in (self.lhs, self.rhs, self.result))
        return multiplier(lhs, rhs, result, order=narrow_order(self), threads=threads)

    def converted_multiplier(self, threads: int | None = 1) -> Multiply | None:
        """`multiplier` for the element types between the conversions; None for quantized tensors."""
        if self.is_quantized:
            return None
        around = self.conversions_around
        return (self if around is None else around.view).multiplier(threads)

    @functools.cached_property
    def multiply(self) -> Multiply | None:
        """`multiply_on` one thread."""
        return self.multiply_on(1)

    def multiply_on(self, threads: int | None) -> Multiply | None:
        """The product of stacks of matrices between the conversions; None for quantized tensors.

        Args:
            threads: maximum number of threads; None: all.
        """
        return self.converted_multiplier(threads)

    def verify(self) -> None:
        super().verify()
        if not self.is_quantized and self.multiply is None:
            types = f"{self.lhs.element_type} and {self.rhs.element_type}"
            raise self.unsupported(f"products of {types} as {self.result.element_type} are not supported")

    def _on_converted(self, types: ProductTypes) -> Any:
        """The view of this operation on operands of these element types."""
        operation = self.operation
        converted = [
            TensorType(type.shape, element_type)
            for type, element_type in zip((self.lhs, self.rhs), types[:2], strict=True)
        ]
        operands = (*Operation("", (), converted).results, *operation.operands[2:])
        result = TensorType(self.result.shape, types.product)
        return Op.of(
            Operation(operation.name, operands, [result], operation.attributes, (), operation.location)
        )
