"""JAX's callbacks: run from what `lower` returns, refused from text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, UnsupportedError

jax = pytest.importorskip("jax")
jnp = jax.numpy

VALUES = np.array([1.0, -2.0, 3.0], np.float32)
COMPILE = ("never", "eager", "auto")


def shape_of(value: Any) -> Any:
    return jax.ShapeDtypeStruct(value.shape, value.dtype)


@pytest.mark.parametrize("compile", COMPILE)
def test_pure_callback(compile: Any) -> None:
    def function(x: Any) -> Any:
        first, second = jax.pure_callback(
            lambda a, b: (np.sign(a), np.float32(b) + 2), (shape_of(x), shape_of(x[0])), x, x.sum()
        )
        return first * x + second

    lowered = jax.jit(function).lower(VALUES)
    (result,) = nimblehlo.execute(lowered, [VALUES], options=Options(compile=compile))
    np.testing.assert_array_equal(result, np.abs(VALUES) + 4)


@pytest.mark.parametrize("compile", COMPILE)
def test_each_callback_of_a_loop_is_the_right_one(compile: Any) -> None:
    seen: list[tuple[str, int]] = []

    def body(index: Any, x: Any) -> Any:
        jax.debug.callback(lambda i: seen.append(("first", int(i))), index, ordered=True)
        jax.debug.callback(lambda i: seen.append(("second", int(i))), index + 10, ordered=True)
        return x + 1

    lowered = jax.jit(lambda x: jax.lax.fori_loop(0, 3, body, x)).lower(VALUES)
    executable = nimblehlo.compile(lowered, options=Options(compile=compile))
    executable(*([VALUES] if len(executable.input_types) == 1 else [None, VALUES]))
    assert seen == [
        (name, index + more) for index in range(3) for name, more in (("first", 0), ("second", 10))
    ]


def test_io_callback_keeps_its_arguments() -> None:
    kept = []

    def keep(x: Any) -> None:
        kept.append(np.asarray(x))

    def function(x: Any) -> Any:
        jax.experimental.io_callback(keep, None, x * 2)
        return x * 3

    from jax.experimental import io_callback  # noqa: F401

    executable = nimblehlo.compile(jax.jit(function).lower(VALUES))
    for factor in (1, 2, 3):
        executable(VALUES * factor)
    for factor, value in enumerate(kept, 1):
        np.testing.assert_array_equal(value, VALUES * factor * 2)


def test_what_a_callback_raises_is_an_execution_error() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("absent")

    lowered = jax.jit(lambda x: jax.pure_callback(fail, shape_of(x), x)).lower(VALUES)
    with pytest.raises(ExecutionError, match="absent"):
        nimblehlo.execute(lowered, [VALUES])


def test_text_has_no_functions() -> None:
    lowered = jax.jit(lambda x: jax.pure_callback(np.sin, shape_of(x), x)).lower(VALUES)
    for module in (lowered.as_text(), lowered.compiler_ir("stablehlo"), str(nimblehlo.load(lowered))):
        with pytest.raises(UnsupportedError, match=r"@xla_ffi_python_cpu_callback calls a Python function"):
            nimblehlo.load(module)
