"""`convolution` and `dynamic_conv`.

Source: specification, sections "convolution" and "dynamic_conv".
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....types import (
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED,
    QUANTIZED_PER_TENSOR,
    Array,
    ElementType,
)
from ..framework import rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import DIMENSIONS, PADDING
from ..framework.declaration import DERIVED, Attribute, Op, Operand, constraint
from ..framework.elements import Index, index_space
from ..framework.facts import OpenOrder
from ..numerics.element_types import converter
from ..reduction.window_geometry import Window
from ..shape.slicing import pad
from .convolution_algorithms import (
    convolve_by_im2col,
    convolve_depthwise,
    grouped,
    is_winograd,
    native_convolution,
    ungrouped,
)
from .convolution_rules import ConvolutionRules, Padding, one_each
from .matmul import Multiply, computed_float, narrow_order

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

    def by_definition(self, lhs: Array, rhs: Array, padding: Padding) -> Array:
        """The specification's products of windows with rhs.

        Sums of integers are exact modulo the width of the result. Floats are multiplied by native code, whose
        order of additions docs/numerics.md states, because that order decides how a sum rounds.
        """
        types = [type.element_type for type in (self.lhs, self.rhs, self.result)]
        if not all(type.category & INTEGER for type in types):
            return self.convolve(lhs, rhs, padding)
        sums = self._sums_of_groups(lhs, rhs, padding)
        wrapped = converter(ELEMENT_TYPES["ui64"], self.result.plain_element_type)
        return np.asarray(wrapped((sums % 2**64).astype(np.uint64)))

    def _sums_of_groups(self, lhs: Array, rhs: Array, padding: Padding) -> Array:
        """``results... = convolution(lhses..., rhses...)``, as Python's integers."""
        groups, dimension = self.feature_group_count, self.input_feature_dimension
        if self.batch_group_count > 1:
            groups, dimension = self.batch_group_count, self.input_batch_dimension
        lhses = np.split(lhs, groups, dimension)
        rhses = np.split(rhs, groups, self.kernel_output_feature_dimension)
        results = [self._sums(*pair, padding) for pair in zip(lhses, rhses, strict=True)]
        return np.concatenate(results, self.output_feature_dimension)

    def _lhs_shape(self, n: Any, hw: Sequence[Any], c: Any) -> list[Any]:
        """``lhs_shape(n, hw, c)``: a value for each dimension of lhs."""
        values = dict(zip(self.input_spatial_dimensions, hw, strict=True))
        values |= {self.input_batch_dimension: n, self.input_feature_dimension: c}
        return [values[d] for d in range(len(values))]

    def _sums(self, lhs: Array, rhs: Array, padding: Padding) -> Array:
        """``result[result_shape(:, output_spatial_index, :)] = dot_product``, of one group."""
        batch, features = lhs.shape[self.input_batch_dimension], lhs.shape[self.input_feature_dimension]
        windows = zip(self.windows(rhs.shape, padding), self.input_spatial_dimensions, strict=True)
        counts = [window.count(lhs.shape[d]) for window, d in windows]
        # As [batch, spatial dimensions, output features], which `result_shape` permutes.
        result = np.zeros((batch, *counts, rhs.shape[self.kernel_output_feature_dimension]), object)
        lhs_window_dimensions = self._lhs_shape(
            batch, [rhs.shape[d] for d in self.kernel_spatial_dimensions], features
        )
        if result.size and 0 not in lhs_window_dimensions:
            lhs_contracting = [*self.input_spatial_dimensions, self.input_feature_dimension]
            rhs_contracting = [*self.kernel_spatial_dimensions, self.kernel_input_feature_dimension]
            contracting = lhs_contracting, rhs_contracting
            reversed_windows = self._reversed_windows(lhs, lhs_window_dimensions, padding, counts)
            for output_spatial_index, lhs_window in reversed_windows:
                dot_product = np.tensordot(lhs_window.astype(object), rhs.astype(object), contracting)
                at: tuple[Any, ...] = (slice(None), *output_spatial_index, slice(None))
                result[at] = dot_product
        return result.transpose(np.argsort(self.output_dimensions))

    def _reversed_windows(
        self, lhs: Array, lhs_window_dimensions: Sequence[int], padding: Padding, counts: Sequence[int]
    ) -> Iterator[tuple[Index, Array]]:
        """``reversed_lhs_window`` for each ``output_spatial_index``."""
        lhs_window_strides = self._lhs_shape(1, self.window_strides, 1)
        lhs_padding = self._lhs_shape((0, 0), padding, (0, 0))
        lhs_base_dilations = self._lhs_shape(1, self.lhs_dilation, 1)
        lhs_window_dilations = self._lhs_shape(1, self.rhs_dilation, 1)
        low, high = ([pair[side] for pair in lhs_padding] for side in (0, 1))
        interior = [dilation - 1 for dilation in lhs_base_dilations]
        padded_lhs = pad(lhs, np.zeros((), lhs.dtype), low, high, interior)
        flags = zip(self.input_spatial_dimensions, self.window_reversal, strict=True)
        reversed_dimensions = tuple([d for d, is_reversed in flags if is_reversed])
        for output_spatial_index in index_space(counts):
            starts = map(operator.mul, self._lhs_shape(0, output_spatial_index, 0), lhs_window_strides)
            sizes = zip(starts, lhs_window_dimensions, lhs_window_dilations, strict=True)
            window = [slice(start, start + (size - 1) * by + 1, by) for start, size, by in sizes]
            yield output_spatial_index, np.flip(padded_lhs[tuple(window)], reversed_dimensions)

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
        multiply = self.multiply_on(threads)
        assert multiply is not None
        if narrow_order(self) is None:
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
    block_rule = "arrays.convolutions.CONVOLUTION"
    open_order = OpenOrder.SUMS
    wider = "product"

    def static_padding(self) -> Padding:
        return self.padding if self.padding is not None else ((0, 0),) * self.spatial_rank

    def reference(self, lhs: Array, rhs: Array) -> Array:
        return self.by_definition(lhs, rhs, self.static_padding())

    def bind(self) -> Callable[..., Any]:
        return self.on_threads(1)

    def on_threads(self, threads: int | None) -> Callable[..., Any]:
        return lambda lhs, rhs: self.convolve(lhs, rhs, self.static_padding(), threads=threads)


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
        return self.by_definition(lhs, rhs, self._checked_padding(lhs, rhs, padding))

    def bind(self) -> Callable[..., Any]:
        return self.on_threads(1)

    def on_threads(self, threads: int | None) -> Callable[..., Any]:
        return lambda lhs, rhs, padding: self.convolve(
            lhs, rhs, self._checked_padding(lhs, rhs, padding), threads=threads
        )

    def _checked_padding(self, lhs: Array, rhs: Array, padding: Array) -> Padding:
        """The padding as pairs, with which the result must have the declared shape.

        Raises:
            ExecutionError: it has not.
        """
        pairs = _pairs(padding)
        shape = self.result_shape(lhs.shape, rhs.shape, self.windows(rhs.shape, pairs))
        reason = rules.same_shape("result", self.result, "the shape of the convolution", shape)
        rules.fail_if(self, reason, "C25")
        return pairs


def _pairs(padding: Array) -> Padding:
    """An array of padding as (low, high) pairs."""
    return tuple([tuple(map(int, pair)) for pair in padding])
