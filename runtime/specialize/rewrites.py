"""Which rewrites are tried on which operation, and the passes that run them until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..ir import Region
from . import (
    algebra,
    branches,
    contractions,
    conversions,
    cutting,
    gathers,
    loops,
    positions,
    reshaping,
    scatters,
    transforms,
)
from .cleanup import remove_common_subexpressions, remove_dead_code
from .constants import Budget
from .rewriting import Preparation, Rewrite, Rewriter

MOST_ROUNDS: Final = 6
"""Passes over a program; nearly all of what can be done is done in the first two."""

TENSOR_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.abs": (algebra.done_again,),
    "stablehlo.add": (algebra.add_nothing, algebra.add_constants),
    "stablehlo.and": (algebra.and_or_known,),
    "stablehlo.bitcast_convert": (conversions.bitcast_nothing, conversions.bitcast_twice),
    "stablehlo.broadcast_in_dim": (
        reshaping.broadcast_to_same,
        reshaping.broadcast_of_spread,
        reshaping.broadcast_of_iota,
    ),
    "stablehlo.ceil": (algebra.done_again,),
    "stablehlo.clamp": (algebra.clamp_in_range,),
    "stablehlo.compare": (
        algebra.compare_known,
        algebra.compare_with_truth,
        algebra.compare_converted_truth,
    ),
    "stablehlo.complex": (conversions.complex_of_parts,),
    "stablehlo.concatenate": (
        cutting.concatenate_few,
        cutting.concatenate_neighbours,
        cutting.concatenate_same,
    ),
    "stablehlo.convert": (conversions.convert_nothing, conversions.convert_twice),
    "stablehlo.divide": (algebra.divide_by_one,),
    "stablehlo.dot_general": (contractions.dot_of_transpose,),
    "stablehlo.dynamic_slice": (cutting.dynamic_slice_known, cutting.dynamic_slice_whole_dimensions),
    "stablehlo.dynamic_update_slice": (cutting.dynamic_update_slice_whole,),
    "stablehlo.fft": (transforms.fft_of_real,),
    "stablehlo.floor": (algebra.done_again,),
    "stablehlo.imag": (conversions.part_of_complex, conversions.part_of_real),
    "stablehlo.gather": (gathers.gather_of_one, gathers.gather_counted),
    "stablehlo.iota": (reshaping.iota_of_one,),
    "stablehlo.maximum": (algebra.extreme_of_same,),
    "stablehlo.minimum": (algebra.extreme_of_same,),
    "stablehlo.multiply": (algebra.multiply_by_one,),
    "stablehlo.negate": (algebra.done_twice,),
    "stablehlo.not": (algebra.done_twice, algebra.not_of_comparison),
    "stablehlo.or": (algebra.and_or_known,),
    "stablehlo.pad": (cutting.pad_nothing, cutting.pad_of_nothing),
    "stablehlo.real": (conversions.part_of_complex, conversions.part_of_real),
    "stablehlo.reduce": (positions.reduce_counted,),
    "stablehlo.reshape": (reshaping.reshape_twice, reshaping.reshape_of_spread),
    "stablehlo.reverse": (reshaping.reverse_nothing, reshaping.reverse_twice),
    "stablehlo.round_nearest_afz": (algebra.done_again,),
    "stablehlo.round_nearest_even": (algebra.done_again,),
    "stablehlo.select": (
        algebra.select_known,
        algebra.select_of_not,
        algebra.select_of_booleans,
        algebra.select_of_spread,
        gathers.select_of_gather,
    ),
    "stablehlo.shift_left": (algebra.shift_by_nothing,),
    "stablehlo.shift_right_arithmetic": (algebra.shift_by_nothing,),
    "stablehlo.shift_right_logical": (algebra.shift_by_nothing,),
    "stablehlo.sign": (algebra.done_again,),
    "stablehlo.slice": (
        cutting.slice_nothing,
        cutting.slice_of_slice,
        cutting.slice_of_spread,
        cutting.slice_of_concatenate,
        cutting.slice_of_pad,
    ),
    "stablehlo.subtract": (algebra.subtract_nothing, algebra.add_constants),
    "stablehlo.transpose": (reshaping.transpose_nothing, reshaping.transpose_of_moved),
    "stablehlo.xor": (algebra.xor_known,),
}
"""Asked only where all operands and results are tensors of known sizes that are not quantized."""

OTHER_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.case": (branches.case_known,),
    "stablehlo.get_tuple_element": (branches.element_of_tuple,),
    "stablehlo.if": (branches.if_known,),
    "stablehlo.reduce": (contractions.reduce_nothing,),
    "stablehlo.scatter": (scatters.scatter_of_one, scatters.scatter_counted),
    "stablehlo.while": (loops.drop_unchanged, loops.unroll, loops.hoist),
}
"""Asked for operands and results of any type."""

LAST_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.gather": (gathers.gather_by_columns,),
    "stablehlo.scatter": (scatters.scatter_by_columns,),
    "stablehlo.sort": (positions.sort_counted,),
}
"""Tried with the others when nothing else changes any more: other rewrites look for what these take away."""

PREPARATIONS: Final[Mapping[str, Preparation]] = {"stablehlo.while": loops.declare_counter}
"""Called before an operation's regions are rebuilt."""


def simplify(region: Region, budget: Budget, *, scatters_by_columns: bool) -> None:
    """Rewrite a function's body, in place, until nothing changes, and remove what is not needed then.

    Scatters take columns of indices only if asked to.
    """
    _run(region, TENSOR_REWRITES, budget)
    last = dict(LAST_REWRITES)
    if not scatters_by_columns:
        del last["stablehlo.scatter"]
    if any(operation.name in last for operation in region.walk()):
        _run(region, {**TENSOR_REWRITES, **last}, budget)


def _run(region: Region, tensor_rewrites: Mapping[str, Sequence[Rewrite]], budget: Budget) -> None:
    """Pass over a region until nothing changes."""
    for _ in range(MOST_ROUNDS):
        rewriter = Rewriter(tensor_rewrites, OTHER_REWRITES, PREPARATIONS, budget)
        rewriter.visit(region)
        if not rewriter.changes:
            return
        remove_common_subexpressions(region)
        remove_dead_code(region)
