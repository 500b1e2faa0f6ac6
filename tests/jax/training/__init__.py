"""Scripts of public libraries, as their users write them, on NimbleHLO and on JAX's CPU backend.

    python -m tests.jax.training [NAME ...]

It needs flax, optax, diffrax, equinox and numpyro. A script knows nothing of the platform, and prints
numbers as JSON.
"""
