"""Conversions of operations that take graphs, called without PyTorch; functions stand for the graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.frontend.torch.table import NodeEmitter
from nimblehlo.program.ir import Value
from nimblehlo.types import Array
from tests.program.frontend.torch.calling import converted

X = np.random.default_rng(3).normal(size=(5, 3))


def test_a_scan_carries_values_from_slice_to_slice() -> None:
    def step(e: NodeEmitter, state: Value, count: Value, x: Value, scale: Value) -> list[Value]:
        state = e.add(e.multiply(state, scale), x)
        return [state, e.add(count, e.like(count, 1)), e.multiply(state, x), count]

    state, products = np.ones(3), []
    for row in X:
        state = state * 0.5 + row
        products.append(state * row)
    arguments = [[np.ones(3), np.array(2)], [X], [np.full(3, 0.5)]]
    results = [state, np.array(7), np.array(products), np.arange(2, 7)]
    for actual, expected in zip(converted("scan", [step, *arguments], results), results, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_an_associative_scan_combines_the_slices_up_to_each(length: int) -> None:
    def combine(e: NodeEmitter, a: Value, b: Value, x: Value, y: Value) -> list[Value]:
        return [e.multiply(a, x), e.add(e.multiply(b, x), y)]

    factors, sums = X[:length], X[:length] + 1
    expected = [factors.copy(), sums.copy()]
    for n in range(1, length):
        expected[0][n] = expected[0][n - 1] * factors[n]
        expected[1][n] = expected[1][n - 1] * factors[n] + sums[n]
    for actual, each in zip(
        converted("associative_scan", [combine, [factors, sums], []], expected), expected, strict=True
    ):
        np.testing.assert_array_equal(actual, each)


def test_a_map_has_the_results_for_each_slice() -> None:
    def function(e: NodeEmitter, x: Value, weight: Value) -> list[Value]:
        return [e.multiply(x, weight), e.reduce("stablehlo.maximum", x, [0])]

    weight = np.array([1.0, 2, 3])
    expected = [X * weight, X.max(1)]
    for actual, each in zip(
        converted("map_impl", [function, [X], [weight]], expected), expected, strict=True
    ):
        np.testing.assert_array_equal(actual, each)


@pytest.mark.parametrize(
    ("index", "expected"), [(-1, X + X), (0, X + X), (1, X * X), (2, X - X), (1 << 32, X - X)]
)
def test_a_switch_chooses_a_graph_by_its_number(index: int, expected: Array) -> None:
    def graph(name: str) -> Callable[..., Sequence[Value]]:
        return lambda e, x: [getattr(e, name)(x, x)]

    graphs = list(map(graph, ("add", "multiply", "subtract")))
    for number in (np.array(index), index):
        (actual,) = converted("switch", [number, graphs, [X]], [expected])
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("name", "arguments", "what"),
    [
        ("scan", [[np.ones(3)], [X], []], "the function of a scan returns something other than tensors"),
        ("map_impl", [[X], []], "the function of a map returns something other than tensors"),
    ],
)
def test_results_that_are_no_tensors_are_refused(name: str, arguments: list[Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        converted(name, [lambda e, *operands: [2], *arguments], [np.ones(3)])


def test_random_numbers_in_a_scan_are_refused() -> None:
    def step(e: NodeEmitter, state: Value, x: Value) -> list[Value]:
        return [e.seed()]

    with pytest.raises(UnsupportedError, match="a scan cannot draw random numbers"):
        converted("scan", [step, [np.ones(3)], [X], []], [np.ones(3)])


@pytest.mark.parametrize("name", ["scan", "map_impl"])
def test_graphs_that_write_to_their_operands_are_refused(name: str) -> None:
    arguments = [[np.ones(3)], [X], []][int(name == "map_impl") :]
    with pytest.raises(UnsupportedError, match="writes to its operands"):
        converted(name, [lambda e, *operands: operands, *arguments], [X], mutated_arg_indices="0")
