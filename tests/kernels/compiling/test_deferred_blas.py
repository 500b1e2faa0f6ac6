"""Numba asks for SciPy's BLAS when a function needs it, not when a kernel is compiled."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

CODE = """
import sys
import numpy as np
from nimblehlo.kernels.launch.compilation import kernel

@kernel(parallel=True)
def double(task, size, operand, result):
    for index in range(task * size, min((task + 1) * size, operand.size)):
        result[index] = operand[index] + operand[index]

result = np.zeros(3, np.float32)
double(1, 3, np.ones(3, np.float32), result)
assert result.tolist() == [2, 2, 2]
assert "scipy.linalg" not in sys.modules

import numba
from numba.np import arraymath, linalg

assert arraymath.ensure_blas is linalg.ensure_blas
linalg.ensure_blas()
assert "scipy.linalg.cython_blas" in sys.modules
matrix = np.arange(9.0).reshape(3, 3)
assert (numba.njit(lambda a: np.dot(a, a))(matrix) == matrix @ matrix).all()
"""


def test_kernels_do_not_import_linear_algebra(tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr
