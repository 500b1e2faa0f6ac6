"""torch's functions of traced values, through a small module that follows its protocol."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from nimblehlo import UnsupportedError, VerifyError
from nimblehlo.patterns import (
    get_int_or_float_bit_width,
    get_int_type,
    sn_gather,
    sn_imm,
    sn_zipmapreduce,
    trace,
)
from nimblehlo.patterns.torch_functions import _ALIASES
from tests.patterns import stand_in
from tests.support.running import same_bits

X = np.linspace(0.25, 3, 12).astype(np.float32).reshape(3, 4)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "torch", stand_in.module())
    return stand_in.module()


def evaluated(function: Any, *operands: Any) -> Any:
    return sn_zipmapreduce(lambda attrs, *values: function(*values), list(operands))


def test_functions(torch: Any) -> None:
    assert same_bits(evaluated(lambda x: torch.add(x, 2), X), X + np.float32(2))
    assert same_bits(evaluated(lambda x: torch.ge(x, other=1.0), X), X >= 1)
    assert same_bits(evaluated(lambda x: torch.mul(2.0, x), X), X * 2)
    assert same_bits(evaluated(lambda x: torch.sub(x, x), X), X - X)
    assert same_bits(evaluated(lambda x: torch.__rsub__(x, 1.0), X), 1 - X)
    assert same_bits(evaluated(lambda x: torch.where(x > 1, x, 0.0), X), np.where(X > 1, X, np.float32(0)))
    assert same_bits(evaluated(lambda x: torch.clamp(x, min=1.0, max=2.0), X), np.clip(X, 1, 2))
    assert same_bits(evaluated(lambda x: torch.round(x), X), np.rint(X))
    assert same_bits(evaluated(lambda x: torch.relu(x - 1), X), np.maximum(X - 1, 0))
    assert evaluated(lambda x: torch.to(x, torch.float64), X).dtype == np.float64
    np.testing.assert_allclose(evaluated(torch.sigmoid, X), 1 / (1 + np.exp(-X)), rtol=1e-6)
    np.testing.assert_allclose(evaluated(torch.rsqrt, X), 1 / np.sqrt(X), rtol=1e-6)
    np.testing.assert_allclose(evaluated(torch.exp, X), np.exp(X), rtol=1e-6)


def test_functions_of_shapes(torch: Any) -> None:
    x = X.astype(np.float64)
    assert same_bits(
        evaluated(lambda x: torch.amax(x, dim=1, keepdim=True), x), np.repeat(x.max(1)[:, None], 4, 1)
    )
    assert evaluated(lambda x: torch.sum(x > 1, dim=0), x)[0].tolist() == (x > 1).sum(0).tolist()
    assert evaluated(lambda x: torch.unsqueeze(x, 0)[0], x).tolist() == x.tolist()
    assert (
        evaluated(lambda x: torch.cat([x[:, 2:], x[:, :2]], dim=1), x).tolist() == np.roll(x, 2, 1).tolist()
    )
    assert evaluated(lambda x: torch.stack([x, x], dim=0)[1], x).tolist() == x.tolist()
    assert evaluated(lambda x: torch.permute(x, (1, 0)).T, x).tolist() == x.tolist()


def test_tensors_that_a_lambda_reads(torch: Any) -> None:
    bias = torch.tensor(np.float32([1, 2, 3, 4]))
    assert same_bits(evaluated(lambda x: torch.add(x, bias) + bias, X), X + np.float32([2, 4, 6, 8]))
    assert str(trace(lambda x: torch.add(x, bias) + bias, X)).count("stablehlo.constant") == 1


def test_results_are_tensors_where_an_operand_is(torch: Any) -> None:
    table = torch.tensor(X)
    rows = sn_gather(table, [[1]], [0], [1])
    assert isinstance(rows, torch.Tensor)
    assert np.from_dlpack(rows).tolist() == [[X[1].tolist()]]
    assert isinstance(sn_gather(X, torch.tensor(np.array([[1]])), [0], [1]), torch.Tensor)
    assert isinstance(sn_gather(X, [[1]], [0], [1]), np.ndarray)
    total = sn_zipmapreduce(lambda attrs, x: (x > 1, x), [table], "max", 1)
    assert [one.dtype for one in total] == [torch.bool, torch.float32]


def test_element_types(torch: Any) -> None:
    assert sn_imm(1.5, torch.bfloat16).dtype.name == "bfloat16"
    assert sn_imm(1, torch.bool).dtype == bool
    assert get_int_or_float_bit_width(torch.float16) == 16
    assert get_int_type(get_int_or_float_bit_width(torch.float64)) == np.int64
    for dtype in (torch.bool, torch.complex64):
        with pytest.raises(VerifyError, match="must be an integer or a float"):
            get_int_or_float_bit_width(dtype)
    with pytest.raises(VerifyError, match="bit_width is 1"):
        get_int_type(1)


def test_what_is_not_supported(torch: Any) -> None:
    for call in (
        torch.fft,
        lambda x: torch.add_(x, 1),
        lambda x: torch.add(x, 1, alpha=2),
        lambda x: torch.amax(x, 1, out=X),
    ):
        with pytest.raises(UnsupportedError, match=r"torch\.\w+: is not supported"):
            evaluated(call, X)


def test_every_name_is_one_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    operators = {"truediv", "floordiv", "mod", "pos", "and", "or", "xor", "invert", "lshift", "rshift"}
    for name in _ALIASES:
        assert hasattr(torch, name) or (name in operators and hasattr(torch.Tensor, f"__{name}__")), name
