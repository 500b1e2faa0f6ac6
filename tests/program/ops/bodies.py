"""Texts of regions: bodies of reductions, comparators."""

from __future__ import annotations

from collections.abc import Sequence


def region(inputs: Sequence[str], statements: str, outputs: Sequence[str]) -> str:
    """A region whose arguments are %a, %b, ...

    Args:
        inputs: types of the arguments.
        statements: the operations before the return.
        outputs: what it returns: values with their types, such as ``"%r : tensor<f32>"``.
    """
    arguments = ", ".join(f"%{chr(97 + index)}: {type}" for index, type in enumerate(inputs))
    values = ", ".join(output.split(" : ")[0] for output in outputs)
    types = ", ".join(output.split(" : ")[1] for output in outputs)
    return f"^bb0({arguments}):\n    {statements}\n    stablehlo.return {values} : {types}\n  "


def combining(operation: str, element_type: str = "f32") -> str:
    """A region that returns ``operation(%a, %b)``."""
    scalar = f"tensor<{element_type}>"
    return region([scalar, scalar], f"%r = stablehlo.{operation} %a, %b : {scalar}", [f"%r : {scalar}"])


def comparing(
    direction: str, element_type: str = "f32", payloads: Sequence[str] = (), compare_type: str = ""
) -> str:
    """A region that compares its first two arguments; `payloads` are the element types of further inputs."""
    scalar = f"tensor<{element_type}>"
    inputs = [scalar, scalar, *[f"tensor<{payload}>" for payload in payloads for _ in range(2)]]
    kind = f", {compare_type}" if compare_type else ""
    statement = f"%r = stablehlo.compare {direction}, %a, %b{kind} : ({scalar}, {scalar}) -> tensor<i1>"
    return region(inputs, statement, ["%r : tensor<i1>"])


def canonical(name: str, value: str, element_type: str = "f32", nan: str = "0x7FC00000") -> str:
    """Statements that define %`name` as `value` with -0 as +0 and each NaN as one."""
    scalar = f"tensor<{element_type}>"
    signature = f"({scalar}, {scalar}) -> tensor<i1>"
    return f"""
    %{name}zero = stablehlo.constant dense<0.0> : {scalar}
    %{name}is_zero = stablehlo.compare EQ, {value}, %{name}zero, FLOAT : {signature}
    %{name}signed = stablehlo.select %{name}is_zero, %{name}zero, {value} : tensor<i1>, {scalar}
    %{name}is_nan = stablehlo.compare NE, {value}, {value}, FLOAT : {signature}
    %{name}nan = stablehlo.constant dense<{nan}> : {scalar}
    %{name} = stablehlo.select %{name}is_nan, %{name}nan, %{name}signed : tensor<i1>, {scalar}
    """
