"""Attributes, constraints and result shape of `convolution` and `dynamic_conv`.

Source: specification, sections "convolution" and "dynamic_conv".
"""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import counted
from ....types import DYNAMIC, PLAIN, QUANTIZED, QUANTIZED_PER_AXIS, TensorType, Type
from ...ir import Operation
from ..framework import constraints, rules
from ..framework.attribute_kinds import BOOLEANS, DIMENSIONS, I64
from ..framework.declaration import DERIVED, Attribute, Constraint, Operand, Result, constraint
from ..framework.traits import Product
from ..reduction.window_geometry import Window, padding_shape
from .base import QuantizedContraction, precision_config_size, same_kind
from .matmul import PRECISION_CONFIG
from .mixed_matmul import MixedProduct

Padding = tuple[tuple[int, ...], ...]


def one_each(name: str) -> Constraint:
    """A list must have a value for each spatial dimension."""

    def check(view: ConvolutionRules) -> str | None:
        return rules.length_is(name, len(getattr(view, name)), view.spatial_rank, "N - 2")

    return Constraint(check, f"size({name}) = N - 2")


def _divisible(operand: str, dimension: str, count_name: str) -> Constraint:
    """The size of a dimension must be divisible by a number of groups."""

    def check(view: ConvolutionRules) -> str | None:
        size, count = view.size(operand, dimension), getattr(view, count_name)
        if size == DYNAMIC or count <= 0 or size % count == 0:
            return None
        return f"{operand} has size {size} in {dimension}, which {count_name} = {count} does not divide"

    return Constraint(check, f"dim({operand}, {dimension}) % {count_name} = 0")


def _permutation_of_dimensions(name: str) -> Constraint:
    """Dimensions must be N different ones."""
    return constraints.all_of(constraints.unique(name), constraints.dimensions_of(name, "lhs"))


def _quantized_along(operand: str, dimension: str) -> Constraint:
    """A per-axis quantized operand or result must be quantized along a certain dimension."""

    def check(view: ConvolutionRules) -> str | None:
        type, expected = getattr(view, operand), getattr(view, dimension)
        axis = rules.quantization_dimension(type)
        if type.category != QUANTIZED_PER_AXIS or axis == expected:
            return None
        return f"{operand} is quantized along dimension {axis}, but {dimension} is {expected}"

    return Constraint(
        check, f"is_per_axis_quantized({operand}) implies quantization_dimension({operand}) = {dimension}"
    )


