"""Sizes on both sides of what loops decide that no interpreter of Python runs, by the name of the decision.

Sizes are computed from the decision's number as the sources have it, so they follow a number that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import nimblehlo
from nimblehlo import Options
from tests.support.running import same_bits

from . import operations as op
from .operations import Case
from .sources import decisions

Cases = Callable[[int, str, str], list[Case]]
"""The cases of a decision with this number, for an element type and a layout of the operands."""


def value_of(name: str) -> int:
    """The number of a decision."""
    return int(decisions()[name].value)


def around(number: int) -> Iterator[int]:
    """The numbers on both sides of a number, and itself."""
    return iter([size for size in (number - 1, number, number + 1) if size > 0])


def _rows(*shape: int) -> Cases:
    """Products of so many rows more or fewer; `shape`: terms and columns."""
    return lambda n, t, o: [op.dot(t, o, 1, rows, *shape) for rows in around(n)]


def _terms(rows: int, columns: int) -> Cases:
    return lambda n, t, o: [op.dot(t, o, 1, rows, terms, columns) for terms in around(n)]


def _columns(rows: int, terms: int) -> Cases:
    return lambda n, t, o: [op.dot(t, o, 1, rows, terms, columns) for columns in around(n)]


def _work(rows: int, columns: int, batch: int = 1) -> Cases:
    """Products whose numbers of multiplications lie around the decision's number."""

    def cases(number: int, type: str, layout: str) -> list[Case]:
        terms = max(1, number // (batch * rows * columns))
        return [op.dot(type, layout, batch, rows, k, columns) for k in around(terms)]

    return cases


_P, _H, _V, _N = (
    f"kernels/matmul/{name}" for name in ("matmul.pyx", "matmul.h", "gemv.pyx", "low_precision_matmul.pyx")
)

MATRICES: dict[str, Cases] = {
    f"{_H}:MATMUL_K_BLOCK": _terms(9, 40),
    f"{_H}:MATMUL_DIRECT_ROWS": _rows(5, 40),
    f"{_H}:MATMUL_COPY_COLUMNS": _columns(20, 1024),
    f"{_H}:MATMUL_LOW_ROWS": _rows(130, 200),
    f"{_H}:MATMUL_LOW_K": _terms(50, 200),
    f"{_H}:MATMUL_PANEL": _work(1, 64),
    f"{_H}:MATMUL_PREFETCH_BYTES": lambda n, t, o: [
        op.dot(t, o, 1, 60, 300, k // 4) for k in (n - 4, n, n + 4)
    ],
    f"{_H}:MATMUL_CACHE_LINE": lambda n, t, o: [op.dot(t, o, 1, 60, 300, k // 4) for k in (n - 4, n, n + 4)],
    f"{_H}:MATMUL_MAX_PREFETCHES": lambda n, t, o: [
        op.dot(t, o, 1, 14 * k, 200, 200) for k in (n - 1, n, n * n + 1)
    ],
    f"{_H}:MATMUL_CACHED_BYTES": lambda n, t, o: [
        op.dot(t, o, 1, 20, k, n // 4 // 256) for k in around(256)
    ],
    f"{_H}:MATMUL_MIN_INTERVAL": lambda n, t, o: [op.dot(t, o, 1, 2, k, 600) for k in around(n)],
    f"{_H}:MATMUL_MAX_INTERVAL": lambda n, t, o: [op.dot(t, o, 1, 13, k, 600) for k in around(n)],
    f"{_H}:MATMUL_UNROLLED_INTERVAL": lambda n, t, o: [op.dot(t, o, 1, 13, k, 600) for k in around(n)],
    f"{_H}:MATMUL_UNROLLED_K": lambda n, t, o: [op.dot(t, o, 1, 13, k, 600) for k in around(n)],
    f"{_P}:WIDTH": _columns(7, 30),
    f"{_P}:ROW_BLOCK": _rows(9, 130),
    f"{_P}:LONG_ROW_BLOCK": _rows(1400, 40),
    f"{_P}:LEFT_BYTES": lambda n, t, o: [op.dot(t, o, 1, 400, n // 4 // 400 + k, 40) for k in (-1, 0, 1)],
    f"{_P}:BLOCK_SUMS": lambda n, t, o: [op.dot(t, o, 1, 512, 3, k) for k in around(n // 512)],
    f"{_P}:MIN_ITEM_FMAS": _work(64, 64),
    f"{_P}:MATRIX_OVERHEAD_FMAS": lambda n, t, o: [op.dot(t, o, k, 4, 8, 32) for k in (255, 256, 257)],
    f"{_P}:TARGET_WORK_ITEMS": lambda n, t, o: [op.dot(t, o, k, 64, 64, 64) for k in around(n)],
    f"{_P}:LARGE_ITEM_FMAS": lambda n, t, o: [op.dot(t, o, 1, 256, n // 65536 + k, 256) for k in (-1, 0, 1)],
    f"{_P}:MIN_ROW_BLOCK": lambda n, t, o: [op.dot(t, o, 1, 2 * k, 70, 64) for k in around(n)],
    f"{_P}:MIN_DIRECT_ROW_BLOCK": lambda n, t, o: [op.dot(t, o, 1, 2 * k, 300, 300) for k in around(n)],
    f"{_P}:MAX_TASKS": lambda n, t, o: [op.dot(t, o, k, 64, 64, 64) for k in around(n)],
    f"{_P}:MAX_SMALL_COMPLEX_FMAS": lambda n, t, o: [
        op.dot("complex<f32>" if t == "f32" else "complex<f64>", o, 1, n // 64 + k, 8, 8) for k in (-1, 0, 1)
    ],
    "kernels/matmul/gemv.h:GEMV_CHAIN_BYTES": lambda n, t, o: [
        op.dot(t, o, 1, *shape) for k in around(n // 4) for shape in ((1, k, 9), (9, k, 1))
    ],
    "kernels/matmul/gemv.h:GEMV_K_BLOCK": lambda n, t, o: [
        op.dot(t, o, 1, *shape) for k in around(n) for shape in ((1, k, 3), (3, k, 1))
    ],
    "kernels/matmul/gemv.h:GEMV_COLUMNS": lambda n, t, o: [
        op.dot(t, o, 1, *shape) for k in around(n) for shape in ((1, 40, k), (k, 40, 1))
    ],
    "kernels/matmul/gemv_tiles.h:TILE_ROWS": lambda n, t, o: [op.dot(t, o, 1, k, 40, 1) for k in around(n)],
    "kernels/matmul/gemv_tiles.h:K_GROUP": lambda n, t, o: [op.dot(t, o, 1, 1, k, 200) for k in around(n)],
    "kernels/matmul/gemv_tiles.h:K_DEPTH": lambda n, t, o: [
        op.dot(t, o, 1, 1, k, 200) for k in around(16 * n)
    ],
    f"{_V}:ROW_MULTIPLE": lambda n, t, o: [op.dot(t, o, 1, 2000 + k, 65, 1) for k in around(n)],
    f"{_V}:TASK_BYTES": lambda n, t, o: [op.dot(t, o, 1, n // 256 + k, 64, 1) for k in (-1, 0, 1)],
    f"{_V}:COLUMN_MULTIPLE": lambda n, t, o: [op.dot(t, o, 1, 1, 20, 256 + k) for k in around(n)],
    "kernels/matmul/matmul_tiles.h:ROWS": lambda n, t, o: [
        op.dot(t, o, 1, k, 20, 40) for r in (6, n) for k in around(r)
    ],
    "kernels/matmul/matmul_tiles.h:VECTORS": lambda n, t, o: [
        op.dot(t, o, 1, 20, 20, k) for k in around(16 * n)
    ],
    "kernels/matmul/matmul_tiles.h:LOW_VECTORS": lambda n, t, o: [
        op.dot(t, o, 1, 3, 20, k) for k in around(16 * n)
    ],
}
"""Products of matrices of floats, which are compared with exact sums as well."""


def _narrow(*sizes: tuple[int, int, int]) -> Cases:
    return lambda n, t, o: [op.dot("bf16", o, 1, *size, result=r) for size in sizes for r in ("bf16", "f32")]


def _bytes(make: Callable[[int], tuple[int, ...]]) -> Cases:
    return lambda n, t, o: [op.dot(s, o, *make(k), result="i32") for k in around(n) for s in ("i8", "ui8")]


def _halves(make: Callable[[int], tuple[int, ...]]) -> Cases:
    return lambda n, t, o: [op.dot("bf16", o, *make(k), result="f32") for k in around(n)]


NARROW: dict[str, Cases] = {
    "kernels/matmul/vector_dots.h:DOTS_K_TILES": _halves(lambda k: (1, 40, 32 * k, 40)),
    "kernels/matmul/vector_dots.h:DOTS_ROWS": lambda n, t, o: [
        op.dot(s, o, 1, k, 70, 40, result=result)
        for k in around(n)
        for s, result in (("bf16", "f32"), ("i8", "i32"), ("ui8", "i32"), ("i16", "i32"))
    ],
    "kernels/matmul/vector_dots.h:DOTS_CHAIN_ROWS": _halves(lambda k: (1, k, 72, 40)),
    "kernels/matmul/vector_dots.h:DOTS_DWORDS": _halves(lambda k: (1, 40, 64, k)),
    "kernels/matmul/low_precision_matmul.h:DOTS_MAX_FUSED_BLOCKS": _halves(lambda k: (1, 32 * k, 64, 200)),
    "kernels/matmul/matrix_unit.h:AMX_K_TILES": _bytes(lambda k: (1, 40, 64 * k, 40)),
    "kernels/matmul/low_precision_matmul.h:LOWP_BLOCK": _bytes(lambda k: (1, k, 64, 40)),
    "kernels/matmul/low_precision_matmul.h:LOWP_TILE_ROW_BYTES": _bytes(lambda k: (1, 40, k, 40)),
    "kernels/matmul/low_precision_matmul.h:LOWP_PACKED_BLOCKS": _halves(lambda k: (1, 40, 64, 32 * k)),
    "kernels/matmul/low_precision_matmul.h:LOWP_MAX_BLOCKS": lambda n, t, o: [
        op.dot(s, o, 1, 160, 32, 32 * k, result=result)
        for k in around(n)
        for s, result in (("bf16", "f32"), ("i8", "i32"))
    ],
    "kernels/matmul/low_precision_matmul.h:LOWP_MAX_GROUP": _halves(lambda k: (1, 40, 520, 32 * k)),
    f"{_N}:PACKING_ROWS": _halves(lambda k: (1, k, 64, 128)),
    f"{_N}:TARGET_WORK_ITEMS": _halves(lambda k: (k, 128, 64, 128)),
    f"{_N}:MIN_DOTS_ITEM_FMAS": _halves(lambda k: (1, 64, k // 4096, 64)),
    f"{_N}:MIN_PACKED_TASK_BYTES": _halves(lambda k: (1, 256, k // 512, 256)),
    f"{_N}:MAX_GROUP_BYTES": _halves(lambda k: (1, 40, 512, k // 1024)),
    f"{_N}:MAX_TASKS": _halves(lambda k: (k, 64, 256, 64)),
}
"""Products of narrow floats and of integers."""

_B = "kernels/simd/block_sizes.py"
REDUCTIONS: dict[str, Cases] = {
    f"{_B}:ARGUMENT_BLOCK": lambda n, t, o: [op.argmax(t, o, (2, k), 1) for k in around(n)],
    "kernels/reduction/arg_reduce.py:_MIN_ROW": lambda n, t, o: [
        op.argmax(t, o, (50, k), 1) for k in around(n)
    ],
    f"{_B}:SCAN_GROUP": lambda n, t, o: [op.cumulative(t, o, (3, k), 1) for k in around(n)],
    f"{_B}:SCAN_BLOCK": lambda n, t, o: [
        op.cumulative(t, o, (3, k), 1, r) for k in around(n) for r in (False, True)
    ],
    f"{_B}:SCAN_LANES": lambda n, t, o: [op.cumulative(t, o, (k, 40), 1) for k in around(n)],
    f"{_B}:SCAN_PANEL": lambda n, t, o: [op.cumulative(t, o, (1, k), 1) for k in around(n)],
    f"{_B}:SCAN_CHUNK": lambda n, t, o: [op.cumulative(t, o, (20, k), 0) for k in around(n)],
    "kernels/simd/block_sizes.py:SCAN_FLAGS": lambda n, t, o: [
        op.cumulative(t, o, (1, 4096 * n + k), 1) for k in (-1, 1)
    ],
    "kernels/reduction/reduce_window.py:CHUNK": lambda n, t, o: [
        op.window(t, o, (3, k + 4), (1, 5), (1, 1)) for k in around(n)
    ],
    "kernels/reduction/reduce_window.py:_MIN_ROW": lambda n, t, o: [
        op.window(t, o, (5, k + 2), (3, 3), (1, 1)) for k in around(n)
    ],
    "kernels/reduction/reduce_window.py:_MIN_WIDE_SCANS": lambda n, t, o: [
        op.cumulative(t, o, (k, 40), 1) for k in around(n)
    ],
    "kernels/reduction/reduce_window.py:_MAX_SHORT_POSITIONS": lambda n, t, o: [
        op.window(t, o, (3, 90), (1, k), (1, 1)) for k in around(n)
    ],
    "kernels/reduction/window_axes.py:MAX_CONSTANT_STRIDE": lambda n, t, o: [
        op.window(t, o, (5, 90), (3, 4), (1, k)) for k in around(n)
    ],
    "kernels/reduction/select_and_scatter_rows.py:MAX_UNROLLED": lambda n, t, o: [
        op.select_and_scatter(t, o, (9, 40), (2, k), (2, 1)) for k in around(n)
    ],
    "kernels/reduction/select_and_scatter_rows.py:MAX_VECTOR_STRIDE": lambda n, t, o: [
        op.select_and_scatter(t, o, (9, 60), (2, k), (2, k)) for k in around(n)
    ],
}
"""Reductions, scans and windows."""

INDEXING: dict[str, Cases] = {
    "kernels/indexing/scatter_loops.py:PREFETCH_DISTANCE": lambda n, t, o: [
        op.scatter(t, o, 50, 1, k) for k in around(n)
    ],
    "kernels/indexing/scatter_loops.py:MIN_PREFETCHED_BYTES": lambda n, t, o: [
        op.scatter(t, o, n // 4 + k, 1, 3000, body) for k in (-1, 0, 1) for body in ("add", "")
    ],
    f"{_B}:INTERLEAVED_TABLES": lambda n, t, o: [op.scatter("i32", o, 5, 1, 50_000 + k) for k in around(n)],
    f"{_B}:CACHE_LINE_BYTES": lambda n, t, o: [
        case
        for k in around(n // 4)
        for case in (
            op.scatter(t, o, 90, k, 300),
            op.cumulative(t, o, (17, k), 1),
            op.select_and_scatter(t, o, (9, k), (2, 2), (2, 2)),
        )
    ],
    "kernels/indexing/scatter_destinations.py:_LANES": lambda n, t, o: [
        op.scatter(t, o, 50, 2, k) for k in around(n)
    ],
    "kernels/indexing/scatter_slice_loops.py:PREFETCHED_CACHE_LINES": lambda n, t, o: [
        op.scatter(t, o, 9, 16, k) for k in around(n)
    ],
    "kernels/indexing/scatter_slice_loops.py:MAX_PREFETCH_LINES": lambda n, t, o: [
        op.scatter(t, o, 90, 16 * k, 99) for k in around(n)
    ],
    "kernels/indexing/scatter_slice_loops.py:CACHED_BYTES": lambda n, t, o: [
        op.scatter(t, o, n // 64 + k, 16, 500) for k in (-1, 0, 1)
    ],
    "kernels/indexing/scatter_slices.py:MAX_COPIED_BYTES": lambda n, t, o: [
        op.scatter(t, o, n // 64 + k, 16, 20_000) for k in (-1, 0, 1)
    ],
    "kernels/indexing/scatter_slices.py:_UNROLLED_VECTORS": lambda n, t, o: [
        op.scatter(t, o, 90, 16 * k + 1, 99) for k in around(n)
    ],
    "kernels/indexing/scatter_locations.py:BLOCK": lambda n, t, o: [
        op.scatter(t, o, 200_000, 1, k) for k in around(n)
    ],
    "kernels/simd/block_sizes.py:SEARCH_BLOCK": lambda n, t, o: [
        op.top_k(t, o, (3, k), 5) for k in around(n)
    ],
    "kernels/simd/searches.py:_UNROLL": lambda n, t, o: [
        op.argmax(t, o, (3, 16 * k + 1), 1) for k in around(n)
    ],
    "kernels/sorting/top_k_loops.py:_SAMPLED_ELEMENTS": lambda n, t, o: [
        op.top_k(t, o, (2, k), 9) for k in around(n)
    ],
    "runtime/program/ops/sorting/top_k_numpy.py:_MIN_LONG_ROW": lambda n, t, o: [
        op.top_k(t, o, (2, k), 5) for k in around(n)
    ],
    "runtime/program/ops/sorting/top_k_numpy.py:_MIN_BLOCKS": lambda n, t, o: [
        op.top_k(t, o, (2, 5000), k) for k in around(n // 2)
    ],
    "runtime/program/ops/sorting/top_k_numpy.py:_MIN_BLOCK": lambda n, t, o: [
        op.top_k(t, o, (2, 5000), k) for k in around(5000 // (2 * n))
    ],
    "runtime/compiler/fusion/small_steps.py:MAX_SLOW_ELEMENTS": lambda n, t, o: [
        op.top_k(t, o, (1, k), 1) for k in around(n)
    ],
}
"""Gathers, scatters, sorts and the largest values."""

_C = "kernels/convolution/convolution_tasks.h"
CONVOLUTIONS: dict[str, Cases] = {
    f"{_C}:CONV_K_BLOCK": lambda n, t, o: [op.convolution(t, o, 1, 60, k, 2, 20) for k in around(n // 2)],
    f"{_C}:CONV_WINDOW_BLOCK": lambda n, t, o: [op.convolution(t, o, 1, k + 2, 5, 3, 20) for k in around(n)],
    f"{_C}:CONV_MAX_WIDTH": lambda n, t, o: [op.convolution(t, o, 1, 20, 5, 3, k) for k in around(n)],
    f"{_C}:CONV_CHANNELS": lambda n, t, o: [op.convolution(t, o, 1, 90, k, 3, k, k) for k in around(n)],
    f"{_C}:CONV_WINDOW_ROWS": lambda n, t, o: [op.convolution(t, o, k, 50, 4, 3, 4, 4) for k in around(n)],
    f"{_C}:CONV_GROUP_WINDOWS": lambda n, t, o: [
        op.convolution(t, o, 1, k + 2, 2 * 64, 3, 64, 64) for k in around(n)
    ],
    f"{_C}:CONV_MAX_ENTRIES": lambda n, t, o: [op.convolution(t, o, 1, 400, 3, k, 3, 3) for k in around(n)],
    "kernels/convolution/convolution_tasks.pyx:MAX_TASKS": lambda n, t, o: [
        op.convolution(t, o, 8 * k, 9, 1, 3, 1, 1) for k in around(n)
    ],
    "kernels/convolution/convolution_tasks.pyx:MIN_PACKED_TASK_BYTES": lambda n, t, o: [
        op.convolution(t, o, 1, 9, n // 1024 + k, 2, 128) for k in (-1, 0, 1)
    ],
}
"""Convolutions."""

TRANSFORMS: dict[str, Cases] = {
    "kernels/fft/fft.h:FFT_MAX_RADIX": lambda n, t, o: [op.fft(t, o, (3, k), "FFT") for k in around(n)],
    "kernels/fft/fft.h:FFT_MAX_PASSES": lambda n, t, o: [
        op.fft(t, o, (2, 2**12), kind) for kind in KINDS
    ],
    "kernels/fft/fft.h:LANES": lambda n, t, o: [
        op.fft(t, o, (k, 60), kind) for k in around(n) for kind in KINDS
    ],
    "kernels/fft/fft.h:FFT_MAX_WORKSPACES": lambda n, t, o: [
        op.fft(t, o, (16 * k, 240)) for k in around(n)
    ],
    "kernels/fft/fft.pyx:MAX_SIZE": lambda n, t, o: [
        op.fft(t, o, (2, k), kind) for k in around(n) for kind in KINDS
    ],
    "kernels/fft/fft.pyx:MAX_TASKS": lambda n, t, o: [op.fft(t, o, (16 * k, 240)) for k in around(n)],
    "kernels/fft/fft.pyx: radix = 3 if twos == 3 or twos > 4 else 2 if twos > 1 else 1": lambda n, t, o: [
        op.fft(t, o, (3, 2**k), kind) for k in range(1, 10) for kind in KINDS
    ],
}
KINDS = ("FFT", "RFFT", "IRFFT")

FUNCTIONS: dict[str, Cases] = {
    "kernels/math/real_functions.h:REAL_FUNCTION_BLOCK": lambda n, t, o: [
        op.elementwise("f64", o, (3, k), [name])
        for k in around(n)
        for name in ("exponential", "tanh", "cbrt")
    ],
    "kernels/math/complex_division.h:QUOTIENT_BLOCK": lambda n, t, o: [
        op.elementwise("complex<f32>", o, (3, k), ["add", "rsqrt"]) for k in around(n)
    ],
    "kernels/math/block_functions.h:ERF_INV_BLOCK": lambda n, t, o: [
        op.elementwise("f64", o, (3, k), ["logistic"]) for k in around(n)
    ],
    "runtime/program/ops/numerics/element_types.py:_BLOCK": lambda n, t, o: [
        op.elementwise("bf16", o, (2, k), ["tanh"]) for k in around(n)
    ],
}
"""Elementwise functions."""

FAMILIES: dict[str, dict[str, Cases]] = {
    "matrices": MATRICES,
    "narrow": NARROW,
    "reductions": REDUCTIONS,
    "indexing": INDEXING,
    "convolutions": CONVOLUTIONS,
    "transforms": TRANSFORMS,
    "functions": FUNCTIONS,
}


def differences(family: str, name: str, type: str, layout: str) -> list[str]:
    """Run a decision's programs; where ways of running differ, or another computation."""
    found: list[str] = []
    for case in FAMILIES[family][name](value_of(name), type, layout):
        module = nimblehlo.load(case.text)
        wanted = nimblehlo.execute(module, case.inputs, options=Options(compile="never"))
        reason = case.differs(wanted[0]) if case.differs else None
        for options in (Options(compile="eager"), Options(compile="eager", threads=1)):
            results = nimblehlo.execute(module, case.inputs, options=options)
            for number, (a, b) in enumerate(zip(wanted, results, strict=True)):
                if not same_bits(a, b):
                    reason = f"result {number} differs with {options}"
        if reason is not None:
            found.append(f"{name}, {case.name}, {layout}: {reason}")
    return found
