"""Which operations become fusions, and that programs keep their bits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.fusion import elementwise
from nimblehlo.compiler.loops.nests.nest_operations import has_emitter
from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.compiler.specialize import specialize
from nimblehlo.compiler.specialize.framework.cleanup import remove_dead_code
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.intermediate.fusion import FUSION
from nimblehlo.types import ELEMENT_TYPES
from tests.support.running import run_every_way

LARGE = 1 << 15


def fused(text: str) -> Function:
    """The main function of a program, whose elementwise operations are fused."""
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    for block in elementwise.fusible_blocks(function.body):
        elementwise.form_fusions(block, has_emitter)
    remove_dead_code(function.body)
    return function


def formed(text: str) -> list[list[str]]:
    """The names of the operations in each fusion of a program, in order; control flow included."""
    function = fused(text)
    return [
        [inner.name.partition(".")[2] for inner in operation.regions[0].block.operations[:-1]]
        for operation in function.body.walk()
        if operation.name == FUSION
    ]


def remaining(text: str) -> Counter[str]:
    """The names of the operations outside of fusions."""
    function = fused(text)
    return Counter(operation.name.partition(".")[2] for operation in function.body.block.operations)


CHAIN = """
func.func @main(%a: tensor<100xf32>, %b: tensor<100xf32>) -> tensor<100xf32> {
  %0 = stablehlo.add %a, %b : tensor<100xf32>
  %1 = stablehlo.multiply %0, %a : tensor<100xf32>
  %2 = stablehlo.subtract %1, %b : tensor<100xf32>
  return %2 : tensor<100xf32>
}
"""


def test_a_chain_is_one_fusion() -> None:
    assert formed(CHAIN) == [["add", "multiply", "subtract"]]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 100), dtype=np.float32)
    (result,) = run_every_way(CHAIN, a, b)
    assert (result == (a + b) * a - b).all()


@pytest.mark.parametrize("chain", [1, 2])
def test_the_results_of_a_fusion_have_one_shape(chain: int) -> None:
    """The sum is computed inside the transpose's fusion. The product does not read it there: the fusion
    would have to hand on the sum too, which has another shape than the transpose."""
    moves = [
        "%t = stablehlo.transpose %sum, dims = [1, 0] : (tensor<80x512xf32>) -> tensor<512x80xf32>",
        """%r = stablehlo.reverse %sum, dims = [0] : tensor<80x512xf32>
  %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<80x512xf32>) -> tensor<512x80xf32>""",
    ][chain - 1]
    text = f"""
