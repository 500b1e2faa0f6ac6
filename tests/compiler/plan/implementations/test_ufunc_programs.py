"""Programs on rows: they have the bits of the baseline."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import pytest
from scipy import special

import nimblehlo
from nimblehlo.compiler.implementation import Implementation
from nimblehlo.compiler.plan.choice import numpy_for
from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.compiler.plan.implementations.block_baseline import block_baseline, lazy_block_baseline
from nimblehlo.compiler.plan.implementations.ufunc_programs import COLUMNS_PER_PASS, ufunc_program_of
from nimblehlo.compiler.specialize import specialize
from nimblehlo.program.ir import Block
from nimblehlo.program.ops.intermediate.fusion import FUSION, ROW_FUSION
from nimblehlo.types import ELEMENT_TYPES
from tests.support.timing import least

ADD = """({
^bb0(%l: tensor<T>, %r: tensor<T>):
  %both = stablehlo.add %l, %r : tensor<T>
  stablehlo.return %both : tensor<T>
})"""
MAXIMUM = ADD.replace("stablehlo.add", "stablehlo.maximum")
MINIMUM = ADD.replace("stablehlo.add", "stablehlo.minimum")
ROWS = "dimensions = array<i64: 1>"


def _block(arguments: str, results: str, body: str) -> Block:
    """The block of a program's largest fusion."""
    text = f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"
    function = specialize(nimblehlo.load(text), "main")
    fuse_operations(function, nimblehlo.Options())
    assert function.body is not None
    fusions = [one for one in function.body.walk() if one.name in (FUSION, ROW_FUSION)]
    return max([one.regions[0].block for one in fusions], key=lambda block: len(block.operations))


def _operands(block: Block, seed: int = 0) -> list[Any]:
    """Values of all kinds: of both zeros, NaN and infinities where there are such."""
    random = np.random.default_rng(seed)
    operands = []
    for argument in block.arguments:
        kind: Any = argument.type
        if kind.dtype == np.bool_:
            operands.append(random.random(kind.shape) < 0.5)
        elif kind.dtype.kind in "iu":
            operands.append(random.integers(-9, 9, kind.shape).astype(kind.dtype))
        else:
            values = (random.standard_normal(kind.shape) * 4).astype(kind.dtype)
            for special in (0.0, -0.0, np.inf, -1e9):
                values[random.random(kind.shape) < 0.02] = special
            operands.append(values)
    return operands


def _check(block: Block, operands: list[Any] | None = None, threads: int | None = None) -> None:
    """The program gives what the baseline gives, bit for bit."""
    operands = operands or _operands(block)
    program = ufunc_program_of(block, threads, 1.0)
    assert program is not None
    baseline = block_baseline(block, numpy_for)
    with np.errstate(all="ignore"):
        wanted, found = baseline.function(*operands), program.function(*operands)
        _check_equal(wanted, found)
        for implementation in (baseline, program):
            _check_equal(wanted, _run_in_place(implementation, block, operands))


def _run_in_place(implementation: Implementation, block: Block, operands: list[Any]) -> Any:
    """Results that are written to copies of operands, as far as that is declared."""
    copies = [operand.copy() for operand in operands]
    out: list[Any] = [None] * len(block.terminator.operands)
    for operand, result in implementation.may_overwrite:
        if out[result] is None and not any(array is copies[operand] for array in out):
            out[result] = copies[operand]
    return implementation.function(*copies, out=out)


def _check_equal(wanted: Any, found: Any) -> None:
    """Results have the same bits, but NaN is NaN."""
    wanted, found = (one if isinstance(one, tuple) else (one,) for one in (wanted, found))
    for first, second in zip(wanted, found, strict=True):
        assert first.shape == second.shape and first.dtype == second.dtype
        is_nan = first != first
        assert np.array_equal(is_nan, second != second)
        assert np.where(is_nan, 0, first).tobytes() == np.where(is_nan, 0, second).tobytes()


