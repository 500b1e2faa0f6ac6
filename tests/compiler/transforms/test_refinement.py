"""The RFC on dynamism, proposal by proposal, and refinement to static programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, UnsupportedError, VerifyError
from nimblehlo.program.ops.custom_calls.custom_call import register_custom_call, unregister_custom_call
from nimblehlo.types import ELEMENT_TYPES, TensorType
from tests.program.ir.jaxlib_parser import mlir_context, mlir_parse
from tests.support.dynamic_reference import inputs_of
from tests.support.running import same_bits

SHAPED = """func.func @main(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.constant dense<4> : tensor<1xi32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %4 = stablehlo.dynamic_broadcast_in_dim %y, %3, dims = [1]
    : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %5 = stablehlo.add %x, %4 : tensor<?x4xf32>
  return %5 : tensor<?x4xf32>
}"""
LEGACY = {
    "stablehlo.compute_reshape_shape": "(%n, %s) : (index, tensor<2xi32>) -> tensor<2xi32>",
    "stablehlo.cstr_reshapable": "(%n, %s) : (index, tensor<2xi32>) -> !shape.witness",
    "chlo.dynamic_reshape": "(%s, %s) : (tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xi32>",
    "chlo.minimum_broadcast_shapes": "(%s, %s) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>",
    "chlo.rank_specialization_cluster": "(%s) : (tensor<2xi32>) -> tensor<2xi32>",
    "chlo.rank_specialization_cluster_yield": "(%s) : (tensor<2xi32>) -> tensor<2xi32>",
    "chlo_legacy.minimum_broadcast_shapes": "(%s, %s) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>",
}


@pytest.mark.parametrize("name", LEGACY)
def test_p1_legacy_operations_are_named(name: str) -> None:
    text = f"""func.func @main(%n: index, %s: tensor<2xi32>) -> tensor<2xi32> {{
      %0 = "{name}"{LEGACY[name]}
      return %s : tensor<2xi32>
    }}"""
    with pytest.raises(UnsupportedError, match=f"{name}.*legacy operation"):
        nimblehlo.load(text)


def test_p2_a_shape_mismatch_is_an_error_of_the_run() -> None:
    text = """func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %a, %b : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(ExecutionError, match="add"):
        nimblehlo.execute(text, [np.zeros(2, np.float32), np.zeros(3, np.float32)])


def test_p3_constraints_are_relaxed_where_sizes_are_unknown() -> None:
    text = """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<1xf32>) -> tensor<1xf32> {
      %0 = stablehlo.add %arg0, %arg0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %1 = stablehlo.add %arg0, %arg0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<1xf32>
      %2 = stablehlo.add %arg0, %arg1 : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
      %3 = stablehlo.add %arg0, %arg1 : (tensor<?xf32>, tensor<1xf32>) -> tensor<1xf32>
      %4 = stablehlo.add %arg1, %arg0 : (tensor<1xf32>, tensor<?xf32>) -> tensor<?xf32>
      %5 = stablehlo.add %arg1, %arg0 : (tensor<1xf32>, tensor<?xf32>) -> tensor<1xf32>
      %6 = stablehlo.add %arg1, %arg1 : (tensor<1xf32>, tensor<1xf32>) -> tensor<?xf32>
      %7 = stablehlo.add %arg1, %arg1 : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      return %7 : tensor<1xf32>
    }"""
    one = np.ones(1, np.float32)
    assert nimblehlo.execute(text, [one, one])[0] == 2
    with pytest.raises(ExecutionError):
        nimblehlo.execute(text, [np.ones(2, np.float32), one])


def test_p3_constraints_of_pad_are_deferred() -> None:
    arguments = "%arg0: tensor<?x?xf32>, %arg1: tensor<f32>, %low: tensor<2xi32>, %inner: tensor<2xi32>"
    text = f"""func.func @main({arguments}) -> tensor<?x?xf32> {{
      %0 = stablehlo.dynamic_pad %arg0, %arg1, %low, %low, %inner
        : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }}"""
    operand, value = np.ones((2, 2), np.float32), np.float32(3)
    (padded,) = nimblehlo.execute(text, [operand, value, np.int32([1, 0]), np.int32([0, 1])])
    assert padded.tolist() == [[3, 3, 3], [1, 3, 1], [1, 3, 1], [3, 3, 3]]
    with pytest.raises(ExecutionError, match="interior_padding"):
        nimblehlo.execute(text, [operand, value, np.int32([1, 0]), np.int32([0, -1])])
    with pytest.raises(VerifyError):
        nimblehlo.load(text.replace("tensor<2xi32>", "tensor<3xi32>"))


