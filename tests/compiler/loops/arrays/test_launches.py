"""Native loops that launch operations: the same bits as by steps, whatever their code calls."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, register_custom_call
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.implementation import NoCode
from nimblehlo.compiler.loops.arrays import products
from nimblehlo.compiler.loops.arrays.control import MAX_ALLOCATED_ELEMENTS_PER_OP
from nimblehlo.compiler.loops.arrays.launches import prepared_launches, with_launches
from nimblehlo.compiler.loops.llvm import machine
from nimblehlo.compiler.loops.scalars.movement import MAX_CONSTANT_BYTES
from nimblehlo.compiler.loops.while_function import workspace_bytes
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.compiler.plan.implementations.kernel import KernelImplementation
from nimblehlo.compiler.plan.implementations.native_loops import (
    LoopToCompile,
    _compile_seconds,
    _own_compile_seconds,
    is_long,
)
from nimblehlo.compiler.plan.tiering import tiers
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from nimblehlo.compiler.specialize import specialize
from nimblehlo.kernels.compiling import kernel_cache
from nimblehlo.kernels.launch import native
from nimblehlo.kernels.launch.compilation import KernelReference, NotCompiled
from nimblehlo.kernels.launch.native import record_launches
from nimblehlo.kernels.launch.poison import POISON
from nimblehlo.program.ops.control.control import While
from nimblehlo.program.ops.custom_calls.custom_call import unregister_custom_call
from nimblehlo.program.ops.framework.declaration import Op
from tests.checks.fuzzing.loops import LARGE_SIDES, random_loop
from tests.compiler.loops.test_while_function import counted
from tests.support.running import run_every_way

RNG = np.random.default_rng(17)
LOOP_CALL = native.LoopCall


def launches_of(text: str, threads: int | None = None) -> int | str:
    """How many operations the outer loop of a program launches; why it is not native if it is not."""
    plan = nimblehlo.compile(text, options=Options(compile="eager", threads=threads)).explain("plan")
    loop, *_ = re.findall(r"stablehlo\.while.*\[(.*)\]", plan)
    found = re.search(r"a native loop(?: that launches (\d+) operations)?$", loop)
    return int(found[1] or 0) if found else loop


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("element", "dtype"), [("f32", np.float32), ("f64", np.float64), ("bf16", ml_dtypes.bfloat16)]
)
def test_products_that_threads_share(element: str, dtype: Any) -> None:
    type = f"tensor<72x72x{element}>"
    body = f"""%p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}
      %y = stablehlo.tanh %p : {type}"""
    text = counted(20, body, {"x": ("x0", type)}, "%y")
    assert launches_of(text) == 1
    run_every_way(text, normal(72, 72, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_large_matrices_of_stacks_are_not_copied(dtype: Any) -> None:
    """A product reads a matrix of each iteration where it lies, in an array that the loop never writes."""
    element = "f32" if dtype is np.float32 else "bf16"
    vector, matrix, stack = [f"tensor<{shape}x{element}>" for shape in ("300", "300x300", "4x300x300")]
    body = f"""%s = stablehlo.dynamic_slice %stack, %i, %zero, %zero, sizes = [1, 300, 300]
        : ({stack}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x300x300x{element}>
      %m = stablehlo.reshape %s : (tensor<1x300x300x{element}>) -> {matrix}
      %p = stablehlo.dot_general %x, %m, contracting_dims = [0] x [0] : ({vector}, {matrix}) -> {vector}
      %y = stablehlo.tanh %p : {vector}"""
    text = counted(20, body, {"x": ("x0", vector)}, "%y", more=f"%stack : {stack}")
    assert isinstance(launches_of(text), int)
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (loop,) = [one for one in function.body.block.operations if one.name == "stablehlo.while"]
    compiled = native_loops.loop_to_compile(While.of(loop), 1, lambda operation: True)
    assert isinstance(compiled, native_loops.LoopToCompile)
    assert workspace_bytes(compiled.operation, compiled.captured) < 300 * 300
    run_every_way(text, normal(300, dtype=dtype), normal(4, 300, 300, dtype=dtype) / 16)


def recorded_calls(monkeypatch: pytest.MonkeyPatch) -> list[native.LoopCall]:
    """The calls that native loops prepare from now on."""
    calls: list[native.LoopCall] = []

    def recorded(*arguments: Any) -> native.LoopCall:
        calls.append(LOOP_CALL(*arguments))
        return calls[-1]

    monkeypatch.setattr(native, "LoopCall", recorded)
    return calls


@pytest.mark.skipif(POISON != "0", reason="calls take objects of Python's where memory is poisoned")
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("contracted", ["[1] x [0]", "[0] x [1]"])
def test_products_are_called_without_objects_of_python(
    element: str, contracted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = recorded_calls(monkeypatch)
    type = f"tensor<73x73x{element}>"
    body = f"%y = stablehlo.dot_general %x, %x, contracting_dims = {contracted} : ({type}, {type}) -> {type}"
    text = counted(20, body, {"x": ("x0", type)}, "%y")
    assert launches_of(text) == 1
    run_every_way(text, normal(73, 73, dtype=np.dtype(element.replace("f", "float"))) / 8)
    assert calls and all(call.is_native for call in calls)


@pytest.mark.skipif(POISON != "0", reason="calls take objects of Python's where memory is poisoned")
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("vector_first", [False, True])
@pytest.mark.parametrize("contracted", [0, 1])
def test_products_of_vectors_are_called_without_objects_of_python(
    element: str, vector_first: bool, contracted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = recorded_calls(monkeypatch)
    vector, matrix = f"tensor<520x{element}>", f"tensor<520x520x{element}>"
    if vector_first:
        operands = f"%x, %m0, contracting_dims = [0] x [{contracted}] : ({vector}, {matrix})"
    else:
        operands = f"%m0, %x, contracting_dims = [{contracted}] x [0] : ({matrix}, {vector})"
    body = f"%p = stablehlo.dot_general {operands} -> {vector}\n%y = stablehlo.tanh %p : {vector}"
    text = counted(20, body, {"x": ("x0", vector), "m": ("m0", matrix)}, "%y, %m")
    assert launches_of(text) == 1
    dtype = np.dtype(element.replace("f", "float"))
    run_every_way(text, normal(520, dtype=dtype), normal(520, 520, dtype=dtype) / 23)
    assert calls and all(call.is_native for call in calls)


@pytest.mark.parametrize("contracted", [0, 1])
def test_products_with_columns_of_large_matrices(contracted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread computes these inline, unless it would read the cache lines of a large matrix by columns."""
    monkeypatch.setattr(products, "MAX_COLUMN_ELEMENTS", 90 * 90)
    for size, launches in ((90, 0), (91, 1 - contracted)):
        vector, matrix = f"tensor<{size}xf32>", f"tensor<{size}x{size}xf32>"
        body = f"""%p = stablehlo.dot_general %x, %m0, contracting_dims = [0] x [{contracted}]
          : ({vector}, {matrix}) -> {vector}
        %y = stablehlo.tanh %p : {vector}"""
        text = counted(20, body, {"x": ("x0", vector), "m": ("m0", matrix)}, "%y, %m")
        assert launches_of(text, threads=1) == launches
        run_every_way(text, normal(size), normal(size, size))


@pytest.mark.parametrize("rows", [300, 30_000])
def test_fusions_and_reductions_in_two_launches(rows: int) -> None:
    """Tall reductions run in blocks, whose partial sums are scratch; the carried array has two buffers."""
    type = f"tensor<{rows}x8xf32>"
    body = f"""%e = stablehlo.exponential %x : {type}
      %s = stablehlo.reduce(%e init: %zero_f) applies stablehlo.add across dimensions = [0]
        : ({type}, tensor<f32>) -> tensor<8xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> {type}
      %d = stablehlo.divide %e, %b : {type}
      %y = stablehlo.add %d, %x : {type}
      %t = stablehlo.add %total, %s : tensor<8xf32>"""
    before = "%zero_f = stablehlo.constant dense<0.0> : tensor<f32>"
    text = counted(20, body, {"x": ("x0", type), "total": ("t0", "tensor<8xf32>")}, "%y, %t", before)
    assert (rows > 300) == bool(launches_of(text))
    run_every_way(text, normal(rows, 8), normal(8))


@pytest.mark.parametrize("size", [5_000, 70_000])
def test_arrays_that_others_read_are_copied_before_their_update(size: int) -> None:
    """A captured array, one that is used again, and a new one: only the new one is updated in place."""
    type = f"tensor<{size}xf32>"
    update = f"({type}, tensor<1xf32>, tensor<i32>) -> {type}"
    body = f"""%v = stablehlo.slice %x [0:1] : ({type}) -> tensor<1xf32>
      %a = stablehlo.dynamic_update_slice %w, %v, %i : {update}
      %n = stablehlo.add %x, %a : {type}
      %b = stablehlo.dynamic_update_slice %n, %v, %i : {update}
      %c = stablehlo.dynamic_update_slice %b, %v, %one : {update}
      %y = stablehlo.subtract %c, %b : {type}
      %z = stablehlo.multiply %y, %c : {type}"""
    text = counted(20, body, {"x": ("x0", type)}, "%z", more=f"%w : {type}")
    assert isinstance(launches_of(text), int)
    run_every_way(text, normal(size), normal(size))


def test_an_inner_loop_may_not_update_what_its_next_iteration_reads() -> None:
    type = "tensor<6000xf32>"
    body = f"""%n = stablehlo.add %x, %x : {type}
      %in:2 = stablehlo.while(%j = %zero, %s = %x) : tensor<i32>, {type}
      cond {{
        %go2 = stablehlo.compare LT, %j, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go2 : tensor<i1>
      }} do {{
        %v = stablehlo.dynamic_slice %s, %j, sizes = [1] : ({type}, tensor<i32>) -> tensor<1xf32>
        %u = stablehlo.dynamic_update_slice %n, %v, %j : ({type}, tensor<1xf32>, tensor<i32>) -> {type}
        %m = stablehlo.maximum %s, %u : {type}
        %j1 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j1, %m : tensor<i32>, {type}
      }}"""
    text = counted(20, body, {"x": ("x0", type)}, "%in#1")
    run_every_way(text, normal(6000))


def test_branches_and_loops_may_exchange_arrays() -> None:
    """Each branch returns another array, one of them updated; an inner loop and the loop exchange theirs."""
    type = "tensor<6000xf32>"
    body = f"""%v = stablehlo.slice %x [2:3] : ({type}) -> tensor<1xf32>
      %odd = stablehlo.and %i, %one : tensor<i32>
      %b:2 = "stablehlo.case"(%odd) ({{
        %u = stablehlo.dynamic_update_slice %x, %v, %i : ({type}, tensor<1xf32>, tensor<i32>) -> {type}
        stablehlo.return %u, %y : {type}, {type}
      }}, {{
        %s = stablehlo.subtract %y, %x : {type}
        stablehlo.return %s, %s : {type}, {type}
      }}) : (tensor<i32>) -> ({type}, {type})
      %in:3 = stablehlo.while(%j = %zero, %p = %b#0, %q = %b#1) : tensor<i32>, {type}, {type}
      cond {{
        %go2 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go2 : tensor<i1>
      }} do {{
        %r = stablehlo.maximum %p, %q : {type}
        %j1 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j1, %q, %r : tensor<i32>, {type}, {type}
      }}"""
    text = counted(20, body, {"x": ("x0", type), "y": ("y0", type)}, "%in#2, %in#1")
    assert launches_of(text) == 0
    run_every_way(text, normal(6000), normal(6000))


@pytest.mark.parametrize("size", [40_000, 70_000])
@pytest.mark.parametrize(
    ("branch", "returned"),
    [
        pytest.param("%u = stablehlo.add %x, %in#1 : {type}", "%u, %y", id="in place"),
        pytest.param(
            "%u = stablehlo.add %x, %in#1 : {type}\n%w = stablehlo.multiply %x, %y : {type}",
            "%u, %w",
            id="read later",
        ),
        pytest.param("%u = stablehlo.add %x, %in#1 : {type}", "%u, %x", id="returned elsewhere"),
        pytest.param(
            "%r = stablehlo.add %x, %in#1 : {type}\n%u = stablehlo.multiply %r, %x : {type}",
            "%u, %u",
            id="read and returned twice",
        ),
        pytest.param(
            "%r = stablehlo.reverse %x, dims = [0] : {type}\n%u = stablehlo.add %r, %in#1 : {type}",
            "%u, %y",
            id="read at other indices",
        ),
    ],
)
def test_branches_compute_in_the_memory_of_the_array_that_they_replace(
    size: int, branch: str, returned: str
) -> None:
    """An inner loop adds to zeros; a branch adds its sum to an array of the loop, which the other returns."""
    type = f"tensor<{size}xf32>"
    counts = "\n".join(f"%s{k + 1} = stablehlo.xor %s{k}, %i : tensor<i32>" for k in range(80))
    body = f"""%s0 = stablehlo.add %i, %one : tensor<i32>
      {counts}
      %f = stablehlo.convert %s80 : (tensor<i32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {type}
      %zeros = stablehlo.constant dense<0.0> : {type}
      %three = stablehlo.constant dense<3> : tensor<i32>
      %in:2 = stablehlo.while(%j = %zero, %sum = %zeros) : tensor<i32>, {type}
      cond {{
        %go2 = stablehlo.compare LT, %j, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go2 : tensor<i1>
      }} do {{
        %product = stablehlo.multiply %y, %b : {type}
        %more = stablehlo.add %sum, %product : {type}
        %j1 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j1, %more : tensor<i32>, {type}
      }}
      %odd = stablehlo.and %i, %one : tensor<i32>
      %c:2 = "stablehlo.case"(%odd) ({{
        {branch.format(type=type)}
        stablehlo.return {returned} : {type}, {type}
      }}, {{
        stablehlo.return %x, %y : {type}, {type}
      }}) : (tensor<i32>) -> ({type}, {type})"""
    text = counted(9, body, {"x": ("x0", type), "y": ("y0", type)}, "%c#0, %c#1")
    assert isinstance(launches_of(text), int)
    run_every_way(text, normal(size), normal(size))


def test_few_operations_copy_no_large_arrays() -> None:
    """Steps exchange arrays without a copy, so that a copy must take less time than the steps."""
    type = "tensor<70000xf32>"
    carried = {"x": ("x0", type), "y": ("y0", type)}
    enough = 2 * 70_000 // MAX_ALLOCATED_ELEMENTS_PER_OP
    for count, is_native in ((enough // 4, False), (enough, True)):
        counts = "\n".join(f"%s{k + 1} = stablehlo.xor %s{k}, %i : tensor<i32>" for k in range(count))
        body = f"""%s0 = stablehlo.add %i, %one : tensor<i32>
          {counts}
          %f = stablehlo.convert %s{count} : (tensor<i32>) -> tensor<f32>
          %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {type}
          %z = stablehlo.add %x, %b : {type}"""
        text = counted(20, body, carried, "%y, %z")
        assert isinstance(launches_of(text), int) == is_native
        run_every_way(text, normal(70_000), normal(70_000))


@pytest.fixture
def registered() -> Iterator[str]:
    name = "tests.launched"
    yield name
    unregister_custom_call(name)


def loop_around_call(target: str) -> str:
    type = "tensor<4xf32>"
    body = f"%y = stablehlo.custom_call @{target}(%x) : ({type}) -> {type}"
    return counted(40, body, {"x": ("x0", type)}, "%y")


def test_a_function_that_is_registered_again_is_called_by_later_programs(registered: str) -> None:
    text = loop_around_call(registered)
    for added in (1, 10, 100):
        register_custom_call(registered, lambda x, added=added: x + np.float32(added), pure=True)
        assert launches_of(text) == 1
        run_every_way(text, np.zeros(4, np.float32))
        (result,) = nimblehlo.compile(text, options=Options(compile="eager"))(np.zeros(4, np.float32))
        assert result.tolist() == [40 * added] * 4


def loop_with_effects(target: str) -> str:
    """Calls in an inner loop, in a branch and without results."""
    type = "tensor<4000xf32>"
    body = f"""%p = stablehlo.custom_call @{target}(%x) {{has_side_effect = true}} : ({type}) -> {type}
      %in:2 = stablehlo.while(%j = %zero, %s = %x) : tensor<i32>, {type}
      cond {{
        %go2 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go2 : tensor<i1>
      }} do {{
        %t = stablehlo.custom_call @{target}(%s) {{has_side_effect = true}} : ({type}) -> {type}
        %j1 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j1, %t : tensor<i32>, {type}
      }}
      %odd = stablehlo.and %i, %one : tensor<i32>
      %y = "stablehlo.case"(%odd) ({{
        %u = stablehlo.custom_call @{target}(%in#1) {{has_side_effect = true}} : ({type}) -> {type}
        stablehlo.return %u : {type}
      }}, {{
        stablehlo.return %x : {type}
      }}) : (tensor<i32>) -> {type}
      %q = stablehlo.custom_call @{target}(%x) {{has_side_effect = true}} : ({type}) -> {type}
      %unused = stablehlo.custom_call @{target}(%y) {{has_side_effect = true}} : ({type}) -> {type}
      %pr = stablehlo.add %p, %q : {type}
      %sum = stablehlo.add %y, %pr : {type}"""
    return counted(20, body, {"x": ("x0", type)}, "%sum")


@pytest.mark.parametrize("mode", ["auto", "eager"])
def test_functions_with_effects_are_called_in_their_order(registered: str, mode: Any) -> None:
    """They may keep what they are called with."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(x)
        return x + np.float32(len(seen))

    register_custom_call(registered, function)
    text = loop_with_effects(registered)
    assert launches_of(text) == 5
    calls = []
    for options in (Options(compile="never"), Options(compile=mode)):
        executable = nimblehlo.compile(text, options=options)
        for _ in range(3):
            seen.clear()
            (result,) = executable(np.zeros(4000, np.float32))
            calls.append(([x[0] for x in seen], result[0]))
    assert len(calls[0][0]) == sum(range(20)) + 20 * 3 + 10
    assert all(call == calls[0] for call in calls)


@pytest.mark.parametrize("mode", ["never", "auto", "eager"])
def test_errors_of_functions_with_effects_end_the_loop(registered: str, mode: Any) -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(x)
        if len(seen) == 30:
            raise ValueError("the thirtieth call")
        return x

    register_custom_call(registered, function)
    executable = nimblehlo.compile(loop_with_effects(registered), options=Options(compile=mode))
    for _ in range(2):
        seen.clear()
        with pytest.raises(ExecutionError, match="the thirtieth call"):
            executable(np.zeros(4000, np.float32))
        assert len(seen) == 30


def test_effects_of_a_condition_happen_once(registered: str) -> None:
    """Native code may evaluate the condition of an iteration twice, so that there is none."""
    register_custom_call(registered, lambda i: i)
    call = f"%seen = stablehlo.custom_call @{registered}(%i) {{has_side_effect = true}}"
    text = loop_around_call(registered).replace("%go =", f"{call} : (tensor<i32>) -> tensor<i32>\n%go =", 1)
    assert isinstance(launches_of(text), str)


def test_code_is_not_made_for_a_function_that_was_registered_later(registered: str) -> None:
    text = loop_around_call(registered)
    register_custom_call(registered, lambda x: x + np.float32(1), pure=True)
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (loop,) = [one for one in function.body.block.operations if one.name == "stablehlo.while"]
    copy = with_launches(loop, lambda _: True, None)
    register_custom_call(registered, lambda x: x + np.float32(2), pure=True)
    with pytest.raises(NoCode, match="was registered after the program was compiled"):
        prepared_launches(copy, lambda _: pytest.fail("nothing is prepared"))


@pytest.mark.parametrize("mode", ["auto", "eager"])
def test_a_loop_without_code_runs_step_by_step(
    registered: str, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of a loop is not made once another function has been registered; see the test before."""
    monkeypatch.setattr(native_loops, "blocking_wait_seconds", lambda *_, **__: 0.0)
    register_custom_call(registered, lambda x: x + np.float32(1), pure=True)
    executable = nimblehlo.compile(loop_around_call(registered), options=Options(compile=mode))
    register_custom_call(registered, lambda x: x + np.float32(2), pure=True)
    for _ in range(2):
        (result,) = executable(np.zeros(4, np.float32))
        assert result.tolist() in ([40.0] * 4, [80.0] * 4)


def test_operations_without_generated_code_are_called_by_the_loop() -> None:
    """A sort of many elements, a transform and a convolution."""
    body = """%s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %lt : tensor<i1>
      }) : (tensor<4096xf32>) -> tensor<4096xf32>
      %r = stablehlo.reshape %s : (tensor<4096xf32>) -> tensor<1x64x64x1xf32>
      %c = stablehlo.convolution(%r, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x64x64x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x64x64x1xf32>
      %q = stablehlo.reshape %c : (tensor<1x64x64x1xf32>) -> tensor<4096xf32>
      %z = stablehlo.complex %q, %x : tensor<4096xcomplex<f32>>
      %f = stablehlo.fft %z, type = FFT, length = [4096]
        : (tensor<4096xcomplex<f32>>) -> tensor<4096xcomplex<f32>>
      %re = stablehlo.real %f : (tensor<4096xcomplex<f32>>) -> tensor<4096xf32>
      %y = stablehlo.tanh %re : tensor<4096xf32>"""
    more = "%w : tensor<3x3x1x1xf32>"
    text = counted(20, body, {"x": ("x0", "tensor<4096xf32>")}, "%y", more=more)
    assert launches_of(text) in (2, 3)
    run_every_way(text, normal(4096), normal(3, 3, 1, 1))


@pytest.mark.parametrize("seed", range(6))
def test_random_loops(seed: int) -> None:
    text, inputs = random_loop(seed, LARGE_SIDES[seed % len(LARGE_SIDES)])
    run_every_way(text, *inputs)


@pytest.mark.parametrize("mode", ["eager", "auto"])
def test_time_limits_hold_within_loops_that_launch(mode: Any) -> None:
    type = "tensor<128x128xf32>"
    body = f"""%p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}
      %y = stablehlo.tanh %p : {type}"""
    text = counted(2**31 - 1, body, {"x": ("x0", type)}, "%y")
    assert launches_of(text) == 1
    executable = nimblehlo.compile(text, options=Options(compile=mode, timeout=0.5))
    with pytest.raises(ExecutionError, match="timeout"):
        executable(normal(128, 128))


def test_loops_of_long_operations_keep_their_steps() -> None:
    """`_MAX_LAUNCHED_WORK_PER_OPERATION`."""
    type = "tensor<600x600xf32>"
    body = f"%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}"
    assert "operations take so long" in str(launches_of(counted(20, body, {"x": ("x0", type)}, "%y")))


@pytest.mark.parametrize("is_large", [False, True])
def test_constants_of_bodies_become_code(is_large: bool) -> None:
    """Up to `MAX_CONSTANT_BYTES`; the code refers to larger ones."""
    count = MAX_CONSTANT_BYTES + is_large
    values = RNG.integers(-9, 9, count).astype(np.int8).tobytes().hex()
    type = f"tensor<{count}xi8>"
    body = f"""%k = stablehlo.constant dense<"0x{values}"> : {type}
      %v = stablehlo.dynamic_slice %k, %i, sizes = [1] : ({type}, tensor<i32>) -> tensor<1xi8>
      %y = stablehlo.add %x, %v : tensor<1xi8>"""
    text = counted(20, body, {"x": ("x0", "tensor<1xi8>")}, "%y")
    assert launches_of(text) == 0
    run_every_way(text, np.zeros(1, np.int8))


def test_loops_with_launches_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `LAUNCHING_LOOP_WAIT_FACTOR`, since their plan launches the same code."""
    type = "tensor<128x128xf32>"
    body = f"%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}"
    function = specialize(nimblehlo.load(counted(20, body, {"x": ("x0", type)}, "%y")), "main")
    assert function.body is not None
    (loop,) = [one for one in function.body.block.operations if one.name == "stablehlo.while"]
    view: Any = Op.of(loop)
    launching = LoopToCompile(with_launches(loop, lambda operation: True, None), launches=1)
    monkeypatch.setattr(cost_model, "MIN_EAGER_ITERATIONS", 1)
    monkeypatch.setattr(native_loops, "blocking_wait_seconds", lambda loop: 2e-5)
    assert is_long(view, LoopToCompile(loop)) and not is_long(view, launching)


@pytest.mark.parametrize(("second", "launches"), [("exponential", 1), ("tanh", 2)])
def test_the_code_of_equal_launches_is_compiled_once(second: str, launches: int) -> None:
    type = "tensor<300x300xf32>"
    body = f"""%t = stablehlo.exponential %x : {type}
      %y = stablehlo.{second} %t : {type}"""
    (loop,) = nimblehlo.load(counted(20, body, {"x": ("x0", type)}, "%y")).functions.values()
    operations = [one for one in loop.body.block.operations if one.name == "stablehlo.while"]
    launching = LoopToCompile(with_launches(operations[0], lambda operation: True, None), launches=2)
    own = _own_compile_seconds(launching) + cost_model.LOOP_COMPILE_SECONDS
    each = cost_model.LOOP_COMPILE_SECONDS_PER_LAUNCH
    assert _compile_seconds(launching) == pytest.approx(own + launches * each)


@pytest.mark.parametrize(("factor", "runs"), [(1.0, 0), (100.0, 1)])
def test_loops_with_launches_run_to_their_end_before_they_are_compiled(
    monkeypatch: pytest.MonkeyPatch, factor: float, runs: int
) -> None:
    """Unless they run for very long: compiling slows a run down, which gains little."""
    type = "tensor<128x128xf32>"
    body = f"%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}"
    clock, begun = itertools.count(0.0, 0.0012), list[int]()
    monkeypatch.setattr(native_loops, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(cost_model, "LAUNCHING_LOOP_WAIT_FACTOR", factor)
    monkeypatch.setattr(native_loops.NativeLoop, "begin", lambda loop: begun.append(loop.runs))
    monkeypatch.setattr(native_loops.NativeLoop, "is_compiled", lambda loop, quickly: False)
    nimblehlo.compile(counted(20, body, {"x": ("x0", type)}, "%y"))(normal(128, 128))
    assert begun[0] == runs


@pytest.mark.parametrize(("threads", "is_own_hot"), [(1, True), (2, True), (2, False)])
def test_texts_of_a_loop_and_its_launches_are_made_before_their_code_is_loaded(
    monkeypatch: pytest.MonkeyPatch, threads: int, is_own_hot: bool
) -> None:
    """Its own text first, for LLVM takes long; an idle process optimizes what saves the most time."""
    type, init = "tensor<300x300xf32>", native_loops.NativeLoop.__init__
    done, loops = list[Any](), list[Any]()

    def noted_init(loop: Any, *arguments: Any) -> None:
        loops.append(loop)
        init(loop, *arguments)

    monkeypatch.setattr(cost_model, "MIN_QUICK_ARRAYS", 1)
    monkeypatch.setattr(native_loops.NativeLoop, "__init__", noted_init)
    body = f"""%e = stablehlo.exponential %x : {type}
      %t = stablehlo.transpose %e, dims = [1, 0] : ({type}) -> {type}
      %y = stablehlo.add %e, %t : {type}"""
    nimblehlo.compile(counted(20, body, {"x": ("x0", type)}, "%y"), options=Options(threads=threads))
    (loop,) = loops

    def noted(key: str, build: Any, fast_compile: bool, names: Any = (), unrolls_late: Any = None) -> None:
        done.append((key == loop.key, len(names), unrolls_late))

    monkeypatch.setattr(machine, "compile_ahead", noted)
    monkeypatch.setattr(loop, "prepare", lambda quickly: done.append(quickly))
    if is_own_hot:
        loop.__dict__["_time_shares"] = dict.fromkeys(loop._time_shares, 0.0) | {None: 1.0}
    loop._compile()
    others = [(False, 1, False)] * (len(done) - 2)
    assert done == ([(True, 2, True if is_own_hot else None), *others, True] if threads > 1 else [True])
    assert threads == 1 or others


def test_what_becomes_of_a_loop_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small steps before it become one later, so that the loop reads other values."""
    type, small = "tensor<72x72xf32>", "tensor<8x8xf32>"
    product = f"contracting_dims = [1] x [0] : ({small}, {small}) -> {small}"
    before = "".join(f"%m{k + 1} = stablehlo.dot_general %m{k}, %m{k}, {product}\n" for k in range(4))
    body = f"""%p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}
      %c = stablehlo.slice %m4 [0:1, 3:4] : ({small}) -> tensor<1x1xf32>
      %b = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<1x1xf32>) -> {type}
      %y = stablehlo.add %p, %b : {type}"""
    text = counted(20, body, {"x": ("x0", type)}, "%y", before, f"%m0 : {small}")
    decide, asked = native_loops.loop_to_compile, list[bool]()

    def noted(view: Any, threads: int | None, may_launch: Any = None) -> Any:
        asked.append(may_launch is not None)
        return decide(view, threads, may_launch)

    monkeypatch.setattr(native_loops, "loop_to_compile", noted)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert asked == [False, True]
    plan = executable.explain("plan")
    assert "nimblehlo.step_fusion" in plan and "a native loop that launches" in plan
    run_every_way(text, normal(72, 72) / 16, normal(8, 8) / 4)


def test_launches_within_loops_are_recorded() -> None:
    type = "tensor<300x300xf32>"
    body = f"""%e = stablehlo.exponential %x : {type}
      %t = stablehlo.transpose %e, dims = [1, 0] : ({type}) -> {type}
      %s = stablehlo.add %e, %t : {type}
      %y = stablehlo.tanh %s : {type}"""
    text = counted(20, body, {"x": ("x0", type)}, "%y")
    count = launches_of(text)
    assert isinstance(count, int) and count > 0
    executable, operand = nimblehlo.compile(text, options=Options(compile="eager")), normal(300, 300)
    (expected,) = executable(operand)
    launches: list[Any] = []
    record_launches(launches)
    try:
        (result,) = executable(operand)
    finally:
        record_launches(None)
    assert len(launches) >= 20 * count and np.array_equal(result, expected)


def test_a_kernel_is_prepared_once_for_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, prepare = list[str](), KernelImplementation.prepare

    def counted_prepare(kernel: KernelImplementation) -> Any:
        prepared.append(kernel.reason)
        return prepare(kernel)

    monkeypatch.setattr(KernelImplementation, "prepare", counted_prepare)
    text = """
    func.func @main(%a: tensor<20011xi32>, %n: tensor<i32>) -> tensor<20011xi32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %flip = stablehlo.constant dense<-1> : tensor<20011xi32>
      %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<20011xi32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %m = stablehlo.xor %v, %flip : tensor<20011xi32>
        %s = "stablehlo.sort"(%m) ({
        ^bb0(%p: tensor<i32>, %q: tensor<i32>):
          %less = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %less : tensor<i1>
        }) {dimension = 0 : i64} : (tensor<20011xi32>) -> tensor<20011xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %s : tensor<i32>, tensor<20011xi32>
      }
      return %r#1 : tensor<20011xi32>
    }"""
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    array = np.random.default_rng(0).integers(-99, 99, 20011, np.int32)
    executable(array, np.int32(1))
    assert prepared
    prepared.clear()
    (result,) = executable(array, np.int32(6))
    assert (result == np.sort(array)).all() and not prepared


def test_a_loop_does_not_wait_for_a_kernel_that_it_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """It launches a generated loop until Numba has compiled the kernel."""

    def compile_kernel(kernel: KernelReference, arguments: object) -> bytes:
        raise NotCompiled(kernel.name)

    monkeypatch.setattr(KernelReference, "_compiled", compile_kernel)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: False)
    monkeypatch.setattr(kernel_cache, "read", lambda name: None)
    matrix = "tensor<600x600xf32>"
    body = f"""%y = stablehlo.tanh %x : {matrix}
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %w = "stablehlo.reduce_window"(%y, %low) <{{window_dimensions = array<i64: 1, 600>,
        window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [599, 0]]> : tensor<2x2xi64>}}> ({{
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %r = stablehlo.maximum %p, %q : tensor<f32>
          stablehlo.return %r : tensor<f32>
      }}) : ({matrix}, tensor<f32>) -> {matrix}"""
    text = counted(30, body, {"x": ("x0", matrix)}, "%w")
    assert launches_of(text) == 2
    operand = normal(600, 600)
    (want,) = nimblehlo.execute(text, [operand], options=Options(compile="never"))
    executable = nimblehlo.compile(text)
    for _ in range(5):
        (got,) = executable(operand)
        BACKGROUND.wait()
        assert np.array_equal(got, want)
