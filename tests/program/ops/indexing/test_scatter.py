"""`scatter` against the specification's formula, one update after the other in lexicographic order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.indexing import scatter, scatter_numpy
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.indexing.index_cases import IndexCase, index_cases
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import declaration, elements, index_space, tensor

SCATTER = {
    "inputs": [tensor([2, 3, 4])],
    "scatter_indices": tensor([2, 5, 1], "i32"),
    "updates": [tensor([2, 3, 5])],
    "update_window_dims": [1],
    "inserted_window_dims": [1],
    "input_batching_dims": [0],
    "scatter_indices_batching_dims": [0],
    "scatter_dims_to_operand_dims": [1],
    "index_vector_dim": 2,
    "results": [tensor([2, 3, 4])],
}


def scatter_program(update_computation: str, **changes: Any) -> str:
    """A legal scatter with some of its parts changed."""
    parts = {**SCATTER, **changes}
    numbers = ", ".join(f"{name} = {value}" for name, value in parts.items() if "dim" in name)
    attributes = (
        f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, "
        "indices_are_sorted = false, unique_indices = false"
    )
    operands = [*parts["inputs"], parts["scatter_indices"], *parts["updates"]]
    return program("stablehlo.scatter", operands, parts["results"], attributes, update_computation)


def region(*lines: str, types: list[str], returned: list[str]) -> str:
    """A region of N pairs: its arguments are %a0, ..., %b0, ...; `returned` are values of these types."""
    names = [f"%{side}{index}" for side in "ab" for index in range(len(types))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types * 2, strict=True))
    return (
        f"^bb0({arguments}):\n"
        + "".join(f"    {line}\n" for line in lines)
        + f'    "stablehlo.return"({", ".join(returned)}) : ({", ".join(types)}) -> ()\n'
    )


def binary(name: str, element_type: str = "f32") -> str:
    """A region that applies one operation to its two arguments."""
    type = tensor([], element_type)
    return region(f"%c = stablehlo.{name} %a0, %b0 : {type}", types=[type], returned=["%c"])


ADD = binary("add")
F32 = tensor([])
REJECTED = {
    declaration("scatter"): {
        "C1": scatter_program(
            region(types=[F32, F32], returned=["%b0", "%b1"]),
            inputs=[tensor([2, 3, 4]), tensor([2, 3, 5])],
            updates=[tensor([2, 3, 5])] * 2,
            results=[tensor([2, 3, 4]), tensor([2, 3, 5])],
        ),
        "C2": scatter_program(ADD, inputs=[tensor([2, 3, 4, 1])]),
        "C3": scatter_program(
            region(types=[F32, F32], returned=["%b0", "%b1"]),
            inputs=[tensor([2, 3, 4])] * 2,
            updates=[tensor([2, 3, 5]), tensor([2, 2, 5])],
            results=[tensor([2, 3, 4])] * 2,
        ),
        "C4": scatter_program(ADD, updates=[tensor([2, 5, 5])]),
        "C5": scatter_program(ADD, updates=[]),
        "C6": scatter_program(ADD, updates=[tensor([2, 3, 5], "f64")]),
        "C7": scatter_program(
            ADD,
            update_window_dims=[1, 0],
            input_batching_dims=[],
            scatter_indices_batching_dims=[],
            updates=[tensor([3, 2, 2, 5])],
        ),
        "C8": scatter_program(ADD, update_window_dims=[3], updates=[tensor([2, 5])]),
        "C9": scatter_program(ADD, inserted_window_dims=[0], updates=[tensor([2, 3, 5])]),
        "C10": scatter_program(
            ADD, inserted_window_dims=[1, 0], input_batching_dims=[], scatter_indices_batching_dims=[]
        ),
        "C11": scatter_program(ADD, inserted_window_dims=[3]),
        "C12": scatter_program(
            ADD, inserted_window_dims=[], input_batching_dims=[1, 0], scatter_indices_batching_dims=[1, 0]
        ),
        "C13": scatter_program(ADD, input_batching_dims=[3], updates=[tensor([2, 2, 5])]),
        "C14": scatter_program(
            ADD, inserted_window_dims=[], input_batching_dims=[0, 1], scatter_indices_batching_dims=[0, 0]
        ),
        "C15": scatter_program(ADD, scatter_indices_batching_dims=[3]),
        "C16": scatter_program(ADD, scatter_indices_batching_dims=[2]),
        "C17": scatter_program(ADD, scatter_indices_batching_dims=[0, 1]),
        "C18": scatter_program(ADD, scatter_indices_batching_dims=[1]),
        "C19": scatter_program(ADD, scatter_dims_to_operand_dims=[1, 2]),
        "C20": scatter_program(ADD, scatter_dims_to_operand_dims=[0]),
        "C21": scatter_program(ADD, scatter_dims_to_operand_dims=[3]),
        "C22": scatter_program(
            ADD, index_vector_dim=4, updates=[tensor([2, 3, 5, 1])], scatter_dims_to_operand_dims=[1]
        ),
        "C23": scatter_program(region(types=[tensor([], "i1")], returned=["%b0"])),
        "C24": scatter_program(ADD, results=[tensor([2, 3, 5])]),
        "C25": scatter_program(ADD, results=[tensor([2, 3, 4], "f64")]),
    },
}

BAD_BODIES = {
    "too few outputs": '^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    "stablehlo.return"() : () -> ()\n',
    "too few inputs": '^bb0(%a: tensor<f32>):\n    "stablehlo.return"(%a) : (tensor<f32>) -> ()\n',
    "rank": region(types=[tensor([1])], returned=["%b0"]),
    "narrower": region(types=[tensor([], "f16")], returned=["%b0"]),
    "unequal inputs": (
        '^bb0(%a: tensor<f32>, %b: tensor<f64>):\n    "stablehlo.return"(%a) : (tensor<f32>) -> ()\n'
    ),
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_bodies_of_other_types_are_rejected(body: str) -> None:
    assert_rejected(declaration("scatter"), "C23", scatter_program(body))


@pytest.mark.parametrize("count", [0, 2])
def test_numbers_of_inputs_and_updates_that_differ_are_rejected(count: int) -> None:
    text = scatter_program(
        ADD, inputs=[tensor([2, 3, 4])] * count, updates=[tensor([2, 3, 5])] * (count // 2)
    )
    assert_rejected(declaration("scatter"), "C5", text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, scatter)


def test_inputs_of_another_kind_are_rejected() -> None:
    text = scatter_program(region(types=[F32], returned=["%b0"]))
    assert_inputs_rejected(text)


SOME_DIMS = st.lists(st.integers(-2, 5), max_size=4)
SOME_TENSOR = st.lists(st.sampled_from([0, 1, 2, 3, "?"]), max_size=4).map(tensor)
SOME_PARTS = st.fixed_dictionaries(
    {
        "inputs": st.lists(SOME_TENSOR, min_size=2, max_size=2),
        "updates": st.lists(SOME_TENSOR, min_size=2, max_size=2),
    },
    optional={
        "scatter_indices": SOME_TENSOR.map(lambda text: text.replace("f32", "i32")),
        "results": st.lists(SOME_TENSOR, max_size=3),
        "index_vector_dim": st.integers(-2, 5),
        **{name: SOME_DIMS for name in SCATTER if name.endswith("dims")},
    },
)


@given(SOME_PARTS)
def test_any_dimension_numbers_get_a_verdict(parts: dict[str, Any]) -> None:
    body = region(types=[F32, F32], returned=["%b0", "%b1"])
    block = parse(scatter_program(body, **parts)).functions["main"].body.block
    view = Op.of(block.operations[-2])
    reasons = [reason for _, _, reason in view.constraints()]
    if not any(reasons):
        assert len(view.infer()) == len(view.results)


def scattered(
    case: IndexCase, inputs: list[Any], updates: list[Any], function: Callable[..., tuple[Any, ...]]
) -> list[Any]:
    """The results, as the specification's exec gives them for the lexicographic schedule."""
    results = [array.copy() for array in inputs]
    for update_index in index_space(case.space):
        scatter_index = tuple(i for d, i in enumerate(update_index) if d not in case.window_dims)
        start_index = case.start_index(case.indices, scatter_index)
        full_start_index = [0] * len(case.shape)
        for d_start, d_input in enumerate(case.index_map):
            full_start_index[d_input] = start_index[d_start]
        window_index = case.full_window_index(tuple(update_index[d] for d in case.window_dims))
        batching_index = case.full_batching_index(scatter_index)
        parts = zip(full_start_index, batching_index, window_index, strict=True)
        result_index = tuple(map(sum, parts))
        if all(0 <= i < size for i, size in zip(result_index, case.shape, strict=True)):
            values = [result[result_index] for result in results]
            values += [update[update_index] for update in updates]
            for result, value in zip(results, function(*values), strict=True):
                result[result_index] = value
    return results


