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

from ..types import Array
from . import compatibility
from .lowering import PLATFORM

_CPU: Final = "cpu"
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
        x: Any, stream: object = None, src_device: Any = None, device: Any = None, copy: bool | None = None
    ) -> Any:
        if x.platform() != PLATFORM or (device is not None and device.platform not in (PLATFORM, _CPU)):
            return export(x, stream, src_device, device, copy)
        values = np.array(x) if copy else np.asarray(x)
        # NumPy exports its own dtypes. Others, such as bfloat16, go through an array of JAX's CPU client.
        if values.dtype.isbuiltin == 1:
            return _Writable(values).array().__dlpack__(stream=stream)
        import jax

        return export(jax.device_put(values, jax.devices(_CPU)[0]), stream)

    return to_dlpack


class _Writable:
    """A writable view of a read-only array's memory.

    A DLPack tensor of the versions that JAX offers cannot be marked read-only.
    """

    def __init__(self, values: Array) -> None:
        self._values = values
        address, _ = values.__array_interface__["data"]
        self.__array_interface__ = {**values.__array_interface__, "data": (address, False)}

    def array(self) -> Array:
        """An array that keeps this object, and with it the memory, alive."""
        return np.asarray(self)


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
