"""Run every example through `nimblehlo run` and compare its results with those of XLA:CPU.

    python tools/run_examples.py [NAME ...]

NAME.mlir in examples/ is called with NAME.input0.npy, NAME.input1.npy, ...; NAME.expected.npz has the
expected results. Exits with 0 only where all examples ran and agree.
"""

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.comparison import Array, difference

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

# Relative to a result's largest value. XLA:CPU's float32 results differ from float64 ones by up to 2e-7.
FLOAT_BOUND = 2e-6


def arrays(path: Path) -> list[Array]:
    """The arrays of an .npz file in the order in which they were written."""
    with np.load(path) as file:
        return [file[name] for name in file.files]


def disagreement(actual: list[Array], expected: list[Array]) -> str | None:
    """The first difference of a program's results from the expected ones, or None."""
    if len(actual) != len(expected):
        return f"{len(actual)} results where {len(expected)} are expected"
    for position, (one, other) in enumerate(zip(actual, expected, strict=True)):
        told = difference(one, other, FLOAT_BOUND)
        if told is not None:
            return f"result {position}: {told}"
    return None


def run_example(program: Path, output: Path) -> str | None:
    """Run one program, which prints its results; returns the reason if it fails, else None."""
    inputs = sorted(program.parent.glob(f"{program.stem}.input*.npy"))
    command = ["nimblehlo", "run", str(program)]
    for path in inputs:
        command += ["--input", str(path)]
    shown = [word.replace(f"{EXAMPLES.parent}/", "") for word in command]
    print("$", *shown, flush=True)
    command[0] = str(Path(sysconfig.get_path("scripts")) / "nimblehlo")
    status = subprocess.run([*command, "--output", str(output)]).returncode
    if status:
        return f"exit status {status}"
    return disagreement(arrays(output), arrays(program.with_suffix(".expected.npz")))


def main() -> int:
    """Returns 0 if all examples agree, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an example (default: all)")
    names = parser.parse_args().names
    programs = [EXAMPLES / f"{name}.mlir" for name in names] or sorted(EXAMPLES.glob("*.mlir"))
    lines, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            started = time.perf_counter()
            reason = run_example(program, Path(folder) / f"{program.stem}.npz")
            seconds = time.perf_counter() - started
            failures += reason is not None
            verdict = "results agree with XLA:CPU's" if reason is None else f"FAILED: {reason}"
            lines.append(f"  {program.stem:<20}{seconds:6.2f} s  {verdict}")
            print(flush=True)
    print(f"{len(programs)} examples, each in a process of its own (start of Python included):")
    print("\n".join(lines))
    return 1 if failures or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
