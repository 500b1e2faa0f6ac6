"""Command: load and run the artifacts by which JAX tests that old exports still run, and compare the results.

Each is read as bytecode, as text and, where the test data has it, as JAX's serialized export. The installed
JAX has the artifacts of its version; with ``--history FOLDER``, a clone of JAX, those of all releases run.
Results that are unique up to the choice of vectors are compared after the matrices are put together again.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jax._src.internal_test_util.export_back_compat_test_data as test_data
import jax.export
import numpy as np

import nimblehlo
from nimblehlo.errors import NimbleError, counted
from nimblehlo.program.ops.custom_calls.unsupported_targets import UNSUPPORTED
from tests.support.factors import eigenvectors, schur

Array = np.ndarray[Any, Any]
Artifact = Mapping[str, Any]

BYTECODE: Final = "mlir_module_serialized"
TEXT: Final = "mlir_module_text"
EXPORTED: Final = "exported_serialized"
FORMS: Final = (BYTECODE, TEXT, EXPORTED)
TOLERANCE: Final = 1e-4
"""Of the largest value, as in JAX's tests of single precision."""
INIT_VALUES: Final = "an init value that is not neutral may be added any number of times"

EXPLAINED: Final = {"tpu_stablehlo_dynamic_reduce_window.data_variadic_2023_06_17": INIT_VALUES}
"""Artifacts whose stored results are not the only right ones, and why."""


def artifacts() -> Iterator[tuple[str, Artifact]]:
    """The name and the contents of each artifact of the installed JAX."""
    for module in pkgutil.walk_packages(test_data.__path__, test_data.__name__ + "."):
        yield from _of_module(module.name.rpartition(".")[2], vars(importlib.import_module(module.name)))


def artifacts_in_history(clone: Path) -> Iterator[tuple[str, Artifact]]:
    """The artifacts of each release in a clone of JAX, and of its newest commit, each of them once."""
    seen: set[bytes] = set()
    blobs: set[str] = set()
    for release in (*_releases(clone), "HEAD"):
        for entry in _git(clone, "ls-tree", "-r", release).decode().splitlines():
            described, path = entry.split("\t")
            blob = described.split()[2]
            if not _TEST_DATA.search(path) or blob in blobs:
                continue
            blobs.add(blob)
            namespace: dict[str, Any] = {}
            with warnings.catch_warnings(action="ignore"):  # of escapes in texts
                exec(compile(_git(clone, "cat-file", "blob", blob), path, "exec"), namespace)
            for name, artifact in _of_module(Path(path).stem, namespace):
                if artifact[BYTECODE] not in seen:
                    seen.add(artifact[BYTECODE])
                    yield f"{name} ({release})", artifact


_TEST_DATA: Final = re.compile(r"back_compat_test_?data/(?:\w+/)?(?!tf_)\w+\.py$")
"""The files of artifacts. Those named ``tf_`` hold graphs of TensorFlow instead of modules."""


def _releases(clone: Path) -> list[str]:
    """The tags of JAX's releases, the oldest first."""
    tags = [tag for tag in _git(clone, "tag").decode().split() if re.fullmatch(r"jax-v\d+(\.\d+)+", tag)]
    return sorted(tags, key=lambda tag: [int(number) for number in tag.removeprefix("jax-v").split(".")])


def _git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=True).stdout


def _of_module(stem: str, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Artifact]]:
    for name, value in namespace.items():
        if not name.startswith("__"):
            yield from _nested(f"{stem}.{name}", value)


def _nested(name: str, value: Any) -> Iterator[tuple[str, Artifact]]:
    if isinstance(value, Mapping) and BYTECODE in value:
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nested(f"{name}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _nested(f"{name}.{index}", item)


REASSEMBLED: Final[Mapping[str, Callable[[Sequence[Array]], Array]]] = {
    "syev": lambda results: eigenvectors(results[1], results[0]),
    "cpu_eig_": lambda results: eigenvectors(results[0], results[2]),
    "schur": lambda results: schur(results[1], results[0]),
}
"""By a part of the artifact's name, the matrix whose factors are the results."""


def outcome(name: str, artifact: Artifact, form: str) -> str:
    """What came of loading and running an artifact."""
    try:
        module = nimblehlo.load(
            jax.export.deserialize(bytearray(artifact[form])) if form == EXPORTED else artifact[form]
        )
    except NimbleError as error:
        return _refusal(error) or f"FAILED to load: {error}"
    try:
        results = nimblehlo.execute(module, artifact["inputs"])
    except NimbleError as error:
        return _refusal(error) or f"FAILED to run: {error}"
    expected = [np.asarray(value) for value in artifact["expected_outputs"]]
    if _agree(results, expected):
        return "equal"
    for part, assembled in REASSEMBLED.items():
        if part in name and _agree([assembled(results)], [assembled(expected)]):
            return "equal, with other vectors"
    explanation = EXPLAINED.get(name.partition(" (")[0])
    return "FAILED: other results" if explanation is None else f"explained: {explanation}"


def _refusal(error: NimbleError) -> str | None:
    """The reason why a process on a CPU refuses the artifact; None for other errors."""
    reasons = (*UNSUPPORTED.values(), "which only several devices can do")
    return next((f"refused: {reason}" for reason in reasons if reason in str(error)), None)


def _agree(results: Sequence[Array], expected: Sequence[Array]) -> bool:
    return len(results) == len(expected) and all(
        got.shape == want.shape and got.dtype == want.dtype and _is_close(got, want)
        for got, want in zip(results, expected, strict=True)
    )


def _is_close(got: Array, want: Array) -> bool:
    if want.dtype.kind in "biu":
        return bool(np.array_equal(got, want))
    bound = TOLERANCE * max(1.0, float(np.abs(want).max(initial=0.0)))
    return bool(np.allclose(got, want, rtol=0, atol=bound, equal_nan=True))


def main() -> int:
    """Exit status 1 if an artifact failed."""
    name = "tests.program.frontend.compatibility"
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=__doc__)
    parser.add_argument(
        "--history", type=Path, metavar="FOLDER", help="a clone of JAX with its releases' tags"
    )
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    number = 0
    for name, artifact in artifacts() if options.history is None else artifacts_in_history(options.history):
        number += 1
        for form in FORMS:
            if form not in artifact:
                continue
            result = outcome(name, artifact, form)
            kind = "FAILED" if result.startswith("FAILED") else result
            counts[artifact["platform"], kind] += 1
            if kind == "FAILED":
                print(f"{name} ({artifact['platform']}, {form}): {result}")
    print(f"{counted(number, 'artifact')}, {counted(counts.total(), 'program')}:")
    for (platform, result), count in sorted(counts.items()):
        print(f"  {count:4} {platform:5} {result}")
    return 1 if any(kind == "FAILED" for _, kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
