"""Random loops, which become native functions.

They have branches and loops inside, values that are read late or never, exchanged arrays, and updates.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

VECTOR, MATRIX, ROW, SCALAR = [f"tensor<{shape}f32>" for shape in ("36x", "6x6x", "6x", "")]
COUNT, INDEX, BIT = "tensor<i32>", "tensor<1xi32>", "tensor<i1>"
FLOATS = (VECTOR, MATRIX, ROW)
SIDE = 6
"""The size of a row in these types; a vector has as many elements as a matrix."""
LARGE_SIDES = (70, 160, 300)
"""Sides from which arrays of a native loop are updated in place, are computed by launches, and are large."""
MAX_DEPTH = 2


def random_loop(seed: int, side: int = SIDE) -> tuple[str, list[Array]]:
    """The text of a program with a loop, and its arguments.

    Args:
        side: the size of a row.
    """
    chosen = random.Random(seed)
    types = [chosen.choice(FLOATS) for _ in range(chosen.randint(2, 5))]
    # The compiler would unroll the loop if it knew how many iterations it has.
    arguments = ", ".join([f"%n: {COUNT}", *[f"%x{k}: {type}" for k, type in enumerate(types)]])
    block = _Block(chosen, [(f"%x{k}", type) for k, type in enumerate(types)], _names())
    results = block.loop(types, 0)
    returned = ", ".join(types)
    lines = "\n".join(block.lines)
    end = f"return {', '.join(results)} : {returned}"
    text = f"func.func @main({arguments}) -> ({returned}) {{\n{lines}\n{end}\n}}"
    generator = np.random.default_rng(seed)
    count = np.array(chosen.randint(2, 9), np.int32)
    shapes = {VECTOR: (side * side,), MATRIX: (side, side), ROW: (side,)}
    arrays = [generator.standard_normal(shapes[type]).astype(np.float32) for type in types]
    return _with_side(text, side), [count, *arrays]


def _with_side(text: str, side: int) -> str:
    """A program with another size of rows."""
    replaced = {
        f"tensor<{SIDE * SIDE}x": f"tensor<{side * side}x",
        f"tensor<{SIDE}x{SIDE}x": f"tensor<{side}x{side}x",
        f"tensor<{SIDE}x": f"tensor<{side}x",
        f"[2:{2 + 3 * SIDE}:3]": f"[2:{2 + 3 * side}:3]",
        f"sizes = [{SIDE}]": f"sizes = [{side}]",
    }
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def _names() -> Callable[[], str]:
    """Gives names that no other value has."""
    numbers = iter(range(1 << 30))
    return lambda: f"%v{next(numbers)}"


class _Block:
    """Text of a block, line by line.

    Args:
        values: what its operations may read: names and types.
        name: gives new names.
    """

    def __init__(self, chosen: random.Random, values: list[tuple[str, str]], name: Callable[[], str]) -> None:
        self.chosen, self.values, self.name = chosen, list(values), name
        self.lines: list[str] = []

    def any(self, type: str) -> str:
        """A value of a type: a constant where there is none, mostly one of the latest."""
        fitting = [name for name, other in self.values if other == type]
        if not fitting or self.chosen.random() < 0.03:
            number = f"{self.chosen.randint(-3, 40)}{'' if type == COUNT else '.5'}"
            return self.add(type, f"stablehlo.constant dense<{number}> : {type}")
        return self.chosen.choice(fitting[-6:] if self.chosen.random() < 0.7 else fitting)

    def add(self, type: str, text: str) -> str:
        """An operation with one result."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values.append((name, type))
        return name

    def fill(self, count: int, depth: int) -> None:
        """Add so many operations."""
        for _ in range(count):
            rules = [self.elementwise] * 6 + [self.move] * 2
            rules += [self.reduce, self.update, self.product, self.sort]
            if depth < MAX_DEPTH:
                rules += [lambda: self.branches(depth)] * 2 + [lambda: self.inner_loop(depth)] * 3
            self.chosen.choice(rules)()

    def mixed(self, type: str) -> str:
        """A value of a type, which mostly hangs on several others."""
        result = self.any(type)
        for _ in range(self.chosen.choice([0, 0, 2, 4])):
            name = self.chosen.choice(["subtract", "maximum"])
            result = self.add(type, f"stablehlo.{name} {result}, {self.any(type)} : {type}")
        return result

    def elementwise(self) -> None:
        type = self.chosen.choice(FLOATS)
        a, b, c = (self.any(type) for _ in range(3))
        name = self.chosen.choice(["add", "subtract", "maximum", "minimum", "sine", "select"])
        if name == "sine":
            self.add(type, f"stablehlo.sine {a} : {type}")
        elif name == "select":
            bits = type.replace("f32", "i1")
            compared = self.typed("stablehlo.compare LT,", [a, b], [type, type], bits)
            self.add(type, f"stablehlo.select {compared}, {c}, {b} : {bits}, {type}")
        else:
            self.add(type, f"stablehlo.{name} {a}, {b} : {type}")

    def move(self) -> None:
        vector, matrix, row = self.any(VECTOR), self.any(MATRIX), self.any(ROW)
        dimension = self.chosen.randint(0, 1)
        name, operand, type, attributes, result = self.chosen.choice(
            [
                ("reshape", vector, VECTOR, "", MATRIX),
                ("reshape", matrix, MATRIX, "", VECTOR),
                ("transpose", matrix, MATRIX, ", dims = [1, 0]", MATRIX),
                ("broadcast_in_dim", row, ROW, f", dims = [{dimension}]", MATRIX),
                ("slice", vector, VECTOR, " [2:20:3]", ROW),
                ("dynamic_slice", vector, VECTOR, ", sizes = [6]", ROW),
                ("reverse", vector, VECTOR, ", dims = [0]", ""),
                ("optimization_barrier", vector, VECTOR, "", ""),
            ]
        )
        if not result:
            self.add(type, f"stablehlo.{name} {operand}{attributes} : {type}")
        elif name == "dynamic_slice":
            self.typed(f"stablehlo.{name}", [operand, self.any(COUNT)], [type, COUNT], result, attributes)
        else:
            self.typed(f"stablehlo.{name}", [operand], [type], result, attributes)

    def reduce(self) -> None:
        operand, type, dimension, result = self.chosen.choice(
            [
                (self.any(MATRIX), MATRIX, self.chosen.randint(0, 1), ROW),
                (self.any(VECTOR), VECTOR, 0, SCALAR),
            ]
        )
        applied = f" applies stablehlo.add across dimensions = [{dimension}]"
        initial = f"({operand} init: {self.any(SCALAR)})"
        total = self.typed(f"stablehlo.reduce{initial}{applied}", [], [type, SCALAR], result)
        if result == SCALAR:
            # Totals stay small, whatever the number of iterations.
            self.add(SCALAR, f"stablehlo.sine {total} : {SCALAR}")
            self.typed("stablehlo.broadcast_in_dim", [total], [SCALAR], VECTOR, ", dims = []")

    def update(self) -> None:
        vector, row, at = self.any(VECTOR), self.any(ROW), self.any(COUNT)
        if self.chosen.random() < 0.6:
            types = [VECTOR, ROW, COUNT]
            self.typed("stablehlo.dynamic_update_slice", [vector, row, at], types, VECTOR)
            return
        index = self.typed("stablehlo.reshape", [at], [COUNT], INDEX)
        numbers = "update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 0"
        attributes = f"<{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}>"
        body = self.scalar_region("stablehlo.add {0}, {1} : " + SCALAR, SCALAR)
        start = f'"stablehlo.scatter"({vector}, {index}, {row}) {attributes} {body}'
        self.typed(start, [], [VECTOR, INDEX, ROW], VECTOR)

    def product(self) -> None:
        operands, attributes = [self.any(MATRIX), self.any(MATRIX)], ", contracting_dims = [1] x [0]"
        product = self.typed("stablehlo.dot_general", operands, [MATRIX, MATRIX], MATRIX, attributes)
        self.add(MATRIX, f"stablehlo.sine {product} : {MATRIX}")

    def sort(self) -> None:
        compared = f"stablehlo.compare LT, {{0}}, {{1}}, TOTALORDER : ({SCALAR}, {SCALAR}) -> {BIT}"
        body = self.scalar_region(compared, BIT)
        start = f'"stablehlo.sort"({self.any(VECTOR)}) {body} {{dimension = 0 : i64}}'
        self.typed(start, [], [VECTOR], VECTOR)

    def typed(
        self, start: str, operands: list[str], types: list[str], result: str, attributes: str = ""
    ) -> str:
        """An operation whose text ends with the types of its operands and of its result."""
        text = f"{start} {', '.join(operands)}{attributes} : ({', '.join(types)}) -> {result}"
        return self.add(result, text)

    def scalar_region(self, text: str, type: str) -> str:
        """A region of one operation on its two arguments, which `text` has as `{0}` and `{1}`."""
        a, b, result = self.name(), self.name(), self.name()
        lines = f"{result} = {text.format(a, b)}\nstablehlo.return {result} : {type}"
        return f"({{\n^bb0({a}: {SCALAR}, {b}: {SCALAR}):\n{lines}\n}})"

    def branches(self, depth: int) -> None:
        types = [self.chosen.choice(FLOATS) for _ in range(self.chosen.randint(1, 2))]
        index = self.any(COUNT)
        regions = []
        for _ in range(self.chosen.randint(1, 3)):
            block = _Block(self.chosen, self.values, self.name)
            block.fill(self.chosen.randint(1, 4), depth + 1)
            handed_on = [block.mixed(type) for type in types]
            lines = "\n".join([*block.lines, f"stablehlo.return {', '.join(handed_on)} : {', '.join(types)}"])
            regions.append(f"{{\n{lines}\n}}")
        text = f'"stablehlo.case"({index}) ({", ".join(regions)})'
        self._results(types, f"{text} : ({COUNT}) -> ({', '.join(types)})")

    def inner_loop(self, depth: int) -> None:
        types = [self.chosen.choice(FLOATS) for _ in range(self.chosen.randint(1, 3))]
        self.loop(types, depth + 1)

    def loop(self, types: list[str], depth: int) -> list[str]:
        """A loop that carries arrays; returns its results."""
        initial = [self.any(type) for type in types]
        zero = self.add(COUNT, f"stablehlo.constant dense<0> : {COUNT}")
        at, carried = self.name(), [self.name() for _ in types]
        arguments = zip([at, *carried], [COUNT, *types], strict=True)
        block = _Block(self.chosen, [*self.values, *arguments], self.name)
        one = block.add(COUNT, f"stablehlo.constant dense<1> : {COUNT}")
        after = block.add(COUNT, f"stablehlo.add {at}, {one} : {COUNT}")
        block.fill(self.chosen.randint(2, 20 if depth == 0 else 9), depth)
        handed_on = [after, *[block.mixed(type) for type in types]]
        all_types = ", ".join([COUNT, *types])
        limit, holds = self.name(), self.name()
        bound = f"stablehlo.constant dense<{self.chosen.randint(1, 3)}> : {COUNT}"
        if depth == 0 or self.chosen.random() < 0.5:
            bound = f"stablehlo.minimum %n, %n : {COUNT}"
        pairs = ", ".join(f"{a} = {b}" for a, b in zip([at, *carried], [zero, *initial], strict=True))
        compared = f"stablehlo.compare LT, {at}, {limit} : ({COUNT}, {COUNT}) -> {BIT}"
        cond = f"{limit} = {bound}\n{holds} = {compared}\nstablehlo.return {holds} : {BIT}"
        body = "\n".join([*block.lines, f"stablehlo.return {', '.join(handed_on)} : {all_types}"])
        text = f"stablehlo.while({pairs}) : {all_types}\ncond {{\n{cond}\n}} do {{\n{body}\n}}"
        return self._results([COUNT, *types], text)[1:]

    def _results(self, types: list[str], text: str) -> list[str]:
        name = self.name()
        self.lines.append(f"{name}:{len(types)} = {text}")
        names = [f"{name}#{number}" for number in range(len(types))]
        self.values += zip(names, types, strict=True)
        return names
