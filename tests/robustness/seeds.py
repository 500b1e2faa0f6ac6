"""Programs of each kind of replacement, from which the campaigns on replacements start.

A *target* is one kind: custom calls, composites, operations of sizes that are operands, internal operations,
partitioned programs, sharded loops.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Final

from .corpus import LARGEST, programs

MESH: Final = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
COMPARE: Final = """^bb0(%p: tensor<f32>, %q: tensor<f32>, %k: tensor<i32>, %l: tensor<i32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>"""
INTERNAL: Final = (
    f"""func.func @main(%a: tensor<64x40xf32>) -> (tensor<64x40xf32>, tensor<64x40xi32>) {{
  %i = stablehlo.iota dim = 1 : tensor<64x40xi32>
  %r:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  {COMPARE}
  }}) : (tensor<64x40xf32>, tensor<64x40xi32>) -> (tensor<64x40xf32>, tensor<64x40xi32>)
  return %r#0, %r#1 : tensor<64x40xf32>, tensor<64x40xi32>
}}""",
    """func.func @main(%a: tensor<64x40xf32>) -> (tensor<64xf32>, tensor<64xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<64x40xi32>
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%a init: %v), (%i init: %p) across dimensions = [1]
    : (tensor<64x40xf32>, tensor<64x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
  reducer(%x: tensor<f32>, %y: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>) {
    %g = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %u = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %w = stablehlo.or %g, %u : tensor<i1>
    %e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %m, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = stablehlo.and %e, %l : tensor<i1>
    %f = stablehlo.or %w, %t : tensor<i1>
    %s = stablehlo.select %w, %x, %y : tensor<i1>, tensor<f32>
    %o = stablehlo.select %f, %m, %n : tensor<i1>, tensor<i32>
    stablehlo.return %s, %o : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xi32>
}""",
    """func.func @main(%a: tensor<500x70xf32>, %v: tensor<i32>) -> tensor<500x70xf32> {
  %k = stablehlo.iota dim = 0 : tensor<20000xi32>
  %b = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<i32>) -> tensor<20000xi32>
  %i = stablehlo.add %k, %b : tensor<20000xi32>
  %u = stablehlo.convert %i : (tensor<20000xi32>) -> tensor<20000xf32>
  %0 = stablehlo.reshape %i : (tensor<20000xi32>) -> tensor<20000x1xi32>
  %1 = stablehlo.reshape %b : (tensor<20000xi32>) -> tensor<20000x1xi32>
  %2 = stablehlo.concatenate %0, %1, dim = 1
    : (tensor<20000x1xi32>, tensor<20000x1xi32>) -> tensor<20000x2xi32>
  %3 = "stablehlo.scatter"(%a, %2, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<500x70xf32>, tensor<20000x2xi32>, tensor<20000xf32>) -> tensor<500x70xf32>
  return %3 : tensor<500x70xf32>
}""",
    """func.func @main(%a: tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>> {
  %0 = stablehlo.convert %a : (tensor<2x8xf32>) -> tensor<2x8xcomplex<f32>>
  %1 = stablehlo.fft %0, type = FFT, length = [8]
    : (tensor<2x8xcomplex<f32>>) -> tensor<2x8xcomplex<f32>>
  return %1 : tensor<2x8xcomplex<f32>>
}""",
    """func.func @main(%a: tensor<64x40xf32>, %b: tensor<40xf32>) -> tensor<64x40xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<40xf32>) -> tensor<64x40xf32>
  %1 = stablehlo.add %a, %0 : tensor<64x40xf32>
  %2 = stablehlo.exponential %1 : tensor<64x40xf32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<64x40xf32>, tensor<f32>) -> tensor<64xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<64xf32>) -> tensor<64x40xf32>
  %5 = stablehlo.divide %2, %4 : tensor<64x40xf32>
  return %5 : tensor<64x40xf32>
}""",
    """func.func @main(%a: tensor<64x40xf32>, %i: tensor<900x1xi32>) -> (tensor<40xf32>, tensor<900x40xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
      slice_sizes = array<i64: 1, 40>}> : (tensor<64x40xf32>, tensor<900x1xi32>) -> tensor<900x40xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<900x40xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<900x40xf32>, tensor<f32>) -> tensor<40xf32>
  return %2, %1 : tensor<40xf32>, tensor<900x40xf32>
}""",
)
"""Programs that the specializer rewrites into internal operations: arg_sort, arg_reduce, component_scatter,
fft_of_real and fusions."""


def _sharded(axes: str) -> str:
    return f"{{sdy.sharding = #sdy.sharding_per_value<[<@mesh, {axes}>]>}}"


def _partitioned() -> Iterator[str]:
    """Programs whose values have shardings."""
    both, rows = '[{"x"}, {"y"}]', '[{"x"}, {}]'
    type = "tensor<8x4xf32>"
    head = f"func.func @main(%a: {type} {{sdy.sharding = #sdy.sharding<@mesh, {both}>}}) -> "
    bodies = {
        type: (
            f"%0 = stablehlo.multiply %a, %a {_sharded(both)} : {type}",
            f"%1 = stablehlo.iota dim = 0 {_sharded(both)} : {type}\n"
            f"  %0 = stablehlo.add %1, %a {_sharded(rows)} : {type}",
            f"%0 = stablehlo.reverse %a, dims = [1] {_sharded(both)} : {type}",
            f"""%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, {both}>] out_shardings=[<@mesh, {rows}>]
      manual_axes={{"x"}} (%b: tensor<4x4xf32>) {{
    %r = stablehlo.negate %b : tensor<4x4xf32>
    sdy.return %r : tensor<4x4xf32>
  }} : ({type}) -> {type}""",
        ),
        "tensor<8x8xf32>": (
            "%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] "
            f"{_sharded(both)} : ({type}, {type}) -> tensor<8x8xf32>",
        ),
        "tensor<4xf32>": (
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] "
            f'{_sharded("""[{"y"}]""")} : ({type}, tensor<f32>) -> tensor<4xf32>',
        ),
        "tensor<4x8xf32>": (
            f"%0 = stablehlo.transpose %a, dims = [1, 0] {_sharded(both)} : ({type}) -> tensor<4x8xf32>",
            f"%0 = stablehlo.reshape %a {_sharded(rows)} : ({type}) -> tensor<4x8xf32>",
        ),
        "tensor<8x2xf32>": (
            f"%0 = stablehlo.slice %a [0:8, 1:3] {_sharded(rows)} : ({type}) -> tensor<8x2xf32>",
        ),
    }
    for result, texts in bodies.items():
        for body in texts:
            yield f"{MESH}{head}{result} {{\n  {body}\n  return %0 : {result}\n}}"
    tile = "{devices=[4,2]<=[8]}"
    shard = "tensor<2x2xf32>"
    yield f"""module attributes {{mhlo.num_partitions = 8 : i32}} {{
func.func @main(%v: {type}) -> {type} {{
  %c = stablehlo.custom_call @Sharding(%v) {{mhlo.sharding = "{tile}"}} : ({type}) -> {type}
  %s = stablehlo.custom_call @SPMDFullToShardShape(%c) {{mhlo.sharding = "{{manual}}"}} : ({type}) -> {shard}
  %t = stablehlo.add %s, %s : {shard}
  %m = stablehlo.custom_call @Sharding(%t) {{mhlo.sharding = "{{manual}}"}} : ({shard}) -> {shard}
  %r = stablehlo.custom_call @SPMDShardToFullShape(%m) {{mhlo.sharding = "{tile}"}} : ({shard}) -> {type}
  return %r : {type}
}}
}}"""


def _loops() -> Iterator[str]:
    """Loops whose rows are independent."""
    bodies = (
        "%b = stablehlo.multiply %x, %m : tensor<8x6xf32>\n    %y = stablehlo.tanh %b : tensor<8x6xf32>",
        "%b = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
        "      : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>\n"
        "    %y = stablehlo.logistic %b : tensor<8x6xf32>",
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %b = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1]\n"
        "      : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>\n"
        "    %d = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>\n"
        "    %y = stablehlo.subtract %x, %d : tensor<8x6xf32>",
        "%b = stablehlo.slice %x [0:8, 0:3] : (tensor<8x6xf32>) -> tensor<8x3xf32>\n"
        "    %y = stablehlo.concatenate %b, %b, dim = 1 : (tensor<8x3xf32>, tensor<8x3xf32>)"
        " -> tensor<8x6xf32>",
    )
    for body in bodies:
        yield f"""func.func @main(%a: tensor<8x6xf32>, %m: tensor<8x6xf32>, %w: tensor<6x6xf32>)
    -> tensor<8x6xf32> {{
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%x = %a, %i = %0) : tensor<8x6xf32>, tensor<i32>
  cond {{
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    {body}
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %y, %j : tensor<8x6xf32>, tensor<i32>
  }}
  return %r#0 : tensor<8x6xf32>
}}"""


def _custom_calls(conformance: bool) -> Iterator[str]:
    from tests.program.ops.custom_calls import test_replaced_targets as calls

    yield from (calls.top_k(), calls.dynamic_top_k(), calls.windows(), calls.random_bits(), calls.greatest())
    yield calls.sized("tensor<2xi32>", "tensor<2xi32>")
    yield calls.windows(window_dimensions="2", padding="dense<0> : tensor<1x2xi32>")
    yield calls.random_bits(shape="dense<[2, 3]> : tensor<2xi32>")
    # Hundreds of the public programs only compare their results by custom calls.
    yield from _selected(r"custom_call @(?!check)|call_target_name = \"(?!check)", conformance)
    yield from _selected(r"custom_call @check", conformance)[:20]


def _composites(conformance: bool) -> Iterator[str]:
    yield """func.func private @decomposition(%a: tensor<3x5xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %v, %i = chlo.top_k(%a, k = 2) : tensor<3x5xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %v, %i : tensor<3x2xf32>, tensor<3x2xi32>
}
func.func @main(%a: tensor<3x5xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %r:2 = stablehlo.composite "chlo.top_k" %a {composite_attributes = {k = 2 : i64, largest = true},
    decomposition = @decomposition, version = 1 : i32}
    : (tensor<3x5xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %r#0, %r#1 : tensor<3x2xf32>, tensor<3x2xi32>
}"""
    yield """func.func private @decomposition(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "chlo.erf" %a {decomposition = @decomposition, version = 1 : i32}
    : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "my.function" %0
    {composite_attributes = {n = 1 : i64}, decomposition = @decomposition} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
    yield from _selected(r"stablehlo\.composite", conformance)


def _selected(pattern: str, conformance: bool) -> list[str]:
    """The programs of the whole corpus in which a pattern occurs."""
    return [text for text in programs(conformance) if re.search(pattern, text)]


DYNAMIC: Final = r"stablehlo\.(dynamic_(broadcast|reshape|iota|pad|gather|conv)|real_dynamic_slice|set_dim)"
TARGETS: Final[dict[str, Callable[[bool], Iterator[str]]]] = {
    "custom_calls": _custom_calls,
    "composites": _composites,
    "dynamic_forms": lambda conformance: iter(_selected(DYNAMIC, conformance)),
    "internal": lambda conformance: iter(INTERNAL),
    "partitioned": lambda conformance: _partitioned(),
    "loops": lambda conformance: _loops(),
}
"""The programs of each target; called with whether to take conformance programs too."""


@functools.cache
def seeds(target: str, conformance: bool = True) -> tuple[str, ...]:
    """The programs of a target, each once, in a fixed order.

    Args:
        target: a key of TARGETS.
        conformance: whether to take the conformance programs where they are there.
    """
    texts = TARGETS[target](conformance)
    return tuple(dict.fromkeys(text for text in texts if len(text) <= LARGEST))
