"""References of operations on elements, block by block on all threads: of those that no other code serves.

NumPy and SciPy let other threads run while their loops do. What passes between the loops of a reference stays
in a processor's own cache, and signals are seen between blocks.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...kernels.launch.threads import driver_and_thread_count
from ...ops.elementwise.base import Elementwise
from ...specialize.utils.rewriter import tensor_type

BLOCK: Final = 1 << 15
"""Elements of a block: calling the loops takes little beside running them."""

_MAX_THREADS: Final = 8
"""More would wait for Python's lock."""

Array = np.ndarray[Any, Any]


def in_blocks(
    view: Elementwise, reference: Callable[..., Any], threads: int | None
) -> Callable[..., Array] | None:
    """The operation's reference on blocks of its operands; None where these have not all the result's shape.

    Args:
        view: the operation.
        reference: its function from arrays to an array.
        threads: most threads that it may use; None: all.
    """
    operation = view.operation
    result = tensor_type(operation.results[0])
    if any(tensor_type(operand).shape != result.shape for operand in operation.operands):
        return None

    def run(*operands: Array) -> Array:
        flat = [np.ascontiguousarray(operand).reshape(-1) for operand in operands]
        values = np.empty(result.shape, result.dtype)
        target = values.reshape(-1)

        def compute(first: int) -> None:
            block = slice(first, first + BLOCK)
            target[block] = reference(*[operand[block] for operand in flat])

        _run_on_threads(compute, deque(range(0, target.size, BLOCK)), driver_and_thread_count(threads)[1])
        return values

    return run


def _run_on_threads(compute: Callable[[int], None], starts: deque[int], threads: int) -> None:
    """Compute all places, each by the thread that takes it; raises what one of them raised first."""
    failures: list[BaseException] = []

    def run_blocks(settings: contextlib.AbstractContextManager[Any]) -> None:
        try:
            with settings:
                while (start := _pop_start(starts)) is not None:
                    compute(start)
        except BaseException as error:
            failures.append(error)
            starts.clear()

    helpers: list[threading.Thread] = []
    try:
        for _ in range(1, min(threads, len(starts), _MAX_THREADS)):
            # Limits of memory, and what NumPy does about errors, are told by the context.
            context = contextvars.copy_context()
            arguments = (run_blocks, _scipy_settings())
            helper = threading.Thread(target=context.run, args=arguments, name="nimblehlo blocks")
            helper.start()
            helpers.append(helper)
        run_blocks(contextlib.nullcontext())
    finally:
        for helper in helpers:
            helper.join()
    if failures:
        error = failures[0]
        failures.clear()
        try:
            raise error
        finally:
            del error  # its traceback has this frame, and with it the arrays


def _scipy_settings() -> contextlib.AbstractContextManager[Any]:
    """Has SciPy do in another thread what it does in this one about errors."""
    special = sys.modules.get("scipy.special")
    return contextlib.nullcontext() if special is None else special.errstate(**special.geterr())


def _pop_start(starts: deque[int]) -> int | None:
    """The next place; None where another thread has taken the last one."""
    try:
        return starts.popleft()
    except IndexError:
        return None
