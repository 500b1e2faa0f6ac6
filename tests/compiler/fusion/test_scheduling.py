"""Reductions run where their operands are computed, if that frees memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.fusion.scheduling import reduce_early, update_late
from nimblehlo.compiler.plan import fusion_passes
from nimblehlo.program.ir import Region
from tests.support.running import run_every_way

MATRIX, ROWS = "tensor<64x64xf32>", "tensor<64xf32>"
MATRIX_BYTES = 64 * 64 * 4


def product(name: str, operand: str) -> str:
    types = f"({MATRIX}, {MATRIX}) -> {MATRIX}"
    return f"%{name} = stablehlo.dot_general %{operand}, %w, contracting_dims = [1] x [0] : {types}"


def row_sums(name: str, operand: str, initial: str = "zero") -> str:
    return f"""%{name} = stablehlo.reduce(%{operand} init: %{initial}) applies stablehlo.add
      across dimensions = [1] : ({MATRIX}, tensor<f32>) -> {ROWS}"""


def total(name: str, operand: str) -> str:
    return f"""%{name} = stablehlo.reduce(%{operand} init: %zero) applies stablehlo.add
      across dimensions = [0] : ({ROWS}, tensor<f32>) -> tensor<f32>"""


def program(*operations: str, results: dict[str, str]) -> str:
    names, types = ", ".join(f"%{name}" for name in results), ", ".join(results.values())
    body = "\n  ".join(operations)
    return f"""func.func @main(%a: {MATRIX}, %w: {MATRIX}) -> ({types}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {body}
  return {names} : {types}
}}"""


def moved(text: str) -> list[int]:
    """The original numbers of the operations of `main` in their new order, without constant and return."""
    body = nimblehlo.load(text).functions["main"].body
    assert isinstance(body, Region)
    numbers = {operation: number for number, operation in enumerate(body.block.operations)}
    reduce_early(body)
    return [numbers[operation] for operation in body.block.operations][1:-1]


LATE_SUMS = program(
    product("p", "a"), product("q", "w"), product("r", "q"), row_sums("sum_r", "r"), row_sums("sum_p", "p"),
    results={"sum_p": ROWS, "sum_r": ROWS},
)  # fmt: skip


def test_a_reduction_follows_the_producer_of_its_operand() -> None:
    assert moved(LATE_SUMS) == [1, 5, 2, 3, 4]


def test_a_reduction_of_a_reduction_follows_it() -> None:
    text = program(
        product("p", "a"), product("q", "p"), row_sums("s", "q"), product("r", "p"), total("t", "s"),
        results={"t": "tensor<f32>", "r": MATRIX},
    )  # fmt: skip
    assert moved(text) == [1, 2, 3, 5, 4]


def test_a_reduction_follows_its_initial_value() -> None:
    text = program(
        product("p", "a"), row_sums("s", "a"), total("t", "s"), product("q", "a"), row_sums("u", "p", "t"),
        results={"u": ROWS, "q": MATRIX},
    )  # fmt: skip
    assert moved(text) == [1, 2, 3, 5, 4]


@pytest.mark.parametrize(
    ("operand", "results"),
    [("p", {"sum": ROWS, "p": MATRIX, "r": MATRIX}), ("q", {"sum": ROWS, "r": MATRIX}), ("a", {"sum": ROWS})],
)
def test_reductions_of_what_stays_alive_are_not_moved(operand: str, results: dict[str, str]) -> None:
    """A result, what another operation reads, and an argument."""
    text = program(
        product("p", "a"), product("q", "a"), product("r", "q"), row_sums("sum", operand), results=results
    )
    assert moved(text) == [1, 2, 3, 4]


def test_reductions_move_in_branches() -> None:
    body = "\n".join([product("p", "a"), product("q", "a"), row_sums("sum_q", "q"), row_sums("sum_p", "p")])
    branch = f"{{\n{body}\n%d = stablehlo.subtract %sum_p, %sum_q : {ROWS}\nstablehlo.return %d : {ROWS}\n}}"
    text = program(
        "%i = stablehlo.constant dense<0> : tensor<i32>",
        f'%c = "stablehlo.case"(%i) ({branch}) : (tensor<i32>) -> {ROWS}',
        results={"c": ROWS},
    )
    region = nimblehlo.load(text).functions["main"].body
    assert isinstance(region, Region)
    inner = region.block.operations[2].regions[0]
    p, q, sum_q, sum_p, *rest = inner.block.operations
    reduce_early(region, lambda operation: True)
    assert inner.block.operations == [p, q, sum_q, sum_p, *rest]
    reduce_early(region)
    assert inner.block.operations == [p, sum_p, q, sum_q, *rest]


def test_memory_and_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first product is gone before the others are computed."""
    options = Options(compile="eager")
    lowered = nimblehlo.compile(LATE_SUMS, options=options).memory().temporaries
    with monkeypatch.context() as patch:
        patch.setattr(fusion_passes, "reduce_early", lambda *arguments: None)
        late = nimblehlo.compile(LATE_SUMS, options=options).memory().temporaries
    assert late - lowered >= MATRIX_BYTES - 64 * 4
    random = np.random.default_rng(0)
    arrays: list[Any] = [random.standard_normal((64, 64)).astype(np.float32) for _ in range(2)]
    run_every_way(LATE_SUMS, *arrays)


