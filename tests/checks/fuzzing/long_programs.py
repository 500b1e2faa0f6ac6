"""Long random programs: hundreds to thousands of operations whose values stay finite and of useful size.

A program is a row of stages. A stage draws a recipe, operations that make an array of an array, and applies
it some
times with parameters of its own each time, as models apply their layers: equal layers are outlined, clustered
    and
compiled once. Every operation keeps values near 1 in magnitude, so that a wrong bit is neither lost in a NaN
nor in a zero. Some parameters are updated as Adam does it. Results are the updates, and values from all over
the program.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import suppress

from nimblehlo.checks.fuzzing.generator import CannotGenerate, RandomProgram, is_constant
from nimblehlo.program.ir import Value
from nimblehlo.program.ops.elementwise.comparison import ComparisonDirection
from nimblehlo.types import ELEMENT_TYPES, TensorType

from .long_values import SIZES, LongGenerator

_PRED, _INDEX = TensorType((), ELEMENT_TYPES["i1"]), TensorType((), ELEMENT_TYPES["i32"])

_UNARY = ("tanh", "logistic", "sine", "cosine", "negate", "abs", "floor", "cbrt")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


def long_program(seed: int, operations: int) -> RandomProgram:
    """A program of at least so many operations."""
    return _Long(seed).program(operations)


class _Long(LongGenerator):
    """Makes a long program.

    Attributes:
        returned: results so far.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.returned: list[Value] = []

    def program(self, operations: int) -> RandomProgram:
        states: list[Value] = []
        while self.count < operations:
            state = self.start(states)
            recipe, length = self.random.random(), self.random.choice((3, 6, 12, 20, 40))
            for _ in range(self.random.choice((1, 1, 2, 4, 8))):
                if self.count < operations:
                    state = self.layer(state, recipe, length)
            states.append(state)
        self.updates(states[-1])
        made = [one.result for one in self.g.program.block.operations if len(one.results) == 1]
        more = [value for value in made if not is_constant(value) and isinstance(value.type, TensorType)]
        self.returned += self.random.sample(more, min(len(more), self.random.choice((0, 3, 20))))
        self.g.program.returned = list(dict.fromkeys([*states, *self.returned]))
        return self.g.program

    @property
    def count(self) -> int:
        """How many operations there are, constants aside."""
        return sum(not is_constant(one.results[0]) for one in self.g.program.block.operations)

    def start(self, states: Sequence[Value]) -> Value:
        """What a stage begins with: new, or made of an earlier stage's end."""
        if states and self.random.random() < 0.7:
            value = self.random.choice(states)
            if self.random.random() < 0.5:
                with suppress(CannotGenerate):
                    self.pool = [value]
                    self.reshaped()
            return self.pool[-1] if self.pool else value
        return self.parameter(self.shape(self.random.choice((1, 2, 2, 3, 3, 4))))

    def layer(self, state: Value, recipe: float, length: int) -> Value:
        """A recipe applied once: what it draws follows from its number, and from the shapes."""
        outer = self.random
        self.random = random.Random(recipe)
        self.pool = [state]
        for _ in range(length):
            with suppress(CannotGenerate):
                self.random.choices(_MAKERS, _WEIGHTS)[0](self)
        result = self.joined(self.pool[-1], state)
        self.random = outer
        return result

    def joined(self, value: Value, like: Value) -> Value:
        """A value brought to another one's type, and added to it."""
        value = self.converted(value, self.element.name)
        if value.type.shape != like.type.shape:
            if value.type.size == like.type.size:
                value = self.op("reshape", [value], like.type.shape)
            else:
                rows, columns = max(value.type.size, 1), max(like.type.size, 1)
                if rows * columns > 1 << 16:
                    value = self.spread(
                        self.total(value, range(value.type.rank), "maximum"), like.type.shape, ()
                    )
                else:
                    flat = self.op("reshape", [value], (rows,))
                    matrix = self.parameter((rows, columns), 1 / math.sqrt(rows))
                    value = self.op("reshape", [self.dot(flat, matrix, (0,), (0,))], like.type.shape)
        return self.bounded(self.op("add", [value, self.converted(like, self.element.name)]))

    def chain(self) -> None:
        """Elementwise operations in sequence."""
        value = first = self.pick()
        for _ in range(self.random.choice((1, 2, 3, 5, 9))):
            name = self.random.choice(_UNARY + _BINARY * 2)
            if name in _UNARY:
                value = self.op(name, [value])
            elif self.random.random() < 0.4:
                value = self.by(value, round(self.random.uniform(-1, 1), 2), name)
            else:
                alike = [other for other in self.pool if other.type == value.type]
                value = self.op(name, [value, self.random.choice([first, *alike])])
        self.keep(self.bounded(value) if self.random.random() < 0.6 else self.op("sine", [value]))

    def bias(self) -> None:
        """A vector added or multiplied along one dimension."""
        value = self.pick(least=1)
        d = self.random.randrange(value.type.rank)
        vector = self.parameter((value.type.shape[d],))
        name = self.random.choice(("add", "multiply", "maximum"))
        self.keep(self.op(name, [value, self.spread(vector, value.type.shape, (d,))]))

    def product(self) -> None:
        """A product with a matrix of parameters, in one of four layouts."""
        value = self.pick(least=1)
        d = self.random.randrange(value.type.rank) if self.random.random() < 0.4 else value.type.rank - 1
        k, n = value.type.shape[d], self.random.choice(SIZES)
        is_turned, is_left = self.random.random() < 0.4, self.random.random() < 0.3
        matrix = self.parameter((n, k) if is_turned else (k, n), 1 / math.sqrt(max(k, 1)))
        at = 1 if is_turned else 0
        made = self.dot(matrix, value, (at,), (d,)) if is_left else self.dot(value, matrix, (d,), (at,))
        if self.random.random() < 0.5:
            made = self.op(
                "add",
                [
                    made,
                    self.spread(
                        self.parameter((n,)), made.type.shape, (0 if is_left else made.type.rank - 1,)
                    ),
                ],
            )
        self.keep(
            self.op(self.random.choice(("tanh", "logistic")), [made]) if self.random.random() < 0.6 else made
        )

    def gram(self) -> None:
        """A product of two values of the recipe, batched where they have three dimensions: attention's."""
        value = self.pick(least=2)
        others = [one for one in self.pool if one.type == value.type]
        other = self.random.choice(others)
        d = value.type.rank - self.random.choice((1, 2))
        scaled = self.by(value, 1 / math.sqrt(max(value.type.shape[d], 1)))
        self.keep(self.bounded(self.dot(scaled, other, (d,), (d,), value.type.rank - 2)))

    def transposed(self) -> None:
        value = self.pick(least=2)
        order = self.random.sample(range(value.type.rank), value.type.rank)
        self.keep(
            self.op("transpose", [value], [value.type.shape[d] for d in order], permutation=tuple(order))
        )

    def reshaped(self) -> None:
        value = self.pick()
        rest, sizes = value.type.size, []
        for _ in range(self.random.randrange(3)):
            size = self.random.choice([size for size in SIZES if rest % size == 0])
            sizes.append(size)
            rest //= size
        sizes.append(rest)
        self.random.shuffle(sizes)
        self.keep(self.op("reshape", [value], sizes))

    def sliced(self) -> None:
        """A slice, at times with strides, or a reversal."""
        value = self.pick(least=1)
        rank = value.type.rank
        if self.random.random() < 0.3:
            dimensions = self.random.sample(range(rank), self.random.randrange(1, rank + 1))
            self.keep(self.op("reverse", [value], dimensions=tuple(dimensions)))
            return
        starts = [self.random.randrange(max(size // 2, 1)) for size in value.type.shape]
        steps = [self.random.choice((1, 1, 1, 2)) for _ in starts]
        shape = [len(range(s, size, t)) for s, size, t in zip(starts, value.type.shape, steps, strict=True)]
        self.keep(
            self.op(
                "slice", [value], shape, start_indices=tuple(starts), limit_indices=value.type.shape,
                strides=tuple(steps),
            )
        )  # fmt: skip

    def concatenated(self) -> None:
        value = self.pick(least=1)
        d = self.random.randrange(value.type.rank)
        alike = [other for other in self.pool if other.type == value.type]
        parts = [self.random.choice(alike) for _ in range(self.random.choice((2, 2, 3)))]
        shape = list(value.type.shape)
        shape[d] *= len(parts)
        self.keep(self.op("concatenate", parts, shape, dimension=d))

    def exchanged(self) -> None:
        """What is computed of a value is read at other places: its parts in another order, or transposed."""
        value = self.pick(least=1)
        if self.random.random() < 0.7:
            # What a product makes and nothing else reads may be overwritten.
            k = value.type.shape[-1]
            matrix = self.parameter((k, k), 1 / math.sqrt(max(k, 1)))
            value = self.dot(value, matrix, (value.type.rank - 1,), (0,))
        scaled = self.by(self.op("tanh", [value]), 0.9)
        d = self.random.randrange(value.type.rank)
        size = value.type.shape[d]
        if self.random.random() < 0.5 and size > 1:
            parts = []
            for first, last in ((size // 2, size), (0, size // 2)):
                starts, limits = [0] * value.type.rank, list(value.type.shape)
                starts[d], limits[d] = first, last
                shape = [end - start for start, end in zip(starts, limits, strict=True)]
                parts.append(
                    self.op(
                        "slice", [scaled], shape, start_indices=tuple(starts), limit_indices=tuple(limits),
                        strides=(1,) * value.type.rank,
                    )
                )  # fmt: skip
            self.keep(self.op("concatenate", parts, value.type.shape, dimension=d))
            return
        order = self.random.sample(range(value.type.rank), value.type.rank)
        turned = self.op(
            "transpose", [scaled], [value.type.shape[d] for d in order], permutation=tuple(order)
        )
        self.keep(self.op("sine", [turned]))
        # Others read it, too.
        mean = self.by(self.total(turned, (0,)), 1 / max(turned.type.shape[0], 1))
        self.keep(self.op("cosine", [self.by(mean, 0.5)]))
        if self.random.random() < 0.5:
            self.keep(self.op("multiply", [scaled, value]))

    def padded(self) -> None:
        value = self.pick(least=1)
        low, high, inside = [[self.random.choice((0, 0, 1, 2)) for _ in value.type.shape] for _ in range(3)]
        inside = [min(one, 1) for one in inside]
        shape = [
            size + a + b + max(size - 1, 0) * c
            for size, a, b, c in zip(value.type.shape, low, high, inside, strict=True)
        ]
        self.keep(
            self.op(
                "pad", [value, self.literal(0.5)], shape, edge_padding_low=tuple(low),
                edge_padding_high=tuple(high), interior_padding=tuple(inside),
            )
        )  # fmt: skip

    def reduced(self) -> None:
        """A reduction, at times brought back to the operand's shape."""
        value = self.pick(least=1)
        rank = value.type.rank
        dimensions = sorted(self.random.sample(range(rank), self.random.randrange(1, rank + 1)))
        name = self.random.choice(("add", "maximum", "minimum"))
        made = self.total(value, dimensions, name)
        if name == "add":
            made = self.by(made, 1 / max(math.prod([value.type.shape[d] for d in dimensions]), 1))
        self.keep(made)
        if self.random.random() < 0.6:
            back = self.spread(made, value.type.shape, [d for d in range(rank) if d not in dimensions])
            self.keep(self.op(self.random.choice(("subtract", "multiply", "add")), [value, back]))

    def softmax(self) -> None:
        """A softmax or a layer normalization along one dimension."""
        value = self.pick(least=1)
        d = value.type.rank - 1 if self.random.random() < 0.7 else self.random.randrange(value.type.rank)
        others = [one for one in range(value.type.rank) if one != d]
        shape, size = value.type.shape, max(value.type.shape[d], 1)
        if self.random.random() < 0.5:
            shifted = self.op(
                "subtract", [value, self.spread(self.total(value, (d,), "maximum"), shape, others)]
            )
            powers = self.op("exponential", [shifted])
            self.keep(self.op("divide", [powers, self.spread(self.total(powers, (d,)), shape, others)]))
            return
        mean = self.by(self.total(value, (d,)), 1 / size)
        centred = self.op("subtract", [value, self.spread(mean, shape, others)])
        square = self.by(self.total(self.op("multiply", [centred, centred]), (d,)), 1 / size)
        scale = self.op("rsqrt", [self.by(square, 0.1, "add")])
        self.keep(self.op("multiply", [centred, self.spread(scale, shape, others)]))

    def convolved(self) -> None:
        """A convolution along the middle dimensions: [batch, ..., channel]."""
        value = self.pick(least=3)
        spatial, outputs = value.type.rank - 2, self.random.choice((1, 3, 4, 8, 16))
        size, channels = self.random.choice((1, 2, 3)), value.type.shape[-1]
        kernel = self.parameter(
            (*[size] * spatial, channels, outputs), 1 / math.sqrt(channels * size**spatial)
        )
        middle = tuple(range(1, spatial + 1))
        self.keep(
            self.op(
                "convolution", [value, kernel], (*value.type.shape[:-1], outputs),
                window_strides=(1,) * spatial, padding=((size // 2, (size - 1) // 2),) * spatial,
                lhs_dilation=(1,) * spatial, rhs_dilation=(1,) * spatial, window_reversal=(False,) * spatial,
                input_batch_dimension=0, input_feature_dimension=spatial + 1, input_spatial_dimensions=middle,
                kernel_input_feature_dimension=spatial, kernel_output_feature_dimension=spatial + 1,
                kernel_spatial_dimensions=tuple(range(spatial)), output_batch_dimension=0,
                output_feature_dimension=spatial + 1, output_spatial_dimensions=middle,
                feature_group_count=1, batch_group_count=1,
            )
        )  # fmt: skip

    def gathered(self) -> None:
        """Rows at indices, or updates of rows there, which may be the same ones."""
        value = self.pick(least=1)
        rows, *rest = value.type.shape
        count = self.random.choice((1, 3, 8, 17))
        indices, window = self.integers((count, 1), rows), tuple(range(1, value.type.rank))
        if self.random.random() < 0.5:
            self.keep(
                self.g.add(
                    "stablehlo.gather", [value, indices], [value.type.with_shape((count, *rest))],
                    offset_dims=window, collapsed_slice_dims=(0,), operand_batching_dims=(),
                    start_indices_batching_dims=(), start_index_map=(0,), index_vector_dim=1,
                    slice_sizes=(1, *rest), indices_are_sorted=False,
                )[0]
            )  # fmt: skip
            return
        scalar = value.type.with_shape(())
        name = self.random.choice(("add", "maximum"))
        body = self.g.region([scalar] * 2, lambda a, b: self.g.add(f"stablehlo.{name}", [a, b], [scalar]))
        updates = self.parameter((count, *rest), 0.3)
        made = self.g.add(
            "stablehlo.scatter", [value, indices, updates], [value.type], [body],
            update_window_dims=window, inserted_window_dims=(0,), input_batching_dims=(),
            scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
            indices_are_sorted=False, unique_indices=False,
        )[0]  # fmt: skip
        self.keep(self.bounded(made))

    def windowed(self) -> None:
        """A dynamic slice, or an update of one, at a place that an array's values tell."""
        value = self.pick(least=1)
        sizes = [max(1, size // self.random.choice((1, 2, 3))) for size in value.type.shape]
        greatest = self.total(value, range(value.type.rank), "maximum")
        place = self.converted(self.by(greatest, 3.0), "i32")
        starts = [place] + [self.literal(1, _INDEX.element_type) for _ in sizes[1:]]
        if self.random.random() < 0.5:
            self.keep(self.op("dynamic_slice", [value, *starts], sizes, slice_sizes=tuple(sizes)))
        else:
            update = self.parameter(sizes)
            self.keep(self.g.add("stablehlo.dynamic_update_slice", [value, update, *starts], [value.type])[0])

    def chosen(self) -> None:
        """A choice of elements by a comparison, or of branches by one element."""
        value = self.pick()
        alike = [other for other in self.pool if other.type == value.type]
        other = self.random.choice(alike)
        if self.random.random() < 0.6:
            kind = value.type.with_element_type(_PRED.element_type)
            direction = ComparisonDirection(self.random.choice(("LT", "GE")))
            halved = self.by(other, 0.5)
            (mask,) = self.g.add("stablehlo.compare", [value, halved], [kind], comparison_direction=direction)
            self.keep(self.g.add("stablehlo.select", [mask, value, other], [value.type])[0])
            return
        total = self.total(value, range(value.type.rank))
        (pred,) = self.g.add(
            "stablehlo.compare",
            [total, self.literal(0)],
            [_PRED],
            comparison_direction=ComparisonDirection.GT,
        )
        branches = [
            self.g.region([], lambda: [self.op("tanh", [self.op("add", [value, other])])], captures=True),
            self.g.region([], lambda: [self.op("sine", [value])], captures=True),
        ]
        self.keep(self.g.add("stablehlo.if", [pred], [value.type], branches)[0])

    def looped(self) -> None:
        """A small loop that carries an array, and one of which it updates rows."""
        value = self.pick(rank=2)
        rounds, (rows, columns) = self.random.choice((1, 2, 5, 9)), value.type.shape
        matrix = self.parameter((columns, columns), 1 / math.sqrt(columns))
        records = self.spread(self.literal(0), (rounds, columns), ())
        types = [_INDEX, value.type, records.type]
        updates = self.random.random() < 0.6

        def goes_on(index: Value, *_: Value) -> list[Value]:
            limit = self.literal(rounds, _INDEX.element_type)
            return self.g.add(
                "stablehlo.compare", [index, limit], [_PRED], comparison_direction=ComparisonDirection.LT
            )

        def step(index: Value, state: Value, records: Value) -> list[Value]:
            state = self.op("tanh", [self.dot(state, matrix, (1,), (0,))])
            if updates:
                row = self.by(self.total(state, (0,)), 1 / rows)
                row, zero = self.op("reshape", [row], (1, columns)), self.literal(0, _INDEX.element_type)
                operands = [records, row, index, zero]
                (records,) = self.g.add("stablehlo.dynamic_update_slice", operands, [records.type])
            one = self.literal(1, _INDEX.element_type)
            return [self.g.add("stablehlo.add", [index, one], [_INDEX])[0], state, records]

        start = self.literal(0, _INDEX.element_type)
        regions = [self.g.region(types, goes_on), self.g.region(types, step, captures=True)]
        _, state, records = self.g.add("stablehlo.while", [start, value, records], types, regions)
        self.keep(records)
        self.keep(state)

    def sorted(self) -> None:
        """A sort, or running sums, along the last dimension."""
        value = self.pick(least=1)
        scalar, d = value.type.with_shape(()), value.type.rank - 1
        size = value.type.shape[d]
        if self.random.random() < 0.5:
            direction = ComparisonDirection(self.random.choice(("LT", "GT")))
            body = self.g.region(
                [scalar] * 2,
                lambda a, b: self.g.add("stablehlo.compare", [a, b], [_PRED], comparison_direction=direction),
            )
            self.keep(
                self.g.add("stablehlo.sort", [value], [value.type], [body], dimension=d, is_stable=True)[0]
            )
            return
        body = self.g.region([scalar] * 2, lambda a, b: self.g.add("stablehlo.add", [a, b], [scalar]))
        ones = (1,) * value.type.rank
        made = self.g.add(
            "stablehlo.reduce_window", [value, self.literal(0)], [value.type], [body],
            window_dimensions=(*ones[1:], size), window_strides=ones, base_dilations=ones,
            window_dilations=ones, padding=(*[(0, 0)] * d, (size - 1, 0)),
        )[0]  # fmt: skip
        self.keep(self.by(made, 1 / max(size, 1)))

    def narrowed(self) -> None:
        """Some work in another type of floats."""
        value = self.converted(self.pick(), self.random.choice(("bf16", "f16", "f64", "f32")))
        value = self.op("multiply", [value, value])
        self.keep(self.converted(self.op(self.random.choice(("tanh", "negate")), [value]), self.element.name))

    def updates(self, state: Value) -> None:
        """Adam's update of many parameters; their gradients come of the parameters and of one number."""
        factor = self.total(state, range(state.type.rank), "maximum")
        count = self.random.choice((0, 10, 30, 100, 300))
        for parameter in self.random.sample(self.parameters, min(count, len(self.parameters))):
            kind = parameter.type
            if kind.element_type != self.element or kind.size > self.most:
                continue
            gradient = self.op(
                "multiply", [self.op("sine", [parameter]), self.spread(factor, kind.shape, ())]
            )
            mean, square = self.parameter(kind.shape, 0.1), self.op("abs", [self.parameter(kind.shape, 0.1)])
            mean = self.op("add", [self.by(mean, 0.9), self.by(gradient, 0.1)])
            square = self.op(
                "add", [self.by(square, 0.99), self.by(self.op("multiply", [gradient, gradient]), 0.01)]
            )
            root = self.by(self.op("sqrt", [square]), 1e-3, "add")
            step = self.by(self.op("divide", [mean, root]), 0.01)
            self.returned += [self.op("subtract", [parameter, step]), mean, square]


_RECIPES: list[tuple[float, Callable[[_Long], None]]] = [
    (5, _Long.chain),
    (2, _Long.bias),
    (3, _Long.product),
    (1.5, _Long.gram),
    (2, _Long.transposed),
    (1.5, _Long.reshaped),
    (1, _Long.sliced),
    (0.7, _Long.concatenated),
    (1, _Long.exchanged),
    (0.5, _Long.padded),
    (2, _Long.reduced),
    (1.5, _Long.softmax),
    (0.7, _Long.convolved),
    (1, _Long.gathered),
    (0.8, _Long.windowed),
    (1, _Long.chosen),
    (0.8, _Long.looped),
    (1, _Long.sorted),
    (0.5, _Long.narrowed),
]
_WEIGHTS, _MAKERS = zip(*_RECIPES, strict=True)