def case_program(case: IndexCase, element_types: list[str], body: str, result_types: list[str]) -> str:
    """The scatter of a case."""
    return scatter_program(
        body,
        inputs=[tensor(case.shape, element_type) for element_type in element_types],
        scatter_indices=tensor(case.indices.shape, case.index_type),
        updates=[tensor(case.space, element_type) for element_type in element_types],
        update_window_dims=case.window_dims,
        inserted_window_dims=case.dropped_dims,
        input_batching_dims=case.batching_dims,
        scatter_indices_batching_dims=case.indices_batching_dims,
        scatter_dims_to_operand_dims=case.index_map,
        index_vector_dim=case.index_vector_dim,
        results=[tensor(case.shape, element_type) for element_type in result_types],
    )


def assert_scattered(
    case: IndexCase,
    element_type: str,
    body: str,
    function: Callable[[Any, Any], Any],
    wide: str | None = None,
) -> None:
    """One input: the results must be those of the formula to the bit, in type `wide` where one is given."""
    inputs, updates = elements(case.shape, element_type), elements(case.space, element_type)
    text = case_program(case, [element_type], body, [wide or element_type])
    (result,) = evaluate(text, inputs, case.indices, updates)
    dtype = ELEMENT_TYPES[wide or element_type].dtype
    with np.errstate(all="ignore"):
        (expected,) = scattered(
            case, [inputs.astype(dtype)], [updates.astype(dtype)], lambda a, b: (function(a, b),)
        )
    assert result.tobytes() == expected.tobytes()


