"""XLA:CPU as a function of arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax._src import config
from jax._src.lib import xla_client
from jax.extend import backend as jax_backend

Array = np.ndarray[Any, Any]


class XlaProgram:
    """A program that XLA:CPU has compiled.

    Args:
        text: the module as MLIR text.
    """

    def __init__(self, text: str) -> None:
        backend = jax_backend.get_backend("cpu")
        self._device = backend.devices()[0]
        devices = xla_client.DeviceList((self._device,))
        self._executable = backend.compile_and_load(text, devices, xla_client.CompileOptions())

    def __call__(self, inputs: Iterable[Array]) -> list[Array]:
        """The results as NumPy arrays."""
        with config.enable_x64(True):
            buffers = [jax.device_put(np.array(value), self._device) for value in inputs]
            outputs = self._executable.execute_sharded(buffers)
            return [np.array(shards[0]) for shards in outputs.disassemble_into_single_device_arrays()]


@functools.lru_cache(maxsize=64)
def xla_program(text: str) -> XlaProgram:
    """The compiled program, kept while it is among the last 64."""
    return XlaProgram(text)
