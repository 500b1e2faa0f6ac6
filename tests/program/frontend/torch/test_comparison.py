"""How the campaigns judge results and times. Skipped without the extra ``torch``."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.program.frontend.torch import timing  # noqa: E402
from tests.program.frontend.torch.comparison import (  # noqa: E402
    NEARER,
    difference,
    in_double_precision,
    is_as_near,
)


def test_a_result_beyond_the_tolerance_is_judged_by_the_one_in_double_precision() -> None:
    """The second element of PyTorch's is off by a quarter."""
    expected, exact = torch.tensor([1.0, 2.25]).bfloat16(), torch.tensor([1.0, 2.0]).double()
    for second, verdict in ((2.25, None), (2.0, NEARER), (1.875, NEARER), (1.5, "Tensor-likes")):
        actual = torch.tensor([1.0, second]).bfloat16()
        reason = difference(actual, expected, lambda: exact)
        assert reason == verdict or (verdict and reason and reason.startswith(verdict)), second
        assert (difference(actual, expected) is None) == (verdict is None), "PyTorch's result alone decides"
    actual = torch.tensor([1.125, 2.0]).bfloat16()
    assert difference(actual, expected, lambda: exact) not in (None, NEARER), "each element is judged"


def test_infinities_and_nan_must_be_those_of_pytorch() -> None:
    expected = torch.tensor([math.inf, math.nan, 2.25])
    exact = torch.tensor([math.inf, math.nan, 2.0]).double()
    for first, second, accepted in (
        (math.inf, math.nan, True),
        (1e30, math.nan, False),
        (math.inf, 1, False),
    ):
        actual = torch.tensor([first, second, 2.0])
        assert is_as_near(actual, expected, exact, 1e-4, 1e-5) == accepted


def test_results_in_double_precision_are_those_of_widened_tensors() -> None:
    x = torch.tensor([1.0, 1.0 + 2**-7]).bfloat16()
    exact = in_double_precision(
        lambda inputs: [inputs[0].square(), inputs[0].bfloat16(), inputs[1]], [x, x > 1]
    )
    assert exact.keys() == {0}
    assert exact[0].tolist() == [1.0, (1 + 2**-7) ** 2]

    def refused(inputs: object) -> None:
        raise RuntimeError("expected BFloat16")

    assert in_double_precision(refused, [x]) == {}


def test_times_are_told_as_ratios() -> None:
    times = {
        "nimblehlo": {"shortest": 1.5, "median": 1.8},
        "eager": {"shortest": 3.0, "median": 3.0},
    }
    assert timing.cells(times) == ["1.5 ms", "0.50", ""]
    assert timing.cells({**times, "inductor": {}}) == ["1.5 ms", "0.50", "fails"]
    assert timing.cells({}) == ["", "", ""]
    both = [times, {**times, "inductor": {"shortest": 1.0, "median": 1.2}}]
    told = timing.agreement(both, ["PyTorch 2.15", "PyTorch 2.15"])
    assert told.startswith("Times are of PyTorch 2.15. ")
    assert "1.00 to 1.20 times" in told
    assert "1 of 3 within a tenth" in told


def test_functions_that_fail_are_told_and_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        raise RuntimeError("no gradient")

    times = timing.measured({"eager": lambda: None, "inductor": failing})
    assert times["inductor"] == {}
    assert "inductor fails: RuntimeError: no gradient" in capsys.readouterr().err
    assert 0 <= times["eager"]["shortest"] <= times["eager"]["median"]
    assert times["eager"]["rounds"] == timing.MAX_ROUNDS
    with pytest.raises(RuntimeError, match="no gradient"):
        timing.measured({"nimblehlo": failing})
