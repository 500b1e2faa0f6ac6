"""Calls of native code: on one thread and on the pool; at exits and forks."""

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from nimblehlo.kernels.launch import threads
from nimblehlo.kernels.launch.native import (
    Launch,
    NativeFunction,
    has_pool,
    run_in_order,
    wake_workers,
)
from tests.support.interrupts import interrupt
from tests.support.threads import on_threads

TASK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


@TASK
def _double(task, closure):
    """Doubles the task's share of int64 numbers; the words are source, destination, total and size."""
    source, destination, total, size = closure[:4]
    first = task * size
    count = max(0, min(size, total - first))
    a = (ctypes.c_int64 * count).from_address(source + 8 * first)
    b = (ctypes.c_int64 * count).from_address(destination + 8 * first)
    for index in range(count):
        b[index] = 2 * a[index]


def made(total, tasks, seconds=0.0, count=None, **options):
    size = -(-total // tasks)
    address = ctypes.cast(_double, ctypes.c_void_p).value
    launch = Launch(address, tasks, ((0, 0), (1, 0)), (total, size), seconds)
    return NativeFunction([8 * total], [((total,), np.int64)], [launch], count, **options)


@pytest.mark.parametrize("tasks", [1, 3, 7])
@pytest.mark.parametrize("seconds", [0.0, 1e-4, 1.0], ids=["at once", "by the pool", "long"])
@pytest.mark.parametrize("count", [1, 2, 5, None])
def test_every_task_runs_once(tasks, seconds, count):
    values = np.arange(100)
    assert (made(100, tasks, seconds, count)(values) == 2 * values).all()


@pytest.mark.parametrize("seconds", [1e-7, 1e-5])
def test_a_call_writes_to_given_arrays_and_copies_operands_that_are_not_contiguous(seconds):
    function, out = made(4, 1, seconds), np.empty(4, np.int64)
    assert function(np.arange(8)[::2], out=(out,)) is out and out.tolist() == [0, 4, 8, 12]
    assert function(np.arange(4), out=(None,)).tolist() == [0, 2, 4, 6]
    assert function(*[np.arange(4)], out=(out,)) is out and out.tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match="into"):
        function(np.arange(4), into=(out,))
    with pytest.raises(TypeError):
        function("abcd")
    with pytest.raises(ValueError, match="operand 0 has 8 bytes, but must have 32"):
        function(np.arange(1))
    with pytest.raises(ValueError, match="takes 1 operands, but got 2"):
        function(out, out)


def taken(launch):
    """Which threads have taken which of 40 tasks of a launch on two, as they began."""
    begun = []

    @TASK
    def note(task, closure):
        begun.append((threading.get_ident(), task))
        time.sleep(1e-3)

    launch(ctypes.cast(note, ctypes.c_void_p).value)
    assert sorted(task for _, task in begun) == list(range(40))
    return begun


@pytest.mark.skipif(not has_pool(), reason="there is no pool here")
@pytest.mark.skipif(threads.available_threads() < 2, reason="there is one processor")
@pytest.mark.parametrize("alerts", [0, 1, 3])
def test_threads_that_were_woken_before_join_short_launches(alerts):
    """Sleeping threads are not woken for such."""
    values = np.arange(1)

    def launch(task, seconds):
        NativeFunction([8], [((1,), np.int64)], [Launch(task, 40, ((0, 0),), (), seconds)], 2)(values)

    def launch_short(task):
        for _ in range(alerts):
            wake_workers()
        launch(task, 1e-4)

    expected, counts = 2 if alerts else 1, []
    # On a busy machine a thread may come too late once, or not sleep yet.
    while counts[-1:] != [expected] and len(counts) < 20:
        taken(lambda task: launch(task, 1.0))
        time.sleep(0.05)
        counts.append(len({thread for thread, _ in taken(launch_short)}))
    assert counts[-1] == expected, counts


def test_threads_that_were_woken_for_nothing_sleep_again():
    made(100, 7, 1.0, 2)(np.arange(100))
    for pause in (0.0, 1e-5, 1e-4, 1e-3) * 20:
        wake_workers()
        time.sleep(pause)
        values = np.arange(100)
        assert (made(100, 7, 1.0, 2)(values) == 2 * values).all()


@pytest.mark.skipif(not has_pool(), reason="there is no pool")
def test_threads_begin_with_shares_of_neighbours():
    accesses, values = ((0, 0), (1, 0)), np.arange(1)
    begun = taken(
        lambda task: NativeFunction([8], [((1,), np.int64)], [Launch(task, 40, accesses, (), 1.0)], 2)(values)
    )
    for thread in {thread for thread, _ in begun}:
        first, *others = [task for one, task in begun if one == thread]
        assert first == 0 or first >= 20
        kept = [task for task in (first, *others) if (task < 20) == (first < 20)]
        assert [first, *others][: len(kept)] == kept == sorted(kept)


