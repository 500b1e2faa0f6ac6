"""Jobs that a thread does beside the calls."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from nimblehlo.compiler.cost_model import (
    OPTIMIZING_SECONDS,
    OPTIMIZING_SECONDS_PER_BYTE,
    OPTIMIZING_SECONDS_PER_BYTE_OF_STEPS,
    UNROLLING_SHARE,
)
from nimblehlo.compiler.loops.llvm import compiler_processes, machine
from nimblehlo.compiler.loops.llvm.quick_code import QuickCode
from nimblehlo.compiler.plan.tiering import background as tiering_background
from nimblehlo.compiler.plan.tiering.background import BACKGROUND, Background, Job, optimize_quick_code
from nimblehlo.kernels.launch.native import LaunchStopped
from tests.support.forks import holds_in_child, needs_fork


def test_jobs_are_done_in_order_quick_ones_first() -> None:
    background, done, gate = Background(), [], threading.Event()
    background.submit(Job(gate.wait, has_priority=True))
    for name, has_priority in (("a", False), ("b", True), ("c", False), ("d", True)):
        background.submit(Job(lambda name=name: done.append(name), has_priority))  # type: ignore[misc]
    gate.set()
    background.wait()
    assert done == ["b", "d", "a", "c"]


def test_jobs_that_wait_for_another_process_do_not_hold_up_others(caplog: pytest.LogCaptureFixture) -> None:
    background, done, answer = Background(), [], threading.Event()
    first = Job(lambda: answer.wait() and done.append("first"), has_priority=False, runs_beside=True)
    second = Job(lambda: done.append("second"), has_priority=False, runs_beside=True)
    failing = Job(raises(KeyboardInterrupt()), has_priority=False, runs_beside=True)
    for job in (first, failing, second):
        assert background.submit(job) is job
    background.finish(background.submit(Job(lambda: done.append("other"), has_priority=True)))
    assert done == ["other"] and background.is_busy and not first.ended
    answer.set()
    background.wait()
    assert done == ["other", "first", "second"] and failing.ended
    while background.is_busy:
        time.sleep(0.001)
    assert background.thread_beside is None and "KeyboardInterrupt" in caplog.text
    caplog.clear()


def test_the_thread_runs_jobs_that_no_other_one_can_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    background, start, done = Background(), threading.Thread.start, []

    def start_one(thread: threading.Thread) -> None:
        if thread.name == "nimblehlo waiting for a process":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    background.submit(Job(lambda: done.append(1), has_priority=False, runs_beside=True))
    background.wait()
    assert done == [1] and background.thread_beside is None


def test_the_thread_ends_with_the_jobs_and_starts_again() -> None:
    while BACKGROUND.thread is not None:
        time.sleep(0.001)
    background, interval = Background(), sys.getswitchinterval()
    for _ in range(2):
        job = background.submit(Job(lambda: time.sleep(0.01), has_priority=True))
        background.wait()
        while background.thread is not None:
            time.sleep(0.001)
        assert job.ended and sys.getswitchinterval() == interval


def test_callers_run_the_jobs_where_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    background, done = Background(), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", raises(RuntimeError("can't start new thread")))
        first = background.submit(Job(lambda: done.append(1), has_priority=True))
    assert not background.is_busy
    background.finish(first)
    background.submit(Job(lambda: done.append(2), has_priority=True))
    background.wait()
    assert done == [1, 2]


@pytest.mark.parametrize("reason", [KeyboardInterrupt, LaunchStopped])
def test_a_job_is_done_after_the_call_that_began_it_was_stopped(reason: type[BaseException]) -> None:
    background, reasons, done = Background(), [reason()], []

    def action() -> None:
        if reasons:
            raise reasons.pop()
        done.append(1)

    job = Job(action, has_priority=True)
    with pytest.raises(reason):
        background.run(job)
    background.finish(job)
    assert job.ended and done == [1]


def raises(error: BaseException) -> Callable[..., None]:
    def function(*arguments: object) -> None:
        raise error

    return function


@pytest.mark.parametrize("microseconds", [1, 199, 200, 201, 5000, 123_457])
def test_the_switch_interval_of_python_is_restored(microseconds: int) -> None:
    for thread in threading.enumerate():
        if thread.name == "nimblehlo compiling":
            # Those of earlier tests would restore their interval meanwhile.
            thread.join()
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval((microseconds + 0.5) * 1e-6)
        background, interval = Background(), sys.getswitchinterval()
        for _ in range(3):
            background.submit(Job(lambda: None, has_priority=True))
            while background.thread is not None:
                time.sleep(0.001)
        assert sys.getswitchinterval() == interval
    finally:
        sys.setswitchinterval(before + 5e-7)


def test_whoever_needs_a_job_waits_for_it_or_does_it() -> None:
    background, gate, done = Background(), threading.Event(), []
    first = background.submit(Job(gate.wait, has_priority=True))
    second = background.submit(Job(lambda: done.append(threading.current_thread()), has_priority=True))
    background.finish(second)
    assert done == [threading.current_thread()] and second.ended
    threading.Timer(0.05, gate.set).start()
    background.finish(first)
    background.finish(first)
    assert first.ended


class Watched(threading.Condition):
    """A condition that says when the thread named "second" begins to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.second_waits = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "second":
            self.second_waits.set()
        return super().wait(timeout)


