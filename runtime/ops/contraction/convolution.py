"""`convolution` and `dynamic_conv`.

Source: specification, sections "convolution" and "dynamic_conv".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...types import FLOAT, INTEGER, PLAIN, QUANTIZED, QUANTIZED_PER_TENSOR, Array, ElementType
from ..framework import rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, PADDING
from ..framework.declaration import DERIVED, Attribute, Op, Operand, constraint
from ..framework.facts import OpenOrder
from ..numerics.element_types import converter
from ..reduction.window_geometry import Window
from .convolution_algorithms import (
    convolve_by_im2col,
    convolve_depthwise,
    grouped,
    is_winograd,
    native_convolution,
    ungrouped,
)
from .convolution_rules import ConvolutionRules, Padding, one_each
from .matmul import Multiply, computed_float, is_low_precision

Conversions = tuple[Callable[[Array], Any], Callable[[Array], Any], Callable[[Array], Any], ElementType]


MAX_SPATIAL_DIMENSIONS = 30
"""A copy of all windows has a dimension for groups, batches and features, and two for each spatial one:
NumPy's arrays have at most 64."""


class _Operands(Op):
    """The operands of both convolutions."""

    lhs = Operand(PLAIN | QUANTIZED_PER_TENSOR)
    rhs = Operand(PLAIN | QUANTIZED)


class _StaticPadding(_Operands):
    """The fields of `convolution` that follow lhs and rhs in the specification's table of inputs.

    Their order gives the labels I3 and I4.
    """

    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)
    padding = Attribute(PADDING, None)


class _DynamicPadding(_Operands):
    """The fields of `dynamic_conv` that follow lhs and rhs in its table of inputs."""

    padding = Operand(INTEGER, rank=2)
    window_strides: Attribute[tuple[int, ...]] = Attribute(DIMENSIONS, DERIVED)


class _Convolution(ConvolutionRules):
    """Base of both convolutions."""

    rounding = Rounding.SUM

    def verify(self) -> None:
        super().verify()
        spatial = len(self.input_spatial_dimensions)
        if spatial > MAX_SPATIAL_DIMENSIONS:
            reason = f"{spatial} spatial dimensions; at most {MAX_SPATIAL_DIMENSIONS} are supported"
            raise self.unsupported(reason)

    @functools.cached_property
    def is_float(self) -> bool:
        """Whether all element types are floating-point."""
        return all(type.category == FLOAT for type in (self.lhs, self.rhs, self.result))

    @property
    def is_depthwise(self) -> bool:
        """Whether scaled elements are added wherever rhs is finite: each feature of lhs is a group."""
        if self.rhs.shape[self.kernel_input_feature_dimension] != 1:
            return False
        if self.lhs.dtype.kind == "c":
            return bool(self.lhs.dtype == self.rhs.dtype == self.result.dtype)
        outputs = self.rhs.shape[self.kernel_output_feature_dimension]
        return self.is_float and self.batch_group_count == 1 and outputs == self.feature_group_count

    @functools.cached_property
    def conversions(self) -> Conversions:
        """The conversions of lhs and rhs to the type in which floats are multiplied, that to the result, and
        the type.
        """
        lhs, rhs, result = (type.plain_element_type for type in (self.lhs, self.rhs, self.result))
        computed = computed_float(lhs, rhs, result)
        return converter(lhs, computed), converter(rhs, computed), converter(computed, result), computed

    def convolve(
        self,
        lhs: Array,
        rhs: Array,
        padding: Padding,
        multiply: Multiply | None = None,
        threads: int | None = 1,
    ) -> Array:
        """The result, for a padding that is known.

        Args:
            lhs, rhs: the operands.
            padding: as (low, high) pairs.
            multiply: the product of stacks of matrices; None: `self.multiply`, or loops of floats.
            threads: maximum number of threads that native code may use; None: all.
        """
        around = self.conversions_around
        if around is not None:
            operands = around.enter_lhs(lhs), around.enter_rhs(rhs)
            return around.leave(around.view.convolve(*operands, padding, multiply, threads))
        windows = self.windows(rhs.shape, padding)
        is_depthwise = self.is_depthwise and np.isfinite(rhs).all()
        loops = (
            None
            if is_depthwise or multiply
            else native_convolution(self, windows, lhs.shape, rhs.shape, threads)
        )
        if loops is not None:
            return loops(lhs, rhs)
        lhs = lhs.transpose(self.input_dimensions)
        rhs = rhs.transpose(self.kernel_dimensions)
        counts = [window.count(size) for window, size in zip(windows, lhs.shape[1:-1], strict=True)]
        reversed_axes = tuple([axis for axis, is_reversed in enumerate(self.window_reversal) if is_reversed])
        operands = grouped(lhs, np.flip(rhs, reversed_axes), self.feature_group_count, self.batch_group_count)
        if is_depthwise:
            product = self._convolve_depthwise(*operands, windows, counts)
        else:
            multiply = multiply or self._matmul_on(threads)
            product = convolve_by_im2col(*operands, windows, counts, multiply, self.result.dtype)
        return ungrouped(product).transpose(np.argsort(self.output_dimensions))

    def uses_winograd(self, lhs: Array, rhs: Array, padding: Array | None = None) -> bool:
        """Whether loops convolve operands of these shapes by Winograd's algorithm.

        Args:
            lhs, rhs: the operands.
            padding: that of `dynamic_conv`.
        """
        pairs = self.static_padding() if padding is None else _pairs(padding)
        assert pairs is not None
        return is_winograd(self, self.windows(rhs.shape, pairs), lhs.shape, rhs.shape)

    def _convolve_depthwise(
        self, lhs: Array, rhs: Array, windows: Sequence[Window], counts: Sequence[int]
    ) -> Array:
        """The sum of scaled copies of lhs; floats are scaled in the type in which they are multiplied."""
        if not self.is_float:
            return convolve_depthwise(lhs, rhs, windows, counts)
        enter_lhs, enter_rhs, leave, _ = self.conversions
        return np.asarray(leave(convolve_depthwise(enter_lhs(lhs), enter_rhs(rhs), windows, counts)))

    def _matmul_on(self, threads: int | None) -> Multiply:
        """The product of stacks of matrices, on at most `threads` threads; None: all."""
        multiply = self.multiply
        assert multiply is not None
        if not is_low_precision(self):
            return multiply
        return lambda a, b: multiply(a, b, threads)  # type: ignore[call-arg]


