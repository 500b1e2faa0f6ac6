"""Reductions over the last dimensions and others: adjacent elements first, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.specialize.rewrites import paired_reductions
from nimblehlo.types import ELEMENT_TYPES
from tests.support.running import run_every_way, same_bits


def program(
    shape: tuple[int, ...],
    reduced: tuple[int, ...],
    name: str = "add",
    element: str = "f32",
    initial: str = "0.5",
) -> str:
    operand = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    kept = "x".join(str(size) for d, size in enumerate(shape) if d not in reduced)
    return f"""func.func @main(%x: {operand}) -> tensor<{kept}x{element}> {{
  %0 = stablehlo.constant dense<{initial}> : tensor<{element}>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.{name} across dimensions = {list(reduced)}
    : ({operand}, tensor<{element}>) -> tensor<{kept}x{element}>
  return %1 : tensor<{kept}x{element}>
}}
"""


def is_rewritten(text: str, options: Options | None = None) -> bool:
    return "stablehlo.slice" in nimblehlo.compile(text, options=options).explain("passes")


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("inner", [*paired_reductions.PAIRED_SIZES])
@pytest.mark.parametrize(
    ("outer", "reduced"),
    [((2, 33, 17), (1, 3)), ((33, 17), (0, 2)), ((2, 5, 7, 19), (1, 2, 4)), ((31, 2, 70), (0, 3))],
)
@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
def test_the_bits_are_those_of_the_reduction(
    outer: tuple[int, ...],
    reduced: tuple[int, ...],
    inner: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paired_reductions, "MIN_ELEMENTS", 1)
    text = program((*outer, inner), reduced, name)
    assert is_rewritten(text)
    values = np.random.default_rng(0).standard_normal((*outer, inner), np.float32)
    values.flat[[3, 100, 200]] = np.nan, np.inf, -0.0
    (expected,) = nimblehlo.execute(text, [values], options=Options(reference=True))
    (result,) = run_every_way(text, values)
    assert same_bits(result, expected)


def test_integers() -> None:
    text = program((64, 32, 4), (0, 2), element="i32", initial="7")
    values = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, (64, 32, 4)).astype(np.int32)
    assert is_rewritten(text)
    (result,) = nimblehlo.execute(text, [values], options=Options(compile="eager"))
    np.testing.assert_array_equal(result, values.sum((0, 2), dtype=np.int32) + np.int32(7))


@pytest.mark.parametrize("name", ["add", "multiply"])
@pytest.mark.parametrize("element", ["bf16", "f16", "f8E4M3FN"])
def test_narrow_floats_accumulate_in_f32(element: str, name: str) -> None:
    text = program((64, 32, 4), (0, 2), name, element)
    assert not is_rewritten(text)
    values = np.random.default_rng(0).uniform(0.5, 1.5, (64, 32, 4)).astype(ELEMENT_TYPES[element].dtype)
    (expected,) = nimblehlo.execute(text, [values], options=Options(reference=True))
    (result,) = run_every_way(text, values)
    assert same_bits(result, expected)


@pytest.mark.parametrize(
    ("shape", "reduced"),
    [
        ((64, 32, 3), (0, 2)),  # no power of two
        ((64, 32, 16), (0, 2)),  # these become rows
        ((64, paired_reductions.MIN_KEPT - 1, 8), (0, 2)),
        ((64, 32, 4), (2,)),  # rows
        ((64, 32, 4), (1, 2)),  # nothing is kept between the reduced dimensions
        ((paired_reductions.MIN_ELEMENTS // 32 - 1, 16, 2), (0, 2)),
    ],
)
def test_other_reductions_stay(shape: tuple[int, ...], reduced: tuple[int, ...]) -> None:
    assert not is_rewritten(program(shape, reduced))


def test_other_trees_stay() -> None:
    text = program((64, 32, 4), (0, 2))
    assert is_rewritten(text) and not is_rewritten(text, Options(reduction_tree="balanced"))


def has_rows(text: str, rows: tuple[int, ...], options: Options | None = None) -> bool:
    """Whether a reduction along these last dimensions alone is made of the program's."""
    attribute = f"{{dimensions = array<i64: {', '.join(map(str, rows))}>}}"
    return attribute in nimblehlo.compile(text, options=options).explain("passes")


@pytest.mark.parametrize(
    ("shape", "reduced", "rows"),
    [
        ((3, 33, 16), (0, 2), (2,)),
        ((5, 17, 4, 8), (0, 2, 3), (2, 3)),
        ((2, 7, 3, 5, 64), (0, 2, 4), (4,)),
        ((9, 1, 2, 70, 2, 1, 16), (0, 2, 4, 5, 6), (4, 5, 6)),
    ],
)
@pytest.mark.parametrize("name", ["add", "maximum"])
def test_rows_are_reduced_first(
    shape: tuple[int, ...],
    reduced: tuple[int, ...],
    rows: tuple[int, ...],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paired_reductions, "MIN_ELEMENTS", 1)
    text = program(shape, reduced, name)
    assert has_rows(text, rows)
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    values.flat[[3, 100, 200]] = np.nan, np.inf, -0.0
    (expected,) = nimblehlo.execute(text, [values], options=Options(reference=True))
    (result,) = run_every_way(text, values)
    assert same_bits(result, expected)


@pytest.mark.parametrize("initial", ["-0.0", "0.0"])
def test_zeros_keep_their_signs(initial: str) -> None:
    text = program((4, 64, 16), (0, 2), initial=initial)
    assert has_rows(text, (2,))
    (result,) = run_every_way(text, np.full((4, 64, 16), -0.0, np.float32))
    assert same_bits(result, np.full(64, float(initial), np.float32))


def test_rows_of_integers() -> None:
    text = program((8, 32, 16), (0, 2), element="i32", initial="7")
    values = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, (8, 32, 16)).astype(np.int32)
    assert has_rows(text, (2,))
    (result,) = nimblehlo.execute(text, [values], options=Options(compile="eager"))
    np.testing.assert_array_equal(result, values.sum((0, 2), dtype=np.int32) + np.int32(7))


@pytest.mark.parametrize(
    ("shape", "reduced", "rows", "element"),
    [
        ((8, 32, 24), (0, 2), (2,), "f32"),  # no power of two
        ((8, 64, paired_reductions.MIN_ROW // 4, 2), (0, 2, 3), (2, 3), "f32"),
        ((8, 32, 16), (0, 2), (2,), "bf16"),  # accumulates in f32
        ((8, 32, 16), (1, 2), (2,), "f32"),  # nothing is kept between the reduced dimensions
        ((paired_reductions.MIN_ELEMENTS // 256 - 1, 16, 16), (0, 2), (2,), "f32"),
    ],
)
def test_rows_that_stay(
    shape: tuple[int, ...], reduced: tuple[int, ...], rows: tuple[int, ...], element: str
) -> None:
    assert not has_rows(program(shape, reduced, element=element), rows)


def test_rows_of_other_trees_stay() -> None:
    text = program((8, 64, 16), (0, 2))
    assert has_rows(text, (2,)) and not has_rows(text, (2,), Options(reduction_tree="balanced"))
    assert not has_rows(text, (2,), Options(accumulate="float64"))