def test_a_caller_with_a_limit_goes_on_while_a_thread_runs_the_job() -> None:
    """The thread of the queue runs another job. A fork waits for the end, and others see it."""
    background, gate, threads = Background(), threading.Event(), list[threading.Thread]()
    background.submit(Job(gate.wait, has_priority=True))
    # Not for ever, so that the test fails where the caller runs the job.
    job = Job(lambda: threads.append(threading.current_thread()) or gate.wait(5), has_priority=True)
    background.submit(job)
    background.finish(job, 0.01)
    assert not job.ended and threads != [threading.current_thread()]
    background.finish(job, 0.01)
    fork = threading.Thread(target=background.before_fork, daemon=True)
    fork.start()
    assert len(threads) == 1 and fork.is_alive()
    gate.set()
    background.finish(job, 60.0)
    assert job.ended
    fork.join(60.0)
    background.release()
    background.wait()
    assert not background.threads_of_jobs and not fork.is_alive()


def test_a_caller_with_a_limit_runs_the_job_where_no_thread_can_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    background, threads = Background(), list[threading.Thread]()
    monkeypatch.setattr(threading.Thread, "start", raises(RuntimeError("can't start new thread")))
    job = background.submit(Job(lambda: threads.append(threading.current_thread()), has_priority=True))
    background.finish(job, 0.01)
    assert job.ended and threads == [threading.current_thread()] and not background.threads_of_jobs


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_callers_see_the_end_of_a_job_that_another_caller_does(error: type[BaseException] | None) -> None:
    background = Background()
    changed = background.changed = Watched()

    def action() -> None:
        changed.second_waits.wait()
        if error is not None and threading.current_thread() is not background.thread:
            raise error

    def finish() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            background.finish(job)

    with background.held():
        job = background.submit(Job(action, has_priority=True))
        first = threading.Thread(target=finish, daemon=True)
        first.start()
        while job in background.waiting:
            time.sleep(0.001)
        second = threading.Thread(target=finish, name="second", daemon=True)
        second.start()
        for thread in (first, second):
            thread.join(60)
            assert not thread.is_alive()
    background.wait()
    assert job.ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_does_the_job_that_another_thread_of_its_parent_ran() -> None:
    script = """
import os, threading, time
from nimblehlo.compiler.plan.tiering.background import BACKGROUND, Job
parent, gate = os.getpid(), threading.Event()
with BACKGROUND.held():
    job = BACKGROUND.submit(Job(lambda: os.getpid() != parent or gate.wait(), has_priority=True))
    caller = threading.Thread(target=BACKGROUND.finish, args=[job])
    caller.start()
    while job in BACKGROUND.waiting:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        BACKGROUND.finish(job)
        os._exit(0 if job.ended else 1)
    for _ in range(1000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
    gate.set()
    caller.join()
print(ended != 0 and status == 0)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    assert run.stdout == "True\n", run.stderr


def test_no_job_begins_while_they_are_held() -> None:
    background, done = Background(), []
    with background.held():
        waiting = background.submit(Job(lambda: done.append("waiting"), has_priority=True))
        needed = background.submit(Job(lambda: done.append("needed"), has_priority=False))
        background.finish(needed)
        time.sleep(0.05)
        assert done == ["needed"] and not waiting.ended
    background.wait()
    assert done == ["needed", "waiting"]


def test_no_job_begins_while_they_are_held_where_the_thread_waits_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiering_background.library_pages, "is_due", lambda: False)
    background, done = Background(), []
    background.submit(Job(lambda: None, has_priority=True))
    background.wait()
    with background.held():
        background.submit(Job(lambda: done.append(1), has_priority=True))
        time.sleep(0.1)
        assert not done
    background.wait()
    assert done == [1]


def test_a_job_that_fails_is_over_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()
    job = background.submit(Job(lambda: 1 / 0, has_priority=True))
    background.finish(job)
    assert job.ended
    (record,) = caplog.records
    assert record.levelname == "WARNING" and "ZeroDivisionError: division by zero" in record.getMessage()
    caplog.clear()


def test_a_job_that_has_ended_refers_to_no_operands() -> None:
    """Steps keep their jobs, and a job's action the operands of the call that began it."""
    array = np.ones(3)
    reference = weakref.ref(array)
    job = Job(functools.partial(np.negative, array), has_priority=True)
    del array
    assert reference() is not None
    job.run()
    assert job.ended and reference() is None


