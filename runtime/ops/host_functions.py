"""Custom calls of Python functions that a program brings along: JAX's callbacks.

The text of such a call holds only an index; the function is in the ``jax.stages.Lowered`` that the program
came from, and `attach_functions` puts it into the operation's attribute `FUNCTION`.

Source: JAX, `pure_callback`, `io_callback` and `debug.callback` on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..ir import DictionaryAttribute, FunctionAttribute, IntegerAttribute, Module, StringAttribute
from ..types import TOKEN_VALUE, TokenType
from .user_functions import call_user

if TYPE_CHECKING:
    from .custom_call import CustomCall

TARGETS: Final = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")
FUNCTION: Final = "nimblehlo.function"
"""The attribute that holds the function."""


def attach_functions(module: Module, functions: Sequence[Callable[..., Any]]) -> None:
    """Put into each call of a callback the function that its index means."""
    for operation in module.walk():
        target = operation.attributes.get("call_target_name")
        if isinstance(target, StringAttribute) and target.value in TARGETS:
            options = operation.attributes.get("mhlo.backend_config")
            index = options.values.get("index") if isinstance(options, DictionaryAttribute) else None
            if isinstance(index, IntegerAttribute) and 0 <= index.value < len(functions):
                function = FunctionAttribute(functions[index.value])
                operation.attributes = {**operation.attributes, FUNCTION: function}


def verify(view: CustomCall) -> None:
    """The function must be there."""
    if not isinstance(view.operation.attributes.get(FUNCTION), FunctionAttribute):
        raise view.unsupported(
            f"@{view.call_target_name} calls a Python function, which only a jax.stages.Lowered holds"
        )


def run(view: CustomCall, *inputs: Any) -> tuple[Any, ...]:
    """Call it; JAX's functions take and return None for tokens."""
    attribute = view.operation.attributes[FUNCTION]
    assert isinstance(attribute, FunctionAttribute)
    # Copies, since JAX may keep what it is given for longer than the call lasts.
    arguments = [None if value is TOKEN_VALUE else np.array(value) for value in inputs]
    returned = call_user(view, view.call_target_name, attribute.function, arguments, {}, view.results)
    return tuple(
        [
            TOKEN_VALUE if isinstance(type, TokenType) else value
            for value, type in zip(returned, view.results, strict=True)
        ]
    )
