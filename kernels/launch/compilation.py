"""The compile options and call protocol of all loops: `@kernel`.

    @kernel                       # a helper, or a loop on the calling thread: called like a function
    def clamped(value, limit): ...

    @kernel(parallel=True)        # the body of one task; its first parameter is the task's number
    def copy_rows(task, size, operand, result): ...

    tasks, size = division(rows, row_bytes)
    copy_rows(tasks, size, flat(operand), result.reshape(-1), threads=threads)    # runs tasks 0 to tasks - 1

Numba compiles a kernel at its first call with arguments of some types (`tasks` = 0 compiles, and runs
nothing). A parallel kernel is compiled as serial code that loads its arguments from a closure, and `native`
runs its tasks as it runs generated code. Its machine code is cached on disk (`compiling/kernel_cache.py`).
Importing a module with kernels imports Numba, so that others name kernels by `kernel_at`: where their code is
on the disk, or another process can compile it, this process runs them without Numba.
Kernels may call kernels, and a function that closes over kernels and plain values may make a kernel.
Floating-point arithmetic is never reordered, indices are not checked, the GIL is released. A task must write
only its own range of the results, whatever the number of threads.

Keep signatures narrow: one-dimensional contiguous arrays and integers. `flat` makes such an array.
"""

import functools
import importlib
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast, overload

import numpy as np

from ..compiling.closure_arguments import Arguments, encoded_arguments
from . import library_pages, native
from .private_names import require_numba
from .spans import span

_kernels: weakref.WeakSet["TaskKernel"] = weakref.WeakSet()


class NotCompiled(Exception):
    """A kernel's code is not there yet, in a context in which nothing is compiled."""


class _Compiling(threading.local):
    """Whether the thread compiles kernels, and waits for those that other threads compile."""

    is_allowed = True


_compiling = _Compiling()


@contextmanager
def without_compiling() -> Iterator[None]:
    """Let this thread use kernels whose code is there, such as on the disk, and no others.

    Within the context, a kernel that must be compiled, or that another thread compiles, raises NotCompiled
    before any of its tasks runs.
    """
    _compiling.is_allowed = False
    try:
        yield
    finally:
        _compiling.is_allowed = True


class TaskKernel:
    """A kernel whose tasks native code runs.

    Attributes:
        name: unique to the kernel and the sources.
        addresses: those of tasks, by the encodings of their arguments and by the kinds that
            `native.run_kernel` finds.
    """

    name: str

    def __init__(self) -> None:
        self.addresses: dict[Any, int] = {}
        self._lock = threading.RLock()
        _kernels.add(self)

    def task_address(self, arguments: Arguments) -> int:
        """The address of a `void (int64 task, void *closure)` that loads its arguments from the closure
        (`closure_arguments`)."""
        from ..compiling import object_code

        if not self._lock.acquire(blocking=_compiling.is_allowed):
            raise NotCompiled(self.name)
        try:
            address = self.addresses.get(arguments)
            if address is None:
                code = self._code(arguments)
                (address,) = object_code.load(code, [object_code.TASK_SYMBOL], native.kernel_symbols())
                library_pages.release()
                self.addresses[arguments] = address
            return address
        finally:
            self._lock.release()

    def _code(self, arguments: Arguments) -> bytes:
        """The machine code of a task, from the disk if it is there.

        Raises:
            NotCompiled: it is not, and this thread compiles nothing (`without_compiling`).
        """
        from ..compiling import kernel_cache

        name = f"task of {self.name} from a closure: {arguments}"
        code = kernel_cache.read(name)
        if code is None:
            if not _compiling.is_allowed:
                raise NotCompiled(self.name)
            with span("compile", self.name):
                code = self._compiled(arguments)
            kernel_cache.write(name, code)
        return code

    def _compiled(self, arguments: Arguments) -> bytes:
        """The machine code of a task, from wherever it is compiled."""
        raise NotImplementedError

    def address_for(self, key: Any, arguments: tuple[Any, ...]) -> int:
        """`task_address` for the arguments of a call, stored in `addresses` under `key`."""
        address = self.addresses[key] = self.task_address(encoded_arguments(arguments))
        return address

    def __call__(self, tasks: int, *arguments: Any, threads: int | None = None) -> None:
        """Run as many tasks as the first argument says.

        Raises MemoryError if a task cannot allocate memory, and passes on what a signal handler raises
        meanwhile.
        """
        native.run_kernel(self, tasks, list(arguments), threads)


