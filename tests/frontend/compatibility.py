"""Command: load and run the artifacts by which JAX tests that old exports still run, and compare the results.

Each is read twice, as bytecode and as text. The installed JAX has them, in its test data. Results that are
unique up to the choice of vectors are compared after the matrices are put together again.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import jax._src.internal_test_util.export_back_compat_test_data as test_data
import numpy as np

import nimblehlo
from nimblehlo.errors import NimbleError

Array = np.ndarray[Any, Any]
Artifact = Mapping[str, Any]

FORMS: Final = ("mlir_module_serialized", "mlir_module_text")
TOLERANCE: Final = 1e-4
"""Of the largest value, as in JAX's tests of single precision."""
INIT_VALUES: Final = "an init value that is not neutral may be added any number of times"

EXPLAINED: Final = {"tpu_stablehlo_dynamic_reduce_window.data_variadic_2023_06_17": INIT_VALUES}
"""Artifacts whose stored results are not the only right ones, and why."""


def artifacts() -> Iterator[tuple[str, Artifact]]:
    """The name and the contents of each artifact."""
    for module in pkgutil.walk_packages(test_data.__path__, test_data.__name__ + "."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if not name.startswith("__"):
                yield from _nested(f"{module.name.rpartition('.')[2]}.{name}", value)


def _nested(name: str, value: Any) -> Iterator[tuple[str, Artifact]]:
    if isinstance(value, Mapping) and FORMS[0] in value:
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nested(f"{name}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _nested(f"{name}.{index}", item)


def _of_eigenvectors(values: Array, vectors: Array) -> Array:
    """The matrix with these eigenvalues and right eigenvectors."""
    return np.asarray((vectors * values[..., None, :]) @ np.linalg.inv(vectors))


REASSEMBLED: Final[Mapping[str, Callable[[Sequence[Array]], Array]]] = {
    "eigh": lambda results: _of_eigenvectors(results[1], results[0]),
    "cpu_eig_": lambda results: _of_eigenvectors(results[0], results[2]),
    "schur": lambda results: results[1] @ results[0] @ np.conj(np.swapaxes(results[1], -1, -2)),
}
"""By a part of the artifact's name, the matrix whose factors are the results."""


def outcome(name: str, artifact: Artifact, form: str) -> str:
    """What came of loading and running an artifact."""
    try:
        module = nimblehlo.load(artifact[form])
    except NimbleError as error:
        return f"FAILED to load: {error}"
    try:
        results = nimblehlo.execute(module, artifact["inputs"])
    except NimbleError as error:
        if "it is a target of" in str(error):
            return f"refused: {error.reason.rpartition(': ')[2]}"
        return f"FAILED to run: {error}"
    expected = [np.asarray(value) for value in artifact["expected_outputs"]]
    if _agree(results, expected):
        return "equal"
    for part, assembled in REASSEMBLED.items():
        if part in name and _agree([assembled(results)], [assembled(expected)]):
            return "equal, with other vectors"
    return f"explained: {EXPLAINED[name]}" if name in EXPLAINED else "FAILED: other results"


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
    counts: Counter[str] = Counter()
    for name, artifact in artifacts():
        for form in FORMS:
            result = outcome(name, artifact, form)
            counts[result.partition(" ")[0] if result.startswith("FAILED") else result] += 1
            if result.startswith("FAILED"):
                print(f"{name} ({artifact['platform']}, {form}): {result}")
    print(f"{counts.total()} programs:")
    for result, count in counts.most_common():
        print(f"  {count:4} {result}")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
