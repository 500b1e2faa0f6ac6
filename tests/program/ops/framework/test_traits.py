"""What declarations state about operations beside their semantics: every one answers every question.

`tests/program/ops/references.py` compares `memory` with the memory of results, wherever a test runs an
operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from nimblehlo.program.ops.framework.declaration import Op, declarations
from nimblehlo.program.ops.framework.facts import FACTS, Facts
from nimblehlo.program.ops.framework.traits import Memory, Movement, Product, RegionRole
from nimblehlo.program.ops.shape.movement import MovementOp
from tests.program.ops.rejections import parse_and_verify

QUESTIONS: Final[dict[str, tuple[type, ...]]] = {
    "copies_strided_operands": (bool,),
    "is_slow_on_few": (bool,),
    "is_terminator": (bool,),
    "may_be_folded": (bool,),
    "may_be_hoisted": (bool,),
    "memory": (Memory,),
    "moved_operands": (slice, type(None)),
    "movement": (Movement, type(None)),
    "product": (Product, type(None)),
    "source_constraints": (tuple,),
    "pure": (bool,),
    "region_role": (RegionRole,),
}
"""The questions, with the classes of their answers."""

RULES: Final[dict[str, Callable[[type[Op]], bool]]] = {
    "a data movement has indices, and moves operands": lambda one: (
        (one.movement is not None) == issubclass(one, MovementOp)
        and (one.movement is None or one.moved_operands is not None)
    ),
    "what joins operands moves several": lambda one: (
        one.movement is None or (one.movement is Movement.JOIN) == (one.moved_operands != slice(1))
    ),
    "moved operands are declared": lambda one: one.moved_operands is None or bool(
        one.declared_operands[one.moved_operands]
    ),
    "what depends on attributes alone has no operands": lambda one: (
        one.memory is not Memory.CREATES or not one.declared_operands
    ),
    "views, updates and what is forwarded have operands": lambda one: (
        one.memory in (Memory.COPY, Memory.CREATES) or bool(one.declared_operands)
    ),
    "what is not a view of one operand may be a view of another": lambda one: (
        one.memory not in (Memory.FLAT_VIEW, Memory.STRIDED_VIEW) or not one.declared_operands[0].variadic
    ),
    "a role needs regions": lambda one: (
        one.region_role is RegionRole.COMPUTATION or bool(one.declared_regions)
    ),
    "a terminator has no results": lambda one: not one.is_terminator or not one.declared_results,
    "a product has two factors": lambda one: (
        one.product is None or {"lhs", "rhs"} <= {operand.name for operand in one.declared_operands}
    ),
    "constraints of the source are declared": lambda one: (
        {each.label for each in one.declared_constraints}.issuperset(one.source_constraints)
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_operation_answers(question: str) -> None:
    for one in declarations():
        assert isinstance(getattr(one, question), QUESTIONS[question]), one.name


@pytest.mark.parametrize("rule", RULES)
def test_answers_agree_with_each_other(rule: str) -> None:
    assert not [one.name for one in declarations() if not RULES[rule](one)]


def test_every_trait_is_asked() -> None:
    kinds = ("Memory", "Movement", "Product", "RegionRole")
    hints = Facts.__annotations__.items()
    traits = {name for name, hint in hints if any(kind in str(hint) for kind in kinds)}
    assert traits <= set(QUESTIONS)
    assert set(QUESTIONS) - {"pure"} <= FACTS


VIEWS: Final = [
    "stablehlo.bitcast_convert %x : (tensor<64x65xf32>) -> tensor<64x65xi32>",
    "stablehlo.broadcast %x, sizes = [2] : (tensor<64x65xf32>) -> tensor<2x64x65xf32>",
    "stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<64x65xf32>) -> tensor<64x2x65xf32>",
    "stablehlo.optimization_barrier %x : tensor<64x65xf32>",
    "stablehlo.reshape %x : (tensor<64x65xf32>) -> tensor<65x64xf32>",
    "stablehlo.slice %x [0:2, 1:3] : (tensor<64x65xf32>) -> tensor<2x2xf32>",
    "stablehlo.transpose %x, dims = [1, 0] : (tensor<64x65xf32>) -> tensor<65x64xf32>",
]


@pytest.mark.parametrize("text", VIEWS)
def test_views_copy_nothing(text: str) -> None:
    module = parse_and_verify(f"func.func @main(%x: tensor<64x65xf32>) {{\n%y = {text}\nreturn\n}}\n")
    view = Op.of(module.functions["main"].body.block.operations[0])
    operand = np.ones((64, 65), np.float32)
    result = view.bind()(operand)
    assert view.memory is not Memory.COPY
    assert np.shares_memory(result[0] if isinstance(result, tuple) else result, operand)
