"""Exceptions that handlers of signals raise: they reach the caller as they are."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.errors import raised_by_signal_handler
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no timers here")

SECONDS = 0.05


class TooLateError(Exception):
    """What a harness raises."""


def late(*_: Any) -> None:
    raise TooLateError("too late")


class Harness:
    def late(self, *_: Any) -> None:
        late()

    def __call__(self, *_: Any) -> None:
        self.late()


@contextlib.contextmanager
def handled(handler: Callable[..., Any], number: signal.Signals = signal.SIGALRM) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, before)


HANDLERS: list[Any] = [late, Harness().late, Harness(), functools.partial(late, 1), lambda *_: late()]


@pytest.mark.parametrize("handler", HANDLERS, ids=["function", "method", "object", "partial", "lambda"])
def test_exceptions_of_handlers(handler: Any) -> None:
    with handled(handler), pytest.raises(TooLateError) as raised:
        signal.raise_signal(signal.SIGALRM)
    # The handler that stands there now is another one.
    assert not raised_by_signal_handler(raised.value)
    with handled(handler):
        assert raised_by_signal_handler(raised.value)


def test_other_exceptions() -> None:
    with handled(late), pytest.raises(ZeroDivisionError) as raised:
        _ = 1 // len("")
    assert not raised_by_signal_handler(raised.value)


LOOP = """func.func @main(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{
  %true = stablehlo.constant dense<true> : tensor<i1>
  %r:2 = stablehlo.while(%go = %true, %y = %x) : tensor<i1>, tensor<{0}xf32>
  cond {{ stablehlo.return %go : tensor<i1> }}
  do {{
    %z = stablehlo.cosine %y : tensor<{0}xf32>
    stablehlo.return %go, %z : tensor<i1>, tensor<{0}xf32>
  }}
  return %r#1 : tensor<{0}xf32>
}}"""


@pytest.mark.parametrize("compile", ["never", "auto", "eager"])
@pytest.mark.parametrize("size", [8, 1 << 16])
def test_a_harness_stops_a_loop_without_end(compile: Any, size: int) -> None:
    executable = nimblehlo.compile(LOOP.format(size), options=nimblehlo.Options(compile=compile))
    with handled(late):
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        with pytest.raises(TooLateError, match="too late"):
            executable(np.zeros(size, np.float32))


CALL = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.custom_call @stopped(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}"""


def test_a_harness_stops_a_function_of_the_user() -> None:
    def stopped(x: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return x

    nimblehlo.register_custom_call("stopped", stopped)
    try:
        with handled(late), pytest.raises(TooLateError):
            nimblehlo.execute(CALL, [np.float32(1)])
    finally:
        unregister_custom_call("stopped")


def test_a_harness_stops_the_front_end() -> None:
    """Wherever the signal comes: loading and compiling catch nothing that is not theirs."""
    lines = [f"  %{n + 1} = stablehlo.add %{n}, %{n} : tensor<4xf32>" for n in range(300)]
    first, last = "func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {", "  return %300 : tensor<4xf32>\n}"
    text = "\n".join([first, *lines, last])
    stops = 0
    for number in range(1, 21):
        with handled(late):
            signal.setitimer(signal.ITIMER_REAL, number * 1e-3)
            try:
                nimblehlo.compile(text)(np.zeros(4, np.float32))
            except TooLateError:
                stops += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert stops
