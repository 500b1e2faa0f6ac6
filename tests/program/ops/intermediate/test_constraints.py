"""Each constraint of an internal operation is violated once: the specializer alone could do so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.api import Executable
from nimblehlo.execution.verification.operations import InvalidOperation, verify_operations
from nimblehlo.program.ir import Function, Operation
from nimblehlo.program.ops import declarations
from nimblehlo.program.ops.framework.attribute_kinds import DIMENSIONS, I64
from nimblehlo.types import ELEMENT_TYPES, TensorType
from tests.robustness.seeds import INTERNAL

Change = Callable[[Operation], None]


def with_shape(*shape: int) -> Change:
    """Give the first result another shape."""

    def change(operation: Operation) -> None:
        type = operation.results[0].type
        assert isinstance(type, TensorType)
        operation.results[0].type = type.with_shape(shape)

    return change


def with_attribute(name: str, value: Any) -> Change:
    def change(operation: Operation) -> None:
        operation.attributes = {**operation.attributes, name: value}

    return change


def of_i8(operation: Operation) -> None:
    """Give the first result elements of another type."""
    type = operation.results[0].type
    assert isinstance(type, TensorType)
    operation.results[0].type = type.with_element_type(ELEMENT_TYPES["i8"])


def with_other_argument(operation: Operation) -> None:
    """Give the body an argument of another type than the operand's."""
    argument = operation.regions[0].block.arguments[0]
    argument.type = TensorType((7,), ELEMENT_TYPES["f32"])


VIOLATIONS: dict[str, dict[str, Change]] = {
    "nimblehlo.arg_reduce": {"C1": with_attribute("dimensions", DIMENSIONS.encode((5,))), "result": of_i8},
    "nimblehlo.arg_sort": {
        "C1": with_attribute("returned", DIMENSIONS.encode((3,))),
        "C2": with_shape(5, 5),
        "C3": with_attribute("dimension", I64.encode(2)),
        "result": of_i8,
    },
    "nimblehlo.component_scatter": {"result": with_shape(1, 7)},
    "nimblehlo.fft_of_real": {"C1": with_shape(2, 5)},
    "nimblehlo.row_fusion": {"C1": with_other_argument, "result": with_shape(4, 7)},
    "nimblehlo.reduction_fusion": {"C1": with_other_argument, "result": with_shape(7)},
    "nimblehlo.fusion": {"C1": with_other_argument, "result": with_shape(4, 7)},
}


ELEMENTWISE = """func.func @main(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.sine %a : tensor<4x6xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}"""


def compiled() -> Iterator[Function]:
    """The specialized functions of programs that become internal operations."""
    for text in (*INTERNAL, ELEMENTWISE):
        executable = nimblehlo.compile(text, options=Options(compile="eager"))
        assert isinstance(executable, Executable)
        program = executable._static_program
        assert program is not None
        yield program.function


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violated_constraints_are_found(name: str) -> None:
    for label, change in VIOLATIONS[name].items():
        found = [
            (function, operation)
            for function in compiled()
            for operation in (function.body.walk() if function.body is not None else ())
            if operation.name == name
        ]
        assert found, name
        function, operation = found[0]
        verify_operations(function)
        change(operation)
        with pytest.raises(InvalidOperation, match=rf"{name} .*({label}\)|has results|violates)"):
            verify_operations(function)


def test_each_constraint_has_a_violation() -> None:
    same = dict.fromkeys(["nimblehlo.step_fusion", "nimblehlo.launched"], "nimblehlo.fusion")
    for declaration in declarations():
        if declaration.is_internal:
            labels = {constraint.label for constraint in declaration.declared_constraints}
            violated = VIOLATIONS.get(same.get(declaration.name, declaration.name), {})
            assert labels <= violated.keys(), declaration.name
