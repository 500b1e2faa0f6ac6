"""Checks of lowering rules, callbacks and settings on the platform."""

from __future__ import annotations

import contextlib
import io
import itertools
import sys
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
from jax.experimental import io_callback, serialize_executable, topologies
from jax.experimental.layout import Format, Layout
from jax.experimental.sparse.linalg import spsolve
from jax.sharding import SingleDeviceSharding

import nimblehlo.jax
from nimblehlo.jax import running
from nimblehlo.jax.lowering import COMPOSITES
from tests.execution.test_dlpack import tensor_of
from tests.jax.children import run_checks
from tests.support.threads import on_threads

CPU = jax.local_devices(backend="cpu")[0]
MATRIX = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
SYMMETRIC = MATRIX + MATRIX.T


def _on_both(function: Any, *arguments: Any) -> tuple[list[Any], list[Any]]:
    """The results of a function here and on JAX's CPU backend."""
    here = jax.jit(function)(*arguments)
    with jax.default_device(CPU):
        there = jax.jit(function)(*(jax.device_put(one, CPU) for one in arguments))
    assert all(one.devices() == {jax.devices()[0]} for one in jax.tree.leaves(here))
    return [np.asarray(one) for one in jax.tree.leaves(here)], [
        np.asarray(one) for one in jax.tree.leaves(there)
    ]


def check_the_cpu_is_there_although_only_the_platform_is_named() -> None:
    assert jax.default_backend() == "nimblehlo" and CPU.platform == "cpu"


def check_factorisations() -> None:
    """The CPU's rules hold, LAPACK's calls among them."""
    for function, operand in (
        (jnp.linalg.eigh, SYMMETRIC),
        (jnp.linalg.eig, MATRIX),
        (jnp.linalg.svd, MATRIX),
        (jnp.linalg.qr, MATRIX),
        (jnp.linalg.cholesky, MATRIX @ MATRIX.T + np.eye(4, dtype=np.float32)),
        (jax.scipy.linalg.schur, MATRIX),
        (jax.scipy.linalg.hessenberg, MATRIX),
        (jax.lax.linalg.tridiagonal, SYMMETRIC),
        (jax.scipy.linalg.lu, MATRIX),
        (lambda a: jnp.linalg.lstsq(a, a[0])[0], MATRIX),
        (lambda a: jax.scipy.linalg.expm(a), MATRIX),
    ):
        here, there = _on_both(function, operand)
        for one, other in zip(here, there, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4, err_msg=str(function))


def check_special_functions_stay_single_operations() -> None:
    special = jax.scipy.special

    def functions(x: Any) -> Any:
        return (
            special.erfc(x),
            special.erfinv(x),
            special.gammaln(x),
            special.digamma(x),
            special.polygamma(2, x),
            special.zeta(x + 2, x),
            special.i1e(x),
            jnp.nextafter(x, x + 1),
        )

    programs: list[str] = []
    original = running.JaxProgram.__init__

    def recording(self: Any, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        programs.append(self.executable.explain("program"))

    running.JaxProgram.__init__ = recording  # type: ignore[method-assign]
    try:
        here, there = _on_both(functions, np.linspace(0.1, 0.9, 5, dtype=np.float32))
    finally:
        running.JaxProgram.__init__ = original  # type: ignore[method-assign]
    for name in COMPOSITES.values():
        if name == "chlo.mulhi":
            continue  # an operation of integers
        assert any(name in program for program in programs), name
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def check_code_for_the_cpu_is_chosen() -> None:
    def choose(x: Any, **others: Any) -> Any:
        return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, **others)

    assert jax.jit(choose)(1) == 2
    assert jax.jit(lambda x: choose(x, default=lambda x: x + 3))(1) == 2
    assert jax.jit(lambda x: choose(x, nimblehlo=lambda x: x + 4))(1) == 5
    assert jax.jit(jax.vmap(choose))(jnp.arange(2)).tolist() == [1, 2]


