"""Threads: what runs parallel loops, how many threads, and how work is divided.

The pool (`task_pool.h`) that serves generated code serves kernels too, so that there is one set of threads.
Where there is no pool, or NUMBA_THREADING_LAYER names one, a layer of Numba's is used: TBB, which survives a
fork and calls from several Python threads, where its library is found. GNU OpenMP kills a forked child at its
first parallel loop, so that a child runs serially. The workqueue layer aborts when two threads launch at
once, so that its launches wait for each other. Numba's own configuration is left as the user set it.
"""

import contextlib
import ctypes
import functools
import importlib
import os
import pathlib
import site
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

TASK_BYTES = 1 << 17
MAX_TASKS = 128

MIN_PARALLEL_SECONDS = 3e-5
"""Shorter launches of generated code run on the calling thread: a parallel launch costs 5 to 9 us."""
HAND_OFF_SECONDS = 1e-3
"""Where there is neither a pool (`task_pool.h`) nor yet a driver, longer work is shared with threads of
Python's, which cost 0.1 ms each."""
LOADING_SECONDS = 1.0
"""After so much time in such launches the driver is made by the way: importing Numba takes 0.7 s."""


class Division(NamedTuple):
    """Task `t` covers the items in [`t * size`, `(t + 1) * size`), the last task up to the total."""

    tasks: int
    size: int


