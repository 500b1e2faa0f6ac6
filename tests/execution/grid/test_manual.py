"""Manual computations of the sdy dialect: bodies that run for each device of a mesh, on shards."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, VerifyError
from nimblehlo.execution import timed_calls
from nimblehlo.kernels.launch import free_memory
from nimblehlo.kernels.launch.control_groups import MemoryLimit
from nimblehlo.program.ops.collectives.manual import reduced_partials
from tests.execution.grid.programs import ADD

T = "tensor<8x4xf32>"
VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'


def program(body: str, result: str = T, mesh: str = MESH) -> str:
    """A module whose @main takes %a and ends with the results of `body`."""
    return f"{mesh}\nfunc.func @main(%a: {T}) -> {result} {{\n{body}\n}}"


def manual(
    body: str,
    shard: str,
    *,
    before: str,
    after: str,
    result: str = T,
    returned: str = "",
    axes: str = '"x", "y"',
) -> str:
    """A manual computation of %a on the mesh."""
    returned = returned or shard
    return f"""%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{before}]>]
      out_shardings=[<@mesh, [{after}]>] manual_axes={{{axes}}} (%s: {shard}) {{
      {body}
      sdy.return %r : {returned}
    }} : ({T}) -> {result}
    return %0 : {result}"""


IDS = """%id = stablehlo.partition_id : tensor<ui32>
      %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>"""


def numbered(shard: str) -> str:
    """A body that adds the device's number to its shard."""
    return f"""{IDS}
      %n = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {shard}
      %r = stablehlo.add %s, %n : {shard}"""


@pytest.mark.parametrize("compile", ["never", "eager"])
def test_each_device_computes_its_shard(compile: Any) -> None:
    shard = "tensor<2x2xf32>"
    text = program(manual(numbered(shard), shard, before='{"x"}, {"y"}', after='{"x"}, {"y"}'))
    (result,) = nimblehlo.execute(text, [VALUES], options=Options(compile=compile))
    device = np.arange(8, dtype=np.float32).reshape(4, 2).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(result, VALUES + device)


def test_devices_may_be_in_another_order() -> None:
    shard = "tensor<2x2xf32>"
    text = program(
        manual(numbered(shard), shard, before='{"x"}, {"y"}', after='{"x"}, {"y"}'),
        mesh='sdy.mesh @mesh = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>',
    )
    (result,) = nimblehlo.execute(text, [VALUES])
    device = np.arange(8, dtype=np.float32)[::-1].reshape(4, 2).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(result, VALUES + device)


def test_several_axes_and_sub_axes_divide_a_dimension() -> None:
    """Dimension 0 is divided by y, then by the minor half of x; the major half of x holds copies."""
    shard = "tensor<2x4xf32>"
    divided = '{"y", "x":(2)2}, {}'
    text = program(manual(numbered(shard), shard, before=divided, after=divided))
    (result,) = nimblehlo.execute(text, [VALUES])
    expected = VALUES.copy()
    for y in range(2):
        for minor in range(2):
            first = 4 * y + 2 * minor
            expected[first : first + 2] += 2 * minor + y
    np.testing.assert_array_equal(result, expected)


def test_devices_communicate_and_results_may_be_whole() -> None:
    """A sum over x by flattened ids, as JAX writes `psum`; columns stay divided by y."""
    shard = "tensor<2x2xf32>"
    body = f"""%r = "stablehlo.all_reduce"(%s) ({{{ADD.format("f32")}
      }}) {{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
        replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}} : ({shard}) -> {shard}"""
    result = "tensor<2x4xf32>"
    text = program(manual(body, shard, before='{"x"}, {"y"}', after='{}, {"y"}', result=result), result)
    (total,) = nimblehlo.execute(text, [VALUES])
    parts = VALUES.reshape(4, 2, 4)
    np.testing.assert_array_equal(total, (parts[0] + parts[1]) + (parts[2] + parts[3]))


def test_axes_that_are_not_manual_hold_copies() -> None:
    """Only x is manual: y divides nothing within the body, though the sharding names it."""
    shard = "tensor<2x4xf32>"
    body = numbered(shard)
    text = program(manual(body, shard, before='{"x"}, {"y"}', after='{"x"}, {?}', axes='"x"'))
    (result,) = nimblehlo.execute(text, [VALUES])
    np.testing.assert_array_equal(result, VALUES + np.repeat([0, 2, 4, 6], 2)[:, np.newaxis])


NESTED = manual(
    f"""%t = stablehlo.add %s, %s : tensor<2x4xf32>
      %r = sdy.manual_computation(%t) in_shardings=[<@mesh, [{{}}, {{"y"}}]>]
          out_shardings=[<@mesh, [{{}}, {{"y"}}]>] manual_axes={{"y"}} (%u: tensor<2x2xf32>) {{
        {IDS}
        %n = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
        %v = stablehlo.add %u, %n : tensor<2x2xf32>
        sdy.return %v : tensor<2x2xf32>
      }} : (tensor<2x4xf32>) -> tensor<2x4xf32>""",
    "tensor<2x4xf32>",
    before='{"x"}, {}',
    after='{"x"}, {}',
    axes='"x"',
)


