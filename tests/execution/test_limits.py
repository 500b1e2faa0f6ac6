"""Limits of a run: steps, bytes and time; and that a signal stops a loop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from tests.support.interrupts import interrupt

MODES = ["never", "auto", "eager"]

COUNT = """
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r = stablehlo.while(%i = %zero) : tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j : tensor<i64>
  }
  return %r : tensor<i64>
}
"""

FOREVER = """
func.func @main(%p: tensor<i1>) -> tensor<i8> {
  %one = stablehlo.constant dense<1> : tensor<i8>
  %r:2 = stablehlo.while(%i = %one, %q = %p) : tensor<i8>, tensor<i1>
  cond {
    stablehlo.return %q : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i8>
    stablehlo.return %j, %q : tensor<i8>, tensor<i1>
  }
  return %r#0 : tensor<i8>
}
"""

WIDE = """
func.func @main(%a: tensor<100xf32>, %p: tensor<i1>) -> tensor<100xf32> {
  %r:2 = stablehlo.while(%x = %a, %q = %p) : tensor<100xf32>, tensor<i1>
  cond {
    stablehlo.return %q : tensor<i1>
  } do {
    %y = stablehlo.cosine %x : tensor<100xf32>
    stablehlo.return %y, %q : tensor<100xf32>, tensor<i1>
  }
  return %r#0 : tensor<100xf32>
}
"""


def compiled(text: str, **options: Any) -> Any:
    return nimblehlo.compile(text, options=Options(**options))


@pytest.mark.parametrize("mode", MODES)
def test_most_steps(mode: str) -> None:
    executable = compiled(COUNT, compile=mode, max_steps=1000)
    with pytest.raises(ExecutionError, match=r"max_steps = 1000 steps.*at .*:\d+:\d+") as caught:
        executable(np.int64(1 << 60))
    assert caught.value.operation in ("stablehlo.while", "stablehlo.compare", "stablehlo.add")
    assert executable(np.int64(10))[0] == 10


def test_steps_are_counted_exactly() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.cosine %a : tensor<2xf32>
      %1 = stablehlo.sine %0 : tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    """
    a = np.zeros(2, np.float32)
    assert compiled(text, compile="never", max_steps=2)(a)[0].shape == (2,)
    with pytest.raises(ExecutionError, match=r"stablehlo\.sine.*max_steps = 1 "):
        compiled(text, compile="never", max_steps=1)(a)


def test_steps_of_regions_count() -> None:
    """The map is one step, each operation of its region another."""
    text = """
    func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
      %0 = "stablehlo.map"(%a) ({
      ^bb0(%x: tensor<f32>):
        %1 = stablehlo.cosine %x : tensor<f32>
        %2 = stablehlo.sine %1 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
      return %0 : tensor<64xf32>
    }
    """
    a = np.zeros(64, np.float32)
    assert compiled(text, compile="never", max_steps=3)(a)[0].shape == (64,)
    with pytest.raises(ExecutionError, match="max_steps = 2 "):
        compiled(text, compile="never", max_steps=2)(a)


@pytest.mark.parametrize("text", [FOREVER, WIDE])
@pytest.mark.parametrize("mode", MODES)
def test_loops_without_end_are_stopped(text: str, mode: str) -> None:
    inputs = [np.ones(100, np.float32)] * (text is WIDE) + [np.True_]
    with pytest.raises(ExecutionError, match="max_steps = 500 "):
        compiled(text, compile=mode, max_steps=500)(*inputs)
    executable = compiled(text, compile=mode, timeout=0.5)
    start = time.perf_counter()
    with pytest.raises(ExecutionError, match=r"timeout = 0\.5 seconds"):
        executable(*inputs)
    # Load takes some seconds, a limit that nobody looks at takes for ever.
    assert 0.5 <= time.perf_counter() - start < 30
    assert executable(*inputs[:-1], np.False_)


def test_a_timeout_names_the_step_that_took_long() -> None:
    text = """
    func.func @main(%a: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.custom_call @slow(%a) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    """

    def slow(a: np.ndarray) -> np.ndarray:
        time.sleep(0.1)
        return a

    nimblehlo.register_custom_call("slow", slow)
    try:
        with pytest.raises(ExecutionError, match=r"custom_call.*timeout = 0\.05"):
            compiled(text, compile="never", timeout=0.05)(np.float32(1))
    finally:
        unregister_custom_call("slow")


