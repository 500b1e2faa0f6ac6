"""Products of matrices, convolutions, and linear algebra."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular

from .program import Array, RandomArrays, program

SIDES = (16, 128, 768)
IMAGES = (8, 24, 64)


def _square(draw: RandomArrays, n: int) -> tuple[Array, ...]:
    return draw.floats(n, n), draw.floats(n, n)


def _filters(draw: RandomArrays, n: int, channels: int, features: int) -> tuple[Array, ...]:
    return draw.floats(4, n, n, channels), draw.floats(3, 3, channels, features)


@program("dot", SIDES, _square, bound=1e-5, numpy=np.matmul)
def dot_float32(a, b):
    """A matrix times a matrix."""
    return a @ b


@program("dot", SIDES, lambda draw, n: (draw.bfloat16(n, n), draw.bfloat16(n, n)), bound=1e-2)
def dot_bfloat16(a, b):
    """The same of bfloat16."""
    return a @ b


@program(
    "dot",
    SIDES,
    lambda draw, n: (
        draw.integers(127, n, n, low=-127, dtype=np.int8),
        draw.integers(127, n, n, low=-127, dtype=np.int8),
    ),
    numpy=lambda a, b: np.matmul(a, b, dtype=np.int32),
)
def dot_int8(a, b):
    """The same of int8, summed as int32."""
    return lax.dot(a, b, preferred_element_type=jnp.int32)


@program(
    "dot",
    SIDES,
    lambda draw, n: (draw.floats(n, 32, 48), draw.floats(n, 48, 32)),
    bound=1e-5,
    numpy=np.matmul,
)
def dot_batches(a, b):
    """Many products of small matrices."""
    return jnp.einsum("bij,bjk->bik", a, b)


@program(
    "dot",
    SIDES,
    lambda draw, n: (draw.floats(n), draw.floats(n, 2 * n)),
    bound=1e-5,
    numpy=np.matmul,
)
def dot_vector(a, b):
    """A vector times a matrix."""
    return a @ b


@program("convolution", IMAGES, lambda draw, n: _filters(draw, n, 16, 32), bound=1e-5)
def convolution_images(x, w):
    """Filters of 3 by 3 over images."""
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program(
    "convolution",
    IMAGES,
    lambda draw, n: (draw.floats(4, n, n, 32), draw.floats(3, 3, 1, 32)),
    bound=1e-5,
)
def convolution_by_channel(x, w):
    """A separate filter for each channel."""
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=32
    )


@program(
    "convolution",
    (64, 1024, 16_384),
    lambda draw, n: (draw.floats(4, 8, n), draw.floats(16, 8, 5)),
    bound=1e-5,
)
def convolution_signals(x, w):
    """Filters over signals, at every second place of a dilated window."""
    return lax.conv_general_dilated(
        x, w, (2,), "VALID", rhs_dilation=(2,), dimension_numbers=("NCH", "OIH", "NCH")
    )


@program("convolution", IMAGES, lambda draw, n: _filters(draw, n, 8, 8), bound=1e-5)
def convolution_transposed(x, w):
    """Images of twice the size."""
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program(
    "linear algebra",
    (16, 64, 512),
    lambda draw, n: (draw.floats(n, n),),
    bound=1e-4,
    numpy=lambda a: np.linalg.cholesky(a @ a.T + np.float32(n_of(a)) * np.eye(n_of(a), dtype=np.float32)),
    interpreted=False,
)
def factor_cholesky(a):
    """The Cholesky factor of a positive definite matrix."""
    return jnp.linalg.cholesky(a @ a.T + n_of(a) * jnp.eye(n_of(a)))


@program(
    "linear algebra",
    (16, 64, 512),
    lambda draw, n: (draw.floats(n, n), draw.floats(n, 32)),
    bound=1e-4,
    interpreted=False,
)
def solve_lower_triangle(a, b):
    """32 systems with one triangular matrix."""
    return solve_triangular(a + n_of(a) * jnp.eye(n_of(a)), b, lower=True)


@program(
    "linear algebra",
    (16, 64, 512),
    lambda draw, n: (draw.complex(n, 1024),),
    bound=1e-5,
    numpy=lambda x: np.fft.fft(x),
    interpreted=False,
)
def transform_rows(x):
    """The Fourier transform of each row."""
    return jnp.fft.fft(x)


def n_of(a: Array) -> int:
    """The number of rows."""
    return a.shape[0]
