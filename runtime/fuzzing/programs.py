"""A random program for a seed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from . import contracting, control, elementwise, indexing, movement, others, quantized, windows
from .generator import Generator, Program, Unsuitable, is_constant

_PRODUCERS = [
    entry
    for module in (elementwise, movement, indexing, windows, contracting, control)
    for entry in module.PRODUCERS
]
_LARGE_PRODUCERS = [*_PRODUCERS, *quantized.PRODUCERS, *others.PRODUCERS]
"""The generators, including those of operations that the interpreter does not run."""


def random_program(seed: int, large: bool = False, sizes: Sequence[int] = ()) -> Program:
    """A program of one to twelve operations and what they need; `large` and so on as `Generator` has it."""
    g = Generator(seed, large, sizes)
    g.append_any = lambda: _append(g)
    for _ in range(g.random.choice((1, 2, 3, 4, 6, 8, 12))):
        _append(g)
    while all(map(is_constant, g.visible)):
        _append(g)
    return g.program


def _append(g: Generator) -> None:
    """Any operation, or none where what is drawn does not fit."""
    weights, producers = zip(*(_LARGE_PRODUCERS if g.large else _PRODUCERS), strict=True)
    (producer,) = g.random.choices(producers, weights)
    with suppress(Unsuitable):
        producer(g)
