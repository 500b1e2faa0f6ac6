"""Functions of large programs that are inlined again once their rows are fused: plans are as without them."""

from __future__ import annotations

from collections import Counter

import pytest

from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.compiler.specialize import specialize
from nimblehlo.compiler.specialize.outlining import outlined_calls, repeated_subgraphs
from nimblehlo.compiler.specialize.outlining.outlined_calls import IS_INLINED_LATER
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.framework.verify import verify

from .test_repeated_subgraphs import SQUARE, Text, _small_layers_count, assert_nothing_changes, called, model

__all__ = ["_small_layers_count"]

LARGE = 40


def products_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let subgraphs begin at products in programs of LARGE operations alone."""
    monkeypatch.setattr(outlined_calls, "MIN_LARGE_BLOCK", LARGE)
    monkeypatch.setattr(repeated_subgraphs, "MIN_PRODUCT_SIZE", 1 << 40)


def training(count: int) -> tuple[Text, str]:
    """Layers, and as many steps backwards through them, which read what each layer computed."""
    text = Text()
    x = text.argument(SQUARE)
    weights, hidden = [], []
    for _ in range(count):
        weights.append(text.argument(SQUARE))
        hidden.append(text.apply("tanh", text.product(x, weights[-1])))
        scaled = text.add(hidden[-1], text.constant(0.5), "multiply")
        x = text.add(x, text.add(scaled, text.spread(text.sums(scaled), 0), "subtract"))
    gradient = x
    for weight, value in zip(reversed(weights), reversed(hidden), strict=True):
        slope = text.add(text.constant(1.0), text.add(value, value, "multiply"), "subtract")
        back = text.product(text.add(gradient, slope, "multiply"), text.transpose(weight))
        sums = text.spread(text.sums(text.add(back, value, "multiply")), 0)
        gradient = text.add(gradient, text.add(back, sums))
    return text, gradient


def specialized(text: str, *, outlines: bool) -> Function:
    module = parse(text)
    verify(module)
    return specialize(module, "main", outlines_subgraphs=outlines)


def counts(function: Function) -> Counter[str]:
    """How many operations of each name a fused function has, those within fusions included."""
    fuse_operations(function, Options())
    assert function.body is not None and not function.callees
    return Counter(operation.name for operation in function.body.walk())


def test_small_layers_are_outlined_in_large_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    products_are_small(monkeypatch)
    text, x = training(6)
    callees = called(text.module(x)).callees
    assert len(callees) == 2
    monkeypatch.setattr(outlined_calls, "MIN_LARGE_BLOCK", LARGE * LARGE)
    assert not called(text.module(x)).callees
    assert all(IS_INLINED_LATER in callee.attributes for callee in callees)


def test_fused_programs_are_as_without_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    products_are_small(monkeypatch)
    text, x = training(6)
    fused, flat = [counts(specialized(text.module(x), outlines=outlines)) for outlines in (True, False)]
    # One step more is where the gradient begins: the order of the operations is another there.
    assert fused - flat <= Counter({"nimblehlo.fusion": 1, "stablehlo.return": 1}) and not flat - fused
    assert fused["nimblehlo.row_fusion"] >= 6
    assert_nothing_changes(text.module(x), text.inputs())


def test_functions_whose_values_go_to_the_next_layer_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlined_calls, "MIN_LARGE_BLOCK", LARGE)
    text, x = model(6)
    function = called(text.module(x))
    fuse_operations(function, Options())
    (callee,) = function.callees
    assert IS_INLINED_LATER not in callee.attributes


def test_results_that_one_call_alone_needs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    products_are_small(monkeypatch)
    text = Text()
    x, weight = text.argument(SQUARE), text.argument(SQUARE)
    kept = []
    for _ in range(8):
        kept.append(text.product(x, weight))
        shifted = text.add(text.apply("tanh", kept[-1]), text.constant(0.25))
        x = text.add(x, text.apply("cosine", text.add(shifted, shifted, "multiply")))
    module = text.module(x, kept[0], kept[3])
    assert called(module).callees
    assert counts(specialized(module, outlines=True)) == counts(specialized(module, outlines=False))
    assert_nothing_changes(module, text.inputs())
