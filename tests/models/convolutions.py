"""Convolutions in all their attributes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import integers, model, normal

IMAGES = normal(2, 9, 8, 4)
KERNEL = normal(3, 3, 4, 6, seed=1, scale=0.3)
NHWC = ("NHWC", "HWIO", "NHWC")


def _convolve(x, w, **options):
    settings = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": NHWC, **options}
    return lax.conv_general_dilated(x, w, **settings)


@model(IMAGES, KERNEL, bound=1e-6)
def convolution(x, w):
    return _convolve(x, w), _convolve(x, w, window_strides=(2, 1), padding=((1, 0), (-1, 2)))


@model(IMAGES, KERNEL, bound=1e-6)
def dilated_convolution(x, w):
    return _convolve(x, w, rhs_dilation=(2, 2)), _convolve(
        x, w, lhs_dilation=(1, 2), padding=((0, 0), (1, 2))
    )


@model(IMAGES, normal(3, 3, 1, 8, seed=1), normal(3, 3, 2, 6, seed=2), bound=1e-6)
def grouped_convolution(x, depthwise, grouped):
    return _convolve(x, depthwise, feature_group_count=4), _convolve(x, grouped, feature_group_count=2)


@model(normal(2, 12, 11, 24), normal(3, 3, 24, 16, seed=1, scale=0.3), bound=2e-6)
def convolution_by_tiles(x, w):
    """Winograd's algorithm serves windows and features like these, and the gradient by x."""
    return jax.vjp(_convolve, x, w)[1](_convolve(x, w)), _convolve(x, w, padding="VALID")


@model(normal(4, 6, 6, 2), normal(3, 3, 2, 4, seed=1), bound=1e-6)
def batch_grouped_convolution(x, w):
    return _convolve(x, w, batch_group_count=2)


@model(IMAGES, KERNEL, bound=1e-6)
def transposed_convolution(x, w):
    return lax.conv_transpose(x, w, (2, 2), "SAME"), lax.conv_transpose(x, w, (2, 2), "VALID")


@model(normal(2, 3, 11), normal(5, 3, 4, seed=1), bound=1e-6)
def convolution_one_dimension(x, w):
    return lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH"))


@model(normal(1, 2, 5, 6, 4), normal(3, 2, 2, 3, 2, seed=1), bound=1e-6)
def convolution_three_dimensions(x, w):
    return lax.conv_general_dilated(x, w, (1, 2, 1), "SAME", dimension_numbers=("NCDHW", "OIDHW", "NCDHW"))


@model(IMAGES, KERNEL, bound=2e-6)
def convolution_gradient(x, w):
    return jax.grad(lambda a, b: (_convolve(a, b, window_strides=(2, 2)) ** 2).sum(), argnums=(0, 1))(x, w)


@model(IMAGES, normal(3, 3, 1, 8, seed=1), bound=2e-6)
def depthwise_convolution_gradient(x, w):
    def total(a, b):
        return (_convolve(a, b, feature_group_count=4) ** 2).sum()

    return jax.grad(total, argnums=(0, 1))(x, w)


@model(integers(1, 6, 6, 3, low=-9, dtype=np.int8), integers(3, 3, 3, 2, low=-9, seed=1, dtype=np.int8))
def integer_convolution(x, w):
    return _convolve(x, w, preferred_element_type=jnp.int32)


@model(normal(20), normal(5, seed=1), bound=1e-6)
def signal_convolution(x, w):
    return jnp.convolve(x, w), jnp.correlate(x, w, mode="same")


@model(normal(1, 5, 7, 2), bound=1e-6)
def image_resize(x):
    return jax.image.resize(x, (1, 10, 9, 2), "bilinear"), jax.image.resize(x, (1, 3, 3, 2), "nearest")
