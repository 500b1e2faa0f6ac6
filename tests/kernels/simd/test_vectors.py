"""What the vector helpers emit: prefetches, and columns by vectors."""

import re

import ml_dtypes
import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types

from nimblehlo.kernels.simd import vectors
from nimblehlo.kernels.simd.arithmetic import combine, load, store
from tests.support.running import same_bits

I64 = ir.IntType(64)
AHEAD = 16384


@pytest.fixture
def builder():
    kind = ir.FunctionType(ir.VoidType(), [ir.FloatType().as_pointer(), I64])
    function = ir.Function(ir.Module(), kind, "f")
    return ir.IRBuilder(function.append_basic_block("entry"))


def fetched(builder, monkeypatch, count, follows=False):
    """The distances, in bytes, of the cache lines that are prefetched."""
    monkeypatch.setattr(vectors, "prefetch_distance_bytes", lambda: AHEAD)
    monkeypatch.setattr(vectors, "avoids_software_prefetch", lambda: follows)
    data, index = builder.function.args
    vectors.read_ahead(builder, "float32", data, index, count)
    text = "\n".join(map(str, builder.block.instructions))
    distances = [4 * int(number) for number in re.findall(r"add i64 %\S+, (\d+)", text)]
    assert len(distances) == text.count("call void @")
    return distances


def test_each_cache_line_is_prefetched_once(builder, monkeypatch):
    assert fetched(builder, monkeypatch, 40) == [AHEAD, AHEAD + 64, AHEAD + 128]


def test_nothing_is_prefetched_where_the_hardware_suffices(builder, monkeypatch):
    assert fetched(builder, monkeypatch, 40, follows=True) == []


def taken(width, lanes, monkeypatch):
    """How often each column is taken, and by how many at a time."""
    monkeypatch.setattr(vectors, "lanes_of", lambda element: lanes)

    @vectors.intrinsic
    def take(typing_context, times, together):
        def generate(context, builder, signature, arguments):
            data, counts = (
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(signature.args, arguments, strict=True)
            )

            def body(column, count):
                for lane in range(count):
                    place = builder.gep(data, [builder.add(column, I64(lane))])
                    builder.store(builder.add(builder.load(place), I64(1)), place)
                    builder.store(I64(count), builder.gep(counts, [builder.add(column, I64(lane))]))

            vectors.for_columns(builder, "float32", I64(width), body)
            return context.get_dummy_value()

        return types.void(times, together), generate

    times, together = np.zeros(width, np.int64), np.zeros(width, np.int64)
    njit(lambda times, together: take(times, together))(times, together)
    return list(times), list(together)


@pytest.mark.parametrize(
    ("lanes", "together"), [(1, [1] * 7), (2, [2] * 6 + [1]), (4, [4] * 4 + [1] * 3), (8, [4] * 4 + [1] * 3)]
)
def test_each_column_is_taken_once(monkeypatch, lanes, together):
    assert taken(7, lanes, monkeypatch) == ([1] * 7, together)


@pytest.mark.parametrize("monoid", ["minimum", "maximum"])
@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
def test_extremes_of_two_elements_at_a_time(element, monoid):
    @njit
    def combine_all(left, right, result):
        for k in range(result.size):
            value = combine(element, monoid, load(element, left, k), load(element, right, k))
            store(element, result, k, value)

    largest = ml_dtypes.finfo(element).max
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, largest, -largest, 1e-40, -1e-40, 1.0, -2.5]
    left, right = (values.ravel().astype(element) for values in np.meshgrid(special, special))
    result, want = np.empty_like(left), getattr(np, monoid)(left, right)
    want = np.where((left == 0) & (right == 0), SIGNED_ZEROS[monoid](left, right), want)
    arrays = [array.view(np.uint16) if element == "bfloat16" else array for array in (left, right, result)]
    combine_all(*arrays)
    assert same_bits(result, want)


SIGNED_ZEROS = {
    "minimum": lambda a, b: np.where(np.signbit(a), a, b),
    "maximum": lambda a, b: np.where(np.signbit(a), b, a),
}
"""The extreme of two zeros."""
