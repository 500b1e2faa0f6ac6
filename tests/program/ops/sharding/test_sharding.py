"""Meshes, shardings and computations of the sdy dialect: what is verified."""

import pytest

from nimblehlo.errors import UnsupportedError, VerifyError
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.sharding import collectives, operations
from nimblehlo.program.ops.sharding.collectives import (
    ReplicatedToUnreduced,
    SdyAllGather,
    SdyAllReduce,
    SdyAllSlice,
    SdyAllToAll,
    SdyCollectivePermute,
    SdyReduceScatter,
    ShardedToUnreduced,
)
from nimblehlo.program.ops.sharding.operations import (
    DataFlowEdge,
    FunctionDataFlowEdge,
    MeshOp,
    NamedComputation,
    PropagationBarrier,
    Reshard,
    SdyManualComputation,
    ShardingConstant,
    ShardingConstraint,
)
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    rows,
)

MESHES = """
!t = tensor<8x8xf32>
sdy.mesh @mesh = <["x"=4, "y"=2, "z"=2]>
sdy.mesh @turned = <["x"=4, "y"=2, "z"=2], device_ids=[15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0]>
sdy.mesh @other = <["x"=2]>
sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @empty = <[]>
"""
TYPE = "tensor<8x8xf32>"


def body(statements: str, argument: str = "", type: str = TYPE) -> str:
    """A program that takes %a, whose sharding may be given, beside a %b without one."""
    attributes = f"{{sdy.sharding = #sdy.sharding<{argument}>}}" if argument else ""
    arguments = f"%a: {type} {attributes}, %b: {type}, %t: !stablehlo.token, %u: {type}"
    return f"{MESHES}\nfunc.func @main({arguments}) {{\n  {statements}\n  return\n}}\n"


def collective(text: str, after: str, before: str = '@mesh, [{"x"}, {}]') -> str:
    """A collective of %a, whose sharding is `before`; the text leaves the operand out."""
    return body(f"%0 = {text} %a out_sharding=<{after}> : {TYPE}", before)


def mesh(text: str) -> str:
    """A program that declares a mesh."""
    return f"sdy.mesh @mesh = {text}\nfunc.func @main() {{ return }}"


def computation(inner: str, axes: str = '"x"', before: str = '@mesh, [{"x"}, {}]') -> str:
    """A manual computation of %a, whose shards have the type `inner`."""
    shard = "tensor<2x8xf32>"
    return body(
        f"%0 = sdy.manual_computation(%a) in_shardings=[<{before}>] "
        f'out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{{axes}}} (%c: {inner}) {{\n'
        f"    %d = stablehlo.constant dense<0.0> : {shard}\n    sdy.return %d : {shard}\n"
        f"  }} : ({TYPE}) -> {TYPE}"
    )


def named(argument: str = TYPE, result: str = TYPE, shardings: str = "", returned: str = "sdy.return") -> str:
    """A named computation of %b."""
    return body(
        f'%0 = sdy.named_computation<"f">(%b) {shardings} (%c: {argument}) {{\n'
        f"    {returned} %c : {argument}\n  }} : ({TYPE}) -> {result}"
    )


GENERIC_CAPTURE = """"sdy.named_computation"(%a) ({{
^bb0(%c: {type}):
  "sdy.return"(%b) : ({type}) -> ()
}}) {{name = "f"}} : ({type}) -> {type}"""
WHOLE = "in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>]"
NESTED = f"""%0 = sdy.manual_computation(%a) {WHOLE} manual_axes={{"x"}} (%c: !t) {{
    %1 = sdy.manual_computation(%c) {WHOLE} manual_axes={{"x"}} (%d: !t) {{
      sdy.return %d : !t
    }} : (!t) -> !t
    sdy.return %1 : !t
  }} : (!t) -> !t"""

