"""What `convolution` and `dynamic_conv` are given, their constraints, and the shape of their result.

Source: specification, sections "convolution" and "dynamic_conv".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Operation
from ...types import DYNAMIC, PLAIN, QUANTIZED, QUANTIZED_PER_AXIS, TensorType, Type
from ..framework import rules
from ..framework.attribute_kinds import BOOLEANS, DIMENSIONS, I64
from ..framework.declaration import Attribute, Result, constraint
from ..reduction.window_geometry import Window, padding_shape
from .base import QuantizedContraction, precision_config_size, same_kind
from .matmul import PRECISION_CONFIG
from .mixed_matmul import MixedProduct

Padding = tuple[tuple[int, ...], ...]


class ConvolutionRules(MixedProduct, QuantizedContraction):
    """What both convolutions share: attributes, constraints, the shape of the result."""

    lhs: Any
    rhs: Any
    window_strides: Any

    lhs_dilation = Attribute(DIMENSIONS, None)
    rhs_dilation = Attribute(DIMENSIONS, None)
    window_reversal = Attribute(BOOLEANS, None)
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

    def known_padding(self) -> Padding | None:
        """The padding as (low, high) pairs; None where it is not known yet."""
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

    @constraint
    def C2(self) -> str | None:
        """size(window_strides) = N - 2"""
        return self._one_each("window_strides")

    @constraint
    def C3(self) -> str | None:
        """0 < window_strides"""
        return self._positive("window_strides")

    @constraint
    def C4(self) -> str | None:
        """shape(padding) = [N - 2, 2]"""
        padding = self.known_padding()
        return None if padding is None else padding_shape(padding, self.spatial_rank, "N - 2")

    @constraint
    def C5(self) -> str | None:
        """size(lhs_dilation) = N - 2"""
        return self._one_each("lhs_dilation")

    @constraint
    def C6(self) -> str | None:
        """0 < lhs_dilation"""
        return self._positive("lhs_dilation")

    @constraint
    def C7(self) -> str | None:
        """size(rhs_dilation) = N - 2"""
        return self._one_each("rhs_dilation")

    @constraint
    def C8(self) -> str | None:
        """0 < rhs_dilation"""
        return self._positive("rhs_dilation")

    @constraint
    def C9(self) -> str | None:
        """size(window_reversal) = N - 2"""
        return self._one_each("window_reversal")

    @constraint
    def C10(self) -> str | None:
        """dim(lhs, input_batch_dimension) % batch_group_count = 0"""
        return self._divisible("lhs", "input_batch_dimension", "batch_group_count")

    @constraint
    def C11(self) -> str | None:
        """dim(lhs, input_feature_dimension) % feature_group_count = 0"""
        return self._divisible("lhs", "input_feature_dimension", "feature_group_count")

    @constraint
    def C12(self) -> str | None:
        """size(input_spatial_dimensions) = N - 2"""
        return self._one_each("input_spatial_dimensions")

    @constraint
    def C13(self) -> str | None:
        """input_dimensions are unique and in [0, N)"""
        return self._dimensions("input_dimensions")

    @constraint
    def C14(self) -> str | None:
        """dim(rhs, kernel_input_feature_dimension) = dim(lhs, input_feature_dimension) / groups"""
        kernel = self._size("rhs", "kernel_input_feature_dimension")
        features = self._size("lhs", "input_feature_dimension")
        groups = self.feature_group_count
        if DYNAMIC in (kernel, features) or groups <= 0 or kernel == features // groups:
            return None
        return f"rhs has {kernel} input features, but lhs has {features} in {groups} groups"

    @constraint
    def C15(self) -> str | None:
        """dim(rhs, kernel_output_feature_dimension) % batch_group_count = 0"""
        return self._divisible("rhs", "kernel_output_feature_dimension", "batch_group_count")

    @constraint
    def C16(self) -> str | None:
        """dim(rhs, kernel_output_feature_dimension) % feature_group_count = 0"""
        return self._divisible("rhs", "kernel_output_feature_dimension", "feature_group_count")

    @constraint
    def C17(self) -> str | None:
        """size(kernel_spatial_dimensions) = N - 2"""
        return self._one_each("kernel_spatial_dimensions")

    @constraint
    def C18(self) -> str | None:
        """kernel_dimensions are unique and in [0, N)"""
        return self._dimensions("kernel_dimensions")

    @constraint
    def C19(self) -> str | None:
        """size(output_spatial_dimensions) = N - 2"""
        return self._one_each("output_spatial_dimensions")

    @constraint
    def C20(self) -> str | None:
        """output_dimensions are unique and in [0, N)"""
        return self._dimensions("output_dimensions")

    @constraint
    def C21(self) -> str | None:
        """0 < feature_group_count"""
        count = self.feature_group_count
        return None if count > 0 else f"feature_group_count is {count}, but must be positive"

    @constraint
    def C22(self) -> str | None:
        """0 < batch_group_count"""
        count = self.batch_group_count
        return None if count > 0 else f"batch_group_count is {count}, but must be positive"

    @constraint
    def C23(self) -> str | None:
        """feature_group_count = 1 or batch_group_count = 1"""
        if 1 in (self.feature_group_count, self.batch_group_count):
            return None
        return (
            f"feature_group_count is {self.feature_group_count} and batch_group_count is "
            f"{self.batch_group_count}, but one must be 1"
        )

    @constraint
    def C24(self) -> str | None:
        """size(precision_config) = 2"""
        return precision_config_size(self)

    @constraint
    def C26(self) -> str | None:
        """rank(result) = N"""
        if self.result.rank == self.lhs.rank:
            return None
        return f"result is {self.result}, but lhs has rank {self.lhs.rank}"

    @constraint
    def C25(self) -> str | None:
        """dim(result) = batches / batch_group_count, num_windows and output features"""
        shape = self.result_shape(self.lhs.shape, self.rhs.shape, self.known_padding())
        return rules.same_shape("result", self.result, "the shape of the convolution", shape)

    @constraint
    def C27(self) -> str | None:
        """element_type(lhs) = element_type(rhs) = element_type(result); here operands at least of one kind"""
        return same_kind([("lhs", self.lhs), ("rhs", self.rhs)])

    @constraint
    def C28(self) -> str | None:
        """is_quantized(lhs) = is_quantized(result) and is_quantized(rhs)"""
        return self.quantized_together()

    @constraint
    def C29(self) -> str | None:
        """is_per_axis_quantized(rhs) implies quantization_dimension(rhs) = kernel_output_feature_dimension"""
        return self._axis_is("rhs", "kernel_output_feature_dimension")

    @constraint
    def C30(self) -> str | None:
        """is_per_axis_quantized(result) implies quantization_dimension(result) = output_feature_dimension"""
        return self._axis_is("result", "output_feature_dimension")

    @constraint
    def C31(self) -> str | None:
        """storage_type(lhs) = storage_type(rhs), where lhs is quantized"""
        return self.same_storage_type()

    @constraint
    def C32(self) -> str | None:
        """expressed_type(lhs) = expressed_type(rhs) = expressed_type(result), where lhs is quantized"""
        return self.same_expressed_type()

    @constraint
    def C33(self) -> str | None:
        """is_per_tensor_quantized(rhs) implies is_per_tensor_quantized(result), where lhs is quantized"""
        return self.per_tensor_result()

    @constraint
    def C34(self) -> str | None:
        """element_type(lhs) = expressed_type(rhs) = element_type(result), where lhs is not quantized"""
        return self.hybrid_types()

    def _one_each(self, name: str) -> str | None:
        return rules.length_is(name, self.__dict__[name], self.spatial_rank, "N - 2")

    def _positive(self, name: str) -> str | None:
        return rules.first(
            *(
                f"{name}[{index}] is {value}, but must be positive"
                for index, value in enumerate(self.__dict__[name])
                if value <= 0
            )
        )

    def _size(self, operand: str, dimension: str) -> int:
        """Size of an operand's dimension, DYNAMIC where that is none."""
        shape, axis = self.__dict__[operand].shape, self.__dict__[dimension]
        return int(shape[axis]) if 0 <= axis < len(shape) else DYNAMIC

    def _divisible(self, operand: str, dimension: str, count_name: str) -> str | None:
        size, count = self._size(operand, dimension), self.__dict__[count_name]
        if size == DYNAMIC or count <= 0 or size % count == 0:
            return None
        return f"{operand} has size {size} in {dimension}, which {count_name} = {count} does not divide"

    def _dimensions(self, name: str) -> str | None:
        dimensions = getattr(self, name)
        return rules.first(
            rules.unique(name, dimensions), rules.in_range(name, dimensions, 0, self.lhs.rank, "N")
        )

    def _axis_is(self, operand: str, dimension: str) -> str | None:
        type = self.__dict__[operand]
        axis, expected = rules.quantization_dimension(type), self.__dict__[dimension]
        if type.category != QUANTIZED_PER_AXIS or axis == expected:
            return None
        return f"{operand} is quantized along dimension {axis}, but {dimension} is {expected}"

    def windows(self, kernel_shape: Sequence[int], padding: Padding) -> list[Window]:
        """How windows lie along each spatial dimension of lhs."""
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

    def result_shape(
        self, lhs: Sequence[int], rhs: Sequence[int], padding: Padding | None
    ) -> tuple[int, ...]:
        """Shape of the result for shapes of operands and a padding, None: unknown."""
        shape = [DYNAMIC] * len(lhs)
        batches = lhs[self.input_batch_dimension]
        shape[self.output_batch_dimension] = batches if batches < 0 else batches // self.batch_group_count
        shape[self.output_feature_dimension] = rhs[self.kernel_output_feature_dimension]
        if padding is not None:
            dimensions = zip(self.output_spatial_dimensions, self.input_spatial_dimensions, strict=True)
            for window, (output, input) in zip(self.windows(rhs, padding), dimensions, strict=True):
                shape[output] = window.count(lhs[input])
        return tuple(shape)

    def infer(self) -> list[Type]:
        shape = self.result_shape(self.lhs.shape, self.rhs.shape, self.known_padding())
        return [TensorType(shape, self.result.element_type)]
