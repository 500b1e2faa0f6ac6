"""What generated loops fetch ahead, and in which order they read."""

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


def fetched(builder, monkeypatch, count, steps, follows=False):
    """For each step the distances, in bytes, of the lines that are fetched; and the compiler's fences."""
    monkeypatch.setattr(vectors, "prefetch_distance_bytes", lambda: AHEAD)
    monkeypatch.setattr(vectors, "avoids_software_prefetch", lambda: follows)
    data, index = builder.function.args
    ahead = vectors.ReadAhead(builder, "float32", data, index, count, steps)
    lines, seen = [], 0
    for _ in range(steps):
        ahead.after_step()
        text = "\n".join(map(str, builder.block.instructions[seen:]))
        seen = len(builder.block.instructions)
        lines.append([4 * int(number) for number in re.findall(r"add i64 %\S+, (\d+)", text)])
        assert len(lines[-1]) == text.count("call void @")
    fences = [one for one in builder.block.instructions if isinstance(one, ir.instructions.Fence)]
    return lines, len(fences)


def test_each_line_once_in_order_between_the_steps(builder, monkeypatch):
    lines, fences = fetched(builder, monkeypatch, 64, 4)
    assert lines == [[AHEAD], [AHEAD + 64], [AHEAD + 128], [AHEAD + 192]]
    assert fences == 8


def test_fewer_lines_than_steps(builder, monkeypatch):
    lines, fences = fetched(builder, monkeypatch, 32, 4)
    assert lines == [[], [AHEAD], [], [AHEAD + 64]]
    assert fences == 4


def test_order_is_kept_where_nothing_is_fetched(builder, monkeypatch):
    lines, fences = fetched(builder, monkeypatch, 64, 4, follows=True)
    assert lines == [[], [], [], []]
    assert fences == 8


def visited(begin, end, step, places):
    """The positions of a loop at several places, in its order."""

    @vectors.intrinsic
    def visit(typing_context, order):
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            done = vectors.cgutils.alloca_once_value(builder, I64(0))
            with vectors.interleaved_loop(builder, I64(begin), I64(end), step, places) as position:
                builder.store(position, builder.gep(data, [builder.load(done)]))
                builder.store(builder.add(builder.load(done), I64(1)), done)
            return builder.load(done)

        return types.int64(order), generate

    order = np.full(100, -1)
    return list(order[: njit(lambda order: visit(order))(order)])


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


def test_places_are_read_in_turn_then_the_rest():
    assert visited(0, 22, 2, 4) == [0, 4, 8, 12, 2, 6, 10, 14, 16, 18, 20]
    assert visited(3, 6, 1, 4) == [3, 4, 5]
    assert visited(5, 5, 1, 4) == []


def test_one_place_is_read_upwards():
    assert visited(8, 32, 8, 1) == [8, 16, 24]


def test_all_at_once_where_there_is_one_step(builder, monkeypatch):
    lines, fences = fetched(builder, monkeypatch, 40, 1)
    assert lines == [[AHEAD, AHEAD + 64, AHEAD + 128]]
    assert fences == 0
