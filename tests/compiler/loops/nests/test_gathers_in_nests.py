"""Gathers within generated loop nests, against their references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo.compiler.loops.llvm.vector_variants import SHORT_ENTRIES
from nimblehlo.compiler.loops.nests import emission_plan
from nimblehlo.compiler.loops.nests import nest_builder as nests
from nimblehlo.compiler.loops.nests.loop_schedule import schedule_loops
from nimblehlo.compiler.loops.nests.nest_code import NestCode
from nimblehlo.compiler.loops.nests.nest_emitter import nest_ir
from nimblehlo.kernels.launch.processor import has_two_register_permute
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.loops.nests.test_nests import aligned, block_of, check
from tests.kernels.indexing.index_cases import Geometry, geometries

Array = np.ndarray[Any, Any]

ELEMENTS = ("i1", "i4", "ui8", "i16", "i32", "i64", "f8E4M3FN", "bf16", "f16", "f32", "f64", "complex<f32>",
            "complex<f64>")  # fmt: skip
INDICES = ("i4", "i8", "i16", "i32", "i64", "ui4", "ui8", "ui16", "ui32", "ui64")


def tensor(shape: Sequence[int], type: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{type}>"


def numbers_of(geometry: Geometry) -> str:
    """The attributes of gather, as text."""
    lists = {name: value for name, value in geometry.gather_attributes().items() if name != "slice_sizes"}
    fields = ", ".join(
        f"{name} = {list(value) if isinstance(value, tuple) else value}" for name, value in lists.items()
    )
    sizes = ", ".join(map(str, geometry.slice_sizes))
    slice_sizes = f"array<i64: {sizes}>" if sizes else "array<i64>"
    return f"{{dimension_numbers = #stablehlo.gather<{fields}>, slice_sizes = {slice_sizes}}}"


def program(geometry: Geometry, type: str, index_type: str, epilogue: str = "", prologue: str = "") -> str:
    """A gather of %x at %i; `epilogue` makes %r from %g of the type !r, `prologue` %s from %i."""
    x, i = tensor(geometry.operand_shape, type), tensor(geometry.indices_shape, index_type)
    result = tensor(geometry.slices_shape, type)
    start, end = "%s" if prologue else "%i", "%r" if epilogue else "%g"
    return f"""
      func.func @main(%x: {x}, %i: {i}) -> {result} {{
        {prologue.replace("!i", i)}
        %g = "stablehlo.gather"(%x, {start}) {numbers_of(geometry)} : ({x}, {i}) -> {result}
        {epilogue.replace("!r", result)}
        return {end} : {result}
      }}
    """


def elements(rng: np.random.Generator, shape: Sequence[int], type: str) -> Array:
    """Elements of a type, special ones among them."""
    dtype = ELEMENT_TYPES[type].dtype
    if type.startswith(("f", "bf", "complex")):
        special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e30], shape)
        values = np.where(rng.random(shape) < 0.2, special, rng.standard_normal(shape) * 8)
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(dtype)
    if type == "i4":
        return rng.integers(-8, 8, shape).astype(dtype)
    if type == "i1":
        return rng.integers(0, 2, shape).astype(dtype)
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


def starts(rng: np.random.Generator, shape: Sequence[int], type: str, size: int = 4) -> Array:
    """Indices within and outside of a dimension of about that size, and the extreme ones of their type."""
    element_type = ELEMENT_TYPES[type]
    is_signed = not type.startswith("u")
    least = -(1 << (element_type.width - 1)) if is_signed else 0
    greatest = (1 << (element_type.width - is_signed)) - 1
    near = rng.integers(max(least, -3), min(greatest, size + 2), shape, endpoint=True)
    kind = np.int64 if is_signed else np.uint64
    far = rng.choice(np.array([least, greatest, greatest // 2 + 1], kind), shape)
    return np.where(rng.random(shape) < 0.15, far, near.astype(kind)).astype(element_type.dtype)


MULTIPLIED = "%r = stablehlo.multiply %g, %g : !r"
DOUBLED = "%s = stablehlo.add %i, %i : !i"


@settings(max_examples=120, deadline=None)
@given(geometries(least_size=1), st.sampled_from(ELEMENTS), st.sampled_from(INDICES), st.integers(0, 2**32))
def test_any_dimension_numbers(geometry: Geometry, type: str, index_type: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operand = elements(rng, geometry.operand_shape, type)
    check(program(geometry, type, index_type), operand, starts(rng, geometry.indices_shape, index_type))


PAIRS = Geometry((40, 50), (2, 7, 90), (7, 90), (), (0, 1), (), (), (1, 0), 0, (1, 1))
ALONG_LAST = Geometry((9, 50), (9, 130, 1), (9, 130), (), (1,), (0,), (0,), (1,), 2, (1, 1))
ALONG_FIRST = Geometry((50, 130), (9, 130), (9, 130), (), (0,), (1,), (1,), (0,), 2, (1, 1))
OFFSET_FIRST = Geometry((12, 50), (130,), (12, 130), (0,), (1,), (), (), (1,), 1, (12, 1))
LINES = Geometry((60, 40), (70,), (70, 33), (1,), (0,), (), (), (0,), 1, (1, 33))
WINDOWS = Geometry((60, 40), (70, 2), (70, 5, 20), (1, 2), (), (), (), (0, 1), 1, (5, 20))
ACROSS = Geometry((60, 40), (300, 1), (20, 300), (0,), (0,), (), (), (0,), 1, (1, 20))
LARGER = [PAIRS, ALONG_LAST, ALONG_FIRST, OFFSET_FIRST, LINES, WINDOWS, ACROSS]


@pytest.mark.sampled
@pytest.mark.parametrize("geometry", LARGER)
@pytest.mark.parametrize("type", ELEMENTS)
def test_element_types(geometry: Geometry, type: str) -> None:
    rng = np.random.default_rng(0)
    operand = elements(rng, geometry.operand_shape, type)
    check(program(geometry, type, "i32"), operand, starts(rng, geometry.indices_shape, "i32", 50))


@pytest.mark.sampled
@pytest.mark.parametrize("geometry", LARGER)
@pytest.mark.parametrize("index_type", INDICES)
def test_index_types(geometry: Geometry, index_type: str) -> None:
    rng = np.random.default_rng(0)
    operand = elements(rng, geometry.operand_shape, "f32")
    check(program(geometry, "f32", index_type), operand, starts(rng, geometry.indices_shape, index_type, 50))


@pytest.mark.parametrize("index_type", ["i8", "ui32", "i64", "ui64"])
def test_places_beyond_32_bits(index_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "_NARROW", 1)
    rng = np.random.default_rng(0)
    for geometry in LARGER:
        operand = elements(rng, geometry.operand_shape, "f32")
        indices = starts(rng, geometry.indices_shape, index_type, 50)
        check(program(geometry, "f32", index_type), operand, indices)
        check(program(geometry, "f32", index_type, MULTIPLIED, DOUBLED), operand, indices)


@pytest.mark.sampled
@pytest.mark.parametrize("length", [2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129])
@pytest.mark.parametrize("type", ["i1", "bf16", "f32", "complex<f32>", "complex<f64>"])
def test_lines_of_any_length(length: int, type: str) -> None:
    rng = np.random.default_rng(length)
    geometry = Geometry((40, 140), (50, 2), (50, 2, length), (1, 2), (), (), (), (0, 1), 1, (2, length))
    operand = elements(rng, geometry.operand_shape, type)
    check(program(geometry, type, "i32"), operand, starts(rng, geometry.indices_shape, "i32", 50))


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("length", "is_streamed"), [(8, True), (16, True), (48, True), (640, True), (20, False)]
)
@pytest.mark.parametrize("start", [0, 4, 64])
def test_large_results_of_lines_go_past_the_caches(
    threads: int, length: int, is_streamed: bool, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emission_plan, "nontemporal_store_bytes", lambda gathered: 1)
    rng = np.random.default_rng(length)
    geometry = Geometry((40, length), (30, 7), (30, 7, length), (2,), (0,), (), (), (0,), 2, (1, length))
    operand = elements(rng, geometry.operand_shape, "f32")
    indices = starts(rng, geometry.indices_shape, "i32", 40)
    text = program(geometry, "f32", "i32")
    (wanted,) = check(text, operand, indices, threads=threads)
    block = block_of(text)
    assert all(
        emission_plan.uses_nontemporal_stores(schedule_loops(found)) == is_streamed
        for found in nests.nests_of(block)
    )
    memory = aligned(wanted.nbytes + 128).view(np.float32)
    out = memory[start // 4 : start // 4 + wanted.size].reshape(wanted.shape)
    NestCode(block, threads).prepare()(operand, indices, out=(out,))
    assert out.tobytes() == wanted.tobytes()
    assert not memory[: start // 4].any() and not memory[start // 4 + wanted.size :].any()


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("type", "index_type"), [("f32", "i32"), ("i8", "ui8"), ("complex<f64>", "i64")])
@pytest.mark.parametrize("size", [1, 342, 512, 513, 20_001])
def test_indices_that_are_read_in_order(size: int, type: str, index_type: str, threads: int) -> None:
    rng = np.random.default_rng(size)
    geometry = Geometry((50,), (3, size), (3, size), (), (0,), (), (), (0,), 2, (1,))
    text = program(geometry, type, index_type, MULTIPLIED if type == "f32" else "")
    operand = elements(rng, geometry.operand_shape, type)
    check(text, operand, starts(rng, geometry.indices_shape, index_type, 50), threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("epilogue", ["", MULTIPLIED])
@pytest.mark.parametrize("prologue", ["", DOUBLED])
def test_what_indices_and_results_need_is_computed_with_them(
    threads: int, epilogue: str, prologue: str
) -> None:
    rng = np.random.default_rng(0)
    for geometry in LARGER:
        text = program(geometry, "f32", "i16", epilogue, prologue)
        operand = elements(rng, geometry.operand_shape, "f32")
        check(text, operand, starts(rng, geometry.indices_shape, "i16", 50), threads=threads)


def test_indices_that_are_the_operand() -> None:
    geometry = Geometry((300,), (300,), (300,), (), (0,), (), (), (0,), 1, (1,))
    values = np.random.default_rng(0).integers(-2, 303, 300).astype(np.int32)
    text = program(geometry, "i32", "i32").replace("(%x, %i)", "(%x, %x)")
    check(text, values, values)


def test_one_element() -> None:
    text = """
      func.func @main(%x: tensor<7x9xf32>, %i: tensor<2xi8>) -> tensor<1x1xf32> {
        %g = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<
          collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 0>,
          slice_sizes = array<i64: 1, 1>} : (tensor<7x9xf32>, tensor<2xi8>) -> tensor<f32>
        %r = stablehlo.reshape %g : (tensor<f32>) -> tensor<1x1xf32>
        return %r : tensor<1x1xf32>
      }
    """
    operand = np.arange(63, dtype=np.float32).reshape(7, 9)
    (result,) = check(text, operand, np.array([5, 100], np.int8))
    assert result == operand[5, 8]


def test_other_sizes_share_their_code() -> None:
    keys = set()
    for size in (40, 70):
        geometry = Geometry((size, 50), (size, 1), (size,), (), (0, 1), (), (), (0,), 1, (1, 1))
        keys.add(NestCode(block_of(program(geometry, "f32", "i32")), 1).key)
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("rows", "length", "lines"),
    [(2050, 128, 8), (2048, 128, 0), (4099, 64, 4), (4096, 64, 0), (131_200, 2, 1), (300_000, 1, 0)],
)
def test_slices_of_large_operands_are_prefetched(rows: int, length: int, lines: int) -> None:
    """Wherever the indices lie; gathers of single elements have vectors of them."""
    rng = np.random.default_rng(length)
    geometry = Geometry((rows, length), (300, 1), (300, length), (1,), (0,), (), (), (0,), 1, (1, length))
    text = program(geometry, "f32", "i32")
    (found,) = nests.nests_of(block_of(text))
    assert nest_ir(schedule_loops(found)).count('call void @"llvm.prefetch') == lines
    indices = starts(rng, geometry.indices_shape, "i32", rows)
    check(text, elements(rng, geometry.operand_shape, "f32"), indices, threads=None)


@pytest.mark.parametrize("batches", [8, 9])
def test_slices_of_batches_are_prefetched(batches: int) -> None:
    """What all batches gather from counts."""
    rng = np.random.default_rng(batches)
    geometry = Geometry(
        (batches, 1024, 32), (batches, 50, 1), (batches, 50, 32), (2,), (1,), (0,), (0,), (1,), 2, (1, 1, 32)
    )
    text = program(geometry, "f32", "i32")
    (found,) = nests.nests_of(block_of(text))
    count = nest_ir(schedule_loops(found)).count('call void @"llvm.prefetch')
    assert count == (2 if batches == 9 else 0)
    indices = starts(rng, geometry.indices_shape, "i32", 1024)
    check(text, elements(rng, geometry.operand_shape, "f32"), indices, threads=None)


@pytest.mark.parametrize("entries", [2, 7, SHORT_ENTRIES // 2 + 1, SHORT_ENTRIES, SHORT_ENTRIES + 1])
@pytest.mark.parametrize("type", ["f32", "i32", "ui32", "f64", "bf16"])
@pytest.mark.parametrize("index_type", ["i32", "ui8", "i64"])
@pytest.mark.parametrize("count", [emission_plan.MIN_LOOKUPS - 1, emission_plan.MIN_LOOKUPS + 33])
def test_tables(entries: int, type: str, index_type: str, count: int) -> None:
    """Arrays of few elements are read in registers; indices out of bounds are clamped."""
    geometry = Geometry((entries,), (count, 1), (count,), (), (0,), (), (), (0,), 1, (1,))
    rng = np.random.default_rng(entries)
    given = elements(rng, (entries,), type), starts(rng, (count, 1), index_type, entries)
    epilogue = "%r = stablehlo.add %g, %g : !r" if index_type == "i32" else ""
    text = program(geometry, type, index_type, epilogue)
    check(text, *given)
    (nest,) = map(schedule_loops, nests.nests_of(block_of(text)))
    is_short = entries <= SHORT_ENTRIES and type in ("f32", "i32", "ui32")
    has_table = is_short and count >= emission_plan.MIN_LOOKUPS
    assert bool(emission_plan.tables(nest)) == (has_table and has_two_register_permute())
