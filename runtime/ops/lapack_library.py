"""Where the routines of LAPACK and BLAS are, and how a batch of problems is given to them.

NumPy's wheels bring an OpenBLAS with all of LAPACK. Its routines come first: NumPy's products use the threads
of the same library, and those of a second one would compete with them. Without it, SciPy has all routines.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..types import ELEMENT_TYPES
from .declaration import Array
from .fortran import call_for_each, capsule_address

ELEMENTS: Final = {
    "s": {"T": "f32", "R": "f32", "C": "complex<f32>", "I": "i32"},
    "d": {"T": "f64", "R": "f64", "C": "complex<f64>", "I": "i32"},
    "c": {"T": "complex<f32>", "R": "f32", "C": "complex<f32>", "I": "i32"},
    "z": {"T": "complex<f64>", "R": "f64", "C": "complex<f64>", "I": "i32"},
}
"""For each prefix of a routine's name the types called T (element), R (real), C (complex), I (integer)."""

_ON_ONE_THREAD: Final = 1 << 18
"""Problems with matrices of so many elements are solved on the calling thread: more threads gain little on
them, and where other processes use the processors they wait for each other for milliseconds."""

_ALONE: Final = 1 << 10
"""Problems of so few elements the library leaves to the calling thread by itself."""

_MOST_WORKSPACES: Final = 1000
"""Kinds of problems of which the sizes of workspaces are kept."""

Argument = Array | str | int


def _numpy_function(name: str) -> Any:
    """A function of the library below NumPy; None where it has no such function."""
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
    """The address of a routine among those of SciPy, whose integers have 32 bits."""
    from scipy.linalg import cython_blas, cython_lapack

    capsules: dict[str, Any] = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
    return capsule_address(capsules[name])


@functools.cache
def _native(name: str) -> tuple[int, Any]:
    """The address of a routine, and its type of integers."""
    address = _in_numpy(name)
    return (_in_scipy(name), np.int32) if address is None else (address, np.int64)


class _OneThread:
    """A context in which the library below NumPy works on the calling thread.

    It holds for all threads of the process: another thread's product takes one thread as well, for a moment.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entered = 0
        self.threads = 0

    @functools.cached_property
    def functions(self) -> tuple[Any, Any]:
        """What gets and sets the number of threads; without them nothing is set."""
        names = "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"
        get, set = map(_numpy_function, names)
        return (get, set) if get and set else (lambda: 0, lambda threads: None)

    def __enter__(self) -> None:
        get, set = self.functions
        with self.lock:
            if self.entered == 0:
                self.threads = get()
                set(1)
            self.entered += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.entered -= 1
            if self.entered == 0:
                self.functions[1](self.threads)

    def leave_in_child(self) -> None:
        """Other threads are gone after a fork, and so may be the lock."""
        self.lock = threading.Lock()
        if self.entered:
            self.entered = 0
            self.functions[1](self.threads)


_one_thread = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_one_thread.leave_in_child)


class Library:
    """The routines for one element type, which their names' first letter tells."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.is_real = prefix in "sd"
        self.workspaces: dict[tuple[Argument, ...], list[int]] = {}

    def empty(self, name: str, kind: str, *shape: int) -> Array:
        """An array for what a routine writes: of kind T, R or C, or I as wide as its integers are."""
        if kind == "I":
            return np.empty(shape, _native(self.prefix + name)[1])
        return np.empty(shape, ELEMENT_TYPES[ELEMENTS[self.prefix][kind]].dtype)

    def call(self, name: str, count: int, *arguments: Argument) -> None:
        """Call a routine for each of `count` problems.

        Args:
            name: the routine's, without the letter of its element type.
            count: how many problems there are.
            arguments: arrays as for `call_for_each`, integers, characters. `empty` makes integer arrays.
        """
        address, integer = _native(self.prefix + name)
        matrices = [each for each in arguments if isinstance(each, np.ndarray) and each.ndim == 3]
        largest = max([batch.size for batch in matrices], default=0)
        is_alone = count * _ALONE < largest <= count * _ON_ONE_THREAD
        with _one_thread if is_alone else contextlib.nullcontext():
            call_for_each(address, count, integer is np.int64, arguments)

    def call_with_workspace(
        self, name: str, count: int, *arguments: Argument, kinds: str = "T", rest: Sequence[Argument] = ()
    ) -> None:
        """As `call`, for a routine that then takes workspaces, each with its size, and the rest.

        Args:
            name: the routine's, without the letter of its element type.
            count: how many problems there are.
            arguments: those before the workspaces.
            kinds: what the workspaces hold, as `empty` names it.
            rest: what follows.
        """
        problem = (name, *[each for each in arguments if not isinstance(each, np.ndarray)])
        sizes = self.workspaces.get(problem)
        if sizes is None:
            found = [self.empty(name, kind, 1) for kind in kinds]
            asked: list[Argument] = [item for work in found for item in (work, -1)]
            self.call(name, 1, *arguments, *asked, *rest)
            sizes = [max(1, _rounded_up(work[0])) for work in found]
            if len(self.workspaces) < _MOST_WORKSPACES:
                self.workspaces[problem] = sizes
        given: list[Argument] = []
        for kind, size in zip(kinds, sizes, strict=True):
            given += [self.empty(name, kind, 1, size), size]
        self.call(name, count, *arguments, *given, *rest)


