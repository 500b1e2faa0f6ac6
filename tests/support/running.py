"""Runs a program in every mode and compares the results with each other and with XLA:CPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Options
from tools.comparison import difference

Array = np.ndarray[Any, Any]

MODES = {
    "reference steps": Options(compile="never"),
    "kernel steps": Options(compile="eager"),
    "kernel steps, one thread": Options(compile="eager", threads=1),
    "tiered steps": Options(compile="auto"),
}


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays have the same element type, shape and bits; a NaN equals any NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.tobytes() == b.tobytes():
        return True
    with np.errstate(invalid="ignore"):  # signaling NaNs, and those of narrow types
        both_nan = np.isnan(a.astype(np.complex128)) & np.isnan(b.astype(np.complex128))
        same_signs = np.signbit(a.real.astype(np.float64)) == np.signbit(b.real.astype(np.float64))
        return bool(np.all(both_nan | ((a == b) & same_signs)))


def assert_same_bits(got: Array, want: Array) -> None:
    """The same element type, shape and bits, except for the bits of NaNs; `got` is in row-major order."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.flags.c_contiguous
    components = [(got.real, want.real), (got.imag, want.imag)] if got.dtype.kind == "c" else [(got, want)]
    for a, b in components:
        if a.dtype.kind not in "biu":
            a, b = np.array(a), np.array(b)
            nan = np.isnan(a)
            np.testing.assert_array_equal(nan, np.isnan(b))
            a[nan] = b[nan] = 0
            a, b = (x.view(f"u{x.dtype.itemsize}") for x in (a, b))
        np.testing.assert_array_equal(a, b)


def run_every_way(program: str | nimblehlo.Module, *inputs: Any, entry: str = "main") -> list[Array]:
    """The results of a program, the same bits in every mode; inputs must not be written to."""
    before = [np.array(value) for value in inputs]
    module = nimblehlo.load(program)
    results: dict[str, list[Array]] = {}
    for mode, options in MODES.items():
        results[mode] = nimblehlo.execute(module, inputs, entry=entry, options=options)
        for value, copy in zip(inputs, before, strict=True):
            assert same_bits(np.asarray(value), copy), f"{mode} changed an input"
    first_mode, first = next(iter(results.items()))
    for mode, arrays in results.items():
        assert len(arrays) == len(first)
        for index, (a, b) in enumerate(zip(arrays, first, strict=True)):
            assert same_bits(np.asarray(a), np.asarray(b)), f"result {index}: {mode} and {first_mode} differ"
    return first


@functools.lru_cache(maxsize=1)
def _xla_backend() -> Any:
    from jax.extend import backend

    return backend.get_backend("cpu")


def run_xla(text: str, *inputs: Array) -> list[Array]:
    """The results of XLA:CPU for the same text."""
    import jax
    from jax._src.lib import xla_client

    backend = _xla_backend()
    devices = xla_client.DeviceList(tuple(backend.devices()[:1]))
    executable = backend.compile_and_load(text, devices, xla_client.CompileOptions())
    with jax.enable_x64(True):
        outputs = executable.execute_sharded([jax.device_put(np.asarray(value)) for value in inputs])
        return [np.asarray(shards[0]) for shards in outputs.disassemble_into_single_device_arrays()]


def assert_close(got: Sequence[Array], want: Sequence[Array], relative: float) -> None:
    """Integers are equal; floats lie within `relative` of the largest finite magnitude of `want`'s array."""
    for index, (one, other) in enumerate(zip(got, want, strict=True)):
        reason = difference(one, other, relative)
        assert reason is None, f"result {index}: {reason}"
