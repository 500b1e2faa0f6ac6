"""The addresses of LAPACK and BLAS routines, and their calls for a batch of problems.

NumPy's wheels contain an OpenBLAS with all of LAPACK, which is preferred: NumPy's matrix products use the
threads of the same library, and the threads of a second one would compete with them. Otherwise SciPy has all
routines.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....errors import UnsupportedError
from ....types import ELEMENT_TYPES, Array, DType
from ...ir.record import Record
from .fortran import Call, Procedure, capsule_address, capsule_signature

ELEMENTS: Final = {
    "s": {"T": "f32", "R": "f32", "C": "complex<f32>", "I": "i32"},
    "d": {"T": "f64", "R": "f64", "C": "complex<f64>", "I": "i32"},
    "c": {"T": "complex<f32>", "R": "f32", "C": "complex<f32>", "I": "i32"},
    "z": {"T": "complex<f64>", "R": "f64", "C": "complex<f64>", "I": "i32"},
}
"""For each prefix of a routine's name the types called T (element), R (real), C (complex), I (integer)."""

_MAX_SINGLE_THREAD_ELEMENTS: Final = 1 << 18
"""Maximum number of elements of a matrix for which only the calling thread is used: more threads gain little,
and they wait for each other for milliseconds while other processes use the processors."""

_INTEGER: Final = re.compile(r"\bint \*")
"""An integer of 32 bits in the declaration of a routine of SciPy."""

_MAX_STACK_BYTES: Final = 1 << 14
"""Bytes up to which the arrays of a problem are on the stack; see `fortran.Call`."""

_MAX_WORKSPACE_RATIO: Final = 8
"""Maximum elements of a workspace for each element of a matrix: gesdd takes 4 n^2 + 7 n. If that overflows
the integers of a routine, it ends the process."""

_SECONDS_PER_ELEMENT: Final = 1.4e-8
"""Seconds of a routine with a fixed number of steps for each element of its largest matrix, at least: of
geqrf and orgqr of f32, orders 3 to 64 (Zen 4). From them follows how many threads share a batch."""
_ITERATION_FACTOR: Final = 4.0
"""How many times as long routines that iterate take, at least (syevd 4 to 5, gesdd 6 to 9, geev 12 to 16)."""

_MAX_SERIAL_CALL_ELEMENTS: Final = 1 << 10
"""Maximum number of elements of a problem for which the library itself uses only the calling thread."""


class Buffer(Record):
    """An array argument of a routine, for one problem.

    Attributes:
        shape: the sizes of a matrix or a vector; empty: a number.
        source: the operand with its initial elements.
        result: the result with its final elements.
        kind: its element type, as in `ELEMENTS`.
        by_columns: whether a matrix is stored column by column instead of row by row.
        is_read_only: whether the routine only reads it, so that it may be the operand itself.
        is_zero: whether its initial elements are zeros.
        skipped: the number of elements before the address that the routine takes.
        finite: the initial elements that must be finite, without which the routine is not called: "all", or
            those of the lower ("L") or upper ("U") triangle of a symmetric or Hermitian matrix, which is
            stored column by column; see `fortran`. None: the routine bears any elements.
        is_information: whether the routine reports in it whether it failed.
        pairs: the argument with the imaginary parts of the eigenvalues whose eigenvectors the array has; the
            result has these vectors unpacked. None: it has no eigenvectors.
    """

    shape: tuple[int, ...]
    source: int | None = None
    result: int | None = None
    kind: str = "T"
    by_columns: bool = True
    is_read_only: bool = False
    is_zero: bool = False
    skipped: int = 0
    finite: str | None = None
    is_information: bool = False
    pairs: int | None = None


class Workspace(Record):
    """Two arguments: an array of the size that the routine requests, and its size."""

    kind: str = "T"


def information(result: int | None = None) -> Buffer:
    """The argument in which a routine reports success."""
    return Buffer((), None, result, "I", is_information=True)


Argument = Buffer | Workspace | Array | str | int


def native_call_of(
    make: Callable[[], Call], arguments: Sequence[Argument], results: int, item: int
) -> Callable[[], Call] | None:
    """A function that prepares the native call (`fortran.Call.solver`); None for large problems.

    Args:
        make: makes the call.
        arguments: the arguments of the routine.
        results: the number of results of the operation.
        item: the maximum bytes of an element.
    """
    buffers = [argument for argument in arguments if isinstance(argument, Buffer)]
    sizes = [math.prod(buffer.shape) for buffer in buffers]
    # Each array begins at a cache line.
    fits_stack = sum(size * item + 64 for size in sizes) <= _MAX_STACK_BYTES
    are_made = {*range(results)} <= {buffer.result for buffer in buffers}
    if not (are_made and fits_stack and 0 < max(sizes) <= _MAX_SERIAL_CALL_ELEMENTS):
        return None
    return make if make().solver is not None else None


