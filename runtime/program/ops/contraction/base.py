"""The base of operations that multiply and sum: dimensions, constraints, products of stacks of matrices.

Source: specification, sections "dot_general" and "convolution".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    QUANTIZED_PER_AXIS,
    QUANTIZED_PER_TENSOR,
    Array,
    ElementType,
    QuantizedType,
    TensorType,
    Type,
)
from ..framework import constraints, rules
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result
from ..framework.elements import Index, element, from_elements, index_space
from ..framework.reshapers import reshaper
from ..framework.traits import Product
from ..numerics.element_types import converter
from .float_matmul import (
    SummationOrder,
    complex_product,
    complex_summation_order,
    fastest_for_sizes,
    has_native_matmul,
    matmul,
    summation_order,
    two_chain_order,
)
from .low_precision_matmul import NarrowOrder, supports_sizes
from .matmul import Multiply, computed_float, narrow_order
from .mixed_matmul import MixedProduct


class ProductSizes(NamedTuple):
    """The sizes of a product's dimensions: batching ones, of lhs alone, contracted ones, and of rhs alone."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    contracted: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def matrix(self) -> tuple[int, int, int]:
        """Rows, contracted size and columns of the matrices that are multiplied."""
        return math.prod(self.rows), math.prod(self.contracted), math.prod(self.columns)


def _is_ascending(order: Sequence[int]) -> bool:
    """Whether an order of dimensions is that in which an array has them."""
    return all(position == dim for position, dim in enumerate(order))


def _stacker(order: Sequence[int], shape: tuple[int, ...], threads: int | None) -> Callable[[Array], Array]:
    """The function that gives the dimensions of arrays an order, and then the arrays a shape."""
    reshape = reshaper(shape, threads)
    return reshape if _is_ascending(order) else lambda array: reshape(array.transpose(order))


