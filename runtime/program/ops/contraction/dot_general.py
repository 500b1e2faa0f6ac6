"""`dot_general` and the operations that it replaces: `dot`, `einsum`, `unary_einsum`.

Source: specification, section "dot_general".
"""

from __future__ import annotations

import functools
import re
from typing import Final

import numpy as np

from ....errors import counted
from ....types import (
    DYNAMIC,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED,
    QUANTIZED_PER_TENSOR,
    Array,
    ElementType,
    QuantizedType,
    TensorType,
    Type,
)
from ...ir import Operation
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, DIMENSIONS, FLOAT_TYPE, I64, STRING
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result, constraint
from ..framework.facts import OpenOrder
from ..framework.traits import Product
from ..numerics.element_types import carrier, rounding
from . import dot_algorithm
from .base import Contraction, DotDimensions, QuantizedContraction, precision_config_size, same_kind
from .dot_algorithm import DotAlgorithm
from .matmul import PRECISION_CONFIG, Multiply, Precision

_EINSUM_OPERAND: Final = r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*"


class DotGeneral(
    DotDimensions,
    QuantizedContraction,
    name="stablehlo.dot_general",
    assembly="$lhs , $rhs , custom(dot_dimension_numbers) custom(precision_config_and_algorithm) attr-dict : "
    "functional-type",
):
    """Multiplies and sums over contracting dimensions. Source: specification, section "dot_general"."""

    partition = "dot_general"
    kernel = "contraction_kernels.contraction"
    open_order = OpenOrder.SUMS
    rounding = Rounding.SUM
    wider = "product"
    loop_sharding = "dot_general"
    block_rule = "arrays.products.DOT_GENERAL"

    lhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    rhs = Operand(PLAIN | QUANTIZED)
    lhs_batching_dimensions = Attribute(DIMENSIONS, (), of="dot_dimension_numbers")
    rhs_batching_dimensions = Attribute(DIMENSIONS, (), of="dot_dimension_numbers")
    lhs_contracting_dimensions = Attribute(DIMENSIONS, (), of="dot_dimension_numbers")
    rhs_contracting_dimensions = Attribute(DIMENSIONS, (), of="dot_dimension_numbers")
    precision_config = Attribute(PRECISION_CONFIG, None)
    lhs_precision_type = Attribute(FLOAT_TYPE, None, of="algorithm")
    rhs_precision_type = Attribute(FLOAT_TYPE, None, of="algorithm")
    accumulation_type = Attribute(FLOAT_TYPE, None, of="algorithm")
    lhs_component_count = Attribute(I64, None, of="algorithm")
    rhs_component_count = Attribute(I64, None, of="algorithm")
    num_primitive_operations = Attribute(I64, None, of="algorithm")
    allow_imprecise_accumulation = Attribute(BOOL, None, of="algorithm")
    result = Result(PLAIN | QUANTIZED)

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        for name in dot_algorithm.FIELDS if "algorithm" in operation.attributes else ():
            if self.__dict__[name] is None:
                raise self.verify_error(f"{name} is missing", self.input_labels[name])

    C12 = constraints.shape_is("result", "the shape of the product", "result_shape")
    C14 = Constraint(QuantizedContraction.quantized_together)

    @constraint
    def C15(self) -> str | None:
        """zero_points(rhs) = 0"""
        rhs = self.rhs.element_type
        if not isinstance(rhs, QuantizedType) or not any(rhs.zero_points):
            return None
        return f"rhs has zero points {list(rhs.zero_points)}"

    @constraint
    def C16(self) -> str | None:
        """quantization_dimension(rhs) not in rhs_contracting_dimensions"""
        dimension = rules.quantization_dimension(self.rhs)
        if dimension is None or dimension not in self.rhs_contracting_dimensions:
            return None
        return f"rhs is quantized along dimension {dimension}, which is contracted"

    C17 = Constraint(QuantizedContraction.same_storage_type)
    C18 = Constraint(QuantizedContraction.same_expressed_type)
    C19 = Constraint(QuantizedContraction.per_tensor_result)
    C20 = Constraint(QuantizedContraction.hybrid_types)

    @constraint
    def C21(self) -> str | None:
        """precision_config... = DEFAULT, where there is an algorithm"""
        others = [value for value in self.precision_config or () if value is not Precision.DEFAULT]
        if self.algorithm is None or not others:
            return None
        return f"precision_config has {others[0]}, but must be DEFAULT where there is an algorithm"

    C22 = constraints.positive("lhs_component_count")
    C23 = constraints.positive("rhs_component_count")
    C24 = constraints.positive("num_primitive_operations")

    @functools.cached_property
    def algorithm(self) -> DotAlgorithm | None:
        """The dot algorithm, if there is one."""
        if self.lhs_precision_type is None:
            return None
        return DotAlgorithm(*[self.__dict__[name] for name in dot_algorithm.FIELDS])

    def verify(self) -> None:
        super().verify()
        if self.algorithm is not None and self.algorithm.components is None:
            fields = ", ".join(f"{name} = {value}" for name, value in self.algorithm._asdict().items())
            raise self.unsupported(f"the dot algorithm {fields} is not supported")

    def multiplier(self, threads: int | None = 1) -> Multiply | None:
        types = (self.lhs.element_type, self.rhs.element_type, self.result.element_type)
        if self.algorithm is None or self.algorithm.components is None:
            return super().multiplier(threads)
        plain = [type for type in types if isinstance(type, ElementType)]
        if len(plain) < len(types) or not all(type.category & (FLOAT | INTEGER) for type in plain):
            return None
        lhs, rhs, result = plain
        return dot_algorithm.multiplier(self.algorithm, lhs, rhs, result, threads)


