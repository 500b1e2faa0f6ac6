"""The program of one device computes on a grid what the whole program computes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.partitioner import partitioner
from nimblehlo.compiler.partitioner.partitioner import device_count, device_program
from nimblehlo.jax.pjrt.partitioned import PartitionedProgram
from nimblehlo.program.ir import Module

DEVICES = 4
MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'


def sharded(axes: str, results: int = 1) -> str:
    """The attribute of an operation whose results have that sharding."""
    return f"{{sdy.sharding = #sdy.sharding_per_value<[{', '.join([f'<@mesh, {axes}>'] * results)}]>}}"


def argument(name: str, type: str, axes: str) -> str:
    """An argument with a sharding."""
    return f"%{name}: {type} {{sdy.sharding = #sdy.sharding<@mesh, {axes}>}}"


class Case(NamedTuple):
    """A program of a float argument of 8 x 4 elements.

    Attributes:
        of_argument: its sharding.
        body: the operations; %0 is the result.
        result: the type of the result.
        of_result: its sharding.
        collectives: those of the program of a device, in their order.
    """

    of_argument: str
    body: str
    result: str
    of_result: str
    collectives: tuple[str, ...] = ()


GATHER, REDUCE = "stablehlo.all_gather", "stablehlo.all_reduce"
SUM = """({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })"""
MAX = SUM.replace(".add", ".maximum")
ALONG_Y = '[{"y"}]'
ROWS, COLUMNS, BOTH, WHOLE = '[{"x"}, {}]', '[{}, {"y"}]', '[{"x"}, {"y"}]', "[{}, {}]"
T = "tensor<8x4xf32>"

NESTED = f"""sdy.manual_computation(%b) in_shardings=[<@mesh, {COLUMNS}>]
          out_shardings=[<@mesh, {COLUMNS}>] manual_axes={{"y"}} (%c: tensor<4x2xf32>) {{
        %id = stablehlo.partition_id : tensor<ui32>
        %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
        %n = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x2xf32>
        %d = stablehlo.add %c, %n : tensor<4x2xf32>
        sdy.return %d : tensor<4x2xf32>
      }} : (tensor<4x4xf32>) -> tensor<4x4xf32>"""


def around(body: str) -> str:
    """A manual computation of %a along x, whose operand is divided along y as well."""
    return f"""%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, {BOTH}>] out_shardings=[<@mesh, {ROWS}>]
        manual_axes={{"x"}} (%b: tensor<4x4xf32>) {{
      {body}
      sdy.return %r : tensor<4x4xf32>
    }} : ({T}) -> {T}"""


def sum_of(value: str) -> str:
    """The sum of a tensor that is divided along both axes over its first dimension."""
    return f"""stablehlo.reduce({value} init: %z) applies stablehlo.add across dimensions = [0]
          {sharded(ALONG_Y)} : ({T}, tensor<f32>) -> tensor<4xf32>"""


def sort_along(dimension: int, axes: str = ROWS, limit: str = "%q") -> str:
    """The slices of %a along a dimension, sorted together with their numbers."""
    numbers = "tensor<8x4xi32>"
    return f"""%i = stablehlo.iota dim = 0 {sharded(axes)} : {numbers}
        %0, %1 = "stablehlo.sort"(%a, %i) <{{dimension = {dimension} : i64, is_stable = true}}> ({{
        ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>):
          %l = stablehlo.compare LT, %p, {limit} : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %l : tensor<i1>
        }}) {sharded(axes, 2)} : ({T}, {numbers}) -> ({T}, {numbers})"""


def batched_call(batch_rank: int, axes: str = ROWS) -> str:
    """The factors of Householder reflections of eight matrices."""
    ranked = axes.replace("]", ", {}]")
    return f"""%1 = stablehlo.reshape %a {sharded(ranked)} : ({T}) -> tensor<8x2x2xf32>
        %2, %0 = stablehlo.custom_call @lapack_sgeqrf_ffi(%1) {{api_version = 4 : i32, backend_config = {{}},
          mhlo.frontend_attributes = {{num_batch_dims = "{batch_rank}"}}, sdy.sharding =
          #sdy.sharding_per_value<[<@mesh, {ranked}>, <@mesh, {axes}>]>}}
          : (tensor<8x2x2xf32>) -> (tensor<8x2x2xf32>, tensor<8x2xf32>)"""


CASES = {
    "other axes than the manual ones": Case(
        BOTH, around("%r = stablehlo.negate %b : tensor<4x4xf32>"), T, ROWS, (GATHER,)
    ),
    "a nested manual computation": Case(BOTH, around(f"%r = {NESTED}"), T, ROWS, (GATHER, GATHER)),
    "a manual computation in a branch of another one": Case(
        BOTH,
        around(
            f"""%p = stablehlo.constant dense<true> : tensor<i1>
      %r = "stablehlo.if"(%p) ({{
        %q = {NESTED}
        stablehlo.return %q : tensor<4x4xf32>
      }}, {{
        stablehlo.return %b : tensor<4x4xf32>
      }}) : (tensor<i1>) -> tensor<4x4xf32>"""
        ),
        T,
        ROWS,
        (GATHER, GATHER),
    ),
    "elementwise": Case(BOTH, f"%0 = stablehlo.multiply %a, %a {sharded(BOTH)} : {T}", T, BOTH),
    "elementwise functions of CHLO": Case(
        BOTH,
        f"""%1 = chlo.erf %a {sharded(BOTH)} : {T} -> {T}
        %2 = chlo.next_after %a, %1 {sharded(BOTH)} : {T}, {T} -> {T}
        %3 = "chlo.constant_like"(%a) <{{value = 0.5 : f32}}> {sharded(BOTH)} : ({T}) -> {T}
        %4 = chlo.broadcast_multiply %2, %3 {sharded(BOTH)} : ({T}, {T}) -> {T}
        %s = stablehlo.constant dense<3.0> : tensor<f32>
        %5 = chlo.broadcast_subtract %4, %s {sharded(BOTH)} : ({T}, tensor<f32>) -> {T}
        %6 = chlo.is_inf %5 {sharded(BOTH)} : {T} -> tensor<8x4xi1>
        %0 = chlo.broadcast_select %6, %3, %5 {sharded(BOTH)} : (tensor<8x4xi1>, {T}, {T}) -> {T}""",
        T,
        BOTH,
    ),
    "an operand of CHLO that is broadcast": Case(
        ROWS,
        f"""%1 = stablehlo.slice %a [0:1, 0:4] : ({T}) -> tensor<1x4xf32>
        %0 = chlo.broadcast_add %a, %1 {sharded(ROWS)} : ({T}, tensor<1x4xf32>) -> {T}""",
        T,
        ROWS,
        (GATHER, GATHER),
    ),
    "another layout of an operand": Case(
        ROWS, f"%0 = stablehlo.add %a, %a {sharded(COLUMNS)} : {T}", T, COLUMNS, (GATHER, GATHER)
    ),
    "dimensions divided along two axes": Case(
        '[{"y", "x"}, {}]', f"%0 = stablehlo.negate %a {sharded(ROWS)} : {T}", T, ROWS, (GATHER,)
    ),
    "iota and a constant": Case(
        BOTH,
        f"""%1 = stablehlo.iota dim = 0 {sharded(BOTH)} : {T}
        %2 = stablehlo.iota dim = 1 {sharded(BOTH)} : {T}
        %3 = sdy.constant {sharded(BOTH)} dense<2.5> : {T}
        %4 = stablehlo.multiply %1, %3 {sharded(BOTH)} : {T}
        %5 = stablehlo.subtract %4, %2 {sharded(BOTH)} : {T}
        %0 = stablehlo.add %5, %a {sharded(BOTH)} : {T}""",
        T,
        BOTH,
    ),
    "a constant that is no splat": Case(
        ROWS,
        f"""%1 = stablehlo.constant {sharded(ROWS)} dense<[[0.0], [1.0], [2.0], [3.0]]> : tensor<4x1xf32>
        %0 = stablehlo.negate %1 {sharded(ROWS)} : tensor<4x1xf32>""",
        "tensor<4x1xf32>",
        ROWS,
    ),
    "a sum": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {SUM} {{dimensions = array<i64: 0>, {sharded('[{"y"}]')[1:]}
          : ({T}, tensor<f32>) -> tensor<4xf32>""",
        "tensor<4xf32>",
        '[{"y"}]',
        (REDUCE,),
    ),
    "a sum that starts with something": Case(
        ROWS,
        f"""%z = stablehlo.constant dense<1.0> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {SUM} {{dimensions = array<i64: 0>}}
          : ({T}, tensor<f32>) -> tensor<4xf32>""",
        "tensor<4xf32>",
        "[{}]",
        (GATHER,),
    ),
    "a maximum": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {MAX} {{dimensions = array<i64: 0, 1>}}
          : ({T}, tensor<f32>) -> tensor<f32>""",
        "tensor<f32>",
        "[]",
        (REDUCE,),
    ),
    "terms of a sum": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {SUM} {{dimensions = array<i64: 0, 1>,
          {sharded('[], unreduced={"x"}')[1:]} : ({T}, tensor<f32>) -> tensor<f32>""",
        "tensor<f32>",
        '[], unreduced={"x"}',
        (REDUCE,),
    ),
    "partial maxima": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {MAX} {{dimensions = array<i64: 0, 1>,
          {sharded('[], unreduced=max{"x"}')[1:]} : ({T}, tensor<f32>) -> tensor<f32>""",
        "tensor<f32>",
        '[], unreduced=max{"x"}',
        (REDUCE,),
    ),
    "partial maxima of partial maxima": Case(
        '[{}, {}], unreduced=max{"x"}',
        f"""%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %1 = stablehlo.maximum %a, %a {sharded('[{}, {}], unreduced=max{"x"}')} : {T}
        %2 = "stablehlo.reduce"(%1, %z) {MAX} {{dimensions = array<i64: 0, 1>,
          {sharded('[], unreduced=max{"x"}')[1:]} : ({T}, tensor<f32>) -> tensor<f32>
        %0 = stablehlo.negate %2 : tensor<f32>""",
        "tensor<f32>",
        "[]",
        (REDUCE,),
    ),
    "a sum of partial maxima": Case(
        '[{}, {}], unreduced=max{"x"}',
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {SUM} {{dimensions = array<i64: 0, 1>,
          {sharded('[], unreduced={"x"}')[1:]} : ({T}, tensor<f32>) -> tensor<f32>""",
        "tensor<f32>",
        '[], unreduced={"x"}',
        (REDUCE,),
    ),
    "partial maxima that become terms": Case(
        '[{}, {}], unreduced=max{"x"}',
        f"""%0 = stablehlo.add %a, %a {sharded('[{}, {}], unreduced={"x"}')} : {T}""",
        T,
        '[{}, {}], unreduced={"x"}',
        (REDUCE,),
    ),
    "a sum that becomes a partial maximum": Case(
        ROWS,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.reduce"(%a, %z) {SUM} {{dimensions = array<i64: 0, 1>,
          {sharded('[], unreduced=max{"x"}')[1:]} : ({T}, tensor<f32>) -> tensor<f32>""",
        "tensor<f32>",
        '[], unreduced=max{"x"}',
        (REDUCE,),
    ),
    "a minimum that becomes partial": Case(
        BOTH,
        f"""%0 = stablehlo.minimum %a, %a {sharded(f'{ROWS}, unreduced=min{{"y"}}')} : {T}""",
        T,
        f'{ROWS}, unreduced=min{{"y"}}',
    ),
    "an equal value that becomes partial": Case(
        ROWS,
        f"""%1 = stablehlo.add %a, %a {sharded(ROWS)} : {T}
        %0 = stablehlo.maximum %1, %1 {sharded(f'{ROWS}, unreduced=max{{"y"}}')} : {T}""",
        T,
        f'{ROWS}, unreduced=max{{"y"}}',
    ),
    "terms that are added and reduced": Case(
        '[{}, {}], unreduced={"x"}',
        f"""%1 = stablehlo.add %a, %a {sharded('[{}, {}], unreduced={"x"}')} : {T}
        %2 = sdy.all_reduce {{"x"}} %1 out_sharding=<@mesh, [{{}}, {{}}]> : {T}
        %0 = stablehlo.multiply %2, %2 : {T}""",
        T,
        WHOLE,
        (REDUCE,),
    ),
    "terms that become wider": Case(
        '[{}, {}], unreduced={"x"}',
        f"""%1 = stablehlo.convert %a {sharded('[{}, {}], unreduced={"x"}')} : ({T}) -> tensor<8x4xf64>
        %2 = sdy.all_reduce {{"x"}} %1 out_sharding=<@mesh, [{{}}, {{}}]> : tensor<8x4xf64>
        %0 = stablehlo.convert %2 : (tensor<8x4xf64>) -> {T}""",
        T,
        WHOLE,
        (REDUCE,),
    ),
    "a value that becomes terms": Case(
        BOTH,
        f"""%0 = sdy.sharded_to_unreduced [{{}}, {{"y"}}] %a out_sharding=<@mesh, {ROWS},
          unreduced={{"y"}}> : {T}""",
        T,
        f'{ROWS}, unreduced={{"y"}}',
    ),
    "a product": Case(
        BOTH,
        f"""%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] {sharded(ROWS)}
          : ({T}, {T}) -> tensor<8x8xf32>""",
        "tensor<8x8xf32>",
        ROWS,
        (GATHER, REDUCE),
    ),
    "a product in batches": Case(
        ROWS,
        f"""%0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1]
          {sharded('[{"x"}]')} : ({T}, {T}) -> tensor<8xf32>""",
        "tensor<8xf32>",
        '[{"x"}]',
    ),
    "transposed and reshaped": Case(
        BOTH,
        f"""%1 = stablehlo.transpose %a, dims = [1, 0] {sharded('[{"y"}, {"x"}]')} : ({T}) -> tensor<4x8xf32>
        %0 = stablehlo.reshape %1 {sharded('[{"y"}, {}, {"x"}, {}]')}
          : (tensor<4x8xf32>) -> tensor<2x2x4x2xf32>""",
        "tensor<2x2x4x2xf32>",
        '[{"y"}, {}, {"x"}, {}]',
    ),
    "a reshape of which no shard is one": Case(
        COLUMNS,
        f"%0 = stablehlo.reshape %a {sharded(ALONG_Y)} : ({T}) -> tensor<32xf32>",
        "tensor<32xf32>",
        '[{"y"}]',
        (GATHER,),
    ),
    "slices": Case(
        COLUMNS,
        f"""%1 = stablehlo.slice %a [1:7:2, 0:4] {sharded(COLUMNS)} : ({T}) -> tensor<3x4xf32>
        %i = stablehlo.constant dense<1> : tensor<i32>
        %2 = stablehlo.dynamic_slice %1, %i, %i, sizes = [2, 4] {sharded(COLUMNS)}
          : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
        %3 = stablehlo.dynamic_update_slice %a, %2, %i, %i {sharded(COLUMNS)}
          : ({T}, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> {T}
        %0 = stablehlo.concatenate %3, %a, dim = 0 {sharded(COLUMNS)} : ({T}, {T}) -> tensor<16x4xf32>""",
        "tensor<16x4xf32>",
        COLUMNS,
    ),
    "broadcast": Case(
        '[{"x"}, {}]',
        f"""%1 = stablehlo.slice %a [0:8, 0:1] {sharded(ROWS)} : ({T}) -> tensor<8x1xf32>
        %0 = stablehlo.broadcast_in_dim %1, dims = [1, 2] {sharded('[{"y"}, {"x"}, {}]')}
          : (tensor<8x1xf32>) -> tensor<2x8x3xf32>""",
        "tensor<2x8x3xf32>",
        '[{"y"}, {"x"}, {}]',
    ),
    "an operation without a rule": Case(
        ROWS, f"%0 = stablehlo.reverse %a, dims = [0] {sharded(ROWS)} : {T}", T, ROWS, (GATHER,)
    ),
    "a sort of whole rows": Case(ROWS, sort_along(1), T, ROWS),
    "a sort of divided rows": Case(
        COLUMNS, sort_along(1, COLUMNS), T, COLUMNS, (GATHER, GATHER)
    ),
    "a sort whose comparator reads another value": Case(
        ROWS,
        f"%k = stablehlo.constant dense<0.0> : tensor<f32>\n        {sort_along(1, limit='%k')}",
        T,
        ROWS,
        (GATHER, GATHER),
    ),
    "updates of a scatter": Case(
        ROWS,
        f"""%1 = stablehlo.iota dim = 0 {sharded('[{"x"}, {}]')} : tensor<8x1xi32>
        %c = stablehlo.constant dense<3> : tensor<8x1xi32>
        %2 = stablehlo.and %1, %c {sharded('[{"x"}, {}]')} : tensor<8x1xi32>
        %z = stablehlo.constant dense<10.0> : tensor<4x4xf32>
        %0 = "stablehlo.scatter"(%z, %2, %a) <{{scatter_dimension_numbers = #stablehlo.scatter<
          update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
          index_vector_dim = 1>}}> {SUM} : (tensor<4x4xf32>, tensor<8x1xi32>, {T}) -> tensor<4x4xf32>""",
        "tensor<4x4xf32>",
        WHOLE,
        (REDUCE,),
    ),
    "two sums, and an operation between them that needs the first": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = {sum_of("%a")}
        %2 = stablehlo.negate %1 {sharded(ALONG_Y)} : tensor<4xf32>
        %3 = stablehlo.multiply %a, %a {sharded(BOTH)} : {T}
        %4 = {sum_of("%3")}
        %0 = stablehlo.subtract %2, %4 {sharded(ALONG_Y)} : tensor<4xf32>""",
        "tensor<4xf32>",
        ALONG_Y,
        (REDUCE,),
    ),
    "a sum that needs another one": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = {sum_of("%a")}
        %2 = stablehlo.broadcast_in_dim %1, dims = [1] {sharded(BOTH)} : (tensor<4xf32>) -> {T}
        %3 = stablehlo.multiply %a, %2 {sharded(BOTH)} : {T}
        %0 = {sum_of("%3")}""",
        "tensor<4xf32>",
        ALONG_Y,
        (REDUCE, REDUCE),
    ),
    "a sum before and after another collective": Case(
        BOTH,
        f"""%z = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = {sum_of("%a")}
        %2 = stablehlo.reverse %a, dims = [0] {sharded(COLUMNS)} : {T}
        %3 = stablehlo.negate %2 {sharded(BOTH)} : {T}
        %4 = {sum_of("%3")}
        %0 = stablehlo.subtract %1, %4 {sharded(ALONG_Y)} : tensor<4xf32>""",
        "tensor<4xf32>",
        ALONG_Y,
        (REDUCE, GATHER, GATHER, REDUCE),
    ),
    "a custom call on a batch": Case(ROWS, batched_call(1), "tensor<8x2xf32>", ROWS),
    "a custom call on a batch that is not divided": Case(
        COLUMNS, batched_call(1, WHOLE), "tensor<8x2xf32>", WHOLE, (GATHER,)
    ),
    "a loop": Case(
        ROWS,
        f"""%z = stablehlo.constant dense<0> : tensor<i32>
        %n = stablehlo.constant dense<3> : tensor<i32>
        %1:2 = stablehlo.while(%i = %z, %b = %a) : tensor<i32>, {T} attributes {{sdy.sharding =
          #sdy.sharding_per_value<[<@mesh, []>, <@mesh, {ROWS}>]>}}
        cond {{
          %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %2 : tensor<i1>
        }} do {{
          %k = stablehlo.constant dense<1> : tensor<i32>
          %3 = stablehlo.add %i, %k : tensor<i32>
          %4 = func.call @twice(%b) {sharded(ROWS)} : ({T}) -> {T}
          stablehlo.return %3, %4 : tensor<i32>, {T}
        }}
        %0 = stablehlo.negate %1#1 {sharded(ROWS)} : {T}""",
        T,
        ROWS,
    ),
    "a branch": Case(
        ROWS,
        f"""%t = stablehlo.constant dense<true> : tensor<i1>
        %0 = "stablehlo.if"(%t) ({{
          %1 = func.call @twice(%a) {sharded(ROWS)} : ({T}) -> {T}
          stablehlo.return %1 : {T}
        }}, {{
          stablehlo.return %a : {T}
        }}) {sharded(ROWS)} : (tensor<i1>) -> {T}""",
        T,
        ROWS,
    ),
}


def module_of(case: Case, meshes: str = MESH) -> Module:
    """The program of a case, with a function that doubles."""
    result = f"{case.result} {{sdy.sharding = #sdy.sharding<@mesh, {case.of_result}>}}"
    return nimblehlo.load(f"""{meshes}
func.func @main({argument("a", T, case.of_argument)}) -> ({result}) {{
  {case.body}
  return %0 : {case.result}
}}
func.func private @twice({argument("b", T, ROWS)}) -> ({T} {{sdy.sharding = #sdy.sharding<@mesh, {ROWS}>}}) {{
  %0 = stablehlo.add %b, %b {sharded(ROWS)} : {T}
  return %0 : {T}
}}""")


def on_devices(module: Module, local: Module) -> PartitionedProgram:
    """The program of a device, on all devices."""
    executable = nimblehlo.compile(local, grid=nimblehlo.Grid(1, DEVICES))
    return PartitionedProgram(module, DEVICES, executable, is_local=True)


@pytest.mark.parametrize("order", ["", ", device_ids=[2, 0, 3, 1]"])
@pytest.mark.parametrize("name", CASES)
def test_devices_compute_their_shards(name: str, order: str) -> None:
    case = CASES[name]
    module = module_of(case, MESH.replace("]>", f"]{order}>"))
    local = device_program(module, DEVICES)
    assert local is not None
    called = [operation.name for operation in local.walk()]
    assert tuple([name for name in called if name in (GATHER, REDUCE)]) == case.collectives
    program = on_devices(module, local)
    values = np.random.default_rng(1).integers(-9, 9, (8, 4)).astype(np.float32)
    shards = [(shard,) for shard in program.arguments[0].cut(values)]
    results = [device[0] for device in program(shards)]
    (expected,) = nimblehlo.execute(module, [values])
    assert [result.shape for result in results] == [program.results[0].shard_shape] * DEVICES
    assert np.array_equal(program.results[0].assembled(results), expected)


@pytest.mark.parametrize("of_argument", [ROWS, WHOLE], ids=["divided", "whole"])
def test_terms_of_a_value_add_up_to_its_bits(of_argument: str) -> None:
    """Devices without a term hold -0, since 0 would make 0 of -0."""
    body = f"""%1 = sdy.reshard %a <@mesh, [{{}}, {{}}], unreduced={{"x"}}> : {T}
        %0 = sdy.reshard %1 <@mesh, {WHOLE}> : {T}"""
    module = module_of(Case(of_argument, body, T, WHOLE))
    local = device_program(module, DEVICES)
    assert local is not None and REDUCE in [operation.name for operation in local.walk()]
    values = np.full((8, 4), -0.0, np.float32)
    program = on_devices(module, local)
    results = program([(shard,) for shard in program.arguments[0].cut(values)])
    assert all(np.array_equal(result.view(np.int32), values.view(np.int32)) for (result,) in results)


def test_devices_hold_the_terms_that_they_have_computed() -> None:
    case = CASES["terms of a sum"]
    module = module_of(case)
    local = device_program(module, DEVICES)
    assert local is not None
    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    program = on_devices(module, local)
    results = program([(shard,) for shard in program.arguments[0].cut(values)])
    assert [float(result) for (result,) in results] == [values[:4].sum()] * 2 + [values[4:].sum()] * 2


def test_terms_that_become_wider_are_added_as_such_alone() -> None:
    wider = device_program(module_of(CASES["terms that become wider"]), DEVICES)
    assert wider is not None
    (reduced,) = [operation for operation in wider.walk() if operation.name == REDUCE]
    assert str(reduced.results[0].type) == "tensor<8x4xf64>"
    text = str(module_of(CASES["terms that become wider"])).replace("f64", "bf16")
    narrower = device_program(nimblehlo.load(text), DEVICES)
    assert narrower is not None
    first = next(operation for operation in narrower.walk() if operation.name == REDUCE)
    assert str(first.results[0].type) == T


def test_devices_hold_the_maxima_of_their_shards() -> None:
    case = CASES["partial maxima"]
    module = module_of(case)
    local = device_program(module, DEVICES)
    assert local is not None
    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    program = on_devices(module, local)
    results = program([(shard,) for shard in program.arguments[0].cut(values)])
    assert [float(result) for (result,) in results] == [values[:4].max()] * 2 + [values[4:].max()] * 2


MANUAL = f"""{MESH}
func.func @main(%a: tensor<4x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, {BOTH}>}})
    -> (tensor<2x2xf32> {{sdy.sharding = #sdy.sharding<@mesh, {WHOLE}>}}) {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, {BOTH}>] out_shardings=[<@mesh, {WHOLE}>]
      manual_axes={{"x", "y"}} (%b: tensor<2x2xf32>) {{
    %1 = func.call @negated(%b) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    sdy.return %1 : tensor<2x2xf32>
  }} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}}
func.func private @negated(%b: tensor<2x2xf32>) -> tensor<2x2xf32> {{
  %0 = stablehlo.negate %b : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}}"""


def test_the_devices_of_manual_computations_are_counted() -> None:
    assert device_count(nimblehlo.load(MANUAL)) == DEVICES
    assert device_count(module_of(CASES["elementwise"])) == 1


def test_devices_keep_their_own_results_of_a_manual_computation() -> None:
    module = nimblehlo.load(MANUAL)
    local = device_program(module, DEVICES)
    assert local is not None
    program = on_devices(module, local)
    cut = program.arguments[0].cut(np.arange(16, dtype=np.float32).reshape(4, 4))
    for (result,), shard in zip(program([(shard,) for shard in cut]), cut, strict=True):
        assert np.array_equal(result, -shard)


def test_a_function_that_holds_a_computation_is_not_called_from_another_one() -> None:
    text = MANUAL.replace(
        "%0 = stablehlo.negate %b",
        """%0 = sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  %0 = stablehlo.negate %b""".replace("%0 = sdy", "sdy"),
    )
    assert device_program(nimblehlo.load(text), DEVICES) is None


def test_work_that_devices_would_repeat_is_done_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitioner, "MAX_REPEATED_ELEMENTS", 100)
    module = module_of(Case(WHOLE, f"%0 = stablehlo.negate %a : {T}", T, WHOLE))
    assert device_program(module, DEVICES) is None
    assert device_program(module_of(CASES["elementwise"]), DEVICES) is not None


@pytest.mark.parametrize(
    ("axes", "body"),
    [
        (WHOLE, f"%0 = stablehlo.custom_call @annotate_device_placement(%a) : ({T}) -> {T}"),
        (
            WHOLE,
            f"""%1 = stablehlo.constant dense<1.0> : tensor<f32>
            %2 = stablehlo.constant dense<[8, 4]> : tensor<2xi64>
            %0 = stablehlo.rng %1, %1, %2, distribution = UNIFORM
              : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> {T}""",
        ),
    ],
)
def test_programs_without_rules_have_none(axes: str, body: str) -> None:
    assert device_program(module_of(Case(axes, body, T, WHOLE)), DEVICES) is None


@pytest.mark.parametrize(
    "meshes",
    [
        f'{MESH}sdy.mesh @other = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>',
        f'{MESH}sdy.mesh @other = <["z"=4]>',
        'sdy.mesh @mesh = <["x"=2, "y"=4]>',
    ],
)
def test_meshes_that_are_not_all_devices(meshes: str) -> None:
    case = CASES["elementwise"]
    assert device_program(module_of(case, meshes), DEVICES) is None


def test_sub_axes_and_shards_that_are_not_even() -> None:
    case = Case('[{"x":(1)2}, {}]', f"%0 = stablehlo.negate %a : {T}", T, WHOLE)
    assert device_program(module_of(case, 'sdy.mesh @mesh = <["x"=4]>'), DEVICES) is None
    text = str(module_of(CASES["elementwise"])).replace("8x4", "7x4")
    assert device_program(nimblehlo.load(text), DEVICES) is None
