"""How kernels are compiled, kept on disk and run by threads: each in a process of its own."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from nimblehlo.kernels.launch import cache_files, compilation, threads
from nimblehlo.kernels.launch.private_names import require_numba
from tests.support.forks import holds_in_child, needs_fork
from tests.support.interrupts import interrupt

PRELUDE = """
import os, sys, threading, warnings
import numpy as np
from nimblehlo.kernels.launch import compilation, threads
from nimblehlo.kernels.launch.spans import observed
from nimblehlo.kernels.indexing import copy, scatter

def check():
    array = np.arange(1 << 20, dtype=np.int16)
    assert (copy.copied(array) == array).all()

spans = []
observation = observed(spans.append)
observation.__enter__()

def compiled():
    return sum([span.kind == "compile" for span in spans])
"""


def run(code, timeout=300, **environment):
    """What a child process prints that runs the code. It fails if the child fails, crashes or hangs."""
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A cache folder in which the kernel of these tests is compiled, and in which they must not change
    anything."""
    folder = tmp_path_factory.mktemp("kept")
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(folder)) == "1"
    return folder


def test_compiled_code_is_used_again(kept):
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(kept)) == "0"


def test_another_fingerprint_is_compiled_again(kept, tmp_path):
    (folder,) = kept.iterdir()
    os.symlink(folder, tmp_path / ("0" * 32))
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(tmp_path)) == "1"


def test_damaged_entries_are_compiled_again(kept, tmp_path):
    (folder,) = kept.iterdir()
    copied = tmp_path / folder.name
    copied.mkdir()
    for number, entry in enumerate(sorted(folder.iterdir())):
        content = bytearray(entry.read_bytes())
        content[len(content) // 2] ^= 255
        (copied / entry.name).write_bytes([bytes(content), content[:10], b""][number % 3])
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(tmp_path)) == "1"
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(tmp_path)) == "0"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run("check(); print(compiled())", NIMBLEHLO_CACHE_DIR=str(blocked / "below")) == "1"


def test_numba_is_left_as_the_user_configured_it(kept):
    code = """
        import numba
        before = dict(os.environ), {k: getattr(numba.config, k) for k in dir(numba.config) if k.isupper()}
        numba.set_num_threads(1)
        check()
        assert numba.get_num_threads() == 1
        assert before == (dict(os.environ), {k: getattr(numba.config, k) for k in before[1]})
    """
    run(code, NIMBLEHLO_CACHE_DIR=str(kept))


