"""Loops cut into parts: which ones are, and that they give the same bits in any number of parts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.compiler.specialize.loop_sharding.loop_shard import CarriedSharding
from nimblehlo.kernels.launch import threads
from tests.compiler.loops.test_while_function import counted, loop_to_compile_of
from tests.support.running import run_every_way, same_bits

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
X = "tensor<8x6xf32>"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of little work, whatever they repeat, for four threads wherever these tests run."""
    monkeypatch.setattr(native_loops, "_MIN_SHARD_WORK", 1)
    monkeypatch.setattr(native_loops, "_MAX_REDUNDANT_WORK", 100.0)
    monkeypatch.setattr(threads, "chosen_threads", lambda most: most or 4)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def k_block_of(text: str, count: int | None = None) -> Any:
    """The part of a program's only loop, for so many threads; None if it is not cut."""
    form = loop_to_compile_of(text, count)
    assert isinstance(form, native_loops.LoopToCompile), form
    return form.shard


def check_shards(text: str, *inputs: Array) -> None:
    """The same bits in one, two and four parts as by the references."""
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    for count in (1, 2, 4):
        options = Options(compile="eager", threads=count)
        for got, want in zip(nimblehlo.execute(text, inputs, options=options), expected, strict=True):
            assert same_bits(np.asarray(got), np.asarray(want))


def sort_along(dimension: int) -> str:
    """The body of a loop that sorts along a dimension."""
    return f"""%h = stablehlo.constant dense<0.75> : {X}
      %a = stablehlo.multiply %x, %h : {X}
      %b = stablehlo.cosine %a : {X}
      %y = "stablehlo.sort"(%b) <{{dimension = {dimension} : i64}}> ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %g = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      }}) : ({X}) -> {X}"""


ROWS_APART = {
    "sorted rows": sort_along(-1),
    "elementwise": """%a = stablehlo.multiply %x, %m : tensor<8x6xf32>
      %y = stablehlo.tanh %a : tensor<8x6xf32>""",
    "scalars": """%f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %y = stablehlo.clamp %f, %x, %f : (tensor<f32>, tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>""",
    "constants": """%c = stablehlo.constant dense<0.5> : tensor<8x6xf32>
      %o = stablehlo.iota dim = 0 : tensor<8x6xf32>
      %p = stablehlo.iota dim = 1 : tensor<8x6xf32>
      %a = stablehlo.multiply %x, %c : tensor<8x6xf32>
      %b = stablehlo.add %a, %o : tensor<8x6xf32>
      %y = stablehlo.subtract %b, %p : tensor<8x6xf32>""",
    "rows times a matrix": """%r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
        : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.logistic %r : tensor<8x6xf32>""",
    "a matrix times columns": """
      %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
      %r = stablehlo.dot_general %w, %t, contracting_dims = [1] x [0]
        : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
      %y = stablehlo.transpose %r, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>""",
    "a batch of products": """%s = stablehlo.reshape %x : (tensor<8x6xf32>) -> tensor<8x2x3xf32>
      %n = stablehlo.reshape %m : (tensor<8x6xf32>) -> tensor<8x3x2xf32>
      %r = stablehlo.dot_general %s, %n, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<8x2x3xf32>, tensor<8x3x2xf32>) -> tensor<8x2x2xf32>
      %z = stablehlo.constant dense<0.25> : tensor<f32>
      %p = stablehlo.pad %r, %z, low = [0, 0, 1], high = [0, 0, 0], interior = [0, 0, 0]
        : (tensor<8x2x2xf32>, tensor<f32>) -> tensor<8x2x3xf32>
      %y = stablehlo.reshape %p : (tensor<8x2x3xf32>) -> tensor<8x6xf32>""",
    "a product with a vector": """%v = stablehlo.slice %w [0:6, 0:1] : (tensor<6x6xf32>) -> tensor<6x1xf32>
      %r = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
        : (tensor<8x6xf32>, tensor<6x1xf32>) -> tensor<8x1xf32>
      %b = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x6xf32>
      %y = stablehlo.sine %b : tensor<8x6xf32>""",
    "sums of rows": """%z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>
      %y = stablehlo.subtract %x, %b : tensor<8x6xf32>""",
    "bias": """%v = stablehlo.slice %w [2:3, 0:6] : (tensor<6x6xf32>) -> tensor<1x6xf32>
      %b = stablehlo.broadcast_in_dim %v, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.add %x, %b : tensor<8x6xf32>""",
    "windows along rows": """%a = stablehlo.slice %x [0:8, 1:6] : (tensor<8x6xf32>) -> tensor<8x5xf32>
      %b = stablehlo.slice %x [0:8, 0:1] : (tensor<8x6xf32>) -> tensor<8x1xf32>
      %c = stablehlo.reverse %a, dims = [1] : tensor<8x5xf32>
      %y = stablehlo.concatenate %c, %b, dim = 1 : (tensor<8x5xf32>, tensor<8x1xf32>) -> tensor<8x6xf32>""",
    "windows at indices": """%a = stablehlo.dynamic_slice %x, %zero, %i, sizes = [8, 3]
        : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
      %b = stablehlo.dynamic_slice %m, %i, %i, sizes = [8, 3]
        : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
      %y = stablehlo.concatenate %b, %a, dim = 1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x6xf32>""",
    "what is the same for all rows": """%t = stablehlo.tanh %w : tensor<6x6xf32>
      %r = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0]
        : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.add %r, %r : tensor<8x6xf32>""",
    "rows of what is made whole": """%g = stablehlo.iota dim = 0 : tensor<8xi32>
      %h = stablehlo.add %g, %g : tensor<8xi32>
      %c = stablehlo.broadcast_in_dim %h, dims = [0] : (tensor<8xi32>) -> tensor<8x6xi32>
      %d = stablehlo.convert %c : (tensor<8x6xi32>) -> tensor<8x6xf32>
      %e = stablehlo.reverse %m, dims = [0] : tensor<8x6xf32>
      %f = stablehlo.add %d, %e : tensor<8x6xf32>
      %y = stablehlo.add %x, %f : tensor<8x6xf32>""",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS_APART)