class ConvolutionRules(MixedProduct, QuantizedContraction):
    """Base of both convolutions: attributes, constraints and the result's shape."""

    product = Product.CONVOLUTION

    lhs: Operand[TensorType]
    rhs: Operand[TensorType]
    window_strides: Attribute[tuple[int, ...]]

    lhs_dilation: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    rhs_dilation: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    window_reversal: Attribute[tuple[bool, ...]] = Attribute(BOOLEANS, DERIVED)
    input_batch_dimension = Attribute(I64, of="dimension_numbers")
    input_feature_dimension = Attribute(I64, of="dimension_numbers")
    input_spatial_dimensions = Attribute(DIMENSIONS, (), of="dimension_numbers")
    kernel_input_feature_dimension = Attribute(I64, of="dimension_numbers")
    kernel_output_feature_dimension = Attribute(I64, of="dimension_numbers")
    kernel_spatial_dimensions = Attribute(DIMENSIONS, (), of="dimension_numbers")
    output_batch_dimension = Attribute(I64, of="dimension_numbers")
    output_feature_dimension = Attribute(I64, of="dimension_numbers")
    output_spatial_dimensions = Attribute(DIMENSIONS, (), of="dimension_numbers")
    feature_group_count = Attribute(I64)
    batch_group_count = Attribute(I64)
    precision_config = Attribute(PRECISION_CONFIG, None)
    result = Result(PLAIN | QUANTIZED)

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        for name, default in (
            ("window_strides", 1),
            ("lhs_dilation", 1),
            ("rhs_dilation", 1),
            ("window_reversal", False),
        ):
            if self.__dict__[name] is None:
                self.__dict__[name] = (default,) * self.spatial_rank

    @property
    def spatial_rank(self) -> int:
        """Number of spatial dimensions."""
        return max(int(self.lhs.rank) - 2, 0)

    def static_padding(self) -> Padding | None:
        """The padding as (low, high) pairs; None if it is not known yet."""
        raise NotImplementedError

    @property
    def input_dimensions(self) -> tuple[int, ...]:
        """Batch, spatial and feature dimensions of lhs."""
        return (self.input_batch_dimension, *self.input_spatial_dimensions, self.input_feature_dimension)

    @property
    def kernel_dimensions(self) -> tuple[int, ...]:
        """Spatial, input feature and output feature dimensions of rhs."""
        return (
            *self.kernel_spatial_dimensions,
            self.kernel_input_feature_dimension,
            self.kernel_output_feature_dimension,
        )

    @property
    def output_dimensions(self) -> tuple[int, ...]:
        """Batch, spatial and feature dimensions of the result."""
        return (self.output_batch_dimension, *self.output_spatial_dimensions, self.output_feature_dimension)

    @constraint
    def C1(self) -> str | None:
        """N = rank(lhs) = rank(rhs)"""
        if self.lhs.rank == self.rhs.rank >= 2:
            return None
        return f"lhs is {self.lhs} and rhs is {self.rhs}, but both must have the same rank of at least 2"

    C2 = one_each("window_strides")
    C3 = constraints.positive("window_strides")

    @constraint
    def C4(self) -> str | None:
        """shape(padding) = [N - 2, 2]"""
        padding = self.static_padding()
        return None if padding is None else padding_shape(padding, self.spatial_rank, "N - 2")

    C5 = one_each("lhs_dilation")
    C6 = constraints.positive("lhs_dilation")
    C7 = one_each("rhs_dilation")
    C8 = constraints.positive("rhs_dilation")
    C9 = one_each("window_reversal")
    C10 = _divisible("lhs", "input_batch_dimension", "batch_group_count")
    C11 = _divisible("lhs", "input_feature_dimension", "feature_group_count")
    C12 = one_each("input_spatial_dimensions")
    C13 = _permutation_of_dimensions("input_dimensions")

    @constraint
    def C14(self) -> str | None:
        """dim(rhs, kernel_input_feature_dimension) = dim(lhs, input_feature_dimension) / groups"""
        kernel = self.size("rhs", "kernel_input_feature_dimension")
        features = self.size("lhs", "input_feature_dimension")
        groups = self.feature_group_count
        if DYNAMIC in (kernel, features) or groups <= 0 or kernel == features // groups:
            return None
        inputs, in_groups = counted(kernel, "input feature"), counted(groups, "group")
        return f"rhs has {inputs}, but lhs has {features} in {in_groups}"

    C15 = _divisible("rhs", "kernel_output_feature_dimension", "batch_group_count")
    C16 = _divisible("rhs", "kernel_output_feature_dimension", "feature_group_count")
    C17 = one_each("kernel_spatial_dimensions")
    C18 = _permutation_of_dimensions("kernel_dimensions")
    C19 = one_each("output_spatial_dimensions")
    C20 = _permutation_of_dimensions("output_dimensions")
    C21 = constraints.positive("feature_group_count")
    C22 = constraints.positive("batch_group_count")

    @constraint
    def C23(self) -> str | None:
        """feature_group_count = 1 or batch_group_count = 1"""
        if 1 in (self.feature_group_count, self.batch_group_count):
            return None
        return (
            f"feature_group_count is {self.feature_group_count} and batch_group_count is "
            f"{self.batch_group_count}, but one must be 1"
        )

    C24 = Constraint(precision_config_size)

    @constraint
    def C26(self) -> str | None:
        """rank(result) = N"""
        if self.result.rank == self.lhs.rank:
            return None
        return f"result is {self.result}, but lhs has rank {self.lhs.rank}"

    @constraint
    def C25(self) -> str | None:
        """dim(result) = batches / batch_group_count, num_windows and output features"""
        shape = self.result_shape(self.lhs.shape, self.rhs.shape, self.static_windows())
        return rules.same_shape("result", self.result, "the shape of the convolution", shape)

    @constraint
    def C27(self) -> str | None:
        """element_type(lhs) = element_type(rhs) = element_type(result); here operands at least of one kind"""
        return same_kind([("lhs", self.lhs), ("rhs", self.rhs)])

    C28 = Constraint(QuantizedContraction.quantized_together)
    C29 = _quantized_along("rhs", "kernel_output_feature_dimension")
    C30 = _quantized_along("result", "output_feature_dimension")
    C31 = Constraint(QuantizedContraction.same_storage_type)
    C32 = Constraint(QuantizedContraction.same_expressed_type)
    C33 = Constraint(QuantizedContraction.per_tensor_result)
    C34 = Constraint(QuantizedContraction.hybrid_types)

    def size(self, operand: str, dimension: str) -> int:
        """The size of an operand's dimension, DYNAMIC if it is unknown."""
        shape, axis = self.__dict__[operand].shape, self.__dict__[dimension]
        return int(shape[axis]) if 0 <= axis < len(shape) else DYNAMIC

    def windows(self, kernel_shape: Sequence[int], padding: Padding) -> list[Window]:
        """The geometry of the windows along each spatial dimension of lhs."""
        fields = zip(
            self.kernel_spatial_dimensions,
            self.window_strides,
            padding,
            self.lhs_dilation,
            self.rhs_dilation,
            strict=True,
        )
        return [
            Window(kernel_shape[axis], stride, low, high, lhs_dilation, rhs_dilation)
            for axis, stride, (low, high), lhs_dilation, rhs_dilation in fields
        ]

    def static_windows(self) -> list[Window] | None:
        """`windows` of the operation's types; None if the padding is unknown."""
        padding = self.static_padding()
        return None if padding is None else self.windows(self.rhs.shape, padding)

    def result_shape(
        self, lhs: Sequence[int], rhs: Sequence[int], windows: Sequence[Window] | None
    ) -> tuple[int, ...]:
        """Shape of the result for shapes of operands and windows, None: unknown."""
        shape = [DYNAMIC] * len(lhs)
        batches = lhs[self.input_batch_dimension]
        shape[self.output_batch_dimension] = batches if batches < 0 else batches // self.batch_group_count
        shape[self.output_feature_dimension] = rhs[self.kernel_output_feature_dimension]
        if windows is not None:
            dimensions = zip(self.output_spatial_dimensions, self.input_spatial_dimensions, strict=True)
            for window, (output, input) in zip(windows, dimensions, strict=True):
                shape[output] = window.count(lhs[input])
        return tuple(shape)

    def infer(self) -> list[Type]:
        shape = self.result_shape(self.lhs.shape, self.rhs.shape, self.static_windows())
        return [TensorType(shape, self.result.element_type)]
