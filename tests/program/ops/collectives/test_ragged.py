"""`ragged_all_to_all`: its constraints, and what it computes on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Grid, VerifyError
from nimblehlo.program.ops.collectives import ragged
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import assert_complete, assert_rejected, program, rows

OPERAND, OUTPUT, VECTOR = "tensor<6x2xf32>", "tensor<8x2xf32>", "tensor<4xi32>"
TYPES = [OPERAND, OUTPUT, VECTOR, VECTOR, VECTOR, VECTOR]


def groups(text: str = "[[0, 1]]", shape: str = "1x2") -> str:
    return f"replica_groups = dense<{text}> : tensor<{shape}xi64>"


def call(config: str = groups(), types: list[str] = TYPES, result: str = OUTPUT) -> str:
    attributes = (
        f'call_target_name = "ragged_all_to_all", api_version = 4 : i32, backend_config = {{{config}}}'
    )
    text = program("stablehlo.custom_call", types, [result], attributes)
    head, _, _ = text.rpartition("  return")
    return f"{head.replace(') {', f') -> {result} {{', 1)}  return %result : {result}\n}}\n"


def operation(attributes: str = groups(), types: list[str] = TYPES, result: str = OUTPUT) -> str:
    return program("nimblehlo.ragged_all_to_all", types, [result], attributes)


def with_type(index: int, type: str) -> list[str]:
    return [*TYPES[:index], type, *TYPES[index + 1 :]]


REJECTED: dict[type[Op], dict[str, str]] = {
    ragged.RaggedAllToAll: {
        "C1": operation(types=with_type(0, "tensor<6x3xf32>")),
        "C2": operation(result=OPERAND),
        "C3": operation(types=with_type(3, "tensor<4xi64>")),
        "C4": operation(groups("[[0, 1, 2]]", "1x3")),
        "C5": operation(groups("[[0, 0]]")),
        "C6_C7": operation(groups("[[0, 2]]")),
    }
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, ragged)


@pytest.mark.parametrize(
    "text",
    [
        call("channel_id = 1 : i64"),
        call("replica_groups = 3 : i64"),
        call(f'{groups()}, channel_id = "x"'),
        call(types=with_type(0, "tensor<f32>")),
        call(types=with_type(2, "tensor<4xf32>")),
        call(types=TYPES[:5]),
    ],
)
def test_calls_of_other_forms_are_rejected(text: str) -> None:
    with pytest.raises(VerifyError):
        nimblehlo.load(text)


def test_the_grid_has_as_many_processes_as_ids() -> None:
    with pytest.raises(VerifyError, match="the grid is 3 x 1"):
        nimblehlo.compile(call(), grid=Grid(3))
    with pytest.raises(VerifyError, match="the grid is 2 x 1"):
        nimblehlo.compile(call(f"{groups()}, channel_id = 1 : i64"), grid=Grid(2))


TWO = Grid(2)


def exchange(inputs: list[list[Any]], config: str = groups(), grid: Grid = TWO) -> list[Any]:
    return [result for (result,) in nimblehlo.execute(call(config), inputs, grid=grid)]


def inputs_of(sizes: Any, starts: Any, targets: Any, received: Any) -> list[list[Any]]:
    """The inputs of each process; each vector has a row for each."""
    operands = np.arange(24, dtype=np.float32).reshape(2, 6, 2)
    outputs = -np.ones((2, 8, 2), np.float32)
    vectors = [np.array(each, np.int32) for each in (starts, sizes, targets, received)]
    return [[operands[p], outputs[p], *(vector[p] for vector in vectors)] for p in range(2)]


SIZES = [[1, 2, 0, 3], [2, 0, 1, 1]]
STARTS = [[5, 0, 6, 2], [0, 6, 3, 4]]
TARGETS = [[0, 6, 0, 1], [2, 0, 6, 7]]
RECEIVED = [[1, 2, 2, 0], [0, 3, 1, 1]]


@pytest.mark.parametrize(
    ("config", "grid"),
    [
        (groups(), Grid(2)),
        (f"{groups()}, channel_id = 1 : i64", Grid(1, 2)),
        (groups("[[1, 0]]"), Grid(2)),
    ],
)
def test_slices_go_where_the_sender_says(config: str, grid: Grid) -> None:
    inputs = inputs_of(SIZES, STARTS, TARGETS, RECEIVED)
    wanted = [np.array(process[1]) for process in inputs]
    if "[[1, 0]]" in config:
        inputs.reverse()
    for sender in range(2):
        operand = np.arange(24, dtype=np.float32).reshape(2, 6, 2)[sender]
        for index in range(4):
            size, start, target = (each[sender][index] for each in (SIZES, STARTS, TARGETS))
            wanted[index // 2][target : target + size] = operand[start : start + size]
    results = exchange(inputs, config, grid)
    if "[[1, 0]]" in config:
        results.reverse()
    np.testing.assert_array_equal(results, wanted)


@pytest.mark.parametrize(
    ("sizes", "starts", "targets", "received", "label"),
    [
        (SIZES, [[6, 0, 6, 2], STARTS[1]], TARGETS, RECEIVED, "C8"),
        (SIZES, [[-1, 0, 6, 2], STARTS[1]], TARGETS, RECEIVED, "C8"),
        (SIZES, STARTS, [[8, 6, 0, 1], TARGETS[1]], RECEIVED, "C8"),
        (SIZES, STARTS, [[0, 6, 0, 2**31 - 1], TARGETS[1]], RECEIVED, "C8"),
        ([[1, -2, 0, 3], SIZES[1]], STARTS, TARGETS, RECEIVED, "C8"),
        (SIZES, STARTS, TARGETS, [[1, 2, 2, 1], RECEIVED[1]], "C9"),
    ],
)
def test_slices_that_do_not_fit_end_the_run(
    sizes: Any, starts: Any, targets: Any, received: Any, label: str
) -> None:
    with pytest.raises(ExecutionError) as caught:
        exchange(inputs_of(sizes, starts, targets, received))
    assert caught.value.label == label
