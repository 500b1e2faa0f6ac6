"""Custom calls that JAX exports for operations that StableHLO lacks, and their replacements.

Most take sizes as operands.

The specializer puts an operation in the place of each call (`nimblehlo.specialize`), with the computations
that the call names as its regions; the operation becomes its static form once its sizes are known.

Source: JAX, "jax.export" (guaranteed custom call targets); specification of the static operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import VerifyError
from ...ir import DenseElementsAttribute, DictionaryAttribute, Operation
from ...types import BOOLEAN, FLOAT, INTEGER, PLAIN, UNSIGNED, Array, TensorType, Type
from ..framework import rules
from ..framework.attribute_kinds import Enum
from ..framework.declaration import Attribute, Op, Operand, Region, Result, lookup
from ..framework.verify import view_of
from ..shape.random import RngAlgorithm
from ..shape.static_forms import STATIC_FORMS, constant_sizes, operand_positions, static_operation
from .view import CustomCallView


class _SizedByOperands(Op):
    """Base of operations whose constraints, types and semantics are those of their static forms."""

    def verify(self) -> None:
        super().verify()
        values = constant_sizes(self)
        if values is not None:
            view_of(static_operation(self, values)).verify()

    def infer(self) -> list[Type] | None:
        values = constant_sizes(self)
        if values is None:
            return None
        static = static_operation(self, values)
        return view_of(static).infer() or [result.type for result in static.results]

    def reference(self, *operands: Array, **regions: Any) -> Any:
        static_form, positions = STATIC_FORMS[self.name], operand_positions(self)
        values = {name: operands[positions[name]] for name in (*static_form.attributes, *static_form.shapes)}
        types = [
            operand.type.with_shape(np.shape(array)) if isinstance(operand.type, TensorType) else operand.type
            for operand, array in zip(self.operation.operands, operands, strict=True)
        ]
        static = static_operation(self, values, Operation("", (), types).results)
        size_positions = {positions[name] for name in values}
        data_operands = [array for position, array in enumerate(operands) if position not in size_positions]
        try:
            view = view_of(static)
            view.verify()
            view.ordering = self.ordering
        except VerifyError as error:
            raise self.execution_error(error.reason, error.label) from None
        return view.bind()(*data_operands, **regions)


class DynamicReduceWindow(_SizedByOperands, name="nimblehlo.dynamic_reduce_window"):
    """`reduce_window` whose windows are given by operands."""

    inputs = Operand(PLAIN, variadic=True)
    init_values = Operand(PLAIN, rank=0, variadic=True)
    window_dimensions = Operand(INTEGER, rank=1)
    window_strides = Operand(INTEGER, rank=1)
    base_dilations = Operand(INTEGER, rank=1)
    window_dilations = Operand(INTEGER, rank=1)
    padding = Operand(INTEGER, rank=2)
    body = Region()
    results = Result(PLAIN, variadic=True)


class DynamicTopK(_SizedByOperands, name="nimblehlo.dynamic_top_k"):
    """`chlo.top_k` with a `k` that is an operand."""

    operand = Operand(BOOLEAN | INTEGER | FLOAT)
    k = Operand(INTEGER, rank=0)
    values = Result(BOOLEAN | INTEGER | FLOAT)
    indices = Result(INTEGER)


class DynamicRngBitGenerator(_SizedByOperands, name="nimblehlo.dynamic_rng_bit_generator"):
    """`rng_bit_generator` of a shape that is an operand."""

    rng_algorithm = Attribute(Enum("rng_algorithm", RngAlgorithm))
    initial_state = Operand(UNSIGNED, rank=1)
    output_shape = Operand(INTEGER, rank=1)
    output_state = Result(UNSIGNED, rank=1)
    output = Result(INTEGER | FLOAT)


@dataclass(frozen=True)
class ReplacedTarget:
    """A custom call target that the specializer replaces by an operation.

    Attributes:
        verify: raises a VerifyError for a call that cannot be replaced.
        operation: name of the operation; None: a sort and slices (`approx_top_k`).
    """

    verify: Callable[[CustomCallView], None]
    operation: str | None = None

    def run(self, view: CustomCallView, *inputs: Any) -> tuple[Any, ...]:
        """Raises ExecutionError: the specializer replaces the call in every program that it has seen."""
        raise view.execution_error(
            f"@{view.call_target_name} runs only after the specializer has replaced it"
        )


def replacing_attributes(call: Operation, name: str) -> dict[str, Any]:
    """The attributes of a call, or of its typed backend_config, that the operation `name` declares too."""
    declaration = lookup(name)
    assert declaration is not None
    declared = {attribute.name for attribute in declaration.declared_attributes}
    config = call.attributes.get("backend_config")
    entries = config.values if isinstance(config, DictionaryAttribute) else {}
    return {key: value for key, value in {**entries, **call.attributes}.items() if key in declared}


def shape_operands(operation: Operation) -> tuple[int, ...]:
    """The operands of a custom call that hold its results' shapes, one for each result; empty if there are
    none.

    Raises:
        VerifyError: the attribute that says it is malformed.
    """
    attribute = operation.attributes.get("indices_of_shape_operands")
    if attribute is None:
        return ()
    positions: tuple[int, ...] = ()
    if isinstance(attribute, DenseElementsAttribute) and attribute.array.ndim == 1:
        positions = tuple(map(int, attribute.array.tolist()))
    in_range = all(0 <= position < len(operation.operands) for position in positions)
    if len(positions) != len(operation.results) or not in_range or len(set(positions)) != len(positions):
        raise VerifyError(
            "indices_of_shape_operands must name another operand for each result",
            operation=operation.name,
            location=operation.location,
        )
    for position, result in zip(positions, operation.results, strict=True):
        type = operation.operands[position].type
        rank = result.type.rank if isinstance(result.type, TensorType) else None
        vector = isinstance(type, TensorType) and type.category & INTEGER and type.rank == 1
        if not vector or rank is None or not rules.sizes_agree(type.shape[0], rank):  # type: ignore[union-attr]
            raise VerifyError(
                f"operand {position} is {type}, but must say the shape of {result.type}",
                operation=operation.name,
                location=operation.location,
            )
    return positions


def _one_computation(view: CustomCallView) -> None:
    if len(view.called_computations) != 1:
        count = len(view.called_computations)
        raise view.verify_error(f"@{view.call_target_name} must call one computation, but has {count}", "I6")


def _verify_reduce_window(view: CustomCallView) -> None:
    """N inputs, N init values, four vectors and a padding; N results."""
    _one_computation(view)
    count = len(view.results)
    if not count or len(view.inputs) != 2 * count + 5:
        reason = f"must have N results and 2 N + 5 inputs, but has {count} and {len(view.inputs)}"
        raise view.verify_error(f"@{view.call_target_name} {reason}", "I1")


def _verify_approx_top_k(view: CustomCallView) -> None:
    """N inputs and N init values at least, N results of the inputs' rank, one comparator."""
    _one_computation(view)
    inputs, results = view.inputs[: len(view.results)], view.results
    pairs = list(zip(inputs, results, strict=False))
    same = len(pairs) == len(results) and all(
        isinstance(a, TensorType) and isinstance(b, TensorType) and a.rank == b.rank and a.dtype == b.dtype
        for a, b in pairs
    )
    if not results or not same:
        raise view.verify_error(f"@{view.call_target_name} must have results like its first inputs", "I1")
    reduction_dim = reduction_dimension(view)
    if reduction_dim is None or not 0 <= reduction_dim < inputs[0].rank:
        raise view.verify_error(f"@{view.call_target_name} must have a reduction_dim of its inputs", "I4")