class Dot(
    Contraction,
    name="stablehlo.dot",
    assembly="$lhs , $rhs custom(precision_config) attr-dict : functional-type",
):
    """The product of vectors and matrices; `dot_general` replaces it. Not in the specification."""

    is_specified = False
    kernel = "contraction_kernels.contraction"
    open_order = OpenOrder.SUMS
    rounding = Rounding.SUM
    wider = "product"

    lhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    rhs = Operand(PLAIN | QUANTIZED)
    precision_config = Attribute(PRECISION_CONFIG, None)
    result = Result(PLAIN | QUANTIZED)

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = (0,)

    @property
    def lhs_contracting_dimensions(self) -> tuple[int, ...]:
        return (self.lhs.rank - 1,)

    def verify(self) -> None:
        if not {self.lhs.rank, self.rhs.rank} <= {1, 2}:
            raise self.verify_error(
                f"lhs is {self.lhs} and rhs is {self.rhs}, but they must be vectors or matrices"
            )
        if not rules.sizes_agree(self.lhs.shape[-1], self.rhs.shape[0]):
            raise self.verify_error(f"lhs is {self.lhs} and rhs is {self.rhs}, whose contracted sizes differ")
        reason = precision_config_size(self)
        if reason is not None:
            raise self.verify_error(reason)
        super().verify()


class _Einsum(Op):
    """Base of `einsum` and `unary_einsum`."""

    rounding = Rounding.SUM

    einsum_config: Attribute[str]
    result: Result[TensorType]

    def operand_types(self) -> list[TensorType]:
        raise NotImplementedError

    def result_shape(self) -> tuple[int, ...]:
        """The result's shape according to the configuration.

        Raises:
            VerifyError: the configuration is malformed, or does not fit the operands.
        """
        operand_labels, output = self._subscripts()
        sizes: dict[str, int] = {}
        for labels_text, type in zip(operand_labels, self.operand_types(), strict=True):
            for label, size in zip(_labels(labels_text, type.rank), type.shape, strict=True):
                previous = sizes.get(label, DYNAMIC)
                if not rules.sizes_agree(previous, size) and not (label.isdigit() and 1 in (previous, size)):
                    raise self.verify_error(f"einsum_config gives {label} the sizes {previous} and {size}")
                sizes[label] = max(previous, size)
        broadcast = sorted((label for label in sizes if label.isdigit()), key=int, reverse=True)
        before, dots, after = output.partition("...")
        labels = [*before, *(broadcast if dots else ()), *after]
        if len(set(labels)) < len(labels) or not sizes.keys() >= set(labels):
            raise self.verify_error(
                f"einsum_config has the output {output!r}, whose labels must be unique and an operand's"
            )
        return tuple([sizes[label] for label in labels])

    def _subscripts(self) -> tuple[list[str], str]:
        """The labels of each operand and of the result."""
        config = self.einsum_config.replace(" ", "")
        operands, arrow, output = config.partition("->")
        operand_labels = operands.split(",")
        types = self.operand_types()
        if (
            not arrow
            or len(operand_labels) != len(types)
            or not all(
                re.fullmatch(_EINSUM_OPERAND, labels_text) for labels_text in [*operand_labels, output]
            )
        ):
            raise self.verify_error(
                f"einsum_config is {config!r}, "
                f"but must name the dimensions of {counted(len(types), 'operand')}"
            )
        for labels_text, type in zip(operand_labels, types, strict=True):
            named = len(labels_text.replace("...", ""))
            if named > type.rank or (named < type.rank and "..." not in labels_text):
                names = counted(named, "dimension")
                raise self.verify_error(f"einsum_config names {names}, but an operand is {type}")
        return operand_labels, output

    def verify(self) -> None:
        super().verify()
        operands = [(f"operand {index}", type) for index, type in enumerate(self.operand_types())]
        reason = same_kind([*operands, ("result", self.result)])
        if reason is not None:
            raise self.verify_error(reason)

    def infer(self) -> list[Type]:
        return [TensorType(self.result_shape(), self.result.element_type)]

    def reference(self, *operands: Array) -> Array:
        element_type = self.result.plain_element_type
        computed = carrier(element_type)
        # NumPy sums elements in the order of their addresses.
        entered = [operand.astype(computed, order="C", copy=False) for operand in operands]
        product = np.einsum(self.einsum_config.replace(" ", ""), *entered)
        return np.asarray(rounding(computed, element_type)(np.asarray(product)))


def _labels(labels_text: str, rank: int) -> list[str]:
    """A label for each dimension; the dimensions of an ellipsis have numbers, counted from the last one."""
    before, dots, after = labels_text.partition("...")
    hidden = rank - len(before) - len(after)
    return [*before, *(map(str, range(hidden - 1, -1, -1)) if dots else ()), *after]


class Einsum(
    _Einsum,
    name="stablehlo.einsum",
    assembly="$lhs , $rhs , config = $einsum_config attr-dict : functional-type",
):
    """A sum of products by the names of dimensions. Not in the specification."""

    is_specified = False
    product = Product.EINSUM

    lhs = Operand(PLAIN)
    rhs = Operand(PLAIN)
    einsum_config = Attribute(STRING)
    result = Result(PLAIN)

    def operand_types(self) -> list[TensorType]:
        return [self.lhs, self.rhs]


class UnaryEinsum(
    _Einsum,
    name="stablehlo.unary_einsum",
    assembly="$operand , config = $einsum_config attr-dict : functional-type",
):
    """A sum by the names of dimensions. Not in the specification."""

    is_specified = False
    operand = Operand(PLAIN)
    einsum_config = Attribute(STRING)
    result = Result(PLAIN)

    def operand_types(self) -> list[TensorType]:
        return [self.operand]
