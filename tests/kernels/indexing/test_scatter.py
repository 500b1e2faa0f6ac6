"""scatter's kernels against the specification, an element at a time and bit by bit."""

import contextlib
import functools
from unittest import mock

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nimblehlo.kernels.indexing import scatter, scatter_strategies
from tests.kernels.indexing.index_cases import Geometry, geometries, random_indices, same_bits, scattered

ROWS = Geometry((9, 5), (40, 1), (40, 5), (1,), (0,), (), (), (0,), 1, (1, 5))
ITEMS = Geometry((7, 9), (2, 40), (40,), (), (0, 1), (), (), (1, 0), 0, (1, 1))
WINDOWS = Geometry((12, 11), (30, 2), (30, 4, 3), (1, 2), (), (), (), (0, 1), 1, (4, 3))
FLOATS = [ml_dtypes.bfloat16, "float16", "float32", "float64"]
INTEGERS = ["int8", "uint16", "int32", "uint64"]


def extremum(a, b, is_larger):
    """IEEE 754-2019's maximum or minimum of two numbers of one type."""
    if a.dtype.kind == "c":
        first, second = ((v.real, v.imag) for v in (a, b))
        return a if (first > second if is_larger else first < second) else b
    if a != a or b != b:
        return a if a != a else b
    if a == b:
        return a if bool(np.signbit(np.float64(a))) != is_larger else b
    return a if (a > b) == is_larger else b


COMBINE = {
    "overwrite": lambda a, b: b,
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "maximum": lambda a, b: extremum(a, b, True),
    "minimum": lambda a, b: extremum(a, b, False),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def prepared(
    geometry, dtypes, index_type, combiner, *, indices_are_sorted=False, unique_indices=False, **options
):
    shapes = geometry.operand_shape, geometry.indices_shape, geometry.slices_shape
    numbers = scatter.DimensionNumbers(**geometry.scatter_attributes())
    promises = scatter.Promises(indices_are_sorted, unique_indices)
    return scatter.prepare(*shapes, dtypes, index_type, combiner, numbers, promises=promises, **options)


def random_values(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 120, shape).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 1.0])
    values = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), rng.normal(0, 50, shape))
    if dtype.kind == "c":
        return (values + 1j * rng.normal(0, 50, shape)).astype(dtype)
    return values.astype(dtype)


def check(geometry, values, indices, updates, combiner, schedule=None, **options):
    before = values.copy()
    scatter_values = prepared(geometry, [values.dtype], indices.dtype, combiner, schedule=schedule, **options)
    (result,) = scatter_values([values], [indices], [updates])
    with np.errstate(all="ignore"):
        expected = scattered(values, indices, updates, geometry, COMBINE[combiner], schedule)
    assert same_bits(result, expected)
    assert same_bits(values, before)


MAX_COMPONENTS = 2
"""Components of the index vectors of random scatters whose loops other tests run on more of them: each number
of components is a kernel of its own. Campaigns have any number."""


def chosen_index_type(index_type, is_campaign):
    """The type of random indices: outside of campaigns int32 stands for all signed ones, since each type is a
    kernel of its own for each number of components, and `test_index_types` has all types."""
    return index_type if is_campaign or index_type.startswith("u") else "int32"


@settings(max_examples=100)
@given(geometries(), st.sampled_from(["int32", "int64"]), st.booleans(), st.integers(0, 2**32))
def test_any_dimension_numbers(is_campaign, geometry, index_type, is_scheduled, seed):
    index_type = chosen_index_type(index_type, is_campaign)
    rng = np.random.default_rng(seed)
    values = random_values(rng, geometry.operand_shape, np.float32)
    updates = rng.normal(0, 9, geometry.slices_shape).astype(np.float32)
    schedule = rng.permutation(updates.size) if is_scheduled else None
    check(geometry, values, random_indices(rng, geometry.indices_shape, index_type), updates, "add", schedule)


@pytest.fixture(autouse=True)
def several_threads_do_little(monkeypatch):
    """Threads share scatters that take less time than to wake them."""
    monkeypatch.setattr(scatter_strategies, "_SERIAL_BYTES", 1 << 19)
    monkeypatch.setattr(scatter_strategies, "_MIN_GROUPED_BYTES", 0)


