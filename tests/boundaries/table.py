"""How each decision is crossed, and which of them may have other numbers.

`decisions.toml` has a line for each decision that the sources hold (`sources`), in one of these words:

- *fixed*: no decision: bits of formats, coefficients, numbers that stand for something.
- *sizes*: `crossings` has programs of sizes below, at and above the number, which `test_sizes` runs.
- *numbers*: `workload` was seen to take both sides, with numbers as they are, smaller and larger.
- *measured TEST*: that test was seen to take both sides, by `plugin`.
- *named TEST*: that file of tests, or test, is about it; nothing has seen it take both sides.

``python -m tests.boundaries list`` prints them with their numbers and what the sources say of each.
"""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from pathlib import Path

FIXED = """
kernels/simd/atomics.py:_BYTES
kernels/indexing/scatter.py:_MIN_INDEX
kernels/reduction/select_and_scatter_rows.py:NO_CHOICE
kernels/reduction/select_and_scatter.py:_CHOICE_BYTES
kernels/launch/cache_files.py:_DIGEST_BYTES
kernels/reduction/reduce_window_loops.py:_PADDING
kernels/simd/lane_pairs.py:LANE_BLOCK_BYTES
kernels/sorting/sort.py:_KEY_BITS
kernels/*.py:_ALIGNMENT
runtime/compiler/loops/*.py:_ALIGNMENT
runtime/compiler/loops/scalars/interruption.py:STOPPED
runtime/execution/mpi/messages.py:_*_TAG
runtime/program/ops/collectives/replica_groups.py:_NO_ID
runtime/compiler/loops/elementwise/complex64.py:_EXP_REACH
runtime/compiler/loops/llvm/codegen.py:_OPTIMISATION_LEVEL
runtime/compiler/loops/llvm/compiler_processes.py:MAX_PROCESSES
kernels/compiling/child_process.py:END_SECONDS
runtime/compiler/loops/llvm/compiler_processes.py:_PROCESS_BYTES
runtime/compiler/loops/mathematics/*
runtime/compiler/loops/regions/sort.py:_NO_INSERTION
runtime/compiler/loops/llvm/values.py:_*
runtime/checks/explorer/comparison.py:NO_DISTANCE
runtime/checks/explorer/responsibility.py:FAILURE
runtime/program/frontend/bytecode/builtin.py:_UNIFORM*
runtime/program/frontend/bytecode/byte_cursor.pxi:IS_ALIGNED
runtime/program/frontend/bytecode/byte_cursor.pxi:MAX_EXTRA_BYTES
runtime/program/frontend/bytecode/container.py:_BLOB
runtime/program/frontend/bytecode/container_format.py:DIALECT_VERSIONS
runtime/program/frontend/bytecode/container_format.py:FILE_LOCATION
runtime/program/frontend/bytecode/container_format.py:LAZY_REGIONS
runtime/program/frontend/bytecode/container_format.py:USE_LIST_ORDERS
runtime/program/frontend/bytecode/container_format.py:OPTIONAL_ARGUMENT_LOCATIONS
runtime/program/frontend/bytecode/container_format.py:NATIVE_*
runtime/program/frontend/bytecode/values.py:DYNAMIC_SIZE
runtime/program/ops/test_dialects/array_files.py:_NUMPY_OWN
runtime/program/ops/custom_calls/view.py:TYPED_FFI
runtime/program/ops/numerics/result_accuracy.py:*
runtime/program/ops/numerics/special_functions.py:_SPLIT
runtime/program/ops/intermediate/partial_windows.py:OUT_OF_BOUNDS_START
runtime/program/ops/numerics/element_types.py:_MIN_SCALE
runtime/compiler/plan/implementations/ufunc_programs.py:_ALIGNMENT
runtime/inspection/profiling/chrome_trace.py:*
runtime/inspection/profiling/measuring.py:*
runtime/inspection/profiling/work.py:[_m]*
runtime/inspection/profiling/thread_simulation.py:_MIX
kernels/rates/rates.h:RATE_[CPVW]*
runtime/types.py:*
"""
"""Numbers that decide nothing; names, with `*` for any text."""

