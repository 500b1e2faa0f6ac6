"""Time limits in native functions: they are abandoned, and what they read and write stays theirs."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.compiler.plan.implementations.native_loops import NativeLoop
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from nimblehlo.compiler.plan.tiering.tiers import Tiering
from nimblehlo.execution import timed_calls
from nimblehlo.execution.program import MAX_UNGUARDED_ELEMENTS
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from tests.support.forks import holds_in_child, needs_fork
from tests.support.interrupts import interrupt

Array = np.ndarray[Any, Any]

COUNT = MAX_UNGUARDED_ELEMENTS + 1
_POLL = 0.01

LONG = 60.0
"""Seconds for which a function goes on unless it is released, and which nothing here may wait for."""


def calling(count: int = COUNT) -> str:
    """A program that calls `@native` on an array."""
    type = f"tensor<{count}xf32>"
    return f"""
    func.func @main(%a: {type}) -> {type} {{
      %0 = stablehlo.custom_call @native(%a) : ({type}) -> {type}
      %1 = stablehlo.add %0, %a : {type}
      return %1 : {type}
    }}
    """


class Native:
    """A function that waits in C, without the lock of the interpreter.

    Attributes:
        may_end: what it waits for; as long as nobody clears it, calls return at once.
        ended: set when a call has ended.
    """

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.may_end.set()
        self.operands: list[Array] = []
        self.threads: list[int] = []
        self.ended = threading.Event()

    def __call__(self, operand: Array) -> Array:
        self.threads.append(threading.get_ident())
        self.operands.append(operand)
        self.may_end.wait(LONG)
        self.ended.set()
        return operand


@pytest.fixture
def native() -> Iterator[Native]:
    function = Native()
    nimblehlo.register_custom_call("native", function)
    yield function
    unregister_custom_call("native")
    function.may_end.set()
    while timed_calls._threads.busy:
        time.sleep(_POLL)


def exceed(call: Callable[[], Any]) -> None:
    """Check that a call is stopped by its time limit."""
    with pytest.raises(ExecutionError, match=r"timeout = 0\.5 seconds"):
        call()


def exceed_and_end(call: Callable[[], Any]) -> None:
    """Check that a call which would take minutes is stopped, and that nothing of it goes on."""
    deadline = time.perf_counter() + LONG / 2
    exceed(call)
    while timed_calls._threads.busy:
        time.sleep(_POLL)
    assert time.perf_counter() < deadline


def test_the_loop_of_a_reference_ends_with_its_call() -> None:
    """A window whose positions are nearly all in the padding, beside values of few elements."""
    text = """
    func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<2xf32> {
      %0 = "stablehlo.reduce_window"(%a, %z) <{
          window_dimensions = array<i64: 67108864>, padding = dense<[[0, 67108861]]> : tensor<1x2xi64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.subtract %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """
    executable = nimblehlo.compile(text, options=Options(compile="never", timeout=0.5))
    exceed_and_end(lambda: executable(np.ones(4, np.float32), np.float32(0)))


@pytest.mark.parametrize("mode", ["never", "auto", "eager"])
def test_a_native_function_is_abandoned(native: Native, mode: Any) -> None:
    a = np.ones(COUNT, np.float32)
    executable = nimblehlo.compile(calling(), options=Options(compile=mode, timeout=0.5))
    native.may_end.clear()
    exceed(lambda: executable(a))
    assert native.operands and not native.ended.is_set()
    native.may_end.set()
    (result,) = nimblehlo.execute(calling(), [a], options=Options(compile=mode, timeout=60))
    assert (result == 2).all()


def test_the_error_names_the_operation(native: Native) -> None:
    native.may_end.clear()
    executable = nimblehlo.compile(calling(), options=Options(compile="never", timeout=0.5))
    with pytest.raises(ExecutionError, match=r"custom_call.*timeout = 0\.5.*at .*:3:") as caught:
        executable(np.ones(COUNT, np.float32))
    assert caught.value.operation == "stablehlo.custom_call"


@pytest.mark.parametrize("donate", [(), (0,)])
def test_the_caller_may_write_to_inputs_afterwards(native: Native, donate: tuple[int, ...]) -> None:
    """The abandoned function has copies, also of donated inputs."""
    a = np.ones(COUNT, np.float32)
    native.may_end.clear()
    exceed(lambda: nimblehlo.execute(calling(), [a], options=Options(timeout=0.5, donate=donate)))
    a[:] = 7
    (operand,) = native.operands
    assert not native.ended.is_set()
    assert (operand == 1).all() and (a == 7).all()


def test_inputs_that_nobody_can_write_to_are_not_copied(native: Native) -> None:
    a = np.ones(COUNT, np.float32)
    a.flags.writeable = False
    view = a[:]
    writeable = np.ones(COUNT, np.float32)
    read_only = writeable[:]
    read_only.flags.writeable = False
    for value, is_shared in ((view, True), (read_only, False)):
        nimblehlo.execute(calling(), [value], options=Options(timeout=60))
        assert np.shares_memory(native.operands[-1], value) == is_shared


def test_calls_on_small_arrays_stay_on_their_thread(native: Native) -> None:
    for count, options in ((COUNT - 1, Options(timeout=60)), (COUNT, Options())):
        nimblehlo.execute(calling(count), [np.ones(count, np.float32)], options=options)
    assert native.threads == [threading.get_ident()] * 2
    for _ in range(2):
        nimblehlo.execute(calling(), [np.ones(COUNT, np.float32)], options=Options(timeout=60))
    *_, first, second = native.threads
    assert first == second != threading.get_ident()


@pytest.mark.parametrize(("mode", "threads"), [("never", 0), ("eager", 1)])
def test_calls_that_compile_kernels_may_be_abandoned(
    mode: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling takes seconds, however small the arrays are."""
    text = """
    func.func @main(%a: tensor<2x3xf16>, %zero: tensor<f16>) -> tensor<2x2xf16> {
      %0 = "stablehlo.reduce_window"(%a, %zero) ({
      ^bb0(%x: tensor<f16>, %y: tensor<f16>):
        %sum = stablehlo.add %x, %y : tensor<f16>
        stablehlo.return %sum : tensor<f16>
      }) {window_dimensions = array<i64: 1, 2>} : (tensor<2x3xf16>, tensor<f16>) -> tensor<2x2xf16>
      return %0 : tensor<2x2xf16>
    }
    """
    monkeypatch.setattr(timed_calls._threads, "idle", [])
    options = Options(compile=mode, timeout=600)
    (result,) = nimblehlo.execute(text, [np.ones((2, 3), np.float16), np.float16(0)], options=options)
    assert (result == 2).all() and len(timed_calls._threads.idle) == threads


LOOP = """
func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.while(%i = %zero) : tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %r : tensor<i32>
}
"""


def test_a_loop_that_takes_long_to_compile_goes_on_beside_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call stays on its thread, and a later one finds the code."""
    may_end, prepare = threading.Event(), NativeLoop.prepare

    def prepare_slowly(loop: NativeLoop, quickly: bool = False) -> Any:
        may_end.wait(LONG)
        return prepare(loop, quickly)

    monkeypatch.setattr(NativeLoop, "prepare", prepare_slowly)
    executable = nimblehlo.compile(LOOP, options=Options(compile="eager", timeout=0.5))
    exceed(lambda: executable(np.int32(7)))
    assert not may_end.is_set()
    may_end.set()
    while timed_calls._threads.busy:
        time.sleep(_POLL)
    assert executable(np.int32(7)) == [7]


def test_a_step_that_takes_long_to_compile_goes_on_beside_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, compile = threading.Event(), Tiering.compile

    def compile_slowly(step: Tiering, operands: Any) -> None:
        may_end.wait(LONG)
        compile(step, operands)

    monkeypatch.setattr(Tiering, "compile", compile_slowly)
    monkeypatch.setattr(Tiering, "wait_threshold", 0.0)
    text = """
    func.func @main(%a: tensor<8x8xf32>) -> tensor<8xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    """
    executable = nimblehlo.compile(text, options=Options(timeout=0.5))
    exceed(lambda: executable(np.ones((8, 8), np.float32)))
    may_end.set()
    BACKGROUND.wait()
    while timed_calls._threads.busy:
        time.sleep(_POLL)
    assert (executable(np.ones((8, 8), np.float32))[0] == 8).all()


def test_threads_that_wait_for_calls_are_few() -> None:
    threads = timed_calls._Threads()
    taken = [threads.take() for _ in range(timed_calls._MAX_IDLE_THREADS + 1)]
    kept = [threads.give_back(thread) for thread in taken]
    assert kept == [True] * timed_calls._MAX_IDLE_THREADS + [False]
    assert threads.take() in taken and not threads.busy - {*taken}


def test_without_further_threads_calls_stay_on_theirs(
    native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(timed_calls._threads, "idle", [])
    monkeypatch.setattr(threading.Thread, "start", start)
    nimblehlo.execute(calling(), [np.ones(COUNT, np.float32)], options=Options(compile="never", timeout=60))
    assert native.threads == [threading.get_ident()]


def test_the_limit_of_memory_holds_on_the_other_thread(native: Native) -> None:
    a = np.ones(COUNT, np.float32)
    with pytest.raises(ExecutionError, match="max_bytes = 100"):
        nimblehlo.execute(calling(), [a], options=Options(compile="never", timeout=60, max_bytes=100))
    (result,) = nimblehlo.execute(calling(), [a], options=Options(timeout=60, max_bytes=1 << 20))
    assert (result == 2).all()


def test_what_a_function_raises_reaches_the_caller() -> None:
    def failing(operand: Array) -> Array:
        raise KeyError("no such thing")

    nimblehlo.register_custom_call("native", failing)
    try:
        with pytest.raises(ExecutionError, match="no such thing") as caught:
            nimblehlo.execute(calling(), [np.ones(COUNT, np.float32)], options=Options(timeout=60))
        assert isinstance(caught.value.__cause__, KeyError)
    finally:
        unregister_custom_call("native")


def test_abandoned_calls_release_what_they_hold(native: Native) -> None:
    a = np.ones(COUNT, np.float32)
    native.may_end.clear()
    exceed(lambda: nimblehlo.execute(calling(), [a], options=Options(timeout=0.5)))
    operand = weakref.ref(native.operands.pop())
    assert operand() is not None
    native.may_end.set()
    while timed_calls._threads.busy:
        time.sleep(_POLL)
    gc.collect()
    assert operand() is None


def test_an_interrupt_ends_the_wait(native: Native) -> None:
    native.may_end.clear()
    executable = nimblehlo.compile(calling(), options=Options(timeout=2 * LONG))
    interrupt(lambda: executable(np.ones(COUNT, np.float32)), once=lambda: bool(native.operands))
    assert not native.ended.is_set()


def test_launches_stop_between_tasks() -> None:
    """A sum over 2^35 numbers that no array holds takes minutes; nothing of it goes on."""
    type = "tensor<34359738368xf32>"
    text = f"""
    func.func @main() -> tensor<f32> {{
      %i = stablehlo.iota dim = 0 : {type}
      %s = stablehlo.sine %i : {type}
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0]
        : ({type}, tensor<f32>) -> tensor<f32>
      return %r : tensor<f32>
    }}
    """
    exceed_and_end(nimblehlo.compile(text, options=Options(compile="eager", timeout=0.5)))


EXIT = """
import ctypes, sys
import numpy as np
import nimblehlo

nimblehlo.register_custom_call("native", lambda a: ctypes.CDLL(None).sleep(1000) and a)
try:
    nimblehlo.execute({text!r}, [np.ones({count}, np.float32)], options=nimblehlo.Options(timeout=0.5))
except nimblehlo.ExecutionError as error:
    print(error)
sys.exit(3)
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_process_ends_beside_an_abandoned_function() -> None:
    child = run_python(EXIT.format(text=calling(), count=COUNT))
    assert child.returncode == 3, child.stderr
    assert "timeout = 0.5" in child.stdout and not child.stderr


BESIDE_LIBRARY = """
import sys
import numpy as np
import nimblehlo

type = "tensor<3000x3000xf64>"
text = f'''func.func @main(%a: {type}) -> tensor<3000xf64> {{
  %v, %w, %info = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {{
    mhlo.backend_config = {{mode = 86 : ui8, uplo = 76 : ui8}}, api_version = 4 : i32}}
    : ({type}) -> ({type}, tensor<3000xf64>, tensor<i32>)
  return %w : tensor<3000xf64> }}'''
a = np.random.default_rng(0).normal(size=(3000, 3000))
try:
    nimblehlo.execute(text.replace("{type}", type), [a], options=nimblehlo.Options(timeout=0.5))
except nimblehlo.ExecutionError as error:
    print(error)
"""


def test_the_process_ends_beside_a_decomposition() -> None:
    """The library frees its memory in a destructor, which must not run beside the abandoned routine."""
    child = run_python(BESIDE_LIBRARY)
    assert child.returncode == 0, child.stderr
    assert "timeout = 0.5" in child.stdout and not child.stderr


@needs_fork
def test_a_forked_process_has_threads_of_its_own(native: Native, tmp_path: Path) -> None:
    """The child starts others than the abandoned one and the idle one of its parent."""
    a = np.ones(COUNT, np.float32)
    executable = nimblehlo.compile(calling(), options=Options(timeout=60))
    executable(a)
    native.may_end.clear()
    exceed(lambda: nimblehlo.execute(calling(), [a], options=Options(timeout=0.5)))
    assert len(timed_calls._threads.busy) == 1

    def check() -> bool:
        native.may_end.set()
        return bool((executable(a)[0] == 2).all())

    assert holds_in_child(check)