@needs_fork
@pytest.mark.parametrize("runs_beside", [False, True])
def test_a_fork_waits_for_the_job_that_runs_and_the_child_has_its_own_thread(runs_beside: bool) -> None:
    background, begun, done = Background(), threading.Event(), []

    def compile() -> None:
        begun.set()
        time.sleep(0.1)
        done.append(1)

    background.submit(Job(compile, has_priority=True, runs_beside=runs_beside))
    later = background.submit(Job(lambda: None, has_priority=True, runs_beside=runs_beside))
    begun.wait()

    def check() -> bool:
        good = done == [1]
        job = background.submit(Job(lambda: None, has_priority=True))
        background.finish(job)
        background.finish(later)
        return good and job.ended

    assert holds_in_child(check)
    background.submit(Job(lambda: done.append(2), has_priority=True))
    background.wait()
    assert done == [1, 2]


def test_the_end_of_the_interpreter_waits_for_one_job_alone() -> None:
    code = """
import threading, time
from nimblehlo.compiler.plan.tiering.background import BACKGROUND, Job
begun = threading.Event()
def compile(number):
    begun.set()
    while threading.main_thread().is_alive():
        time.sleep(0.001)
    print(number, flush=True)
for number in range(50):
    BACKGROUND.submit(Job(lambda number=number: compile(number), has_priority=True))
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0 and ended.stdout == "0\n" and not ended.stderr


class Processes:
    """What `Background` asks of compiler processes; they take two texts."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self.texts = 2

    def start(self) -> bool:
        self.actions.append("start")
        return True

    def want_more(self, is_urgent: bool = True) -> bool:
        self.texts -= 1
        return self.texts >= 0

    @property
    def have_answers(self) -> bool:
        return True

    def read_available(self) -> None:
        pass

    def close(self) -> None:
        self.actions.append("close")


@pytest.mark.parametrize(("seconds", "starts"), [(0.99, False), (1.01, True)])
def test_processes_compile_ahead_while_long_jobs_wait(
    monkeypatch: pytest.MonkeyPatch, seconds: float, starts: bool
) -> None:
    processes, background, done = Processes(), Background(), []
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 0.0)
    with background.held():
        for number in range(3):
            background.submit(
                Job(
                    lambda number=number: done.append(number),  # type: ignore[misc]
                    has_priority=True,
                    ahead=lambda number=number: (processes.actions.append(f"ahead {number}"), 1 / 0),
                    seconds=seconds * tiering_background.MIN_WAITING_SECONDS / 3,
                )
            )
    background.wait()
    while background.thread is not None:
        time.sleep(0.001)
    assert done == [0, 1, 2]
    # The thread runs the first job meanwhile.
    assert processes.actions == (["start", "ahead 1", "ahead 2", "start", "start", "close"] if starts else [])