def check_composites_are_part_of_exported_programs() -> None:
    """What is exported runs elsewhere: the decomposition is part of it."""
    function = jax.jit(lambda x: jax.lax.erf_inv(x))
    exported = jax.export.export(function, platforms=["nimblehlo"])(jax.ShapeDtypeStruct((3,), np.float32))
    assert "chlo.erf_inv" in exported.mlir_module()
    x = jnp.linspace(0, 0.5, 3)
    np.testing.assert_array_equal(exported.call(x), function(x))


def check_custom_calls_that_stand_for_operations() -> None:
    """Under `vmap`, whose batch the operation takes as it is."""
    erf = jax.ffi.ffi_call("mhlo.erf", jax.ShapeDtypeStruct((4,), np.float32), vmap_method="broadcast_all")
    np.testing.assert_array_equal(jax.jit(jax.vmap(erf))(MATRIX), jax.scipy.special.erf(MATRIX))
    pair = (jax.ShapeDtypeStruct((2,), np.float32), jax.ShapeDtypeStruct((2,), np.int32))
    top = jax.ffi.ffi_call("mhlo.topk", pair, vmap_method="broadcast_all")
    for got, want in zip(
        jax.jit(jax.vmap(lambda row: top(row, k=np.int64(2))))(MATRIX), jax.lax.top_k(MATRIX, 2), strict=True
    ):
        np.testing.assert_array_equal(got, want)
    for target in ("MoveToHost", "MoveToDevice", "mhlo.copy"):
        move = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((4, 4), np.float32))
        np.testing.assert_array_equal(jax.jit(move)(MATRIX), MATRIX)
    shapes = (jax.ShapeDtypeStruct((4, 4), np.float32), jax.ShapeDtypeStruct((4,), np.float32))
    packed, taus = jax.jit(jax.ffi.ffi_call("Qr", shapes))(MATRIX)
    product = jax.ffi.ffi_call("ProductOfElementaryHouseholderReflectors", shapes[0])
    q = jax.jit(product)(packed, taus)
    np.testing.assert_allclose(q @ jnp.triu(packed), MATRIX, atol=1e-5)


def check_pure_callbacks_in_transformations() -> None:
    def sine(x: Any) -> Any:
        return jax.pure_callback(
            lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential"
        )

    x = jnp.arange(3.0)
    np.testing.assert_allclose(jax.jit(sine)(x), np.sin(np.arange(3.0)), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(sine))(x), np.sin(np.arange(3.0)), rtol=1e-6)
    scanned = jax.jit(lambda x: jax.lax.scan(lambda c, _: (sine(c), None), x, length=3)[0])(x)
    np.testing.assert_allclose(scanned, np.sin(np.sin(np.sin(np.arange(3.0)))), rtol=1e-6)


def check_ordered_callbacks_keep_their_order() -> None:
    seen: list[int] = []

    @jax.jit
    def program(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
            return x + i

        return jax.lax.fori_loop(0, 20, step, x)

    assert program(0) == 190
    assert program(1) == 191
    jax.effects_barrier()
    assert seen == [*range(20), *range(20)]


def check_debug_prints() -> None:
    @jax.jit
    def program(x: Any) -> Any:
        jax.debug.print("first {}", x, ordered=True)
        jax.debug.print("then {x}", x=x + 1, ordered=True)
        jax.debug.callback(lambda v: print("callback", v), x)
        return x

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        program(jnp.int32(3))
        jax.effects_barrier()
    lines = printed.getvalue().splitlines()
    assert sorted(lines) == ["callback 3", "first 3", "then 4"]
    assert lines.index("first 3") < lines.index("then 4")


def check_callbacks_of_extensions() -> None:
    """They emit callbacks by a function of JAX's public module."""
    data, columns, starts = np.float32([2, 4]), np.int32([0, 1]), np.int32([0, 1, 2])
    result = jax.jit(spsolve)(data, columns, starts, np.float32([1, 2]))
    np.testing.assert_array_equal(result, np.float32([0.5, 0.5]))


def check_failures_of_callbacks_are_told() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("a failing callback")

    program = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float32), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="a failing callback"):
        jax.block_until_ready(program(1.0))