func.func @main(%a: tensor<80x512xf32>, %c: tensor<512x80xf32>) -> (tensor<512x80xf32>, tensor<512x80xf32>) {{
  %sum = stablehlo.add %a, %a : tensor<80x512xf32>
  {moves}
  %product = stablehlo.multiply %t, %c : tensor<512x80xf32>
  %root = stablehlo.sqrt %product : tensor<512x80xf32>
  return %t, %root : tensor<512x80xf32>, tensor<512x80xf32>
}}
"""
    rng = np.random.default_rng(0)
    a, c = (rng.random(shape, dtype=np.float32) for shape in ((80, 512), (512, 80)))
    transposed, root = run_every_way(text, a, c)
    wanted = (a + a)[::-1].T if chain == 2 else (a + a).T
    assert (transposed == wanted).all()
    assert (root == np.sqrt(wanted * c)).all()


def test_few_small_operations_stay_as_they_are() -> None:
    text = CHAIN.replace("  %2 = stablehlo.subtract %1, %b : tensor<100xf32>\n", "").replace("%2", "%1")
    assert formed(text) == []


def test_fusions_have_no_cyclic_dependencies() -> None:
    """The sort needs the first operations, and the last ones need the sort."""
    text = """
      func.func @main(%a: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) {
        %0 = stablehlo.add %a, %a : tensor<100xf32>
        %1 = stablehlo.negate %0 : tensor<100xf32>
        %2 = stablehlo.abs %1 : tensor<100xf32>
        %3 = "stablehlo.sort"(%2) ({
          ^bb0(%x: tensor<f32>, %y: tensor<f32>):
            %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
        }) {dimension = 0 : i64} : (tensor<100xf32>) -> tensor<100xf32>
        %4 = stablehlo.multiply %3, %2 : tensor<100xf32>
        %5 = stablehlo.subtract %4, %1 : tensor<100xf32>
        %6 = stablehlo.add %5, %0 : tensor<100xf32>
        return %6, %2 : tensor<100xf32>, tensor<100xf32>
      }
    """
    assert formed(text) == [["add", "negate", "abs"], ["multiply", "subtract", "add"]]
    run_every_way(text, np.linspace(-1, 1, 100, dtype=np.float32))


def test_an_operand_may_be_one_of_several_results() -> None:
    text = """
      func.func @main(%a: tensor<100xf32>, %b: tensor<100xi32>) -> tensor<100xf32> {
        %0:2 = "stablehlo.sort"(%a, %b) ({
          ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
            %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
        }) {dimension = 0 : i64} : (tensor<100xf32>, tensor<100xi32>) -> (tensor<100xf32>, tensor<100xi32>)
        %1 = stablehlo.convert %0#1 : (tensor<100xi32>) -> tensor<100xf32>
        %2 = stablehlo.multiply %0#0, %1 : tensor<100xf32>
        %3 = stablehlo.add %2, %0#0 : tensor<100xf32>
        return %3 : tensor<100xf32>
      }
    """
    assert formed(text) == [["convert", "multiply", "add"]]
    run_every_way(text, np.linspace(1, -1, 100, dtype=np.float32), np.arange(100, dtype=np.int32))


def test_moves_iotas_and_constants_are_taken_in() -> None:
    text = """
      func.func @main(%a: tensor<100x200xf32>, %b: tensor<200xf32>, %c: tensor<200x100xf32>)
          -> tensor<100x200xf32> {
        %k = stablehlo.constant dense<2.0> : tensor<100x200xf32>
        %i = stablehlo.iota dim = 1 : tensor<100x200xf32>
        %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<200xf32>) -> tensor<100x200xf32>
        %1 = stablehlo.transpose %c, dims = [1, 0] : (tensor<200x100xf32>) -> tensor<100x200xf32>
        %2 = stablehlo.reverse %a, dims = [0] : tensor<100x200xf32>
        %3 = stablehlo.multiply %0, %k : tensor<100x200xf32>
        %4 = stablehlo.add %3, %1 : tensor<100x200xf32>
        %5 = stablehlo.subtract %4, %i : tensor<100x200xf32>
        %6 = stablehlo.add %5, %2 : tensor<100x200xf32>
        return %6 : tensor<100x200xf32>
      }
    """
    ((*names,),) = formed(text)
    assert {"constant", "iota", "broadcast_in_dim", "transpose", "reverse"} < set(names)
    assert remaining(text) == {"fusion": 1, "return": 1}
    a, c = (np.arange(20000, dtype=np.float32).reshape(shape) for shape in ((100, 200), (200, 100)))
    b = np.arange(200, dtype=np.float32)
    (result,) = run_every_way(text, a, b, c)
    assert (result == (((b * 2) + c.T) - np.arange(200, dtype=np.float32)) + a[::-1]).all()


def test_a_broadcast_without_dimension_numbers_is_taken_in() -> None:
    text = """
      func.func @main(%a: tensor<100x200xf32>, %b: tensor<200xf32>) -> tensor<100x200xf32> {
        %0 = stablehlo.broadcast %b, sizes = [100] : (tensor<200xf32>) -> tensor<100x200xf32>
        %1 = stablehlo.multiply %0, %a : tensor<100x200xf32>
        %2 = stablehlo.add %1, %0 : tensor<100x200xf32>
        %3 = stablehlo.subtract %2, %a : tensor<100x200xf32>
        return %3 : tensor<100x200xf32>
      }
    """
    assert formed(text) == [["broadcast", "multiply", "add", "subtract"]]
    a, b = np.arange(20000, dtype=np.float32).reshape(100, 200), np.arange(200, dtype=np.float32)
    (result,) = run_every_way(text, a, b)
    assert (result == b * a + b - a).all()


def test_concatenated_operands_have_one_nest_each() -> None:
    text = f"""
      func.func @main(%a: tensor<{LARGE}x2xf32>, %b: tensor<{LARGE}x3xf32>, %v: tensor<f32>)
          -> tensor<{LARGE}x7xf32> {{
        %0 = stablehlo.add %a, %a : tensor<{LARGE}x2xf32>
        %1 = stablehlo.concatenate %0, %b, dim = 1 : (tensor<{LARGE}x2xf32>, tensor<{LARGE}x3xf32>)
          -> tensor<{LARGE}x5xf32>
        %2 = stablehlo.pad %1, %v, low = [0, 1], high = [0, 1], interior = [0, 0]
          : (tensor<{LARGE}x5xf32>, tensor<f32>) -> tensor<{LARGE}x7xf32>
        return %2 : tensor<{LARGE}x7xf32>
      }}
    """
    assert formed(text) == [["add", "concatenate", "pad"]]
    assert "[generated" in nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    a = np.arange(2 * LARGE, dtype=np.float32).reshape(LARGE, 2)
    b = np.arange(3 * LARGE, dtype=np.float32).reshape(LARGE, 3)
    (result,) = run_every_way(text, a, b, np.float32(-5))
    assert (result == np.pad(np.concatenate([a + a, b], 1), ((0, 0), (1, 1)), constant_values=-5)).all()


def test_an_expensive_function_is_not_computed_for_every_row() -> None:
    text = f"""
      func.func @main(%a: tensor<100x{LARGE}xf32>, %b: tensor<{LARGE}xf32>) -> tensor<100x{LARGE}xf32> {{
        %0 = stablehlo.sqrt %b : tensor<{LARGE}xf32>
        %1 = stablehlo.negate %b : tensor<{LARGE}xf32>
        %2 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<{LARGE}xf32>) -> tensor<100x{LARGE}xf32>
        %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<{LARGE}xf32>) -> tensor<100x{LARGE}xf32>
        %4 = stablehlo.add %a, %2 : tensor<100x{LARGE}xf32>
        %5 = stablehlo.add %4, %3 : tensor<100x{LARGE}xf32>
        return %5 : tensor<100x{LARGE}xf32>
      }}
    """
    ((*names,),) = formed(text)
    assert "negate" in names and "sqrt" not in names
    assert remaining(text)["sqrt"] == 1


def test_fusions_in_control_flow() -> None:
    text = """
      func.func @main(%n: tensor<i32>, %a: tensor<1000xf32>) -> tensor<1000xf32> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<1000xf32>
          cond {
            %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            %j = stablehlo.add %i, %one : tensor<i32>
            %1 = stablehlo.multiply %x, %a : tensor<1000xf32>
            %2 = stablehlo.add %1, %x : tensor<1000xf32>
            %3 = stablehlo.negate %2 : tensor<1000xf32>
            stablehlo.return %j, %3 : tensor<i32>, tensor<1000xf32>
          }
        return %0#1 : tensor<1000xf32>
      }
    """
    assert formed(text) == [["multiply", "add", "negate"]]
    a = np.linspace(-1, 1, 1000, dtype=np.float32)
    (result,) = run_every_way(text, np.int32(3), a)
    x = a
    for _ in range(3):
        x = -(x * a + x)
    assert (result == x).all()


def test_effects_keep_their_order() -> None:
    text = """
      func.func @main(%a: tensor<100xf32>) -> tensor<100xf32> {
        %0 = stablehlo.add %a, %a : tensor<100xf32>
        %1 = stablehlo.negate %0 : tensor<100xf32>
        %2 = stablehlo.abs %1 : tensor<100xf32>
        check.expect_eq %0, %0 : tensor<100xf32>
        %3 = stablehlo.multiply %2, %a : tensor<100xf32>
        check.expect_eq %3, %3 : tensor<100xf32>
        %4 = stablehlo.subtract %3, %0 : tensor<100xf32>
        return %4 : tensor<100xf32>
      }
    """
    run_every_way(text, np.arange(100, dtype=np.float32))
    assert remaining(text)["expect_eq"] == 2


def test_programs_cannot_name_fusions() -> None:
    text = """
      func.func @main(%a: tensor<f32>) -> tensor<f32> {
        %0 = "nimblehlo.fusion"(%a) ({
          ^bb0(%x: tensor<f32>):
            stablehlo.return %x : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        return %0 : tensor<f32>
      }
    """
    with pytest.raises(UnsupportedError, match="is an internal operation, which programs cannot contain"):
        nimblehlo.load(text)


def test_nothing_is_fused_if_compilation_is_off() -> None:
    plan = nimblehlo.compile(CHAIN, options=Options(compile="never")).explain()
    assert FUSION not in plan
    assert FUSION in nimblehlo.compile(CHAIN).explain()


def test_programs_of_many_operations_are_fused() -> None:
    lines = [f"%v{n + 1} = stablehlo.add %v{n}, %v{max(n - 7, 0)} : tensor<64xf32>" for n in range(2000)]
    text = f"""
      func.func @main(%v0: tensor<64xf32>) -> tensor<64xf32> {{
        {chr(10).join(lines)}
        return %v2000 : tensor<64xf32>
      }}
    """
    found = formed(text)
    assert all(len(names) <= elementwise.MAX_MEMBERS for names in found)
    assert sum(map(len, found)) == 2000 and len(found) < 30


@pytest.mark.parametrize(("parameters", "fusions"), [(4, 1), (20, 20)])
def test_updates_that_share_constants_are_one_fusion_or_one_each(parameters: int, fusions: int) -> None:
    """One, which saves calls, where it does not have too many arrays."""
    types = ", ".join(["tensor<8xf32>"] * (2 * parameters))
    arguments = ", ".join(f"%p{n}: tensor<8xf32>, %g{n}: tensor<8xf32>" for n in range(parameters))
    updates = "".join(
        f"""
        %s{n} = stablehlo.multiply %g{n}, %rates : tensor<8xf32>
        %d{n} = stablehlo.multiply %p{n}, %decay : tensor<8xf32>
        %t{n} = stablehlo.subtract %d{n}, %s{n} : tensor<8xf32>
        %m{n} = stablehlo.add %s{n}, %d{n} : tensor<8xf32>
        """
        for n in range(parameters)
    )
    results = ", ".join(f"%t{n}, %m{n}" for n in range(parameters))
    text = f"""
      func.func @main(%rate: tensor<f32>, {arguments}) -> ({types}) {{
        %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<8xf32>
        %decay = stablehlo.constant dense<0.5> : tensor<8xf32>
        {updates}
        return {results} : {types}
      }}
    """
    assert len(formed(text)) == fusions


def test_a_fusion_of_too_many_arrays_is_divided() -> None:
    """Its results are arrays too; as no fusion, each operation would be a step."""
    count = 3 * elementwise.MAX_ARRAYS // 4
    operands = ", ".join(f"%a{n}: tensor<64xf32>" for n in range(count))
    sums = "".join(
        f"%s{n} = stablehlo.add %s{n - 1}, %a{n} : tensor<64xf32>\n" for n in range(2, count)
    )
    results = ", ".join(f"%s{n}" for n in range(1, count))
    types = ", ".join(["tensor<64xf32>"] * (count - 1))
    text = f"""
      func.func @main({operands}) -> ({types}) {{
        %s1 = stablehlo.add %a0, %a1 : tensor<64xf32>
        {sums}
        return {results} : {types}
      }}
    """
    found = formed(text)
    assert len(found) > 1 and sum(map(len, found)) == count - 1
    rng = np.random.default_rng(0)
    run_every_way(text, *[rng.standard_normal(64).astype(np.float32) for _ in range(count)])


@pytest.mark.parametrize(("type", "is_member"), [("i32", True), ("i16", False)])
def test_a_bitcast_that_splits_no_elements_is_a_member(type: str, is_member: bool) -> None:
    bits = f"tensor<100x{'' if is_member else '2x'}{type}>"
    text = f"""
      func.func @main(%a: tensor<100xf32>) -> {bits} {{
        %0 = stablehlo.add %a, %a : tensor<100xf32>
        %1 = stablehlo.multiply %0, %a : tensor<100xf32>
        %2 = stablehlo.subtract %1, %0 : tensor<100xf32>
        %3 = stablehlo.bitcast_convert %2 : (tensor<100xf32>) -> {bits}
        %4 = stablehlo.not %3 : {bits}
        return %4 : {bits}
      }}
    """
    others = ["bitcast_convert", "not"] if is_member else []
    assert formed(text) == [["add", "multiply", "subtract", *others]]
    run_every_way(text, np.random.default_rng(0).standard_normal(100).astype(np.float32))


def test_what_has_to_be_copied_is_copied_by_native_code() -> None:
    given, result = f"tensor<4x{LARGE}xf32>", f"tensor<{LARGE}x4xf32>"
    text = f"""
      func.func @main(%a: {given}) -> ({result}, {result}) {{
        %0 = stablehlo.transpose %a, dims = [1, 0] : ({given}) -> {result}
        %1 = stablehlo.reshape %a : ({given}) -> {result}
        return %0, %1 : {result}, {result}
      }}
    """
    assert formed(text) == [["transpose"]]
    a = np.arange(4 * LARGE, dtype=np.float32).reshape(4, LARGE)
    first, second = run_every_way(text, a)
    assert (first == a.T).all() and (second == a.reshape(LARGE, 4)).all()


@pytest.mark.parametrize(
    ("name", "elements", "dtype", "is_generated"),
    [
        ("tanh", 4096, "f32", True),
        ("tanh", 64, "f32", False),
        ("abs", 4096, "f32", False),
        ("abs", 4096, "bf16", True),
        ("abs", LARGE, "f32", True),
    ],
)
def test_an_operation_alone_is_generated_where_it_is_worth_a_call(
    name: str, elements: int, dtype: str, is_generated: bool
) -> None:
    type = f"tensor<{elements}x{dtype}>"
    text = f"""
    func.func @main(%x: {type}) -> {type} {{
      %y = stablehlo.{name} %x : {type}
      return %y : {type}
    }}
    """
    executable = nimblehlo.compile(text)
    x = np.linspace(-3, 3, elements).astype(ELEMENT_TYPES[dtype].dtype)
    executable(x)
    assert ("one loop for" in executable.explain("plan")) == is_generated
    run_every_way(text, x)


@pytest.mark.parametrize("shape", ["200x800", "1x200x800"])
def test_a_move_that_a_reshape_needs_in_order_is_generated(shape: str) -> None:
    text = f"""
    func.func @main(%x: tensor<200x200xf32>) -> tensor<{shape}xf32> {{
      %y = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<200x200xf32>) -> tensor<200x200x4xf32>
      %r = stablehlo.reshape %y : (tensor<200x200x4xf32>) -> tensor<{shape}xf32>
      return %r : tensor<{shape}xf32>
    }}
    """
    x = np.arange(40_000, dtype=np.float32).reshape(200, 200)
    executable = nimblehlo.compile(text)
    executable(x)
    assert "one loop for broadcast_in_dim" in executable.explain("plan")
    run_every_way(text, x)


TRANSPOSED = """
func.func @main(%x: tensor<300x200xf32>) -> (tensor<200x300xf32>, tensor<200xf32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<300x200xf32>) -> tensor<200x300xf32>
  %s = stablehlo.reduce(%t init: %0) applies stablehlo.add across dimensions = [1]
    : (tensor<200x300xf32>, tensor<f32>) -> tensor<200xf32>
  %l = "stablehlo.reduce_window"(%t, %0) <{
    padding = dense<[[0, 0], [299, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 300>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<200x300xf32>, tensor<f32>) -> tensor<200x300xf32>
  return %l, %s : tensor<200x300xf32>, tensor<200xf32>
}
"""


def test_a_transpose_that_would_be_copied_is_generated() -> None:
    """Reductions and windows copy what does not lie in order, on one thread."""
    x = np.random.default_rng(5).standard_normal((300, 200)).astype(np.float32)
    executable = nimblehlo.compile(TRANSPOSED)
    executable(x)
    assert "one loop for transpose" in executable.explain("plan")
    run_every_way(TRANSPOSED, x)


def test_one_expensive_operation_justifies_a_small_fusion() -> None:
    text = CHAIN.replace("%2 = stablehlo.subtract %1, %b", "%2 = stablehlo.tanh %1").replace("100", "4096")
    text = text.replace("  %0 = stablehlo.add %a, %b : tensor<4096xf32>\n", "").replace("%0", "%b")
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    fuse_operations(function, Options())
    (name,) = [operation.name for operation in function.body.block.operations[:-1]]
    assert name == FUSION
    a, b = np.random.default_rng(0).standard_normal((2, 4096), dtype=np.float32)
    run_every_way(text, a, b)


TAKEN_OVER = """
func.func @main(%a: tensor<300x200xf32>, %b: tensor<200x300xf32>)
    -> (tensor<400x300xf32>, tensor<200x300xf32>) {
  %0 = stablehlo.exponential %a : tensor<300x200xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<300x200xf32>) -> tensor<200x300xf32>
  %2 = stablehlo.add %1, %b : tensor<200x300xf32>
  %3 = stablehlo.concatenate %2, %b, dim = 0
      : (tensor<200x300xf32>, tensor<200x300xf32>) -> tensor<400x300xf32>
  %4 = stablehlo.negate %a : tensor<300x200xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<300x200xf32>) -> tensor<200x300xf32>
  %6 = stablehlo.multiply %5, %b : tensor<200x300xf32>
  return %3, %6 : tensor<400x300xf32>, tensor<200x300xf32>
}
"""
"""The fusion of %2 and %6 takes %0 in; then the one of %3 takes %2 over, but not %0, which is smaller."""


def test_an_operation_that_another_fusion_absorbs() -> None:
    text = TAKEN_OVER
    function = fused(text)
    made = [operation for operation in function.body.walk() if operation.name == FUSION]
    shapes = [{value.type.shape for value in operation.results} for operation in made]
    assert len(made) > 1 and all(len(one) == 1 for one in shapes)
    rng = np.random.default_rng(0)
    types = [argument.type for argument in function.body.block.arguments]
    run_every_way(text, *[rng.standard_normal(type.shape, dtype=np.float32) for type in types])
