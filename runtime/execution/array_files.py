"""Reads and writes the inputs and results of programs as files and as text, for the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ExecutionError, counted
from ..program.ops.test_dialects.array_files import from_file
from ..types import BOOLEAN, COMPLEX, FLOAT, QuantizedType, TensorType, Type, storage_range
from .array_archives import is_archive, read_archive, read_array, write_archive


def result_lines(results: Sequence[object], types: Sequence[Type]) -> list[str]:
    lines = []
    with np.printoptions(threshold=200, edgeitems=3, linewidth=100):
        for index, (result, type) in enumerate(zip(results, types, strict=True)):
            lines += [f"result {index}: {type}", str(result)]
    return lines


def save_results(file: str, results: Sequence[object]) -> None:
    """Store results as result_0, result_1, ... of an .npz or .safetensors file."""
    write_archive(file, {f"result_{index}": np.asarray(result) for index, result in enumerate(results)})


def load_inputs(
    files: Sequence[str],
    types: Sequence[Type],
    names: Sequence[str | None] = (),
    *,
    must_have_names: bool = False,
) -> list[Any]:
    """The inputs of a program from files.

    Args:
        files: .npy files, in the order of the arguments; .npz and .safetensors files of named arrays.
        types: the types of the arguments.
        names: the name of each argument's array; None: it is the next .npy file.
        must_have_names: whether the arrays must have these names. Otherwise the names by which `numpy.savez`
            numbers arrays, ``arr_0``, ``arr_1``, ..., serve where no array has one of `names`.

    Raises:
        ExecutionError: a file is malformed, or no file has an argument's array.
        UnsupportedError: a file needs a library that is not installed.
    """
    archives = [file for file in files if is_archive(file)]
    if not archives:
        return _load_in_order(files, types)
    arrays: dict[str, Any] = {}
    for file in archives:
        arrays.update(read_archive(file))
    others = iter([file for file in files if not is_archive(file)])
    if not must_have_names and _are_numbered(arrays, names):
        names = [f"arr_{index}" for index in range(len(types))]
    inputs = []
    for index, (name, type) in enumerate(zip(names, types, strict=True)):
        if name is None:
            inputs.append(_next_input(others, index, type))
        else:
            inputs.append(from_file(_named(arrays, name, index), type))
    return inputs


def _are_numbered(arrays: Mapping[str, Any], names: Sequence[str | None]) -> bool:
    """Whether arrays have the names that `numpy.savez` gives, and none of those of the arguments."""
    return not any(names) or ("arr_0" in arrays and not any(name in arrays for name in names))


def _next_input(files: Iterator[str], index: int, type: Type) -> Any:
    for file in files:
        return _load_input(file, type)
    raise ExecutionError(f"argument {index} has no name, and there is no .npy file for it")


def _named(arrays: Mapping[str, Any], name: str, index: int) -> Any:
    if name in arrays:
        return arrays[name]
    near = ", ".join(map(repr, difflib.get_close_matches(name, arrays, cutoff=0.0)))
    raise ExecutionError(
        f"argument {index} is {name!r}, which is not among the {counted(len(arrays), 'array')} of the files, "
        f"such as {near}: --names maps names to arguments"
    )


def _load_in_order(files: Sequence[str], types: Sequence[Type]) -> list[Any]:
    return [_load_input(file, type) for file, type in zip(files, types, strict=False)] + [
        _load_input(file, None) for file in files[len(types) :]
    ]


def _load_input(file: str, type: Type | None) -> Any:
    """An array from a .npy file; bare bytes (how NumPy stores other types) are viewed as the argument's."""
    return from_file(read_array(file), type)


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
