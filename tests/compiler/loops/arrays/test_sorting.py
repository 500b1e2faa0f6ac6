"""Sorts within native loops: the same bits as by the references, along any dimension, by any comparator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.loops.test_while_function import check, counted, reason_of

RNG = np.random.default_rng(5)

BY_ORDER = "%is = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<{0}>, tensor<{0}>) -> tensor<i1>"
DESCENDING = "%is = stablehlo.compare GT, %p, %q, TOTALORDER : (tensor<{0}>, tensor<{0}>) -> tensor<i1>"
BY_MAGNITUDE = """%m = stablehlo.abs %p : tensor<{0}>
        %n = stablehlo.abs %q : tensor<{0}>
        %is = stablehlo.compare LT, %m, %n : (tensor<{0}>, tensor<{0}>) -> tensor<i1>"""
INTEGERS = "%is = stablehlo.compare LT, %p, %q : (tensor<{0}>, tensor<{0}>) -> tensor<i1>"
ZEROS_ARE_EQUAL = """%iz = stablehlo.compare EQ, %p, %origin : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
        %m = stablehlo.select %iz, %origin, %p : tensor<i1>, tensor<{0}>
        %jz = stablehlo.compare EQ, %q, %origin : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
        %n = stablehlo.select %jz, %origin, %q : tensor<i1>, tensor<{0}>
        %is = stablehlo.compare LT, %m, %n, TOTALORDER : (tensor<{0}>, tensor<{0}>) -> tensor<i1>"""
ALWAYS = "%is = stablehlo.constant dense<true> : tensor<i1>"


def sorting(shape: tuple[int, ...], dimension: int, element: str, comparator: str) -> str:
    """A loop that sorts an array with the positions of its elements, rotates and negates it, and goes on."""
    sizes = "x".join(map(str, shape))
    array, positions = f"tensor<{sizes}x{element}>", f"tensor<{sizes}xi32>"
    body = f"""%s:2 = "stablehlo.sort"(%x, %k) ({{
        ^bb0(%p: tensor<{element}>, %q: tensor<{element}>, %u: tensor<i32>, %v: tensor<i32>):
        {comparator.format(element)}
        stablehlo.return %is : tensor<i1>
      }}) {{dimension = {dimension} : i64}} : ({array}, {positions}) -> ({array}, {positions})
      %y = stablehlo.negate %s#0 : {array}
      %l = stablehlo.add %s#1, %k : {positions}"""
    before = f"%origin = stablehlo.constant dense<0> : tensor<{element}>"
    if element.startswith("f") or element == "bf16":
        before = before.replace("<0>", "<0.0>")
    return counted(20, body, {"x": ("x0", array), "k": ("k0", positions)}, "%y, %l", before)


@pytest.mark.parametrize(
    ("shape", "dimension", "comparator"),
    [
        ((2,), 0, DESCENDING),
        ((30,), 0, ZEROS_ARE_EQUAL),
        ((3, 33), 1, BY_MAGNITUDE),
        ((17, 3), 0, BY_ORDER),
        ((2, 16, 5), -2, ALWAYS),
    ],
)
def test_floats(shape: tuple[int, ...], dimension: int, comparator: str) -> None:
    values = RNG.integers(-4, 5, shape).astype(np.float32)
    values[RNG.random(shape) < 0.1] = np.nan
    values[RNG.random(shape) < 0.1] = -0.0
    positions = np.arange(values.size, dtype=np.int32).reshape(shape)
    check(sorting(shape, dimension, "f32", comparator), values, positions)


@pytest.mark.parametrize(("element", "dtype"), [("i8", np.int8), ("i64", np.int64), ("ui16", np.uint16)])
def test_integers(element: str, dtype: Any) -> None:
    values = RNG.integers(0, 20, (4, 21)).astype(dtype)
    positions = np.arange(values.size, dtype=np.int32).reshape(values.shape)
    check(sorting((4, 21), 1, element, INTEGERS), values, positions)


def test_numbers_leave_nan_behind() -> None:
    """References sort NaN behind all numbers, which a comparator of numbers does not say."""
    assert "sorts NaN behind all numbers" in str(reason_of(sorting((30,), 0, "f32", INTEGERS)))
