"""Runs of small steps become one step, which gives the same bits as its operations one by one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.loops import steps as step_emitter
from nimblehlo.compiler.loops.step_code import StepCode
from nimblehlo.compiler.loops.steps import has_workspace, steps_module, steps_workspace_bytes
from nimblehlo.compiler.plan.tiering import tiers
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.specialize.simplified import simplified
from tests.support.running import run_every_way

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(9)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def steps_of(text: str, **options: Any) -> list[str]:
    """The names of the operations in the plan of @main."""
    settings = Options(compile="eager", **options)
    plan = nimblehlo.compile(text, options=settings).explain("plan")
    return [
        line.split()[1] for line in plan.splitlines() if line.startswith("   ") and line.split()[0].isdigit()
    ]


STEPS = """
func.func @main(%a: tensor<5x6xf32>, %w: tensor<6x4xf32>, %i: tensor<3x1xi32>, %f: tensor<i1>)
    -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %bias = stablehlo.constant dense<[0.5, -1.0, 2.0, 0.25]> : tensor<4xf32>
  %p = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
    : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<5x4xf32>
  %s = stablehlo.add %p, %b : tensor<5x4xf32>
  %t = stablehlo.tanh %s : tensor<5x4xf32>
  %g = "stablehlo.gather"(%t, %i) <{slice_sizes = array<i64: 1, 4>, dimension_numbers = #stablehlo.gather<
    offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %r = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
  %u = stablehlo.transpose %t, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %c = "stablehlo.if"(%f) ({
    %n = stablehlo.negate %u : tensor<4x5xf32>
    stablehlo.return %n : tensor<4x5xf32>
  }, {
    stablehlo.return %u : tensor<4x5xf32>
  }) : (tensor<i1>) -> tensor<4x5xf32>
  return %g, %r, %u, %c : tensor<3x4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}
