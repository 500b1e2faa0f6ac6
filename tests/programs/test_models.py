"""Functions that JAX lowers give XLA:CPU's results, as text, bytecode, lowered and exported objects."""

import numpy as np
import pytest

pytest.importorskip("jax")

import nimblehlo
from nimblehlo.checks.error_bounds.ulps import is_inexact
from tests.models import MODELS, Model
from tests.support.running import run_every_way
from tools.comparison import Array, difference, weakness

pytestmark = pytest.mark.models


def check(results: list[Array], expected: list[Array], bound: float, form: str) -> None:
    """Results are as many as expected and agree one by one."""
    assert len(results) == len(expected), form
    reasons = [
        f"{form}, result {position}: {reason}"
        for position, (result, other) in enumerate(zip(results, expected, strict=True))
        if (reason := difference(np.asarray(result), other, bound)) is not None
    ]
    assert not reasons, "\n".join(reasons)


def swapped_extremes(result: Array) -> Array:
    """A wrong result: the most different elements have changed places, or the only one is doubled."""
    wrong = result.copy()
    flat, values = wrong.reshape(-1), result.reshape(-1)
    if is_inexact(result.dtype):
        values = np.where(np.isfinite(values), values, values[np.isfinite(values)][0])
        values = values.astype(np.complex128 if result.dtype.kind == "c" else np.float64)
        distances = np.abs(values - values[0])
    else:
        distances = values != values[0]
    if result.size == 1:
        flat[0] = flat[0] + flat[0] if is_inexact(result.dtype) else not flat[0]
    else:
        other = int(np.argmax(distances))
        first = int(np.flatnonzero(values == values[0])[0])
        flat[first], flat[other] = result.reshape(-1)[other], result.reshape(-1)[first]
    return wrong


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest) -> Model:
    """Each model in turn."""
    return MODELS[request.param]


def test_results_equal_those_of_xla(model: Model) -> None:
    expected, inputs = model.expected(), model.inputs()
    finite = [np.isfinite(result).all() for result in expected if is_inexact(result.dtype)]
    assert model.not_finite or all(finite)
    weak = {index for index, result in enumerate(expected) if weakness(result, model.bound) is not None}
    assert weak == set(model.constant), "results that could not show a wrong program"
    for index in set(range(len(expected))) - weak:
        wrong = swapped_extremes(expected[index])
        assert difference(wrong, expected[index], model.bound) is not None, f"result {index}"

    lowered = model.lowered()
    module, other = nimblehlo.load(lowered.as_text()), nimblehlo.load(lowered)
    results = run_every_way(module, *inputs)
    check(results, expected, model.bound, "text")
    if str(other) != str(module):  # such as other spellings of default attributes
        check(nimblehlo.execute(other, inputs), results, 0, "jax.stages.Lowered")
    check(nimblehlo.execute(model.exported(), inputs), expected, model.bound, "jax.export.Exported")


def test_symbolic_models_export_unknown_sizes() -> None:
    symbolic = [model for model in MODELS.values() if model.symbolic]
    assert symbolic
    for model in symbolic:
        assert "tensor<?" in str(model.exported().mlir_module())