@contextlib.contextmanager
def all_are_partitioned(*, reduces_rows=True):
    """Tasks share small scatters too; all rows are reduced, or none."""
    grouped_bytes = 0 if reduces_rows else 1 << 60
    sizes = {"_SERIAL_BYTES": -1, "_MIN_ROW_BYTES": 0, "_MIN_GROUPED_BYTES": grouped_bytes}
    with mock.patch.multiple(scatter_strategies, **sizes, NONTEMPORAL_BYTES=0):
        yield


@settings(max_examples=100)
@given(geometries(), st.sampled_from(["int32", "int64"]), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_any_dimension_numbers_by_partitions(
    is_campaign, geometry, index_type, is_scheduled, reduces_rows, seed
):
    index_type = chosen_index_type(index_type, is_campaign)
    rng = np.random.default_rng(seed)
    values = random_values(rng, geometry.operand_shape, np.float32)
    updates = rng.normal(0, 9, geometry.slices_shape).astype(np.float32)
    schedule = rng.permutation(updates.size) if is_scheduled else None
    indices = random_indices(rng, geometry.indices_shape, index_type)
    with all_are_partitioned(reduces_rows=reduces_rows):
        check(geometry, values, indices, updates, "add", schedule)


@settings(max_examples=100)
@given(
    geometries().filter(lambda geometry: geometry.start_index_map),
    st.sampled_from(["int8", "int32", "int64", "uint16"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_columns_of_indices_that_count_from_the_end(is_campaign, geometry, index_type, with_owners, seed):
    assume(is_campaign or len(geometry.start_index_map) <= MAX_COMPONENTS)
    index_type = chosen_index_type(index_type, is_campaign)
    rng = np.random.default_rng(seed)
    values = random_values(rng, geometry.operand_shape, np.float32)
    updates = rng.normal(0, 9, geometry.slices_shape).astype(np.float32)
    indices = random_indices(rng, geometry.indices_shape, index_type)
    along = geometry.index_vector_dim
    vectors = np.moveaxis(indices if along < indices.ndim else indices[..., None], along, -1)
    scattered_dims = geometry.start_index_map
    added = [int(rng.choice([0, geometry.operand_shape[d]])) for d in scattered_dims]
    batching = [d - (d > along) for d in geometry.start_indices_batching_dims]
    attributes = {**geometry.scatter_attributes(), "scatter_indices_batching_dims": batching}
    attributes["index_vector_dim"] = vectors.ndim - 1
    shapes = geometry.operand_shape, vectors.shape[:-1], geometry.slices_shape
    with all_are_partitioned(reduces_rows=False) if with_owners else contextlib.nullcontext():
        scatter_values = scatter.prepare(
            *shapes, [np.float32], index_type, "add", scatter.DimensionNumbers(**attributes),
            added_to_negative=added,
        )  # fmt: skip
        (result,) = scatter_values([values], list(np.moveaxis(vectors, -1, 0)), [updates])
    wrapped = vectors.astype(np.int64)
    wrapped = np.where(wrapped < 0, wrapped + np.array(added, np.int64), wrapped)
    wrapped = np.moveaxis(wrapped, -1, along).reshape(indices.shape)
    assert same_bits(result, scattered(values, wrapped, updates, geometry, COMBINE["add"]))


COMBINED_TYPES = [
    ("float64", "minimum"), (ml_dtypes.bfloat16, "multiply"), ("complex64", "add"), ("int8", "maximum"),
    ("uint16", "overwrite"),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "combiner", "width"),
    [
        *[("float32", "add", width) for width in (1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 100)],
        *[(*types, width) for types in COMBINED_TYPES for width in (1, 3, 17, 64)],
    ],
)
def test_rows_of_any_width(dtype, combiner, width):
    rng = np.random.default_rng(13)
    rows = Geometry((9, width), (60, 1), (60, width), (1,), (0,), (), (), (0,), 1, ())
    values = random_values(rng, rows.operand_shape, dtype)
    updates = random_values(rng, rows.slices_shape, dtype)
    indices = rng.integers(-2, 11, rows.indices_shape).astype(np.int32)
    check(rows, values, indices, updates, combiner)
    for reduces_rows in (False, True):
        with all_are_partitioned(reduces_rows=reduces_rows):
            check(rows, values, indices, updates, combiner)


def aligned(values):
    """A copy that begins where a cache line does."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("combiner", ["add", "overwrite"])
@pytest.mark.parametrize("dtype", ["float32", "complex128", ml_dtypes.bfloat16, "int8"])
def test_rows_that_are_written_past_the_caches(dtype, combiner, threads):
    rng = np.random.default_rng(15)
    row = 5 * 64 // np.dtype(dtype).itemsize
    rows = Geometry((130, row), (300, 1), (300, row), (1,), (0,), (), (), (0,), 1, ())
    values, updates = (random_values(rng, shape, dtype) for shape in (rows.operand_shape, rows.slices_shape))
    indices = rng.integers(-2, 133, rows.indices_shape).astype(np.int32)
    with np.errstate(all="ignore"):
        expected = scattered(values, indices, updates, rows, COMBINE[combiner])
    with all_are_partitioned():
        scatter_values = prepared(rows, [dtype], np.int32, combiner, threads=threads)
        for first in (0, 1):
            out = aligned(np.zeros(values.size + first, dtype))[first:]
            scatter_values([values], [indices], [updates], out=[out.reshape(values.shape)])
            assert same_bits(out.reshape(values.shape), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("window", [(3, 4), (3, 1), (1, 4), (61, 1), (1, 1)])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_many_windows_that_slide_in_two_dimensions(threads, window):
    count = 30_000 // window[0]
    geometry = Geometry((61, 50, 3), (count, 2), (count, *window, 3), (1, 2, 3), (), (), (), (0, 1), 1, ())
    rng = np.random.default_rng(17)
    values, updates = rng.random((61, 50, 3), np.float32), rng.random(geometry.slices_shape, np.float32)
    starts = rng.integers(-5, 62, (count, 2), np.int32)
    starts[:2] = [[-(2**31), 0], [2**31 - 1, 2**31 - 1]]
    places = starts[:, None, None].astype(np.int64) + np.indices(window).transpose(1, 2, 0)
    kept = ((places >= 0) & (places < (61, 50))).all(-1)
    scatter_values = prepared(geometry, [np.float32], np.int32, "add", threads=threads)
    for added in (updates, np.broadcast_to(np.float32(0.3), updates.shape)):
        expected = values.copy()
        np.add.at(expected, tuple(places[kept].T), added[kept])
        assert same_bits(scatter_values([values], [starts], [added])[0], expected)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_large_batches(threads, in_place):
    shapes = (7, 500, 33), (7, 900, 1), (7, 900, 33)
    geometry = Geometry(*shapes, (2,), (1,), (0,), (0,), (1,), 2, ())
    rng = np.random.default_rng(16)
    values, updates = rng.random(shapes[0], np.float32), rng.random(shapes[2], np.float32)
    indices = rng.integers(-20, 520, shapes[1], np.int32)
    expected = values.copy()
    for batch, (starts, added) in enumerate(zip(indices[..., 0], updates, strict=True)):
        kept = (starts >= 0) & (starts < 500)
        np.add.at(expected[batch], starts[kept], added[kept])
    scatter_values = prepared(geometry, [np.float32], np.int32, "add", threads=threads)
    (result,) = scatter_values([values], [indices], [updates], in_place=in_place)
    assert same_bits(result, expected)


PARTS = Geometry((9, 8), (60, 1), (60, 5), (1,), (0,), (), (), (0,), 1, ())
BATCHES = Geometry((3, 9, 4), (3, 20, 1), (3, 20, 4), (2,), (1,), (0,), (0,), (1,), 2, ())


@pytest.mark.parametrize(("width", "partitions"), [(1, 8), (16, 8), (48, 24), (256, 32)])
def test_long_slices_have_a_partition_for_each_of_many_threads(width, partitions, monkeypatch):
    monkeypatch.setattr(scatter_strategies._threads, "chosen_threads", lambda threads: 32)
    geometry = Geometry((900, width), (400, 1), (400, width), (1,), (0,), (), (), (0,), 1, (1, width))
    (strategy,) = prepared(geometry, [np.float32], np.int32, "add")._strategies
    assert strategy._partitions(None) == partitions
    rng = np.random.default_rng(3)
    indices = random_indices(rng, geometry.indices_shape, np.int32)
    with all_are_partitioned():
        check(
            geometry,
            random_values(rng, geometry.operand_shape, np.float32),
            indices,
            random_values(rng, geometry.slices_shape, np.float32),
            "add",
        )


@pytest.mark.sampled(("geometry", "is_unique"), ("geometry", "reduces_rows"))
@pytest.mark.parametrize("reduces_rows", [False, True])
@pytest.mark.parametrize("is_unique", [False, True])
@pytest.mark.parametrize("geometry", [ITEMS, ROWS, PARTS, BATCHES], ids=["items", "rows", "parts", "batches"])
def test_partitions_initialize_the_result(geometry, is_unique, reduces_rows):
    rng = np.random.default_rng(14)
    shape = geometry.operand_shape
    updates = random_values(rng, geometry.slices_shape, np.float32)
    indices = random_indices(rng, geometry.indices_shape, np.int32)
    if is_unique:
        indices = np.full(geometry.indices_shape, 100, np.int32)
        indices.reshape(-1)[: 2 if geometry is ITEMS else 1] = 0
    with all_are_partitioned(reduces_rows=reduces_rows):
        for values in (
            random_values(rng, shape, np.float32),
            np.broadcast_to(np.float32(-0.0), shape),
            np.asfortranarray(random_values(rng, shape, np.float32)),
            np.broadcast_to(np.arange(shape[-1], dtype=np.float32), shape),
        ):
            check(geometry, values, indices, updates, "add", unique_indices=is_unique)
            place = values.copy()
            scatter_values = prepared(geometry, [np.float32], np.int32, "add", unique_indices=is_unique)
            (result,) = scatter_values([place], [indices], [updates], in_place=True)
            assert result is place
            with np.errstate(all="ignore"):
                assert same_bits(result, scattered(values, indices, updates, geometry, COMBINE["add"]))


def test_few_updates_of_a_large_result():
    geometry = Geometry((200_000,), (2, 1), (2,), (), (0,), (), (), (0,), 1, ())
    values, indices = np.broadcast_to(np.float32(3), (200_000,)), np.array([[199_999], [0]], np.int32)
    scatter_values = prepared(geometry, [np.float32], np.int32, "add")
    (result,) = scatter_values([values], [indices], [np.array([1, 2], np.float32)])
    assert (result[0], result[-1]) == (5, 4) and (result[1:-1] == 3).all()


@settings(max_examples=100)
@given(geometries(least_size=1), st.integers(0, 2**32))
def test_the_last_update_stays(is_campaign, geometry, seed):
    assume(is_campaign or len(geometry.start_index_map) <= MAX_COMPONENTS)
    rng = np.random.default_rng(seed)
    values = np.full(geometry.operand_shape, -1, np.int32)
    updates = np.arange(int(np.prod(geometry.slices_shape)), dtype=np.int32).reshape(geometry.slices_shape)
    check(geometry, values, rng.integers(-1, 3, geometry.indices_shape), updates, "overwrite")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "combiner"),
    [(dtype, combiner) for dtype in FLOATS for combiner in ("add", "multiply", "maximum", "minimum")]
    + [(dtype, combiner) for dtype in INTEGERS for combiner in COMBINE if combiner != "overwrite"]
    + [("complex64", combiner) for combiner in ("add", "multiply", "maximum")]
    + [(dtype, "overwrite") for dtype in ("bool", ml_dtypes.float8_e5m2, "float16", "float32", "complex128")],
)
def test_combiners_of_elements(dtype, combiner):
    check_elements(dtype, combiner)


@pytest.mark.parametrize("combiner", [combiner for combiner in COMBINE if combiner != "overwrite"])
def test_combiners_of_booleans(combiner):
    """Each is another operation on bits."""
    check_elements("bool", combiner)


def check_elements(dtype, combiner):
    rng = np.random.default_rng(1)
    values = random_values(rng, ITEMS.operand_shape, dtype)
    updates = random_values(rng, ITEMS.slices_shape, dtype)
    check(ITEMS, values, random_indices(rng, ITEMS.indices_shape, np.int32), updates, combiner)


@pytest.mark.sampled
@pytest.mark.parametrize("geometry", [ROWS, WINDOWS], ids=["rows", "windows"])
@pytest.mark.parametrize(
    ("dtype", "combiner"),
    [("float32", "add"), ("float32", "maximum"), (ml_dtypes.bfloat16, "add"), ("uint8", "overwrite")],
)
def test_combiners_of_runs(geometry, dtype, combiner):
    rng = np.random.default_rng(2)
    values = random_values(rng, geometry.operand_shape, dtype)
    updates = random_values(rng, geometry.slices_shape, dtype)
    check(geometry, values, rng.integers(-4, 13, geometry.indices_shape).astype(np.int32), updates, combiner)


@pytest.mark.parametrize(
    "index_type", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_index_types(index_type):
    rng = np.random.default_rng(3)
    values, updates = rng.random(WINDOWS.operand_shape), rng.random(WINDOWS.slices_shape)
    check(WINDOWS, values, random_indices(rng, WINDOWS.indices_shape, index_type), updates, "add")


LARGE = {
    "items": ((30_000,), (70_000, 1), (70_000,), (), (0,), 0.5),
    "items in one place": ((30_000,), (70_000, 1), (70_000,), (), (0,), 0.0),
    "items beyond the first caches": ((200_000,), (150_000, 1), (150_000,), (), (0,), 0.5),
    "rows": ((500, 33), (6000, 1), (6000, 33), (1,), (0,), 0.5),
    "short rows": ((9000, 5), (50_000, 1), (50_000, 5), (1,), (0,), 0.5),
    "rows in one place": ((500, 33), (6000, 1), (6000, 33), (1,), (0,), 0.0),
    "rows beyond the caches": ((9000, 128), (6000, 1), (6000, 128), (1,), (0,), 0.5),
    "columns": ((33, 500), (6000, 1), (33, 6000), (0,), (1,), 0.5),
    "windows": ((700, 20), (6000, 1), (6000, 9, 20), (1, 2), (), 0.5),
}


def large_case(name):
    """A scatter that is divided among threads, and its result by NumPy, which adds in the same order."""
    operand_shape, indices_shape, updates_shape, update_window_dims, inserted, spread = LARGE[name]
    rng = np.random.default_rng(5)
    dim = inserted[0] if inserted else 0
    values = rng.random(operand_shape, np.float32)
    starts = (rng.random(indices_shape) * spread * operand_shape[dim] * 2.1).astype(np.int32) - 3
    updates = rng.random(updates_shape, np.float32)
    geometry = Geometry(
        operand_shape, indices_shape, updates_shape, update_window_dims, inserted, (), (), (dim,), 1, ()
    )
    expected = values.copy()
    if name == "windows":
        places = starts + np.arange(9)
        kept = (places >= 0) & (places < operand_shape[0])
        np.add.at(expected, places[kept], updates[kept])
    else:
        kept = (starts[:, 0] >= 0) & (starts[:, 0] < operand_shape[dim])
        whole = (slice(None),) * dim
        np.add.at(expected, (*whole, starts[kept, 0]), updates[(*whole, kept)])
    return geometry, values, starts, updates, expected


def test_large_scatters_by_all_threads():
    for name in LARGE:
        geometry, values, starts, updates, expected = large_case(name)
        scatter_values = prepared(geometry, [np.float32], np.int32, "add")
        assert same_bits(scatter_values([values], [starts], [updates])[0], expected)


SORTED = {
    "items": Geometry((300,), (5000, 1), (5000,), (), (0,), (), (), (0,), 1, ()),
    "short rows": Geometry((300, 3), (2000, 1), (2000, 3), (1,), (0,), (), (), (0,), 1, ()),
    "rows": Geometry((300, 40), (900, 1), (900, 40), (1,), (0,), (), (), (0,), 1, ()),
    "columns": Geometry((30, 50), (900, 1), (900, 30), (1,), (1,), (), (), (1,), 1, ()),
    "components": Geometry((20, 15), (5000, 2), (5000,), (), (0, 1), (), (), (0, 1), 1, ()),
    "windows": Geometry((300,), (900, 1), (900, 9), (1,), (), (), (), (0,), 1, ()),
    "batches": Geometry((9, 30), (9, 900, 1), (9, 900), (), (1,), (0,), (0,), (1,), 2, ()),
}


@pytest.mark.sampled(("name", "is_far"))
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("index_type", ["int16", "int64", "uint64"])
@pytest.mark.parametrize("name", SORTED)
def test_sorted_indices(name, index_type, is_far, threads, monkeypatch):
    monkeypatch.setattr(scatter_strategies, "_MIN_GROUPED_BYTES", 0 if is_far else 1 << 60)
    monkeypatch.setattr(scatter_strategies, "_SERIAL_BYTES", -1)
    geometry, rng = SORTED[name], np.random.default_rng(3)
    bounds = [geometry.operand_shape[dim] for dim in geometry.start_index_map]
    indices = rng.integers(-2, max(bounds) + 3, geometry.indices_shape).astype(index_type)
    order = np.lexsort(np.moveaxis(indices, -1, 0)[::-1], axis=-1)
    indices = np.take_along_axis(indices, order[..., None], -2)
    values = random_values(rng, geometry.operand_shape, np.float32)
    updates = random_values(rng, geometry.slices_shape, np.float32)
    for added in (None, [int(bounds[0])] + [0] * (len(bounds) - 1)):
        given = {"added_to_negative": added, "threads": threads}
        plain = prepared(geometry, [np.float32], index_type, "add", **given)
        relying = prepared(geometry, [np.float32], index_type, "add", indices_are_sorted=True, **given)
        if added and index_type != "uint64":
            # What is promised are the indices as they are used.
            first = indices[..., 0].astype(np.int64)
            used = np.where(first < 0, first + added[0], first)
            order = np.argsort(used, axis=-1, kind="stable")
            indices = np.take_along_axis(indices, order[..., None], -2)
        (result,), (expected,) = (one([values], [indices], [updates]) for one in (relying, plain))
        assert same_bits(result, expected)
        (result,) = relying([values.copy()], [indices], [updates], out=[np.empty_like(values)])
        assert same_bits(result, expected)


@pytest.mark.parametrize("name", ["items", "short rows", "rows"])
def test_indices_that_are_not_sorted_as_promised(name, monkeypatch):
    monkeypatch.setattr(scatter_strategies, "_SERIAL_BYTES", -1)
    geometry, rng = SORTED[name], np.random.default_rng(4)
    rows = geometry.operand_shape[0]
    # Each update adds one to even rows: odd ones keep their values, and none gets more than its updates.
    indices = rng.integers(-5, rows // 2 + 5, geometry.indices_shape).astype(np.int32) * 2
    values, updates = np.zeros(geometry.operand_shape, np.float32), np.ones(geometry.slices_shape, np.float32)
    plain = prepared(geometry, [np.float32], np.int32, "add")
    relying = prepared(geometry, [np.float32], np.int32, "add", indices_are_sorted=True)
    (most,) = plain([values], [indices], [updates])
    for _ in range(3):
        (result,) = relying([values], [indices], [updates])
        assert (result >= 0).all() and (result <= most).all()


@pytest.mark.sampled(("name", "is_near"))
@pytest.mark.parametrize("is_near", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("name", LARGE)
def test_large_scatters_by_any_number_of_threads(name, threads, is_near, monkeypatch):
    monkeypatch.setattr(scatter_strategies, "_MIN_GROUPED_BYTES", 1 << 60 if is_near else 0)
    geometry, values, starts, updates, expected = large_case(name)
    scatter_values = prepared(geometry, [np.float32], np.int32, "add", threads=threads)
    (result,) = scatter_values([values], [starts], [updates])
    assert same_bits(result, expected)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_slices_of_several_runs_in_a_small_input(threads):
    geometry = Geometry((2, 10, 3), (20_000, 1), (20_000, 2, 3), (1, 2), (1,), (), (), (1,), 1, ())
    rng = np.random.default_rng(8)
    values = np.zeros(geometry.operand_shape, np.float32)
    indices = rng.integers(0, 10, geometry.indices_shape).astype(np.int32)
    updates = rng.integers(0, 5, geometry.slices_shape).astype(np.float32)
    expected = np.zeros((10, 2, 3), np.float32)
    np.add.at(expected, indices[:, 0], updates)
    scatter_values = prepared(geometry, [np.float32], np.int32, "add", threads=threads)
    (result,) = scatter_values([values], [indices], [updates])
    assert same_bits(result, expected.transpose(1, 0, 2))


@pytest.mark.sampled
@pytest.mark.parametrize("places", [1, 5, 100])
@pytest.mark.parametrize("combiner", ["overwrite", "add", "minimum", "maximum"])
@pytest.mark.parametrize("dtype", ["float32", "float64", ml_dtypes.bfloat16, "float16"])
def test_large_scatters_of_floats_to_few_destinations(dtype, combiner, places):
    rng = np.random.default_rng(19)
    geometry = Geometry((places,), (25_000, 1), (25_000,), (), (0,), (), (), (0,), 1, ())
    values, updates = (rng.normal(0, 9, size).astype(dtype) for size in (places, 25_000))
    updates[-places:] = random_values(rng, (places,), dtype)
    indices = rng.integers(-1, places + 1, (25_000, 1))
    expected = values.copy()
    with np.errstate(all="ignore"):
        for place, update in zip(indices[:, 0], updates, strict=True):
            if 0 <= place < places:
                expected[place] = COMBINE[combiner](expected[place], update)
    for threads in (1, 2, 8):
        scatter_values = prepared(geometry, [dtype], np.int64, combiner, threads=threads)
        assert same_bits(scatter_values([values], [indices], [updates])[0], expected)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("combiner", ["overwrite", "add", "minimum", "xor"])
def test_large_scatters_of_integers_to_few_destinations(combiner, threads):
    rng = np.random.default_rng(6)
    geometry = Geometry((100,), (70_000, 1), (70_000,), (), (0,), (), (), (0,), 1, ())
    values, updates = (
        rng.integers(-9, 9, 100, np.int32),
        rng.integers(-(2**31), 2**31, 70_000).astype(np.int32),
    )
    indices = rng.integers(-1, 101, (70_000, 1))
    scatter_values = prepared(geometry, [np.int32], np.int64, combiner, threads=threads)
    (result,) = scatter_values([values], [indices], [updates])
    kept = (indices[:, 0] >= 0) & (indices[:, 0] < 100)
    expected = values.copy()
    places, kept_updates = indices[kept, 0], updates[kept]
    if combiner == "overwrite":
        for place, update in zip(places, kept_updates, strict=True):
            expected[place] = update
    else:
        {"add": np.add, "minimum": np.minimum, "xor": np.bitwise_xor}[combiner].at(
            expected, places, kept_updates
        )
    assert same_bits(result, expected)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_large_schedules(threads):
    geometry, values, starts, updates, _ = large_case("items")
    schedule = np.random.default_rng(7).permutation(updates.size)
    scatter_values = prepared(geometry, [np.float32], np.int32, "add", threads=threads, schedule=schedule)
    (result,) = scatter_values([values], [starts], [updates])
    places, kept = starts[schedule, 0], updates[schedule]
    inside = (places >= 0) & (places < values.size)
    expected = values.copy()
    np.add.at(expected, places[inside], kept[inside])
    assert same_bits(result, expected)


def test_the_schedule_decides():
    geometry = Geometry((1,), (3, 1), (3,), (), (0,), (), (), (0,), 1, ())
    values, indices = np.zeros(1, np.float32), np.zeros((3, 1), np.int32)
    updates = np.array([1e8, 1.0, -1e8], np.float32)
    results = []
    for schedule in (None, np.array([0, 2, 1])):
        scatter_values = prepared(geometry, [np.float32], np.int32, "add", schedule=schedule)
        results.append(float(scatter_values([values], [indices], [updates])[0][0]))
    assert results == [0.0, 1.0]


def test_unique_indices():
    geometry, values, _, _, _ = large_case("rows")
    rng = np.random.default_rng(8)
    geometry = Geometry((5000, 33), (5000, 1), (5000, 33), (1,), (0,), (), (), (0,), 1, ())
    values, updates = rng.random((5000, 33), np.float32), rng.random((5000, 33), np.float32)
    order = rng.permutation(5000).reshape(5000, 1)
    scatter_values = prepared(geometry, [np.float32], np.int64, "add", unique_indices=True)
    (result,) = scatter_values([values], [order], [updates])
    expected = values.copy()
    expected[order[:, 0]] += updates
    assert same_bits(result, expected)


def test_several_inputs():
    rng = np.random.default_rng(9)
    values = [rng.random(ITEMS.operand_shape, np.float32), rng.integers(0, 9, ITEMS.operand_shape)]
    updates = [rng.random(ITEMS.slices_shape, np.float32), rng.integers(0, 9, ITEMS.slices_shape)]
    indices = random_indices(rng, ITEMS.indices_shape, np.int32)
    dtypes = [value.dtype for value in values]
    results = prepared(ITEMS, dtypes, np.int32, ["add", "maximum"])(values, [indices], updates)
    for result, value, update, name in zip(results, values, updates, ["add", "maximum"], strict=True):
        assert same_bits(result, scattered(value, indices, update, ITEMS, COMBINE[name]))


@functools.cache
def choose_within():
    """`select_in_range` as a function of Python, compiled once for each type of the keys."""
    from nimblehlo.kernels.launch.compilation import kernel
    from nimblehlo.kernels.simd.searches import select_in_range

    @kernel
    def choose(keys, count, least, size, first, step, chosen, numbers):
        return select_in_range(keys, count, least, size, first, step, chosen, numbers)

    return choose


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 63, 1000])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_choose_within(dtype, count):
    from nimblehlo.kernels.simd.searches import COMPRESS_PADDING

    choose = choose_within()
    keys = np.random.default_rng(15).integers(-1, 40, count + 1).astype(dtype)
    for least, size, first, step in ((0, 40, 0, 1), (0, 0, 5, 1), (10, 20, 700, 3), (39, 1, 2, 0)):
        room = count + COMPRESS_PADDING
        chosen, numbers = np.full(room + 1, -7, dtype), np.full(room + 1, -7, dtype)
        found = choose(keys, count, least, size, first, step, chosen, numbers)
        wanted = [k for k in range(count) if least <= int(keys[k]) < least + size]
        assert list(chosen[:found]) == [int(keys[k]) - least for k in wanted]
        assert list(numbers[:found]) == [first + k * step for k in wanted]
        assert chosen[-1] == numbers[-1] == -7


def test_one_update_for_all():
    rng = np.random.default_rng(10)
    values, indices = (
        np.zeros(ITEMS.operand_shape, np.int32),
        random_indices(rng, ITEMS.indices_shape, np.int32),
    )
    updates = np.broadcast_to(np.int32(3), ITEMS.slices_shape)
    check(ITEMS, values, indices, updates, "add")
    check(ROWS, np.zeros((9, 5)), np.zeros((40, 1), np.int32), np.broadcast_to(np.float64(2), (40, 5)), "add")


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("places", "count"), [(1, 50_003), (100, 70_001), (100, 600_009), (3000, 200_003)])
def test_counts_in_tables(places, count, threads):
    geometry = Geometry((places,), (count, 1), (count,), (), (0,), (), (), (0,), 1, ())
    indices = np.random.default_rng(11).integers(-2, places + 2, (count, 1)).astype(np.int32)
    values = np.arange(places, dtype=np.int32) + np.iinfo(np.int32).max - 5
    updates = np.broadcast_to(np.int32(3), (count,))
    kept = indices[(indices >= 0) & (indices < places)]
    counts = np.bincount(kept, minlength=places).astype(np.int32)
    count_all = prepared(geometry, [np.int32], np.int32, "add", threads=threads)
    (result,) = count_all([values], [indices], [updates])
    assert same_bits(result, values + np.int32(3) * counts)


def test_arrays_that_are_not_contiguous_or_read_only():
    rng = np.random.default_rng(11)
    values, updates = rng.random((5, 9), np.float32).T, rng.random((40, 10), np.float32)[:, ::2]
    indices = rng.integers(0, 9, (40, 1))
    for array in (values, updates, indices):
        array.flags.writeable = False
    check(ROWS, values, indices, updates, "add")


def test_in_place_and_in_arrays_of_the_caller():
    rng = np.random.default_rng(12)
    values, updates = rng.random((9, 5), np.float32), rng.random((40, 5), np.float32)
    indices = rng.integers(0, 9, (40, 1))
    expected = scattered(values, indices, updates, ROWS, COMBINE["add"])
    scatter_rows = prepared(ROWS, [np.float32], np.int64, "add")
    out = np.empty((9, 5), np.float32)
    assert scatter_rows([values], [indices], [updates], out=[out])[0] is out and same_bits(out, expected)
    assert scatter_rows([values], [indices], [updates], in_place=True)[0] is values and same_bits(
        values, expected
    )
    with pytest.raises(ValueError, match="writeable"):
        scatter_rows([np.broadcast_to(np.float32(0), (9, 5))], [indices], [updates], in_place=True)


def test_what_was_not_prepared_for_is_refused():
    values, updates, indices = np.zeros((9, 5)), np.zeros((40, 5)), np.zeros((40, 1), np.int64)
    scatter_rows = prepared(ROWS, [np.float64], np.int64, "add")
    with pytest.raises(ValueError, match="inputs are"):
        scatter_rows([values[:8]], [indices], [updates])
    with pytest.raises(ValueError, match="updates are"):
        scatter_rows([values], [indices], [updates.astype(np.float32)])
    with pytest.raises(ValueError, match="indices are"):
        scatter_rows([values], [indices[:8]], [updates])
    with pytest.raises(ValueError, match="no kernel scatters xor on float64"):
        prepared(ROWS, [np.float64], np.int64, "xor")
    with pytest.raises(ValueError, match="permutation"):
        prepared(ROWS, [np.float64], np.int64, "add", schedule=np.zeros(200, np.int64))
    numbers = scatter.DimensionNumbers(**ROWS.scatter_attributes())
    with pytest.raises(ValueError, match="do not fit"):
        scatter.prepare((9, 4), (40, 1), (40, 5), ["float64"], np.int64, "add", numbers)


def test_supports():
    assert scatter.supports(ml_dtypes.bfloat16, "add") and scatter.supports("bool", "xor")
    assert scatter.supports(ml_dtypes.float8_e4m3fn, "overwrite")
    assert not scatter.supports(ml_dtypes.float8_e4m3fn, "add") and not scatter.supports("float32", "or")
