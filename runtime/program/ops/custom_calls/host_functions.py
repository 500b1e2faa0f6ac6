"""Custom calls of Python functions that a program brings along: JAX's callbacks.

The text of such a call holds only an index; the function is in the ``jax.stages.Lowered`` that the program
came from, and `attach_functions` puts it into the operation's attribute `FUNCTION`.

Source: JAX, `pure_callback`, `io_callback`, `debug.callback` and `buffer_callback` on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....types import TOKEN_VALUE, Array, TokenType
from ...ir import DictionaryAttribute, FunctionAttribute, IntegerAttribute, Module, StringAttribute
from ...ir.record import Record
from .user_functions import call_user
from .view import CustomCallView

PARTITIONED_TARGET: Final = "xla_ffi_partitioned_python_cpu_callback"
"""The target whose function is called for each device of a partitioned program, with its shards."""
TARGETS: Final = ("xla_ffi_python_cpu_callback", PARTITIONED_TARGET)
BUFFER_TARGET: Final = "xla_buffer_python_cpu_callback"
"""The target whose function writes its results into given buffers."""
FUNCTION: Final = "nimblehlo.function"
"""The attribute that holds the function."""


def attach_functions(module: Module, find: Callable[[int], Callable[..., Any] | None]) -> int:
    """Put into each call of a callback the function that its index means.

    Args:
        find: gives the function of an index; None if there is none.

    Returns:
        How many calls have got a function.
    """
    count = 0
    for operation in module.walk():
        target = operation.attributes.get("call_target_name")
        if isinstance(target, StringAttribute) and target.value in (*TARGETS, BUFFER_TARGET):
            options = operation.attributes.get("mhlo.backend_config")
            index = options.values.get("index") if isinstance(options, DictionaryAttribute) else None
            function = find(index.value) if isinstance(index, IntegerAttribute) else None
            if function is not None:
                attached = FunctionAttribute(function)
                operation.attributes = {**operation.attributes, FUNCTION: attached}
                count += 1
    return count


def verify(view: CustomCallView) -> None:
    """The function must be there."""
    if not isinstance(view.operation.attributes.get(FUNCTION), FunctionAttribute):
        raise view.unsupported(
            f"@{view.call_target_name} calls a Python function, which only a jax.stages.Lowered holds"
        )


def run(view: CustomCallView, *inputs: Any) -> tuple[Any, ...]:
    """Call it; JAX's functions take and return None for tokens."""
    attribute = view.operation.attributes[FUNCTION]
    assert isinstance(attribute, FunctionAttribute)
    # Copies, because JAX may keep its arguments after the call.
    arguments = [None if value is TOKEN_VALUE else np.array(value) for value in inputs]
    returned = call_user(view, view.call_target_name, attribute.function, arguments, {}, view.results)
    return tuple(
        [
            TOKEN_VALUE if isinstance(type, TokenType) else value
            for value, type in zip(returned, view.results, strict=True)
        ]
    )


class Buffer(Array):
    """An array with the additional attribute of JAX's buffers."""

    @property
    def writeable(self) -> bool:
        """Whether the function may write to it: results only."""
        return bool(self.flags.writeable)


class ExecutionContext(Record):
    """The description of the call for JAX's buffer callbacks.

    Attributes:
        stage: the name of the stage; there is but one here.
        stream: None on a CPU.
    """

    stage: str = "EXECUTE"
    stream: None = None


def run_on_buffers(view: CustomCallView, *inputs: object) -> tuple[Any, ...]:
    """Call a function with the inputs and with buffers for the results, which it fills.

    A result that is an alias of an input has that input's elements at first; other results have zeros.
    """
    attribute = view.operation.attributes[FUNCTION]
    assert isinstance(attribute, FunctionAttribute)
    results = [np.zeros(type.shape, type.dtype) for type in view.results]
    arguments = [np.array(value) for value in inputs]
    for outputs, operand, _ in view.output_operand_aliases:
        results[outputs[0] if outputs else 0][...] = arguments[operand]
    for array in arguments:
        array.flags.writeable = False
    buffers = [array.view(Buffer) for array in (*arguments, *results)]
    call_user(view, view.call_target_name, attribute.function, (ExecutionContext(), *buffers), {}, ())
    return tuple(results)
