"""Runs each computation that JAX executes here too, and counts what came of the comparison."""

from __future__ import annotations

import hashlib
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Executable, NimbleError, Options, UnsupportedError

from .comparison import DIFFERENCE, judge
from .interception import Computation

Array = np.ndarray[Any, Any]

SEVERAL_DEVICES = "not compared: several devices"
EFFECTS = "not compared: tokens or calls of Python functions"
REFUSED = "refused"
FAILED = "failed"
INTERNAL = "internal error"
FAULTS = (DIFFERENCE, REFUSED, FAILED, INTERNAL)

MOST_STORED = 2
"""Most calls of one program that are stored as reproducers."""
MOST_EXECUTABLES = 3000
"""Most executables that are kept for further calls."""

_executables: dict[tuple[str, str], Executable | Exception] = {}


def compiled(text: str, mode: str) -> Executable:
    """A program compiled with the default options except for `Options.compile`."""
    return nimblehlo.compile(text, options=Options(compile=mode))  # type: ignore[arg-type]


class Comparing:
    """An observer of JAX's executions.

    Args:
        modes: settings of `Options.compile` under which each computation runs.
        folder: where reproducers of faults are stored.
    """

    def __init__(self, modes: Sequence[str], folder: Path) -> None:
        self._modes = modes
        self._folder = folder
        self._lock = threading.RLock()
        self.begin("")

    def begin(self, test: str) -> None:
        """Count anew, for the test of this name."""
        self._test = test
        self._counts: Counter[str] = Counter()
        self._programs: set[str] = set()
        self._faults: list[dict[str, str]] = []
        self._seconds = 0.0

    def record(self) -> dict[str, Any]:
        """All that was counted, for the journal."""
        with self._lock:
            return {
                "counts": dict(self._counts),
                "programs": sorted(self._programs),
                "faults": self._faults,
                "comparing": round(self._seconds, 3),
            }

    def __call__(self, computation: Computation, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        """Run a computation here, and compare with XLA's results."""
        start = time.time()
        digest = hashlib.sha256(computation.text.encode()).hexdigest()[:16]
        with self._lock:
            self._programs.add(digest)
            if computation.devices > 1:
                self._counts[SEVERAL_DEVICES] += 1
            elif computation.has_effects:
                self._counts[EFFECTS] += 1
            else:
                for mode in self._modes:
                    kind, detail = self._outcome(computation.text, digest, mode, inputs, results)
                    self._counts[kind] += 1
                    if kind in FAULTS:
                        self._store(kind, f"{mode}: {detail}", computation.text, digest, inputs, results)
            self._seconds += time.time() - start

    def _outcome(
        self, text: str, digest: str, mode: str, inputs: Sequence[Array], results: Sequence[Array]
    ) -> tuple[str, str]:
        """The kind of what came out, and what tells more of it."""
        executable = _executables.get((digest, mode))
        try:
            if executable is None:
                if len(_executables) >= MOST_EXECUTABLES:
                    _executables.clear()
                executable = compiled(text, mode)
                _executables[digest, mode] = executable
            ours = [np.asarray(result) for result in executable(*inputs)]
        except UnsupportedError as error:
            return REFUSED, f"{error.operation}: {error.reason}"
        except NimbleError as error:
            return (INTERNAL if error.__cause__ is not None else FAILED), f"{type(error).__name__}: {error}"
        except Exception:
            return INTERNAL, traceback.format_exc()
        try:
            verdict = judge(text, inputs, ours, results)
        except Exception:
            return INTERNAL, f"while judging: {traceback.format_exc()}"
        return verdict.kind, verdict.detail

    def _store(
        self,
        kind: str,
        detail: str,
        text: str,
        digest: str,
        inputs: Sequence[Array],
        results: Sequence[Array],
    ) -> None:
        """Note a fault, and write the program with its inputs and XLA's results."""
        self._faults.append({"kind": kind, "detail": detail[:2000], "program": digest})
        self._folder.mkdir(parents=True, exist_ok=True)
        stored = len(list(self._folder.glob(f"{digest}_*.npz")))
        if stored >= MOST_STORED:
            return
        comment = "".join(f"// {line}\n" for line in [self._test, kind, *detail.splitlines()])
        (self._folder / f"{digest}.mlir").write_text(comment + text)
        arrays = {f"input_{index}": value for index, value in enumerate(inputs)}
        arrays |= {f"result_{index}": value for index, value in enumerate(results)}
        raw = {name: np.frombuffer(value.tobytes(), np.uint8) for name, value in arrays.items()}
        forms = [
            f"{name} {value.dtype.name} {','.join(map(str, value.shape))}" for name, value in arrays.items()
        ]
        np.savez_compressed(self._folder / f"{digest}_{stored}.npz", forms=np.array(forms), **raw)


def stored_arrays(path: Path) -> tuple[list[Array], list[Array]]:
    """The inputs and XLA's results of a reproducer."""
    import ml_dtypes

    inputs: list[Array] = []
    results: list[Array] = []
    with np.load(path) as archive:
        for form in archive["forms"]:
            name, dtype, sizes = str(form).split(" ")
            shape = [int(size) for size in sizes.split(",") if size]
            kind = getattr(ml_dtypes, dtype, dtype)
            array = np.frombuffer(archive[name].tobytes(), kind).reshape(shape)
            (inputs if name.startswith("input") else results).append(array)
    return inputs, results
