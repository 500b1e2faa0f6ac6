"""Records the FFI handlers that Python registers with JAX, and attaches them to the calls of a program.

A handler that is registered for this platform wins over one for the CPU, which shares its memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...program.frontend.jax_names import CALL_HANDLER, CPU_CALLS, CPU_TYPES, TYPE_HANDLER
from ...program.ir import FunctionAttribute, Module
from ...program.ops.custom_calls.custom_call import has_target
from ...program.ops.custom_calls.targets import HANDLER
from ...program.ops.framework.rules import call_target

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
        _follow("type", TYPE_HANDLER.get(), ("cpu", platform), _take_type)
    CALL_HANDLER.get()(platform, _take_platform_handler)
    if CPU_CALLS.exists:
        _follow("handler", CALL_HANDLER.get(), ("cpu",), _take_cpu_handler)


def _follow(
    kind: str,
    subscribe: Callable[[str, Callable[..., None]], None],
    platforms: Sequence[str],
    take: Callable[..., None],
) -> None:
    """Call `take` with all present and future registrations for these platforms.

    This platform must start even if an earlier registration is refused.
    """
    is_replaying = True

    def take_each(name: str, *registration: Any) -> None:
        try:
            take(name, *registration)
        except Exception as error:
            if not is_replaying:
                raise
            reason = f"the {kind} {name} for the CPU is refused: {error}"
            warnings.warn(reason, RuntimeWarning, stacklevel=2)

    for platform in platforms:
        subscribe(platform, take_each)
    is_replaying = False


def _take_cpu_handler(
    name: str, function: object, platform: str, api_version: int = 0, *traits: Any
) -> None:
    """Record a handler of the CPU, and forward it to XLA."""
    _record_handler(_OF_CPU, name, function, api_version)
    CPU_CALLS.get()(name, function, platform, api_version, *traits)


def _take_platform_handler(
    name: str, function: object, platform: str, api_version: int = 0, *traits: Any
) -> None:
    _record_handler(_OF_PLATFORM, name, function, api_version)


def _record_handler(registry: dict[str, Any], name: str, function: object, api_version: int) -> None:
    registry[name] = None if api_version == UNTYPED else function


def _take_type(name: str, registration: object) -> None:
    """Register a type with XLA, which numbers it, and record the function that deletes its states.

    Raises:
        UnsupportedError: the type information has a layout that this package does not know.
    """
    if not isinstance(registration, Mapping) or "type_info" not in registration:
        CPU_TYPES.get()(name, registration)
        return
    from .handlers import add_type, address_of, deleter_of

    deleter = deleter_of(name, address_of(registration["type_info"]))
    CPU_TYPES.get()(name, registration)
    add_type(address_of(registration["type_id"]), deleter)


def attach(module: Module) -> None:
    """Store the handlers that a program calls in its operations."""
    for operation in module.walk():
        target = call_target(operation)
        if target is None or has_target(target):
            continue
        registry = next((one for one in (_OF_PLATFORM, _OF_CPU) if target in one), None)
        if registry is not None:
            from .calls import handlers_of

            registered = registry[target]
            attached = FunctionAttribute(handlers_of(registered))
            operation.attributes = {**operation.attributes, HANDLER: attached}
