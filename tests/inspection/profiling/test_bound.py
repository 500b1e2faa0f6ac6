"""The least work of programs, counted by hand, and the bound against measured times."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.inspection.profiling import stored_machine
from nimblehlo.inspection.profiling.bound import bound_of
from nimblehlo.inspection.profiling.machine import Machine
from nimblehlo.inspection.profiling.stored_machine import measured
from nimblehlo.inspection.profiling.work import ProgramWork, program_work
from nimblehlo.program.ops.framework.costs import FunctionClass
from tests.inspection.profiling.test_machine import made_up


def work_of(text: str) -> ProgramWork:
    executable = nimblehlo.compile(text)
    function = executable._specialized_function(executable.input_types, outlines_subgraphs=False)
    assert function.body is not None
    return program_work(function.body.block)


def main(arguments: str, result: str, *lines: str) -> str:
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


V = "tensor<1000xf32>"


def test_elementwise_operations() -> None:
    """One instruction an element; a function of the shortest kind; the argument is read once."""
    text = main(f"%x: {V}", V, f"%0 = stablehlo.add %x, %x : {V}", f"%r = stablehlo.exponential %0 : {V}")
    work = work_of(text)
    assert (work.read_bytes, work.written_bytes) == (4000, 4000)
    assert work.instruction_bytes == 4000
    assert work.functions == {(FunctionClass.EXPONENTIAL, "f32"): 1000}
    assert not work.multiply_adds


def test_a_product_and_its_epilogue() -> None:
    text = main(
        "%a: tensor<8x16xf64>, %b: tensor<16x4xf64>",
        "tensor<8x4xf64>",
        "%0 = stablehlo.dot %a, %b : (tensor<8x16xf64>, tensor<16x4xf64>) -> tensor<8x4xf64>",
        "%r = stablehlo.tanh %0 : tensor<8x4xf64>",
    )
    work = work_of(text)
    assert work.multiply_adds == {"f64": 8 * 16 * 4}
    assert work.functions == {(FunctionClass.EXPONENTIAL, "f64"): 32} or sum(work.functions.values()) == 32
    assert (work.read_bytes, work.written_bytes) == (8 * (8 * 16 + 16 * 4), 8 * 32)


def convolution(window: str, size: int, count: int) -> str:
    x, k, r = "tensor<2x9x3xf32>", f"tensor<{size}x3x5xf32>", f"tensor<2x{count}x5xf32>"
    line = (
        f"%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
        f"window = {{{window}}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {k}) -> {r}"
    )
    return main(f"%x: {x}, %k: {k}", r, line)


def test_a_convolution_without_its_padding() -> None:
    """Windows of three at every second position of nine elements, with an element of padding at both ends."""
    text = convolution("stride = [2], pad = [[1, 1]]", size=3, count=5)
    assert work_of(text).multiply_adds == {"f32": 2 * (2 + 3 + 3 + 3 + 2) * 3 * 5}


def test_a_convolution_by_winograd() -> None:
    """Six products in place of twelve for four results."""
    text = convolution("stride = [1]", size=3, count=7)
    assert work_of(text).multiply_adds == {"f32": 2 * 7 * 3 * 3 * 5 // 2}


def test_elements_that_no_result_needs() -> None:
    """A slice of a function's results: only its elements are read and computed."""
    text = main(
        f"%x: {V}", "tensor<10xf32>",
        f"%0 = stablehlo.logistic %x : {V}",
        f"%r = stablehlo.slice %0 [0:10] : ({V}) -> tensor<10xf32>",
    )  # fmt: skip
    work = work_of(text)
    assert (work.read_bytes, work.written_bytes) == (40, 40)
    assert sum(work.functions.values()) == 10


def test_elements_that_are_equal() -> None:
    """A function of a broadcast needs to be computed for each element of the operand."""
    text = main(
        "%x: tensor<10xf32>", "tensor<10x100xf32>",
        "%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<10xf32>) -> tensor<10x100xf32>",
        "%r = stablehlo.sine %0 : tensor<10x100xf32>",
    )  # fmt: skip
    work = work_of(text)
    assert sum(work.functions.values()) == 10
    assert (work.read_bytes, work.written_bytes) == (40, 4000)


def test_a_gather_may_read_one_row_for_all_indices() -> None:
    text = main(
        "%x: tensor<1000x8xf32>, %i: tensor<20x1xi32>", "tensor<20x8xf32>",
        '%r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        "slice_sizes = array<i64: 1, 8>} : (tensor<1000x8xf32>, tensor<20x1xi32>) -> tensor<20x8xf32>",
    )  # fmt: skip
    work = work_of(text)
    assert (work.read_bytes, work.written_bytes) == (80, 640)