def test_p3_static_pad_is_verified() -> None:
    text = """func.func @main(%arg0: tensor<16x16xf32>, %arg1: tensor<f32>) -> tensor<20x20xf32> {
      %0 = stablehlo.pad %arg0, %arg1, low = [1, 1], high = [1, 1], interior = [0, 0]
        : (tensor<16x16xf32>, tensor<f32>) -> tensor<20x20xf32>
      return %0 : tensor<20x20xf32>
    }"""
    with pytest.raises(VerifyError):
        nimblehlo.load(text)
    nimblehlo.load(text.replace("20x20", "18x18"))


def test_p4_sizes_may_be_operands() -> None:
    text = """func.func @main(%arg0: tensor<1xf32>, %arg1: tensor<2xi64>) -> tensor<1x?xf32> {
      %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0]
        : (tensor<1xf32>, tensor<2xi64>) -> tensor<1x?xf32>
      return %0 : tensor<1x?xf32>
    }"""
    (got,) = nimblehlo.execute(text, [np.ones(1, np.float32), np.int64([1, 2])])
    assert got.shape == (1, 2)
    found = nimblehlo.is_refinable(text)
    assert not found
    assert (found.operation, found.operand) == ("stablehlo.dynamic_broadcast_in_dim", "output_dimensions")
    assert ":2:" in str(found)
    with pytest.raises(ExecutionError, match="output_dimensions"):
        nimblehlo.refine(text, [(1,), (2,)])


def test_p5_types_without_rank_are_rejected() -> None:
    with pytest.raises(UnsupportedError, match="unranked"):
        nimblehlo.load("func.func @main(%a: tensor<*xf32>) -> tensor<*xf32> { return %a : tensor<*xf32> }")


def test_types_with_sizes_unknown_and_bounded() -> None:
    text = """func.func @main(%a: tensor<?x16xf32, #stablehlo.bounds<16, ?>>)
        -> tensor<?x16xf32, #stablehlo.bounds<16, ?>> {
      %0 = stablehlo.add %a, %a : tensor<?x16xf32, #stablehlo.bounds<16, ?>>
      return %0 : tensor<?x16xf32, #stablehlo.bounds<16, ?>>
    }"""
    assert nimblehlo.is_refinable(text)
    assert "tensor<3x16xf32>" in str(nimblehlo.refine(text, [(3, 16)]))
    with pytest.raises(ExecutionError, match="argument 0"):
        nimblehlo.refine(text, [(17, 16)])


FORMS = (
    (3, 4),
    "tensor<3x4xf32>",
    np.zeros((3, 4), np.float32),
    TensorType((3, 4), ELEMENT_TYPES["f32"]),
)


@pytest.mark.parametrize("given", FORMS)
def test_an_argument_type_in_every_form(given: object) -> None:
    refined = nimblehlo.refine(SHAPED, [given, (4,)])
    assert "?" not in str(refined)
    assert "dynamic" not in str(refined)
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    assert same_bits(nimblehlo.execute(refined, [x, y])[0], nimblehlo.execute(SHAPED, [x, y])[0])


@pytest.mark.parametrize(
    "types",
    [
        [(3, 4)],
        [(3, 5), (4,)],
        [(3, 4), (4, 1)],
        ["tensor<3x4xf64>", (4,)],
        ["tensor<?x4xf32>", (4,)],
        [None, (4,)],
    ],
)
def test_other_types_are_rejected(types: list[object]) -> None:
    with pytest.raises(ExecutionError):
        nimblehlo.refine(SHAPED, types)


SIZE_BY = {
    "an argument's elements": ("%n", False),
    "an element that a condition chooses": ("%chosen", False),
    "a shape": ("%size", True),
    "the size of what has a known size": ("%known", True),
    "random numbers": ("%drawn", False),
    "what a loop carries": ("%carried#0", False),
    "what a loop counts": ("%carried#1", False),
    "what a branch gives": ("%branch", False),
    "a loop over shapes": ("%rounds", True),
}


