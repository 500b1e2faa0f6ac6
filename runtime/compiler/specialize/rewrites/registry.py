"""Maps each operation to its rewrites, and runs them until nothing changes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....program.ir import Operation, Region
from ....program.ops.framework.declaration import Op
from ..framework.cleanup import remove_common_subexpressions, remove_dead_code
from ..framework.constants import Budget
from ..framework.operation_classes import is_control_flow
from ..framework.rewriter import Preparation, Rewrite, Rewriter

MAX_PASSES: Final = 6
"""Maximum passes over a program, which bounds the time: some 300 programs of the tests, the benchmarks and
public libraries took one or two."""


NAMES: Final[list[str]] = []
"""``module.function`` of every rewrite below, for tests."""


def _rewrite(
    name: str, operands: int | None = None, attribute: str = ""
) -> Callable[[Operation, Rewriter], Any]:
    """A rewrite whose module is imported when the rewrite is first tried: most programs need few of them.

    Args:
        name: the module of this package and the function there.
        operands: the number of operands of the operations to which it applies; None: any.
        attribute: the name of an attribute of the operations to which it applies; empty: any.
    """

    NAMES.append(name)

    @functools.cache
    def function() -> Callable[[Operation, Rewriter], Any]:
        module, _, function_name = name.partition(".")
        imported: Callable[[Operation, Rewriter], Any] = getattr(
            importlib.import_module(f".{module}", __package__), function_name
        )
        return imported

    def rewrite(operation: Operation, rewriter: Rewriter) -> Any:
        if operands is not None and len(operation.operands) != operands:
            return None
        if attribute and attribute not in operation.attributes:
            return None
        return function()(operation, rewriter)

    return rewrite


TENSOR_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.add": (_rewrite("algebra.add_zero"),),
    "stablehlo.and": (_rewrite("algebra.simplify_and_or"),),
    "stablehlo.broadcast_in_dim": (
        _rewrite("reshaping.broadcast_to_same"),
        _rewrite("reshaping.broadcast_of_broadcast"),
    ),
    "stablehlo.compare": (
        _rewrite("algebra.compare_by_range"),
        _rewrite("algebra.compare_with_boolean_constant"),
    ),
    "stablehlo.concatenate": (_rewrite("slicing.flatten_concatenate"),),
    "stablehlo.convert": (_rewrite("identities.identity"),),
    "stablehlo.divide": (_rewrite("algebra.divide_by_one"),),
    "chlo.ragged_dot": (_rewrite("contractions.product_of_mixed_types"),),
    "stablehlo.convolution": (
        _rewrite("contractions.product_of_mixed_types"),
        _rewrite("contractions.pointwise_convolution"),
    ),
    "stablehlo.dot": (_rewrite("contractions.product_of_mixed_types"),),
    "stablehlo.dot_general": (
        _rewrite("contractions.product_of_mixed_types"),
        _rewrite("contractions.product_over_empty"),
        _rewrite("contractions.low_precision_dot"),
        _rewrite("dot_algorithms.dot_of_components", attribute="algorithm"),
    ),
    "stablehlo.dynamic_slice": (
        _rewrite("slicing.dynamic_slice_at_constants"),
        _rewrite("slicing.dynamic_slice_whole_dimensions"),
    ),
    "stablehlo.fft": (_rewrite("fft.fft_of_real"),),
    "stablehlo.gather": (_rewrite("gathers.gather_of_one"),),
    "stablehlo.maximum": (_rewrite("algebra.simplify_min_max"),),
    "stablehlo.minimum": (_rewrite("algebra.simplify_min_max"),),
    "stablehlo.multiply": (_rewrite("algebra.multiply_by_one"),),
    "stablehlo.or": (_rewrite("algebra.simplify_and_or"),),
    "stablehlo.pad": (_rewrite("slicing.identity_pad"),),
    "stablehlo.reduce": (
        _rewrite("contractions.reduce_of_empty"),
        _rewrite("arg_reductions.reduce_with_iota_positions", operands=4),
    ),
    "stablehlo.reshape": (
        _rewrite("reshaping.reshape_twice"),
        _rewrite("reshaping.reshape_of_broadcast"),
        _rewrite("reshaping.reshape_of_constant"),
    ),
    "stablehlo.reverse": (_rewrite("reshaping.identity_reverse"),),
    "stablehlo.select": (
        _rewrite("algebra.select_by_constant"),
        _rewrite("algebra.select_of_broadcast"),
        _rewrite("masked_updates.select_of_update"),
    ),
    "stablehlo.slice": (
        _rewrite("identities.identity"),
        _rewrite("slicing.slice_of_slice"),
        _rewrite("slicing.slice_of_broadcast"),
        _rewrite("slicing.slice_of_concatenate"),
    ),
    "stablehlo.sort": (_rewrite("arg_reductions.sort_with_iota_positions"),),
    "stablehlo.subtract": (_rewrite("algebra.subtract_zero"),),
    "stablehlo.transpose": (
        _rewrite("reshaping.identity_transpose"),
        _rewrite("reshaping.transpose_of_layout_op"),
    ),
}
"""Tried only on operations whose operands and results are all static tensors that are not quantized."""

OTHER_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.case": (_rewrite("branches.case_by_constant"),),
    "stablehlo.if": (_rewrite("branches.if_by_constant"),),
    "stablehlo.reduce": (_rewrite("contractions.reduce_over_unit_dimensions"),),
    "stablehlo.scatter": (_rewrite("scatters.scatter_of_one"),),
    "stablehlo.while": (
        _rewrite("loops.drop_invariant_values"),
        _rewrite("loops.unroll"),
        _rewrite("loops.hoist"),
    ),
}
"""Tried on operands and results of any type."""

PREPARATIONS: Final[Mapping[str, Preparation]] = {
    "stablehlo.scatter": _rewrite("partial_windows.remove_needless_exclusion"),
    "stablehlo.while": _rewrite("loops.declare_counter_range"),
}
"""Called before an operation's regions are rebuilt."""


