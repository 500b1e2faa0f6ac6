"""Memory of a run: recycled blocks, writing in place, donated inputs, figures of `Executable.memory`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, api, register_custom_call
from nimblehlo.compiler.plan import MemoryEstimate, Plan, Prepared, Step
from nimblehlo.execution import memory
from nimblehlo.execution.boundary import with_donations
from nimblehlo.execution.executor import Runner, donated
from nimblehlo.kernels.launch import free_memory
from nimblehlo.kernels.launch.control_groups import MemoryLimit
from nimblehlo.kernels.launch.free_memory import MIN_CHECKED_BYTES
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from tests.support.forks import holds_in_child, needs_fork
from tests.support.running import run_every_way
from tests.support.threads import on_threads

COUNT = 100_000
BYTES = 4 * COUNT
NEVER = Options(compile="never")


def full(value: float, count: int = COUNT) -> np.ndarray:
    return np.full(count, value, np.float32)


def make(value: float, count: int = COUNT) -> np.ndarray:
    """An array from the recycling handler."""
    return memory.run_with(memory.RECYCLING, lambda number: full(number, count), value)


@pytest.fixture(autouse=True)
def no_other_claims() -> None:
    """Programs that `execute` has kept since other tests would claim idle memory too."""
    api._executed._values.clear()
    gc.collect()


@pytest.fixture
def retention() -> Iterator[memory.Retention]:
    """A claim on idle memory that suffices for a few arrays."""
    memory.release_idle()
    yield memory.Retention(8 * BYTES)
    gc.collect()
    memory.release_idle()


def test_freed_blocks_are_handed_out_again(retention: memory.Retention) -> None:
    first = make(1)
    address = first.ctypes.data
    assert address % 64 == 0
    before = memory.idle_bytes()
    del first
    assert memory.idle_bytes() - before >= BYTES
    second = make(2)
    assert second.ctypes.data == address and (second == 2).all()
    assert memory.idle_bytes() == before


def test_idle_memory_is_bounded_by_the_greatest_claim() -> None:
    memory.release_idle()
    held = memory.idle_bytes()
    small, large = memory.Retention(2 * BYTES), memory.Retention(6 * BYTES)
    arrays = [make(1) for _ in range(20)]
    del arrays
    assert 6 * BYTES < memory.idle_bytes() - held <= 7.5 * BYTES
    del large
    assert memory.idle_bytes() <= max(held, 2.5 * BYTES) or held
    del small
    gc.collect()


def test_the_blocks_that_wait_longest_go_first(retention: memory.Retention) -> None:
    old = make(1)
    address = old.ctypes.data
    del old
    others = [make(2, COUNT // 2) for _ in range(40)]
    del others
    assert make(3, COUNT // 2).ctypes.data != address
    assert memory.idle_bytes() <= 10 * BYTES


def test_a_claim_rises_to_what_a_run_was_seen_to_hold() -> None:
    memory.release_idle()
    held = memory.idle_bytes()
    retention = memory.Retention(BYTES)

    def work(_: object) -> None:
        workspace = [full(1), full(2), full(3), full(4)]
        assert len(workspace) == 4

    memory.run_with(memory.RECYCLING, work, None)
    assert memory.idle_bytes() - held < 4 * BYTES
    memory.run_with(memory.RECYCLING, work, None, retention)
    memory.run_with(memory.RECYCLING, work, None, retention)
    assert memory.idle_bytes() - held >= 4 * BYTES


def test_a_claim_falls_when_later_runs_need_less() -> None:
    """The first runs of a program may need more, until its code is compiled."""
    memory.release_idle()
    held = memory.idle_bytes()
    retention = memory.Retention(BYTES)

    def idle_after(arrays: int) -> float:
        memory.run_with(memory.RECYCLING, lambda count: [full(1) for _ in range(count)], arrays, retention)
        return (memory.idle_bytes() - held) / BYTES

    assert idle_after(8) >= 8
    idle = [idle_after(2) for _ in range(20)]
    assert idle[6] >= 8 and idle[15] <= 3.1
    assert idle_after(8) >= 8 and idle_after(2) >= 8


def test_an_idle_block_serves_smaller_requests_of_more_than_half_its_bytes(
    retention: memory.Retention,
) -> None:
    address = make(1).ctypes.data
    before = memory.idle_bytes()
    small = make(2, COUNT // 2 - 1000)
    assert small.ctypes.data != address and memory.idle_bytes() == before
    fitting = make(3, COUNT * 2 // 3)
    assert fitting.ctypes.data == address and memory.idle_bytes() < before
    del fitting
    assert memory.idle_bytes() == before
    assert make(4).ctypes.data == address


def test_a_claim_rises_until_no_run_takes_what_an_earlier_one_returned() -> None:
    """Two arrays are alive at a time, none fits a block of another, and all exceed the usual claim."""
    memory.release_idle()
    held = memory.idle_bytes()
    counts = [COUNT << number for number in (0, 3, 1, 5, 2, 4)]
    retention = memory.Retention(BYTES)

    def work(_: object) -> None:
        previous = full(0, counts[-1])
        for number, count in enumerate(counts):
            following = full(number, count)
            assert (following == number).all() and previous.size == counts[number - 1]
            previous = following

    for _ in range(4):
        memory.run_with(memory.RECYCLING, work, None, retention)
    peak = 4 * (max(counts) + counts[4])
    assert 1.25 * peak < 4 * sum(counts) <= memory.idle_bytes() - held <= 2.5 * peak


def test_a_claim_falls_when_later_runs_have_arrays_of_one_size() -> None:
    """Arrays of many sizes need more bytes in blocks than are ever alive; arrays of one size do not."""
    memory.release_idle()
    held = memory.idle_bytes()
    retention = memory.Retention(BYTES)

    def idle_after(counts: list[int]) -> float:
        def work(_: object) -> None:
            previous = full(0, counts[-1])
            for count in counts:
                previous = full(1, count)
            assert previous.size == counts[-1]

        memory.run_with(memory.RECYCLING, work, None, retention)
        return (memory.idle_bytes() - held) / BYTES

    many = [COUNT << number for number in (0, 3, 1, 5, 2, 4)]
    for _ in range(4):
        assert idle_after(many) <= 120
    assert idle_after(many) >= 63
    idle = [idle_after([16 * COUNT] * 6) for _ in range(17)]
    assert idle[6] >= 63 and 32 <= idle[-1] <= 45


RESIDENT = """
import os
import numpy as np
from nimblehlo.execution import memory