LIMITS = """
kernels/simd/vectors.py:_MAX_LANES
runtime/compiler/loops/arrays/*.py:MAX_*
runtime/compiler/loops/scalars/*.py:MAX_*
runtime/compiler/loops/reductions/row_tiling.py:MAX_ROW_BUFFER_BYTES
runtime/compiler/loops/nests/loop_schedule.py:MAX_*
runtime/compiler/loops/reductions/reduction_tiling.py:MAX_*
runtime/compiler/loops/reductions/short_rows.py:_MAX_*
runtime/compiler/loops/nests/nest.py:MAX_CONSTANT_STRIDE
runtime/compiler/loops/nests/nest_builder.py:_NARROW
runtime/compiler/plan/implementations/quantized_sums.py:*
runtime/compiler/loops/native_code.py:MAX_SMALL_ELEMENTS
runtime/compiler/fusion/*.py:MAX_*
runtime/compiler/specialize/*.py:MAX_*
runtime/program/ops/reduction/reduce_window_numpy.py:MAX_GATHERED
runtime/program/ops/reduction/reduction_tree_numpy.py:MAX_*
"""
"""Numbers that may be smaller, but not larger: memory on the stack, what code is made for."""

BOUNDS = """
kernels/simd/block_sizes.py:*
kernels/*_loops.py:*
kernels/reduction/scan_panels.py:*
kernels/indexing/scatter_destinations.py:*
kernels/indexing/scatter_slices.py:*
kernels/indexing/scatter_tables.py:*
kernels/indexing/scatter_locations.py:*
kernels/simd/searches.py:*
kernels/reduction/select_and_scatter_rows.py:*
kernels/sorting/sort.py:MAX_POSITIONS
kernels/sorting/top_k.py:MAX_POSITIONS
kernels/sorting/top_k.py:_SPARE_CAPACITY
kernels/reduction/reduce_window.py:CHUNK
runtime/compiler/loops/nests/contiguous_copy.py:*
runtime/compiler/loops/nests/emission_plan.py:TILE_BYTES
runtime/compiler/loops/nests/nontemporal_stores.py:MAX_VECTOR_ITEMSIZE
runtime/compiler/loops/nests/nontemporal_stores.py:BUFFER_BYTES
runtime/compiler/loops/nests/transposition.py:*
runtime/compiler/loops/reductions/vector_reduce.py:VECTOR_BYTES
runtime/compiler/loops/llvm/vector_variants.py:*
runtime/program/frontend/lexer.py:MAX_NESTING
runtime/program/frontend/lexer.py:MAX_INTEGER_DIGITS
runtime/program/frontend/type_parser.py:*
runtime/program/ops/framework/attribute_kinds.py:_MAX_ELEMENTS
runtime/program/ops/reduction/cumulative.py:*
runtime/program/ops/custom_calls/targets.py:*
runtime/program/ops/contraction/low_precision_matmul.py:*
runtime/program/ops/reduction/reduction_tree.py:MAX_INIT_VALUES
runtime/program/ops/numerics/special_functions.py:_MAX_ZETA_EXPONENT
runtime/program/ops/reduction/reduce_window.py:MAX_WINDOW_POSITIONS
runtime/compiler/plan/implementations/ufunc_recorder.py:MAX_OPERANDS
runtime/patterns/operations.py:_SMALL
runtime/inspection/sanitizer/non_finite.py:MIN_WIDTH
runtime/inspection/sanitizer/*.py:MAX_*
runtime/checks/explorer/*.py:MAX_*
runtime/checks/explorer/*.py:MAX_PENDING_PER_WORKER
runtime/compiler/specialize/inline.py:MAX_INLINED_OPERATIONS
runtime/program/ir/printer.py:MAX_SHOWN_ELEMENTS
runtime/program/ir/printer.py:*
"""
"""Numbers that may be no other: results, loops that are compiled with them or errors hang on them."""


@functools.cache
def kind_of(name: str) -> str:
    """The kind of a decision: ``"fixed"``, ``"bound"``, ``"limit"`` or, of those that may have any number,
    ``"choice"``. It says what `choices` may set."""
    if ": " in name or not name.split(":")[0].endswith(".py"):
        return "bound"
    for kind, patterns in (("fixed", FIXED), ("bound", BOUNDS), ("limit", LIMITS)):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return kind
    return "choice"


@functools.cache
def crossings() -> dict[str, str]:
    """How each decision is crossed, by its name."""
    found = tomllib.loads((Path(__file__).parent / "decisions.toml").read_text())
    return {f"{file}:{name}": how for file, names in found.items() for name, how in names.items()}
