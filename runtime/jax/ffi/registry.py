"""Records the FFI handlers that Python registers with JAX, and attaches them to the calls of a program.

A handler that is registered for this platform wins over one for the CPU, which shares its memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

from ...ir import FunctionAttribute, Module, StringAttribute
from ...ops.custom_calls.custom_call import has_target
from ...ops.custom_calls.targets import HANDLER
from ..compatibility import CALL_HANDLER, CPU_CALLS, CPU_TYPES, TYPE_HANDLER

UNTYPED: Final = 0
"""The API version of functions that are not handlers of the typed interface."""

_OF_PLATFORM: dict[str, Any] = {}
_OF_CPU: dict[str, Any] = {}
"""The registrations for the platform and for the CPU, by name: the capsule of a handler, or the capsules of
its stages by name; None for a function that is not a handler of the typed interface."""


def install(platform: str) -> None:
    """Record all present and future registrations of handlers and types for the platform and for the CPU.

    Types come first: XLA refuses a handler whose state has an unknown type.
    """
    if TYPE_HANDLER.exists and CPU_TYPES.exists:
        TYPE_HANDLER.get()("cpu", _take_type)
        TYPE_HANDLER.get()(platform, _take_type)
    CALL_HANDLER.get()(platform, _take_platform_handler)
    if CPU_CALLS.exists:
        _follow_cpu_handlers()


def _follow_cpu_handlers() -> None:
    """Record the CPU's handlers, and forward them to XLA.

    This platform must start even if XLA refuses a handler that was registered earlier.
    """
    is_replaying = True

    def take(name: str, function: object, platform: str, api_version: int = 0, *traits: Any) -> None:
        _record_handler(_OF_CPU, name, function, api_version)
        try:
            CPU_CALLS.get()(name, function, platform, api_version, *traits)
        except Exception as error:
            if not is_replaying:
                raise
            reason = f"XLA refuses the handler {name} for the CPU: {error}"
            warnings.warn(reason, RuntimeWarning, stacklevel=2)

    CALL_HANDLER.get()("cpu", take)
    is_replaying = False


def _take_platform_handler(
    name: str, function: object, platform: str, api_version: int = 0, *traits: Any
) -> None:
    _record_handler(_OF_PLATFORM, name, function, api_version)


def _record_handler(registry: dict[str, Any], name: str, function: object, api_version: int) -> None:
    registry[name] = None if api_version == UNTYPED else function


def _take_type(name: str, registration: object) -> None:
    """Register a type with XLA, which numbers it, and record the function that deletes its states."""
    CPU_TYPES.get()(name, registration)
    if isinstance(registration, Mapping) and "type_info" in registration:
        from .handlers import add_type, address_of

        add_type(address_of(registration["type_id"]), address_of(registration["type_info"]))


def attach(module: Module) -> None:
    """Store the handlers that a program calls in its operations."""
    for operation in module.walk():
        target = operation.attributes.get("call_target_name")
        if operation.name != "stablehlo.custom_call" or not isinstance(target, StringAttribute):
            continue
        if has_target(target.value):
            continue
        registry = next((one for one in (_OF_PLATFORM, _OF_CPU) if target.value in one), None)
        if registry is not None:
            from .calls import handlers_of

            registered = registry[target.value]
            attached = FunctionAttribute(handlers_of(registered))
            operation.attributes = {**operation.attributes, HANDLER: attached}
