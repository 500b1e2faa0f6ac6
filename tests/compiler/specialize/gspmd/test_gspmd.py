"""Programs with the shardings of GSPMD: what becomes of them, and their results on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Grid, NimbleError, UnsupportedError, VerifyError
from nimblehlo.compiler.specialize.gspmd.conversion import to_shardy
from nimblehlo.mpi import _on_devices
from tests.execution.grid.programs import ADD

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)
T, SHARD = "tensor<8x4xf32>", "tensor<2x2xf32>"
TILES = "{devices=[4,2]<=[8]}"
COLUMNS = "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}"


def call(
    target: str, result: str, operand: str, sharding: str, type: str, to: str = "", more: str = ""
) -> str:
    """A custom call with a sharding."""
    return (
        f'{result} = stablehlo.custom_call @{target}({operand}) {{mhlo.sharding = "{sharding}"{more}}} : '
        f"({type}) -> {to or type}\n"
    )


def main(body: str, result: str = T, attributes: str = "") -> str:
    """A module whose @main takes %v and returns %r."""
    return (
        f"module attributes {{mhlo.num_partitions = 8 : i32}} {{\n"
        f"func.func @main(%v: {T}{attributes}) -> {result} {{\n{body}\nreturn %r : {result}\n}}\n}}"
    )


def entered(sharding: str = TILES, shard: str = SHARD) -> str:
    """%s: the shard of %v."""
    return call("Sharding", "%c", "%v", sharding, T) + call(
        "SPMDFullToShardShape", "%s", "%c", "{manual}", T, shard
    )


def left(value: str = "%t", sharding: str = TILES, shard: str = SHARD, full: str = T) -> str:
    """%r: the whole value of shards."""
    return call("Sharding", "%m", value, "{manual}", shard) + call(
        "SPMDShardToFullShape", "%r", "%m", sharding, shard, full
    )


NUMBERED = f"""%id = stablehlo.partition_id : tensor<ui32>
%f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
%n = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {SHARD}
%t = stablehlo.add %s, %n : {SHARD}
"""
SUMMED = f"""%t = "stablehlo.all_reduce"(%s) ({{{ADD.format("f32")}
  }}) {{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}} : ({SHARD}) -> {SHARD}
