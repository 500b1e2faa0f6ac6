"""The suite as files: programs, inputs and allowed results, for harnesses in any language.

docs/conformance_archive.md describes the format.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar
from zipfile import BadZipFile

import numpy as np

from ...errors import NimbleError, UnsupportedError
from ...program.frontend.parser import parse
from ...program.ops.collectives.process_grid import Grid
from ...types import ELEMENT_TYPES, FLOAT, Array, DType, TensorType, Type
from ..error_bounds import BoundViolation, ResultBound
from ..error_bounds.bounds import violations
from ..error_bounds.ulps import is_inexact
from .suite import SUITE_VERSION, Program
from .verdicts import allowed_results

_Value = TypeVar("_Value")

FORMAT: Final = 2
"""The version of the format: it changes if a reader of the former one misunderstands it."""
INDEX: Final = "archive.json"
BIT_PATTERNS: Final = "element_types.npz"
PROGRAMS: Final = "programs"
CHECKER: Final = "check.py"
"""A copy of `check_archive.py`: those who use an archive may have no package."""


@dataclass(frozen=True)
class StoredResults:
    """The allowed results of a program in an archive.

    Attributes:
        results: the bounds of each result.
    """

    results: Sequence[ResultBound]

    def violations(self, actual: Sequence[object]) -> list[BoundViolation]:
        """The results that exceed their bounds."""
        return violations(self.results, actual)

    def complete(self) -> None:
        """The bounds are the widest ones already."""


def write_archive(
    folder: Path, programs: Iterable[Program], *, progress: Callable[[int], object] | None = None
) -> int:
    """Store programs with their inputs and all results that the specification allows.

    Args:
        folder: it is created; files of an archive in it are replaced.
        programs: programs of the suite.
        progress: called after each program with their number so far.

    Returns:
        The number of programs.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for program in programs:
        entries.append(_store(folder, program))
        if progress is not None:
            progress(len(entries))
    index = {"format": FORMAT, "suite": SUITE_VERSION, "programs": entries}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("check_archive.py"), folder / CHECKER)
    _save(folder / BIT_PATTERNS, dict(_bit_patterns()))
    return len(entries)


def _store(folder: Path, program: Program) -> dict[str, Any]:
    """Write the files of a program; returns its entry in the index."""
    file = f"{PROGRAMS}/{file_name(program.id)}"
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.mlir").write_text(program.text, encoding="utf-8")
    types = parse(program.text).functions["main"].type
    entry: dict[str, Any] = {"id": program.id, "operation": program.operation, "file": file}
    entry |= {"replicas": program.grid.replicas, "partitions": program.grid.partitions}
    input_types, result_types = (list(one) * program.grid.size for one in (types.inputs, types.results))
    entry["inputs"] = [_type_entry(*one) for one in zip(input_types, program.inputs, strict=True)]
    arrays = {f"input_{index}": bits(array) for index, array in enumerate(program.inputs)}
    if program.label:
        entry |= {"must_be_refused": True, "label": program.label, "rule": program.rule}
    else:
        allowed = allowed_results(program)
        allowed.complete()
        values = [one.value for one in allowed.results]
        entry |= {"must_be_refused": False, "has_signed_zeros": program.has_signed_zeros}
        entry["results"] = [
            {**_type_entry(type, value), "alternatives": len(bound.others)}
            for type, value, bound in zip(result_types, values, allowed.results, strict=True)
        ]
        for index, bound in enumerate(allowed.results):
            for number, alternative in enumerate((bound, *bound.others)):
                arrays |= _stored_bound(f"{index}_{number}" if number else f"{index}", alternative)
    _save(path.with_name(f"{path.name}.npz"), arrays)
    return entry


def _save(path: Path, arrays: Mapping[str, Any]) -> None:
    np.savez_compressed(path, **arrays)


def file_name(id: str) -> str:
    """The path of a program's files below the folder of programs, without an ending."""
    return re.sub(r"[^\w./-]", "_", id)


def _type_entry(type: Type, array: Array) -> dict[str, Any]:
    assert isinstance(type, TensorType)
    return {"element_type": str(type.element_type), "shape": list(array.shape)}


def _stored_bound(name: str, bound: ResultBound) -> dict[str, Array]:
    """The arrays of a bound: those that say nothing are left out."""
    arrays = {f"result_{name}": bits(bound.value)}
    if bound.bound.any():
        arrays[f"bound_{name}"] = bound.bound
    if bound.may_vary.any():
        arrays[f"may_vary_{name}"] = bound.may_vary
    return arrays


def bits(array: Array) -> Array:
    """An array as NumPy's format has it: types that NumPy lacks as integers, floats by their bits."""
    if array.dtype.isbuiltin == 1:
        return array
    if is_inexact(array.dtype):
        return array.view(f"u{array.dtype.itemsize}")
    is_signed = bool(np.array(-1).astype(array.dtype).astype(np.int64) < 0)
    return array.astype(np.int8 if is_signed else np.uint8)


def from_bits(array: Array, dtype: DType) -> Array:
    """The array of a type from its stored form."""
    if array.dtype == dtype:
        return array
    return array.view(dtype) if is_inexact(dtype) else array.astype(dtype)