def _softmax(rows: int, columns: int, dtype: str) -> Block:
    full, kept = f"tensor<{rows}x{columns}x{dtype}>", f"tensor<{rows}x{dtype}>"
    lowest = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}[dtype]
    return _block(
        f"%x: {full}",
        full,
        f"""
        %low = stablehlo.constant dense<{lowest}> : tensor<{dtype}>
        %zero = stablehlo.constant dense<0.0> : tensor<{dtype}>
        %m = "stablehlo.reduce"(%x, %low) {MAXIMUM.replace("T", dtype)} {{{ROWS}}}
            : ({full}, tensor<{dtype}>) -> {kept}
        %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({kept}) -> {full}
        %d = stablehlo.subtract %x, %mb : {full}
        %e = stablehlo.exponential %d : {full}
        %s = "stablehlo.reduce"(%e, %zero) {ADD.replace("T", dtype)} {{{ROWS}}}
            : ({full}, tensor<{dtype}>) -> {kept}
        %sb = stablehlo.broadcast_in_dim %s, dims = [0] : ({kept}) -> {full}
        %r = stablehlo.divide %e, %sb : {full}
        return %r : {full}
        """,
    )


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        ("%r = stablehlo.add %p, %q : T\n%s = stablehlo.multiply %r, %q : T", [(0, 0), (0, 1), (1, 1)]),
        ("%s = stablehlo.multiply %p, %q : T\n%r = stablehlo.add %p, %s : T", [(0, 0), (1, 0), (1, 1)]),
        ("%s = stablehlo.negate %q : T\n%r = stablehlo.tanh %p : T", [(1, 0), (1, 1)]),
        ("%t = stablehlo.tanh %p : T\n%s = stablehlo.add %t, %q : T\n%r = stablehlo.sqrt %q : T",
         [(0, 0), (0, 1), (1, 0)]),
    ],
)  # fmt: skip
def test_a_result_may_overwrite_what_nothing_reads_afterwards(body: str, pairs: list[Any]) -> None:
    """Where the instruction that reads last writes itself, its loop must give the same bits in place."""
    text = f"func.func @main(%p: T, %q: T) -> (T, T) {{\n{body}\nreturn %r, %s : T, T\n}}"
    function = nimblehlo.load(text.replace("T", "tensor<9x300xf32>")).functions["main"]
    assert function.body is not None
    block = function.body.block
    program = ufunc_program_of(block, None, 1.0)
    assert program is not None and sorted(program.may_overwrite) == pairs
    _check(block)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("columns", [64, 65, 257, 1000, 2051])
def test_a_softmax_has_the_bits_of_its_baseline(columns: int, dtype: str) -> None:
    _check(_softmax(7, columns, dtype))


def test_rows_of_zeros_and_of_nan_have_extremes_as_the_baseline_finds_them() -> None:
    block = _softmax(6, 80, "f32")
    operand = np.full((6, 80), -0.0, np.float32)
    operand[1, 3] = 0.0
    operand[2, 5] = np.nan
    operand[3] = -np.inf
    operand[4, 7] = np.inf
    _check(block, [operand])


@pytest.mark.parametrize(("body", "init"), [(MAXIMUM, "0xFF800000"), (MINIMUM, "0x7F800000")])
def test_zeros_have_the_sign_of_the_extreme(body: str, init: str) -> None:
    full = "tensor<4x70xf32>"
    block = _block(
        f"%x: {full}, %y: {full}",
        "tensor<4xf32>, tensor<4x70xf32>",
        f"""
        %init = stablehlo.constant dense<{init}> : tensor<f32>
        %s = stablehlo.multiply %x, %y : {full}
        %m = "stablehlo.reduce"(%s, %init) {body.replace("T", "f32")} {{{ROWS}}}
            : ({full}, tensor<f32>) -> tensor<4xf32>
        return %m, %s : tensor<4xf32>, {full}
        """,
    )
    signs = np.ones((4, 70), np.float32)
    signs[0] = -1
    signs[1, 2] = -1
    signs[2, 69] = 1
    signs[2, :69] = -1
    signs[3, 1:] = -1
    _check(block, [np.zeros((4, 70), np.float32), signs])


