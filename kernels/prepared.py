"""Launches of kernels whose arguments are known but for the arrays: a call costs a microsecond or two.

A kernel's call from Python looks at the type of each argument. Where all but the arrays that calls bring is
fixed, a launch is prepared once instead: native code that finds the arguments in a closure, as generated code
does (`native`).
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .compilation import Kernel
from .native import Launch, NativeFunction

__all__ = ["Given", "Work", "prepared"]


class Given(NamedTuple):
    """A flat array that stands for an operand, a result or a room of each call.

    Attributes:
        number: which one, operands first, then results and rooms.
        size: how many elements.
        dtype: in which type kernels see them.
        is_written: whether kernels write to it.
    """

    number: int
    size: int
    dtype: np.dtype[Any]
    is_written: bool = True


class Work(NamedTuple):
    """What one kernel does.

    Attributes:
        kernel: a parallel one, whose tasks cannot fail.
        tasks: how many there are.
        arguments: integers, flat arrays that stay the same, and what stands for others.
        seconds: how long all take on one thread, about.
    """

    kernel: Kernel
    tasks: int
    arguments: Sequence[int | np.ndarray | Given]
    seconds: float


def prepared(
    works: Callable[[], Iterable[Work]],
    operands: Sequence[int],
    results: Sequence[tuple[tuple[int, ...], Any]],
    rooms: Sequence[tuple[tuple[int, ...], Any]] = (),
    threads: int | None = None,
) -> Callable[..., Any]:
    """A function from operands to the result, or to a tuple of them where there are several.

    Args:
        works: gives what is done, one after the other. The first call asks for it, and compiles it.
        operands: the bytes of each operand.
        results, rooms: shape and element type of each result, and of memory that is needed beside.
        threads: most threads to use; None: all.
    """

    @functools.cache
    def function() -> NativeFunction:
        launches = [_launch(work) for work in works()]
        return NativeFunction(operands, results, launches, threads, rooms=rooms)

    return lambda *arrays: function()(*arrays)


def _launch(work: Work) -> Launch:
    """The launch, with the closure that `launch.from_closure` tells of."""
    accesses, words = [], []
    for argument in work.arguments:
        if isinstance(argument, Given):
            accesses.append((argument.number, 0))
            words.append(argument.size)
        elif isinstance(argument, np.ndarray):
            words += [argument.ctypes.data, argument.size]
        else:
            words.append(argument)
    address = work.kernel.task_address(_types_of(work.arguments))
    kept = tuple([argument for argument in work.arguments if isinstance(argument, np.ndarray)])
    return Launch(address, work.tasks, tuple(accesses), tuple(words), work.seconds, kept)


def _types_of(arguments: Sequence[int | np.ndarray | Given]) -> tuple[Any, ...]:
    """Numba's types of the arguments, and which of the arrays are given."""
    from numba import from_dtype, types

    found = []
    for argument in arguments:
        if isinstance(argument, int):
            found.append((types.intp, False))
            continue
        is_written = isinstance(argument, Given) and argument.is_written
        kind = types.Array(from_dtype(argument.dtype), 1, "C", readonly=not is_written)
        found.append((kind, isinstance(argument, Given)))
    return tuple(found)
