"""Programs with JAX's typed random keys: the same results in every form in which JAX hands them over."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.export
import jax.numpy as jnp

import nimblehlo
from nimblehlo import ExecutionError, Options
from tests.models.model import as_array
from tools.comparison import difference

OPTIONS = Options(compile="never")


def bits(key: Any) -> Any:
    logits = jnp.array([0.1, 2.0, -1.0, 0.5])
    return (
        jax.random.bernoulli(key, 0.3, (20,)),
        jax.random.categorical(key, logits, shape=(40,)),
        jax.random.randint(key, (5,), -9, 90),
    )


def choices(key: Any) -> Any:
    return jax.random.choice(key, 30, (6,), replace=False), jax.random.permutation(key, 20)


def floats(key: Any) -> Any:
    return jax.random.normal(key, (4, 3)), jax.random.gamma(key, 2.5, (6,)), jax.random.uniform(key, (7,))


def branches(key: Any) -> Any:
    first, second = jax.random.split(key)
    drawn = jax.lax.cond(
        jax.random.bernoulli(key), jax.random.split, lambda key: jax.random.split(first), key
    )
    last = jax.lax.while_loop(
        lambda key: jax.random.bits(key) % 7 != 0, lambda key: jax.random.split(key)[0], key
    )
    return drawn, last, jnp.where(jnp.array([True, False]), drawn, second), jax.random.key_data(key)


def forms(function: Callable[..., Any], key: Any) -> dict[str, Any]:
    """The program of a function in each form."""
    jitted = jax.jit(function)
    lowered, exported = jitted.lower(key), jax.export.export(jitted)(key)
    module = lowered.compiler_ir("stablehlo")
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    return {
        "text": lowered.as_text(),
        "bytecode": bytecode.getvalue(),
        "Lowered": lowered,
        "jaxlib module": module,
        "Exported": exported,
        "portable artifact": exported.mlir_module_serialized,
    }


@pytest.mark.models
@pytest.mark.parametrize(
    ("function", "bound"), [(bits, 0.0), (choices, 0.0), (floats, 1e-5), (branches, 0.0)]
)
def test_results_equal_those_of_xla(function: Callable[..., Any], bound: float) -> None:
    key = jax.random.key(7)
    expected = [as_array(result) for result in jax.tree.leaves(jax.jit(function)(key))]
    for form, program in forms(function, key).items():
        results = nimblehlo.execute(program, [key], options=OPTIONS)
        assert len(results) == len(expected)
        for result, other in zip(results, expected, strict=True):
            assert (reason := difference(result, other, bound)) is None, f"{form}: {reason}"


def test_a_key_stands_for_its_words() -> None:
    keys = jax.random.split(jax.random.key(3), 2)
    lowered = jax.jit(lambda keys: keys[::-1]).lower(keys)
    words = np.asarray(jax.random.key_data(keys))
    for given in (keys, words):
        (result,) = nimblehlo.execute(lowered, [given], options=OPTIONS)
        assert np.array_equal(result, words[::-1])
    with pytest.raises(ExecutionError, match="input 0 has shape"):
        nimblehlo.execute(lowered, [keys[0]], options=OPTIONS)
