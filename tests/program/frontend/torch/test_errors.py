"""Errors of conversions, called without PyTorch: what is refused, and what is a defect."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nimblehlo.errors import ExecutionError, UnsupportedError
from nimblehlo.program.frontend.torch.conversion import converted_node
from nimblehlo.program.frontend.torch.table import NodeEmitter, unsupported
from nimblehlo.program.ir import Block, Value

NODE: Any = SimpleNamespace(
    name="add_1", target="aten.add", meta={"stack_trace": 'File "model.py", line 7, in forward'}
)
LINE = r"add_1 \(model\.py:7:1\)"


def emitter() -> NodeEmitter:
    def seed() -> Value:
        raise AssertionError("the operation takes no random bits")

    return NodeEmitter(Block(), seed)


def test_arguments_that_a_conversion_does_not_take_are_refused() -> None:
    def conversion(e: NodeEmitter, x: object) -> None:
        raise AssertionError("is not called")

    with pytest.raises(UnsupportedError, match=rf"these arguments \(.*'alpha'.*\), at {LINE}"):
        converted_node(conversion, NODE, "aten.add", emitter(), [1], {"alpha": 2})


def test_a_refusal_gets_the_operation_and_the_line_of_the_model() -> None:
    def conversion(e: NodeEmitter) -> None:
        raise unsupported("is refused")

    with pytest.raises(UnsupportedError, match=rf"aten\.add: is refused, at {LINE}"):
        converted_node(conversion, NODE, "aten.add", emitter(), [], {})


@pytest.mark.parametrize("error", [TypeError("7"), LookupError("7"), AssertionError("7"), ValueError("7")])
def test_a_defect_of_a_conversion_is_no_refusal(error: Exception) -> None:
    def conversion(e: NodeEmitter) -> None:
        raise error

    expected = rf"an internal error of NimbleHLO \({type(error).__name__}: '?7'?\).*at {LINE}"
    with pytest.raises(ExecutionError, match=expected) as caught:
        converted_node(conversion, NODE, "aten.add", emitter(), [], {})
    assert caught.value.__cause__ is error


def test_random_numbers_in_a_loop_are_refused() -> None:
    e = emitter()
    with (
        e.without_random_numbers("torch.while_loop"),
        pytest.raises(UnsupportedError, match=r"torch\.while_loop cannot draw random numbers"),
    ):
        e.seed()
    with pytest.raises(AssertionError, match="no random bits"):
        e.seed()
