"""Batch normalization: `batch_norm_inference`, `batch_norm_training`, `batch_norm_grad`.

The definitions are followed in the carrier of the element type; sums are taken in f64, results rounded once.

Source: specification, sections of these names.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ....types import FLOAT, QUANTIZED_PER_TENSOR, Array, TensorType, Type
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

    def broadcast(self, *arrays: Array) -> list[Array]:
        """Arrays in the type in which they are computed; 1-dimensional ones broadcast along the features.

        All lie in row-major order: NumPy sums elements in the order in which they lie.
        """
        dtype = carrier(self.operand.plain_element_type)
        shape = [1] * self.operand.rank
        shape[self.feature_index] = -1
        shaped = [array if array.ndim == len(shape) else array.reshape(shape) for array in arrays]
        return [array.astype(dtype, order="C", copy=False) for array in shaped]

    def compute_sum(self, operand: Array) -> Array:
        """The sum over the batch for each feature, broadcast along the features."""
        dimensions = tuple([i for i in range(operand.ndim) if i != self.feature_index])
        total: Array = operand.sum(axis=dimensions, dtype=np.float64, keepdims=True)
        return total.astype(operand.dtype)

    def compute_mean(self, operand: Array) -> Array:
        """The mean over the batch for each feature, broadcast along the features."""
        mean: Array = self.compute_sum(operand) / self.elements_per_feature(operand)
        return mean

    def elements_per_feature(self, operand: Array) -> Any:
        """``size(operand) / dim(operand, feature_index)``."""
        sizes = [size for d, size in enumerate(operand.shape) if d != self.feature_index]
        return operand.dtype.type(math.prod(sizes))

    def epsilon_bcast(self, variance: Array) -> Any:
        """epsilon in the type of the variance."""
        return variance.dtype.type(self.epsilon)

    def batch_norm_inference(
        self, operand: Array, scale: Array, offset: Array, mean: Array, variance: Array
    ) -> Array:
        """`batch_norm_inference` of operands that broadcast."""
        centered_operand = operand - mean
        stddev = np.sqrt(variance + self.epsilon_bcast(variance))
        normalized_operand = centered_operand / stddev
        return np.asarray(scale * normalized_operand + offset)

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
        result = self.batch_norm_inference(*self.broadcast(operand, scale, offset, mean, variance))
        return self.rounded(result, self.result)


class BatchNormTraining(BatchNorm, name="stablehlo.batch_norm_training"):
    """Normalizes with the mean and the variance of the batch, and returns them."""

    shaped_like = (("output", "operand"), ("batch_mean", "scale"), ("batch_var", "scale"))
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
        operand, scale, offset = self.broadcast(operand, scale, offset)
        mean = self.compute_mean(operand)
        centered_operand = operand - mean
        variance = self.compute_mean(centered_operand * centered_operand)
        output = self.batch_norm_inference(operand, scale, offset, mean, variance)
        return (
            self.rounded(output, self.output),
            self.rounded(mean, self.batch_mean),
            self.rounded(variance, self.batch_var),
        )


class BatchNormGrad(BatchNorm, name="stablehlo.batch_norm_grad"):
    """Gradients of `batch_norm_training` with respect to operand, scale and offset."""

    shaped_like = (("grad_operand", "operand"), ("grad_scale", "scale"), ("grad_offset", "scale"))
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
        operand, scale, mean, variance, grad_output = self.broadcast(
            operand, scale, mean, variance, grad_output
        )
        epsilon_bcast = self.epsilon_bcast(variance)
        centered_operand = operand - mean
        stddev = np.sqrt(variance + epsilon_bcast)
        normalized_operand = centered_operand / stddev
        elements_per_feature = self.elements_per_feature(operand)
        i1 = grad_output * elements_per_feature
        i2 = grad_offset = self.compute_sum(grad_output)
        i3 = self.compute_sum(grad_output * centered_operand)
        i4 = i3 * centered_operand
        i5 = i4 / (variance + epsilon_bcast)
        i6 = i1 - i2 - i5
        grad_operand = scale / stddev / elements_per_feature * i6
        grad_scale = self.compute_sum(grad_output * normalized_operand)
        return (
            self.rounded(grad_operand, self.grad_operand),
            self.rounded(grad_scale, self.grad_scale),
            self.rounded(grad_offset, self.grad_offset),
        )
