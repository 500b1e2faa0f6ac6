"""The frame of elementwise operations: each result element depends on the operands' at the same index.

Source: specification, section "Ops".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from ....types import (
    COMPLEX,
    DYNAMIC,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    Array,
    ElementType,
    QuantizedType,
    TensorType,
    Type,
)
from ...ir import Operation
from ..framework import constraints, costs, rules
from ..framework.accuracy import DEFAULT_ULPS, Accuracy
from ..framework.declaration import Attribute, Op, Operand, Result, declaration_of
from ..numerics import element_types
from ..numerics.element_types import ArrayFunction
from ..numerics.real_functions import MathFunction, RealFunction
from ..numerics.result_accuracy import RESULT_ACCURACY, ResultAccuracy, is_fast, tolerance_violation

COMPUTED = FLOAT | COMPLEX | QUANTIZED_PER_TENSOR
"""The element types of most mathematical functions."""


class Elementwise(
    Op,
    cost=costs.INSTRUCTIONS,
    loop_sharding="elementwise",
    partition="elementwise",
    work=costs.Work.ELEMENTS,
):
    """Base of elementwise operations.

    Class attributes:
        functions: for each category of element types the function on carriers (`numerics`) that computes a
            result element from operand elements; it broadcasts, so that a region may run on whole arrays.
        wide: the categories for which it needs the wider carrier, as transcendental functions do.
        single_complex: the function on complex64 numbers in their carrier, where they have their own.
    """

    binds_by_types = True

    functions: ClassVar[Mapping[int, ArrayFunction]] = MappingProxyType({})
    wide: ClassVar[int] = 0
    single_complex: ClassVar[ArrayFunction | None] = None

    def __init_subclass__(
        cls, *, functions: Mapping[int, ArrayFunction] | None = None, wide: int | None = None, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        if functions is not None:
            cls.functions = functions
        if wide is not None:
            cls.wide = wide

    @classmethod
    def carrier_function(cls, element_type: ElementType) -> ArrayFunction:
        """The function on carriers; KeyError if there is none."""
        if cls.single_complex is not None and element_type.name == "complex<f32>":
            return cls.single_complex
        for category, function in cls.functions.items():
            if category & element_type.category:
                return function
        raise KeyError(element_type.name)

    @classmethod
    def is_defined(cls, element_type: ElementType) -> bool:
        if not cls.functions:
            return True
        return any(category & element_type.category for category in cls.functions)

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        """The element type of the result for operands of `element_type`."""
        return element_type

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        """The fastest function from arrays of `element_type` to the result; often a bare NumPy ufunc."""
        choose = element_types.wide_carrier if cls.wide & element_type.category else element_types.carrier
        result_type = cls.result_element_type(element_type)
        function = cls.carrier_function(element_type)
        if isinstance(function, RealFunction) and function.rounds_to(element_type):
            choose = element_types.carrier
        if isinstance(function, MathFunction):
            function = function.ufunc
        return element_types.through_carrier(function, element_type, result_type, choose(element_type))

    def plain_function(self, element_type: ElementType) -> ArrayFunction:
        """`function_of`, with this operation's attributes applied."""
        function = self.functions.get(FLOAT)
        if isinstance(function, RealFunction) and is_fast(self.operation, element_type):
            return function.fast.ufunc
        return self.function_of(element_type)

    def bind(self) -> Callable[..., Any]:
        """The fastest function equal to `reference` for this operation's types and attributes."""
        return self.function

    def reference(self, *operands: Array) -> Any:
        return self.function(*operands)

    @functools.cached_property
    def function(self) -> ArrayFunction:
        """Compute the result array from operand arrays; the caller has dequantized them."""
        return self.plain_function(self.computed_type)

    @property
    def computed_type(self) -> ElementType:
        """The element type of the computation: the last operand's, or its expressed type."""
        *_, operand, _ = self.named_types().values()
        computed = rules.expressed_type(operand.element_type)
        assert isinstance(computed, ElementType)
        return computed

    def named_types(self) -> dict[str, TensorType]:
        """The types of the operands and, last, of the result."""
        fields = (*self.declared_operands, *self.declared_results)
        return {field.name: self.__dict__[field.name] for field in fields}

    def infer(self) -> list[Type] | None:
        *operands, result = self.named_types().values()
        if isinstance(result.element_type, QuantizedType):
            return None
        ranked = [operand for operand in operands if operand.rank == max(o.rank for o in operands)]
        sizes = tuple(
            next((size for size in column if size != DYNAMIC), DYNAMIC)
            for column in zip(*(operand.shape for operand in ranked), strict=True)
        )
        bounds = next((operand.bounds for operand in ranked if operand.shape == sizes), None)
        return [TensorType(sizes, self.result_element_type(self.computed_type), bounds)]


class Unary(Elementwise, assembly="$operand attr-dict : same-type"):
    """Base of operations on one tensor whose result has its type."""

    operand = Operand(COMPUTED)
    result = Result(COMPUTED)
    C1 = constraints.same_baseline_type("operand", "result")


class Transcendental(Unary, accuracy=Accuracy(DEFAULT_ULPS), cost=costs.FUNCTION, wide=FLOAT | COMPLEX):
    """Base of unary functions with a `result_accuracy`."""

    result_accuracy = Attribute(RESULT_ACCURACY, ResultAccuracy())

    def verify(self) -> None:
        super().verify()
        reason = tolerance_violation(self.result_accuracy, self.name, self.computed_type)
        if reason is not None:
            raise self.unsupported(reason)


class Binary(Elementwise, assembly="$lhs , $rhs attr-dict : same-type"):
    """Base of operations on two tensors of the result's type."""

    lhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    rhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)
    C1 = constraints.same_baseline_type("lhs", "rhs", "result")


class Arithmetic(Binary):
    """Base of binary operations that do not accept booleans."""

    lhs = Operand(INTEGER | COMPUTED)
    rhs = Operand(INTEGER | COMPUTED)
    result = Result(INTEGER | COMPUTED)


def is_elementwise(operation: Operation) -> bool:
    """Whether an operation is declared as elementwise, or is a bitcast that splits and joins no elements."""
    declaration = declaration_of(operation)
    if issubclass(declaration, Elementwise):
        return True
    if declaration.emit.by_attributes != "bitcast_convert":
        return False
    operand, result = (value.type for value in (*operation.operands, *operation.results))
    return isinstance(operand, TensorType) and isinstance(result, TensorType) and operand.rank == result.rank
