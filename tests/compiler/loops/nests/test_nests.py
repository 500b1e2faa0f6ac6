"""Generated loop nests against the references, on random blocks of moves and elementwise operations."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Sequence

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.implementation import NoCode
from nimblehlo.compiler.loops.description import block_description
from nimblehlo.compiler.loops.native_code import names_of
from nimblehlo.compiler.loops.nests import emission_plan, nest
from nimblehlo.compiler.loops.nests.loop_schedule import schedule_loops
from nimblehlo.compiler.loops.nests.nest_builder import MAX_NESTS, nests_of
from nimblehlo.compiler.loops.nests.nest_code import NestCode, may_overwrite
from nimblehlo.compiler.loops.nests.nest_emitter import nest_ir
from nimblehlo.compiler.plan.choice import numpy_for
from nimblehlo.compiler.plan.implementations.block_baseline import lazy_block_baseline
from nimblehlo.program.ir import Block
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES
from tests.support.running import same_bits

Shape = tuple[int, ...]

BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
TYPES = ("f32", "f64", "bf16", "f16", "i32", "ui8", "i64", "complex<f32>", "f8E4M3FN", "i4")


def block_of(text: str) -> Block:
    """The block of @main, as it stands."""
    body = nimblehlo.load(text).functions["main"].body
    assert body is not None
    return body.block


def check(text: str, *operands: np.ndarray, threads: int | None = 1) -> list[np.ndarray]:
    """The results of the generated code of @main, which must have the references' bits."""
    return check_block(block_of(text), *operands, threads=threads)


def check_block(block: Block, *operands: np.ndarray, threads: int | None = 1) -> list[np.ndarray]:
    """The results of a block's generated code, which must have the references' bits."""
    with np.errstate(all="ignore"):
        wanted = lazy_block_baseline(block, numpy_for)(*operands)
    found = NestCode(block, threads).prepare()(*operands)
    if len(block.terminator.operands) == 1:
        wanted, found = (wanted,), (found,)
    for a, b in zip(found, wanted, strict=True):
        assert same_bits(a, np.asarray(b)), block_description(block)
    return list(found)