UPDATED = """func.func @main(%a: tensor<9xf32>, %u: tensor<2xf32>, %i: tensor<i32>)
    -> (tensor<9xf32>, tensor<9xf32>, tensor<3xf32>) {{
  {body}
  return {returned} : tensor<9xf32>, tensor<9xf32>, tensor<3xf32>
}}"""
UPDATE = (
    "stablehlo.dynamic_update_slice {}, %u, %i : (tensor<9xf32>, tensor<2xf32>, tensor<i32>) -> tensor<9xf32>"
)
SLICE = "stablehlo.slice {} [0:3] : (tensor<9xf32>) -> tensor<3xf32>"


def updated_late(*lines: str, returned: str) -> list[int]:
    """The original numbers of operations after `update_late`."""
    body = nimblehlo.load(UPDATED.format(body="\n  ".join(lines), returned=returned)).functions["main"].body
    assert isinstance(body, Region)
    numbers = {operation: number for number, operation in enumerate(body.block.operations)}
    update_late(body)
    return [numbers[operation] for operation in body.block.operations][:-1]


def test_an_update_follows_what_reads_its_operand() -> None:
    lines = [f"%y = {UPDATE.format('%a')}", "%n = stablehlo.negate %y : tensor<9xf32>",
             f"%s = {SLICE.format('%a')}", "%z = stablehlo.sine %n : tensor<9xf32>"]  # fmt: skip
    assert updated_late(*lines, returned="%y, %z, %s") == [2, 0, 1, 3]


def test_an_update_follows_what_reads_a_view_of_its_operand() -> None:
    lines = ["%r = stablehlo.reshape %a : (tensor<9xf32>) -> tensor<3x3xf32>", f"%y = {UPDATE.format('%a')}",
             "%t = stablehlo.sine %r : tensor<3x3xf32>",
             "%f = stablehlo.reshape %t : (tensor<3x3xf32>) -> tensor<9xf32>",
             f"%s = {SLICE.format('%f')}"]  # fmt: skip
    assert updated_late(*lines, returned="%y, %f, %s") == [0, 2, 1, 3, 4]


def test_updates_of_updates_follow_as_well() -> None:
    lines = [f"%y = {UPDATE.format('%a')}", f"%z = {UPDATE.format('%y')}", f"%s = {SLICE.format('%y')}"]
    assert updated_late(*lines, returned="%z, %z, %s") == [0, 2, 1]


def test_an_update_stays_where_its_result_is_needed_first() -> None:
    lines = [
        f"%y = {UPDATE.format('%a')}",
        "%n = stablehlo.add %y, %a : tensor<9xf32>",
        f"%s = {SLICE.format('%n')}",
    ]
    assert updated_late(*lines, returned="%y, %n, %s") == [0, 1, 2]
    lines = [f"%y = {UPDATE.format('%a')}", f"%z = {UPDATE.format('%a')}", f"%s = {SLICE.format('%z')}"]
    assert updated_late(*lines, returned="%y, %z, %s") == [0, 1, 2]
