"""Programs with handlers of XLA's FFI: a script, for it needs a process of its own.

    python checks.py LIBRARY

LIBRARY is `handlers.cc`, compiled.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from tests.jax.children import run_checks
from tests.support.threads import on_threads

LIBRARY = ctypes.CDLL(sys.argv[1])
STAGES = ("instantiate", "initialize", "execute")


def register(name: str, platform: str = "cpu", **options: Any) -> None:
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(LIBRARY, name)), platform=platform, **options)


def call(name: str, shapes: Any, *operands: Any, options: Any = None, **attributes: Any) -> Any:
    return jax.ffi.ffi_call(name, shapes, **(options or {}))(*operands, **attributes)


def scaled(x: Any, factor: float, **options: Any) -> Any:
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return call("scale", shape, x, options=options, factor=np.float32(factor))


def capsule(address: int) -> object:
    """A capsule without a name that holds an address."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(address, None, None)


UNKNOWN_LAYOUT = (ctypes.c_size_t * 1)(8)


def without_a_function() -> dict[str, object]:
    """The registration of a type whose information consists of its size alone."""
    return dict.fromkeys(("type_id", "type_info"), capsule(ctypes.addressof(UNKNOWN_LAYOUT)))


def check_operands_results_and_attributes() -> None:
    x = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(scaled(x, 3), 3 * np.arange(12).reshape(3, 4))
    program = jax.jit(lambda x: scaled(x + 1, 2).T @ scaled(x, 0.5))
    np.testing.assert_array_equal(program(x), (2 * (x + 1)).T @ (0.5 * x))
    np.testing.assert_array_equal(
        jax.jit(jax.vmap(lambda x: scaled(x, 2, vmap_method="broadcast_all")))(x), 2 * np.asarray(x)
    )
    looped = jax.lax.fori_loop(0, 5, lambda _, x: scaled(x, 2), x)
    np.testing.assert_array_equal(looped, 32 * np.asarray(x))


def check_types_and_alignment() -> None:
    # Numbers of the types as the interface has them.
    for dtype, number in (
        (np.bool_, 1), (np.int8, 2), (np.int16, 3), (np.int32, 4), (np.uint8, 6), (np.uint16, 7),
        (np.uint32, 8), (np.float16, 10), (np.float32, 11), (np.complex64, 15), (jnp.bfloat16, 16),
        (jnp.float8_e4m3fn, 20),
    ):  # fmt: skip
        x = jnp.arange(6).reshape(2, 3).astype(dtype)
        shapes = jax.ShapeDtypeStruct((8,), np.int64), jax.ShapeDtypeStruct(x.shape, x.dtype)
        with jax.enable_x64(True):
            described, copy = jax.jit(lambda x, y, shapes=shapes: call("describe", shapes, x, y))(x, x[0])
        size = np.dtype(dtype).itemsize
        assert described.tolist() == [number, 2, 6 * size, 0, number, 1, 3 * size, 0]
        assert copy.dtype == x.dtype and np.asarray(copy).tobytes() == np.asarray(x).tobytes()
    with pytest.raises(jax.errors.JaxRuntimeError, match="cannot take elements of i4"):
        call("describe", jax.ShapeDtypeStruct((4,), np.int32), jnp.ones(3, jnp.int4))


def check_attributes_of_every_kind() -> None:
    with jax.enable_x64(True):
        found = call(
            "attributes",
            jax.ShapeDtypeStruct((8,), np.float64),
            text="twelve bytes",
            number=np.float64(0.5),
            integer=np.int64(-(1 << 40)),
            inner={"name": "inside", "depth": np.int32(7)},
            flag=True,
            array=np.arange(5, dtype=np.int32),
        )
    assert found.tolist() == [5, 4, 1, 7, 6, -(1 << 40), 0.5, 12]
    with pytest.raises(jax.errors.JaxRuntimeError, match="cannot take the attribute factor, a list of"):
        call("scale", jax.ShapeDtypeStruct((3,), np.float32), jnp.ones(3), factor=(1, 2))


def check_errors() -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT.*@scale failed: the factor"):
        jax.block_until_ready(scaled(jnp.ones(3), -1))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"@scale failed: .*[Aa]ttribute"):
        call("scale", jax.ShapeDtypeStruct((3,), np.float32), jnp.ones(3)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"@scale failed: (.|\n)*expected F32 but got S32"):
        scaled(jnp.ones(3, jnp.int32), 1).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="there is no stream"):
        call("streaming", jax.ShapeDtypeStruct((3,), np.float32)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"for version 7\.0 of XLA's FFI"):
        call("other_version", jax.ShapeDtypeStruct((3,), np.float32)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="registered without a version"):
        call("untyped", jax.ShapeDtypeStruct((3,), np.float32), options={"custom_call_api_version": 1})
    with pytest.raises(jax.errors.JaxRuntimeError, match="no target @nowhere"):
        call("nowhere", jax.ShapeDtypeStruct((3,), np.float32))
    np.testing.assert_array_equal(scaled(jnp.ones(3), 2), [2, 2, 2])