def resident():
    with open("/proc/self/statm", encoding="ascii") as figures:
        return int(figures.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
"""
"""A script's function that returns the resident memory in MiB."""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="there are no figures of memory here")
def test_the_end_of_a_block_returns_while_a_smaller_array_is_kept() -> None:
    code = """
retention = memory.Retention(1 << 27)

def make(mebibytes):
    return memory.run_with(memory.RECYCLING, lambda count: np.full(count, 7, np.int8), mebibytes << 20)

address = make(64).ctypes.data
kept = make(40)
assert kept.ctypes.data == address
before = resident()
for _ in range(2):
    make(0)
assert resident() >= before - 1, (before, resident())
for _ in range(4):
    make(0)
assert resident() <= before - 22, (before, resident())
assert (kept == 7).all()
del kept
again = make(64)
assert again.ctypes.data == address and (again == 7).all()
"""
    subprocess.run([sys.executable, "-c", RESIDENT + code], check=True, timeout=300)


def test_a_run_uses_its_memory_again_without_a_claim() -> None:
    memory.release_idle()
    held = memory.idle_bytes()

    def work(_: object) -> tuple[set[int], int]:
        addresses = {full(number).ctypes.data for number in range(20)}
        return addresses, memory.idle_bytes() - held

    addresses, idle = memory.run_with(memory.RECYCLING, work, None)
    assert len(addresses) <= 2 and BYTES <= idle <= 2.5 * BYTES
    assert memory.idle_bytes() - held < BYTES


def test_a_claim_rises_to_its_limit_only() -> None:
    memory.release_idle()
    held = memory.idle_bytes()
    retention = memory.Retention(BYTES, 2 * BYTES)
    for _ in range(2):
        memory.run_with(memory.RECYCLING, lambda _: [full(1), full(2), full(3)], None, retention)
    assert memory.idle_bytes() - held <= 2 * BYTES


def test_zeroed_and_resized_arrays(retention: memory.Retention) -> None:
    make(7)

    def arrays(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        grown = np.arange(10)
        grown.resize(count, refcheck=False)
        return np.zeros(count, np.float32), grown, np.zeros((0, count), np.float32)

    zeros, grown, empty = memory.run_with(memory.RECYCLING, arrays, COUNT)
    assert not zeros.any() and grown[:11].tolist() == [*range(10), 0] and empty.size == 0
    grown.resize(3, refcheck=False)
    assert grown.tolist() == [0, 1, 2]


SLAB_COUNTS = (1 << 17, (1 << 17) + 5, 200_000, 300_000, 700_000, (1 << 20) - 1, 1 << 20, 1_500_000)
"""Elements of arrays that share a slab, and of some beside them."""


def test_arrays_in_one_slab_do_not_touch(retention: memory.Retention) -> None:
    arrays: dict[int, np.ndarray] = {}
    generator = np.random.default_rng(0)
    for number in range(300):
        array = make(number, int(generator.choice(SLAB_COUNTS)))
        assert array.ctypes.data % 64 == 0
        arrays[number] = array
        if len(arrays) > 12:
            del arrays[int(generator.choice(list(arrays)))]
        if number % 50 == 0:
            memory.release_idle()
    assert all((array == number).all() for number, array in arrays.items())


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="there are no figures of memory here")
def test_what_is_freed_of_a_slab_is_given_back() -> None:
    """Also where some array still stands on it."""
    code = """
def make(number):
    return np.full(1 << 18, number, np.float32)

retention = memory.Retention(1 << 20)
before = resident()
arrays = [memory.run_with(memory.RECYCLING, make, number) for number in range(70)]
assert resident() - before >= 69, resident() - before
kept = arrays[::7]
del arrays
memory.release_idle()
assert resident() - before < 30, resident() - before
assert all((array == 7 * number).all() for number, array in enumerate(kept))
del kept
memory.release_idle()
assert resident() - before < 4, resident() - before
"""
    subprocess.run([sys.executable, "-c", RESIDENT + code], check=True, timeout=300)


def test_arrays_may_be_freed_by_another_thread(retention: memory.Retention) -> None:
    arrays = [make(number) for number in range(50)]
    on_threads(len(arrays), lambda _: arrays.pop())
    assert not arrays and (make(3) == 3).all()


@needs_fork
def test_a_forked_child_frees_arrays_of_other_threads(retention: memory.Retention) -> None:
    """Python frees a thread's locals in the child before any function of `os.register_at_fork`."""
    local, has_array, ends = threading.local(), threading.Event(), threading.Event()

    def hold() -> None:
        local.array = make(1)
        has_array.set()
        ends.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has_array.wait()
    try:
        assert holds_in_child(lambda: True)
    finally:
        ends.set()
        thread.join()


@needs_fork
def test_a_forked_child_can_use_it(retention: memory.Retention) -> None:
    array = make(1)
    assert holds_in_child(lambda: (make(2) == 2).all() and (array == 1).all())


def test_the_handler_is_put_back_after_an_error() -> None:
    def fail(_: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        memory.run_with(memory.RECYCLING, fail, None)
    memory.release_idle()
    array = full(1)
    del array
    assert memory.idle_bytes() == 0


def test_limited_handlers_count_what_is_alive() -> None:
    handler = memory.limited(2 * BYTES + 100)
    first = memory.run_with(handler, full, 1.0)
    second = memory.run_with(handler, full, 2.0)
    with pytest.raises(MemoryError):
        memory.run_with(handler, full, 3.0)
    del first
    third = memory.run_with(handler, full, 3.0)
    assert (second == 2).all() and (third == 3).all()
    with pytest.raises(MemoryError):
        memory.run_with(memory.limited(0), lambda count: np.empty(count), 1)


def test_blocks_for_which_too_little_memory_is_left_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.release_idle()
    left = [MemoryLimit(MIN_CHECKED_BYTES, 1 << 40, "the machine")]
    monkeypatch.setattr(free_memory, "limits", lambda: left)
    count = MIN_CHECKED_BYTES // 4
    assert make(1, count)[-1] == 1
    with pytest.raises(MemoryError, match=r"Unable to allocate 64\.0 MiB"):
        make(1, count + 1)
    left[0] = MemoryLimit(0, 1 << 40, "the machine")
    assert make(1, count - 1)[-1] == 1


def test_a_handler_of_signals_may_raise_while_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy sees a failed allocation, and the caller what was raised."""
    memory.release_idle()

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(free_memory, "limits", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(1, MIN_CHECKED_BYTES // 4)
    monkeypatch.undo()
    assert make(1)[-1] == 1


CHAIN = """
func.func @main(%a: tensor<100000xf32>) -> tensor<100000xf32> {
  %0 = stablehlo.add %a, %a : tensor<100000xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<100000xf32>
  %2 = stablehlo.subtract %1, %a : tensor<100000xf32>
  return %2 : tensor<100000xf32>
}
"""


def test_a_call_recycles_the_memory_of_dropped_results() -> None:
    executable = nimblehlo.compile(CHAIN, options=NEVER)
    a = full(3)
    (first,) = executable(a)
    address = first.ctypes.data
    (second,) = executable(a)
    assert second.ctypes.data != address
    del first
    (third,) = executable(a)
    assert third.ctypes.data == address
    del executable
    gc.collect()
    assert (second == 33).all() and (third == 33).all()


def test_memory_of_programs_that_are_gone_is_given_back() -> None:
    memory.release_idle()
    executable = nimblehlo.compile(CHAIN.replace("100000", "5000000"), options=NEVER)
    executable(full(1, 5_000_000))
    assert memory.idle_bytes() >= 20_000_000
    del executable
    gc.collect()
    assert memory.idle_bytes() < 20_000_000


def test_arrays_are_traced() -> None:
    executable = nimblehlo.compile(CHAIN, options=NEVER)
    a = full(1)
    tracemalloc.start()
    results = executable(a)
    held = tracemalloc.get_traced_memory()[0]
    del results
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held - after >= BYTES


def addresses(steps: list[Step], arguments: Any, slots: int, results: tuple[int, ...]) -> list[Any]:
    return Runner(Plan(steps, slots, tuple(range(len(arguments))), results, {})).run(arguments)


def step(function: Any, operands: tuple[int, ...], results: tuple[int, ...], **rest: Any) -> Step:
    return Step(Prepared(function), operands, results, "test.op", None, ((), ()), **rest)


def test_a_step_writes_into_an_operand_that_nothing_else_refers_to() -> None:
    """A list hands its arrays over; a tuple keeps them."""
    plan = [step(np.add, (0, 1), (2,), releases=(0, 1), overwrites=((0, 0), (1, 0)))]
    a, b = full(1), full(2)
    address = a.ctypes.data
    values = [a, b]
    del a
    (result,) = addresses(plan, values, 3, (2,))
    assert result.ctypes.data == address and (result == 3).all() and (b == 2).all()
    arguments = (full(1), b)
    (result,) = addresses(plan, arguments, 3, (2,))
    assert (result == 3).all() and (arguments[0] == 1).all() and (b == 2).all()


@pytest.mark.parametrize("kind", ["view alive", "read-only", "foreign", "strided", "twice"])
def test_what_is_not_free_is_not_overwritten(kind: str) -> None:
    array = full(1, 1000)
    kept: Any = None
    operands, overwrites = (0, 1), ((0, 0),)
    if kind == "view alive":
        kept = array[:10]
    elif kind == "read-only":
        array.flags.writeable = False
    elif kind == "foreign":
        array = np.frombuffer(bytearray(4000), np.float32)
        array += 1
    elif kind == "strided":
        array = full(1, 2000)[::2]
    else:
        operands = (0, 0)
    address = array.ctypes.data
    values = [array, full(2, 1000)]
    del array
    plan = [step(np.add, operands, (2,), releases=(0, 1), overwrites=overwrites)]
    (result,) = addresses(plan, values, 3, (2,))
    assert result.ctypes.data != address
    assert (result == (2 if kind == "twice" else 3)).all()
    assert kept is None or (kept == 1).all()


def test_no_array_is_given_to_two_results() -> None:
    seen: list[Any] = []

    def both(a: np.ndarray, out: Any = (None, None)) -> tuple[np.ndarray, np.ndarray]:
        seen.append([None if one is None else id(one) for one in out])
        return a + 1, a + 2

    array = full(1)
    number = id(array)
    values = [array]
    del array
    plan = [step(both, (0,), (1, 2), releases=(0,), overwrites=((0, 0), (0, 1)))]
    addresses(plan, values, 3, (1, 2))
    assert seen == [[number, None]]


def test_views_of_inputs_are_not_overwritten() -> None:
    text = """
    func.func @main(%a: tensor<200x50xf32>) -> tensor<10000xf32> {
      %0 = stablehlo.reshape %a : (tensor<200x50xf32>) -> tensor<10000xf32>
      %1 = stablehlo.negate %0 : tensor<10000xf32>
      %2 = stablehlo.reshape %1 : (tensor<10000xf32>) -> tensor<10000xf32>
      %3 = stablehlo.negate %2 : tensor<10000xf32>
      return %3 : tensor<10000xf32>
    }
    """
    a = np.arange(10_000, dtype=np.float32).reshape(200, 50)
    for given in (a, a.copy()[:], np.frombuffer(a.tobytes(), np.float32).reshape(200, 50)):
        (result,) = run_every_way(text, given)
        assert (result == a.reshape(-1)).all()


LOOP = """
func.func @main(%a: tensor<20000xf32>, %n: tensor<i32>) -> (tensor<20000xf32>, tensor<20000xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %start = stablehlo.constant dense<1.0> : tensor<20000xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %start)
    : tensor<i32>, tensor<20000xf32>, tensor<20000xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %u = stablehlo.slice %y [0:1] : (tensor<20000xf32>) -> tensor<1xf32>
    %v = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<20000xf32>, tensor<1xf32>, tensor<i32>)
      -> tensor<20000xf32>
    %w = stablehlo.add %y, %start : tensor<20000xf32>
    stablehlo.return %j, %v, %w : tensor<i32>, tensor<20000xf32>, tensor<20000xf32>
  }
  return %r#1, %r#2 : tensor<20000xf32>, tensor<20000xf32>
}
"""


def test_a_loop_changes_neither_inputs_nor_constants() -> None:
    a = full(0, 20_000)
    for _ in range(2):
        x, y = run_every_way(LOOP, a, np.int32(5))
        assert x[:7].tolist() == [1, 2, 3, 4, 5, 0, 0] and (y == 6).all()


def test_carried_arrays_are_updated_in_place() -> None:
    """The memory that a loop takes does not grow with the number of its iterations."""
    executable = nimblehlo.compile(LOOP, options=Options(compile="never", max_bytes=4 * 80_000 + 1000))
    x, _ = executable(full(0, 20_000), np.int32(1000))
    assert x[:3].tolist() == [1, 2, 3]


ELEMENTS, ARRAY = 20_000, "tensor<20000xf32>"


def alternating(branches: str, more: str = "", carried: str = "%c#0, %c#1") -> str:
    """A loop on %x, which begins as %a, and on %y of ones, with a `case` of these branches."""
    return f"""
