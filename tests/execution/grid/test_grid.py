"""Programs on grids of processes: results, schedule, deadlocks, memory."""

from __future__ import annotations

import gc
import itertools
import queue
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Grid, HostQueues, NimbleError, Options, UnsupportedError
from nimblehlo.execution.grid.transport import MAX_NAMED_PROCESSES
from nimblehlo.program.ops.collectives.reduction import CHUNK_ELEMENTS
from tests.execution.grid.programs import all_reduce, channel, function, groups
from tests.support.threads import on_threads

Array = np.ndarray[Any, Any]
V = "tensor<5xf32>"


def vectors(count: int, dtype: Any = np.float32) -> list[Array]:
    generator = np.random.default_rng(count)
    return [(generator.random(5) * 100 - 50).astype(dtype) for _ in range(count)]


def tree(values: list[Array]) -> Array:
    """Adjacent pairs, level by level, one addition after the other."""
    while len(values) > 1:
        pairs = [values[index] + values[index + 1] for index in range(0, len(values) - 1, 2)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


MODES = {
    "cross_replica": (groups([[0, 2], [1, 3]]), [[0, 4], [1, 5], [2, 6], [3, 7]]),
    "cross_replica_and_partition": (
        f"{groups([[0, 2], [1, 3]])}, {channel(1)}",
        [[0, 4, 1, 5], [2, 6, 3, 7]],
    ),
    "flattened_ids": (
        f"{groups([[0, 5, 2], [1, 7, -1], [3, 4, 6]])}, {channel(1)}, use_global_device_ids",
        [[0, 5, 2], [1, 7], [3, 4, 6]],
    ),
}
"""For each mode, attributes and the groups that they make of a grid of 4 x 2."""


@pytest.mark.parametrize("compile", ["never", "eager"])
@pytest.mark.parametrize("mode", MODES)
def test_all_reduce_adds_by_the_tree(mode: str, compile: Any) -> None:
    attributes, expected = MODES[mode]
    text = function(f"%x: {V}", f"{all_reduce(V, attributes)}\n return %r : {V}", V)
    inputs = vectors(8)
    executable = nimblehlo.compile(text, grid=Grid(4, 2), options=Options(compile=compile))
    results = executable([[each] for each in inputs])
    for group in expected:
        total = tree([inputs[process] for process in group])
        for process in group:
            np.testing.assert_array_equal(results[process][0], total)


@pytest.mark.parametrize("size", [0, 1, CHUNK_ELEMENTS, 2 * CHUNK_ELEMENTS + 3])
def test_all_reduce_of_many_elements(size: int) -> None:
    """The reduction goes over chunks of the values, which the bits do not show."""
    type = f"tensor<{size}xf32>"
    text = function(f"%x: {type}", f"{all_reduce(type, groups([[0, 1, 2]]))}\n return %r : {type}", type)
    inputs = [np.random.default_rng(process).random(size, np.float32) for process in range(3)]
    expected = tree(inputs)
    for (result,) in nimblehlo.execute(text, [[each] for each in inputs], grid=Grid(3)):
        np.testing.assert_array_equal(result, expected)


def test_narrow_floats_are_added_in_f32_and_rounded_once() -> None:
    type = "tensor<5xf16>"
    text = function(f"%x: {type}", f"{all_reduce(type, groups([[0, 1, 2]]))}\n return %r : {type}", type)
    inputs = vectors(3, np.float16)
    expected = tree([each.astype(np.float32) for each in inputs]).astype(np.float16)
    for (result,) in nimblehlo.execute(text, [[each] for each in inputs], grid=Grid(3)):
        np.testing.assert_array_equal(result, expected)


def test_a_computation_of_any_kind_combines_in_the_order_of_the_group() -> None:
    """a - 2 b is neither commutative nor associative; the result has a wider type than the operand."""
    region = """
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %t = stablehlo.add %b, %b : tensor<f32>
        %s = stablehlo.subtract %a, %t : tensor<f32>
        stablehlo.return %s : tensor<f32>"""
    reduced = all_reduce("tensor<5xf16>", groups([[2, 0, 1]]), region, to=V)
    text = function("%x: tensor<5xf16>", f"{reduced}\n return %r : {V}", V)
    inputs = vectors(3, np.float16)
    a, b, c = [inputs[process].astype(np.float32) for process in (2, 0, 1)]
    for (result,) in nimblehlo.execute(text, [[each] for each in inputs], grid=Grid(3)):
        np.testing.assert_array_equal(result, (a - 2 * b) - 2 * c)


def test_all_to_all_transposes_processes_and_parts() -> None:
    text = function(
        "%x: tensor<2x6xi32>",
        f"""%r = "stablehlo.all_to_all"(%x) {{split_dimension = 1 : i64, concat_dimension = 0 : i64,
          split_count = 3 : i64, {groups([[1, 0, 2]])}, {channel(1)}}} : (tensor<2x6xi32>) -> tensor<6x2xi32>
        return %r : tensor<6x2xi32>""",
        "tensor<6x2xi32>",
    )
    inputs = [np.arange(12, dtype=np.int32).reshape(2, 6) + 100 * process for process in range(3)]
    results = nimblehlo.execute(text, [[each] for each in inputs], grid=Grid(1, 3))
    order = [1, 0, 2]
    for position, process in enumerate(order):
        expected = np.concatenate([inputs[sender][:, 2 * position : 2 * position + 2] for sender in order])
        np.testing.assert_array_equal(results[process][0], expected)


def test_reduce_scatter_hands_out_parts_of_all_reduce() -> None:
    attributes = f"scatter_dimension = 0 : i64, {groups([[0, 1]])}, {channel(1)}"
    scatter = all_reduce("tensor<8xf32>", attributes, to="tensor<2xf32>").replace(
        "all_reduce", "reduce_scatter"
    )
    text = function("%x: tensor<8xf32>", f"{scatter}\n return %r : tensor<2xf32>", "tensor<2xf32>")
    inputs = [np.random.default_rng(process).random(8, np.float32) for process in range(4)]
    results = nimblehlo.execute(text, [[each] for each in inputs], grid=Grid(2, 2))
    order = [0, 2, 1, 3]
    total = tree([inputs[process] for process in order])
    for position, process in enumerate(order):
        np.testing.assert_array_equal(results[process][0], total[2 * position : 2 * position + 2])


QUANTIZED = "tensor<2x!quant.uniform<i8:f32, 0.5:3>>"


def test_a_process_to_which_nothing_is_sent_gets_zeros() -> None:
    """A quantized zero is stored as the zero point."""
    text = function(
        f"%x: {QUANTIZED}",
        f"""%r = "stablehlo.collective_permute"(%x) {{
          source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}} : ({QUANTIZED}) -> {QUANTIZED}
        return %r : {QUANTIZED}""",
        QUANTIZED,
    )
    inputs = [[np.array([process, 9], np.int8)] for process in range(3)]
    results = nimblehlo.execute(text, inputs, grid=Grid(3))
    assert [result.tolist() for (result,) in results] == [[3, 3], [0, 9], [1, 9]]


IDS = """
    %rep = stablehlo.replica_id : tensor<ui32>
    %par = stablehlo.partition_id : tensor<ui32>
    %ri = stablehlo.convert %rep : (tensor<ui32>) -> tensor<i32>
    %pi = stablehlo.convert %par : (tensor<ui32>) -> tensor<i32>"""
SCALAR = "tensor<i32>"


@pytest.mark.parametrize("compile", ["never", "eager"])
def test_processes_know_their_ids_and_share_the_plan(compile: Any) -> None:
    body = f"""{IDS}
    %ten = stablehlo.constant dense<10> : {SCALAR}
    %0 = stablehlo.multiply %ri, %ten : {SCALAR}
    %1 = stablehlo.add %0, %pi : {SCALAR}
    return %1 : {SCALAR}"""
    text = function("", body, SCALAR)
    options = Options(compile=compile)
    results = nimblehlo.compile(text, grid=Grid(2, 3), options=options)()
    assert [int(result) for (result,) in results] == [0, 1, 2, 10, 11, 12]
    assert int(nimblehlo.execute(text, options=options)[0]) == 0


LOOP = function(
    f"%x: {SCALAR}",
    f"""
    %zero = stablehlo.constant dense<0> : {SCALAR}
    %one = stablehlo.constant dense<1> : {SCALAR}
    %four = stablehlo.constant dense<4> : {SCALAR}
    %0:2 = stablehlo.while(%i = %zero, %v = %x) : {SCALAR}, {SCALAR}
    cond {{
      {all_reduce(SCALAR, groups([[0, 1, 2]]), operand="%i", result="%all")}
      %three = stablehlo.constant dense<12> : {SCALAR}
      %c = stablehlo.compare LT, %all, %three : ({SCALAR}, {SCALAR}) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %next = stablehlo.add %i, %one : {SCALAR}
      %odd = stablehlo.remainder %i, %four : {SCALAR}
      %b = "stablehlo.case"(%odd) ({{
        {all_reduce(SCALAR, groups([[0, 1, 2]]), operand="%v")}
        stablehlo.return %r : {SCALAR}
      }}, {{
        %p = "stablehlo.collective_permute"(%v) {{
          source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}} : ({SCALAR}) -> {SCALAR}
        stablehlo.return %p : {SCALAR}
      }}, {{
        %n = stablehlo.add %v, %i : {SCALAR}
        stablehlo.return %n : {SCALAR}
      }}) : ({SCALAR}) -> {SCALAR}
      %rep = stablehlo.replica_id : tensor<ui32>
      %ri = stablehlo.convert %rep : (tensor<ui32>) -> {SCALAR}
      %t = stablehlo.add %b, %ri : {SCALAR}
      stablehlo.return %next, %t : {SCALAR}, {SCALAR}
    }}
    return %0#1 : {SCALAR}""",
    SCALAR,
)


@pytest.mark.parametrize("compile", ["never", "eager"])
def test_collectives_in_loops_and_branches(compile: Any) -> None:
    values = [3, 5, 11]
    for step in range(4):
        if step == 0:
            values = [sum(values)] * 3
        elif step == 1:
            values = [values[2], values[0], values[1]]
        else:
            values = [value + step for value in values]
        values = [value + replica for replica, value in enumerate(values)]
    inputs = [[np.array(value, np.int32)] for value in (3, 5, 11)]
    results = nimblehlo.execute(LOOP, inputs, grid=Grid(3), options=Options(compile=compile))
    assert [int(result) for (result,) in results] == values


def test_equal_collectives_stay_apart_and_unused_ones_run() -> None:
    """Nothing removes a collective: two equal ones meet twice, and one without users still meets."""
    reduced = [all_reduce(V, groups([[0, 1]]), result=f"%r{number}") for number in range(3)]
    text = function(f"%x: {V}", "\n".join([*reduced, f"return %r0, %r1 : {V}, {V}"]), f"{V}, {V}")
    executable = nimblehlo.compile(text, grid=Grid(2))
    assert executable.explain("plan").count("stablehlo.all_reduce") == 3
    inputs = vectors(2)
    for results in executable([[each] for each in inputs]):
        for result in results:
            np.testing.assert_array_equal(result, inputs[0] + inputs[1])


def test_results_and_inputs_are_the_callers_own() -> None:
    text = function(
        f"%x: {V}",
        f"""{all_reduce(V, groups([[0, 1]]))}
        %p = "stablehlo.collective_permute"(%x) {{
          source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}} : ({V}) -> {V}
        return %r, %p, %x : {V}, {V}, {V}""",
        f"{V}, {V}, {V}",
    )
    inputs = vectors(2)
    before = [each.copy() for each in inputs]
    results = [
        array
        for of_process in nimblehlo.execute(text, [[i] for i in inputs], grid=Grid(2))
        for array in of_process
    ]
    for one, other in itertools.combinations([*results, *inputs], 2):
        assert not np.shares_memory(one, other)
    for each, copy in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(each, copy)


def test_results_do_not_wait_for_garbage_to_be_collected() -> None:
    text = function(f"%x: {V}", f"{all_reduce(V, groups([[0, 1]]))}\nreturn %r : {V}", V)
    executable = nimblehlo.compile(text, grid=Grid(2))
    gc.collect()
    gc.disable()
    try:
        results = executable([[values] for values in vectors(2)])
        alive = [weakref.ref(values) for (values,) in results]
        del results
        assert not any(each() is not None for each in alive)
    finally:
        gc.enable()


def test_what_a_process_overwrites_no_other_one_sees() -> None:
    """Large arrays are shared between processes; steps after it may write in place."""
    type = "tensor<4096xf32>"
    text = function(
        f"%x: {type}",
        f"""%p = "stablehlo.collective_broadcast"(%x) {{{groups([[0, 1, 2]])}}} : ({type}) -> {type}
        {IDS}
        %f = stablehlo.convert %rep : (tensor<ui32>) -> tensor<f32>
        %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {type}
        %0 = stablehlo.add %p, %b : {type}
        %1 = stablehlo.multiply %0, %0 : {type}
        return %1 : {type}""",
        type,
    )
    inputs = [[np.full(4096, 10 + process, np.float32)] for process in range(3)]
    for replica, (result,) in enumerate(nimblehlo.execute(text, inputs, grid=Grid(3))):
        np.testing.assert_array_equal(result, np.full(4096, (10 + replica) ** 2, np.float32))


def test_unknown_sizes() -> None:
    type = "tensor<?xf32>"
    text = function(f"%x: {type}", f"{all_reduce(type, groups([[0, 1]]))}\n return %r : {type}", type)
    executable = nimblehlo.compile(text, grid=Grid(2))
    for size in (3, 4):
        inputs = [np.arange(size, dtype=np.float32), np.ones(size, np.float32)]
        for (result,) in executable([[each] for each in inputs]):
            np.testing.assert_array_equal(result, inputs[0] + 1)
    with pytest.raises(ExecutionError, match=r"process \(1, 0\) have other sizes"):
        executable([[np.ones(2, np.float32)], [np.ones(3, np.float32)]])


def test_a_thousand_processes_and_many_callers() -> None:
    text = function(
        f"%x: {SCALAR}", f"{all_reduce(SCALAR, groups([list(range(1000))]))}\n return %r : {SCALAR}", SCALAR
    )
    executable = nimblehlo.compile(text, grid=Grid(1000))
    inputs = [[np.array(process, np.int32)] for process in range(1000)]
    totals: list[int] = []
    on_threads(3, lambda _: totals.append(int(executable(inputs)[999][0])))
    assert totals == [499500] * 3


def named(name: str, body: str, inputs: str, results: str) -> str:
    """A private function that returns %r."""
    return f"func.func private @{name}({inputs}) -> ({results}) {{\n{body}\nreturn %r : {results}\n}}"


def test_a_mismatch_is_a_deadlock_that_names_each_process() -> None:
    gathered = f'%r = "stablehlo.all_gather"(%x) {{all_gather_dim = 0 : i64, {groups([[0, 1, 2]])}}}'
    inner = "tensor<15xf32>"
    text = "\n".join(
        [
            named("one", all_reduce(V, groups([[0, 1, 2]])), f"%x: {V}", V),
            named("two", f"{gathered} : ({V}) -> {inner}", f"%x: {V}", inner),
            named("three", f"%r = stablehlo.negate %x : {V}", f"%x: {V}", V),
            "func.func @main() {",
            f"%x = stablehlo.constant dense<1.0> : {V}",
            '%r:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@one], [@two], [@three]]}'
            f" : ({V}, {V}, {V}) -> ({V}, {inner}, {V})",
            "return",
            "}",
        ]
    )
    start = time.monotonic()
    with pytest.raises(ExecutionError, match="deadlock") as caught:
        nimblehlo.execute(text)
    assert time.monotonic() - start < 30
    for part in (
        r"process (0, 0) waits in stablehlo.all_reduce at <text>:2:",
        r"for processes (1, 0), (2, 0)",
        r"process (1, 0) waits in stablehlo.all_gather at <text>:",
        r"for processes (0, 0), (2, 0)",
        "1 of 3 processes have ended",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("more", [0, 1])
def test_a_deadlock_of_many_processes_is_told_in_few_words(more: int) -> None:
    count = MAX_NAMED_PROCESSES + 1 + more
    body = f"""%rep = stablehlo.replica_id : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %p = stablehlo.compare EQ, %rep, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %0 = "stablehlo.if"(%p) ({{
      stablehlo.return %x : {V}
    }}, {{
      {all_reduce(V, groups([list(range(count))]))}
      stablehlo.return %r : {V}
    }}) : (tensor<i1>) -> {V}
    return %0 : {V}"""
    with pytest.raises(ExecutionError, match="deadlock") as caught:
        nimblehlo.execute(
            function(f"%x: {V}", body, V), [[each] for each in vectors(count)], grid=Grid(count)
        )
    message = str(caught.value)
    assert message.count("waits in stablehlo.all_reduce") == MAX_NAMED_PROCESSES
    assert ("1 more processes wait" in message) == bool(more)
    assert f"1 of {count} processes have ended" in message


def test_operands_of_a_group_must_agree() -> None:
    type = "tensor<6xf32>"
    text = "\n".join(
        [
            named("one", all_reduce(V, groups([[0, 1]])), f"%x: {V}", V),
            named("two", all_reduce(type, groups([[0, 1]])), f"%x: {type}", type),
            "func.func @main() {",
            f"%x = stablehlo.constant dense<1.0> : {V}",
            f"%y = stablehlo.constant dense<1.0> : {type}",
            f'%r:2 = "interpreter.run_parallel"(%x, %y) {{programs = [[@one], [@two]]}}'
            f" : ({V}, {type}) -> ({V}, {type})",
            "return",
            "}",
        ]
    )
    with pytest.raises(
        ExecutionError, match=r"process \(1, 0\): has operands \(float32\[6\]\), but process \(0, 0\)"
    ):
        nimblehlo.execute(text)


PAIRS = "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"


def send(operand: str, attributes: str, token: str = "%t", result: str = "%u") -> str:
    return (
        f'{result} = "stablehlo.send"({operand}, {token}) {{{attributes}}} '
        f": ({V}, !stablehlo.token) -> !stablehlo.token"
    )


def recv(attributes: str, token: str = "%u") -> str:
    return (
        f'%r, %v = "stablehlo.recv"({token}) {{{attributes}}} : (!stablehlo.token) -> ({V}, !stablehlo.token)'
    )


def test_send_and_recv_between_devices() -> None:
    body = f"""%t = stablehlo.create_token : !stablehlo.token
    {send("%x", f"{channel(0)}, {PAIRS}")}
    {recv(f"{channel(0)}, {PAIRS}")}
    return %r : {V}"""
    inputs = vectors(2)
    results = nimblehlo.execute(function(f"%x: {V}", body, V), [[each] for each in inputs], grid=Grid(2))
    np.testing.assert_array_equal(results[0][0], inputs[1])
    np.testing.assert_array_equal(results[1][0], inputs[0])


def test_a_send_without_recv_and_a_recv_without_send_are_errors() -> None:
    token = "%t = stablehlo.create_token : !stablehlo.token"
    text = function(f"%x: {V}", f"{token}\n{send('%x', f'{channel(0)}, {PAIRS}')}\nreturn %x : {V}", V)
    inputs = [[each] for each in vectors(2)]
    with pytest.raises(ExecutionError, match=r"process \(0, 0\) sent values that no process has received"):
        nimblehlo.execute(text, inputs, grid=Grid(2))
    text = function("", f"{token}\n{recv(f'{channel(0)}, {PAIRS}', '%t')}\nreturn %r : {V}", V)
    with pytest.raises(
        ExecutionError, match=r"waits in stablehlo.recv at .* for process \(1, 0\) on channel 0"
    ):
        nimblehlo.execute(text, [(), ()], grid=Grid(2))


HOST = function(
    "",
    f"""%t = stablehlo.create_token : !stablehlo.token
    %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> ({V}, !stablehlo.token)
    %a, %u = "stablehlo.recv"(%r#1) {{{channel(1, 3)}, is_host_transfer = true}}
      : (!stablehlo.token) -> ({V}, !stablehlo.token)
    %s = stablehlo.add %r#0, %a : {V}
    {send("%s", f"{channel(2, 2)}, is_host_transfer = true", "%u", "%v")}
    %w = "stablehlo.outfeed"(%a, %s, %v) : ({V}, {V}, !stablehlo.token) -> !stablehlo.token
    return""",
    "",
)


def test_queues_are_the_other_end_of_streams_and_host_channels() -> None:
    """The infeed of each process is its own; another thread feeds the channel while processes wait."""
    infeeds: list[queue.Queue[Any]] = [queue.Queue() for _ in range(2)]
    outfeed: queue.Queue[Any] = queue.Queue()
    to_host: queue.Queue[Any] = queue.Queue()
    from_host: queue.Queue[Any] = queue.Queue()
    values = vectors(2)
    for infeed, value in zip(infeeds, values, strict=True):
        infeed.put(value)
    host = HostQueues(infeed=infeeds, outfeed=outfeed, send={2: to_host}, recv={1: from_host})
    timer = threading.Timer(0.05, lambda: [from_host.put((value,)) for value in values])
    timer.start()
    nimblehlo.compile(HOST, grid=Grid(2), host=host)()
    for value in values:
        (sent,) = to_host.get_nowait()
        np.testing.assert_array_equal(sent, value + value)
        first, second = outfeed.get_nowait()
        np.testing.assert_array_equal(first, value)
        np.testing.assert_array_equal(second, value + value)


class _FullDisk:
    def put(self, item: object) -> None:
        raise OSError(28, "No space left on device")

    def get_nowait(self) -> Any:
        raise queue.Empty


def test_what_a_queue_does_wrong_is_an_error() -> None:
    infeed: queue.Queue[Any] = queue.Queue()
    recv_queue: queue.Queue[Any] = queue.Queue()

    def run(**queues: Any) -> None:
        infeed.put(np.ones(5, np.float32))
        recv_queue.put(np.ones(5, np.float32))
        nimblehlo.execute(HOST, host=HostQueues(**queues))

    with pytest.raises(ExecutionError, match="no queue is given from which the infeed reads"):
        run()
    with pytest.raises(ExecutionError, match="no queue is given to which the outfeed writes"):
        run(infeed=infeed, recv={1: recv_queue})
    with pytest.raises(ExecutionError, match=r"outfeed: the operating system reports: .*No space left"):
        run(infeed=infeed, recv={1: recv_queue}, outfeed=_FullDisk(), send={2: queue.Queue()})
    with pytest.raises(ExecutionError, match=r"waited for 0.01 seconds for the host on channel 1"):
        run(infeed=infeed, recv={1: queue.Queue()}, timeout=0.01)
    infeed = queue.Queue()
    infeed.put(np.ones(4, np.float32))
    with pytest.raises(ExecutionError, match=r"got float32\[4\], but results\[0\] is tensor<5xf32>"):
        run(infeed=infeed)


ASYNC = function(
    f"%x: {V}",
    f"""%f = "stablehlo.async_start"(%x) ({{
      ^bb0(%y: {V}):
        {all_reduce(V, groups([[0, 1]]), operand="%y")}
        stablehlo.return %r : {V}
    }}) : ({V}) -> !stablehlo.future<{V}>
    %g = "stablehlo.async_start"(%x) ({{
      ^bb0(%y: {V}):
        %r = "stablehlo.collective_permute"(%y) {{
          source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}} : ({V}) -> {V}
        stablehlo.return %r : {V}
    }}) : ({V}) -> !stablehlo.future<{V}>
    %h = "stablehlo.async_start"(%x) ({{
      ^bb0(%y: {V}):
        %r = stablehlo.slice %y [1:3] : ({V}) -> tensor<2xf32>
        stablehlo.return %r : tensor<2xf32>
    }}) : ({V}) -> !stablehlo.future<tensor<2xf32>>
    %2 = "stablehlo.async_done"(%h) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
    %1 = "stablehlo.async_done"(%g) : (!stablehlo.future<{V}>) -> {V}
    %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<{V}>) -> {V}
    return %0, %1, %2 : {V}, {V}, tensor<2xf32>""",
    f"{V}, {V}, tensor<2xf32>",
)


def test_asynchronous_operations() -> None:
    inputs = vectors(2)
    results = nimblehlo.execute(ASYNC, [[each] for each in inputs], grid=Grid(2))
    for process, (total, permuted, part) in enumerate(results):
        np.testing.assert_array_equal(total, inputs[0] + inputs[1])
        np.testing.assert_array_equal(permuted, inputs[1 - process])
        np.testing.assert_array_equal(part, inputs[process][1:3])


def test_started_operations_meet_in_any_order() -> None:
    """Process 0 starts A, then B; process 1 starts B, then A: neither waits before it has started both."""

    def program(name: str, order: str) -> str:
        started = {
            part: f'%f{part} = "stablehlo.async_start"(%x) ({{\n^bb0(%y: {V}):\n'
            + all_reduce(V, f"{groups([[0, 1]])}, {channel(number)}", operand="%y")
            + f"\nstablehlo.return %r : {V}\n}}) : ({V}) -> !stablehlo.future<{V}>"
            for number, part in enumerate("AB", 1)
        }
        done = [
            f'%r{part} = "stablehlo.async_done"(%f{part}) : (!stablehlo.future<{V}>) -> {V}' for part in order
        ]
        body = "\n".join([*(started[part] for part in order), *done, f"%r = stablehlo.add %rA, %rB : {V}"])
        return named(name, body, f"%x: {V}", V)

    text = "\n".join(
        [
            program("one", "AB"),
            program("two", "BA"),
            f"func.func @main() -> ({V}, {V}) {{",
            f"%x = stablehlo.constant dense<1.0> : {V}",
            f'%r:2 = "interpreter.run_parallel"(%x, %x) {{programs = [[@one], [@two]]}}'
            f" : ({V}, {V}) -> ({V}, {V})",
            f"return %r#0, %r#1 : {V}, {V}",
            "}",
        ]
    )
    for result in nimblehlo.execute(text):
        np.testing.assert_array_equal(result, np.full(5, 4, np.float32))


def test_the_schedule_is_the_same_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Processes print in the order of their ids, before and after they meet."""
    body = f"""{IDS}
    interpreter.print %ri : {SCALAR}
    {all_reduce(SCALAR, groups([[0, 1, 2]]), operand="%ri")}
    %s = stablehlo.subtract %ri, %r : {SCALAR}
    interpreter.print %s : {SCALAR}
    return"""
    executable = nimblehlo.compile(function("", body, ""), grid=Grid(3))
    for _ in range(2):
        executable()
        printed = [line.split("{")[1].strip("}\n") for line in capsys.readouterr().out.splitlines()]
        assert printed == ["0", "1", "2", "-1", "-3", "-2"]


def test_errors_of_a_process_name_it() -> None:
    body = f"""{IDS}
    %c = stablehlo.constant dense<0> : {SCALAR}
    check.expect_eq %ri, %c : {SCALAR}
    return"""
    with pytest.raises(ExecutionError, match=r"check.expect_eq: process \(1, 0\): .* at .*:\d+:\d+"):
        nimblehlo.execute(function("", body, ""), [(), ()], grid=Grid(2))


def test_limits_hold_for_the_whole_run() -> None:
    inputs = [[np.array(value, np.int32)] for value in (3, 5, 11)]
    with pytest.raises(ExecutionError, match="max_steps = 40"):
        nimblehlo.execute(LOOP, inputs, grid=Grid(3), options=Options(max_steps=40))
    nimblehlo.execute(LOOP, inputs, grid=Grid(3), options=Options(max_steps=400))


def test_wrong_inputs_and_grids() -> None:
    text = function(f"%x: {V}", f"return %x : {V}", V)
    executable = nimblehlo.compile(text, grid=Grid(2))
    with pytest.raises(ExecutionError, match="inputs for 1 processes, but 2 run here: the grid is 2 x 1"):
        executable([[np.ones(5, np.float32)]])
    with pytest.raises(ExecutionError):
        executable([[np.ones(5, np.float32)], [np.ones(4, np.float32)]])
    for size in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="must be a positive integer"):
            Grid(size)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="sanitize"):
        nimblehlo.compile(text, grid=Grid(2), options=Options(sanitize=True))


def test_regions_of_computations_may_not_communicate() -> None:
    region = f"""
      ^bb0(%p: tensor<f32>, %o: tensor<f32>):
        {all_reduce("tensor<f32>", groups([[0]]), operand="%p", result="%q")}
        stablehlo.return %q : tensor<f32>"""
    text = function(f"%x: {V}", f"{all_reduce(V, groups([[0]]), region)}\n return %r : {V}", V)
    with pytest.raises(UnsupportedError, match="communicates in a region that is not part of control flow"):
        nimblehlo.execute(text, [np.ones(5, np.float32)])


def test_without_a_grid_a_program_is_one_process() -> None:
    text = function(f"%x: {V}", f"{all_reduce(V, groups([[0]]))}\n return %r : {V}", V)
    (value,) = vectors(1)
    np.testing.assert_array_equal(nimblehlo.execute(text, [value])[0], value)
    with pytest.raises(NimbleError, match=r"has the id 1, but num_replicas is 1: the grid is 1 x 1"):
        nimblehlo.compile(text.replace("[[0]]> : tensor<1x1", "[[0, 1]]> : tensor<1x2"))