def check_states_of_programs_and_of_calls() -> None:
    assert LIBRARY.counters_alive() == 0
    with jax.enable_x64(True):
        shape = jax.ShapeDtypeStruct((3,), np.int64)
        program = jax.jit(lambda: call("count", shape, options={"has_side_effect": True}, first=np.int64(5)))
        assert [program().tolist() for _ in range(3)] == [[5, 1005, 2], [6, 1005, 2], [7, 1005, 2]]
        other = jax.jit(lambda: call("count", shape, options={"has_side_effect": True}, first=np.int64(9)))
        assert other().tolist() == [9, 1009, 3] and program().tolist() == [8, 1005, 3]
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"INVALID_ARGUMENT.*counts from 0 on"):
            call("count", shape, first=np.int64(-1))
    del program, other
    jax.clear_caches()
    gc.collect()
    assert LIBRARY.counters_alive() == 0


def check_types_of_an_unknown_layout_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="the type information of unknown begins with 8"):
        jax.ffi.register_ffi_type("unknown", without_a_function(), platform="cpu")


def check_what_calls_are_offered() -> None:
    with jax.enable_x64(True):
        program = jax.jit(lambda: call("services", jax.ShapeDtypeStruct((5,), np.int64)))
        first, second = (program().tolist() for _ in range(2))
    assert first[:3] == [0, 45, 1] and first[4] == 0 and second[3] != first[3]


def check_a_context_without_options_and_extensions() -> None:
    if not hasattr(LIBRARY, "extended"):
        return  # jaxlib's header is of an earlier version than 0.5
    with jax.enable_x64(True):
        shape = jax.ShapeDtypeStruct((1,), np.int64)
        assert call("without_options", shape).tolist() == [1]
        with pytest.raises(jax.errors.JaxRuntimeError, match="Extension Absent not found in context"):
            call("extended", shape).block_until_ready()


def check_results_that_come_later() -> None:
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    x = jnp.arange(3.0)
    assert call("later", shape, x, fails=False).tolist() == [1, 2, 3]
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"DATA_LOSS.*lost on the way"):
        call("later", shape, x, fails=True).block_until_ready()


def check_aliases_and_layouts() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    aliased = jax.jit(lambda x: scaled(x, 2, input_output_aliases={0: 0}))
    np.testing.assert_array_equal(aliased(x), 2 * np.asarray(x))
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))
    # Elements that are read in one order and written in another one change places.
    turned = scaled(x, 1, input_layouts=[(1, 0)])
    np.testing.assert_array_equal(turned, np.arange(6).reshape(2, 3).T.reshape(2, 3))
    turned = scaled(x, 1, input_layouts=[(1, 0)], output_layouts=(1, 0))
    np.testing.assert_array_equal(turned, x)


def check_handlers_of_the_platform_come_first() -> None:
    x = jnp.ones(3)
    jax.ffi.register_ffi_target("twice", jax.ffi.pycapsule(LIBRARY.streaming), platform="cpu")
    jax.ffi.register_ffi_target("twice", jax.ffi.pycapsule(LIBRARY.scale), platform="nimblehlo")
    doubled = call("twice", jax.ShapeDtypeStruct((3,), np.float32), x, factor=np.float32(2))
    np.testing.assert_array_equal(doubled, [2, 2, 2])


def check_threads_call_one_handler() -> None:
    program = jax.jit(lambda x: scaled(x, 2))

    def work(number: int) -> None:
        for _ in range(200):
            assert program(jnp.full(100, float(number))).tolist() == [2.0 * number] * 100

    on_threads(4, work)


def check_handlers_run_on_each_device() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    rows = jax.sharding.PartitionSpec("x")

    @jax.jit
    @functools.partial(jax.shard_map, mesh=mesh, in_specs=rows, out_specs=rows)
    def program(x: Any) -> Any:
        return scaled(x, 2) + jnp.float32(1)

    x = jnp.arange(8.0)
    np.testing.assert_array_equal(program(x), 2 * np.arange(8) + 1)
    text = program.lower(x).compile().as_text()
    assert "f32[4]" in text and "scale" in text


def check_programs_with_handlers_are_serialized() -> None:
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: scaled(x, 2)).lower(jnp.ones(3)).compile()
    serialized = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(*serialized, execution_devices=jax.devices()[:1])
    np.testing.assert_array_equal(loaded(jnp.ones(3)), [2, 2, 2])


def register_all() -> None:
    """Register the handlers, and the type of the states, that the checks call."""
    for name in ("scale", "describe", "attributes", "services", "later", "streaming"):
        register(name)
    for name in ("without_options", "extended"):
        if hasattr(LIBRARY, name):
            register(name)
    # JAX's CPU backend does not start with what it refuses.
    register("other_version", "nimblehlo", api_version=1)
    register("untyped", "nimblehlo", api_version=0)
    LIBRARY.counter_id.restype = LIBRARY.counter_info.restype = ctypes.c_void_p
    LIBRARY.counters_alive.restype = ctypes.c_int64
    registration = {"type_id": capsule(LIBRARY.counter_id()), "type_info": capsule(LIBRARY.counter_info())}
    jax.ffi.register_ffi_type("counter", registration, platform="cpu")
    stages = {stage: jax.ffi.pycapsule(getattr(LIBRARY, f"count_{stage}")) for stage in STAGES}
    jax.ffi.register_ffi_target("count", stages, platform="cpu")
    jax.ffi.register_ffi_type("earlier", without_a_function(), platform="cpu")


if __name__ == "__main__":
    register_all()
    # The platform starts although a type that was registered earlier is refused.
    with pytest.warns(RuntimeWarning, match="the type earlier for the CPU is refused"):
        jax.devices()
    sys.exit(run_checks(globals()))