func.func @main(%a: {ARRAY}, %n: tensor<i32>) -> ({ARRAY}, {ARRAY}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : {ARRAY}
  %start = stablehlo.constant dense<1.0> : {ARRAY}
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %start) : tensor<i32>, {ARRAY}, {ARRAY}
  cond {{
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %one : tensor<i32>
    %k = stablehlo.remainder %i, %two : tensor<i32>
    %c:2 = "stablehlo.case"(%k) ({branches}) : (tensor<i32>) -> ({ARRAY}, {ARRAY})
    {more}
    stablehlo.return %j, {carried} : tensor<i32>, {ARRAY}, {ARRAY}
  }}
  return %r#1, %r#2 : {ARRAY}, {ARRAY}
}}
"""


HALVE = f"""{{
      %s = stablehlo.multiply %x, %half : {ARRAY}
      stablehlo.return %s, %y : {ARRAY}, {ARRAY}
    }}"""
ADD = f"""{{
      %s = stablehlo.add %x, %y : {ARRAY}
      stablehlo.return %x, %s : {ARRAY}, {ARRAY}
    }}"""
SWAP = f"{{\nstablehlo.return %y, %x : {ARRAY}, {ARRAY}\n}}"
NESTED = f"""{{
      %q = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %d:2 = "stablehlo.if"(%q) ({SWAP}, {HALVE}) : (tensor<i1>) -> ({ARRAY}, {ARRAY})
      stablehlo.return %d#0, %d#1 : {ARRAY}, {ARRAY}
    }}"""
READ_LATER = f"%later = stablehlo.add %x, %c#0 : {ARRAY}"
BRANCHES: dict[str, tuple[str, int]] = {
    # The program, and the most arrays that it holds at the same time.
    "both overwrite": (alternating(f"{HALVE}, {ADD}"), 2),
    "one returns what it captures": (alternating(f"{SWAP}, {HALVE}"), 2),
    "nested": (alternating(f"{NESTED}, {ADD}"), 2),
    "read later": (alternating(f"{HALVE}, {ADD}", READ_LATER, "%later, %c#1"), 3),
}


@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.usefixtures("unverified")
def test_branches_overwrite_captured_values_that_no_later_step_uses(name: str) -> None:
    text, arrays = BRANCHES[name]
    a = np.arange(ELEMENTS, dtype=np.float32)
    expected = run_every_way(text, a, np.int32(7))
    executable = nimblehlo.compile(text, options=Options(compile="never", max_bytes=arrays * 80_000 + 2000))
    for result, other in zip(executable(a, np.int32(7)), expected, strict=True):
        assert result.tobytes() == other.tobytes()
    assert (a == np.arange(ELEMENTS)).all()
    assert (arrays - 2) * 80_000 <= executable.memory().temporaries < (arrays - 2) * 80_000 + 100


def test_a_run_that_ends_within_a_branch_changes_no_input() -> None:
    text, _ = BRANCHES["nested"]
    a = np.arange(ELEMENTS, dtype=np.float32)
    ended = 0
    for max_steps in range(1, 40):
        executable = nimblehlo.compile(text, options=Options(compile="never", max_steps=max_steps))
        for _ in range(2):
            try:
                executable(a, np.int32(4))
            except ExecutionError:
                ended += 1
        assert (a == np.arange(ELEMENTS)).all()
    assert 20 < ended < 78


def test_threads_run_branches_on_arrays_of_their_own() -> None:
    text, _ = BRANCHES["both overwrite"]
    executable = nimblehlo.compile(text, options=NEVER)
    inputs = [full(value, ELEMENTS) for value in range(3)]
    expected = [executable(a, np.int32(9))[1].tobytes() for a in inputs]

    def call(number: int) -> None:
        for _ in range(20):
            assert executable(inputs[number], np.int32(9))[1].tobytes() == expected[number]

    on_threads(len(inputs), call)
    assert all((a == value).all() for value, a in enumerate(inputs))


def test_memory_of_branches_that_consume_what_they_capture() -> None:
    """Each branch takes over or returns a value of the function, which is read by nothing else."""
    halved = f"{{\n%s = stablehlo.multiply %q, %q : {ARRAY}\nstablehlo.return %s : {ARRAY}\n}}"
    returned = f"{{\nstablehlo.return %q : {ARRAY}\n}}"
    text = f"""
    func.func @main(%p: tensor<i1>, %a: {ARRAY}) -> ({ARRAY}, tensor<1xf32>) {{
      %q = stablehlo.sine %a : {ARRAY}
      %first = stablehlo.slice %q [0:1] : ({ARRAY}) -> tensor<1xf32>
      %n = stablehlo.negate %first : tensor<1xf32>
      %c = "stablehlo.if"(%p) ({halved}, {returned}) : (tensor<i1>) -> {ARRAY}
      return %c, %n : {ARRAY}, tensor<1xf32>
    }}
    """
    assert figures(text).temporaries < 100
    later = text.replace("%n = stablehlo.negate %first : tensor<1xf32>\n", "").replace(
        "return %c, %n", "%l = stablehlo.slice %q [9:10] : (" + ARRAY + ") -> tensor<1xf32>\n"
        "%n = stablehlo.negate %l : tensor<1xf32>\nreturn %c, %n"
    )  # fmt: skip
    assert 80_000 <= figures(later).temporaries < 80_100


UPDATE = """
func.func @main(%a: tensor<100000xf32>, %b: tensor<100000xf32>) -> tensor<100000xf32> {
  %0 = stablehlo.add %a, %b : tensor<100000xf32>
  return %0 : tensor<100000xf32>
}
"""


@pytest.mark.parametrize("donate", [(0,), "all", (1,)])
def test_results_may_live_in_donated_inputs(donate: Any) -> None:
    executable = nimblehlo.compile(UPDATE, options=Options(compile="never", donate=donate))
    a, b = full(1), full(2)
    (result,) = executable(a, b)
    assert (result == 3).all()
    consumed, other = (b, a) if donate == (1,) else (a, b)
    assert np.shares_memory(result, consumed) and not np.shares_memory(result, other)
    assert other[0] in (1, 2)
    address = result.ctypes.data
    del a, b, consumed, other
    gc.collect()
    assert result.ctypes.data == address and (result == 3).all()


def test_inputs_that_cannot_be_donated_are_left_alone() -> None:
    executable = nimblehlo.compile(UPDATE, options=Options(compile="never", donate="all"))
    a = full(1)
    frozen = full(2)
    frozen.flags.writeable = False
    assert (executable(a, a)[0] == 2).all() and (a == 1).all()
    assert (executable(a[:], a)[0] == 2).all() and (a == 1).all()
    assert (executable(full(0, 2 * COUNT)[::2], frozen)[0] == 2).all() and (frozen == 2).all()


@pytest.mark.parametrize(("rows", "is_kept"), [(1, False), (49, False), (50, True), (100, True)])
def test_a_small_part_of_an_array_does_not_keep_it_alive(rows: int, is_kept: bool) -> None:
    text = f"""
    func.func @main(%a: tensor<100x1000xf32>) -> tensor<{rows}x1000xf32> {{
      %0 = stablehlo.add %a, %a : tensor<100x1000xf32>
      %1 = stablehlo.custom_call @tests.opaque(%0) : (tensor<100x1000xf32>) -> tensor<100x1000xf32>
      %2 = stablehlo.slice %1 [0:{rows}, 0:1000] : (tensor<100x1000xf32>) -> tensor<{rows}x1000xf32>
      return %2 : tensor<{rows}x1000xf32>
    }}
    """
    register_custom_call("tests.opaque", np.copy)
    try:
        (result,) = nimblehlo.execute(text, [full(1, 100_000).reshape(100, 1000)])
    finally:
        unregister_custom_call("tests.opaque")
    assert (result == 2).all()
    root = result if result.base is None else result.base
    assert (root.nbytes == 400_000) == is_kept


def test_inputs_in_one_memory_of_two_owners_are_not_donated() -> None:
    """Each array of a buffer has a memoryview of its own."""
    executable = nimblehlo.compile(UPDATE, options=Options(compile="never", donate="all"))
    memory = bytearray(np.arange(COUNT, dtype=np.float32).tobytes())
    a, b = (np.frombuffer(memory, np.float32) for _ in range(2))
    (expected,) = executable(a.copy(), b.copy())
    (result,) = executable(a, b)
    assert np.array_equal(result, expected)
    assert a.tolist() == list(range(COUNT))


def test_inputs_side_by_side_in_one_memory_of_two_owners_are_donated() -> None:
    executable = nimblehlo.compile(UPDATE, options=Options(compile="never", donate=(0,)))
    memory = bytearray(8 * COUNT)
    a, b = (np.frombuffer(memory, np.float32, COUNT, offset) for offset in (0, 4 * COUNT))
    a[:], b[:] = 1, 2
    (result,) = executable(a, b)
    assert (result == 3).all() and (b == 2).all()
    assert np.shares_memory(result, a) and not np.shares_memory(result, b)
    backwards = np.frombuffer(memory, np.float32)[:COUNT][::-1]
    assert with_donations((a, backwards), (0,))[0] is a


def test_a_donated_input_that_is_returned() -> None:
    text = """
    func.func @main(%a: tensor<100000xf32>) -> (tensor<100000xf32>, tensor<100000xf32>) {
      return %a, %a : tensor<100000xf32>, tensor<100000xf32>
    }
    """
    a = full(1)
    first, second = nimblehlo.execute(text, [a], options=Options(donate=(0,)))
    assert np.shares_memory(first, a) and not np.shares_memory(first, second)


def test_donated_inputs_are_checked() -> None:
    with pytest.raises(ExecutionError, match="donate names input 2, but @main takes 2"):
        nimblehlo.compile(UPDATE, options=Options(donate=(0, 2)))
    for donate in ("some", (-1,), 0, (1.5,)):
        with pytest.raises(ValueError, match="donate"):
            Options(donate=donate)  # type: ignore[arg-type]


def test_a_donated_array_is_a_new_one_in_the_same_memory() -> None:
    a = full(1)
    fresh = donated(a)
    assert fresh.ctypes.data == a.ctypes.data and fresh.flags.carray and fresh.dtype is a.dtype
    assert fresh[5:].base is fresh


def figures(text: str, **options: Any) -> MemoryEstimate:
    return nimblehlo.compile(text, options=Options(**{"compile": "never", **options})).memory()


def test_memory_of_a_chain() -> None:
    """Both intermediate results and the final one take turns in one array."""
    assert figures(CHAIN) == MemoryEstimate(arguments=BYTES, results=BYTES, temporaries=0, constants=0)


def test_memory_of_results_in_donated_inputs() -> None:
    negated = """
    func.func @main(%a: tensor<100000xf32>) -> tensor<100000xf32> {
      %0 = stablehlo.negate %a : tensor<100000xf32>
      return %0 : tensor<100000xf32>
    }
    """
    taken = MemoryEstimate(arguments=BYTES, results=BYTES, aliased=BYTES)
    assert figures(negated, donate=(0,)) == taken == figures(negated, donate="all")
    assert figures(negated).aliased == 0
    product = """
    func.func @main(%a: tensor<100x100xf32>) -> tensor<100x100xf32> {
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : (tensor<100x100xf32>, tensor<100x100xf32>) -> tensor<100x100xf32>
      return %0 : tensor<100x100xf32>
    }
    """
    assert figures(product, donate=(0,)).aliased == 0
    twice = """
    func.func @main(%a: tensor<100xf32>, %b: tensor<100xf32>)
        -> (tensor<100xf32>, tensor<100xf32>, tensor<100xf32>) {
      return %b, %b, %a : tensor<100xf32>, tensor<100xf32>, tensor<100xf32>
    }
    """
    assert [figures(twice, donate=some).aliased for some in ((), (1,), (0, 1))] == [0, 400, 800]


def test_views_take_no_memory() -> None:
    text = """
    func.func @main(%a: tensor<200x50xf32>) -> tensor<50xf32> {
      %0 = stablehlo.negate %a : tensor<200x50xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<200x50xf32>) -> tensor<50x200xf32>
      %2 = stablehlo.slice %1 [0:50, 3:4] : (tensor<50x200xf32>) -> tensor<50x1xf32>
      %3 = stablehlo.reshape %2 : (tensor<50x1xf32>) -> tensor<50xf32>
      %4 = stablehlo.negate %3 : tensor<50xf32>
      return %4 : tensor<50xf32>
    }
    """
    assert figures(text).temporaries <= 40_000 + 2 * 200


@pytest.mark.parametrize(("mode", "kept"), [("never", 800_000), ("eager", 400_000)])
def test_a_real_part_that_native_code_computes_keeps_no_complex_array(mode: str, kept: int) -> None:
    """NumPy's is a view, which keeps all of the array."""
    text = """
    func.func @main(%a: tensor<100000xcomplex<f32>>) -> (tensor<400000xf32>, tensor<100000xf32>) {
      %0 = stablehlo.fft %a, type = FFT, length = [100000]
        : (tensor<100000xcomplex<f32>>) -> tensor<100000xcomplex<f32>>
      %1 = stablehlo.real %0 : (tensor<100000xcomplex<f32>>) -> tensor<100000xf32>
      %2 = "stablehlo.sort"(%1) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<100000xf32>) -> tensor<100000xf32>
      %3 = stablehlo.concatenate %2, %2, %2, %2, dim = 0 : (tensor<100000xf32>, tensor<100000xf32>,
        tensor<100000xf32>, tensor<100000xf32>) -> tensor<400000xf32>
      return %3, %1 : tensor<400000xf32>, tensor<100000xf32>
    }
    """
    assert figures(text, compile=mode).temporaries == kept