@pytest.mark.parametrize("has_processes", [False, True])
def test_processes_run_short_jobs_if_there_are_some(
    monkeypatch: pytest.MonkeyPatch, has_processes: bool
) -> None:
    processes, background = Processes(), Background()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    if has_processes:
        background.submit(Job(lambda: None, True, seconds=tiering_background.MIN_WAITING_SECONDS))
        background.wait()
    for has_priority in (True, False):
        ahead = functools.partial(processes.actions.append, f"ahead {has_priority}")
        background.submit(Job(lambda: None, has_priority, ahead, seconds=1e-3))
        background.wait()
    assert ("ahead False" in processes.actions) == has_processes == ("start" in processes.actions)


@pytest.mark.parametrize("code_needs_processes", [False, True])
def test_processes_start_and_optimize_while_the_thread_runs_a_job(
    monkeypatch: pytest.MonkeyPatch, code_needs_processes: bool
) -> None:
    processes, background, begun, gate = Processes(), Background(), threading.Event(), threading.Event()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    optimized_early: list[bool] = []

    def generate() -> None:
        begun.set()
        gate.wait()
        background.submit(Job(lambda: None, False, lambda: processes.actions.append("optimize")))
        optimized_early.append("optimize" in processes.actions)

    background.submit(Job(generate, has_priority=True))
    assert begun.wait(60) and not processes.actions
    ahead = functools.partial(processes.actions.append, "code") if code_needs_processes else None
    seconds = tiering_background.MIN_WAITING_SECONDS
    background.submit(Job(lambda: None, has_priority=True, ahead=ahead, seconds=seconds))
    assert processes.actions == ["start"]
    gate.set()
    background.wait()
    assert optimized_early == [not code_needs_processes] and "optimize" in processes.actions


@pytest.mark.parametrize(("benefit", "is_early"), [(0.0, True), (-1.0, False)])
def test_jobs_of_negative_benefit_are_compiled_ahead_once_no_quick_code_is_due(
    monkeypatch: pytest.MonkeyPatch, benefit: float, is_early: bool
) -> None:
    processes, background, begun, gate = Processes(), Background(), threading.Event(), threading.Event()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    early: list[bool] = []

    def generate() -> None:
        begun.set()
        gate.wait()
        ahead = functools.partial(processes.actions.append, "unroll")
        background.submit(Job(lambda: None, False, ahead, benefit=lambda: benefit))
        early.append("unroll" in processes.actions)

    background.submit(Job(generate, has_priority=True, seconds=10.0))
    assert begun.wait(60)
    background.submit(Job(lambda: early.append("unroll" in processes.actions), has_priority=True))
    gate.set()
    background.wait()
    assert early == [is_early] * 2 and "unroll" in processes.actions


@pytest.mark.parametrize("is_cache_empty", [False, True])
def test_processes_start_for_code_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, is_cache_empty: bool
) -> None:
    """Unless it may be on the disk."""
    processes, background, gate = Processes(), Background(), threading.Event()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_has_compiled_code", lambda: not is_cache_empty)
    half = tiering_background.MIN_REQUESTED_SECONDS / 2
    background.submit(Job(gate.wait, has_priority=True, seconds=half))
    while background.waiting:
        time.sleep(0.001)
    assert not processes.actions
    background.submit(Job(lambda: None, has_priority=True, seconds=half))
    assert processes.actions == ["start"] * is_cache_empty
    gate.set()
    background.wait()


def test_the_thread_compiles_where_starting_processes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background, done = Processes(), Background(), []
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(processes, "start", raises(MemoryError("no processes")))
    background.submit(Job(lambda: done.append(1), has_priority=True, seconds=10.0))
    background.wait()
    assert done == [1]


def test_one_thread_at_a_time_uses_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background, begun, gate = Processes(), Background(), threading.Event(), threading.Event()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    background.submit(
        Job(lambda: None, has_priority=True, ahead=lambda: (begun.set(), gate.wait()), seconds=10.0)
    )
    background.submit(Job(lambda: None, has_priority=True, ahead=lambda: None, seconds=10.0))
    assert begun.wait(60)
    started = len(processes.actions)
    background.submit(Job(lambda: None, False, lambda: None, seconds=10.0))
    assert len(processes.actions) == started
    gate.set()
    background.wait()