@pytest.mark.parametrize("columns", [COLUMNS_PER_PASS - 1, COLUMNS_PER_PASS, 3 * COLUMNS_PER_PASS + 5])
@pytest.mark.parametrize("threads", [1, None])
def test_rows_are_computed_part_by_part_where_nothing_is_reduced(columns: int, threads: int | None) -> None:
    full = f"tensor<9x{columns}xf32>"
    block = _block(
        f"%x: {full}, %b: tensor<{columns}xf32>, %c: tensor<9xf32>, %p: tensor<9x{columns}xi1>",
        f"{full}, {full}",
        f"""
        %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{columns}xf32>) -> {full}
        %cb = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<9xf32>) -> {full}
        %a = stablehlo.add %x, %bb : {full}
        %t = stablehlo.tanh %a : {full}
        %m = stablehlo.multiply %t, %cb : {full}
        %zero = stablehlo.constant dense<0.0> : {full}
        %g = stablehlo.maximum %m, %zero : {full}
        %s = stablehlo.select %p, %g, %x : tensor<9x{columns}xi1>, {full}
        return %s, %m : {full}, {full}
        """,
    )
    _check(block, threads=threads)


def test_integers_and_comparisons_are_computed_too() -> None:
    full = "tensor<5x100xi32>"
    block = _block(
        f"%x: {full}, %y: {full}",
        full,
        f"""
        %c = stablehlo.compare LT, %x, %y : ({full}, {full}) -> tensor<5x100xi1>
        %a = stablehlo.add %x, %y : {full}
        %m = stablehlo.multiply %a, %y : {full}
        %s = stablehlo.select %c, %a, %m : tensor<5x100xi1>, {full}
        return %s : {full}
        """,
    )
    _check(block)


def test_values_that_are_the_same_in_a_row_are_results_too() -> None:
    full = "tensor<6x90xf32>"
    block = _block(
        f"%x: {full}",
        f"{full}, tensor<6xf32>, {full}",
        f"""
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = "stablehlo.reduce"(%x, %zero) {ADD.replace("T", "f32")} {{{ROWS}}}
            : ({full}, tensor<f32>) -> tensor<6xf32>
        %q = stablehlo.sqrt %s : tensor<6xf32>
        %b = stablehlo.broadcast_in_dim %q, dims = [0] : (tensor<6xf32>) -> {full}
        %d = stablehlo.subtract %x, %b : {full}
        return %d, %q, %b : {full}, tensor<6xf32>, {full}
        """,
    )
    _check(block, [np.abs(_operands(block)[0])])


@pytest.mark.parametrize(
    ("arguments", "result", "body"),
    [
        (
            "%x: tensor<800x100xbf16>, %y: tensor<800x100xbf16>",
            "tensor<800x100xbf16>",
            """%a = stablehlo.add %x, %y : tensor<800x100xbf16>
            %r = stablehlo.multiply %a, %y : tensor<800x100xbf16>
            return %r : tensor<800x100xbf16>""",
        ),
        (
            "%x: tensor<10000x8xf32>, %y: tensor<8xf32>",
            "tensor<10000x8xf32>",
            """%b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<10000x8xf32>
            %a = stablehlo.add %x, %b : tensor<10000x8xf32>
            %r = stablehlo.multiply %a, %x : tensor<10000x8xf32>
            return %r : tensor<10000x8xf32>""",
        ),
        (
            "%x: tensor<800x100xf32>, %y: tensor<800x100xf32>",
            "tensor<800x100xf32>",
            """%a = chlo.lgamma %x : tensor<800x100xf32> -> tensor<800x100xf32>
            %r = stablehlo.multiply %a, %y : tensor<800x100xf32>
            return %r : tensor<800x100xf32>""",
        ),
    ],
    ids=["no loop of NumPy's", "few columns", "SciPy"],
)
def test_what_cannot_be_a_program_is_none(arguments: str, result: str, body: str) -> None:
    assert ufunc_program_of(_block(arguments, result, body), None, 1.0) is None


