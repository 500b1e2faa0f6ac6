"""Loops of vectors: they give the bits of the loops that they are made of, and write nothing else."""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

import nimblehlo
from nimblehlo.compiler.loops.llvm import machine, vector_loops
from nimblehlo.compiler.loops.llvm.codegen import CodeGenerator
from nimblehlo.compiler.loops.llvm.loops import GuardedLoop, Loop
from nimblehlo.compiler.loops.llvm.module_text import text_of
from nimblehlo.compiler.loops.llvm.values import F32, F64, I8, I32, I64, POINTER, call
from nimblehlo.compiler.loops.llvm.vector_loops import (
    _MAX_LOADED_VECTORS,
    _MAX_STORED_STRIDE,
    _MIN_LANES,
    QuickVectorLoop,
    add_quick_vectors,
    add_vectors,
)
from nimblehlo.kernels.compiling import object_code
from nimblehlo.kernels.launch.processor import vector_bytes
from tests.support.running import same_bits

pytestmark = pytest.mark.usefixtures("empty_cache")

Array = np.ndarray[Any, Any]
Emit = Callable[[ir.IRBuilder, ir.Value, Sequence[ir.Value]], None]
"""Emits the body for an index, and the pointers to a result and two operands."""

COUNTS = [1, 3, 4, 5, 7, 8, 15, 16, 17, 20, 31, 33, 64, 70, 129]
TYPES = {F32: np.float32, F64: np.float64, I32: np.int32, I8: np.int8}
SPARE = 8
"""Elements around an array that no loop may write."""
_GENERATOR = CodeGenerator()


def function() -> tuple[ir.IRBuilder, Sequence[ir.Value]]:
    """The beginning of `void f(ptr noalias result, ptr x, ptr y, i64 stop)`."""
    made = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [POINTER] * 3 + [I64]), "f")
    made.args[0].add_attribute("noalias")
    return ir.IRBuilder(made.append_basic_block("entry")), made.args


def module_with_vectors(emit: Emit, count: int) -> ir.Module:
    """A module with a loop over [0, count), of vectors if it can be."""
    builder, (*pointers, _) = function()
    loop = Loop(builder, I64(0), I64(count))
    with loop as index:
        emit(builder, index, pointers)
    add_vectors(loop, count)
    builder.ret_void()
    return builder.module


def module_of(emit: Emit, count: int) -> str:
    """Its text."""
    return str(module_with_vectors(emit, count))


def scalar_module_of(emit: Emit, count: int) -> str:
    """The module with the loop as it is."""
    builder, (*pointers, _) = function()
    with Loop(builder, I64(0), I64(count)) as index:
        emit(builder, index, pointers)
    builder.ret_void()
    return str(builder.module)


def run(code: bytes, arrays: Sequence[Array], stop: int = 0) -> None:
    """Call the function of machine code."""
    (address,) = object_code.load(code, ["f"], {})
    f = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(address)
    f(*[array[SPARE:].ctypes.data for array in arrays], stop)


def arrays_of(dtype: Any, size: int) -> list[Array]:
    """A result and two operands, with spare elements."""
    rng = np.random.default_rng(size)
    return [rng.integers(-100, 100, size + 2 * SPARE).astype(dtype) for _ in range(3)]


def check(emit: Emit, dtype: Any, count: int, size: int) -> str:
    """The module with vectors, whose code does what that of the loop does, optimized or not."""
    given = arrays_of(dtype, size)
    text = module_of(emit, count)
    results = []
    for code in (
        _GENERATOR.compile_quickly(scalar_module_of(emit, count), []),
        _GENERATOR.compile_quickly(text, []),
        _GENERATOR.compile(text),
    ):
        arrays = [array.copy() for array in given]
        run(code, arrays)
        results.append(arrays)
    for arrays in results[1:]:
        assert all(same_bits(array, other) for array, other in zip(arrays, results[0], strict=True))
    return text