def reduction_dimension(view: CustomCallView) -> int | None:
    """The dimension that `approx_top_k` sorts."""
    configuration = view.configuration
    value = configuration.get("reduction_dim") if isinstance(configuration, dict) else None
    return value if isinstance(value, int) else None


def _verify_as(name: str) -> Callable[[CustomCallView], None]:
    """Verify a call as the operation that replaces it."""

    def verify(view: CustomCallView) -> None:
        call = view.operation
        types = [result.type for result in call.results]
        attributes = replacing_attributes(call, name)
        view_of(Operation(name, call.operands, types, attributes, (), call.location)).verify()

    return verify


REPLACED_TARGETS: Final = {
    "ragged_all_to_all": ReplacedTarget(
        _verify_as("nimblehlo.ragged_all_to_all"), "nimblehlo.ragged_all_to_all"
    ),
    "stablehlo.dynamic_reduce_window": ReplacedTarget(_verify_reduce_window, DynamicReduceWindow.name),
    "stablehlo.dynamic_top_k": ReplacedTarget(_verify_as(DynamicTopK.name), DynamicTopK.name),
    "stablehlo.dynamic_rng_bit_generator": ReplacedTarget(
        _verify_as(DynamicRngBitGenerator.name), DynamicRngBitGenerator.name
    ),
    "stablehlo.dynamic_approx_top_k": ReplacedTarget(_verify_approx_top_k),
    "ApproxTopK": ReplacedTarget(_verify_approx_top_k),
}
"""The replaced targets by name."""


def with_operand_sizes(types: Sequence[Type], operation: Operation) -> list[Type] | None:
    """Result types with the shapes in a custom call's shape operands; None if one is unknown."""
    positions = shape_operands(operation)
    if not positions:
        return None
    values = [rules.constant_operand(operation, position) for position in positions]
    if any(value is None for value in values):
        return None
    return [
        type.with_shape(tuple(map(int, value.tolist())))
        if isinstance(type, TensorType) and value is not None
        else type
        for type, value in zip(types, values, strict=True)
    ]
