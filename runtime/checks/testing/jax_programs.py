"""`program`: functions of JAX as tests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

Test = Callable[..., None]


def program(*inputs: Any, golden: bool = True) -> Callable[[Callable[..., Any]], Test]:
    """Make a function of JAX a test: it is lowered, run on each backend, and compared with its golden.

    ::

        @nimblehlo.checks.testing.program(np.linspace(-3, 3, 50, dtype=np.float32))
        def test_softmax(x):
            return jax.nn.softmax(x)

    Args:
        inputs: an array for each argument of the function.
        golden: whether NimbleHLO's results are compared with stored ones; other backends' results always lie
            within computed bounds.

    Raises:
        NimbleError: JAX is not installed (the extra ``jax``).
    """

    def decorate(function: Callable[..., object]) -> Test:
        def test(nimblehlo_check: Any) -> None:
            __tracebackhide__ = True
            import jax

            lowered = jax.jit(function).lower(*inputs)
            nimblehlo_check(lowered, [np.asarray(value) for value in inputs], golden=golden)

        functools.update_wrapper(test, function)
        del test.__wrapped__  # type: ignore[attr-defined]
        test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("nimblehlo_check", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        )
        return test

    return decorate
