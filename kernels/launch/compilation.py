"""The compile options and call protocol of all loops: `@kernel`.

    @kernel                       # a helper, or a loop on the calling thread: called like a function
    def clamped(value, limit): ...

    @kernel(parallel=True)        # the body of one task; its first parameter is the task's number
    def copy_rows(task, size, operand, result): ...

    tasks, size = division(rows, row_bytes)
    copy_rows(tasks, size, flat(operand), result.reshape(-1), threads=threads)    # runs tasks 0 to tasks - 1

Numba compiles a kernel at its first call with arguments of some types (`tasks` = 0 compiles, and runs
nothing), and the machine code is cached on disk (`cache`). A parallel kernel is compiled as serial code that
loads its arguments from a closure (`closures`), and `native` runs its tasks as it runs generated code.
Kernels may call kernels, and a function that closes over kernels and plain values may make a kernel.
Floating-point arithmetic is never reordered, indices are not checked, the GIL is released. A task must write
only its own range of the results, whatever the number of threads.

Keep signatures narrow: one-dimensional contiguous arrays and integers. `flat` makes such an array.
"""

import functools
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from . import library_pages, native
from .private_names import require_numba
from .processor import limit_numba

_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}


def _cached_dispatcher(function: Callable[..., Any], name: str, **options: Any) -> Any:
    """Numba's dispatcher of a function whose machine code is cached on disk under `name`."""
    from .cache import DiskCache
    from .deferred_blas import defer_blas

    numba = require_numba()
    limit_numba()
    defer_blas()
    from .linked import EntryCompiler

    unique = _with_unique_name(function, name)
    dispatcher = numba.njit(unique, **_OPTIONS, **options, pipeline_class=EntryCompiler)
    dispatcher._cache = DiskCache(name)
    return dispatcher


def _linked_dispatcher(function: Callable[..., Any], name: str, inline: bool) -> Any:
    """Numba's dispatcher of a function that compiled functions alone call (`linked`)."""
    numba = require_numba()
    from .linked import LinkedCompiler

    limit_numba()
    return numba.njit(
        _with_unique_name(function, name),
        **_OPTIONS,
        inline="always" if inline else "never",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=LinkedCompiler,
    )


