"""Which reductions of columns are fused with the operations on their operands, with the same bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.support.running import run_every_way


@pytest.mark.parametrize(("rows", "is_fused"), [(64, True), (63, False)])
def test_columns_of_few_elements_are_reduced_alone(rows: int, is_fused: bool) -> None:
    """A space of 2^13 elements is the smallest whose reductions are fused."""
    x = np.random.default_rng(0).standard_normal((rows, 128)).astype(np.float32)
    text = jax.jit(lambda x: jnp.square(x).sum(0)).lower(x).as_text()
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert ("nimblehlo.reduction_fusion" in plan) == is_fused
    run_every_way(text, x)
