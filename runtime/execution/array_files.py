"""Reads and writes the inputs and results of programs as files and as text, for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ExecutionError
from ..program.ops.test_dialects.array_files import for_file, from_file
from ..types import BOOLEAN, COMPLEX, FLOAT, QuantizedType, TensorType, Type, storage_range


def result_lines(results: Sequence[object], types: Sequence[Type]) -> list[str]:
    lines = []
    with np.printoptions(threshold=200, edgeitems=3, linewidth=100):
        for index, (result, type) in enumerate(zip(results, types, strict=True)):
            lines += [f"result {index}: {type}", str(result)]
    return lines


def save_results(file: str, results: Sequence[object]) -> None:
    """Store results as result_0, result_1, ... of an .npz file."""
    arrays: dict[str, Any] = {
        f"result_{index}": for_file(np.asarray(result)) for index, result in enumerate(results)
    }
    np.savez(file, **arrays)


def load_inputs(files: Sequence[str], types: Sequence[Type]) -> list[Any]:
    return [_load_input(file, type) for file, type in zip(files, types, strict=False)] + [
        _load_input(file, None) for file in files[len(types) :]
    ]


def _load_input(file: str, type: Type | None) -> Any:
    """An array from a .npy file; bare bytes (how NumPy stores other types) are viewed as the argument's."""
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ExecutionError(f"{file} is not a file of an array (.npy)") from error
    return from_file(array, type)


def random_inputs(types: Sequence[Type], seed: int | Sequence[int]) -> list[Any]:
    """Random values of some types, from one generator."""
    generator = np.random.default_rng(seed)
    return [_random_input(type, generator) for type in types]


def _random_input(type: Type, generator: np.random.Generator) -> Any:
    """A random value of a type: floats in [0, 1), small integers that are not negative.

    Raises:
        ExecutionError: the type has unknown sizes, or is no tensor.
    """
    if not isinstance(type, TensorType) or not type.is_static:
        reason = f"--random cannot generate an input of type {type}: pass the inputs with --input or --args"
        raise ExecutionError(reason)
    element_type = type.element_type
    if isinstance(element_type, QuantizedType):
        return generator.integers(
            element_type.storage_min, element_type.storage_max, type.shape, endpoint=True
        ).astype(type.dtype)
    if element_type.category == BOOLEAN:
        return generator.integers(0, 2, type.shape).astype(type.dtype)
    if element_type.category & FLOAT:
        return generator.random(type.shape, np.float32).astype(type.dtype)
    if element_type.category & COMPLEX:
        return (generator.random(type.shape) + 1j * generator.random(type.shape)).astype(type.dtype)
    high = min(storage_range(element_type)[1], 9)
    return generator.integers(0, high, type.shape, endpoint=True).astype(type.dtype)