REJECTED: dict[type[Op], dict[str, str]] = {
    MeshOp: {
        "C1": mesh('<["x"=2, "y"=0]>'),
        "C2": mesh('<["x"=2], device_ids=[1, 2]>'),
    },
    ShardingConstraint: {
        "C1": body(f'%0 = sdy.sharding_constraint %a <@mesh, [{{"x"}}]> : {TYPE}'),
        "C2": body(
            f'%0 = sdy.sharding_constraint %a <@mesh, [{{}}, {{}}], unreduced={{"x"}}> : {TYPE}',
            '@mesh, [{}, {}], unreduced=max{"x"}',
        ),
    },
    Reshard: {
        "C1": body(f'%0 = sdy.reshard %a <@nothing, [{{"x"}}, {{}}]> : {TYPE}'),
        "C2": body(
            f"%0 = sdy.propagation_barrier %a allowed_direction=NONE : {TYPE}\n"
            f'  %1 = sdy.reshard %0 <@mesh, [{{}}, {{}}], unreduced=min{{"x"}}> : {TYPE}',
            "@mesh, [{}, {}]",
        ),
    },
    PropagationBarrier: {"C1": body(f"%0 = sdy.propagation_barrier %a allowed_direction=BOTH : {TYPE}")},
    ShardingConstant: {
        "C1": body('%0 = "sdy.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<f32>')
    },
    DataFlowEdge: {
        "C1": body("%0 = sdy.data_flow_edge %a : tensor<?xf32>", type="tensor<?xf32>"),
        "C2": body(f"%0 = sdy.data_flow_edge %a : {TYPE}\n  %1 = stablehlo.abs %a : {TYPE}"),
        "C3": body(
            f"%0 = sdy.propagation_barrier %a allowed_direction=NONE : {TYPE}\n"
            f"  %1 = sdy.data_flow_edge %0 : {TYPE}"
        ),
        "C4": body(f'%0 = sdy.data_flow_edge %a sharding=<@mesh, [{{"x"}}]> : {TYPE}'),
    },
    FunctionDataFlowEdge: {
        "C1": body("%0 = sdy.func_data_flow_edge %a : tensor<?xf32>", type="tensor<?xf32>"),
        "C2": body(f"%0 = sdy.func_data_flow_edge %a : {TYPE}\n  %1 = stablehlo.abs %a : {TYPE}"),
        "C3": body(f"%0 = stablehlo.abs %a : {TYPE}\n  %1 = sdy.func_data_flow_edge %0 : {TYPE}"),
    },
    NamedComputation: {
        "C1": body(GENERIC_CAPTURE.format(type=TYPE)),
        "C2": named("tensor<8xf32>", "tensor<8xf32>"),
        "C3": named(result="tensor<8xf32>"),
        "C4": named(shardings='out_shardings=[<@mesh, [{"q"}, {}]>]'),
    },
    SdyManualComputation: {
        "C1": body(
            f"%0 = sdy.manual_computation(%a) {WHOLE} manual_axes={{}} (%c: !t) {{\n"
            "    stablehlo.return %c : !t\n  } : (!t) -> !t"
        ),
        "C2": body(NESTED),
        "C3": computation("tensor<2x8xf32>", before='@mesh, [{"x"}]'),
        "C4": body(
            f"%0 = sdy.manual_computation(%a) {WHOLE} manual_axes={{}} (%c: !t, %d: !t) {{\n"
            "    sdy.return %c : !t\n  } : (!t) -> !t"
        ),
        "C5": computation("tensor<2x8xf32>", before='@mesh, [{"y", "x"}, {}]'),
        "C6": computation("tensor<4x8xf32>"),
        "C7": computation("tensor<2x8xf32>", axes='"x", "w"'),
    },
    SdyAllGather: {
        "C1": collective('sdy.all_gather [{"x"}, {}]', "@mesh, [{}]"),
        "C2": collective('sdy.all_gather [{"x"}, {}]', "@mesh, [{}, {}]", ""),
        "C3": collective('sdy.all_gather [{"y"}, {}]', "@mesh, [{}, {}]"),
    },
    SdyAllSlice: {
        "C1": collective('sdy.all_slice [{"y"}, {}]', '@mesh, [{"x", "x"}, {}]'),
        "C2": collective('sdy.all_slice [{"y"}, {}]', "@turned, [{}, {}]"),
        "C3": collective('sdy.all_slice [{"y"}, {}]', '@mesh, [{"y", "x"}, {}]'),
    },
    SdyAllToAll: {
        "C1": collective('sdy.all_to_all [{"x"}: 0->1]', '@mesh, [{}, {"x":(1)3}]'),
        "C2": collective('sdy.all_to_all [{"x"}: 0->1]', '@turned, [{}, {"x"}]'),
        "C3": collective('sdy.all_to_all [{"x":(1)2, "x":(2)2}: 0->1]', '@mesh, [{}, {"x"}]'),
        "C4": collective('sdy.all_to_all [{"x"}: 0->2]', '@mesh, [{}, {"x"}]'),
        "C5": collective('sdy.all_to_all [{"x"}: 0->1]', '@mesh, [{}, {"y"}]'),
    },
    SdyCollectivePermute: {
        "C1": collective("sdy.collective_permute", '@mesh, [{"y", "y"}, {}]'),
        "C2": collective("sdy.collective_permute", "@other, [{}, {}]"),
        "C3": collective("sdy.collective_permute", '@mesh, [{"y"}, {}]'),
    },
    SdyAllReduce: {
        "C1": collective('sdy.all_reduce {"y"}', '@mesh, [{"x"}, {}], replicated={"z", "y"}'),
        "C2": collective('sdy.all_reduce {"y"}', '@turned, [{"x"}, {}]'),
        "C3": collective('sdy.all_reduce {"y"}', '@mesh, [{}, {"x"}]'),
        "C4": collective('sdy.all_reduce {"z", "y"}', '@mesh, [{"x"}, {}]'),
        "C5": collective('sdy.all_reduce {"x"}', '@mesh, [{"x"}, {}]'),
        "C6": collective(
            'sdy.all_reduce {"y"}', '@mesh, [{"x"}, {}]', '@mesh, [{"x"}, {}], unreduced=max{"y"}'
        ),
    },
    SdyReduceScatter: {
        "C1": collective('sdy.reduce_scatter [{"y"}, {}]', '@mesh, [{"x", "y":(2)1}, {}]'),
        "C2": collective('sdy.reduce_scatter [{"y"}, {}]', '@turned, [{"x", "y"}, {}]'),
        "C3": collective(
            'sdy.reduce_scatter [{"y"}, {}]',
            '@mesh, [{"x", "y"}, {}]',
            '@mesh, [{"x"}, {}], unreduced=max{"y"}',
        ),
        "C4": collective('sdy.reduce_scatter [{"y"}, {}]', '@mesh, [{"x"}, {"y"}]'),
    },
    ShardedToUnreduced: {
        "C1": collective('sdy.sharded_to_unreduced [{"x"}, {}]', '@mesh, [{"x"}, {}], unreduced={"x"}'),
        "C2": collective('sdy.sharded_to_unreduced [{"x"}, {}]', '@mesh, [{}, {}], unreduced={"x"}', ""),
        "C3": collective('sdy.sharded_to_unreduced [{"x"}, {}]', '@mesh, [{}, {}], unreduced=max{"x"}'),
        "C4": collective('sdy.sharded_to_unreduced [{}, {"x"}]', '@mesh, [{"x"}, {}]'),
        "C5": collective('sdy.sharded_to_unreduced [{"x"}, {}]', "@mesh, [{}, {}]"),
    },
    ReplicatedToUnreduced: {
        "C1": collective('sdy.replicated_to_unreduced {"y"}', '@mesh, [{"x"}, {}], unreduced={"w"}'),
        "C2": collective('sdy.replicated_to_unreduced {"y"}', '@turned, [{"x"}, {}], unreduced={"y"}'),
        "C3": collective('sdy.replicated_to_unreduced {"y"}', '@mesh, [{"x"}, {}], unreduced=min{"y"}'),
        "C4": collective('sdy.replicated_to_unreduced {"y"}', '@mesh, [{}, {"x"}], unreduced={"y"}'),
        "C5": collective("sdy.replicated_to_unreduced {}", '@mesh, [{"x"}, {}]'),
        "C6": collective('sdy.replicated_to_unreduced {"x":(2)2}', '@mesh, [{"x"}, {}]'),
        "C7": collective('sdy.replicated_to_unreduced {"y"}', '@mesh, [{"x"}, {}], unreduced={"z"}'),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, operations, collectives)


ACCEPTED = [
    body(
        """%0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2, ?}, {"y"}p0], replicated={"z"}> : !t
  %1 = sdy.reshard %0 <mesh<["x"=8]>, [{"x":(2)2}, {?}p3], unreduced={"x":(4)2}> : !t
  %2 = sdy.propagation_barrier %1 allowed_direction=FORWARD : !t
  sdy.sharding_group %2 group_id=-3 : !t
  %3 = sdy.constant dense<1.0> : tensor<8x8xf32>
  %4 = sdy.func_data_flow_edge %u : !t
  %5 = sdy.sharding_constraint %t <@mesh, []> : !stablehlo.token
  %6 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : !t
  %7 = sdy.reshard %a <@empty, [{}, {?}]> : !t""",
        '@mesh, [{"y"}, {}]',
    ),
    computation("tensor<2x8xf32>"),
    named(shardings='in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]'),
    body(
        """%0 = sdy.all_gather [{"z"}, {}] %a out_sharding=<@mesh, [{"x"}, {"y"}]> : !t
  %1 = sdy.all_slice [{}, {"z"}] %0 out_sharding=<@mesh, [{"x"}, {"y", "z"}]> : !t
  %2 = sdy.all_to_all [{"x":(2)2}: 0->1] %1 out_sharding=<@mesh, [{"x":(1)2}, {"y", "z", "x":(2)2}]> : !t
  %3 = sdy.all_gather [{}, {"x":(2)2}] %2 out_sharding=<@mesh, [{"x":(1)2}, {"y", "z"}]> : !t
  %4 = sdy.all_slice [{"x":(2)2}, {}] %3 out_sharding=<@mesh, [{"x"}, {"y", "z"}]> : !t
  %5 = sdy.collective_permute %4 out_sharding=<@turned, [{"y", "z"}, {"x"}]> : !t
  %6 = sdy.sharded_to_unreduced [{"z"}, {}] %5 out_sharding=<@turned, [{"y"}, {"x"}], unreduced={"z"}> : !t
  %7 = sdy.all_reduce {"z"} %6 out_sharding=<@turned, [{"y"}, {"x"}]> : !t
  %8 = sdy.replicated_to_unreduced {"z"} %7 out_sharding=<@turned, [{"y"}, {"x"}], unreduced={"z"}> : !t
  %9 = sdy.reduce_scatter [{"z"}, {}] %8 out_sharding=<@turned, [{"y", "z"}, {"x"}]> : !t
  %10 = sdy.all_slice [{"x"}, {}] %b out_sharding=<@mesh, [{"x"}, {}]> : !t
  %11 = sdy.all_reduce {} %b out_sharding=<@mesh, [{}, {}]> : !t""",
        '@mesh, [{"x", "z"}, {"y"}]',
    ),
]
"""Valid programs."""


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    parse_and_verify(text)


def test_inputs_of_other_kinds() -> None:
    assert_inputs_rejected(ACCEPTED[-1])
    assert_inputs_rejected(mesh('<["x"=2]>'))


def on_operation(attributes: str, operation: str = "stablehlo.add %a, %b") -> str:
    """A program of one operation with these attributes; %a has a sharding."""
    return body(f"%0 = {operation} {{{attributes}}} : {TYPE}", '@mesh, [{"x"}, {}]')


def rule(text: str) -> str:
    """A sharding rule on an addition."""
    return on_operation(f"sdy.sharding_rule = #sdy.op_sharding_rule<{text}>")


def edges(text: str) -> str:
    """A record of propagation on an addition."""
    return on_operation(f"sdy.propagation_edges = #sdy.propagation_edges<[{text}]>")


ATTRIBUTES = {
    "another attribute": (on_operation("sdy.sharding = 3"), "must be an attribute #sdy.sharding_per_value"),
    "too few shardings": (
        on_operation("sdy.sharding = #sdy.sharding_per_value<[]>"),
        "has 0 shardings for 1 value",
    ),
    "no mesh of the name": (body("", '@nothing, [{"x"}, {}]'), "argument 0: there is no mesh @nothing"),
    "a mesh of its own": (body("", 'mesh<["x"=0]>, [{}, {}]'), "a size of at least 1, but has 0"),
    "another rank": (body("", '@mesh, [{"x"}]'), "the sharding has rank 1, but the type is"),
    "an unknown axis": (body("", '@mesh, [{"w"}, {}]'), "has no axis 'w'"),
    "an axis twice": (body("", '@mesh, [{"x"}, {"x"}]'), 'the axis "x" is named twice'),
    "a sharded token": (
        body(f"%0 = stablehlo.reshape %a : ({TYPE}) -> {TYPE}").replace(
            "%t: !stablehlo.token", "%t: !stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, [{}]>}"
        ),
        "the sharding of a !stablehlo.token must be empty",
    ),
    "dimensions on one device": (body("", "@one, [{}, {}]"), "a sharding on one device must be empty"),
    "an empty closed dimension with a priority": (body("", "@mesh, [{}p1, {}]"), "but has a priority"),
    "an axis and its sub-axis": (body("", '@mesh, [{"x"}, {"x":(2)2}]'), "its sub-axis"),
    "sub-axes that overlap": (
        body("", 'mesh<["x"=8]>, [{"x":(1)4}, {"x":(2)4}]'),
        "the sub-axes .* and .* overlap",
    ),
    "a sub-axis that starts at nothing": (body("", '@mesh, [{"x":(0)2}, {}]'), "a pre-size of at least 1"),
    "a sub-axis of one device": (body("", '@mesh, [{"x":(2)1}, {}]'), "a size of at least 2"),
    "a sub-axis that does not divide": (body("", '@mesh, [{"x":(1)3}, {}]'), "does not divide its axis"),
    "a sub-axis that is the axis": (body("", '@mesh, [{"x":(1)4}, {}]'), "is the whole axis"),
    "axes of another order": (
        body("", '@mesh, [{}, {}], replicated={"y", "x"}'),
        "not in the order of the mesh",
    ),
    "a manual axis": (
        body(
            """%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%c: tensor<8x8xf32>) {
    %d = stablehlo.abs %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
    sdy.return %d : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>"""
        ),
        "the axis 'x' is manual in a computation around it",
    ),
    "a tuple of two values": (
        body(
            "%0 = stablehlo.tuple %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : "
            "tuple<!t, !t>"
        ),
        "only tuples of one value can have a sharding",
    ),
    "another rule": (on_operation("sdy.sharding_rule = 3"), "must be an attribute #sdy.op_sharding_rule"),
    "a rule for fewer operands": (rule("([i, j])->([i, j]) {i=8, j=8}"), "1 operand mapping for 2"),
    "a rule for no operands": (
        body(
            "%0 = stablehlo.constant {sdy.sharding_rule = #sdy.op_sharding_rule<()->([i, j]) {i=8, j=8}>} "
            "dense<0.0> : tensor<8x8xf32>"
        ),
        "an operation without operands cannot have a sharding rule",
    ),
    "a rule for unknown sizes": (
        body(
            "%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : "
            "tensor<?xf32>",
            type="tensor<?xf32>",
        ),
        r"operand 0: the sizes of tensor<\?xf32> are not known",
    ),
    "a rule of another rank": (rule("([i], [i])->([i]) {i=8}"), r"operand 0: the mapping \[i\] has rank 1"),
    "a rule with a factor without size": (
        rule("([i, j], [i, j])->([i, j]) {i=8}"),
        "operand 0: the factor j has no size",
    ),
    "a rule with a factor twice": (rule("([i, i], [i, i])->([i, i]) {i=8}"), "the factor i is used twice"),
    "a rule without a factor": (rule("([i, ], [i, i])->([i, i]) {i=8}"), "a dimension has no factor"),
    "a rule with a factor of size 1": (
        rule("([i, jk], [i, jk])->([i, jk]) {i=8, j=8, k=1}"),
        "the factor k has size 1",
    ),
    "a rule with an unused factor": (
        rule("([i, j], [i, j])->([i, j]) {i=8, j=8, k=4}"),
        "the factor k is not used",
    ),
    "a rule with unsorted factors": (
        rule("([i, j], [i, j])->([i, j]) {i=8, j=8} need_replication={j, i}"),
        "need_replication must be sorted",
    ),
    "a rule with a factor of no size in a group": (
        rule("([i, j], [i, j])->([i, j]) {i=8, j=8} permutation={k}"),
        "the factor k of permutation has no size",
    ),
    "a rule with a factor in two groups": (
        rule("([i, j], [i, j])->([i, j]) {i=8, j=8} need_replication={i} permutation={i}"),
        "a factor may be in one of",
    ),
    "a rule that reduces a result": (
        rule("([i, j], [i, j])->([i, j]) {i=8, j=8} reduction={i}"),
        "the factor i is reduced, but is in a result",
    ),
    "other edges": (on_operation("sdy.propagation_edges = 3"), "must be an attribute #sdy.propagation_edges"),
    "other lists of edges": (
        on_operation("sdy.result_propagation_edges = [3]"),
        "must be a list of attributes #sdy.propagation_edges",
    ),
    "edges with a negative step": (edges('{step--1 = [{"x" = operand-0 -> [result-0]}]}'), "is negative"),
    "edges with a step twice": (
        edges(", ".join(['{step-1 = [{"x" = operand-0 -> [result-0]}]}'] * 2)),
        "step 1 occurs twice",
    ),
    "edges that go nowhere": (
        edges('{step-0 = [{"x" = operand-0 -> [operand-0]}]}'),
        "both the source and a target",
    ),
    "edges with a target twice": (
        edges('{step-0 = [{"x" = operand-0 -> [result-0, result-0]}]}'),
        "a target is named twice",
    ),
    "edges without shardings": (
        edges('{step-0 = [{"x" = operand-1 -> [result-0]}]}'),
        "none of the values has a sharding",
    ),
    "edges on different meshes": (
        body(
            "%0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@other, [{}, {}]>]>, "
            'sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>} '
            ": !t",
            '@mesh, [{"x"}, {}]',
        ),
        "the values' shardings name different meshes",
    ),
    "edges along an unknown axis": (
        edges('{step-0 = [{"w" = operand-0 -> [result-0]}]}'),
        "has no axis 'w'",
    ),
    "edges of no operand": (edges('{step-0 = [{"x" = operand-0 -> [operand-2]}]}'), "there is no operand 2"),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    text, reason = ATTRIBUTES[name]
    with pytest.raises(VerifyError, match=reason) as caught:
        parse_and_verify(text)
    assert caught.value.label is not None and caught.value.label.startswith("sdy.")


OTHERS = {
    "an axis twice in a mesh": (mesh('<["x"=2, "x"=2]>'), "there are several axes 'x'"),
    "a negative device": (mesh("<[], device_ids=[-1]>"), "device -1 is negative"),
    "two devices without axes": (mesh("<[], device_ids=[0, 1]>"), "there are no axes, but 2 device_ids"),
    "too few devices": (mesh('<["x"=4], device_ids=[1, 0]>'), "has 2 device_ids, but the axes have 4"),
    "an edge of a region's argument": (
        body(
            """%0 = stablehlo.while(%c = %a) : !t
    cond {
      %1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2 = sdy.func_data_flow_edge %c : !t
      stablehlo.return %2 : !t
    }"""
        ),
        r"operand belongs to a region of stablehlo\.while",
    ),
    "axes for too few dimensions": (
        collective('sdy.all_gather [{"x"}]', "@mesh, [{}, {}]"),
        "has axes for 1 dimension, but out_sharding has 2",
    ),
    "an exchange of nothing": (collective("sdy.all_to_all []", '@mesh, [{"x"}, {}]'), "params is empty"),
    "an exchange with itself": (
        collective('sdy.all_to_all [{"x"}: 0->0]', '@mesh, [{"x"}, {}]'),
        "dimension 0 is named twice",
    ),
    "exchanges out of order": (
        collective('sdy.all_to_all [{"x"}: 2->3, {"y"}: 0->1]', '@mesh, [{}, {"y"}, {}, {"x"}]').replace(
            TYPE, "tensor<8x8x8x8xf32>"
        ),
        r"the source dimensions \[2, 0\] are not sorted",
    ),
    "a permutation of the same devices": (
        collective("sdy.collective_permute", 'mesh<["x"=4, "y"=2, "z"=2]>, [{"x"}, {}]'),
        "have the same devices",
    ),
    "sub-axes that become unreduced one by one": (
        collective(
            'sdy.replicated_to_unreduced {"x":(1)2, "x":(2)2}',
            '@mesh, [{}, {}], unreduced={"x"}',
            "@mesh, [{}, {}]",
        ),
        "must be written as one",
    ),
    "a computation on different meshes": (
        computation("tensor<2x8xf32>", before='@other, [{"x"}, {}]').replace(
            "%c: tensor<2x8", "%c: tensor<4x8"
        ),
        "the shardings name different meshes",
    ),
    "a computation of shards that do not divide": (
        computation("tensor<2x8xf32>").replace("8x8x", "7x8x"),
        "is not divisible by the sizes of the manual axes",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_reasons(name: str) -> None:
    text, reason = OTHERS[name]
    with pytest.raises(VerifyError, match=reason):
        parse_and_verify(text)


def test_rules_and_edges_that_hold() -> None:
    parse_and_verify(rule("([i, jk], [i, jk])->([i, jk]) {i=8, j=4, k=2} need_replication={i, j}, custom"))
    parse_and_verify(edges('{step-0 = [{"x" = operand-0 -> [operand-1, result-0]}]}'))


def test_the_sharding_of_an_argument_of_a_loop_is_that_of_its_result() -> None:
    text = body(
        """%0 = stablehlo.while(%c = %a) : tensor<8x8xf32>
    attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
    cond {
      %1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2 = sdy.all_gather [{"x"}, {}] %c out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
      stablehlo.return %2 : tensor<8x8xf32>
    }"""
    )
    parse_and_verify(text)
    with pytest.raises(VerifyError, match="tensor has no sharding"):
        parse_and_verify(
            text.replace("sdy.sharding = #sdy.sharding_per_value", "a.b = #sdy.sharding_per_value")
        )


def test_reductions_make_no_axis_unreduced() -> None:
    for text in ('sdy.all_reduce {"y"}', "sdy.reduce_scatter [{}, {}]"):
        with pytest.raises(VerifyError, match='the axis "z" becomes unreduced'):
            parse_and_verify(collective(text, '@mesh, [{"x"}, {}], unreduced={"z"}'))


def test_meshes_stand_in_modules_under_names_of_their_own() -> None:
    declared = 'sdy.mesh @mesh = <["x"=2]>\n'
    with pytest.raises(VerifyError, match=r"sdy\.mesh: the symbol @mesh is defined twice"):
        parse_and_verify(declared + declared)
    with pytest.raises(VerifyError, match="the symbol @mesh is defined twice"):
        parse_and_verify(declared + "func.func @mesh() { return }")
    with pytest.raises(VerifyError, match="must be in a module"):
        parse_and_verify(body(declared))
    with pytest.raises(UnsupportedError, match="is not supported outside of functions"):
        parse_and_verify("%0 = sdy.constant dense<1> : tensor<i32>")
    with pytest.raises(VerifyError, match="there is no mesh @mesh"):
        parse_and_verify(
            f"module {{ {declared} module @inner {{ func.func @f(%a: tensor<2xf32> "
            '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) { return } } }'
        )


def test_bodies_of_other_operations_end_in_their_own_way() -> None:
    with pytest.raises(VerifyError, match="must end the body of a computation of sdy"):
        parse_and_verify('sdy.mesh @mesh = <["x"=2]>\nfunc.func @main() { sdy.return }')
