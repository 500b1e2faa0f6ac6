"""The declaration of benchmark programs: `@program`, and random arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

SIZES = ("small", "medium", "large")
"""Each program has three sizes: small operands fit the innermost caches, large ones no cache."""


class RandomArrays:
    """Generates random arrays, the same in each process."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(0)

    def floats(self, *shape: int, dtype: Any = np.float32) -> Array:
        """Uniformly distributed values in [-1, 1)."""
        return (2 * self._generator.random(shape, dtype=np.float32) - 1).astype(dtype)

    def bfloat16(self, *shape: int) -> Array:
        """`floats` in bfloat16."""
        return self.floats(*shape, dtype=ml_dtypes.bfloat16)

    def complex(self, *shape: int) -> Array:
        """Complex numbers whose components are `floats`."""
        return (self.floats(*shape) + 1j * self.floats(*shape)).astype(np.complex64)

    def integers(self, high: int, *shape: int, low: int = 0, dtype: Any = np.int32) -> Array:
        """Uniformly distributed integers in [low, high)."""
        return self._generator.integers(low, high, shape).astype(dtype)


@dataclass(frozen=True)
class Program:
    """A JAX function, and how to make its arguments at three sizes.

    Attributes:
        name: the name of the function.
        family: the kind of work that it measures.
        function: takes arrays, and returns an array or a tuple of arrays.
        arguments: makes the arguments for a size parameter.
        sizes: the arguments' size parameter for each of `SIZES`.
        bound: the maximum difference of floats from XLA:CPU's results, relative to the largest value of
            each result; 0 if they must be equal.
        numpy: the same in one or two lines of NumPy; None if there is no obvious version.
        streams: the program does little more than read its arguments and write its results once, so memory
            bandwidth limits it.
        x64: the program uses types of 64 bits.
        interpreted: StableHLO's reference interpreter runs it at the smallest size within seconds.
    """

    name: str
    family: str
    function: Callable[..., Any]
    arguments: Callable[[RandomArrays, int], tuple[Array, ...]]
    sizes: tuple[int, int, int]
    bound: float
    numpy: Callable[..., Any] | None
    streams: bool
    x64: bool
    interpreted: bool

    def precision(self) -> AbstractContextManager[Any]:
        """The context in which the program is lowered and called by JAX."""
        return jax.enable_x64(True) if self.x64 else nullcontext()

    def inputs(self, size: str | int) -> list[Array]:
        """The arguments of one of `SIZES`, or of any other number."""
        number = self.sizes[SIZES.index(size)] if isinstance(size, str) else size
        return [np.asarray(argument) for argument in self.arguments(RandomArrays(), number)]

    def lowered(self, inputs: list[Array]) -> jax.stages.Lowered:
        """The function lowered for such inputs; every argument stays one, used or not."""
        with self.precision():
            return jax.jit(self.function, keep_unused=True).lower(*inputs)


PROGRAMS: dict[str, Program] = {}


def program(
    family: str,
    sizes: tuple[int, int, int],
    arguments: Callable[[RandomArrays, int], tuple[Array, ...]],
    *,
    bound: float = 0.0,
    numpy: Callable[..., Any] | None = None,
    streams: bool = False,
    x64: bool = False,
    interpreted: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as a `Program`, under its own name."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are named {name}")
        PROGRAMS[name] = Program(
            name, family, function, arguments, sizes, bound, numpy, streams, x64, interpreted
        )
        return function

    return declare


def representatives() -> list[str]:
    """The first program of each family."""
    first: dict[str, str] = {}
    for one in PROGRAMS.values():
        first.setdefault(one.family, one.name)
    return list(first.values())
