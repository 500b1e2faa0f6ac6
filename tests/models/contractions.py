"""Matrix products and their kin."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from .model import complex_normal, integers, model, normal


@model(normal(6, 8), normal(8, 5, seed=1), normal(8, seed=2), bound=1e-6)
def matrix_products(a, b, v):
    return a @ b, a @ v, v @ b, jnp.dot(v, v), jnp.outer(v, v), jnp.vdot(a, a)


@model(normal(3, 4, 5), normal(3, 5, 2, seed=1), bound=1e-6)
def batched_matrix_products(a, b):
    return a @ b, jnp.einsum("bij,bjk->kbi", a, b), jnp.tensordot(a, b, axes=((0, 2), (0, 1)))


@model(normal(2, 3, 4, 5), normal(5, 2, 6, seed=1), bound=1e-6)
def einsum_variants(a, b):
    return (
        jnp.einsum("abcd,dae->bce", a, b),
        jnp.einsum("abcd->dcba", a),
        jnp.einsum("abcd,abcd->ac", a, a),
        jnp.einsum("ijk,ijk->", b, b),
    )


@model(
    integers(6, 9, low=-128, high=128, dtype=np.int8),
    integers(9, 4, low=-128, high=128, seed=1, dtype=np.int8),
)
def int8_matrix_product(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.int32), a @ b


@model(
    integers(4, 6, low=-8, high=8).astype(ml_dtypes.int4),
    integers(6, 5, low=-8, high=8, seed=1).astype(ml_dtypes.int4),
    reference=lambda a, b: a.astype(jnp.int32) @ b.astype(jnp.int32),
)
def int4_matrix_product(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.int32)


@model(integers(4, 6, low=-1000, high=1000), integers(6, 3, low=-1000, high=1000, seed=1))
def int32_matrix_product(a, b):
    return a @ b


@model(normal(8, 16).astype(ml_dtypes.bfloat16), normal(16, 4, seed=1).astype(ml_dtypes.bfloat16), bound=8e-3)
def bfloat16_matrix_product(a, b):
    return a @ b, lax.dot(a, b, preferred_element_type=jnp.float32)


@model(normal(8, 16), normal(16, 4, seed=1), bound=2e-2)
def dot_algorithm_presets(a, b):
    def product(preset):
        return lax.dot(a, b, precision=preset)

    presets = lax.DotAlgorithmPreset
    return product(presets.F32_F32_F32), product(presets.BF16_BF16_F32), product(presets.BF16_BF16_F32_X3)


@model(normal(8, 16), normal(16, 4, seed=1), bound=1e-6)
def highest_precision_product(a, b):
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


@model(
    normal(6, 8).astype(ml_dtypes.float8_e4m3fn),
    normal(8, 4, seed=1).astype(ml_dtypes.float8_e4m3fn),
    bound=1e-6,
)
def float8_matrix_product(a, b):
    return lax.dot(a, b, preferred_element_type=jnp.float32)


@model(complex_normal(4, 6), complex_normal(6, 3, seed=7), bound=1e-6)
def complex_matrix_product(a, b):
    return a @ b


@model(normal(5, 7, dtype=np.float64), normal(7, 3, seed=1, dtype=np.float64), bound=1e-14, x64=True)
def double_matrix_product(a, b):
    return a @ b


@model(normal(10, 4), normal(3, 4, 5, seed=1), np.int32([3, 0, 7]), bound=1e-6)
def ragged_dot(a, b, group_sizes):
    return lax.ragged_dot(a, b, group_sizes)


@model(normal(6, 8), normal(8, 5, seed=1), bound=2e-6)
def matrix_product_gradient(a, b):
    return jax.grad(lambda x, y: jnp.sin(x @ y).sum(), argnums=(0, 1))(a, b)
