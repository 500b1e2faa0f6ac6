"""Values and operations of long programs, which stay near 1 in magnitude."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from nimblehlo.checks.fuzzing.generator import CannotGenerate
from nimblehlo.program.ir import Value
from nimblehlo.types import ELEMENT_TYPES, TensorType

from .programs import CampaignGenerator

SIZES = (1, 2, 3, 4, 5, 7, 8, 8, 12, 16, 16, 17, 24, 31, 32, 32, 33, 48, 64, 64, 65, 96, 128)
MOST_ELEMENTS = (1 << 10, 1 << 14, 1 << 14, 1 << 16)
"""Most elements of an array, for a program one of these: fusions take moves of 2^15 elements and more."""
_TYPES = ("f32",) * 9 + ("f64",)


class LongGenerator:
    """Makes values and operations of long programs.

    Attributes:
        g: appends operations.
        random: decides.
        element: the type of most values.
        pool: the values that a recipe may use, of which the first one is what it is applied to.
        parameters: all arrays that the program is called with.
        most: elements of a stage's first array, at most; operations may make up to four times as many.
    """

    def __init__(self, seed: int) -> None:
        self.g = CampaignGenerator(seed, large=True)
        self.random = random.Random(seed)
        self.most = self.random.choice(MOST_ELEMENTS)
        self.g.largest = 8 * self.most
        self.element = ELEMENT_TYPES[self.random.choice(_TYPES)]
        self.pool: list[Value] = []
        self.parameters: list[Value] = []

    def shape(self, rank: int) -> tuple[int, ...]:
        sizes: list[int] = []
        for _ in range(rank):
            size = self.random.choice(SIZES)
            sizes.append(size if math.prod(sizes) * size <= self.most else 1)
        return tuple(sizes)

    def parameter(self, shape: Sequence[int], scale: float = 1.0, element: str | None = None) -> Value:
        """A new array of normal values."""
        kind = TensorType(tuple(shape), ELEMENT_TYPES[element or self.element.name])
        values = self.g.np_random.standard_normal(kind.shape) * scale
        made = self.g.constant(kind, values.astype(kind.dtype))
        self.parameters.append(made)
        return made

    def integers(self, shape: Sequence[int], limit: int) -> Value:
        """New indices below a limit, some of them repeated."""
        kind = TensorType(tuple(shape), ELEMENT_TYPES["i32"])
        return self.g.constant(kind, self.g.np_random.integers(0, max(limit, 1), kind.shape))

    def literal(self, number: float, element: Any = None) -> Value:
        """A constant of the program's text."""
        kind = TensorType((), element or self.element)
        return self.g.constant(kind, np.array(number, kind.dtype))

    def pick(self, rank: int | None = None, least: int = 0) -> Value:
        """A value of the recipe, the last ones more often."""
        found = [
            value
            for value in self.pool
            if value.type.element_type == self.element
            and value.type.rank >= least
            and (rank is None or value.type.rank == rank)
        ]
        if not found:
            raise CannotGenerate("none")
        return self.random.choice(found[-3:] if self.random.random() < 0.7 else found)

    def keep(self, value: Value) -> Value:
        self.pool.append(value)
        return value

    def op(
        self, name: str, operands: Sequence[Value], shape: Sequence[int] | None = None, **attributes: Any
    ) -> Value:
        kind = operands[0].type if shape is None else operands[0].type.with_shape(tuple(shape))
        if kind.size > 4 * self.most:
            raise CannotGenerate("large")
        return self.g.add(f"stablehlo.{name}", operands, [kind], **attributes)[0]

    def converted(self, value: Value, element: str) -> Value:
        kind = value.type.with_element_type(ELEMENT_TYPES[element])
        return value if kind == value.type else self.g.add("stablehlo.convert", [value], [kind])[0]

    def spread(self, value: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
        return self.op("broadcast_in_dim", [value], shape, broadcast_dimensions=tuple(dimensions))

    def by(self, value: Value, number: float, name: str = "multiply") -> Value:
        """A value times a number, or another operation with it."""
        return self.op(
            name, [value, self.spread(self.literal(number, value.type.element_type), value.type.shape, ())]
        )

    def total(self, value: Value, dimensions: Sequence[int], name: str = "add") -> Value:
        """The reduction over some dimensions."""
        scalar = value.type.with_shape(())
        kept = [size for d, size in enumerate(value.type.shape) if d not in dimensions]
        start = self.literal({"maximum": -math.inf, "minimum": math.inf}.get(name, 0.0), scalar.element_type)
        body = self.g.region([scalar] * 2, lambda a, b: self.g.add(f"stablehlo.{name}", [a, b], [scalar]))
        result = value.type.with_shape(tuple(kept))
        return self.g.add("stablehlo.reduce", [value, start], [result], [body], dimensions=tuple(dimensions))[
            0
        ]

    def bounded(self, value: Value) -> Value:
        """A value brought near 1 in magnitude."""
        if self.random.random() < 0.5 or not value.type.size:
            return self.op("tanh", [value])
        all_of_it = range(value.type.rank)
        largest = self.by(self.total(self.op("abs", [value]), all_of_it, "maximum"), 0.1, "add")
        return self.op("divide", [value, self.spread(largest, value.type.shape, ())])

    def dot(self, lhs: Value, rhs: Value, left: Sequence[int], right: Sequence[int], batch: int = 0) -> Value:
        """A product; the first `batch` dimensions of both go together."""
        own = [size for d, size in enumerate(lhs.type.shape) if d not in left]
        shape = [*own, *[size for d, size in enumerate(rhs.type.shape) if d not in right and d >= batch]]
        return self.op(
            "dot_general", [lhs, rhs], shape,
            lhs_batching_dimensions=tuple(range(batch)), rhs_batching_dimensions=tuple(range(batch)),
            lhs_contracting_dimensions=tuple(left), rhs_contracting_dimensions=tuple(right),
        )  # fmt: skip