def test_a_result_takes_the_memory_of_values_that_are_gone() -> None:
    """The squares are gone before the result is made, so that a call never holds more than the result."""
    text = """
    func.func @main(%a: tensor<100000xf32>) -> tensor<100000xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.multiply %a, %a : tensor<100000xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<100000xf32>
      %3 = stablehlo.subtract %a, %2 : tensor<100000xf32>
      return %3 : tensor<100000xf32>
    }
    """
    assert figures(text).temporaries < 100


def test_a_result_that_is_copied_at_the_end_takes_memory_beside_its_source() -> None:
    text = """
    func.func @main(%a: tensor<200x500xf32>) -> (tensor<500x200xf32>, tensor<200x500xf32>) {
      %0 = stablehlo.negate %a : tensor<200x500xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<200x500xf32>) -> tensor<500x200xf32>
      return %1, %a : tensor<500x200xf32>, tensor<200x500xf32>
    }
    """
    found = figures(text)
    assert found.results == 2 * BYTES
    assert found.temporaries == BYTES


def test_memory_of_a_loop_is_that_of_what_it_carries() -> None:
    found = figures(LOOP)
    assert found.arguments == 80_004 and found.results == 160_000
    assert found.temporaries < 1000


def test_memory_of_branches_is_that_of_the_greatest() -> None:
    text = """
    func.func @main(%p: tensor<i1>, %a: tensor<100000xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.if"(%p) ({
        %1 = stablehlo.multiply %a, %a : tensor<100000xf32>
        %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }, {
        stablehlo.return %zero : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    """
    found = figures(text)
    assert found.constants == 4
    assert BYTES <= found.temporaries < BYTES + 100


def test_memory_of_unknown_sizes_is_the_most_of_those_met() -> None:
    executable = nimblehlo.compile(UPDATE.replace("100000x", "?x"), options=NEVER)
    assert executable.memory() == MemoryEstimate()
    for count in (10, 1000, 100):
        executable(full(1, count), full(2, count))
    assert executable.memory() == MemoryEstimate(arguments=8000, results=4000)
