"""XLA:CPU as a function of arrays: for a program's own text, for its wide form, and for perturbed inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import config
from jax._src.lib import xla_client
from jax.extend import backend as jax_backend

from tools.comparison import is_inexact

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


def perturbed(array: Array, random: np.random.Generator) -> Array:
    """An array whose floating-point values are moved by at most one unit in the last place each."""
    if not is_inexact(array.dtype):
        return array
    if array.dtype.kind == "c":
        joined = np.empty_like(array)
        joined.real, joined.imag = perturbed(array.real, random), perturbed(array.imag, random)
        return joined
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}")) if array.dtype.itemsize > 1 else None
    if bits is None:
        return array
    moved = (bits + random.integers(-1, 2, array.shape).astype(bits.dtype)).view(array.dtype)
    return np.where((array == 0) | ~np.isfinite(array) | ~np.isfinite(moved), array, moved).astype(
        array.dtype
    )


def draws(program: XlaProgram, inputs: Sequence[Array], count: int) -> list[list[Array]]:
    """XLA's results for `count` perturbations of the inputs."""
    random = np.random.default_rng(0)
    return [program([perturbed(np.asarray(value), random) for value in inputs]) for _ in range(count)]