def simplify(region: Region, budget: Budget) -> None:
    """Rewrite a function's body, in place, until nothing changes; remove unused operations."""
    _run(region, TENSOR_REWRITES, budget)


def split_scatter_indices(region: Region, is_small_scatter: Callable[[Op], bool]) -> None:
    """Make scatters read the components of their index vectors as separate operands, in place.

    Args:
        region: a simplified body: other rewrites look for the scatters that this pass replaces.
        is_small_scatter: whether the arrays of a scatter, given by its view, are small. It then keeps its
            index vectors, which generated loops read.
    """

    def split(operation: Operation, rewriter: Rewriter) -> Any:
        from .scatters import scatter_by_components

        return None if is_small_scatter(Op.of(operation)) else scatter_by_components(operation, rewriter)

    if any(operation.name == "stablehlo.scatter" for operation in region.walk()):
        _run(region, {**TENSOR_REWRITES, "stablehlo.scatter": (split,)}, Budget())


def _run(region: Region, tensor_rewrites: Mapping[str, Sequence[Rewrite]], budget: Budget) -> None:
    """Pass over a region until nothing changes."""
    for _ in range(MAX_PASSES):
        rewriter = Rewriter(tensor_rewrites, OTHER_REWRITES, PREPARATIONS, budget)
        rewriter.visit(region)
        if not rewriter.rewrite_count:
            return
        merged = remove_common_subexpressions(region)
        remove_dead_code(region)
        if not merged and _converges_in_one_pass(region):
            return


def _converges_in_one_pass(region: Region) -> bool:
    """Whether no rewrite of an operation can enable one of an earlier operation.

    This holds without control flow if each operation has one result.
    """
    operations = region.block.operations[:-1]
    return all(len(one.results) == 1 and not is_control_flow(one) for one in operations)
