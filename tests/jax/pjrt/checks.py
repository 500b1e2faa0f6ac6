"""Checks of JAX on eight devices, in a process with ``JAX_PLATFORMS=nimblehlo,cpu NIMBLEHLO_JAX_DEVICES=8``.

Each function `check_...` is one check. A failure is printed with its traceback; the exit status is 1 then.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import tracemalloc
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from nimblehlo.jax.pjrt import plugin
from tests.jax.children import run_checks


def check_a_jitted_function() -> None:
    assert [(device.platform, device.id) for device in jax.devices()] == [("nimblehlo", i) for i in range(8)]
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


def check_the_memory_of_donated_arguments() -> None:
    """An argument makes way for one result of as many bytes; what makes way for none stays."""
    x, y, z = jnp.ones(8), jnp.ones(8), jnp.ones(4)
    nibbles = jnp.ones(9, jnp.int4)
    for function, arguments, donated in (
        (lambda x: x * 2, (x,), [32]),
        (lambda x, z: (x * 2, z + 1), (x, z), [32, 16]),
        (lambda x, y: x + y, (x, y), [32, 0]),
        (lambda x, z: (x * 2, z.sum()), (x, z), [32, 0]),
        (lambda x: x.sum(), (x,), [0]),
        (lambda x: x + 1, (nibbles,), [nibbles.on_device_size_in_bytes()]),
    ):
        numbers = tuple(range(len(arguments)))
        copies = [jnp.copy(argument) for argument in arguments]
        with warnings.catch_warnings(action="ignore"):
            compiled = jax.jit(function, donate_argnums=numbers).lower(*copies).compile()
        figures = compiled.memory_analysis()
        assert figures.alias_size_in_bytes == sum(donated)
        assert figures.argument_size_in_bytes == sum(one.on_device_size_in_bytes() for one in copies)
        compiled(*copies)
        assert [one.is_deleted() for one in copies] == [size > 0 for size in donated]
    jax.config.update("jax_enable_x64", True)
    try:
        wide = jax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(8, jnp.float64))
    finally:
        jax.config.update("jax_enable_x64", False)
    assert wide.compile().memory_analysis().alias_size_in_bytes == 64
    mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    divided = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=rows)
    figures = divided.lower(jax.device_put(x, rows)).compile().memory_analysis()
    assert (figures.argument_size_in_bytes, figures.alias_size_in_bytes) == (8, 8)


def check_a_donated_argument_twice() -> None:
    x = jnp.ones(4)
    with pytest.raises(jax.errors.JaxRuntimeError, match="donate the same buffer twice"):
        jax.jit(lambda x, y: (x + y, x * y), donate_argnums=(0, 1))(x, x)


def adam(
    p: jax.Array, m: jax.Array, v: jax.Array, gradient: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def check_memory_of_donated_arrays_is_used_again() -> None:
    rows = jnp.arange(40) % 7
    # On fewer elements the conditional is one of the small steps that one function computes, into new memory.
    for size, (function, donated, count) in itertools.product(
        (1 << 13, 1 << 18),
        (
            (lambda x: x * 2 + 1, 1, 1),
            (lambda p, g: p - 0.1 * g, 1, 2),
            (adam, 3, 4),
            (lambda x: jnp.where(x > 0, x, 0) + 1, 1, 1),
            (lambda table: table.at[rows].add(1), 1, 1),
            (lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x * 2, x), 1, 1),
            (lambda x: jax.lax.cond(x[0] > 9, lambda x: x + 1, lambda x: x * 2, x), 1, 1),
            (lambda x: jax.lax.scan(lambda x, y: (x + y, x.sum()), x, jnp.ones(3))[0], 1, 1),
        ),
    ):
        arguments = [jnp.full(size, 1.0 + number) for number in range(count)]
        expected = jax.tree.leaves(jax.jit(function)(*arguments))
        jax.block_until_ready((arguments, expected))
        addresses = sorted(argument.unsafe_buffer_pointer() for argument in arguments[:donated])
        results = jax.tree.leaves(jax.jit(function, donate_argnums=range(donated))(*arguments))
        assert [one.is_deleted() for one in arguments] == [True] * donated + [False] * (count - donated)
        for result, one in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, one)
        assert sorted(result.unsafe_buffer_pointer() for result in results) == addresses


def check_a_donated_array_that_others_see_keeps_its_numbers() -> None:
    made = jax.jit(lambda x: x * 2)
    for hold in (np.asarray, np.from_dlpack, lambda x: memoryview(np.asarray(x))):
        x = jax.block_until_ready(made(jnp.ones(1 << 18)))
        held = hold(x)
        jax.block_until_ready(jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(x))
        np.testing.assert_array_equal(held, np.full(1 << 18, 2.0))
    of_caller = np.full(1 << 18, 2.0, np.float32)
    for take in (jnp.asarray, jax.device_put, jax.dlpack.from_dlpack):
        x = take(of_caller)
        jax.block_until_ready(jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(x))
        np.testing.assert_array_equal(of_caller, np.full(1 << 18, 2.0))


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
    with pytest.raises(jax.errors.JaxRuntimeError, match="no such luck"):
        jax.effects_barrier()
    for result in (failed, following):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no such luck"):
            result.block_until_ready()
    jax.jit(lambda x: jax.pure_callback(lambda x: x, shape, x))(1.0)
    jax.effects_barrier()


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


def check_programs_run_where_their_callers_wait_at_once() -> None:
    threads = []
    compile_program = plugin.compile_program

    def compile_and_watch(*arguments: Any) -> Any:
        program = compile_program(*arguments)
        run = program.run
        program.run = lambda *arrays: (threads.append(threading.get_ident()), run(*arrays))[1]
        return program

    plugin.compile_program = compile_and_watch
    try:
        # Longer runs, which these are on no busy machine, would stay with the worker.
        product = jax.jit(lambda x: x @ x / 512).lower(jnp.ones((512, 512))).compile()
    finally:
        plugin.compile_program = compile_program
    x = jnp.ones((512, 512))
    caller = threading.get_ident()
    for _ in range(3):
        for _ in range(200):
            product(x).block_until_ready()
            if threads[-1] == caller:
                break
        assert threads[-1] == caller
        for _ in range(2):
            result = product(x)
            time.sleep(0.1)  # far more than a part of what a run takes
        np.testing.assert_array_equal(result, x)
        assert threads[-1] != caller


def check_calls_whose_durations_differ() -> None:
    program = jax.jit(lambda count, x: jax.lax.fori_loop(0, count, lambda _, x: x @ x / 256, x))
    x = jnp.ones((256, 256))
    for count in [0] * 100 + [50] * 20 + [0] * 100:
        assert program(count, x)[0, 0] == 1


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
    assert compiled.cost_analysis() == {"flops": 4, "transcendentals": 0, "bytes accessed": 32}
    product = jax.jit(lambda x, y: jnp.sin(x @ y)).lower(jnp.ones((4, 5)), jnp.ones((5, 6))).compile()
    costs = product.cost_analysis()
    assert costs["flops"] == 2 * 4 * 5 * 6 and costs["transcendentals"] == 4 * 6


def check_the_text_after_early_inlining() -> None:
    if not hasattr(jax, "Inline"):
        return  # before jax 0.11

    def text(inline: Any) -> str:
        doubled = jax.jit(lambda x: x * 2, inline=inline)
        program = jax.jit(lambda x: jax.lax.cond(x > 0, doubled, lambda x: x, x) + 1)
        return str(program.lower(1.0).compile().as_text())

    assert "multiply(" in text(jax.Inline.XLA_EARLY) and " call(" not in text(jax.Inline.XLA_EARLY)
    assert " call(" in text(jax.Inline.XLA_LATE)


def check_kinds_of_memory() -> None:
    device = jax.devices()[0]
    assert [memory.kind for memory in device.addressable_memories()] == [
        "device",
        "pinned_host",
        "unpinned_host",
    ]
    pinned = SingleDeviceSharding(device, memory_kind="pinned_host")
    assert jax.device_put(jnp.ones(3), pinned).sharding == pinned
    assert jax.jit(lambda x: x + 1, out_shardings=pinned)(jnp.ones(3)).sharding == pinned


def check_programs_serialize() -> None:
    compiled = jax.jit(lambda x: x * 3).lower(jnp.ones(4)).compile()
    serialized = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(*serialized, execution_devices=jax.devices()[:1])
    np.testing.assert_array_equal(loaded(jnp.ones(4)), np.full(4, 3.0))


def check_copies_between_devices() -> None:
    x = jax.device_put(jnp.arange(3.0), jax.devices()[3])
    y = jax.jit(lambda x: x + 1)(x)
    z = jax.device_put(y, jax.devices()[5])
    assert (y.devices(), z.devices()) == ({jax.devices()[3]}, {jax.devices()[5]})
    host = jax.device_put(z, jax.devices("cpu")[0])
    np.testing.assert_array_equal(jax.device_put(host, jax.devices()[1]), [1, 2, 3])


def check_programs_of_several_devices() -> None:
    whole = np.arange(64, dtype=np.float32).reshape(8, 8)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(kind, kind))
        a = jax.device_put(whole, NamedSharding(mesh, PartitionSpec("x", "y")))
        doubled, total, turned = jax.jit(lambda a: (a * 2, a.sum(), a.T))(a)
        np.testing.assert_array_equal(doubled, whole * 2)
        np.testing.assert_array_equal(turned, whole.T)
        assert float(total) == whole.sum()
        specs = [array.sharding.spec for array in (doubled, total, turned)]
        assert specs == [PartitionSpec("x", "y"), PartitionSpec(), PartitionSpec("y", "x")]
        rows = NamedSharding(mesh, PartitionSpec(("y", "x"), None))
        divided = jax.jit(lambda a: a + 1, out_shardings=rows, donate_argnums=0)(a)
        assert a.is_deleted() or jax.__version_info__ < (0, 8)  # which donates to the same sharding alone
        assert divided.sharding.is_equivalent_to(rows, 2)
        assert "multiply" in jax.jit(lambda a: a * 3).lower(divided).compile().as_text()
        assert divided.addressable_shards[1].index == (slice(2, 3), slice(None))
        np.testing.assert_array_equal(divided, whole + 1)


def check_a_donated_array_that_fits_no_result_stays() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    a = jax.device_put(np.ones((8, 2), np.float32), NamedSharding(mesh, PartitionSpec("x")))
    with warnings.catch_warnings(action="ignore"):
        product = jax.jit(lambda a: a @ a.T, donate_argnums=0)(a)
    np.testing.assert_array_equal(product, np.full((8, 8), 2))
    assert not a.is_deleted()


def check_callbacks_for_each_device() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    a = jax.device_put(np.arange(8.0).reshape(4, 2), NamedSharding(mesh, PartitionSpec("x")))
    called: list[tuple[np.ndarray, np.ndarray]] = []

    @jax.jit
    def program(a: jax.Array) -> jax.Array:
        jax.debug.callback(lambda *shards: called.append(shards), a, a.T * 2, partitioned=True)
        return a + 1

    np.testing.assert_array_equal(program(a), np.arange(8.0).reshape(4, 2) + 1)
    jax.effects_barrier()
    for (rows, columns), first in zip(called, (0, 4), strict=True):
        np.testing.assert_array_equal(rows, np.arange(first, first + 4.0).reshape(2, 2))
        np.testing.assert_array_equal(columns, 2 * rows.T)


def check_sub_axes_and_device_orders() -> None:
    whole = np.arange(64, dtype=np.float32).reshape(8, 8)
    devices = np.array(jax.devices())[[3, 1, 2, 0, 7, 5, 6, 4]].reshape(4, 2)
    mesh = Mesh(devices, ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    a = jax.device_put(whole, NamedSharding(mesh, PartitionSpec("x", None)))
    # A reshape divides a dimension of x into sub-axes.
    if not (0, 9) <= jax.__version_info__ < (0, 10):  # which cannot tell such a result's sharding
        folded = jax.jit(lambda a: (a + 1).reshape(2, 4, 8))(a)
        np.testing.assert_array_equal(folded, (whole + 1).reshape(2, 4, 8))
    np.testing.assert_array_equal(jax.jit(lambda a: a[::-1] * 2)(a), whole[::-1] * 2)


def check_a_training_step_on_several_devices() -> None:
    mesh = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
    weights = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, PartitionSpec()))
    inputs = np.arange(128, dtype=np.float32).reshape(16, 8)
    batch = jax.device_put(inputs, NamedSharding(mesh, PartitionSpec("batch")))
    gradient = jax.jit(jax.grad(lambda w, x: ((x @ w) ** 2).mean()))(weights, batch)
    expected = 2 * inputs.T @ (inputs @ np.ones((8, 4), np.float32)) / 64
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def check_shard_map_and_pmap() -> None:
    mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
    whole = np.arange(16, dtype=np.float32)
    summed = jax.shard_map(
        lambda x: jax.lax.psum(x, "d"), mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec()
    )
    np.testing.assert_array_equal(jax.jit(summed)(whole), [whole[::2].sum(), whole[1::2].sum()])
    np.testing.assert_array_equal(jax.pmap(lambda x: x + 1)(whole[:8]), whole[:8] + 1)
    # Since jax 0.12 groups may name axes of a mesh, which is no part of a device's program.
    text = jax.jit(summed).lower(whole).compile().as_text()
    assert "all-reduce" in text and "replica_groups={{0,1,2,3,4,5,6,7}}" in text


def check_partial_minima_in_a_manual_computation() -> None:
    if jax.__version_info__ < (0, 12):
        return  # no partial minima
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(mesh):
        a = jax.device_put(np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2), PartitionSpec("x"))
        partial = PartitionSpec(None, unreduced={"x"}, unreduced_kind=jax.sharding.UnreducedKind.min)
        minima = jax.jit(lambda a: jax.lax.reduce_min(a, axes=(0,), out_sharding=partial))(a)
        assert [shard.data.tolist() for shard in minima.addressable_shards] == [[1, 2], [5, 6]]
        smallest = jax.jit(jax.shard_map(lambda a: jax.lax.pmin(a, "x"), out_specs=PartitionSpec()))
        np.testing.assert_array_equal(smallest(minima), [1, 2])


def check_calls_whose_results_are_unreduced() -> None:
    if jax.__version_info__ < (0, 12):
        return  # no reduced arguments
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(mesh):
        rows = jax.device_put(np.arange(8.0), PartitionSpec("x"))
        reduced = jax.device_put(np.arange(8.0), PartitionSpec(None, reduced={"x"}))
        added = jax.jit(lambda x, y: x + jax.sharding.reshard(y, PartitionSpec("x")))
        gradient = jax.jit(jax.grad(lambda x, y: added(x, y).sum(), argnums=1))(rows, reduced)
        np.testing.assert_array_equal(jax.sharding.reshard(gradient, PartitionSpec()), np.ones(8))


def check_lapack_on_a_batch_of_several_devices() -> None:
    mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
    whole = np.random.default_rng(1).normal(size=(16, 4, 3)).astype(np.float32)
    batch = NamedSharding(mesh, PartitionSpec("d"))
    factor = jax.jit(lambda a: jnp.linalg.qr(a).Q, out_shardings=batch)
    matrices = jax.device_put(whole, batch)
    assert "all-gather" not in factor.lower(matrices).compile().as_text()
    np.testing.assert_array_equal(factor(matrices), jax.jit(lambda a: jnp.linalg.qr(a).Q)(whole))


def check_collectives_that_are_started_and_ended() -> None:
    if not hasattr(jax.lax, "psum_scatter_start"):
        return  # before jax 0.12
    mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
    rows = PartitionSpec("d")
    program = jax.shard_map(
        lambda x: jax.lax.psum_scatter_start(x, "d", tiled=True).done(),
        mesh=mesh,
        in_specs=rows,
        out_specs=rows,
    )
    whole = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(jax.jit(program)(whole), whole.reshape(8, 8).sum(0))


def check_shardings_are_told_within_programs() -> None:
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    rows = NamedSharding(mesh, PartitionSpec("x"))
    told = []

    @jax.jit
    def program(x: jax.Array) -> jax.Array:
        def inspect(x: jax.Array) -> None:
            jax.debug.inspect_array_sharding(x.sum(), callback=told.append)

        jax.debug.inspect_array_sharding(x.T * 2, callback=told.append)
        jax.lax.cond(x[0, 0] > 0, inspect, lambda x: None, x)
        return x + 1

    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), rows)
    np.testing.assert_array_equal(program(x), np.arange(32).reshape(8, 4) + 1)
    columns, whole = told
    assert columns.is_equivalent_to(NamedSharding(mesh, PartitionSpec(None, "x")), 2)
    assert whole.is_fully_replicated


def check_several_processes_are_refused() -> None:
    """As `jax.distributed` of two processes makes a client; one process alone is none of several."""
    assert jax.devices()[0].platform == "nimblehlo"
    create = jax._src.lib.xla_client.make_c_api_client
    assert len(create("nimblehlo", {"node_id": 0, "num_nodes": 1}, None).devices()) == 8
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED.*jax\.distributed has 2 processes"):
        create("nimblehlo", {"node_id": 0, "num_nodes": 2}, None)


def check_small_results_are_freed_without_another_call() -> None:
    program = jax.jit(lambda x: x + 1)
    # It is not stopped: CPython 3.11 can end with a segmentation fault if another thread makes a thread state
    # meanwhile (gh-128679).
    tracemalloc.start()
    for count, size in ((5000, 100), (200, 2000)):
        x = jnp.ones(size)
        results = [program(x) for _ in range(count)]
        made = bytes_of_arrays()
        results.clear()
        left = bytes_of_arrays()
        # Half of them: threads of this process make and free arrays meanwhile.
        assert made - left > 2 * count * size, f"{made} bytes were there, {left} are left"


def bytes_of_arrays() -> int:
    """Bytes of NumPy's arrays that `tracemalloc` has seen made; threads may compile meanwhile."""
    of_numpy = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    traces = tracemalloc.take_snapshot().filter_traces([of_numpy])
    return sum(statistic.size for statistic in traces.statistics("filename"))


if __name__ == "__main__":
    sys.exit(run_checks(globals()))
