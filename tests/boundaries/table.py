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
kernels/atomics.py:_BYTES
kernels/scatter.py:_LEAST_INDEX
kernels/select_and_scatter_lines.py:NOTHING
kernels/select_and_scatter_loops.py:_FIELDS
kernels/select_and_scatter.py:_CHOICE_BYTES
kernels/store.py:_DIGEST_BYTES
kernels/window_loops.py:_FIELDS
kernels/window_loops.py:_PADDING
kernels/memory.py:_PAGE_BYTES
kernels/lane_pairs.py:PIECE_BYTES
kernels/sort.py:_KEY_BITS
kernels/*.py:_ALIGNMENT
runtime/codegen/*.py:_ALIGNMENT
runtime/codegen/arrays/emitter.py:_LINE
runtime/codegen/elementwise_complex.py:_EXP_REACH
runtime/codegen/machine.py:_OPTIMISATION_LEVEL
runtime/codegen/mathematics/*
runtime/codegen/region_sort.py:_LAST
runtime/codegen/values.py:_*
runtime/explorer/differences.py:NO_DISTANCE
runtime/explorer/responsibility.py:FAILURE
runtime/frontend/bytecode.py:_NOT_INSTALLED
runtime/frontend/bytecode.py:_MALFORMED
runtime/ops/array_files.py:_NUMPY_OWN
runtime/ops/custom_call.py:TYPED_FFI
runtime/ops/result_accuracy.py:*
runtime/ops/special_functions.py:_SPLIT
runtime/ops/whole_windows.py:FAR_AWAY
runtime/ops/numerics.py:_LEAST_SCALE
runtime/plan/row_programs.py:_ALIGNMENT
runtime/types.py:*
"""
"""Numbers that decide nothing; names, with `*` for any text."""

LIMITS = """
kernels/vectors.py:_MOST_LANES
runtime/codegen/arrays/*.py:MOST_*
runtime/codegen/blocks/*.py:MOST_*
runtime/codegen/region_*.py:MOST_*
runtime/codegen/row_form.py:MOST_BUFFER_BYTES
runtime/codegen/arrangement.py:MOST_*
runtime/codegen/reduction_form.py:MOST_*
runtime/codegen/short_rows.py:_MOST_*
runtime/codegen/nest.py:MOST_KNOWN_STRIDE
runtime/plan/region_codes.py:_MOST_STACK
runtime/plan/nests.py:_NARROW
runtime/plan/quantized_sums.py:*
runtime/plan/region_functions.py:MOST_SMALL_ELEMENTS
runtime/specialize/*.py:MOST_*
runtime/ops/window_folds.py:MOST_GATHERED
runtime/ops/reduction_tree.py:MOST_*
"""
"""Numbers that may be smaller, but not larger: memory on the stack, what code is made for."""

BOUNDS = """
kernels/blocks.py:*
kernels/*_loops.py:*
kernels/dot.py:_PART
kernels/dot.py:_TERM_BYTES
kernels/folds.py:*
kernels/scan_panels.py:*
kernels/scatter_keys.py:*
kernels/scatter_runs.py:*
kernels/scatter_tables.py:*
kernels/scatter_units.py:*
kernels/searches.py:*
kernels/runs.py:MERGED
kernels/select_and_scatter_lines.py:*
kernels/sort.py:_MOST_POSITIONS
kernels/tiles.py:*
kernels/top_k.py:_MOST_POSITIONS
kernels/top_k.py:_SPARE
kernels/window.py:CHUNK
runtime/codegen/functions.py:*
runtime/codegen/lines.py:*
runtime/codegen/nest.py:TILE_BYTES
runtime/codegen/streaming.py:CACHE_LINE
runtime/codegen/streaming.py:_WIDEST
runtime/codegen/streaming.py:BUFFER_BYTES
runtime/codegen/transposition.py:*
runtime/codegen/vector_folding.py:VECTOR_BYTES
runtime/codegen/vector_variants.py:*
runtime/frontend/dense.py:_MOST_BYTES
runtime/frontend/lexer.py:DEEPEST_NESTING
runtime/frontend/lexer.py:LONGEST_INTEGER
runtime/frontend/type_parser.py:*
runtime/ops/attribute_kinds.py:_MOST_ELEMENTS
runtime/ops/cumulative.py:*
runtime/ops/custom_call_targets.py:*
runtime/ops/float_products.py:PART
runtime/ops/narrow_products.py:*
runtime/ops/reduction_tree.py:MOST_INIT_VALUES
runtime/ops/special_functions.py:_GREAT_EXPONENT
runtime/ops/window.py:MOST_POSITIONS
runtime/plan/row_recorder.py:MOST_OPERANDS
runtime/patterns/operations.py:_SMALL
runtime/sanitizer/non_finite.py:LEAST_WIDTH
runtime/sanitizer/*.py:MOST_*
runtime/explorer/*.py:MOST_*
runtime/explorer/*.py:WAITING
runtime/specialize/inline.py:MOST_OPERATIONS
runtime/explanation.py:*
runtime/ir/printer.py:*
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