def test_the_thread_waits_last_for_what_other_processes_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background, done = Processes(), Background(), list[str]()
    processes.texts = 3
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)

    def submit(name: str, has_priority: bool, ahead: bool) -> None:
        action = functools.partial(done.append, name)
        job = Job(action, has_priority, (lambda: processes.actions.append(name)) if ahead else None, 1.0)
        background.submit(job)

    with background.held():
        submit("optimized", has_priority=False, ahead=True)
        for name in ("a", "b"):
            submit(name, has_priority=True, ahead=True)
        submit("quick", has_priority=True, ahead=False)
    background.wait()
    assert done == ["quick", "a", "b", "optimized"]
    assert [action for action in processes.actions if action != "start"] == ["b", "a", "optimized"]


def test_processes_end_before_jobs_that_they_cannot_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba compiles for seconds, in which idle processes would take memory."""
    processes, background = Processes(), Background()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    with background.held():
        background.submit(Job(lambda: processes.actions.append("kernel"), has_priority=False))
        background.submit(Job(lambda: None, has_priority=True, ahead=lambda: None, seconds=10.0))
    background.wait()
    assert processes.actions == ["start", "close", "kernel"]


def test_processes_stay_while_a_caller_waits_for_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background = Processes(), Background()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 0.0)
    gates = threading.Event(), threading.Event()
    begun = threading.Event()
    first = Job(gates[0].wait, has_priority=True, ahead=lambda: None, seconds=10.0)
    second = Job(lambda: (begun.set(), gates[1].wait()), has_priority=True, ahead=lambda: None, seconds=10.0)
    with background.held():
        for job in (first, second):
            background.submit(job)
    while first in background.waiting:
        time.sleep(0.001)
    caller = threading.Thread(target=background.finish, args=(second,))
    caller.start()
    assert begun.wait(60)
    background.submit(Job(lambda: processes.actions.append("kernel"), has_priority=False))
    gates[0].set()
    while "kernel" not in processes.actions:
        time.sleep(0.001)
    assert "close" not in processes.actions[: processes.actions.index("kernel")]
    gates[1].set()
    caller.join(60)
    background.wait()


def test_the_thread_waits_for_a_job_while_there_are_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background = Processes(), Background()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 60.0)
    background.submit(Job(lambda: None, has_priority=True, ahead=lambda: None, seconds=10.0))
    background.wait()
    while background.is_busy:
        time.sleep(0.001)
    thread = background.thread
    assert thread is not None
    background.finish(background.submit(Job(lambda: None, has_priority=True)))
    assert background.thread is thread
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 0.0)
    background.submit(Job(lambda: None, has_priority=True))
    background.wait()
    thread.join(60)
    assert background.thread is None and processes.actions[-1] == "close"


def test_callers_wait_for_jobs_unless_none_can_begin() -> None:
    background, gate, done = Background(), threading.Event(), []
    jobs = [background.submit(Job(gate.wait, has_priority=True))]
    jobs.append(background.submit(Job(lambda: done.append(1), has_priority=True)))
    threading.Timer(0.05, gate.set).start()
    background.wait_for(jobs)
    assert done == [1] and all(job.ended for job in jobs)
    with background.held():
        job = background.submit(Job(lambda: None, has_priority=True))
        background.wait_for([job])
        assert not job.ended
    background.wait()


def test_callers_do_not_wait_for_jobs_that_a_thread_that_has_ended_leaves() -> None:
    background = Background()
    background.waiting.append(Job(lambda: None, has_priority=True))
    waiting = threading.Thread(target=background.wait_for, args=(list(background.waiting),), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()


def test_callers_wait_for_jobs_that_another_one_runs_without_the_queue() -> None:
    background, gate = Background(), threading.Event()
    job = Job(gate.wait, has_priority=True)
    runs = threading.Thread(target=background.run, args=(job,))
    runs.start()
    while job not in background.run_by_callers:
        time.sleep(0.001)
    waits = threading.Thread(target=background.finish, args=(job,), daemon=True)
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    gate.set()
    waits.join(60)
    assert job.ended and not waits.is_alive()
    runs.join()


def test_callers_run_jobs_beside_the_thread() -> None:
    """The thread cannot end its job before the caller has run the others."""
    background, gate, by = Background(), threading.Event(), list[int]()
    jobs = [background.submit(Job(gate.wait, has_priority=True))]
    while jobs[0] in background.waiting:
        time.sleep(0.001)
    for _ in range(2):
        jobs.append(background.submit(Job(lambda: by.append(threading.get_ident()), has_priority=True)))
    jobs.append(background.submit(Job(gate.set, has_priority=True)))
    background.wait_for(jobs)
    assert by == [threading.get_ident()] * 2 and not background.run_by_callers


def test_the_thread_runs_other_jobs_while_a_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    processes, background, done = Processes(), Background(), list[str]()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 0.0)
    is_there = threading.Event()
    optimized = Job(
        lambda: done.append("optimized"), False, lambda: None, seconds=1.0, is_there=is_there.is_set
    )
    background.submit(optimized)
    while not optimized.is_ahead:
        time.sleep(0.001)
    background.submit(Job(lambda: (done.append("code"), is_there.set()), has_priority=True))
    wait_for_the_end(background)
    assert done == ["code", "optimized"]


def test_the_thread_waits_at_last_for_a_process_that_may_have_been_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    background, done = Background(), list[int]()
    monkeypatch.setattr(compiler_processes, "PROCESSES", Processes())
    monkeypatch.setattr(tiering_background, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(tiering_background, "_MAX_POLLING_SECONDS", 0.05)
    background.submit(Job(lambda: done.append(1), False, lambda: None, seconds=1.0, is_there=lambda: False))
    wait_for_the_end(background)
    assert done == [1]


def wait_for_the_end(background: Background) -> None:
    """Wait until the thread has ended, and with it the processes of this test."""
    background.wait()
    while background.thread is not None:
        time.sleep(0.001)


def test_an_error_of_compiling_ahead_leaves_the_jobs_to_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Background, jobs: object) -> None:
        raise MemoryError("no processes")

    monkeypatch.setattr(Background, "compile_ahead", fail)
    background, done = Background(), []
    background.submit(Job(lambda: done.append(1), has_priority=True))
    background.wait()
    assert done == [1]


def test_whoever_submits_a_job_finds_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread would wait for the GIL after each source that it reads."""
    finders: list[int] = []
    monkeypatch.setattr(machine, "find_cache", lambda: finders.append(threading.get_ident()))
    background = Background()
    background.submit(Job(lambda: None, has_priority=True))
    assert not finders
    background.submit(Job(lambda: None, has_priority=True, soon=iter(())))
    background.submit(Job(lambda: None, has_priority=True, ahead=lambda: None))
    background.wait()
    assert finders == [threading.get_ident()] * 2


