"""References in blocks: they have the bits of references on whole arrays, and end as these do."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.ops.elementwise.base import Elementwise
from nimblehlo.ops.framework.verify import view_of
from nimblehlo.plan.choice import reference_for
from nimblehlo.plan.implementations import block_references
from nimblehlo.plan.implementations.block_references import in_blocks

COUNT = 5003
Array = np.ndarray[Any, Any]

UNARY = (
    *[
        (f"stablehlo.{name}", f"complex<{type}>")
        for name in (
            "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic",
            "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
        )
        for type in ("f32", "f64")
    ],
    *[(f"chlo.{name}", "complex<f32>") for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")],
    *[
        (f"chlo.{name}", type)
        for name in ("bessel_i1e", "digamma", "lgamma")
        for type in ("bf16", "f32", "f64")
    ],
)  # fmt: skip
BINARY = (
    *[(f"stablehlo.{name}", f"complex<{type}>") for name in ("divide", "power") for type in ("f32", "f64")],
    ("stablehlo.atan2", "complex<f64>"),
    ("chlo.polygamma", "f64"),
    ("chlo.zeta", "f32"),
)


def _text(name: str, type: str, operands: int, count: int = COUNT) -> str:
    """A program of one operation on equal tensors."""
    kind = f"tensor<{count}x{type}>"
    arguments = ", ".join(f"%{number}: {kind}" for number in range(operands))
    given = ", ".join(f"%{number}" for number in range(operands))
    types = ", ".join([kind] * operands)
    return (
        f"func.func @main({arguments}) -> {kind} {{\n"
        f'  %r = "{name}"({given}) : ({types}) -> {kind}\n  return %r : {kind}\n}}'
    )


def _view(text: str) -> Elementwise:
    function = nimblehlo.load(text).functions["main"]
    assert function.body is not None
    view = view_of(next(iter(function.body.block.operations)))
    assert isinstance(view, Elementwise)
    return view


def _values(dtype: Any, seed: int) -> Array:
    """Numbers of all sizes, both zeros, infinities and NaNs."""
    random = np.random.default_rng(seed)

    def part() -> Array:
        values = random.standard_normal(COUNT) * 10 ** random.uniform(-3, 2, COUNT)
        for special in (0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e300, -1e-300):
            values[random.random(COUNT) < 0.01] = special
        return values

    with np.errstate(over="ignore", invalid="ignore"):
        return (part() + 1j * part() if dtype.kind == "c" else part()).astype(dtype)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("name", "type", "operands"), [*[(*one, 1) for one in UNARY], *[(*one, 2) for one in BINARY]]
)
def test_blocks_have_the_bits_of_whole_arrays(
    name: str, type: str, operands: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_references, "BLOCK", 300)
    monkeypatch.setattr(block_references, "driver_and_thread_count", lambda threads: (0, threads))
    view = _view(_text(name, type, operands))
    reference = reference_for(view)
    dtype: Any = view.operation.operands[0].type
    given = [_values(dtype.dtype, seed) for seed in range(operands)]
    with np.errstate(all="ignore"):
        computed = in_blocks(view, reference, threads)
        assert computed is not None
        got, want = computed(*given), reference(*given)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


def test_much_work_is_shared_and_little_is_not() -> None:
    for count, way in ((200_000, "block by block"), (100, "reference")):
        executable = nimblehlo.compile(_text("chlo.lgamma", "f64", 1, count))
        assert way in str(executable.explain())
        values = np.random.default_rng(0).uniform(-9, 9, count)
        (got,) = executable(values)
        options = nimblehlo.Options(compile="never")
        (want,) = nimblehlo.compile(_text("chlo.lgamma", "f64", 1, count), options=options)(values)
        assert got.tobytes() == want.tobytes()


def test_operands_of_other_shapes_have_no_blocks() -> None:
    text = """func.func @main(%a: tensor<f64>, %x: tensor<5003xf64>) -> tensor<5003xf64> {
      %r = stablehlo.clamp %a, %x, %a : (tensor<f64>, tensor<5003xf64>, tensor<f64>) -> tensor<5003xf64>
      return %r : tensor<5003xf64>
    }"""
    view = _view(text)
    assert in_blocks(view, reference_for(view), None) is None


@pytest.mark.parametrize("failing", [0, 3])
def test_what_a_block_raises_ends_all(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_references, "BLOCK", 300)
    monkeypatch.setattr(block_references, "driver_and_thread_count", lambda threads: (0, threads))
    seen: list[float] = []

    def reference(values: Array) -> Array:
        seen.append(float(values[0]))
        if values[0] == 300 * failing:
            raise FloatingPointError("in one block")
        return values

    computed = in_blocks(_view(_text("chlo.lgamma", "f64", 1)), reference, 3)
    assert computed is not None
    before = threading.active_count()
    with pytest.raises(FloatingPointError, match="in one block"):
        computed(np.arange(float(COUNT)))
    assert threading.active_count() == before
    assert len(seen) <= failing + 6


def test_what_a_block_raises_keeps_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_references, "BLOCK", 300)

    def reference(values: Array) -> Array:
        raise FloatingPointError

    computed = in_blocks(_view(_text("chlo.lgamma", "f64", 1)), reference, 1)
    assert computed is not None
    values = np.ones(COUNT)
    kept = weakref.ref(values)
    gc.disable()
    try:
        with pytest.raises(FloatingPointError):
            computed(values)
        del values
        assert kept() is None
    finally:
        gc.enable()


def test_threads_obey_the_callers_limits_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_references, "BLOCK", 300)
    monkeypatch.setattr(block_references, "driver_and_thread_count", lambda threads: (0, threads))
    view = _view(_text("chlo.lgamma", "f64", 1))
    computed = in_blocks(view, lambda values: values / 0.0, 3)
    assert computed is not None
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        computed(np.ones(COUNT))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(computed(np.ones(COUNT)), np.full(COUNT, np.inf))


def test_limits_of_memory_hold() -> None:
    count = 200_000
    text = _text("stablehlo.exponential_minus_one", "complex<f64>", 1, count)
    values = np.random.default_rng(0).standard_normal(count) * (1 + 1j)
    limited = nimblehlo.compile(text, options=nimblehlo.Options(max_bytes=16 * count + 100_000))
    assert "block by block" in str(limited.explain())
    with pytest.raises(nimblehlo.ExecutionError):
        limited(values)
    (got,) = nimblehlo.compile(text, options=nimblehlo.Options(max_bytes=64 * count))(values)
    (want,) = nimblehlo.compile(text, options=nimblehlo.Options(compile="never"))(values)
    assert got.tobytes() == want.tobytes()
