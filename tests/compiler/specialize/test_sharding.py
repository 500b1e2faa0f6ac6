"""Shardings on one device: they become nothing, and what needs several devices is an error."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.specialize.inline import with_inlined_calls
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ir import Operation
from tests.compiler.specialize.test_specialize import names, specialized
from tests.support.running import run_every_way

MESHES = """
!t = tensor<4x4xf32>
sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @single = <["x"=1, "y"=1]>
sdy.mesh @mixed = <["x"=1, "y"=4]>
sdy.mesh @empty = <[]>
sdy.mesh @maximal = <[], device_ids=[3]>
"""
ANNOTATED = (
    MESHES
    + """func.func @main(%a: !t {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (!t {sdy.sharding =
      #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {?}]> : !t
  %1 = sdy.reshard %0 <@empty, [{}, {?}]> : !t
  %2 = sdy.propagation_barrier %1 allowed_direction=NONE : !t
  sdy.sharding_group %2 group_id=2 : !t
  %c = sdy.constant dense<1.0> : tensor<4x4xf32>
  %3 = stablehlo.add %2, %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>, a.b} : !t
  %4 = sdy.all_gather [{"x"}, {}] %3 out_sharding=<@mesh, [{}, {"y"}]> : !t
  %5 = sdy.all_slice [{"x"}, {}] %4 out_sharding=<@mesh, [{"x"}, {"y"}]> : !t
  %6 = sdy.all_to_all [{"x"}: 0->1] %5 out_sharding=<@mesh, [{}, {"y", "x"}]> : !t
  %7 = sdy.collective_permute %6 out_sharding=<@mesh, [{}, {"x", "y"}]> : !t
  %8 = sdy.named_computation<"f">(%7, %a) (%b: !t, %d: !t) {
    %9 = stablehlo.multiply %b, %b : !t
    sdy.return %d, %9 : !t, !t
  } : (!t, !t) -> (!t, !t)
  return %8#1 : !t
}
""".replace("%8 =", "%8:2 =")
)


def manual(mesh: str, axes: str, shard: str = "tensor<4x4xf32>") -> str:
    """A program that doubles its input in a manual computation on a mesh."""
    return f"""{MESHES}
func.func @main(%a: !t) -> !t {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@{mesh}, [{{"x"}}, {{"y"}}]>]
      out_shardings=[<@{mesh}, [{{"x"}}, {{"y"}}]>] manual_axes={{{axes}}} (%b: {shard}) {{
    %1 = stablehlo.add %b, %b : {shard}
    sdy.return %1 : {shard}
  }} : (!t) -> !t
  return %0 : !t
}}"""


def reducing(text: str, mesh: str, after: str) -> str:
    """A program of one operation that reduces along axes, or makes them unreduced."""
    return f"""{MESHES}
