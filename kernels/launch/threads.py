"""Threads: how many a launch may use, and how work is divided into tasks.

The pool (`task_pool.h`) runs the tasks of kernels and of generated code, so that there is one set of threads.
Where there is no pool, `native` starts threads of Python's.

More is decided elsewhere:

- `native.pyx`: which launches are too short for several threads, or wake none;
- `task_pool.h`: how many threads join a launch, and which tasks each begins with;
- `matmul/matmul.pyx`, `matmul/gemv.pyx`, `matmul/low_precision_matmul.pyx`, `matmul/strided_copy.pyx`,
  `fft/fft.pyx`, `convolution/convolution_tasks.pyx`, `linalg/linalg.pyx`: the tasks of these kernels, by
  their own costs; those of `matmul.pyx` and of `convolution/work_division.py` also by the thread count, which
  affects no sum. Their `MAX_TASKS` is the one below, except in `fft.pyx`.
"""

from __future__ import annotations

import functools
import os

from ..named_tuples import NamedTuple
from .control_groups import processor_quota

TASK_BYTES = 1 << 17
MAX_TASKS = 128


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


def chosen_threads(threads: int | None) -> int:
    """The number of threads that a launch may use; None: all.

    Raises ValueError for a number below 1.
    """
    if threads is None:
        return available_threads()
    if threads < 1:
        raise ValueError(f"threads is {threads}, but at least 1 is needed")
    return min(threads, available_threads())


@functools.cache
def available_threads() -> int:
    """The number of threads that a launch may use; computed once per process.

    That is `NUMBA_NUM_THREADS` if it is set, as in Numba. Otherwise it is the number of processors that the
    process may use: by its affinity (or what Python was told, `PYTHON_CPU_COUNT`), and by the processor time
    that its control groups grant, rounded up. The kernel would stop more threads than that in the middle of a
    launch, when they have used up that time.
    """
    configured = os.environ.get("NUMBA_NUM_THREADS", "")
    if configured.isdigit() and int(configured) > 0:
        return int(configured)
    processors = usable_processors()
    return max(1, min(processors, processor_quota() or processors))


def usable_processors() -> int:
    """The number of processors that the process may use, without the quotas of control groups."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