def _rounded_up(size: Any) -> int:
    """A size that came as a float, which has been rounded where it has 32 bits."""
    if isinstance(size, np.integer):
        return int(size)
    return int(np.nextafter(np.float32(size.real), np.float32(np.inf)))


LIBRARIES: Final = {prefix: Library(prefix) for prefix in ELEMENTS}


def library_of(dtype: Any) -> Library:
    """The routines for elements that NumPy has in that type."""
    return LIBRARIES[{"f4": "s", "f8": "d", "c8": "c", "c16": "z"}[np.dtype(dtype).str[1:]]]


def by_columns(batch: Array) -> Array:
    """A copy of matrices with rows and columns exchanged: in memory, each matrix column by column."""
    return np.array(batch.swapaxes(-1, -2), order="C")


def factors(library: Library, a: Array, lower: bool) -> tuple[Array, Array]:
    """POTRF: the triangular factors of matrices, and for each 0 or the order of the part that has none.

    Args:
        library: the routines for the elements.
        a: shape (count, n, n), n > 0; only the triangle that `lower` names is read, and the other is kept.
        lower: whether L of a = L L^H is wanted, or U of a = U^H U.
    """
    count, order, _ = a.shape
    info = library.empty("potrf", "I", count)
    if a.swapaxes(-1, -2).flags.c_contiguous and not a.flags.c_contiguous:
        a, uplo = by_columns(a), "UL"[lower]
        library.call("potrf", count, uplo, order, a, order, info)
        return a.swapaxes(-1, -2), info
    # Read by columns, memory holds the transpose, whose upper factor is the transpose of the lower one.
    a = np.array(a, order="C")
    library.call("potrf", count, "LU"[lower], order, a, order, info)
    return a, info


def solutions(
    library: Library, a: Array, b: Array, *, left_side: bool, lower: bool, transpose: str, unit_diagonal: bool
) -> Array:
    """TRSM: the x of op(a) x = b, or of x op(a) = b where `left_side` is False.

    Args:
        library: the routines for the elements.
        a: shape (count, n, n), n > 0.
        b: shape (count, n, k) or (count, k, n), k > 0.
        left_side, lower: on which side a is, and which triangle of it is read.
        transpose: "N", "T" or "C", the operation op.
        unit_diagonal: whether the diagonal counts as ones, unread.
    """
    a, x = np.ascontiguousarray(a), np.array(b, order="C")
    count, rows, columns = x.shape
    # Read by columns, memory holds the transposed systems, where a is on the other side.
    library.call(
        "trsm",
        count,
        "LR"[left_side],
        "LU"[lower],
        transpose,
        "NU"[unit_diagonal],
        columns,
        rows,
        np.ones((), x.dtype),
        a,
        a.shape[-1],
        x,
        columns,
    )
    return x