func.func @main(%a: !t {{sdy.sharding = #sdy.sharding<@{mesh}, [{{}}, {{"y"}}]>}}) -> !t {{
  %0 = {text} %a out_sharding=<@{mesh}, {after}> : !t
  return %0 : !t
}}"""


REDUCING = {
    "sdy.all_reduce": ('sdy.all_reduce {"x"}', '[{}, {"y"}]'),
    "sdy.reduce_scatter": ('sdy.reduce_scatter [{"x"}, {}]', '[{"x"}, {"y"}]'),
    "sdy.replicated_to_unreduced": ('sdy.replicated_to_unreduced {"x"}', '[{}, {"y"}], unreduced={"x"}'),
    "sdy.sharded_to_unreduced": ('sdy.sharded_to_unreduced [{}, {"y"}]', '[{}, {}], unreduced={"y"}'),
}

VALUES = np.arange(16, dtype=np.float32).reshape(4, 4)


def test_annotations_become_nothing() -> None:
    function = specialized(ANNOTATED)
    assert names(function) == ["stablehlo.constant", "stablehlo.add", "stablehlo.multiply", "func.return"]
    assert function.body is not None
    assert list(function.body.block.operations[1].attributes) == ["a.b"]
    (result,) = run_every_way(ANNOTATED, VALUES)
    assert np.array_equal(result, (VALUES + 1) ** 2)


@pytest.mark.parametrize(
    ("mesh", "axes"), [("single", '"x", "y"'), ("single", '"x"'), ("mixed", '"x"'), ("mesh", "")]
)
def test_computations_for_one_device_are_inlined(mesh: str, axes: str) -> None:
    text = manual(mesh, axes)
    assert names(specialized(text)) == ["stablehlo.add", "func.return"]
    (result,) = nimblehlo.execute(text, [VALUES])
    assert np.array_equal(result, 2 * VALUES)


def test_computations_within_regions_are_inlined() -> None:
    text = """
sdy.mesh @single = <["x"=1]>
func.func @main(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @f(%p, %a) : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @f(%p: tensor<i1>, %a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = sdy.manual_computation(%a) in_shardings=[<@single, [{"x"}]>] out_shardings=[<@single, [{"x"}]>]
        manual_axes={"x"} (%b: tensor<2xf32>) {
      %2 = sdy.named_computation<"g">(%b) (%c: tensor<2xf32>) {
        %3 = stablehlo.negate %c : tensor<2xf32>
        sdy.return %3 : tensor<2xf32>
      } : (tensor<2xf32>) -> tensor<2xf32>
      sdy.return %2 : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    %4 = sdy.sharding_constraint %1 <@single, [{?}]> : tensor<2xf32>
    stablehlo.return %4 : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    values = np.array([1, -2], np.float32)
    for chosen, expected in ((True, -values), (False, values)):
        (result,) = nimblehlo.execute(text, [np.array(chosen), values])
        assert np.array_equal(result, expected)


@pytest.mark.parametrize(("mesh", "shard"), [("mesh", "tensor<2x1xf32>"), ("mixed", "tensor<4x1xf32>")])
def test_computations_for_several_devices_run_on_all(mesh: str, shard: str) -> None:
    text = manual(mesh, '"x", "y"', shard)
    assert names(specialized(text))[0] == "nimblehlo.manual_computation"
    (result,) = nimblehlo.execute(text, [VALUES])
    assert np.array_equal(result, 2 * VALUES)


@pytest.mark.parametrize(
    ("text", "operation", "devices"),
    [
        *(
            (reducing(text, "mesh", after), operation, 8)
            for operation, (text, after) in REDUCING.items()
            if "unreduced" not in operation
        ),
    ],
)
def test_what_needs_several_devices(text: str, operation: str, devices: int) -> None:
    module = nimblehlo.load(text)
    assert operation in str(module)
    with pytest.raises(UnsupportedError, match=f"needs the {devices} devices of the mesh @m") as caught:
        nimblehlo.compile(module)
    assert caught.value.operation == operation
    line, column = map(int, str(caught.value.location).split(":")[-2:])
    assert operation in text.splitlines()[line - 1][column - 1 :]


@pytest.mark.parametrize("operation", [name for name in REDUCING if "unreduced" in name])
def test_how_devices_hold_terms_changes_no_value(operation: str) -> None:
    text, after = REDUCING[operation]
    (result,) = nimblehlo.execute(reducing(text, "mesh", after), [VALUES])
    assert np.array_equal(result, VALUES)


IDEMPOTENT = {
    "sdy.all_reduce": ('sdy.all_reduce max {"x"}', '[{}, {"y"}]'),
    "sdy.reduce_scatter": ('sdy.reduce_scatter min [{"x"}, {}]', '[{"x"}, {"y"}]'),
}


@pytest.mark.parametrize("operation", IDEMPOTENT)
def test_the_maximum_or_minimum_of_equal_values_changes_no_value(operation: str) -> None:
    """jaxlib's propagation adds such operations to reductions that devices do in part."""
    text, after = IDEMPOTENT[operation]
    (result,) = nimblehlo.execute(reducing(text, "mesh", after), [VALUES])
    assert np.array_equal(result, VALUES)


REDUCED_TERMS = {
    "from an operation": """
  %0 = stablehlo.add %a, %a {sdy.sharding =
      #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>]>} : !t
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {"y"}]> : !t""",
    "along a sub-axis": """
  %0 = sdy.reshard %a <@mesh, [{}, {}], unreduced={"y"}> : !t
  %1 = sdy.all_reduce {"y":(1)2} %0 out_sharding=<@mesh, [{}, {}], unreduced={"y":(2)2}> : !t""",
    "scattered": """
  %0 = sdy.reshard %a <@mesh, [{}, {}], unreduced={"x"}> : !t
  %1 = sdy.reduce_scatter [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : !t""",
    "in a loop": """
  %p = stablehlo.constant dense<true> : tensor<i1>
  %0:2 = stablehlo.while(%b = %a, %go = %p) : !t, tensor<i1> attributes {sdy.sharding =
      #sdy.sharding_per_value<[<@mesh, [{}, {"y"}], unreduced={"x"}>, <@mesh, []>]>}
  cond {
    stablehlo.return %go : tensor<i1>
  } do {
    %2 = sdy.all_reduce {"x"} %b out_sharding=<@mesh, [{}, {"y"}]> : !t
    %3 = sdy.reshard %2 <@mesh, [{}, {"y"}], unreduced={"x"}> : !t
    %4 = stablehlo.not %go : tensor<i1>
    stablehlo.return %3, %4 : !t, tensor<i1>
  }
  %1 = sdy.all_reduce {"x"} %0#0 out_sharding=<@mesh, [{}, {"y"}]> : !t""",
}


@pytest.mark.parametrize("name", REDUCED_TERMS)
def test_reductions_of_unreduced_values_give_the_value(name: str) -> None:
    text = f"{MESHES}func.func @main(%a: !t) -> !t {{{REDUCED_TERMS[name]}\n  return %1 : !t\n}}"
    (result,) = nimblehlo.execute(text, [VALUES])
    assert np.array_equal(result, 2 * VALUES if "add" in REDUCED_TERMS[name] else VALUES)


@pytest.mark.parametrize("operation", REDUCING)
def test_reductions_along_axes_of_one_device(operation: str) -> None:
    text, after = REDUCING[operation]
    (result,) = nimblehlo.execute(reducing(text, "single", after), [VALUES])
    assert np.array_equal(result, VALUES)


def test_computations_without_values() -> None:
    text = f"""{MESHES}
func.func @main(%a: !t) -> !t {{
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={{"x"}} () {{
    sdy.return
  }} : () -> ()
  return %a : !t
}}"""
    with pytest.raises(UnsupportedError, match="needs the devices of a mesh"):
        nimblehlo.compile(text)
    (result,) = nimblehlo.execute(text.replace('"x"} ()', "} ()"), [VALUES])
    assert np.array_equal(result, VALUES)


def test_sharded_programs_of_jax() -> None:
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.AbstractMesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    spec = jax.sharding.PartitionSpec("x", "y")

    def constrained(values: object) -> object:
        doubled = values + values  # type: ignore[operator]
        return jax.lax.with_sharding_constraint(doubled, jax.sharding.NamedSharding(mesh, spec))

    def body(shard: object) -> object:
        return jax.lax.psum(shard, "y") + jax.lax.axis_index("x")  # type: ignore[operator]

    def mapped(values: object) -> object:
        rows = jax.sharding.PartitionSpec("x", None)
        return jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=rows)(values)

    argument = jax.ShapeDtypeStruct((4, 4), np.float32)
    programs = {
        each: jax.jit(each).trace(argument).lower(lowering_platforms=("cpu",)).as_text()
        for each in (constrained, mapped)
    }
    assert "sdy.sharding_constraint" in programs[constrained]
    (result,) = nimblehlo.execute(programs[constrained], [VALUES])
    assert np.array_equal(result, 2 * VALUES)
    assert "sdy.manual_computation" in str(nimblehlo.load(programs[mapped]))
    (result,) = nimblehlo.execute(programs[mapped], [VALUES])
    assert np.array_equal(result, VALUES.sum(axis=1, keepdims=True) + np.array([[0], [0], [1], [1]]))


def test_calls_are_inlined_with_the_annotations_of_their_functions() -> None:
    module = nimblehlo.load(
        MESHES
        + """func.func @main(%a: !t) -> !t {
  %0 = func.call @outer(%a) : (!t) -> !t
  return %0 : !t
}
func.func private @outer(%a: !t) -> !t {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %1 = func.call @inner(%a) : (!t) -> !t
    stablehlo.return %1 : !t
  }, {
    stablehlo.return %a : !t
  }) : (tensor<i1>) -> !t
  return %0 : !t
}
func.func private @inner(%a: !t) -> !t {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {?}]> : !t
  %1 = stablehlo.composite "a.keep" %0 {decomposition = @kept} : (!t) -> !t
  %2 = stablehlo.add %1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : !t
  return %2 : !t
}
func.func private @kept(%a: !t) -> !t {
  return %a : !t
}"""
    )
    inlined = with_inlined_calls(module)
    assert list(inlined.functions) == ["main", "kept"]
    called = [operation.name for operation in inlined.walk()]
    assert "func.call" not in called and "sdy.sharding_constraint" in called
    assert 'sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>' in str(inlined)
    assert [item.name for item in inlined.body if isinstance(item, Operation)] == ["sdy.mesh"] * 5