def test_rows_that_do_not_depend_on_each_other(name: str) -> None:
    text = counted(30, ROWS_APART[name], {"x": ("x0", X)}, "%y", more=f"%m : {X}, %w : tensor<6x6xf32>")
    part = k_block_of(text)
    assert part is not None and part.rows == 2
    assert part.carried[1:] == (CarriedSharding.ROWS,)
    check_shards(text, floats(8, 6), floats(8, 6), 0.4 * floats(6, 6))


ROWS_TOGETHER = {
    "sorted columns": sort_along(0),
    "sums of columns": """%z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.subtract %x, %b : tensor<8x6xf32>""",
    "the other order": "%y = stablehlo.reverse %x, dims = [0] : tensor<8x6xf32>",
    "neighbours": """%a = stablehlo.slice %x [1:8, 0:6] : (tensor<8x6xf32>) -> tensor<7x6xf32>
      %b = stablehlo.slice %x [0:1, 0:6] : (tensor<8x6xf32>) -> tensor<1x6xf32>
      %y = stablehlo.concatenate %a, %b, dim = 0 : (tensor<7x6xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>""",
    "one row for all": """%a = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 6]
        : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
      %b = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.add %x, %b : tensor<8x6xf32>""",
    "products of rows": """%g = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
        : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x8xf32>
      %h = stablehlo.dot_general %g, %x, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.tanh %h : tensor<8x6xf32>""",
    "another shape": """%r = stablehlo.reshape %x : (tensor<8x6xf32>) -> tensor<6x8xf32>
      %y = stablehlo.transpose %r, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>""",
}


@pytest.mark.parametrize("name", ROWS_TOGETHER)
def test_rows_that_depend_on_each_other(name: str) -> None:
    text = counted(10, ROWS_TOGETHER[name], {"x": ("x0", X)}, "%y")
    assert k_block_of(text) is None
    run_every_way(text, floats(8, 6))


def test_a_reduction_whose_body_reads_what_changes_is_not_sharded() -> None:
    """No native code is generated for it, but its rows alone would allow that."""
    body = """%z = stablehlo.constant dense<0.0> : tensor<f32>
      %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %s = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = stablehlo.minimum %p, %f : tensor<f32>
        %d = stablehlo.add %c, %q : tensor<f32>
        stablehlo.return %d : tensor<f32>
      }) : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
      %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>
      %y = stablehlo.sine %b : tensor<8x6xf32>"""
    text = counted(40, body, {"x": ("x0", X)}, "%y")
    assert loop_to_compile_of(text) == "stablehlo.reduce: its body captures values"
    run_every_way(text, floats(8, 6))


SCAN = """%a = stablehlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, 8, 6]
        : (tensor<9x8x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x6xf32>
      %b = stablehlo.reshape %a : (tensor<1x8x6xf32>) -> tensor<8x6xf32>
      %y = stablehlo.add %x, %b : tensor<8x6xf32>
      %c = stablehlo.reshape %y : (tensor<8x6xf32>) -> tensor<1x8x6xf32>
      %z = stablehlo.dynamic_update_slice %ys, %c, %i, %zero, %zero
        : (tensor<9x8x6xf32>, tensor<1x8x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>)
        -> tensor<9x8x6xf32>"""


