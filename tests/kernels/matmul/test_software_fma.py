"""Products on processors without fused multiply-add, whose software has the bits of the instruction."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from nimblehlo.kernels.launch.processor import ENVIRONMENT_VARIABLE, LEVELS, has
from nimblehlo.kernels.matmul import gemv, matmul

SHAPES = [(2, 5, 7, 3), (2, 64, 300, 40), (1, 1, 500, 20), (3, 20, 500, 1), (500, 4, 6, 5)]
"""(batch, rows, k, columns): tiles, several k blocks, both sides of a vector, and small matrices."""
SPECIAL = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2**0.5]

needs_fma = pytest.mark.skipif(
    not all(map(has, LEVELS["x86-64-v3"])), reason="this processor has no fused multiply-add of x86-64"
)


def operands(dtype, shape, spread):
    """Numbers whose exponents differ by up to `spread`, so that sums cancel, overflow and underflow."""
    batch, rows, k, columns = shape
    generator = np.random.default_rng([rows, k, spread])
    limits = np.finfo(dtype)
    for sizes in ((batch, rows, k), (batch, k, columns)):
        numbers = np.ldexp(
            generator.choice([-1, 1], sizes) * (1 + generator.integers(0, 2**20, sizes) / 2**20),
            generator.integers(-spread, spread + 1, sizes),
        ).astype(dtype)
        if spread > 20:
            special = np.array([*SPECIAL, limits.max, limits.tiny, limits.smallest_subnormal], dtype)
            numbers.flat[::499] = generator.choice(special, numbers.flat[::499].size)
        yield numbers


def ties(dtype):
    """Sums of a tiny number, and a product in the middle of two numbers of the type."""
    generator = np.random.default_rng(1)
    size, half = (200, 1), (np.finfo(dtype).nmant + 1) // 2
    a, b = (generator.integers(2**half, 2 ** (half + 1), size) | 1 for _ in range(2))
    tiny = np.ldexp(generator.choice([-1.0, 1.0], size), generator.integers(-120, -10, size))
    yield np.stack([tiny, a], -1).astype(dtype)
    yield np.stack([np.ones(size), b], 1).astype(dtype)


def products():
    """Products of each shape, in f32 and f64, with moderate exponents and with all, and near ties."""
    with np.errstate(all="ignore"):
        return [matmul.multiply(*ties(dtype)) for dtype in (np.float32, np.float64)] + [
            (gemv if 1 in shape[1::2] else matmul).multiply(*operands(dtype, shape, spread))
            for dtype, spreads in ((np.float32, (2, 40, 100)), (np.float64, (2, 300, 1000)))
            for shape in SHAPES
            for spread in spreads
        ]


@needs_fma
def test_software_multiplies_and_adds_with_one_rounding():
    code = (
        "import pickle, sys; from tests.kernels.matmul.test_software_fma import products; "
        "pickle.dump(products(), sys.stdout.buffer)"
    )
    variables = {**os.environ, ENVIRONMENT_VARIABLE: "x86-64-v2"}
    written = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, check=True)
    finite = total = 0
    for here, there in zip(products(), pickle.loads(written.stdout), strict=True):
        is_number = ~np.isnan(here)
        assert (is_number == ~np.isnan(there)).all()
        assert here[is_number].tobytes() == there[is_number].tobytes()
        finite, total = finite + np.isfinite(here).sum(), total + here.size
    assert total / 2 < finite < total