@pytest.mark.parametrize("compile", ["never", "eager"])
def test_computations_may_be_nested(compile: Any) -> None:
    (result,) = nimblehlo.execute(program(NESTED), [VALUES], options=Options(compile=compile))
    device = np.arange(8, dtype=np.float32).reshape(4, 2).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(result, 2 * VALUES + device)


def test_computations_in_loops_see_constants_from_outside() -> None:
    shard = "tensor<2x2xf32>"
    inner = manual(
        f"""%c = stablehlo.constant dense<3.0> : {shard}
      %r = stablehlo.multiply %s, %c : {shard}""",
        shard,
        before='{"x"}, {"y"}',
        after='{"x"}, {"y"}',
    ).replace("(%a)", "(%v)")
    inner = inner[: inner.rindex("return %0")]
    body = f"""%zero = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, {T}
    cond {{
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      {inner}
      stablehlo.return %next, %0 : tensor<i32>, {T}
    }}
    return %1#1 : {T}"""
    (result,) = nimblehlo.execute(program(body), [VALUES])
    np.testing.assert_array_equal(result, 27 * VALUES)


def test_errors_name_the_device() -> None:
    shard = "tensor<2x2xf32>"
    body = f"""{IDS}
      %c = stablehlo.constant dense<0> : tensor<ui32>
      check.expect_eq %id, %c : tensor<ui32>
      %r = stablehlo.add %s, %s : {shard}"""
    text = program(manual(body, shard, before='{"x"}, {"y"}', after='{"x"}, {"y"}'))
    with pytest.raises(ExecutionError, match=r"check.expect_eq: process \(0, 1\)"):
        nimblehlo.execute(text, [VALUES])


def test_groups_must_be_those_of_the_mesh() -> None:
    shard = "tensor<2x2xf32>"
    body = f"""%r = "stablehlo.collective_permute"(%s) {{
        source_target_pairs = dense<[[0, 8]]> : tensor<1x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}} : ({shard}) -> {shard}"""
    text = program(manual(body, shard, before='{"x"}, {"y"}', after='{"x"}, {"y"}'))
    with pytest.raises(VerifyError, match="num_partitions: the grid is 1 x 8") as caught:
        nimblehlo.compile(text)
    assert caught.value.label == "C4"


def unreduced(before: str, after: str) -> str:
    """Each device doubles its shard of columns and adds one; axes behind the shardings."""
    shard = "tensor<8x2xf32>"
    body = f"""%one = stablehlo.constant dense<1.0> : {shard}
      %d = stablehlo.add %s, %s : {shard}
      %r = stablehlo.add %d, %one : {shard}"""
    text = program(manual(body, shard, before='{}, {"y"}', after='{}, {"y"}'))
    for name, axes in (("in", before), ("out", after)):
        sharding = f'{name}_shardings=[<@mesh, [{{}}, {{"y"}}]'
        text = text.replace(sharding, f"{sharding}{axes}")
    return text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", ', unreduced={"x"}', 4 * (2 * VALUES + 1)),
        ("", ', unreduced={"x":(1)2}', 2 * (2 * VALUES + 1)),
        ("", ', unreduced=max{"x"}', 2 * VALUES + 1),
        (', unreduced={"x"}', ', unreduced={"x"}', 2 * VALUES + 4),
        (', unreduced={"x"}', "", 2 * VALUES + 1),
        (', unreduced=max{"x"}', ', unreduced=max{"x"}', 2 * VALUES + 1),
    ],
)
def test_unreduced_values_on_manual_axes(before: str, after: str, expected: Any) -> None:
    (result,) = nimblehlo.execute(unreduced(before, after), [VALUES])
    assert np.array_equal(result, expected)


def test_terms_of_narrow_floats_are_added_in_f32() -> None:
    partials = [np.array([1 if index else 2048], np.float16) for index in range(3)]
    assert reduced_partials(partials, "sum").tolist() == [2050]
    assert reduced_partials(partials[:1], "sum") is partials[0]


def _on_devices(count: int) -> str:
    body = manual(
        "%r = stablehlo.negate %s : tensor<2x4xf32>", "tensor<2x4xf32>", before='{"x"}, {}', after='{"x"}, {}'
    )
    return program(body, mesh=f'sdy.mesh @mesh = <["x"=4, "y"={count}]>')


def test_a_time_limit_holds_while_the_processes_of_devices_are_made() -> None:
    """They would take 30 s."""
    executable = nimblehlo.compile(_on_devices(300_000), options=Options(compile="never", timeout=0.1))
    started = time.perf_counter()
    with pytest.raises(ExecutionError, match=r"timeout = 0\.1 seconds"):
        executable(VALUES)
    while timed_calls._threads.busy:
        time.sleep(0.01)
    assert time.perf_counter() - started < 15


@pytest.mark.parametrize("count", [1 << 16, 1 << 32])
def test_processes_for_which_there_is_no_memory(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [MemoryLimit(4 * count, 1 << 40, "the machine")]
    monkeypatch.setattr(free_memory, "limits", lambda: left)
    executable = nimblehlo.compile(_on_devices(count), options=Options(compile="never"))
    with pytest.raises(ExecutionError, match=f"{4 * count} processes take {4 * count * 1024} bytes, but the"):
        executable(VALUES)
