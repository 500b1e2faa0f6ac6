"""Judge results by an archive of the conformance suite, with NumPy alone.

    nimblehlo conformance --archive ARCHIVE --level smoke
    python ARCHIVE/check.py ARCHIVE RESULTS

A harness in any language runs the programs of ARCHIVE on its backend and writes for each program to the
folder RESULTS, under the same name: `NAME.npz` with the arrays `result_0`, `result_1`, ...; `NAME.refused`, a
text file with the backend's message; or nothing, where it did not try. docs/conformance_archive.md describes
the format. This program prints what is wrong and the number of each verdict, and fails if one is wrong or
none was run.
"""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, **COMPLEX}

UNREADABLE = (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error)
"""What NumPy raises for a file that is no .npz file, or has pickled objects."""


def stored_type(element_type: str, patterns: dict[str, Array]) -> Any:
    """The type by which a file has the elements of a type."""
    if element_type in FLOATS:
        return np.dtype(FLOATS[element_type])
    if element_type in patterns:  # a float type that NumPy lacks: its bits
        return np.dtype(np.uint8 if patterns[element_type].size == 256 else np.uint16)
    if element_type == "i1":
        return np.dtype(np.bool_)
    if element_type.startswith("!quant"):
        return None  # the file of the allowed results says it
    width = max(int(element_type.lstrip("ui")), 8)
    return np.dtype(f"{'u' if element_type.startswith('u') else ''}int{width}")


class Bounds:
    """The allowed values of a result: one set of elements, or one of several.

    Args:
        files: the arrays of the program's file.
        name: `N`, or `N_K` for an alternative.
        decode: an array of elements as numbers.
    """

    def __init__(self, files: Any, name: str, decode: Any) -> None:
        self.value = decode(files[f"result_{name}"])
        shape = self.value.shape
        self.bound = files[f"bound_{name}"] if f"bound_{name}" in files else np.zeros(shape)
        self.varies = files[f"may_vary_{name}"] if f"may_vary_{name}" in files else np.zeros(shape, np.bool_)

    def allows(self, actual: Array) -> Array:
        """Which elements are allowed."""
        if self.value.dtype.kind in "biu":
            return np.asarray((actual == self.value) | self.varies)
        with np.errstate(all="ignore"):
            distance: Array = np.abs(actual - self.value)
        is_finite = np.isfinite(actual) & np.isfinite(self.value)
        if self.value.dtype.kind == "c":
            same = ~np.isfinite(actual) & ~np.isfinite(self.value)
        else:
            same = (np.isnan(actual) & np.isnan(self.value)) | (actual == self.value)
        distance = np.where(is_finite, distance, np.where(same, 0.0, np.inf))
        return np.asarray(distance <= self.bound)

    def other_zeros(self, actual: Array) -> Array:
        """Which elements are zeros of the other sign."""
        if self.value.dtype.kind in "biu":
            return np.zeros(self.value.shape, np.bool_)
        pairs = [(actual.real, self.value.real)]
        if self.value.dtype.kind == "c":
            pairs.append((actual.imag, self.value.imag))
        others = [(np.signbit(a) != np.signbit(b)) & (a == 0) & (b == 0) for a, b in pairs]
        return np.asarray(np.logical_or.reduce(others) & (self.bound == 0))


def decoder(element_type: str, patterns: dict[str, Array]) -> Any:
    """A function from stored elements to numbers: f64 or complex128, integers and booleans as they are."""
    if element_type in patterns:
        return lambda array: patterns[element_type][array]
    if element_type in COMPLEX:
        return lambda array: array.astype(np.complex128)
    if element_type in FLOATS:
        return lambda array: array.astype(np.float64)
    return lambda array: array


def wrong_result(entry: dict[str, Any], index: int, files: Any, actual: Array, patterns: Any) -> str:
    """What is wrong with a result; empty if it is allowed."""
    declared = entry["results"][index]
    element_type = declared["element_type"]
    dtype = stored_type(element_type, patterns) or files[f"result_{index}"].dtype
    if actual.dtype != dtype or list(actual.shape) != declared["shape"]:
        return f"result {index}: {actual.dtype}{list(actual.shape)} instead of {dtype}{declared['shape']}"
    decode = decoder(element_type, patterns)
    numbers = decode(actual)
    names = [f"{index}", *[f"{index}_{one + 1}" for one in range(declared["alternatives"])]]
    bounds = [Bounds(files, name, decode) for name in names]
    allowed = [one.allows(numbers) for one in bounds]
    if entry["has_signed_zeros"]:
        pairs = zip(bounds, allowed, strict=True)
        allowed = [elements & ~one.other_zeros(numbers) for one, elements in pairs]
    wrong = ~np.logical_or.reduce(allowed)
    if not wrong.any():
        return ""
    first = tuple(np.argwhere(wrong)[0].tolist())
    expected, bound = bounds[0].value[first], bounds[0].bound[first]
    return (
        f"result {index}: {numbers[first]} instead of {expected} within {bound:.3g} at {list(first)} "
        f"({int(wrong.sum())} of {wrong.size} elements)"
    )


class WrongNames(Exception):
    """A file has other arrays than a program has results."""


def read_results(file: Path, number: int) -> list[Array]:
    """The arrays `result_0`, ... of a file."""
    with np.load(file) as arrays:
        names = [f"result_{index}" for index in range(number)]
        if len(arrays.files) != number:
            raise WrongNames(f"{len(arrays.files)} results instead of {number}")
        if sorted(arrays.files) != sorted(names):
            raise WrongNames(f"the arrays {sorted(arrays.files)} instead of {names}")
        return [arrays[name] for name in names]


def verdict(entry: dict[str, Any], archive: Path, results: Path, patterns: Any) -> tuple[str, str]:
    """The verdict on a program, and what is wrong."""
    # The name of a program may have dots, which `with_suffix` would take for an ending.
    file, refusal = results / f"{entry['file']}.npz", results / f"{entry['file']}.refused"
    if refusal.exists():
        return ("within", "") if entry["must_be_refused"] else ("refused", "")
    if not file.exists():
        return "not run", ""
    if entry["must_be_refused"]:
        return "outside", f"runs a program that breaks ({entry['label']}): {entry['rule']}"
    try:
        arrays = read_results(file, len(entry["results"]))
    except UNREADABLE as error:
        return "outside", f"{file} cannot be read: {error}"
    except WrongNames as error:
        return "outside", str(error)
    with np.load(archive / f"{entry['file']}.npz") as allowed:
        reasons = [wrong_result(entry, index, allowed, array, patterns) for index, array in enumerate(arrays)]
    told = "; ".join(filter(None, reasons))
    return ("outside", told) if told else ("within", "")


def main(archive: Path, results: Path) -> int:
    index = json.loads((archive / "archive.json").read_text(encoding="utf-8"))
    if index["format"] != 2:
        raise SystemExit(f"the archive has format {index['format']}; this program reads 2")
    with np.load(archive / "element_types.npz") as file:
        patterns = dict(file)
    counts: Counter[str] = Counter()
    for entry in index["programs"]:
        word, reason = verdict(entry, archive, results, patterns)
        counts[word] += 1
        if word == "outside":
            print(f"outside: {entry['id']}: {reason}")
    words = ("within", "outside", "refused", "not run")
    print(f"suite {index['suite']}: {', '.join(f'{counts[word]} {word}' for word in words)}")
    if counts["not run"] == len(index["programs"]):
        print(f"nothing was run: {results} has no file of any program")
        return 1
    return int(counts["outside"] > 0)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2])))
