"""Processes that compile beside this one: what they give, and what happens where there is none."""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nimblehlo.compiler.loops.llvm import compiler_processes, machine
from nimblehlo.compiler.loops.llvm.codegen import CodeGenerator
from nimblehlo.compiler.loops.llvm.compiler_processes import Compilation, CompilerProcesses
from nimblehlo.kernels.compiling import child_process, worker
from nimblehlo.kernels.launch import library_pages
from nimblehlo.kernels.launch.cache_files import write_entry
from tests.support.forks import holds_in_child, needs_fork


def text(value: int, instructions: int = 1) -> str:
    """A module whose function adds a number, some times."""
    steps = [f"  %y{k + 1} = xor i64 %y{k}, {value}\n" for k in range(instructions)]
    lines = "".join(steps).replace("%y0,", "%x,")
    return f"define i64 @f(i64 %x) {{\n{lines}  ret i64 %y{instructions}\n}}\n"


def assume_threads(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Let this process have so many threads."""
    for module in (compiler_processes, child_process):
        monkeypatch.setattr(module, "available_threads", lambda: threads)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompilerProcesses]:
    """One process for threads that wait, and two others, whatever the machine has."""
    assume_threads(monkeypatch, 3)
    monkeypatch.setattr(child_process, "launched_ranks", lambda: 1)
    monkeypatch.setattr(compiler_processes, "shortage_of", lambda needed: None)
    started = CompilerProcesses()
    assert started.start() and len(started) == 3
    yield started
    started.close()
    assert len(started) == 0


def test_processes_give_the_machine_code_of_this_one(processes: CompilerProcesses) -> None:
    compilations = [processes.submit(text(value), value % 2 == 0) for value in range(6)]
    own = CodeGenerator()
    for value in (5, 0, 1, 2, 3, 4, 5):
        compilation = compilations[value]
        assert compilation is not None
        assert compilation.result() == own.compile(text(value), value % 2 == 0)


def test_threads_wait_for_code_of_processes(processes: CompilerProcesses) -> None:
    own, codes = CodeGenerator(), dict[int, bytes | None]()

    def compile(value: int) -> None:
        codes[value] = processes.compile(text(value), False, ["f"] if value % 2 else [])

    threads = [threading.Thread(target=compile, args=(value,)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value, code in codes.items():
        expected = own.compile_quickly(text(value), ["f"]) if value % 2 else own.compile(text(value))
        assert code == expected
    assert processes.compile("define f(", False) is None and len(processes) == 3


def test_a_process_that_has_begun_to_load_llvm_has_compiled_nothing(processes: CompilerProcesses) -> None:
    while not all(process.has_started for process in processes._processes):
        processes.read_available()
    assert not processes.have_compiled
    assert processes.compile(text(1), False)
    assert processes.have_compiled


def test_no_thread_waits_for_code_that_is_compiled_ahead(processes: CompilerProcesses) -> None:
    """That takes seconds while first calls wait for code which takes LLVM some milliseconds."""
    long = [processes.submit(text(7, 1 << 15), False) for _ in range(2)]
    assert processes.compile(text(1), False) is not None
    assert not any(one is None or one._process is processes._of(False)[0] for one in long)
    for process in processes._of(True):
        process.read_available()
    assert not any(one is None or one.has_ended for one in long)


def test_processes_for_which_threads_have_waited_end(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_processes, "_IDLE_SECONDS", 0.01)
    assert processes.compile(text(1), False) is not None
    deadline = time.monotonic() + 60
    while len(processes):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    # They start again.
    assert processes.compile(text(2), False) is not None
    processes.start_for_caller()


def test_no_process_ends_while_a_thread_waits_for_it(processes: CompilerProcesses) -> None:
    codes: list[bytes | None] = []
    assert processes.compile(text(1), False) is not None
    long = text(7, 1 << 13)
    thread = threading.Thread(target=lambda: codes.append(processes.compile(long, True)))
    thread.start()
    while thread.is_alive():
        processes.close()
    assert codes == [CodeGenerator().compile(long, True)]


def test_memory_of_the_processes_counts_while_there_are_some(processes: CompilerProcesses) -> None:
    assert library_pages._Beside.bytes == 3 * compiler_processes._COMPILING_BYTES
    processes.close()
    assert library_pages._Beside.bytes == 0


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no timers here")
def test_an_error_of_a_signal_handler_ends_the_wait(processes: CompilerProcesses) -> None:
    """It may be one of those that tell of a process which has ended."""

    def late(*_: object) -> None:
        raise TimeoutError("too late")

    assert processes.compile(text(1), False) is not None
    for number in numbers(processes):
        os.kill(number, signal.SIGSTOP)
    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TimeoutError, match="too late"):
            processes.compile(text(2), False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert processes.compile(text(2), False) is None and len(processes) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which processes there are")
@pytest.mark.parametrize("is_stopped", [False, True])
def test_no_process_is_left_after_the_end(processes: CompilerProcesses, is_stopped: bool) -> None:
    assert processes.compile(text(1), False) is not None
    started = numbers(processes)
    if is_stopped:
        for number in started:
            os.kill(number, signal.SIGSTOP)
    processes.close()
    # If the first is stopped, the system ends the others.
    deadline = time.monotonic() + 60
    while any(map(_is_running if is_stopped else _exists, started)):
        assert is_stopped and time.monotonic() < deadline
        time.sleep(0.001)


def test_all_processes_end_with_one_that_fails(processes: CompilerProcesses) -> None:
    processes._processes[1].end()
    assert processes.compile(text(1), False) is None
    assert len(processes) == 0 and library_pages._Beside.bytes == 0 and not processes.start()


def test_launches_leave_a_processor_to_each_process_that_compiles(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    monkeypatch.setattr(compiler_processes, "leave_processors", lambda owner, count: left.append(count))
    first, second = [processes.submit(text(value), False) for value in (1, 2)]
    assert first is not None and second is not None and first._process is not second._process
    assert first.result() is not None
    first._process.read_available()
    assert left[-1] == 1
    assert second.result() is not None and left[-1] == 0
    third = processes.submit(text(3), False)
    assert third is not None and left[-1] == 1
    processes.close()
    assert left[-1] == 0


def numbers(processes: CompilerProcesses) -> list[int]:
    """The numbers of the processes: first that of the one for threads that wait."""
    started = dict.fromkeys(process._process.pid for process in processes._processes)
    if not worker.FORKS:
        return list(started)
    (first,) = started
    return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="the system has no niceness")
def test_calls_have_precedence_on_the_processors(processes: CompilerProcesses) -> None:
    """What a thread waits for is compiled as if the thread did so."""
    compilations = [processes.submit(text(1), False) for _ in range(2)]
    assert all(one is not None and one.result() is not None for one in compilations)
    assert processes.compile(text(2), False) is not None
    own, highest = os.getpriority(os.PRIO_PROCESS, 0), 19
    awaited, *ahead = [os.getpriority(os.PRIO_PROCESS, number) for number in numbers(processes)]
    assert awaited == own and len(ahead) == 2 and all(one > own or own == highest for one in ahead)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process has loaded")
def test_processes_load_llvm_and_no_numpy(processes: CompilerProcesses) -> None:
    """What users of the package need would take 10 MB and 0.1 s more in each."""
    compilation = processes.submit(text(1), False)
    assert compilation is not None and compilation.result() is not None
    for number in numbers(processes):
        loaded = Path(f"/proc/{number}/maps").read_text()
        assert "llvmlite" in loaded and "numpy" not in loaded


def test_a_process_gets_no_text_while_many_wait(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = text(7, compiler_processes._WAITING_BYTES // 24 + 100)
    assert len(long) > compiler_processes._WAITING_BYTES and processes.want_more()
    with monkeypatch.context() as patch:
        # However fast the processes are.
        patch.setattr(compiler_processes._CompilerProcess, "_can_read", lambda process, seconds: False)
        first = processes.submit(long, True)
        assert processes.want_more()
        second = processes.submit(long, True)
        assert not processes.want_more()
    assert first is not None and second is not None
    # Nobody asks for the results.
    deadline = time.monotonic() + 60
    while not processes.want_more():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert first.has_ended or second.has_ended
    assert first.result() == second.result()


def test_what_is_not_urgent_waits_until_a_process_can_begin(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        # However fast the processes start.
        patch.setattr(compiler_processes._CompilerProcess, "_can_read", lambda process, seconds: False)
        assert processes.want_more() and not processes.want_more(is_urgent=False)
    deadline = time.monotonic() + 60
    while not processes.want_more(is_urgent=False):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_an_answer_and_the_end_of_a_process_are_noticed(processes: CompilerProcesses) -> None:
    deadline = time.monotonic() + 60
    while not processes.want_more(is_urgent=False) or processes.have_answers:
        assert time.monotonic() < deadline
        processes.read_available()
    compilation = processes.submit(text(3), False)
    while not processes.have_answers:
        assert time.monotonic() < deadline
    assert compilation is not None and not compilation.has_ended
    assert compilation.result() is not None
    while processes.have_answers:
        # The other process may have started now.
        processes.read_available()
    compilation._process._process.kill()
    while not processes.have_answers:
        assert time.monotonic() < deadline


def test_what_no_process_compiles_has_no_result(processes: CompilerProcesses) -> None:
    compilations = [processes.submit(one, False) for one in ("define f(", text(3))]
    assert compilations[0] is not None and compilations[0].result() is None
    assert compilations[1] is not None and compilations[1].result() is not None


def test_a_process_that_is_killed_is_no_error(processes: CompilerProcesses) -> None:
    for process in processes._processes:
        process._process.send_signal(signal.SIGKILL)
        process._process.wait()
    compilation = processes.submit(text(3), False)
    assert compilation is None or compilation.result() is None
    while len(processes):
        last = processes.submit(text(3), False)
        assert last is None or last.result() is None
    assert not processes.start()


def test_a_process_that_is_stopped_gives_no_result(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = processes.submit(text(3), False)
    assert first is not None and first.result() is not None
    for number in numbers(processes):
        os.kill(number, signal.SIGSTOP)
    monkeypatch.setattr(compiler_processes, "_ANSWER_SECONDS", 0.1)
    compilation = processes.submit(text(4), False)
    assert compilation is not None and compilation.result() is None


def test_a_process_that_is_stopped_takes_no_long_text(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe to it is full after 64 KB."""
    short = [processes.submit(text(3), False) for _ in range(2)]
    assert all(one is not None and one.result() for one in short)
    for number in numbers(processes):
        os.kill(number, signal.SIGSTOP)
    monkeypatch.setattr(compiler_processes, "_ANSWER_SECONDS", 0.1)
    submitting = threading.Thread(target=processes.submit, args=(text(5, 1 << 14), False), daemon=True)
    submitting.start()
    submitting.join(120)
    assert not submitting.is_alive() and len(processes) == 3 and not processes.want_more()
    assert len(processes) == 0


class SlowSelector(selectors.DefaultSelector):
    """One whose thread is late: what ends meanwhile must not escape it."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        time.sleep(0.2)
        return super().select(timeout)


@pytest.mark.parametrize("selector", [selectors.DefaultSelector, SlowSelector])
def test_the_end_of_a_process_wakes_a_thread_that_waits_for_its_answer(
    processes: CompilerProcesses, monkeypatch: pytest.MonkeyPatch, selector: type[selectors.BaseSelector]
) -> None:
    monkeypatch.setattr(child_process.selectors, "DefaultSelector", selector)
    for number in numbers(processes):
        os.kill(number, signal.SIGSTOP)
    compilation = processes.submit(text(4), False)
    assert compilation is not None
    waiting = threading.Thread(target=compilation.result, daemon=True)
    waiting.start()
    while not compilation._process._lock.locked():
        time.sleep(0.001)
    time.sleep(0.05)  # until it waits for the pipe
    processes.close()
    waiting.join(compiler_processes._ANSWER_SECONDS / 4)
    assert not waiting.is_alive() and compilation.has_ended and compilation.result() is None


def test_folders_of_other_types_in_the_path_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assume_threads(monkeypatch, 3)
    monkeypatch.setattr(sys, "path", [Path("absent"), *sys.path])
    processes = CompilerProcesses()
    assert processes.start()
    compilation = processes.submit(text(3), False)
    assert compilation is not None and compilation.result() is not None
    processes.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("available_threads", lambda: 1),
        ("launched_ranks", lambda: 2),
        ("shortage_of", lambda needed: "more than there is"),
    ],
)
def test_no_process_where_it_would_not_pay(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    assume_threads(monkeypatch, 3)
    monkeypatch.setattr(compiler_processes if name == "shortage_of" else child_process, name, value)
    assert not CompilerProcesses().start()


@pytest.mark.parametrize("executable", ["", None, "/usr/bin/blender", "/nowhere/python3"])
def test_no_process_where_python_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    assume_threads(monkeypatch, 3)
    monkeypatch.setattr(sys, "executable", executable)
    none = CompilerProcesses()
    assert not none.start() and none.submit(text(1), False) is None


@pytest.mark.usefixtures("empty_cache")
def test_code_that_was_compiled_ahead_is_loaded_and_cached(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses
) -> None:
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    built: list[int] = []

    def build() -> str:
        built.append(1)
        return text(41)

    key = machine.key_of("compiled ahead")
    machine.compile_ahead(key, build)
    machine.compile_ahead(key, build)
    assert not machine.is_compiled(key)
    address = machine.function_address(key, "f", build)
    assert built == [1] and ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 40
    path = machine._machine().path(key)
    assert path is not None and path.exists() and key not in machine._machine().ahead


@pytest.mark.usefixtures("empty_cache")
def test_quick_code_that_was_generated_ahead_is_loaded_and_its_text_made_once(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses
) -> None:
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    own, built = machine._machine(), list[int]()
    monkeypatch.setattr(own.compiler, "is_here", False)

    def build() -> str:
        built.append(1)
        return text(43)

    key = machine.key_of("generated ahead")
    machine.compile_ahead(key, build, names=["f"])
    machine.compile_ahead(key, build, names=["f"])
    assert built == [1] and list(own.ahead) == [machine._key_ahead(key, ".quick")]
    compiled = next(iter(own.ahead.values()))
    address = machine.function_address(key, "f", build, quickly=True)
    assert built == [1] and ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 42
    assert compiled.has_ended and not own.ahead and not own.texts
    machine.compile_ahead(key, build, names=["f"])
    assert built == [1]
    machine.optimize(key)
    assert built == [1]


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("unrolls_late", [False, True])
def test_an_idle_process_optimizes_a_text_while_its_quick_code_is_generated(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses, unrolls_late: bool
) -> None:
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    own, built = machine._machine(), list[int]()
    monkeypatch.setattr(own.compiler, "is_here", False)

    def build() -> str:
        built.append(1)
        return text(44, 5_000)

    # No answer is read before somebody waits for it.
    monkeypatch.setattr(CompilerProcesses, "read_available", lambda self: None)
    key, other = [machine.key_of(f"optimized meanwhile {n} {unrolls_late}") for n in range(2)]
    assert processes.has_idle
    machine.compile_ahead(key, build, names=["f"], unrolls_late=unrolls_late)
    assert machine.is_ahead(key, unrolls_late) and not machine.is_ahead(key, not unrolls_late)
    assert not machine.is_there(key, unrolls_late) and processes.has_idle
    processes.submit(text(1), False)
    assert not processes.has_idle
    machine.compile_ahead(other, build, names=["f"], unrolls_late=unrolls_late)
    assert not machine.is_ahead(other, unrolls_late)
    address = machine.function_address(key, "f", build, quickly=True)
    assert key in own.quick and machine.is_ahead(key, unrolls_late)
    monkeypatch.setattr(own, "compiled_code", None)
    machine.optimize(key, unrolls_late)
    path = own.path(key, ".rough" if unrolls_late else "")
    assert built == [1, 1] and not machine.is_ahead(key, unrolls_late) and path is not None and path.exists()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 1


def test_no_thread_waits_for_code_that_another_one_generates_while_it_waits(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses
) -> None:
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    own, key, built = machine._machine(), machine.key_of("generated by another thread"), list[int]()
    monkeypatch.setattr(own.compiler, "is_here", False)
    ahead = threading.Thread(
        target=machine.compile_ahead, args=(key, lambda: built.append(1) or text(1)), kwargs={"names": ["f"]}
    )
    with own.in_work.setdefault(key, threading.RLock()):
        ahead.start()
        ahead.join(60)
        assert not ahead.is_alive()
    assert not built


def test_the_answer_to_an_earlier_text_is_not_taken_for_that_of_a_later_one(
    processes: CompilerProcesses,
) -> None:
    earlier = processes.submit_awaited(text(1), False, ["f"])
    later = processes.submit_awaited(text(2, 20_000), False, ["f"])
    assert earlier is not None and later is not None
    while not earlier.is_there():
        assert not later.has_ended
        time.sleep(0.001)
    assert not later.is_there()
    while not later.is_there():
        time.sleep(0.001)
    assert later.result() == CodeGenerator().compile_quickly(text(2, 20_000), ["f"])
    processes.close()
    ended = Compilation(0, later._process)
    assert ended.is_there() and ended.result() is None


@pytest.mark.parametrize(("texts", "max_bytes", "made"), [(9, 1 << 20, 3), (2, 1 << 20, 2), (9, 1, 0)])
def test_a_thread_makes_texts_while_it_waits(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses, texts: int, max_bytes: int, made: int
) -> None:
    """Until its code is there, there are no more texts, or enough of them wait."""
    compilations: list[Compilation | None] = []

    def make_text() -> bool:
        if len(compilations) == texts:
            return False
        compilations.append(processes.submit_awaited(text(len(compilations)), False, ["f"]))
        return True

    processes.meanwhile = make_text
    monkeypatch.setattr(Compilation, "is_there", lambda self: len(compilations) == 3)
    monkeypatch.setattr(compiler_processes, "_MAX_AWAITED_BYTES", max_bytes)
    own = CodeGenerator()
    assert processes.compile(text(9), False, ["f"]) == own.compile_quickly(text(9), ["f"])
    codes = [None if one is None else one.result() for one in compilations]
    assert codes == [own.compile_quickly(text(value), ["f"]) for value in range(made)]


@pytest.mark.usefixtures("empty_cache")
def test_quick_code_on_disk_does_not_keep_code_from_being_compiled_ahead(
    monkeypatch: pytest.MonkeyPatch, processes: CompilerProcesses
) -> None:
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    key = machine.key_of("compiled ahead beside quick code")
    path = machine._machine().path(key, ".quick")
    assert path is not None
    write_entry(path, b"quick code")
    assert machine.is_compiled(key, quickly=True)
    machine.compile_ahead(key, lambda: text(41))
    assert key in machine._machine().ahead
    address = machine.function_address(key, "f", lambda: "")
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 40
    assert not path.exists()


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "sys.exit()"])
def test_processes_end_with_their_parent(end: str) -> None:
    script = f"""
import os, sys
from nimblehlo.compiler.loops.llvm import compiler_processes
from nimblehlo.kernels.compiling import child_process
from tests.compiler.loops.llvm import test_compiler_processes
compiler_processes.available_threads = child_process.available_threads = lambda: 3
compiler_processes.PROCESSES.start()
compiler_processes.PROCESSES.compile({text(1)!r}, False)
print(*test_compiler_processes.numbers(compiler_processes.PROCESSES), flush=True)
{end}
"""
    run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=300)
    started, deadline = [int(number) for number in run.stdout.split()], time.monotonic() + 60
    assert len(started) == 3
    while any(map(_is_running, started)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _exists(process: int) -> bool:
    """Whether a process exists, be it as a zombie."""
    return Path(f"/proc/{process}").exists()


def _is_running(process: int) -> bool:
    """Whether a process exists that is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_fork
def test_a_child_leaves_the_processes_to_its_parent(processes: CompilerProcesses) -> None:
    compilation = processes.submit(text(3), False)
    assert compilation is not None

    def check() -> bool:
        processes.after_fork_in_child()
        return len(processes) == 0 and compilation.result() is None

    assert holds_in_child(check)
    assert compilation.result() is not None
