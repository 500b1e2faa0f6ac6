"""Programs that run on several ranks, and their inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nimblehlo import Grid
from nimblehlo.execution.mpi.transport import MIN_RANGED_BYTES
from nimblehlo.program.ops.collectives.process_grid import ProcessId
from tests.execution.grid.programs import all_reduce, channel, function, groups


class Program(NamedTuple):
    """A program: its text, the grid that runs it, and its only argument."""

    text: str
    grid: Grid
    shape: tuple[int, ...]
    dtype: str


def inputs_of(program: Program, process: ProcessId) -> list[Any]:
    """The inputs of a process."""
    generator = np.random.default_rng(100 * process.replica + process.partition)
    values = generator.random(program.shape) * 200 - 100
    return [values.astype(program.dtype if program.dtype != "bfloat16" else _bfloat16())]


def _bfloat16() -> Any:
    import ml_dtypes

    return ml_dtypes.bfloat16


EIGHT = groups([list(range(8))])
V, LONG = "tensor<5xf32>", MIN_RANGED_BYTES // 4 + 5
_PAIRS = "source_target_pairs = dense<[[0, 3], [3, 5], [5, 0], [1, 7]]> : tensor<4x2xi64>"


def _reducing(type: str, attributes: str = EIGHT) -> str:
    return function(f"%x: {type}", f"{all_reduce(type, attributes)}\n return %r : {type}", type)


def _one(name: str, attributes: str, type: str, result: str) -> str:
    body = f'%r = "stablehlo.{name}"(%x) {{{attributes}}} : ({type}) -> {result}\n return %r : {result}'
    return function(f"%x: {type}", body, result)


_SCATTER = all_reduce(
    "tensor<16x3xf32>",
    f"scatter_dimension = 0 : i64, {groups([[0, 2, 4, 6], [1, 3, 5, 7]])}",
    to="tensor<4x3xf32>",
).replace("all_reduce", "reduce_scatter")
_ROOT = all_reduce(V, groups([[3, 1, 0], [7, 5, 6]])).replace("all_reduce", "collective_reduce")
_TOKEN = "!stablehlo.token"
_CHANNEL = f"{channel(0)}, {_PAIRS}"

_V4 = "tensor<4xi32>"
_RAGGED = f"""%id = stablehlo.replica_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %half = stablehlo.divide %id, %two : tensor<ui32>
    %i = stablehlo.convert %half : (tensor<ui32>) -> tensor<i32>
    %sizes = stablehlo.constant dense<[[1, 2, 0, 1], [0, 2, 3, 1], [2, 0, 1, 1], [0, 0, 4, 0]]>
      : tensor<4x4xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %sizes, %i, %z, sizes = [1, 4]
      : (tensor<4x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
    %column = stablehlo.dynamic_slice %sizes, %z, %i, sizes = [4, 1]
      : (tensor<4x4xi32>, tensor<i32>, tensor<i32>) -> tensor<4x1xi32>
    %send = stablehlo.reshape %row : (tensor<1x4xi32>) -> {_V4}
    %recv = stablehlo.reshape %column : (tensor<4x1xi32>) -> {_V4}
    %from = stablehlo.constant dense<[0, 1, 1, 2]> : {_V4}
    %four = stablehlo.constant dense<4> : {_V4}
    %ids = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> {_V4}
    %to = stablehlo.multiply %ids, %four : {_V4}
    %out = stablehlo.constant dense<-1.0> : tensor<16xf32>
    %r = stablehlo.custom_call @ragged_all_to_all(%x, %out, %from, %send, %to, %recv) {{
      api_version = 4 : i32, backend_config = {{{groups([[0, 2, 4, 6], [1, 3, 5, 7]])}}}
    }} : ({V}, tensor<16xf32>, {_V4}, {_V4}, {_V4}, {_V4}) -> tensor<16xf32>
    return %r : tensor<16xf32>"""

PROGRAMS = {
    "ragged_all_to_all": Program(function(f"%x: {V}", _RAGGED, "tensor<16xf32>"), Grid(8), (5,), "float32"),
    "all_reduce": Program(_reducing(V), Grid(8), (5,), "float32"),
    "ranges": Program(_reducing(f"tensor<{LONG}xf32>"), Grid(8), (LONG,), "float32"),
    "ranges of bf16": Program(
        _reducing(f"tensor<{2 * LONG}xbf16>", groups([[5, 0, 1, 6, 7], [2, 3, 4, -1, -1]])),
        Grid(8),
        (2 * LONG,),
        "bfloat16",
    ),
    "cross_replica_and_partition": Program(
        _reducing(V, f"{groups([[0, 1], [2, 3]])}, {channel(1)}"), Grid(4, 2), (5,), "float32"
    ),
    "all_gather": Program(
        _one(
            "all_gather",
            f"all_gather_dim = 0 : i64, {groups([[0, 7, 2, 5], [1, 3, 4, 6]])}",
            V,
            "tensor<20xf32>",
        ),
        Grid(8),
        (5,),
        "float32",
    ),
    "all_to_all": Program(
        _one(
            "all_to_all",
            f"split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 8 : i64, {EIGHT}",
            "tensor<2x16xi16>",
            "tensor<16x2xi16>",
        ),
        Grid(8),
        (2, 16),
        "int16",
    ),
    "reduce_scatter": Program(
        function("%x: tensor<16x3xf32>", f"{_SCATTER}\n return %r : tensor<4x3xf32>", "tensor<4x3xf32>"),
        Grid(8),
        (16, 3),
        "float32",
    ),
    "broadcast": Program(
        _one("collective_broadcast", groups([[6, 0, 1, 2]]), V, V), Grid(8), (5,), "float32"
    ),
    "collective_reduce": Program(
        function(f"%x: {V}", f"{_ROOT}\n return %r : {V}", V), Grid(8), (5,), "float32"
    ),
    "permute": Program(_one("collective_permute", _PAIRS, V, V), Grid(8), (5,), "float32"),
    "send and recv": Program(
        function(
            f"%x: {V}",
            f"""%t = stablehlo.create_token : {_TOKEN}
            %u = "stablehlo.send"(%x, %t) {{{_CHANNEL}}} : ({V}, {_TOKEN}) -> {_TOKEN}
            %r, %v = "stablehlo.recv"(%u) {{{_CHANNEL}}} : ({_TOKEN}) -> ({V}, {_TOKEN})
            return %r : {V}""",
            V,
        ),
        Grid(8),
        (5,),
        "float32",
    ),
    "nothing to say": Program(function(f"%x: {V}", f"return %x : {V}", V), Grid(8), (5,), "float32"),
}

_IDS = """%rep = stablehlo.replica_id : tensor<ui32>
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %p = stablehlo.compare EQ, %rep, %one : (tensor<ui32>, tensor<ui32>) -> tensor<i1>"""

FAILING = {
    "deadlock": function(
        f"%x: {V}",
        f"""{_IDS}
        %0 = "stablehlo.if"(%p) ({{
          stablehlo.return %x : {V}
        }}, {{
          {all_reduce(V, groups([[0, 1]]))}
          stablehlo.return %r : {V}
        }}) : (tensor<i1>) -> {V}
        return %0 : {V}""",
        V,
    ),
    "check": function(
        f"%x: {V}",
        f"""{_IDS}
        %zero = stablehlo.constant dense<0> : tensor<ui32>
        check.expect_eq %rep, %zero : tensor<ui32>
        {all_reduce(V, groups([[0, 1]]))}
        return %r : {V}""",
        V,
    ),
    "unreceived": function(
        f"%x: {V}",
        f"""%t = stablehlo.create_token : {_TOKEN}
        %u = "stablehlo.send"(%x, %t) {{{channel(0)},
          source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}} : ({V}, {_TOKEN}) -> {_TOKEN}
        return %x : {V}""",
        V,
    ),
    "inputs": _reducing(V, groups([[0, 1]])),
    "mismatch": _reducing(V, groups([[0, 1]])),
    "full disk": function(
        f"%x: {V}",
        f"""%t = stablehlo.create_token : {_TOKEN}
        %u = "stablehlo.outfeed"(%x, %t) : ({V}, {_TOKEN}) -> {_TOKEN}
        {all_reduce(V, groups([[0, 1]]))}
        return %r : {V}""",
        V,
    ),
}
"""Programs that fail on two ranks of one process each."""


def _many(type: str, shape: tuple[int, ...], dtype: str, per_rank: int = 1) -> Program:
    """The sum over all processes of 16 ranks."""
    count = 16 * per_rank
    return Program(_reducing(type, groups([list(range(count))])), Grid(count), shape, dtype)


_SIXTEEN = groups([list(range(16))])
MANY_RANKS = {
    "sum": _many("tensor<1003xf32>", (1003,), "float32"),
    "few": _many(V, (5,), "float32"),
    "large": _many(f"tensor<{LONG}xf32>", (LONG,), "float32"),
    "bf16": _many("tensor<999xbf16>", (999,), "bfloat16"),
    "two on each": _many("tensor<1003xf32>", (1003,), "float32", per_rank=2),
    "three on each": _many("tensor<103xf32>", (103,), "float32", per_rank=3),
    "thirteen": Program(
        _reducing("tensor<1003xbf16>", groups([[*range(13)], [13, 14, 15, *[-1] * 10]])),
        Grid(16),
        (1003,),
        "bfloat16",
    ),
    "reduce_scatter": Program(
        function(
            "%x: tensor<3x32xf32>",
            all_reduce(
                "tensor<3x32xf32>", f"scatter_dimension = 1 : i64, {_SIXTEEN}", to="tensor<3x2xf32>"
            ).replace("all_reduce", "reduce_scatter")
            + "\n return %r : tensor<3x2xf32>",
            "tensor<3x2xf32>",
        ),
        Grid(16),
        (3, 32),
        "float32",
    ),
}
"""Programs of 16 ranks."""