def division(total: int, item_bytes: float, max_tasks: int = MAX_TASKS) -> Division:
    """Divide `total` items into tasks by their number and the bytes that one moves, not by the thread count.

    A task moves at least `TASK_BYTES`, because a parallel launch costs some microseconds. A single task runs
    on the calling thread.
    """
    if total <= 0:
        return Division(0, 1)
    tasks = max(1, min(total, max_tasks, int(total * item_bytes) // TASK_BYTES))
    size = -(-total // tasks)
    return Division(-(-total // size), size)


class _Pool:
    """The state of this process's parallel launches.

    Attributes:
        driver: address of the driver; 0 until it is chosen.
        pool_driver: address of the pool's driver; 0 if there is no pool.
        compile_driver: compiles a driver for Numba's threading layer, or loads it from the disk cache.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.layer = ""
        self.driver = 0
        self.pool_driver = 0
        self.compile_driver: Callable[[], int] | None = None
        self.most_threads = 1
        self.started_by = 0
        self.serial_only = False
        self.launches: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        self.hand_off_seconds = 0.0
        self.loader: threading.Thread | None = None
        self.background = threading.Lock()

    def start(self) -> None:
        """Choose the driver, once a process."""
        if not self.use_pool():
            self.start_layer()
            self.make_driver()

    def use_pool(self) -> bool:
        """Let the pool run kernels, if there is one and NUMBA_THREADING_LAYER names no layer."""
        with self.lock:
            if not self.layer and os.environ.get("NUMBA_THREADING_LAYER", "default") == "default":
                self.driver = self.pool_driver
                if self.driver:
                    self.layer, self.most_threads = "pool", available_threads()
            return self.layer == "pool"

    def start_layer(self) -> None:
        """Choose Numba's layer and start its threads; call it from the thread that forks, if any."""
        with self.lock:
            if self.layer:
                return
            import numba

            _load_tbb()
            self.most_threads = numba.config.NUMBA_NUM_THREADS
            numba.get_num_threads()
            self.layer = numba.threading_layer()
            self.started_by = threading.get_ident()
            if self.layer == "workqueue":
                self.launches = threading.Lock()

    def make_driver(self) -> None:
        """Compile the driver, or load it from the disk cache."""
        with self.lock:
            if not self.driver and self.compile_driver is not None:
                self.driver = self.compile_driver()

    def start_in_background(self) -> None:
        """Do the next step of `start`: import Numba in the background; then start the layer here, and compile
        the driver in the background."""
        if self.driver or (self.loader is not None and self.loader.is_alive()):
            return
        if "numba" not in sys.modules:
            self.wait_at_forks()
            self.loader = threading.Thread(target=_import_quietly, name="nimblehlo import")
        else:
            self.start_layer()
            self.loader = threading.Thread(target=self.make_driver, name="nimblehlo driver")
        self.loader.start()

    def wait_at_forks(self) -> None:
        """Make forks wait for the background thread before other hooks take locks that it needs.

        Hooks run before a fork in reverse order of registration, so the modules that Numba imports and that
        register hooks are imported first.
        """
        for name in ("concurrent.futures.thread", "logging"):
            importlib.import_module(name)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.before_fork)

    def before_fork(self) -> None:
        """Wait for the import: a child must not inherit a partially imported module."""
        if self.loader is not None and self.loader is not threading.current_thread():
            self.loader.join()

    def after_fork_in_child(self) -> None:
        """Replace the locks: other threads, which may have held them, do not exist in the child."""
        self.lock = threading.RLock()
        self.background = threading.Lock()
        if self.layer in ("", "pool"):
            return
        if self.layer == "workqueue":
            self.launches = threading.Lock()
        if self.layer != "workqueue" and not (
            self.layer == "tbb" and self.started_by == threading.get_ident()
        ):
            self.serial_only = True


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.after_fork_in_child)


def _load_tbb() -> None:
    """Load the TBB library that pip installed, because Numba looks for it by its bare name."""
    if not sys.platform.startswith("linux"):
        return
    for folder in dict.fromkeys((sys.prefix, sys.exec_prefix, site.getuserbase(), sys.base_prefix)):
        library = pathlib.Path(folder) / "lib" / "libtbb.so.12"
        if library.exists():
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
                return


def set_pool_driver(driver: int) -> None:
    """Let the pool run kernels; `driver` is the address of its driver, 0 where there is no pool."""
    _pool.pool_driver = driver


def offer_driver(compile_driver: Callable[[], int]) -> None:
    """Have the driver for layers of Numba's compiled by a function that returns its address."""
    _pool.compile_driver = compile_driver


def layer() -> str:
    """The implementation of parallel loops: "pool", or Numba's layer "tbb", "omp" or "workqueue"."""
    _pool.start()
    return _pool.layer


def chosen_threads(threads: int | None) -> int:
    """The number of threads that a launch may use; None: all.

    Raises ValueError for a number below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}, but at least 1 is needed")
    if threads == 1 or _pool.serial_only:
        return 1
    if not _pool.driver:
        _pool.start()
    return _pool.most_threads if threads is None else min(threads, _pool.most_threads)


def driver() -> int:
    """The address of the parallel driver, `void (address, closure, tasks, threads)`, all of them 64-bit
    integers."""
    if not _pool.driver:
        _pool.start()
    return _pool.driver


def launches() -> contextlib.AbstractContextManager[Any]:
    """The context in which a parallel launch must happen."""
    return _pool.launches


def driver_and_thread_count(threads: int | None) -> tuple[int, int]:
    """The address of the driver, 0 where there is none yet, and the number of threads to use.

    It never waits: unlike `driver`, it does not import Numba.
    """
    if threads == 1 or _pool.serial_only:
        return 0, 1
    if _pool.driver:
        return _pool.driver, _pool.most_threads if threads is None else min(threads, _pool.most_threads)
    available = available_threads()
    return 0, available if threads is None else min(threads, available)


@functools.cache
def available_threads() -> int:
    """The number of threads that Numba would use, without importing it; computed once per process."""
    configured = os.environ.get("NUMBA_NUM_THREADS", "")
    if configured.isdigit() and int(configured) > 0:
        return int(configured)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_hand_off(seconds: float) -> None:
    """Add up the time of launches without the driver; above LOADING_SECONDS it is compiled in the background.

    An exiting interpreter waits for the background thread, and so does a fork.
    """
    _pool.hand_off_seconds += seconds
    if _pool.hand_off_seconds > LOADING_SECONDS and _pool.background.acquire(blocking=False):
        try:
            _pool.start_in_background()
        finally:
            _pool.background.release()


def _import_quietly() -> None:
    # A failing import fails again, and is reported, when a kernel needs Numba.
    with contextlib.suppress(Exception):
        import numba  # noqa: F401
