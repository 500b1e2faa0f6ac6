"""What generated loops fetch ahead."""

import re

import pytest
from llvmlite import ir

from nimblehlo.kernels import vectors

I64 = ir.IntType(64)
AHEAD = 16384


@pytest.fixture
def builder():
    kind = ir.FunctionType(ir.VoidType(), [ir.FloatType().as_pointer(), I64])
    function = ir.Function(ir.Module(), kind, "f")
    return ir.IRBuilder(function.append_basic_block("entry"))


def fetched(builder, monkeypatch, count, steps):
    """For each step the distances, in bytes, of the lines that are fetched; and the compiler's fences."""
    monkeypatch.setattr(vectors, "read_ahead_bytes", lambda: AHEAD)
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


def test_all_at_once_where_there_is_one_step(builder, monkeypatch):
    lines, fences = fetched(builder, monkeypatch, 40, 1)
    assert lines == [[AHEAD, AHEAD + 64, AHEAD + 128]]
    assert fences == 0
