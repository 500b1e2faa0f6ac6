"""Calls issue no floating-point warnings of NumPy."""

import contextvars

import numpy as np
import pytest

from nimblehlo import execute
from nimblehlo.compiler import float_errors
from nimblehlo.compiler.float_errors import ignoring_float_errors
from tests.support.threads import on_threads

ZEROS = np.zeros(3)
DIVISION = """
func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.divide %a, %a : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a / b


@pytest.fixture(params=["variable", "errstate"])
def way(request, monkeypatch):
    """NumPy's context variable, and `numpy.errstate` where there is none."""
    reason = "this NumPy has another way: `ignoring_float_errors` is slow with it"
    assert float_errors.ERRSTATE is not None, reason
    if request.param == "errstate":
        monkeypatch.setattr(float_errors, "ERRSTATE", None)


@pytest.mark.usefixtures("way")
def test_nothing_is_raised_within_and_all_is_as_before_behind():
    with np.errstate(all="raise"):
        assert np.isnan(ignoring_float_errors(divided, ZEROS, ZEROS)).all()
        with pytest.raises(FloatingPointError):
            divided(ZEROS, ZEROS)


@pytest.mark.usefixtures("way")
def test_all_is_as_before_behind_an_exception():
    with np.errstate(all="raise"):
        with pytest.raises(TypeError):
            ignoring_float_errors(divided, ZEROS)
        with pytest.raises(FloatingPointError):
            divided(ZEROS, ZEROS)


@pytest.mark.usefixtures("way")
def test_calls_within_calls():
    def outer() -> np.ndarray:
        return divided(ignoring_float_errors(divided, ZEROS, ZEROS), ZEROS)

    with np.errstate(all="raise"):
        assert np.isnan(ignoring_float_errors(outer)).all()


@pytest.mark.usefixtures("way")
def test_another_thread_and_another_context():
    found = []

    def call(_=0) -> None:
        with np.errstate(all="raise"):
            found.append(ignoring_float_errors(divided, ZEROS, ZEROS))

    on_threads(1, call)
    contextvars.copy_context().run(call)
    assert np.isnan(found).all() and len(found) == 2


def test_it_is_numpys_own_setting():
    variable, value = float_errors.ERRSTATE
    assert "ufunc" in variable.name
    with np.errstate(all="ignore"):
        assert type(variable.get()) is type(value)


def test_programs_leave_the_callers_setting():
    with np.errstate(all="raise"):
        assert np.isnan(execute(DIVISION, [ZEROS])[0]).all()
        assert set(np.geterr().values()) == {"raise"}
