"""Arrays of the platform as DLPack tensors, and the reverse.

The platform's memory is the host's, DLPack's device ``kDLCPU``. jaxlib exports arrays of its own CPU and GPU
clients only, and imports host memory for its CPU client. So this module replaces the functions of JAX that
call jaxlib.

Source: dmlc.github.io/dlpack, "Python Specification for DLPack".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..execution.dlpack import to_dlpack as to_capsule
from ..program.frontend import jax_names as compatibility
from ..types import Array
from .lowering import PLATFORM

_CPU: Final = "cpu"
_FIRST_WITH_FLAGS: Final = (1, 0)
"""The version of DLPack since which a tensor can be marked read-only."""
Function = Callable[..., Any]


def install() -> None:
    """Make JAX's functions for DLPack accept the platform's arrays. Idempotent.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
    """
    compatibility.wrap(compatibility.TO_DLPACK, _wrap_to_dlpack)
    compatibility.wrap(compatibility.DLPACK_DEVICE, _wrap_dlpack_device)
    check_device = compatibility.CHECK_DLPACK_DEVICE
    if check_device.is_required or check_device.exists:
        compatibility.wrap(check_device, _wrap_check_device)
    compatibility.wrap(compatibility.PLACE_DLPACK_ARRAY, _wrap_place_array)


def _wrap_to_dlpack(export: Function) -> Function:
    def to_dlpack(
        x: Any,
        stream: object = None,
        src_device: Any = None,
        device: Any = None,
        copy: bool | None = None,
        max_version: tuple[int, int] | None = None,
    ) -> Any:
        if x.platform() != PLATFORM or (device is not None and device.platform not in (PLATFORM, _CPU)):
            # Before jax 0.12 the function has no `max_version`.
            newer = {} if max_version is None else {"max_version": max_version}
            return export(x, stream, src_device, device, copy, **newer)
        values = np.asarray(x)
        if max_version is None or max_version < _FIRST_WITH_FLAGS:
            values = _Writable(values).array()
        return to_capsule(values).__dlpack__(stream=stream, max_version=max_version, copy=copy)

    return to_dlpack


class _Writable:
    """A writable view of a read-only array's memory.

    Before version 1.0 a DLPack tensor cannot be marked read-only, and JAX exports its arrays all the same.
    """

    def __init__(self, values: Array) -> None:
        self._values = values
        # As bytes: the protocol does not know the types of ml_dtypes.
        interface = values.view(np.dtype((np.void, values.itemsize))).__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}

    def array(self) -> Array:
        """An array that keeps this object, and with it the memory, alive."""
        return np.asarray(self).view(self._values.dtype)


def _wrap_dlpack_device(dlpack_device: Function) -> Function:
    def device_of(array: Any) -> Any:
        if array.platform() == PLATFORM and len(array.devices()) == 1:
            return compatibility.DLPACK_DEVICES.get().kDLCPU, 0
        return dlpack_device(array)

    return device_of


def _wrap_check_device(check_device: Function) -> Function:
    """Wrap JAX's check of `copy=False`: host memory becomes an array of the platform without a copy."""

    def check(device: Any, dlpack_device: Any, copy: bool | None) -> None:
        if getattr(device, "platform", None) != PLATFORM or dlpack_device.platform != _CPU:
            check_device(device, dlpack_device, copy)

    return check


def _wrap_place_array(place_array: Function) -> Function:
    """Place host memory without a device on the default device, as JAX does with NumPy arrays."""

    def place(array: Any, device: Any, dlpack_device: object, copy: bool | None) -> Any:
        import jax

        target = jax.default_backend() if device is None else getattr(device, "platform", None)
        if array.platform() == _CPU and target == PLATFORM:
            return jax.device_put(np.array(array) if copy else np.asarray(array), device)
        return place_array(array, device, dlpack_device, copy)

    return place
