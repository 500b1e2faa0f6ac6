"""Elementwise functions, most of them composed of others by JAX or left to CHLO."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .model import complex_normal, integers, model, normal, uniform


@model(normal(40, scale=2.0), bound=1e-6)
def elementary_functions(x):
    positive = jnp.abs(x) + 0.1
    return (
        jnp.exp(x),
        jnp.expm1(x),
        jnp.log(positive),
        jnp.log1p(positive),
        jnp.sqrt(positive),
        lax.rsqrt(positive),
        jnp.cbrt(x),
        jnp.sin(x),
        jnp.cos(x),
        jnp.tan(x / 2),
        jnp.tanh(x),
        jax.nn.sigmoid(x),
        jnp.power(positive, x),
        jnp.arctan2(x, positive),
        jnp.hypot(x, positive),
    )


@model(uniform(30, low=-0.95, high=0.95), bound=1e-6)
def inverse_trigonometric_functions(x):
    return (
        jnp.arcsin(x),
        jnp.arccos(x),
        jnp.arctan(3 * x),
        jnp.arcsinh(3 * x),
        jnp.arccosh(x + 2),
        jnp.arctanh(x),
        jnp.sinh(2 * x),
        jnp.cosh(2 * x),
    )


@model(normal(30), bound=2e-6)
def error_functions(x):
    return (
        lax.erf(x),
        lax.erfc(x),
        lax.erf_inv(jnp.tanh(x)),
        jax.scipy.special.ndtr(x),
        jax.scipy.stats.norm.logcdf(x),
    )


@model(uniform(20, low=0.2, high=6.0), bound=5e-6)
def gamma_functions(x):
    return lax.lgamma(x), lax.digamma(x), jax.scipy.special.gammaln(x), lax.lgamma(0.3 - x)


@model(uniform(16, low=0.5, high=4.0), uniform(16, low=0.1, high=5.0, seed=1), bound=5e-6)
def incomplete_gamma(a, x):
    return lax.igamma(a, x), lax.igammac(a, x)


@model(
    uniform(12, low=0.5, high=4.0),
    uniform(12, low=0.5, high=4.0, seed=1),
    uniform(12, low=0.05, high=0.95, seed=2),
    bound=5e-6,
)
def incomplete_beta(a, b, x):
    return lax.betainc(a, b, x)


@model(uniform(12, low=1.2, high=6.0), uniform(12, low=0.2, high=4.0, seed=1), bound=5e-6)
def zeta_and_polygamma(s, q):
    return lax.zeta(s, q), lax.polygamma(jnp.float32(1), q), lax.polygamma(jnp.float32(2), q)


@model(uniform(14, low=-5.0, high=5.0), bound=2e-6)
def bessel_functions(x):
    return lax.bessel_i0e(x), lax.bessel_i1e(x)


@model(uniform(20, low=-2.0, high=2.0, dtype=np.float64), bound=1e-13, x64=True)
def elementary_functions_double(x):
    positive = jnp.abs(x) + 0.1
    return (
        jnp.exp(x),
        jnp.log(positive),
        jnp.sin(x),
        jnp.tanh(x),
        lax.erf(x),
        lax.lgamma(positive),
        lax.erf_inv(x / 3),
    )


@model(normal(20, scale=4.0), bound=0)
def rounding_functions(x):
    return jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.trunc(x), lax.round(x), jnp.sign(x), jnp.abs(x)


@model(normal(20, scale=4.0), normal(20, seed=1), bound=1e-6)
def division_and_remainder(x, y):
    return x / y, jnp.fmod(x, y), jnp.remainder(x, y), jnp.floor_divide(x, y)


@model(integers(24, low=-50, high=50), integers(24, low=1, high=9, seed=1))
def integer_arithmetic(n, m):
    return (
        n + m,
        n * m,
        n // m,
        lax.div(n, m),
        n % m,
        lax.rem(n, m),
        jnp.abs(n),
        -n,
        jnp.sign(n),
        n**3,
        jnp.gcd(n, m),
    )


@model(integers(24, low=0, high=2**31 - 1), integers(24, high=31, seed=1))
def bit_operations(n, shift):
    return (
        n & shift,
        n | shift,
        n ^ shift,
        ~n,
        n << shift,
        n >> shift,
        lax.shift_right_logical(-n, shift),
        lax.population_count(n),
        lax.clz(n),
    )


@model(normal(20), normal(20, seed=1))
def nextafter(x, y):
    return jnp.nextafter(x, y), lax.nextafter(jnp.zeros(20), y)


@model(normal(20, scale=100.0))
def reduce_precision(x):
    return lax.reduce_precision(x, 5, 3), lax.reduce_precision(x, 8, 7)


@model(normal(20), normal(20, seed=1))
def clamp_and_select(x, y):
    parts = lax.select_n(integers(20, high=3), x, y, x + y)
    return lax.clamp(-0.5, x, 0.5), lax.clamp(y - 1, x, y + 1), lax.select(x > y, x, y), parts


@model(np.float32([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30]), not_finite=True)
def comparisons_of_special_values(x):
    # No subnormal number: XLA:CPU takes those for zero.
    a, b = x[:, None], x[None, :]
    tests = a < b, a <= b, a == b, a != b, a >= b, a > b
    return tests, jnp.isnan(x), jnp.isfinite(x), jnp.signbit(x), jnp.maximum(a, b), jnp.minimum(a, b)


@model(complex_normal(12), complex_normal(12, seed=7), bound=1e-6)
def complex_arithmetic(x, y):
    return (
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        jnp.conj(x),
        x.real,
        x.imag,
        jnp.abs(x),
        jnp.angle(x),
        lax.complex(x.real, y.imag),
    )


@model(complex_normal(12), bound=1e-6)
def complex_functions(x):
    return (
        jnp.exp(x),
        jnp.log(x),
        jnp.sqrt(x),
        jnp.sin(x),
        jnp.cos(x),
        jnp.tanh(x),
        lax.rsqrt(x),
        x**2,
        jnp.expm1(x),
    )