@pytest.mark.parametrize("case", SIZE_BY)
def test_where_a_size_comes_from(case: str) -> None:
    size, refinable = SIZE_BY[case]
    text = f"""func.func @main(%x: tensor<?xf32>, %n: tensor<i32>, %b: tensor<i1>) -> tensor<?xf32> {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %known = stablehlo.add %size, %one : tensor<i32>
      %chosen = stablehlo.select %b, %one, %size : tensor<i1>, tensor<i32>
      %none = stablehlo.constant dense<> : tensor<0xi64>
      %drawn = stablehlo.rng %one, %known, %none, distribution = UNIFORM
        : (tensor<i32>, tensor<i32>, tensor<0xi64>) -> tensor<i32>
      %branch = "stablehlo.if"(%b) ({{ stablehlo.return %one : tensor<i32> }},
        {{ stablehlo.return %size : tensor<i32> }}) : (tensor<i1>) -> tensor<i32>
      %carried:2 = stablehlo.while(%i = %n, %j = %one) : tensor<i32>, tensor<i32>
        cond {{ %go = stablehlo.compare LT, %i, %size : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %go : tensor<i1> }}
        do {{ %k = stablehlo.add %i, %one : tensor<i32>
             %l = stablehlo.add %j, %one : tensor<i32>
             stablehlo.return %k, %l : tensor<i32>, tensor<i32> }}
      %rounds = stablehlo.while(%i = %one) : tensor<i32>
        cond {{ %go = stablehlo.compare LT, %i, %size : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %go : tensor<i1> }}
        do {{ %k = stablehlo.add %i, %i : tensor<i32>
             stablehlo.return %k : tensor<i32> }}
      %shape = stablehlo.reshape {size} : (tensor<i32>) -> tensor<1xi32>
      %y = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }}"""
    found = nimblehlo.is_refinable(text)
    assert bool(found) == refinable, str(found)
    if not refinable:
        assert (found.operation, found.operand) == ("stablehlo.dynamic_iota", "output_shape")


def test_an_unknown_size_of_a_custom_call_is_named() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.custom_call @tests.mystery(%x) : (tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    register_custom_call("tests.mystery", lambda x: x)
    try:
        found = nimblehlo.is_refinable(text)
    finally:
        unregister_custom_call("tests.mystery")
    assert found.operation == "stablehlo.custom_call"


def test_what_jax_exports_is_refined_to_what_it_lowers() -> None:
    jax = pytest.importorskip("jax")
    from jax import export
    from jax import numpy as jnp

    def function(x, y):
        return jnp.concatenate([x, y]).reshape(-1, 2).sum(0), x.shape[0] * y[::2]

    (a, b) = export.symbolic_shape("a, b")
    shapes = [jax.ShapeDtypeStruct((size,), np.float32) for size in (2 * a, 2 * b)]
    exported = export.export(jax.jit(function))(*shapes)
    assert nimblehlo.is_refinable(exported)
    inputs = [np.arange(6, dtype=np.float32), np.arange(4, dtype=np.float32)]
    refined = nimblehlo.refine(exported, inputs)
    for got, want in zip(nimblehlo.execute(refined, inputs), jax.jit(function)(*inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.conformance
def test_conformance_programs_become_static_ones(conformance_dir: Path) -> None:
    context, failures = mlir_context(), []
    for path in sorted((conformance_dir / "dynamic").glob("*.mlir"))[::2]:
        text = path.read_text()
        refinable = nimblehlo.is_refinable(text)
        try:
            refined = nimblehlo.refine(text, inputs_of(text, 3))
        except ExecutionError as error:
            if refinable:
                failures.append(f"{path.name}: {error}")
            continue
        if not refinable:
            failures.append(f"{path.name}: refined, although {refinable}")
        mlir_parse(str(refined), context)
    assert not failures, "\n".join(failures)


def test_a_program_with_shardings_keeps_its_meshes() -> None:
    text = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<?xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{?}]> : tensor<?xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<?xf32>
  return %1 : tensor<?xf32>
}"""
    assert nimblehlo.is_refinable(text)
    refined = nimblehlo.refine(text, [(4,)])
    assert [operation.name for operation in refined.walk()] == ["sdy.mesh", "stablehlo.negate", "func.return"]
    assert 'tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}' in str(refined)
    mlir_parse(str(refined), mlir_context())
    assert nimblehlo.execute(refined, [np.ones(4, np.float32)])[0].tolist() == [-1] * 4
