"""`nimblehlo.approx_top_k` and its form with a `top_k` that is an operand: JAX's custom calls of that name.

Approximate results are allowed; here they are the exact ones: the slices of the inputs along a dimension are
sorted together by the comparator, and their first elements are the results. `recall_target` and the other
attributes of the custom call only say how an approximation may be found.

Source: JAX, `jax.lax.approx_max_k`; XLA's `ApproxTopK`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....types import DYNAMIC, ELEMENT_TYPES, INTEGER, PLAIN, Array, TensorType, Type
from ...ir import Attribute as IrAttribute
from ...ir import BoolAttribute, IntegerAttribute, Operation
from ..framework import constraints, rules
from ..framework.attribute_kinds import BOOL, F32, I64
from ..framework.declaration import Attribute, Constraint, Evaluate, Op, Operand, Region, Result, constraint
from ..reduction.reduce import same_positive_counts
from ..shape.slicing import leading_slice
from .sized_by_operands import SizedByOperands


class ApproxTopKRules(Op):
    """The constraints of both forms; `top_k` is an attribute or an operand."""

    inputs: Any
    init_values: Any
    reduction_dim: Any
    recall_target: Any
    aggregate_to_topk: Any
    comparator: Any
    results: Any

    C1 = Constraint(same_positive_counts)
    C2 = constraints.same_shape("inputs")
    C3 = constraints.same_element_type_each("init_values", "inputs")
    C4 = constraints.dimensions_of("reduction_dim", "inputs[0]")

    @constraint
    def C5(self) -> str | None:
        """comparator has type (tensor<E1>, tensor<E1>, ...) -> tensor<i1>, Ei = element_type(inputs[i])"""
        pairs = [TensorType((), type.element_type) for type in self.inputs for _ in range(2)]
        truth = [TensorType((), ELEMENT_TYPES["i1"])]
        return rules.function_type_is("comparator", self.comparator, pairs, truth)

    @constraint
    def C6(self) -> str | None:
        """0 <= top_k <= dim(inputs[0], reduction_dim)"""
        known, size = self.integers("top_k"), self.inputs[0].shape[self.reduction_dim]
        if known is None or (known[0] >= 0 and (size == DYNAMIC or known[0] <= size)):
            return None
        return f"top_k is {known[0]}, but inputs[0] has size {size} along dimension {self.reduction_dim}"

    @constraint
    def C7(self) -> str | None:
        """type(results...) = type(inputs...) except for dim(results..., reduction_dim), which is top_k"""
        pairs = enumerate(zip(self.results, self.infer_sliced(), strict=True))
        return rules.first(
            *(
                rules.same_type(f"results[{index}]", type, "the inferred type", expected)
                for index, (type, expected) in pairs
            )
        )

    @constraint
    def C8(self) -> str | None:
        """if aggregate_to_topk is false, then dim(results..., reduction_dim) is at least top_k, and at most
        dim(inputs[0], reduction_dim)
        """
        if self.aggregate_to_topk:
            return None
        sizes = [type.shape[self.reduction_dim] for type in self.results]
        if DYNAMIC in sizes:
            return f"results have an unknown size along dimension {self.reduction_dim}"
        least, most = (self.integers("top_k") or (0,))[0], self.inputs[0].shape[self.reduction_dim]
        if least <= min(sizes) and (most == DYNAMIC or max(sizes) <= most):
            return None
        return f"results have sizes {sizes} there, but top_k is {least}, and inputs[0] has size {most}"

    C9 = constraints.same_shape("results")

    @constraint
    def C10(self) -> str | None:
        """0 < recall_target <= 1"""
        if 0 < self.recall_target <= 1:
            return None
        return f"recall_target is {self.recall_target}, but must be in (0, 1]"

    def infer_sliced(self) -> list[TensorType]:
        """The types of the results; where a size does not follow from the operands, it is DYNAMIC."""
        known = self.integers("top_k")
        types = []
        for type in self.inputs:
            shape = list(type.shape)
            shape[self.reduction_dim] = DYNAMIC if known is None or not self.aggregate_to_topk else known[0]
            types.append(type.with_shape(shape))
        return types


class ApproxTopK(ApproxTopKRules, name="nimblehlo.approx_top_k"):
    """The first `top_k` elements along `reduction_dim`, in the order of the comparator."""

    source_name = "stablehlo.custom_call @ApproxTopK"
    is_decomposed = True

    inputs = Operand(PLAIN, variadic=True)
    init_values = Operand(PLAIN, rank=0, variadic=True)
    reduction_dim = Attribute(I64)
    top_k = Attribute(I64)
    recall_target = Attribute(F32, 0.95)
    aggregate_to_topk = Attribute(BOOL, True)
    comparator = Region()
    results = Result(PLAIN, variadic=True)

    def infer(self) -> list[Type]:
        sliced = self.infer_sliced()
        if self.aggregate_to_topk:
            return list(sliced)
        return list(self.results)

    def sort(self) -> Operation:
        """The operation that sorts the inputs."""
        dimension = IntegerAttribute(self.reduction_dim, ELEMENT_TYPES["i64"])
        attributes: dict[str, IrAttribute] = {"dimension": dimension, "is_stable": BoolAttribute(True)}
        operation = self.operation
        inputs = operation.operands[: len(self.inputs)]
        types = [value.type for value in inputs]
        return Operation("stablehlo.sort", inputs, types, attributes, operation.regions, operation.location)

    def decompose(self) -> list[Operation]:
        ordered = self.sort()
        pairs = zip(ordered.results, self.results, strict=True)
        return [ordered, *(leading_slice(value, type, ordered.location) for value, type in pairs)]

    def reference(self, *operands: Array, comparator: Evaluate) -> tuple[Array, ...]:
        return self._first(Op.of(self.sort()).reference, operands, comparator)

    def bind(self) -> Callable[..., Any]:
        sort = Op.of(self.sort()).bind()
        return lambda *operands, comparator: self._first(sort, operands, comparator)

    def _first(
        self, sort: Callable[..., Any], operands: Sequence[Array], comparator: Evaluate
    ) -> tuple[Array, ...]:
        """The first elements by a function of `sort`."""
        ordered = sort(*operands[: len(self.inputs)], comparator=comparator)
        count = self.top_k if self.aggregate_to_topk else self.results[0].shape[self.reduction_dim]
        first: tuple[slice, ...] = (slice(None),) * self.reduction_dim + (slice(count),)
        return tuple([array[first] for array in ordered])


class DynamicApproxTopK(ApproxTopKRules, SizedByOperands, name="nimblehlo.dynamic_approx_top_k"):
    """`approx_top_k` with a `top_k` that is an operand."""

    source_name = "stablehlo.custom_call @stablehlo.dynamic_approx_top_k"

    inputs = Operand(PLAIN, variadic=True)
    init_values = Operand(PLAIN, rank=0, variadic=True)
    top_k = Operand(INTEGER, rank=0)
    reduction_dim = Attribute(I64)
    recall_target = Attribute(F32, 0.95)
    aggregate_to_topk = Attribute(BOOL, True)
    comparator = Region()
    results = Result(PLAIN, variadic=True)