def _numpy_function(name: str) -> Any:
    """A function of the library to which NumPy is linked; None if it has no such function."""
    import numpy.linalg._umath_linalg as extension

    try:
        return getattr(ctypes.CDLL(extension.__file__), name)
    except (AttributeError, OSError):
        return None


def _in_numpy(name: str) -> int | None:
    """The address of a routine in the library below NumPy, whose integers have 64 bits."""
    routine = _numpy_function(f"scipy_{name}_64_")
    return None if routine is None else ctypes.cast(routine, ctypes.c_void_p).value


def _in_scipy(name: str) -> int:
    """The address of a routine of SciPy, whose integers have 32 bits.

    Source: SciPy's documentation, "Low-level callback functions" and `scipy.linalg.cython_lapack`.

    Raises:
        UnsupportedError: SciPy has no such routine, or one with other integers.
    """
    import scipy
    from scipy.linalg import cython_blas, cython_lapack

    for module in (cython_lapack, cython_blas):
        capsule = module.__pyx_capi__.get(name)
        if capsule is not None and _INTEGER.search(capsule_signature(capsule)):
            return capsule_address(capsule)
    raise UnsupportedError(
        f"neither NumPy's library nor scipy {scipy.__version__} has the routine {name}:"
        " scipy.linalg.cython_lapack and cython_blas have none with integers of 32 bits"
    )


@functools.cache
def _native(name: str) -> tuple[int, Any]:
    """The address of a routine, and its type of integers."""
    address = _in_numpy(name)
    return (_in_scipy(name), np.int32) if address is None else (address, np.int64)


class _ThreadLimits:
    """The number of threads that NumPy's LAPACK library may use while calls limit it.

    A limit holds for all threads of the process: another thread's product has it as well, for a moment.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.limits: list[int] = []
        self.threads = 0

    @functools.cached_property
    def functions(self) -> tuple[Any, Any]:
        """The functions that get and set the number of threads; without them nothing is set."""
        names = "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"
        get, set = map(_numpy_function, names)
        return (get, set) if get and set else (lambda: 0, lambda threads: None)

    def enter(self, limit: int) -> None:
        """Let the library use no more threads than that, until `leave` is called with the same limit."""
        get, set = self.functions
        with self.lock:
            if not self.limits:
                self.threads = get()
            self.limits.append(limit)
            set(min(self.threads, *self.limits))

    def leave(self, limit: int) -> None:
        with self.lock:
            self.limits.remove(limit)
            self.functions[1](min(self.threads, *self.limits) if self.limits else self.threads)

    def leave_in_child(self) -> None:
        """Other threads are gone after a fork, and so may be the lock."""
        self.lock = threading.Lock()
        if self.limits:
            self.limits.clear()
            self.functions[1](self.threads)


_thread_limits = _ThreadLimits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_limits.leave_in_child)


class _ThreadLimit:
    """A context in which the library below NumPy uses no more than some threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __enter__(self) -> None:
        _thread_limits.enter(self.limit)

    def __exit__(self, *_: object) -> None:
        _thread_limits.leave(self.limit)


