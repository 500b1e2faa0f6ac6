"""Fusions compute cheap values again that would be alive at the peak, and results keep their bits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan import fusion_passes
from tests.support.running import run_every_way

RANDOM = np.random.default_rng(0)
ROWS, COLUMNS = 128, 512
"""Of the arrays that a forward pass keeps: large ones."""
BYTES = ROWS * COLUMNS * 4


def random(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def gradient_of(activation: Any) -> tuple[str, tuple[Any, ...]]:
    """The gradient of a network of two layers by the first one's weights."""

    def loss(first: Any, second: Any, x: Any) -> Any:
        return jnp.sum(jnp.square(activation(x @ first) @ second))

    inputs = random(16, COLUMNS), random(COLUMNS, 32), random(ROWS, 16)
    text: str = jax.jit(jax.grad(loss)).lower(*inputs).as_text()
    return text, inputs


def temporaries_with_and_without(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    options = Options(compile="eager")
    lowered = nimblehlo.compile(text, options=options).memory().temporaries
    with monkeypatch.context() as patch:
        patch.setattr(fusion_passes, "rematerialize", lambda *arguments: None)
        return lowered, nimblehlo.compile(text, options=options).memory().temporaries


def polynomial(x: Any) -> Any:
    return x * x * x + 3 * x * x


@pytest.mark.parametrize(("activation", "saved"), [(jax.nn.gelu, 2), (polynomial, 1)])
def test_a_backward_pass_computes_values_of_the_forward_pass_again(
    activation: Any, saved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, inputs = gradient_of(activation)
    ours, kept = temporaries_with_and_without(text, monkeypatch)
    assert kept - ours >= saved * BYTES - 4 * ROWS * 8
    run_every_way(text, *inputs)


@pytest.mark.parametrize("activation", [jnp.tanh, jnp.exp])
def test_expensive_values_are_kept(activation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, kept = temporaries_with_and_without(gradient_of(activation)[0], monkeypatch)
    assert ours == kept


def test_a_value_that_other_operations_read_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The square is a result, so that computing it again would save nothing."""

    def function(x: Any, weights: Any) -> Any:
        square = x * x + 1
        product = jnp.tanh(square) @ weights
        return square, (product @ weights.T) * square

    x, weights = random(ROWS, COLUMNS), random(COLUMNS, 64)
    text = jax.jit(function).lower(x, weights).as_text()
    ours, kept = temporaries_with_and_without(text, monkeypatch)
    assert ours == kept
    run_every_way(text, x, weights)
