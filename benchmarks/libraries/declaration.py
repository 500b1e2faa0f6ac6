"""The declaration of a program of a public library."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

Array = np.ndarray[Any, Any]
Workload = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function that JAX can lower, and its arguments."""

MODULES = (
    "differential_equations",
    "equinox_models",
    "flax_models",
    "games",
    "graphs",
    "haiku_models",
    "images",
    "keras_models",
    "optimal_transport",
    "optimizers",
    "physics",
    "probabilistic",
    "reinforcement_learning",
    "state_space",
    "transformers_models",
)
"""The modules of this package that declare programs."""


@dataclass(frozen=True)
class LibraryProgram:
    """A program that a public library makes.

    Attributes:
        name: the name of the function that builds the program, and its size if it has several.
        library: the name of the library on PyPI.
        build: imports the library, and makes the function and its arguments.
        bound: the largest difference between a floating-point result and that of XLA:CPU, relative to the
            largest value of the result. Integers and booleans must be equal.
        x64: whether the program uses 64-bit types.
    """

    name: str
    library: str
    build: Callable[[], Workload]
    bound: float
    x64: bool

    def precision(self) -> AbstractContextManager[Any]:
        """The context in which JAX lowers and calls the program."""
        return jax.enable_x64(True) if self.x64 else nullcontext()

    def lowered(self) -> tuple[jax.stages.Lowered, list[Any]]:
        """The program as JAX lowers it, and its arguments as a flat list of JAX's arrays."""
        with self.precision():
            function, arguments = self.build()
            leaves, structure = jax.tree.flatten(arguments)

            def flat(*values: Any) -> list[Any]:
                return jax.tree.leaves(function(*jax.tree.unflatten(structure, values)))

            arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
            return jax.jit(flat, keep_unused=True).lower(*arrays), arrays


_PROGRAMS: dict[str, LibraryProgram] = {}


def library_program(
    library: str, *, bound: float = 1e-4, x64: bool = False, sizes: Sequence[int] = ()
) -> Callable[[Callable[..., Workload]], Callable[..., Workload]]:
    """Declare the decorated function, which builds a workload, as a `LibraryProgram`.

    Args:
        library, bound, x64: see `LibraryProgram`.
        sizes: the arguments for which the function builds a program each; it has none if this is empty.
    """

    def declare(build: Callable[..., Workload]) -> Callable[..., Workload]:
        builders = {f"{build.__name__}_{size}": partial(build, size) for size in sizes}
        for name, builder in (builders or {build.__name__: build}).items():
            _PROGRAMS[name] = LibraryProgram(name, library, builder, bound, x64)
        return build

    return declare


def library_programs() -> dict[str, LibraryProgram]:
    """All programs by name. No library is imported."""
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}")
    return _PROGRAMS


def normal(*shape: int, seed: int = 0, scale: float = 1.0, dtype: Any = np.float32) -> Array:
    """Normally distributed values."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def integers(high: int, *shape: int, seed: int = 0) -> Array:
    """Integers of type i32 in [0, high)."""
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.int32)
