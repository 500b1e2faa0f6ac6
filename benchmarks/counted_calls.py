"""Counts the calls that a new process completes from the text of a module on: see `benchmarks.early_calls`.

    python -m benchmarks.counted_calls {nimblehlo,xla} FOLDER SECONDS ...

FOLDER holds what `write_program` has written. It prints how many calls were completed after each number of
seconds, compilation included. What the process imports before, it would have imported without the program.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def write_program(folder: Path, text: str, inputs: Sequence[Array]) -> None:
    """Write a module and its arguments for processes that run it."""
    (folder / "module.mlir").write_text(text)
    (folder / "types.json").write_text(json.dumps([array.dtype.name for array in inputs]))
    for position, array in enumerate(inputs):
        np.save(folder / f"{position}.npy", array)


def read_program(folder: Path) -> tuple[str, list[Array]]:
    """The module and the arguments that `write_program` has written."""
    types = json.loads((folder / "types.json").read_text())
    if not all(hasattr(np, name) for name in types):
        import ml_dtypes  # noqa: F401
    inputs = [np.load(folder / f"{position}.npy").view(name) for position, name in enumerate(types)]
    return (folder / "module.mlir").read_text(), inputs


def nimblehlo_call(
    text: str, inputs: list[Array], folder: Path | None = None
) -> Callable[[], Callable[[], object]]:
    """A function that compiles the module with NimbleHLO, and returns a call; FOLDER is not used."""
    import nimblehlo

    def compile() -> Callable[[], object]:
        executable = nimblehlo.compile(text)
        return lambda: executable(*inputs)

    return compile


def xla_call(
    text: str, inputs: list[Array], folder: Path | None = None
) -> Callable[[], Callable[[], object]]:
    """A function that compiles the module with XLA:CPU, and returns a call that waits for the results.

    Like JAX's cache of compilations, it loads the executable that an earlier process has stored in FOLDER, if
    one is given, and stores it there.
    """
    import jax
    from jax.extend.backend import get_backend
    from jaxlib import xla_client

    backend = get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.devices()[:1]))
    stored = folder / "executable.xla" if folder is not None else None
    with jax.enable_x64(True):
        arrays = [jax.device_put(array).block_until_ready() for array in inputs]
        # XLA's calls of LAPACK read addresses that lowering a factorization stores.
        jax.jit(jax.numpy.linalg.cholesky).lower(np.eye(1))

    def compile() -> Callable[[], object]:
        if stored is not None and stored.exists():
            options = xla_client.CompileOptions()
            compiled = backend.deserialize_executable(stored.read_bytes(), devices, options)
        else:
            compiled = backend.compile_and_load(text, devices, xla_client.CompileOptions())
            if stored is not None:
                stored.write_bytes(compiled.serialize())

        def call() -> None:
            for result in compiled.execute_sharded(arrays).disassemble_into_single_device_arrays():
                result[0].block_until_ready()

        return call

    return compile


CALLS = {"nimblehlo": nimblehlo_call, "xla": xla_call}


def completed(compile: Callable[[], Callable[[], object]], marks: Sequence[float]) -> list[int]:
    """How many calls are completed after each number of seconds, which ascend."""
    started, counts, calls = time.perf_counter(), [], 0
    call = compile()
    while len(counts) < len(marks):
        call()
        passed = time.perf_counter() - started
        while len(counts) < len(marks) and passed > marks[len(counts)]:
            counts.append(calls)
        calls += 1
    return counts


def main() -> None:
    """Print the counts."""
    system, name, *marks = sys.argv[1:]
    folder = Path(name)
    compile = CALLS[system](*read_program(folder), folder)
    print("FIGURES", json.dumps(completed(compile, [float(mark) for mark in marks])))


if __name__ == "__main__":
    main()