def element(builder: ir.IRBuilder, pointer: ir.Value, index: ir.Value, type: ir.Type) -> ir.Value:
    """The address of an element."""
    return builder.gep(pointer, [index], inbounds=True, source_etype=type)


def at(builder: ir.IRBuilder, index: ir.Value, stride: int, offset: int) -> ir.Value:
    """index * stride + offset."""
    return builder.add(builder.mul(index, I64(stride)), I64(offset))


def expected_lanes(count: int, itemsize: int, in_place: bool) -> int:
    """The lanes of the vectors for so many elements; 0: there are none."""
    most = min(count, vector_bytes() // itemsize)
    lanes = next((lanes for lanes in (64, 32, 16, 8, 4) if lanes <= most), 0)
    has_rest = in_place and lanes > 0 and count % lanes != 0
    return 0 if lanes < _MIN_LANES or (has_rest and count < 2 * lanes) else lanes


def lanes_of(text: str) -> set[int]:
    """The numbers of lanes that a module stores."""
    return {int(lanes) for lanes in re.findall(r"store <(\d+) x", text)}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("in_place", [False, True])
def test_all_elements_are_computed_once_in_effect(count: int, type: ir.Type, in_place: bool) -> None:
    dtype = TYPES[type]
    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, y = pointers
        sources = (result if in_place else x, y)
        a, b = [builder.load(element(builder, one, index, type), typ=type) for one in sources]
        is_float = type in (F32, F64)
        total = builder.fadd(a, b) if is_float else builder.add(a, b)
        less = builder.fcmp_ordered("<", a, b) if is_float else builder.icmp_signed("<", a, b)
        chosen = builder.select(less, total, type(3))
        stored = call(builder, "llvm.fabs", chosen) if is_float else chosen
        builder.store(stored, element(builder, result, index, type))

    text = check(emit, dtype, count, count)
    expected = expected_lanes(count, np.dtype(dtype).itemsize, in_place)
    assert lanes_of(text) == ({expected} if expected else set())
    has_rest = bool(expected) and count % expected != 0
    assert (text.count(" = phi") == 2) == (has_rest and in_place), "elements are computed again over operands"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 8, _MAX_LOADED_VECTORS + 1])
def test_elements_at_constant_distances_are_loaded(count: int, stride: int) -> None:
    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, _ = pointers
        value = builder.load(element(builder, x, at(builder, index, stride, stride - 1), F32), typ=F32)
        builder.store(value, element(builder, result, index, F32))

    text = check(emit, np.float32, count, count * stride)
    assert bool(lanes_of(text)) == (count >= _MIN_LANES and stride <= _MAX_LOADED_VECTORS)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("stride", range(1, _MAX_STORED_STRIDE + 2))
@pytest.mark.parametrize("is_complete", [True, False])
def test_neighbours_are_stored_together(count: int, stride: int, is_complete: bool) -> None:
    stored = list(range(stride))[::-1][: None if is_complete else -1]

    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, y = pointers
        for number in stored:
            source = x if number % 2 else y
            value = builder.load(element(builder, source, index, I32), typ=I32)
            value = builder.add(value, I32(number))
            builder.store(value, element(builder, result, at(builder, index, stride, number), I32))

    text = check(emit, np.int32, count, count * stride)
    is_vector = count >= _MIN_LANES and stride <= _MAX_STORED_STRIDE and is_complete
    assert bool(lanes_of(text)) == is_vector