SUMS = """
func.func @main(%a: tensor<100000xf32>) -> tensor<300000xf32> {
  %0 = stablehlo.negate %a : tensor<100000xf32>
  %1 = stablehlo.concatenate %0, %a, %0, dim = 0
    : (tensor<100000xf32>, tensor<100000xf32>, tensor<100000xf32>) -> tensor<300000xf32>
  return %1 : tensor<300000xf32>
}
"""


@pytest.mark.parametrize("mode", MODES)
def test_most_bytes(mode: str) -> None:
    a = np.ones(100_000, np.float32)
    executable = compiled(SUMS, compile=mode, max_bytes=1_000_000)
    for _ in range(2):
        with pytest.raises(ExecutionError, match="max_bytes = 1000000") as caught:
            executable(a)
    assert caught.value.operation is not None and caught.value.location is not None
    enough = compiled(SUMS, compile=mode, max_bytes=1_700_000)
    results = [enough(a)[0] for _ in range(5)]
    assert all(result[0] == -1 and result[100_000] == 1 for result in results)


def test_limits_are_checked() -> None:
    wrong = [("max_steps", -1), ("max_bytes", 1.5), ("timeout", -0.1), ("timeout", "1")]
    for name, value in [*wrong, ("cache_bytes", "1G"), ("cache_bytes", -1)]:
        with pytest.raises(ValueError, match=name):
            Options(**{name: value})


@pytest.mark.parametrize(
    ("text", "inputs"), [(COUNT, [np.int64(1 << 60)]), (WIDE, [np.ones(100, np.float32), np.True_])]
)
@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_stops_a_loop(mode: str, text: str, inputs: list[Any]) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    executable = compiled(text, compile=mode)
    interrupt(lambda: executable(*inputs))
    if text is COUNT:
        assert executable(np.int64(3))[0] == 3


def products(count: int) -> str:
    """A product of matrices, and so many of its result with the operand."""
    type = "tensor<1024x1024xf32>"
    lines = [
        f"%{number + 1} = stablehlo.dot_general %{number}, %0, contracting_dims = [1] x [0]"
        f" : ({type}, {type}) -> {type}"
        for number in range(count)
    ]
    return "\n".join([f"func.func @main(%0: {type}) -> {type} {{", *lines, f"return %{count} : {type} }}"])


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_stops_a_run_between_steps(mode: str) -> None:
    a = np.zeros((1024, 1024), np.float32)
    few = compiled(products(10), compile=mode)
    few(a)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        few(a)
        times.append(time.perf_counter() - start)
    # It would take 20 s, on a machine that was as busy all the time.
    executable = compiled(products(10 + int(10 * 20 / min(times))), compile=mode)
    interrupt(lambda: executable(a))


def test_a_loop_lets_other_threads_run() -> None:
    """A thread that only sleeps and counts gets its turns while a loop of small steps runs."""
    turns = 0

    def has_had_turns() -> bool:
        nonlocal turns
        turns += 1
        return turns > 10

    executable = compiled(FOREVER, compile="never", timeout=60)
    interrupt(lambda: executable(np.True_), once=has_had_turns)


def test_compiled_code_on_disk_has_a_limit(tmp_path: Path) -> None:
    """`cache_bytes` holds for the code of Numba and of LLVM, in a process of its own."""
    code = """
import threading
import numpy
import nimblehlo
from nimblehlo.kernels.launch import cache_files
from nimblehlo.kernels.launch.compilation import kernel

def run(value, limit):
    text = f"func.func @main(%x: tensor<60xf32>) -> tensor<60xf32> {{\
      %c = stablehlo.constant dense<{value}.0> : tensor<60xf32>\
      %0 = stablehlo.add %x, %c : tensor<60xf32>\
      %1 = stablehlo.tanh %0 : tensor<60xf32>\
      %2 = stablehlo.multiply %1, %x : tensor<60xf32>\
      return %2 : tensor<60xf32> }}"
    options = nimblehlo.Options(compile="eager", cache_bytes=limit)
    nimblehlo.compile(text, options=options)(numpy.ones(60, numpy.float32))

@kernel(parallel=True)
def doubled(task, values):
    values[task] *= 2

run(1, None)
doubled(1, numpy.ones(1))
print(*[size for _, size in cache_files.usage().kinds.values()])
for value in range(2, 10):
    run(value, 30000)
for thread in threading.enumerate():
    if thread.name == "nimblehlo-cache":
        thread.join()
print(sum(size for _, size in cache_files.usage().kinds.values()))
run(100, 0)
print(cache_files.usage().refusal)
"""
    environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr
    before, after, refusal = child.stdout.splitlines()
    assert all(int(size) > 0 for size in before.split()[:2]), before
    assert 0 < int(after) <= 30000
    assert refusal == "the limit is 0 bytes"
