"""The section on `sn_gather`: its example, each constraint, places, element types, every way of running."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo import Options, VerifyError, patterns
from nimblehlo.patterns import sn_gather
from nimblehlo.types import ELEMENT_TYPES
from tests.patterns.references import gather
from tests.support.running import run_every_way, same_bits

TABLE = np.arange(1, 10).reshape(3, 3)


def test_example() -> None:
    expected = [[[4, 5, 6], [7, 8, 9]], [[1, 2, 3], [4, 5, 6]]]
    assert sn_gather([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1], [0]], {0}, {2}).tolist() == expected
    assert sn_gather(TABLE, np.array([[1], [0]]), [0], [2]).tolist() == expected


def test_individual_elements() -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    index = np.array([[1, 2, 3], [0, 0, 1]])
    out = sn_gather(table, index, [0, 1, 2], [1, 1, 1])
    assert out.shape == (2, 1, 1, 1)
    for i in range(2):
        assert out[i][0][0][0] == table[index[i][0]][index[i][1]][index[i][2]]


def test_single_dimension_slices() -> None:
    assert sn_gather(TABLE, [[0, 1], [2, 0]], [0, 1], [1, 2]).tolist() == [[[2, 3]], [[7, 8]]]


def test_dimensions_that_are_not_named_are_gathered_in_their_entirety() -> None:
    out = sn_gather(np.arange(24).reshape(2, 3, 4), [[1]], [1], [2])
    assert out.shape == (1, 2, 2, 4)


def test_leading_dimensions_are_the_batches() -> None:
    assert sn_gather(TABLE, [[[0], [1]], [[2], [0]]], [1], [1]).shape == (2, 2, 3, 1)
    assert sn_gather(TABLE, [1], [0], [1]).tolist() == [[4, 5, 6]]


def test_index_vectors_follow_the_order_of_gather_dims() -> None:
    assert sn_gather(TABLE, [[0, 2]], [1, 0], [2, 1]).tolist() == [[[7, 8]]]
    assert sn_gather(TABLE, [[0, 2]], [-1, -2], [2, 1]).tolist() == [[[7, 8]]]


def test_no_gather_dims() -> None:
    assert sn_gather(TABLE, np.zeros((2, 0), np.int32), [], []).tolist() == [TABLE.tolist()] * 2


def test_out_of_bounds_slices_are_clamped() -> None:
    places = [[-1], [2], [100], [-(2**31)], [2**31 - 1]]
    expected = [[1, 2], [2, 3], [2, 3], [1, 2], [2, 3]]
    assert sn_gather([1, 2, 3], places, [0], [2]).tolist() == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_indices_of_every_width(dtype: Any) -> None:
    places = np.array([[np.iinfo(dtype).max], [np.iinfo(dtype).min], [1]], dtype)
    assert (
        sn_gather(TABLE, places, [0], [1]).tolist() == gather(TABLE, places.astype(object), [0], [1]).tolist()
    )


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_type_keeps_its_bits(name: str) -> None:
    element = ELEMENT_TYPES[name]
    table = np.arange(12).reshape(4, 3).astype(element.dtype)
    places = np.array([[3], [0]], np.int32)
    assert same_bits(sn_gather(table, places, [0], [1]), table[[3, 0]][:, None])


def test_payloads_and_signs_are_kept() -> None:
    bits = np.array([0x7FA00001, 0xFFC12345, 0x80000000, 1], np.uint32)
    out = sn_gather(bits.view(np.float32), [[3], [0], [2]], [0], [1])
    assert out.view(np.uint32).ravel().tolist() == [1, 0x7FA00001, 0x80000000]


def test_empty_batches_and_tables() -> None:
    assert sn_gather(TABLE, np.zeros((0, 1), np.int32), [0], [2]).shape == (0, 2, 3)
    assert sn_gather(np.zeros((3, 0)), [[1]], [0], [1]).shape == (1, 1, 0)


BROKEN = {
    "G1": ((TABLE, np.array([[1.0]]), [0], [1]), "start_indices has elements of f64"),
    "G1, booleans": ((TABLE, np.array([[True]]), [0], [1]), "start_indices has elements of i1"),
    "G2": ((TABLE, np.array([[1, 2]]), [0], [1]), "start_indices has shape"),
    "G2, rank 0": ((TABLE, np.array(1), [0], [1]), "start_indices has shape"),
    "G3": ((TABLE, [[0]], [2], [1]), "gather_dims[0] is 2, but must be from -2 to 1"),
    "G3, negative": ((TABLE, [[0]], [-3], [1]), "gather_dims[0] is -3"),
    "G3, repeated": ((TABLE, [[0, 0]], [1, -1], [1, 1]), "must not repeat"),
    "G3, no integers": ((TABLE, [[0]], [0.5], [1]), "must be a list of integers"),
    "G3, a set": ((TABLE, [[0, 0]], {0, 1}, [1, 1]), "has no order"),
    "G4": ((TABLE, [[0]], [0], [1, 1]), "gather_lengths has 2 elements, but gather_dims has 1"),
    "G5": ((TABLE, [[0]], [0], [4]), "gather_lengths[0] is 4, but must be from 1 to 3"),
    "G5, zero": ((TABLE, [[0]], [0], [0]), "gather_lengths[0] is 0, but must be from 1 to 3"),
    "": ((np.array(["a"]), [[0]], [0], [1]), "input_tensor has elements of <U1"),
    ", object": ((object(), [[0]], [0], [1]), "input_tensor has the type object, which is not an array"),
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_constraint(constraint: str) -> None:
    operands, told = BROKEN[constraint]
    label = constraint.partition(",")[0]
    with pytest.raises(VerifyError) as error:
        sn_gather(*operands)
    assert told in error.value.reason
    assert (error.value.operation, error.value.label) == ("sn_gather", label or None)
    assert "test_sn_gather.py:" in str(error.value.location)


@st.composite
def _cases(draw: Any) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dims = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    lengths = [draw(st.integers(1, shape[d])) for d in dims]
    batch = draw(st.lists(st.integers(0, 3), max_size=2))
    size = int(np.prod(batch, dtype=int)) * len(dims)
    places = draw(st.lists(st.integers(-6, 6), min_size=size, max_size=size))
    indices = np.array(places, draw(st.sampled_from([np.int8, np.int32, np.int64]))).reshape(
        *batch, len(dims)
    )
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape), indices, dims, lengths


@given(_cases())
def test_any_gather(case: tuple[Any, ...]) -> None:
    assert same_bits(sn_gather(*case), gather(*case))


def test_all_execution_modes() -> None:
    table = np.random.default_rng(1).standard_normal((40, 30)).astype(np.float32)
    places = np.random.default_rng(2).integers(-5, 45, (500, 2)).astype(np.int32)
    module = patterns.trace(lambda t, i: sn_gather(t, i, [1, 0], [3, 2]), table, places)
    (result,) = run_every_way(str(module), table, places)
    assert same_bits(result, gather(table, places, [1, 0], [3, 2]))
    assert same_bits(result, sn_gather(table, places, [1, 0], [3, 2], options=Options(compile="eager")))


def test_program() -> None:
    module = patterns.trace(lambda t, i: sn_gather(t, i, [0], [2]), ((3, 3), np.int64), ((2, 1), "int32"))
    assert str(module.functions["main"].type) == "(tensor<3x3xi64>, tensor<2x1xi32>) -> tensor<2x2x3xi64>"
    assert str(nimblehlo.load(str(module))) == str(module)