def test_texts_are_made_ahead_in_the_order_of_the_jobs() -> None:
    """One at a time, each once, not while a fork waits; the job raises what making its text has raised."""
    background, made = Background(), list[str]()

    def make(names: str) -> Iterator[None]:
        for name in names:
            made.append(name)
            if name == "c":
                raise ValueError(name)
            yield

    def job(names: str, has_priority: bool) -> Job:
        return Job(lambda: None, has_priority, soon=make(names))

    background.waiting = [job("d", False), job("ab", True), job("c", True), Job(lambda: None, True)]
    with background.held():
        assert not background.make_text()
    assert background.make_text() and made == ["a"]
    while background.make_text():
        pass
    assert made == ["a", "b", "c", "d"] and len(background.waiting) == 4


def test_a_thread_that_waits_loads_code_that_is_there_before_it_makes_texts() -> None:
    background, done, there = Background(), list[str](), set[str]()

    def job(name: str) -> Job:
        ahead = Job(lambda: done.append(name), has_priority=False, is_there=lambda: name in there)
        ahead.is_ahead = True
        return ahead

    soon = iter([done.append("text")])
    done.clear()
    background.waiting = [Job(lambda: None, has_priority=True, soon=soon), job("a"), job("b")]
    there.add("b")
    with background.held():
        assert not background.work_meanwhile()
    assert background.work_meanwhile() and done == ["b"] and not background.run_by_callers
    while background.work_meanwhile():
        pass
    assert done == ["b"] and len(background.waiting) == 2
    there.add("a")
    assert background.work_meanwhile() and done == ["b", "a"]