class RandomBlock:
    """Draws the text of a block."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.type = self.draw.choice(TYPES)
        self.lines: list[str] = []
        self.arguments: list[tuple[str, Shape, str]] = []
        shape = tuple(self.draw.choice((1, 2, 3, 7, 40)) for _ in range(self.draw.randint(0, 4)))
        results = ", ".join(self.value(shape, 4) for _ in range(self.draw.randint(1, 2)))
        types = ", ".join([self.text(shape)] * (results.count(",") + 1))
        inputs = ", ".join(f"{name}: {self.text(shape, type)}" for name, shape, type in self.arguments)
        body = "\n".join(f"  {line}" for line in self.lines)
        self.module = f"func.func @main({inputs}) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}"

    def text(self, shape: Shape, type: str = "") -> str:
        return f"tensor<{''.join(f'{size}x' for size in shape)}{type or self.type}>"

    def argument(self, shape: Shape, type: str = "") -> str:
        self.arguments.append((f"%a{len(self.arguments)}", shape, type or self.type))
        return self.arguments[-1][0]

    def line(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.{text}")
        return name

    def value(self, shape: Shape, depth: int) -> str:
        """The name of a value of that shape."""
        draw, own = self.draw, self.text(shape)
        if depth == 0 or draw.random() < 0.1:
            if shape and self.type != "i4" and draw.random() < 0.2:
                return self.line(f"iota dim = {draw.randrange(len(shape))} : {own}")
            return self.argument(shape)
        kinds = ["binary", "binary", "broadcast", "select", "gather"]
        kinds += ["transpose", "slice", "reverse", "pad", "concatenate", "reshape"] if shape else []
        kind = draw.choice(kinds)
        if kind == "binary":
            operands = [self.value(shape, depth - 1) for _ in range(2)]
            return self.line(f"{draw.choice(BINARY)} {', '.join(operands)} : {own}")
        if kind == "select":
            return self.select(shape, depth)
        if kind == "broadcast":
            kept = [d for d in range(len(shape)) if draw.random() < 0.7]
            draw.shuffle(kept)
            source = tuple(1 if draw.random() < 0.3 else shape[d] for d in kept)
            operand = self.value(source, depth - 1)
            return self.line(f"broadcast_in_dim {operand}, dims = {kept} : ({self.text(source)}) -> {own}")
        if kind == "transpose":
            order = draw.sample(range(len(shape)), len(shape))
            source = tuple(shape[order.index(d)] for d in range(len(shape)))
            operand = self.value(source, depth - 1)
            return self.line(f"transpose {operand}, dims = {order} : ({self.text(source)}) -> {own}")
        if kind == "reverse":
            dims = [d for d in range(len(shape)) if draw.random() < 0.5]
            return self.line(f"reverse {self.value(shape, depth - 1)}, dims = {dims} : {own}")
        if kind == "reshape":
            source = tuple(size for size in shape if size != 1)
            source = (math.prod(source[:2]), *source[2:]) if draw.random() < 0.5 else source
            operand = self.value(source, depth - 1)
            return self.line(f"reshape {operand} : ({self.text(source)}) -> {own}")
        return getattr(self, kind)(shape, depth)

    def select(self, shape: Shape, depth: int) -> str:
        operands = [self.value(shape, depth - 1) for _ in range(2)]
        own = self.text(shape)
        predicate = own.replace(self.type, "i1")
        direction = "EQ" if "complex" in self.type else "LT"
        types = f"({own}, {own}) -> {predicate}"
        chosen = self.line(f"compare {direction}, {operands[0]}, {operands[1]} : {types}")
        return self.line(f"select {chosen}, {operands[1]}, {operands[0]} : {predicate}, {own}")

    def slice(self, shape: Shape, depth: int) -> str:
        starts = [self.draw.randint(0, 2) for _ in shape]
        strides = [self.draw.randint(1, 2) for _ in shape]
        limits = [a + max(0, (n - 1) * s + 1) for a, n, s in zip(starts, shape, strides, strict=True)]
        source = tuple(limit + self.draw.randint(0, 1) for limit in limits)
        ranges = ", ".join(f"{a}:{b}:{c}" for a, b, c in zip(starts, limits, strides, strict=True))
        operand = self.value(source, depth - 1)
        return self.line(f"slice {operand} [{ranges}] : ({self.text(source)}) -> {self.text(shape)}")

    def view(self, shape: Shape) -> str:
        """An argument, or what can be read at indices without being in memory."""
        own, kind = self.text(shape), self.draw.choice(("argument", "reverse", "slice", "broadcast"))
        if kind == "reverse":
            dims = [d for d in range(len(shape)) if self.draw.random() < 0.5]
            return self.line(f"reverse {self.view(shape)}, dims = {dims} : {own}")
        if kind == "slice":
            starts = [self.draw.randint(0, 2) for _ in shape]
            limits = [start + max(0, 2 * size - 1) for start, size in zip(starts, shape, strict=True)]
            ranges = ", ".join(f"{a}:{b}:2" for a, b in zip(starts, limits, strict=True))
            operand = self.view(tuple(limits))
            return self.line(f"slice {operand} [{ranges}] : ({self.text(tuple(limits))}) -> {own}")
        if kind == "broadcast":
            dims = sorted(self.draw.sample(range(len(shape)), self.draw.randint(0, len(shape))))
            source = tuple(self.draw.choice((1, shape[d])) for d in dims)
            return self.line(
                f"broadcast_in_dim {self.argument(source)}, dims = {dims} : ({self.text(source)}) -> {own}"
            )
        return self.argument(shape)

    def gather(self, shape: Shape, depth: int) -> str:
        """Elements or, where there are dimensions, lines, of a view of random sizes."""
        draw = self.draw
        offset = sorted(draw.sample(range(len(shape)), draw.randint(0, min(1, len(shape)))))
        batch = tuple(size for d, size in enumerate(shape) if d not in offset)
        chosen = tuple(draw.choice((1, 3, 50)) for _ in range(draw.randint(1, 2)))
        whole = tuple(shape[d] + draw.randint(0, 2) for d in offset)
        operand = self.view(chosen + whole)
        index_type = draw.choice(("i8", "i32", "ui64"))
        count = len(chosen) + draw.randint(0, len(whole))
        indices = self.argument((*batch, count), index_type)
        sizes = [1] * len(chosen) + [shape[d] for d in offset]
        numbers = (
            f"offset_dims = {offset}, collapsed_slice_dims = {list(range(len(chosen)))}, "
            f"start_index_map = {list(range(count))}, index_vector_dim = {len(batch)}"
        )
        name = f"%v{len(self.lines)}"
        self.lines.append(
            f'{name} = "stablehlo.gather"({operand}, {indices}) {{dimension_numbers = '
            f"#stablehlo.gather<{numbers}>, slice_sizes = array<i64: {str(sizes)[1:-1]}>}} : "
            f"({self.text(chosen + whole)}, {self.text((*batch, count), index_type)}) -> {self.text(shape)}"
        )
        return name

    def pad(self, shape: Shape, depth: int) -> str:
        low = [self.draw.randint(-1, min(2, size)) for size in shape]
        left = [size - max(a, 0) for a, size in zip(low, shape, strict=True)]
        high = [self.draw.randint(-1, max(-1, min(2, size))) for size in left]
        source = tuple(size - a - b for size, a, b in zip(shape, low, high, strict=True))
        operand, value = self.value(source, depth - 1), self.value((), 0)
        return self.line(
            f"pad {operand}, {value}, low = {low}, high = {high}, interior = {[0] * len(shape)} : "
            f"({self.text(source)}, {self.text(())}) -> {self.text(shape)}"
        )

    def concatenate(self, shape: Shape, depth: int) -> str:
        d = self.draw.randrange(len(shape))
        cuts = sorted(self.draw.randint(0, shape[d]) for _ in range(self.draw.randint(0, 2)))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, shape[d]], strict=True)]
        sources = [(*shape[:d], size, *shape[d + 1 :]) for size in sizes]
        operands = ", ".join(self.value(source, depth - 1) for source in sources)
        types = ", ".join(map(self.text, sources))
        return self.line(f"concatenate {operands}, dim = {d} : ({types}) -> {self.text(shape)}")

    def operands(self) -> list[np.ndarray]:
        """Values for the arguments, some of them special."""
        rng = np.random.default_rng(self.draw.randrange(2**32))
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 1.0])
        found = []
        for _, shape, type in self.arguments:
            values = rng.standard_normal(shape) * 8
            if type.startswith(("f", "bf", "complex")):
                values = np.where(rng.random(shape) < 0.1, rng.choice(special, shape), values)
            else:
                values = np.clip(values, *((-8, 7) if type == "i4" else (0, 255)))
            with np.errstate(all="ignore"):
                found.append(np.asarray(values).astype(ELEMENT_TYPES[type].dtype))
        return found


@pytest.mark.sampled(share=2)
@pytest.mark.parametrize("seed", range(60))
def test_random_blocks(seed: int) -> None:
    check_random_block(seed)


def check_random_block(seed: int) -> None:
    drawn = RandomBlock(seed)
    if has_nests(block_of(drawn.module)):
        check(drawn.module, *drawn.operands())


def test_nearly_all_random_blocks_have_nests() -> None:
    assert sum(has_nests(block_of(RandomBlock(seed).module)) for seed in range(60)) > 50


def has_nests(block: Block) -> bool:
    """Whether a block can be computed by a few nests."""
    try:
        nests_of(block)
    except NoCode:
        return False
    return True


def transposed(shape: Sequence[int], order: Sequence[int], type: str) -> str:
    sizes = "x".join(map(str, shape))
    given, result = f"tensor<{sizes}x{type}>", f"tensor<{'x'.join(str(shape[d]) for d in order)}x{type}>"
    return f"""
      func.func @main(%a: {given}) -> {result} {{
        %0 = stablehlo.transpose %a, dims = {list(order)} : ({given}) -> {result}
        return %0 : {result}
      }}
    """


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["i1", "i8", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_transposes(type: str, order: tuple[int, ...]) -> None:
    shape = (37, 65, 50)
    dtype = ELEMENT_TYPES[type].dtype
    values = np.arange(math.prod(shape)).reshape(shape) % 251
    check(transposed(shape, order, type), values.astype(dtype), threads=None)


@pytest.mark.sampled(("start", "threads"))
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("start", [0, 4, 64])
@pytest.mark.parametrize("type", ["i1", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
def test_large_transposes_go_past_the_caches(
    type: str, start: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the result begins, and whatever follows it in memory."""
    monkeypatch.setattr(emission_plan, "nontemporal_store_bytes", lambda gathered: 1)
    dtype = ELEMENT_TYPES[type].dtype
    start = -(-start // dtype.itemsize)
    for shape, is_streamed in (
        ((3, 128, 70), True),
        ((2, 100, 70), False),
        ((2, 3, 160), True),
        ((2, 160, 3), True),
        ((2, 3, 161), False),
    ):
        block = block_of(transposed(shape, (0, 2, 1), type))
        values = (np.arange(math.prod(shape)).reshape(shape) % 251).astype(dtype)
        nests = [schedule_loops(found) for found in nests_of(block)]
        assert any(map(emission_plan.uses_nontemporal_stores, nests)) == (
            is_streamed and dtype.itemsize in (4, 8)
        )
        memory = aligned(values.nbytes + 128 + 64).view(dtype)
        memory[:] = 1
        out = memory[start : start + values.size].reshape(shape[0], shape[2], shape[1])
        (result,) = (NestCode(block, threads).prepare()(values, out=(out,)),)
        assert result is out and out.tobytes() == values.swapaxes(1, 2).tobytes()
        assert (memory[:start] == 1).all() and (memory[start + values.size :] == 1).all()


@pytest.mark.parametrize("columns", [64, 255, 256, 257, 600])
@pytest.mark.parametrize("limit", [1, 1 << 40])
def test_tiles_that_go_past_the_caches_are_prefetched(
    columns: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emission_plan, "nontemporal_store_bytes", lambda gathered: limit)
    text = transposed((2, 128, columns), (0, 2, 1), "f32")
    result = f"tensor<2x{columns}x128xf32>"
    fused = text.replace("return %0", f"%1 = stablehlo.add %0, %0 : {result}\nreturn %1")
    for program in (text, fused):
        (found,) = nests_of(block_of(program))
        code = nest_ir(schedule_loops(found))
        assert code.count('call void @"llvm.prefetch') == (16 if limit == 1 else 0)
        check(program, np.arange(256 * columns, dtype=np.float32).reshape(2, 128, columns), threads=None)


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["i1", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 11, 15, 16, 17])
def test_transposes_with_a_short_side(size: int, type: str) -> None:
    """At any alignment, on one thread and on two, and nothing is written beside the result."""
    dtype = ELEMENT_TYPES[type].dtype
    for long in (1, 15, 16, 17, 50, 3001):
        for sizes in ((2, long, size), (2, size, long)):
            block = block_of(transposed(sizes, (0, 2, 1), type))
            count = math.prod(sizes)
            functions = [NestCode(block, threads).prepare() for threads in (1, 2)]
            for start, function in itertools.product((0, 1, 16), functions):
                values = (np.arange(count + start) % 251).astype(dtype)[start:].reshape(sizes)
                memory = np.ones(start + count + 64, dtype)
                out = memory[start : start + count].reshape(2, sizes[2], sizes[1])
                function(values, out=(out,))
                assert out.tobytes() == values.swapaxes(1, 2).tobytes()
                assert (memory[:start] == 1).all() and (memory[start + count :] == 1).all()