def test_scans_update_windows_of_what_they_write() -> None:
    carried = {"x": ("x0", X), "ys": ("ys0", "tensor<9x8x6xf32>")}
    text = counted(9, SCAN, carried, "%y, %z", more="%xs : tensor<9x8x6xf32>")
    part = k_block_of(text)
    assert part is not None and part.carried[1:] == (CarriedSharding.ROWS, CarriedSharding.WINDOWS)
    check_shards(text, floats(8, 6), floats(9, 8, 6), floats(9, 8, 6))


def test_written_arrays_that_are_read_are_not_shared() -> None:
    body = SCAN.replace("%y = stablehlo.add %x, %b", "%y = stablehlo.add %x, %o")
    body = f"""%o1 = stablehlo.slice %ys [0:1, 0:8, 0:6] : (tensor<9x8x6xf32>) -> tensor<1x8x6xf32>
      %o = stablehlo.reshape %o1 : (tensor<1x8x6xf32>) -> tensor<8x6xf32>
      {body}"""
    carried = {"x": ("x0", X), "ys": ("ys0", "tensor<9x8x6xf32>")}
    text = counted(9, body, carried, "%y, %z", more="%xs : tensor<9x8x6xf32>")
    assert k_block_of(text) is None
    run_every_way(text, floats(8, 6), floats(9, 8, 6), floats(9, 8, 6))


def test_what_all_rows_share_is_computed_by_each_part() -> None:
    """A vector and a scalar that steps change, an array that they only read."""
    body = """%v2 = stablehlo.cosine %v : tensor<6xf32>
      %s2 = stablehlo.add %s, %s : tensor<f32>
      %b = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
      %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
      %d = stablehlo.multiply %x, %b : tensor<8x6xf32>
      %y = stablehlo.add %d, %c : tensor<8x6xf32>"""
    carried = {"x": ("x0", X), "v": ("v0", "tensor<6xf32>"), "s": ("s0", "tensor<f32>")}
    text = counted(20, body, carried, "%y, %v2, %s2")
    part = k_block_of(text)
    sharding = (CarriedSharding.ROWS, CarriedSharding.ALL, CarriedSharding.ALL)
    assert part is not None and part.carried[1:] == sharding
    check_shards(text, floats(8, 6), floats(6), np.float32(1e-3))


def test_loops_whose_shards_would_repeat_work_are_not_sharded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of %x are apart, but most of the work is a square matrix that all of them share."""
    body = """%w2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0]
        : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
      %y = stablehlo.tanh %x : tensor<8x6xf32>"""
    text = counted(10, body, {"x": ("x0", X), "w": ("w0", "tensor<24x24xf32>")}, "%y, %w2")
    assert k_block_of(text) is not None
    monkeypatch.undo()
    monkeypatch.setattr(native_loops, "_MIN_SHARD_WORK", 1)
    monkeypatch.setattr(threads, "chosen_threads", lambda most: most or 4)
    assert k_block_of(text) is None


def test_conditions_that_look_at_rows_keep_them_together() -> None:
    text = """
  func.func @main(%x0 : tensor<8x6xf32>) -> tensor<8x6xf32> {
    %limit = stablehlo.constant dense<100.0> : tensor<f32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %all = stablehlo.while(%x = %x0) : tensor<8x6xf32>
    cond {
      %s = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1]
        : (tensor<8x6xf32>, tensor<f32>) -> tensor<f32>
      %go = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %y = stablehlo.add %x, %x : tensor<8x6xf32>
      stablehlo.return %y : tensor<8x6xf32>
    }
    return %all : tensor<8x6xf32>
  }