def _with_unique_name(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A copy whose qualified name, and so the symbols of its machine code, is unique to `name`.

    Numba distinguishes functions of one qualified name by a counter that restarts in each process, so the
    symbols of code that several processes cached on disk would collide.
    """
    from .cache_files import digest

    assert isinstance(function, types.FunctionType)
    attributes = (function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy = types.FunctionType(function.__code__, *attributes)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    copy.__qualname__ = f"{function.__qualname__}_{digest(name.encode()).hex()[:16]}"
    return copy


_COMPILE_BYTES = 1 << 27
"""Bytes that Numba and LLVM take for a kernel, the first of a process: measured with Numba 0.68."""
_TASK_SIGNATURE = "void(intp, intp)"
"""The signature of a task: its number, and the address of the closure that has its arguments."""


def _compiled_task_address(task: Callable[[int, int], None], name: str) -> int:
    """The address of a compiled task, with C's calling convention; valid until the process ends.

    Args:
        name: of the code in the disk cache.
    """
    dispatcher = _cached_dispatcher(task, name, no_cpython_wrapper=True)
    with library_pages.released_during(_COMPILE_BYTES):
        dispatcher.compile(_TASK_SIGNATURE)
    library_pages.release()
    (compiled,) = dispatcher.overloads.values()
    _compiled_tasks.append(dispatcher)
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


_compiled_tasks: list[Any] = []


_kernels: weakref.WeakSet["Kernel"] = weakref.WeakSet()


class Kernel:
    """A function that Numba compiles at its first call. The module's docstring says how to call it."""

    def __init__(self, function: Callable[..., Any], parallel: bool, inline: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._parallel = parallel
        self._inline = inline
        self._lock = threading.RLock()
        _kernels.add(self)
        self._body: Any = None
        self._entry: Any = None
        self.addresses: dict[Any, int] = {}

    @property
    def name(self) -> str:
        """A unique name: module, qualified name, and the names or values of the closure's cells."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        closed_over = [cell.name if isinstance(cell, Kernel) else repr(cell) for cell in cells]
        qualified = f"{self._function.__module__}.{self._function.__qualname__}"
        return f"{qualified}({', '.join(closed_over)})" if cells else qualified

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function: other kernels may call it, Python must not."""
        with self._lock:
            if self._body is None:
                self._body = _linked_dispatcher(self._function, self.name, self._inline)
            return self._body

    @property
    def _numba_type_(self) -> Any:
        """Lets other kernels call this one."""
        return self.dispatcher._numba_type_

    def _entry_point(self) -> Any:
        """The dispatcher that Python calls."""
        with self._lock:
            if self._entry is None:
                self._entry = _cached_dispatcher(_serial_entry(self.dispatcher), f"call of {self.name}")
            return self._entry

    def task_address(self, arguments: Any) -> int:
        """The address of a `void (int64 task, void *closure)` that loads its arguments from the closure
        (`closures.closure_task`)."""
        from .closures import closure_task

        assert self._parallel
        with self._lock:
            address = self.addresses.get(arguments)
            if address is None:
                name = f"task of {self.name} from a closure: {arguments}"
                task = closure_task(self.dispatcher, arguments)
                address = self.addresses[arguments] = _compiled_task_address(task, name)
            return address

    def address_for(self, key: Any, arguments: tuple[Any, ...]) -> int:
        """`task_address` for the arguments of a call, stored in `addresses` under `key`."""
        from .closures import encoded_arguments

        address = self.addresses[key] = self.task_address(encoded_arguments(arguments))
        return address

    def __call__(self, *arguments: Any, threads: int | None = None) -> Any:
        """Call the function; a parallel kernel runs as many tasks as its first argument says.

        Raises MemoryError if a task cannot allocate memory, and passes on what a signal handler raises
        meanwhile.
        """
        if not self._parallel:
            return (self._entry or self._entry_point())(*arguments)
        tasks, *others = arguments
        return native.run_kernel(self, tasks, others, threads)


def _compiler_lock() -> Any:
    """Numba's lock, which a thread holds while it compiles; None where Numba is not loaded."""
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None)


class _Fork(threading.local):
    """Lets a fork wait until no other thread compiles, so that a child can.

    Attributes:
        lock: Numba's, which the thread that forks holds meanwhile. Several threads may fork.
    """

    lock: Any = None

    def before(self) -> None:
        self.lock = _compiler_lock()
        if self.lock is not None:
            self.lock.acquire()

    def after_in_parent(self) -> None:
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def after_in_child(self) -> None:
        # Other threads may have waited for Numba's lock while they held that of a kernel.
        for one in _kernels:
            one._lock = threading.RLock()
        self.after_in_parent()


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(
        before=_fork.before, after_in_parent=_fork.after_in_parent, after_in_child=_fork.after_in_child
    )


def _serial_entry(body: Any) -> Callable[..., Any]:
    """A function that calls a dispatcher's function."""

    def entry(*arguments):
        return body(*arguments)

    return entry


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, parallel: bool = ..., inline: bool = ...) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(function: Any = None, *, parallel: bool = False, inline: bool = False) -> Any:
    """Make a function a kernel. `inline` inlines a helper into its callers before type inference."""
    if function is None:
        return lambda decorated: Kernel(decorated, parallel, inline)
    return Kernel(function, parallel, inline)


def flat(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """The elements in row-major order as a one-dimensional, read-only, contiguous array of `dtype`.

    Only a non-contiguous array is copied. The view is read-only so that loops need one signature for writable
    and read-only arrays.
    """
    elements = np.ascontiguousarray(array).reshape(-1)
    elements = elements.view() if dtype is None else elements.view(dtype)
    elements.flags.writeable = False
    return elements
