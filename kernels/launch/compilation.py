"""The one policy for compiling loops: `@kernel`.

    @kernel                       # a helper, or a loop that runs on the calling thread: called like a
    function def clamped(value, limit): ...

    @kernel(parallel=True)        # the body of one task; its first parameter is the task's number
    def copy_rows(task, size, operand, result): ...

    tasks, size = division(rows, row_bytes)
    copy_rows(tasks, size, operand, result, threads=threads)    # runs tasks 0 to tasks - 1

Numba compiles a kernel when it is first called with arguments of some types (`tasks` = 0 compiles and runs
nothing) and the result is kept on disk (`cache`). A parallel kernel is compiled serially and launched by one
driver (`launch`): one task or one thread runs the same code on the calling thread. Kernels may call kernels,
and may be made by a function that closes over kernels and plain values. Floating-point arithmetic is never
reordered, indices are not checked, the interpreter's lock is released. A kernel must write to its task's own
part of the results only, whatever the number of threads.

Signatures are best kept narrow: one-dimensional contiguous arrays, integers. `flat` makes such an array.
"""

import functools
import hashlib
import threading
import types
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from . import native
from . import threads as _threads
from .cache import DiskCache

_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}
_INTERNAL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of functions that native code alone calls. What Python would call takes a third of the time to compile."""


def _compiled_lazily(function: Callable[..., Any], name: str, **options: Any) -> Any:
    """Numba's dispatcher of a function, its compiled code kept on disk under that name."""
    import numba

    dispatcher = numba.njit(_renamed(function, name), **_OPTIONS, **options)
    dispatcher._cache = DiskCache(name)
    return dispatcher


def _renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A copy whose qualified name, and with it the symbols of its code, belongs to `name` alone.

    Numba tells functions of one qualified name apart by a number that it counts in each process anew: code
    that several processes kept on disk would bear equal symbols.
    """
    assert isinstance(function, types.FunctionType)
    parts = (function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy = types.FunctionType(function.__code__, *parts)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    copy.__qualname__ = f"{function.__qualname__}_{digest}"
    return copy


def native_address(function: Callable[..., Any], signature: str, name: str | None = None) -> int:
    """The address of a function compiled for a signature, with C's calling convention. It is valid for
    ever. Its code is kept under its own name, or another."""
    dispatcher = _compiled_lazily(function, name or function.__qualname__, no_cpython_wrapper=True)
    dispatcher.compile(signature)
    (compiled,) = dispatcher.overloads.values()
    _kept_alive.append(dispatcher)
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


_kept_alive: list[Any] = []


def _parallel_driver() -> int:
    """The address of the driver that shares tasks with the threads of Numba's layer."""
    from .parallel_driver import drive

    return native_address(drive, "void(intp,intp,intp,intp)")


_threads.offer_driver(_parallel_driver)


class Kernel:
    """A function that Numba compiles at its first call. See the module's text for how it is called."""

    def __init__(self, function: Callable[..., Any], parallel: bool, inline: bool) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._parallel = parallel
        self._inline = inline
        self._lock = threading.RLock()
        self._body: Any = None
        self._entry: Any = None
        self._addresses: dict[Any, int] = {}

    @property
    def name(self) -> str:
        """What tells this kernel from all others: module, name, and the names or values that it closes
        over."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        closed_over = [cell.name if isinstance(cell, Kernel) else repr(cell) for cell in cells]
        qualified = f"{self._function.__module__}.{self._function.__qualname__}"
        return f"{qualified}({', '.join(closed_over)})" if cells else qualified

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function itself, which other kernels may call, but not Python."""
        with self._lock:
            if self._body is None:
                inline = {"inline": "always"} if self._inline else {}
                self._body = _compiled_lazily(self._function, self.name, **_INTERNAL, **inline)
            return self._body

    @property
    def _numba_type_(self) -> Any:
        """Lets other kernels call this one."""
        return self.dispatcher._numba_type_

    def _entry_point(self) -> Any:
        """What Python calls."""
        with self._lock:
            if self._entry is None:
                part, make = ("tasks", _tasks_of) if self._parallel else ("call", _call_of)
                self._entry = _compiled_lazily(make(self.dispatcher), f"{part} of {self.name}")
            return self._entry

    def task_address(self, arguments: Any) -> int:
        """The address of a task, `void (int64 task, void *closure)`, that finds its arguments in the closure
        (`launch.from_closure`)."""
        from .parallel_driver import from_closure

        assert self._parallel
        with self._lock:
            address = self._addresses.get(arguments)
            if address is None:
                name = f"task of {self.name} from a closure: {arguments}"
                task = from_closure(self.dispatcher, arguments)
                address = self._addresses[arguments] = native_address(task, "void(intp, intp)", name)
            return address

    def __call__(self, *arguments: Any, threads: int | None = None) -> Any:
        """Call the function; of a parallel kernel, run as many tasks as the first argument says.

        Raises MemoryError where a task could not have the memory that it needs, and what a signal's handler
        raises meanwhile.
        """
        entry = self._entry or self._entry_point()
        if not self._parallel:
            return entry(*arguments)
        tasks = arguments[0]
        count = 1 if tasks <= 1 else _threads.chosen_threads(threads)
        if count == 1:
            failed = entry(0, 1, *arguments)
        else:
            with _threads.launches():
                failed = entry(_threads.driver(), count, *arguments)
        if failed:
            native.raise_failure(failed, self.name)
        return None


def _tasks_of(body: Any) -> Callable[..., Any]:
    """A function that runs tasks of a dispatcher's function."""
    from .parallel_driver import run_tasks

    def entry(driver, threads, tasks, *arguments):
        return run_tasks(body, driver, threads, tasks, arguments)

    return entry


def _call_of(body: Any) -> Callable[..., Any]:
    """A function that calls a dispatcher's function."""

    def entry(*arguments):
        return body(*arguments)

    return entry


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, parallel: bool = ..., inline: bool = ...) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(function: Any = None, *, parallel: bool = False, inline: bool = False) -> Any:
    """Make a function a kernel. `inline` puts a helper's code into its callers before types are inferred."""
    if function is None:
        return lambda decorated: Kernel(decorated, parallel, inline)
    return Kernel(function, parallel, inline)


def flat(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """The items of an array in row-major order as a one-dimensional, read-only, contiguous array, viewed as
    `dtype`.

    Copies only what is not contiguous. Read-only, so that loops need one signature for arrays of either kind.
    """
    items = np.ascontiguousarray(array).reshape(-1)
    items = items.view() if dtype is None else items.view(dtype)
    items.flags.writeable = False
    return items
