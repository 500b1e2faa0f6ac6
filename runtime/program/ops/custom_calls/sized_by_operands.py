"""Operations that take sizes as operands and stand for custom calls of JAX.

Source: JAX, "jax.export" (guaranteed custom call targets); specification of the static operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....errors import VerifyError
from ....types import BOOLEAN, FLOAT, INTEGER, PLAIN, UNSIGNED, Array, TensorType, Type
from ...ir import Operation
from ..framework import constraints, rules
from ..framework.attribute_kinds import Enum
from ..framework.declaration import Attribute, Op, Operand, Region, Result
from ..framework.memory_limit import require_free_memory
from ..framework.verify import verify_view
from ..random.random import RngAlgorithm, RngBitGeneratorRules
from ..reduction.reduce_window import ReduceWindowRules
from ..shape.run_time_sizes import RunTimeShaped, integers_of, is_result_shape
from ..shape.static_forms import STATIC_FORMS, constant_sizes, operand_positions, static_operation
from ..sorting.top_k import TopKRules


class SizedByOperands(RunTimeShaped):
    """Base of operations whose constraints, types and semantics are those of their static forms.

    A declaration states the constraints that hold whatever the sizes are; those of the static form are
    checked as soon as the sizes are known.
    """

    may_be_hoisted = False

    def size_operands(self) -> dict[str, int]:
        """The positions of the operands that say sizes, by name."""
        static_form, positions = STATIC_FORMS[self.name], operand_positions(self)
        return {name: positions[name] for name in (*static_form.attributes, *static_form.shapes)}

    def _constants(self) -> dict[str, tuple[int, ...]]:
        arrays = {
            name: rules.constant_operand(self.operation, position)
            for name, position in self.size_operands().items()
        }
        return {name: integers_of(array) for name, array in arrays.items() if array is not None}

    def verify(self) -> None:
        super().verify()
        values = constant_sizes(self)
        if values is not None:
            verify_view(Op.of(static_operation(self, values)))

    def infer(self) -> list[Type] | None:
        values = constant_sizes(self)
        if values is None:
            return None
        static = static_operation(self, values)
        return Op.of(static).infer() or [result.type for result in static.results]

    def reference(self, *operands: Array, **regions: Any) -> Any:
        static, data_operands = self._static_form(operands)
        return static.reference(*data_operands, **regions)

    def bind(self) -> Callable[..., Any]:
        return self._run_numpy

    def _run_numpy(self, *operands: Array, **regions: Any) -> Any:
        static, data_operands = self._static_form(operands)
        return static.bind()(*data_operands, **regions)

    def _static_form(self, operands: tuple[Array, ...]) -> tuple[Op, list[Array]]:
        """The view of the static form, and its operands.

        Raises:
            ExecutionError: a constraint does not hold, or a result does not fit into memory.
        """
        positions = self.size_operands()
        values = {name: operands[position] for name, position in positions.items()}
        view = rules.with_actual_shapes(self, operands)
        view.__dict__["known_values"] = {name: integers_of(array) for name, array in values.items()}
        rules.check_constraints(view)
        static = self._static_view(values, operands)
        sizes = set(positions.values())
        data_operands = [array for position, array in enumerate(operands) if position not in sizes]
        return static, data_operands

    def _static_view(self, values: Mapping[str, Array], operands: tuple[Array, ...]) -> Op:
        """The view of the static form for actual sizes.

        Raises:
            ExecutionError: a constraint does not hold, or a result does not fit into memory.
        """
        types = [
            operand.type.with_shape(np.shape(array)) if isinstance(operand.type, TensorType) else operand.type
            for operand, array in zip(self.operation.operands, operands, strict=True)
        ]
        static = static_operation(self, values, Operation("", (), types).results)
        try:
            view = Op.of(static)
            verify_view(view)
        except VerifyError as error:
            raise self.execution_error(error.reason, error.label) from None
        require_free_memory(self.operation, *(view.infer() or [result.type for result in static.results]))
        view.ordering = self.ordering
        return view


class DynamicReduceWindow(ReduceWindowRules, SizedByOperands, name="nimblehlo.dynamic_reduce_window"):
    """`reduce_window` whose windows are given by operands."""

    source_name = "stablehlo.custom_call @stablehlo.dynamic_reduce_window"

    inputs = Operand(PLAIN, variadic=True)
    init_values = Operand(PLAIN, rank=0, variadic=True)
    window_dimensions = Operand(INTEGER, rank=1)
    window_strides = Operand(INTEGER, rank=1)
    base_dilations = Operand(INTEGER, rank=1)
    window_dilations = Operand(INTEGER, rank=1)
    padding = Operand(INTEGER, rank=2)
    body = Region()
    results = Result(PLAIN, variadic=True)

    C13 = constraints.combines("body", "inputs")
    C16 = constraints.results_of("body", None, "results")


class DynamicTopK(TopKRules, SizedByOperands, name="nimblehlo.dynamic_top_k"):
    """`chlo.top_k` with a `k` that is an operand."""

    source_name = "stablehlo.custom_call @stablehlo.dynamic_top_k"

    operand = Operand(BOOLEAN | INTEGER | FLOAT)
    k = Operand(INTEGER, rank=0)
    values = Result(BOOLEAN | INTEGER | FLOAT)
    indices = Result(INTEGER)


class DynamicRngBitGenerator(
    RngBitGeneratorRules, SizedByOperands, name="nimblehlo.dynamic_rng_bit_generator"
):
    """`rng_bit_generator` of a shape that is an operand."""

    source_name = "stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator"

    rng_algorithm = Attribute(Enum("rng_algorithm", RngAlgorithm))
    initial_state = Operand(UNSIGNED, rank=1)
    output_shape = Operand(INTEGER, rank=1)
    output_state = Result(UNSIGNED, rank=1)
    output = Result(INTEGER | FLOAT)

    C3 = is_result_shape("output_shape", "output")