def check_callbacks_live_as_long_as_what_calls_them() -> None:
    """JAX forgets what it lowered; the compiled program still has the function."""
    lowered = jax.jit(lambda x: jax.pure_callback(np.cos, jax.ShapeDtypeStruct((), np.float32), x)).lower(1.0)
    compiled = lowered.compile()
    del lowered
    assert abs(float(compiled(0.0)) - 1) < 1e-6


def check_settings_recompile_and_come_back() -> None:
    function = jax.jit(lambda x: jnp.sum(x))
    x = jax.random.normal(jax.random.key(0), (10_000,))
    plain = function(x)
    count = function._cache_size()
    with nimblehlo.jax.configured(reduction_tree="left"):
        left = function(x)
    assert function(x) == plain != left
    assert function._cache_size() == count + 1
    option = jax.jit(lambda x: jnp.sum(x), compiler_options={"reduction_tree": "left"})
    assert option(x) == left
    before = nimblehlo.jax.current()
    nimblehlo.jax.configure(reduction_tree="left")
    assert function(x) == left
    nimblehlo.jax.configure(reduction_tree="blocked")
    assert function(x) == plain and nimblehlo.jax.current() == before


def check_options_of_xla_that_programs_set_are_taken() -> None:
    options = {"xla_embed_ir_in_executable": True, "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0.5}
    assert jax.jit(lambda x: x + 1, compiler_options=options)(1) == 2
    options = {"xla_allow_excess_precision": False, "xla_gpu_autotune_level": 2, "xla_dump_hlo_pass_re": ""}
    assert jax.jit(lambda x: x + 2, compiler_options=options)(1) == 3


def check_unknown_options_are_refused() -> None:
    for options in ({"no_such_option": 1}, {"xla_gpu_autotune_level": "x"}, {"reduction_tree": "sideways"}):
        with pytest.raises(jax.errors.JaxRuntimeError, match=next(iter(options))):
            jax.jit(lambda x: x + 1, compiler_options=options)(1.0)


def check_findings_go_to_the_thread_that_calls() -> None:
    function = jax.jit(lambda x: jnp.log(x))
    others: list[Any] = []

    def call_elsewhere(_: int) -> None:
        with nimblehlo.jax.sanitize("non_finite") as found:
            function(jnp.float32(-1)).block_until_ready()
        others.extend(found)

    with nimblehlo.jax.sanitize("non_finite") as outer, nimblehlo.jax.sanitize("non_finite") as findings:
        on_threads(1, call_elsewhere)
        function(jnp.float32(0)).block_until_ready()
    assert [one.value for one in findings] == [-np.inf] and list(outer) == list(findings)
    assert len(others) == 1 and np.isnan(others[0].value)
    assert others[0].source.startswith(__file__)


def check_findings_within_functions_of_jax_name_the_line_that_calls_them() -> None:
    with nimblehlo.jax.sanitize("non_finite") as findings:
        jax.jit(lambda x: jnp.linalg.inv(x))(jnp.zeros((2, 2))).block_until_ready()
    assert findings and all(one.source.startswith(__file__) for one in findings)


def check_arrays_leave_by_dlpack() -> None:
    for dtype in ("float32", "complex64", "int8", "bool"):
        x = jax.jit(lambda a: (a * 2).astype(dtype))(jnp.arange(5))  # noqa: B023
        taken = np.from_dlpack(x)
        assert taken.dtype == dtype and taken.ctypes.data == x.unsafe_buffer_pointer()
        copied = np.from_dlpack(x, copy=True)
        assert copied.ctypes.data != x.unsafe_buffer_pointer()
        del x
        np.testing.assert_array_equal(taken, (np.arange(5) * 2).astype(dtype))
        np.testing.assert_array_equal(copied, taken)
    for dtype in (jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2):
        narrow = jax.jit(lambda a: a + a)(jnp.ones(3, dtype))
        again = jax.dlpack.from_dlpack(narrow)
        assert again.dtype == dtype and again.platform() == "nimblehlo" and again[0] == 2


def check_floats_of_6_bits() -> None:
    if jax.__version_info__ < (0, 11):
        return  # jax 0.10 has the types, and its XLA does not
    for dtype, doubled in ((jnp.float6_e2m3fn, 7.5), (jnp.float6_e3m2fn, 10)):
        x = jnp.array([0.5, 1, -1.5, 5]).astype(dtype)
        compiled = jax.jit(lambda x: (x + x, x[::-1], jnp.sort(x), x.astype(jnp.bfloat16))).lower(x).compile()
        sums, turned, ordered, wide = compiled(x)
        assert sums.dtype == turned.dtype == dtype and wide.dtype == jnp.bfloat16
        np.testing.assert_array_equal(np.asarray(sums).astype(float), [1, 2, -3, doubled])
        np.testing.assert_array_equal(np.asarray(turned).astype(float), [5, -1.5, 1, 0.5])
        np.testing.assert_array_equal(np.asarray(ordered).astype(float), [-1.5, 0.5, 1, 5])
        np.testing.assert_array_equal(np.asarray(wide).astype(float), [0.5, 1, -1.5, 5])
        # XLA would end the process, as JAX's CPU backend does for such a program.
        constant = np.ones(4, dtype)
        assert jax.jit(lambda x: x + constant).lower(x).compile().as_text() is None  # noqa: B023


def check_exported_arrays_are_marked_read_only() -> None:
    if jax.__version_info__ < (0, 12):
        return  # which does not pass on what version the consumer knows
    for dtype in (jnp.float32, jnp.bfloat16):
        x = jnp.ones(4, dtype)
        assert flags_of(x.__dlpack__(max_version=(1, 0))) == 1
        assert flags_of(x.__dlpack__(max_version=(1, 0), copy=True)) == 2
    assert flags_of(jnp.ones(4, jnp.int4).__dlpack__(max_version=(1, 3))) == 1 | 4
    with pytest.raises(BufferError, match=r"need DLPack 1\.1"):
        jnp.ones(4, jnp.int4).__dlpack__()
    assert not np.from_dlpack(jnp.ones(4)).flags.writeable


def flags_of(capsule: Any) -> int:
    return tensor_of(capsule).flags


def check_arrays_come_by_dlpack() -> None:
    memory = np.arange(1040, dtype=np.float32)
    start = -memory.ctypes.data // memory.itemsize % 16  # jaxlib takes multiples of 64 bytes without a copy
    values = memory[start : start + 1000]
    for device in (None, jax.devices()[0]):
        x = jax.dlpack.from_dlpack(values, device=device, copy=False)
        assert x.platform() == "nimblehlo" and x.unsafe_buffer_pointer() == values.ctypes.data
        assert x.committed == (device is not None)
        np.testing.assert_array_equal(x + 1, values + 1)
    with jax.default_device(jax.devices("cpu")[0]):
        assert jax.dlpack.from_dlpack(values).platform() == "cpu"
    turned = values[:12].reshape(3, 4).T
    if jax.__version_info__ < (0, 8):  # which takes row-major arrays alone
        return
    np.testing.assert_array_equal(jnp.from_dlpack(turned), turned)


def check_programs_that_were_exported_for_the_cpu() -> None:
    for platforms in (["cpu"], ["tpu", "cpu"], ["nimblehlo"]):
        exported = jax.export.export(jax.jit(lambda x: jnp.linalg.cholesky(x) + 1), platforms=platforms)
        called = exported(jnp.eye(3)).call(jnp.eye(3))
        np.testing.assert_array_equal(called, np.eye(3) + 1)
        assert called.platform() == "nimblehlo"
    for_others = jax.export.export(jax.jit(jnp.sin), platforms=["cuda"])(1.0)
    with pytest.raises(ValueError, match="was exported for platform"):
        for_others.call(1.0)


def check_layouts() -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for order in itertools.permutations(range(3)):
        layout = Format(Layout(order), SingleDeviceSharding(jax.devices()[0]))
        x = jax.device_put(values, layout)
        assert x.format.layout.major_to_minor == order
        copy = jax.device_put(x, jax.devices()[0], may_alias=False)
        for array in (x, copy, jax.device_put(jnp.array(values), layout), x.copy()):
            np.testing.assert_array_equal(array, values)
        made = jax.jit(
            lambda x: (x + 1, x.sum((0, 1)), x[0]), in_shardings=layout, out_shardings=(layout, None, None)
        )
        for result in (made(x), made(values)):
            assert result[0].format.layout.major_to_minor == order
            np.testing.assert_array_equal(result[0], values + 1)
            np.testing.assert_array_equal(result[1], values.sum((0, 1)))
            assert result[2].format.layout.major_to_minor == (0, 1)
        np.testing.assert_array_equal(jax.jit(lambda x: x * 2, donate_argnums=0)(x), values * 2)


def check_layouts_of_compiled_programs() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    compiled = jax.jit(lambda x: (x.T, x.sum(), x + 1)).lower(values).compile()
    assert [one.layout.major_to_minor for one in compiled.output_formats] == [(0, 1), (), (0, 1)]
    assert [one.layout.major_to_minor for one in compiled.input_formats[0]] == [(0, 1)]
    assert "f32[2,3]{1,0})->(f32[3,2]{1,0}, f32[], f32[2,3]{1,0})" in compiled.as_text()
    columns = Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0]))
    automatic = Format(Layout.AUTO)
    compiled = (
        jax.jit(
            lambda x, y: (x @ y, x + 1),
            in_shardings=(columns, automatic),
            out_shardings=(automatic, columns),
        )
        .lower(jax.ShapeDtypeStruct((2, 3), np.float32), jax.ShapeDtypeStruct((3, 3), np.float32))
        .compile()
    )
    assert [one.layout.major_to_minor for one in compiled.input_formats[0]] == [(1, 0), (0, 1)]
    assert [one.layout.major_to_minor for one in compiled.output_formats] == [(0, 1), (1, 0)]
    y = jax.device_put(np.eye(3, dtype=np.float32), compiled.input_formats[0][1])
    product, more = compiled(jax.device_put(values, columns), y)
    np.testing.assert_array_equal(product, values)
    np.testing.assert_array_equal(more, values + 1)