def test_tasks_that_may_wait_for_others_are_taken_in_order():
    begun = [task for _, task in taken(lambda task: run_in_order(task, 0, 40, 1.0, 2))]
    for number, task in enumerate(begun):
        # The other thread may have taken one that it has not begun.
        assert sum(other < task for other in begun[:number]) >= task - 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs the C library's usleep")
@pytest.mark.parametrize("count", [1, 2, None])
def test_an_interrupt_stops_a_launch_between_tasks(count):
    """A task that sleeps as many microseconds as its number says, 5000 s in all; the next launch is whole."""
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value
    interrupt(lambda: run_in_order(sleep, 0, 100_000, 5000.0, count))
    values = np.arange(100)
    assert (made(100, 7, 1.0, count)(values) == 2 * values).all()


def test_results_go_where_they_are_asked_for():
    values, out = np.arange(10), np.zeros(10, np.int64)
    function = made(10, 1)
    assert function(values, out=(out,)) is out and (out == 2 * values).all()
    assert function(values, out=(None,)) is not out
    assert function(values, out=(values,)) is values and (values == out).all()


def test_operands_are_read_in_row_major_order():
    values = np.arange(40)
    assert (made(10, 2)(values[::4]) == 2 * values[::4]).all()
    assert (made(10, 2)(values[9::-1]) == 2 * values[9::-1]).all()


def test_what_does_not_fit_is_refused():
    function = made(10, 2)
    with pytest.raises(ValueError, match="takes 1 operands, but got 2"):
        function(np.arange(10), np.arange(10))
    with pytest.raises(ValueError, match="operand 0 has 72 bytes, but must have 80"):
        function(np.arange(9))
    with pytest.raises(TypeError):
        function([1, 2])


def test_long_closures():
    """More words than lie on the stack."""
    address = ctypes.cast(_double, ctypes.c_void_p).value
    launch = Launch(address, 2, ((0, 0), (1, 0)), (10, 5, *range(500)), 0.0)
    values = np.arange(10)
    assert (NativeFunction([80], [((10,), np.int64)], [launch])(values) == 2 * values).all()


@pytest.mark.parametrize("operands", [94, 95, 106, 1000])
@pytest.mark.parametrize("results", [2, 600])
def test_many_operands_and_results(operands, results):
    """94 operands and 2 results are the most whose addresses lie on the stack."""
    address = ctypes.cast(_double, ctypes.c_void_p).value
    pairs = [(number % operands, operands + number) for number in range(results)]
    launches = [Launch(address, 1, ((source, 0), (result, 0)), (3, 3), 0.0) for source, result in pairs]
    function = NativeFunction([24] * operands, [((3,), np.int64)] * results, launches)
    values = [np.arange(3) + number for number in range(operands)]
    for number, result in enumerate(function(*values)):
        assert (result == 2 * values[number % operands]).all()
    out = [np.zeros(3, np.int64) if number % 2 else None for number in range(results)]
    for array, result in zip(out, function(*values, out=tuple(out)), strict=True):
        assert array is None or array is result
    with pytest.raises(ValueError, match=f"takes {operands} operands, but got {operands - 1}"):
        function(*values[1:])


def test_launches_at_the_same_time():
    functions = [made(997, 50, 1.0, count) for count in (2, 3, None, 8)]

    def launch(number):
        for turn in range(20):
            values = np.arange(997) + 1000 * number + turn
            assert (functions[(number + turn) % 4](values) == 2 * values).all(), turn

    on_threads(6, launch)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_has_threads_of_its_own():
    code = """
        import numpy as np
        from tests.kernels.launch.test_native import made
        function, values = made(1000, 100, 1.0, 4), np.arange(1000)
        for _ in range(3):
            assert (function(values) == 2 * values).all()
            child = os.fork()
            if child == 0:
                good = all((function(values + i) == 2 * (values + i)).all() for i in range(20))
                grandchild = os.fork()
                if grandchild == 0:
                    os._exit(0 if (function(values) == 2 * values).all() else 1)
                os._exit(0 if good and os.waitpid(grandchild, 0)[1] == 0 else 1)
            assert os.waitpid(child, 0)[1] == 0
    """
    run(code)


def test_many_brief_concurrent_launches():
    """Threads come and go: none may miss a task, take one twice, or one of another launch."""
    sizes = ((7, 7, 2), (50, 9, 3), (99, 33, 8))
    functions = [made(total, tasks, 2e-5, count) for total, tasks, count in sizes]

    def launch(seed):
        for number in range(400):
            which = (seed + number) % 3
            values = np.arange(seed, seed + sizes[which][0])
            assert (functions[which](values) == 2 * values).all(), (seed, number)

    on_threads(3, launch)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's affinities")