def test_a_first_call_of_a_softmax_compiles_nothing_and_takes_less_than_its_baseline() -> None:
    rows, columns = 1536, 512
    full = f"tensor<{rows}x{columns}xf32>"
    block = _softmax(rows, columns, "f32")
    operand = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)
    program = ufunc_program_of(block, None, 1.0)
    assert program is not None and full == str(block.arguments[0].type)
    baseline = lazy_block_baseline(block, numpy_for)

    def seconds(function: Any) -> float:
        start = time.perf_counter()
        function(operand)
        return time.perf_counter() - start

    def ratio() -> float:
        ours, other = zip(*[(seconds(program.function), seconds(baseline)) for _ in range(7)], strict=True)
        return min(ours) / min(other)

    assert least(ratio, 0.9) < 0.9


def _of_one_operation(name: str, type: str, operands: int) -> str:
    names = ["%x", "%y"][:operands]
    arguments = ", ".join(f"{one}: {type}" for one in names)
    return f"""func.func @main({arguments}) -> {type} {{
      %r = "{name}"({", ".join(names)}) : ({", ".join([type] * operands)}) -> {type}
      return %r : {type}
    }}"""


def _check_bits_and_plan(
    name: str,
    type: str,
    operands: int,
    shape: tuple[int, ...],
    compile: Literal["auto", "eager"],
    is_row: bool,
) -> None:
    """An operation has the bits of its baseline on any number of threads, and runs row by row, or not."""
    text = _of_one_operation(name, f"tensor<{'x'.join(map(str, shape))}x{type}>", operands)
    random = np.random.default_rng(3)
    values = [(random.standard_normal(shape) * 3).astype(ELEMENT_TYPES[type].dtype) for _ in range(operands)]
    module = nimblehlo.load(text)
    want = nimblehlo.execute(module, values, options=nimblehlo.Options(compile="never"))
    for threads in (1, 2, 3):
        executable = nimblehlo.compile(module, options=nimblehlo.Options(compile=compile, threads=threads))
        assert ("row by row" in str(executable.explain())) == is_row
        for got, wanted in zip(executable(*values), want, strict=True):
            assert got.tobytes() == wanted.tobytes()


SHAPES = [(70_001,), (300, 401), (5, 1, 20_000)]


@pytest.mark.parametrize("compile", ["auto", "eager"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "name", ["chlo.asinh", "stablehlo.log", "stablehlo.sine", "stablehlo.sqrt", "stablehlo.tanh"]
)
def test_operations_without_native_code_run_by_their_loops(
    name: str, shape: tuple[int, ...], compile: Literal["auto", "eager"]
) -> None:
    _check_bits_and_plan(name, "complex<f64>", 1, shape, compile, is_row=True)


@pytest.mark.parametrize("compile", ["auto", "eager"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("name", "operands"),
    [("chlo.asinh", 1), ("stablehlo.exponential", 1), ("stablehlo.power", 2), ("stablehlo.tanh", 1)],
)
def test_functions_of_f64_run_by_their_loops_until_they_are_compiled(
    name: str, operands: int, shape: tuple[int, ...], compile: Literal["auto", "eager"]
) -> None:
    _check_bits_and_plan(name, "f64", operands, shape, compile, is_row=compile == "auto")


def test_operations_on_few_elements_keep_the_baseline() -> None:
    executable = nimblehlo.compile(_of_one_operation("stablehlo.tanh", "tensor<1000xcomplex<f64>>", 1))
    assert "[numpy" in str(executable.explain())


@pytest.mark.parametrize("compile", ["auto", "eager", "never"])
def test_scipy_may_raise_as_the_caller_wants(compile: Literal["auto", "eager", "never"]) -> None:
    text = _of_one_operation("chlo.lgamma", "tensor<100000xf64>", 1)
    executable = nimblehlo.compile(text, options=nimblehlo.Options(compile=compile))
    for place in (0, 50_000, 99_999):
        values = np.linspace(1, 3, 100_000)
        values[place] = -1
        with special.errstate(singular="raise"), pytest.raises(nimblehlo.ExecutionError, match="singularity"):
            executable(values)