"""


def execute(text: str, **options: Any) -> Any:
    (result,) = nimblehlo.execute(text, [VALUES], **options)
    return result


def device_numbers(devices: Any) -> Any:
    """What `NUMBERED` adds to the tiles of these devices."""
    return np.asarray(devices, np.float32).repeat(2, 0).repeat(2, 1)


@pytest.mark.parametrize(
    ("sharding", "devices"),
    [
        (TILES, np.arange(8).reshape(4, 2)),
        ("{devices=[4,2]0,1,2,3,4,5,6,7}", np.arange(8).reshape(4, 2)),
        ("{devices=[4,2]<=[2,4]T(1,0)}", np.arange(8).reshape(2, 4).T),
        ("{devices=[4,2]<=[2,2,2]T(2,0,1)}", np.arange(8).reshape(2, 2, 2).transpose(2, 0, 1).reshape(4, 2)),
        ("{devices=[4,2]7,6,5,4,3,2,1,0}", np.arange(8)[::-1].reshape(4, 2)),
        ("{devices=[4,2]0,3,1,2,7,5,6,4}", np.array([0, 3, 1, 2, 7, 5, 6, 4]).reshape(4, 2)),
    ],
)
def test_each_device_computes_its_tile(sharding: str, devices: Any) -> None:
    text = main(entered(sharding) + NUMBERED + left(sharding=sharding))
    np.testing.assert_array_equal(execute(text), VALUES + device_numbers(devices))


def test_devices_communicate() -> None:
    result = "tensor<2x4xf32>"
    text = main(entered() + SUMMED + left(sharding=COLUMNS, full=result), result)
    parts = VALUES.reshape(4, 2, 4)
    np.testing.assert_array_equal(execute(text), (parts[0] + parts[1]) + (parts[2] + parts[3]))


def test_a_called_body_and_constants_belong_to_the_computation() -> None:
    text = f"""module attributes {{mhlo.num_partitions = 8 : i32}} {{
    func.func @main(%v: {T}) -> ({T}, tensor<f32>) {{
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %d = stablehlo.add %v, %v : {T}
      {entered().replace("%v", "%d")}
      %k = call @body(%s, %one) : ({SHARD}, tensor<f32>) -> {SHARD}
      {left("%k")}
      return %r, %one : {T}, tensor<f32>
    }}
    func.func private @body(%s: {SHARD}, %one: tensor<f32>) -> {SHARD} {{
      {NUMBERED}
      %b = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> {SHARD}
      %u = stablehlo.add %t, %b : {SHARD}
      return %u : {SHARD}
    }}
    }}"""
    result, one = nimblehlo.execute(text, [VALUES])
    np.testing.assert_array_equal(result, 2 * VALUES + device_numbers(np.arange(8).reshape(4, 2)) + 1)
    assert one == 1


def test_values_of_the_whole_program_may_be_used_as_they_are() -> None:
    body = f"""%z = stablehlo.constant dense<0> : tensor<i64>
    %w = stablehlo.dynamic_slice %v, %z, %z, sizes = [2, 2] : ({T}, tensor<i64>, tensor<i64>) -> {SHARD}
    %t = stablehlo.add %s, %w : {SHARD}
    """
    text = main(body.partition("%t")[0] + entered() + "%t" + body.partition("%t")[2] + left())
    np.testing.assert_array_equal(execute(text), VALUES + np.tile(VALUES[:2, :2], (4, 2)))


def test_a_computation_without_operands() -> None:
    body = NUMBERED.replace(f"%t = stablehlo.add %s, %n : {SHARD}\n", "")
    text = main(body + left("%n"))
    np.testing.assert_array_equal(execute(text), device_numbers(np.arange(8).reshape(4, 2)))


def test_two_computations_and_a_loop() -> None:
    """A computation in the body of a loop, whose result another one takes."""
    inner = (entered() + SUMMED).replace("%v", "%x") + left(shard=SHARD)
    text = main(
        f"""%i0 = stablehlo.constant dense<0> : tensor<i32>
    %n0 = stablehlo.constant dense<2> : tensor<i32>
    %w:2 = stablehlo.while(%i = %i0, %x = %v) : tensor<i32>, {T} cond {{
      %p = stablehlo.compare LT, %i, %n0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      {inner}
      stablehlo.return %j, %r : tensor<i32>, {T}
    }}
    {entered().replace("%v", "%w#1")}{NUMBERED}{left()}"""
    )
    total = np.tile(VALUES.reshape(4, 2, 4).sum(0), (4, 1)) * 4
    np.testing.assert_array_equal(execute(text), total + device_numbers(np.arange(8).reshape(4, 2)))


NESTED = (
    call("Sharding", "%c", "%v", "{devices=[4,1,2]<=[8] last_tile_dim_replicate}", T)
    + call(
        "SPMDFullToShardShape",
        "%o",
        "%c",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        T,
        "tensor<2x4xf32>",
        ', backend_config = "unspecified_dims=[0,1]"',
    )
    + call(
        "Sharding", "%i", "%o", "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}", "tensor<2x4xf32>"
    )
    + call("SPMDFullToShardShape", "%s", "%i", "{manual}", "tensor<2x4xf32>", SHARD)
    + NUMBERED
    + call("Sharding", "%k", "%t", "{manual}", SHARD)
    + call(
        "SPMDShardToFullShape",
        "%l",
        "%k",
        "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dims={manual}}",
        SHARD,
        "tensor<2x4xf32>",
    )
    + call(
        "Sharding",
        "%m",
        "%l",
        "{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}",
        "tensor<2x4xf32>",
    )
    + call(
        "SPMDShardToFullShape",
        "%r",
        "%m",
        "{devices=[4,1,2]<=[8] last_tile_dim_replicate}",
        "tensor<2x4xf32>",
        T,
    )
)


def test_computations_may_be_nested() -> None:
    converted = to_shardy(nimblehlo.load(main(NESTED)))
    names = [operation.name for operation in converted.walk()]
    assert names.count("sdy.manual_computation") == 2
    np.testing.assert_array_equal(execute(main(NESTED)), VALUES + device_numbers(np.arange(8).reshape(4, 2)))


def test_annotations_become_those_of_sdy() -> None:
    text = main(
        call("Sharding", "%b", "%v", COLUMNS, T, more=', backend_config = "unspecified_dims=[0]"')
        + 'stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{maximal device=1}"} : '
        + f"({T}) -> {T}\n"
        + f'%r = stablehlo.add %b, %b {{mhlo.sharding = "{TILES}"}} : {T}',
        attributes=' {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}',
    )
    converted = str(to_shardy(nimblehlo.load(text)))
    assert 'mesh = #sdy.mesh<["_axis_0"=2, "_axis_1"=2, "_axis_2"=2]>' in converted
    assert 'sdy.sharding = #sdy.sharding<@gspmd_mesh, [{"_axis_0"}, {}]>' in converted
    assert '[{?}, {"_axis_2"}]' in converted
    assert '[{"_axis_0", "_axis_1"}, {"_axis_2"}]' in converted
    assert "mhlo.sharding" not in converted
    np.testing.assert_array_equal(execute(text), 2 * VALUES)


def test_shardings_that_fit_no_mesh_together_get_meshes() -> None:
    body = "".join(
        call("Sharding", f"%{number}", "%v", sharding, T)
        for number, sharding in enumerate(("{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"))
    )
    converted = to_shardy(nimblehlo.load(main(f"{body}%r = stablehlo.add %0, %1 : {T}")))
    meshes = [
        str(operation.attributes["mesh"]) for operation in converted.walk() if operation.name == "sdy.mesh"
    ]
    assert len(meshes) == 2


def test_a_program_of_one_device_is_as_it_was() -> None:
    text = f"""func.func @main(%v: {T}) -> {T} {{
      {entered("{replicated}", T)}{left("%s", "{replicated}", T)}
      return %r : {T}
    }}"""
    np.testing.assert_array_equal(execute(text), VALUES)


def test_ranks_take_devices() -> None:
    text = main(entered() + SUMMED + left())
    module, grid = _on_devices(nimblehlo.load(text), 2)
    assert grid == Grid(1, 8)
    results = nimblehlo.execute(module, [[VALUES]] * 8, grid=grid)
    np.testing.assert_array_equal(results[0][0], execute(text))
    whole = nimblehlo.execute(text, [[VALUES]] * 2, grid=Grid(1, 2))
    np.testing.assert_array_equal(whole[1][0], execute(text))


FULL = f"%r = stablehlo.add %v, %v : {T}"
HOSTILE: list[tuple[str, type[NimbleError], str]] = [
    (main(call("Sharding", "%r", "%v", "{devices=[4,2]<=[9]}", T)), VerifyError, "reshapes 8 devices"),
    (main(call("Sharding", "%r", "%v", "{wrong}", T)), VerifyError, "not part of a sharding"),
    (main(call("Sharding", "%r", "%v", "{devices=[8]<=[8]}", T)), VerifyError, "divides 1 dimension of"),
    (
        main(call("Sharding", "%r", "%v", "{{replicated}, {replicated}}", T)),
        VerifyError,
        "2 shardings for one value",
    ),
    (
        main(call("Sharding", "%r", "%v", TILES, T, more=', backend_config = "unspecified_dims=[x]"')),
        VerifyError,
        "not of the form",
    ),
    (
        main(call("Sharding", "%r", "%v", TILES, T, more=', backend_config = "unspecified_dims=[0,,1]"')),
        VerifyError,
        "not of the form",
    ),
    (main(FULL, attributes=" {mhlo.sharding = 3 : i32}"), VerifyError, "must be a string"),
    (main(FULL, attributes=' {mhlo.sharding = "{devices=[8]<=[8]}"}'), VerifyError, "divides 1 dimension of"),
    (
        main(call("Sharding", "%b", "%v", "{devices=[2,1]<=[2]}", T) + entered() + left("%s")),
        VerifyError,
        "of 2 and of 8 devices",
    ),
    (
        main(entered(shard="tensor<4x2xf32>") + left("%s", shard="tensor<4x2xf32>")),
        VerifyError,
        "the shard is",
    ),
    (main(entered() + left("%s", full="tensor<8x2xf32>"), "tensor<8x2xf32>"), VerifyError, "shard"),
    (
        main(call("SPMDFullToShardShape", "%s", "%v", "{manual}", T, SHARD) + left("%s")),
        VerifyError,
        "tiled or replicated",
    ),
    (main(call("SPMDShardToFullShape", "%r", "%v", TILES, T)), UnsupportedError, "no SPMDFullToShardShape"),
    (
        main(entered() + f"%r = stablehlo.add %s, %s : {SHARD}", SHARD),
        UnsupportedError,
        "without SPMDShardToFullShape",
    ),
    (
        main(
            call("Sharding", "%c", "%v", TILES, T)
            + call("SPMDFullToShardShape", "%s", "%c", TILES, T, SHARD)
            + left("%s")
        ),
        VerifyError,
        "must be sharded as manual",
    ),
    (
        main(
            entered()
            + left("%s").replace("%r", "%w")
            + call("Sharding", "%d", "%w", TILES, T)
            + call("SPMDFullToShardShape", "%y", "%d", "{manual}", T, SHARD)
            + f"%x = stablehlo.add %s, %y : {SHARD}\n"
            + left("%x").replace("%m", "%q")
        ),
        UnsupportedError,
        "need their own results",
    ),
    (
        main(call("SPMDFullToShardShape", "%r", "%v", "{replicated}", T, SHARD), SHARD).replace("= 8", "= 1"),
        VerifyError,
        "must have the same type",
    ),
]


@pytest.mark.parametrize(("text", "error", "reason"), HOSTILE)
def test_wrong_programs_are_refused(text: str, error: type[NimbleError], reason: str) -> None:
    with pytest.raises(error, match=reason):
        nimblehlo.compile(text)


@pytest.mark.parametrize("limit", [15, 16])
def test_the_devices_that_a_program_lists_are_limited(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nimblehlo.compiler.specialize.gspmd.conversion.MAX_LISTED_DEVICES", limit)
    other = call("Sharding", "%r", "%a", "{devices=[2,4]<=[8]}", T)
    text = main(call("Sharding", "%a", "%v", "{devices=[4,2]<=[8]}", T) + other)
    if limit == 16:
        nimblehlo.compile(text)
        return
    with pytest.raises(UnsupportedError, match="list more than 15 devices in all"):
        nimblehlo.compile(text)
