"""gather's kernels against the specification, an element at a time."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.indexing import gather
from tests.kernels.indexing.index_cases import Geometry, gathered, geometries, random_indices, same_bits

INDEX_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ROWS = Geometry((50, 8), (40, 1), (40, 8), (1,), (0,), (), (), (0,), 1, (1, 8))
ITEMS = Geometry((7, 9), (2, 40), (40,), (), (0, 1), (), (), (1, 0), 0, (1, 1))
COLUMNS = Geometry((6, 9), (30,), (6, 30), (0,), (1,), (), (), (1,), 1, (6, 1))


PREFIX = Geometry((1, 1, 3), (5, 2), (5, 2), (1,), (0, 1), (), (), (0, 1), 1, (1, 1, 2))


def prepared(geometry, operand, indices, threads=None):
    return gather.prepare(
        geometry.operand_shape, geometry.indices_shape, operand.itemsize, indices.dtype,
        **geometry.gather_attributes(), threads=threads,
    )  # fmt: skip


def check(geometry, operand, indices, threads=None):
    before = operand.copy(), indices.copy()
    result = prepared(geometry, operand, indices, threads)(operand, indices)
    assert same_bits(result, gathered(operand, indices, geometry))
    assert same_bits(operand, before[0]) and (indices == before[1]).all()
    assert result.flags.c_contiguous and result.flags.writeable


@settings(max_examples=300)
@given(geometries(), st.sampled_from(["int32", "int64"]), st.integers(0, 2**32))
def test_any_dimension_numbers(geometry, index_type, seed):
    rng = np.random.default_rng(seed)
    operand = rng.integers(-99, 99, geometry.operand_shape).astype(np.int32)
    check(geometry, operand, random_indices(rng, geometry.indices_shape, index_type))


def test_slices_of_an_operand_that_has_no_whole_number_of_them():
    rng = np.random.default_rng(3)
    check(PREFIX, np.arange(3, dtype=np.int32).reshape(1, 1, 3), random_indices(rng, (5, 2), np.int32))


@pytest.mark.parametrize("geometry", [ROWS, ITEMS, COLUMNS], ids=["rows", "items", "columns"])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16, "float32", "float64", "complex128"]
)
def test_element_types(geometry, dtype):
    rng = np.random.default_rng(1)
    operand = rng.integers(0, 2, geometry.operand_shape).astype(dtype)
    check(geometry, operand, random_indices(rng, geometry.indices_shape, np.int32))


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_index_types(index_type):
    rng = np.random.default_rng(2)
    operand = rng.random(ITEMS.operand_shape, np.float32)
    check(ITEMS, operand, random_indices(rng, ITEMS.indices_shape, index_type))


def test_other_index_types_are_converted():
    rng = np.random.default_rng(2)
    indices = rng.integers(0, 7, ITEMS.indices_shape).astype(ml_dtypes.int4)
    operand = rng.random(ITEMS.operand_shape, np.float32)
    result = prepared(ITEMS, operand, indices)(operand, indices)
    assert same_bits(result, gathered(operand, indices.astype(np.int32), ITEMS))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 11, 16, 31, 33, 63, 64, 65, 127, 129, 200])
def test_runs_of_any_length(length):
    rng = np.random.default_rng(length)
    geometry = Geometry((300,), (20, 1), (20, length), (1,), (), (), (), (0,), 1, (length,))
    operand = rng.integers(0, 256, 300).astype(np.uint8)
    indices = rng.integers(-5, 310, (20, 1))
    check(geometry, operand, indices)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_large_gathers_by_any_number_of_threads(threads):
    rng = np.random.default_rng(3)
    operand = rng.random((500, 301), np.float32)
    rows, columns = rng.integers(-10, 600, (4000, 1)), rng.integers(-10, 400, (2000, 1))
    by_row = Geometry((500, 301), (4000, 1), (4000, 301), (1,), (0,), (), (), (0,), 1, (1, 301))
    by_column = Geometry((500, 301), (2000, 1), (500, 2000), (0,), (1,), (), (), (1,), 1, (500, 1))
    result = prepared(by_row, operand, rows, threads)(operand, rows)
    assert same_bits(result, operand[rows[:, 0].clip(0, 499)])
    result = prepared(by_column, operand, columns, threads)(operand, columns)
    assert same_bits(result, np.ascontiguousarray(operand[:, columns[:, 0].clip(0, 300)]))


def test_one_large_slice():
    operand = np.arange(3000 * 1000, dtype=np.float32).reshape(3000, 1000)
    whole = Geometry((3000, 1000), (2,), (2500, 1000), (0, 1), (), (), (), (0, 1), 0, (2500, 1000))
    starts = np.array([123, 7])
    assert same_bits(prepared(whole, operand, starts)(operand, starts), operand[123:2623])
    part = Geometry((3000, 1000), (2,), (2500, 999), (0, 1), (), (), (), (0, 1), 0, (2500, 999))
    result = prepared(part, operand, starts)(operand, starts)
    assert same_bits(result, np.ascontiguousarray(operand[123:2623, 1:]))


def test_inputs_that_are_not_contiguous_or_read_only():
    rng = np.random.default_rng(4)
    operand = rng.random((8, 50), np.float32).T
    indices = rng.integers(0, 50, (40, 2))[:, ::2]
    indices.flags.writeable = False
    check(ROWS, operand, indices)


def test_what_was_not_prepared_for_is_refused():
    operand, indices = np.zeros((50, 8), np.float32), np.zeros((40, 1), np.int32)
    gather_rows = prepared(ROWS, operand, indices)
    with pytest.raises(ValueError, match="operand has shape"):
        gather_rows(np.zeros((49, 8), np.float32), indices)
    with pytest.raises(ValueError, match="items of 8 bytes"):
        gather_rows(operand.astype(np.float64), indices)
    with pytest.raises(ValueError, match="start_indices has shape"):
        gather_rows(operand, indices.astype(np.int64))
    with pytest.raises(ValueError, match="item_size is 3"):
        gather.prepare((50, 8), (40, 1), 3, np.int32, **ROWS.gather_attributes())
    with pytest.raises(ValueError, match="do not fit"):
        gather.prepare((50, 7), (40, 1), 4, np.int32, **ROWS.gather_attributes())
    with pytest.raises(ValueError, match="no element to copy"):
        gather.prepare((50, 8), (40, 1), 4, np.int32, **{**ROWS.gather_attributes(), "slice_sizes": (0, 8)})


def test_preparing_loads_no_compiler():
    code = (
        "import sys; from nimblehlo.kernels.indexing import gather, scatter\n"
        "gather.prepare((9,), (5, 1), 4, 'int32', offset_dims=(), collapsed_slice_dims=(0,), "
        "operand_batching_dims=(), start_indices_batching_dims=(), start_index_map=(0,), index_vector_dim=1, "
        "slice_sizes=(1,))\n"
        "scatter.prepare((9,), (5, 1), (5,), ['float32'], 'int32', 'add', update_window_dims=(), "
        "inserted_window_dims=(0,), input_batching_dims=(), scatter_indices_batching_dims=(), "
        "scatter_dims_to_operand_dims=(0,), index_vector_dim=1)\n"
        "print(*{'numba', 'llvmlite'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


SLICES = {
    "items": Geometry((7, 9), (40, 2), (40,), (), (0, 1), (), (), (0, 1), 1, (1, 1)),
    "runs": Geometry((7, 9), (40, 1), (40, 9), (1,), (0,), (), (), (0,), 1, (1, 9)),
    "scattered": Geometry((7, 9), (40, 1), (7, 40), (0,), (1,), (), (), (1,), 1, (7, 1)),
    "windows": Geometry((7, 9), (40, 2), (40, 3, 4), (1, 2), (), (), (), (0, 1), 1, (3, 4)),
}


LAYOUTS = {
    "contiguous": lambda values: values.copy(),
    "sliced": lambda values: np.repeat(values, 2, axis=0)[::2],
    "reversed": lambda values: values[::-1].copy()[::-1],
    "one everywhere": lambda values: np.broadcast_to(values[:1], values.shape),
    "by components": np.asfortranarray,
    "unaligned": lambda values: (
        np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(values.dtype).reshape(values.shape)
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", SLICES)
def test_layouts_of_indices(kind, layout):
    rng = np.random.default_rng(7)
    operand = rng.integers(-99, 99, (7, 9)).astype(np.int16)
    indices = rng.integers(-16, 16, SLICES[kind].indices_shape).astype(np.int32)
    check(SLICES[kind], operand, LAYOUTS[layout](indices))


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_extremes_of_each_index_type(index_type):
    operand = np.arange(63, dtype=np.float32).reshape(7, 9)
    extremes = [0, 6, 7, np.iinfo(index_type).max, np.iinfo(index_type).min, 3]
    geometry = Geometry((7, 9), (6, 1), (6, 9), (1,), (0,), (), (), (0,), 1, (1, 9))
    check(geometry, operand, np.array(extremes, index_type).reshape(6, 1))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_elements_of_batches_by_any_number_of_threads(threads):
    rng = np.random.default_rng(9)
    operand = rng.random((1000, 300), np.float32)
    index = rng.integers(-1200, 1200, (1000, 300)).astype(np.int32)
    geometry = Geometry((1000, 300), (1000, 300), (1000, 300), (), (0,), (1,), (1,), (0,), 2, (1, 1))
    result = prepared(geometry, operand, index, threads)(operand, index)
    assert same_bits(result, np.take_along_axis(operand, index.clip(0, 999), 0))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("index_type", ["int8", "int32", "int64"])
def test_elements_along_an_axis(axis, is_transposed, index_type):
    rng = np.random.default_rng(5)
    operand = rng.random((40, 37), np.float32)
    indices = rng.integers(-60, 60, (40, 37)).astype(index_type)
    indices[:2, 3] = np.iinfo(index_type).min, np.iinfo(index_type).max
    if is_transposed:
        indices = np.asfortranarray(indices)
    other = 1 - axis
    geometry = Geometry((40, 37), (40, 37), (40, 37), (), (axis,), (other,), (other,), (axis,), 2, (1, 1))
    result = prepared(geometry, operand, indices)(operand, indices)
    clamped = np.clip(indices.astype(np.int64), 0, operand.shape[axis] - 1)
    assert same_bits(result, np.take_along_axis(operand, clamped, axis))
