"""Batch normalization: `batch_norm_inference`, `batch_norm_training`, `batch_norm_grad`.

The definitions are followed in the carrier of the element type; sums are taken in f64, results rounded once.

Source: specification, sections of these names.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...types import FLOAT, QUANTIZED_PER_TENSOR, Array, TensorType, Type
from ..framework import constraints
from ..framework.attribute_kinds import F32, I64
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result
from ..framework.facts import OpenOrder
from ..framework.rules import sizes_agree
from ..numerics.element_types import carrier

NUMBER: Final = FLOAT | QUANTIZED_PER_TENSOR


class BatchNorm(Op):
    """Base of the three operations: one dimension of `operand` is that of features, the others form the
    batch.
    """

    operand: Operand[TensorType]
    epsilon: Attribute[float]
    feature_index: Attribute[int]

    C1 = constraints.dimensions_of("feature_index", "operand")

    def in_carrier_type(self, *arrays: Array) -> list[Array]:
        """Arrays in the type in which they are computed; 1-dimensional ones broadcast along the features.

        All lie in row-major order: NumPy sums elements in the order in which they lie.
        """
        dtype = carrier(self.operand.plain_element_type)
        shape = [1] * self.operand.rank
        shape[self.feature_index] = -1
        shaped = [array if array.ndim == len(shape) else array.reshape(shape) for array in arrays]
        return [array.astype(dtype, order="C", copy=False) for array in shaped]

    def batch_sum(self, array: Array) -> Array:
        """The sum over the batch for each feature, broadcast along the features."""
        dimensions = tuple(d for d in range(array.ndim) if d != self.feature_index)
        total: Array = array.sum(axis=dimensions, dtype=np.float64, keepdims=True)
        return total.astype(array.dtype)

    def elements_per_feature(self, array: Array) -> Any:
        return array.dtype.type(math.prod(s for d, s in enumerate(array.shape) if d != self.feature_index))

    def stddev(self, variance: Array) -> Array:
        """The root of the variance, kept from zero by epsilon."""
        return np.asarray(np.sqrt(variance + variance.dtype.type(self.epsilon)))

    def normalized(self, operand: Array, mean: Array, variance: Array) -> Array:
        """The operand with mean 0 and variance 1."""
        return (operand - mean) / self.stddev(variance)

    def rounded(self, array: Array, type: TensorType) -> Array:
        """A result in its declared type and rank."""
        return (array if type.rank == array.ndim else array.reshape(-1)).astype(type.dtype, copy=False)


def _feature_count(name: str) -> Constraint:
    """A 1-dimensional operand or result must have an element for each feature."""

    def check(view: BatchNorm) -> str | None:
        (size,), features = getattr(view, name).shape, view.operand.shape[view.feature_index]
        if sizes_agree(size, features):
            return None
        return f"{name} has size {size}, but operand has size {features} in dimension {view.feature_index}"

    return Constraint(check, f"size({name}) = dim(operand, feature_index)")


class BatchNormInference(BatchNorm, name="stablehlo.batch_norm_inference"):
    """Normalizes with a given mean and variance."""

    operand = Operand(NUMBER)
    scale = Operand(NUMBER, rank=1)
    offset = Operand(NUMBER, rank=1)
    mean = Operand(NUMBER, rank=1)
    variance = Operand(NUMBER, rank=1)
    epsilon = Attribute(F32)
    feature_index = Attribute(I64)
    result = Result(NUMBER)

    C2 = constraints.same_baseline_element_type("operand", "scale", "offset", "mean", "variance", "result")
    C3 = _feature_count("scale")
    C4 = _feature_count("offset")
    C5 = _feature_count("mean")
    C6 = _feature_count("variance")
    C7 = constraints.same_baseline_type("operand", "result")

    def infer(self) -> list[Type] | None:
        return None if self.operand.category & QUANTIZED_PER_TENSOR else [self.operand]

    def reference(self, operand: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Array:
        x, a, b, m, v = self.in_carrier_type(operand, scale, offset, mean, variance)
        return self.rounded(a * self.normalized(x, m, v) + b, self.result)


class BatchNormTraining(BatchNorm, name="stablehlo.batch_norm_training"):
    """Normalizes with the mean and the variance of the batch, and returns them."""

    open_order = OpenOrder.SUMS

    operand = Operand(NUMBER)
    scale = Operand(NUMBER, rank=1)
    offset = Operand(NUMBER, rank=1)
    epsilon = Attribute(F32)
    feature_index = Attribute(I64)
    output = Result(NUMBER)
    batch_mean = Result(NUMBER, rank=1)
    batch_var = Result(NUMBER, rank=1)

    C2 = constraints.same_baseline_element_type(
        "operand", "scale", "offset", "batch_mean", "batch_var", "output"
    )
    C3 = _feature_count("scale")
    C4 = _feature_count("offset")
    C5 = _feature_count("batch_mean")
    C6 = _feature_count("batch_var")
    C7 = constraints.same_baseline_type("operand", "output")

    def reference(self, operand: Array, scale: Array, offset: Array) -> tuple[Array, Array, Array]:
        x, a, b = self.in_carrier_type(operand, scale, offset)
        count = self.elements_per_feature(x)
        mean = self.batch_sum(x) / count
        centered = x - mean
        variance = self.batch_sum(centered * centered) / count
        return (
            self.rounded(a * self.normalized(x, mean, variance) + b, self.output),
            self.rounded(mean, self.batch_mean),
            self.rounded(variance, self.batch_var),
        )


class BatchNormGrad(BatchNorm, name="stablehlo.batch_norm_grad"):
    """Gradients of `batch_norm_training` with respect to operand, scale and offset."""

    open_order = OpenOrder.SUMS

    operand = Operand(NUMBER)
    scale = Operand(NUMBER, rank=1)
    mean = Operand(NUMBER, rank=1)
    variance = Operand(NUMBER, rank=1)
    grad_output = Operand(NUMBER)
    epsilon = Attribute(F32)
    feature_index = Attribute(I64)
    grad_operand = Result(NUMBER)
    grad_scale = Result(NUMBER, rank=1)
    grad_offset = Result(NUMBER, rank=1)

    C2 = constraints.same_baseline_element_type(
        "operand", "scale", "mean", "variance", "grad_output", "grad_operand", "grad_scale", "grad_offset"
    )
    C3 = constraints.same_shape("operand", "grad_output", "grad_operand")
    C4 = constraints.same_shape("scale", "mean", "variance", "grad_scale", "grad_offset")
    C5 = _feature_count("scale")

    def reference(
        self, operand: Array, scale: Array, mean: Array, variance: Array, grad_output: Array
    ) -> tuple[Array, Array, Array]:
        x, a, m, v, gradient = self.in_carrier_type(operand, scale, mean, variance, grad_output)
        count = self.elements_per_feature(x)
        centered, stddev = x - m, self.stddev(v)
        grad_offset = self.batch_sum(gradient)
        correlation = self.batch_sum(gradient * centered) * centered / (v + v.dtype.type(self.epsilon))
        grad_operand = a / stddev / count * (gradient * count - grad_offset - correlation)
        grad_scale = self.batch_sum(gradient * (centered / stddev))
        return (
            self.rounded(grad_operand, self.grad_operand),
            self.rounded(grad_scale, self.grad_scale),
            self.rounded(grad_offset, self.grad_offset),
        )
