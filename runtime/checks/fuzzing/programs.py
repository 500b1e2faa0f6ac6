"""A random program for a seed."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from . import contracting, control, elementwise, indexing, movement, windows
from .generator import CannotGenerate, Generator, Producers, RandomProgram, is_constant

PRODUCERS: Final = [
    producer
    for module in (elementwise, movement, indexing, windows, contracting, control)
    for producer in module.PRODUCERS
]
"""The producers of all operations that the reference interpreter runs, with their relative frequencies."""


def random_program(seed: int) -> RandomProgram:
    """A program of one to twelve operations and what they need."""
    return grow_program(Generator(seed), PRODUCERS)


def grow_program(g: Generator, producers: Producers) -> RandomProgram:
    """A program of one to twelve operations of these producers and what they need."""
    weights, functions = zip(*producers, strict=True)

    def append() -> None:
        """Append an operation of any kind, or none if it does not fit the chosen values."""
        (producer,) = g.random.choices(functions, weights)
        with suppress(CannotGenerate):
            producer(g)

    g.append_any = append
    for _ in range(g.random.choice((1, 2, 3, 4, 6, 8, 12))):
        append()
    while all(map(is_constant, g.visible)):
        append()
    return g.program