def _bit_patterns() -> Iterator[tuple[str, Array]]:
    """The values as f64 of all bit patterns of the float types that NumPy lacks."""
    for element_type in ELEMENT_TYPES.values():
        dtype = element_type.dtype
        if element_type.category == FLOAT and dtype.isbuiltin != 1:
            patterns = np.arange(1 << (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}")
            with np.errstate(invalid="ignore"):  # NaN that signals
                yield element_type.name, patterns.view(dtype).astype(np.float64)


class Archive:
    """An archive, as `write_archive` stores it.

    Args:
        folder: where it is.

    Raises:
        NimbleError: there is none, or it is malformed, or of another version of the format.
    """

    def __init__(self, folder: Path) -> None:
        try:
            index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
            version = index["format"]
            if version == FORMAT:
                self._entries = {one["id"]: one for one in map(_checked_entry, index["programs"])}
                self.suite = _checked(index, "suite", str)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NimbleError(f"{folder} is no archive of the conformance suite: {error}") from None
        if version != FORMAT:
            raise UnsupportedError(f"the archive {folder} has format {version}; this version reads {FORMAT}")
        self._folder = folder

    def programs(self, operations: Iterable[str] | None = None) -> Iterator[Program]:
        """The programs, in their order.

        Args:
            operations: names of operations with their dialect; None: all.

        Raises:
            NimbleError: the archive has no program of an operation, or a file cannot be read.
        """
        chosen = None if operations is None else set(operations)
        missing = sorted((chosen or set()) - {one["operation"] for one in self._entries.values()})
        if missing:
            raise NimbleError(f"the archive {self._folder} has no program of {missing[0]}")
        for entry in self._entries.values():
            if chosen is None or entry["operation"] in chosen:
                yield self._program(entry)

    def _program(self, entry: Mapping[str, Any]) -> Program:
        with self._reading(entry):
            text, arrays, types = self._files(entry)
            grid = Grid(entry["replicas"], entry["partitions"])
            inputs = [
                from_bits(arrays[f"input_{index}"], type.dtype)
                for index, type in enumerate(list(types.inputs) * grid.size)
            ]
        operation = entry["operation"]
        rest = entry["id"].removeprefix(f"{operation}/")
        return Program(
            entry["id"],
            operation,
            "" if entry["must_be_refused"] else rest.partition("/")[0],
            text,
            inputs,
            entry.get("label", ""),
            entry.get("rule", ""),
            entry.get("has_signed_zeros", False),
            grid,
        )

    def allowed(self, id: str) -> StoredResults | None:
        """The allowed results of a program; None if it must be refused.

        Raises:
            NimbleError: there is no such program, or a file cannot be read.
        """
        entry = self._entries.get(id)
        if entry is None:
            raise NimbleError(f"the archive {self._folder} has no program {id}")
        if entry["must_be_refused"]:
            return None
        with self._reading(entry):
            _, arrays, types = self._files(entry)
            processes = entry["replicas"] * entry["partitions"]
            stored = zip(entry["results"], list(types.results) * processes, strict=True)
            return StoredResults([_result(arrays, index, *one) for index, one in enumerate(stored)])

    @contextmanager
    def _reading(self, entry: Mapping[str, Any]) -> Iterator[None]:
        """Name the archive and the program in the errors of a file that is missing or malformed."""
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error) as error:
            reason = f"{type(error).__name__}: {error}"
            raise NimbleError(f"the archive {self._folder}, program {entry['id']}: {reason}") from None

    def _files(self, entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Array], Any]:
        path = self._folder / entry["file"]
        text = path.with_name(f"{path.name}.mlir").read_text(encoding="utf-8")
        with np.load(path.with_name(f"{path.name}.npz"), allow_pickle=False) as file:
            arrays = dict(file)
        return text, arrays, parse(text).functions["main"].type


def _checked(entry: Mapping[str, Any], name: str, kind: type[_Value]) -> _Value:
    """The value of a key, which must be of a type."""
    value = entry[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name!r} must be of type {kind.__name__}, not {value!r}")
    return value


def _checked_entry(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A program's entry of the index, whose keys and types are as `_store` writes them."""
    for name in ("id", "operation", "file"):
        _checked(entry, name, str)
    for name in ("replicas", "partitions"):
        if _checked(entry, name, int) < 1:
            raise ValueError(f"{name!r} must be at least 1, but is {entry[name]}")
    file = PurePosixPath(entry["file"])
    if file.is_absolute() or ".." in file.parts or not file.name:
        raise ValueError(f"'file' must lie below the archive, not {entry['file']!r}")
    if _checked(entry, "must_be_refused", bool):
        _checked(entry, "label", str)
        _checked(entry, "rule", str)
        return entry
    _checked(entry, "has_signed_zeros", bool)
    for result in _checked(entry, "results", list):
        if _checked(result, "alternatives", int) < 0:
            raise ValueError(f"'alternatives' must not be negative, but is {result['alternatives']}")
    return entry


def _result(
    arrays: Mapping[str, Array], index: int, entry: Mapping[str, Any], type: TensorType
) -> ResultBound:
    names = [f"{index}", *[f"{index}_{number + 1}" for number in range(entry["alternatives"])]]
    bounds = []
    for name in names:
        value = from_bits(arrays[f"result_{name}"], type.dtype)
        bound = arrays.get(f"bound_{name}", np.zeros(value.shape))
        varies = arrays.get(f"may_vary_{name}", np.zeros(value.shape, np.bool_))
        bounds.append(ResultBound(value, bound, varies))
    first, *others = bounds
    return ResultBound(first.value, first.bound, first.may_vary, tuple(others))
