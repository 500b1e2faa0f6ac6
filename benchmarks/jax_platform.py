"""Compares calls through `jax.jit` on NimbleHLO with JAX's CPU backend.

    JAX_PLATFORMS=nimblehlo,cpu python -m benchmarks.jax_platform [--cases FILE] [--size SIZE] [NAME ...]

Without FILE these are the benchmarks' programs. FILE is a Python file with a dictionary `CASES` that maps
names to (family, function, function that makes the arguments). Each platform has its arguments in memory of
its own; the two are called in turn until their results are ready. Results are compared before anything is
timed.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from .measuring import Action, Comparison, figures, report, rounded, side_by_side, warm_up
from .programs import PROGRAMS, SIZES, representatives

PLATFORMS = "nimblehlo,cpu"
BOUND = 1e-3
"""How far results may lie apart, relative to the largest value; in 16 bits and less `NARROW_BOUND`."""
NARROW_BOUND = 2e-2


class Case(NamedTuple):
    """A function and its arguments, trees of arrays."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class JaxPlatform:
    """A warm call of `jax.jit` on both platforms, one program of each family. More is better."""

    params = (representatives(),)
    param_names = ("program",)
    timeout = 120
    unit = "times as fast"

    def track_ratio(self, name: str) -> float:
        """At the medium size, in a process that has both platforms."""
        command = [sys.executable, "-m", "benchmarks.jax_platform", "--figures", "--size", SIZES[1], name]
        return float(figures(command, {"JAX_PLATFORMS": PLATFORMS})["ratio"])


def program_cases(size: str) -> Iterator[Case]:
    """The benchmarks' programs that JAX runs without types of 64 bits."""
    for name, program in PROGRAMS.items():
        if not program.x64:
            yield Case(name, program.function, tuple(program.inputs(size)))


def file_cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    sys.path.insert(0, str(path.resolve().parent))
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        cases = runpy.run_path(str(path))["CASES"]
    for name, (_, function, arguments) in cases.items():
        yield Case(name, function, arguments)


def call_on(case: Case, arguments: tuple[Any, ...], device: jax.Device) -> Callable[[], Any]:
    """A call of the jitted function on a device, until its results are ready."""
    placed = jax.device_put(arguments, device)
    jitted = jax.jit(case.function)
    return lambda: jax.block_until_ready(jitted(*placed))


def disagreement(ours: Any, other: Any) -> str | None:
    """The first difference of two trees of results; None if they agree within the bounds of their types."""
    for one, another in zip(jax.tree.leaves(ours), jax.tree.leaves(other), strict=True):
        got, expected = np.asarray(one), np.asarray(another)
        if got.shape != expected.shape or got.dtype != expected.dtype:
            return f"{got.dtype}{got.shape} in place of {expected.dtype}{expected.shape}"
        if expected.dtype.kind in "biu":
            wrong = int(np.count_nonzero(got != expected))
        else:
            bound = NARROW_BOUND if expected.dtype.itemsize <= 2 else BOUND
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            got, expected = got.astype(wide), expected.astype(wide)
            scale = max(BOUND, float(np.abs(expected).max(initial=0.0)))
            wrong = int(np.count_nonzero(~(np.abs(got - expected) <= bound * scale)))
        if wrong:
            return f"{wrong} of {expected.size} elements differ"
    return None


def compare(case: Case) -> Comparison:
    """Compare calls on both platforms.

    Raises:
        ValueError: the results disagree, or none of them could show it.
    """
    cpu = jax.local_devices(backend="cpu")[0]
    arguments = case.arguments
    if callable(arguments):
        with jax.default_device(cpu):
            arguments = arguments()
    ours: Action = call_on(case, arguments, jax.devices("nimblehlo")[0])
    other: Action = call_on(case, arguments, cpu)
    expected = other()
    from tools.comparison import no_telling_result

    reason = no_telling_result(map(np.asarray, jax.tree.leaves(expected)), BOUND)
    reason = reason or disagreement(ours(), expected)
    if reason is not None:
        raise ValueError(reason)
    warm_up(ours, for_seconds=0.5)
    return side_by_side(ours, other, for_seconds=1.5, max_pairs=1000)


def print_ratio(_: str, times: Comparison) -> None:
    """Print the ratio as JSON, for the suite that runs this script."""
    print(f'FIGURES {{"ratio": {rounded(times.ratio)}}}')


def main() -> int:
    """1 where a case failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of cases; all where there are none")
    parser.add_argument("--cases", type=Path, help="a Python file with CASES")
    parser.add_argument("--size", choices=SIZES, default=SIZES[1], help="of the benchmarks' programs")
    parser.add_argument("--figures", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if "nimblehlo" not in os.environ.get("JAX_PLATFORMS", ""):
        parser.error(f"set JAX_PLATFORMS={PLATFORMS}")
    cases = program_cases(options.size) if options.cases is None else file_cases(options.cases)
    chosen = (case for case in cases if not options.names or case.name in options.names)
    return report(chosen, compare, "CPU", print_ratio if options.figures else None)


if __name__ == "__main__":
    sys.exit(main())