def test_which_transpositions_have_a_short_side() -> None:
    def found(shape: Shape, type: str) -> emission_plan.ShortLoop | None:
        (one,) = nests_of(block_of(transposed(shape, (0, 2, 1), type)))
        return emission_plan.short_loop(schedule_loops(one))

    assert found((2, 3, 50), "f32") == emission_plan.ShortLoop(3, is_inner=True)
    assert found((2, 50, 3), "f32") == emission_plan.ShortLoop(3, is_inner=False)
    assert found((2, 15, 50), "f32") == emission_plan.ShortLoop(15, is_inner=True)
    assert found((2, 16, 50), "f32") is None
    assert found((2, 7, 50), "f64") == emission_plan.ShortLoop(7, is_inner=True)
    assert found((2, 8, 50), "f64") is None
    assert found((2, 3, 50), "complex<f64>") is None


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("type", ["i1", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("width", [2, 3, 4, 8, 20])
def test_neighbours_that_move_together(width: int, type: str, start: int) -> None:
    """As one element where there is one of their size, wherever the arrays begin, or else as lines."""
    dtype = ELEMENT_TYPES[type].dtype
    for sizes, order in (((3, 20, 2, width), (0, 2, 1, 3)), ((2, 3, 5, 17, width), (1, 0, 3, 2, 4))):
        block = block_of(transposed(sizes, order, type))
        values = (np.arange(start + math.prod(sizes)) % 251).astype(dtype)[start:].reshape(sizes)
        memory = np.ones(start + values.size + 64, dtype)
        out = memory[start : start + values.size].reshape([sizes[d] for d in order])
        NestCode(block, None).prepare()(values, out=(out,))
        assert out.tobytes() == values.transpose(order).tobytes()
        assert (memory[:start] == 1).all() and (memory[start + values.size :] == 1).all()


@pytest.mark.parametrize(
    ("type", "width", "moved", "line"),
    [
        ("f32", 2, "ui64", 1),
        ("i8", 2, "ui16", 1),
        ("i8", 4, "ui32", 1),
        ("f32", 3, "ui32", 3),
        ("f32", 32, "ui32", 32),
        ("f32", 33, "ui32", 1),
    ],
)
def test_how_neighbours_move_together(type: str, width: int, moved: str, line: int) -> None:
    (found,) = nests_of(block_of(transposed((3, 20, 2, width), (0, 2, 1, 3), type)))
    one = schedule_loops(found)
    assert {str(access.element_type) for access in one.accesses} == {moved}
    assert one.slice_length == line


def test_neighbours_of_which_some_stay_move_one_by_one() -> None:
    """A slice that begins or steps between two that would be one element."""
    values = np.arange(3 * 21 * 2 * 7, dtype=np.float32).reshape(3, 21, 2, 7)
    for first, stride in ((1, 1), (0, 3), (1, 2)):
        last = first + stride + 1
        text = f"""
          func.func @main(%a: tensor<3x21x2x7xf32>) -> tensor<3x2x21x2xf32> {{
            %0 = stablehlo.slice %a [0:3, 0:21, 0:2, {first}:{last}:{stride}]
              : (tensor<3x21x2x7xf32>) -> tensor<3x21x2x2xf32>
            %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3]
              : (tensor<3x21x2x2xf32>) -> tensor<3x2x21x2xf32>
            return %1 : tensor<3x2x21x2xf32>
          }}
        """
        check(text, values)


@pytest.mark.parametrize("type", ["i8", "f32", "f64", "complex<f32>"])
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_elements_with_small_strides(stride: int, type: str) -> None:
    for size, first in ((70, 0), (71, 1), (9, 2), (1000, 3)):
        count = -(-(size - first) // stride)
        given, result = f"tensor<3x{size}x{type}>", f"tensor<3x{count}x{type}>"
        text = f"""
          func.func @main(%a: {given}) -> ({result}, {result}) {{
            %0 = stablehlo.slice %a [0:3, {first}:{size}:{stride}] : ({given}) -> {result}
            %1 = stablehlo.reverse %0, dims = [1] : {result}
            %2 = stablehlo.add %0, %1 : {result}
            %3 = stablehlo.subtract %1, %0 : {result}
            return %2, %3 : {result}, {result}
          }}
        """
        dtype = ELEMENT_TYPES[type].dtype
        check(text, (np.arange(3 * size) % 61).astype(dtype).reshape(3, size), threads=None)


def stacked(columns: Sequence[str], size: int, type: str, arguments: str, body: str = "") -> str:
    """A program that puts columns side by side."""
    column, line = f"tensor<{size}x1x{type}>", f"tensor<{size}x{len(columns)}x{type}>"
    shaped = [
        f"%c{number} = stablehlo.reshape {name} : (tensor<{size}x{type}>) -> {column}"
        for number, name in enumerate(columns)
    ]
    names = ", ".join(f"%c{number}" for number in range(len(columns)))
    types = ", ".join([column] * len(columns))
    return f"""
      func.func @main({arguments}) -> {line} {{
        {body}
        {" ".join(shaped)}
        %0 = stablehlo.concatenate {names}, dim = 1 : ({types}) -> {line}
        return %0 : {line}
      }}
    """


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("type", ["i1", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("count", [2, 3, 5, 7, 8])
def test_adjacent_columns(count: int, type: str, threads: int) -> None:
    """Lines of few columns are written by one nest."""
    dtype = ELEMENT_TYPES[type].dtype
    for size in (1, 2, 7, 33, 100, 3001):
        vector = f"tensor<{size}x{type}>"
        names = [f"%a{number}" for number in range(count)]
        # The last one is computed, the others are only moved.
        body = f"%last = stablehlo.add {names[0]}, {names[-1]} : {vector}"
        text = stacked(
            [*names[:-1], "%last"], size, type, ", ".join(f"{name}: {vector}" for name in names), body
        )
        values = [(np.arange(size) * 7 % 61 + 3 * number).astype(dtype) for number in range(count)]
        check(text, *values, threads=threads)
        assert len(nests_of(block_of(text))) == (1 if count <= nest.MAX_CONSTANT_STRIDE else count)


def test_adjacent_constants_keep_their_bits() -> None:
    body = "\n".join(
        f"%k{number} = stablehlo.constant dense<{value}> : tensor<50xf32>"
        for number, value in enumerate(("0.0", "-0.0", "0x7FC00001", "0x7FC00002"))
    )
    names = [f"%k{number}" for number in range(4)]
    (result,) = check(stacked(names, 50, "f32", "", body))
    bits = np.array([0, 0x80000000, 0x7FC00001, 0x7FC00002], np.uint32)
    assert (result.view(np.uint32) == bits).all()


@pytest.mark.parametrize("size", [1, 9, 64, 1001])
def test_columns_made_of_each_other(size: int) -> None:
    """Columns of one array are read as whole lines, whichever comes first, and nothing is computed twice."""
    vector = f"tensor<{size}xf32>"
    column = [
        f"""%s{n} = stablehlo.slice %a [0:{size}, {n}:{n + 1}]
          : (tensor<{size}x3xf32>) -> tensor<{size}x1xf32>
        %x{n} = stablehlo.reshape %s{n} : (tensor<{size}x1xf32>) -> {vector}"""
        for n in range(3)
    ]
    body = "\n".join(
        [
            *column,
            f"%e = stablehlo.exponential %x2 : {vector}",
            f"%i = stablehlo.iota dim = 0 : {vector}",
            f"%p = stablehlo.multiply %e, %x0 : {vector}",
            f"%q = stablehlo.subtract %e, %x1 : {vector}",
            f"%r = stablehlo.add %i, %x2 : {vector}",
        ]
    )
    text = stacked(["%p", "%q", "%r"], size, "f32", f"%a: tensor<{size}x3xf32>", body)
    check(text, np.random.default_rng(0).standard_normal((size, 3)).astype(np.float32))
    (found,) = nests_of(block_of(text))
    assert sum(isinstance(node, nest.Apply) for node in found.nodes) == 4
    assert len(found.accesses) == 6
    known = [emission_plan.interleaved_access(schedule_loops(found), number) for number in range(6)]
    assert known == [None, (0, -2), (0, -1), None, (3, 1), (3, 2)] or size == 1


def test_gathered_adjacent_columns() -> None:
    gather = """%g{n} = "stablehlo.gather"(%a, %{i}) {{
          dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0],
            index_vector_dim = 1>,
          slice_sizes = array<i64: 1>
        }} : (tensor<90xf32>, tensor<200xi32>) -> tensor<200xf32>"""
    body = "\n".join(gather.format(n=n, i="ij"[n]) for n in range(2))
    arguments = "%a: tensor<90xf32>, %i: tensor<200xi32>, %j: tensor<200xi32>"
    rng = np.random.default_rng(0)
    a = rng.standard_normal(90).astype(np.float32)
    i, j = rng.integers(-5, 100, (2, 200)).astype(np.int32)
    text = stacked(["%g0", "%g1"], 200, "f32", arguments, body)
    check(text, a, i, j)
    assert len(nests_of(block_of(text))) == 1


@pytest.mark.sampled
@pytest.mark.parametrize("type", ["i8", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 8])
def test_computing_short_lines(columns: int, type: str) -> None:
    """Of two results; operands vary along rows, along columns, along both, or not at all."""
    dtype, rng = ELEMENT_TYPES[type].dtype, np.random.default_rng(0)
    for rows in (1, 7, 8, 33, 1001):
        whole, row, column = (f"tensor<{s}x{type}>" for s in (f"{rows}x{columns}", columns, rows))
        text = f"""
          func.func @main(%a: {whole}, %b: {row}, %c: {column}, %d: tensor<{type}>) -> ({whole}, {whole}) {{
            %0 = stablehlo.broadcast_in_dim %b, dims = [1] : ({row}) -> {whole}
            %1 = stablehlo.negate %c : {column}
            %2 = stablehlo.broadcast_in_dim %1, dims = [0] : ({column}) -> {whole}
            %3 = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<{type}>) -> {whole}
            %4 = stablehlo.iota dim = 1 : {whole}
            %5 = stablehlo.multiply %a, %0 : {whole}
            %6 = stablehlo.add %5, %2 : {whole}
            %7 = stablehlo.subtract %3, %4 : {whole}
            %8 = stablehlo.multiply %7, %2 : {whole}
            return %6, %8 : {whole}, {whole}
          }}
        """
        shapes = ((rows, columns), (columns,), (rows,), ())
        operands = [rng.integers(0, 9, shape).astype(dtype) for shape in shapes]
        for threads in (1, 2):
            check(text, *operands, threads=threads)
        (found,) = nests_of(block_of(text))
        is_unrolled = rows >= 8 and columns <= nest.MAX_CONSTANT_STRIDE
        assert emission_plan.has_interleaved_stores(schedule_loops(found)) == is_unrolled


@pytest.mark.parametrize("type", ["i8", "bf16", "f32", "complex<f64>"])
@pytest.mark.parametrize("times", [2, 3, 7, 8, 40])
def test_elements_are_repeated_by_whole_vectors(times: int, type: str) -> None:
    dtype = ELEMENT_TYPES[type].dtype
    for rows in (1, 7, 8, 1001):
        text = f"""
          func.func @main(%a: tensor<3x{rows}x{type}>) -> tensor<3x{rows}x{times}x{type}> {{
            %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1]
              : (tensor<3x{rows}x{type}>) -> tensor<3x{rows}x{times}x{type}>
            return %0 : tensor<3x{rows}x{times}x{type}>
          }}
        """
        operand = np.random.default_rng(0).integers(0, 99, (3, rows)).astype(dtype)
        for threads in (1, 2):
            check(text, operand, threads=threads)
        (copy,) = nests_of(block_of(text))
        is_unrolled = 3 * rows >= 8 and times <= nest.MAX_CONSTANT_STRIDE
        assert emission_plan.has_interleaved_stores(schedule_loops(copy)) == is_unrolled


@pytest.mark.parametrize("sizes", [(2, 50, 3), (2, 3, 50), (2, 3001, 7), (2, 7, 3001), (2, 5, 5), (1, 9, 8)])
def test_computing_across_a_short_side(sizes: tuple[int, int, int]) -> None:
    batch, rows, columns = sizes
    given, result = f"tensor<{batch}x{rows}x{columns}xui8>", f"tensor<{batch}x{columns}x{rows}xf32>"
    text = f"""
      func.func @main(%a: {given}, %b: {result}) -> {result} {{
        %0 = stablehlo.transpose %a, dims = [0, 2, 1] : ({given}) -> tensor<{batch}x{columns}x{rows}xui8>
        %1 = stablehlo.convert %0 : (tensor<{batch}x{columns}x{rows}xui8>) -> {result}
        %2 = stablehlo.multiply %1, %b : {result}
        return %2 : {result}
      }}
    """
    a = (np.arange(math.prod(sizes)) % 251).astype(np.uint8).reshape(sizes)
    b = np.random.default_rng(0).standard_normal((batch, columns, rows)).astype(np.float32)
    for threads in (1, None):
        check(text, a, b, threads=threads)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "types", [("f32", "f32"), ("i8", "f32"), ("f64", "f16"), ("bf16", "bf16"), ("i1", "i8")]
)
@pytest.mark.parametrize(
    "sizes", [(2, 16, 16), (1, 70, 33), (3, 64, 128), (1, 300, 1031), (2, 15, 40), (1, 530, 65)]
)
def test_operands_are_turned_tile_by_tile(sizes: tuple[int, int, int], types: tuple[str, str]) -> None:
    """Several of them, one backwards, with others that lie along the results."""
    batch, rows, columns = sizes
    given, wanted = types
    lying = f"tensor<{batch}x{rows}x{columns}x{given}>"
    turned, result = (f"tensor<{batch}x{columns}x{rows}x{type}>" for type in (given, wanted))
    row = f"tensor<{rows}x{wanted}>"
    text = f"""
      func.func @main(%a: {lying}, %b: {lying}, %c: {result}, %d: {row}) -> ({result}, {result}) {{
        %0 = stablehlo.transpose %a, dims = [0, 2, 1] : ({lying}) -> {turned}
        %1 = stablehlo.convert %0 : ({turned}) -> {result}
        %2 = stablehlo.reverse %b, dims = [1] : {lying}
        %3 = stablehlo.transpose %2, dims = [0, 2, 1] : ({lying}) -> {turned}
        %4 = stablehlo.convert %3 : ({turned}) -> {result}
        %5 = stablehlo.broadcast_in_dim %d, dims = [2] : ({row}) -> {result}
        %6 = stablehlo.subtract %1, %c : {result}
        %7 = stablehlo.multiply %4, %5 : {result}
        %8 = stablehlo.add %6, %7 : {result}
        return %8, %7 : {result}, {result}
      }}
    """
    block, rng = block_of(text), np.random.default_rng(0)
    kinds = ((sizes, given), (sizes, given), ((batch, columns, rows), wanted), ((rows,), wanted))
    operands = [rng.integers(0, 9, shape).astype(ELEMENT_TYPES[type].dtype) for shape, type in kinds]
    for threads in (1, 3):
        check_block(block, *operands, threads=threads)
    first = schedule_loops(nests_of(block)[0])
    has_tiles = min(rows, columns) >= emission_plan.tile_extent(first)
    assert len(emission_plan.transposed_accesses(first)) == (2 if has_tiles else 0)


@pytest.mark.parametrize(
    ("columns", "together"),
    [(16, 1), (32, 2), (40, 1), (64, 4), (96, 2), (127, 1), (128, 4), (129, 2), (300, 4)],
)
def test_how_many_tiles_are_turned_together(columns: int, together: int) -> None:
    text = f"""
      func.func @main(%a: tensor<{columns}x50xf32>) -> tensor<50x{columns}xf32> {{
        %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<{columns}x50xf32>) -> tensor<50x{columns}xf32>
        %1 = stablehlo.negate %0 : tensor<50x{columns}xf32>
        return %1 : tensor<50x{columns}xf32>
      }}
    """
    (found,) = nests_of(block_of(text))
    assert emission_plan.transposed_accesses(schedule_loops(found)) == [0]
    assert emission_plan.tiles_per_group(schedule_loops(found)) == together


@pytest.mark.parametrize("type", ["complex<f32>", "complex<f64>", "f8E4M3FN", "i4"])
def test_operands_of_other_types_are_turned(type: str) -> None:
    dtype = ELEMENT_TYPES[type].dtype
    text = f"""
      func.func @main(%a: tensor<70x50x{type}>, %b: tensor<50x70x{type}>) -> tensor<50x70x{type}> {{
        %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<70x50x{type}>) -> tensor<50x70x{type}>
        %1 = stablehlo.add %0, %b : tensor<50x70x{type}>
        return %1 : tensor<50x70x{type}>
      }}
    """
    a, b = np.random.default_rng(0).integers(-3, 4, (2, 3500)).astype(np.float32).astype(dtype)
    check(text, a.reshape(70, 50), b.reshape(50, 70), threads=None)


@pytest.fixture
def past_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of any size are computed in buffers."""
    monkeypatch.setattr(emission_plan, "MIN_NONTEMPORAL_BYTES", 1)
    monkeypatch.setattr(emission_plan, "MIN_COMPUTED_NONTEMPORAL_BYTES", 1)
    monkeypatch.setattr(emission_plan, "MIN_NONTEMPORAL_ROW_BYTES", 1)


@pytest.mark.sampled(share=2)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("past_caches")
def test_random_blocks_past_the_caches(seed: int) -> None:
    check_random_block(seed)


@pytest.mark.sampled(("start", "threads"))
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("start", [0, 1, 5, 64])
@pytest.mark.parametrize("type", ["i8", "bf16", "f32", "complex<f32>", "complex<f64>"])
@pytest.mark.usefixtures("past_caches")
def test_results_past_the_caches_begin_anywhere(type: str, start: int, threads: int) -> None:
    for shape in ((40_001,), (7, 3001), (300, 15), (3, 1)):
        given, row = f"tensor<{'x'.join(map(str, shape))}x{type}>", f"tensor<{shape[-1]}x{type}>"
        block = block_of(f"""
          func.func @main(%a: {given}, %b: {row}) -> ({given}, {given}) {{
            %0 = stablehlo.broadcast_in_dim %b, dims = [{len(shape) - 1}] : ({row}) -> {given}
            %1 = stablehlo.add %a, %0 : {given}
            return %1, %0 : {given}, {given}
          }}
        """)
        nests = [schedule_loops(found) for found in nests_of(block)]
        assert all(emission_plan.buffers_stores(found) for found in nests)
        dtype = ELEMENT_TYPES[type].dtype
        a, b = (np.arange(math.prod(sizes)) % 119 for sizes in (shape, shape[-1:]))
        a, b = a.reshape(shape).astype(dtype), b.astype(dtype)
        results = []
        for _ in range(2):
            memory = aligned(a.nbytes + 100 * dtype.itemsize).view(dtype)
            results.append((memory, memory[start : start + a.size].reshape(shape)))
        NestCode(block, threads).prepare()(a, b, out=tuple(result for _, result in results))
        for (memory, result), want in zip(results, (a + b, np.broadcast_to(b, shape)), strict=True):
            assert result.tobytes() == want.astype(dtype).tobytes()
            assert not memory[:start].any() and not memory[start + a.size :].any()


@pytest.fixture
def without_prefetches(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operand is prefetched, as on Zen 4."""
    monkeypatch.setattr(emission_plan, "avoids_software_prefetch", lambda: True)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.usefixtures("past_caches", "without_prefetches")
def test_random_blocks_past_the_caches_without_prefetches(seed: int) -> None:
    check_random_block(seed)


@pytest.mark.parametrize(
    ("operations", "is_short"),
    [
        (["negate"] * 43, True),
        (["negate"] * 44, False),
        (["exponential"], True),
        (["exponential"] * 2, False),
    ],
)
@pytest.mark.parametrize("prefetches", [True, False])
@pytest.mark.usefixtures("past_caches")
def test_results_of_long_computations_bypass_the_caches_if_operands_are_prefetched(
    operations: list[str], is_short: bool, prefetches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emission_plan, "avoids_software_prefetch", lambda: not prefetches)
    type = "tensor<5000xf32>"
    lines = [f"%{n} = stablehlo.{name} %{n - 1} : {type}" for n, name in enumerate(operations, 1)]
    body = "\n".join([*lines, f"return %{len(operations)} : {type}"])
    (found,) = nests_of(block_of(f"func.func @main(%0: {type}) -> {type} {{\n{body}\n}}"))
    assert emission_plan.buffers_stores(schedule_loops(found)) == (is_short or prefetches)


def test_large_contiguous_operands_are_prefetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emission_plan, "avoids_software_prefetch", lambda: False)
    large, row = "tensor<2048x1024xf32>", "tensor<1024xf32>"
    block = block_of(f"""
      func.func @main(%a: {large}, %b: {row}, %c: {large}) -> {large} {{
        %0 = stablehlo.broadcast_in_dim %b, dims = [1] : ({row}) -> {large}
        %1 = stablehlo.add %0, %a : {large}
        %2 = stablehlo.reverse %c, dims = [1] : {large}
        %3 = stablehlo.multiply %1, %2 : {large}
        return %3 : {large}
      }}
    """)
    (found,) = nests_of(block)
    nest = schedule_loops(found)
    (number,) = emission_plan.prefetched_operands(nest)
    access = nest.accesses[number]
    assert access.array == 0 and access.index_map.strides[-1] == 1
    assert emission_plan.chunk_elements(nest) == 128


def chunk_elements_of_sum(type: str) -> int:
    """The elements of a chunk in a sum of one array."""
    lines = f"%0 = stablehlo.add %a, %a : {type}\nreturn %0 : {type}"
    (found,) = nests_of(block_of(f"func.func @main(%a: {type}) -> {type} {{\n{lines}\n}}"))
    return emission_plan.chunk_elements(schedule_loops(found))


def test_small_operands_are_not_prefetched() -> None:
    assert chunk_elements_of_sum("tensor<1024x1024xf32>") == 0


@pytest.mark.parametrize(
    ("type", "elements"), [("i8", 512), ("f32", 128), ("f64", 128), ("complex<f64>", 128)]
)
@pytest.mark.usefixtures("past_caches")
def test_chunks_of_prefetched_operands_hold_groups_of_vectors(
    type: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emission_plan, "avoids_software_prefetch", lambda: False)
    assert chunk_elements_of_sum(f"tensor<5000x{type}>") == elements


@pytest.mark.usefixtures("past_caches")
def test_results_past_the_caches_may_take_the_place_of_operands() -> None:
    text = """
      func.func @main(%a: tensor<5000xf32>, %b: tensor<5000xf32>) -> tensor<5000xf32> {
        %0 = stablehlo.subtract %a, %b : tensor<5000xf32>
        return %0 : tensor<5000xf32>
      }
    """
    a, b = np.random.default_rng(0).standard_normal((2, 5000)).astype(np.float32)
    for place, wanted in ((a.copy(), a - b), (b.copy(), a - b)):
        operands = (place, b) if place[0] == a[0] else (a, place)
        assert NestCode(block_of(text), 2).prepare()(*operands, out=(place,)).tobytes() == wanted.tobytes()


def aligned(nbytes: int) -> np.ndarray:
    """Memory that begins at a line of cache."""
    memory = np.zeros(nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + nbytes]


def test_many_threads_give_the_same_bits() -> None:
    text = """
      func.func @main(%a: tensor<300000xf32>, %b: tensor<f32>) -> (tensor<300000xf32>, tensor<300000xi1>) {
        %0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<300000xf32>
        %1 = stablehlo.multiply %a, %0 : tensor<300000xf32>
        %2 = stablehlo.add %1, %a : tensor<300000xf32>
        %3 = stablehlo.compare LT, %2, %a : (tensor<300000xf32>, tensor<300000xf32>) -> tensor<300000xi1>
        return %2, %3 : tensor<300000xf32>, tensor<300000xi1>
      }
    """
    values = np.random.default_rng(0).standard_normal(300000).astype(np.float32)
    one = check(text, values, np.array(1.1, np.float32), threads=1)
    for threads in (2, 3, None):
        for a, b in zip(one, check(text, values, np.array(1.1, np.float32), threads=threads), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("operations", "type", "side_by_side"),
    [
        (("sqrt", "negate"), "f32", None),
        (("sqrt", "negate") * 8, "f32", 4),
        (("sqrt", "negate") * 20, "f32", 8),
        (("exponential",), "f32", 8),
        (("exponential",), "bf16", 8),
        (("exponential", "log_plus_one"), "f32", 8),
        (("sine",), "f32", 4),
        (("log", "negate"), "f32", 8),
        (("log", *("negate",) * 6), "f32", 8),
        (("exponential", "log_plus_one"), "bf16", 8),
        (("exponential", "log_plus_one", "sine"), "bf16", 4),
    ],
)
def test_expensive_functions_are_vectorized(
    operations: tuple[str, ...], type: str, side_by_side: int | None
) -> None:
    names = ["a", *map(str, range(len(operations)))]
    lines = [
        f"%{result} = stablehlo.{name} %{operand} : tensor<SIZExTYPE>"
        for name, operand, result in zip(operations, names, names[1:], strict=False)
    ]
    body = "\n".join([*lines, f"return %{names[-1]} : tensor<SIZExTYPE>"])
    text = "func.func @main(%a: tensor<SIZExTYPE>) -> tensor<SIZExTYPE> {\n" + body + "\n}"
    text = text.replace("TYPE", type)
    values = np.random.default_rng(0).standard_normal(300).astype(ELEMENT_TYPES[type].dtype) * 50
    values = values.astype(ELEMENT_TYPES[type].dtype)
    for size in (1, 7, 8, 31, 32, 33, 70, 127, 128, 129, 300):
        check(text.replace("SIZE", str(size)), values[:size])
    (found,) = nests_of(block_of(text.replace("SIZE", "70")))
    counts = re.findall(r'llvm.loop.interleave.count", i32 (\d+)', nest_ir(schedule_loops(found)))
    assert counts == ([] if side_by_side is None else [str(side_by_side)])


@pytest.mark.parametrize(("is_rotation", "side_by_side"), [(False, 8), (True, 4)])
def test_how_many_vectors_of_a_chain_fit_registers(is_rotation: bool, side_by_side: int) -> None:
    """Two results that are live at once, or three."""
    lines = ["%c = stablehlo.constant dense<13> : T", "%d = stablehlo.constant dense<19> : T"]
    value, other = "a", "b"
    for number in range(14):
        lines.append(f"%s{number} = stablehlo.add %{value}, %{other} : T")
        lines.append(f"%l{number} = stablehlo.shift_left %{other}, %c : T")
        if is_rotation:
            lines.append(f"%h{number} = stablehlo.shift_right_logical %{other}, %d : T")
            lines.append(f"%r{number} = stablehlo.or %l{number}, %h{number} : T")
        rotated = f"{'r' if is_rotation else 'l'}{number}"
        lines.append(f"%x{number} = stablehlo.xor %s{number}, %{rotated} : T")
        value, other = f"s{number}", f"x{number}"
    lines.append(f"%end = stablehlo.add %{value}, %{other} : T")
    text = "func.func @main(%a: T, %b: T) -> T {\n" + "\n".join([*lines, "return %end : T"]) + "\n}"
    text = text.replace("T", "tensor<300xui32>")
    values = np.random.default_rng(0).integers(0, 1 << 32, (2, 300), np.uint32)
    check(text, *values)
    (found,) = nests_of(block_of(text))
    counts = re.findall(r'llvm.loop.interleave.count", i32 (\d+)', nest_ir(schedule_loops(found)))
    assert counts == [str(side_by_side)]


def test_operands_of_any_layout() -> None:
    text = """
      func.func @main(%a: tensor<30x40xf64>, %b: tensor<30x40xf64>) -> tensor<30x40xf64> {
        %0 = stablehlo.subtract %a, %b : tensor<30x40xf64>
        return %0 : tensor<30x40xf64>
      }
    """
    whole = np.arange(60 * 80.0).reshape(60, 80)
    unaligned = np.frombuffer(bytes(1) + whole.tobytes(), np.uint8)[1:].view(np.float64).reshape(60, 80)
    for a in (whole[::2, ::2], whole[:40, :30].T, whole[29::-1, :40], unaligned[:30, :40]):
        (result,) = check(text, a, np.broadcast_to(np.float64(3), (30, 40)))
        assert (result == a - 3).all()


def test_results_may_take_the_place_of_operands() -> None:
    text = """
      func.func @main(%a: tensor<5000xf32>, %b: tensor<5000xf32>, %c: tensor<5000xf32>)
          -> (tensor<5000xf32>, tensor<5000xf32>) {
        %r = stablehlo.reverse %c, dims = [0] : tensor<5000xf32>
        %0 = stablehlo.subtract %a, %b : tensor<5000xf32>
        %1 = stablehlo.add %0, %r : tensor<5000xf32>
        %2 = stablehlo.multiply %b, %a : tensor<5000xf32>
        return %1, %2 : tensor<5000xf32>, tensor<5000xf32>
      }
    """
    block = block_of(text)
    assert may_overwrite(block) == ((0, 0), (0, 1), (1, 0), (1, 1))
    a, b, c = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32)
    wanted = check(text, a, b, c)
    code = NestCode(block, 1)
    function = code.prepare()
    assert code.may_overwrite == may_overwrite(block)
    for first, second in ((0, 1), (1, 0), (None, 0), (1, None)):
        taken = [a.copy(), b.copy(), c]
        out = tuple([None if place is None else taken[place] for place in (first, second)])
        results = function(*taken, out=out)
        for result, given, want in zip(results, out, wanted, strict=True):
            assert (given is None or result is given) and result.tobytes() == want.tobytes()


def test_gathers_from_views_of_a_scalar() -> None:
    text = """
      func.func @main(%a: tensor<f32>, %i: tensor<5x2xi32>) -> tensor<5xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
        %1 = "stablehlo.gather"(%0, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
          start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}
          : (tensor<3x4xf32>, tensor<5x2xi32>) -> tensor<5xf32>
        %2 = stablehlo.negate %1 : tensor<5xf32>
        return %2 : tensor<5xf32>
      }
    """
    (result,) = check(text, np.array(7, np.float32), np.arange(-3, 7, dtype=np.int32).reshape(5, 2))
    assert (result == -7).all()


def test_loops_that_separate_indices_together_are_split_in_turn() -> None:
    text = """
      func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
        %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
        %1 = stablehlo.slice %0 [1:5] : (tensor<6xf32>) -> tensor<4xf32>
        %2 = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<2x2xf32>
        %3 = stablehlo.pad %2, %p, low = [0, 0], high = [0, 1], interior = [0, 0]
          : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x3xf32>
        return %3 : tensor<2x3xf32>
      }
    """.replace("%b: tensor<3xf32>)", "%b: tensor<3xf32>, %p: tensor<f32>)")
    check(text, *np.arange(6, dtype=np.float32).reshape(2, 3), np.array(9, np.float32))


@pytest.mark.parametrize(("sizes", "nests"), [((1,) * 9, 3), ((4, 5), 4), ((3, 6), 2), ((2, 2, 2, 3), 5)])
def test_stacks_of_vectors_as_matrices(sizes: tuple[int, ...], nests: int) -> None:
    """Rotation matrices are made so: three rows of three are concatenated elements, also in reverse."""
    names = [f"%a{k}" for k in range(len(sizes))]
    types = [f"tensor<17x{size}xf32>" for size in sizes]
    text = f"""
      func.func @main({", ".join(map(": ".join, zip(names, types, strict=True)))}) -> tensor<17x3x3xf32> {{
        %0 = "stablehlo.concatenate"({", ".join(names)}) {{dimension = 1 : i64}}
          : ({", ".join(types)}) -> tensor<17x9xf32>
        %1 = stablehlo.reshape %0 : (tensor<17x9xf32>) -> tensor<17x3x3xf32>
        %2 = stablehlo.REVERSED %1 : tensor<17x3x3xf32>
        return %2 : tensor<17x3x3xf32>
      }}
    """
    random = np.random.default_rng(0)
    operands = [random.standard_normal((17, size)).astype(np.float32) for size in sizes]
    for operation in ("negate %1", "reverse %1, dims = [1, 2]"):
        block = block_of(text.replace("REVERSED %1", operation))
        assert len(nests_of(block)) <= nests
        check_block(block, *operands)


def test_results_of_several_shapes_have_no_nests() -> None:
    text = """
      func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
        %0 = stablehlo.negate %a : tensor<2x3xf32>
        %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
        return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>
      }
    """
    with pytest.raises(NoCode, match="several shapes"):
        nests_of(block_of(text))


def test_operands_of_another_size_are_refused() -> None:
    function = NestCode(block_of(transposed((2, 3), (1, 0), "f32")), 1).prepare()
    with pytest.raises(ValueError, match="24"):
        function(np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="takes 1"):
        function()


def rolled(n: int, rows: int, columns: int) -> str:
    """Operations that roll `%a` as `numpy.roll` does, and reshape it to one slice of a stack."""
    r, c = -rows % 4, -columns % 6
    return f"""
      %u{n} = stablehlo.slice %a [{r}:4, 0:6] : (tensor<4x6xf32>) -> tensor<{4 - r}x6xf32>
      %d{n} = stablehlo.slice %a [0:{r}, 0:6] : (tensor<4x6xf32>) -> tensor<{r}x6xf32>
      %c{n} = stablehlo.concatenate %u{n}, %d{n}, dim = 0
        : (tensor<{4 - r}x6xf32>, tensor<{r}x6xf32>) -> tensor<4x6xf32>
      %e{n} = stablehlo.slice %c{n} [0:4, {c}:6] : (tensor<4x6xf32>) -> tensor<4x{6 - c}xf32>
      %f{n} = stablehlo.slice %c{n} [0:4, 0:{c}] : (tensor<4x6xf32>) -> tensor<4x{c}xf32>
      %g{n} = stablehlo.concatenate %e{n}, %f{n}, dim = 1
        : (tensor<4x{6 - c}xf32>, tensor<4x{c}xf32>) -> tensor<4x6xf32>
      %r{n} = stablehlo.reshape %g{n} : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
    """


def test_arrays_rolled_by_all_neighbours_are_one_code() -> None:
    """Lattice methods stream so."""
    offsets = [(rows, columns) for rows in (-1, 0, 1) for columns in (-1, 0, 1)]
    names = ", ".join(f"%r{number}" for number in range(9))
    text = f"""
      func.func @main(%a: tensor<4x6xf32>) -> tensor<9x4x6xf32> {{
        {"".join(rolled(number, *offset) for number, offset in enumerate(offsets))}
        %r = stablehlo.concatenate {names}, dim = 0
          : ({", ".join(["tensor<1x4x6xf32>"] * 9)}) -> tensor<9x4x6xf32>
        return %r : tensor<9x4x6xf32>
      }}
    """
    block = block_of(text)
    assert len(nests_of(block)) == 25
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    result = NestCode(block, 1).prepare()(array)
    assert same_bits(result, np.stack([np.roll(array, offset, (0, 1)) for offset in offsets]))


def test_what_takes_too_many_nests_is_told() -> None:
    pieces = MAX_NESTS + 1
    types = ", ".join(["tensor<1xf32>"] * pieces)
    text = f"""
      func.func @main(%a: tensor<1xf32>) -> tensor<{pieces}xf32> {{
        %0 = stablehlo.concatenate {", ".join(["%a"] * pieces)}, dim = 0 : ({types}) -> tensor<{pieces}xf32>
        return %0 : tensor<{pieces}xf32>
      }}
    """
    with pytest.raises(NoCode, match="loop nests"):
        nests_of(block_of(text))


def test_the_first_failing_operation_is_named() -> None:
    def failing(view: Op) -> object:
        def fail(*_: object) -> None:
            raise MemoryError("none left")

        return fail

    block = block_of(transposed((2, 3), (1, 0), "f32"))
    with pytest.raises(nimblehlo.ExecutionError, match=r"stablehlo\.transpose.*not enough memory: none left"):
        lazy_block_baseline(block, failing)(np.zeros((2, 3), np.float32))


def test_long_blocks_are_told_in_short() -> None:
    lines = "\n".join(f"%{n + 1} = stablehlo.negate %{n} : tensor<f32>" for n in range(1, 15))
    text = f"""
      func.func @main(%a: tensor<f32>) -> tensor<f32> {{
        %1 = stablehlo.abs %a : tensor<f32>
        {lines}
        return %15 : tensor<f32>
      }}
    """
    told = names_of(block_of(text))
    assert told.startswith("abs, negate") and told.endswith("negate and 3 more")
