"""Rewrites of Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.specialize.simplified import assert_becomes, assert_same_bits


def program(shape: str, real: str, part: str, length: str) -> str:
    """A transform of floats of type `real`, converted to complex numbers with parts of type `part`."""
    kind = f"tensor<{shape}xcomplex<{part}>>"
    return f"""func.func @main(%a: tensor<{shape}x{real}>) -> {kind} {{
      %0 = stablehlo.convert %a : (tensor<{shape}x{real}>) -> {kind}
      %1 = stablehlo.fft %0, type = FFT, length = [{length}] : ({kind}) -> {kind}
      return %1 : {kind}
    }}"""


def normal(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("size", [5, 6, 8, 255])
@pytest.mark.parametrize("real", ["f32", "f64"])
def test_a_transform_of_floats_becomes_a_real_one(size: int, real: str) -> None:
    values = normal((3, size), "float" + real[1:])
    assert_becomes(program(f"3x{size}", real, real, str(size)), ["nimblehlo.fft_of_real"], values)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 20_000])
def test_short_and_long_transforms_keep_their_bits(size: int) -> None:
    assert_same_bits(program(f"2x{size}", "f32", "f32", str(size)), normal((2, size), "float32"))
    assert_same_bits(program(f"2x{size}", "f32", "f32", str(size)), np.full((2, size), -0.0, np.float32))


def test_other_transforms_stay() -> None:
    values = normal((4, 6), "float32")
    assert_becomes(program("4x6", "f32", "f64", "6"), ["convert", "fft"], values)
    assert_becomes(program("4x6", "f32", "f32", "4, 6"), ["convert", "fft"], values)
    assert_same_bits(program("0x6", "f32", "f32", "6"), values[:0])
