"""A random program for a seed."""

from __future__ import annotations

from . import contracting, control, elementwise, indexing, movement, windows
from .generator import Generator, Program, Unsuitable, is_constant

_PRODUCERS = [
    entry
    for module in (elementwise, movement, indexing, windows, contracting, control)
    for entry in module.PRODUCERS
]
_WEIGHTS = [weight for weight, _ in _PRODUCERS]


def random_program(seed: int) -> Program:
    """A program of one to twelve operations and what they need."""
    g = Generator(seed)
    count = g.random.choice((1, 2, 3, 4, 6, 8, 12))
    for _ in range(count):
        (producer,) = g.random.choices([producer for _, producer in _PRODUCERS], _WEIGHTS)
        try:
            producer(g)
        except Unsuitable:
            continue
    if all(map(is_constant, g.visible)):
        elementwise.apply(g, "stablehlo.negate")
    return g.program
