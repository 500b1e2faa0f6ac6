"""A dense sample of products of matrices; ``python -m tests.boundaries products`` has the whole grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options

from . import products
from .products import LAYOUTS, MIXED, Setting

SIZES = list(itertools.product((2, 7, 48), (0, 1, 2, 3), (1, 16, 31)))
"""Rows, terms and columns."""
WIDE = ["i1", "i8", "i32", "bf16", "f32", "f64", "complex<f32>"]


@pytest.mark.parametrize("element_type", products.element_types())
def test_products_of_few_terms(element_type: str) -> None:
    """Few terms put the numbers of an operand close to each other: products of two terms of complex<f32> by a
    right operand N x K once read other numbers, and no test had such."""
    layouts = itertools.cycle(itertools.product(LAYOUTS, LAYOUTS))
    for result in (element_type, MIXED[element_type]) if element_type in MIXED else (element_type,):
        for lhs_position, rhs_position, batch in itertools.product((0, 1), (0, 1), (None, 3)):
            for both in (("plain", "plain"), next(layouts)):
                setting = Setting(element_type, result, lhs_position, rhs_position, batch, both)
                assert products.failures(setting, SIZES, modes=("never",)) == []


@pytest.mark.parametrize("element_type", WIDE)
@pytest.mark.parametrize(("batch", "size"), [(None, (64, 31, 129)), (3, (48, 64, 31))])
def test_products_in_every_way(element_type: str, batch: int | None, size: tuple[int, int, int]) -> None:
    for positions in itertools.product((0, 1), (0, 1)):
        setting = Setting(element_type, element_type, *positions, batch, ("plain", "transposed"))
        assert products.failures(setting, [size]) == []


@pytest.mark.parametrize("element_type", ["i8", "f32", "complex<f32>", "bf16"])
def test_inputs_with_strides(element_type: str) -> None:
    """Arrays of NumPy that are transposed, sliced, reversed or broadcast give what copies of them give."""
    setting = Setting(element_type, element_type, 1, 1, None, ("plain", "plain"))
    program = products.products(setting, [(48, 2, 48), (7, 16, 31), (5, 3, 1)])
    executable = nimblehlo.compile(program.text, options=Options(compile="eager"))
    wanted = executable(*program.inputs)
    for layout in LAYOUTS[1:4]:
        inputs = [laid_out(layout, array) for array in program.inputs]
        for got, first in zip(executable(*inputs), wanted, strict=True):
            assert np.asarray(got).tobytes() == np.asarray(first).tobytes(), layout


def laid_out(layout: str, array: products.Array) -> products.Array:
    """The same array with other strides."""
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "sliced":
        return array.repeat(2, 0).repeat(3, 1)[::2, ::3]
    return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
