"""What the vector helpers emit: prefetches, and columns by vectors."""

import re

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types

from nimblehlo.kernels.simd import vectors

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