class Convolution(
    _Convolution,
    _StaticPadding,
    name="stablehlo.convolution",
    assembly="( operands ) dim_numbers = custom(convolution_dimensions) , "
    "window = { custom(window_attributes) } attr-dict : functional-type",
):
    """Multiplies and sums windows of lhs with rhs. Source: specification, section "convolution"."""

    kernel = "contraction_kernels.convolution"
    open_order = OpenOrder.SUMS
    wider = "product"

    def static_padding(self) -> Padding:
        return self.padding if self.padding is not None else ((0, 0),) * self.spatial_rank

    def reference(self, lhs: Array, rhs: Array) -> Array:
        """The specification's products of windows, each summed in the order that docs/numerics.md states.

        Native code defines it, because the order of the additions decides how a sum rounds.
        """
        return self.convolve(lhs, rhs, self.static_padding())


_one_stride_each = one_each("window_strides")


class DynamicConv(_Convolution, _DynamicPadding, name="stablehlo.dynamic_conv"):
    """`convolution` with a padding that is computed. Source: specification, section "dynamic_conv"."""

    open_order = OpenOrder.SUMS

    @constraint
    def C2(self) -> str | None:
        """size(window_strides) = N - 2, judged once the sizes of lhs are known, as exporters count on"""
        return _one_stride_each.check(self) if self.lhs.is_static else None

    @constraint
    def C4(self) -> str | None:
        """shape(padding) = [N - 2, 2]"""
        return rules.same_shape("padding", self.padding, "[N - 2, 2]", [self.spatial_rank, 2])

    def static_padding(self) -> Padding | None:
        if len(self.window_strides) != self.spatial_rank:
            return None
        constant = rules.constant_operand(self.operation, 2)
        return None if constant is None else _pairs(constant)

    def reference(self, lhs: Array, rhs: Array, padding: Array) -> Array:
        pairs = _pairs(padding)
        shape = self.result_shape(lhs.shape, rhs.shape, self.windows(rhs.shape, pairs))
        reason = rules.same_shape("result", self.result, "the shape of the convolution", shape)
        rules.fail_if(self, reason, "C25")
        return self.convolve(lhs, rhs, pairs)


def _pairs(padding: Array) -> Padding:
    """An array of padding as (low, high) pairs."""
    return tuple([tuple(map(int, pair)) for pair in padding])