def test_the_thread_has_processes_compile_more_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads do not, which an interrupt may stop."""
    background, asked = Background(), list[int]()
    background.waiting = [Job(lambda: None, has_priority=False, ahead=lambda: None)]
    background.has_processes = True
    monkeypatch.setattr(background, "compile_ahead", lambda jobs: asked.append(len(jobs)))
    background.work_meanwhile()
    assert not asked
    background.thread = threading.current_thread()
    background.work_meanwhile()
    assert asked == [1]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of POSIX")
def test_a_call_that_is_stopped_while_it_makes_a_text_ahead_ends() -> None:
    background = Background()

    def handle(number: int, frame: object) -> None:
        raise ValueError("stopped")

    def stop() -> None:
        raise LaunchStopped

    for make in (stop, lambda: signal.raise_signal(signal.SIGUSR1)):
        soon = (function() for function in [make])
        background.waiting.append(Job(lambda: None, has_priority=True, soon=soon))
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with pytest.raises(LaunchStopped):
            background.make_text()
        with pytest.raises(ValueError, match="stopped"):
            background.make_text()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(background.waiting) == 2 and not background.make_text()


def test_quick_code_is_optimized_after_the_code_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """First what takes calls the most time for each second of optimizing it."""
    done: list[str] = []
    times = {"a": 1.0, "b": 0.0, "c": 0.0}
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: done.append(key))
    with BACKGROUND.held():
        for key, size, fast_compile in (("a", 80_000, False), ("b", 80_000, True), ("c", 20_000, False)):
            code = QuickCode(lambda: "", size, fast_compile, {}, {})
            monkeypatch.setattr(machine, "quick_codes", lambda key=key, code=code: {key: code})
            optimize_quick_code(lambda key=key: times[key])  # type: ignore[misc]
        seconds = [job.seconds for job in BACKGROUND.waiting]
        BACKGROUND.submit(Job(lambda: done.append("code"), has_priority=True))
        # They are known once calls have tried the code.
        times["b"], times["c"] = 1.0, 0.7
    BACKGROUND.wait()
    assert done == ["code", "c", "b", "a"]
    rates = OPTIMIZING_SECONDS_PER_BYTE, OPTIMIZING_SECONDS_PER_BYTE_OF_STEPS, OPTIMIZING_SECONDS_PER_BYTE
    sizes = 80_000, 80_000, 20_000
    expected = [OPTIMIZING_SECONDS + rate * size for rate, size in zip(rates, sizes, strict=True)]
    assert seconds == pytest.approx(expected)


def test_the_code_of_a_loop_is_optimized_in_the_order_of_its_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    codes = {key: QuickCode(lambda: "", size, False, {}, {}) for key, size in (("a", 80_000), ("b", 20_000))}
    codes["c"] = codes["b"]
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: done.append(key))
    monkeypatch.setattr(machine, "quick_codes", lambda: codes)
    shares = {"a": 0.9, "b": 0.1, "c": 0.0}
    for share_of, order in ((None, "abc"), (shares.__getitem__, "abc"), ({**shares, "a": 0.2}.get, "bac")):
        with BACKGROUND.held():
            optimize_quick_code(lambda: 1.0, share_of=share_of)  # type: ignore[arg-type]
            benefits = [job.benefit() for job in BACKGROUND.waiting]
        BACKGROUND.wait()
        assert "".join(done) == order and benefits == sorted(benefits, reverse=True)
        done.clear()


@pytest.mark.parametrize("is_ahead", [False, True])
def test_code_that_a_process_optimizes_already_is_not_submitted_again(
    monkeypatch: pytest.MonkeyPatch, is_ahead: bool
) -> None:
    monkeypatch.setattr(machine, "is_ahead", lambda key, roughly: is_ahead)
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: None)
    monkeypatch.setattr(machine, "quick_codes", lambda: {"a": QuickCode(lambda: "", 1, False, {}, {})})
    with BACKGROUND.held():
        optimize_quick_code(lambda: 1.0)
        (job,) = BACKGROUND.waiting
        assert job.is_ahead == is_ahead and (job.ahead is None) == is_ahead
    BACKGROUND.wait()


@pytest.mark.parametrize(
    ("seconds", "others_seconds", "order"),
    [(1.0, 1.01 * UNROLLING_SHARE, "Aca"), (1.0, 0.99 * UNROLLING_SHARE, "Aac"), (0.0, 0.0, "Aca")],
)
def test_loops_are_optimized_without_unrolling_before(
    monkeypatch: pytest.MonkeyPatch, seconds: float, others_seconds: float, order: str
) -> None:
    """Unrolling saves little: it comes after other code, too, also while no times are known."""
    done: list[str] = []

    def optimize(key: str, roughly: bool) -> None:
        done.append(key.upper() if roughly else key)

    monkeypatch.setattr(machine, "optimize", optimize)
    with BACKGROUND.held():
        for key, time_of_calls in (("a", seconds), ("c", others_seconds)):
            code = QuickCode(lambda: "", 20_000, False, {}, {}, unrolls_late=key == "a")
            monkeypatch.setattr(machine, "quick_codes", lambda key=key, code=code: {key: code})
            optimize_quick_code(lambda time_of_calls=time_of_calls: time_of_calls)  # type: ignore[misc]
    BACKGROUND.wait()
    assert "".join(done) == order


def test_code_that_has_not_been_timed_is_optimized_in_the_order_of_what_is_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: done.append(key))
    with BACKGROUND.held():
        for key, known, expected in (("a", 0.0, 1.0), ("b", 0.0, 3.0), ("c", 2.0, 9.0)):
            code = QuickCode(lambda: "", 20_000, False, {}, {})
            monkeypatch.setattr(machine, "quick_codes", lambda key=key, code=code: {key: code})
            optimize_quick_code(lambda known=known: known, lambda expected=expected: expected)  # type: ignore[misc]
    BACKGROUND.wait()
    assert done == ["b", "c", "a"]


def test_codes_of_one_loop_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own code, which is long, comes before the short one of a launch."""
    done: list[str] = []
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: done.append(key))
    sizes = {"launch": 10_000, "loop": 200_000, "other": 100_000}
    codes = {key: QuickCode(lambda: "", size, False, {}, {}) for key, size in sizes.items()}
    with BACKGROUND.held():
        for keys, seconds in ((("launch", "loop"), 1.0), (("other",), 0.9)):
            monkeypatch.setattr(machine, "quick_codes", lambda keys=keys: {key: codes[key] for key in keys})
            optimize_quick_code(lambda seconds=seconds: seconds)  # type: ignore[misc]
        seconds_of_loop = OPTIMIZING_SECONDS + OPTIMIZING_SECONDS_PER_BYTE * sizes["loop"]
        assert BACKGROUND.waiting[0].seconds == pytest.approx(seconds_of_loop)
    BACKGROUND.wait()
    assert done == ["other", "loop", "launch"]


