"""The section "Parallel pattern examples": both examples as they are written, on arrays and on tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nimblehlo import patterns
from nimblehlo.patterns import (
    get_int_or_float_bit_width,
    get_int_type,
    sn_imm,
    sn_iteridx,
    sn_select,
    sn_zipmapreduce,
)
from tests.patterns import stand_in
from tests.support.running import run_every_way, same_bits

SambaTensor = Any


def diagonal_fill(torch: Any, idx_type: Any, fill_value: float) -> Callable[[Any], Any]:
    def forward(x: SambaTensor) -> SambaTensor:
        def diagonal_fill(attrs, x):
            dim_l = sn_iteridx(dim=2, attrs=attrs, dtype=idx_type)
            dim_r = sn_iteridx(dim=3, attrs=attrs, dtype=idx_type)
            condition = torch.ge(dim_l, dim_r)
            result = sn_select(condition, x, sn_imm(fill_value, torch.float32))
            return result

        return sn_zipmapreduce(diagonal_fill, [x])

    return forward


def rotary_embedding(torch: Any) -> Callable[..., Any]:
    def forward(x: SambaTensor, x_roll: SambaTensor, y: SambaTensor, y_roll: SambaTensor) -> SambaTensor:
        def compute_complex(attrs, x, x_roll, y, y_roll):
            even_out = x * y - x_roll * y_roll
            odd_out = x_roll * y + x * y_roll
            i = sn_iteridx(dim=3, attrs=attrs)
            one = sn_imm(1, get_int_type(get_int_or_float_bit_width(x.dtype)))
            is_odd = torch.bitwise_and(i, one)
            out = sn_select(is_odd, odd_out, even_out)
            return out

        return sn_zipmapreduce(compute_complex, [x, x_roll, y, y_roll])

    return forward


class NumPyNames:
    """NumPy under the names that the examples take from torch."""

    ge = np.greater_equal
    bitwise_and = np.bitwise_and
    float32 = np.float32


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "torch", stand_in.module())
    return stand_in.module()


@pytest.fixture
def real_torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


X = np.random.default_rng(0).standard_normal((2, 3, 5, 6)).astype(np.float32)
OPERANDS = np.random.default_rng(1).standard_normal((4, 2, 3, 5, 8)).astype(np.float32)
FILLED = np.where(np.tril(np.ones((5, 6), bool)), X, np.float32(-7.5))


def rotated(x: Any, x_roll: Any, y: Any, y_roll: Any) -> Any:
    odd = np.arange(x.shape[3]) % 2 == 1
    return np.where(odd, x_roll * y + x * y_roll, x * y - x_roll * y_roll)


def test_diagonal_fill() -> None:
    forward = diagonal_fill(NumPyNames, np.int32, -7.5)
    assert same_bits(forward(X), FILLED)
    (result,) = run_every_way(str(patterns.trace(forward, X)), X)
    assert same_bits(result, FILLED)


def test_diagonal_fill_keeps_the_main_diagonal_and_what_is_below() -> None:
    out = diagonal_fill(NumPyNames, np.int64, np.nan)(np.ones((1, 1, 3, 3), np.float32))
    assert np.isnan(out[0, 0]).tolist() == [[False, True, True], [False, False, True], [False] * 3]


def test_rotary_embedding() -> None:
    forward = rotary_embedding(NumPyNames)
    assert same_bits(forward(*OPERANDS), rotated(*OPERANDS))
    (result,) = run_every_way(str(patterns.trace(forward, *OPERANDS)), *OPERANDS)
    assert same_bits(result, rotated(*OPERANDS))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int16, np.int8])
def test_rotary_embedding_of_other_elements(dtype: Any) -> None:
    operands = (OPERANDS * 4).astype(dtype)
    assert same_bits(rotary_embedding(NumPyNames)(*operands), rotated(*operands))


def test_diagonal_fill_of_tensors(torch: Any) -> None:
    out = diagonal_fill(torch, torch.int32, -7.5)(torch.tensor(X))
    assert isinstance(out, torch.Tensor) and out.dtype is torch.float32
    assert same_bits(np.from_dlpack(out), FILLED)


def test_rotary_embedding_of_tensors(torch: Any) -> None:
    out = rotary_embedding(torch)(*map(torch.tensor, OPERANDS))
    assert isinstance(out, torch.Tensor)
    assert same_bits(np.from_dlpack(out), rotated(*OPERANDS))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_tensors_of_narrow_floats(torch: Any, name: str) -> None:
    operands = OPERANDS.astype(getattr(ml_dtypes, name))
    out = rotary_embedding(torch)(*map(torch.tensor, operands))
    assert out.dtype is getattr(torch, name)
    carrier = np.from_dlpack(out.view(torch.int16 if name == "bfloat16" else torch.uint8))
    assert same_bits(carrier.view(operands.dtype), rotated(*operands))


def test_diagonal_fill_with_torch(real_torch: Any) -> None:
    out = diagonal_fill(real_torch, real_torch.int32, -7.5)(real_torch.from_numpy(X))
    assert same_bits(out.numpy(), FILLED)


def test_rotary_embedding_with_torch(real_torch: Any) -> None:
    out = rotary_embedding(real_torch)(*map(real_torch.from_numpy, OPERANDS))
    assert same_bits(out.numpy(), rotated(*OPERANDS))
    half = [real_torch.from_numpy(operand).to(real_torch.bfloat16) for operand in OPERANDS]
    assert rotary_embedding(real_torch)(*half).dtype == real_torch.bfloat16
