"""Layers that become calls of one function: which do, and that results and plans stay the same."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.api import Executable
from nimblehlo.compiler.plan.implementations import contraction_kernels
from nimblehlo.compiler.specialize import specialize
from nimblehlo.compiler.specialize.framework.constant_arguments import constant_arguments
from nimblehlo.compiler.specialize.outlining import repeated_subgraphs
from nimblehlo.kernels.matmul import matmul
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.framework.verify import verify
from tests.support.running import MODES, same_bits

SQUARE, ROW, COUNT = "tensor<8x8xf32>", "tensor<8xf32>", "tensor<f32>"


@pytest.fixture(autouse=True)
def _small_layers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nimblehlo.compiler.specialize.stages.MIN_OUTLINED_OPERATIONS", 0)
    monkeypatch.setattr(repeated_subgraphs, "MIN_SUBGRAPH_OPERATIONS", 4)
    monkeypatch.setattr(repeated_subgraphs, "MIN_SAVED_OPERATIONS", 8)
    monkeypatch.setattr(repeated_subgraphs, "MIN_PRODUCT_SIZE", 64)


class Text:
    """A program of values of three shapes, written line by line.

    Attributes:
        lines: so far.
        arguments: types of the arguments.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arguments: list[str] = []

    def argument(self, type: str) -> str:
        """The name of a new argument."""
        self.arguments.append(type)
        return f"%arg{len(self.arguments) - 1}"

    def line(self, operation: str) -> str:
        """The name of what an operation makes."""
        self.lines.append(f"  %{len(self.lines)} = {operation}")
        return f"%{len(self.lines) - 1}"

    def add(self, lhs: str, rhs: str, name: str = "add") -> str:
        return self.line(f"stablehlo.{name} {lhs}, {rhs} : {SQUARE}")

    def apply(self, name: str, operand: str) -> str:
        return self.line(f"stablehlo.{name} {operand} : {SQUARE}")

    def product(self, lhs: str, rhs: str) -> str:
        dimensions = "contracting_dims = [1] x [0]"
        return self.line(
            f"stablehlo.dot_general {lhs}, {rhs}, {dimensions} : ({SQUARE}, {SQUARE}) -> {SQUARE}"
        )

    def transpose(self, operand: str) -> str:
        return self.line(f"stablehlo.transpose {operand}, dims = [1, 0] : ({SQUARE}) -> {SQUARE}")

    def spread(self, row: str, dimension: int) -> str:
        return self.line(f"stablehlo.broadcast_in_dim {row}, dims = [{dimension}] : ({ROW}) -> {SQUARE}")

    def constant(self, value: float) -> str:
        return self.line(f"stablehlo.constant dense<{value:e}> : {SQUARE}")

    def sums(self, operand: str) -> str:
        """Sums of rows."""
        zero = self.line(f"stablehlo.constant dense<0.000000e+00> : {COUNT}")
        return self.line(
            f"stablehlo.reduce({operand} init: {zero}) applies stablehlo.add across dimensions = [1] "
            f": ({SQUARE}, {COUNT}) -> {ROW}"
        )

    def module(self, *results: str) -> str:
        """The program that returns squares."""
        types = ", ".join([SQUARE] * len(results))
        arguments = ", ".join(f"%arg{number}: {type}" for number, type in enumerate(self.arguments))
        lines = "\n".join([*self.lines, f"  return {', '.join(results)} : {types}"])
        return f"func.func @main({arguments}) -> ({types}) {{\n{lines}\n}}\n"

    def inputs(self, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        """Values of the arguments."""
        generator = np.random.default_rng(seed)
        shapes = {SQUARE: (8, 8), ROW: (8,), COUNT: ()}
        return [generator.uniform(-1, 1, shapes[type]).astype(np.float32) for type in self.arguments]


def layer(text: Text, x: str, row: str) -> str:
    """A layer of ten operations, with weights of its own and a row and a constant that all share."""
    hidden = text.apply("tanh", text.add(text.product(x, text.argument(SQUARE)), text.spread(row, 1)))
    scaled = text.add(hidden, text.constant(0.5), "multiply")
    total = text.spread(text.sums(scaled), 0)
    return text.add(x, text.add(scaled, total, "subtract"))


def model(count: int) -> tuple[Text, str]:
    text = Text()
    x, row = text.argument(SQUARE), text.argument(ROW)
    for _ in range(count):
        x = layer(text, x, row)
    return text, x


def called(text: str) -> Function:
    module = parse(text)
    verify(module)
    return specialize(module, "main", outlines_subgraphs=True)


def names(function: Function) -> list[str]:
    assert function.body is not None
    return [operation.name.partition(".")[2] for operation in function.body.block.operations]


def assert_nothing_changes(text: str, inputs: list[np.ndarray[Any, Any]]) -> None:
    """Results have the same bits in all modes, and plans are equal except for numbers of slots."""

    class Flat(Executable):
        _outlines_subgraphs = False

    for mode, options in MODES.items():
        module = nimblehlo.load(text)
        made, flat = Executable(module, "main", options), Flat(module, "main", options)
        for got, want in zip(made(*inputs), flat(*inputs), strict=True):
            assert same_bits(got, want), mode


def test_layers_are_calls_of_one_function() -> None:
    text, x = model(6)
    made = called(text.module(x))
    (callee,) = made.callees
    assert names(made).count("call") >= 5 and callee.name == "layer_0"
    assert names(callee).count("dot_general") == 1 and "call" not in names(callee)
    assert_nothing_changes(text.module(x), text.inputs())


def test_plans_have_the_steps_of_the_layers() -> None:
    text, x = model(6)
    module = nimblehlo.load(text.module(x))
    made = nimblehlo.compile(module)
    plan, program = made.explain("plan"), made.explain("program")
    assert plan.count("stablehlo.dot_general (") == 6 and "func.call" not in plan
    assert program.count("func.func private @layer_0") == 1 and program.count("@layer_0") >= 6


def test_constants_and_broadcasts_are_outlined() -> None:
    text, x = model(6)
    (callee,) = called(text.module(x)).callees
    assert callee.body is not None
    types = [str(argument.type) for argument in callee.body.block.arguments]
    assert sorted(types) == sorted([ROW, SQUARE, SQUARE]), types
    assert {"constant", "broadcast_in_dim"} <= set(names(callee))


@pytest.mark.parametrize(("kept", "packed"), [(2, 6 + 4 + 4), (6, 6)])
def test_each_call_packs_its_own_constant(
    kept: int, packed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers share their steps; the weights that they are called with are constants. What cannot be kept is
    packed at each call."""
    monkeypatch.setattr(contraction_kernels, "_MAX_CONSTANT_BYTES", kept * 256 * 256 * 4)
    rows, weights = "tensor<16x256xf32>", "tensor<256x256xf32>"
    lines = [f"%w{n} = stablehlo.constant dense<{(n + 1) * 1e-3:e}> : {weights}" for n in range(6)]
    x = "%x"
    for number in range(6):
        lines += [
            f"%p{number} = stablehlo.dot_general {x}, %w{number}, contracting_dims = [1] x [0]"
            f" : ({rows}, {weights}) -> {rows}",
            f"%t{number} = stablehlo.tanh %p{number} : {rows}",
            f"%s{number} = stablehlo.add %t{number}, {x} : {rows}",
            f"%x{number} = stablehlo.sine %s{number} : {rows}",
        ]
        x = f"%x{number}"
    body = "\n".join(lines)
    text = f"func.func @main(%x: {rows}) -> {rows} {{\n{body}\nreturn {x} : {rows}\n}}"
    function = called(text)
    (callee,) = function.callees
    assert callee.body is not None
    arguments = constant_arguments(function)
    assert [str(each.type) for each in arguments] == [weights] and arguments < {*callee.body.block.arguments}
    made: list[Any] = []
    constant_product = matmul.ConstantProduct

    def make(threads: int | None) -> Any:
        made.append(constant_product(threads))
        return made[-1]

    monkeypatch.setattr(matmul, "ConstantProduct", make)
    operand = np.random.default_rng(0).standard_normal((16, 256), np.float32)
    expected = nimblehlo.execute(text, [operand], options=Options(reference=True))
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert all(same_bits(executable(operand)[0], expected[0]) for _ in range(3))
    assert len(made) == packed


def test_an_argument_is_constant_if_it_is_in_all_calls() -> None:
    text, x = model(6)
    assert not constant_arguments(called(text.module(x)))


def test_one_value_may_be_shared_and_the_first_layer_s_own() -> None:
    """What the first layer takes in turn is what all of them take a move of."""
    text = Text()
    x = first = text.argument(SQUARE)
    turned = text.transpose(first)
    for _ in range(6):
        x = text.add(x, text.apply("tanh", text.add(text.product(x, text.argument(SQUARE)), turned)))
    made = called(text.module(x))
    assert len(made.callees) == 1
    assert_nothing_changes(text.module(x), text.inputs())


@pytest.mark.parametrize("turned", [False, True])
def test_what_the_program_returns_is_returned(turned: bool) -> None:
    """A transpose of it is made behind the call."""
    text = Text()
    x, row = text.argument(SQUARE), text.argument(ROW)
    outputs = []
    for _ in range(6):
        x = layer(text, x, row)
        outputs.append(text.transpose(text.apply("abs", x)) if turned else text.apply("abs", x))
    made = called(text.module(x, *outputs))
    (callee,) = made.callees
    assert len(callee.type.results) == 2 and "transpose" not in names(callee)
    assert_nothing_changes(text.module(x, *outputs), text.inputs())


def test_layers_whose_values_are_kept_for_later_stay() -> None:
    text = Text()
    x, row = text.argument(SQUARE), text.argument(ROW)
    kept = []
    for _ in range(6):
        kept.append(x)
        x = layer(text, x, row)
    for value in reversed(kept):
        x = text.add(x, value)
    assert not called(text.module(x)).callees


def test_moves_between_layers_are_made_again() -> None:
    """What stands before the product at which a layer begins, and moves what the layer before made."""
    text = Text()
    x, row = text.argument(SQUARE), text.argument(ROW)
    for _ in range(6):
        turned = text.transpose(x)
        spread = text.spread(row, 0)
        x = text.add(text.product(x, text.argument(SQUARE)), text.add(turned, spread))
        x = text.apply("tanh", text.apply("abs", x))
    made = called(text.module(x))
    (callee,) = made.callees
    assert callee.body is not None
    assert len(callee.body.block.arguments) == 3 and len(callee.type.results) == 1
    assert {"transpose", "broadcast_in_dim"} <= set(names(callee))
    assert_nothing_changes(text.module(x), text.inputs())


def test_different_moves_stay_outside() -> None:
    """Each second layer has another kind of rows and columns."""
    text = Text()
    x = text.argument(SQUARE)
    rows = [text.spread(text.argument(ROW), number % 2) for number in range(6)]
    for row in rows:
        x = text.apply("tanh", text.add(text.product(x, text.argument(SQUARE)), row))
        x = text.apply("tanh", text.apply("abs", x))
    (callee,) = called(text.module(x)).callees
    assert "broadcast_in_dim" not in names(callee)
    assert_nothing_changes(text.module(x), text.inputs())


def test_what_only_the_next_layer_uses_is_returned() -> None:
    text = Text()
    x, y = text.argument(SQUARE), text.argument(SQUARE)
    for _ in range(6):
        product = text.apply("tanh", text.add(text.product(x, text.argument(SQUARE)), y))
        x, y = text.apply("abs", product), text.apply("negate", product)
    made = called(text.module(x))
    (callee,) = made.callees
    assert len(callee.type.results) == 2
    assert_nothing_changes(text.module(x), text.inputs())


def test_layers_that_take_other_values_stay() -> None:
    """The fourth one adds to what the layer before the last one gave."""
    text = Text()
    before = x = text.argument(SQUARE)
    for number in range(9):
        taken = before if number == 3 else x
        product = text.product(x, text.argument(SQUARE))
        before, x = x, text.add(text.apply("tanh", text.apply("abs", text.apply("floor", product))), taken)
    made = called(text.module(x))
    assert len(made.callees) == 1 and names(made).count("dot_general") >= 1
    assert_nothing_changes(text.module(x), text.inputs())


def test_two_kinds_of_layers_are_two_functions() -> None:
    text, x = model(5)
    for _ in range(5):
        x = text.product(x, text.argument(SQUARE))
        for name in ("tanh", "abs", "negate", "floor", "tanh"):
            x = text.apply(name, x)
    made = called(text.module(x))
    assert [callee.name for callee in made.callees] == ["layer_0", "layer_1"]
    assert_nothing_changes(text.module(x), text.inputs())


@pytest.mark.parametrize("least", ["MIN_SUBGRAPH_OPERATIONS", "MIN_SAVED_OPERATIONS", "MIN_PRODUCT_SIZE"])
def test_small_layers_stay(monkeypatch: pytest.MonkeyPatch, least: str) -> None:
    monkeypatch.setattr(repeated_subgraphs, least, 1000)
    text, x = model(6)
    assert not called(text.module(x)).callees


def test_short_programs_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    text, x = model(6)
    monkeypatch.setattr("nimblehlo.compiler.specialize.stages.MIN_OUTLINED_OPERATIONS", 1000)
    assert not called(text.module(x)).callees


def test_layers_are_called_only_where_that_is_asked_for() -> None:
    text, x = model(6)
    module = parse(text.module(x))
    assert not specialize(module, "main").callees


def test_what_calls_share_is_compiled_and_counted_together() -> None:
    """Steps of a function's calls are one object, whose cost is that of all calls."""
    from nimblehlo.compiler.implementation import Cost, Implementation, Prepared
    from nimblehlo.compiler.plan.tiering.tiers import Tiering, share_profiles

    class Code(Implementation):
        key = "code"

        def cost(self) -> Cost:
            return Cost(1e-3, compile_seconds=1.0)

    function, other = (Tiering(Prepared(lambda: None), Code()) for _ in range(2))
    share_profiles([function, other, function, function])
    assert function.profile is other.profile and function.profile.expected == pytest.approx(4e-3)


def random_model(seed: int) -> tuple[str, list[np.ndarray[Any, Any]]]:
    """Layers of random operations on what the layer before made, weights, and values from far away."""
    generator = random.Random(seed)
    text = Text()
    shared = [text.argument(SQUARE) for _ in range(2)]
    row = text.argument(ROW)
    carried = [text.argument(SQUARE), text.apply("tanh", shared[0])]
    form = generator.randrange(1 << 30)
    kept: list[str] = []
    for number in range(generator.randrange(7, 10)):
        choices = random.Random(form)
        if seed % 2 == 0 and generator.random() < 0.15:
            choices = generator
        values = [text.product(choices.choice(carried), text.argument(SQUARE)), *carried, *shared]
        for _ in range(choices.randrange(4, 12)):
            kind = choices.randrange(8)
            value = choices.choice(values)
            if kind < 2:
                made = text.add(value, choices.choice(values), choices.choice(["add", "multiply", "maximum"]))
            elif kind == 2:
                made = text.apply(choices.choice(["tanh", "negate", "abs"]), value)
            elif kind == 3:
                made = text.transpose(value)
            elif kind == 4:
                made = text.add(value, text.spread(row, choices.randrange(2)))
            elif kind == 5:
                made = text.spread(text.sums(value), choices.randrange(2))
            elif kind == 6:
                made = text.add(value, text.constant(choices.choice([0.0, 1.0, 0.25])), "multiply")
            else:
                made = text.product(value, choices.choice([text.argument(SQUARE), *shared]))
            values.append(made)
        total = values[0]
        for value in values[5:]:
            total = text.add(total, value)
        carried = [text.apply("tanh", total), text.apply("tanh", choices.choice(values))]
        if number % 3 == 0:
            kept.append(values[0])
    results = generator.sample([*carried, *kept], 2)
    return text.module(*results), text.inputs(seed)


SEEDS = range(40)


@pytest.mark.sampled(share=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_layers(seed: int) -> None:
    assert_nothing_changes(*random_model(seed))


def test_random_layers_are_called() -> None:
    """Those of which nothing is known beforehand, nor needless."""
    assert sum(bool(called(random_model(seed)[0]).callees) for seed in SEEDS) >= len(SEEDS) // 2


def test_layers_with_effects_stay() -> None:
    text = Text()
    x = text.argument(SQUARE)
    for _ in range(6):
        x = text.apply("tanh", text.product(x, text.argument(SQUARE)))
        x = text.apply("negate", text.apply("abs", x))
        text.lines.append(f"  check.expect_eq {x}, {x} : {SQUARE}")
    assert not called(text.module(x)).callees