def test_a_reduction_combines_all_elements_but_one() -> None:
    text = main(
        "%x: tensor<50x20xf32>", "tensor<50xf32>",
        "%z = stablehlo.constant dense<0.0> : tensor<f32>",
        "%r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] "
        ": (tensor<50x20xf32>, tensor<f32>) -> tensor<50xf32>",
    )  # fmt: skip
    assert work_of(text).instruction_bytes == 4 * (1000 - 50)


def normalized(*lines: str) -> str:
    return main(
        f"%x: {V}, %y: {V}", V,
        "%z = stablehlo.constant dense<0.0> : tensor<f32>",
        *lines,
        f"%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] "
        f": ({V}, tensor<f32>) -> tensor<f32>",
        f"%b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {V}",
        f"%r = stablehlo.divide %e, %b : {V}",
    )  # fmt: skip


def test_what_is_held_until_its_sum_is_known() -> None:
    """The exponential, or what it is computed from: the fewer bytes."""
    assert work_of(normalized(f"%e = stablehlo.exponential %x : {V}")).held_bytes == 4000
    both = normalized(f"%0 = stablehlo.add %x, %y : {V}", f"%e = stablehlo.exponential %0 : {V}")
    assert work_of(both).held_bytes == 4000
    H = "tensor<1000xf16>"
    narrow = normalized(
        f"%h = stablehlo.convert %x : ({V}) -> {H}", f"%e = stablehlo.convert %h : ({H}) -> {V}"
    )
    assert work_of(narrow).held_bytes == 2000
    other = normalized(f"%e = stablehlo.abs %x : {V}").replace("divide %e", "divide %y")
    assert work_of(other).held_bytes == 0, "the sum does not read what it divides"


def test_held_bytes_beyond_the_caches_are_read_again() -> None:
    one = made_up()
    assert one.moving_seconds(100, 0, 1, 111_000) == one.moving_seconds(100, 0, 1)
    assert one.moving_seconds(100, 0, 1, 112_000) == pytest.approx(
        one.moving_seconds(100, 0, 1) + 1000 / 10e9
    )


@pytest.mark.parametrize(
    ("element", "counted"),
    [("f32", 4 * int(3 * math.log2(math.factorial(64)))), ("i32", 4 * 3 * 64), ("i8", 3 * 64)],
)
def test_a_sort_compares_floats_and_reads_integers(element: str, counted: int) -> None:
    scalar, tensor = f"tensor<{element}>", f"tensor<3x64x{element}>"
    text = main(
        f"%x: {tensor}", tensor,
        '%r = "stablehlo.sort"(%x) ({',
        f"^bb0(%a: {scalar}, %b: {scalar}):",
        f"%c = stablehlo.compare LT, %a, %b : ({scalar}, {scalar}) -> tensor<i1>",
        "stablehlo.return %c : tensor<i1>",
        f"}}) {{dimension = 1 : i64}} : ({tensor}) -> {tensor}",
    )  # fmt: skip
    assert work_of(text).instruction_bytes == counted


