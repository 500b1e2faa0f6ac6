"""The examples run from the command line, and wrong results are reported."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tools import run_examples
from tools.comparison import difference

NAMES = ("convolution_step", "graph_network", "kmeans", "transformer")


@pytest.mark.parametrize("name", NAMES)
def test_example_agrees_with_xla(project_root: Path, name: str) -> None:
    command = [sys.executable, str(project_root / "tools" / "run_examples.py"), name]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "results agree with XLA:CPU's" in finished.stdout


def test_every_example_is_small_and_has_results(project_root: Path) -> None:
    programs = sorted((project_root / "examples").glob("*.mlir"))
    assert tuple(program.stem for program in programs) == NAMES
    for program in programs:
        assert program.stat().st_size < 1_000_000
        assert run_examples.arrays(program.with_suffix(".expected.npz"))


def test_a_wrong_result_is_noticed() -> None:
    expected = [np.float32([1.0, 2.0]), np.int32([3])]
    assert run_examples.disagreement([np.float32([1.0, 2.000001]), np.int32([3])], expected) is None
    assert "result 0" in run_examples.disagreement([np.float32([1.0, 2.0001]), np.int32([3])], expected)
    assert "result 1" in run_examples.disagreement([np.float32([1.0, 2.0]), np.int32([4])], expected)
    assert "1 results" in run_examples.disagreement(expected[:1], expected)


@pytest.mark.parametrize(
    ("actual", "expected", "bound", "agree"),
    [
        (np.int8([1, 2]), np.int8([1, 2]), 0, True),
        (np.int8([1, 2]), np.int8([1, 3]), 1.0, False),
        (np.int8([1, 2]), np.int16([1, 2]), 0, False),
        (np.zeros((2, 1)), np.zeros((1, 2)), 0, False),
        (np.float32([np.nan, np.inf, 1]), np.float32([np.nan, np.inf, 1]), 0, True),
        (np.float32([np.nan, 1]), np.float32([1, 1]), 1.0, False),
        (np.float32([1, 1]), np.float32([np.nan, 1]), 1.0, False),
        (np.float32([np.inf]), np.float32([-np.inf]), 1.0, False),
        (np.float32([1e-9, 1]), np.float32([0, 1]), 1e-6, True),
        (np.float32([1e-9, 1]), np.float32([0, 1]), 0, False),
        (np.float32([1e-9]), np.float32([0]), 1e-6, False),
        (np.complex64([1 + 1e-3j]), np.complex64([1]), 1e-4, False),
        (
            np.float32([1]).astype(ml_dtypes.bfloat16),
            np.float32([1.01]).astype(ml_dtypes.bfloat16),
            1e-3,
            False,
        ),
        (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 0, True),
    ],
)
def test_difference(actual: np.ndarray, expected: np.ndarray, bound: float, agree: bool) -> None:
    assert (difference(actual, expected, bound) is None) == agree
