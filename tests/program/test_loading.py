"""Programs that are loaded without verification are verified before they run."""

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ParseError, VerifyError
from nimblehlo.program.loading import load
from nimblehlo.program.ops.framework import verify as verification

INVALID = """
func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.abs"(%x) : (tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
VALID = INVALID.replace("<3x", "<2x")


def test_an_invalid_program_can_be_read_printed_and_serialized_but_does_not_run() -> None:
    with pytest.raises(VerifyError, match=r"stablehlo\.abs"):
        load(INVALID)
    module = load(INVALID, verify=False)
    assert str(load(str(module), verify=False)) == str(module)
    assert str(load(module.serialize(), verify=False)) == str(module)
    assert load(module, verify=False) is module
    for use in (load, nimblehlo.compile, nimblehlo.is_refinable):
        with pytest.raises(VerifyError, match=r"stablehlo\.abs"):
            use(module)
    with pytest.raises(VerifyError, match=r"stablehlo\.abs"):
        nimblehlo.execute(module, [np.ones(2, np.float32)])


def test_malformed_text_is_refused_without_verification_too() -> None:
    with pytest.raises(ParseError):
        load("func.func @main(", verify=False)


def test_a_program_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(VALID, verify=False)
    verified = []

    def counting(each: nimblehlo.Module) -> None:
        verified.append(each)
        verification.verify(each)

    monkeypatch.setattr("nimblehlo.program.loading.verify_module", counting)
    assert load(module) is module
    (result,) = nimblehlo.execute(module, [np.full(2, -1, np.float32)])
    np.testing.assert_array_equal(result, np.ones(2, np.float32))
    assert verified == [module]
