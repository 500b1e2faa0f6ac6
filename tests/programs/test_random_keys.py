"""Programs with JAX's typed random keys: the same results as text, bytecode, lowered and exported objects."""

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
from nimblehlo.execution.verification import verification_level
from tests.models.model import as_array
from tools.comparison import difference

OPTIONS = Options(compile="never")


def drawn(key: Any) -> Any:
    """Bits, integers and choices, and what is computed from them, of keys that come in many ways."""
    logits = jnp.array([0.1, 2.0, -1.0, 0.5])
    first, second = jax.random.split(key)
    chosen = jax.lax.cond(
        jax.random.bernoulli(key), jax.random.split, lambda key: jax.random.split(first), key
    )
    last = jax.lax.while_loop(
        lambda key: jax.random.bits(key) % 7 != 0, lambda key: jax.random.split(key)[0], key
    )
    return (
        jax.random.bernoulli(key, 0.3, (20,)),
        jax.random.categorical(first, logits, shape=(40,)),
        jax.random.randint(second, (5,), -9, 90),
        jax.random.choice(jax.random.fold_in(key, 3), 30, (6,), replace=False),
        jax.random.permutation(last, 20),
        jax.random.normal(key, (4, 3)),
        jax.random.gamma(key, 2.5, (6,)),
        jax.random.uniform(key, (7,)),
        chosen,
        last,
        jnp.where(jnp.array([True, False]), chosen, second),
        jax.random.key_data(key),
    )


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
def test_results_equal_those_of_xla_in_each_form() -> None:
    key = jax.random.key(7)
    expected = [as_array(result) for result in jax.tree.leaves(jax.jit(drawn)(key))]
    for form, program in forms(drawn, key).items():
        # The steps are the same in each form.
        with verification_level("steps" if form == "text" else "plans"):
            results = nimblehlo.execute(program, [key], options=OPTIONS)
        assert len(results) == len(expected)
        for index, (result, other) in enumerate(zip(results, expected, strict=True)):
            assert (reason := difference(result, other, 1e-5)) is None, f"{form}, result {index}: {reason}"


def test_a_key_stands_for_its_words() -> None:
    keys = jax.random.split(jax.random.key(3), 2)
    lowered = jax.jit(lambda keys: keys[::-1]).lower(keys)
    words = np.asarray(jax.random.key_data(keys))
    for given in (keys, words):
        (result,) = nimblehlo.execute(lowered, [given], options=OPTIONS)
        assert np.array_equal(result, words[::-1])
    with pytest.raises(ExecutionError, match="input 0 has shape"):
        nimblehlo.execute(lowered, [keys[0]], options=OPTIONS)