class Library:
    """The routines for one element type, which the prefix of their names denotes."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.is_real = prefix in "sd"

    def call(
        self,
        name: str,
        arguments: Sequence[Argument],
        count: int,
        results: Sequence[tuple[Sequence[int], Any]],
        threads: int | None = None,
    ) -> Call:
        """The call of a routine for each of `count` problems.

        Args:
            name: the routine's, without the letter of its element type.
            arguments: all that it takes.
            count: how many problems there are.
            results: shape and element type of each result, batch dimensions included.
            threads: the maximum number of threads to use; None: all. They share the problems, or the library
                uses them for each problem if it is large.

        Raises:
            ValueError: the problem is too large for the library's integers.
        """
        address, integer = _native(self.prefix + name)
        types = {kind: ELEMENT_TYPES[type].dtype for kind, type in ELEMENTS[self.prefix].items()}
        types["I"] = np.dtype(integer)
        _check_sizes(arguments, integer)
        workspaces = self._workspaces(address, integer, types, arguments)
        passed: list[Any] = []
        largest = 0
        for argument in arguments:
            if isinstance(argument, Workspace):
                size = next(workspaces)
                passed += [(types[argument.kind], Buffer((size,))), size]
            elif isinstance(argument, Buffer):
                passed.append((types[argument.kind], argument))
                if len(argument.shape) == 2:
                    largest = max(largest, math.prod(argument.shape))
            else:
                passed.append(argument)
        is_single = largest <= _MAX_SINGLE_THREAD_ELEMENTS
        limit = 1 if is_single else threads
        context = None if largest <= _MAX_SERIAL_CALL_ELEMENTS or limit is None else _ThreadLimit(limit)
        iterates = any(isinstance(argument, Buffer) and argument.finite for argument in arguments)
        seconds = _SECONDS_PER_ELEMENT * largest * (_ITERATION_FACTOR if iterates else 1.0)
        sharing = threads if is_single else 1
        return Call(address, integer is np.int64, count, passed, results, context, seconds, sharing)

    def _workspaces(
        self, address: int, integer: Any, types: Mapping[str, DType], arguments: Sequence[Argument]
    ) -> Iterator[int]:
        """The sizes that a routine requests."""
        kinds = [argument.kind for argument in arguments if isinstance(argument, Workspace)]
        if not kinds:
            return
        arrays = [np.zeros(1, types[kind]) for kind in kinds]
        # A routine that computes these sizes reads and writes no other array.
        nothing, answers, asked = np.zeros(16), iter(arrays), []
        for argument in arguments:
            if isinstance(argument, Workspace):
                asked += [next(answers), -1]
            else:
                asked.append(nothing if isinstance(argument, Buffer) else argument)
        Procedure(lambda: Call(address, integer is np.int64, 1, asked, []))()
        yield from [max(1, _rounded_up(work[0])) for work in arrays]


def _check_sizes(arguments: Sequence[Argument], integer: Any) -> None:
    """Refuse arrays whose size, or that of the workspace for them, the library's integers cannot count.

    Raises:
        ValueError: an array is too large.
    """
    limit = int(np.iinfo(integer).max) // _MAX_WORKSPACE_RATIO
    sizes = [math.prod(argument.shape) for argument in arguments if isinstance(argument, Buffer)]
    if max(sizes, default=0) > limit:
        raise ValueError(f"LAPACK can take arrays of {limit} elements, but not of {max(sizes)}")


def _rounded_up(size: Any) -> int:
    """A size that came as a float, which has been rounded where it has 32 bits."""
    if isinstance(size, np.integer):
        return int(size)
    return int(np.nextafter(np.float32(size.real), np.float32(np.inf)))


LIBRARIES: Final = {prefix: Library(prefix) for prefix in ELEMENTS}


def library_of(dtype: Any) -> Library:
    """The routines for elements that NumPy has in that type."""
    return LIBRARIES[{"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[np.dtype(dtype).str[1:]]]


def potrf_arguments(order: int, lower: bool) -> list[Argument]:
    """The arguments of POTRF for triangular factors; the result `info` is 0, or the order of a leading
    block that has no factor.

    Args:
        order: of the matrices; only the triangle that `lower` names is read, and the other is not written.
        lower: whether L of a = L L^H is wanted, or U of a = U^H U.
    """
    # In column-major order memory holds the transpose, whose upper factor is the transpose of the lower one.
    a = Buffer((order, order), 0, 0, by_columns=False)
    return ["LU"[lower], order, a, order, information(1)]


def trsm_arguments(
    library: Library,
    shape: tuple[int, int],
    *,
    left_side: bool,
    lower: bool,
    transpose: str,
    unit_diagonal: bool,
) -> list[Argument]:
    """The arguments of TRSM for the solution x of op(a) x = b, or of x op(a) = b if `left_side` is False.

    Args:
        library: the routines for the elements.
        shape: that of b, the second operand; the first is a.
        left_side, lower: on which side a is, and which triangle of it is read.
        transpose: "N", "T" or "C", the operation op.
        unit_diagonal: whether the diagonal counts as ones, unread.
    """
    rows, columns = shape
    order = rows if left_side else columns
    one = np.ones((), ELEMENT_TYPES[ELEMENTS[library.prefix]["T"]].dtype)
    a = Buffer((order, order), 0, by_columns=False, is_read_only=True)
    x = Buffer(shape, 1, 0, by_columns=False)
    # In column-major order memory holds the transposed systems, where a is on the other side.
    flags = "LR"[left_side], "LU"[lower], transpose, "NU"[unit_diagonal]
    return [*flags, columns, rows, one, a, order, x, columns]
