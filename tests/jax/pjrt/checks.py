"""Checks of JAX on the platform nimblehlo, in a process with ``JAX_PLATFORMS=nimblehlo,cpu``.

Each function `check_...` is one check. A failure is printed with its traceback; the exit status is 1 then.
"""

from __future__ import annotations

import sys
import threading
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def check_a_jitted_function() -> None:
    assert [device.platform for device in jax.devices()] == ["nimblehlo"]
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(jnp.arange(4.0)), [1, 2, 3, 4])


def check_a_gradient() -> None:
    x = jnp.arange(4.0)
    np.testing.assert_allclose(
        jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x), np.sin(2 * np.arange(4.0)), atol=1e-6
    )


def check_a_product() -> None:
    a = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(a @ a.T, np.arange(12.0).reshape(3, 4) @ np.arange(12.0).reshape(3, 4).T)


def check_donation() -> None:
    x = jnp.ones(4)
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2, donate_argnums=0)(x), [2, 2, 2, 2])
    assert x.is_deleted()


def check_a_donated_argument_twice() -> None:
    x = jnp.ones(4)
    with pytest.raises(jax.errors.JaxRuntimeError, match="donate the same buffer twice"):
        jax.jit(lambda x, y: (x + y, x * y), donate_argnums=(0, 1))(x, x)


def check_memory_of_donated_arrays_is_used_again() -> None:
    x = jax.block_until_ready(jax.jit(lambda x: x * 2)(jnp.ones(1 << 18)))
    address = x.unsafe_buffer_pointer()
    # The reference of a chain of elementwise operations, with which "auto" begins, overwrites no operand.
    y = jax.jit(lambda x: x * 2 + 1, donate_argnums=0, compiler_options={"compile": "eager"})(x)
    np.testing.assert_array_equal(y, np.full(1 << 18, 5.0))
    assert y.unsafe_buffer_pointer() == address


def check_a_view_of_a_donated_array_keeps_its_numbers() -> None:
    x = jax.block_until_ready(jax.jit(lambda x: x * 2)(jnp.ones(1 << 18)))
    view = np.asarray(x)
    jax.block_until_ready(jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(x))
    np.testing.assert_array_equal(view, np.full(1 << 18, 2.0))


def check_a_call_returns_before_it_has_run() -> None:
    go_on = threading.Event()

    def wait(value: np.ndarray) -> np.ndarray:
        assert go_on.wait(60)
        return value

    shape = jax.ShapeDtypeStruct((), np.float32)
    waiting = jax.jit(lambda x: jax.pure_callback(wait, shape, x) + 1)(jnp.float32(1))
    following = jax.jit(lambda x: x * 3)(waiting)
    copied = jax.jit(lambda x: x, donate_argnums=0)(following)
    assert not waiting.is_ready() and not copied.is_ready() and following.is_deleted()
    assert float(jax.jit(lambda x: x + 1)(jnp.float32(1))) == 2
    go_on.set()
    assert float(copied) == 6 and float(waiting) == 2


def check_errors_come_when_results_are_waited_for() -> None:
    def fail(value: np.ndarray) -> np.ndarray:
        raise ValueError("no such luck")

    shape = jax.ShapeDtypeStruct((), np.float32)
    failed = jax.jit(lambda x: jax.pure_callback(fail, shape, x))(1.0)
    following = jax.jit(lambda x: x + 1)(failed)
    for result in (failed, following):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no such luck"):
            result.block_until_ready()


def check_callbacks_may_run_programs() -> None:
    double = jax.jit(lambda x: x @ x)

    def run(value: np.ndarray) -> np.ndarray:
        return np.asarray(double(jnp.full((300, 300), value)))[0, 0]

    shape = jax.ShapeDtypeStruct((), np.float32)
    assert float(jax.jit(lambda x: jax.pure_callback(run, shape, x))(2.0)) == 1200


def check_long_programs_run_on_a_worker() -> None:
    product = jax.jit(lambda x: x @ x / 512)
    x = jnp.ones((512, 512))
    for _ in range(80):  # more than there may be tasks
        x = product(x)
    np.testing.assert_array_equal(x[::256, ::256], np.ones((2, 2)))


def check_compile_options() -> None:
    assert float(jax.jit(lambda x: x + 1, compiler_options={"xla_embed_ir_in_executable": True})(1.0)) == 2
    for options, told in (
        ({"no_such_option": True}, "No such compile option: 'no_such_option'"),
        ({"xla_embed_ir_in_executable": "perhaps"}, "is not a valid bool value"),
    ):
        with pytest.raises(jax.errors.JaxRuntimeError, match=told):
            jax.jit(lambda x: x + 2, compiler_options=options)(1.0)


def check_every_element_type() -> None:
    for name in (
        *("bool", "int2", "int4", "int8", "int16", "int32", "uint2", "uint4", "uint8", "uint16", "uint32"),
        *("float16", "bfloat16", "float32", "complex64", "float4_e2m1fn", "float8_e3m4", "float8_e4m3"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz"),
        "float8_e8m0fnu",
    ):
        values = np.array([1, 0, 1]).astype(jnp.dtype(name))
        array = jax.jit(lambda x: x[::-1])(jax.device_put(values))
        assert array.dtype == name
        assert np.asarray(array).tobytes() == values[::-1].tobytes(), name


def check_arrays_cross_without_a_copy() -> None:
    values = np.arange(1000.0, dtype=np.float32)
    array = jax.device_put(values)
    assert array.unsafe_buffer_pointer() == values.ctypes.data
    assert np.asarray(array).ctypes.data == values.ctypes.data
    turned = jax.device_put(values.reshape(10, 100).T)
    np.testing.assert_array_equal(turned, values.reshape(10, 100).T)
    np.testing.assert_array_equal(np.asarray(jax.device_put(np.zeros((0, 3)))), np.zeros((0, 3)))


def check_texts_and_figures_of_a_program() -> None:
    compiled = jax.jit(lambda x: x + 1).lower(jnp.ones(4)).compile()
    assert "add" in compiled.as_text()
    assert compiled.memory_analysis().argument_size_in_bytes == 16


def main() -> int:
    """Run every check; the exit status."""
    failed = []
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
            except Exception:
                print(f"{name}:\n{traceback.format_exc()}")
                failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