def test_cache_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    assert cache_files.root() == tmp_path
    monkeypatch.delenv("NIMBLEHLO_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform.startswith("linux"):
        assert cache_files.root() == tmp_path / "nimblehlo"


def test_many_python_threads_at_once(kept):
    code = """
        from tests.support.threads import on_threads
        on_threads(6, lambda _: [check() for _ in range(50)])
    """
    run(code, NIMBLEHLO_CACHE_DIR=str(kept))


FORK = """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
        def in_child():
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    check(); code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
        {call}
        check()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    "call",
    ["in_child()", "worker = threading.Thread(target=in_child); worker.start(); worker.join()"],
    ids=["from the main thread", "from another thread"],
)
def test_forked_children(kept, call):
    run(FORK.format(call=call), NIMBLEHLO_CACHE_DIR=str(kept), NUMBA_NUM_THREADS="2")


@needs_fork
def test_a_fork_waits_until_no_other_thread_compiles():
    lock, has_lock = require_numba().core.compiler_lock.global_compiler_lock, threading.Event()

    def compile():
        with lock:
            has_lock.set()
            time.sleep(0.1)

    thread = threading.Thread(target=compile)
    thread.start()
    assert has_lock.wait(60)
    assert holds_in_child(lambda: lock.__enter__() is None)
    thread.join()


@needs_fork
def test_a_child_compiles_a_kernel_for_which_another_thread_waits(monkeypatch, tmp_path):
    """That thread has the kernel's lock and waits for Numba's, which the thread that forks has."""
    lock, has_begun = require_numba().core.compiler_lock.global_compiler_lock, threading.Event()

    def compiled(arguments):
        has_begun.set()
        with lock:
            return code

    kernel = compilation.kernel(parallel=True)(lambda task: None)
    code = kernel.machine_code(())
    monkeypatch.setattr(kernel, "_compiled", compiled)
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    thread = threading.Thread(target=kernel.task_address, args=[()])
    with lock:
        thread.start()
        assert has_begun.wait(60)
        assert holds_in_child(lambda: kernel.task_address(()) != 0)
    thread.join()


def test_a_thread_that_must_not_compile_waits_for_no_other():
    kernel, ended = compilation.kernel(parallel=True)(lambda task: None), threading.Event()
    has_lock = threading.Event()

    def hold():
        with kernel._lock:
            has_lock.set()
            ended.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert has_lock.wait(60)
    with pytest.raises(compilation.NotCompiled), compilation.without_compiling():
        kernel.task_address(())
    ended.set()
    thread.join()


@compilation.kernel
def _twice(value):
    return value * 2


@compilation.kernel(parallel=True)
def _double(task, size, source, destination):
    for place in range(task * size, min(source.size, (task + 1) * size)):
        destination[place] = _twice(source[place])


@compilation.kernel(parallel=True)
def _failing(task, sizes):
    sizes[0] = np.empty(sizes[task], np.int64).size


def test_kernels_call_kernels_and_run_their_tasks():
    assert _twice(21) == 42
    source = np.arange(1000)
    for count in (1, 2, 3, 8):
        destination = np.zeros_like(source)
        tasks, size = threads.division(source.size, 4000)
        assert tasks > 1
        _double(tasks, size, source, destination, threads=count)
        assert (destination == 2 * source).all()


def test_arguments_that_closures_do_not_hold_are_refused():
    source = np.arange(10)
    with pytest.raises(ValueError, match="C-contiguous"):
        _double(1, 10, source[::2], np.zeros(5, np.int64))
    with pytest.raises(ValueError, match="at most"):
        _double(1, *[1] * 96)
    with pytest.raises(TypeError):
        _double(1, 1.5, source, source.copy())


def test_a_task_that_fails_is_reported():
    with pytest.raises(MemoryError, match="_failing"):
        _failing(1, np.array([2**60]))


@compilation.kernel(parallel=True)
def _slow(task, turns, values):
    value = task + 1
    for _ in range(turns):
        value ^= value << 13
        value ^= value >> 7
        value ^= value << 17
    values[task] = value


@pytest.mark.skipif(os.name != "posix", reason="threads are not pooled on this system")
def test_an_interrupt_stops_a_kernel_between_tasks():
    values = np.zeros(50_000, np.int64)
    _slow(2, 1_000_000, values)
    interrupt(lambda: _slow(values.size, 1_000_000, values))
    assert values[0] and not values[-1]
    destination = np.zeros(1000, np.int64)
    _double(8, 125, np.arange(1000), destination)
    assert (destination == 2 * np.arange(1000)).all()


def test_numbers_of_threads():
    with pytest.raises(ValueError, match="threads is 0"):
        threads.chosen_threads(0)
    assert threads.chosen_threads(1) == 1
    assert 1 <= threads.chosen_threads(None) == threads.chosen_threads(10**6)


def test_division_covers_everything_once():
    for total in (0, 1, 2, 7, 127, 128, 129, 1000, 10**9):
        for item_bytes in (0.5, 1, 64, 10**6):
            tasks, size = threads.division(total, item_bytes)
            assert tasks <= threads.MAX_TASKS
            assert (tasks - 1) * size < total <= tasks * size or total == tasks == 0
    assert threads.division(100, 1).tasks == 1


def test_flat():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    items = compilation.flat(array, np.uint32)
    assert np.shares_memory(items, array) and not items.flags.writeable and array.flags.writeable
    assert (compilation.flat(array.T) == [0, 3, 1, 4, 2, 5]).all()


def test_what_compiled_code_alone_calls_is_not_made_into_machine_code(tmp_path, monkeypatch):
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))

    @compilation.kernel
    def tripled(value):
        return 3 * value

    @compilation.kernel(parallel=True)
    def tripled_twice(task, values):
        values[task] = tripled(tripled(values[task]))

    values = np.full(1, 4)
    tripled_twice(1, values)
    assert values == 36
    for dispatcher in (tripled.dispatcher, tripled_twice.dispatcher):
        (compiled,) = dispatcher.overloads.values()
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@compilation.kernel(parallel=True)
def _with_scratch(task, sizes, results):
    scratch = np.zeros(sizes[task], np.uint8)
    scratch[sizes[task] - 1] = 1
    others = scratch.copy()
    results[task] = others.sum() + scratch[0]


def test_tasks_allocate_and_free_memory():
    sizes, results = np.full(200, 1 << 22), np.zeros(200, np.int64)
    before = _resident_bytes()
    _with_scratch(200, sizes, results)
    assert (results == 1).all()
    # 1.6 GB, of which a few tasks have theirs at a time.
    assert _resident_bytes() - before < 400 << 20


def _resident_bytes():
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc tells how many bytes are resident")
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_memory_of_tasks_has_the_layout_of_numbas():
    require_numba()
    from numba.core.runtime import nrtdynmod

    # The number of references, the destructor and its argument, the address of the elements, their bytes.
    fields = [str(field) for field in nrtdynmod._meminfo_struct_type.elements]
    assert fields == ["i64", "i8*", "i8*", "i8*", "i64"]
