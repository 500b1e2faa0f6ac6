"""Kernel launches that are prepared once and then called with arrays, at a cost of one or two microseconds.

A kernel called from Python inspects the type of each argument. A prepared launch fixes every argument but the
arrays, so native code reads its arguments from a closure, as generated code does (`native`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..compiling.closure_arguments import Argument, Encoding, array_type
from ..named_tuples import NamedTuple
from .compilation import TaskKernel
from .native import Launch, NativeFunction

__all__ = [
    "BYTES_A_SECOND",
    "AddressTable",
    "ArrayParam",
    "KernelCall",
    "LaunchPlan",
    "Scratch",
    "prepare_launches",
]

BYTES_A_SECOND = 5e9
"""Memory traffic of one thread, a lower bound."""

Scratch = tuple[int | tuple[int, ...], Any]
"""Shape (or number of elements) and element type of a temporary array."""


class ArrayParam(NamedTuple):
    """A C-contiguous array parameter: an operand, a result or a scratch array of a call, or a range of one.

    Attributes:
        number: index of the array; operands come first, then results, then scratch arrays.
        shape: shape of the array; a number is the size of a one-dimensional one.
        dtype: element type under which kernels see it.
        is_written: whether kernels write to it.
        offset: bytes from the beginning of the array to the range.
    """

    number: int
    shape: int | tuple[int, ...]
    dtype: np.dtype[Any]
    is_written: bool = True
    offset: int = 0


class AddressTable(NamedTuple):
    """An int64 array of addresses: (number of an operand, result or scratch array, byte offset) of each."""

    offsets: tuple[tuple[int, int], ...]


Value = int | np.ndarray | ArrayParam | AddressTable


class KernelCall(NamedTuple):
    """One call of a kernel.

    Attributes:
        kernel: a parallel kernel.
        tasks: number of tasks.
        arguments: integers, constant C-contiguous arrays, array parameters, address tables, and tuples of
            these.
        seconds: estimated time of all tasks on one thread.
    """

    kernel: TaskKernel
    tasks: int
    arguments: Sequence[Value | tuple[Value, ...]]
    seconds: float


class LaunchPlan(NamedTuple):
    """Kernel calls that run in sequence.

    Attributes:
        scratch: the temporary arrays that the calls need.
        calls: makes the calls from the parameters for operands and results, followed by those for `scratch`.
    """

    scratch: Sequence[Scratch]
    calls: Callable[..., list[KernelCall]]


def prepare_launches(
    calls: Callable[[], Iterable[KernelCall]],
    operands: Sequence[int],
    results: Sequence[tuple[tuple[int, ...], Any]],
    scratch: Sequence[Scratch] = (),
    threads: int | None = None,
) -> Callable[..., Any]:
    """Make a function from operands to the result, or to a tuple of several results.

    The function takes `out` as a `native.NativeFunction` does, and raises MemoryError if a task cannot
    allocate memory.

    Args:
        calls: returns the kernel calls in order. The function's first call asks for them and compiles them.
        operands: bytes of each operand.
        results, scratch: shape and element type of each result and of each temporary array.
        threads: maximum number of threads; None: all.
    """

    @functools.cache
    def function() -> NativeFunction:
        launches = [_launch(call) for call in calls()]
        scratch_arrays = [(_shape(shape), dtype) for shape, dtype in scratch]
        return NativeFunction(operands, results, launches, threads, scratch=scratch_arrays)

    return lambda *arrays, out=None: function()(*arrays, out=out)


def _launch(call: KernelCall) -> Launch:
    """The launch of a kernel call, with a closure laid out as `closure_arguments.Encoding` says."""
    closure = _Closure()
    address = call.kernel.task_address(tuple([closure.add(argument) for argument in call.arguments]))
    accesses, values, arrays = tuple(closure.accesses), tuple(closure.values), tuple(closure.arrays)
    return Launch(address, call.tasks, accesses, values, call.seconds, arrays, call.kernel.name)


class _Closure:
    """The contents of a closure: array addresses, the 64-bit values after them, and the constant arrays."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int]] = []
        self.values: list[int] = []
        self.arrays: list[np.ndarray] = []

    def add(self, value: Value | tuple[Value, ...]) -> Any:
        """Append an argument, or the members of a tuple; returns how the closure encodes it."""
        if type(value) is tuple:
            return tuple([self._add(member) for member in value])
        return self._add(value)

    def _add(self, value: Any) -> Argument:
        if isinstance(value, AddressTable):
            self.accesses += value.offsets
            table_type = array_type(np.dtype(np.int64), 1, False)
            return Argument(Encoding.ADDRESS_TABLE, table_type, len(value.offsets))
        if isinstance(value, ArrayParam):
            self.accesses.append((value.number, value.offset))
            shape = _shape(value.shape)
            self.values += shape
            return Argument(Encoding.ARRAY_PARAM, array_type(value.dtype, len(shape), value.is_written), 1)
        if isinstance(value, np.ndarray):
            self.arrays.append(value)
            self.values += [value.ctypes.data, *value.shape]
            return Argument(Encoding.ARRAY, array_type(value.dtype, value.ndim, False))
        self.values.append(int(value))
        return Argument(Encoding.VALUE)


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return shape if isinstance(shape, tuple) else (shape,)

