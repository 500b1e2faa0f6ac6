"""Which handlers Python has registered with JAX, and the calls of programs that are of them.

Handlers of the platform itself come first, then those of the CPU, whose memory this platform's arrays are in.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

from ...ir import FunctionAttribute, Module, StringAttribute
from ...ops.custom_calls.custom_call import is_known
from ...ops.custom_calls.targets import HANDLER
from ..compatibility import CALL_HANDLER, CPU_CALLS, CPU_TYPES, TYPE_HANDLER

UNTYPED: Final = 0
"""The version with which JAX registers functions that are no handlers of the typed interface."""

_OF_PLATFORM: dict[str, Any] = {}
_OF_CPU: dict[str, Any] = {}
"""What is registered for the platform and for the CPU: a handler's capsule, those of its stages by name, or
None for other functions."""


def install(platform: str) -> None:
    """Learn what handlers and types are registered for the platform and for the CPU.

    Types come first: XLA takes no handler whose state has a type that it does not know.
    """
    if TYPE_HANDLER.exists and CPU_TYPES.exists:
        TYPE_HANDLER.get()("cpu", _take_type)
        TYPE_HANDLER.get()(platform, _take_type)
    CALL_HANDLER.get()(platform, _take_handler)
    if CPU_CALLS.exists:
        _follow_cpu_handlers()


def _follow_cpu_handlers() -> None:
    """Learn the CPU's handlers and pass them on to XLA.

    One of those from before that XLA refuses must not keep this platform from starting.
    """
    is_before = True

    def take(name: str, function: Any, platform: str, api_version: int = 0, *traits: Any) -> None:
        _OF_CPU[name] = None if api_version == UNTYPED else function
        try:
            CPU_CALLS.get()(name, function, platform, api_version, *traits)
        except Exception as error:
            if not is_before:
                raise
            warnings.warn(f"XLA takes no handler {name} for the CPU: {error}", RuntimeWarning, stacklevel=2)

    CALL_HANDLER.get()("cpu", take)
    is_before = False


def _take_handler(name: str, function: Any, platform: str, api_version: int = 0, *traits: Any) -> None:
    _OF_PLATFORM[name] = None if api_version == UNTYPED else function


def _take_type(name: str, registration: Any) -> None:
    """Have XLA number a type, which is the CPU's too, and note how its states are deleted."""
    CPU_TYPES.get()(name, registration)
    if isinstance(registration, Mapping) and "type_info" in registration:
        from .handlers import add_type, address_of

        add_type(address_of(registration["type_id"]), address_of(registration["type_info"]))


def attach(module: Module) -> None:
    """Put the handlers that a program calls into its operations."""
    for operation in module.walk():
        target = operation.attributes.get("call_target_name")
        if operation.name != "stablehlo.custom_call" or not isinstance(target, StringAttribute):
            continue
        if is_known(target.value):
            continue
        registry = next((one for one in (_OF_PLATFORM, _OF_CPU) if target.value in one), None)
        if registry is not None:
            from .calls import handlers_of

            registered = registry[target.value]
            attached = FunctionAttribute(handlers_of(registered))
            operation.attributes = {**operation.attributes, HANDLER: attached}
