"""Collectives, channels and streams: their constraints, and what each computes on a grid."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Grid, VerifyError
from nimblehlo.program.ops.collectives import asynchronous, channels, movement, parallel, reduction
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)

M = "tensor<4x6xf32>"
TOKEN = "!stablehlo.token"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>"
GLOBAL = "use_global_device_ids"


def groups(text: str = "[[0, 1]]", shape: str = "1x2") -> str:
    return f"replica_groups = dense<{text}> : tensor<{shape}xi64>"


def pairs(text: str = "[[0, 1], [1, 0]]", shape: str = "2x2") -> str:
    return f"source_target_pairs = dense<{text}> : tensor<{shape}xi64>"


def combine(element: str = "f32", result: str = "") -> str:
    result = result or element
    return (
        f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>): "
        f"%s = stablehlo.add %a, %b : tensor<{element}> "
        f"%r = stablehlo.convert %s : (tensor<{element}>) -> tensor<{result}> "
        f'"stablehlo.return"(%r) : (tensor<{result}>) -> ()'
    )


def gather(attributes: str = groups(), results: str = "tensor<8x6xf32>", dim: int = 0) -> str:
    return program("stablehlo.all_gather", [M], [results], f"all_gather_dim = {dim} : i64, {attributes}")


def to_all(
    split: int = 1, concat: int = 0, count: int = 2, ids: str = groups(), result: str = "tensor<8x3xf32>"
) -> str:
    dims = f"split_dimension = {split} : i64, concat_dimension = {concat} : i64"
    attributes = f"{dims}, split_count = {count} : i64, {ids}"
    return program("stablehlo.all_to_all", [M], [result], attributes)


def broadcast(ids: str = groups(), operands: tuple[str, ...] = (M,), results: tuple[str, ...] = (M,)) -> str:
    return program("stablehlo.collective_broadcast", operands, results, ids)


def permute(attributes: str = pairs(), result: str = M) -> str:
    return program("stablehlo.collective_permute", [M], [result], attributes)


def reduce(name: str, attributes: str = groups(), result: str = M, region: str = "") -> str:
    return program(f"stablehlo.{name}", [M], [result], attributes, region or combine())


def scatter(
    attributes: str = groups(), dim: int = 1, result: str = "tensor<4x3xf32>", region: str = ""
) -> str:
    return reduce("reduce_scatter", f"scatter_dimension = {dim} : i64, {attributes}", result, region)


def send(attributes: str = "", kind: int = 1, ids: str = pairs()) -> str:
    parts = ", ".join(filter(None, [CHANNEL.format(kind), ids, attributes]))
    return program("stablehlo.send", [M, TOKEN], [TOKEN], parts)


def receive(attributes: str = "", kind: int = 1, ids: str = pairs()) -> str:
    parts = ", ".join(filter(None, [CHANNEL.format(kind), ids, attributes]))
    return program("stablehlo.recv", [TOKEN], [M, TOKEN], parts)


def start(operation: str, results: str = "tensor<8x6xf32>", argument: str = M) -> str:
    return f"""func.func @main(%0: {M}) {{
  %f = "stablehlo.async_start"(%0) ({{
  ^bb0(%x: {argument}):
    {operation}
    stablehlo.return %r : tensor<8x6xf32>
  }}) : ({M}) -> !stablehlo.future<{results}>
  return
}}"""


GATHER = (
    f'%r = "stablehlo.all_gather"(%x) {{all_gather_dim = 0 : i64, {groups()}}} : ({M}) -> tensor<8x6xf32>'
)
DONE = start(GATHER).replace(
    "  return\n",
    '  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<8x6xf32>>) -> RESULT\n  return\n',
)
PARALLEL = """func.func private @one(%x: tensor<f32>) -> tensor<f32> {{ return %x : tensor<f32> }}
func.func private @feed() -> tensor<f32> {{
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  return %x : tensor<f32>
}}
func.func @main(%0: tensor<f32>) -> tensor<f32> {{
  %r = "interpreter.run_parallel"(%0) {{programs = {}{}}} : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}"""

TWICE = groups("[[0, 0]]")
FAR = groups("[[0, 2]]")
RAGGED = groups("[[0, 1], [2, -1]]", "2x2")

REJECTED: dict[type[Op], dict[str, str]] = {
    movement.AllGather: {
        "C1": gather(dim=2),
        "C2": gather(TWICE),
        "C3_C4": gather(FAR),
        "C5": gather(f"{groups()}, {GLOBAL}"),
        "C6": gather(results="tensor<12x6xf32>"),
    },
    movement.AllToAll: {
        "C1": to_all(split=2),
        "C2": to_all(count=4),
        "C3": to_all(concat=2),
        "C4": to_all(count=0),
        "C5": to_all(ids=TWICE),
        "C6_C7": to_all(ids=FAR),
        "C8": to_all(ids=groups("[[0], [1]]", "2x1")),
        "C9": to_all(result=M),
    },
    movement.CollectiveBroadcast: {
        "C1": broadcast(TWICE),
        "C2": broadcast(groups("[[0, -2]]")),
        "C3": broadcast(results=("tensor<4x6xf64>",)),
        "C4": broadcast(f"{groups()}, has_dynamic_root", (M, "tensor<1xi64>")),
        "C5": broadcast(results=(M, M)),
    },
    movement.CollectivePermute: {
        "C1": permute(pairs("[[0, 1, 2]]", "1x3")),
        "C2": permute(pairs("[[0, 1], [0, 2]]")),
        "C3": permute(pairs("[[0, 1], [2, 1]]")),
        "C4": permute(pairs("[[0, -1]]", "1x2")),
        "C5": permute(result="tensor<4x6xf64>"),
    },
    reduction.AllReduce: {
        "C1": reduce("all_reduce", TWICE),
        "C2_C3": reduce("all_reduce", FAR),
        "C4": reduce("all_reduce", f"{groups()}, {GLOBAL}"),
        "C5": reduce("all_reduce", region=combine("f16")),
        "C6": reduce("all_reduce", result="tensor<4x5xf32>"),
        "C7": reduce("all_reduce", result="tensor<4x6xf64>"),
    },
    reduction.ReduceScatter: {
        "C1": scatter(groups("[[0, 1, 2, 3]]", "1x4")),
        "C2": scatter(dim=2),
        "C3": scatter(TWICE),
        "C4_C5": scatter(FAR),
        "C6": scatter(f"{groups()}, {GLOBAL}"),
        "C7": scatter(region=combine("f16")),
        "C8": scatter(result=M),
        "C9": scatter(result="tensor<4x3xf64>"),
    },
    reduction.CollectiveReduce: {
        "C1": reduce("collective_reduce", TWICE),
        "C2": reduce("collective_reduce", groups("[[0, -2]]")),
        "C3": reduce("collective_reduce", result="tensor<4x5xf32>"),
        "C4": reduce("collective_reduce", region=combine("f16")),
    },
    channels.Send: {
        "C1": send(ids=pairs("[[0, 1, 2]]", "1x3")),
        "C2": send(ids=pairs("[[0, 1], [0, 2]]")),
        "C3": send(ids=pairs("[[0, 1], [2, 1]]")),
        "C4": send(ids=pairs("[[0, -1]]", "1x2")),
        "C5": send("is_host_transfer = true"),
    },
    channels.Recv: {
        "C1": receive(ids=pairs("[[0, 1, 2]]", "1x3")),
        "C2": receive(ids=pairs("[[0, 1], [0, 2]]")),
        "C3": receive(ids=pairs("[[0, 1], [2, 1]]")),
        "C4": receive(ids=pairs("[[0, -1]]", "1x2")),
        "C5": receive(kind=3),
    },
    channels.Infeed: {
        "C1": program("stablehlo.infeed", [TOKEN], []),
        "C2": program("stablehlo.infeed", [TOKEN], [TOKEN, TOKEN]),
        "C3": program("stablehlo.infeed", [TOKEN], [M]),
    },
    asynchronous.AsyncStart: {
        "C1": start(f"%u = stablehlo.negate %x : {M} {GATHER}"),
        "C2": start(f"%r = stablehlo.concatenate %x, %x, dim = 0 : ({M}, {M}) -> tensor<8x6xf32>"),
        "C3": start(GATHER.replace("f32", "f64").replace("r = ", "q = "), argument="tensor<4x6xf64>").replace(
            "return %r : tensor<8x6xf32>", "return %q : tensor<8x6xf64>"
        ),
        "C4": start(GATHER, "tensor<4x6xf32>"),
    },
    asynchronous.AsyncDone: {"C1": DONE.replace("RESULT", M)},
    parallel.RunParallel: {
        "C1": PARALLEL.format("[]", ""),
        "C2": PARALLEL.format("[[@one], [@one, @one]]", ""),
        "C3": PARALLEL.format("[[@one]]", ", infeed = []"),
    },
}

ACCEPTED = [
    gather(),
    to_all(),
    broadcast(),
    permute(),
    reduce("all_reduce", RAGGED),
    scatter(),
    reduce("collective_reduce"),
    send(),
    receive(),
    program("stablehlo.infeed", [TOKEN], [M, TOKEN], 'infeed_config = "x"'),
    program("stablehlo.outfeed", [M, TOKEN], [TOKEN], 'outfeed_config = "x"'),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_groups_without_ids_are_rejected() -> None:
    empty = "replica_groups = dense<0> : tensor<1x0xi64>"
    assert_rejected(reduction.ReduceScatter, "C1", scatter(empty))
    # The grid says of the groups of replicas and partitions what their size is.
    unknown = scatter(f"{empty}, {CHANNEL.format(1)}", result="tensor<4x?xf32>")
    with pytest.raises(VerifyError, match="0 ids"):
        nimblehlo.execute(unknown, [np.zeros((4, 6), np.float32)])


@pytest.mark.parametrize("shape", ["0", "0x2", "0x0"])
def test_transfers_with_the_host_may_write_no_pairs_in_any_shape(shape: str) -> None:
    nimblehlo.load(send("is_host_transfer = true", 2, pairs("", shape)))
    nimblehlo.load(receive("is_host_transfer = true", 3, pairs("", shape)))
    wrong = pairs("", shape).replace("i64", "i32")
    with pytest.raises(VerifyError, match="source_target_pairs"):
        nimblehlo.load(send("is_host_transfer = true", 2, wrong))


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, movement, reduction, channels, asynchronous, parallel)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


@pytest.mark.parametrize(
    ("programs", "label"),
    [
        ("[[@one, @one]]", "C4"),
        ("[[@feed]]", "C4"),
        ("[[@one]], infeed = [@one]", "C6"),
        ("[[@none]]", None),
    ],
)
def test_programs_in_parallel_fit_their_inputs(programs: str, label: str | None) -> None:
    with pytest.raises(VerifyError) as caught:
        nimblehlo.load(PARALLEL.format(programs, ""))
    assert (caught.value.operation, caught.value.label) == ("interpreter.run_parallel", label)


@pytest.mark.parametrize(
    ("text", "grid", "label"),
    [
        (gather(), Grid(3), "C3"),
        (gather(groups("[[0, 1, 2]]", "1x3"), "tensor<12x6xf32>"), Grid(2), "C4"),
        (gather(f"{groups()}, {CHANNEL.format(1)}"), Grid(2, 3), "C6"),
        (reduce("all_reduce", RAGGED), Grid(4), "C2"),
        (scatter(f"{groups('[[0]]', '1x1')}, {CHANNEL.format(1)}"), Grid(1, 5), "C1"),
        (scatter(f"{groups('[[0]]', '1x1')}, {CHANNEL.format(1)}"), Grid(1, 3), "C8"),
        (broadcast(groups("[[1, 4]]")), Grid(3), "C2"),
        (permute(pairs("[[0, 3]]", "1x2")), Grid(3), "C4"),
        (send(), Grid(1, 1), "C4"),
    ],
)
def test_constraints_on_the_grid(text: str, grid: Grid, label: str) -> None:
    with pytest.raises(VerifyError, match="the grid is") as caught:
        nimblehlo.compile(text, grid=grid)
    assert caught.value.label == label


def test_a_transfer_between_devices_needs_pairs() -> None:
    nimblehlo.load(send(ids=""))
    with pytest.raises(VerifyError, match="undefined behavior"):
        nimblehlo.compile(send(ids=""), grid=Grid(2))


MESH = (
    '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, '
    '#stablehlo.mesh_axis<name = "y", size = 4>]{}>'
)


@pytest.mark.parametrize(
    ("axes", "devices", "expected"),
    [
        ('#stablehlo.axis_ref<name = "x">', "", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ('#stablehlo.axis_ref<name = "y">', "", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (
            '#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">',
            "",
            [[0, 4, 1, 5, 2, 6, 3, 7]],
        ),
        (
            '#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>',
            "",
            [[0, 2], [1, 3], [4, 6], [5, 7]],
        ),
        (
            '#stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>',
            ", device_ids = dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>",
            [[7, 6], [5, 4], [3, 2], [1, 0]],
        ),
    ],
)
def test_axes_of_a_mesh_make_groups(axes: str, devices: str, expected: list[list[int]]) -> None:
    """Each process gets the ids of its group, in order."""
    mesh = MESH.format(devices)
    size = 8 // len(expected) if len(expected) > 1 else 8
    text = f"""func.func @main() -> tensor<{size}xui32> {{
  %id = stablehlo.replica_id : tensor<ui32>
  %0 = stablehlo.reshape %id : (tensor<ui32>) -> tensor<1xui32>
  %1 = "stablehlo.all_gather"(%0) {{all_gather_dim = 0 : i64, replica_groups =
    #stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{axes}]>}}
    : (tensor<1xui32>) -> tensor<{size}xui32>
  return %1 : tensor<{size}xui32>
}}"""
    results = nimblehlo.compile(text, grid=Grid(8))()
    of_process = {process: group for group in expected for process in group}
    assert [result.tolist() for (result,) in results] == [of_process[process] for process in range(8)]


def test_a_mesh_may_be_named() -> None:
    text = """module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
      axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}"""
    results = nimblehlo.execute(text, [[np.float32(1)], [np.float32(2)]], grid=Grid(2))
    assert [float(result) for (result,) in results] == [3.0, 3.0]
    with pytest.raises(VerifyError, match="the mesh @other, which the module does not declare"):
        nimblehlo.compile(text.replace("mesh = @mesh", "mesh = @other"), grid=Grid(2))


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ('#stablehlo.axis_ref<name = "z">', "does not have"),
        ('#stablehlo.axis_ref<name = "y", sub_axis_info = (1)3>', "does not divide"),
        ('#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "y">', "does not divide"),
    ],
)
def test_axes_must_be_those_of_the_mesh(axes: str, reason: str) -> None:
    attribute = (
        f"replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {MESH.format('')}, axes = [{axes}]>"
    )
    with pytest.raises(VerifyError, match=reason) as caught:
        nimblehlo.load(gather(attribute))
    assert caught.value.label == "I3"