def check_layouts_of_promised_and_serialized_results() -> None:
    columns = Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0]))
    x = np.ones((600, 600), np.float32)
    long = jax.jit(
        lambda x: jax.lax.fori_loop(0, 8, lambda _, x: x @ x / 600, x) + jnp.arange(600.0),
        out_shardings=columns,
    )
    for _ in range(3):  # the first calls show that it is long
        result = long(x)
        assert result.format.layout.major_to_minor == (1, 0)
        assert result[5, 7] == 8 == np.asarray(result)[5, 7]
    halves = jax.device_put(jnp.ones((4, 6), jnp.bfloat16), columns)
    np.testing.assert_array_equal(halves.astype(np.float32), np.ones((4, 6)))
    compiled = jax.jit(lambda x: x + 1, out_shardings=columns).lower(x).compile()
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    result = again(x)
    np.testing.assert_array_equal(result, x + 1)
    if (
        not (0, 8) <= jax.__version_info__ < (0, 9)
    ):  # which count results of a deserialized program as row-major
        assert result.format.layout.major_to_minor == (1, 0)


def check_devices_that_are_not_there_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="not implemented for nimblehlo"):
        topologies.get_topology_desc(platform="nimblehlo")


if __name__ == "__main__":
    sys.exit(run_checks(globals()))