"""


@pytest.mark.parametrize("flag", [False, True])
def test_small_steps_become_one(flag: bool) -> None:
    assert steps_of(STEPS) == ["nimblehlo.step_fusion"]
    indices = np.array([[4], [-7], [2**31 - 1]], np.int32)
    run_every_way(STEPS, floats(5, 6), floats(6, 4), indices, np.array(flag))


@pytest.mark.parametrize("kind", ["complex<f32>", "complex<f64>"])
def test_constants_of_complex_numbers_are_reduced(kind: str) -> None:
    elements = ", ".join([f"[({k}.0, -1.0), (0.25, {k}.5)]" for k in range(17)])
    reduced = f"""%values = stablehlo.constant dense<[{elements}]> : tensor<17x2x{kind}>
      %q = stablehlo.reduce(%values init: %z) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<17x2x{kind}>, tensor<{kind}>) -> tensor<{kind}>"""
    text = STEPS.replace("%f: tensor<i1>)", f"%f: tensor<i1>, %z: tensor<{kind}>)")
    text = text.replace("-> (tensor<3x4xf32>, ", f"-> (tensor<{kind}>, tensor<3x4xf32>, ")
    text = text.replace("return %g, %r, %u, %c : ", f"{reduced} return %q, %g, %r, %u, %c : tensor<{kind}>, ")
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    init_value = np.array(1 - 2j, ELEMENT_TYPES[kind].dtype)
    run_every_way(text, floats(5, 6), floats(6, 4), np.zeros((3, 1), np.int32), np.array(True), init_value)


def test_results_that_are_special_values() -> None:
    a = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38] * 5, np.float32).reshape(5, 6)
    run_every_way(STEPS, a, floats(6, 4), np.zeros((3, 1), np.int32), np.array(True))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_change_nothing(threads: int) -> None:
    inputs = [floats(5, 6), floats(6, 4), np.array([[1], [2], [3]], np.int32), np.array(True)]
    expected = nimblehlo.execute(STEPS, inputs, options=Options(compile="never"))
    found = nimblehlo.execute(STEPS, inputs, options=Options(compile="eager", threads=threads))
    assert [array.tobytes() for array in found] == [array.tobytes() for array in expected]


def test_other_orders_are_left_to_the_steps() -> None:
    assert "nimblehlo.step_fusion" not in steps_of(STEPS, reduction_tree="balanced")
    assert "nimblehlo.step_fusion" not in steps_of(STEPS, accumulate="float64")


RESULTS = """
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x4xf32>, %f: tensor<i1>) -> (tensor<12xf32>, tensor<3x4xf32>,
    tensor<3x4xf32>, tensor<2x6xf32>, tensor<3x4xf32>, tensor<4x3xf32>) {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.reshape %p : (tensor<3x4xf32>) -> tensor<12xf32>
  %q = stablehlo.reverse %p, dims = [1] : tensor<3x4xf32>
  %s = stablehlo.reshape %q : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %c = "stablehlo.if"(%f) ({
    %n = stablehlo.dot_general %q, %b, contracting_dims = [1] x [0]
      : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    stablehlo.return %n : tensor<3x4xf32>
  }, {
    stablehlo.return %p : tensor<3x4xf32>
  }) : (tensor<i1>) -> tensor<3x4xf32>
  %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %r, %q, %q, %s, %c, %t : tensor<12xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<2x6xf32>,
    tensor<3x4xf32>, tensor<4x3xf32>
}
"""


def test_results_are_made_where_they_are_wanted() -> None:
    block = simplified(RESULTS, rewrite=False).body.block  # type: ignore[union-attr]
    module = str(steps_module(block))
    # The second name of %q, its other shape, and what the second branch hands on; the first makes it there.
    assert module.count("store <32 x i8>") == 3
    (allocation,) = re.findall(r"alloca .*", module.partition("\n}")[0])
    assert allocation.startswith("alloca [0 x i8]")


@pytest.mark.parametrize("flag", [False, True])
def test_results_that_are_used_and_returned_twice(flag: bool) -> None:
    assert "nimblehlo.step_fusion" in steps_of(RESULTS)
    run_every_way(RESULTS, floats(3, 4), floats(4, 4), np.array(flag))


AROUND = """
func.func @main(%a: tensor<12xf32>, %b: tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>) {{
  %x = stablehlo.reverse %a, dims = [0] : tensor<12xf32>
  %y = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
    : (tensor<12xf32>, tensor<12xf32>) -> tensor<f32>
  %z = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<12xf32>
  %p = stablehlo.add %x, %z : tensor<12xf32>
  %q = "stablehlo.sort"(%{sorted}) ({{
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %c = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }}) {{dimension = 0 : i64}} : (tensor<12xf32>) -> tensor<12xf32>
  %s = stablehlo.subtract %p, %q : tensor<12xf32>
  %t = stablehlo.reverse %s, dims = [0] : tensor<12xf32>
  %u = stablehlo.dot_general %t, %q, contracting_dims = [0] x [0]
    : (tensor<12xf32>, tensor<12xf32>) -> tensor<f32>
  %v = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<f32>) -> tensor<12xf32>
  %w = stablehlo.multiply %v, %t : tensor<12xf32>
  return %p, %w : tensor<12xf32>, tensor<12xf32>
}}
"""


def test_independent_operations_precede_a_fusion() -> None:
    text = AROUND.format(sorted="b")
    assert steps_of(text) == ["stablehlo.sort", "nimblehlo.step_fusion"]
    run_every_way(text, floats(12), floats(12))


def test_a_sort_by_its_comparator_is_fused() -> None:
    text = AROUND.format(sorted="p").replace("%l, %r :", "%l, %r, TOTALORDER :")
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    run_every_way(text, floats(12), floats(12))


def test_a_consumer_ends_a_fusion() -> None:
    text = AROUND.format(sorted="p")
    assert steps_of(text) == ["nimblehlo.step_fusion", "stablehlo.sort", "nimblehlo.step_fusion"]
    run_every_way(text, floats(12), floats(12))


def test_few_steps_stay_as_they_are() -> None:
    text = """func.func @main(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
      %x = stablehlo.reverse %a, dims = [0] : tensor<3x4xf32>
      %y = stablehlo.subtract %x, %a : tensor<3x4xf32>
      return %y : tensor<3x4xf32>
    }"""
    assert "nimblehlo.step_fusion" not in steps_of(text)


def test_constants_of_many_elements_are_operands() -> None:
    constant = np.arange(80, dtype=np.int32)
    text = f"""func.func @main(%a: tensor<80xi32>) -> (tensor<80xi32>, tensor<40xi32>) {{
      %c = stablehlo.constant dense<{constant.tolist()}> : tensor<80xi32>
      %x = stablehlo.reverse %a, dims = [0] : tensor<80xi32>
      %y = stablehlo.subtract %x, %c : tensor<80xi32>
      %z = stablehlo.reverse %y, dims = [0] : tensor<80xi32>
      %s = stablehlo.slice %z [1:80:2] : (tensor<80xi32>) -> tensor<40xi32>
      %n = stablehlo.reverse %s, dims = [0] : tensor<40xi32>
      %m = stablehlo.multiply %n, %s : tensor<40xi32>
      return %z, %m : tensor<80xi32>, tensor<40xi32>
    }}"""
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    run_every_way(text, RNG.integers(-(2**31), 2**31, 80).astype(np.int32))


def test_equal_operations_on_results_of_other_sizes_stay_apart() -> None:
    text = """func.func @main(%a: tensor<f32>) -> (tensor<7xf32>, tensor<3x8xf32>) {
      %x = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<7xf32>
      %y = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
      %p = stablehlo.tanh %x : tensor<7xf32>
      %q = stablehlo.tanh %y : tensor<3x8xf32>
      %r = stablehlo.reverse %p, dims = [0] : tensor<7xf32>
      %s = stablehlo.reverse %q, dims = [1] : tensor<3x8xf32>
      %t = stablehlo.add %r, %p : tensor<7xf32>
      %u = stablehlo.add %s, %q : tensor<3x8xf32>
      return %t, %u : tensor<7xf32>, tensor<3x8xf32>
    }"""
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    run_every_way(text, np.float32(0.75))


SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 3e38, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("k", [1, 3, 24])
@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "i32", "ui8", "i64", "i1"])
def test_the_greatest_of_few_elements(type: str, k: int) -> None:
    text = f"""func.func @main(%a: tensor<4x24x{type}>) -> (tensor<4x{k}x{type}>, tensor<4x{k}xi32>) {{
      %v, %i = chlo.top_k(%a, k = {k}) : tensor<4x24x{type}> -> (tensor<4x{k}x{type}>, tensor<4x{k}xi32>)
      return %v, %i : tensor<4x{k}x{type}>, tensor<4x{k}xi32>
    }}"""
    dtype = nimblehlo.types.element_type(type).dtype
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        array = RNG.choice(np.array([info.min, info.max, 0, 1, 2, 3], dtype), (4, 24))
    else:
        with np.errstate(all="ignore"):
            array = RNG.choice(np.array(SPECIAL), (4, 24)).astype(dtype)
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    run_every_way(text, array)


class _Drawn:
    """A program of random small steps on arrays of f32."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.values: list[tuple[str, tuple[int, ...]]] = []
        self.arguments = [(f"%a{k}", self.shape()) for k in range(3)]
        self.values += self.arguments
        for _ in range(int(self.random.integers(6, 25))):
            getattr(self, str(self.random.choice(self.KINDS)))()

    KINDS = (
        "unary",
        "binary",
        "transpose",
        "reshape",
        "pad",
        "reduce",
        "product",
        "update",
        "concatenate",
        "slice",
    )

    def shape(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.random.integers(1, 7, self.random.integers(1, 4)))

    def drawn(self) -> tuple[str, tuple[int, ...]]:
        return self.values[int(self.random.integers(len(self.values)))]

    def add(self, text: str, shape: tuple[int, ...], *operands: tuple[int, ...]) -> None:
        name = f"%v{len(self.values)}"
        types = ", ".join(map(type_of, operands))
        self.lines.append(f"{name} = {text} : ({types}) -> {type_of(shape)}")
        self.values.append((name, shape))

    def unary(self) -> None:
        name, shape = self.drawn()
        self.add(f"stablehlo.{self.random.choice(['negate', 'abs', 'sine', 'floor'])} {name}", shape, shape)

    def binary(self) -> None:
        name, shape = self.drawn()
        other = [value for value, its in self.values if its == shape]
        operation = self.random.choice(["add", "multiply", "maximum", "subtract"])
        self.add(f"stablehlo.{operation} {name}, {self.random.choice(other)}", shape, shape, shape)

    def transpose(self) -> None:
        name, shape = self.drawn()
        order = [int(d) for d in self.random.permutation(len(shape))]
        self.add(f"stablehlo.transpose {name}, dims = {order}", tuple(shape[d] for d in order), shape)

    def reshape(self) -> None:
        name, shape = self.drawn()
        self.add(f"stablehlo.reshape {name}", (int(np.prod(shape)),), shape)

    def pad(self) -> None:
        name, shape = self.drawn()
        low, high = (self.random.integers(-1, 3, len(shape)).tolist() for _ in range(2))
        interior = self.random.integers(0, 2, len(shape)).tolist()
        sizes = [n + (n - 1) * k + a + b for n, a, b, k in zip(shape, low, high, interior, strict=True)]
        if shape and min(sizes) > 0:
            text = f"stablehlo.pad {name}, %zero, low = {low}, high = {high}, interior = {interior}"
            self.add(text, tuple(sizes), shape, ())

    def reduce(self) -> None:
        name, shape = self.drawn()
        if shape:
            count = self.random.integers(1, len(shape) + 1)
            dimensions = sorted(self.random.permutation(len(shape))[:count].tolist())
            kept = tuple(size for d, size in enumerate(shape) if d not in dimensions)
            applied = f"applies stablehlo.{self.random.choice(['add', 'maximum'])}"
            text = f"stablehlo.reduce({name} init: %zero) {applied} across dimensions = {dimensions}"
            self.add(text, kept, shape, ())

    def product(self) -> None:
        (lhs, one), (rhs, other) = self.drawn(), self.drawn()
        pairs = [(i, j) for i, size in enumerate(one) for j, its in enumerate(other) if size == its]
        if pairs:
            i, j = pairs[int(self.random.integers(len(pairs)))]
            result = (*one[:i], *one[i + 1 :], *other[:j], *other[j + 1 :])
            if np.prod(result) <= 1000:
                text = f"stablehlo.dot_general {lhs}, {rhs}, contracting_dims = [{i}] x [{j}]"
                self.add(text, result, one, other)

    def update(self) -> None:
        (name, shape), (update, sizes) = self.drawn(), self.drawn()
        if len(shape) == len(sizes) > 0 and all(a >= b for a, b in zip(shape, sizes, strict=True)):
            starts = ", ".join(self.random.choice(["%one", "%far", "%before"], len(shape)))
            name = f"stablehlo.dynamic_update_slice {name}, {update}, {starts}"
            indices = ", ".join(["tensor<i32>"] * len(shape))
            made = f"%v{len(self.values)}"
            types = f"({type_of(shape)}, {type_of(sizes)}, {indices}) -> {type_of(shape)}"
            self.lines.append(f"{made} = {name} : {types}")
            self.values.append((made, shape))

    def concatenate(self) -> None:
        name, shape = self.drawn()
        if shape:
            d = int(self.random.integers(len(shape)))
            joined = (*shape[:d], 2 * shape[d], *shape[d + 1 :])
            self.add(f"stablehlo.concatenate {name}, {name}, dim = {d}", joined, shape, shape)

    def slice(self) -> None:
        name, shape = self.drawn()
        first = [int(self.random.integers(size)) for size in shape]
        step = [int(self.random.integers(1, 3)) for _ in shape]
        ranges = ", ".join(f"{a}:{n}:{s}" for a, n, s in zip(first, shape, step, strict=True))
        sizes = tuple(-(-(n - a) // s) for a, n, s in zip(first, shape, step, strict=True))
        if shape:
            self.add(f"stablehlo.slice {name} [{ranges}]", sizes, shape)

    def text(self) -> str:
        arguments = ", ".join(f"{name}: {type_of(shape)}" for name, shape in self.arguments)
        results = self.values[-4:]
        types = ", ".join(type_of(shape) for _, shape in results)
        constants = [
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
            *(
                f"%{name} = stablehlo.constant dense<{value}> : tensor<i32>"
                for name, value in (("one", 1), ("far", 99), ("before", -5))
            ),
        ]
        body = "\n  ".join([*constants, *self.lines])
        names = ", ".join(name for name, _ in results)
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}"


def type_of(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


@pytest.mark.parametrize("seed", range(12))
def test_random_steps(seed: int) -> None:
    drawn = _Drawn(seed)
    run_every_way(drawn.text(), *[floats(*shape) for _, shape in drawn.arguments])


def test_fusions_end_where_their_results_would_leave_the_cache() -> None:
    matrix = "tensor<48x48xf32>"
    body = "\n      ".join(
        f"%v{k + 1} = stablehlo.dot_general %v{k}, %a, contracting_dims = [1] x [0]"
        f" : ({matrix}, {matrix}) -> {matrix}"
        for k in range(70)
    )
    text = f"""func.func @main(%v0: {matrix}, %a: {matrix}) -> {matrix} {{
      {body}
      return %v70 : {matrix}
    }}"""
    assert steps_of(text) == ["nimblehlo.step_fusion"] * 2
    run_every_way(text, floats(48, 48), floats(48, 48) / 7)


@pytest.mark.parametrize("count", [14, 50])
def test_arrays_for_which_the_stack_has_no_memory_are_in_a_workspace(count: int) -> None:
    """All products are live until the last one is there."""
    matrix = "tensor<32x32xf32>"
    products = "\n      ".join(
        f"%v{k + 1} = stablehlo.dot_general %v{k}, %a, contracting_dims = [1] x [0]"
        f" : ({matrix}, {matrix}) -> {matrix}"
        for k in range(count)
    )
    sums = "\n      ".join(
        f"%s{k} = stablehlo.dot_general %v{k}, %s{k + 1}, contracting_dims = [1] x [0]"
        f" : ({matrix}, {matrix}) -> {matrix}"
        for k in reversed(range(count))
    )
    text = f"""func.func @main(%v0: {matrix}, %a: {matrix}) -> {matrix} {{
      {products}
      %s{count} = stablehlo.add %v{count}, %a : {matrix}
      {sums}
      return %s0 : {matrix}
    }}"""
    block = simplified(text).body.block
    assert has_workspace(block) == (count > 14)
    workspace_bytes = steps_workspace_bytes(block)
    assert (workspace_bytes > 0) == (count > 14)
    assert steps_of(text) == ["nimblehlo.step_fusion"]
    for compile in ("eager", "auto"):
        executable = nimblehlo.compile(text, options=Options(compile=compile))
        assert executable.memory_of_values().temporaries == 0
        assert executable.memory().temporaries == workspace_bytes
    run_every_way(text, floats(32, 32), floats(32, 32) / 6)


def test_keys_need_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs ask for the keys of many fusions before their first call."""
    matrix = "tensor<40x40xf32>"
    sums = "\n      ".join(f"%s{k + 1} = stablehlo.cosine %s{k} : {matrix}" for k in range(40))
    text = f"func.func @main(%s0: {matrix}) -> {matrix} {{\n      {sums}\n      return %s40 : {matrix}\n}}"
    body = simplified(text).body
    monkeypatch.setattr(step_emitter, "ArrayEmitter", None)
    assert body is not None and has_workspace(body.block)
    assert StepCode(body.block, None).key


@pytest.mark.parametrize(("rows", "steps"), [(6000, 1), (12_000, 4)])
def test_operations_of_several_microseconds_are_steps(rows: int, steps: int) -> None:
    type, matrix = f"tensor<{rows}x4xf32>", "tensor<4x4xf32>"
    body = "\n      ".join(
        f"%v{k + 1} = stablehlo.dot_general %v{k}, %a, contracting_dims = [1] x [0]"
        f" : ({type}, {matrix}) -> {type}"
        for k in range(4)
    )
    text = f"func.func @main(%v0: {type}, %a: {matrix}) -> {type} {{ {body}\n return %v4 : {type} }}"
    assert len(steps_of(text)) == steps
    run_every_way(text, floats(rows, 4), floats(4, 4))


def test_a_fusion_of_too_many_arrays_becomes_two() -> None:
    """One fusion of all 60 operations would have 120 operands and results."""
    count, vector = 60, "tensor<7xf32>"
    body = "\n      ".join(f"%v{k} = stablehlo.reverse %a{k}, dims = [0] : {vector}" for k in range(count))
    arguments = ", ".join(f"%a{k}: {vector}" for k in range(count))
    text = f"""func.func @main({arguments}) -> ({", ".join([vector] * count)}) {{
      {body}
      return {", ".join(f"%v{k}" for k in range(count))} : {", ".join([vector] * count)}
    }}"""
    assert steps_of(text) == ["nimblehlo.step_fusion"] * 2
    run_every_way(text, *[floats(7) for _ in range(count)])


@pytest.mark.parametrize("threshold_class", ["steps", "code"])
def test_calls_wait_for_the_code_by_thresholds_of_its_own(
    threshold_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    never, at_once = cost_model.Thresholds(1e9, 1e9), cost_model.Thresholds(1e9, 0.0)
    for name in cost_model.THRESHOLDS:
        monkeypatch.setitem(cost_model.THRESHOLDS, name, at_once if name == threshold_class else never)
    compiled: list[tiers.Tiering] = []
    compile_step = tiers.Tiering.compile
    monkeypatch.setattr(
        tiers.Tiering, "compile", lambda step, operands: (compiled.append(step), compile_step(step, operands))
    )
    monkeypatch.setattr(tiers.Tiering, "needs_no_compilation", lambda step: False)
    executable = nimblehlo.compile(STEPS)
    inputs = floats(5, 6), floats(6, 4), np.array([[0], [4], [2]], np.int32), np.array(True)
    for _ in range(3):
        executable(*inputs)
    assert len(compiled) == (threshold_class == "steps")