NUMBERS = st.sampled_from([name for name in sorted(ELEMENT_TYPES) if name != "i1"])


@given(index_cases(), NUMBERS)
def test_add(case: IndexCase, element_type: str) -> None:
    assert_scattered(case, element_type, binary("add", element_type), lambda a, b: a + b)


@given(index_cases(), st.sampled_from(["bf16", "f16", "f32", "f64", "i8", "ui16", "i64", "f8E4M3FN"]))
def test_multiply(case: IndexCase, element_type: str) -> None:
    assert_scattered(case, element_type, binary("multiply", element_type), lambda a, b: a * b)


@given(index_cases(), st.sampled_from(["i1", "i8", "ui32"]), st.sampled_from(["and", "or", "xor"]))
def test_bits(case: IndexCase, element_type: str, name: str) -> None:
    function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name]
    assert_scattered(case, element_type, binary(name, element_type), function)


@given(index_cases(), st.sampled_from(sorted(ELEMENT_TYPES)))
def test_overwrite(case: IndexCase, element_type: str) -> None:
    body = region(types=[tensor([], element_type)], returned=["%b0"])
    assert_scattered(case, element_type, body, lambda a, b: b)


@given(index_cases(), st.sampled_from(["f32", "bf16", "i32"]))
def test_body_whose_order_matters(case: IndexCase, element_type: str) -> None:
    type = tensor([], element_type)
    lines = [f"%c = stablehlo.subtract %b0, %a0 : {type}", f"%d = stablehlo.add %c, %c : {type}"]
    body = region(*lines, types=[type], returned=["%d"])
    assert_scattered(case, element_type, body, lambda a, b: (b - a) + (b - a))


@given(index_cases(), st.integers(1, 9), st.sampled_from(["f32", "i8"]))
def test_chunked_updates(case: IndexCase, piece: int, element_type: str) -> None:
    with mock.patch.object(scatter_numpy, "_UPDATES_PER_CHUNK", piece):
        assert_scattered(case, element_type, binary("add", element_type), lambda a, b: a + b)
        body = region(types=[tensor([], element_type)], returned=["%b0"])
        assert_scattered(case, element_type, body, lambda a, b: b)


