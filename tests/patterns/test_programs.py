"""Tracing to a module, programs that are kept, threads, and arrays of other libraries."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ParseError, UnsupportedError, VerifyError, patterns
from nimblehlo.compiler.lru_cache import LRUCache
from nimblehlo.patterns import programs, sn_imm, sn_zipmapreduce
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.types import DYNAMIC, ELEMENT_TYPES, TensorType
from tests.support.running import same_bits
from tests.support.threads import on_threads

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def double(attrs: Any, x: Any) -> Any:
    return x + x


def program(x: Any) -> Any:
    return sn_zipmapreduce(double, [x])


def test_types_of_arguments() -> None:
    f32 = TensorType((2, 3), ELEMENT_TYPES["f32"])
    types = (f32, "tensor<2x3xf32>", X, ((2, 3), "float32"), ([2, 3], np.float32))
    modules = [patterns.trace(program, type) for type in types]
    assert len({fingerprint(module) for module in modules}) == 1
    assert str(modules[0].functions["main"].type) == "(tensor<2x3xf32>) -> tensor<2x3xf32>"


def test_a_type_that_is_none() -> None:
    for type in (3, None, "!stablehlo.token"):
        with pytest.raises(VerifyError, match="is not a type"):
            patterns.trace(program, type)
    with pytest.raises(ParseError):
        patterns.trace(program, "tensor<2x")
    with pytest.raises(UnsupportedError, match="sizes of arguments must be known"):
        patterns.trace(program, TensorType((DYNAMIC,), ELEMENT_TYPES["f32"]))


def test_the_module_is_a_program() -> None:
    module = patterns.trace(program, X)
    assert isinstance(module, nimblehlo.Module)
    (result,) = nimblehlo.compile(module)(X)
    assert same_bits(result, X + X)
    assert fingerprint(nimblehlo.load(str(module))) == fingerprint(module)


def test_tracing_loads_no_compiler() -> None:
    code = (
        "import sys, numpy as np\n"
        "from nimblehlo.patterns import sn_zipmapreduce, trace\n"
        "trace(lambda x: sn_zipmapreduce(lambda attrs, x: np.exp(x), [x], 'sum'), 'tensor<2xf32>')\n"
        "print([name for name in ('numba', 'llvmlite', 'scipy', 'torch', 'jax') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_several_arguments_and_results() -> None:
    module = patterns.trace(lambda x, y: (x * y, [1, 2], 3.5), X, X)
    product, listed, number = nimblehlo.execute(module, [X, X])
    assert same_bits(product, X * X)
    assert listed.tolist() == [1, 2] and number == 3.5


def test_arrays_around_a_traced_function_become_constants() -> None:
    bias = np.float32([1, 2, 3])
    module = patterns.trace(lambda x: x + bias, X)
    bias[:] = 0
    assert same_bits(nimblehlo.execute(module, [X])[0], X + np.float32([1, 2, 3]))


def test_no_arguments() -> None:
    assert nimblehlo.execute(patterns.trace(lambda: sn_imm(4, np.int8)))[0] == 4


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The modules that calls make; no program is kept from before."""
    made: list[Any] = []
    original = programs.module_of
    monkeypatch.setattr(programs, "_of_tapes", LRUCache(programs.MAX_CACHED_PROGRAMS))
    monkeypatch.setattr(programs, "_of_snapshots", LRUCache(programs.MAX_CACHED_PROGRAMS))
    monkeypatch.setattr(programs, "module_of", lambda *args: made.append(original(*args)) or made[-1])
    return made


def test_a_program_is_compiled_once(compiled: list[Any]) -> None:
    bias = np.ones(3, np.float32)
    for step in range(4):
        bias = bias + step
        out = sn_zipmapreduce(lambda attrs, x, bias=bias: x + bias, [X + step])
        assert same_bits(out, X + step + bias)
    assert len(compiled) == 1
    sn_zipmapreduce(lambda attrs, x: x + bias, [X.astype(np.float64)])
    sn_zipmapreduce(lambda attrs, x: x + bias, [X[:1]])
    assert len(compiled) == 3


def test_programs_that_differ_are_told_apart(compiled: list[Any]) -> None:
    results = [
        sn_zipmapreduce(lambda attrs, x, value=value: x * value, [X]).tolist()
        for value in (0.0, -0.0, 1.0, np.nan, 2)
    ]
    assert len(compiled) == 5
    assert str(results[0]) != str(results[1])
    for dim in (0, 1):
        sn_zipmapreduce(double, [X], "sum", dim)
    sn_zipmapreduce(double, [X], "max", 1)
    assert len(compiled) == 8


def test_results_are_told_apart() -> None:
    def both(attrs: Any, x: Any) -> Any:
        less, more = x - 1, x + 1
        return (less, more) if order else (more, less)

    for order in (True, False, True):
        less, more = sn_zipmapreduce(both, [X])[:: 1 if order else -1]
        assert same_bits(less, X - 1) and same_bits(more, X + 1)
        less, more = sn_zipmapreduce(functools.partial(both), [X])[:: 1 if order else -1]
        assert same_bits(less, X - 1) and same_bits(more, X + 1)


def test_arrays_that_a_lambda_makes() -> None:
    for _ in range(3):
        assert same_bits(sn_zipmapreduce(lambda attrs, x: x * [1, 2, 3] + 1, [X]), X * [1.0, 2.0, 3.0] + 1)


def test_the_least_recently_used_programs_are_dropped(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_of_tapes", LRUCache(2))
    traced_each_time = functools.partial(double)
    for size in (1, 2, 1, 3, 1, 2):
        sn_zipmapreduce(traced_each_time, [np.ones(size)])
    assert [module.functions["main"].type.inputs[0].shape for module in compiled] == [(1,), (2,), (3,), (2,)]


def test_threads() -> None:
    def run(number: int) -> None:
        for _ in range(50):
            out = sn_zipmapreduce(lambda attrs, x: x * number + sn_zipmapreduce(double, [x]), [X])
            assert same_bits(out, X * np.float32(number) + X + X)

    on_threads(4, run)


def test_results_belong_to_the_caller() -> None:
    out = sn_zipmapreduce(lambda attrs, x: x, [X])
    assert out is not X and not np.shares_memory(out, X)
    out[:] = 9
    assert X[0, 0] == 0


@pytest.mark.parametrize("view", [X.T, X[::-1, ::2], np.asfortranarray(X), X.astype(">f4"), X[:, :0]])
def test_operands_in_any_memory(view: Any) -> None:
    before = view.copy()
    out = sn_zipmapreduce(double, [view])
    assert same_bits(out, (before + before).astype(np.float32))
    assert (view == before).all()


def test_arrays_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    for dtype in ("float32", "bfloat16", "int8", "bool"):
        x = jax.numpy.asarray(X, dtype)
        out = sn_zipmapreduce(lambda attrs, x: x | x if x.dtype == bool else x + x, [x])
        assert isinstance(out, jax.Array) and out.dtype == x.dtype
        assert (np.asarray(out) == np.asarray(x | x if dtype == "bool" else x + x)).all()