@pytest.mark.parametrize(
    ("name", "counted"), [("cholesky", 2 * 60**3 // 6), ("triangular_solve", 2 * 60 * 60 * 60 // 2)]
)
def test_factorizations(name: str, counted: int) -> None:
    M = "tensor<2x60x60xf32>"
    line = (
        f"%r = stablehlo.cholesky %a, lower = true : {M}"
        if name == "cholesky"
        else f'%r = "stablehlo.triangular_solve"(%a, %b) {{left_side = true, lower = true, '
        f"unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}} : ({M}, {M}) -> {M}"
    )
    assert work_of(main(f"%a: {M}, %b: {M}", M, line)).multiply_adds == {"f32": counted}


def test_a_fourier_transform() -> None:
    C = "tensor<4x64xcomplex<f32>>"
    text = main(f"%x: {C}", C, f"%r = stablehlo.fft %x, type = FFT, length = [64] : ({C}) -> {C}")
    assert work_of(text).multiply_adds == {"f32": 4 * 64 * 6}


LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<300xf32>) -> tensor<300xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %limit = stablehlo.constant dense<1000> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<300xf32>
    cond {{
      %c = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.sine %v : tensor<300xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<300xf32>
    }}
  return %0#1 : tensor<300xf32>
}}
"""


def test_iterations_of_loops() -> None:
    """All of them where their number is a constant, otherwise none."""
    counted, unknown = work_of(LOOP.format(limit="%limit")), work_of(LOOP.format(limit="%n"))
    assert sum(counted.functions.values()) == 300 * 1000 and not counted.has_unknown_loops
    assert not unknown.functions and unknown.has_unknown_loops


def test_results_that_are_arguments_are_not_written() -> None:
    text = f"func.func @main(%x: {V}) -> ({V}, {V}) {{\n return %x, %x : {V}, {V}\n}}"
    assert work_of(text).written_bytes == 0


def test_one_thread_where_a_launch_costs_more() -> None:
    small = ProgramWork(400, 400, 0, {}, {}, 0, False)
    large = ProgramWork(1 << 30, 1 << 30, 0, {}, {}, 0, False)
    assert bound_of(small, made_up()).threads == 1 and bound_of(small, made_up()).limit == "call"
    bound = bound_of(large, made_up())
    assert bound.threads == 2 and bound.limit == "memory"
    assert bound.share(2 * bound.seconds) == pytest.approx(0.5)


def test_donated_inputs_may_become_results() -> None:
    text = main(f"%x: {V}", V, f"%r = stablehlo.add %x, %x : {V}")
    x = [np.ones(1000, np.float32)]
    plain, donating = [nimblehlo.compile(text, options=Options(donate=d)).bound(x) for d in ((), "all")]
    assert donating.moving_seconds < plain.moving_seconds


def test_a_grid_has_no_bound() -> None:
    text = main(f"%x: {V}", V, f"%r = stablehlo.add %x, %x : {V}")
    executable = nimblehlo.compile(text, grid=nimblehlo.Grid(2, 1))
    x = np.ones(1000, np.float32)
    with pytest.raises(nimblehlo.UnsupportedError, match="bound"):
        executable.bound([[x], [x]])


def _fastest(executable: Any, inputs: list[Any]) -> float:
    seconds = []
    for _ in range(30):
        start = time.perf_counter()
        executable(*inputs)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@pytest.mark.parametrize("name", ["add", "dot", "exponential", "sum"])
def test_no_call_takes_less_than_its_bound(name: str, unverified: None) -> None:
    """`python -m benchmarks.bounds` compares all programs of the suite."""
    M = "tensor<512x512xf32>"
    lines = {
        "add": [f"%r = stablehlo.add %a, %b : {M}"],
        "dot": [f"%r = stablehlo.dot %a, %b : ({M}, {M}) -> {M}"],
        "exponential": [f"%r = stablehlo.exponential %a : {M}"],
        "sum": [
            "%z = stablehlo.constant dense<0.0> : tensor<f32>",
            f"%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] "
            f": ({M}, tensor<f32>) -> tensor<f32>",
        ],
    }[name]
    text = main(f"%a: {M}, %b: {M}", "tensor<f32>" if name == "sum" else M, *lines)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    inputs = [np.ones((512, 512), np.float32)] * 2
    assert _max_share(executable, inputs, allowed=1.1) < 1.1


def _max_share(executable: Any, inputs: list[Any], allowed: float) -> float:
    """The share of the bound that the fastest call reaches, with a machine that is measured again while that
    is too much: the stored rates are too low if the machine was busy when they were measured.
    """
    seconds = _fastest(executable, inputs)
    for _ in range(5):
        if executable.bound(inputs).share(seconds) < allowed:
            break
        measured(again=True)
    return float(executable.bound(inputs).share(seconds))


def test_rates_of_a_busy_machine_are_measured_again(
    monkeypatch: pytest.MonkeyPatch, unverified: None
) -> None:
    right = made_up()
    busy = Machine(
        right.threads,
        right.measured_threads,
        right.cache_bytes,
        {
            name: value * (1e6 if name.startswith("seconds") else 1e-6)
            for name, value in right.figures.items()
        },
    )
    stored = [busy]
    monkeypatch.setattr(stored_machine, "_stored", lambda: stored[-1])
    monkeypatch.setattr(stored_machine, "_store", stored.append)
    monkeypatch.setattr(stored_machine, "_measure", lambda: right)
    stored_machine._machine.cache_clear()
    try:
        executable = nimblehlo.compile(main(f"%x: {V}", V, f"%r = stablehlo.add %x, %x : {V}"))
        inputs = [np.ones(1000, np.float32)]
        assert executable.bound(inputs).share(1.0) > 1
        monkeypatch.setattr(f"{__name__}._fastest", lambda *_: 1.0)
        assert _max_share(executable, inputs, allowed=1.0) < 1e-3
        assert stored[-1].figures == right.figures
    finally:
        stored_machine._machine.cache_clear()