class Contraction(MixedProduct):
    """Base of operations that multiply and sum over dimensions of two operands."""

    product = Product.MATMUL
    binds_by_types = True

    algorithm: Any = None
    lhs_batching_dimensions: Attribute[tuple[int, ...]] | tuple[int, ...]
    rhs_batching_dimensions: Attribute[tuple[int, ...]] | tuple[int, ...]
    lhs_contracting_dimensions: Any  # an attribute or a property
    rhs_contracting_dimensions: Attribute[tuple[int, ...]] | tuple[int, ...]

    @property
    def lhs_result_dimensions(self) -> tuple[int, ...]:
        """Dimensions of lhs that the result has."""
        used = (*self.lhs_batching_dimensions, *self.lhs_contracting_dimensions)
        return tuple([d for d in range(self.lhs.rank) if d not in used])

    @property
    def rhs_result_dimensions(self) -> tuple[int, ...]:
        """Dimensions of rhs that the result has in addition to those of lhs."""
        used = (*self.rhs_batching_dimensions, *self.rhs_contracting_dimensions)
        return tuple([d for d in range(self.rhs.rank) if d not in used])

    def result_shape(self) -> tuple[int, ...]:
        batching = zip(self.lhs_batching_dimensions, self.rhs_batching_dimensions, strict=True)
        sizes = [max(self.lhs.shape[i], self.rhs.shape[j]) for i, j in batching]
        sizes += [self.lhs.shape[d] for d in self.lhs_result_dimensions]
        sizes += [self.rhs.shape[d] for d in self.rhs_result_dimensions]
        return tuple(sizes)

    def infer(self) -> list[Type]:
        return [TensorType(self.result_shape(), self.result.element_type)]

    def multiply_on(self, threads: int | None) -> Multiply | None:
        """The product of stacks of matrices, with the conversions around it; None for quantized tensors."""
        multiply, around = self.converted_multiplier(threads), self.conversions_around
        if multiply is None or around is None:
            return multiply
        return lambda a, b: around.leave(multiply(around.enter_lhs(a), around.enter_rhs(b)))

    def sizes(self, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> ProductSizes:
        """The sizes of operands of these shapes, by the kind of their dimensions."""
        return ProductSizes(
            tuple([lhs_shape[d] for d in self.lhs_batching_dimensions]),
            tuple([lhs_shape[d] for d in self.lhs_result_dimensions]),
            tuple([lhs_shape[d] for d in self.lhs_contracting_dimensions]),
            tuple([rhs_shape[d] for d in self.rhs_result_dimensions]),
        )

    @functools.cached_property
    def orders(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dimensions of lhs (batching, result, contracting) and of rhs (batching, contracting, result)."""
        return (
            (*self.lhs_batching_dimensions, *self.lhs_result_dimensions, *self.lhs_contracting_dimensions),
            (*self.rhs_batching_dimensions, *self.rhs_contracting_dimensions, *self.rhs_result_dimensions),
        )

    def stacker(
        self, lhs_shape: Sequence[int], rhs_shape: Sequence[int], threads: int | None = 1
    ) -> Callable[[Array, Array], tuple[Array, Array]]:
        """The function from operands of these shapes to stacks [batch, row, k] and [batch, k, column]."""
        lhs_stack, rhs_stack = self.stackers(lhs_shape, rhs_shape, threads)
        batch = math.prod(self.sizes(lhs_shape, rhs_shape).batch)

        def stack(lhs: Array, rhs: Array) -> tuple[Array, Array]:
            lhs, rhs = lhs_stack(lhs), rhs_stack(rhs)
            return lhs.reshape(batch, *lhs.shape[-2:]), rhs.reshape(batch, *rhs.shape[-2:])

        return stack

    def stackers(
        self, lhs_shape: Sequence[int], rhs_shape: Sequence[int], threads: int | None = 1
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """The functions from lhs to stacks [*batch, row, k], and from rhs to stacks [*batch, k, column].

        Args:
            lhs_shape, rhs_shape: the operands' shapes.
            threads: maximum number of threads that copy elements, where these must move; None: all.
        """
        (lhs_order, rhs_order), sizes = self.orders, self.sizes(lhs_shape, rhs_shape)
        rows, k, columns = sizes.matrix
        lhs_stack, rhs_stack = (*sizes.batch, rows, k), (*sizes.batch, k, columns)
        return _stacker(lhs_order, lhs_stack, threads), _stacker(rhs_order, rhs_stack, threads)

    def reference(self, *operands: Array) -> Array:
        """``result[result_index] = dot_product``, as the specification defines `dot_general`.

        The specification leaves open in which order products of floats are added, and where they round. The
        order that docs/numerics.md states is that of a native function, which multiplies floats here too.
        """
        lhs, rhs = operands
        types = [type.element_type for type in (self.lhs, self.rhs, self.result)]
        if not all(type.category & INTEGER for type in types):
            return self.native_product(lhs, rhs)
        batching, rhs_result = self.rhs_batching_dimensions, self.rhs_result_dimensions
        transposed_lhs = lhs.transpose(self.orders[0])
        transposed_rhs = rhs.transpose((*batching, *rhs_result, *self.rhs_contracting_dimensions))
        sizes = self.sizes(lhs.shape, rhs.shape)
        first, last = len(sizes.batch), len(sizes.batch) + len(sizes.rows)
        wrapped = converter(ELEMENT_TYPES["ui64"], self.result.plain_element_type)

        def dot_product(result_index: Index) -> Array:
            lhs_slice = element(transposed_lhs, result_index[:last])
            rhs_slice = element(transposed_rhs, (*result_index[:first], *result_index[last:]))
            contracted = index_space(sizes.contracted)
            total = sum(int(lhs_slice[index]) * int(rhs_slice[index]) for index in contracted)
            return np.asarray(wrapped(np.array(total % 2**64, np.uint64)))

        return from_elements((*sizes.batch, *sizes.rows, *sizes.columns), self.result.dtype, dot_product)

    def native_product(self, lhs: Array, rhs: Array, threads: int | None = 1) -> Array:
        """The product by a native function, on at most `threads` threads; None: all."""
        multiply = self.multiply if threads == 1 else self.multiply_on(threads)
        assert multiply is not None
        return np.asarray(self.bind_matmul(multiply, lhs.shape, rhs.shape, threads)(lhs, rhs))

    def bind(self) -> Callable[..., Any]:
        return self.on_threads(1)

    def on_threads(self, threads: int | None) -> Callable[..., Any]:
        multiply = self.multiply if threads == 1 else self.multiply_on(threads)
        if multiply is None:
            return self.reference
        return self.bind_with(multiply, threads) or functools.partial(self.native_product, threads=threads)

    def bind_with(self, multiply: Multiply, threads: int | None = 1) -> Callable[..., Any] | None:
        """`reference` by a product of stacks of matrices, for known shapes; None if a size is unknown."""
        if not (self.lhs.is_static and self.rhs.is_static):
            return None
        return self.bind_matmul(multiply, self.lhs.shape, self.rhs.shape, threads)

    def bind_matmul(
        self,
        multiply: Multiply,
        lhs_shape: Sequence[int],
        rhs_shape: Sequence[int],
        threads: int | None = 1,
    ) -> Callable[[Array, Array], Array]:
        """The product of operands of these shapes by a product of stacks of matrices.

        Args:
            multiply: the product.
            lhs_shape, rhs_shape: the operands' shapes.
            threads: maximum number of threads that copy elements, where these must move; None: all.
        """
        (lhs_order, rhs_order), sizes = self.orders, self.sizes(lhs_shape, rhs_shape)
        if len(sizes.rows) == len(sizes.contracted) == len(sizes.columns) == 1:
            multiply = fastest_for_sizes(multiply, *sizes.matrix)
            if all(map(_is_ascending, self.orders)):
                return multiply
            return lambda lhs, rhs: multiply(lhs.transpose(lhs_order), rhs.transpose(rhs_order))
        lhs_stack, rhs_stack = self.stackers(lhs_shape, rhs_shape, threads)
        shape = (*sizes.batch, *sizes.rows, *sizes.columns)
        return lambda lhs, rhs: multiply(lhs_stack(lhs), rhs_stack(rhs)).reshape(shape)

    @property
    def summation_order(self) -> SummationOrder | None:
        """The order in which products are added; None if it is none that `SummationOrder` describes."""
        return self.summation_order_of(self.lhs.shape, self.rhs.shape)

    def summation_order_of(self, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> SummationOrder | None:
        """`summation_order` for operands of these shapes."""
        sizes = self.sizes(lhs_shape, rhs_shape)
        rows, k, columns = sizes.matrix
        if self.multiply is matmul:
            return summation_order(rows, columns)
        if self.multiply is complex_product:
            return complex_summation_order(math.prod(sizes.batch) * rows * k * columns)
        return None

    @property
    def is_converted(self) -> bool:
        """Whether floats narrower than f32 are converted to it, and multiplied as matrices of f32."""
        return self._widens and not (self._reads_bf16 or self.multiplies_narrow_floats)

    @property
    def _reads_bf16(self) -> bool:
        """Whether a vector is multiplied with a matrix of bf16, which the product widens as it reads it."""
        rows, _, columns = self.matrix_sizes
        matrix = self.lhs if columns == 1 else self.rhs
        return 1 in (rows, columns) and matrix.element_type is ELEMENT_TYPES["bf16"]

    @property
    def _widens(self) -> bool:
        """Whether floats are multiplied in f32 of which some are narrower."""
        types, f32 = [type.element_type for type in (self.lhs, self.rhs, self.result)], ELEMENT_TYPES["f32"]
        if self.algorithm is not None or not has_native_matmul():
            return False
        plain = [type for type in types if isinstance(type, ElementType) and type.category == FLOAT]
        if len(plain) < len(types) or computed_float(*plain) is not f32:
            return False
        return any(type is not f32 for type in types)

    @property
    def widened_order(self) -> SummationOrder | None:
        """The order in which products of floats narrower than f32 are added in f32; None for other types."""
        if not self._widens:
            return None
        rows, _, columns = self.matrix_sizes
        if self.multiplies_narrow_floats and narrow_order(self) is NarrowOrder.TWO_CHAINS:
            return two_chain_order()
        return summation_order(rows, columns)

    @property
    def may_add_two_chains(self) -> bool:
        """Not with batching dimensions: those products, of attention for instance, are joined with the
        operations around them in f32, which gains more on processors without a matrix unit.
        """
        return not self.lhs_batching_dimensions

    @property
    def multiplies_narrow_floats(self) -> bool:
        """Whether `low_precision_matmul` multiplies its matrices."""
        order = narrow_order(self)
        return order is not None and supports_sizes(order, *self.matrix_sizes)

    def keeps_order(self, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> bool:
        """Whether a product of operands of these shapes adds in the order of this one. They have the same
        contracted sizes.
        """
        if self.summation_order_of(lhs_shape, rhs_shape) != self.summation_order:
            return False
        if self.result.category != FLOAT:
            return True
        order = narrow_order(self)
        own, others = [
            (1 in (rows, columns), order is not None and supports_sizes(order, rows, k, columns))
            for rows, k, columns in (self.matrix_sizes, self.sizes(lhs_shape, rhs_shape).matrix)
        ]
        return own == others

    @property
    def matrix_sizes(self) -> tuple[int, int, int]:
        """Rows, contracted size and columns of the matrices that are multiplied."""
        return self.sizes(self.lhs.shape, self.rhs.shape).matrix


def precision_config_size(view: Any) -> str | None:
    """size(precision_config) = 2; exporters also leave it empty"""
    if not view.precision_config:
        return None
    return rules.length_is("precision_config", len(view.precision_config), 2, "the number of operands")


class DotDimensions(Contraction):
    """The constraints of `dot_general` and `chlo.ragged_dot` on dimension numbers and `precision_config`."""

    C1 = constraints.same_size("lhs_batching_dimensions", "rhs_batching_dimensions")
    C2 = constraints.same_size("lhs_contracting_dimensions", "rhs_contracting_dimensions")
    C3 = constraints.unique("lhs_batching_dimensions", "lhs_contracting_dimensions")
    C4 = constraints.unique("rhs_batching_dimensions", "rhs_contracting_dimensions")
    C5 = constraints.dimensions_of("lhs_batching_dimensions", "lhs")
    C6 = constraints.dimensions_of("lhs_contracting_dimensions", "lhs")
    C7 = constraints.dimensions_of("rhs_batching_dimensions", "rhs")
    C8 = constraints.dimensions_of("rhs_contracting_dimensions", "rhs")
    C9 = constraints.same_sizes_along("lhs", "lhs_batching_dimensions", "rhs", "rhs_batching_dimensions")
    C10 = constraints.same_sizes_along(
        "lhs", "lhs_contracting_dimensions", "rhs", "rhs_contracting_dimensions"
    )
    C11 = Constraint(precision_config_size)


def is_quantized_tensor(type: TensorType) -> bool:
    return isinstance(type.element_type, QuantizedType)


def same_kind(named: Sequence[tuple[str, TensorType]]) -> str | None:
    """All must be boolean, or integer, or floating-point, or complex.

    The specification asks for equal types; exporters mix widths (``i8`` with a result of ``i32``) and the
    formats of 8-bit floats.
    """
    if any(is_quantized_tensor(type) for _, type in named):
        return None
    (first_name, first), *rest = named
    for name, type in rest:
        if not any(
            first.category & kind and type.category & kind for kind in (BOOLEAN, INTEGER, FLOAT, COMPLEX)
        ):
            return f"{name} has elements {type.element_type}, but {first_name} has {first.element_type}"
    return None


class QuantizedContraction(Op):
    """The constraints of `dot_general` and `convolution` on quantized types, under labels of their own."""

    lhs: Operand[TensorType]
    rhs: Operand[TensorType]
    result: Result[TensorType]

    def quantized_together(self) -> str | None:
        """is_quantized(lhs) = is_quantized(result) and is_quantized(rhs), where anything is quantized"""
        lhs, rhs, result = (is_quantized_tensor(type) for type in (self.lhs, self.rhs, self.result))
        if not (lhs or rhs or result) or lhs == (rhs and result):
            return None
        return f"lhs is {self.lhs}, rhs is {self.rhs} and result is {self.result}"

    def same_storage_type(self) -> str | None:
        """storage_type(lhs) = storage_type(rhs), where lhs is quantized"""
        lhs, rhs = self.lhs.element_type, self.rhs.element_type
        if (
            not (isinstance(lhs, QuantizedType) and isinstance(rhs, QuantizedType))
            or lhs.storage is rhs.storage
        ):
            return None
        return f"lhs is stored in {lhs.storage}, but rhs in {rhs.storage}"

    def same_expressed_type(self) -> str | None:
        """expressed_type(lhs) = expressed_type(rhs) = expressed_type(result), where lhs is quantized"""
        if not is_quantized_tensor(self.lhs):
            return None
        types = [rules.expressed_type(type.element_type) for type in (self.lhs, self.rhs, self.result)]
        if types[0] == types[1] == types[2]:
            return None
        return f"lhs expresses {types[0]}, rhs {types[1]} and result {types[2]}"

    def per_tensor_result(self) -> str | None:
        """is_per_tensor_quantized(rhs) implies is_per_tensor_quantized(result), where lhs is quantized"""
        if not is_quantized_tensor(self.lhs) or self.rhs.category != QUANTIZED_PER_TENSOR:
            return None
        if self.result.category != QUANTIZED_PER_AXIS:
            return None
        return f"rhs is quantized per tensor, but result is {self.result}"

    def hybrid_types(self) -> str | None:
        """element_type(lhs) = expressed_type(rhs) = element_type(result), where lhs is not quantized"""
        if is_quantized_tensor(self.lhs) or not (
            is_quantized_tensor(self.rhs) or is_quantized_tensor(self.result)
        ):
            return None
        expressed = rules.expressed_type(self.rhs.element_type)
        if self.lhs.element_type == expressed == self.result.element_type:
            return None
        return f"lhs is {self.lhs} and result is {self.result}, but rhs expresses {expressed}"
