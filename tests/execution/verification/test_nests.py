"""Loop nests that leave their arrays, or do not write each element once, are rejected."""

from __future__ import annotations

from typing import Any

import pytest

import nimblehlo
from nimblehlo.compiler.loops.nests.nest import Access, Nest
from nimblehlo.compiler.loops.nests.nest_code import NestCode
from nimblehlo.execution.verification import verification_level
from nimblehlo.execution.verification.nests import verify_nests
from nimblehlo.execution.verification.plans import InvalidPlan
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Block
from nimblehlo.program.ir.affine import AffineExpr
from nimblehlo.program.ops.framework.verify import verify

TEXT = """
func.func @main(%a: tensor<8x12xf32>, %b: tensor<12x8xf32>) -> tensor<8x12xf32> {
  %0 = stablehlo.transpose %b, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %1 = stablehlo.add %a, %0 : tensor<8x12xf32>
  return %1 : tensor<8x12xf32>
}
"""


def block_and_nests(text: str = TEXT) -> tuple[Block, list[Nest]]:
    module = parse(text)
    verify(module)
    body = module.functions["main"].body
    assert body is not None
    return body.block, list(NestCode(body.block, None).nests.scheduled)


def changed(nest: Nest, number: int, **changes: Any) -> Nest:
    """A nest with another place for one access."""
    accesses = list(nest.accesses)
    accesses[number] = Access(
        accesses[number].array, accesses[number].element_type, accesses[number].index_map._replace(**changes)
    )
    return nest._replace(accesses=tuple(accesses))


def test_nests_as_they_are_made_are_accepted() -> None:
    block, nests = block_and_nests()
    verify_nests(block, nests, "here")


@pytest.mark.parametrize(
    ("number", "changes", "reason"),
    [
        (-1, {"offset": 1}, "uses bytes"),
        (-1, {"offset": -1}, "uses bytes"),
        (-1, {"strides": (12, 0)}, "more than once"),
        (0, {"strides": (12, 2)}, "uses bytes"),
        (0, {"strides": (12, 0)}, "is read elsewhere"),
    ],
)
def test_wrong_places_are_rejected(number: int, changes: dict[str, Any], reason: str) -> None:
    block, (nest,) = block_and_nests()
    with pytest.raises(InvalidPlan, match=reason):
        verify_nests(block, [changed(nest, number, **changes)], "here")


def test_what_is_written_twice_or_never_is_rejected() -> None:
    block, (nest,) = block_and_nests()
    with pytest.raises(InvalidPlan, match="0 bytes are written"):
        verify_nests(block, [], "here")
    with pytest.raises(InvalidPlan, match="768 bytes are written"):
        verify_nests(block, [nest, nest], "here")
    assert isinstance(nest.accesses[-1].index_map, AffineExpr)


CONCATENATE = """
func.func @main(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> tensor<{result}xf32> {{
  %0 = stablehlo.concatenate %a, %b, dim = {dim} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<{result}xf32>
  return %0 : tensor<{result}xf32>
}}
"""


@pytest.mark.parametrize(("dim", "result"), [(0, "8x6"), (1, "4x12")])
def test_results_written_by_several_nests(dim: int, result: str) -> None:
    """Contiguous ranges that follow one another, and ranges that alternate."""
    block, nests = block_and_nests(CONCATENATE.format(dim=dim, result=result))
    assert len(nests) == 2
    verify_nests(block, nests, "here")
    offset = nests[0].results[0].index_map.offset
    with pytest.raises(InvalidPlan, match="more than once"):
        verify_nests(block, [nests[0], changed(nests[1], -1, offset=offset)], "here")


def test_results_of_several_shapes_would_be_found() -> None:
    """A fusion that handed on values of two shapes once wrote one of them by the loops of the other."""
    from nimblehlo.compiler.loops.nests import nest_builder as module
    from nimblehlo.compiler.loops.nests.loop_schedule import schedule_loops

    text = """
    func.func @main(%a: tensor<8x12xf32>, %b: tensor<3xf32>) -> (tensor<8x12xf32>, tensor<3xf32>) {
      %0 = stablehlo.sine %a : tensor<8x12xf32>
      %1 = stablehlo.sine %b : tensor<3xf32>
      return %0, %1 : tensor<8x12xf32>, tensor<3xf32>
    }
    """
    parsed = parse(text)
    verify(parsed)
    body = parsed.functions["main"].body
    assert body is not None
    box = ((0, 8), (0, 12))
    nest = schedule_loops(module._BoxNest(body.block, box).nest)
    with pytest.raises(InvalidPlan):
        verify_nests(body.block, [nest], "here")


def test_programs_are_verified_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    large = TEXT.replace("8x12", "400x120").replace("12x8", "120x400")
    with verification_level("plans"):
        nimblehlo.compile(large, options=Options(compile="eager"))
    from nimblehlo.execution.verification import nests

    monkeypatch.setattr(nests, "may_overwrite", lambda block: ((0, 0), (1, 0)))
    with verification_level("plans"), pytest.raises(InvalidPlan, match="is read elsewhere"):
        nimblehlo.compile(large, options=Options(compile="eager"))


OVERWRITES = """
func.func @main(%a: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %0 = stablehlo.tanh %a : tensor<8x12xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<8x12xf32>
  return %1 : tensor<8x12xf32>
}
"""


def test_operands_that_are_read_elsewhere_after_others_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed of an operand at the same index and read elsewhere once let it be overwritten."""
    module = parse(OVERWRITES)
    verify(module)
    body = module.functions["main"].body
    assert body is not None
    code = NestCode(body.block, None)
    verify_nests(body.block, code.nests.scheduled, "here")
    monkeypatch.setattr("nimblehlo.execution.verification.nests.may_overwrite", lambda block: ((0, 0),))
    with pytest.raises(InvalidPlan, match="is read elsewhere"):
        verify_nests(body.block, code.nests.scheduled, "here")
