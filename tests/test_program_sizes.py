"""Programs whose operations, operands, results, ranks and nesting exceed what fits in fixed memory."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.running import assert_close, run_every_way, run_xla


@pytest.mark.parametrize("count", [47, 48])
def test_a_fused_loop_over_rows_of_many_arrays(count: int) -> None:
    """Native code is given the addresses of `2 * count + 1` arrays; 96 lie on the stack."""

    def scaled(*arrays: jax.Array) -> list[jax.Array]:
        scale = jax.lax.rsqrt(jnp.square(arrays[0]).sum(1, keepdims=True))
        return [array * scale for array in arrays]

    arrays = np.random.default_rng(0).standard_normal((count, 20, 16)).astype(np.float32)
    text = jax.jit(scaled).lower(*arrays).as_text()
    results = run_every_way(text, *arrays)
    assert_close(results, run_xla(text, *arrays), 1e-6)
