"""Checks of JAX on the platform nimblehlo, in a process with ``JAX_PLATFORMS=nimblehlo,cpu``.

Each function `check_...` is one check. A failure is printed with its traceback; the exit status is 1 then.
"""

from __future__ import annotations

import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np


def check_a_jitted_function() -> None:
    assert [device.platform for device in jax.devices()] == ["nimblehlo"]
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(jnp.arange(4.0)), [1, 2, 3, 4])


def check_a_gradient() -> None:
    x = jnp.arange(4.0)
    np.testing.assert_allclose(
        jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(x), np.sin(2 * np.arange(4.0)), atol=1e-6
    )


def check_a_product() -> None:
    a = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(a @ a.T, np.arange(12.0).reshape(3, 4) @ np.arange(12.0).reshape(3, 4).T)


def check_donation() -> None:
    x = jnp.ones(4)
    np.testing.assert_array_equal(jax.jit(lambda x: x * 2, donate_argnums=0)(x), [2, 2, 2, 2])
    assert x.is_deleted()


def main() -> int:
    """Run every check; the exit status."""
    failed = []
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
            except Exception:
                print(f"{name}:\n{traceback.format_exc()}")
                failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