def test_what_is_the_same_in_all_iterations_is_repeated() -> None:
    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, y = pointers
        first = builder.load(element(builder, y, I64(0), I64), typ=I64)
        value = builder.load(element(builder, x, index, I64), typ=I64)
        value = builder.add(builder.add(value, first), at(builder, index, 3, 5))
        builder.store(value, element(builder, result, index, I64))

    assert lanes_of(check(emit, np.int64, 21, 21)) == {vector_bytes() // 8}


COMPLEX = ir.LiteralStructType([F32, F32])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("in_place", [False, True])
def test_complex_elements_are_pairs(count: int, in_place: bool) -> None:
    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, y = pointers
        addresses = [
            element(builder, one, index, COMPLEX) for one in (result if in_place else x, y, result)
        ]
        components = [
            [builder.gep(one, [I32(0), I32(k)], source_etype=COMPLEX) for k in range(2)] for one in addresses
        ]
        (a, b), (c, d) = [[builder.load(one, typ=F32) for one in pair] for pair in components[:2]]
        builder.store(builder.fsub(builder.fmul(a, c), builder.fmul(b, d)), components[2][0])
        builder.store(builder.fadd(builder.fmul(a, d), builder.fmul(b, c)), components[2][1])

    lanes = lanes_of(check(emit, np.float32, count, 2 * count))
    assert bool(lanes) == bool(expected_lanes(count, 4, in_place))


def test_neighbours_that_are_read_after_one_is_stored_remain() -> None:
    def emit(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
        result, x, _ = pointers
        first, second = [element(builder, result, at(builder, index, 2, k), I32) for k in range(2)]
        builder.store(builder.load(element(builder, x, index, I32), typ=I32), first)
        builder.store(builder.add(builder.load(first, typ=I32), I32(1)), second)

    assert not lanes_of(check(emit, np.int32, 20, 40))


def emit_gather(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
    result, x, y = pointers
    chosen = builder.load(element(builder, x, index, I32), typ=I32)
    place = builder.and_(builder.zext(chosen, I64), I64(7))
    value = builder.load(element(builder, y, place, I32), typ=I32)
    builder.store(value, element(builder, result, index, I32))


def emit_one_element(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
    result, x, _ = pointers
    value = builder.load(element(builder, x, index, I32), typ=I32)
    builder.store(value, element(builder, result, I64(0), I32))


def emit_reversed(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
    result, x, _ = pointers
    value = builder.load(element(builder, x, at(builder, index, -1, 19), I32), typ=I32)
    builder.store(value, element(builder, result, index, I32))


def emit_rows(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
    result, x, y = pointers
    second = builder.add(builder.load(element(builder, y, I64(0), I32), typ=I32), I32(1))
    row = element(builder, x, index, I32)
    value = builder.load(element(builder, row, builder.and_(builder.zext(second, I64), I64(1)), I32), typ=I32)
    builder.store(value, element(builder, result, index, I32))


@pytest.mark.parametrize("emit", [emit_gather, emit_one_element, emit_reversed, emit_rows])
def test_other_bodies_remain(emit: Emit) -> None:
    assert not lanes_of(check(emit, np.int32, 20, 20))


def emit_product(builder: ir.IRBuilder, index: ir.Value, pointers: Sequence[ir.Value]) -> None:
    result, x, y = pointers
    a, b = [builder.load(element(builder, one, index, F32), typ=F32) for one in (x, y)]
    builder.store(builder.fmul(a, b), element(builder, result, index, F32))


@pytest.mark.parametrize("stop", [0, *COUNTS])
@pytest.mark.parametrize("is_guarded", [False, True])
def test_loops_that_llvm_makes_vectors_of_have_their_own_in_quick_code(stop: int, is_guarded: bool) -> None:
    builder, (*pointers, end) = function()
    if is_guarded:
        loop = GuardedLoop(builder, "element", I64(0), end)
        emit_product(loop.builder, loop.index, pointers)
        loop.close()
        add_quick_vectors(loop)
    else:
        with (
            builder.if_then(builder.icmp_signed(">", end, I64(0))),
            QuickVectorLoop(builder, I64(0), end, rolled=True) as index,
        ):
            emit_product(builder, index, pointers)
    builder.ret_void()
    text = str(builder.module)
    assert lanes_of(text) == {vector_bytes() // 4} and vector_loops.quick_text(text) != text
    given = arrays_of(np.float32, stop)
    for code in (_GENERATOR.compile_quickly(text, []), _GENERATOR.compile(text)):
        arrays = [array.copy() for array in given]
        run(code, arrays, stop)
        inside = slice(SPARE, SPARE + stop)
        given[0][inside] = given[1][inside] * given[2][inside]
        assert all(same_bits(array, other) for array, other in zip(arrays, given, strict=True))


@pytest.mark.parametrize("count", [16, 19])
def test_no_objects_wait_for_the_collector(count: int) -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            module = module_with_vectors(emit_product, count)
            text_of(module)
        del module
        left = [one for one in gc.get_objects() if isinstance(one, (ir.Block, ir.Instruction))]
    finally:
        gc.enable()
    assert not left


LOOP = """
func.func @main(%x: tensor<{n}x3xf32>, %k: tensor<{n}xi32>) -> (tensor<{n}x3xf32>, tensor<{n}xi32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<5> : tensor<i32>
  %some = stablehlo.constant dense<0.3> : tensor<{n}x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %out:3 = stablehlo.while(%i = %zero, %a = %x, %b = %k)
    : tensor<i32>, tensor<{n}x3xf32>, tensor<{n}xi32> cond {{
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %e = stablehlo.exponential %a : tensor<{n}x3xf32>
    %l = stablehlo.logistic %e : tensor<{n}x3xf32>
    %r = stablehlo.remainder %l, %some : tensor<{n}x3xf32>
    %s = stablehlo.reduce(%r init: %none) applies stablehlo.add across dimensions = [1]
      : (tensor<{n}x3xf32>, tensor<f32>) -> tensor<{n}xf32>
    %w = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<{n}xf32>) -> tensor<{n}x3xf32>
    %t = stablehlo.tanh %w : tensor<{n}x3xf32>
    %m = stablehlo.maximum %t, %r : tensor<{n}x3xf32>
    %c = stablehlo.convert %s : (tensor<{n}xf32>) -> tensor<{n}xi32>
    %d = stablehlo.add %b, %c : tensor<{n}xi32>
    %p = stablehlo.slice %m [0:{n}, 0:2] : (tensor<{n}x3xf32>) -> tensor<{n}x2xf32>
    %q = stablehlo.slice %r [0:{n}, 2:3] : (tensor<{n}x3xf32>) -> tensor<{n}x1xf32>
    %z = stablehlo.concatenate %q, %p, dim = 1 : (tensor<{n}x1xf32>, tensor<{n}x2xf32>) -> tensor<{n}x3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %z, %d : tensor<i32>, tensor<{n}x3xf32>, tensor<{n}xi32>
  }}
  return %out#1, %out#2 : tensor<{n}x3xf32>, tensor<{n}xi32>
}}
"""


@pytest.mark.parametrize("count", [5, 16, 21, 64])
def test_a_loop_gives_the_same_bits_by_quick_code(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    x = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
    k = np.arange(count, dtype=np.int32)
    key_of, texts = machine.key_of, list[str]()

    def compiled_quickly(self: CodeGenerator, text: str, fast_compile: bool = False) -> bytes:
        texts.append(text)
        return self.compile_quickly(text, [])

    machine.compile_here()
    results = []
    for mode in ("never", "eager", "quick"):
        # Otherwise all share the code that is loaded first.
        monkeypatch.setattr(machine, "key_of", lambda description, mode=mode: key_of(mode + description))
        if mode == "quick":
            monkeypatch.setattr(CodeGenerator, "compile", compiled_quickly)
        options = nimblehlo.Options(compile="never" if mode == "never" else "eager", threads=1)
        results.append(nimblehlo.compile(LOOP.format(n=count), options=options)(x, k))
    assert any(lanes_of(text) for text in texts)
    for others in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(results[0], others, strict=True))
