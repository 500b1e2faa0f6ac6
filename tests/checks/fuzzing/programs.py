"""Random programs of the campaigns: those of `nimblehlo fuzz`, larger ones, and ones of chosen sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nimblehlo.checks.fuzzing.generator import Generator, RandomProgram
from nimblehlo.checks.fuzzing.programs import PRODUCERS, grow_program
from nimblehlo.checks.fuzzing.tensor_values import TensorValue as Value
from nimblehlo.types import ElementType, TensorType

from . import not_interpreted, quantized

MAX_ELEMENTS = 20_000
"""Maximum number of elements of a tensor of a large program, which the interpreter does not run."""

_SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 33, 64, 65, 100, 128, 200, 257, 512, 1000, 4099)
_LARGE_PRODUCERS = [*PRODUCERS, *quantized.PRODUCERS, *not_interpreted.PRODUCERS]


def random_program(seed: int, large: bool = False, sizes: Sequence[int] = ()) -> RandomProgram:
    """A program of one to twelve operations and what they need.

    Args:
        seed: of the program.
        large, sizes: see `CampaignGenerator`; large programs have operations that the interpreter lacks.
    """
    return grow_program(CampaignGenerator(seed, large, sizes), _LARGE_PRODUCERS if large else PRODUCERS)


class CampaignGenerator(Generator):
    """Draws larger tensors, or tensors of chosen sizes.

    Args:
        seed: of the program.
        large: whether tensors are large and bodies any expressions, only for comparing modes of execution.
        sizes: dimension sizes that are often drawn; with any, operands are often views.
    """

    def __init__(self, seed: int, large: bool = False, sizes: Sequence[int] = ()) -> None:
        super().__init__(seed)
        self.sizes = sizes
        if large:
            self.large, self.largest = True, MAX_ELEMENTS

    def size(self) -> int:
        if self.sizes and self.chance(0.6):
            return self.random.choice(self.sizes)
        if not self.large:
            return super().size()
        return self.random.choice(_SIZES) if self.chance(0.97) else 0

    def operand(self, type: TensorType) -> Value:
        if self.sizes and not self.in_region and self.chance(0.4):
            view = _as_view(self, type)
            if view is not None:
                return view
        return super().operand(type)


def _as_view(g: Generator, type: TensorType) -> Value | None:
    """A tensor of a type that another one is moved to; None of rank 0, and of quantized types."""
    rank = type.rank
    if not rank or not isinstance(type.element_type, ElementType):
        return None
    kind = g.random.choice(("transpose", "slice", "reverse", "broadcast"))
    if kind == "transpose":
        order = g.random.sample(range(rank), rank)
        source = [0] * rank
        for dimension, operand_dim in enumerate(order):
            source[operand_dim] = type.shape[dimension]
        operand = g.constant(type.with_shape(source))
        return g.add("stablehlo.transpose", [operand], [type], permutation=tuple(order))[0]
    if kind == "slice":
        steps = [g.random.choice((1, 1, 2, 3)) for _ in type.shape]
        starts = [g.random.choice((0, 1, 2)) for _ in type.shape]
        limits = [start + max(size - 1, 0) * step + (size > 0) for start, size, step
                  in zip(starts, type.shape, steps, strict=True)]  # fmt: skip
        operand = g.constant(type.with_shape([limit + g.random.choice((0, 1)) for limit in limits]))
        bounds: dict[str, Any] = {
            "start_indices": tuple(starts),
            "limit_indices": tuple(limits),
            "strides": tuple(steps),
        }
        return g.add("stablehlo.slice", [operand], [type], **bounds)[0]
    if kind == "reverse":
        dimensions = tuple(g.random.sample(range(rank), g.random.randrange(1, rank + 1)))
        return g.add("stablehlo.reverse", [g.constant(type)], [type], dimensions=dimensions)[0]
    operand_dims = sorted(g.random.sample(range(rank), g.random.randrange(rank)))
    operand = g.constant(type.with_shape([type.shape[dimension] for dimension in operand_dims]))
    return g.add("stablehlo.broadcast_in_dim", [operand], [type], broadcast_dimensions=tuple(operand_dims))[0]
