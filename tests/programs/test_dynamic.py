"""Programs with unknown sizes: JAX's exports for any sizes, sizes that data decide, errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError
from nimblehlo.api import MAX_SPECIALIZATIONS

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export, lax  # noqa: E402


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def exported(function: Callable[..., Any], symbols: Sequence[str], arguments: Sequence[Any]) -> Any:
    """The program for sizes named by symbols."""
    scope = export.SymbolicScope()
    specifications = [
        jax.ShapeDtypeStruct(export.symbolic_shape(names, scope=scope), np.asarray(value).dtype)
        for names, value in zip(symbols, arguments, strict=True)
    ]
    return export.export(jax.jit(function))(*specifications)


def generic_windows(x: Any, y: Any) -> Any:
    def reducer(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] - b[1]

    return lax.reduce_window((x, y), (np.float32(1), np.int32(2)), reducer, (2, x.shape[0]), (1, 1), "VALID")


PROGRAMS: dict[str, tuple[Callable[..., Any], list[str], list[tuple[Any, ...]]]] = {
    "cumulative sum": (
        lambda x: jnp.cumsum(x, 0),
        ["b, 4"],
        [(normal(3, 4),), (normal(1, 4),), (normal(9, 4),)],
    ),
    "windows of unknown size": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (x.shape[0] // 2, 1), (1, 1), "VALID"),
        ["2*b, 4"],
        [(normal(4, 4),), (normal(6, 4),)],
    ),
    "windows and a body of two": (
        generic_windows,
        ["b, 4", "b, 4"],
        [(normal(3, 4), np.ones((3, 4), np.int32)), (normal(2, 4), np.ones((2, 4), np.int32))],
    ),
    "top_k of unknown k": (
        lambda x: lax.top_k(x, x.shape[-1] - 1),
        ["4, b"],
        [(normal(4, 5),), (normal(4, 2),)],
    ),
    "approx_top_k of unknown k": (
        lambda x: lax.approx_max_k(x, x.shape[0] - 4),
        ["b + 4"],
        [(normal(7),), (normal(30),)],
    ),
    "approx_top_k of a known k": (
        lambda x: lax.approx_min_k(x, 2),
        ["b, 10"],
        [(normal(3, 10),), (normal(1, 10),)],
    ),
    "random bits": (
        lambda key, x: lax.rng_bit_generator(key, (x.shape[0] * 10, 4), np.uint32),
        ["4", "b, c"],
        [(np.arange(4, dtype=np.uint32), normal(2, 3)), (np.arange(4, dtype=np.uint32), normal(1, 1))],
    ),
    "cholesky of a batch": (
        lambda x: jnp.linalg.cholesky(x @ x.transpose(0, 2, 1) + 4 * jnp.eye(3)),
        ["b, 3, 3"],
        [(normal(2, 3, 3),), (normal(5, 3, 3),)],
    ),
    "singular values": (
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        ["b, 3, 4"],
        [(normal(2, 3, 4),), (normal(1, 3, 4),)],
    ),
    "convolution with padding": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        ["b, h, w, 3", "3, 3, 3, 4"],
        [(normal(2, 7, 8, 3), normal(3, 3, 3, 4)), (normal(1, 6, 6, 3), normal(3, 3, 3, 4))],
    ),
    "loop": (
        lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.zeros(4), x),
        ["b, 4"],
        [(normal(3, 4),), (normal(5, 4),)],
    ),
    "gather and scatter": (
        lambda x, i: (jnp.take(x, i, axis=0), x.at[i].add(1.0)),
        ["b, 4", "c"],
        [(normal(3, 4), np.array([0, 2, 5], np.int32)), (normal(2, 4), np.array([1], np.int32))],
    ),
    "attention": (
        lambda q, k: jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k)),
        ["b, t, 8", "b, t, 8"],
        [(normal(2, 3, 8), normal(2, 3, 8)), (normal(1, 5, 8), normal(1, 5, 8))],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exports_run_for_any_sizes(name: str) -> None:
    """As XLA:CPU computes them; each new size leaves a plan without unknown sizes."""
    function, symbols, calls = PROGRAMS[name]
    executable = nimblehlo.compile(exported(function, symbols, calls[0]))
    for arguments in calls:
        got = executable(*arguments)
        want = [np.asarray(one) for one in jax.tree_util.tree_leaves(jax.jit(function)(*arguments))]
        assert [one.shape for one in got] == [one.shape for one in want]
        assert [one.dtype for one in got] == [one.dtype for one in want]
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    plan = executable.explain("plan")
    assert plan.count("@main") == len(calls)
    assert "?" not in plan
    assert "shape_assertion" not in plan
    assert "nimblehlo.dynamic" not in plan


def test_sizes_that_an_export_does_not_admit_raise_its_message() -> None:
    program = exported(lambda x: x.reshape(-1, 2), ["2*b"], [normal(4)])
    assert nimblehlo.execute(program, [normal(6)])[0].shape == (3, 2)
    with pytest.raises(ExecutionError, match=r"Division had remainder 1 when computing the value of 'b'"):
        nimblehlo.execute(program, [normal(5)])


def test_each_size_is_specialized_once() -> None:
    text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }"
    executable = nimblehlo.compile(text)
    for _ in range(2):
        for size in (3, 5, 3):
            executable(np.zeros(size, np.float32))
    assert executable.explain("plan").count("@main") == 2
    for size in range(MAX_SPECIALIZATIONS + 10):
        executable(np.zeros(size, np.float32))
    assert executable.explain("plan").count("@main") == MAX_SPECIALIZATIONS


def test_calls_wait_for_the_specialization_of_their_own_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }"
    executable = nimblehlo.compile(text)
    has_begun, may_end, specialize = threading.Event(), threading.Event(), nimblehlo.Executable._specialize
    specialized = list[int]()

    def specialize_slowly(executable: nimblehlo.Executable, types: Any) -> Any:
        specialized.append(types[0].shape[0])
        if types[0].shape == (3,):
            has_begun.set()
            assert may_end.wait(60)
        return specialize(executable, types)

    monkeypatch.setattr(nimblehlo.Executable, "_specialize", specialize_slowly)
    threads = [threading.Thread(target=executable, args=[np.zeros(3, np.float32)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert has_begun.wait(60)
    assert executable(np.zeros(5, np.float32))[0].shape == (5,)
    may_end.set()
    for thread in threads:
        thread.join()
    assert specialized == [3, 5]


DATA_DEPENDENT = """
func.func @main(%n: tensor<1xi64>, %x: tensor<f32>) -> (tensor<?x2xf32>, tensor<f32>, tensor<i32>) {
  %two = stablehlo.constant dense<2> : tensor<1xi64>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shape = stablehlo.concatenate %n, %two, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %count = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x2xf32>
  %spread = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = []
    : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
  %sum = stablehlo.add %count, %spread : tensor<?x2xf32>
  %total = stablehlo.reduce(%sum init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<?x2xf32>, tensor<f32>) -> tensor<f32>
  %size = stablehlo.get_dimension_size %sum, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  return %sum, %total, %size : tensor<?x2xf32>, tensor<f32>, tensor<i32>
}
"""


@pytest.mark.parametrize("count", [0, 1, 4])
def test_data_may_decide_sizes(count: int) -> None:
    executable = nimblehlo.compile(DATA_DEPENDENT)
    values, total, size = executable(np.array([count]), np.float32(10))
    assert values.tolist() == [[10.0 + row] * 2 for row in range(count)]
    assert (total, size) == (sum(20 + 2 * row for row in range(count)), count)


def test_data_may_decide_k() -> None:
    text = """
    func.func @main(%a: tensor<4xf32>, %k: tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>) {
      %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%a, %k) {api_version = 2 : i32}
        : (tensor<4xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
      return %0#0, %0#1 : tensor<?xf32>, tensor<?xi32>
    }
    """
    a = np.array([3, 1, 4, 2], np.float32)
    values, indices = nimblehlo.execute(text, [a, np.int32(2)])
    assert (values.tolist(), indices.tolist()) == ([4, 3], [2, 0])
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(text, [a, np.int32(5)])
    assert caught.value.label == "C2"


@pytest.mark.parametrize("size", [1, 3])
def test_constraints_are_judged_when_data_decide_sizes(size: int) -> None:
    text = """
    func.func @main(%n: tensor<1xi64>, %a: tensor<2xf32>) -> tensor<?xf32> {
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
      %1 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<?xf32>
      %2 = stablehlo.add %0, %1 : tensor<?xf32>
      return %2 : tensor<?xf32>
    }
    """
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(text, [np.array([size]), np.zeros(2, np.float32)])
    assert caught.value.operation == "stablehlo.add"
    assert caught.value.label == "C1"
    assert caught.value.location


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (1 << 45, "but the process may have"),
        (np.iinfo(np.int64).max, "has more elements than can be addressed"),
    ],
)
def test_sizes_beyond_memory_are_errors(size: int, reason: str) -> None:
    with pytest.raises(ExecutionError, match=reason):
        nimblehlo.execute(DATA_DEPENDENT, [np.array([size]), np.float32(0)])


def test_bounded_sizes() -> None:
    bounded = "tensor<?x2xf32, #stablehlo.bounds<4, ?>>"
    text = f"""
    func.func @main(%a: {bounded}, %n: tensor<i32>) -> {bounded} {{
      %0 = stablehlo.set_dimension_size %a, %n, dim = 0 : ({bounded}, tensor<i32>) -> {bounded}
      %1 = stablehlo.add %0, %0 : {bounded}
      return %1 : {bounded}
    }}
    """
    a = normal(3, 2)
    (cut,) = nimblehlo.execute(text, [a, np.int32(2)])
    assert cut.tolist() == (a[:2] * 2).tolist()
    (grown,) = nimblehlo.execute(text, [a, np.int32(4)])
    assert grown.tolist() == [*(a * 2).tolist(), [0, 0]]
    with pytest.raises(ExecutionError, match=r"must be in \[0, 4\]"):
        nimblehlo.execute(text, [a, np.int32(5)])
    with pytest.raises(ExecutionError, match="whose bound is 4"):
        nimblehlo.execute(text, [normal(5, 2), np.int32(2)])


@pytest.mark.parametrize("position", [1, 2])
def test_malformed_positions_of_shapes_are_rejected(position: int) -> None:
    text = f"""
    func.func @main(%a: tensor<4xf32>, %k: tensor<i32>) {{
      %0 = stablehlo.custom_call @Sharding(%a, %k)
        {{indices_of_shape_operands = dense<{position}> : tensor<1xi64>}}
        : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32>
      return
    }}
    """
    with pytest.raises(nimblehlo.VerifyError):
        nimblehlo.load(text)
