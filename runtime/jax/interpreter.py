"""NimbleHLO behind the interface of jaxlib's reference interpreter.

``nimblehlo.jax.interpreter.eval_module`` has the signature of ``jaxlib.mlir.dialects.stablehlo.eval_module``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..api import compile
from ..errors import ExecutionError, UnsupportedError
from ..options import Options
from ..program.frontend import parse_attributes
from ..program.ir import ArrayAttribute, DenseElementsAttribute
from ..program.ir.description import describe_attribute
from ..program.ir.printer import Printer
from ..types import COMPLEX, TensorType


def eval_module(
    module: object,
    args: Sequence[object],
    probe_instrumentation_dir: str = "",
    *,
    options: Options | None = None,
) -> list[Any]:
    """Run the function ``@main`` of a module on attributes.

    Args:
        module: a jaxlib ``ir.Module``, or anything else that `load` takes.
        args: for each argument a dense attribute of jaxlib's, or its text, such as
            ``"dense<1> : tensor<i32>"``; or anything else that `execute` takes.
        probe_instrumentation_dir: the folder that ``interpreter.probe`` writes to; empty: there is none.
        options: see `Options`; `probe_instrumentation_dir` overrides `probe_directory`.

    Returns:
        A dense attribute for each result: of jaxlib's in the context of the module; of `nimblehlo.program.ir`
        where the module is none of jaxlib's.

    Raises:
        NimbleError: what `execute` raises.
        UnsupportedError: a result is no tensor, or it is complex and the module one of jaxlib's, whose Python
            classes for attributes do not hold complex numbers.
    """
    settings = options or Options()
    if probe_instrumentation_dir:
        settings = replace(settings, probe_directory=probe_instrumentation_dir)
    executable = compile(module, options=settings)
    results = executable(*[_input(arg) for arg in args])
    attributes = [
        _attribute(result, type) for result, type in zip(results, executable.output_types, strict=True)
    ]
    context = getattr(module, "context", None)
    if context is None:
        return attributes
    from jaxlib.mlir import ir

    for attribute in attributes:
        if attribute.type.category & COMPLEX:
            raise UnsupportedError(f"jaxlib has no attribute for a result of type {attribute.type}")
    printer = Printer()
    return [ir.Attribute.parse(printer.attribute(attribute), context) for attribute in attributes]


def inputs_from_text(text: str) -> list[Any]:
    """The arrays of dense attributes, which commas separate; or of one array attribute that holds them.

    Raises:
        ParseError: the text is malformed.
        ExecutionError: an attribute is not dense.
    """
    attributes = parse_attributes(text, "<args>")
    if len(attributes) == 1 and isinstance(attributes[0], ArrayAttribute):
        # In the form that stablehlo-translate accepts.
        attributes = list(attributes[0].values)
    return [_array(attribute) for attribute in attributes]


def _input(arg: object) -> Any:
    """An argument as `execute` takes it; attributes of jaxlib's are known by their context and their type."""
    if isinstance(arg, DenseElementsAttribute):
        return arg.array
    if isinstance(arg, str) or (hasattr(arg, "context") and hasattr(arg, "type")):
        (array,) = inputs_from_text(str(arg))
        return array
    return arg


def _array(attribute: object) -> Any:
    if not isinstance(attribute, DenseElementsAttribute):
        reason = "must be a dense attribute, such as dense<1> : tensor<i32>"
        raise ExecutionError(f"an argument is {describe_attribute(attribute)}, but {reason}")
    return attribute.array


def _attribute(result: object, type: object) -> DenseElementsAttribute:
    if not isinstance(type, TensorType):
        raise UnsupportedError(f"a result of type {type} cannot be a dense attribute")
    array = np.asarray(result)
    return DenseElementsAttribute(type.with_shape(array.shape), array)


def result_text(result: object, type: object) -> str:
    """A result as the reference interpreter prints it: its type, and its rows in braces."""
    attribute = _attribute(result, type)
    rows = _rows(attribute.array, 1)
    return f"{attribute.type} {{{rows}}}"


def _rows(array: Any, indent: int) -> str:
    """The elements of an array, a line for each row."""
    if not array.ndim:
        return _element(array[()])
    start = "\n" + "  " * indent
    if array.ndim == 1:
        return f"{start}[{', '.join(map(_element, array))}]\n{'  ' * (indent - 1)}"
    inner = ",".join(_rows(row, indent + 1).rstrip() for row in array)
    return f"{start}[{inner}{start}]\n{'  ' * (indent - 1)}"


def _element(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (complex, np.complexfloating)):
        return f"[{_element(value.real)}, {_element(value.imag)}]"
    if isinstance(value, np.integer):
        return str(int(value))
    number = float(value)
    short = f"{number:e}"
    return short if not np.isfinite(number) or type(value)(float(short)) == value else f"{number:.17e}"