@given(index_cases(), st.sampled_from([("bf16", "f32"), ("f16", "f64"), ("i8", "i32"), ("f8E5M2", "f16")]))
def test_promotion(case: IndexCase, types: tuple[str, str]) -> None:
    element_type, wide = types
    assert_scattered(case, element_type, binary("add", wide), lambda a, b: a + b, wide)


@given(index_cases())
def test_constant_body(case: IndexCase) -> None:
    line = "%c = stablehlo.constant dense<9> : tensor<i32>"
    body = region(line, types=[tensor([], "i32")], returned=["%c"])
    assert_scattered(case, "i32", body, lambda a, b: np.int32(9))


@given(index_cases())
def test_several_inputs(case: IndexCase) -> None:
    type = tensor([], "i32")
    lines = [f"%c = stablehlo.add %a0, %b1 : {type}", f"%d = stablehlo.subtract %a1, %b0 : {type}"]
    body = region(*lines, types=[type, type], returned=["%c", "%d"])
    inputs = [elements(case.shape, "i32"), np.asarray(elements(case.shape, "i32") * 3)]
    updates = [elements(case.space, "i32"), np.asarray(elements(case.space, "i32") * 5)]
    text = case_program(case, ["i32", "i32"], body, ["i32", "i32"])
    results = evaluate(text, *inputs, case.indices, *updates)
    expected = scattered(case, inputs, updates, lambda a, b, c, d: (a + d, b - c))
    for result, wanted in zip(results, expected, strict=True):
        assert np.array_equal(result, wanted)


@given(index_cases())
def test_body_that_is_not_elementwise(case: IndexCase) -> None:
    type, pair = tensor([], "i32"), tensor([1], "i32")
    lines = [
        f"%c = stablehlo.reshape %a0 : ({type}) -> {pair}",
        f"%d = stablehlo.reshape %b0 : ({type}) -> {pair}",
        f"%e = stablehlo.concatenate %d, %c, dim = 0 : ({pair}, {pair}) -> tensor<2xi32>",
        f"%f = stablehlo.slice %e [0:1] : (tensor<2xi32>) -> {pair}",
        f"%g = stablehlo.reshape %f : ({pair}) -> {type}",
        f"%h = stablehlo.subtract %g, %a0 : {type}",
    ]
    body = region(*lines, types=[type], returned=["%h"])
    assert_scattered(case, "i32", body, lambda a, b: b - a)


def test_extreme_values() -> None:
    special = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, 1e-45, 3e38], np.float32)
    indices = np.array([[0], [2], [0], [2], [1], [1], [3]], np.int32)
    text = scatter_program(
        binary("maximum"),
        inputs=[tensor([4])],
        scatter_indices=tensor([7, 1], "i32"),
        updates=[tensor([7])],
        update_window_dims=[],
        inserted_window_dims=[0],
        input_batching_dims=[],
        scatter_indices_batching_dims=[],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
        results=[tensor([4])],
    )
    (result,) = evaluate(text, np.full(4, -0.0, np.float32), indices, special)
    assert np.isnan(result[0])
    assert result[1:].tolist() == [np.float32(1e-45), 0.0, np.float32(3e38)]


def test_each_update_is_rounded() -> None:
    updates = np.full(600, 1.0, ml_dtypes.bfloat16)
    text = scatter_program(
        binary("add", "bf16"),
        inputs=[tensor([1], "bf16")],
        scatter_indices=tensor([600, 1], "i32"),
        updates=[tensor([600], "bf16")],
        update_window_dims=[],
        inserted_window_dims=[0],
        input_batching_dims=[],
        scatter_indices_batching_dims=[],
        scatter_dims_to_operand_dims=[0],
        index_vector_dim=1,
        results=[tensor([1], "bf16")],
    )
    (result,) = evaluate(text, np.zeros(1, ml_dtypes.bfloat16), np.zeros((600, 1), np.int32), updates)
    assert result[0] == 256