def test_loops_whose_rough_code_was_on_disk_are_not_optimized_without_unrolling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[bool] = []
    monkeypatch.setattr(machine, "optimize", lambda key, roughly: done.append(roughly))
    code = QuickCode(lambda: "", 20_000, False, {}, {}, unrolls_late=True, is_rough=True)
    monkeypatch.setattr(machine, "quick_codes", lambda: {"a": code})
    optimize_quick_code(lambda: 1.0)
    BACKGROUND.wait()
    assert done == [False]


def test_jobs_come_in_the_order_of_what_they_save() -> None:
    background, done, saved = Background(), [], {"a": 1.0, "b": 3.0, "c": 2.0}
    with background.held():
        for name in saved:
            action, benefit = functools.partial(done.append, name), functools.partial(saved.get, name)
            background.submit(Job(action, has_priority=True, benefit=benefit))  # type: ignore[arg-type]
        saved["c"] = 4.0
    background.wait()
    assert done == ["c", "b", "a"]


def test_answers_that_callers_have_read_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Processes):
        have_answers = False

    processes, background, is_there = Silent(), Background(), threading.Event()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    monkeypatch.setattr(tiering_background, "_MAIN_THREAD_CHECK_SECONDS", 3600.0)
    job = Job(lambda: None, False, lambda: None, 1.0, is_there=is_there.is_set)
    background.submit(job)
    while not job.is_ahead:
        time.sleep(0.001)
    threading.Timer(0.05, is_there.set).start()
    deadline = time.monotonic() + 60
    while not job.ended:
        assert time.monotonic() < deadline
        time.sleep(0.001)