class Kernel(TaskKernel):
    """A function that Numba compiles at its first call. The module's docstring says how to call it."""

    def __init__(self, function: Callable[..., Any], parallel: bool, inline: bool) -> None:
        super().__init__()
        functools.update_wrapper(self, function)
        self._function = function
        self._parallel = parallel
        self._inline = inline
        self._body: Any = None
        self._entry: Any = None

    @functools.cached_property
    def name(self) -> str:  # type: ignore[override]
        """Module, qualified name, and the names or values of the closure's cells."""
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        closed_over = [cell.name if isinstance(cell, Kernel) else repr(cell) for cell in cells]
        qualified = f"{self._function.__module__}.{self._function.__qualname__}"
        return f"{qualified}({', '.join(closed_over)})" if cells else qualified

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function: other kernels may call it, Python must not."""
        with self._lock:
            if self._body is None:
                require_numba()
                from ..compiling.numba_code import linked_dispatcher

                self._body = linked_dispatcher(self._function, self._inline)
            return self._body

    @property
    def _numba_type_(self) -> Any:
        """Lets other kernels call this one."""
        return self.dispatcher._numba_type_

    def machine_code(self, arguments: Arguments) -> bytes:
        """The machine code of a task, compiled in this process.

        Raises:
            MissingName: Numba cannot compile kernels.
        """
        dispatcher = self.dispatcher
        from ..compiling.numba_code import task_code

        assert self._parallel
        return task_code(dispatcher, arguments)

    _compiled = machine_code

    def __call__(self, *arguments: Any, threads: int | None = None) -> Any:
        """Call the function; a parallel kernel runs as many tasks as its first argument says."""
        if self._parallel:
            return super().__call__(*arguments, threads=threads)
        with self._lock:
            if self._entry is None:
                dispatcher = self.dispatcher
                from ..compiling.numba_code import called_dispatcher

                self._entry = called_dispatcher(dispatcher)
        return self._entry(*arguments)


class KernelReference(TaskKernel):
    """A parallel kernel by its name: the module that has it, and that imports Numba, is only imported to
    compile it, and then by another process where that is possible.
    """

    def __init__(self, module: str, function: str, options: tuple[Any, ...]) -> None:
        super().__init__()
        self.name = f"{module}.{function}{options or ''}"
        self._module, self._function, self._options = module, function, options

    def __reduce__(self) -> Any:
        return kernel_at, (self._module, self._function, *self._options)

    def machine_code(self, arguments: Arguments) -> bytes:
        """See `Kernel.machine_code`."""
        require_numba()
        kernel = getattr(importlib.import_module(self._module), self._function)
        if self._options or not isinstance(kernel, Kernel):
            kernel = kernel(*self._options)
        return cast(Kernel, kernel).machine_code(arguments)

    def _compiled(self, arguments: Arguments) -> bytes:
        from ..compiling.kernel_process import KERNEL_PROCESS

        code = KERNEL_PROCESS.compile((self, arguments))
        return self.machine_code(arguments) if code is None else code


@functools.cache
def kernel_at(module: str, function: str, *options: Any) -> KernelReference:
    """A parallel kernel of a module that must not be imported to call it.

    Args:
        module: its full name.
        function: the name of the kernel there, or of a function of `options` that makes it.
    """
    return KernelReference(module, function, options)


def problem() -> str | None:
    """Why Numba cannot compile kernels, or None. Imports Numba only where no other process can."""
    from ..compiling import kernel_cache
    from ..compiling.kernel_process import KERNEL_PROCESS
    from .private_names import problem as problem_here

    if kernel_cache.has_code():
        return None
    return KERNEL_PROCESS.problem() if KERNEL_PROCESS.may_run() else problem_here()


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