@pytest.mark.parametrize("children", [0, 1])
def test_threads_that_are_woken_leave_the_callers_processor(children):
    """Also in a child after a fork; the caller may run where it might before."""
    code = """
        import os, time
        import numpy as np
        from tests.kernels.launch.test_native import made
        allowed = os.sched_getaffinity(0)
        function, values = made(1000, 100, 1.0, 3), np.arange(1000)
        known = set(os.listdir("/proc/self/task"))
        function(values)
        if CHILDREN:
            child = os.fork()
            if child:
                os._exit(os.waitpid(child, 0)[1] != 0)
            known = set(os.listdir("/proc/self/task"))
            function(values)
        woken = [int(name) for name in set(os.listdir("/proc/self/task")) - known]
        assert len(woken) == min(3, len(allowed)) - 1
        for wait in (0.3, 0.3):
            time.sleep(wait)
            assert (function(values) == 2 * values).all()
        assert os.sched_getaffinity(0) == allowed
        for number in woken:
            mask = os.sched_getaffinity(number)
            assert mask < allowed and len(mask) == len(allowed) - 1
    """
    run(code.replace("CHILDREN", str(children)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's affinities")
@pytest.mark.parametrize(("assumed", "workers"), [(0, 0), (3, 2), (9, 4)])
def test_no_launch_uses_more_threads_than_processors(assumed, workers):
    """Five threads on one processor, unless more are assumed; later launches see a wider affinity."""
    code = f"""
        os.environ["NUMBA_NUM_THREADS"] = "5"
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {{min(allowed)}})
        import numpy as np
        from nimblehlo.kernels.launch.native import assume_processors
        from tests.kernels.launch.test_native import made
        assume_processors({assumed})
        def started():
            known = set(os.listdir("/proc/self/task"))
            for _ in range(70):
                assert (function(values) == 2 * values).all()
            return len(set(os.listdir("/proc/self/task")) - known)
        function, values = made(1000, 100, 1.0, 5), np.arange(1000)
        assert started() == {workers}
        os.sched_setaffinity(0, allowed)
        assert started() == max(0, min(5, {assumed} or len(allowed)) - 1 - {workers})
    """
    run(code)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's list of threads")
@pytest.mark.parametrize(("left", "workers"), [(0, 3), (1, 2), (3, 0), (9, 0)])
def test_launches_leave_processors_to_other_processes(left, workers):
    code = f"""
        os.environ["NUMBA_NUM_THREADS"] = "5"
        import numpy as np
        from nimblehlo.kernels.launch.native import assume_processors, leave_processors
        from tests.kernels.launch.test_native import made
        assume_processors(4)
        leave_processors("a", {left // 2})
        leave_processors("b", {left - left // 2})
        function, values = made(1000, 100, 1.0, 5), np.arange(1000)
        def started():
            known = set(os.listdir("/proc/self/task"))
            assert (function(values) == 2 * values).all()
            return len(set(os.listdir("/proc/self/task")) - known)
        assert started() == {workers}
        leave_processors("a", 0)
        leave_processors("b", 0)
        assert started() == 3 - {workers}
    """
    run(code)


def test_an_exit_does_not_wait_for_idle_threads():
    run("""
        import numpy as np
        from tests.kernels.launch.test_native import made
        made(1000, 100, 1.0, 4)(np.arange(1000))
    """)


def test_threads_are_counted_as_numba_counts_them(monkeypatch):
    available_threads = threads.available_threads.__wrapped__
    monkeypatch.setattr(threads, "processor_quota", lambda: None)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("NUMBA_NUM_THREADS", "many")
    assert available_threads() == len(os.sched_getaffinity(0))


@pytest.mark.skipif(not hasattr(os, "process_cpu_count"), reason="needs Python 3.13")
def test_processors_are_those_that_python_was_told_of():
    for arguments in (["-X", "cpu_count=7"], []):
        code = "from nimblehlo.kernels.launch import threads; print(threads.usable_processors())"
        environment = {**os.environ, "PYTHON_CPU_COUNT": "7"}
        child = subprocess.run(
            [sys.executable, *arguments, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout == "7\n"


def run(code):
    """Run code in a child process, which must end well and soon; returns what it prints."""
    prelude = "import os, sys, time\nfrom nimblehlo.kernels.launch import compilation, threads\n"
    # Since 3.12 Python warns of every fork of a process with threads.
    options = ["-W", "ignore:This process:DeprecationWarning"]
    child = subprocess.run(
        [sys.executable, *options, "-c", prelude + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.returncode == 0 and not child.stderr, child.stderr
    return child.stdout.strip()
