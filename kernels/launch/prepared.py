"""Launches of kernels whose arguments are known but for the arrays: a call costs a microsecond or two.

A kernel's call from Python looks at the type of each argument. Where all but the arrays that calls bring is
fixed, a launch is prepared once instead: native code that finds the arguments in a closure, as generated code
does (`native`).
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .compilation import Kernel
from .native import Launch, NativeFunction

if TYPE_CHECKING:
    from .parallel_driver import Argument

__all__ = ["BYTES_A_SECOND", "Addresses", "Given", "Room", "Steps", "Work", "prepared"]

BYTES_A_SECOND = 5e9
"""What one thread moves, at least."""

Room = tuple[int | tuple[int, ...], Any]
"""Shape, or size, and element type of memory that is needed beside operands and results."""


class Given(NamedTuple):
    """A C-contiguous array that stands for an operand, a result or a room of each call, or for a part of one.

    Attributes:
        number: which one, operands first, then results and rooms.
        shape: of the array; a number is the size of a flat one.
        dtype: in which type kernels see it.
        is_written: whether kernels write to it.
        offset: where it begins, in bytes.
    """

    number: int
    shape: int | tuple[int, ...]
    dtype: np.dtype[Any]
    is_written: bool = True
    offset: int = 0


class Addresses(NamedTuple):
    """An int64 array of addresses: for each, which operand, result or room, and how many bytes behind its
    beginning."""

    places: tuple[tuple[int, int], ...]


Value = int | np.ndarray | Given | Addresses


class Work(NamedTuple):
    """What one kernel does.

    Attributes:
        kernel: a parallel one.
        tasks: how many there are.
        arguments: integers, C-contiguous arrays that stay the same, what stands for others, and tuples of
            these.
        seconds: how long all take on one thread, about.
    """

    kernel: Kernel
    tasks: int
    arguments: Sequence[Value | tuple[Value, ...]]
    seconds: float


class Steps(NamedTuple):
    """What is done one after the other.

    Attributes:
        rooms: what memory it needs.
        works: gives the works from what stands for arrays, at last for the rooms.
    """

    rooms: Sequence[Room]
    works: Callable[..., list[Work]]


def prepared(
    works: Callable[[], Iterable[Work]],
    operands: Sequence[int],
    results: Sequence[tuple[tuple[int, ...], Any]],
    rooms: Sequence[Room] = (),
    threads: int | None = None,
) -> Callable[..., Any]:
    """A function from operands to the result, or to a tuple of them where there are several.

    It takes `out` as a `native.NativeFunction` does, and raises MemoryError where a task could not have its
    memory.

    Args:
        works: gives what is done, one after the other. The first call asks for it, and compiles it.
        operands: the bytes of each operand.
        results, rooms: shape and element type of each result, and of memory that is needed beside.
        threads: most threads to use; None: all.
    """

    @functools.cache
    def function() -> NativeFunction:
        launches = [_launch(work) for work in works()]
        needed = [(_shape(shape), dtype) for shape, dtype in rooms]
        return NativeFunction(operands, results, launches, threads, rooms=needed)

    return lambda *arrays, out=None: function()(*arrays, out=out)


def _launch(work: Work) -> Launch:
    """The launch, with the closure that `launch.from_closure` tells of."""
    closure = _Closure()
    address = work.kernel.task_address(tuple([closure.taken(argument) for argument in work.arguments]))
    accesses, words, kept = tuple(closure.accesses), tuple(closure.words), tuple(closure.kept)
    return Launch(address, work.tasks, accesses, words, work.seconds, kept, work.kernel.name)


class _Closure:
    """What a closure is filled with: addresses of arrays, words behind them, and what these tell of."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int]] = []
        self.words: list[int] = []
        self.kept: list[np.ndarray] = []

    def taken(self, value: Value | tuple[Value, ...]) -> Any:
        """How the closure tells of an argument, or of the members of a tuple; their words are added."""
        if type(value) is tuple:
            return tuple([self._taken(member) for member in value])
        return self._taken(value)

    def _taken(self, value: Any) -> "Argument":
        from numba import types

        from .parallel_driver import Argument, Form

        if isinstance(value, Addresses):
            self.accesses += value.places
            kind = types.Array(types.int64, 1, "C", readonly=True)
            return Argument(kind, Form.ADDRESSES, len(value.places))
        if isinstance(value, Given):
            self.accesses.append((value.number, value.offset))
            shape = _shape(value.shape)
            self.words += shape
            return Argument(_array_type(value.dtype, len(shape), value.is_written), Form.GIVEN, 1)
        if isinstance(value, np.ndarray):
            self.kept.append(value)
            self.words += [value.ctypes.data, *value.shape]
            return Argument(_array_type(value.dtype, value.ndim, False), Form.KEPT)
        self.words.append(int(value))
        return Argument(types.intp, Form.VALUE)


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return shape if isinstance(shape, tuple) else (shape,)


def _array_type(dtype: np.dtype[Any], rank: int, is_written: bool) -> Any:
    from numba import from_dtype, types

    return types.Array(from_dtype(dtype), rank, "C", readonly=not is_written)