"""
    assert k_block_of(text) is None
    run_every_way(text, 1 + np.abs(floats(8, 6)))


@pytest.mark.parametrize(("rows", "count"), [(7, 0), (6, 3), (9, 3), (3, 0), (4, 2)])
def test_shards_have_equal_sizes_and_at_least_two_rows(rows: int, count: int) -> None:
    type = f"tensor<{rows}x64xf32>"
    text = counted(10, f"%y = stablehlo.tanh %x : {type}", {"x": ("x0", type)}, "%y")
    form = loop_to_compile_of(text)
    assert isinstance(form, native_loops.LoopToCompile)
    assert (form.count, form.shard is None) == (count or 1, count == 0)
    check_shards(text, floats(rows, 64))


def test_the_shards_of_a_huge_array_are_found_at_once() -> None:
    """A program may declare an input that no memory holds: its divisors are not tried one by one."""
    type = "tensor<2147483648x6xf32>"
    text = counted(10, f"%y = stablehlo.tanh %x : {type}", {"x": ("x0", type)}, "%y")
    started = time.thread_time()
    nimblehlo.compile(text)
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(("index", "is_cut"), [("i8", False), ("ui8", True), ("i16", True)])
def test_indices_whose_type_does_not_number_all_rows(index: str, is_cut: bool) -> None:
    """A part's window begins at its first row: the indices' type must have that number."""
    body = f"""%z = stablehlo.constant dense<0> : tensor<{index}>
      %j = stablehlo.convert %i : (tensor<i32>) -> tensor<{index}>
      %y = stablehlo.cosine %x : tensor<200x3xf32>
      %c = stablehlo.reshape %y : (tensor<200x3xf32>) -> tensor<1x200x3xf32>
      %z2 = stablehlo.dynamic_update_slice %ys, %c, %j, %z, %z
        : (tensor<9x200x3xf32>, tensor<1x200x3xf32>, tensor<{index}>, tensor<{index}>, tensor<{index}>)
        -> tensor<9x200x3xf32>"""
    carried = {"x": ("x0", "tensor<200x3xf32>"), "ys": ("ys0", "tensor<9x200x3xf32>")}
    text = counted(9, body, carried, "%y, %z2")
    assert (k_block_of(text) is not None) == is_cut
    check_shards(text, floats(200, 3), floats(9, 200, 3))


def test_parts_share_no_array_that_is_copied() -> None:
    """An update of a small array elsewhere in the body keeps small arrays from being updated in place."""
    body = """%y = stablehlo.cosine %x : tensor<8x6xf32>
      %c = stablehlo.slice %y [0:8, 0:1] : (tensor<8x6xf32>) -> tensor<8x1xf32>
      %z = stablehlo.dynamic_update_slice %ys, %c, %zero, %i
        : (tensor<8x9xf32>, tensor<8x1xf32>, tensor<i32>, tensor<i32>) -> tensor<8x9xf32>
      %u = stablehlo.dynamic_update_slice %m, %one_row, %i, %zero
        : (tensor<5x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
      %v2 = stablehlo.add %v, %u : tensor<5x6xf32>"""
    carried = {"x": ("x0", X), "ys": ("ys0", "tensor<8x9xf32>"), "v": ("v0", "tensor<5x6xf32>")}
    text = counted(9, body, carried, "%y, %z, %v2", more="%m : tensor<5x6xf32>, %one_row : tensor<1x6xf32>")
    assert k_block_of(text) is None
    check_shards(text, floats(8, 6), floats(8, 9), floats(5, 6), floats(5, 6), floats(1, 6))


def test_sharded_loops_continue_over_several_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_loops, "FIRST_CALL_ITERATIONS", 3)
    body = """%y = stablehlo.sine %x : tensor<8x6xf32>
      %k2 = stablehlo.add %k, %i : tensor<i32>"""
    text = counted(50, body, {"x": ("x0", X), "k": ("k0", "tensor<i32>")}, "%y, %k2")
    assert k_block_of(text) is not None
    check_shards(text, floats(8, 6), np.int32(5))


def test_sharded_loops_count_iterations() -> None:
    text = counted(5000, "%y = stablehlo.sine %x : tensor<8x6xf32>", {"x": ("x0", X)}, "%y")
    assert k_block_of(text) is not None
    options = Options(compile="eager", max_steps=1000)
    with pytest.raises(nimblehlo.ExecutionError, match="max_steps"):
        nimblehlo.execute(text, [floats(8, 6)], options=options)


def test_operands_of_shards_may_have_any_strides() -> None:
    carried = {"x": ("x0", X), "ys": ("ys0", "tensor<9x8x6xf32>")}
    text = counted(9, SCAN, carried, "%y, %z", more="%xs : tensor<9x8x6xf32>")
    inputs = [floats(6, 8).T, floats(9, 6, 8).swapaxes(1, 2), floats(9, 8, 12)[..., ::2]]
    check_shards(text, *inputs)


@pytest.mark.parametrize(("columns", "is_sharded"), [(10, True), (11, False)])
def test_shards_add_products_of_complex_numbers_in_the_order_of_the_whole(
    columns: int, is_sharded: bool
) -> None:
    """Up to 512 products are rounded one by one: a shard of more may have fewer."""
    type = "tensor<8x6xcomplex<f32>>"
    body = f"""%r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : ({type}, tensor<6x{columns}xcomplex<f32>>) -> tensor<8x{columns}xcomplex<f32>>
      %y = stablehlo.slice %r [0:8, 0:6] : (tensor<8x{columns}xcomplex<f32>>) -> {type}"""
    text = counted(9, body, {"x": ("x0", type)}, "%y", more=f"%w : tensor<6x{columns}xcomplex<f32>>")
    assert (k_block_of(text) is not None) == is_sharded
    x, w = (floats(*shape, 2).view(np.complex64)[..., 0] for shape in ((8, 6), (6, columns)))
    check_shards(text, x, 0.4 * w)
