"""The section on `sn_scatter`: its example, each row of its table, each constraint, element types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo import Options, VerifyError, patterns
from nimblehlo.patterns import sn_gather, sn_scatter, sn_zipmapreduce
from nimblehlo.types import ELEMENT_TYPES
from tests.patterns.references import COMBINE, scatter
from tests.support.running import run_every_way, same_bits

ZEROS = np.zeros((3, 3), np.int64)
UPDATE = np.arange(1, 13).reshape(2, 2, 3)


def test_example() -> None:
    out = sn_scatter(ZEROS, UPDATE, [[1], [0]], {0}, "kAdd")
    assert out.tolist() == [[7, 8, 9], [11, 13, 15], [4, 5, 6]]
    assert not ZEROS.any()


def test_example_after_the_first_batch() -> None:
    assert sn_scatter(ZEROS, UPDATE[:1], [[1]], [0], "kAdd").tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("rmw_op", "expected"),
    [
        ("kUpdate", [5, 2, 1, 9]),
        ("kAdd", [5, 8, 15, 9]),
        ("kMul", [5, 12, 40, 9]),
        ("kMin", [5, 2, 1, 9]),
        ("kMax", [5, 6, 8, 9]),
    ],
)
def test_rmw_op(rmw_op: str, expected: list[int]) -> None:
    # Two updates meet at the third element.
    out = sn_scatter([5, 6, 5, 9], [[2], [8], [1]], [[1], [2], [2]], [0], rmw_op)
    assert out.tolist() == (expected if rmw_op != "kAdd" else [5, 8, 14, 9])


def test_kupdate_is_the_default_and_the_last_update_stays() -> None:
    assert sn_scatter([0, 0], [[1], [2], [3]], [[0], [1], [0]], [0]).tolist() == [3, 2]


@pytest.mark.parametrize("rmw_op", ["kMin", "kMax"])
def test_extremes_of_nan_and_zeros(rmw_op: str) -> None:
    there = np.array([np.nan, 1.0, -0.0, 0.0, np.inf], np.float32)
    written = np.array([1.0, np.nan, 0.0, -0.0, -np.inf], np.float32)[:, None]
    out = sn_scatter(there, written, np.arange(5)[:, None], [0], rmw_op)
    assert np.isnan(out[:2]).all()
    assert np.signbit(out[2:4]).tolist() == [rmw_op == "kMin"] * 2
    assert out[4] == (-np.inf if rmw_op == "kMin" else np.inf)


@pytest.mark.parametrize("rmw_op", COMBINE)
def test_unique_indices(rmw_op: str) -> None:
    operand = np.arange(8, dtype=np.float32)
    update = np.array([[3.0], [-2.0], [7.5]], np.float32)
    places = np.array([[6], [0], [3]], np.int32)
    out = sn_scatter(operand, update, places, [0], rmw_op, unique_indices=True)
    assert same_bits(out, sn_scatter(operand, update, places, [0], rmw_op))
    module = patterns.trace(lambda o, u, i: sn_scatter(o, u, i, [0], rmw_op, True), operand, update, places)
    assert "unique_indices = true" in str(module)


def test_the_length_is_that_of_the_update() -> None:
    assert sn_scatter(np.zeros(4, np.int32), np.array([[7, 8]], np.int32), [[1]], [0]).tolist() == [
        0,
        7,
        8,
        0,
    ]


def test_elements_outside_are_left_out() -> None:
    places = [[-1], [3], [2**31 - 1], [-(2**31)]]
    update = np.arange(1, 9).reshape(4, 2)
    assert sn_scatter(np.zeros(4, np.int64), update, places, [0]).tolist() == [2, 0, 0, 3]


def test_index_vectors_follow_the_order_of_scatter_dims() -> None:
    out = sn_scatter(np.zeros((2, 3)), np.ones((1, 1, 1)), [[2, 1]], [1, 0])
    assert out.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert sn_scatter(np.zeros((2, 3)), np.ones((1, 1, 1)), [[2, 1]], [-1, -2]).tolist() == out.tolist()


def test_empty_updates() -> None:
    assert sn_scatter(ZEROS, np.zeros((0, 2, 3), int), np.zeros((0, 1), int), [0]).tolist() == ZEROS.tolist()
    assert sn_scatter(ZEROS, np.zeros((2, 0, 3), int), [[0], [1]], [0], "kAdd").tolist() == ZEROS.tolist()
    assert sn_scatter(np.float32(2), np.ones((3,), np.float32), np.zeros((3, 0), int), [], "kAdd") == 5


@pytest.mark.sampled
@pytest.mark.parametrize("rmw_op", COMBINE)
@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_type(name: str, rmw_op: str) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    operand, update = np.ones(3).astype(dtype), np.ones((2, 1)).astype(dtype)
    out = sn_scatter(operand, update, [[2], [0]], [0], rmw_op)
    assert out.dtype == dtype
    one, two = operand[0], (operand + operand)[0]
    assert out.tolist() == [two, one, two] if rmw_op == "kAdd" else (out == one).all()


def test_update_is_converted_to_what_operand_holds() -> None:
    out = sn_scatter(np.zeros(2, np.float32), np.array([[1]], ml_dtypes.bfloat16), [[1]], [0])
    assert out.dtype == np.float32 and out.tolist() == [0, 1]


BROKEN = {
    "S1": ((ZEROS, UPDATE, [[1.0], [0.0]], [0]), "start_indices has elements of f64"),
    "S2": ((ZEROS, UPDATE, [[1, 1], [0, 0]], [0]), "start_indices has shape (2, 2)"),
    "S3": ((ZEROS, UPDATE, [[1], [0]], [2]), "scatter_dims[0] is 2"),
    "S3, repeated": ((ZEROS, UPDATE, [[1, 1], [0, 0]], [0, 0]), "must not repeat"),
    "S4": ((ZEROS, UPDATE[:1], [[1], [0]], [0]), "update has shape (1, 2, 3), but must start with the batch"),
    "S4, rank": ((ZEROS, UPDATE[0], [[1], [0]], [0]), "update has shape (2, 3)"),
    "S5": ((ZEROS, np.zeros((1, 4, 3), int), [[0]], [0]), "dimension 1 of update has size 4, but must be at"),
    "S5, entirety": (
        (ZEROS, UPDATE[:, :, :2], [[1], [0]], [0]),
        "dimension 2 of update has size 2, but must be 3",
    ),
    "S6": ((ZEROS, UPDATE, [[1], [0]], [0], "kSub"), "rmw_op is 'kSub'"),
    "S7": ((ZEROS, UPDATE * 0.5, [[1], [0]], [0]), "update has elements of f64"),
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_constraint(constraint: str) -> None:
    operands, told = BROKEN[constraint]
    with pytest.raises(VerifyError) as error:
        sn_scatter(*operands)
    assert told in error.value.reason
    assert (error.value.operation, error.value.label) == ("sn_scatter", constraint.partition(",")[0])
    assert "test_sn_scatter.py:" in str(error.value.location)


@st.composite
def _cases(draw: Any) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dims = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    batch = draw(st.lists(st.integers(0, 3), max_size=2))
    window = [draw(st.integers(0, size)) if d in dims else size for d, size in enumerate(shape)]
    count = int(np.prod(batch, dtype=int))
    places = draw(st.lists(st.integers(-5, 5), min_size=count * len(dims), max_size=count * len(dims)))
    indices = np.array(places, np.int32).reshape(*batch, len(dims))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(-9, 9, (*batch, *window))
    operand = np.arange(np.prod(shape)).reshape(shape)
    dtype = draw(st.sampled_from([np.int32, np.float32]))
    return operand.astype(dtype), values.astype(dtype), indices, dims, draw(st.sampled_from(list(COMBINE)))


@given(_cases())
def test_any_scatter(case: tuple[Any, ...]) -> None:
    assert same_bits(sn_scatter(*case), scatter(*case))


@pytest.mark.parametrize("rmw_op", COMBINE)
def test_all_execution_modes(rmw_op: str) -> None:
    rng = np.random.default_rng(3)
    operand = rng.standard_normal(50).astype(np.float32)
    update = rng.standard_normal((400, 1)).astype(np.float32)
    update[::50] = np.nan
    places = rng.integers(-3, 53, (400, 1)).astype(np.int32)
    module = patterns.trace(lambda o, u, i: sn_scatter(o, u, i, [0], rmw_op), operand, update, places)
    (result,) = run_every_way(str(module), operand, update, places)
    assert same_bits(result, scatter(operand, update, places, [0], rmw_op))


def test_options_choose_the_order() -> None:
    places, update = [[0], [0]], np.array([[1], [2]])
    assert sn_scatter([0], update, places, [0], options=Options(scatter_schedule="reverse")).tolist() == [1]
    assert sn_scatter([0], update, places, [0]).tolist() == [2]


def test_within_a_lambda() -> None:
    def twice_gathered(attrs: Any, x: Any, places: Any) -> Any:
        rows = sn_gather(x, places, [0], [1])
        return sn_scatter(x, rows + rows, places, [0], "kAdd")

    def program(x: Any, places: Any) -> Any:
        return twice_gathered(None, x, places)

    x, places = np.arange(6.0).reshape(3, 2), np.array([[1]])
    expected = [[0, 1], [6, 9], [4, 5]]
    (result,) = run_every_way(str(patterns.trace(program, x, places)), x, places)
    assert result.tolist() == expected
    assert sn_zipmapreduce(lambda attrs, x: twice_gathered(attrs, x, places), [x]).tolist() == expected


def test_torch_functions_in_three_lines() -> None:
    rng = np.random.default_rng(4)
    input, index = rng.standard_normal((4, 3, 5)), rng.integers(0, 4, (2, 3, 5))
    # torch.gather(input, 0, index)
    _, j, k = np.indices(index.shape)
    places = np.stack([index, j, k], -1)
    gathered = sn_gather(input, places, [0, 1, 2], [1, 1, 1]).reshape(index.shape)
    assert (gathered == np.take_along_axis(input, index, 0)).all()
    # input.scatter(0, index, src)
    index = np.stack([rng.permutation(4)[:2] for _ in range(15)], 1).reshape(2, 3, 5)
    src = rng.standard_normal(index.shape)
    places = np.stack([index, j, k], -1)
    scattered = sn_scatter(input, src[..., None, None, None], places, [0, 1, 2])
    expected = input.copy()
    np.put_along_axis(expected, index, src, 0)
    assert (scattered == expected).all()
    # input.index_add(1, rows, source)
    rows, source = np.array([2, 0, 2]), rng.integers(0, 9, (4, 3, 5)).astype(float)
    added = sn_scatter(input, np.moveaxis(source, 1, 0)[:, :, None], rows[:, None], [1], "kAdd")
    expected = input.copy()
    np.add.at(expected, (slice(None), rows), source)
    assert np.allclose(added, expected, rtol=1e-15)
