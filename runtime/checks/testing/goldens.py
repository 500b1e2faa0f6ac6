"""Goldens: stored results, in small files beside the tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...program.ir import Module
from ...program.ir.fingerprint import fingerprint
from ...program.ops.test_dialects.array_files import for_file, from_file
from ...types import TensorType, Type
from ..explorer.comparison import NO_DISTANCE, compare

MAX_SHOWN_ELEMENTS: Final = 5
"""Maximum number of differing elements of a result that a failure shows."""
UPDATE: Final = "run pytest with --nimblehlo-update to write it"


class GoldenMismatch(AssertionError):
    """Results are not those of a golden, or there is none for the program."""


def write(path: Path, module: Module, inputs: Sequence[object], results: Sequence[object]) -> None:
    """Write a golden: the program's fingerprint, its inputs and its results, compressed.

    The file is replaced atomically, so that several processes may write it at the same time.
    """
    arrays: dict[str, Any] = {"fingerprint": np.array(fingerprint(module))}
    for kind, values in (("input", inputs), ("result", results)):
        arrays |= {f"{kind}_{index}": for_file(np.asarray(value)) for index, value in enumerate(values)}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.npz")
    np.savez_compressed(unfinished, **arrays)
    unfinished.replace(path)


def inputs_of(path: Path, module: Module, types: Sequence[Type]) -> list[Any]:
    """The inputs of a golden.

    Raises:
        GoldenMismatch: there is no golden, or it is that of another program.
    """
    return _values(path, module, "input", types)


def check(
    path: Path, module: Module, results: Sequence[object], types: Sequence[Type], ulps: int = 0
) -> None:
    """Compare results with a golden.

    Args:
        path: of the golden.
        module: the program.
        results: what it returned.
        types: of the results.
        ulps: how far floats may be from their goldens.

    Raises:
        GoldenMismatch: there is no golden, it is that of another program, or a result differs.
    """
    expected = _values(path, module, "result", types)
    texts = [
        _difference(index, actual, golden, type, ulps)
        for index, (actual, golden, type) in enumerate(zip(results, expected, types, strict=True))
    ]
    differences = [text for text in texts if text is not None]
    if differences:
        raise GoldenMismatch("\n".join([f"other results than in {path}:", *differences]))


def _values(path: Path, module: Module, kind: str, types: Sequence[Type]) -> list[Any]:
    if not path.exists():
        raise GoldenMismatch(f"there is no golden {path}: {UPDATE}")
    with np.load(path, allow_pickle=False) as stored:
        if str(stored["fingerprint"]) != fingerprint(module):
            raise GoldenMismatch(f"{path} is the golden of another program: {UPDATE}")
        return [from_file(stored[f"{kind}_{index}"], type) for index, type in enumerate(types)]


def _difference(index: int, actual: Any, golden: Any, type: Type, ulps: int) -> str | None:
    """Describe the difference of a result from its golden; None if there is none."""
    actual = np.asarray(actual)
    if actual.shape != golden.shape or actual.dtype != golden.dtype:
        return (
            f"  result {index}: {actual.dtype}{list(actual.shape)}, "
            f"but the golden is {golden.dtype}{list(golden.shape)}"
        )
    if not isinstance(type, TensorType):
        return None if np.array_equal(actual, golden) else f"  result {index}: {type}: differs"
    static = type.with_shape(actual.shape)
    comparison = compare(actual, golden, static)
    if comparison is None or comparison.distance <= ulps:
        return None
    differing = np.flatnonzero([compare(a, b, static) is not None for a, b in _pairs(actual, golden)])
    farthest = "NaN" if comparison.distance == NO_DISTANCE else f"{comparison.distance} ulps"
    lines = [
        f"  result {index}: {type}: {differing.size} of {actual.size} elements differ, by at most {farthest}"
    ]
    for position in differing[:MAX_SHOWN_ELEMENTS].tolist():
        at = [int(one) for one in np.unravel_index(position, actual.shape)]
        lines.append(f"    at {at}: {actual.flat[position]}, golden {golden.flat[position]}")
    if differing.size > MAX_SHOWN_ELEMENTS:
        lines.append(f"    and {differing.size - MAX_SHOWN_ELEMENTS} more")
    return "\n".join(lines)


def _pairs(actual: Any, golden: Any) -> Any:
    """The pairs of elements, each as arrays of one element."""
    return zip(actual.reshape(-1, 1), golden.reshape(-1, 1), strict=True)
