"""What a model is, how one is declared, and the values that models are called with."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.export
import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Model:
    """A JAX function with concrete arguments.

    `bound`: how far floating-point results may lie from XLA:CPU's, relative to the largest value of each
    result; 0 where they must be equal. Integers are always compared exactly.
    `symbolic`: for each argument its shape as `jax.export.symbolic_shape` reads it; empty for a static one.
    `not_finite`: infinities or NaN are wanted among the results.
    `constant`: the results that are zero, constant or empty on purpose, and so cannot show a wrong program.
    `reference`: what XLA:CPU runs instead where it cannot run the function itself.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    bound: float
    x64: bool
    symbolic: tuple[str, ...]
    not_finite: bool
    constant: tuple[int, ...]
    reference: Callable[..., Any] | None

    def precision(self) -> AbstractContextManager[None]:
        """The context in which the model is lowered and called."""
        return jax.enable_x64(True) if self.x64 else nullcontext()

    def inputs(self) -> list[Array]:
        """The arguments' leaves in the order of the lowered program's arguments."""
        return [as_array(leaf) for leaf in jax.tree.leaves(self.arguments)]

    def lowered(self) -> jax.stages.Lowered:
        """The lowered function; every argument stays one, used or not."""
        with self.precision():
            return jax.jit(self.function, keep_unused=True).lower(*self.arguments)

    def exported(self) -> jax.export.Exported:
        """The exported function, with symbolic shapes where the model names them."""
        with self.precision():
            return jax.export.export(jax.jit(self.function, keep_unused=True))(*self._specifications())

    def expected(self) -> list[Array]:
        """XLA:CPU's results."""
        with self.precision():
            results = jax.jit(self.reference or self.function)(*self.arguments)
        return [as_array(result) for result in jax.tree.leaves(results)]

    def _specifications(self) -> tuple[Any, ...]:
        if not self.symbolic:
            return self.arguments
        scope = jax.export.SymbolicScope()
        return tuple(
            jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope), argument.dtype)
            for shape, argument in zip(self.symbolic, self.arguments, strict=True)
        )


def as_array(value: Any) -> Array:
    """A value as the array that a program takes or returns; typed keys as their words."""
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.asarray(value)


MODELS: dict[str, Model] = {}


def model(
    *arguments: Any,
    bound: float = 0.0,
    x64: bool = False,
    symbolic: tuple[str, ...] = (),
    not_finite: bool = False,
    constant: tuple[int, ...] = (),
    reference: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as a model, under its own name."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        if function.__name__ in MODELS:
            raise ValueError(f"two models are named {function.__name__}")
        MODELS[function.__name__] = Model(
            function, arguments, bound, x64, symbolic, not_finite, constant, reference
        )
        return function

    return declare


def normal(*shape: int, seed: int = 0, scale: float = 1.0, dtype: Any = np.float32) -> Array:
    """Normally distributed values."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def uniform(
    *shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0, dtype: Any = np.float32
) -> Array:
    """Evenly distributed values in [low, high)."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def integers(*shape: int, low: int = 0, high: int = 10, seed: int = 0, dtype: Any = np.int32) -> Array:
    """Integers in [low, high)."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def complex_normal(*shape: int, seed: int = 0, dtype: Any = np.complex64) -> Array:
    """Normally distributed real and imaginary parts."""
    return (normal(*shape, seed=seed) + 1j * normal(*shape, seed=seed + 1)).astype(dtype)
